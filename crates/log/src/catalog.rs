//! The list of segments: what is sealed, active, prepared, spare.

use std::collections::VecDeque;

use crate::format::{Lsn, SegmentSequence};
use crate::segment_file::PreparedSegment;

/// How much the next segment is needed, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SegmentNeed {
    /// There is much room in the active one.
    Later = 0,
    /// The active one is full and grows in small steps.
    Soon = 1,
    /// Somebody waits: publish the segment as soon as it has the size that is wanted.
    Now = 2,
    /// The log ends.
    Never = 3,
}

impl SegmentNeed {
    pub fn from_number(number: u8) -> SegmentNeed {
        match number {
            0 => SegmentNeed::Later,
            1 => SegmentNeed::Soon,
            2 => SegmentNeed::Now,
            _ => SegmentNeed::Never,
        }
    }
}

/// A segment that will not be written any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SealedSegment {
    pub sequence: SegmentSequence,
    pub start: Lsn,
    pub end: Lsn,
    pub file_bytes: u64,
}

/// A file that was cut out of the log and can become a segment again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpareFile {
    pub sequence: SegmentSequence,
    pub file_bytes: u64,
}

/// All segment files.
#[derive(Debug)]
pub(crate) struct Catalog {
    pub sealed: VecDeque<SealedSegment>,
    pub active_sequence: SegmentSequence,
    pub active_start: Lsn,
    pub active_file_bytes: u64,
    pub prepared: Option<PreparedSegment>,
    pub spares: Vec<SpareFile>,
    pub low_water: Lsn,
    /// The size that somebody waits for the prepared segment to have; 0 is nobody.
    pub wanted_bytes: u64,
    /// Counts failed attempts to prepare a segment or to make it larger, for those who wait.
    pub failures: u64,
    /// The size that could not be had at the last failure: 0 for any segment.
    pub refused_bytes: u64,
    pub low_water_moved: bool,
    pub stop: bool,
}

impl Catalog {
    pub fn first_lsn(&self) -> Lsn {
        self.sealed.front().map_or(self.active_start, |segment| segment.start)
    }

    /// The size of the prepared segment's file; 0 if there is none.
    pub fn prepared_bytes(&self) -> u64 {
        self.prepared.as_ref().map_or(0, |prepared| prepared.file_bytes)
    }

    /// Somebody waits for a prepared segment of this size.
    pub fn want(&mut self, bytes: u64) {
        self.wanted_bytes = self.wanted_bytes.max(bytes);
    }

    /// Notes that there is no space for a segment of this size.
    pub fn refuse(&mut self, bytes: u64) {
        self.failures += 1;
        self.refused_bytes = bytes;
        self.wanted_bytes = 0;
    }

    /// How many sealed segments, from the oldest, lie before the low water.
    pub fn cut_count(&self) -> usize {
        self.sealed.iter().take_while(|segment| segment.end <= self.low_water).count()
    }
}
