//! User-level locks: GET_LOCK and its kin.
//!
//! One table for the process. A lock has a holder, who may have taken it several times, and a queue; who gives it up
//! hands it to the first in the queue. A wait that would close a circle of waits is refused instead. A session's locks
//! outlive its transactions and end with the session.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use shoal_expr::UserLocks;
use shoal_types::{Error, ErrorCode, Result};

#[derive(Default)]
pub struct UserLockTable {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    locks: HashMap<String, Lock>,
    /// Waiting connection -> the lock it waits for.
    awaited: HashMap<u32, String>,
}

struct Lock {
    holder: u32,
    /// How often the holder has taken it.
    count: u64,
    queue: VecDeque<(u32, Option<Waker>)>,
}

impl UserLockTable {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// (name, connection, it has the lock): holders, and those that wait for them.
    pub fn list(&self) -> Vec<(String, u32, bool)> {
        let state = self.state();
        let of_lock = |(name, lock): (&String, &Lock)| {
            let waiting = lock.queue.iter().map(|(connection, _)| (name.clone(), *connection, false));
            std::iter::once((name.clone(), lock.holder, true)).chain(waiting).collect::<Vec<_>>()
        };
        let mut found: Vec<_> = state.locks.iter().flat_map(of_lock).collect();
        found.sort_by(|one, other| (&one.0, !one.2).cmp(&(&other.0, !other.2)));
        found
    }

    /// Waits until the lock is `connection`'s; `false` if that takes longer than `timeout`. Dropped, it is given up.
    pub async fn wait(&self, connection: u32, name: &str, timeout: Duration) -> Result<bool> {
        if !self.state().enter(connection, name)? {
            return Ok(true);
        }
        let mut waiting = Waiting { table: self, connection, name, is_over: false };
        let granted =
            std::future::poll_fn(|context| match self.state().is_granted(connection, name, context.waker()) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            });
        waiting.is_over = tokio::time::timeout(timeout, granted).await.is_ok();
        Ok(waiting.is_over)
    }
}

/// A connection in a lock's queue.
struct Waiting<'a> {
    table: &'a UserLockTable,
    connection: u32,
    name: &'a str,
    is_over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.table.state().leave(self.connection, self.name);
        }
    }
}

impl State {
    /// Takes a lock that is free or the connection's own.
    fn take(&mut self, connection: u32, name: &str) -> bool {
        match self.locks.entry(name.to_owned()) {
            Entry::Vacant(free) => {
                free.insert(Lock { holder: connection, count: 1, queue: VecDeque::new() });
                true
            }
            Entry::Occupied(mut held) if held.get().holder == connection => {
                held.get_mut().count += 1;
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    /// Joins the queue; `false` if the lock could be taken at once. Errors: 3058, the wait would never end.
    fn enter(&mut self, connection: u32, name: &str) -> Result<bool> {
        if self.take(connection, name) {
            return Ok(false);
        }
        let mut next = Some(name);
        while let Some(lock) = next.and_then(|name| self.locks.get(name)) {
            if lock.holder == connection {
                let message = "Deadlock found when trying to get user-level lock; try rolling back \
                               transaction/releasing locks and restarting lock acquisition.";
                return Err(Error::new(ErrorCode::UserLockDeadlock, message));
            }
            next = self.awaited.get(&lock.holder).map(String::as_str);
        }
        if let Some(lock) = self.locks.get_mut(name) {
            lock.queue.push_back((connection, None));
        }
        self.awaited.insert(connection, name.to_owned());
        Ok(true)
    }

    fn is_granted(&mut self, connection: u32, name: &str, waker: &Waker) -> bool {
        let Some(lock) = self.locks.get_mut(name) else { return false };
        if let Some(place) = lock.queue.iter_mut().find(|place| place.0 == connection) {
            place.1 = Some(waker.clone());
        }
        lock.holder == connection
    }

    /// Leaves the queue, or gives back what was handed over while the wait was given up.
    fn leave(&mut self, connection: u32, name: &str) {
        self.awaited.remove(&connection);
        if let Some(lock) = self.locks.get_mut(name) {
            lock.queue.retain(|place| place.0 != connection);
        }
        self.release(connection, name);
    }

    /// Gives back one taking: `false` if another connection holds the lock, `None` if nobody does.
    fn release(&mut self, connection: u32, name: &str) -> Option<bool> {
        let lock = self.locks.get_mut(name)?;
        if lock.holder != connection {
            return Some(false);
        }
        lock.count -= 1;
        if lock.count == 0 {
            self.hand_over(name);
        }
        Some(true)
    }

    fn hand_over(&mut self, name: &str) {
        let Some(lock) = self.locks.get_mut(name) else { return };
        match lock.queue.pop_front() {
            Some((next, waker)) => {
                lock.holder = next;
                lock.count = 1;
                self.awaited.remove(&next);
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            None => {
                self.locks.remove(name);
            }
        }
    }

    /// Gives back everything; how many takings that were.
    fn release_all(&mut self, connection: u32) -> u64 {
        let held = self.locks.iter().filter(|(_, lock)| lock.holder == connection);
        let held: Vec<(String, u64)> = held.map(|(name, lock)| (name.clone(), lock.count)).collect();
        for (name, _) in &held {
            self.hand_over(name);
        }
        held.iter().map(|(_, count)| count).sum()
    }
}

/// One session's hand on the table; dropped, it lets go of everything.
pub struct SessionLocks {
    pub table: Arc<UserLockTable>,
    pub connection: u32,
}

impl UserLocks for SessionLocks {
    fn get(&mut self, name: &str, timeout: Duration) -> Option<bool> {
        match self.table.state().take(self.connection, name) {
            true => Some(true),
            false if timeout.is_zero() => Some(false),
            false => None,
        }
    }

    fn release(&mut self, name: &str) -> Option<bool> {
        self.table.state().release(self.connection, name)
    }

    fn release_all(&mut self) -> u64 {
        self.table.state().release_all(self.connection)
    }

    fn holder(&self, name: &str) -> Option<u32> {
        self.table.state().locks.get(name).map(|lock| lock.holder)
    }
}

impl Drop for SessionLocks {
    fn drop(&mut self) {
        self.release_all();
    }
}
