//! Upper and lower case: simple mappings, one character to one character, by the Unicode version that MySQL's
//! collation goes with.

use std::borrow::Cow;

use super::simple::ByteMap;
use crate::charset::Charset;

static CASE: &[u8] = include_bytes!("../../data/case.bin");

/// The Unicode version of the mapping.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseFamily {
    /// The Basic Multilingual Plane as the first Unicode collations of MySQL knew it.
    Old,
    Unicode520,
    Unicode900,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Lower,
}

/// The text in the other case.
pub(super) fn map(charset: Charset, family: CaseFamily, case: Case, text: &[u8]) -> Cow<'_, [u8]> {
    if charset == Charset::Binary {
        return Cow::Borrowed(text);
    }
    if text.is_ascii() {
        let changes =
            |byte: &u8| if case == Case::Upper { byte.is_ascii_lowercase() } else { byte.is_ascii_uppercase() };
        if !text.iter().any(changes) {
            return Cow::Borrowed(text);
        }
        return Cow::Owned(if case == Case::Upper {
            text.to_ascii_uppercase()
        } else {
            text.to_ascii_lowercase()
        });
    }
    if charset.is_single_byte() {
        let row = if case == Case::Upper { ByteMap::Latin1Upper } else { ByteMap::Latin1Lower };
        let row = row.table();
        // ASCII text may hold invalid bytes, which have no case.
        let mapped = |&byte: &u8| match byte {
            0x80.. if charset == Charset::Ascii => byte,
            _ => row[usize::from(byte)],
        };
        return Cow::Owned(text.iter().map(mapped).collect());
    }
    Cow::Owned(map_unicode(charset, family, case, text))
}

fn map_unicode(charset: Charset, family: CaseFamily, case: Case, text: &[u8]) -> Vec<u8> {
    let pairs = pairs(family, case);
    let mut out = Vec::with_capacity(text.len() + 8);
    let mut offset = 0;
    for symbol in charset.symbols(text) {
        let end = offset + usize::from(symbol.length);
        let mapped = match symbol.code {
            code @ 0..0x80 if case == Case::Upper => u32::from((code as u8).to_ascii_uppercase()),
            code @ 0..0x80 => u32::from((code as u8).to_ascii_lowercase()),
            code => find(pairs, code).unwrap_or(code),
        };
        if mapped == symbol.code || !charset.encode(mapped, &mut out) {
            out.extend_from_slice(&text[offset..end]);
        }
        offset = end;
    }
    out
}

/// The pairs (from, to) of one mapping, ascending.
fn pairs(family: CaseFamily, case: Case) -> &'static [[u8; 8]] {
    let position = family as usize * 2 + case as usize;
    let mut rest = CASE;
    for _ in 0..position {
        rest = split_pairs(rest).1;
    }
    split_pairs(rest).0
}

fn split_pairs(bytes: &'static [u8]) -> (&'static [[u8; 8]], &'static [u8]) {
    let Some((count, rest)) = bytes.split_first_chunk::<4>() else { return (&[], &[]) };
    let length = u32::from_le_bytes(*count) as usize * 8;
    let (pairs, rest) = rest.split_at(length.min(rest.len()));
    (pairs.as_chunks::<8>().0, rest)
}

fn find(pairs: &[[u8; 8]], code: u32) -> Option<u32> {
    let from = |pair: &[u8; 8]| u32::from_le_bytes([pair[0], pair[1], pair[2], pair[3]]);
    let pair = &pairs[pairs.binary_search_by_key(&code, from).ok()?];
    Some(u32::from_le_bytes([pair[4], pair[5], pair[6], pair[7]]))
}
