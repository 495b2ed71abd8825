//! The queue between those who append and whoever flushes: frames under construction.
//!
//! Appenders copy whole batches behind one another under a short mutex; a flush takes all there is by
//! swapping buffers, so that in a steady state nothing is allocated. Positions are final at the moment of
//! appending: a frame's header has its room from the start.

use std::collections::VecDeque;

use crate::aligned::AlignedBytes;
use crate::batch::LogBatch;
use crate::format::{FRAME_ALIGNMENT, FRAME_HEADER_BYTES, FRAME_SOFT_LIMIT_BYTES, FrameSeed, Lsn, seal_frame};

/// Buffers that grew beyond this are not kept for the next frame.
const KEPT_BUFFER_BYTES: usize = 4 << 20;
const KEPT_BUFFERS: usize = 4;

/// What a frame with a batch of `bytes` bytes takes in the log.
pub(crate) fn frame_bytes_max(bytes: u64) -> u64 {
    (FRAME_HEADER_BYTES as u64 + bytes).next_multiple_of(FRAME_ALIGNMENT as u64)
}

/// A frame that has room for its header in front of its records.
#[derive(Debug)]
pub(crate) struct FrameBuffer {
    pub start: Lsn,
    pub bytes: AlignedBytes,
    pub records: u32,
}

impl FrameBuffer {
    fn end(&self) -> Lsn {
        self.start.plus(self.bytes.len() as u64)
    }

    /// Completes the frame, and shows it as it goes to the medium.
    pub fn seal(&mut self, seed: FrameSeed, durable_before: Lsn) -> &[u8] {
        self.bytes.pad_to(self.padded_bytes());
        seal_frame(self.bytes.as_mut_slice(), seed, self.records, self.start, durable_before);
        self.bytes.as_slice()
    }

    /// What the frame takes in the log.
    pub fn padded_bytes(&self) -> usize {
        self.bytes.len().next_multiple_of(FRAME_ALIGNMENT)
    }
}

/// Guarded by the log's short mutex.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Frames not yet taken by a flush; only the last one still grows.
    frames: VecDeque<FrameBuffer>,
    free: Vec<AlignedBytes>,
    /// Where the next frame begins if `frames` is empty.
    next_start: Lsn,
    waiting_bytes: usize,
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
        frame.bytes.append_with(batch.size_bytes(), |target| batch.copy_to(target));
        self.waiting_bytes += batch.size_bytes();
        frame.end()
    }

    fn begin_frame(&mut self) {
        let start = self.padded_end();
        let mut bytes = self.free.pop().unwrap_or_default();
        bytes.clear();
        bytes.pad_to(FRAME_HEADER_BYTES);
        self.frames.push_back(FrameBuffer { start, bytes, records: 0 });
    }

    /// The end of the last batch.
    pub fn end(&self) -> Lsn {
        self.frames.back().map_or(self.next_start, FrameBuffer::end)
    }

    /// Where the log would end, at most, with one more batch of `bytes` bytes.
    pub fn end_with(&self, bytes: u64) -> Lsn {
        self.padded_end().plus(frame_bytes_max(bytes))
    }

    fn padded_end(&self) -> Lsn {
        Lsn(self.end().0.next_multiple_of(FRAME_ALIGNMENT as u64))
    }

    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// What a flush would take in the log.
    pub fn flush_bytes(&self) -> u64 {
        self.frames.iter().map(|frame| frame.padded_bytes() as u64).sum()
    }

    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Moves all frames into `taken`, which must be empty.
    pub fn take(&mut self, taken: &mut VecDeque<FrameBuffer>) {
        self.next_start = self.padded_end();
        self.waiting_bytes = 0;
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
