//! What the collations say of character sets: which of them there are, and which collations are theirs.

use super::Collation;
use super::catalogue::CATALOGUE;
use crate::charset::Charset;
use crate::{Error, ErrorCode, Result};

impl Charset {
    /// Like [`Charset::by_name`] with the error a client gets: 1115 for a name MySQL does not know, 1235 for a set
    /// of MySQL's that is not supported.
    pub fn resolve(name: &str) -> Result<Charset> {
        Charset::by_name(name).ok_or_else(|| {
            if is_mysql_charset(name) {
                Error::unsupported(format!("character set {}", name.to_ascii_lowercase()))
            } else {
                Error::new(ErrorCode::UnknownCharacterSet, format!("Unknown character set: '{name}'"))
            }
        })
    }

    /// The collation of columns that name this character set and no collation.
    pub fn default_collation(self) -> Collation {
        match self {
            Charset::Binary => Collation::BINARY,
            Charset::Ascii => Collation::ASCII_GENERAL_CI,
            Charset::Latin1 => Collation::LATIN1_SWEDISH_CI,
            Charset::Utf8mb3 => Collation::UTF8MB3_GENERAL_CI,
            Charset::Utf8mb4 => Collation::UTF8MB4_0900_AI_CI,
        }
    }

    /// The set's code point order, which mixes of collations fall back to.
    pub fn bin_collation(self) -> Collation {
        match self {
            Charset::Binary => Collation::BINARY,
            Charset::Ascii => Collation::ASCII_BIN,
            Charset::Latin1 => Collation::LATIN1_BIN,
            Charset::Utf8mb3 => Collation::UTF8MB3_BIN,
            Charset::Utf8mb4 => Collation::UTF8MB4_BIN,
        }
    }
}

/// Whether MySQL has a character set of this name.
fn is_mysql_charset(name: &str) -> bool {
    CATALOGUE.iter().any(|entry| entry.charset.eq_ignore_ascii_case(name))
}
