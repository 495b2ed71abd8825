//! Reads the frames of one segment file through a window, without trusting a single byte of it.
//!
//! A length is believed only as far as the file goes, so that damage costs no memory.

use std::path::{Path, PathBuf};

use crate::error::{IoContext, LogError};
use crate::file_system::{StorageFile, read_full};
use crate::format::{
    FRAME_ALIGNMENT, FRAME_HEADER_BYTES, FRAME_MAGIC, FrameHeader, FrameSeed, Lsn, SEGMENT_HEADER_BYTES,
};

const WINDOW_BYTES: usize = 1 << 20;

/// A valid frame found where the log had already ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StrayFrames {
    /// Where the last of them ends in the file.
    pub end_offset: u64,
    /// The largest position that one of them declares durable.
    pub durable_before: Lsn,
}

/// One segment file, being read.
pub(crate) struct FrameReader<'a> {
    file: &'a dyn StorageFile,
    path: PathBuf,
    seed: FrameSeed,
    length: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl<'a> FrameReader<'a> {
    pub fn new(file: &'a dyn StorageFile, path: &Path, seed: FrameSeed) -> Result<FrameReader<'a>, LogError> {
        let length = file.length().context("read the length of", path)?;
        Ok(FrameReader { file, path: path.to_path_buf(), seed, length, window: Vec::new(), window_start: 0 })
    }

    /// `count` bytes from `offset` on, if the file has them.
    fn bytes(&mut self, offset: u64, count: usize) -> Result<Option<&[u8]>, LogError> {
        let end = offset.saturating_add(count as u64);
        if end > self.length {
            return Ok(None);
        }
        let window_end = self.window_start + self.window.len() as u64;
        if offset < self.window_start || end > window_end {
            let wanted = (self.length - offset).min(WINDOW_BYTES.max(count) as u64);
            self.window.resize(wanted as usize, 0);
            self.window_start = offset;
            let read = read_full(self.file, offset, &mut self.window).context("read", &self.path)?;
            self.window.truncate(read);
            if read < count {
                return Ok(None);
            }
        }
        let start = (offset - self.window_start) as usize;
        Ok(self.window.get(start..start + count))
    }

    /// The header at `offset` if anything like a frame begins there, valid or not.
    pub fn header_at(&mut self, offset: u64) -> Result<Option<FrameHeader>, LogError> {
        Ok(self.bytes(offset, FRAME_HEADER_BYTES)?.and_then(FrameHeader::decode))
    }

    /// The frame at `offset`, header and all, if its checksum is right.
    pub fn valid_frame_at(&mut self, offset: u64) -> Result<Option<(FrameHeader, &[u8])>, LogError> {
        let Some(header) = self.header_at(offset)? else {
            return Ok(None);
        };
        let seed = self.seed;
        let frame = self.bytes(offset, header.length as usize)?;
        Ok(frame.filter(|frame| seed.crc(frame) == header.crc).map(|frame| (header, frame)))
    }

    /// Searches for valid frames from `offset` to the end of the file. With `start`, the LSN at which
    /// the segment begins, only those that lie where their LSN says.
    pub fn stray_frames(&mut self, offset: u64, start: Option<Lsn>) -> Result<Option<StrayFrames>, LogError> {
        let mut found: Option<StrayFrames> = None;
        let mut at = offset;
        while let Some(candidate) = self.next_magic(at)? {
            at = candidate + FRAME_ALIGNMENT as u64;
            let Some(header) = self.header_at(candidate)? else {
                continue;
            };
            let in_place = start.is_none_or(|start| header.lsn == start.plus(candidate - SEGMENT_HEADER_BYTES));
            if !in_place || self.valid_frame_at(candidate)?.is_none() {
                continue;
            }
            at = candidate + u64::from(header.length);
            let before = found.map_or(Lsn::ZERO, |found| found.durable_before);
            found = Some(StrayFrames { end_offset: at, durable_before: before.max(header.durable_before) });
        }
        Ok(found)
    }

    /// The first aligned offset at or after `offset` with the magic of a frame.
    fn next_magic(&mut self, offset: u64) -> Result<Option<u64>, LogError> {
        let mut at = offset;
        while at < self.length {
            let count = (self.length - at).min(WINDOW_BYTES as u64) as usize;
            let Some(bytes) = self.bytes(at, count)? else {
                return Ok(None);
            };
            let hit = bytes.chunks_exact(FRAME_ALIGNMENT).position(|chunk| chunk[..4] == FRAME_MAGIC);
            if let Some(hit) = hit {
                return Ok(Some(at + (hit * FRAME_ALIGNMENT) as u64));
            }
            at += count as u64;
        }
        Ok(None)
    }
}
