//! What SHOW STATUS says of this server. Each worker counts for itself.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($name:ident $text:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Counter {
            $($name,)*
        }

        /// Names as SHOW STATUS prints them, in the order of `Counter`.
        pub const COUNTER_NAMES: &[&str] = &[$($text,)*];
    };
}

counters! {
    AuthFailures "Hs_auth_failures",
    Batches "Hs_batches",
    BytesReceived "Hs_bytes_received",
    BytesSent "Hs_bytes_sent",
    Connections "Hs_connections",
    ConnectionsRefused "Hs_connections_refused",
    Errors "Hs_errors",
    Finds "Hs_finds",
    Inserts "Hs_inserts",
    Modifies "Hs_modifies",
    Requests "Hs_requests",
    TableClose "Hs_table_close",
    TableLock "Hs_table_lock",
    TableOpen "Hs_table_open",
    TableUnlock "Hs_table_unlock",
}

/// One worker's counts.
#[derive(Debug)]
pub struct Counters([AtomicU64; COUNTER_NAMES.len()]);

impl Default for Counters {
    fn default() -> Counters {
        Counters(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Counters {
    /// Only the owning worker adds, so a load and a store do.
    #[inline]
    pub fn add(&self, counter: Counter, amount: u64) {
        let cell = &self.0[counter as usize];
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }

    pub fn add_to(&self, sums: &mut [u64]) {
        for (sum, cell) in sums.iter_mut().zip(&self.0) {
            *sum += cell.load(Ordering::Relaxed);
        }
    }
}
