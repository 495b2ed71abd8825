//! One log's file: written in whole entries, opened again when it was deleted, tried again when it cannot be written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::entry::moment;

/// Statements contain data: others than the owner's group read no log.
const MODE: u32 = 0o640;
/// How soon a file that could not be opened or written is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// See the module's head; messages about it are entries of the error log.
pub struct LogFile {
    /// What messages call it.
    title: &'static str,
    path: PathBuf,
    header: String,
    file: Option<File>,
    /// Set while it cannot be written: when to try again.
    fails_until: Option<Instant>,
    /// Put aside when it has so many bytes; 0: never.
    rotate_at_bytes: u64,
}

impl LogFile {
    /// Begins to write at the end of the file, which is made if there is none.
    ///
    /// # Errors
    /// It cannot be opened or made.
    pub fn open(title: &'static str, path: &Path, header: String) -> io::Result<LogFile> {
        let mut log = LogFile::unopened(title, path, header);
        log.file = Some(log.open_file()?);
        Ok(log)
    }

    /// A file that is opened when it is first written.
    pub fn unopened(title: &'static str, path: &Path, header: String) -> LogFile {
        LogFile { title, path: path.to_owned(), header, file: None, fails_until: None, rotate_at_bytes: 0 }
    }

    /// The file is put aside, with the time in its name, when it has grown to so many bytes; 0: never.
    pub fn rotate_at(&mut self, bytes: u64) {
        self.rotate_at_bytes = bytes;
    }

    /// FLUSH LOGS: the name may lead to another file now.
    pub fn reopen(&mut self) {
        self.file = None;
        self.fails_until = None;
        self.append(&[]);
    }

    /// Appends whole entries. `false`: they are lost, and the error log says why, once until it works again.
    pub fn append(&mut self, entries: &[u8]) -> bool {
        if self.fails_until.is_some_and(|until| Instant::now() < until) {
            return false;
        }
        match self.try_append(entries) {
            Ok(()) => {
                if self.fails_until.take().is_some() {
                    tracing::warn!("{}: '{}' is written again", self.title, self.path.display());
                }
                true
            }
            Err(error) => {
                if self.fails_until.is_none() {
                    let (title, path) = (self.title, self.path.display());
                    tracing::warn!(
                        "{title}: cannot write '{path}': {error}; its entries are not there until that is possible again, \
                         statements are not affected"
                    );
                }
                self.file = None;
                self.fails_until = Some(Instant::now() + RETRY_AFTER);
                false
            }
        }
    }

    fn try_append(&mut self, entries: &[u8]) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) if file.metadata()?.nlink() > 0 => file,
            Some(_) => {
                tracing::warn!("{}: '{}' was deleted; a new file is begun", self.title, self.path.display());
                self.open_file()?
            }
            None => self.open_file()?,
        };
        append_all(&mut file, entries)?;
        let is_full = self.rotate_at_bytes > 0 && file.metadata()?.len() >= self.rotate_at_bytes;
        self.file = if is_full && self.put_aside() { None } else { Some(file) };
        Ok(())
    }

    /// `false`: the file stays where it is, and the error log says why.
    fn put_aside(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
        let stamp: String = moment(now).chars().filter(|letter| letter.is_alphanumeric()).collect();
        let mut aside = self.path.clone().into_os_string();
        aside.push(format!(".{stamp}"));
        match std::fs::rename(&self.path, &aside) {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!("{}: cannot put '{}' aside: {error}; it grows on", self.title, self.path.display());
                false
            }
        }
    }

    fn open_file(&self) -> io::Result<File> {
        if std::fs::metadata(&self.path).is_ok_and(|found| found.file_type().is_fifo()) {
            return Err(io::Error::other("it is a pipe"));
        }
        let mut file = OpenOptions::new().append(true).create(true).mode(MODE).open(&self.path)?;
        append_all(&mut file, self.header.as_bytes())?;
        Ok(file)
    }
}

/// Writes all of it or, as far as the file system lets it, nothing.
fn append_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    let before = file.metadata()?.len();
    file.write_all(bytes).inspect_err(|_| {
        let _ = file.set_len(before);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_deleted_is_begun_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.log");
        let mut log = LogFile::open("log", &path, "head\n".to_owned()).unwrap();
        assert!(log.append(b"one\n"));
        std::fs::remove_file(&path).unwrap();
        assert!(log.append(b"two\n"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "head\ntwo\n");
    }

    #[test]
    fn a_renamed_file_is_written_until_it_is_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let (path, old) = (directory.path().join("x.log"), directory.path().join("x.1"));
        let mut log = LogFile::open("log", &path, "head\n".to_owned()).unwrap();
        std::fs::rename(&path, &old).unwrap();
        assert!(log.append(b"one\n"));
        log.reopen();
        assert!(log.append(b"two\n"));
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "head\none\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "head\ntwo\n");
    }

    #[test]
    fn a_file_that_is_full_is_put_aside_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.log");
        let mut log = LogFile::open("log", &path, String::new()).unwrap();
        log.rotate_at(10);
        (0..7).for_each(|number| assert!(log.append(format!("line {number}\n").as_bytes())));
        let mut files: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let texts: Vec<String> = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        assert_eq!(files.len(), 4, "{files:?}");
        assert_eq!(texts[0], "line 6\n", "the name without a time is the newest");
        assert_eq!(texts[1..].concat(), "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\n");
    }

    #[test]
    fn a_full_disk_loses_entries_and_nothing_else() {
        let mut log = LogFile::unopened("log", Path::new("/dev/full"), "head\n".to_owned());
        assert!(!log.append(b"one\n"));
        assert!(!log.append(b"two\n"));
        assert!(LogFile::open("log", Path::new("/nowhere/at/all"), String::new()).is_err());
    }
}
