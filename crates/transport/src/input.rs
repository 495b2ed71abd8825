//! A link's read buffer: bytes come in as the socket gives them, frames are looked at in place.
//!
//! The buffer grows only with bytes that really arrived (a frame that claims 64 MiB costs nothing until they are there)
//! and shrinks again when a large frame has passed.

use crate::frame::{self, Frame, FrameError};

/// The capacity a buffer starts with and shrinks back to.
const BUFFER_BYTES: usize = 64 << 10;
/// A buffer larger than this is given back when it is empty.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// The least room that a read is given.
const READ_BYTES_MIN: usize = 8 << 10;

#[derive(Debug, Default)]
pub(crate) struct Input {
    buffer: Vec<u8>,
    /// Where the first frame that nobody has looked at begins.
    start: usize,
}

impl Input {
    /// The buffer, with room for what is to be appended to it.
    pub(crate) fn room(&mut self) -> &mut Vec<u8> {
        self.make_room();
        &mut self.buffer
    }

    /// What has come and is in no frame that was looked at.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// The next complete frame. An error is final: the bytes stay where they are.
    pub(crate) fn next_frame(&mut self, payload_bytes_max: usize) -> Result<Option<Frame<'_>>, FrameError> {
        let Some((frame, size)) = frame::decode(&self.buffer[self.start..], payload_bytes_max)? else {
            return Ok(None);
        };
        self.start += size;
        Ok(Some(frame))
    }

    fn make_room(&mut self) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
            if self.buffer.capacity() > KEPT_BYTES_MAX {
                self.buffer.shrink_to(BUFFER_BYTES);
            }
        }
        if self.buffer.capacity() - self.buffer.len() >= READ_BYTES_MIN {
            return;
        }
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if self.buffer.capacity() - self.buffer.len() < READ_BYTES_MIN {
            self.buffer.reserve(self.buffer.capacity().max(BUFFER_BYTES));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::frame::{Class, Head, PAYLOAD_BYTES_MAX, append};

    fn drain(input: &mut Input) -> Vec<Vec<u8>> {
        let mut payloads = Vec::new();
        while let Some(frame) = input.next_frame(PAYLOAD_BYTES_MAX).unwrap() {
            payloads.push(frame.payload.to_vec());
        }
        payloads
    }

    /// Feeds `bytes` in reads of `step` bytes and returns all payloads.
    fn read_in_steps(bytes: &[u8], step: usize) -> (Vec<Vec<u8>>, Input) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut input = Input::default();
        let mut payloads = Vec::new();
        for mut chunk in bytes.chunks(step) {
            while !chunk.is_empty() {
                runtime.block_on(chunk.read_buf(input.room())).unwrap();
                payloads.append(&mut drain(&mut input));
            }
        }
        (payloads, input)
    }

    #[test]
    fn frames_come_out_whole_whatever_the_sizes_of_the_reads() {
        let payloads: Vec<Vec<u8>> = (0..40_usize).map(|i| vec![i as u8; i * i * 7]).collect();
        let mut bytes = Vec::new();
        for payload in &payloads {
            append(&mut bytes, Head::of(Class::Message), |buffer| buffer.extend_from_slice(payload)).unwrap();
        }
        for step in [1, 7, 19, 20, 21, 4096, bytes.len()] {
            assert_eq!(read_in_steps(&bytes, step).0, payloads, "reads of {step} bytes");
        }
    }

    #[test]
    fn a_large_frame_grows_the_buffer_and_the_room_is_given_back() {
        let payload = vec![5; 5 << 20];
        let mut bytes = Vec::new();
        append(&mut bytes, Head::of(Class::Message), |buffer| buffer.extend_from_slice(&payload)).unwrap();
        let (payloads, mut input) = read_in_steps(&bytes, 100_000);
        assert_eq!(payloads, [payload]);
        assert!(input.buffer.capacity() > KEPT_BYTES_MAX);
        input.make_room();
        assert!(input.buffer.capacity() <= KEPT_BYTES_MAX);
    }

    #[test]
    fn a_claimed_length_costs_no_memory_before_its_bytes_arrive() {
        let mut bytes = Vec::new();
        append(&mut bytes, Head::of(Class::Message), |buffer| buffer.resize(20 + (60 << 20), 0)).unwrap();
        let (payloads, input) = read_in_steps(&bytes[..1000], 1000);
        assert_eq!(payloads.len(), 0);
        assert!(input.buffer.capacity() <= KEPT_BYTES_MAX, "{} bytes", input.buffer.capacity());
    }
}
