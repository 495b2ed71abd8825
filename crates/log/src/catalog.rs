//! The list of segments, and the work behind the scenes on them: preparing the next one ahead of need,
//! cutting old ones, using them again.
//!
//! The keeper thread does this, so that a commit never waits for a file to be created. A file gets the
//! name of a segment only after its header and its full length are durable. Before a segment goes, the
//! manifest says durably that it is no longer part of the log.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::core::{Core, lock};
use crate::error::{IoContext, LogError};
use crate::file_system::{OpenMode, StorageFile};
use crate::format::{Lsn, SEGMENT_HEADER_BYTES, SegmentSequence, encode_segment_header};
use crate::manifest::Manifest;
use crate::sync;

/// Zeros are written in pieces of this size, each synced, so that they never pile up before a commit ...
const FILL_BYTES: usize = 256 << 10;
/// ... and with a pause between them while nobody needs the segment: some 50 MB a second.
const FILL_PAUSE: Duration = Duration::from_millis(5);

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
    fn from_number(number: u8) -> SegmentNeed {
        match number {
            0 => SegmentNeed::Later,
            1 => SegmentNeed::Soon,
            2 => SegmentNeed::Now,
            _ => SegmentNeed::Never,
        }
    }
}

/// What to do before the next piece of a new segment is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    GoOn,
    Publish,
    Abandon,
}

/// A segment that will not be written any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SealedSegment {
    pub sequence: SegmentSequence,
    pub start: Lsn,
    pub end: Lsn,
    pub file_bytes: u64,
}

/// A segment that waits for its first frame.
#[derive(Debug, Clone)]
pub(crate) struct PreparedSegment {
    pub sequence: SegmentSequence,
    pub path: PathBuf,
    pub file: Arc<dyn StorageFile>,
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
    fn first_lsn(&self) -> Lsn {
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
    fn refuse(&mut self, bytes: u64) {
        self.failures += 1;
        self.refused_bytes = bytes;
        self.wanted_bytes = 0;
    }

    /// How many sealed segments, from the oldest, lie before the low water.
    fn cut_count(&self) -> usize {
        self.sealed.iter().take_while(|segment| segment.end <= self.low_water).count()
    }
}

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

/// Creates a segment file of `bytes` bytes, filled with zeros and durable under its name. `pace` is asked
/// before each piece, with the bytes that are there; `Abandon` ends in `Closed`.
pub(crate) fn create_segment(
    options: &crate::log::LogOptions,
    directory: &Path,
    log_id: u64,
    sequence: SegmentSequence,
    bytes: u64,
    pace: &dyn Fn(u64) -> Fill,
) -> Result<PreparedSegment, LogError> {
    let file_system = &options.file_system;
    let temporary = directory.join(sequence.temporary_name());
    let path = directory.join(sequence.file_name());
    let file: Arc<dyn StorageFile> =
        file_system.open(&temporary, OpenMode::Create).context("create", &temporary)?.into();
    file.write_at(0, &encode_segment_header(log_id, sequence)).context("write", &temporary)?;
    let filled = fill(file.as_ref(), &temporary, SEGMENT_HEADER_BYTES, bytes, pace)?;
    file.sync_data().context("sync", &temporary)?;
    file_system.rename(&temporary, &path).context("rename", &temporary)?;
    file_system.sync_directory(directory).context("sync", directory)?;
    Ok(PreparedSegment { sequence, path, file, file_bytes: filled })
}

/// Writes zeros from the end of a file, at `filled`, up to `bytes`, and returns how far it has come.
fn fill(
    file: &dyn StorageFile,
    path: &Path,
    mut filled: u64,
    bytes: u64,
    pace: &dyn Fn(u64) -> Fill,
) -> Result<u64, LogError> {
    let zeros = vec![0; FILL_BYTES.min(bytes.saturating_sub(filled) as usize)];
    while filled < bytes {
        match pace(filled) {
            Fill::GoOn => {}
            Fill::Publish => break,
            Fill::Abandon => return Err(LogError::Closed),
        }
        let piece = zeros.len().min((bytes - filled) as usize);
        file.write_at(filled, &zeros[..piece]).context("allocate", path)?;
        file.sync_data().context("allocate", path)?;
        filled += piece as u64;
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_system::FileSystem;
    use crate::testing::MemoryFileSystem;

    #[test]
    fn a_file_is_filled_up_to_its_size_and_no_further_whatever_the_size() {
        let disk = MemoryFileSystem::new();
        let path = Path::new("segment");
        for bytes in [4096, FILL_BYTES as u64, 2 * FILL_BYTES as u64 + 4096, 2 * FILL_BYTES as u64 + 8192] {
            let file = disk.open(path, OpenMode::Create).unwrap();
            file.write_at(0, &[1; 4096]).unwrap();
            assert_eq!(fill(file.as_ref(), path, 4096, bytes, &|_| Fill::GoOn).unwrap(), bytes.max(4096));
            assert_eq!(disk.read(path).unwrap().len() as u64, bytes, "{bytes}");
            drop(file);
            disk.remove(path).unwrap();
        }
    }
}
