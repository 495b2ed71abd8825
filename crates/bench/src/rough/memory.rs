//! The most memory that a server had, looked at all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use shoal_testkit::process;

use super::target::Target;

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Watches from its start until it is dropped.
pub struct PeakMemory {
    peak: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PeakMemory {
    pub fn of(target: &Target) -> PeakMemory {
        let (peak, is_over) = (Arc::new(AtomicU64::new(target.resident())), Arc::new(AtomicBool::new(false)));
        let (own_peak, own_is_over, processes) = (Arc::clone(&peak), Arc::clone(&is_over), target.processes());
        let thread = thread::spawn(move || {
            while !own_is_over.load(Ordering::Relaxed) {
                let resident = processes.iter().filter_map(|&id| process::resident_bytes(id).ok()).sum();
                own_peak.fetch_max(resident, Ordering::Relaxed);
                thread::sleep(LOOK_EVERY);
            }
        });
        PeakMemory { peak, is_over, thread: Some(thread) }
    }

    pub fn bytes(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

impl Drop for PeakMemory {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
