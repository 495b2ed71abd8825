//! What can be wrong with a statement's text, and where.

use std::fmt;

/// Bytes of the statement quoted in an error.
pub const NEAR_BYTES_MAX: usize = 80;

/// What kind of text has been refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// The grammar does not go on with what stands at `offset`.
    Syntax,
    /// Nothing but white space, comments and semicolons.
    EmptyQuery,
    /// More nesting than the parser's bounded stack allows.
    TooNested,
    /// A name that is not valid UTF-8.
    InvalidName,
}

/// Why a text is no statement, and where that was noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Decides the error number and SQLSTATE.
    pub kind: ParseErrorKind,
    /// Byte offset of the first token that does not fit.
    pub offset: usize,
    /// Line of that token, counted from 1.
    pub line: u32,
    /// The statement from `offset`, cut to `NEAR_BYTES_MAX` bytes at a character's end.
    pub near: Vec<u8>,
}

impl ParseError {
    /// At a byte offset of the source; one past its end is the end.
    pub fn new(kind: ParseErrorKind, source: &[u8], offset: usize) -> ParseError {
        let offset = offset.min(source.len());
        let newlines = memchr::memchr_iter(b'\n', &source[..offset]).count();
        let rest = &source[offset..];
        let mut end = rest.len().min(NEAR_BYTES_MAX);
        // Only a cut in the middle of a UTF-8 character moves the end; other bytes stay as they are.
        while end < rest.len() && end + 4 > NEAR_BYTES_MAX && end > 0 && is_continuation(rest[end]) {
            end -= 1;
        }
        ParseError {
            kind,
            offset,
            line: u32::try_from(newlines + 1).unwrap_or(u32::MAX),
            near: rest[..end].to_vec(),
        }
    }

    /// MySQL's error number.
    pub fn errno(&self) -> u16 {
        match self.kind {
            ParseErrorKind::Syntax => 1064,
            ParseErrorKind::EmptyQuery => 1065,
            ParseErrorKind::TooNested => 1436,
            ParseErrorKind::InvalidName => 1300,
        }
    }

    /// Five characters: 42000 for what the grammar refuses.
    pub fn sqlstate(&self) -> &'static str {
        match self.kind {
            ParseErrorKind::Syntax | ParseErrorKind::EmptyQuery => "42000",
            ParseErrorKind::TooNested | ParseErrorKind::InvalidName => "HY000",
        }
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near = String::from_utf8_lossy(&self.near);
        match self.kind {
            ParseErrorKind::Syntax => write!(
                formatter,
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
                 for the right syntax to use near '{near}' at line {}",
                self.line
            ),
            ParseErrorKind::EmptyQuery => formatter.write_str("Query was empty"),
            ParseErrorKind::TooNested => write!(
                formatter,
                "The statement is nested too deeply at line {} near '{near}'; split it or flatten its parentheses",
                self.line
            ),
            ParseErrorKind::InvalidName => {
                write!(formatter, "Invalid utf8mb4 character string: '{near}'")
            }
        }
    }
}

impl std::error::Error for ParseError {}
