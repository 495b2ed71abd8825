//! Rows that wait for their place in the result. They lie in large buffers: a row costs no allocation of its own, and more rows
//! do not move those that are there.

use std::cmp::Ordering;
use std::rc::Rc;

use shoal_expr::compare;
use shoal_types::key::KeyPart;
use shoal_types::{BaseType, Result, TimeZone, Value};

use super::memory::{Held, StatementMemory, row_bytes};
use super::sort_in_turns::sort_in_turns;
use crate::plan::SortKey;
use crate::session::Interrupt;

/// Rows that lie in one buffer, and are moved between two looks at the interrupt.
const ROWS_PER_CHUNK: usize = 4096;
/// What a row takes besides its values and its key: its place, which a sort copies.
const PLACE_BYTES: usize = 2 * size_of::<Place>();

/// Sorts rows of one width.
pub struct Sorter<'a> {
    order: &'a [SortKey],
    /// ORDER BY as a memcomparable key, where all of it is text: collations compare far slower than bytes.
    text_order: Vec<KeyPart>,
    rows: Vec<Place>,
    width: usize,
    chunks: Vec<Chunk>,
    held: Held,
}

/// Some thousand rows, and their keys.
#[derive(Default)]
struct Chunk {
    values: Vec<Value>,
    keys: Vec<u8>,
}

/// Where a row and its key are.
#[derive(Clone, Copy)]
struct Place {
    /// The key's first bytes: most keys differ in them.
    prefix: u64,
    key: (usize, usize),
    chunk: u32,
    first_value: u32,
}

impl<'a> Sorter<'a> {
    pub fn new(order: &'a [SortKey], memory: &Rc<StatementMemory>) -> Sorter<'a> {
        Sorter {
            order,
            text_order: text_order(order),
            rows: Vec::new(),
            width: 0,
            chunks: Vec::new(),
            held: Held::new(memory),
        }
    }

    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Takes the values of a row. All rows are of one width.
    pub fn push(&mut self, row: &mut Vec<Value>) -> Result<()> {
        if self.rows.len().is_multiple_of(ROWS_PER_CHUNK) {
            self.chunks.push(Chunk::default());
        }
        let number = self.chunks.len() - 1;
        let Chunk { values, keys } = &mut self.chunks[number];
        let start = keys.len();
        for (part, sort) in self.text_order.iter().zip(self.order) {
            part.append_value(&row[sort.position], &TimeZone::UTC, keys)?;
        }
        let key = &keys[start..];
        self.held.add(row_bytes(row) + key.len() + PLACE_BYTES)?;
        let mut prefix = [0; 8];
        let length = key.len().min(8);
        prefix[..length].copy_from_slice(&key[..length]);
        self.rows.push(Place {
            prefix: u64::from_be_bytes(prefix),
            key: (start, keys.len()),
            chunk: number as u32,
            first_value: values.len() as u32,
        });
        self.width = row.len();
        values.append(row);
        Ok(())
    }

    /// Sorts; rows that compare equal stay in the order in which they came.
    pub async fn sort(&mut self, interrupt: &Interrupt) -> Result<()> {
        let Sorter { order, text_order, rows, width, chunks, .. } = self;
        if text_order.is_empty() {
            let row = |place: &Place| chunks[place.chunk as usize].row(place, *width);
            let compare = |left: &Place, right: &Place| compare_rows(row(left), row(right), order);
            return sort_in_turns(rows, compare, interrupt).await;
        }
        let key = |place: &Place| &chunks[place.chunk as usize].keys[place.key.0..place.key.1];
        let compare =
            |left: &Place, right: &Place| left.prefix.cmp(&right.prefix).then_with(|| key(left).cmp(key(right)));
        sort_in_turns(rows, compare, interrupt).await
    }

    /// Keeps the first `count` rows in the order in which they lie.
    pub async fn truncate(&mut self, count: usize, interrupt: &Interrupt) -> Result<()> {
        self.rows.truncate(count);
        let mut chunks = Vec::with_capacity(count.min(self.rows.len()).div_ceil(ROWS_PER_CHUNK));
        let mut bytes = 0;
        for places in self.rows.chunks_mut(ROWS_PER_CHUNK) {
            let mut kept = Chunk::default();
            for place in places {
                let chunk = &mut self.chunks[place.chunk as usize];
                let first = place.first_value as usize;
                let row = &mut chunk.values[first..first + self.width];
                let key = &chunk.keys[place.key.0..place.key.1];
                bytes += row_bytes(row) + key.len() + PLACE_BYTES;
                place.key = (kept.keys.len(), kept.keys.len() + key.len());
                place.first_value = kept.values.len() as u32;
                place.chunk = chunks.len() as u32;
                kept.keys.extend_from_slice(key);
                kept.values.extend(row.iter_mut().map(std::mem::take));
            }
            chunks.push(kept);
            interrupt.check_between_batches().await?;
        }
        self.chunks = chunks;
        self.held.shrink_to(bytes);
        Ok(())
    }

    /// The rows in their order.
    pub fn rows(&self) -> impl Iterator<Item = &[Value]> {
        self.rows.iter().map(|place| self.chunks[place.chunk as usize].row(place, self.width))
    }
}

impl Chunk {
    fn row(&self, place: &Place, width: usize) -> &[Value] {
        &self.values[place.first_value as usize..][..width]
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
            multi_valued: false,
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
    use shoal_cluster::MemoryBudget;
    use shoal_types::{Collation, SqlType};
    use std::sync::Arc;

    fn by_text(descending: bool) -> Vec<SortKey> {
        let sql_type = SqlType::varchar(20, Collation::UTF8MB4_0900_AI_CI);
        vec![SortKey { position: 1, descending, sql_type }]
    }

    fn memory(budget: &Arc<MemoryBudget>) -> Rc<StatementMemory> {
        StatementMemory::new(Arc::clone(budget))
    }

    fn sorted(order: &[SortKey], texts: &[Option<&str>], keep: usize) -> Vec<i64> {
        let mut sorter = Sorter::new(order, &memory(&Arc::new(MemoryBudget::new(1 << 30))));
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

    #[test]
    fn rows_that_a_limit_does_not_want_are_not_counted_any_more() {
        let budget = Arc::new(MemoryBudget::new(1 << 30));
        let order = by_text(false);
        let mut sorter = Sorter::new(&order, &memory(&budget));
        for number in (0..10_000i64).rev() {
            sorter.push(&mut vec![Value::Int(number), Value::str(format!("{number:05}"))]).unwrap();
        }
        let all = budget.statement_bytes();
        assert!(all > 10_000 * 150, "{all}");
        let interrupt = Interrupt::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(sorter.sort(&interrupt)).unwrap();
        runtime.block_on(sorter.truncate(5000, &interrupt)).unwrap();
        assert!(budget.statement_bytes() < all * 3 / 4, "{} of {all}", budget.statement_bytes());
        assert!(sorter.rows().map(|row| row[0].to_i64().value).eq(0..5000));
        drop(sorter);
        assert_eq!(budget.statement_bytes(), 0);
    }
}
