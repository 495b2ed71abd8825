//! Rows that wait for their place in the result. They lie in a few large buffers: a row costs no allocation of its own.

use std::cmp::Ordering;

use shoal_expr::compare;
use shoal_types::key::KeyPart;
use shoal_types::{BaseType, Result, TimeZone, Value};

use super::sort_in_turns::sort_in_turns;
use crate::plan::SortKey;
use crate::session::Interrupt;

/// Rows that are moved between two looks at the interrupt.
const ROWS_PER_MOVE: usize = 4096;

/// Sorts rows of one width.
pub struct Sorter<'a> {
    order: &'a [SortKey],
    /// ORDER BY as a memcomparable key, where all of it is text: collations compare far slower than bytes.
    text_order: Vec<KeyPart>,
    rows: Vec<Place>,
    width: usize,
    values: Vec<Value>,
    keys: Vec<u8>,
}

/// Where a row and its key are.
#[derive(Clone, Copy)]
struct Place {
    /// The key's first bytes: most keys differ in them.
    prefix: u64,
    key: (usize, usize),
    first_value: usize,
}

impl<'a> Sorter<'a> {
    pub fn new(order: &'a [SortKey]) -> Sorter<'a> {
        Sorter {
            order,
            text_order: text_order(order),
            rows: Vec::new(),
            width: 0,
            values: Vec::new(),
            keys: Vec::new(),
        }
    }

    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Takes the values of a row. All rows are of one width.
    pub fn push(&mut self, row: &mut Vec<Value>) -> Result<()> {
        let start = self.keys.len();
        for (part, sort) in self.text_order.iter().zip(self.order) {
            part.append_value(&row[sort.position], &TimeZone::UTC, &mut self.keys)?;
        }
        let key = &self.keys[start..];
        let mut prefix = [0; 8];
        let length = key.len().min(8);
        prefix[..length].copy_from_slice(&key[..length]);
        self.rows.push(Place {
            prefix: u64::from_be_bytes(prefix),
            key: (start, self.keys.len()),
            first_value: self.values.len(),
        });
        self.width = row.len();
        self.values.append(row);
        Ok(())
    }

    /// Sorts; rows that compare equal stay in the order in which they came.
    pub async fn sort(&mut self, interrupt: &Interrupt) -> Result<()> {
        let Sorter { order, text_order, rows, width, values, keys } = self;
        if text_order.is_empty() {
            let row = |place: &Place| &values[place.first_value..place.first_value + *width];
            let compare = |left: &Place, right: &Place| compare_rows(row(left), row(right), order);
            return sort_in_turns(rows, compare, interrupt).await;
        }
        let key = |place: &Place| &keys[place.key.0..place.key.1];
        let compare =
            |left: &Place, right: &Place| left.prefix.cmp(&right.prefix).then_with(|| key(left).cmp(key(right)));
        sort_in_turns(rows, compare, interrupt).await
    }

    /// Keeps the first `count` rows in the order in which they lie.
    pub async fn truncate(&mut self, count: usize, interrupt: &Interrupt) -> Result<()> {
        self.rows.truncate(count);
        let mut values = Vec::with_capacity(self.rows.len() * self.width);
        let mut keys = Vec::new();
        for places in self.rows.chunks_mut(ROWS_PER_MOVE) {
            for place in places {
                let first_value = values.len();
                let row = &mut self.values[place.first_value..place.first_value + self.width];
                values.extend(row.iter_mut().map(|value| std::mem::replace(value, Value::Null)));
                let start = keys.len();
                keys.extend_from_slice(&self.keys[place.key.0..place.key.1]);
                (place.first_value, place.key) = (first_value, (start, keys.len()));
            }
            interrupt.check_between_batches().await?;
        }
        (self.values, self.keys) = (values, keys);
        Ok(())
    }

    /// The rows in their order.
    pub fn rows(&self) -> impl Iterator<Item = &[Value]> {
        self.rows.iter().map(|place| &self.values[place.first_value..place.first_value + self.width])
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

#[cfg(test)]
mod tests {
    use super::*;
    use shoal_types::{Collation, SqlType};

    fn by_text(descending: bool) -> Vec<SortKey> {
        let sql_type = SqlType::varchar(20, Collation::UTF8MB4_0900_AI_CI);
        vec![SortKey { position: 1, descending, sql_type }]
    }

    fn sorted(order: &[SortKey], texts: &[Option<&str>], keep: usize) -> Vec<i64> {
        let mut sorter = Sorter::new(order);
        for (number, text) in texts.iter().enumerate() {
            let text = text.map_or(Value::Null, Value::str);
            sorter.push(&mut vec![Value::Int(number as i64), text]).unwrap();
        }
        let interrupt = Interrupt::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(sorter.sort(&interrupt)).unwrap();
        runtime.block_on(sorter.truncate(keep, &interrupt)).unwrap();
        sorter.rows().map(|row| row[0].to_i64().value).collect()
    }

    #[test]
    fn texts_sort_by_their_collation_nulls_first_and_equal_ones_as_they_came() {
        let texts = [Some("b"), Some("A"), None, Some("a"), Some("ab"), Some("B"), Some("")];
        assert_eq!(sorted(&by_text(false), &texts, 7), [2, 6, 1, 3, 4, 0, 5]);
        assert_eq!(sorted(&by_text(true), &texts, 7), [0, 5, 4, 1, 3, 6, 2]);
        assert_eq!(sorted(&by_text(false), &texts, 3), [2, 6, 1]);
    }
}
