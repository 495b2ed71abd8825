//! The thread that does the node's background work (`background`): its pauses and its end.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use shoal_types::{Error, Result};

use crate::base::wait::lock;

/// How often there is a look at what is to be done.
const INTERVAL: Duration = Duration::from_millis(200);

/// The thread's off switch.
#[derive(Default)]
pub(crate) struct Keeper {
    stop: Mutex<bool>,
    changed: Condvar,
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl Keeper {
    /// Starts the thread, which works until [`Keeper::sleep`] says that it is time to end.
    pub(super) fn start(self: &Arc<Keeper>, work: impl FnOnce(&Keeper) + Send + 'static) -> Result<()> {
        let keeper = Arc::clone(self);
        let handle = std::thread::Builder::new()
            .name("shoal-keeper".into())
            .spawn(move || work(&keeper))
            .map_err(|error| Error::unknown(format!("cannot start the keeper thread: {error}")))?;
        *lock(&self.handle) = Some(handle);
        Ok(())
    }

    /// Sleeps for an interval; true when it is time to end.
    pub(super) fn sleep(&self) -> bool {
        let stop = lock(&self.stop);
        let waited = self.changed.wait_timeout_while(stop, INTERVAL, |stop| !*stop);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Ends the thread, and waits for it if this is another one.
    pub(crate) fn stop(&self) {
        *lock(&self.stop) = true;
        self.changed.notify_all();
        let handle = lock(&self.handle).take();
        if let Some(handle) = handle
            && handle.thread().id() != std::thread::current().id()
        {
            let _ = handle.join();
        }
    }
}
