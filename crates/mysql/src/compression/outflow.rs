//! Bytes to compressed packets.

use std::time::Instant;

use super::HEADER_SIZE;
use super::codecs::{Codecs, Method};
use super::worth::Worth;

/// Shorter contents stay as they are: at 100 bytes a tenth is saved, for two microseconds.
pub const COMPRESS_MIN: usize = 150;
/// Contents of one packet. A larger one would compress no better, and take a larger context.
const CONTENTS_MAX: usize = 32 << 10;
/// No more is compressed while so much waits to be sent.
const UNSENT_MAX: usize = 64 << 10;

/// Invariant: `sent <= bytes.len()`.
#[derive(Debug)]
pub struct Outflow {
    method: Method,
    bytes: Vec<u8>,
    sent: usize,
    worth: Worth,
}

impl Outflow {
    pub fn new(method: Method, is_local: bool) -> Outflow {
        Outflow { method, bytes: Vec::new(), sent: 0, worth: Worth::new(is_local) }
    }

    pub fn write(
        &mut self,
        plain: &[u8],
        line: impl FnOnce(usize) -> Option<f32>,
        sequence: &mut u8,
        codecs: &Codecs,
    ) -> usize {
        if plain.is_empty() || self.unsent().len() >= UNSENT_MAX {
            return 0;
        }
        if self.bytes.capacity() == 0 {
            self.bytes = codecs.lend_buffer();
        }
        let contents = &plain[..plain.len().min(CONTENTS_MAX)];
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEADER_SIZE]);
        let begun = (contents.len() >= COMPRESS_MIN && self.worth.wants(contents.len(), line)).then(Instant::now);
        let is_compressed = begun.is_some() && codecs.compress(self.method, contents, &mut self.bytes);
        if !is_compressed {
            self.bytes.extend_from_slice(contents);
        }
        let size = self.bytes.len() - at - HEADER_SIZE;
        if let Some(begun) = begun {
            self.worth.learn(contents.len(), size, begun.elapsed());
        }
        let [a, b, c, _] = (size as u32).to_le_bytes();
        let [x, y, z, _] = if is_compressed { (contents.len() as u32).to_le_bytes() } else { [0; 4] };
        self.bytes[at..at + HEADER_SIZE].copy_from_slice(&[a, b, c, *sequence, x, y, z]);
        *sequence = sequence.wrapping_add(1);
        contents.len()
    }

    pub fn note_wait(&mut self) {
        self.worth.note_wait();
    }

    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    pub fn sent(&mut self, count: usize, codecs: &Codecs) {
        self.sent += count;
        if self.sent >= self.bytes.len() {
            self.sent = 0;
            codecs.take_back_buffer(std::mem::take(&mut self.bytes));
        }
    }
}
