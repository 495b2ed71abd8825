//! Opening a log: lock, manifest, segments, one pass over all frames, and the cut of a torn tail.
//!
//! The pass ends at the first position without a valid continuation. Behind it, it searches for frames
//! that prove damage (see `format`): one that declares that position durable. Without such a proof the
//! rest was never reported durable: it is cut. Everything here can be interrupted and done again.
//!
//! What was read may still be only in the operating system's memory (the process died, not the machine;
//! or an fsync failed and its pages were called clean). So the part that no frame proves durable is
//! written again, and synced, before anything is built on it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shoal_planted::{Bug, is_planted};

use crate::active_segment::ActiveSegment;
use crate::batch::{RecordRef, Records};
use crate::catalog::{Catalog, SealedSegment, SpareFile};
use crate::core::{Core, CoreParts};
use crate::error::{IoContext, LogError};
use crate::file_system::{LockGuard, LockOutcome, OpenMode, StorageFile, read_full};
use crate::format::{
    FORMAT_VERSION, FRAME_HEADER_BYTES, FrameSeed, HeaderFault, Lsn, SEGMENT_HEADER_BYTES, SegmentSequence,
    decode_segment_header,
};
use crate::frame_reader::{FrameReader, StrayFrames};
use crate::log::Log;
use crate::manifest::{MANIFEST_NAME, Manifest};
use crate::options::{LogHooks, LogOptions};
use crate::segment_file::{Fill, PreparedSegment, create_segment};

const LOCK_NAME: &str = "LOCK";
const LOG_DIRECTORY: &str = "log";
const COPY_BYTES: usize = 1 << 20;

/// A locked data directory whose log is still to be read.
#[derive(Debug)]
pub struct Recovery {
    options: LogOptions,
    data_directory: PathBuf,
    directory: PathBuf,
    manifest: Manifest,
    /// All segments of the log in order; never empty.
    segments: Vec<SegmentFile>,
    spares: Vec<SpareFile>,
    created: bool,
    lock: Box<dyn LockGuard>,
}

/// What recovery found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The log did not exist before.
    pub created: bool,
    /// Segment files that belong to the log.
    pub segments: usize,
    /// Frames that were read: one a flush, or more.
    pub frames: u64,
    /// Records that were shown.
    pub records: u64,
    /// Where the log begins.
    pub first_lsn: Lsn,
    /// Where it ends, and goes on.
    pub end_lsn: Lsn,
    /// Set when remains of a flush that did not finish were cut off.
    pub torn_tail: Option<TornTail>,
}

/// Where an unfinished flush was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    /// The segment.
    pub file: PathBuf,
    /// In bytes, from the segment's beginning.
    pub offset: u64,
}

#[derive(Debug)]
struct SegmentFile {
    sequence: SegmentSequence,
    path: PathBuf,
    file: Arc<dyn StorageFile>,
    file_bytes: u64,
    seed: FrameSeed,
}

/// Where the frames of one segment end.
struct SegmentEnd {
    lsn: Lsn,
    offset: u64,
    /// Something like a frame for just this position is there, but is not valid.
    torn: bool,
    durable_before: Lsn,
}

impl Log {
    /// Locks `directory` (created if need be) and looks at the log's files. The log itself comes from
    /// [`Recovery::replay`], which every open goes through, an empty directory's too.
    ///
    /// # Errors
    /// `Locked` when another process has the directory; `Corrupt` when files are missing or damaged.
    pub fn open(directory: &Path, options: LogOptions) -> Result<Recovery, LogError> {
        Recovery::begin(directory, options)
    }
}

impl Recovery {
    fn begin(data_directory: &Path, options: LogOptions) -> Result<Recovery, LogError> {
        let file_system = Arc::clone(&options.file_system);
        let directory = data_directory.join(LOG_DIRECTORY);
        file_system.create_directory(data_directory).context("create", data_directory)?;
        let lock = take_lock(&options, data_directory)?;
        file_system.create_directory(&directory).context("create", &directory)?;
        file_system.sync_directory(data_directory).context("sync", data_directory)?;
        // The process before this one may have died between a rename and its sync: what is there under its name now is built on,
        // and must be there after a crash of the machine.
        file_system.sync_directory(&directory).context("sync", &directory)?;
        let sequences = list_segments(&options, &directory)?;
        let found = Manifest::open(file_system.as_ref(), &directory)?;
        let created = found.is_none();
        let (manifest, sequences) = match found {
            Some(manifest) => (manifest, sequences),
            None => create_log(&options, &directory, &sequences)?,
        };
        let mut recovery = Recovery {
            options,
            data_directory: data_directory.to_path_buf(),
            directory,
            manifest,
            segments: Vec::new(),
            spares: Vec::new(),
            created,
            lock,
        };
        recovery.open_segments(&sequences)?;
        Ok(recovery)
    }

    /// True if there was no log in the directory.
    pub fn is_new(&self) -> bool {
        self.created
    }

    /// The number that the log was created with.
    pub fn log_id(&self) -> u64 {
        self.manifest.content.log_id
    }

    /// Shows all surviving records to `visit`, in the order in which they were appended, and starts the
    /// log behind them. Records are shown while the log is being read: after an error, forget them.
    ///
    /// # Errors
    /// `Corrupt` with file and offset when durable bytes are damaged or missing.
    pub fn replay(
        self,
        hooks: LogHooks,
        mut visit: impl FnMut(RecordRef<'_>),
    ) -> Result<(Log, RecoveryReport), LogError> {
        let mut report = RecoveryReport {
            created: self.created,
            segments: self.segments.len(),
            frames: 0,
            records: 0,
            first_lsn: self.manifest.content.first_lsn,
            end_lsn: self.manifest.content.first_lsn,
            torn_tail: None,
        };
        let mut sealed = VecDeque::new();
        let mut start = self.manifest.content.first_lsn;
        let mut at = 0;
        let end = loop {
            let segment = &self.segments[at];
            let end = self.read_segment(segment, start, &mut report, &mut visit)?;
            if !self.goes_on(at, end.lsn)? {
                break end;
            }
            sealed.push_back(SealedSegment {
                sequence: segment.sequence,
                start,
                end: end.lsn,
                file_bytes: segment.file_bytes,
            });
            start = end.lsn;
            at += 1;
        };
        report.end_lsn = end.lsn;
        let durable = self.manifest.content.durable;
        if end.lsn < durable {
            let detail = format!(
                "no valid frame for log position {}, although the log was durable up to {durable} when it was closed or \
                 cut; restore the file from a copy or remove the data directory of this node",
                end.lsn
            );
            return Err(LogError::corrupt(&self.segments[at].path, end.offset, detail));
        }
        let prepared = self.cut_tail(at, start, &end, &mut report)?;
        self.make_durable(&self.segments[at], start, &end)?;
        let log = self.into_log(hooks, at, start, end.lsn, sealed, prepared)?;
        Ok((log, report))
    }

    fn into_log(
        mut self,
        hooks: LogHooks,
        at: usize,
        start: Lsn,
        end: Lsn,
        sealed: VecDeque<SealedSegment>,
        prepared: Option<PreparedSegment>,
    ) -> Result<Log, LogError> {
        let active = self.segments.swap_remove(at);
        let segment = ActiveSegment {
            sequence: active.sequence,
            seed: active.seed,
            path: active.path.into(),
            file: active.file,
            file_bytes: active.file_bytes,
            start,
            end,
            unsynced: false,
            in_flight: VecDeque::new(),
            flushes_ended: 0,
            alone_wanted: 0,
            spare_lists: Vec::new(),
        };
        let catalog = Catalog {
            sealed,
            active_sequence: active.sequence,
            active_start: start,
            active_file_bytes: active.file_bytes,
            prepared,
            spares: self.spares,
            low_water: self.manifest.content.first_lsn,
            wanted_bytes: 0,
            failures: 0,
            refused_bytes: 0,
            low_water_moved: false,
            stop: false,
        };
        Log::start(Core::new(CoreParts {
            options: self.options,
            data_directory: self.data_directory,
            directory: self.directory,
            hooks,
            segment,
            catalog,
            manifest: self.manifest,
            end,
            lock: self.lock,
        }))
    }

    /// Opens all segment files, sets those before the beginning of the log aside, and finds gaps.
    fn open_segments(&mut self, sequences: &[SegmentSequence]) -> Result<(), LogError> {
        let mut wanted = self.manifest.content.first_segment;
        if sequences.first().is_some_and(|&first| first < wanted) {
            self.manifest.make_durable()?;
        }
        for &sequence in sequences {
            let path = self.directory.join(sequence.file_name());
            if sequence < wanted {
                self.set_aside(sequence, &path)?;
                continue;
            }
            if sequence > wanted {
                break;
            }
            self.segments.push(self.open_segment(sequence, path)?);
            wanted = wanted.next();
        }
        let missing = match (self.segments.is_empty(), sequences.last()) {
            (true, _) => true,
            (false, Some(&last)) => last >= wanted,
            (false, None) => false,
        };
        if missing {
            let path = self.directory.join(wanted.file_name());
            return Err(LogError::corrupt(&path, 0, "this log segment is missing"));
        }
        Ok(())
    }

    fn open_segment(&self, sequence: SegmentSequence, path: PathBuf) -> Result<SegmentFile, LogError> {
        let file: Arc<dyn StorageFile> =
            self.options.file_system.open(&path, OpenMode::ReadWrite).context("open", &path)?.into();
        let mut header = vec![0; SEGMENT_HEADER_BYTES as usize];
        let length = read_full(file.as_ref(), 0, &mut header).context("read", &path)?;
        let log_id = self.manifest.content.log_id;
        match decode_segment_header(&header[..length]) {
            Ok(found) if found == (log_id, sequence) => {}
            Ok(_) => {
                let detail = "its header belongs to another segment or another log";
                return Err(LogError::corrupt(&path, 0, detail));
            }
            Err(HeaderFault::Damaged(detail)) => return Err(LogError::corrupt(&path, 0, detail)),
            Err(HeaderFault::Version(found)) => {
                return Err(LogError::UnsupportedVersion { file: path, found, supported: FORMAT_VERSION });
            }
        }
        let file_bytes = file.length().context("read the length of", &path)?;
        Ok(SegmentFile { seed: FrameSeed::new(log_id, sequence), sequence, path, file, file_bytes })
    }

    /// A segment that was cut: a spare, or rubbish.
    fn set_aside(&mut self, sequence: SegmentSequence, path: &Path) -> Result<(), LogError> {
        let file_system = &self.options.file_system;
        let file_bytes = file_system
            .open(path, OpenMode::Read)
            .and_then(|file| file.length())
            .context("read the length of", path)?;
        let usual_bytes = self.options.segment_bytes;
        let usual = file_bytes.abs_diff(usual_bytes) <= usual_bytes / 4;
        if usual && self.spares.len() < self.options.spare_segments {
            self.spares.push(SpareFile { sequence, file_bytes });
            return Ok(());
        }
        file_system.remove(path).context("remove", path)
    }

    /// Shows the records of one segment that begins at `start`, and finds where it ends.
    fn read_segment(
        &self,
        segment: &SegmentFile,
        start: Lsn,
        report: &mut RecoveryReport,
        visit: &mut dyn FnMut(RecordRef<'_>),
    ) -> Result<SegmentEnd, LogError> {
        let mut reader = FrameReader::new(segment.file.as_ref(), &segment.path, segment.seed)?;
        let mut end = SegmentEnd { lsn: start, offset: SEGMENT_HEADER_BYTES, torn: false, durable_before: start };
        while let Some((header, frame)) = reader.valid_frame_at(end.offset)? {
            if header.lsn != end.lsn {
                break;
            }
            let mut records = Records {
                body: &frame[FRAME_HEADER_BYTES..],
                lsn: header.lsn.plus(FRAME_HEADER_BYTES as u64),
                remaining: header.records,
            };
            let mut count = 0;
            while let Some(record) = records.next_record() {
                visit(record);
                count += 1;
            }
            if count != header.records {
                let detail = format!("a frame has {count} records instead of {}", header.records);
                return Err(LogError::corrupt(&segment.path, end.offset, detail));
            }
            report.frames += 1;
            report.records += u64::from(count);
            end.durable_before = end.durable_before.max(header.durable_before);
            end.lsn = end.lsn.plus(u64::from(header.length));
            end.offset += u64::from(header.length);
        }
        end.torn = reader.header_at(end.offset)?.is_some_and(|header| header.lsn == end.lsn);
        Ok(end)
    }

    /// True if the segment behind number `at` begins with a valid frame for position `lsn`.
    fn goes_on(&self, at: usize, lsn: Lsn) -> Result<bool, LogError> {
        let Some(next) = self.segments.get(at + 1) else {
            return Ok(false);
        };
        let mut reader = FrameReader::new(next.file.as_ref(), &next.path, next.seed)?;
        let frame = reader.valid_frame_at(SEGMENT_HEADER_BYTES)?;
        Ok(frame.is_some_and(|(header, _)| header.lsn == lsn))
    }

    /// The log ends in segment number `at`. Refuses if something behind that end was durable; otherwise
    /// makes sure that nothing behind it can ever be taken for a continuation. Returns the next segment
    /// if it is untouched.
    fn cut_tail(
        &self,
        at: usize,
        start: Lsn,
        end: &SegmentEnd,
        report: &mut RecoveryReport,
    ) -> Result<Option<PreparedSegment>, LogError> {
        let segment = &self.segments[at];
        let strays = self.strays(segment, end.offset, Some(start))?;
        check_strays(strays, end, &segment.path, end.offset)?;
        let mut torn_at = (end.torn || strays.is_some()).then_some((segment, end.offset));
        let mut reusable = None;
        for (position, later) in self.segments.iter().enumerate().skip(at + 1) {
            let later_strays = self.strays(later, SEGMENT_HEADER_BYTES, None)?;
            // If the segment begins with a valid frame, its predecessor lost something; otherwise its own
            // first frame is damaged.
            let first = self.first_header(later)?;
            match first {
                Some((_, true)) => check_strays(later_strays, end, &segment.path, end.offset)?,
                _ => check_strays(later_strays, end, &later.path, SEGMENT_HEADER_BYTES)?,
            }
            let torn = later_strays.is_some() || first.is_some_and(|(lsn, _)| lsn == end.lsn);
            if torn && torn_at.is_none() {
                torn_at = Some((later, SEGMENT_HEADER_BYTES));
            }
            if position == at + 1 && !torn {
                reusable = Some(PreparedSegment {
                    sequence: later.sequence,
                    path: later.path.clone(),
                    file: Arc::clone(&later.file),
                    file_bytes: later.file_bytes,
                });
            }
        }
        self.remove_after(at, reusable.is_some())?;
        if let Some(strays) = strays.filter(|_| !is_planted(Bug::LeaveStrayFrames)) {
            overwrite_with_zeros(segment, end.offset, strays.end_offset)?;
        }
        report.torn_tail = torn_at.map(|(segment, offset)| TornTail { file: segment.path.clone(), offset });
        Ok(reusable)
    }

    fn strays(
        &self,
        segment: &SegmentFile,
        offset: u64,
        start: Option<Lsn>,
    ) -> Result<Option<StrayFrames>, LogError> {
        FrameReader::new(segment.file.as_ref(), &segment.path, segment.seed)?.stray_frames(offset, start)
    }

    /// The LSN in the first frame of a segment, and whether that frame is valid. In a recycled file it can
    /// be a frame of its former life: invalid, and with an LSN before the end of the log.
    fn first_header(&self, segment: &SegmentFile) -> Result<Option<(Lsn, bool)>, LogError> {
        let mut reader = FrameReader::new(segment.file.as_ref(), &segment.path, segment.seed)?;
        let valid = reader.valid_frame_at(SEGMENT_HEADER_BYTES)?.is_some();
        let header = reader.header_at(SEGMENT_HEADER_BYTES)?;
        Ok(header.map(|header| (header.lsn, valid)))
    }

    /// Removes the segments behind number `at`, the last first so that no gap can appear; with
    /// `keep_next` all but the next one.
    fn remove_after(&self, at: usize, keep_next: bool) -> Result<(), LogError> {
        let from = at + 1 + usize::from(keep_next);
        let doomed = self.segments.get(from..).unwrap_or_default();
        let file_system = &self.options.file_system;
        for segment in doomed.iter().rev() {
            file_system.remove(&segment.path).context("remove", &segment.path)?;
            file_system.sync_directory(&self.directory).context("sync", &self.directory)?;
        }
        Ok(())
    }

    /// Writes what no frame proves durable once more and syncs it.
    fn make_durable(&self, segment: &SegmentFile, start: Lsn, end: &SegmentEnd) -> Result<(), LogError> {
        if is_planted(Bug::TrustWhatIsRead) {
            return Ok(());
        }
        let unproven = end.lsn.bytes_since(end.durable_before.max(start));
        let mut offset = end.offset - unproven;
        let mut buffer = vec![0; COPY_BYTES.min(unproven as usize)];
        while offset < end.offset {
            let piece = buffer.len().min((end.offset - offset) as usize);
            let read =
                read_full(segment.file.as_ref(), offset, &mut buffer[..piece]).context("read", &segment.path)?;
            if read < piece {
                let detail = "the file became shorter while it was read";
                return Err(LogError::corrupt(&segment.path, offset, detail));
            }
            segment.file.write_at(offset, &buffer[..piece]).context("write", &segment.path)?;
            offset += piece as u64;
        }
        segment.file.sync_data().context("sync", &segment.path)
    }
}

/// Frames behind the end of the log are damage if one of them knows that more was durable.
fn check_strays(strays: Option<StrayFrames>, end: &SegmentEnd, file: &Path, offset: u64) -> Result<(), LogError> {
    match strays {
        Some(strays) if strays.durable_before > end.lsn => {
            let detail = format!(
                "no valid frame for log position {}, although the log is intact up to at least {} \
                 behind it; restore the file from a copy or remove the data directory of this node",
                end.lsn, strays.durable_before
            );
            Err(LogError::corrupt(file, offset, detail))
        }
        _ => Ok(()),
    }
}

fn overwrite_with_zeros(segment: &SegmentFile, from: u64, to: u64) -> Result<(), LogError> {
    let zeros = vec![0; COPY_BYTES];
    let mut offset = from;
    while offset < to {
        let piece = zeros.len().min((to - offset) as usize);
        segment.file.write_at(offset, &zeros[..piece]).context("write", &segment.path)?;
        offset += piece as u64;
    }
    segment.file.sync_data().context("sync", &segment.path)
}

fn take_lock(options: &LogOptions, directory: &Path) -> Result<Box<dyn LockGuard>, LogError> {
    let path = directory.join(LOCK_NAME);
    match options.file_system.lock(&path).context("lock", &path)? {
        LockOutcome::Taken(guard) => Ok(guard),
        LockOutcome::Held { pid } => Err(LogError::Locked { directory: directory.to_path_buf(), pid }),
    }
}

/// The segments in order. What an interrupted creation left behind is removed.
fn list_segments(options: &LogOptions, directory: &Path) -> Result<Vec<SegmentSequence>, LogError> {
    let mut sequences = Vec::new();
    for name in options.file_system.list(directory).context("list", directory)? {
        if name.ends_with(".tmp") {
            let path = directory.join(&name);
            options.file_system.remove(&path).context("remove", &path)?;
        } else if let Some(sequence) = SegmentSequence::from_file_name(&name) {
            sequences.push(sequence);
        }
    }
    sequences.sort_unstable();
    Ok(sequences)
}

/// Creates the first segment and then the manifest. A first segment without a manifest and without frames
/// is a creation that was interrupted; anything else without a manifest is a log that lost it.
fn create_log(
    options: &LogOptions,
    directory: &Path,
    sequences: &[SegmentSequence],
) -> Result<(Manifest, Vec<SegmentSequence>), LogError> {
    let first = SegmentSequence(1);
    let manifest_path = directory.join(MANIFEST_NAME);
    let lost = || LogError::corrupt(&manifest_path, 0, "it is missing, but there are log segments");
    match sequences {
        [] => {}
        [only] if *only == first => {
            if holds_frames(options, &directory.join(first.file_name()))? {
                return Err(lost());
            }
        }
        _ => return Err(lost()),
    }
    let bytes = options.first_segment_bytes.min(options.segment_bytes);
    create_segment(options, directory, options.log_id, first, bytes, &|_| Fill::GoOn)?;
    let manifest = Manifest::create(options.file_system.as_ref(), directory, options.log_id)?;
    Ok((manifest, vec![first]))
}

fn holds_frames(options: &LogOptions, path: &Path) -> Result<bool, LogError> {
    let file = options.file_system.open(path, OpenMode::Read).context("open", path)?;
    let mut reader = FrameReader::new(file.as_ref(), path, FrameSeed::new(options.log_id, SegmentSequence(1)))?;
    Ok(reader.header_at(SEGMENT_HEADER_BYTES)?.is_some())
}
