//! Character sets: how bytes become characters, how many there are, and how text moves from one set to another.
//!
//! Text is bytes; nothing here assumes that they are well formed. A byte that begins no valid character of its set
//! counts as one character of its own (see [`Symbol`]), so every function is total and every length adds up.
//! MySQL's `latin1` is Windows code page 1252 whose five undefined bytes map to the C1 controls of the same value.

use std::borrow::Cow;

/// A character set that text can be stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset {
    /// Bytes that are no characters; collations do not apply.
    Binary,
    /// Seven bits; bytes from 0x80 on are invalid.
    Ascii,
    /// Windows code page 1252, one byte a character.
    Latin1,
    /// UTF-8 of up to three bytes a character: the Basic Multilingual Plane.
    Utf8mb3,
    /// UTF-8 of up to four bytes a character: all of Unicode.
    Utf8mb4,
}

/// Codes from here on stand for a byte that begins no valid character: the byte is `code - INVALID_BYTE_BASE`.
pub const INVALID_BYTE_BASE: u32 = 0x11_0000;

/// One character of a text, or one byte that is not part of any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The Unicode code point (the byte itself for the binary set), or [`INVALID_BYTE_BASE`] plus the byte.
    pub code: u32,
    /// How many bytes it takes in the text.
    pub length: u8,
}

impl Symbol {
    /// False: a byte that begins no valid character.
    pub fn is_valid(self) -> bool {
        self.code < INVALID_BYTE_BASE
    }

    /// The character, if it is one.
    pub fn to_char(self) -> Option<char> {
        char::from_u32(self.code)
    }
}

/// What a text became in another character set.
#[derive(Clone, Debug)]
pub struct Conversion<'a> {
    /// The text in the target set; borrowed if its bytes are the same there.
    pub bytes: Cow<'a, [u8]>,
    /// Some character does not exist in the target set and became `?`.
    pub lossy: bool,
    /// The source held bytes that are no characters of its set; each became `?`, or stayed as it was when the
    /// source was binary.
    pub malformed: bool,
}

impl Conversion<'_> {
    /// Every character arrived as itself.
    pub fn is_exact(&self) -> bool {
        !self.lossy && !self.malformed
    }
}

impl Charset {
    /// Every character set, in the order of their names.
    pub const ALL: [Charset; 5] =
        [Charset::Ascii, Charset::Binary, Charset::Latin1, Charset::Utf8mb3, Charset::Utf8mb4];

    /// The set of this name (any case; `utf8` is `utf8mb3`), if it can be stored here.
    pub fn by_name(name: &str) -> Option<Charset> {
        let name = if name.eq_ignore_ascii_case("utf8") { "utf8mb3" } else { name };
        Charset::ALL.into_iter().find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    /// As in SQL: `utf8mb4`, `latin1`, `binary` and so on.
    pub fn name(self) -> &'static str {
        match self {
            Charset::Binary => "binary",
            Charset::Ascii => "ascii",
            Charset::Latin1 => "latin1",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Utf8mb4 => "utf8mb4",
        }
    }

    /// The text of SHOW CHARACTER SET.
    pub fn description(self) -> &'static str {
        match self {
            Charset::Binary => "Binary pseudo charset",
            Charset::Ascii => "US ASCII",
            Charset::Latin1 => "cp1252 West European",
            Charset::Utf8mb3 | Charset::Utf8mb4 => "UTF-8 Unicode",
        }
    }

    /// The longest character, in bytes.
    pub fn char_bytes_max(self) -> usize {
        match self {
            Charset::Binary | Charset::Ascii | Charset::Latin1 => 1,
            Charset::Utf8mb3 => 3,
            Charset::Utf8mb4 => 4,
        }
    }

    /// Either of the UTF-8 sets.
    pub fn is_unicode(self) -> bool {
        matches!(self, Charset::Utf8mb3 | Charset::Utf8mb4)
    }

    /// Every byte is a character.
    pub fn is_single_byte(self) -> bool {
        self.char_bytes_max() == 1
    }

    /// The first character of `text`; `None` when it is empty.
    pub fn decode(self, text: &[u8]) -> Option<Symbol> {
        let &first = text.first()?;
        let single = |code| Some(Symbol { code, length: 1 });
        match self {
            Charset::Utf8mb3 | Charset::Utf8mb4 => Some(decode_utf8(text, self.char_bytes_max())),
            Charset::Latin1 => single(u32::from(latin1_to_unicode(first))),
            Charset::Ascii if first >= 0x80 => single(INVALID_BYTE_BASE + u32::from(first)),
            Charset::Ascii | Charset::Binary => single(u32::from(first)),
        }
    }

    /// The text's characters one after the other; an invalid byte counts as one.
    pub fn symbols(self, text: &[u8]) -> Symbols<'_> {
        Symbols { charset: self, rest: text }
    }

    /// How many symbols the text has; an invalid byte counts as one.
    pub fn char_count(self, text: &[u8]) -> usize {
        if self.is_single_byte() || text.is_ascii() {
            return text.len();
        }
        self.symbols(text).count()
    }

    /// Where the `count`-th character (from zero) begins; the length of the text when it has no more than that.
    pub fn offset_of_char(self, text: &[u8], count: usize) -> usize {
        let head = &text[..count.min(text.len())];
        if self.is_single_byte() || head.is_ascii() {
            return head.len();
        }
        self.symbols(text).take(count).map(|symbol| usize::from(symbol.length)).sum()
    }

    /// The characters from `start` on, at most `count` of them.
    pub fn substring(self, text: &[u8], start: usize, count: usize) -> &[u8] {
        let rest = &text[self.offset_of_char(text, start)..];
        &rest[..self.offset_of_char(rest, count)]
    }

    /// How many bytes from the start are well formed.
    pub fn well_formed_length(self, text: &[u8]) -> usize {
        match self {
            Charset::Binary | Charset::Latin1 => text.len(),
            Charset::Utf8mb4 => match std::str::from_utf8(text) {
                Ok(_) => text.len(),
                Err(error) => error.valid_up_to(),
            },
            Charset::Ascii | Charset::Utf8mb3 => {
                if text.is_ascii() {
                    return text.len();
                }
                let valid = self.symbols(text).take_while(|symbol| symbol.is_valid());
                valid.map(|symbol| usize::from(symbol.length)).sum()
            }
        }
    }

    /// No byte of the text is invalid in this set.
    pub fn is_well_formed(self, text: &[u8]) -> bool {
        self.well_formed_length(text) == text.len()
    }

    /// Appends the character of this code point; `false` (and nothing appended) when the set does not have it.
    pub fn encode(self, code: u32, out: &mut Vec<u8>) -> bool {
        match self {
            Charset::Utf8mb3 | Charset::Utf8mb4 => match char::from_u32(code) {
                Some(character) if self == Charset::Utf8mb4 || code <= 0xFFFF => {
                    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    true
                }
                _ => false,
            },
            Charset::Ascii | Charset::Binary => {
                let known = if self == Charset::Ascii { code < 0x80 } else { code < 0x100 };
                if known {
                    out.push(code as u8);
                }
                known
            }
            Charset::Latin1 => match unicode_to_latin1(code) {
                Some(byte) => {
                    out.push(byte);
                    true
                }
                None => false,
            },
        }
    }

    /// The text in another character set. To and from binary the bytes stay as they are; otherwise a character
    /// that the target does not have becomes `?`.
    pub fn convert<'a>(text: &'a [u8], from: Charset, to: Charset) -> Conversion<'a> {
        let borrowed = |malformed| Conversion { bytes: Cow::Borrowed(text), lossy: false, malformed };
        if to == Charset::Binary || text.is_ascii() {
            return borrowed(false);
        }
        if from == Charset::Binary || from == to || (from == Charset::Utf8mb3 && to == Charset::Utf8mb4) {
            let well_formed = to.is_well_formed(text);
            if well_formed || from == Charset::Binary {
                return borrowed(!well_formed);
            }
        }
        let mut conversion = Conversion { bytes: Cow::Borrowed(&[]), lossy: false, malformed: false };
        let mut bytes = Vec::with_capacity(text.len() + text.len() / 2);
        for symbol in from.symbols(text) {
            if !symbol.is_valid() {
                conversion.malformed = true;
                bytes.push(b'?');
            } else if !to.encode(symbol.code, &mut bytes) {
                conversion.lossy = true;
                bytes.push(b'?');
            }
        }
        conversion.bytes = Cow::Owned(bytes);
        conversion
    }
}

/// The characters of a text in order.
#[derive(Clone, Debug)]
pub struct Symbols<'a> {
    charset: Charset,
    rest: &'a [u8],
}

impl<'a> Symbols<'a> {
    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl Iterator for Symbols<'_> {
    type Item = Symbol;

    #[inline]
    fn next(&mut self) -> Option<Symbol> {
        let symbol = self.charset.decode(self.rest)?;
        self.rest = &self.rest[usize::from(symbol.length)..];
        Some(symbol)
    }
}

/// The first character of non-empty UTF-8 text whose characters may take `bytes_max` bytes. Overlong forms,
/// surrogates and truncated characters are invalid bytes.
#[inline]
pub(crate) fn decode_utf8(text: &[u8], bytes_max: usize) -> Symbol {
    let Some(&first) = text.first() else {
        return Symbol { code: INVALID_BYTE_BASE, length: 0 };
    };
    if first < 0x80 {
        return Symbol { code: u32::from(first), length: 1 };
    }
    decode_utf8_multibyte(first, text, bytes_max)
        .unwrap_or(Symbol { code: INVALID_BYTE_BASE + u32::from(first), length: 1 })
}

fn decode_utf8_multibyte(first: u8, text: &[u8], bytes_max: usize) -> Option<Symbol> {
    let (length, head, code_min) = match first {
        0xC2..=0xDF => (2, first & 0x1F, 0x80),
        0xE0..=0xEF => (3, first & 0x0F, 0x800),
        0xF0..=0xF4 => (4, first & 0x07, 0x1_0000),
        _ => return None,
    };
    if length > bytes_max {
        return None;
    }
    let mut code = u32::from(head);
    for &byte in text.get(1..length)? {
        if byte & 0xC0 != 0x80 {
            return None;
        }
        code = code << 6 | u32::from(byte & 0x3F);
    }
    let valid = code >= code_min && char::from_u32(code).is_some();
    valid.then_some(Symbol { code, length: length as u8 })
}

/// Code points of the bytes 0x80 to 0x9F of code page 1252.
const LATIN1_C1: [u16; 32] = [
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152,
    0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122,
    0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
];

pub(crate) fn latin1_to_unicode(byte: u8) -> u16 {
    match byte {
        0x80..=0x9F => LATIN1_C1[usize::from(byte - 0x80)],
        _ => u16::from(byte),
    }
}

pub(crate) fn unicode_to_latin1(code: u32) -> Option<u8> {
    match code {
        0..=0x7F | 0xA0..=0xFF => Some(code as u8),
        _ => LATIN1_C1.iter().position(|&known| u32::from(known) == code).map(|position| 0x80 + position as u8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn latin1_is_code_page_1252() {
        let euro = Charset::convert("5€ ÿ".as_bytes(), Charset::Utf8mb4, Charset::Latin1);
        assert_eq!((euro.bytes.as_ref(), euro.is_exact()), (&b"5\x80 \xFF"[..], true));
        for byte in 0..=255u8 {
            assert_eq!(unicode_to_latin1(u32::from(latin1_to_unicode(byte))), Some(byte));
        }
    }

    #[test]
    fn characters_the_target_lacks_become_question_marks() {
        let lossy = Charset::convert("aж😀".as_bytes(), Charset::Utf8mb4, Charset::Latin1);
        assert_eq!((lossy.bytes.as_ref(), lossy.lossy, lossy.malformed), (&b"a??"[..], true, false));
        let narrow = Charset::convert("ж😀".as_bytes(), Charset::Utf8mb4, Charset::Utf8mb3);
        assert_eq!((narrow.bytes.as_ref(), narrow.lossy), ("ж?".as_bytes(), true));
        let broken = Charset::convert(b"a\xFFb", Charset::Utf8mb4, Charset::Latin1);
        assert_eq!((broken.bytes.as_ref(), broken.malformed), (&b"a?b"[..], true));
        let raw = Charset::convert(b"a\xFFb", Charset::Binary, Charset::Utf8mb4);
        assert_eq!((raw.bytes.as_ref(), raw.malformed), (&b"a\xFFb"[..], true));
    }

    #[test]
    fn supplementary_characters_are_four_bad_bytes_in_utf8mb3() {
        assert_eq!(Charset::Utf8mb3.char_count("a😀".as_bytes()), 5);
        assert_eq!(Charset::Utf8mb4.char_count("a😀".as_bytes()), 2);
        assert_eq!(Charset::Utf8mb3.well_formed_length("aé😀".as_bytes()), 3);
    }

    #[test]
    fn substrings_count_characters_not_bytes() {
        let text = "äöü€".as_bytes();
        assert_eq!(Charset::Utf8mb4.substring(text, 1, 2), "öü".as_bytes());
        assert_eq!(Charset::Utf8mb4.substring(text, 3, 100), "€".as_bytes());
        assert_eq!(Charset::Utf8mb4.substring(text, 100, 1), b"");
    }

    #[test]
    fn unknown_and_unsupported_sets_have_different_errors() {
        assert_eq!(Charset::resolve("klingon").unwrap_err().errno(), 1115);
        assert_eq!(Charset::resolve("SJIS").unwrap_err().errno(), 1235);
        assert_eq!(Charset::resolve("utf8").unwrap(), Charset::Utf8mb3);
    }

    proptest! {
        #[test]
        fn the_decoder_agrees_with_the_standard_library(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let valid = std::str::from_utf8(&bytes).is_ok();
            let ours = Charset::Utf8mb4.symbols(&bytes).all(|symbol| symbol.is_valid());
            prop_assert_eq!(valid, ours);
            let total: usize = Charset::Utf8mb4.symbols(&bytes).map(|symbol| usize::from(symbol.length)).sum();
            prop_assert_eq!(total, bytes.len());
            prop_assert_eq!(Charset::Utf8mb4.char_count(&bytes), Charset::Utf8mb4.symbols(&bytes).count());
        }

        #[test]
        fn well_formed_text_is_decoded_as_its_characters(text in ".{0,30}") {
            let codes: Vec<u32> = Charset::Utf8mb4.symbols(text.as_bytes()).map(|symbol| symbol.code).collect();
            let expected: Vec<u32> = text.chars().map(u32::from).collect();
            prop_assert_eq!(codes, expected);
        }
    }
}
