//! Whether it pays to compress what a connection sends.
//!
//! A client on this machine has its bytes faster than they can be compressed, so they stay as they are, as long as it takes them: when
//! it does not, it may be the near end of a tunnel or a proxy to somewhere slow, and a while is compressed. Contents that
//! have not become shorter are a sample of those that follow: after each in vain, twice as many are sent as they are before
//! the next attempt.

/// After a client on this machine has not taken what it was sent, so many bytes are compressed.
const COMPRESSED_AFTER_WAIT: usize = 4 << 20;
/// Compressed by less than this part, contents were compressed in vain.
const GAIN_PART_MIN: usize = 8;
/// Bytes that are sent as they are after the first attempt in vain, and after many.
const SKIPPED_MIN: usize = 16 << 10;
const SKIPPED_MAX: usize = 1 << 20;

#[derive(Debug)]
pub struct Worth {
    is_local: bool,
    /// To be compressed although the client is on this machine.
    left_after_wait: usize,
    /// To be sent as they are, as others before were not worth it.
    skip: usize,
    skipped_last: usize,
}

impl Worth {
    /// Of a connection to a client on this machine, or elsewhere.
    pub fn new(is_local: bool) -> Worth {
        Worth { is_local, left_after_wait: 0, skip: 0, skipped_last: 0 }
    }

    /// Whether to try for the next so many bytes.
    pub fn wants(&mut self, bytes: usize) -> bool {
        if self.is_local {
            if self.left_after_wait == 0 {
                return false;
            }
            self.left_after_wait = self.left_after_wait.saturating_sub(bytes);
        }
        let wants = self.skip == 0;
        self.skip = self.skip.saturating_sub(bytes);
        wants
    }

    /// What was tried made so many bytes of so many.
    pub fn learn(&mut self, plain: usize, compressed: usize) {
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

    #[test]
    fn for_a_client_on_this_machine_only_a_while_after_it_was_slow_is_compressed() {
        let mut worth = Worth::new(true);
        assert!(!worth.wants(1000));
        worth.note_wait();
        let compressed = (0..100_000).take_while(|_| worth.wants(1000)).count() * 1000;
        assert!((COMPRESSED_AFTER_WAIT..COMPRESSED_AFTER_WAIT + 1000).contains(&compressed), "{compressed}");
        assert!(!worth.wants(1000));
        assert!(Worth::new(false).wants(1000));
    }

    #[test]
    fn what_does_not_shrink_is_tried_more_and_more_seldom_until_it_does() {
        let mut worth = Worth::new(false);
        let mut tried = 0;
        for _ in 0..100_000 {
            if worth.wants(1000) {
                tried += 1;
                worth.learn(1000, 990);
            }
        }
        assert!((90..200).contains(&tried), "{tried} of 100,000");
        while !worth.wants(1000) {}
        worth.learn(1000, 500);
        assert!(worth.wants(1000) && worth.wants(1000));
    }
}
