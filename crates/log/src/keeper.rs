//! The work behind the scenes on segments: preparing the next one ahead of need,
//! cutting old ones, using them again.
//!
//! The keeper thread does this, so that a commit never waits for a file to be created (`segment_file`).
//! Before a segment goes, the manifest says durably that it is no longer part of the log.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::catalog::{SealedSegment, SegmentNeed, SpareFile};
use crate::core::{Core, lock};
use crate::error::{IoContext, LogError};
use crate::file_system::{OpenMode, StorageFile};
use crate::format::{Lsn, SegmentSequence, encode_segment_header};
use crate::manifest::Manifest;
use crate::segment_file::{Fill, PreparedSegment, create_segment, fill};
use crate::sync;

/// The pause between two pieces of a new segment while nobody needs it: some 50 MB are filled a second.
const FILL_PAUSE: Duration = Duration::from_millis(5);

impl Core {
    pub fn first_lsn(&self) -> Lsn {
        lock(&self.catalog).first_lsn()
    }

    pub fn disk_bytes(&self) -> u64 {
        let catalog = lock(&self.catalog);
        let sealed: u64 = catalog.sealed.iter().map(|file| file.file_bytes).sum();
        let spares: u64 = catalog.spares.iter().map(|file| file.file_bytes).sum();
        let prepared = catalog.prepared.as_ref().map_or(0, |file| file.file_bytes);
        sealed + spares + prepared + catalog.active_file_bytes
    }

    pub fn set_low_water(&self, low_water: Lsn) {
        let mut catalog = lock(&self.catalog);
        if low_water > catalog.low_water {
            catalog.low_water = low_water;
            catalog.low_water_moved = true;
            drop(catalog);
            self.keeper_wake.notify_one();
        }
    }

    pub fn stop_keeper(&self) {
        self.need_segment(SegmentNeed::Never);
        lock(&self.catalog).stop = true;
        self.keeper_wake.notify_all();
        self.segment_prepared.notify_all();
    }

    /// The body of the keeper thread.
    pub fn run_keeper(&self) {
        while self.wait_for_keeper_work() {
            if self.maintain().is_err() {
                return;
            }
        }
    }

    /// False when the thread should end.
    fn wait_for_keeper_work(&self) -> bool {
        let mut catalog = lock(&self.catalog);
        loop {
            if catalog.stop || self.is_poisoned() {
                return false;
            }
            if catalog.cut_count() > 0 || catalog.low_water_moved {
                return true;
            }
            if catalog.prepared.is_some() {
                if catalog.prepared_bytes() < catalog.wanted_bytes {
                    return true;
                }
                catalog = self.keeper_wake.wait(catalog).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if !self.no_space.load(Ordering::Relaxed) {
                return true;
            }
            // The disk was full. Whether it is time to try again or space may have been won, the
            // answer is the same: try.
            catalog = self
                .keeper_wake
                .wait_timeout(catalog, self.options.disk_full_retry)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            return !catalog.stop && !self.is_poisoned();
        }
    }

    /// Cuts what can be cut and prepares the next segment.
    pub fn maintain(&self) -> Result<(), LogError> {
        self.check_poison()?;
        self.keep().map_err(|error| self.poison(&error))
    }

    /// The same for those who hold the segment: a failure is theirs to make known, when they have let go of it.
    pub fn keep(&self) -> Result<(), LogError> {
        let mut manifest = lock(&self.keeper);
        self.cut(&mut manifest)?;
        self.prepare(&manifest)?;
        self.enlarge_prepared()
    }

    fn cut(&self, manifest: &mut Manifest) -> Result<(), LogError> {
        let (count, first_segment, first_lsn) = {
            let mut catalog = lock(&self.catalog);
            catalog.low_water_moved = false;
            let count = catalog.cut_count();
            match catalog.sealed.get(count) {
                Some(segment) => (count, segment.sequence, segment.start),
                None => (count, catalog.active_sequence, catalog.active_start),
            }
        };
        if count == 0 {
            return Ok(());
        }
        manifest.advance(first_segment, first_lsn, self.durable())?;
        let cut: Vec<SealedSegment> = lock(&self.catalog).sealed.drain(..count).collect();
        let mut removed = false;
        for segment in cut {
            let mut catalog = lock(&self.catalog);
            // Files of another size (the small first segment, one with an enormous transaction) would
            // upset the rhythm of the others.
            let usual_bytes = self.options.segment_bytes;
            let usual = segment.file_bytes.abs_diff(usual_bytes) <= usual_bytes / 4;
            if usual && catalog.spares.len() < self.options.spare_segments {
                catalog.spares.push(SpareFile { sequence: segment.sequence, file_bytes: segment.file_bytes });
                continue;
            }
            drop(catalog);
            let path = self.directory.join(segment.sequence.file_name());
            self.options.file_system.remove(&path).context("remove", &path)?;
            removed = true;
        }
        if removed {
            self.sync_directory()?;
        }
        Ok(())
    }

    /// Prepares the next segment if there is none. A full disk is a state, not an error.
    fn prepare(&self, manifest: &Manifest) -> Result<(), LogError> {
        let (sequence, spare) = {
            let mut catalog = lock(&self.catalog);
            if catalog.prepared.is_some() {
                return Ok(());
            }
            (catalog.active_sequence.next(), catalog.spares.pop())
        };
        let log_id = manifest.content.log_id;
        let prepared = match spare {
            Some(spare) => self.recycle_segment(log_id, spare, sequence),
            None => self.create_segment(log_id, sequence),
        };
        match prepared {
            Ok(prepared) => {
                lock(&self.catalog).prepared = Some(prepared);
                self.no_space.store(false, Ordering::SeqCst);
            }
            Err(error) if error.is_disk_full() => {
                self.remove_temporary(sequence);
                self.no_space.store(true, Ordering::SeqCst);
                lock(&self.catalog).refuse(0);
            }
            Err(LogError::Closed) => {
                self.remove_temporary(sequence);
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        self.tell_prepared();
        Ok(())
    }

    /// Lets the prepared segment grow to what somebody waits for: a batch that is larger than a segment needs one of its own.
    fn enlarge_prepared(&self) -> Result<(), LogError> {
        let (mut prepared, wanted_bytes) = {
            let mut catalog = lock(&self.catalog);
            let wanted_bytes = catalog.wanted_bytes;
            match catalog.prepared.take_if(|prepared| prepared.file_bytes < wanted_bytes) {
                Some(prepared) => (prepared, wanted_bytes),
                None => {
                    // If it is gone again already, the next one is wanted all the same.
                    if catalog.prepared.is_some() {
                        catalog.wanted_bytes = 0;
                    }
                    return Ok(());
                }
            }
        };
        let PreparedSegment { file, path, file_bytes, .. } = &mut prepared;
        let pace = |_| match self.segment_need.load(Ordering::Relaxed) == SegmentNeed::Never as u8 {
            true => Fill::Abandon,
            false => Fill::GoOn,
        };
        let outcome = match fill(file.as_ref(), path, *file_bytes, wanted_bytes, &pace) {
            Ok(filled) => {
                *file_bytes = filled;
                Ok(())
            }
            Err(error) => file.set_length(*file_bytes).context("shorten", path).and(Err(error)),
        };
        // Whatever came of it, what users were promised is there again.
        let mut catalog = lock(&self.catalog);
        catalog.prepared = Some(prepared);
        match outcome {
            Ok(()) => catalog.wanted_bytes = 0,
            Err(error) if error.is_disk_full() => catalog.refuse(wanted_bytes),
            Err(LogError::Closed) => {}
            Err(error) => return Err(error),
        }
        drop(catalog);
        self.tell_prepared();
        Ok(())
    }

    fn tell_prepared(&self) {
        let reset = |need| (need < SegmentNeed::Never as u8).then_some(SegmentNeed::Later as u8);
        let _ = self.segment_need.fetch_update(Ordering::SeqCst, Ordering::SeqCst, reset);
        self.segment_prepared.notify_all();
    }

    fn remove_temporary(&self, sequence: SegmentSequence) {
        let path = self.directory.join(sequence.temporary_name());
        // It may not even have been created; what stays behind is removed when the log is opened.
        let _ = self.options.file_system.remove(&path);
    }

    fn create_segment(&self, log_id: u64, sequence: SegmentSequence) -> Result<PreparedSegment, LogError> {
        let pace = |filled| match SegmentNeed::from_number(self.segment_need.load(Ordering::Relaxed)) {
            SegmentNeed::Never => Fill::Abandon,
            SegmentNeed::Now => match lock(&self.catalog).wanted_bytes {
                0 => Fill::GoOn,
                wanted if filled < wanted => Fill::GoOn,
                _ => Fill::Publish,
            },
            SegmentNeed::Soon => Fill::GoOn,
            SegmentNeed::Later => {
                if self.options.spawn_threads {
                    sync::sleep(FILL_PAUSE);
                }
                Fill::GoOn
            }
        };
        let bytes = self.options.segment_bytes;
        create_segment(&self.options, &self.directory, log_id, sequence, bytes, &pace)
    }

    /// Tells the keeper how much the next segment is needed.
    pub fn need_segment(&self, need: SegmentNeed) {
        self.segment_need.fetch_max(need as u8, Ordering::SeqCst);
    }

    /// Turns a file that was cut out of the log into a segment. Its old frames stay in it; they are
    /// invalid under the new sequence number.
    fn recycle_segment(
        &self,
        log_id: u64,
        spare: SpareFile,
        sequence: SegmentSequence,
    ) -> Result<PreparedSegment, LogError> {
        let file_system = &self.options.file_system;
        let old = self.directory.join(spare.sequence.file_name());
        let temporary = self.directory.join(sequence.temporary_name());
        let path = self.directory.join(sequence.file_name());
        file_system.rename(&old, &temporary).context("rename", &old)?;
        let file: Arc<dyn StorageFile> =
            file_system.open(&temporary, OpenMode::ReadWrite).context("open", &temporary)?.into();
        file.write_at(0, &encode_segment_header(log_id, sequence)).context("write", &temporary)?;
        file.sync_data().context("sync", &temporary)?;
        file_system.rename(&temporary, &path).context("rename", &temporary)?;
        self.sync_directory()?;
        Ok(PreparedSegment { sequence, path, file, file_bytes: spare.file_bytes })
    }

    fn sync_directory(&self) -> Result<(), LogError> {
        self.options.file_system.sync_directory(&self.directory).context("sync", &self.directory)
    }
}
