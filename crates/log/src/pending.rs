//! The queue between those who append and whoever flushes: frames under construction.
//!
//! Appenders copy whole batches behind one another under a short mutex; a flush takes all there is by
//! swapping buffers, so that in a steady state nothing is allocated. Positions are final at the moment of
//! appending: a frame's header has its room from the start.

use std::collections::VecDeque;

use crate::batch::LogBatch;
use crate::format::{FRAME_ALIGNMENT, FRAME_HEADER_BYTES, FRAME_SOFT_LIMIT_BYTES, Lsn};

/// Buffers that grew beyond this are not kept for the next frame.
const KEPT_BUFFER_BYTES: usize = 4 << 20;
const KEPT_BUFFERS: usize = 2;

/// A frame that has room for its header in front of its records.
#[derive(Debug)]
pub(crate) struct FrameBuffer {
    pub start: Lsn,
    pub bytes: Vec<u8>,
    pub records: u32,
}

impl FrameBuffer {
    fn end(&self) -> Lsn {
        self.start.plus(self.bytes.len() as u64)
    }
}

/// Guarded by the log's short mutex.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Frames not yet taken by a flush; only the last one still grows.
    frames: VecDeque<FrameBuffer>,
    free: Vec<Vec<u8>>,
    /// Where the next frame begins if `frames` is empty.
    next_start: Lsn,
    waiting_bytes: usize,
    waiting_batches: usize,
    /// How many batches the last flush took.
    flushed_batches: usize,
    /// A thread is flushing: it alone may touch the active segment.
    pub flushing: bool,
    /// Someone wants everything synced now, whatever the durability mode.
    pub sync_wanted: bool,
    /// The writer thread waits for its condition variable.
    pub writer_parked: bool,
    pub closed: bool,
}

impl Pending {
    pub fn new(end: Lsn) -> Pending {
        Pending {
            frames: VecDeque::new(),
            free: Vec::new(),
            next_start: end,
            waiting_bytes: 0,
            waiting_batches: 0,
            flushed_batches: 0,
            flushing: false,
            sync_wanted: false,
            writer_parked: false,
            closed: false,
        }
    }

    /// Adds a batch and returns where it ends.
    pub fn push(&mut self, batch: &LogBatch) -> Lsn {
        if batch.is_empty() {
            return self.end();
        }
        let full = self.frames.back().is_none_or(|frame| frame.bytes.len() >= FRAME_SOFT_LIMIT_BYTES);
        if full {
            self.begin_frame();
        }
        let Some(frame) = self.frames.back_mut() else {
            return self.next_start;
        };
        frame.records += batch.record_count();
        batch.copy_to(&mut frame.bytes);
        self.waiting_bytes += batch.size_bytes();
        self.waiting_batches += 1;
        frame.end()
    }

    fn begin_frame(&mut self) {
        let start = self.padded_end();
        let mut bytes = self.free.pop().unwrap_or_default();
        bytes.clear();
        bytes.resize(FRAME_HEADER_BYTES, 0);
        self.frames.push_back(FrameBuffer { start, bytes, records: 0 });
    }

    /// The end of the last batch.
    pub fn end(&self) -> Lsn {
        self.frames.back().map_or(self.next_start, FrameBuffer::end)
    }

    fn padded_end(&self) -> Lsn {
        Lsn(self.end().0.next_multiple_of(FRAME_ALIGNMENT as u64))
    }

    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// True when several appenders are at work: this flush, or the one before, has more than one batch.
    pub fn is_shared(&self) -> bool {
        self.waiting_batches.max(self.flushed_batches) > 1
    }

    /// Moves all frames into `taken`, which must be empty.
    pub fn take(&mut self, taken: &mut VecDeque<FrameBuffer>) {
        self.next_start = self.padded_end();
        self.waiting_bytes = 0;
        self.flushed_batches = std::mem::take(&mut self.waiting_batches);
        std::mem::swap(&mut self.frames, taken);
    }

    /// Gives the memory of flushed frames back.
    pub fn reuse(&mut self, flushed: &mut VecDeque<FrameBuffer>) {
        for frame in flushed.drain(..) {
            if self.free.len() < KEPT_BUFFERS && frame.bytes.capacity() <= KEPT_BUFFER_BYTES {
                self.free.push(frame.bytes);
            }
        }
    }
}
