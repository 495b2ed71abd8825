//! LOCATE, INSTR, REPLACE and friends: where a text occurs in another.
//!
//! As in MySQL a candidate is the stretch of text from a character boundary on that has as many bytes as the needle,
//! compared whole by the collation, without the padding of PAD SPACE. So 'SS' is found in 'ß' (two bytes each), but 'a' is not found in 'á'.

use super::{Collation, Method};

pub(super) fn find(collation: Collation, text: &[u8], needle: &[u8], start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    if needle.is_empty() {
        return Some(start);
    }
    let charset = collation.charset();
    // A needle that begins with a character cannot match inside of another one.
    let aligned = charset.is_single_byte() || needle.first().is_some_and(|byte| byte & 0xC0 != 0x80);
    if aligned && matches!(collation.method(), Some(Method::Bytes | Method::PaddedBytes) | None) {
        return memchr::memmem::find(rest, needle).map(|position| start + position);
    }
    let mut offset = start;
    for symbol in charset.symbols(rest) {
        let candidate = text.get(offset..offset + needle.len())?;
        if collation.equal_unpadded(candidate, needle) {
            return Some(offset);
        }
        offset += usize::from(symbol.length);
    }
    None
}

pub(super) fn locate(collation: Collation, needle: &[u8], text: &[u8], position: usize) -> usize {
    let charset = collation.charset();
    let Some(skipped) = position.checked_sub(1) else { return 0 };
    let start = charset.offset_of_char(text, skipped);
    if charset.char_count(&text[..start]) < skipped {
        return 0;
    }
    match find(collation, text, needle, start) {
        Some(offset) => position + charset.char_count(&text[start..offset]),
        None => 0,
    }
}
