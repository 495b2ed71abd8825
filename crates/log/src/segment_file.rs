//! Segment files: a file gets the name of a segment only after its header and its full length are durable.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{IoContext, LogError};
use crate::file_system::{OpenMode, StorageFile};
use crate::format::{SEGMENT_HEADER_BYTES, SegmentSequence, encode_segment_header};
use crate::options::LogOptions;

/// Zeros are written in pieces of this size, each synced, so that they never pile up before a commit.
const FILL_BYTES: usize = 256 << 10;

/// What to do before the next piece of a new segment is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    GoOn,
    Publish,
    Abandon,
}

/// A segment that waits for its first frame.
#[derive(Debug, Clone)]
pub(crate) struct PreparedSegment {
    pub sequence: SegmentSequence,
    pub path: PathBuf,
    pub file: Arc<dyn StorageFile>,
    pub file_bytes: u64,
}

/// Creates a segment file of `bytes` bytes, filled with zeros and durable under its name. `pace` is asked
/// before each piece, with the bytes that are there; `Abandon` ends in `Closed`.
pub(crate) fn create_segment(
    options: &LogOptions,
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
pub(crate) fn fill(
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
