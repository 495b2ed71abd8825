//! Collations of the Unicode Collation Algorithm: `utf8mb4_0900_ai_ci`, `_as_ci` and `_as_cs` (UCA 9.0.0, NO PAD),
//! `unicode_ci` (UCA 4.0.0) and `unicode_520_ci` (UCA 5.2.0), both PAD SPACE.
//!
//! As in MySQL: weights come from the DUCET without its contractions, punctuation and spaces are not ignorable,
//! characters without weight (most control characters) do not count at all.
//!
//! Sort keys: every primary weight becomes a key code. ASCII weights are one byte, other listed weights two (see
//! `make_tables.py`), ideographs three (`F9`, `FA` or `FB` and the second implicit weight, big-endian), other implicit
//! weights four (`F8` or `FC`, the low byte of the first weight, the second), U+FFFD is `FD`, an invalid byte is `FF`
//! and the byte. No code begins with a byte below `04`. So a key is about as long as the text in UTF-8.
//!
//! NO PAD: the codes and the terminator `00`. `_as_ci` appends the secondary weights, one byte each (the weight less
//! 0x1F, so 0x20 is `01`), without the `01`s at the end, and `00`; `_as_cs` then appends the tertiary weights, one byte
//! each, without the `02`s at the end, and `00`. The cut ends are exact: texts that agree in the levels before have
//! equally many of these default weights.
//!
//! PAD SPACE: as in `bytes`, every weight of a space is followed by the verdict `01` or `03` on the first other
//! weight behind it, and the terminator is the space's code and `02`.

use std::cmp::Ordering;

use super::padded::PaddedKey;
use super::table::{Primaries, UcaTable, Variant, lead};
use crate::charset::{INVALID_BYTE_BASE, decode_utf8};

/// Which differences count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Letters.
    Primary,
    /// And accents.
    Secondary,
    /// And case.
    Tertiary,
}

const DEFAULT_SECONDARY: u8 = 1;
const DEFAULT_TERTIARY: u8 = 2;

/// NO PAD comparison of UTF-8 text.
pub(super) fn compare(table: &'static UcaTable, strength: Strength, left: &[u8], right: &[u8]) -> Ordering {
    let Some((left, right)) = skip_common(left, right) else { return Ordering::Equal };
    let order = Primaries::new(table, 4, left).cmp(Primaries::new(table, 4, right));
    if order != Ordering::Equal || strength == Strength::Primary {
        return order;
    }
    let order = compare_level(table, left, right, |variant| variant.0);
    if order != Ordering::Equal || strength == Strength::Secondary {
        return order;
    }
    compare_level(table, left, right, |variant| variant.1)
}

/// NO PAD comparison of UTF-8 text by its primary weights alone.
pub(super) fn compare_unpadded(table: &'static UcaTable, bytes_max: usize, left: &[u8], right: &[u8]) -> Ordering {
    Primaries::new(table, bytes_max, left).cmp(Primaries::new(table, bytes_max, right))
}

/// PAD SPACE comparison of UTF-8 text by its primary weights.
pub(super) fn compare_padded(table: &'static UcaTable, bytes_max: usize, left: &[u8], right: &[u8]) -> Ordering {
    let Some((left, right)) = skip_common(left, right) else { return Ordering::Equal };
    let space = u32::from(table.space_weight());
    let mut left = Primaries::new(table, bytes_max, left);
    let mut right = Primaries::new(table, bytes_max, right);
    loop {
        let (left, right) = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (left, right) => (left.unwrap_or(space), right.unwrap_or(space)),
        };
        if left != right {
            return left.cmp(&right);
        }
    }
}

/// Appends the codes of the primary weights of UTF-8 text, without a terminator.
pub(super) fn append_primaries(table: &'static UcaTable, text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 8);
    let mut rest = text;
    loop {
        rest = append_ascii(&table.ascii_codes, rest, out);
        if rest.is_empty() {
            return;
        }
        let symbol = decode_utf8(rest, 4);
        rest = &rest[usize::from(symbol.length)..];
        match symbol.code.checked_sub(INVALID_BYTE_BASE) {
            None => table.append_codes(table.primaries(symbol.code).as_slice(), out),
            Some(byte) => out.extend_from_slice(&[lead::INVALID, byte as u8]),
        }
    }
}

/// Appends the codes (or weights) of the leading ASCII characters that have one and returns what is left.
#[inline]
fn append_ascii<'a>(codes: &[u8; 128], text: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let code = |byte: u8| codes[usize::from(byte & 0x7F)];
    const CHUNK_BYTES: usize = 16;
    let (chunks, _) = text.as_chunks::<CHUNK_BYTES>();
    let mut done = 0;
    for chunk in chunks {
        if !chunk.is_ascii() {
            break;
        }
        let codes = chunk.map(code);
        if codes.contains(&0) {
            out.extend(codes.iter().filter(|&&code| code != 0));
        } else {
            out.extend_from_slice(&codes);
        }
        done += CHUNK_BYTES;
    }
    let rest = &text[done..];
    let ascii = rest.iter().take_while(|byte| byte.is_ascii()).count();
    out.extend(rest[..ascii].iter().map(|&byte| code(byte)).filter(|&code| code != 0));
    &rest[ascii..]
}

/// Appends the NO PAD key with its terminators.
pub(super) fn append_key(table: &'static UcaTable, strength: Strength, text: &[u8], out: &mut Vec<u8>) {
    append_primaries(table, text, out);
    out.push(0);
    if strength >= Strength::Secondary {
        append_level(table, text, DEFAULT_SECONDARY, &table.ascii_secondaries, |variant| variant.0, out);
    }
    if strength >= Strength::Tertiary {
        append_level(table, text, DEFAULT_TERTIARY, &table.ascii_tertiaries, |variant| variant.1, out);
    }
}

fn append_level(
    table: &'static UcaTable,
    text: &[u8],
    default: u8,
    ascii: &[u8; 128],
    level: impl Fn(Variant) -> u8,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let mut rest = text;
    loop {
        rest = append_ascii(ascii, rest, out);
        if rest.is_empty() {
            break;
        }
        let symbol = decode_utf8(rest, 4);
        rest = &rest[usize::from(symbol.length)..];
        if symbol.code < INVALID_BYTE_BASE {
            table.for_each_variant(symbol.code, |variant| match level(variant) {
                0 => {}
                weight => out.push(weight),
            });
        }
    }
    let defaults = out[start..].iter().rev().take_while(|&&weight| weight == default).count();
    out.truncate(out.len() - defaults);
    out.push(0);
}

/// Appends the PAD SPACE codes; the key is finished by the caller.
pub(super) fn append_padded(table: &'static UcaTable, bytes_max: usize, text: &[u8], key: &mut PaddedKey<'_>) {
    let space = table.space_weight();
    let mut rest = text;
    while let Some(&first) = rest.first() {
        if first < 0x80 {
            rest = key.push_ascii::<true>(rest, |byte| table.ascii_codes[usize::from(byte & 0x7F)]);
            continue;
        }
        let symbol = decode_utf8(rest, bytes_max);
        rest = &rest[usize::from(symbol.length)..];
        if let Some(byte) = symbol.code.checked_sub(INVALID_BYTE_BASE) {
            key.out_for(lead::INVALID).extend_from_slice(&[lead::INVALID, byte as u8]);
            continue;
        }
        let weights = table.primaries(symbol.code);
        let mut weights = weights.as_slice();
        // Spaces inside an expansion count like any others.
        while let Some((&weight, behind)) = weights.split_first() {
            if weight == space {
                key.push_byte(table.space_code());
                weights = behind;
                continue;
            }
            let until_space = weights.iter().position(|&weight| weight == space).unwrap_or(weights.len());
            let (run, behind) = weights.split_at(until_space);
            let below = if weight < space { 0 } else { 0xFF };
            table.append_codes(run, key.out_for(below));
            weights = behind;
        }
    }
}

/// WEIGHT_STRING: the weights of all levels, 16 bits each, levels divided by a zero.
pub(super) fn weight_string(
    table: &'static UcaTable,
    strength: Strength,
    bytes_max: usize,
    text: &[u8],
) -> Vec<u8> {
    let mut out = Vec::new();
    for weight in Primaries::new(table, bytes_max, text).filter(|&weight| weight < INVALID_BYTE_BASE) {
        out.extend_from_slice(&(weight as u16).to_be_bytes());
    }
    let mut level = |weight_of: fn(Variant) -> u16| {
        out.extend_from_slice(&[0, 0]);
        for_each_variant(table, text, |variant| match weight_of(variant) {
            0 => {}
            weight => out.extend_from_slice(&weight.to_be_bytes()),
        });
    };
    if strength >= Strength::Secondary {
        level(|variant| if variant.0 == 0 { 0 } else { u16::from(variant.0) + 0x1F });
    }
    if strength >= Strength::Tertiary {
        level(|variant| u16::from(variant.1));
    }
    out
}

#[inline]
fn for_each_variant(table: &'static UcaTable, text: &[u8], mut visit: impl FnMut(Variant)) {
    let mut rest = text;
    while let Some(&first) = rest.first() {
        if first < 0x80 {
            let at = usize::from(first);
            visit((table.ascii_secondaries[at], table.ascii_tertiaries[at]));
            rest = &rest[1..];
            continue;
        }
        let symbol = decode_utf8(rest, 4);
        rest = &rest[usize::from(symbol.length)..];
        if symbol.code < INVALID_BYTE_BASE {
            table.for_each_variant(symbol.code, &mut visit);
        }
    }
}

/// Compares the weights of one level, skipping absent ones.
fn compare_level(
    table: &'static UcaTable,
    left: &[u8],
    right: &[u8],
    level: impl Fn(Variant) -> u8 + Copy,
) -> Ordering {
    let weights = |text: &[u8]| {
        let mut weights = Vec::with_capacity(text.len());
        for_each_variant(table, text, |variant| {
            if level(variant) != 0 {
                weights.push(level(variant));
            }
        });
        weights
    };
    weights(left).cmp(&weights(right))
}

/// Both texts from the first character on in which they differ, `None` if they do not differ. Characters weigh the
/// same whatever is around them, so what is equal in front adds nothing to the comparison.
#[inline]
pub(super) fn skip_common<'a>(left: &'a [u8], right: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let common = common_length(left, right);
    if common == left.len() && common == right.len() {
        return None;
    }
    let start = char_start(left, common);
    Some((&left[start..], &right[start..]))
}

fn common_length(left: &[u8], right: &[u8]) -> usize {
    let (left_words, _) = left.as_chunks::<8>();
    let (right_words, _) = right.as_chunks::<8>();
    let mut length = 0;
    for (left_word, right_word) in left_words.iter().zip(right_words) {
        let difference = u64::from_le_bytes(*left_word) ^ u64::from_le_bytes(*right_word);
        if difference != 0 {
            return length + difference.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    length + left[length..].iter().zip(&right[length..]).take_while(|(left, right)| left == right).count()
}

/// The start of the UTF-8 character, at or before `offset`, that the byte at `offset` may belong to.
fn char_start(text: &[u8], offset: usize) -> usize {
    for back in 1..=3.min(offset) {
        match text[offset - back] {
            0x80..=0xBF => {}
            0xC0.. => return offset - back,
            _ => break,
        }
    }
    offset
}
