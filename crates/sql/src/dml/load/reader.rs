//! The text of LOAD DATA as rows of fields, read piece by piece.
//!
//! Bytes are pushed in as they arrive and rows come out as they are complete; only the row being read is kept, so memory is bounded by the
//! longest row. Everything works on bytes: separators are ASCII or whole UTF-8 characters, which never begin inside another
//! character.

use shoal_parser::ast::{FieldFormat, LineFormat};
use shoal_types::{Error, ErrorCode, Result};

/// Separators and quotes.
#[derive(Clone, Debug)]
pub struct Format {
    field_end: Vec<u8>,
    enclosure: Option<u8>,
    escape: Option<u8>,
    line_start: Vec<u8>,
    line_end: Vec<u8>,
}

impl Format {
    /// The format of the FIELDS and LINES clauses. Errors: 1083 for quotes that are no single byte; 1235 for rows of fixed size.
    pub fn of(fields: &FieldFormat, lines: &LineFormat) -> Result<Format> {
        let or_default = |text: &Option<Vec<u8>>, default: &[u8]| text.clone().unwrap_or_else(|| default.to_vec());
        let format = Format {
            field_end: or_default(&fields.terminated_by, b"\t"),
            enclosure: single(fields.enclosed_by.as_deref().unwrap_or(b""))?,
            escape: single(fields.escaped_by.as_deref().unwrap_or(b"\\"))?,
            line_start: or_default(&lines.starting_by, b""),
            line_end: or_default(&lines.terminated_by, b"\n"),
        };
        if format.field_end.is_empty() {
            return Err(Error::unsupported("LOAD DATA of rows of fixed size"));
        }
        if format.line_end.is_empty() {
            return Err(Error::unsupported("LOAD DATA without line terminators"));
        }
        Ok(format)
    }

    /// Bytes that must be there to tell what comes next.
    fn look_ahead(&self) -> usize {
        1 + self.field_end.len().max(self.line_end.len()).max(self.line_start.len()).max(1)
    }
}

fn single(text: &[u8]) -> Result<Option<u8>> {
    match text {
        [] => Ok(None),
        [byte] => Ok(Some(*byte)),
        _ => {
            let message = "Field separator argument is not what is expected; check the manual";
            Err(Error::new(ErrorCode::WrongFieldTerminators, message))
        }
    }
}

/// One field: its bytes, without quotes and escapes, or NULL.
pub type Field = Option<Vec<u8>>;

/// Where in a row the next byte lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before LINES STARTING BY.
    LineStart,
    FieldStart,
    Plain,
    Enclosed,
}

/// Reads rows out of pieces of text.
pub struct RowReader {
    format: Format,
    buffer: Vec<u8>,
    /// Everything before it has been read.
    at: usize,
    ended: bool,
    lines_to_skip: u64,
    place: Place,
    field: Vec<u8>,
    /// `\N` was met in the field.
    null_met: bool,
    was_enclosed: bool,
    row: Vec<Field>,
    row_bytes: usize,
    row_bytes_max: usize,
}

/// Read bytes that are kept in front of the buffer before they are moved out.
const COMPACT_BYTES: usize = 64 << 10;

impl RowReader {
    pub fn new(format: Format, lines_to_skip: u64, row_bytes_max: usize) -> RowReader {
        RowReader {
            format,
            buffer: Vec::new(),
            at: 0,
            ended: false,
            lines_to_skip,
            place: Place::LineStart,
            field: Vec::new(),
            null_met: false,
            was_enclosed: false,
            row: Vec::new(),
            row_bytes: 0,
            row_bytes_max,
        }
    }

    /// Adds a piece of the text.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.at >= COMPACT_BYTES || self.at == self.buffer.len() {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// No more pieces follow.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The next complete row; `None`: the pieces so far have no other. Errors: 1153, a row is too long.
    pub fn next_row(&mut self) -> Result<Option<Vec<Field>>> {
        let look_ahead = self.format.look_ahead();
        loop {
            let left = self.buffer.len() - self.at;
            if left < look_ahead && !self.ended {
                return Ok(None);
            }
            if self.lines_to_skip > 0 {
                if left == 0 {
                    return Ok(None);
                }
                self.skip_line_byte();
                continue;
            }
            let complete = match self.place {
                Place::LineStart if left == 0 => return Ok(None),
                Place::LineStart => {
                    self.find_line_start();
                    false
                }
                Place::FieldStart => {
                    self.start_field();
                    false
                }
                Place::Plain => self.read_plain(),
                Place::Enclosed => self.read_enclosed(),
            };
            if complete {
                self.place = Place::LineStart;
                self.row_bytes = 0;
                return Ok(Some(std::mem::take(&mut self.row)));
            }
            if self.row_bytes + self.field.len() > self.row_bytes_max {
                let message = "Got a packet bigger than 'max_allowed_packet' bytes";
                return Err(Error::new(ErrorCode::NetPacketTooLarge, message));
            }
        }
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    fn skip_line_byte(&mut self) {
        if self.rest().starts_with(&self.format.line_end) {
            self.at += self.format.line_end.len();
            self.lines_to_skip -= 1;
        } else {
            self.at += 1;
        }
    }

    /// What stands before LINES STARTING BY is no part of any row.
    fn find_line_start(&mut self) {
        if self.rest().starts_with(&self.format.line_start) {
            self.at += self.format.line_start.len();
            self.place = Place::FieldStart;
        } else {
            self.at += 1;
        }
    }

    fn start_field(&mut self) {
        let first = self.rest().first().copied();
        let enclosed = first.is_some() && first == self.format.enclosure;
        self.at += usize::from(enclosed);
        self.was_enclosed = enclosed;
        self.place = if enclosed { Place::Enclosed } else { Place::Plain };
    }

    /// Reads on outside quotes. True: the row is complete.
    fn read_plain(&mut self) -> bool {
        let format = &self.format;
        let rest = &self.buffer[self.at..];
        let Some(&first) = rest.first() else {
            self.finish_field();
            return true;
        };
        if self.escape_stands_here() {
            self.read_escape();
            return false;
        }
        if rest.starts_with(&format.line_end) {
            self.at += format.line_end.len();
            self.finish_field();
            return true;
        }
        if rest.starts_with(&format.field_end) {
            self.at += format.field_end.len();
            self.finish_field();
            self.place = Place::FieldStart;
            return false;
        }
        let ordinary = |byte: &u8| {
            *byte != format.field_end[0] && *byte != format.line_end[0] && Some(*byte) != format.escape
        };
        self.take_run(first, ordinary_run(rest, ordinary));
        false
    }

    /// Reads on inside quotes. True: the text ended there, and with it the row.
    fn read_enclosed(&mut self) -> bool {
        let format = &self.format;
        let rest = &self.buffer[self.at..];
        let Some(&first) = rest.first() else {
            // The quote was never closed: it belongs to the field.
            self.field.insert(0, format.enclosure.unwrap_or(b'"'));
            self.was_enclosed = false;
            self.finish_field();
            return true;
        };
        if self.escape_stands_here() {
            self.read_escape();
            return false;
        }
        if Some(first) == format.enclosure {
            let behind = &rest[1..];
            if behind.first() == Some(&first) {
                self.field.push(first);
                self.at += 2;
            } else if behind.is_empty()
                || behind.starts_with(&format.line_end)
                || behind.starts_with(&format.field_end)
            {
                self.at += 1;
                self.place = Place::Plain;
            } else {
                self.field.push(first);
                self.at += 1;
            }
            return false;
        }
        let ordinary = |byte: &u8| Some(*byte) != format.enclosure && Some(*byte) != format.escape;
        self.take_run(first, ordinary_run(rest, ordinary));
        false
    }

    /// Takes `length` ordinary bytes, or the first byte if it only looked special.
    fn take_run(&mut self, first: u8, length: usize) {
        if length == 0 {
            self.field.push(first);
            self.at += 1;
            return;
        }
        let end = self.at + length;
        self.field.extend_from_slice(&self.buffer[self.at..end]);
        self.at = end;
    }

    /// An escape that is also the quote escapes only itself.
    fn escape_stands_here(&self) -> bool {
        let rest = self.rest();
        let Some(escape) = self.format.escape else { return false };
        rest.first() == Some(&escape)
            && (self.format.enclosure != Some(escape) || self.quote_escapes(rest, escape))
    }

    fn quote_escapes(&self, rest: &[u8], escape: u8) -> bool {
        self.place == Place::Plain && rest.get(1) == Some(&escape)
    }

    fn read_escape(&mut self) {
        let rest = self.rest();
        let Some(&escaped) = rest.get(1) else {
            // The text ends in an escape: it stands for itself.
            let escape = rest[0];
            self.field.push(escape);
            self.at += 1;
            return;
        };
        let byte = match escaped {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 0x08,
            b'0' => 0,
            b'Z' => 0x1A,
            b'N' => {
                self.null_met = true;
                b'N'
            }
            other => other,
        };
        self.field.push(byte);
        self.at += 2;
    }

    fn finish_field(&mut self) {
        let bytes = std::mem::take(&mut self.field);
        let word_null = self.format.enclosure.is_some() && !self.was_enclosed && bytes == b"NULL";
        let is_null = (self.null_met && bytes.len() == 1) || word_null;
        self.row_bytes += bytes.len();
        self.row.push(if is_null { None } else { Some(bytes) });
        self.null_met = false;
        self.was_enclosed = false;
    }
}

/// How many bytes at the start have no meaning of their own.
fn ordinary_run(bytes: &[u8], ordinary: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().position(|byte| !ordinary(byte)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests;
