//! Flushing: a durable write for everything that has gathered.
//!
//! A flush takes what is pending and its place in the segment under one lock, writes side by side with others, and
//! then counts as durable as soon as those before it do. What arrives during one goes into the next; no timer gathers
//! anything. Flushes that cannot be so simple are made alone: those that sync nothing or have something unsynced
//! before them (`Replicated`), and those that begin another segment.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use shoal_planted::{Bug, is_planted};

use crate::active_segment::{ActiveSegment, Frames, InFlight};
use crate::catalog::{Catalog, SealedSegment, SegmentNeed};
use crate::core::{Core, lock};
use crate::error::{IoContext, LogError};
use crate::format::{FrameSeed, Lsn, SEGMENT_HEADER_BYTES};
use crate::options::{Durability, InlineFlush};
use crate::pending::{FrameBuffer, Pending};
use crate::segment_file::PreparedSegment;
use crate::sync::{self, MutexGuard};

/// In `Replicated` mode, what is in memory is written (not synced) after this time ...
const REPLICATED_WRITE_INTERVAL: Duration = Duration::from_millis(10);
/// ... or when it has grown to this.
pub(crate) const REPLICATED_WRITE_BYTES: usize = 256 << 10;

/// What a flush came to.
struct Flushed {
    /// The end of what it took; `None`: there was nothing.
    end: Option<Lsn>,
    /// The durable position, if it has moved.
    durable: Option<Lsn>,
}

/// A planted bug makes nothing of an error.
fn unless_planted(error: LogError) -> Result<(), LogError> {
    if is_planted(Bug::ReportAfterFailure) { Ok(()) } else { Err(error) }
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
    /// Flushes in the calling thread.
    pub fn flush_in_this_thread(&self, sync: bool) -> Result<InlineFlush, LogError> {
        self.check_poison()?;
        if lock(&self.pending).is_empty() && self.unsynced_bytes() == 0 {
            return Ok(InlineFlush::Nothing);
        }
        Ok(self.flush(sync)?.map_or(InlineFlush::Nothing, InlineFlush::Flushed))
    }

    pub fn try_flush_inline(&self) -> Result<InlineFlush, LogError> {
        if self.durability() == Durability::Replicated && self.options.spawn_threads {
            self.check_poison()?;
            self.wake_writer();
            return Ok(InlineFlush::LeftToWriter);
        }
        self.flush_in_this_thread(true)
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
        let now = sync::now();
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

    /// Writes all pending frames, and syncs them if asked to. Returns the end of what was taken.
    fn flush(&self, sync: bool) -> Result<Option<Lsn>, LogError> {
        let flushed = self.write_pending(sync).map_err(|error| self.poison(&error))?;
        if let Some(durable) = flushed.durable {
            self.signal_waiters();
            (self.hooks.on_durable)(durable);
        }
        Ok(flushed.end)
    }

    fn write_pending(&self, sync: bool) -> Result<Flushed, LogError> {
        let mut segment = lock(&self.segment);
        self.check_poison()?;
        let mut frames = segment.spare_lists.pop().unwrap_or_default();
        {
            let mut pending = lock(&self.pending);
            let bytes = pending.flush_bytes();
            let side_by_side = sync
                && !segment.unsynced
                && segment.alone_wanted == 0
                && segment.has_room(bytes, segment.file_bytes);
            if side_by_side {
                pending.take(&mut frames);
                drop(pending);
                return self.write_beside_others(segment, frames, bytes);
            }
        }
        segment = self.wait_until_alone(segment)?;
        lock(&self.pending).take(&mut frames);
        self.write_alone(&mut segment, frames, sync).inspect_err(|error| self.note_failure(error))
    }

    fn write_beside_others(
        &self,
        mut segment: MutexGuard<'_, ActiveSegment>,
        mut frames: Frames,
        bytes: u64,
    ) -> Result<Flushed, LogError> {
        if frames.is_empty() {
            segment.spare_lists.push(frames);
            return Ok(Flushed { end: None, durable: None });
        }
        let (file, path, seed) = (Arc::clone(&segment.file), Arc::clone(&segment.path), segment.seed);
        let (mut offset, durable_before) = (segment.end_offset(), self.durable());
        segment.end = segment.end.plus(bytes);
        let end = segment.end;
        let number = segment.flushes_ended + segment.in_flight.len() as u64;
        segment.in_flight.push_back(InFlight { end, written: false });
        drop(segment);

        for frame in &mut frames {
            let sealed = frame.seal(seed, durable_before);
            if let Err(error) = file.write_durable_at(offset, sealed).context("write", &path) {
                let error = self.poison(&error);
                drop(lock(&self.segment));
                self.segment_idle.notify_all();
                return Err(error);
            }
            offset += sealed.len() as u64;
        }

        let mut segment = lock(&self.segment);
        if let Err(error) = self.check_poison().or_else(unless_planted) {
            // Another flush or the keeper has failed meanwhile: nothing counts as durable any more. This flush stays in flight
            // for ever, like one that failed: those who wait for it must see why.
            drop(segment);
            self.segment_idle.notify_all();
            return Err(error);
        }
        let durable = segment.end_flight(number);
        if let Some(durable) = durable {
            self.written.store(durable.0, Ordering::SeqCst);
            self.publish_durable(durable);
        }
        if segment.in_flight.is_empty() && segment.alone_wanted > 0 {
            self.segment_idle.notify_all();
        }
        self.keep_memory(&mut segment, frames);
        Ok(Flushed { end: Some(end), durable })
    }

    /// Waits until no flush is in flight; while the lock is held none will be.
    fn wait_until_alone<'a>(
        &self,
        mut segment: MutexGuard<'a, ActiveSegment>,
    ) -> Result<MutexGuard<'a, ActiveSegment>, LogError> {
        segment.alone_wanted += 1;
        while !segment.in_flight.is_empty() && !self.is_poisoned() {
            segment = self.segment_idle.wait(segment).unwrap_or_else(PoisonError::into_inner);
        }
        segment.alone_wanted -= 1;
        self.check_poison().map(|()| segment)
    }

    fn write_alone(
        &self,
        segment: &mut ActiveSegment,
        mut frames: Frames,
        sync: bool,
    ) -> Result<Flushed, LogError> {
        let took = !frames.is_empty();
        for frame in &mut frames {
            self.write_frame(segment, frame)?;
        }
        if sync {
            segment.sync()?;
            // The keeper may have failed meanwhile: nothing counts as durable any more.
            self.check_poison().or_else(unless_planted)?;
        }
        let end = segment.end;
        self.written.store(end.0, Ordering::SeqCst);
        if sync {
            self.publish_durable(end);
        }
        self.keep_memory(segment, frames);
        Ok(Flushed { end: took.then_some(end), durable: sync.then_some(end) })
    }

    fn keep_memory(&self, segment: &mut ActiveSegment, mut frames: Frames) {
        lock(&self.pending).reuse(&mut frames);
        segment.spare_lists.push(frames);
    }

    fn write_frame(&self, segment: &mut ActiveSegment, frame: &mut FrameBuffer) -> Result<(), LogError> {
        self.make_room(segment, frame.padded_bytes() as u64)?;
        let sealed = frame.seal(segment.seed, self.durable());
        let offset = segment.end_offset();
        segment.unsynced = true;
        segment.file.write_at(offset, sealed).context("write", &segment.path)?;
        segment.end = segment.end.plus(sealed.len() as u64);
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
            self.keep()?;
        }
        let prepared_bytes = lock(&self.catalog).prepared_bytes();
        // An empty segment takes a frame of any size and grows, so that a huge one fits somewhere. What users append never needs
        // that: see `room`.
        if segment.is_empty() && SEGMENT_HEADER_BYTES + bytes > prepared_bytes {
            return Ok(());
        }
        // Bulk work of replication can outrun the keeper. Then the file grows a little instead of making commits wait:
        // a sync that has to record a length is slower, but not as slow as a wait.
        if prepared_bytes == 0 && segment.has_room(bytes, self.options.segment_bytes) {
            self.need_segment(SegmentNeed::Soon);
            return Ok(());
        }
        self.switch_segment(segment, bytes)
    }

    /// Goes on in the prepared segment. Everything in the old one is made durable first, so that at most
    /// one segment ever holds unsynced frames.
    fn switch_segment(&self, segment: &mut ActiveSegment, bytes: u64) -> Result<(), LogError> {
        segment.sync()?;
        self.check_poison()?;
        self.publish_durable(segment.end);
        let (prepared, mut catalog) = self.wait_for_prepared_segment(bytes)?;
        if is_planted(Bug::PrepareSegmentTwice) {
            drop(catalog);
            catalog = lock(&self.catalog);
        }
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
        self.segment_prepared.notify_all();
        segment.sequence = prepared.sequence;
        segment.seed = FrameSeed::new(self.log_id(), prepared.sequence);
        segment.path = prepared.path.into();
        segment.file = prepared.file;
        segment.file_bytes = prepared.file_bytes;
        segment.start = segment.end;
        Ok(())
    }

    /// The catalog stays locked until it says that the segment is the active one: the keeper would prepare the same one again.
    fn wait_for_prepared_segment(
        &self,
        bytes: u64,
    ) -> Result<(PreparedSegment, MutexGuard<'_, Catalog>), LogError> {
        let mut catalog = lock(&self.catalog);
        let failures = catalog.failures;
        loop {
            if let Some(prepared) = catalog.prepared.take() {
                return Ok((prepared, catalog));
            }
            self.check_poison()?;
            if catalog.failures != failures || !self.options.spawn_threads {
                return Err(self.disk_full());
            }
            catalog.want(SEGMENT_HEADER_BYTES + bytes);
            self.need_segment(SegmentNeed::Now);
            self.keeper_wake.notify_one();
            catalog = self.segment_prepared.wait(catalog).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub fn wait_durable(&self, end: Lsn) -> Result<(), LogError> {
        if self.durable() >= end {
            return Ok(());
        }
        if !self.options.spawn_threads {
            self.check_poison()?;
            self.flush_in_this_thread(true)?;
            return match self.durable() >= end {
                true => Ok(()),
                false => Err(LogError::Closed),
            };
        }
        self.request_sync();
        self.durable_waiters.fetch_add(1, Ordering::SeqCst);
        let mut guard = lock(&self.durable_signal);
        let outcome = loop {
            if self.durable() >= end {
                break Ok(());
            }
            if let Err(error) = self.check_poison() {
                break Err(error);
            }
            guard = self.durable_changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
        };
        drop(guard);
        self.durable_waiters.fetch_sub(1, Ordering::SeqCst);
        outcome
    }

    pub fn close(&self) -> Result<(), LogError> {
        self.refuse_appends();
        self.wait_durable(self.end())?;
        let mut manifest = lock(&self.keeper);
        self.check_poison()?;
        manifest.note_durable(self.durable())
    }
}
