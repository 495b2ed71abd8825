//! Appending, and room on a disk that may fill up: what users append is only taken where there is space already.
//!
//! A batch of class `User` is taken when it surely fits into what is allocated, the rest of the active segment or the prepared
//! one, and a reserve is left behind it for what may not be refused. Until the keeper has allocated more, or has found that
//! it cannot, users wait: so a full disk shows as `DiskFull` before anything is appended, and never at the flush, where it
//! would end the log.
//!
//! One number says it, the user limit: everything that has been appended up to that position fits. Frames are not split between
//! segments, so the rest of the active segment and the prepared one do not add up; either one alone has to be enough for what
//! has no place yet. The limit stays true when the writer goes on to the prepared segment: that begins where the writer
//! has come to, no earlier than was assumed.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::batch::LogBatch;
use crate::catalog::SegmentNeed;
use crate::core::{Core, lock};
use crate::error::LogError;
use crate::format::{FRAME_ALIGNMENT, Lsn, SEGMENT_HEADER_BYTES};
use crate::options::{AppendClass, Durability, LogOptions};
use crate::pending::frame_bytes_max;
use crate::writer::REPLICATED_WRITE_BYTES;

/// What is kept back at most. Decisions, votes and the like take a sector or two each.
const RESERVE_BYTES_MAX: u64 = 256 << 10;
/// One in so many bytes of a segment is kept back.
const RESERVE_SHARE: u64 = 8;
/// A segment that users wait for is published when it has grown to one in so many bytes of its size.
const EARLY_SHARE: u64 = 16;

/// Why a batch cannot be taken yet.
enum Missing {
    Nothing,
    /// The prepared segment is large enough, once the frames before the batch have their places.
    Flush,
    /// A prepared segment of so many bytes.
    Segment(u64),
}

/// The room that only class `Internal` may use.
fn reserve_bytes(options: &LogOptions) -> u64 {
    let smallest = options.first_segment_bytes.min(options.segment_bytes);
    (smallest / RESERVE_SHARE).min(RESERVE_BYTES_MAX).next_multiple_of(FRAME_ALIGNMENT as u64)
}

impl Core {
    pub fn append(&self, batch: &LogBatch, class: AppendClass, wake: bool) -> Result<Lsn, LogError> {
        if class == AppendClass::User {
            self.check_space()?;
        }
        batch.check_size()?;
        let bytes = batch.size_bytes() as u64;
        let mut pending = loop {
            let pending = lock(&self.pending);
            self.check_poison()?;
            if pending.closed {
                return Err(LogError::Closed);
            }
            if class == AppendClass::Internal || pending.end_with(bytes) <= self.user_limit() {
                break pending;
            }
            drop(pending);
            self.wait_for_room(bytes)?;
        };
        let first = pending.is_empty();
        let end = pending.push(batch);
        if wake {
            // In `Replicated` mode the writer wakes up by itself until nothing is left to do.
            let due = self.durability() == Durability::Disk
                || first
                || pending.waiting_bytes() >= REPLICATED_WRITE_BYTES;
            self.wake_if(pending, due);
        }
        Ok(end)
    }

    /// Users may append up to here.
    pub fn user_limit(&self) -> Lsn {
        Lsn(self.user_limit.load(Ordering::SeqCst))
    }

    /// A user's batch of so many bytes would be taken at once.
    pub fn has_room(&self, bytes: u64) -> bool {
        !self.disk_space_low() && lock(&self.pending).end_with(bytes) <= self.user_limit()
    }

    /// Waits until there is room for a user's batch, which others may take first.
    pub fn wait_for_room(&self, bytes: u64) -> Result<(), LogError> {
        loop {
            self.check_poison()?;
            self.check_space()?;
            match self.missing_room(bytes) {
                Missing::Nothing => return Ok(()),
                Missing::Flush => {
                    self.flush_in_this_thread(self.durability() == Durability::Disk)?;
                }
                Missing::Segment(file_bytes) => self.wait_for_segment_of(file_bytes)?,
            }
        }
    }

    /// Brings the user limit up to date.
    fn missing_room(&self, bytes: u64) -> Missing {
        let end = lock(&self.pending).end_with(bytes);
        let segment = lock(&self.segment);
        let catalog = lock(&self.catalog);
        let prepared_bytes = catalog.prepared_bytes();
        let reserve = reserve_bytes(&self.options);
        let limit = |start: Lsn, file_bytes: u64| {
            Lsn((start.0 + file_bytes).saturating_sub(SEGMENT_HEADER_BYTES + reserve))
        };
        let active = limit(segment.start, segment.file_bytes);
        let limit = if prepared_bytes > 0 { active.max(limit(segment.end, prepared_bytes)) } else { active };
        self.user_limit.store(limit.0, Ordering::SeqCst);
        let wanted_bytes = SEGMENT_HEADER_BYTES + frame_bytes_max(bytes) + reserve;
        if end <= limit {
            Missing::Nothing
        } else if prepared_bytes >= wanted_bytes {
            Missing::Flush
        } else {
            Missing::Segment(wanted_bytes)
        }
    }

    /// Has the keeper prepare a segment of this size, and waits for what comes of it.
    fn wait_for_segment_of(&self, file_bytes: u64) -> Result<(), LogError> {
        let mut catalog = lock(&self.catalog);
        let (failures, sequence) = (catalog.failures, catalog.active_sequence);
        let wanted_bytes = file_bytes.max(self.options.segment_bytes / EARLY_SHARE);
        if !self.options.spawn_threads {
            catalog.want(wanted_bytes);
            drop(catalog);
            self.maintain()?;
            catalog = lock(&self.catalog);
        }
        while self.options.spawn_threads
            && catalog.prepared_bytes() < file_bytes
            && (catalog.failures, catalog.active_sequence) == (failures, sequence)
        {
            self.check_poison()?;
            if catalog.stop {
                return Err(LogError::Closed);
            }
            // Again and again: what others wanted may have been forgotten with what they got.
            catalog.want(wanted_bytes);
            self.need_segment(SegmentNeed::Now);
            self.keeper_wake.notify_one();
            catalog = self.segment_prepared.wait(catalog).unwrap_or_else(PoisonError::into_inner);
        }
        // Somebody else's larger wish may have failed.
        let refused = catalog.failures != failures && catalog.refused_bytes <= wanted_bytes;
        match refused && catalog.prepared_bytes() < file_bytes {
            true => Err(self.disk_full()),
            false => Ok(()),
        }
    }
}
