//! The few file operations that the log and the checkpoints stand on, behind a trait, so that tests can
//! put a faulty disk under the real code (see `testing`).
//!
//! What the code above assumes of the medium: data is on the medium when `sync_data` has returned; a
//! created, renamed or removed name is when `sync_directory` has returned. It assumes nothing about the
//! order in which unsynced writes arrive.

use std::fmt::Debug;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{OnceLock, PoisonError};

use crate::format::FRAME_ALIGNMENT;
use crate::sync::Mutex;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    ReadWrite,
    /// A file that does not exist yet, or is emptied, for reading and writing.
    Create,
}

/// The outcome of taking the lock of a data directory.
#[derive(Debug)]
pub enum LockOutcome {
    /// Ours for as long as the guard lives.
    Taken(Box<dyn LockGuard>),
    /// Someone else's; the process id is what the holder wrote into the file.
    Held {
        /// `None`: it has written nothing that could be read.
        pid: Option<u32>,
    },
}

/// Keeps a lock until it is dropped.
pub trait LockGuard: Debug + Send + Sync {}

/// A directory tree.
pub trait FileSystem: Debug + Send + Sync {
    /// Creates a directory with those above it; one that is there already is no error.
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// The names in a directory, in no particular order.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn StorageFile>>;
    /// Gives a file another name, in place of a file that has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes creations, renames and removals in a directory durable.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;
    /// Takes an exclusive lock on a file, which is created if it is not there.
    fn lock(&self, path: &Path) -> io::Result<LockOutcome>;
}

/// An open file with positioned access.
pub trait StorageFile: Debug + Send + Sync {
    /// Reads up to `buffer.len()` bytes; 0 means the end of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes all the bytes or fails.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes the written bytes durable (and the length, when it grew).
    fn sync_data(&self) -> io::Result<()>;
    /// Writes all the bytes within the file's length and makes them durable. Several threads may do so at a time, in different
    /// sectors; what else was written before need not become durable.
    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(offset, bytes)?;
        self.sync_data()
    }
    /// The file's length in bytes.
    fn length(&self) -> io::Result<u64>;
    /// Cuts the file off: gives space back.
    fn set_length(&self, bytes: u64) -> io::Result<()>;
}

/// Fills `buffer` from `offset` on, as far as the file goes; returns how much there was.
pub(crate) fn read_full(file: &dyn StorageFile, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(offset + done as u64, &mut buffer[done..])? {
            0 => break,
            count => done += count,
        }
    }
    Ok(done)
}

/// The file system of the operating system.
#[derive(Debug, Default, Clone, Copy)]
pub struct RealFileSystem;

impl FileSystem for RealFileSystem {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn StorageFile>> {
        let mut options = OpenOptions::new();
        options.read(true);
        match mode {
            OpenMode::Read => {}
            OpenMode::ReadWrite => {
                options.write(true);
            }
            OpenMode::Create => {
                options.write(true).create(true).truncate(true);
            }
        }
        Ok(Box::new(RealFile { file: options.open(path)?, direct: OnceLock::new(), cached: InTurn::default() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<LockOutcome> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // The holder may be between taking the lock and writing its id: then it is unknown.
                let _ = file.take(32).read_to_string(&mut text);
                return Ok(LockOutcome::Held { pid: text.trim().parse().ok() });
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.set_len(0)?;
        file.rewind()?;
        // The id only serves the message that the next process prints, so that a full disk, where
        // it cannot be written, is no reason to stop.
        let _ = writeln!(file, "{}", std::process::id());
        Ok(LockOutcome::Taken(Box::new(RealLock(file))))
    }
}

#[derive(Debug)]
struct RealFile {
    file: File,
    /// The same file past the page cache, every write durable: two threads' flushes then overlap. `None` where that is not to be
    /// had.
    direct: OnceLock<Option<File>>,
    /// Durable writes through the page cache.
    cached: InTurn,
}

/// Writes that are made durable by a sync of the whole file, one after the other. The kernel reports a failed write-back once for
/// an open file, to whoever syncs next: if two threads wrote before either syncs, the wrong one would hear of it and the other believe
/// that its bytes are on the medium.
#[derive(Debug, Default)]
pub(crate) struct InTurn {
    failed: Mutex<bool>,
}

impl InTurn {
    pub(crate) fn write(
        &self,
        write: impl FnOnce() -> io::Result<()>,
        sync: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if *failed {
            return Err(io::Error::other("an earlier write of the file failed"));
        }
        let outcome = write().and_then(|()| sync());
        *failed = outcome.is_err();
        outcome
    }
}

impl RealFile {
    /// The direct file, if these bytes may go to it.
    fn direct_for(&self, offset: u64, bytes: &[u8]) -> Option<&File> {
        let aligned = offset.is_multiple_of(FRAME_ALIGNMENT as u64)
            && bytes.len().is_multiple_of(FRAME_ALIGNMENT)
            && bytes.as_ptr().align_offset(FRAME_ALIGNMENT) == 0;
        if !aligned {
            return None;
        }
        self.direct.get_or_init(|| open_direct(&self.file)).as_ref()
    }
}

/// Opens a file once more for direct, durable writes.
fn open_direct(file: &File) -> Option<File> {
    // The file may have been renamed since it was opened, so it is named by its descriptor.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().write(true).custom_flags(libc::O_DIRECT | libc::O_DSYNC).open(path).ok()
}

impl StorageFile for RealFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if let Some(direct) = self.direct_for(offset, bytes) {
            match direct.write_all_at(bytes, offset) {
                // The device wants larger blocks.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                outcome => return outcome,
            }
        }
        self.cached.write(|| self.write_at(offset, bytes), || self.sync_data())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_length(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }
}

/// The lock lives as long as the open file.
#[derive(Debug)]
struct RealLock(#[allow(dead_code, reason = "held for its lock, never read")] File);

impl LockGuard for RealLock {}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};
    use std::time::Duration;

    use super::*;

    /// A file of whose unsynced writes one has gone wrong: the kernel tells one sync of it, the first.
    #[test]
    fn the_error_of_a_write_through_the_page_cache_reaches_the_thread_that_wrote() {
        let (file, is_bad) = (InTurn::default(), Mutex::new(false));
        let sync = || match std::mem::take(&mut *is_bad.lock().unwrap()) {
            true => Err(io::Error::from_raw_os_error(libc::EIO)),
            false => Ok(()),
        };
        let (wrote, has_written) = mpsc::channel();
        let (synced, has_synced) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let (file, is_bad, sync) = (&file, &is_bad, &sync);
            let bad = scope.spawn(move || {
                let write = || {
                    *is_bad.lock().unwrap() = true;
                    wrote.send(()).unwrap();
                    // The other thread has its chance to sync first.
                    let _ = has_synced.recv_timeout(Duration::from_millis(200));
                    Ok(())
                };
                file.write(write, sync)
            });
            let good = scope.spawn(move || {
                has_written.recv().unwrap();
                let outcome = file.write(|| Ok(()), sync);
                let _ = synced.send(());
                outcome
            });
            assert_eq!(bad.join().unwrap().unwrap_err().raw_os_error(), Some(libc::EIO));
            assert!(good.join().unwrap().is_err(), "nothing counts behind a failed write");
        });
    }
}
