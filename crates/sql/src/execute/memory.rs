//! What a statement keeps in memory while it runs: rows to be sorted, groups, keys that it has seen, inputs of joins, results of
//! subqueries, its text.
//!
//! All of it is counted at the budget of the process ([`MemoryBudget`]), which is asked in steps, and not at all by statements that
//! keep little. A structure that grows has a [`Held`], which gives everything back when the structure goes: at the
//! statement's end at the latest, or at the cursor's. What is counted is what a structure has in use, and for lists and tables
//! that grow by doubling what that takes at its worst.
//!
//! Batches on their way through a pipeline are not counted: they are bounded by their rows and bytes.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::MemoryBudget;
use shoal_types::{Result, Value};

/// What a session keeps without being counted.
const UNCOUNTED_BYTES: u64 = 64 << 10;
/// The budget is asked for so much at a time.
const STEP_BYTES: u64 = 256 << 10;

/// The memory of a session's statements.
pub struct StatementMemory {
    budget: Arc<MemoryBudget>,
    held_bytes: Cell<u64>,
    reserved_bytes: Cell<u64>,
}

impl StatementMemory {
    pub fn new(budget: Arc<MemoryBudget>) -> Rc<StatementMemory> {
        Rc::new(StatementMemory { budget, held_bytes: Cell::new(0), reserved_bytes: Cell::new(0) })
    }

    #[inline]
    fn grow(&self, bytes: u64) -> Result<()> {
        let held = self.held_bytes.get() + bytes;
        if held > self.reserved_bytes.get() + UNCOUNTED_BYTES {
            self.reserve(held - UNCOUNTED_BYTES)?;
        }
        self.held_bytes.set(held);
        Ok(())
    }

    #[cold]
    fn reserve(&self, wanted: u64) -> Result<()> {
        let reserved = self.reserved_bytes.get();
        let bytes = wanted - reserved + STEP_BYTES;
        self.budget.reserve_statement(bytes)?;
        self.reserved_bytes.set(reserved + bytes);
        Ok(())
    }

    fn shrink(&self, bytes: u64) {
        let held = self.held_bytes.get() - bytes;
        self.held_bytes.set(held);
        let (reserved, kept) = (self.reserved_bytes.get(), held.saturating_sub(UNCOUNTED_BYTES));
        if reserved > kept + 2 * STEP_BYTES || held == 0 && reserved > 0 {
            self.budget.release_statement(reserved - kept);
            self.reserved_bytes.set(kept);
        }
    }
}

/// What one structure keeps; given back when it is dropped.
pub struct Held {
    memory: Rc<StatementMemory>,
    bytes: u64,
}

impl Held {
    pub fn new(memory: &Rc<StatementMemory>) -> Held {
        Held { memory: Rc::clone(memory), bytes: 0 }
    }

    /// The structure is about to keep `bytes` more.
    ///
    /// # Errors
    /// 1041: there is no memory for them.
    #[inline]
    pub fn add(&mut self, bytes: usize) -> Result<()> {
        self.memory.grow(bytes as u64)?;
        self.bytes += bytes as u64;
        Ok(())
    }

    /// The structure keeps so many bytes from now on.
    ///
    /// # Errors
    /// 1041: there is no memory for them; what was counted stays.
    pub fn set(&mut self, bytes: usize) -> Result<()> {
        match (bytes as u64).checked_sub(self.bytes) {
            Some(more) => self.add(more as usize),
            None => {
                self.shrink_to(bytes);
                Ok(())
            }
        }
    }

    /// The structure keeps less than it did, or as much.
    pub fn shrink_to(&mut self, bytes: usize) {
        let bytes = self.bytes.min(bytes as u64);
        self.memory.shrink(self.bytes - bytes);
        self.bytes = bytes;
    }

    /// The structure keeps so much less.
    pub fn give_back(&mut self, bytes: usize) {
        self.shrink_to(self.bytes.saturating_sub(bytes as u64) as usize);
    }

    /// Takes over what another structure of the same session keeps.
    pub fn take_over(&mut self, mut other: Held) {
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.memory.shrink(self.bytes);
        }
    }
}

/// What the values of a row take.
pub fn row_bytes(row: &[Value]) -> usize {
    size_of_val(row) + row.iter().map(Value::heap_bytes).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_not_counted_and_everything_is_given_back() {
        let budget = Arc::new(MemoryBudget::new(100 << 20));
        let memory = StatementMemory::new(Arc::clone(&budget));
        let mut small = Held::new(&memory);
        small.add(UNCOUNTED_BYTES as usize).unwrap();
        assert_eq!(budget.statement_bytes(), 0);
        let mut large = Held::new(&memory);
        (0..50_000).for_each(|_| large.add(100).unwrap());
        assert!((5_000_000..5_600_000).contains(&budget.statement_bytes()), "{}", budget.statement_bytes());
        large.shrink_to(1_000_000);
        assert!((1_000_000..1_600_000).contains(&budget.statement_bytes()), "{}", budget.statement_bytes());
        let mut other = Held::new(&memory);
        other.take_over(large);
        drop(small);
        assert!(budget.statement_bytes() >= 900_000);
        drop(other);
        assert_eq!(budget.statement_bytes(), 0);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_the_rest_stays_counted() {
        let budget = Arc::new(MemoryBudget::new(1 << 20));
        let memory = StatementMemory::new(Arc::clone(&budget));
        let mut held = Held::new(&memory);
        let mut kept = 0;
        let error = loop {
            match held.add(1 << 20) {
                Ok(()) => kept += 1 << 20,
                Err(error) => break error,
            }
        };
        assert_eq!(error.errno(), 1041, "{error}");
        assert!(kept > 40 << 20 && budget.statement_bytes() >= kept - UNCOUNTED_BYTES, "{kept}");
        drop(held);
        assert_eq!(budget.statement_bytes(), 0);
    }
}
