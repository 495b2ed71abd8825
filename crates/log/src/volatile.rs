//! Files in this process's memory, gone with it: for nodes that keep nothing, as native clients are.
//!
//! Every name leads to shared bytes. Nothing is ever durable, so syncing does nothing, and nobody else can hold a lock. A tree that
//! nobody will read back can forget what is written into its files as well: they have a head and a length, and read as zeros behind the head.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::file_system::{FileSystem, LockGuard, LockOutcome, OpenMode, StorageFile};

/// What forgetful files keep: the heads of the log's segments, which are read when it is opened.
const HEAD_BYTES: usize = 4096;

/// A directory tree without a disk.
#[derive(Clone, Debug, Default)]
pub struct VolatileFileSystem {
    files: Arc<Mutex<HashMap<PathBuf, VolatileFile>>>,
    forgets: bool,
}

impl VolatileFileSystem {
    /// One whose files take hardly any memory, because they forget what is written behind their heads.
    pub fn forgetful() -> VolatileFileSystem {
        VolatileFileSystem { files: Arc::default(), forgets: true }
    }
}

#[derive(Clone, Debug, Default)]
struct VolatileFile {
    contents: Arc<Mutex<Contents>>,
    forgets: bool,
}

#[derive(Debug, Default)]
struct Contents {
    /// Zeros follow, up to the file's length.
    bytes: Vec<u8>,
    length: usize,
}

#[derive(Debug)]
struct VolatileLock;

impl LockGuard for VolatileLock {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

/// A position in memory.
fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

impl FileSystem for VolatileFileSystem {
    fn create_directory(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let files = lock(&self.files);
        let inside = files.keys().filter(|path| path.parent() == Some(directory));
        Ok(inside.filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect())
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn StorageFile>> {
        let mut files = lock(&self.files);
        let file = match (mode, files.get(path)) {
            (OpenMode::Create, _) => {
                let file = VolatileFile { forgets: self.forgets, ..VolatileFile::default() };
                files.insert(path.to_owned(), file.clone());
                file
            }
            (_, Some(file)) => file.clone(),
            (_, None) => return Err(not_found()),
        };
        Ok(Box::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = lock(&self.files);
        let file = files.remove(from).ok_or_else(not_found)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        lock(&self.files).remove(path).map(drop).ok_or_else(not_found)
    }

    fn sync_directory(&self, _directory: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _path: &Path) -> io::Result<LockOutcome> {
        Ok(LockOutcome::Taken(Box::new(VolatileLock)))
    }
}

impl StorageFile for VolatileFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let contents = lock(&self.contents);
        let start = place(offset)?;
        let count = contents.length.saturating_sub(start).min(buffer.len());
        let kept = contents.bytes.get(start..).unwrap_or_default();
        let kept = &kept[..kept.len().min(count)];
        buffer[..kept.len()].copy_from_slice(kept);
        buffer[kept.len()..count].fill(0);
        Ok(count)
    }

    fn write_at(&self, offset: u64, written: &[u8]) -> io::Result<()> {
        let mut contents = lock(&self.contents);
        let start = place(offset)?;
        let end = start.checked_add(written.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        contents.length = contents.length.max(end);
        let kept_end = if self.forgets { end.min(HEAD_BYTES) } else { end };
        if start < kept_end {
            if contents.bytes.len() < kept_end {
                contents.bytes.resize(kept_end, 0);
            }
            contents.bytes[start..kept_end].copy_from_slice(&written[..kept_end - start]);
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(lock(&self.contents).length as u64)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let mut contents = lock(&self.contents);
        contents.length = place(length)?;
        let kept = contents.length.min(contents.bytes.len());
        contents.bytes.truncate(kept);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AppendClass, Log, LogBatch, LogHooks, LogOptions, RecordHeader};

    #[test]
    fn a_log_in_memory_takes_batches_and_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let file_system = Arc::new(VolatileFileSystem::default());
        let options = LogOptions { file_system: file_system.clone(), ..LogOptions::new(7) };
        let (log, _) = Log::open(directory.path(), options).unwrap().replay(LogHooks::none(), |_| {}).unwrap();
        let mut batch = LogBatch::new();
        batch.push(RecordHeader { group: 1, kind: 0, index: 1, term: 1 }, b"payload");
        let end = log.append(&batch, AppendClass::User).unwrap();
        log.wait_durable(end).unwrap();
        log.close().unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(!lock(&file_system.files).is_empty());
    }

    #[test]
    fn a_forgetful_file_has_a_head_and_a_length_and_a_log_works_in_it() {
        let file_system = Arc::new(VolatileFileSystem::forgetful());
        let file = file_system.open(Path::new("f"), OpenMode::Create).unwrap();
        let offset = HEAD_BYTES - 2;
        file.write_at(offset as u64, b"abcd").unwrap();
        let mut buffer = [9; 8];
        assert_eq!((file.read_at(offset as u64, &mut buffer).unwrap(), &buffer), (4, b"ab\0\0\x09\x09\x09\x09"));
        let options = LogOptions { file_system: file_system.clone(), ..LogOptions::new(7) };
        let (log, _) = Log::open(Path::new("/"), options).unwrap().replay(LogHooks::none(), |_| {}).unwrap();
        let payload = vec![1; 1 << 20];
        for index in 1..=200 {
            let mut batch = LogBatch::new();
            batch.push(RecordHeader { group: 1, kind: 0, index, term: 1 }, &payload);
            let end = log.append(&batch, AppendClass::User).unwrap();
            log.wait_durable(end).unwrap();
            log.set_low_water(end);
        }
        log.close().unwrap();
        let files = lock(&file_system.files);
        assert!(files.len() < 8, "files behind the low water go: {}", files.len());
        assert!(files.values().all(|file| lock(&file.contents).bytes.len() <= HEAD_BYTES));
    }

    #[test]
    fn a_file_reads_as_it_was_written_and_a_renamed_one_has_its_new_name_alone() {
        let file_system = VolatileFileSystem::default();
        let (old, new) = (Path::new("a/old"), Path::new("a/new"));
        let file = file_system.open(old, OpenMode::Create).unwrap();
        file.write_at(2, b"xyz").unwrap();
        file_system.rename(old, new).unwrap();
        assert!(file_system.open(old, OpenMode::Read).is_err());
        let mut buffer = [9; 8];
        assert_eq!(file_system.open(new, OpenMode::Read).unwrap().read_at(1, &mut buffer).unwrap(), 4);
        assert_eq!(&buffer[..4], b"\0xyz");
        assert_eq!(file_system.list(Path::new("a")).unwrap(), ["new"]);
    }
}
