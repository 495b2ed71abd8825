//! Collations: what is equal to what, what comes first, and the bytes that say so on disk.
//!
//! A [`Collation`] is MySQL's id and nothing else; everything about it is looked up. Three views of one order agree
//! by construction: [`Collation::compare`], the sort keys of [`Collation::append_sort_key`] (equal bytes exactly for
//! equal texts, byte order is the collation's order, also with other key parts behind), and [`Collation::hash64`].
//! The sort keys are frozen on disk and on the wire: partitions hash them and indexes are built of them. Each
//! family's module head writes its format down to the byte.
//!
//! Texts are in the collation's own character set (`Charset::convert` brings them there). Malformed bytes are
//! legal input everywhere and sort behind all characters.

mod aggregate;
mod bytes;
mod case;
mod catalogue;
mod charsets;
mod like;
mod padded;
mod search;
mod simple;
mod table;
mod uca;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::hash::Hasher;

use crate::charset::Charset;
use crate::{Error, ErrorCode, Result};

use case::{Case, CaseFamily};
use padded::PaddedKey;
use simple::ByteMap;
use table::{UCA_400, UCA_520, UCA_900, UcaTable};
use uca::Strength;

pub use aggregate::{Coercibility, StringAttributes};

/// A collation by its MySQL id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Collation(pub u16);

/// How a collation works.
#[derive(Clone, Copy)]
enum Method {
    /// Bytes as they are.
    Bytes,
    /// Bytes as they are, as if both texts went on with spaces.
    PaddedBytes,
    /// One byte of weight for each byte.
    ByteWeights(ByteMap),
    /// general_ci of UTF-8 whose characters take up to this many bytes.
    General(usize),
    /// The old UCA versions: primary weights, PAD SPACE, characters of up to this many bytes.
    PaddedUca(&'static UcaTable, usize),
    Uca900(Strength),
}

impl Collation {
    /// The default of latin1.
    pub const LATIN1_SWEDISH_CI: Collation = Collation(8);
    /// The default of ascii.
    pub const ASCII_GENERAL_CI: Collation = Collation(11);
    /// The default of utf8mb3.
    pub const UTF8MB3_GENERAL_CI: Collation = Collation(33);
    /// Simple case folding, character by character; trailing spaces do not count.
    pub const UTF8MB4_GENERAL_CI: Collation = Collation(45);
    /// By code point; trailing spaces do not count.
    pub const UTF8MB4_BIN: Collation = Collation(46);
    /// By byte; trailing spaces do not count.
    pub const LATIN1_BIN: Collation = Collation(47);
    /// Multilingual latin1, case-insensitive.
    pub const LATIN1_GENERAL_CI: Collation = Collation(48);
    /// Multilingual latin1, case-sensitive.
    pub const LATIN1_GENERAL_CS: Collation = Collation(49);
    /// Bytes: every byte counts, trailing spaces too.
    pub const BINARY: Collation = Collation(63);
    /// By byte; trailing spaces do not count.
    pub const ASCII_BIN: Collation = Collation(65);
    /// By code point; trailing spaces do not count.
    pub const UTF8MB3_BIN: Collation = Collation(83);
    /// The Unicode Collation Algorithm with the weights of UCA 4.0.0.
    pub const UTF8MB3_UNICODE_CI: Collation = Collation(192);
    /// The Unicode Collation Algorithm with the weights of UCA 5.2.0.
    pub const UTF8MB3_UNICODE_520_CI: Collation = Collation(214);
    /// The Unicode Collation Algorithm with the weights of UCA 4.0.0.
    pub const UTF8MB4_UNICODE_CI: Collation = Collation(224);
    /// The Unicode Collation Algorithm with the weights of UCA 5.2.0.
    pub const UTF8MB4_UNICODE_520_CI: Collation = Collation(246);
    /// The default of utf8mb4: UCA 9.0.0, neither accents nor case count. Trailing spaces count.
    pub const UTF8MB4_0900_AI_CI: Collation = Collation(255);
    /// UCA 9.0.0; accents and case count.
    pub const UTF8MB4_0900_AS_CS: Collation = Collation(278);
    /// UCA 9.0.0; accents count, case does not.
    pub const UTF8MB4_0900_AS_CI: Collation = Collation(305);
    /// By code point; trailing spaces count.
    pub const UTF8MB4_0900_BIN: Collation = Collation(309);

    /// Every collation that can be used, in the order of the ids (the rows of SHOW COLLATION).
    pub fn all() -> impl Iterator<Item = Collation> {
        catalogue::CATALOGUE.iter().map(|entry| Collation(entry.id)).filter(|collation| collation.is_supported())
    }

    /// The collation of this id, if it can be used.
    pub fn by_id(id: u16) -> Option<Collation> {
        Some(Collation(id)).filter(|collation| collation.is_supported())
    }

    /// The collation of this name (any case), if it can be used.
    pub fn by_name(name: &str) -> Option<Collation> {
        catalogue::entry_by_name(name).and_then(|entry| Collation::by_id(entry.id))
    }

    /// Like [`Collation::by_name`] with the error a client gets: 1273 for a name MySQL does not know, 1235 for a
    /// collation of MySQL's that is not supported.
    pub fn resolve(name: &str) -> Result<Collation> {
        match catalogue::entry_by_name(name) {
            None => Err(Error::new(ErrorCode::UnknownCollation, format!("Unknown collation: '{name}'"))),
            Some(entry) => {
                Collation::by_id(entry.id).ok_or_else(|| Error::unsupported(format!("collation {}", entry.name)))
            }
        }
    }

    /// Errors (1253) unless the collation belongs to this character set.
    pub fn check_charset(self, charset: Charset) -> Result<()> {
        if self.charset() == charset {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::CollationCharsetMismatch,
            format!("COLLATION '{}' is not valid for CHARACTER SET '{}'", self.name(), charset.name()),
        ))
    }

    /// MySQL's number of the collation, as the protocol and information_schema have it.
    pub fn id(self) -> u16 {
        self.0
    }

    /// As in SQL, such as `utf8mb4_0900_ai_ci`.
    pub fn name(self) -> &'static str {
        catalogue::entry_by_id(self.0).map_or("binary", |entry| entry.name)
    }

    /// The character set of its texts.
    #[inline]
    pub fn charset(self) -> Charset {
        match self.0 {
            5 | 8 | 15 | 47..=49 | 94 => Charset::Latin1,
            11 | 65 => Charset::Ascii,
            33 | 83 | 192 | 214 => Charset::Utf8mb3,
            45 | 46 | 224 | 246 | 255..=323 => Charset::Utf8mb4,
            _ => Charset::Binary,
        }
    }

    /// The default of its character set.
    pub fn is_default(self) -> bool {
        catalogue::entry_by_id(self.0).is_some_and(|entry| entry.is_default)
    }

    /// Texts are bytes without a character set.
    pub fn is_binary(self) -> bool {
        self == Collation::BINARY
    }

    /// A `_bin` collation, or binary: equality is equality of code points.
    pub fn is_bin(self) -> bool {
        matches!(self.0, 46 | 47 | 63 | 65 | 83 | 309)
    }

    /// Letters that differ in case alone are equal.
    pub fn is_ci(self) -> bool {
        self.name().ends_with("_ci")
    }

    /// Trailing spaces do not count (PAD SPACE); the others are NO PAD.
    #[inline]
    pub fn pad_space(self) -> bool {
        !matches!(self.0, 63 | 255..)
    }

    /// `sortlen` of SHOW COLLATION.
    pub fn sort_length(self) -> u8 {
        catalogue::entry_by_id(self.0).map_or(1, |entry| entry.sort_length)
    }

    fn is_supported(self) -> bool {
        self.method().is_some()
    }

    #[inline]
    fn method(self) -> Option<Method> {
        Some(match self.0 {
            255 => Method::Uca900(Strength::Primary),
            63 | 309 => Method::Bytes,
            46 | 47 | 65 | 83 => Method::PaddedBytes,
            45 => Method::General(4),
            8 => Method::ByteWeights(ByteMap::Latin1Swedish),
            11 => Method::ByteWeights(ByteMap::AsciiGeneral),
            5 => Method::ByteWeights(ByteMap::Latin1German1),
            15 => Method::ByteWeights(ByteMap::Latin1Danish),
            33 => Method::General(3),
            48 => Method::ByteWeights(ByteMap::Latin1General),
            49 => Method::ByteWeights(ByteMap::Latin1GeneralCaseSensitive),
            94 => Method::ByteWeights(ByteMap::Latin1Spanish),
            192 => Method::PaddedUca(&UCA_400, 3),
            214 => Method::PaddedUca(&UCA_520, 3),
            224 => Method::PaddedUca(&UCA_400, 4),
            246 => Method::PaddedUca(&UCA_520, 4),
            278 => Method::Uca900(Strength::Tertiary),
            305 => Method::Uca900(Strength::Secondary),
            _ => return None,
        })
    }

    /// The order of two texts, which are in this collation's character set.
    pub fn compare(self, left: &[u8], right: &[u8]) -> Ordering {
        match self.method() {
            Some(Method::Uca900(strength)) => uca::compare(&UCA_900, strength, left, right),
            Some(Method::PaddedBytes) => bytes::compare_padded(left, right),
            Some(Method::ByteWeights(map)) => simple::compare_bytes(map, left, right),
            Some(Method::General(bytes_max)) => simple::compare_general(bytes_max, left, right),
            Some(Method::PaddedUca(table, bytes_max)) => uca::compare_padded(table, bytes_max, left, right),
            Some(Method::Bytes) | None => left.cmp(right),
        }
    }

    /// As [`Collation::compare`] has it; texts of different bytes may be equal.
    pub fn equal(self, left: &[u8], right: &[u8]) -> bool {
        self.compare(left, right) == Ordering::Equal
    }

    /// Appends the memcomparable sort key, with its terminator, of `text` or of its first `limit` characters
    /// (bytes for binary).
    pub fn append_sort_key(self, text: &[u8], limit: Option<usize>, out: &mut Vec<u8>) {
        let text = self.head(text, limit);
        match self.method() {
            Some(Method::Uca900(strength)) => uca::append_key(&UCA_900, strength, text, out),
            Some(Method::PaddedBytes) => {
                bytes::append_padded(text, out);
                out.extend_from_slice(&bytes::PADDED_TERMINATOR);
            }
            Some(Method::Bytes) | None => {
                bytes::append_escaped(text, out);
                out.extend_from_slice(&bytes::ESCAPED_TERMINATOR);
            }
            Some(method) => method.padded_key(text, out).finish(),
        }
    }

    /// The keys of all texts that begin with `prefix` (or with something equal to it), and possibly some more, lie in
    /// `low <= key < high`. `None` as the high end is no bound. For the constant head of a LIKE pattern.
    pub fn like_prefix_range(self, prefix: &[u8]) -> (Vec<u8>, Option<Vec<u8>>) {
        let mut low = Vec::with_capacity(prefix.len() + 8);
        match self.method() {
            Some(Method::Uca900(_)) => uca::append_primaries(&UCA_900, prefix, &mut low),
            Some(Method::PaddedBytes) => bytes::append_padded_prefix(prefix, &mut low),
            Some(Method::Bytes) | None => bytes::append_escaped(prefix, &mut low),
            Some(method) => method.padded_key(prefix, &mut low).finish_prefix(),
        }
        let high = crate::bytes::successor(&low);
        (low, high)
    }

    /// Feeds equal texts to the hasher as equal bytes.
    pub fn hash(self, text: &[u8], hasher: &mut impl Hasher) {
        self.with_key(text, |key| hasher.write(key));
    }

    /// A 64-bit hash (XXH3 of the sort key): equal for equal texts.
    pub fn hash64(self, text: &[u8]) -> u64 {
        self.with_key(text, xxhash_rust::xxh3::xxh3_64)
    }

    fn with_key<T>(self, text: &[u8], use_key: impl FnOnce(&[u8]) -> T) -> T {
        thread_local! {
            static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        const KEPT_BYTES: usize = 1 << 20;
        SCRATCH.with_borrow_mut(|key| {
            key.clear();
            self.append_sort_key(text, None, key);
            let result = use_key(key);
            if key.capacity() > KEPT_BYTES {
                *key = Vec::new();
            }
            result
        })
    }

    /// The whole text, or its first `limit` characters.
    fn head(self, text: &[u8], limit: Option<usize>) -> &[u8] {
        match limit {
            None => text,
            Some(limit) => &text[..self.charset().offset_of_char(text, limit)],
        }
    }

    /// SQL's `text LIKE pattern ESCAPE escape`: character by character, trailing spaces count.
    pub fn like(self, text: &[u8], pattern: &[u8], escape: Option<char>) -> bool {
        like::like(self, text, pattern, escape)
    }

    /// The byte offset of the first occurrence of `needle` at or after byte `start` (a character boundary).
    pub fn find(self, text: &[u8], needle: &[u8], start: usize) -> Option<usize> {
        search::find(self, text, needle, start)
    }

    /// LOCATE(needle, text, position): positions count characters from 1; 0 is "not found".
    pub fn locate(self, needle: &[u8], text: &[u8], position: usize) -> usize {
        search::locate(self, needle, text, position)
    }

    /// The text in upper case, by the character set's simple mapping (one character to one character).
    pub fn to_upper(self, text: &[u8]) -> Cow<'_, [u8]> {
        case::map(self.charset(), self.case_family(), Case::Upper, text)
    }

    /// The text in lower case, by the character set's simple mapping.
    pub fn to_lower(self, text: &[u8]) -> Cow<'_, [u8]> {
        case::map(self.charset(), self.case_family(), Case::Lower, text)
    }

    fn case_family(self) -> CaseFamily {
        match self.0 {
            255.. => CaseFamily::Unicode900,
            214 | 246 => CaseFamily::Unicode520,
            _ => CaseFamily::Old,
        }
    }

    /// What WEIGHT_STRING() shows. Not the sort key: it has no terminator and does not order texts.
    pub fn weight_string(self, text: &[u8]) -> Vec<u8> {
        let charset = self.charset();
        let codes = || charset.symbols(text).map(|symbol| symbol.code);
        match self.method() {
            Some(Method::Uca900(strength)) => uca::weight_string(&UCA_900, strength, 4, text),
            Some(Method::PaddedUca(table, bytes_max)) => {
                uca::weight_string(table, Strength::Primary, bytes_max, text)
            }
            Some(Method::General(_)) => {
                codes().flat_map(|code| (simple::general_weight(code) as u16).to_be_bytes()).collect()
            }
            Some(Method::ByteWeights(map)) => text.iter().map(|&byte| map.table()[usize::from(byte)]).collect(),
            Some(Method::PaddedBytes) if charset == Charset::Utf8mb3 => {
                codes().flat_map(|code| (code as u16).to_be_bytes()).collect()
            }
            Some(Method::PaddedBytes) if charset == Charset::Utf8mb4 => {
                codes().flat_map(|code| code.to_be_bytes().into_iter().skip(1)).collect()
            }
            Some(Method::PaddedBytes | Method::Bytes) | None => text.to_vec(),
        }
    }

    /// Equality of two stretches of text of the same length in bytes, trailing spaces counting.
    fn equal_unpadded(self, left: &[u8], right: &[u8]) -> bool {
        match self.method() {
            Some(Method::PaddedUca(table, bytes_max)) => {
                uca::compare_unpadded(table, bytes_max, left, right) == Ordering::Equal
            }
            Some(Method::General(bytes_max)) => simple::equal_general_unpadded(bytes_max, left, right),
            _ => self.equal(left, right),
        }
    }

    /// Whether LIKE takes two characters for equal.
    #[inline]
    fn characters_equal(self, left: &[u8], right: &[u8]) -> bool {
        if left == right {
            return true;
        }
        if let (&[left @ 0..0x80], &[right @ 0..0x80]) = (left, right)
            && self == Collation::UTF8MB4_0900_AI_CI
        {
            return UCA_900.ascii_weights[usize::from(left)] == UCA_900.ascii_weights[usize::from(right)];
        }
        match self.method() {
            Some(Method::Uca900(strength)) => uca::compare(&UCA_900, strength, left, right) == Ordering::Equal,
            Some(Method::ByteWeights(map)) => simple::compare_bytes(map, left, right) == Ordering::Equal,
            Some(Method::General(bytes_max)) => simple::compare_general(bytes_max, left, right) == Ordering::Equal,
            // Different supplementary characters have one weight in UCA 4.0.0, but LIKE tells them apart.
            Some(Method::PaddedUca(table, bytes_max)) => {
                ((left.len() < 4 && right.len() < 4) || !std::ptr::eq(table, &UCA_400))
                    && uca::compare_unpadded(table, bytes_max, left, right) == Ordering::Equal
            }
            Some(Method::Bytes | Method::PaddedBytes) | None => false,
        }
    }
}

impl Method {
    /// Begins the key of a PAD SPACE collation other than `_bin`.
    fn padded_key<'a>(self, text: &[u8], out: &'a mut Vec<u8>) -> PaddedKey<'a> {
        out.reserve(text.len() + text.len() / 4 + 8);
        let space = match self {
            Method::PaddedUca(table, _) => table.space_code(),
            _ => bytes::SPACE,
        };
        let mut key = PaddedKey::new(space, out);
        match self {
            Method::PaddedUca(table, bytes_max) => uca::append_padded(table, bytes_max, text, &mut key),
            Method::General(bytes_max) => simple::append_general(bytes_max, text, &mut key),
            Method::ByteWeights(map) => simple::append_bytes(map, text, &mut key),
            Method::Bytes | Method::PaddedBytes | Method::Uca900(_) => {}
        }
        key
    }
}

impl Default for Collation {
    fn default() -> Collation {
        Collation::UTF8MB4_0900_AI_CI
    }
}

impl std::fmt::Display for Collation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
