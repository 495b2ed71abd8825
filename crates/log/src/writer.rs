//! Flushing: one write and one fdatasync for everything that has gathered.
//!
//! Whoever sets `Pending::flushing` is the flusher until it clears it again: the writer thread, or a
//! caller that flushes in its own thread. A flusher that finds more work when it is done leaves it to the
//! writer thread. No timer gathers anything: what arrives during one fdatasync goes into the next.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crate::catalog::{PreparedSegment, SealedSegment, SegmentNeed};
use crate::core::{Core, lock};
use crate::error::{IoContext, LogError};
use crate::file_system::StorageFile;
use crate::format::{FRAME_ALIGNMENT, FrameSeed, Lsn, SEGMENT_HEADER_BYTES, SegmentSequence, seal_frame};
use crate::log::{Durability, InlineFlush};
use crate::pending::{FrameBuffer, Pending};

/// In `Replicated` mode, what is in memory is written (not synced) after this time ...
const REPLICATED_WRITE_INTERVAL: Duration = Duration::from_millis(10);
/// ... or when it has grown to this.
pub(crate) const REPLICATED_WRITE_BYTES: usize = 256 << 10;

/// The segment that is being written. Touched by the flusher only.
#[derive(Debug)]
pub(crate) struct ActiveSegment {
    pub sequence: SegmentSequence,
    pub seed: FrameSeed,
    pub path: PathBuf,
    pub file: Arc<dyn StorageFile>,
    pub file_bytes: u64,
    /// The LSN of the segment's first byte, and the end of what has been written to it.
    pub start: Lsn,
    pub end: Lsn,
    pub unsynced: bool,
    /// Frames taken out of `Pending`; kept here for its memory.
    pub taken: VecDeque<FrameBuffer>,
}

impl ActiveSegment {
    fn end_offset(&self) -> u64 {
        SEGMENT_HEADER_BYTES + self.end.bytes_since(self.start)
    }

    /// True if `bytes` more end before `limit` in the file. An empty segment takes a frame of any size
    /// and grows, so that a huge one fits somewhere.
    fn has_room(&self, bytes: u64, limit: u64) -> bool {
        self.end == self.start || self.end_offset() + bytes <= limit
    }

    fn sync(&mut self) -> Result<(), LogError> {
        if self.unsynced {
            self.file.sync_data().context("sync", &self.path)?;
            self.unsynced = false;
        }
        Ok(())
    }
}

/// What the writer thread should do now.
enum Plan {
    Flush { sync: bool },
    Wait(Option<Duration>),
    End,
}

/// When a `Replicated` log writes and syncs next. Both are unset while there is nothing to do.
#[derive(Default)]
struct ReplicatedSchedule {
    write_at: Option<Instant>,
    sync_at: Option<Instant>,
}

impl Core {
    /// Flushes in the calling thread if nobody else is at it.
    pub fn flush_in_this_thread(&self, sync: bool) -> Result<InlineFlush, LogError> {
        {
            let mut pending = lock(&self.pending);
            self.check_poison()?;
            if pending.flushing {
                return Ok(InlineFlush::Busy);
            }
            if pending.is_empty() && self.unsynced_bytes() == 0 {
                return Ok(InlineFlush::Nothing);
            }
            pending.flushing = true;
        }
        self.flush(sync).map(InlineFlush::Flushed)
    }

    /// The body of the writer thread.
    pub fn run_writer(&self) {
        let mut schedule = ReplicatedSchedule::default();
        let mut pending = lock(&self.pending);
        loop {
            match self.plan(&pending, &mut schedule) {
                Plan::End => return,
                Plan::Wait(limit) => {
                    pending.writer_parked = true;
                    pending = match limit {
                        None => self.writer_wake.wait(pending).unwrap_or_else(PoisonError::into_inner),
                        Some(limit) => {
                            self.writer_wake.wait_timeout(pending, limit).unwrap_or_else(PoisonError::into_inner).0
                        }
                    };
                    pending.writer_parked = false;
                }
                Plan::Flush { sync } => {
                    pending.flushing = true;
                    if sync {
                        pending.sync_wanted = false;
                        schedule = ReplicatedSchedule::default();
                    }
                    schedule.write_at = None;
                    drop(pending);
                    if self.flush(sync).is_err() {
                        return;
                    }
                    pending = lock(&self.pending);
                }
            }
        }
    }

    fn unsynced_bytes(&self) -> u64 {
        let written = Lsn(self.written.load(Ordering::SeqCst));
        written.bytes_since(self.durable())
    }

    fn plan(&self, pending: &Pending, schedule: &mut ReplicatedSchedule) -> Plan {
        if self.is_poisoned() {
            return Plan::End;
        }
        if pending.flushing {
            // That flusher wakes this thread when it leaves something behind.
            return Plan::Wait(None);
        }
        let dirty = !pending.is_empty() || self.unsynced_bytes() > 0;
        if !dirty {
            *schedule = ReplicatedSchedule::default();
            return match pending.closed {
                true => Plan::End,
                false => Plan::Wait(None),
            };
        }
        if self.durability() == Durability::Disk || pending.closed || pending.sync_wanted {
            return Plan::Flush { sync: true };
        }
        let now = Instant::now();
        let sync_at = *schedule.sync_at.get_or_insert(now + self.sync_interval());
        if now >= sync_at {
            return Plan::Flush { sync: true };
        }
        if pending.is_empty() {
            return Plan::Wait(Some(sync_at - now));
        }
        let write_at = *schedule.write_at.get_or_insert(now + REPLICATED_WRITE_INTERVAL);
        if now >= write_at || pending.waiting_bytes() >= REPLICATED_WRITE_BYTES {
            return Plan::Flush { sync: false };
        }
        Plan::Wait(Some(write_at.min(sync_at) - now))
    }

    /// Writes all pending frames, and syncs them if asked to. The caller has made itself the flusher.
    fn flush(&self, sync: bool) -> Result<Lsn, LogError> {
        let mut segment = lock(&self.segment);
        let outcome = self.write_and_sync(&mut segment, sync);
        let end = segment.end;
        if outcome.is_ok() {
            self.written.store(end.0, Ordering::SeqCst);
            if sync {
                self.publish_durable(end);
            }
        }
        let mut taken = std::mem::take(&mut segment.taken);
        {
            let mut pending = lock(&self.pending);
            pending.reuse(&mut taken);
            pending.flushing = false;
            let left_over = !pending.is_empty() || pending.sync_wanted || pending.closed;
            self.wake_if(pending, left_over || !sync);
        }
        segment.taken = taken;
        drop(segment);
        match outcome {
            Ok(()) => {
                if sync {
                    self.signal_waiters();
                    (self.hooks.on_durable)(end);
                }
                Ok(end)
            }
            Err(error) => Err(self.poison(&error)),
        }
    }

    fn write_and_sync(&self, segment: &mut ActiveSegment, sync: bool) -> Result<(), LogError> {
        self.check_poison()?;
        let mut taken = std::mem::take(&mut segment.taken);
        lock(&self.pending).take(&mut taken);
        for frame in &mut taken {
            self.write_frame(segment, frame)?;
        }
        segment.taken = taken;
        match sync {
            true => segment.sync(),
            false => Ok(()),
        }
    }

    fn write_frame(&self, segment: &mut ActiveSegment, frame: &mut FrameBuffer) -> Result<(), LogError> {
        self.make_room(segment, frame.bytes.len().next_multiple_of(FRAME_ALIGNMENT) as u64)?;
        seal_frame(&mut frame.bytes, segment.seed, frame.records, frame.start, self.durable());
        let offset = segment.end_offset();
        segment.unsynced = true;
        segment.file.write_at(offset, &frame.bytes).context("write", &segment.path)?;
        segment.end = segment.end.plus(frame.bytes.len() as u64);
        let end_offset = segment.end_offset();
        if end_offset > segment.file_bytes {
            segment.file_bytes = end_offset;
            lock(&self.catalog).active_file_bytes = end_offset;
        }
        Ok(())
    }

    /// Sees to it that the active segment can take a frame of `bytes` bytes.
    fn make_room(&self, segment: &mut ActiveSegment, bytes: u64) -> Result<(), LogError> {
        if segment.has_room(bytes, segment.file_bytes) {
            return Ok(());
        }
        if !self.options.spawn_threads {
            self.maintain()?;
        }
        // Bulk work can outrun the keeper. Then the file grows a little instead of making commits wait:
        // a sync that has to record a length is slower, but not as slow as a wait.
        let ready = lock(&self.catalog).prepared.is_some();
        if !ready && segment.has_room(bytes, self.options.segment_bytes) {
            self.need_segment(SegmentNeed::Soon);
            return Ok(());
        }
        self.switch_segment(segment)
    }

    /// Goes on in the prepared segment. Everything in the old one is made durable first, so that at most
    /// one segment ever holds unsynced frames.
    fn switch_segment(&self, segment: &mut ActiveSegment) -> Result<(), LogError> {
        segment.sync()?;
        self.publish_durable(segment.end);
        let prepared = self.wait_for_prepared_segment()?;
        let mut catalog = lock(&self.catalog);
        catalog.sealed.push_back(SealedSegment {
            sequence: segment.sequence,
            start: segment.start,
            end: segment.end,
            file_bytes: segment.file_bytes,
        });
        catalog.active_sequence = prepared.sequence;
        catalog.active_start = segment.end;
        catalog.active_file_bytes = prepared.file_bytes;
        drop(catalog);
        self.keeper_wake.notify_one();
        segment.sequence = prepared.sequence;
        segment.seed = FrameSeed::new(self.log_id(), prepared.sequence);
        segment.path = prepared.path;
        segment.file = prepared.file;
        segment.file_bytes = prepared.file_bytes;
        segment.start = segment.end;
        Ok(())
    }

    fn wait_for_prepared_segment(&self) -> Result<PreparedSegment, LogError> {
        let mut catalog = lock(&self.catalog);
        let failures = catalog.failures;
        loop {
            if let Some(prepared) = catalog.prepared.take() {
                return Ok(prepared);
            }
            self.check_poison()?;
            if catalog.failures != failures || !self.options.spawn_threads {
                return Err(self.disk_full());
            }
            self.need_segment(SegmentNeed::Now);
            self.keeper_wake.notify_one();
            catalog = self.segment_prepared.wait(catalog).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
