//! Whether it pays to compress what a connection sends.
//!
//! Compressed bytes are sooner with the client if the line needs longer for those that are saved than processors to save them. Both sides of
//! that are measured: what a byte costs on the line as the system sees it, and what the connection's own contents took and saved.
//! On a fast line nothing but a sample is compressed, until it fills up; on a slow one everything is.
//!
//! A client on this machine has its bytes faster than they can be compressed, so they stay as they are, as long as it takes them: when
//! it does not, it may be the near end of a tunnel or a proxy to somewhere slow, and a while is compressed. Contents that
//! have not become shorter are a sample of those that follow: after each in vain, twice as many are sent as they are before
//! the next attempt.

use std::time::Duration;

/// After a client on this machine has not taken what it was sent, so many bytes are compressed.
const COMPRESSED_AFTER_WAIT: usize = 4 << 20;
/// Compressed by less than this part, contents were compressed in vain.
const GAIN_PART_MIN: usize = 8;
/// Bytes that are sent as they are after the first attempt in vain, and after many.
const SKIPPED_MIN: usize = 16 << 10;
const SKIPPED_MAX: usize = 1 << 20;

/// Between two looks at the line: each is a call of the system.
const BYTES_BETWEEN_LOOKS: usize = 16 << 10;
/// Of a line that is too fast: so many bytes are sent as they are before the next sample.
const BYTES_BETWEEN_SAMPLES: usize = 2 << 20;
/// The client takes half as long again to uncompress.
const CLIENT_FACTOR: f32 = 1.5;
/// The weight of the newest sample.
const NEWEST_PART: f32 = 0.125;

#[derive(Debug)]
pub struct Worth {
    is_local: bool,
    /// To be compressed although the client is on this machine.
    left_after_wait: usize,
    /// To be sent as they are, as others before were not worth it.
    skip: usize,
    skipped_last: usize,
    /// What the line takes for a byte.
    line_ns: f32,
    /// Sent since the last look at the line, and in how many pieces.
    since_look: usize,
    pieces: usize,
    /// What it took to save a byte; 0: not known.
    save_ns: f32,
    /// Until the next sample of contents on a line that is too fast.
    until_sample: usize,
}

impl Worth {
    /// Of a connection to a client on this machine, or elsewhere.
    pub fn new(is_local: bool) -> Worth {
        Worth {
            is_local,
            left_after_wait: 0,
            skip: 0,
            skipped_last: 0,
            line_ns: f32::INFINITY,
            since_look: BYTES_BETWEEN_LOOKS,
            pieces: 0,
            save_ns: 0.0,
            until_sample: 0,
        }
    }

    /// Whether to try for the next so many bytes. `line`: nanoseconds a byte when so many are sent at a time; `None`: slow, for all one knows.
    pub fn wants(&mut self, bytes: usize, line: impl FnOnce(usize) -> Option<f32>) -> bool {
        if self.is_local {
            if self.left_after_wait == 0 {
                return false;
            }
            self.left_after_wait = self.left_after_wait.saturating_sub(bytes);
        } else if !self.line_is_slow(bytes, line) {
            return false;
        }
        let wants = self.skip == 0;
        self.skip = self.skip.saturating_sub(bytes);
        wants
    }

    /// The line needs longer for what would be saved than saving it takes, or nobody knows.
    fn line_is_slow(&mut self, bytes: usize, line: impl FnOnce(usize) -> Option<f32>) -> bool {
        if self.since_look >= BYTES_BETWEEN_LOOKS {
            self.line_ns = line(self.since_look / self.pieces.max(1)).unwrap_or(f32::INFINITY);
            (self.since_look, self.pieces) = (0, 0);
        }
        self.since_look += bytes;
        self.pieces += 1;
        if self.line_ns > self.save_ns * CLIENT_FACTOR {
            return true;
        }
        let is_sample = self.until_sample == 0;
        self.until_sample =
            if is_sample { BYTES_BETWEEN_SAMPLES } else { self.until_sample.saturating_sub(bytes) };
        is_sample
    }

    /// What was tried made so many bytes of so many, in this time.
    pub fn learn(&mut self, plain: usize, compressed: usize, took: Duration) {
        let saved = plain.saturating_sub(compressed).max(1);
        let save_ns = took.as_nanos() as f32 / saved as f32;
        let known = self.save_ns > 0.0;
        self.save_ns = if known { self.save_ns + NEWEST_PART * (save_ns - self.save_ns) } else { save_ns };
        if compressed <= plain - plain / GAIN_PART_MIN {
            self.skipped_last = 0;
            return;
        }
        self.skipped_last = (2 * self.skipped_last).clamp(SKIPPED_MIN, SKIPPED_MAX);
        self.skip = self.skipped_last;
    }

    /// The client does not take what it is sent.
    pub fn note_wait(&mut self) {
        self.left_after_wait = COMPRESSED_AFTER_WAIT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: fn(usize) -> Option<f32> = |_| None;
    const MICROSECOND: Duration = Duration::from_micros(1);

    #[test]
    fn for_a_client_on_this_machine_only_a_while_after_it_was_slow_is_compressed() {
        let mut worth = Worth::new(true);
        assert!(!worth.wants(1000, UNKNOWN));
        worth.note_wait();
        let compressed = (0..100_000).take_while(|_| worth.wants(1000, UNKNOWN)).count() * 1000;
        assert!((COMPRESSED_AFTER_WAIT..COMPRESSED_AFTER_WAIT + 1000).contains(&compressed), "{compressed}");
        assert!(!worth.wants(1000, UNKNOWN));
        assert!(Worth::new(false).wants(1000, UNKNOWN));
    }

    #[test]
    fn what_does_not_shrink_is_tried_more_and_more_seldom_until_it_does() {
        let mut worth = Worth::new(false);
        let mut tried = 0;
        for _ in 0..100_000 {
            if worth.wants(1000, UNKNOWN) {
                tried += 1;
                worth.learn(1000, 990, MICROSECOND);
            }
        }
        assert!((90..200).contains(&tried), "{tried} of 100,000");
        while !worth.wants(1000, UNKNOWN) {}
        worth.learn(1000, 500, MICROSECOND);
        assert!(worth.wants(1000, UNKNOWN) && worth.wants(1000, UNKNOWN));
    }

    /// 100 us for 10,000 bytes, which become 5,000: 30 ns a byte with the client's share.
    fn compressed_of_1000(line_ns: Option<f32>) -> usize {
        let mut worth = Worth::new(false);
        let tries = (0..1000).filter(|_| {
            let wants = worth.wants(10_000, |_| line_ns);
            if wants {
                worth.learn(10_000, 5_000, 100 * MICROSECOND);
            }
            wants
        });
        tries.count()
    }

    #[test]
    fn a_line_that_is_faster_than_compression_carries_all_but_samples_as_they_are() {
        assert_eq!(compressed_of_1000(None), 1000);
        assert_eq!(compressed_of_1000(Some(31.0)), 1000);
        let samples = compressed_of_1000(Some(29.0));
        assert!((3..10).contains(&samples), "{samples} of 1000");
    }

    #[test]
    fn a_line_that_fills_up_is_noticed() {
        let mut worth = Worth::new(false);
        worth.learn(10_000, 5_000, 100 * MICROSECOND);
        let fast = |_| Some(1.0);
        assert!(worth.wants(10_000, fast), "a sample");
        assert!((0..11).all(|_| !worth.wants(10_000, fast)));
        let full = |flight: usize| {
            assert_eq!(flight, 10_000);
            Some(500.0)
        };
        worth.wants(10_000, full);
        assert!((0..10).all(|_| worth.wants(10_000, full)));
    }
}
