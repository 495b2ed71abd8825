//! The rows that windows are computed over.

use std::rc::Rc;

use shoal_types::{Result, Value};

use crate::execute::memory::{Held, StatementMemory, row_bytes};
use crate::session::Interrupt;

/// Rows of one buffer, and those that are moved between two looks at the interrupt.
const ROWS_PER_CHUNK: usize = 4096;

/// Rows of one width; the last columns are results, which are NULL until they are computed.
pub struct WindowRows {
    width: usize,
    chunks: Vec<Vec<Value>>,
    count: usize,
    held: Held,
}

impl WindowRows {
    pub fn new(width: usize, memory: &Rc<StatementMemory>) -> WindowRows {
        WindowRows { width, chunks: Vec::new(), count: 0, held: Held::new(memory) }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// Takes the values of a row.
    ///
    /// # Errors
    /// 1041, there is no memory for it.
    pub fn push(&mut self, row: &mut Vec<Value>) -> Result<()> {
        let results = (self.width - row.len()) * size_of::<Value>();
        self.held.add(row_bytes(row) + results)?;
        if self.count.is_multiple_of(ROWS_PER_CHUNK) {
            self.chunks.push(Vec::new());
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        let end = chunk.len() + self.width;
        chunk.append(row);
        chunk.resize(end, Value::Null);
        self.count += 1;
        Ok(())
    }

    #[inline]
    pub fn row(&self, row: usize) -> &[Value] {
        let first = row % ROWS_PER_CHUNK * self.width;
        &self.chunks[row / ROWS_PER_CHUNK][first..first + self.width]
    }

    /// Writes a result. What texts take has been counted, or is bounded by the value it was computed from: see `keep`.
    #[inline]
    pub fn set(&mut self, row: usize, position: usize, value: Value) {
        let first = row % ROWS_PER_CHUNK * self.width;
        self.chunks[row / ROWS_PER_CHUNK][first + position] = value;
    }

    /// Writes a result that may have bytes of its own.
    ///
    /// # Errors
    /// 1041, there is no memory for it.
    #[inline]
    pub fn keep(&mut self, row: usize, position: usize, value: Value) -> Result<()> {
        match value.heap_bytes() {
            0 => {}
            bytes => self.held.add(bytes)?,
        }
        self.set(row, position, value);
        Ok(())
    }

    /// Moves the rows into this order: the numbers of the rows that shall come first, second and so on.
    ///
    /// # Errors
    /// 1041, there is no memory for them twice; 1317.
    pub async fn permute(&mut self, order: impl Iterator<Item = usize>, interrupt: &Interrupt) -> Result<()> {
        let values_bytes = self.count * self.width * size_of::<Value>();
        self.held.add(values_bytes)?;
        let mut moved: Vec<Vec<Value>> = Vec::with_capacity(self.chunks.len());
        for (place, row) in order.enumerate() {
            if place.is_multiple_of(ROWS_PER_CHUNK) {
                let rows = ROWS_PER_CHUNK.min(self.count - place);
                moved.push(Vec::with_capacity(rows * self.width));
                interrupt.check_between_batches().await?;
            }
            let Some(target) = moved.last_mut() else { continue };
            let first = row % ROWS_PER_CHUNK * self.width;
            let values = &mut self.chunks[row / ROWS_PER_CHUNK][first..first + self.width];
            target.extend(values.iter_mut().map(std::mem::take));
        }
        self.chunks = moved;
        self.held.give_back(values_bytes);
        Ok(())
    }
}
