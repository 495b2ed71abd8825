//! The weights of one version of the Unicode Collation Algorithm, read in place from its binary table
//! (`data/gen/make_tables.py` describes the format).

use crate::charset::{INVALID_BYTE_BASE, Symbol, decode_utf8};

/// The longest sequence of collation elements of one character.
pub(super) const ELEMENTS_MAX: usize = 8;

const HEADER_BYTES: usize = 32;
const INDEX_BYTES: usize = 0x11_0000 >> 8;
const PAGE_BYTES: usize = 512;
const IMPLICIT: u16 = 0xFFFF;

/// The weight of every supplementary character of UCA 4.0.0, and of U+FFFD.
const REPLACEMENT_WEIGHT: u16 = 0xFFFD;

/// Weights of characters that the table does not list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// Supplementary characters have one weight.
    Uca400,
    Uca520,
    /// Hangul syllables are decomposed; Tangut and the ideographs of all extensions have ranges of their own.
    Uca900,
}

pub(super) struct UcaTable {
    bytes: &'static [u8],
    version: Version,
    /// Key codes of the ASCII characters (always one byte), 0 for ignorable ones.
    pub ascii_codes: [u8; 128],
    /// Primary weights of the ASCII characters, 0 for ignorable ones.
    pub ascii_weights: [u16; 128],
    /// Secondary (less 0x1F) and tertiary weights of the ASCII characters. UCA 9.0.0 only.
    pub ascii_secondaries: [u8; 128],
    pub ascii_tertiaries: [u8; 128],
    /// First key bytes that are the whole code of a weight.
    single: [bool; 256],
    leads_length: usize,
    leads_at: usize,
    index_at: usize,
    pages_at: usize,
    expansions_at: usize,
    variant_index_at: usize,
    variant_pages_at: usize,
    variants_at: usize,
}

pub(super) static UCA_400: UcaTable = UcaTable::new(include_bytes!("../../data/uca-4.0.0.bin"), Version::Uca400);
pub(super) static UCA_520: UcaTable = UcaTable::new(include_bytes!("../../data/uca-5.2.0.bin"), Version::Uca520);
pub(super) static UCA_900: UcaTable = UcaTable::new(include_bytes!("../../data/uca-9.0.0.bin"), Version::Uca900);

/// The primary weights of one character, in a fixed space.
#[derive(Clone, Copy)]
pub(super) struct Weights {
    weights: [u16; ELEMENTS_MAX],
    count: u8,
}

impl Weights {
    const NONE: Weights = Weights { weights: [0; ELEMENTS_MAX], count: 0 };

    fn push(&mut self, weight: u16) {
        if let Some(slot) = self.weights.get_mut(usize::from(self.count)) {
            *slot = weight;
            self.count += 1;
        }
    }

    #[inline]
    pub fn as_slice(&self) -> &[u16] {
        &self.weights[..usize::from(self.count)]
    }
}

/// Secondary (less 0x1F) and tertiary weight of a collation element; 0 means that it has none.
pub(super) type Variant = (u8, u8);

impl UcaTable {
    const fn new(bytes: &'static [u8], version: Version) -> UcaTable {
        let page_count = header_word(bytes, 0);
        let expansion_words = header_word(bytes, 1);
        let variant_page_count = header_word(bytes, 2);
        let leads_length = header_word(bytes, 4);
        let leads_at = HEADER_BYTES + 128;
        let index_at = leads_at + leads_length;
        let pages_at = index_at + INDEX_BYTES;
        let expansions_at = pages_at + page_count * PAGE_BYTES;
        let variant_index_at = expansions_at + expansion_words * 2;
        let variant_pages_at = variant_index_at + INDEX_BYTES;
        let variants_at = variant_pages_at + variant_page_count * PAGE_BYTES;
        let mut table = UcaTable {
            bytes,
            version,
            ascii_codes: [0; 128],
            ascii_weights: [0; 128],
            ascii_secondaries: [0; 128],
            ascii_tertiaries: [0; 128],
            single: [false; 256],
            leads_length,
            leads_at,
            index_at,
            pages_at,
            expansions_at,
            variant_index_at,
            variant_pages_at,
            variants_at,
        };
        let first_page = pages_at + bytes[index_at] as usize * PAGE_BYTES;
        let mut code = 0;
        while code < 128 {
            let lead = bytes[HEADER_BYTES + code];
            table.ascii_codes[code] = lead;
            table.ascii_weights[code] = word_at(bytes, first_page + code * 2);
            table.single[lead as usize] = true;
            if variant_page_count > 0 {
                let page = variant_pages_at + bytes[variant_index_at] as usize * PAGE_BYTES;
                let at = variants_at + word_at(bytes, page + code * 2) as usize;
                table.ascii_secondaries[code] = bytes[at + 1];
                table.ascii_tertiaries[code] = bytes[at + 2];
            }
            code += 1;
        }
        table
    }

    /// The weight of the space, with which PAD SPACE goes on.
    pub fn space_weight(&self) -> u16 {
        self.ascii_weights[usize::from(b' ')]
    }

    pub fn space_code(&self) -> u8 {
        self.ascii_codes[usize::from(b' ')]
    }

    fn entry(&self, index_at: usize, pages_at: usize, code: u32) -> u16 {
        let page = usize::from(self.bytes[index_at + (code >> 8) as usize]);
        word_at(self.bytes, pages_at + page * PAGE_BYTES + (code & 0xFF) as usize * 2)
    }

    /// The primary weights of a code point below 0x110000; none for an ignorable character.
    #[inline]
    pub fn primaries(&self, code: u32) -> Weights {
        let mut weights = Weights::NONE;
        match self.entry(self.index_at, self.pages_at, code) {
            0 => {}
            entry @ 1..=0x7FFF => weights.push(entry),
            IMPLICIT => self.push_implicit(code, &mut weights),
            entry => {
                let at = self.expansions_at + usize::from(entry & 0x7FFF) * 2;
                for position in 1..=usize::from(word_at(self.bytes, at)) {
                    weights.push(word_at(self.bytes, at + position * 2));
                }
            }
        }
        weights
    }

    #[cold]
    fn push_implicit(&self, code: u32, weights: &mut Weights) {
        match self.version {
            Version::Uca400 if code > 0xFFFF => return weights.push(REPLACEMENT_WEIGHT),
            Version::Uca900 => {
                if let Some(jamos) = decompose_hangul(code) {
                    for jamo in jamos.into_iter().filter(|&jamo| jamo != 0) {
                        weights.push(self.entry(self.index_at, self.pages_at, jamo));
                    }
                    return;
                }
                if (0x1_7000..=0x1_8AFF).contains(&code) {
                    weights.push(0xFB00);
                    return weights.push((code - 0x1_7000) as u16 | 0x8000);
                }
            }
            _ => {}
        }
        let base = match code {
            0x3400..=0x4DB5 => 0xFB80,
            0x4E00..=0x9FA5 => 0xFB40,
            0x9FA6..=0x9FD5 | 0xFA0E..=0xFA29 if self.version == Version::Uca900 => 0xFB40,
            0x2_0000..=0x2_A6D6 | 0x2_A700..=0x2_B734 | 0x2_B740..=0x2_B81D | 0x2_B820..=0x2_CEA1
                if self.version == Version::Uca900 =>
            {
                0xFB80
            }
            _ => 0xFBC0,
        };
        weights.push(base + (code >> 15) as u16);
        weights.push((code & 0x7FFF) as u16 | 0x8000);
    }

    /// The secondary and tertiary weights of a code point, element by element. UCA 9.0.0 only.
    pub fn for_each_variant(&self, code: u32, mut visit: impl FnMut(Variant)) {
        let code = match decompose_hangul(code) {
            Some([leading, vowel, trailing]) => {
                visit(self.variant(leading));
                visit(self.variant(vowel));
                match trailing {
                    0 => return,
                    trailing => trailing,
                }
            }
            None => code,
        };
        match self.entry(self.variant_index_at, self.variant_pages_at, code) {
            IMPLICIT => visit((1, 2)),
            offset => {
                let at = self.variants_at + usize::from(offset);
                for element in 0..usize::from(self.bytes[at]) {
                    visit((self.bytes[at + 1 + element * 2], self.bytes[at + 2 + element * 2]));
                }
            }
        }
    }

    /// The first element's variant.
    fn variant(&self, code: u32) -> Variant {
        let at = self.variants_at + usize::from(self.entry(self.variant_index_at, self.variant_pages_at, code));
        (self.bytes[at + 1], self.bytes[at + 2])
    }

    /// Appends the key codes of primary weights that begin and end with a character.
    #[inline]
    pub fn append_codes(&self, weights: &[u16], out: &mut Vec<u8>) {
        let mut weights = weights.iter();
        while let Some(&weight) = weights.next() {
            if usize::from(weight) < self.leads_length {
                let lead = self.bytes[self.leads_at + usize::from(weight)];
                out.push(lead);
                if !self.single[usize::from(lead)] {
                    out.push(weight as u8);
                }
                continue;
            }
            match weight {
                0xFB00..=0xFB3F => out.extend_from_slice(&[lead::TANGUT, weight as u8]),
                0xFB40 => out.push(lead::CORE_HAN),
                0xFB41 => out.push(lead::CORE_HAN_UPPER),
                0xFB80 => out.push(lead::EXTENDED_HAN),
                0xFB42..=0xFBFF => out.extend_from_slice(&[lead::OTHER_IMPLICIT, weight as u8]),
                _ => {
                    out.push(lead::REPLACEMENT);
                    continue;
                }
            }
            let second = weights.next().copied().unwrap_or(0);
            out.extend_from_slice(&second.to_be_bytes());
        }
    }
}

/// First key bytes above those of the listed weights; the order of the weights is the order of the bytes.
pub(super) mod lead {
    pub const TANGUT: u8 = 0xF8;
    pub const CORE_HAN: u8 = 0xF9;
    pub const CORE_HAN_UPPER: u8 = 0xFA;
    pub const EXTENDED_HAN: u8 = 0xFB;
    pub const OTHER_IMPLICIT: u8 = 0xFC;
    pub const REPLACEMENT: u8 = 0xFD;
    /// A byte that is no part of a character; the byte follows.
    pub const INVALID: u8 = 0xFF;
}

/// Leading, vowel and trailing (or 0) letter of a Hangul syllable, in the range that MySQL decomposes.
fn decompose_hangul(code: u32) -> Option<[u32; 3]> {
    if !(0xAC00..=0xD7AF).contains(&code) {
        return None;
    }
    let syllable = code - 0xAC00;
    let trailing = syllable % 28;
    let trailing = if trailing == 0 { 0 } else { 0x11A7 + trailing };
    Some([0x1100 + syllable / 588, 0x1161 + syllable % 588 / 28, trailing])
}

const fn header_word(bytes: &[u8], position: usize) -> usize {
    let at = position * 4;
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
}

#[inline]
const fn word_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The primary weights of a text one by one. An invalid byte is a weight above all others.
pub(super) struct Primaries<'a> {
    table: &'static UcaTable,
    bytes_max: usize,
    rest: &'a [u8],
    pending: Weights,
    next: u8,
}

impl<'a> Primaries<'a> {
    pub fn new(table: &'static UcaTable, bytes_max: usize, text: &'a [u8]) -> Primaries<'a> {
        Primaries { table, bytes_max, rest: text, pending: Weights::NONE, next: 0 }
    }
}

impl Iterator for Primaries<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            if self.next < self.pending.count {
                self.next += 1;
                return Some(u32::from(self.pending.weights[usize::from(self.next - 1)]));
            }
            let &first = self.rest.first()?;
            if first < 0x80 {
                self.rest = &self.rest[1..];
                match self.table.ascii_weights[usize::from(first)] {
                    0 => continue,
                    weight => return Some(u32::from(weight)),
                }
            }
            let Symbol { code, length } = decode_utf8(self.rest, self.bytes_max);
            self.rest = &self.rest[usize::from(length)..];
            if code >= INVALID_BYTE_BASE {
                return Some(code);
            }
            self.pending = self.table.primaries(code);
            self.next = 0;
        }
    }
}
