//! Keeps background writing from taking the disk away from commits.

use std::time::{Duration, Instant};

/// Called after each piece that a checkpoint has written; may wait.
pub trait Throttle: Send {
    /// So many bytes more were written.
    fn written(&mut self, bytes: u64);
}

/// Spreads the bytes evenly over time, by sleeping in the writing thread.
#[derive(Debug)]
pub struct BytesPerSecond {
    rate: u64,
    start: Instant,
    bytes: u64,
}

impl BytesPerSecond {
    /// A `rate` of 0 means no limit.
    pub fn new(rate: u64) -> BytesPerSecond {
        BytesPerSecond { rate, start: Instant::now(), bytes: 0 }
    }

    /// How long after the start the bytes written so far were due.
    fn due(&self) -> Duration {
        match self.rate {
            0 => Duration::ZERO,
            rate => Duration::from_secs_f64(self.bytes as f64 / rate as f64),
        }
    }
}

impl Throttle for BytesPerSecond {
    fn written(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        let ahead = self.due().saturating_sub(self.start.elapsed());
        if !ahead.is_zero() {
            std::thread::sleep(ahead);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_megabyte_at_a_megabyte_a_second_is_due_after_a_second() {
        let mut throttle = BytesPerSecond::new(1 << 20);
        throttle.bytes = 1 << 20;
        assert_eq!(throttle.due(), Duration::from_secs(1));
        throttle.rate = 0;
        assert_eq!(throttle.due(), Duration::ZERO);
    }
}
