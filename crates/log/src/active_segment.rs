//! The segment that is being written, and the flushes that have their places in it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use shoal_planted::{Bug, is_planted};

use crate::error::{IoContext, LogError};
use crate::file_system::StorageFile;
use crate::format::{FrameSeed, Lsn, SEGMENT_HEADER_BYTES, SegmentSequence};
use crate::pending::FrameBuffer;

/// A list of frames on their way to the medium.
pub(crate) type Frames = VecDeque<FrameBuffer>;

/// The segment that is being written.
#[derive(Debug)]
pub(crate) struct ActiveSegment {
    pub sequence: SegmentSequence,
    pub seed: FrameSeed,
    pub path: Arc<Path>,
    pub file: Arc<dyn StorageFile>,
    pub file_bytes: u64,
    /// The LSN of the segment's first byte, and the end of what has a place in it.
    pub start: Lsn,
    pub end: Lsn,
    /// Something was written and not synced; nothing is in flight then.
    pub unsynced: bool,
    /// Flushes that write side by side, by position.
    pub in_flight: VecDeque<InFlight>,
    /// How many flushes have left `in_flight`: the number of its first one.
    pub flushes_ended: u64,
    /// Flushes that wait until nothing is in flight; no other may begin before them.
    pub alone_wanted: usize,
    /// Empty lists, for their memory.
    pub spare_lists: Vec<Frames>,
}

/// A flush that has its place in the segment.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub end: Lsn,
    pub written: bool,
}

impl ActiveSegment {
    pub fn end_offset(&self) -> u64 {
        SEGMENT_HEADER_BYTES + self.end.bytes_since(self.start)
    }

    /// True if `bytes` more end before `limit` in the file.
    pub fn has_room(&self, bytes: u64, limit: u64) -> bool {
        self.end_offset() + bytes <= limit
    }

    pub fn is_empty(&self) -> bool {
        self.end == self.start
    }

    /// Notes that a flush is written. Returns the new durable position if that has moved.
    pub fn end_flight(&mut self, number: u64) -> Option<Lsn> {
        let place = number.checked_sub(self.flushes_ended)?;
        let flight = self.in_flight.get_mut(usize::try_from(place).ok()?)?;
        flight.written = true;
        let beyond_hole = is_planted(Bug::CountBeyondHole).then_some(flight.end);
        let mut durable = None;
        while let Some(first) = self.in_flight.pop_front_if(|first| first.written) {
            self.flushes_ended += 1;
            durable = Some(first.end);
        }
        durable.max(beyond_hole)
    }

    pub fn sync(&mut self) -> Result<(), LogError> {
        if self.unsynced {
            self.file.sync_data().context("sync", &self.path)?;
            self.unsynced = false;
        }
        Ok(())
    }
}
