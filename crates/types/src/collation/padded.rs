//! Writes PAD SPACE sort keys (see `bytes` for the idea and the proof of order).

use super::bytes::{VERDICT_ABOVE, VERDICT_BELOW, VERDICT_END};

/// A PAD SPACE key in the making: spaces wait until it is known what follows them.
pub(super) struct PaddedKey<'a> {
    out: &'a mut Vec<u8>,
    /// The one-byte code of the space. Codes compare with it as the weights do.
    space: u8,
    waiting_spaces: usize,
}

impl<'a> PaddedKey<'a> {
    pub fn new(space: u8, out: &'a mut Vec<u8>) -> PaddedKey<'a> {
        PaddedKey { out, space, waiting_spaces: 0 }
    }

    /// Appends the code of a character that takes one byte.
    #[inline]
    pub fn push_byte(&mut self, code: u8) {
        if code == self.space {
            self.waiting_spaces += 1;
        } else {
            self.out_for(code).push(code);
        }
    }

    /// Appends the one-byte codes of the ASCII characters at the start of `text`, ignorable ones (code 0) left out
    /// if `IGNORABLE` codes exist, and returns what is behind them.
    #[inline]
    pub fn push_ascii<'t, const IGNORABLE: bool>(
        &mut self,
        text: &'t [u8],
        code: impl Fn(u8) -> u8 + Copy,
    ) -> &'t [u8] {
        const CHUNK_BYTES: usize = 16;
        let (chunks, _) = text.as_chunks::<CHUNK_BYTES>();
        let mut done = 0;
        for chunk in chunks {
            if !chunk.is_ascii() {
                break;
            }
            let codes = chunk.map(code);
            let special = codes.contains(&self.space) || (IGNORABLE && codes.contains(&0));
            if !special {
                self.out_for(codes[0]).extend_from_slice(&codes);
            } else {
                let present = codes.into_iter().filter(|&code| !IGNORABLE || code != 0);
                present.for_each(|code| self.push_byte(code));
            }
            done += CHUNK_BYTES;
        }
        let rest = &text[done..];
        let ascii = rest.iter().take_while(|byte| byte.is_ascii()).count();
        for &byte in &rest[..ascii] {
            match code(byte) {
                0 if IGNORABLE => {}
                code => self.push_byte(code),
            }
        }
        &rest[ascii..]
    }

    /// Where to write a code that begins with `first` and is not the space's.
    #[inline]
    pub fn out_for(&mut self, first: u8) -> &mut Vec<u8> {
        if self.waiting_spaces > 0 {
            let verdict = if first < self.space { VERDICT_BELOW } else { VERDICT_ABOVE };
            for _ in 0..self.waiting_spaces {
                self.out.extend_from_slice(&[self.space, verdict]);
            }
            self.waiting_spaces = 0;
        }
        self.out
    }

    /// Ends the key.
    pub fn finish(self) {
        self.out.extend_from_slice(&[self.space, VERDICT_END]);
    }

    /// Ends what the keys of all texts that go on from here have in common: of a run of spaces only that it begins.
    pub fn finish_prefix(self) {
        if self.waiting_spaces > 0 {
            self.out.push(self.space);
        }
    }
}
