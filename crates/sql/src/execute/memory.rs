//! What a statement keeps in memory while it runs: rows to be sorted, groups, keys that it has seen, inputs of joins, results of
//! subqueries, its text.
//!
//! All of it is counted at the budget of the process ([`MemoryBudget`]), which is asked in steps, and not at all by statements that
//! keep little, and against the limits of connections ([`ConnectionLimits`]). A structure that grows has a [`Held`], which gives everything back when the structure goes: at the
//! statement's end at the latest, or at the cursor's. What is counted is what a structure has in use, and for lists and tables
//! that grow by doubling what that takes at its worst.
//!
//! Batches on their way through a pipeline are not counted: they are bounded by their rows and bytes.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::MemoryBudget;
use shoal_types::{Result, Value};

use super::connection_memory::{self, CONNECTION_BYTES, ConnectionLimits, ConnectionsMemory};

/// What a session keeps without being counted.
const UNCOUNTED_BYTES: u64 = 64 << 10;
/// The budget is asked for so much at a time.
const STEP_BYTES: u64 = 256 << 10;

/// The memory of a session's statements.
pub struct StatementMemory {
    budget: Arc<MemoryBudget>,
    connections: Arc<ConnectionsMemory>,
    limits: Cell<ConnectionLimits>,
    held_bytes: Cell<u64>,
    /// Of the budget.
    reserved_bytes: Cell<u64>,
    /// Among what all connections hold.
    counted_bytes: Cell<u64>,
    /// Beyond this the budget or a limit has to be asked.
    free_until_bytes: Cell<u64>,
}

impl StatementMemory {
    /// Without limits of its own.
    #[cfg(test)]
    pub fn new(budget: Arc<MemoryBudget>) -> Rc<StatementMemory> {
        StatementMemory::of_connection(budget, Arc::default())
    }

    /// Of one of these connections, without limits before [`StatementMemory::limit`].
    pub fn of_connection(budget: Arc<MemoryBudget>, connections: Arc<ConnectionsMemory>) -> Rc<StatementMemory> {
        Rc::new(StatementMemory {
            budget,
            connections,
            limits: Cell::new(ConnectionLimits::NONE),
            held_bytes: Cell::new(0),
            reserved_bytes: Cell::new(0),
            counted_bytes: Cell::new(0),
            free_until_bytes: Cell::new(UNCOUNTED_BYTES),
        })
    }

    /// From now on these limits apply, also to what is held already.
    ///
    /// # Errors
    /// 4081, 4082: it is too much.
    pub fn limit(&self, limits: ConnectionLimits) -> Result<()> {
        self.limits.set(limits);
        self.connections.give_back(self.counted_bytes.take());
        let outcome = self.count(self.held_bytes.get());
        self.update_free();
        outcome
    }

    /// # Errors
    /// 4082: what the connection holds between statements is beyond its limit, which has been lowered.
    pub fn check(&self) -> Result<()> {
        self.check_own(self.held_bytes.get())
    }

    #[inline]
    fn grow(&self, bytes: u64) -> Result<()> {
        let held = self.held_bytes.get() + bytes;
        if held > self.free_until_bytes.get() {
            self.ask(held)?;
        }
        self.held_bytes.set(held);
        Ok(())
    }

    #[cold]
    fn ask(&self, held: u64) -> Result<()> {
        self.check_own(held)?;
        let reserved = self.reserved_bytes.get();
        if held > reserved + UNCOUNTED_BYTES {
            let bytes = held - UNCOUNTED_BYTES - reserved + STEP_BYTES;
            self.budget.reserve_statement(bytes)?;
            self.reserved_bytes.set(reserved + bytes);
        }
        let outcome = self.count(held);
        self.update_free();
        outcome
    }

    fn check_own(&self, held: u64) -> Result<()> {
        let (limits, all) = (self.limits.get(), CONNECTION_BYTES + held);
        if limits.is_enforced && all > limits.connection_bytes_max {
            return Err(connection_memory::too_much(limits.connection_bytes_max, all));
        }
        Ok(())
    }

    /// Counts what the connection is about to hold among what all connections do.
    fn count(&self, held: u64) -> Result<()> {
        let (limits, counted) = (self.limits.get(), self.counted_bytes.get());
        let all = CONNECTION_BYTES + held;
        if !limits.is_counted || all <= counted {
            return Ok(());
        }
        let wanted = all.next_multiple_of(limits.chunk_bytes.max(1));
        self.connections.take(wanted - counted, limits.is_enforced)?;
        self.counted_bytes.set(wanted);
        Ok(())
    }

    /// Before the budget, the connection's limit or the count of all connections has to be looked at again.
    fn update_free(&self) {
        let limits = self.limits.get();
        let mut free = self.reserved_bytes.get() + UNCOUNTED_BYTES;
        if limits.is_enforced {
            free = free.min(limits.connection_bytes_max.saturating_sub(CONNECTION_BYTES));
        }
        if limits.is_counted {
            free = free.min(self.counted_bytes.get().saturating_sub(CONNECTION_BYTES));
        }
        self.free_until_bytes.set(free);
    }

    fn shrink(&self, bytes: u64) {
        let held = self.held_bytes.get() - bytes;
        self.held_bytes.set(held);
        let (reserved, kept) = (self.reserved_bytes.get(), held.saturating_sub(UNCOUNTED_BYTES));
        let counted = self.counted_bytes.get();
        let counted_max = CONNECTION_BYTES + held + 2 * self.limits.get().chunk_bytes.max(1);
        let gives_back = reserved > kept + 2 * STEP_BYTES || held == 0 && reserved > 0;
        if !gives_back && counted <= counted_max {
            return;
        }
        if gives_back {
            self.budget.release_statement(reserved - kept);
            self.reserved_bytes.set(kept);
        }
        if counted > counted_max {
            let wanted = (CONNECTION_BYTES + held).next_multiple_of(self.limits.get().chunk_bytes.max(1));
            self.connections.give_back(counted - wanted);
            self.counted_bytes.set(wanted);
        }
        self.update_free();
    }

    /// Counts what is kept already, whatever the limits say: they are looked at when more is wanted.
    fn grow_anyway(&self, bytes: u64) {
        let held = self.held_bytes.get() + bytes;
        if held > self.free_until_bytes.get() {
            let more = (held - UNCOUNTED_BYTES.min(held)).saturating_sub(self.reserved_bytes.get());
            self.budget.charge_statement(more);
            self.reserved_bytes.set(self.reserved_bytes.get() + more);
            let limits = self.limits.get();
            self.limits.set(ConnectionLimits { is_enforced: false, ..limits });
            let _ = self.count(held);
            self.limits.set(limits);
            self.update_free();
        }
        self.held_bytes.set(held);
    }
}

impl Drop for StatementMemory {
    fn drop(&mut self) {
        self.connections.give_back(self.counted_bytes.get());
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

    /// The structure keeps so many bytes already, whether there is memory for them or not.
    pub fn set_anyway(&mut self, bytes: usize) {
        match (bytes as u64).checked_sub(self.bytes) {
            Some(more) => {
                self.memory.grow_anyway(more);
                self.bytes += more;
            }
            None => self.shrink_to(bytes),
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
