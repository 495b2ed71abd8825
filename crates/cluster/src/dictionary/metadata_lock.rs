//! Metadata locks: transactions share the tables they use, a definition has the tables it changes for itself.
//!
//! The shared side is one atomic counter a table. The exclusive side marks its tables as wanted, waits until all their
//! counters are zero at once, and then holds all of them. No circle can close:
//! - a transaction that uses some table already does not wait for a definition that waits, it goes past it;
//! - a transaction that uses none holds nothing that anybody waits for;
//! - a definition that holds its tables waits for no table.
//!
//! A definition that copies rows has the table for itself, freezes it, and lets the others in again: they read, and wait before they
//! write. When it wants the table for itself again, a transaction that uses it and waits to write is told that this is a deadlock.
//!
//! Definitions that want a common table come one after the other, in the order they asked. Transactions that begin
//! after a definition has asked wait behind it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use shoal_types::{Error, ErrorCode, Result};

use crate::base::wait::{WaitSlots, Waiter, lock};
use crate::dictionary::table::Table;
use crate::dictionary::table_lock::{FROZEN, HELD, MetadataLock, USERS, WANTED};

/// All waiting for metadata locks of a node.
#[derive(Default)]
pub struct MetadataLocks {
    waits: Arc<WaitSlots>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// Definitions that wait or hold, in the order they asked.
    definitions: VecDeque<Definition>,
    /// Tokens of transactions that wait for a definition to end.
    users: Vec<u64>,
    /// Tables that may only be read, once for each definition that wants it so.
    frozen: Vec<Arc<MetadataLock>>,
    next: u64,
}

struct Definition {
    number: u64,
    locks: Vec<Arc<MetadataLock>>,
    token: u64,
    holds: bool,
}

/// Tables that nobody else uses, until this is dropped.
pub struct ExclusiveTables {
    locks: Arc<MetadataLocks>,
    number: u64,
}

/// Tables that may only be read until this is dropped.
pub struct FrozenTables {
    locks: Arc<MetadataLocks>,
    frozen: Vec<Arc<MetadataLock>>,
}

/// Error 1205.
pub(crate) fn timed_out() -> Error {
    Error::new(ErrorCode::LockWaitTimeout, "Lock wait timeout exceeded; try restarting transaction")
}

impl Queue {
    /// Gives tables to the definitions that can have them.
    fn grant(&mut self, waits: &WaitSlots) {
        for place in 0..self.definitions.len() {
            let (before, rest) = self.definitions.make_contiguous().split_at_mut(place);
            let Some(definition) = rest.first_mut() else { break };
            let overlaps = |other: &Definition| {
                other.locks.iter().any(|one| definition.locks.iter().any(|two| Arc::ptr_eq(one, two)))
            };
            let in_the_way = before.iter().any(overlaps);
            if definition.holds || in_the_way {
                continue;
            }
            let taken = definition.locks.iter().take_while(|one| one.try_hold()).count();
            if taken == definition.locks.len() {
                definition.holds = true;
                waits.signal(definition.token);
            } else {
                for one in &definition.locks[..taken] {
                    one.state.fetch_and(!HELD, Ordering::Release);
                }
            }
        }
    }

    /// Takes a definition out, and lets in whoever waits for it.
    fn end(&mut self, number: u64, waits: &WaitSlots) {
        let Some(place) = self.definitions.iter().position(|one| one.number == number) else { return };
        let Some(ended) = self.definitions.remove(place) else { return };
        for one in &ended.locks {
            let has = |other: &&Definition| other.locks.iter().any(|two| Arc::ptr_eq(one, two));
            let mut others = self.definitions.iter().filter(has).peekable();
            let mut clear = if others.peek().is_some() { 0 } else { WANTED };
            if ended.holds && !others.any(|other| other.holds) {
                clear |= HELD;
            }
            one.state.fetch_and(!clear, Ordering::Release);
        }
        self.grant(waits);
        self.wake_users(waits);
    }

    fn wake_users(&mut self, waits: &WaitSlots) {
        for token in self.users.drain(..) {
            waits.signal(token);
        }
    }
}

impl MetadataLocks {
    pub(crate) fn new(waits: Arc<WaitSlots>) -> Arc<MetadataLocks> {
        Arc::new(MetadataLocks { waits, queue: Mutex::default() })
    }

    /// The transaction uses the table from now on. `uses_others`: it uses some table already. Give it back with `release`.
    ///
    /// # Errors
    /// 1205 when a definition takes too long.
    pub async fn share(
        &self,
        table: &Table,
        uses_others: bool,
        waiter: &mut Waiter,
        timeout: Duration,
    ) -> Result<()> {
        if table.metadata_lock.try_share(uses_others) {
            return Ok(());
        }
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            {
                let mut queue = lock(&self.queue);
                if table.metadata_lock.try_share(uses_others) {
                    return Ok(());
                }
                queue.users.push(waiter.arm(1));
            }
            let woken = tokio::time::timeout_at(deadline, waiter.wait()).await;
            waiter.arm(1);
            woken.map_err(|_| timed_out())?;
        }
    }

    /// The same if that is possible without waiting.
    #[inline]
    pub fn try_share(&self, table: &Table, uses_others: bool) -> bool {
        table.metadata_lock.try_share(uses_others)
    }

    /// The transaction uses the table no more.
    #[inline]
    pub fn release(&self, table: &Table) {
        let before = table.metadata_lock.state.fetch_sub(1, Ordering::Release);
        if before & WANTED != 0 && before & USERS == 1 {
            lock(&self.queue).grant(&self.waits);
        }
    }

    /// Waits until no transaction uses these tables, and keeps others from beginning to. The caller must not use any of
    /// them itself at this time.
    ///
    /// # Errors
    /// 1205 when that takes too long.
    pub async fn exclusive(self: &Arc<Self>, tables: &[Arc<Table>], timeout: Duration) -> Result<ExclusiveTables> {
        let mut locks: Vec<Arc<MetadataLock>> = Vec::with_capacity(tables.len());
        for table in tables {
            if !locks.iter().any(|known| Arc::ptr_eq(known, &table.metadata_lock)) {
                locks.push(Arc::clone(&table.metadata_lock));
            }
        }
        let waiter = self.waits.waiter();
        let exclusive = {
            let mut queue = lock(&self.queue);
            let number = queue.next;
            queue.next += 1;
            for one in &locks {
                one.state.fetch_or(WANTED, Ordering::Relaxed);
            }
            // Those who would write and are in the way now cannot wait any longer.
            if locks.iter().any(|one| one.is_frozen()) {
                queue.wake_users(&self.waits);
            }
            queue.definitions.push_back(Definition { number, locks, token: waiter.token(), holds: false });
            queue.grant(&self.waits);
            ExclusiveTables { locks: Arc::clone(self), number }
        };
        tokio::time::timeout(timeout, waiter.wait()).await.map_err(|_| timed_out())?;
        Ok(exclusive)
    }

    /// Lets nobody write to these tables, nor lock rows of them for that. Whoever asks has them exclusively, so that nobody has begun to.
    pub(crate) fn freeze(self: &Arc<Self>, tables: &[Arc<Table>]) -> FrozenTables {
        let frozen: Vec<Arc<MetadataLock>> = tables.iter().map(|table| Arc::clone(&table.metadata_lock)).collect();
        let mut queue = lock(&self.queue);
        for one in &frozen {
            one.state.fetch_or(FROZEN, Ordering::Relaxed);
        }
        queue.frozen.extend(frozen.iter().cloned());
        FrozenTables { locks: Arc::clone(self), frozen }
    }

    /// Waits until a table may be written. `uses_it`: the transaction uses it already, so that a definition may come to wait for it.
    ///
    /// # Errors
    /// 1205 when that takes too long; 1213 when the definition that keeps it from writing waits for it to end.
    pub async fn await_writable(
        &self,
        table: &Table,
        uses_it: bool,
        waiter: &mut Waiter,
        timeout: Duration,
    ) -> Result<()> {
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            {
                let mut queue = lock(&self.queue);
                if !table.metadata_lock.is_frozen() {
                    return Ok(());
                }
                if uses_it && table.metadata_lock.is_wanted() {
                    let message = "Deadlock found when trying to get lock; try restarting transaction";
                    return Err(Error::new(ErrorCode::LockDeadlock, message));
                }
                queue.users.push(waiter.arm(1));
            }
            let woken = tokio::time::timeout_at(deadline, waiter.wait()).await;
            waiter.arm(1);
            woken.map_err(|_| timed_out())?;
        }
    }

    /// Keeps everybody from beginning to use the table, as a definition of any node has it already. Who uses it goes on until
    /// partitions refuse what was planned on its earlier version.
    pub(crate) fn hold(self: &Arc<Self>, table: &Table) -> ExclusiveTables {
        let mut queue = lock(&self.queue);
        let number = queue.next;
        queue.next += 1;
        table.metadata_lock.state.fetch_or(WANTED | HELD, Ordering::Relaxed);
        let locks = vec![Arc::clone(&table.metadata_lock)];
        // Nobody waits for it.
        queue.definitions.push_front(Definition { number, locks, token: 0, holds: true });
        ExclusiveTables { locks: Arc::clone(self), number }
    }
}

impl Drop for ExclusiveTables {
    fn drop(&mut self) {
        lock(&self.locks.queue).end(self.number, &self.locks.waits);
    }
}

impl Drop for FrozenTables {
    fn drop(&mut self) {
        let mut queue = lock(&self.locks.queue);
        for one in &self.frozen {
            if let Some(place) = queue.frozen.iter().position(|known| Arc::ptr_eq(known, one)) {
                queue.frozen.swap_remove(place);
            }
            if !queue.frozen.iter().any(|known| Arc::ptr_eq(known, one)) {
                one.state.fetch_and(!FROZEN, Ordering::Release);
            }
        }
        queue.wake_users(&self.locks.waits);
    }
}

#[cfg(test)]
mod tests;
