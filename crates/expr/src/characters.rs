//! Characters of a text in the character set of a collation.

use shoal_types::Collation;

/// Bytes of the character that `text` begins with; `text` is not empty. A byte that begins no character counts alone.
#[inline]
pub(crate) fn character_length(collation: Collation, text: &[u8]) -> usize {
    if text.first().is_some_and(u8::is_ascii) {
        return 1;
    }
    collation.charset().decode(text).map_or(1, |symbol| usize::from(symbol.length).max(1))
}

/// The characters of `text` as slices of it.
pub(crate) fn characters(collation: Collation, text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let charset = collation.charset();
    let mut rest = text;
    std::iter::from_fn(move || {
        let symbol = charset.decode(rest)?;
        let (character, tail) = rest.split_at(usize::from(symbol.length));
        rest = tail;
        Some(character)
    })
}

/// CHAR_LENGTH.
pub(crate) fn count(collation: Collation, text: &[u8]) -> usize {
    collation.charset().char_count(text)
}

/// The byte at which the character number `index` (from 0) begins; the length of the text if it has fewer.
pub(crate) fn offset(collation: Collation, text: &[u8], index: usize) -> usize {
    collation.charset().offset_of_char(text, index)
}
