//! The statement digest: what two statements have in common when only their literals differ.
//!
//! One pass of the lexer writes the token stream into a buffer, each literal as its kind alone, and hashes the buffer (XXH3, 128 bits); the literals
//! come out in order. Nothing is allocated once the buffers have grown. The digest is the key of the plan cache: a statement whose
//! digest is known takes its plan from there, with its own literals in place of the first statement's.
//!
//! Invariant: two statements with equal digests parse into trees that differ in nothing but the values of the listed literals. So whatever
//! shapes a tree, a type or a result's column names stays in the hash as text: select lists (an unaliased item is named by its source), GROUP BY and
//! ORDER BY (positions), arguments of casts and of the functions whose result type follows a literal's value, JSON paths. Whatever literal
//! escapes these rules and is not an expression of its own in the tree is found by `parse_parameterised`, which then
//! says that the statement is not `rebindable`.
//!
//! The hash keeps the case of words: `select 1` and `SELECT 1` have different digests. It is not stored anywhere.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_128;

use crate::ParserMode;
use crate::lexer::{Lexer, Token, TokenKind, bit_bytes, hex_bytes, string_bytes, trim_marks};

#[cfg(test)]
mod tests;

/// A literal of the source by its place; `value` reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiteralToken {
    token: Token,
}

/// The value of a literal, borrowed from the source where it stands there as it is.
#[derive(Debug, Clone, PartialEq)]
pub enum LiteralText<'a> {
    /// Digits alone, of a number that fits.
    Integer(u64),
    /// Digits with an optional point; also integers beyond `u64`.
    Decimal(&'a str),
    /// The text of a number with an exponent.
    Float(&'a str),
    /// A string without its escapes; its introducer, if any, is part of the digest.
    String(Cow<'a, [u8]>),
    /// The bytes of `X'..'` or `0x..`.
    Hex(Vec<u8>),
    /// The bytes of `B'..'` or `0b..`.
    Bit(Vec<u8>),
}

impl LiteralToken {
    /// Byte offset of the literal in the source.
    pub fn start(&self) -> usize {
        self.token.start as usize
    }

    /// Byte offset behind the literal.
    pub fn end(&self) -> usize {
        self.token.end as usize
    }

    /// The value; `source` and `mode` must be those given to `digest`.
    #[inline]
    pub fn value<'a>(&self, source: &'a [u8], mode: ParserMode) -> LiteralText<'a> {
        let bytes = source.get(self.start()..self.end()).unwrap_or_default();
        match self.token.kind {
            TokenKind::String | TokenKind::NationalString => {
                let backslash_escapes = !mode.contains(ParserMode::NO_BACKSLASH_ESCAPES);
                LiteralText::String(string_bytes(source, &self.token, backslash_escapes))
            }
            TokenKind::Integer => match integer_value(bytes) {
                Some(value) => LiteralText::Integer(value),
                None => LiteralText::Decimal(ascii(bytes)),
            },
            TokenKind::Float => LiteralText::Float(ascii(bytes)),
            TokenKind::HexNumber | TokenKind::HexString => {
                LiteralText::Hex(hex_bytes(trim_marks(source, &self.token)))
            }
            TokenKind::BitNumber | TokenKind::BitString => {
                LiteralText::Bit(bit_bytes(trim_marks(source, &self.token)))
            }
            _ => LiteralText::Decimal(ascii(bytes)),
        }
    }
}

/// Number tokens are ASCII by construction.
fn ascii(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// The value of decimal digits; None beyond `u64`.
#[inline]
fn integer_value(digits: &[u8]) -> Option<u64> {
    if digits.len() < 20 {
        return Some(digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')));
    }
    ascii(digits).parse().ok()
}

/// What tells apart statements that need different plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    /// Of the normalised token stream and the SQL mode.
    pub hash: u128,
    /// A SELECT, INSERT, REPLACE, UPDATE or DELETE without `?` that lexes to its end and has no more than `LITERALS_MAX`
    /// literals: a bulk load is not worth keeping. If it has, `hash`, `end` and `next` are not told.
    pub cacheable: bool,
    /// Where the statement starts and ends (without the semicolon).
    pub start: usize,
    /// Byte offset behind the statement's last token.
    pub end: usize,
    /// Where the next statement starts, if there is one.
    pub next: Option<usize>,
}

/// A plan of more literals takes more memory than it saves time.
pub const LITERALS_MAX: usize = 1 << 16;

/// Computes digests; keep one per session so that its buffer is reused.
#[derive(Debug, Default)]
pub struct Digester {
    buffer: Vec<u8>,
}

/// No depth: the state is off.
const OFF: u32 = u32::MAX;

/// Marks source text in the buffer, beside the kinds of tokens.
const TEXT: u8 = 0xF0;

/// Functions within whose parentheses literals stay in the hash: their values decide types.
#[rustfmt::skip]
const TEXTUAL_CALLS: &[&[u8]] = &[
    b"CAST", b"CONVERT", b"ROUND", b"TRUNCATE", b"FORMAT", b"NOW", b"SYSDATE", b"CURTIME", b"UTC_TIME", b"UTC_TIMESTAMP",
    b"CURRENT_TIME", b"CURRENT_TIMESTAMP", b"LOCALTIME", b"LOCALTIMESTAMP", b"AGAINST", b"JSON_TABLE", b"JSON_VALUE",
    b"JSON_EXTRACT", b"WEIGHT_STRING", b"GET_FORMAT", b"TIMESTAMP", b"TIME",
];

/// The pass over one statement.
struct Pass<'s, 'b> {
    source: &'s [u8],
    buffer: &'b mut Vec<u8>,
    literals: &'b mut Vec<LiteralToken>,
    depth: u32,
    /// Where the raw text of a select list starts, and the depth of its SELECT.
    raw_start: usize,
    raw_depth: u32,
    /// The depth from which on literals stay text.
    textual_depth: u32,
    previous: Token,
    has_parameters: bool,
}

impl Digester {
    /// The digest of the first statement at or behind byte `start`. `literals` is overwritten with the statement's literals in order.
    pub fn digest(
        &mut self,
        sql: &[u8],
        start: usize,
        mode: ParserMode,
        literals: &mut Vec<LiteralToken>,
    ) -> Digest {
        literals.clear();
        self.buffer.clear();
        self.buffer.push(mode.bits());
        let mut lexer = Lexer::new(sql, start, mode);
        let mut token = lexer.next();
        while token.kind == TokenKind::Semicolon {
            token = lexer.next();
        }
        let first = token;
        let mut pass = Pass {
            source: sql,
            buffer: &mut self.buffer,
            literals,
            depth: 0,
            raw_start: 0,
            raw_depth: OFF,
            textual_depth: OFF,
            previous: first,
            has_parameters: false,
        };
        while !matches!(token.kind, TokenKind::End | TokenKind::Semicolon | TokenKind::Invalid) {
            pass.token(token);
            pass.previous = token;
            token = lexer.next();
            if pass.literals.len() > LITERALS_MAX {
                let start = first.start as usize;
                return Digest { hash: 0, cacheable: false, start, end: start, next: None };
            }
        }
        let end = if pass.previous.end > first.start { pass.previous.end } else { first.start } as usize;
        pass.flush_raw(end);
        let cacheable = !pass.has_parameters
            && token.kind != TokenKind::Invalid
            && first.kind == TokenKind::Word
            && is_cacheable_verb(&sql[first.start as usize..first.end as usize]);
        while token.kind == TokenKind::Semicolon {
            token = lexer.next();
        }
        Digest {
            hash: xxh3_128(&self.buffer),
            cacheable,
            start: first.start as usize,
            end,
            next: (token.kind != TokenKind::End).then_some(token.start as usize),
        }
    }
}

impl Pass<'_, '_> {
    #[inline]
    fn token(&mut self, token: Token) {
        if self.raw_depth != OFF {
            return self.raw_token(token);
        }
        match token.kind {
            TokenKind::Word => self.word(token),
            TokenKind::QuotedWord | TokenKind::AtName | TokenKind::Hint => self.push_text(token.kind as u8, token),
            TokenKind::Integer
            | TokenKind::Decimal
            | TokenKind::Float
            | TokenKind::String
            | TokenKind::NationalString
            | TokenKind::HexNumber
            | TokenKind::HexString
            | TokenKind::BitNumber
            | TokenKind::BitString => self.literal(token),
            TokenKind::LeftParen => {
                self.depth += 1;
                self.buffer.push(token.kind as u8);
                if self.textual_depth == OFF
                    && self.previous.kind == TokenKind::Word
                    && self.previous_is_textual_call()
                {
                    self.textual_depth = self.depth;
                }
            }
            TokenKind::RightParen => self.right_paren(token),
            kind => {
                self.has_parameters |= kind == TokenKind::Parameter;
                self.buffer.push(kind as u8);
            }
        }
    }

    fn bytes(&self, token: Token) -> &[u8] {
        &self.source[token.start as usize..token.end as usize]
    }

    #[inline]
    fn right_paren(&mut self, token: Token) {
        if self.textual_depth == self.depth {
            self.textual_depth = OFF;
        }
        self.depth = self.depth.saturating_sub(1);
        self.buffer.push(token.kind as u8);
    }

    #[inline]
    fn word(&mut self, token: Token) {
        let bytes = &self.source[token.start as usize..token.end as usize];
        // A word holds no zero byte, so a zero ends it.
        self.buffer.push(token.kind as u8);
        self.buffer.extend_from_slice(bytes);
        self.buffer.push(0);
        match bytes.len() {
            2 if bytes.eq_ignore_ascii_case(b"BY") && self.textual_depth == OFF => {
                self.textual_depth = self.depth;
            }
            5 if bytes.eq_ignore_ascii_case(b"LIMIT") => self.end_textual(),
            6 if bytes.eq_ignore_ascii_case(b"HAVING") => self.end_textual(),
            6 if bytes.eq_ignore_ascii_case(b"SELECT") => {
                self.end_textual();
                self.raw_start = token.end as usize;
                self.raw_depth = self.depth;
            }
            _ => {}
        }
    }

    /// Leaves GROUP BY or ORDER BY, unless it belongs to an outer query or is the inside of a call.
    #[inline]
    fn end_textual(&mut self) {
        if self.textual_depth == self.depth {
            self.textual_depth = OFF;
        }
    }

    #[inline]
    fn literal(&mut self, token: Token) {
        let is_path = matches!(self.previous.kind, TokenKind::Arrow | TokenKind::DoubleArrow);
        if self.textual_depth != OFF || is_path {
            return self.push_text(token.kind as u8, token);
        }
        self.literals.push(LiteralToken { token });
        let mut kind = token.kind as u8;
        match token.kind {
            TokenKind::Integer if token.end - token.start >= 19 => kind = self.wide_integer_kind(token),
            TokenKind::Decimal => {
                // The scale decides the type of what is computed from the literal.
                let bytes = self.bytes(token);
                let scale = memchr::memrchr(b'.', bytes).map_or(0, |point| bytes.len() - point - 1);
                self.buffer.extend_from_slice(&(scale as u32).to_le_bytes());
            }
            _ => {}
        }
        self.buffer.push(kind);
    }

    /// Integers beyond `i64` and beyond `u64` have other types.
    fn wide_integer_kind(&self, token: Token) -> u8 {
        match integer_value(self.bytes(token)) {
            Some(value) if value <= i64::MAX as u64 => token.kind as u8,
            Some(_) => TEXT + 1,
            None => TEXT + 2,
        }
    }

    fn push_text(&mut self, kind: u8, token: Token) {
        self.push_range(kind, token.start as usize, token.end as usize);
    }

    fn push_range(&mut self, kind: u8, start: usize, end: usize) {
        let bytes = self.source.get(start..end).unwrap_or_default();
        self.buffer.push(kind);
        self.buffer.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(bytes);
    }

    fn previous_is_textual_call(&self) -> bool {
        let name = self.bytes(self.previous);
        TEXTUAL_CALLS.iter().any(|call| call.eq_ignore_ascii_case(name))
    }

    /// A token of a select list: nothing but its nesting counts, until the list ends.
    #[inline]
    fn raw_token(&mut self, token: Token) {
        match token.kind {
            TokenKind::LeftParen => self.depth += 1,
            TokenKind::RightParen if self.depth == self.raw_depth => {
                self.flush_raw(token.start as usize);
                self.right_paren(token);
            }
            TokenKind::RightParen => self.depth -= 1,
            TokenKind::Parameter => self.has_parameters = true,
            TokenKind::Word
                if self.depth == self.raw_depth
                    && token.end - token.start == 4
                    && self.bytes(token).eq_ignore_ascii_case(b"FROM") =>
            {
                self.flush_raw(token.start as usize);
                self.word(token);
            }
            _ => {}
        }
    }

    fn flush_raw(&mut self, end: usize) {
        if self.raw_depth != OFF {
            self.raw_depth = OFF;
            self.push_range(TEXT, self.raw_start, end);
        }
    }
}

fn is_cacheable_verb(word: &[u8]) -> bool {
    [&b"SELECT"[..], b"INSERT", b"UPDATE", b"DELETE", b"REPLACE"]
        .iter()
        .any(|verb| word.eq_ignore_ascii_case(verb))
}
