//! Inserting: the values of the request, defaults for all other columns, numbers for AUTO_INCREMENT.

use shoal_txn::Inserted;
use shoal_txn::new_row::{
    AtEnd, AutoIncrementSettings, Numbering, OmittedValue, check_has_no_rules, omitted_value,
};
use shoal_types::{StoreOptions, Value};

use crate::clock::now_of;
use crate::convert::column_value;
use crate::find::Tools;
use crate::host::Host;
use crate::open_index::Resolved;
use crate::refusal::{Outcome, Refusal};
use crate::reply::{append_done, append_number};
use crate::request::Request;
use crate::token;

/// How rows are numbered: as MySQL's defaults say, in strict mode.
const NUMBERING: AutoIncrementSettings =
    AutoIncrementSettings { increment: 1, offset: 1, zero_means_next: true, forced: None, at_end: AtEnd::Refuse };

/// A row that has not been inserted.
pub struct NewRow {
    /// Encoded by the table's layout.
    pub bytes: Vec<u8>,
    /// The AUTO_INCREMENT value that was generated for it.
    number: Option<u64>,
}

/// Inserts one row.
pub async fn insert(
    host: &dyn Host,
    open: &Resolved,
    request: &Request,
    line: &[u8],
    (tools, now_micros): (Tools<'_>, i64),
    out: &mut Vec<u8>,
) -> Outcome {
    let Tools { transaction, buffer, options, .. } = tools;
    let row = new_row(host, open, request, line, buffer, (options, now_micros)).await?;
    let inserted = transaction.insert_many(&open.table, std::slice::from_ref(&row.bytes), false).await?;
    row.answer(open, inserted.first(), out)
}

impl NewRow {
    /// Appends the answer: the number that was generated, 0 if none was, where the table numbers its rows.
    ///
    /// # Errors
    /// The row has not been inserted.
    pub fn answer(&self, open: &Resolved, inserted: Option<&Inserted>, out: &mut Vec<u8>) -> Outcome {
        if inserted != Some(&Inserted::Done) {
            return Err(Refusal::duplicate());
        }
        match open.table.schema.auto_increment_column() {
            Some(_) => append_number(self.number.unwrap_or(0), out),
            None => append_done(out),
        }
        Ok(())
    }
}

/// The row that a line describes.
pub async fn new_row(
    host: &dyn Host,
    open: &Resolved,
    request: &Request,
    line: &[u8],
    buffer: &mut Vec<u8>,
    (options, now_micros): (&StoreOptions, i64),
) -> Outcome<NewRow> {
    let table = &open.table;
    check_has_no_rules(table)?;
    let columns = &table.schema.columns;
    if request.values.len() > open.columns.len() {
        return Err(Refusal::Request("klen"));
    }
    let zone = &options.temporal.zone;
    let mut values = vec![None; columns.len()];
    for (shown, span) in open.columns.iter().zip(&request.values) {
        let column = &columns[shown.column];
        let text = token::value(span.of(line), buffer);
        values[shown.column] = Some(match text {
            None if column.auto_increment => Value::Null,
            text => column_value(column, text, options)?,
        });
    }
    let mut row = Vec::with_capacity(columns.len());
    for (position, value) in values.into_iter().enumerate() {
        let column = &columns[position];
        row.push(match value {
            Some(value) => value,
            None => match omitted_value(column)? {
                OmittedValue::Number => Value::Null,
                OmittedValue::Constant(value) => value,
                OmittedValue::Now => now_of(column, zone, now_micros),
                OmittedValue::Expression => host.expression_default(table, position)?,
            },
        });
    }
    let node = host.node();
    let mut numbering = Numbering::new(table, NUMBERING);
    if numbering.wants_number(&row) {
        numbering.reserve(node, table, 1).await?;
    }
    let number = numbering.fill(&mut row, node)?;
    numbering.report_given(node).await?;
    let mut bytes = Vec::new();
    table.layout.encode(&row, zone, &mut bytes)?;
    Ok(NewRow { bytes, number })
}
