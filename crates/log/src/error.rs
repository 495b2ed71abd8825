//! What can go wrong with the log and its checkpoint files, said so that an operator can act on it.
//!
//! Three kinds, told apart by the caller: refusals at open (`Locked`, `Corrupt`, `UnsupportedVersion`),
//! refusals of one call that leave all else healthy (`DiskFull`, `BatchTooLarge`, `BlockTooLarge`), and the end of this
//! log (`Poisoned`, `Closed`). `Io` is a failed system call with the file it was about.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Errors of this crate. Cheap to clone, so that one failure can be handed to many waiters.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// Another process (or another `Log` in this one) owns the data directory.
    #[error(
        "data directory `{}` is in use by process {}; stop it or choose another directory",
        directory.display(),
        pid.map_or_else(|| "(unknown)".to_string(), |pid| pid.to_string())
    )]
    Locked {
        /// The data directory.
        directory: PathBuf,
        /// What the other process has written into the lock file.
        pid: Option<u32>,
    },

    /// Bytes that were durable are damaged or missing. Nothing was changed on disk.
    #[error("`{}` is damaged at byte {offset}: {detail}", file.display())]
    Corrupt {
        /// The damaged file.
        file: PathBuf,
        /// In bytes, from its beginning.
        offset: u64,
        /// What is wrong there, and what to do about it.
        detail: String,
    },

    /// The file was written by a version of Shoal with another file format.
    #[error("`{}` has file format {found}; this version reads format {supported}", file.display())]
    UnsupportedVersion {
        /// The file that cannot be read.
        file: PathBuf,
        /// Its format.
        found: u32,
        /// The format that this version reads.
        supported: u32,
    },

    /// A system call failed.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried: a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: Arc<io::Error>,
    },

    /// An earlier write or fsync failed. Nothing that was not durable by then will ever be.
    #[error("the log stopped: {reason}")]
    Poisoned {
        /// The first failure.
        reason: Arc<PoisonReason>,
    },

    /// There is no room for the next log segment; writes of users are refused until there is.
    #[error(
        "the disk of `{}` is full: no room for the next log segment of {segment_bytes} bytes; free disk space",
        directory.display()
    )]
    DiskFull {
        /// The data directory.
        directory: PathBuf,
        /// What the next segment needs.
        segment_bytes: u64,
    },

    /// One batch is larger than one log frame can be.
    #[error("a transaction of {bytes} log bytes is larger than the limit of {limit}")]
    BatchTooLarge {
        /// Of the batch.
        bytes: u64,
        /// Of a frame.
        limit: u64,
    },

    /// A block or the metadata of a checkpoint is larger than the format allows.
    #[error("a checkpoint block of {bytes} bytes is larger than the limit of {limit}")]
    BlockTooLarge {
        /// Of the block or the metadata.
        bytes: u64,
        /// Of the format.
        limit: u64,
    },

    /// The log was closed in an orderly way.
    #[error("the log is closed")]
    Closed,
}

/// Why a log was poisoned: the first failed write or fsync.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct PoisonReason {
    /// The failure as `LogError` tells it.
    pub message: String,
    /// It was for lack of disk space.
    pub disk_full: bool,
}

impl LogError {
    /// True when the cause is a lack of disk space (errno 1021 for a statement).
    pub fn is_disk_full(&self) -> bool {
        match self {
            LogError::DiskFull { .. } => true,
            LogError::Poisoned { reason } => reason.disk_full,
            LogError::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> LogError {
        LogError::Io { action, path: path.to_path_buf(), source: Arc::new(source) }
    }

    pub(crate) fn corrupt(file: &Path, offset: u64, detail: impl Into<String>) -> LogError {
        LogError::Corrupt { file: file.to_path_buf(), offset, detail: detail.into() }
    }
}

/// Adds the action and the file to a failed system call.
pub(crate) trait IoContext<T> {
    fn context(self, action: &'static str, path: &Path) -> Result<T, LogError>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn context(self, action: &'static str, path: &Path) -> Result<T, LogError> {
        self.map_err(|source| LogError::io(action, path, source))
    }
}
