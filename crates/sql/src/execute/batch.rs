//! Rows in flight between the steps of a block.

use std::rc::Rc;

use shoal_types::{Result, Value};

use super::memory::{Held, StatementMemory, row_bytes};

/// Rows of one width, flat.
#[derive(Debug, Default)]
pub struct RowBatch {
    width: usize,
    count: usize,
    values: Vec<Value>,
}

impl RowBatch {
    pub fn new(width: usize) -> RowBatch {
        RowBatch { width, count: 0, values: Vec::new() }
    }

    /// With room for so many rows.
    pub fn with_room(width: usize, rows: usize) -> RowBatch {
        RowBatch { width, count: 0, values: Vec::with_capacity(width * rows) }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a row of NULLs and gives it to be filled.
    pub fn push_empty(&mut self) -> &mut [Value] {
        let start = self.values.len();
        self.count += 1;
        self.values.resize(start + self.width, Value::Null);
        &mut self.values[start..]
    }

    pub fn push(&mut self, row: &[Value]) -> &mut [Value] {
        let start = self.values.len();
        self.count += 1;
        self.values.extend_from_slice(row);
        &mut self.values[start..]
    }

    /// Takes the last row away again.
    pub fn pop(&mut self) {
        self.count -= 1;
        self.values.truncate(self.count * self.width);
    }

    pub fn row(&self, row: usize) -> &[Value] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [Value] {
        &mut self.values[row * self.width..(row + 1) * self.width]
    }

    /// Keeps the rows for which `keep` holds. Errors end it.
    pub fn retain<E>(
        &mut self,
        mut keep: impl FnMut(&[Value]) -> std::result::Result<bool, E>,
    ) -> std::result::Result<(), E> {
        let mut kept = 0;
        for row in 0..self.count {
            if keep(&self.values[row * self.width..(row + 1) * self.width])? {
                if kept != row {
                    for column in 0..self.width {
                        self.values.swap(kept * self.width + column, row * self.width + column);
                    }
                }
                kept += 1;
            }
        }
        self.count = kept;
        self.values.truncate(kept * self.width);
        Ok(())
    }
}

/// Rows of an input that are kept: in batches, so that more rows do not move those that are there, and counted.
pub struct KeptRows {
    width: usize,
    batches: Vec<RowBatch>,
    held: Held,
}

/// Rows of a batch that is kept.
const ROWS_PER_BATCH: usize = 1024;

impl KeptRows {
    pub fn new(width: usize, memory: &Rc<StatementMemory>) -> KeptRows {
        KeptRows { width, batches: Vec::new(), held: Held::new(memory) }
    }

    pub fn row_count(&self) -> usize {
        self.batches.last().map_or(0, |last| (self.batches.len() - 1) * ROWS_PER_BATCH + last.len())
    }

    /// Adds a row that `fill` makes out of NULLs.
    ///
    /// # Errors
    /// Those of `fill`; 1041: there is no memory for it.
    pub fn push(&mut self, fill: impl FnOnce(&mut [Value]) -> Result<()>) -> Result<()> {
        if self.row_count().is_multiple_of(ROWS_PER_BATCH) {
            // The first rows may be all there are.
            let rows = if self.batches.is_empty() { 0 } else { ROWS_PER_BATCH };
            self.batches.push(RowBatch::with_room(self.width, rows));
        }
        let Some(last) = self.batches.last_mut() else { return Ok(()) };
        let row = last.push_empty();
        fill(row)?;
        self.held.add(row_bytes(row))
    }

    pub fn row(&self, row: usize) -> &[Value] {
        self.batches[row / ROWS_PER_BATCH].row(row % ROWS_PER_BATCH)
    }

    /// The input keeps so much besides its rows.
    pub fn hold(&mut self, bytes: usize) -> Result<()> {
        self.held.add(bytes)
    }
}
