//! Collations with one weight a character: those of `latin1` and `ascii` (a byte maps to a byte) and `general_ci` of
//! the UTF-8 sets (a code point of the Basic Multilingual Plane maps to 16 bits, all others weigh 0xFFFD). PAD SPACE.
//!
//! Sort keys: weights of one byte as they are, 16-bit weights in UTF-8 (which keeps their order and leaves ASCII one
//! byte long), an invalid byte as `FF` and the byte; spaces and the terminator as in `bytes`, with the code `20`.

use std::cmp::Ordering;

use super::bytes::SPACE;
use super::padded::PaddedKey;
use super::uca::skip_common;
use crate::charset::{INVALID_BYTE_BASE, decode_utf8};

static SINGLE_BYTE: &[u8; 9 * 256] = include_bytes!("../../data/single_byte.bin");
static GENERAL: &[u8] = include_bytes!("../../data/general_ci.bin");

const GENERAL_INDEX_AT: usize = 4;
const GENERAL_PAGES_AT: usize = 4 + 256;
const REPLACEMENT_WEIGHT: u32 = 0xFFFD;
const INVALID_LEAD: u8 = 0xFF;

/// Rows of `single_byte.bin`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteMap {
    Latin1Swedish,
    Latin1German1,
    Latin1Danish,
    Latin1General,
    Latin1GeneralCaseSensitive,
    Latin1Spanish,
    AsciiGeneral,
    Latin1Upper,
    Latin1Lower,
}

impl ByteMap {
    /// The weight (or the other case) of every byte.
    #[inline]
    pub fn table(self) -> &'static [u8; 256] {
        let (rows, _) = SINGLE_BYTE.as_chunks::<256>();
        &rows[self as usize]
    }
}

/// PAD SPACE comparison of single-byte text.
pub(super) fn compare_bytes(map: ByteMap, left: &[u8], right: &[u8]) -> Ordering {
    let weights = map.table();
    let common = left.len().min(right.len());
    for (&left, &right) in left.iter().zip(right) {
        if left != right && weights[usize::from(left)] != weights[usize::from(right)] {
            return weights[usize::from(left)].cmp(&weights[usize::from(right)]);
        }
    }
    let with_spaces = |rest: &[u8]| {
        let other = rest.iter().map(|&byte| weights[usize::from(byte)]).find(|&weight| weight != SPACE);
        other.map_or(Ordering::Equal, |weight| weight.cmp(&SPACE))
    };
    match left.len().cmp(&right.len()) {
        Ordering::Greater => with_spaces(&left[common..]),
        Ordering::Less => with_spaces(&right[common..]).reverse(),
        Ordering::Equal => Ordering::Equal,
    }
}

pub(super) fn append_bytes(map: ByteMap, text: &[u8], key: &mut PaddedKey<'_>) {
    let weights = map.table();
    for &byte in text {
        key.push_byte(weights[usize::from(byte)]);
    }
}

/// The general_ci weight of a code point or invalid byte.
#[inline]
pub(super) fn general_weight(code: u32) -> u32 {
    match code {
        0..=0xFFFF => {
            let page = usize::from(GENERAL[GENERAL_INDEX_AT + (code >> 8) as usize]);
            let at = GENERAL_PAGES_AT + page * 512 + (code & 0xFF) as usize * 2;
            let offset = u16::from_le_bytes([GENERAL[at], GENERAL[at + 1]]);
            u32::from(offset.wrapping_add((code & 0xFF00) as u16))
        }
        _ if code < INVALID_BYTE_BASE => REPLACEMENT_WEIGHT,
        _ => code,
    }
}

/// PAD SPACE comparison of UTF-8 text by general_ci.
pub(super) fn compare_general(bytes_max: usize, left: &[u8], right: &[u8]) -> Ordering {
    let Some((mut left, mut right)) = skip_common(left, right) else { return Ordering::Equal };
    loop {
        if left.is_empty() && right.is_empty() {
            return Ordering::Equal;
        }
        let (left_weight, right_weight) = (take_weight(bytes_max, &mut left), take_weight(bytes_max, &mut right));
        if left_weight != right_weight {
            return left_weight.cmp(&right_weight);
        }
    }
}

/// NO PAD equality of UTF-8 text by general_ci.
pub(super) fn equal_general_unpadded(bytes_max: usize, left: &[u8], right: &[u8]) -> bool {
    let (mut left, mut right) = (left, right);
    while !left.is_empty() && !right.is_empty() {
        if take_weight(bytes_max, &mut left) != take_weight(bytes_max, &mut right) {
            return false;
        }
    }
    left.is_empty() && right.is_empty()
}

/// The weight of the first character, which is taken away; of a space at the end of the text.
#[inline]
fn take_weight(bytes_max: usize, text: &mut &[u8]) -> u32 {
    match text.first() {
        None => u32::from(SPACE),
        Some(&first) if first < 0x80 => {
            *text = &text[1..];
            u32::from(first.to_ascii_uppercase())
        }
        Some(_) => {
            let symbol = decode_utf8(text, bytes_max);
            *text = &text[usize::from(symbol.length)..];
            general_weight(symbol.code)
        }
    }
}

pub(super) fn append_general(bytes_max: usize, text: &[u8], key: &mut PaddedKey<'_>) {
    let mut rest = text;
    while let Some(&first) = rest.first() {
        if first < 0x80 {
            rest = key.push_ascii::<false>(rest, |byte| byte.to_ascii_uppercase());
            continue;
        }
        let symbol = decode_utf8(rest, bytes_max);
        rest = &rest[usize::from(symbol.length)..];
        let weight = general_weight(symbol.code);
        match char::from_u32(weight) {
            Some(character) if weight < 0x80 => key.push_byte(character as u8),
            Some(character) => {
                let mut space = [0; 4];
                let code = character.encode_utf8(&mut space).as_bytes();
                key.out_for(code[0]).extend_from_slice(code);
            }
            None => {
                let byte = (weight.wrapping_sub(INVALID_BYTE_BASE)) as u8;
                key.out_for(INVALID_LEAD).extend_from_slice(&[INVALID_LEAD, byte]);
            }
        }
    }
}
