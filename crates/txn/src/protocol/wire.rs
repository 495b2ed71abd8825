//! Fields of frames: integers, byte strings, lists.

use std::marker::PhantomData;

use shoal_types::{Error, Result};

pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Bytes behind their length.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

/// Items behind their count.
pub(crate) fn put_list<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, put: impl Fn(&mut Vec<u8>, T)) {
    let start = out.len();
    put_u32(out, 0);
    let mut count = 0u32;
    for item in items {
        put(out, item);
        count += 1;
    }
    out[start..start + 4].copy_from_slice(&count.to_le_bytes());
}

pub(crate) fn malformed() -> Error {
    Error::unknown("internal: a frame from another node is damaged: its fields do not fit its length")
}

/// Takes fields off the front of bytes that may end too early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameReader<'a> {
    bytes: &'a [u8],
}

impl<'a> FrameReader<'a> {
    pub fn new(bytes: &'a [u8]) -> FrameReader<'a> {
        FrameReader { bytes }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or_else(malformed)?;
        self.bytes = rest;
        Ok(taken)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub fn bool(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(malformed()),
        }
    }

    pub fn u32(&mut self) -> Result<u32> {
        let (head, rest) = self.bytes.split_first_chunk().ok_or_else(malformed)?;
        self.bytes = rest;
        Ok(u32::from_le_bytes(*head))
    }

    pub fn u64(&mut self) -> Result<u64> {
        let (head, rest) = self.bytes.split_first_chunk().ok_or_else(malformed)?;
        self.bytes = rest;
        Ok(u64::from_le_bytes(*head))
    }

    /// Bytes behind their length.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.u32()? as usize;
        self.take(length)
    }

    /// A list whose items are all there.
    pub fn list<T: Item<'a>>(&mut self) -> Result<List<'a, T>> {
        let count = self.u32()?;
        let start = self.bytes;
        for _ in 0..count {
            T::read(self)?;
        }
        let bytes = &start[..start.len() - self.bytes.len()];
        Ok(List { count: count as usize, bytes, items: PhantomData })
    }

    /// Nothing is left.
    pub fn end(&self) -> Result<()> {
        match self.bytes {
            [] => Ok(()),
            _ => Err(malformed()),
        }
    }
}

/// What a list is made of. Every item takes at least one byte, so a list is no longer than its bytes.
pub(crate) trait Item<'a>: Sized {
    fn read(reader: &mut FrameReader<'a>) -> Result<Self>;
}

impl<'a> Item<'a> for u32 {
    fn read(reader: &mut FrameReader<'a>) -> Result<u32> {
        reader.u32()
    }
}

impl<'a> Item<'a> for u64 {
    fn read(reader: &mut FrameReader<'a>) -> Result<u64> {
        reader.u64()
    }
}

impl<'a> Item<'a> for &'a [u8] {
    fn read(reader: &mut FrameReader<'a>) -> Result<&'a [u8]> {
        reader.bytes()
    }
}

impl<'a, A: Item<'a>, B: Item<'a>> Item<'a> for (A, B) {
    fn read(reader: &mut FrameReader<'a>) -> Result<(A, B)> {
        Ok((A::read(reader)?, B::read(reader)?))
    }
}

/// A list in its bytes, read again whenever it is walked.
#[derive(Debug)]
pub(crate) struct List<'a, T> {
    count: usize,
    bytes: &'a [u8],
    items: PhantomData<fn() -> T>,
}

impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        List { count: 0, bytes: &[], items: PhantomData }
    }
}

impl<T> Copy for List<'_, T> {}

impl<'a, T: Item<'a>> List<'a, T> {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn iter(&self) -> Walk<'a, T> {
        Walk { left: self.count, reader: FrameReader::new(self.bytes), items: PhantomData }
    }
}

/// A walk over a list. Cloned, it is a place to come back to.
#[derive(Debug)]
pub(crate) struct Walk<'a, T> {
    left: usize,
    reader: FrameReader<'a>,
    items: PhantomData<fn() -> T>,
}

impl<T> Clone for Walk<'_, T> {
    fn clone(&self) -> Self {
        Walk { left: self.left, reader: self.reader, items: PhantomData }
    }
}

impl<'a, T: Item<'a>> Iterator for Walk<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        // All items were read once, when the list was.
        T::read(&mut self.reader).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}
