//! Rows in flight between the steps of a block.

use shoal_types::Value;

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

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn clear(&mut self) {
        self.count = 0;
        self.values.clear();
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
    pub fn retain<E>(&mut self, mut keep: impl FnMut(&[Value]) -> Result<bool, E>) -> Result<(), E> {
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
