//! What sessions reached: events, errors, how long they took, and how long nothing happened.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::measure::latency::Latencies;

/// The window that must not pass without a commit.
pub const WINDOW: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub struct Tally {
    counts_from: Instant,
    ends: Option<Instant>,
    last: Instant,
    /// Events that ended well in the time that counts.
    pub events: u64,
    /// Events that ended well at any time, those of the warm-up and the last ones included.
    pub events_of_all_time: u64,
    /// Errors by number, at any time.
    pub errors: BTreeMap<u16, u64>,
    /// What the server said with the first error of each number.
    pub messages: BTreeMap<u16, String>,
    pub latencies: Latencies,
    /// The longest time in which no session ended an event.
    pub stall: Duration,
    /// Windows of 100 ms in which no session ended an event.
    pub empty_windows: u64,
}

impl Tally {
    pub fn new(counts_from: Instant) -> Tally {
        Tally {
            counts_from,
            ends: None,
            last: counts_from,
            events: 0,
            events_of_all_time: 0,
            errors: BTreeMap::new(),
            messages: BTreeMap::new(),
            latencies: Latencies::default(),
            stall: Duration::ZERO,
            empty_windows: 0,
        }
    }

    pub fn event(&mut self, began: Instant, now: Instant) {
        self.events_of_all_time += 1;
        if now < self.counts_from || self.ends.is_some() {
            return;
        }
        self.events += 1;
        self.latencies.record(now.duration_since(began));
        self.quiet_until(now);
    }

    pub fn error(&mut self, errno: u16, message: &str) {
        *self.errors.entry(errno).or_default() += 1;
        self.messages.entry(errno).or_insert_with(|| message.to_string());
    }

    /// From here on events are only counted. The first call decides.
    pub fn end(&mut self, now: Instant) {
        if self.ends.is_none() {
            self.quiet_until(now);
            self.ends = Some(now);
        }
    }

    pub fn time(&self) -> Duration {
        self.ends.unwrap_or(self.last).saturating_duration_since(self.counts_from)
    }

    pub fn per_second(&self) -> f64 {
        self.events as f64 / self.time().as_secs_f64().max(1e-9)
    }

    pub fn errors_in_all(&self) -> u64 {
        self.errors.values().sum()
    }

    fn quiet_until(&mut self, now: Instant) {
        let window =
            |time: Instant| time.saturating_duration_since(self.counts_from).as_nanos() / WINDOW.as_nanos();
        let quiet = now.saturating_duration_since(self.last);
        self.stall = self.stall.max(quiet);
        self.empty_windows += window(now).saturating_sub(window(self.last) + 1) as u64;
        self.last = self.last.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_without_an_event_and_the_longest_stall_are_told() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut tally = Tally::new(at(1000));
        tally.event(start, at(900));
        assert_eq!((tally.events, tally.events_of_all_time), (0, 1), "the warm-up does not count");
        for millis in [1050, 1150, 1450, 1460] {
            tally.event(at(millis - 10), at(millis));
        }
        tally.end(at(1700));
        tally.event(at(1000), at(1800));
        assert_eq!((tally.events, tally.events_of_all_time), (4, 6));
        // Those from 1.2 and 1.3 s, and from 1.5 and 1.6 s.
        assert_eq!(tally.empty_windows, 4);
        assert_eq!(tally.stall, Duration::from_millis(300));
        assert!((tally.latencies.micros(0.5) - 10_000.0).abs() < 100.0);
        assert_eq!(tally.time(), Duration::from_millis(700));
    }
}
