//! The end of a block: DISTINCT, ORDER BY, LIMIT, then the consumer.

use std::cmp::Ordering;

use shoal_expr::{append_group_key, compare};
use shoal_types::key::KeyPart;
use shoal_types::{BaseType, Result, SqlType, TimeZone, Value};

use super::{Flow, HashSet, RowConsumer};
use crate::plan::SortKey;

/// Rows that a sort may hold before it throws away what a LIMIT does not want.
const TOP_ROWS_SLACK: usize = 1024;

/// Rows that were passed on already, by their bytes in these types.
type Distinct = (HashSet<Box<[u8]>>, Vec<SqlType>);

/// Takes projected rows (visible columns, then sort keys) and passes on the visible columns of those that remain.
pub struct Output<'a> {
    visible: usize,
    distinct: Option<Distinct>,
    order: &'a [SortKey],
    /// ORDER BY as a memcomparable key, where all of it is text: collations compare far slower than bytes.
    text_order: Vec<KeyPart>,
    sorted: Vec<Sorted>,
    offset: u64,
    limit: Option<u64>,
    count_all_rows: bool,
    /// Rows that came through before OFFSET and LIMIT, for FOUND_ROWS().
    pub rows_seen: u64,
    passed: u64,
    key: Vec<u8>,
    consumer: &'a mut dyn RowConsumer,
}

/// A row that waits for its place.
struct Sorted {
    /// Its memcomparable key if the order is by text, else empty.
    key: Box<[u8]>,
    row: Box<[Value]>,
}

impl<'a> Output<'a> {
    pub fn new(
        visible: usize,
        distinct: Option<Vec<SqlType>>,
        order: &'a [SortKey],
        (offset, limit): (u64, Option<u64>),
        count_all_rows: bool,
        consumer: &'a mut dyn RowConsumer,
    ) -> Output<'a> {
        Output {
            visible,
            distinct: distinct.map(|types| (HashSet::default(), types)),
            order,
            text_order: text_order(order),
            sorted: Vec::new(),
            offset,
            limit,
            count_all_rows,
            rows_seen: 0,
            passed: 0,
            key: Vec::new(),
            consumer,
        }
    }

    /// Rows go straight to the consumer, one by one, none left out but by OFFSET and LIMIT.
    pub fn is_plain(&self) -> bool {
        self.distinct.is_none() && self.order.is_empty()
    }

    /// Most rows that can be wanted of an input in the right order.
    pub fn rows_wanted(&self) -> Option<u64> {
        if self.is_plain() && !self.count_all_rows {
            self.limit.map(|limit| limit.saturating_add(self.offset))
        } else {
            None
        }
    }

    /// No row can be wanted at all (LIMIT 0).
    pub fn is_full(&self) -> bool {
        !self.count_all_rows && self.order.is_empty() && self.limit.is_some_and(|limit| self.passed >= limit)
    }

    /// Takes a row; its values are gone afterwards if they had to be kept.
    pub fn push(&mut self, row: &mut Vec<Value>) -> Result<Flow> {
        if let Some((seen, types)) = &mut self.distinct {
            self.key.clear();
            for (value, sql_type) in row[..self.visible].iter().zip(types.iter()) {
                append_group_key(value, sql_type, &mut self.key);
            }
            if seen.contains(self.key.as_slice()) {
                return Ok(Flow::Continue);
            }
            seen.insert(self.key.as_slice().into());
        }
        self.rows_seen += 1;
        if self.order.is_empty() {
            return self.pass_on(|consumer, visible| consumer.push(&row[..visible]));
        }
        self.key.clear();
        for (part, sort) in self.text_order.iter().zip(self.order) {
            part.append_value(&row[sort.position], &TimeZone::UTC, &mut self.key)?;
        }
        let width = row.len();
        let row = std::mem::replace(row, Vec::with_capacity(width)).into_boxed_slice();
        self.sorted.push(Sorted { key: self.key.as_slice().into(), row });
        self.drop_unwanted();
        Ok(Flow::Continue)
    }

    /// A stored row whose columns at `projection` are the result row; only for a plain output.
    pub fn push_stored(
        &mut self,
        row: shoal_types::row::RowRef<'_>,
        projection: &[usize],
        zone: &shoal_types::TimeZone,
    ) -> Result<Flow> {
        self.rows_seen += 1;
        self.pass_on(|consumer, _| consumer.push_stored(row, projection, zone))
    }

    fn pass_on(&mut self, push: impl FnOnce(&mut dyn RowConsumer, usize) -> Result<Flow>) -> Result<Flow> {
        if self.offset > 0 {
            self.offset -= 1;
            return Ok(Flow::Continue);
        }
        if self.limit.is_some_and(|limit| self.passed >= limit) {
            return Ok(if self.count_all_rows { Flow::Continue } else { Flow::Stop });
        }
        self.passed += 1;
        if push(&mut *self.consumer, self.visible)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        let full = self.limit.is_some_and(|limit| self.passed >= limit);
        Ok(if full && !self.count_all_rows { Flow::Stop } else { Flow::Continue })
    }

    /// Keeps a sort under a LIMIT from growing with its input.
    fn drop_unwanted(&mut self) {
        let Some(limit) = self.limit else { return };
        let wanted = usize::try_from(limit.saturating_add(self.offset)).unwrap_or(usize::MAX);
        if self.sorted.len() >= wanted.saturating_mul(2).saturating_add(TOP_ROWS_SLACK) {
            self.sort();
            self.sorted.truncate(wanted);
        }
    }

    fn sort(&mut self) {
        let order = self.order;
        match self.text_order.is_empty() {
            true => self.sorted.sort_by(|left, right| compare_rows(&left.row, &right.row, order)),
            false => self.sorted.sort_by(|left, right| left.key.cmp(&right.key)),
        }
    }

    pub fn wants_flush(&self) -> bool {
        self.consumer.wants_flush()
    }

    pub async fn flush(&mut self) -> Result<()> {
        self.consumer.flush().await
    }

    /// Passes on what was kept back for sorting.
    pub async fn finish(&mut self) -> Result<()> {
        if self.order.is_empty() {
            return Ok(());
        }
        self.sort();
        for Sorted { row, .. } in std::mem::take(&mut self.sorted) {
            if self.pass_on(|consumer, visible| consumer.push(&row[..visible]))? == Flow::Stop {
                break;
            }
            if self.wants_flush() {
                self.flush().await?;
            }
        }
        Ok(())
    }
}

/// The parts of a memcomparable key for an order by nothing but text.
fn text_order(order: &[SortKey]) -> Vec<KeyPart> {
    let part = |key: &SortKey| {
        matches!(key.sql_type.base, BaseType::Char | BaseType::VarChar | BaseType::Text).then(|| KeyPart {
            column: key.position,
            sql_type: key.sql_type.clone(),
            nullable: true,
            prefix_length: 0,
            descending: key.descending,
        })
    };
    order.iter().map(part).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// ORDER BY: NULLs first, each key by its type and direction.
pub fn compare_rows(left: &[Value], right: &[Value], order: &[SortKey]) -> Ordering {
    for key in order {
        let ordering = compare(&left[key.position], &right[key.position], &key.sql_type);
        if ordering != Ordering::Equal {
            return if key.descending { ordering.reverse() } else { ordering };
        }
    }
    Ordering::Equal
}
