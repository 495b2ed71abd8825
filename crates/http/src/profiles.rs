//! Profiles of the process, for developers and for whoever asks why a server is slow or large: under `/debug/pprof/`, if `http_profiles` is ON.
//!
//! | request | what it yields |
//! |---|---|
//! | `GET /debug/pprof/profile?seconds=30` | where processor time is spent meanwhile, in the format of pprof |
//! | `GET /debug/pprof/profile?seconds=30&format=flamegraph` | the same as a picture (SVG) |
//! | `GET /debug/pprof/heap` | who has allocated the memory that is in use, in the format of pprof: with the allocator jemalloc |
//!
//! The paths are Go's, so that its tools find them: `go tool pprof http://USER:PASSWORD@HOST:8186/debug/pprof/profile`. Who asks logs in
//! with every request (HTTP's Basic), as an account that may end others' sessions. One profile is taken at a time, on a thread of its own.
//!
//! - `serve`: requests. `cpu`: samples of all threads. `format`: what pprof reads. Heap profiles are the allocator's, which `shoal` knows ([`HeapProfile`]).

mod cpu;
mod format;
mod serve;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Semaphore;

pub use serve::{answer, is_for_profiles};

/// What yields a heap profile in the format of pprof.
pub type HeapProfile = fn() -> Result<Vec<u8>, String>;

/// What is kept from request to request.
pub struct Profiles {
    is_on: AtomicBool,
    heap: OnceLock<HeapProfile>,
    one_at_a_time: Arc<Semaphore>,
}

impl Default for Profiles {
    fn default() -> Profiles {
        Profiles {
            is_on: AtomicBool::default(),
            heap: OnceLock::new(),
            one_at_a_time: Arc::new(Semaphore::new(1)),
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
