//! The rows that windows are computed over.

use std::rc::Rc;

use shoal_types::{Result, Value};

use crate::execute::memory::{Held, StatementMemory};
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
        self.push_each(row.drain(..).map(Ok))
    }

    /// The same, value by value.
    ///
    /// # Errors
    /// Those of the values; 1041.
    #[inline]
    pub fn push_each(&mut self, values: impl Iterator<Item = Result<Value>>) -> Result<()> {
        if self.count.is_multiple_of(ROWS_PER_CHUNK) {
            // The first rows may be all there are.
            let rows = if self.chunks.is_empty() { 0 } else { ROWS_PER_CHUNK };
            self.chunks.push(Vec::with_capacity(rows * self.width));
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        let end = chunk.len() + self.width;
        let mut bytes = self.width * size_of::<Value>();
        for value in values {
            let value = value?;
            bytes += value.heap_bytes();
            chunk.push(value);
        }
        chunk.resize(end, Value::Null);
        self.count += 1;
        self.held.add(bytes)
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

    /// Moves the rows into this order: the numbers of the rows that shall come first, second and so on. Each row that has to go
    /// makes room for the one that comes there, so no second copy is needed.
    ///
    /// # Errors
    /// 1317.
    pub async fn permute(&mut self, mut order: Vec<u32>, interrupt: &Interrupt) -> Result<()> {
        let mut aside = Vec::with_capacity(self.width);
        let mut moved = 0;
        for first in 0..order.len() {
            if order[first] as usize == first {
                continue;
            }
            aside.clear();
            aside.extend(self.row_mut(first).iter_mut().map(std::mem::take));
            let mut place = first;
            loop {
                let source = order[place] as usize;
                order[place] = place as u32;
                if source == first {
                    break;
                }
                self.move_row(source, place);
                place = source;
                moved += 1;
                if moved % ROWS_PER_CHUNK == 0 {
                    interrupt.check_between_batches().await?;
                }
            }
            self.row_mut(place).iter_mut().zip(&mut aside).for_each(|(to, from)| *to = std::mem::take(from));
        }
        Ok(())
    }

    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [Value] {
        let first = row % ROWS_PER_CHUNK * self.width;
        &mut self.chunks[row / ROWS_PER_CHUNK][first..first + self.width]
    }

    fn move_row(&mut self, from: usize, to: usize) {
        for column in 0..self.width {
            let value = std::mem::take(&mut self.row_mut(from)[column]);
            self.row_mut(to)[column] = value;
        }
    }
}
