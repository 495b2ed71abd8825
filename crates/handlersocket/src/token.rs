//! Tokens of a line: split by tabs, NULL as a single zero byte, small bytes escaped.
//!
//! A byte below 0x10 inside a value travels as 0x01 and the byte plus 0x40, so that tab, line feed and zero keep their meaning.
//! Everything here works in place; only a value with escapes is copied, into a buffer that is used again and again.

/// Sent in place of a value that is NULL.
const NULL: u8 = 0x00;
const ESCAPE: u8 = 0x01;
const ESCAPE_SHIFT: u8 = 0x40;
/// Bytes below this one are escaped.
const PLAIN_MIN: u8 = 0x10;

/// Where a token lies in its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    #[inline]
    pub fn of<'l>(&self, line: &'l [u8]) -> &'l [u8] {
        line.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The tokens of a line, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'l> {
    line: &'l [u8],
    /// Beyond the line's end when the last token has been taken.
    at: usize,
}

impl<'l> Tokens<'l> {
    pub fn new(line: &'l [u8]) -> Tokens<'l> {
        Tokens { line, at: 0 }
    }

    #[inline]
    pub fn next_span(&mut self) -> Option<Span> {
        let rest = self.line.get(self.at..)?;
        let length = match rest.len() {
            // Most tokens are a few bytes long: looking at each is quicker than to set a search up.
            0..=32 => rest.iter().position(|&byte| byte == b'\t'),
            _ => memchr::memchr(b'\t', rest),
        };
        let start = self.at;
        let end = length.map_or(self.line.len(), |length| start + length);
        self.at = end + 1;
        Some(Span { start: start as u32, end: end as u32 })
    }

    #[inline]
    pub fn next(&mut self) -> Option<&'l [u8]> {
        let line = self.line;
        self.next_span().map(|span| span.of(line))
    }

    /// Where the next token begins.
    pub fn at(&self) -> usize {
        self.at
    }

    pub fn is_at_end(&self) -> bool {
        self.at > self.line.len()
    }
}

/// The value of a token without its escapes, in the token itself or in `buffer`; `None` is NULL.
#[inline]
pub fn value<'v>(token: &'v [u8], buffer: &'v mut Vec<u8>) -> Option<&'v [u8]> {
    if let [NULL] = token {
        return None;
    }
    if !token.contains(&ESCAPE) {
        return Some(token);
    }
    buffer.clear();
    let mut bytes = token.iter();
    while let Some(&byte) = bytes.next() {
        buffer.push(match byte {
            // An escape at the end of a value stands for nothing but itself.
            ESCAPE => bytes.next().map_or(ESCAPE, |&shifted| shifted.wrapping_sub(ESCAPE_SHIFT)),
            byte => byte,
        });
    }
    Some(buffer)
}

/// Appends a value with its escapes.
#[inline]
pub fn append_value(bytes: &[u8], out: &mut Vec<u8>) {
    if !bytes.iter().any(|&byte| byte < PLAIN_MIN) {
        return out.extend_from_slice(bytes);
    }
    for &byte in bytes {
        match byte < PLAIN_MIN {
            true => out.extend_from_slice(&[ESCAPE, byte + ESCAPE_SHIFT]),
            false => out.push(byte),
        }
    }
}

/// Escapes what was appended from `start` on.
pub fn escape_from(start: usize, out: &mut Vec<u8>) {
    if out[start..].iter().any(|&byte| byte < PLAIN_MIN) {
        let raw = out.split_off(start);
        append_value(&raw, out);
    }
}

pub fn append_null(out: &mut Vec<u8>) {
    out.push(NULL);
}

/// A decimal number of a request; `None` if it is anything else, or too large. Nothing at all is 0.
#[inline]
pub fn number(token: &[u8]) -> Option<u32> {
    let mut number = 0u32;
    for &byte in token {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u32::from(digit))?;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(line: &[u8]) -> Vec<Vec<u8>> {
        let mut tokens = Tokens::new(line);
        std::iter::from_fn(|| tokens.next().map(<[u8]>::to_vec)).collect()
    }

    #[test]
    fn an_empty_token_is_a_token() {
        assert_eq!(tokens(b""), [b""]);
        assert_eq!(tokens(b"a\t\tb\t"), [&b"a"[..], b"", b"b", b""]);
    }

    #[test]
    fn null_is_a_zero_byte_alone() {
        let mut buffer = Vec::new();
        assert_eq!(value(b"\0", &mut buffer), None);
        assert_eq!(value(b"", &mut buffer), Some(&b""[..]));
        assert_eq!(value(b"\x01\x40", &mut buffer), Some(&b"\0"[..]));
        assert_eq!(value(b"a\x01\x49b", &mut buffer), Some(&b"a\tb"[..]));
        assert_eq!(value(b"a\x01", &mut buffer), Some(&b"a\x01"[..]));
    }

    #[test]
    fn numbers_are_digits_alone() {
        assert_eq!(number(b"4294967295"), Some(u32::MAX));
        assert_eq!(number(b"4294967296"), None);
        assert_eq!(number(b""), Some(0));
        assert_eq!(number(b"-1"), None);
        assert_eq!(number(b"1x"), None);
    }

    proptest! {
        #[test]
        fn a_value_comes_back_from_its_escaped_form(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut escaped = Vec::new();
            append_value(&bytes, &mut escaped);
            prop_assert!(escaped.iter().all(|&byte| byte >= PLAIN_MIN || byte == ESCAPE));
            let mut buffer = Vec::new();
            prop_assert_eq!(value(&escaped, &mut buffer), Some(&bytes[..]));
            let mut later = b"\t".to_vec();
            later.extend_from_slice(&bytes);
            escape_from(1, &mut later);
            prop_assert_eq!(&later[1..], &escaped[..]);
        }
    }
}
