//! Reading values out of tokens.

use std::borrow::Cow;

use super::{Token, TokenKind};

/// The bytes between the marks of a quoted name, string, `x''`, `b''`, `N''`, `0x`, `0b` or hint token, escapes unresolved.
pub(crate) fn trim_marks<'a>(source: &'a [u8], token: &Token) -> &'a [u8] {
    let (front, back) = match token.kind {
        TokenKind::QuotedWord | TokenKind::String => (1, 1),
        TokenKind::NationalString | TokenKind::HexString | TokenKind::BitString => (2, 1),
        TokenKind::HexNumber | TokenKind::BitNumber => (2, 0),
        TokenKind::Hint => (3, 2),
        TokenKind::AtName => (1, 0),
        _ => (0, 0),
    };
    let (start, end) = (token.start as usize + front, token.end as usize - back);
    source.get(start..end).unwrap_or_default()
}

/// The value of a string token.
pub(crate) fn string_bytes<'a>(source: &'a [u8], token: &Token, backslash_escapes: bool) -> Cow<'a, [u8]> {
    let inner = trim_marks(source, token);
    if !token.escaped {
        return Cow::Borrowed(inner);
    }
    let quote = source[token.end as usize - 1];
    let mut bytes = Vec::with_capacity(inner.len());
    unescape_string(inner, quote, backslash_escapes, &mut bytes);
    Cow::Owned(bytes)
}

/// Resolves doubled quotes and, unless NO_BACKSLASH_ESCAPES, backslash escapes. `\%` and `\_` keep their backslash for LIKE.
fn unescape_string(inner: &[u8], quote: u8, backslash_escapes: bool, into: &mut Vec<u8>) {
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && backslash_escapes {
            let Some(escaped) = bytes.next() else {
                into.push(byte);
                return;
            };
            match escaped {
                b'0' => into.push(0),
                b'b' => into.push(8),
                b'n' => into.push(b'\n'),
                b'r' => into.push(b'\r'),
                b't' => into.push(b'\t'),
                b'Z' => into.push(0x1A),
                b'%' | b'_' => into.extend([b'\\', escaped]),
                other => into.push(other),
            }
        } else {
            into.push(byte);
            if byte == quote {
                bytes.next();
            }
        }
    }
}

/// The text of a name token; None when it is not valid UTF-8.
pub(crate) fn name_text(source: &[u8], token: &Token) -> Option<String> {
    let inner = trim_marks(source, token);
    let text = std::str::from_utf8(inner).ok()?;
    if !token.escaped {
        return Some(text.to_owned());
    }
    let quote = source[token.start as usize];
    let doubled: String = [char::from(quote); 2].iter().collect();
    Some(text.replace(&doubled, &doubled[..1]))
}

/// The bytes that hexadecimal digits stand for; an odd count has a zero in front.
pub(crate) fn hex_bytes(digits: &[u8]) -> Vec<u8> {
    let nibble = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    let (first, pairs) = digits.split_at(digits.len() % 2);
    first
        .iter()
        .map(|&digit| nibble(digit))
        .chain(pairs.chunks_exact(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])))
        .collect()
}

/// The bytes that binary digits stand for, padded with zeros in front.
pub(crate) fn bit_bytes(digits: &[u8]) -> Vec<u8> {
    let (first, rest) = digits.split_at(digits.len() % 8);
    let value = |bits: &[u8]| bits.iter().fold(0u8, |value, bit| value << 1 | (bit & 1));
    let mut bytes = Vec::with_capacity(digits.len().div_ceil(8));
    if !first.is_empty() {
        bytes.push(value(first));
    }
    bytes.extend(rest.chunks_exact(8).map(value));
    bytes
}
