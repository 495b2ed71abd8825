//! What all lives of a run share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shoal_log::schedule::keep_turn;
use shoal_log::{AppendClass, Log, LogError, Lsn};

use super::known::Known;
use crate::sights::{Sight, Sights};

/// A lock that nobody waits for: one thread runs at a time.
pub fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all lives of a run share.
#[derive(Clone, Default)]
pub struct Shared {
    pub known: Arc<Mutex<Known>>,
    pub sights: Arc<Mutex<Sights>>,
    pub story: Arc<Mutex<Vec<String>>>,
    pub says: bool,
}

impl Shared {
    pub fn see(&self, sight: Sight) {
        held(&self.sights).see(sight);
    }

    pub fn tell(&self, line: impl FnOnce() -> String) {
        if self.says {
            held(&self.story).push(format!("{} {}", shoal_log::schedule::now_us(), line()));
        }
    }

    /// Appends the next batch to the log.
    pub fn append(&self, log: &Log, class: AppendClass, (wakes, is_small): (bool, bool)) -> Result<Lsn, LogError> {
        let (id, batch) = held(&self.known).next_batch(is_small);
        // In the order of the log.
        let end = keep_turn(|| match wakes {
            true => log.append(&batch, class),
            false => log.append_unflushed(&batch, class),
        })?;
        held(&self.known).took(id, end);
        Ok(end)
    }
}
