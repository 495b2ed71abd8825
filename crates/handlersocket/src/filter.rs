//! Filters: a column of a found row against a value, by the order of keys; NULL is below everything.

use shoal_types::key::KeyPart;
use shoal_types::row::RowRef;
use shoal_types::{Comparison, StoreOptions, Value};

use crate::convert::column_value;
use crate::open_index::Resolved;
use crate::refusal::Outcome;
use crate::request::{FilterKind, FilterToken};
use crate::token;

/// What the filters say of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passes,
    Skipped,
    Stops,
}

/// A filter whose value has been encoded.
pub struct Filter {
    kind: FilterKind,
    comparison: Comparison,
    part: KeyPart,
    value: Vec<u8>,
}

/// The filters of one request.
#[derive(Default)]
pub struct Filters {
    filters: Vec<Filter>,
    key: Vec<u8>,
}

impl Filters {
    pub fn prepare(
        tokens: &[FilterToken],
        line: &[u8],
        open: &Resolved,
        options: &StoreOptions,
        buffer: &mut Vec<u8>,
    ) -> Outcome<Filters> {
        let mut filters = Vec::with_capacity(tokens.len());
        for filter in tokens {
            let position = open.filter_column(filter.column)?;
            let column = &open.table.schema.columns[position];
            // Even a column that is never NULL is compared with NULL.
            let part = KeyPart {
                column: position,
                sql_type: column.sql_type.clone(),
                nullable: true,
                prefix_length: 0,
                descending: false,
                multi_valued: false,
            };
            let value = match token::value(filter.value.of(line), buffer) {
                None => Value::Null,
                text => column_value(column, text, options)?,
            };
            let mut key = Vec::new();
            part.append_value(&value, &options.temporal.zone, &mut key)?;
            filters.push(Filter { kind: filter.kind, comparison: filter.comparison, part, value: key });
        }
        Ok(Filters { filters, key: Vec::new() })
    }

    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    pub fn judge(&mut self, row: RowRef<'_>) -> Verdict {
        for filter in &self.filters {
            if filter.holds(row, &mut self.key) {
                continue;
            }
            return match filter.kind {
                FilterKind::Skip => Verdict::Skipped,
                FilterKind::Stop => Verdict::Stops,
            };
        }
        Verdict::Passes
    }
}

impl Filter {
    fn holds(&self, row: RowRef<'_>, key: &mut Vec<u8>) -> bool {
        key.clear();
        if row.is_null(self.part.column) {
            key.push(0);
        } else {
            key.push(1);
            shoal_types::key::append_raw(row.raw(self.part.column), &self.part.sql_type, 0, key);
        }
        self.comparison.holds(key.as_slice().cmp(&self.value))
    }
}
