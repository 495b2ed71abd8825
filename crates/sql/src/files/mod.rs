//! Files on the server that statements read and write: LOAD DATA INFILE, SELECT ... INTO OUTFILE and INTO DUMPFILE.
//!
//! `secure_file_priv` says where they may lie: NULL nowhere, a directory in it and below, an empty text anywhere. A name is
//! followed to where it leads before it is compared, so links do not lead out of the directory. Files are read and written on
//! threads of their own, a piece at a time, so that no other session waits for a disk.

mod out_format;
mod write;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use shoal_types::{Error, ErrorCode, Result};

use crate::account::{self, Privileges};
use crate::session::Session;
pub use write::FileWriter;

/// What is read or written at once.
const PIECE_BYTES: usize = 256 << 10;

/// Where the file of a statement may be.
///
/// # Errors
/// 1045: without the privilege FILE; 1290: `secure_file_priv` forbids it.
fn permitted(session: &Session) -> Result<Option<PathBuf>> {
    if !account::has_global(session, Privileges::FILE) {
        let (user, host) = (&session.state.user, &session.state.host);
        let message = format!("Access denied for user '{user}'@'{host}' (using password: YES)");
        return Err(Error::new(ErrorCode::AccessDenied, message));
    }
    match session.server.global_text("secure_file_priv").as_str() {
        "NULL" => Err(forbidden()),
        "" => Ok(None),
        directory => Ok(Some(std::fs::canonicalize(directory).map_err(|_| forbidden())?)),
    }
}

fn forbidden() -> Error {
    let message =
        "The MySQL server is running with the --secure-file-priv option so it cannot execute this statement";
    Error::new(ErrorCode::OptionPreventsStatement, message)
}

/// The path that a statement gives; relative ones begin at the data directory. Errors: 1290, for what no file is called.
fn given(session: &Session, path: &[u8]) -> Result<PathBuf> {
    let text = std::str::from_utf8(path).map_err(|_| forbidden())?;
    if text.is_empty() || text.contains('\0') {
        return Err(forbidden());
    }
    let base = session.server.listening().map(|(_, data_dir)| PathBuf::from(data_dir)).unwrap_or_default();
    Ok(base.join(text))
}

/// A file that is there.
///
/// # Errors
/// 1045, 1290; 13: it cannot be opened; 1085: it is no file.
pub async fn open_to_read(session: &Session, path: &[u8]) -> Result<FileReader> {
    let directory = permitted(session)?;
    let path = given(session, path)?;
    let opening = move || {
        let found = match std::fs::canonicalize(&path) {
            Ok(found) => found,
            // Whether there is such a file elsewhere is not told.
            Err(_) if directory.as_ref().is_some_and(|directory| !path.starts_with(directory)) => {
                return Err(forbidden());
            }
            Err(error) => return Err(failed(ErrorCode::CantGetStat, "Can't get stat of", &path, &error)),
        };
        check_within(directory.as_deref(), &found)?;
        let failed = |error: io::Error| failed(ErrorCode::CantGetStat, "Can't get stat of", &path, &error);
        let kind = std::fs::metadata(&found).map_err(failed)?.file_type();
        if !kind.is_file() || kind.is_fifo() {
            let message =
                format!("The file '{}' must be in the database directory or be readable by all", path.display());
            return Err(Error::new(ErrorCode::TextFileNotReadable, message));
        }
        File::open(&found).map_err(failed)
    };
    Ok(FileReader { file: Some(on_own_thread(opening).await?) })
}

fn check_within(directory: Option<&Path>, path: &Path) -> Result<()> {
    match directory {
        Some(directory) if !path.starts_with(directory) => Err(forbidden()),
        _ => Ok(()),
    }
}

/// An error of the system, in MySQL's words.
fn failed(code: ErrorCode, what: &str, path: &Path, error: &io::Error) -> Error {
    let number = error.raw_os_error().unwrap_or(0);
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    Error::new(code, format!("{what} '{}' (OS errno {number} - {text})", path.display()))
}

async fn on_own_thread<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Error::unknown("the thread for files has ended"))?
}

/// A file that is read from its beginning to its end.
pub struct FileReader {
    /// On its way while a piece is read.
    file: Option<File>,
}

impl FileReader {
    /// The next piece; `None`: its end.
    ///
    /// # Errors
    /// 1024: it cannot be read.
    pub async fn next_piece(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(mut file) = self.file.take() else { return Ok(None) };
        let reading = move || {
            let mut piece = vec![0; PIECE_BYTES];
            let count = loop {
                match file.read(&mut piece) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    outcome => break outcome,
                }
            };
            let count = count
                .map_err(|error| Error::new(ErrorCode::ErrorOnRead, format!("Error reading file: {error}")))?;
            piece.truncate(count);
            Ok((file, piece))
        };
        let (file, piece) = on_own_thread(reading).await?;
        self.file = Some(file);
        Ok(if piece.is_empty() { None } else { Some(piece) })
    }
}
