//! The clocks of a node: the hybrid logical clock that dates commits, and the one that leases run by.
//!
//! The hybrid logical clock: microseconds since 1970 in the upper 52 bits, a counter in the lower 12.
//!
//! Readings only rise, also over restarts: recovery starts the clock above the newest timestamp it has seen. When the
//! wall clock stands still or goes back, the counter goes on and in the end carries into the microseconds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use shoal_partition::Millis;
use shoal_types::{Error, Result, Timestamp};

const COUNTER_BITS: u32 = 12;

/// 1 January 2100: readings until then fit.
const LAST_MICROS: u64 = 4_102_444_800_000_000;
const _: () = assert!(LAST_MICROS.leading_zeros() >= COUNTER_BITS);

/// Another node's clock is not believed if it is further ahead than this of both clocks here. Clocks that were wrong when a cluster
/// ran and have been set right leave its nodes ahead of their hosts, and a node that comes anew must believe them.
const AHEAD_MAX: u64 = reading(365 * 86_400 * 1_000_000);

/// Far ahead of what is known here: it can be right if the host's clock says so too.
#[cold]
fn check_believable(seen: Timestamp) -> Result<()> {
    if seen.0 <= reading(wall_micros()) + AHEAD_MAX && seen.0 <= reading(LAST_MICROS) {
        return Ok(());
    }
    let message = format!("timestamp {seen} is years ahead of the clocks here: no node's clock shows that");
    Err(Error::unknown(message).as_spoilt())
}

/// The clock that dates commits; see the head of this module.
#[derive(Debug, Default)]
pub struct HybridClock {
    last: AtomicU64,
}

/// Microseconds since 1970 by the wall clock.
pub(crate) fn wall_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// The clock that leases run by: milliseconds since the host started. Unlike the monotonic clock it goes on while the host is
/// suspended. The others elect a new leader meanwhile, and with a clock that had stood still this one would serve the rest of
/// its lease when it wakes up.
pub(crate) fn since_boot() -> Millis {
    let now = clock_gettime(ClockId::Boottime);
    Millis(now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000)
}

/// A clock's reading at this moment, when nobody has read it before.
const fn reading(micros: u64) -> u64 {
    micros << COUNTER_BITS
}

/// When a timestamp was given, or a little earlier.
pub(crate) const fn micros_of(timestamp: Timestamp) -> u64 {
    timestamp.0 >> COUNTER_BITS
}

impl HybridClock {
    /// A clock whose readings are all later than `after`.
    pub fn starting_after(after: Timestamp) -> HybridClock {
        HybridClock { last: AtomicU64::new(after.0) }
    }

    /// A reading later than every earlier one.
    pub fn tick(&self) -> Timestamp {
        let wall = reading(wall_micros());
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            let next = wall.max(last + 1);
            match self.last.compare_exchange_weak(last, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Timestamp(next),
                Err(changed) => last = changed,
            }
        }
    }

    /// The newest reading, or what was observed.
    pub fn latest(&self) -> Timestamp {
        Timestamp(self.last.load(Ordering::Acquire))
    }

    /// Later readings will be later than `seen`, which came from elsewhere.
    #[inline]
    pub fn observe(&self, seen: Timestamp) {
        // Mostly it is known, and to read costs less than to write.
        if self.last.load(Ordering::Acquire) < seen.0 {
            self.last.fetch_max(seen.0, Ordering::AcqRel);
        }
    }

    /// The same with what a frame says.
    ///
    /// # Errors
    /// It is far beyond this clock and that of the host, or no clock shows it in this century: behind that no reading could rise any
    /// more. Nothing is observed.
    #[inline]
    pub fn observe_peer(&self, seen: Timestamp) -> Result<()> {
        let known = self.latest().0;
        if known >= seen.0 {
            return Ok(());
        }
        if seen.0 > known.saturating_add(AHEAD_MAX) || seen.0 > reading(LAST_MICROS) {
            check_believable(seen)?;
        }
        self.observe(seen);
        Ok(())
    }
}

/// Ids of rows of tables without a primary key: a clock reading without its lowest bits, where the node's number stands instead. They only rise at a node, over restarts too.
#[derive(Debug)]
pub struct RowIds {
    last: AtomicU64,
}

/// For the node's number; NDB's go up to 255.
const NODE_BITS: u32 = 8;

impl RowIds {
    /// Ids later than those that were given before the newest transaction in the log.
    pub fn starting_after(newest: Timestamp) -> RowIds {
        RowIds { last: AtomicU64::new((newest.0 >> NODE_BITS) + (1 << NODE_BITS)) }
    }

    pub fn next(&self, now: Timestamp, node: u32) -> u64 {
        let reading = now.0 >> NODE_BITS;
        let raised = |last: u64| Some(reading.max(last + 1));
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raised).unwrap_or_default();
        reading.max(last + 1) << NODE_BITS | u64::from(node & ((1 << NODE_BITS) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a process may have a clock of its own that says that the host was suspended for long, it is this one that shows it.
    #[test]
    fn leases_run_by_the_clock_that_counts_the_time_in_suspend() {
        const CHILD: &str = "SHOAL_TEST_BOOT_CLOCK";
        const SUSPENDED_S: u64 = 100_000_000;
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        let now = since_boot().0 as f64 / 1000.0;
        assert!((now - uptime).abs() < 60.0, "{now} is not {uptime}");
        if std::env::var(CHILD).is_ok() {
            println!("{CHILD} {now}");
            return;
        }
        let mut child = std::process::Command::new("unshare");
        child.args(["--user", "--map-root-user", "--time", "--boottime", &SUSPENDED_S.to_string()]);
        child.arg(std::env::current_exe().unwrap()).args([
            "--exact",
            "base::clock::tests::leases_run_by_the_clock_that_counts_the_time_in_suspend",
            "--nocapture",
        ]);
        // Not everybody may make time namespaces.
        let Ok(output) = child.env(CHILD, "yes").output() else { return };
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        if let Some((_, told)) = output.split_once(CHILD) {
            let told: f64 = told.split_whitespace().next().unwrap().parse().unwrap();
            assert!(told > SUSPENDED_S as f64, "{told}");
        }
    }

    /// With 16 bits for the counter microseconds since 1970 did not fit: readings began again at zero every nine years, next in June
    /// 2032, and when the counter had filled what was left, timestamps went back.
    #[test]
    fn readings_rise_through_every_year_of_this_century() {
        const YEAR: u64 = 31_556_952_000_000;
        let years = (50..130).map(|year| year * YEAR).take_while(|&micros| micros < LAST_MICROS);
        let readings: Vec<u64> = years.map(reading).collect();
        assert!(readings.len() > 75 && readings.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(micros_of(Timestamp(reading(LAST_MICROS) + 7)), LAST_MICROS);
    }

    #[test]
    fn a_peers_clock_that_cannot_be_is_refused() {
        let clock = HybridClock::default();
        let now = reading(wall_micros());
        for seen in [Timestamp::MAX, Timestamp(reading(LAST_MICROS)), Timestamp(now + 2 * AHEAD_MAX)] {
            assert!(clock.observe_peer(seen).unwrap_err().is_spoilt());
            assert_eq!(clock.latest(), Timestamp::ZERO);
        }
        let ahead = Timestamp(now + AHEAD_MAX);
        clock.observe_peer(ahead).unwrap();
        assert_eq!(clock.latest(), ahead);
        // Where the clock here is ahead of its host's, that of a peer may be as well.
        let further = Timestamp(ahead.0 + AHEAD_MAX);
        clock.observe_peer(further).unwrap();
        assert_eq!(clock.latest(), further);
        let clock = HybridClock::starting_after(Timestamp(reading(LAST_MICROS)));
        assert!(clock.observe_peer(Timestamp(reading(LAST_MICROS) + 1)).is_err());
    }

    #[test]
    fn readings_rise_even_when_the_wall_clock_is_behind() {
        let future = Timestamp((wall_micros() + 3_600_000_000) << COUNTER_BITS);
        let clock = HybridClock::starting_after(future);
        let mut last = future;
        for _ in 0..100_000 {
            let next = clock.tick();
            assert!(next > last);
            last = next;
        }
    }

    #[test]
    fn row_ids_rise_at_a_node_and_differ_between_nodes() {
        let ids = RowIds::starting_after(Timestamp(700 << COUNTER_BITS));
        let now = Timestamp(900 << COUNTER_BITS);
        let given: Vec<u64> = (0..1000).map(|_| ids.next(now, 3)).collect();
        assert!(given.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(given.iter().all(|id| id & 0xff == 3));
        let after_restart = RowIds::starting_after(now).next(Timestamp(1), 3);
        assert!(after_restart > given[100], "a clock that was put back");
    }
}
