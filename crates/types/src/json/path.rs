//! JSON path expressions: `$`, then legs `.name`, `."quoted name"`, `.*`, `[3]`, `[last-1]`, `[1 to last]`, `[*]`,
//! `**`.

use super::{append_quoted, parse};
use crate::number::append_u64;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathLeg {
    /// `.name`: the member with this key.
    Member(Vec<u8>),
    /// `.*`: all members of an object.
    AnyMember,
    /// `[n]`: one element of an array; of a value that is no array, `[0]` is the value itself.
    Element(ArrayIndex),
    /// `[from to to]`, both ends included.
    Range(ArrayIndex, ArrayIndex),
    /// `[*]`: all elements of an array.
    AnyElement,
    /// `**`: the value and everything in it.
    AnyDepth,
}

/// `[n]`, `[last]` or `[last-n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayIndex {
    /// Counted from 0, or back from the last element.
    pub index: u32,
    /// `last` was written.
    pub from_last: bool,
}

impl ArrayIndex {
    /// The position in an array of `length` elements; beyond its end for too great an index, `None` before its start.
    pub fn position(self, length: usize) -> Option<usize> {
        let index = self.index as usize;
        if self.from_last { length.checked_sub(1)?.checked_sub(index) } else { Some(index) }
    }
}

/// A JSON path: `$` and the legs behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath {
    /// Taken one after the other from the document's root; none is `$`, the root itself.
    pub legs: Vec<PathLeg>,
}

/// Errno 3143: the character position around which the path stopped making sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonPathError {
    /// In the path's text.
    pub position: usize,
}

impl JsonPath {
    /// Parses a path such as `$.a[0]`; blanks between legs are allowed.
    pub fn parse(text: &[u8]) -> Result<JsonPath, JsonPathError> {
        /// More legs than the deepest document has levels match nothing.
        const LEGS_MAX: usize = 1000;
        let mut parser = PathParser { text, position: 0 };
        parser.skip_blanks();
        let mut legs = Vec::new();
        if parser.next() != Some(b'$') {
            return Err(parser.error());
        }
        loop {
            parser.skip_blanks();
            if parser.position == text.len() {
                break;
            }
            let leg = parser.leg()?;
            if leg == PathLeg::AnyDepth && legs.last() == Some(&PathLeg::AnyDepth) || legs.len() == LEGS_MAX {
                return Err(parser.error());
            }
            legs.push(leg);
        }
        // `**` needs something after it.
        if legs.last() == Some(&PathLeg::AnyDepth) {
            return Err(parser.error());
        }
        Ok(JsonPath { legs })
    }

    /// Has a wildcard or a range: may name several parts.
    pub fn can_match_many(&self) -> bool {
        self.legs.iter().any(|leg| !matches!(leg, PathLeg::Member(_) | PathLeg::Element(_)))
    }

    /// The path as text, as JSON_SEARCH prints it.
    pub fn append_text(&self, out: &mut Vec<u8>) {
        out.push(b'$');
        for leg in &self.legs {
            leg.append_text(out);
        }
    }
}

impl PathLeg {
    pub(super) fn append_text(&self, out: &mut Vec<u8>) {
        let append_index = |index: &ArrayIndex, out: &mut Vec<u8>| {
            if index.from_last {
                out.extend_from_slice(if index.index > 0 { b"last-" } else { b"last" });
            }
            if !index.from_last || index.index > 0 {
                append_u64(u64::from(index.index), out);
            }
        };
        match self {
            PathLeg::Member(key) => append_member(key, out),
            PathLeg::AnyMember => out.extend_from_slice(b".*"),
            PathLeg::AnyElement => out.extend_from_slice(b"[*]"),
            PathLeg::AnyDepth => out.extend_from_slice(b"**"),
            PathLeg::Element(index) => {
                out.push(b'[');
                append_index(index, out);
                out.push(b']');
            }
            PathLeg::Range(from, to) => {
                out.push(b'[');
                append_index(from, out);
                out.extend_from_slice(b" to ");
                append_index(to, out);
                out.push(b']');
            }
        }
    }
}

/// `.key`, quoted unless it is an identifier.
pub(super) fn append_member(key: &[u8], out: &mut Vec<u8>) {
    out.push(b'.');
    if is_identifier(key) { out.extend_from_slice(key) } else { append_quoted(key, out) }
}

/// An ECMAScript identifier.
fn is_identifier(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else {
        return false;
    };
    let is_start = |character: char| character.is_alphabetic() || character == '$' || character == '_';
    let mut characters = name.chars();
    characters.next().is_some_and(is_start)
        && characters.all(|character| {
            is_start(character) || character.is_numeric() || "\u{200c}\u{200d}".contains(character)
        })
}

struct PathParser<'a> {
    text: &'a [u8],
    position: usize,
}

impl PathParser<'_> {
    fn error(&self) -> JsonPathError {
        let read = &self.text[..self.position.min(self.text.len())];
        // Characters, not bytes.
        JsonPathError { position: read.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek();
        self.position += usize::from(byte.is_some());
        byte
    }

    fn take(&mut self, wanted: &[u8]) -> bool {
        let found = self.text[self.position..].starts_with(wanted);
        self.position += if found { wanted.len() } else { 0 };
        found
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.position += 1;
        }
    }

    fn leg(&mut self) -> Result<PathLeg, JsonPathError> {
        match self.next() {
            Some(b'.') => self.member(),
            Some(b'[') => self.cell(),
            Some(b'*') if self.take(b"*") => Ok(PathLeg::AnyDepth),
            _ => Err(self.error()),
        }
    }

    fn member(&mut self) -> Result<PathLeg, JsonPathError> {
        self.skip_blanks();
        if self.take(b"*") {
            return Ok(PathLeg::AnyMember);
        }
        let start = self.position;
        if self.peek() == Some(b'"') {
            self.skip_quoted();
            let quoted = &self.text[start..self.position];
            return parse::parse_string(quoted).map(PathLeg::Member).map_err(|_| self.error());
        }
        while self.peek().is_some_and(|byte| !matches!(byte, b'.' | b'[' | b'*' | b' ' | b'\t' | b'\n' | b'\r')) {
            self.position += 1;
        }
        let name = &self.text[start..self.position];
        if is_identifier(name) { Ok(PathLeg::Member(name.to_vec())) } else { Err(self.error()) }
    }

    /// To behind the closing quote, or the end.
    fn skip_quoted(&mut self) {
        self.position += 1;
        while let Some(byte) = self.next() {
            match byte {
                b'"' => return,
                b'\\' => self.position = (self.position + 1).min(self.text.len()),
                _ => {}
            }
        }
    }

    fn cell(&mut self) -> Result<PathLeg, JsonPathError> {
        self.skip_blanks();
        let leg = if self.take(b"*") {
            PathLeg::AnyElement
        } else {
            let from = self.index()?;
            let blank_follows = matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r'));
            self.skip_blanks();
            if blank_follows && self.take(b"to") { self.range(from)? } else { PathLeg::Element(from) }
        };
        self.skip_blanks();
        if self.next() == Some(b']') { Ok(leg) } else { Err(self.error()) }
    }

    fn range(&mut self, from: ArrayIndex) -> Result<PathLeg, JsonPathError> {
        if !matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            return Err(self.error());
        }
        self.skip_blanks();
        let to = self.index()?;
        let is_backward = from.from_last == to.from_last
            && if from.from_last { from.index < to.index } else { from.index > to.index };
        if is_backward { Err(self.error()) } else { Ok(PathLeg::Range(from, to)) }
    }

    fn index(&mut self) -> Result<ArrayIndex, JsonPathError> {
        if !self.take(b"last") {
            return Ok(ArrayIndex { index: self.integer()?, from_last: false });
        }
        let end = self.position;
        self.skip_blanks();
        if self.take(b"-") {
            self.skip_blanks();
            return Ok(ArrayIndex { index: self.integer()?, from_last: true });
        }
        self.position = end;
        Ok(ArrayIndex { index: 0, from_last: true })
    }

    fn integer(&mut self) -> Result<u32, JsonPathError> {
        let start = self.position;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        let digits = crate::number::parse_u64(&self.text[start..self.position]);
        match u32::try_from(digits.value) {
            Ok(index) if self.position > start && !digits.out_of_range => Ok(index),
            _ => Err(self.error()),
        }
    }
}
