//! What profiles keep from request to request.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Semaphore;

/// What yields a heap profile in the format of pprof.
pub type HeapProfile = fn() -> Result<Vec<u8>, String>;

/// What is kept from request to request.
pub struct Profiles {
    pub(crate) is_on: AtomicBool,
    pub(crate) heap: OnceLock<HeapProfile>,
    pub(crate) one_at_a_time: Arc<Semaphore>,
}

impl Default for Profiles {
    fn default() -> Profiles {
        Profiles {
            pub(crate) is_on: AtomicBool::default(),
            pub(crate) heap: OnceLock::new(),
            pub(crate) one_at_a_time: Arc::new(Semaphore::new(1)),
        }
    }
}

impl Profiles {
    /// `heap`: if the allocator has one.
    pub(crate) fn turn_on(&self, heap: Option<HeapProfile>) {
        if let Some(heap) = heap {
            let _ = self.heap.set(heap);
        }
        self.is_on.store(true, Ordering::Release);
    }
}
