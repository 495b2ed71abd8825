//! The reply to one command: where the SQL layer's results become packets.

use std::future::poll_fn;
use std::io;
use std::task::{Poll, ready};

use shoal_sql::frontend::{ResultColumn, ResultSink, RowFormat, Summary};
use shoal_types::row::RowRef;
use shoal_types::{Collation, Error, ErrorCode, Result, TimeZone, Value};

use super::outcome::{SessionStatus, status_flags, write_end_of_rows, write_eof, write_ok};
use super::{ColumnEncoder, binary, text, write_definition};
use crate::constants::{Capabilities, status};
use crate::packet::{PacketReader, PacketWriter, append_length};
use crate::refusal::{Refusal, write_error};
use crate::stream::Stream;
use crate::worker::{Registration, Worker};

/// A client that takes or sends nothing for this long in the middle of a result is given up (MySQL's
/// net_write_timeout).
pub const NET_TIMEOUT_S: u64 = 60;
/// The first byte of a request for a local file.
const LOCAL_FILE_REQUEST: u8 = 0xfb;

/// What the command expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Definitions, then rows.
    Rows(RowFormat),
    /// COM_STMT_EXECUTE that opens a cursor: definitions now, rows by COM_STMT_FETCH.
    Cursor,
    /// COM_STMT_FETCH of this many rows: no definitions.
    Fetch(u32),
    /// COM_FIELD_LIST: definitions with defaults, without their number.
    FieldList,
}

/// Where the current result stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing of it was written.
    Start,
    /// The definitions are written; `end_is_due` if the packet after them is not, because a cursor may follow.
    Columns { end_is_due: bool },
}

/// How a statement ended before its local file was read to the end; told to the client after the file.
#[derive(Debug)]
enum Deferred {
    Finish(Summary),
    Error(Error),
}

#[derive(Debug, Default)]
struct LocalFile {
    reader: PacketReader,
    ended: bool,
    deferred: Option<Deferred>,
}

/// The parts of a connection that a reply borrows.
pub struct ReplyParts<'a> {
    pub stream: &'a Stream,
    pub output: &'a mut PacketWriter,
    pub encoders: &'a mut Vec<ColumnEncoder>,
    pub registration: &'a Registration,
    pub capabilities: Capabilities,
    pub session_status: SessionStatus,
    pub result_collation: Option<Collation>,
    pub packet_size_max: usize,
}

pub struct Reply<'a> {
    parts: ReplyParts<'a>,
    shape: Shape,
    phase: Phase,
    rows_sent: u32,
    complete: bool,
    broken: bool,
    local_file: Option<Box<LocalFile>>,
}

impl<'a> Reply<'a> {
    pub fn new(parts: ReplyParts<'a>, shape: Shape) -> Reply<'a> {
        Reply { parts, shape, phase: Phase::Start, rows_sent: 0, complete: false, broken: false, local_file: None }
    }

    /// Brings the reply to its end after the statement has returned: the rest of a local file is read and thrown away,
    /// and a statement that did not say how it ended is reported. Returns the bytes that the client sent after the file,
    /// if any. Errors: the connection cannot go on.
    pub async fn settle(mut self) -> Result<Option<PacketReader>> {
        if self.broken {
            return Err(connection_lost());
        }
        if self.local_file.as_ref().is_some_and(|file| !file.ended) {
            while self.local_file_chunk().await?.is_some() {}
        }
        let deferred = self.local_file.as_mut().and_then(|file| file.deferred.take());
        match deferred {
            Some(Deferred::Finish(summary)) => self.finish(&summary)?,
            Some(Deferred::Error(error)) => self.error(&error),
            None => {}
        }
        if !self.complete {
            Refusal::no_outcome().write(self.parts.capabilities, self.parts.output);
        }
        Ok(self.local_file.map(|file| file.reader).filter(|reader| !reader.is_empty()))
    }

    /// Reports an error that ends the connection, unless the statement's end was told already.
    pub fn fail(&mut self, error: &Error) {
        if !self.complete {
            self.error(error);
        }
    }

    fn format(&self) -> RowFormat {
        match self.shape {
            Shape::Rows(format) => format,
            Shape::Cursor | Shape::Fetch(_) => RowFormat::Binary,
            Shape::FieldList => RowFormat::Text,
        }
    }

    /// Writes the end of the definitions that was held back, when rows follow in spite of the cursor.
    fn before_row(&mut self) {
        self.rows_sent = self.rows_sent.wrapping_add(1);
        if self.phase == (Phase::Columns { end_is_due: true }) {
            self.phase = Phase::Columns { end_is_due: false };
            self.write_end_of_definitions();
        }
    }

    fn write_end_of_definitions(&mut self) {
        if !self.parts.capabilities.has(Capabilities::DEPRECATE_EOF) {
            write_eof(0, self.parts.session_status.0, self.parts.output);
        }
    }

    fn defers(&self) -> bool {
        self.local_file.as_ref().is_some_and(|file| !file.ended)
    }

    fn lost(&mut self, _: io::Error) -> Error {
        self.broken = true;
        connection_lost()
    }
}

fn connection_lost() -> Error {
    Error::new(ErrorCode::AbortingConnection, "Aborted connection: the client is gone")
}

impl ResultSink for Reply<'_> {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<()> {
        let collation = self.parts.result_collation;
        self.parts.encoders.clear();
        let encoders = columns.iter().map(|column| ColumnEncoder::new(&column.sql_type, collation));
        self.parts.encoders.extend(encoders);
        self.phase = Phase::Columns { end_is_due: self.shape == Shape::Cursor };
        if matches!(self.shape, Shape::Fetch(_)) {
            return Ok(());
        }
        if self.shape != Shape::FieldList {
            append_length(self.parts.output.begin(), columns.len() as u64);
            self.parts.output.end();
        }
        for column in columns {
            write_definition(column, collation, self.shape == Shape::FieldList, self.parts.output);
        }
        if matches!(self.shape, Shape::Rows(_)) {
            self.write_end_of_definitions();
        }
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Result<()> {
        self.before_row();
        let format = self.format();
        let out = self.parts.output.begin();
        let columns = self.parts.encoders.iter();
        match format {
            RowFormat::Text => {
                for (value, column) in values.iter().zip(columns) {
                    text::append_value(value, column, out);
                }
            }
            RowFormat::Binary => {
                let bitmap = binary::append_header(values.len(), out);
                for (position, (value, column)) in values.iter().zip(columns).enumerate() {
                    if value.is_null() {
                        binary::mark_null(bitmap, position, out);
                    } else if let Err(error) = binary::append_value(value, column, out) {
                        self.parts.output.abandon();
                        return Err(error);
                    }
                }
            }
        }
        self.parts.output.end();
        Ok(())
    }

    fn stored_row(&mut self, row: RowRef<'_>, projection: &[usize], zone: &TimeZone) -> Result<()> {
        self.before_row();
        let format = self.format();
        let out = self.parts.output.begin();
        let columns = projection.iter().zip(self.parts.encoders.iter());
        match format {
            RowFormat::Text => {
                for (position, column) in columns {
                    text::append_stored(&row, *position, column, zone, out);
                }
            }
            RowFormat::Binary => {
                let bitmap = binary::append_header(projection.len(), out);
                for (place, (position, column)) in columns.enumerate() {
                    if row.is_null(*position) {
                        binary::mark_null(bitmap, place, out);
                    } else if let Err(error) = binary::append_stored(&row, *position, column, zone, out) {
                        self.parts.output.abandon();
                        return Err(error);
                    }
                }
            }
        }
        self.parts.output.end();
        Ok(())
    }

    fn finish(&mut self, summary: &Summary) -> Result<()> {
        if self.defers() {
            if let Some(file) = &mut self.local_file {
                file.deferred = Some(Deferred::Finish(summary.clone()));
            }
            self.complete = true;
            return Ok(());
        }
        let parts = &mut self.parts;
        parts.session_status = SessionStatus::of(summary);
        let flags = status_flags(summary);
        match (self.shape, self.phase) {
            (Shape::Fetch(wanted), _) => {
                let cursor = if self.rows_sent < wanted { status::LAST_ROW_SENT } else { status::CURSOR_EXISTS };
                write_end_of_rows(summary, flags | cursor, parts.capabilities, parts.output);
            }
            (Shape::FieldList, _) => write_end_of_rows(summary, flags, parts.capabilities, parts.output),
            (_, Phase::Start) => write_ok(summary, parts.capabilities, parts.output),
            (_, Phase::Columns { end_is_due }) => {
                let cursor = if end_is_due { status::CURSOR_EXISTS } else { 0 };
                write_end_of_rows(summary, flags | cursor, parts.capabilities, parts.output);
            }
        }
        self.phase = Phase::Start;
        self.complete = !summary.more_results;
        Ok(())
    }

    fn error(&mut self, error: &Error) {
        self.complete = true;
        if self.defers() {
            if let Some(file) = &mut self.local_file {
                file.deferred = Some(Deferred::Error(error.clone()));
            }
            return;
        }
        let parts = &mut self.parts;
        write_error(error.errno(), error.sqlstate(), error.message(), parts.capabilities, parts.output);
    }

    fn buffered_bytes(&self) -> usize {
        self.parts.output.unsent().len()
    }

    async fn flush(&mut self) -> Result<()> {
        let registration = self.parts.registration;
        registration.set_deadline(NET_TIMEOUT_S);
        let flushed = flush(self.parts.stream, self.parts.output, registration.worker()).await;
        registration.clear_deadline();
        flushed.map_err(|error| self.lost(error))
    }

    async fn request_local_file(&mut self, name: &[u8]) -> Result<()> {
        if !self.parts.capabilities.has(Capabilities::LOCAL_FILES) {
            return Err(Error::new(
                ErrorCode::ClientLocalFilesDisabled,
                "Loading local data is disabled; this must be enabled on both the client and server sides",
            ));
        }
        let payload = self.parts.output.begin();
        payload.push(LOCAL_FILE_REQUEST);
        payload.extend_from_slice(name);
        self.parts.output.end();
        self.flush().await?;
        let mut file = Box::<LocalFile>::default();
        file.reader.sequence = self.parts.output.sequence;
        file.reader.takes_any_sequence = self.parts.stream.is_compressed();
        self.local_file = Some(file);
        Ok(())
    }

    async fn local_file_chunk(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(file) = self.local_file.as_mut().filter(|file| !file.ended) else {
            return Ok(None);
        };
        let limit = self.parts.packet_size_max;
        loop {
            match file.reader.next(limit) {
                Ok(Some(range)) if range.is_empty() => {
                    file.ended = true;
                    self.parts.output.sequence = file.reader.sequence;
                    return Ok(None);
                }
                Ok(Some(range)) => return Ok(Some(file.reader.payload(range).to_vec())),
                Ok(None) => {}
                Err(error) => {
                    file.ended = true;
                    self.parts.output.sequence = file.reader.sequence.wrapping_add(1);
                    self.broken = true;
                    let refusal = Refusal::from(error);
                    return Err(Error::new(ErrorCode::NetReadError, refusal.message));
                }
            }
            let registration = self.parts.registration;
            registration.set_deadline(NET_TIMEOUT_S);
            let received = receive(self.parts.stream, &mut file.reader, registration.worker()).await;
            registration.clear_deadline();
            if let Err(error) = received {
                return Err(self.lost(error));
            }
        }
    }
}

/// Sends everything that waits in `output`.
pub async fn flush(stream: &Stream, output: &mut PacketWriter, worker: &Worker) -> io::Result<()> {
    poll_fn(|context| {
        while !output.unsent().is_empty() {
            let count = ready!(stream.poll_write(context, output.unsent()))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            worker.count_sent(count);
            output.sent(count);
        }
        stream.poll_flush(context)
    })
    .await
}

/// Receives what is there, at least a byte. Errors: the end of the stream is one.
pub async fn receive(stream: &Stream, reader: &mut PacketReader, worker: &Worker) -> io::Result<()> {
    let count = poll_fn(|context| stream.poll_read(context, reader.room())).await?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    worker.count_received(count);
    reader.received(count);
    Ok(())
}
