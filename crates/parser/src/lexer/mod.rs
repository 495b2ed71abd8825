//! The lexer: bytes to tokens, one at a time, without allocation.
//!
//! It follows MySQL 8.4: comments of all three kinds, `/*!NNNNN .. */` included when the version is not beyond the server's, hints, names that start
//! with digits, names after a dot. It is `Copy`, so looking ahead is lexing on with a copy.
//!
//! It does not tell keywords from names; see `reserved`.

mod scan;
mod text;
mod token;

#[cfg(test)]
mod tests;

pub(crate) use text::{bit_bytes, hex_bytes, name_text, string_bytes, trim_marks};
pub(crate) use token::{Token, TokenKind};

use crate::ParserMode;

/// The server version that `/*!NNNNN */` comments are held against.
pub const SERVER_VERSION: u32 = 80400;

/// Version comments may be nested this deep.
const VERSION_COMMENT_DEPTH_MAX: u8 = 16;

const WORD: u8 = 1;
const DIGIT: u8 = 2;
const SPACE: u8 = 4;

/// Character classes: bytes of 0x80 and above belong to names.
static CLASS: [u8; 256] = character_classes();

const fn character_classes() -> [u8; 256] {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let value = byte as u8;
        if value.is_ascii_alphabetic() || value == b'_' || value == b'$' || value >= 0x80 {
            class[byte] = WORD;
        } else if value.is_ascii_digit() {
            class[byte] = WORD | DIGIT;
        } else if matches!(value, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C) {
            class[byte] = SPACE;
        }
        byte += 1;
    }
    class
}

#[inline]
fn is_word(byte: u8) -> bool {
    CLASS[byte as usize] & WORD != 0
}

#[inline]
fn is_digit(byte: u8) -> bool {
    CLASS[byte as usize] & DIGIT != 0
}

#[inline]
fn is_space(byte: u8) -> bool {
    CLASS[byte as usize] & SPACE != 0
}

#[derive(Clone, Copy)]
pub(crate) struct Lexer<'a> {
    source: &'a [u8],
    position: usize,
    mode: ParserMode,
    version_comment_depth: u8,
    /// The token before was a name, so a dot that touches it separates name parts.
    after_name: bool,
    /// The token before was such a dot, so a name may start with a digit.
    after_name_dot: bool,
    /// Where the last name or keyword starts.
    word_start: usize,
}

impl<'a> Lexer<'a> {
    /// A lexer over `source` from byte `position` on. Sources beyond 4 GiB are read up to that limit.
    pub(crate) fn new(source: &'a [u8], position: usize, mode: ParserMode) -> Lexer<'a> {
        let limit = source.len().min(u32::MAX as usize);
        Lexer {
            source: &source[..limit],
            position: position.min(limit),
            mode,
            version_comment_depth: 0,
            after_name: false,
            after_name_dot: false,
            word_start: 0,
        }
    }

    #[inline]
    fn byte(&self, position: usize) -> u8 {
        // A zero byte at the end stops every scan; a zero byte in the source is not part of any token either.
        self.source.get(position).copied().unwrap_or(0)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Token {
        let after_name = std::mem::take(&mut self.after_name);
        let after_name_dot = std::mem::take(&mut self.after_name_dot);
        let unspaced = self.position;
        if let Some(token) = self.skip_blanks(after_name) {
            return token;
        }
        let start = self.position;
        let first = self.byte(start);
        let touching = start == unspaced;
        if CLASS[first as usize] & (WORD | DIGIT) == WORD {
            return self.word(start, first);
        }
        match first {
            b'0'..=b'9' if after_name_dot && touching => self.plain_word(start),
            b'0'..=b'9' => self.number(start),
            b'.' => self.dot(start, after_name && touching),
            b'`' => self.quoted_name(start, b'`'),
            b'"' if self.mode.contains(ParserMode::ANSI_QUOTES) => self.quoted_name(start, b'"'),
            b'\'' | b'"' => self.string(start, start, first, TokenKind::String),
            b'@' => self.at(start),
            _ => self.operator(start, first),
        }
    }

    #[inline]
    fn token(&mut self, kind: TokenKind, start: usize, end: usize) -> Token {
        self.position = end;
        Token {
            kind,
            escaped: false,
            // `new` cut the source to what u32 can count.
            start: start as u32,
            end: end as u32,
        }
    }

    /// Skips white space and comments. Some: a hint, the end, or a broken comment.
    #[inline]
    fn skip_blanks(&mut self, after_name: bool) -> Option<Token> {
        loop {
            while is_space(self.byte(self.position)) {
                self.position += 1;
            }
            let position = self.position;
            match self.byte(position) {
                b'#' => self.skip_line(),
                b'-' if self.byte(position + 1) == b'-' && self.ends_dashes(position + 2) => {
                    self.skip_line();
                }
                b'/' if self.byte(position + 1) == b'*' => {
                    if let Some(token) = self.comment(position, after_name) {
                        return Some(token);
                    }
                }
                b'*' if self.version_comment_depth > 0 && self.byte(position + 1) == b'/' => {
                    self.version_comment_depth -= 1;
                    self.position = position + 2;
                }
                0 if position >= self.source.len() => {
                    let kind = if self.version_comment_depth > 0 { TokenKind::Invalid } else { TokenKind::End };
                    return Some(self.token(kind, position, position));
                }
                _ => return None,
            }
        }
    }

    /// `--` starts a comment only before white space, a control byte or the end.
    fn ends_dashes(&self, position: usize) -> bool {
        let byte = self.byte(position);
        byte.is_ascii_control() || byte == b' '
    }

    fn skip_line(&mut self) {
        let rest = &self.source[self.position..];
        self.position += memchr::memchr(b'\n', rest).map_or(rest.len(), |length| length + 1);
    }

    /// Handles `/*` at `start`. Some: a hint or an unterminated comment.
    fn comment(&mut self, start: usize, after_name: bool) -> Option<Token> {
        match self.byte(start + 2) {
            b'!' => return self.version_comment(start),
            b'+' if after_name && self.last_word_takes_hint() => {
                return Some(match self.comment_end(start + 3, false) {
                    Some(end) => self.token(TokenKind::Hint, start, end),
                    None => self.unterminated(start),
                });
            }
            _ => {}
        }
        match self.comment_end(start + 2, false) {
            Some(end) => {
                self.position = end;
                None
            }
            None => Some(self.unterminated(start)),
        }
    }

    fn version_comment(&mut self, start: usize) -> Option<Token> {
        let mut position = start + 3;
        let mut version = 0;
        let mut digits = 0;
        while digits < 6 && is_digit(self.byte(position)) {
            version = version * 10 + u32::from(self.byte(position) - b'0');
            position += 1;
            digits += 1;
        }
        let included = match digits {
            // Fewer than five digits are no version but the start of the text.
            0..=4 => {
                position = start + 3;
                true
            }
            _ => version <= SERVER_VERSION,
        };
        if included {
            if self.version_comment_depth == VERSION_COMMENT_DEPTH_MAX {
                return Some(self.unterminated(start));
            }
            self.version_comment_depth += 1;
            self.position = position;
            return None;
        }
        match self.comment_end(position, true) {
            Some(end) => {
                self.position = end;
                None
            }
            None => Some(self.unterminated(start)),
        }
    }

    /// The position behind the `*/` that ends a comment whose text starts at `position`; a skipped version comment may hold one plain comment
    /// inside another.
    fn comment_end(&self, mut position: usize, nested_allowed: bool) -> Option<usize> {
        let mut depth = 1;
        loop {
            let rest = self.source.get(position..)?;
            let found = position + memchr::memchr2(b'*', b'/', rest)?;
            let pair = (self.byte(found), self.byte(found + 1));
            position = match pair {
                (b'*', b'/') => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(found + 2);
                    }
                    found + 2
                }
                (b'/', b'*') if nested_allowed && depth == 1 => {
                    depth += 1;
                    found + 2
                }
                _ => found + 1,
            };
        }
    }

    fn unterminated(&mut self, start: usize) -> Token {
        let end = self.source.len();
        self.token(TokenKind::Invalid, start, end)
    }
}
