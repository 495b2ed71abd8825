//! A file that a query's rows are written to. It must not be there before, and is gone again if the query fails.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use shoal_parser::ast::SelectInto;
use shoal_types::{Error, ErrorCode, Result, Value};

use super::out_format::{OutFormat, append_text};
use super::{PIECE_BYTES, check_within, failed, forbidden, given, on_own_thread, permitted};
use crate::execute::LocalFuture;
use crate::execute::consumer::{Flow, RowConsumer};
use crate::execute::memory::Held;
use crate::frontend::ResultColumn;
use crate::session::Session;

/// As MySQL makes them: for the owner and his group.
const FILE_MODE: u32 = 0o640;

/// How rows become bytes.
enum Style {
    Lines(OutFormat),
    /// One row, its values one behind the other.
    Dump,
}

/// Takes the rows of a query.
pub struct FileWriter<'a> {
    /// On its way while a piece is written.
    file: Option<File>,
    path: PathBuf,
    style: Style,
    columns: &'a [ResultColumn],
    buffer: Vec<u8>,
    held: Held,
    pub rows: u64,
    is_complete: bool,
}

impl<'a> FileWriter<'a> {
    /// # Errors
    /// 1045, 1290; 1086: it is there already; 1: it cannot be made; 1083.
    pub async fn create(
        session: &Session,
        into: &SelectInto,
        columns: &'a [ResultColumn],
    ) -> Result<FileWriter<'a>> {
        let (path, style) = match into {
            SelectInto::OutFile { path, charset, fields, lines } => {
                (path, Style::Lines(OutFormat::of(fields, lines, charset.as_deref())?))
            }
            SelectInto::DumpFile(path) => (path, Style::Dump),
            SelectInto::Variables(_) => return Err(Error::unsupported("INTO variables here")),
        };
        let directory = permitted(session)?;
        let path = given(session, path)?;
        let (file, path) = on_own_thread(move || create_in(directory.as_deref(), &path)).await?;
        let held = Held::new(&session.memory);
        Ok(FileWriter {
            file: Some(file),
            path,
            style,
            columns,
            buffer: Vec::new(),
            held,
            rows: 0,
            is_complete: false,
        })
    }

    /// All rows have come.
    ///
    /// # Errors
    /// 3, 1021: the rest cannot be written.
    pub async fn finish(mut self) -> Result<u64> {
        self.write_out().await?;
        self.is_complete = true;
        Ok(self.rows)
    }

    async fn write_out(&mut self) -> Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let (buffer, path) = (std::mem::take(&mut self.buffer), self.path.clone());
        let writing = move || match file.write_all(&buffer) {
            Ok(()) => Ok((file, buffer)),
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                let message = format!("Disk full ({}); nothing was written", path.display());
                Err(Error::new(ErrorCode::DiskFull, message))
            }
            Err(error) => Err(failed(ErrorCode::ErrorWritingFile, "Error writing file", &path, &error)),
        };
        let (file, mut buffer) = on_own_thread(writing).await?;
        buffer.clear();
        buffer.shrink_to(2 * PIECE_BYTES);
        (self.file, self.buffer) = (Some(file), buffer);
        self.held.shrink_to(0);
        Ok(())
    }
}

/// Makes the file; the directory in which it will lie is followed to where it is.
fn create_in(directory: Option<&Path>, path: &Path) -> Result<(File, PathBuf)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(forbidden()) };
    let parent = match fs::canonicalize(parent) {
        Ok(parent) => parent,
        Err(_) if directory.is_some() => return Err(forbidden()),
        Err(error) => return Err(failed(ErrorCode::CantCreateFile, "Can't create/write to file", path, &error)),
    };
    check_within(directory, &parent)?;
    let path = parent.join(name);
    // A name that is there is not followed, whatever it is.
    match OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path) {
        Ok(file) => Ok((file, path)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::new(ErrorCode::FileExists, format!("File '{}' already exists", path.display())))
        }
        Err(error) => Err(failed(ErrorCode::CantCreateFile, "Can't create/write to file", &path, &error)),
    }
}

impl RowConsumer for FileWriter<'_> {
    fn push(&mut self, row: &[Value]) -> Result<Flow> {
        let before = self.buffer.len();
        match &self.style {
            Style::Lines(format) => {
                format.append_row(row, self.columns.iter().map(|column| &column.sql_type), &mut self.buffer);
            }
            Style::Dump if self.rows > 0 => {
                return Err(Error::new(ErrorCode::TooManyRows, "Result consisted of more than one row"));
            }
            Style::Dump => {
                for (value, column) in row.iter().zip(self.columns) {
                    match value {
                        Value::Null => self.buffer.push(0),
                        value => append_text(value, &column.sql_type, None, &mut self.buffer),
                    }
                }
            }
        }
        self.rows += 1;
        let added = self.buffer.len() - before;
        if added > PIECE_BYTES {
            self.held.add(2 * added)?;
        }
        Ok(Flow::Continue)
    }

    fn wants_flush(&self) -> bool {
        self.buffer.len() >= PIECE_BYTES
    }

    fn flush(&mut self) -> LocalFuture<'_, Result<()>> {
        Box::pin(self.write_out())
    }
}

impl Drop for FileWriter<'_> {
    fn drop(&mut self) {
        if !self.is_complete {
            let _ = fs::remove_file(&self.path);
        }
    }
}
