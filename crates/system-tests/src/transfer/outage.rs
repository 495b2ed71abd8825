//! How long nothing at all was acknowledged.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest time without a commit since the watch began.
#[derive(Default)]
pub struct Outage {
    watch: Mutex<Option<Watch>>,
}

struct Watch {
    /// Clients of the node at this place do not count: it is the one that is broken.
    but_of: Option<usize>,
    last: Instant,
    longest: Duration,
}

impl Outage {
    fn lock(&self) -> MutexGuard<'_, Option<Watch>> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn watch(&self, but_of: Option<usize>) {
        *self.lock() = Some(Watch { but_of, last: Instant::now(), longest: Duration::ZERO });
    }

    /// A client of the node at `place` has been told of a commit.
    pub fn note_commit(&self, place: usize) {
        if let Some(watch) = &mut *self.lock()
            && watch.but_of != Some(place)
        {
            let now = Instant::now();
            watch.longest = watch.longest.max(now - watch.last);
            watch.last = now;
        }
    }

    pub fn longest(&self) -> Duration {
        self.lock().as_ref().map_or(Duration::ZERO, |watch| watch.longest.max(watch.last.elapsed()))
    }
}
