//! sql_mode: a set of words.

use shoal_types::{Error, ErrorCode, Result};

/// The words in MySQL's order; a mode's bit is its position.
const WORDS: &[&str] = &[
    "REAL_AS_FLOAT",
    "PIPES_AS_CONCAT",
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "ONLY_FULL_GROUP_BY",
    "NO_UNSIGNED_SUBTRACTION",
    "NO_DIR_IN_CREATE",
    "ANSI",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ALLOW_INVALID_DATES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "TRADITIONAL",
    "HIGH_NOT_PRECEDENCE",
    "NO_ENGINE_SUBSTITUTION",
    "PAD_CHAR_TO_FULL_LENGTH",
    "TIME_TRUNCATE_FRACTIONAL",
];

/// Words of older versions that dumps still set; they mean nothing.
const FORGOTTEN: &[&str] = &[
    "NO_AUTO_CREATE_USER",
    "NO_FIELD_OPTIONS",
    "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS",
    "MYSQL323",
    "MYSQL40",
    "POSTGRESQL",
    "ORACLE",
    "MSSQL",
    "DB2",
    "MAXDB",
];

const ANSI_PARTS: &[&str] =
    &["REAL_AS_FLOAT", "PIPES_AS_CONCAT", "ANSI_QUOTES", "IGNORE_SPACE", "ONLY_FULL_GROUP_BY"];
const TRADITIONAL_PARTS: &[&str] = &[
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "NO_ENGINE_SUBSTITUTION",
];

/// A set of modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlModes(u32);

impl Default for SqlModes {
    /// MySQL 8.4's default.
    fn default() -> SqlModes {
        let default = [
            "ONLY_FULL_GROUP_BY",
            "STRICT_TRANS_TABLES",
            "NO_ZERO_IN_DATE",
            "NO_ZERO_DATE",
            "ERROR_FOR_DIVISION_BY_ZERO",
            "NO_ENGINE_SUBSTITUTION",
        ];
        SqlModes(default.iter().fold(0, |bits, word| bits | bit(word)))
    }
}

fn bit(word: &str) -> u32 {
    WORDS.iter().position(|known| *known == word).map_or(0, |position| 1 << position)
}

impl SqlModes {
    /// From comma-separated words, or the number of their bits. Errors: 1231.
    pub fn parse(text: &str) -> Result<SqlModes> {
        if let Ok(bits) = text.parse::<u32>() {
            return Ok(SqlModes(bits & ((1 << WORDS.len()) - 1)));
        }
        let mut bits = 0;
        for word in text.split(',').map(|word| word.trim().to_ascii_uppercase()).filter(|word| !word.is_empty()) {
            match bit(&word) {
                0 if FORGOTTEN.contains(&word.as_str()) => {}
                0 => {
                    let message = format!("Variable 'sql_mode' can't be set to the value of '{word}'");
                    return Err(Error::new(ErrorCode::WrongValueForVar, message));
                }
                found => bits |= found,
            }
            let parts = match word.as_str() {
                "ANSI" => ANSI_PARTS,
                "TRADITIONAL" => TRADITIONAL_PARTS,
                _ => &[],
            };
            bits |= parts.iter().fold(0, |bits, part| bits | bit(part));
        }
        Ok(SqlModes(bits))
    }

    pub fn has(self, word: &str) -> bool {
        self.0 & bit(word) != 0
    }

    pub fn text(self) -> String {
        let chosen = WORDS.iter().enumerate().filter(|(position, _)| self.0 & (1 << position) != 0);
        chosen.map(|(_, word)| *word).collect::<Vec<_>>().join(",")
    }

    /// The part that evaluation reads.
    pub fn for_evaluation(self) -> shoal_expr::SqlMode {
        shoal_expr::SqlMode {
            strict: self.has("STRICT_TRANS_TABLES") || self.has("STRICT_ALL_TABLES"),
            error_for_division_by_zero: self.has("ERROR_FOR_DIVISION_BY_ZERO"),
            no_zero_date: self.has("NO_ZERO_DATE"),
            no_zero_in_date: self.has("NO_ZERO_IN_DATE"),
            allow_invalid_dates: self.has("ALLOW_INVALID_DATES"),
            no_unsigned_subtraction: self.has("NO_UNSIGNED_SUBTRACTION"),
            no_backslash_escapes: self.has("NO_BACKSLASH_ESCAPES"),
            pad_char_to_full_length: self.has("PAD_CHAR_TO_FULL_LENGTH"),
            time_truncate_fractional: self.has("TIME_TRUNCATE_FRACTIONAL"),
        }
    }

    /// The part that the parser reads.
    pub fn for_parser(self) -> shoal_parser::ParserMode {
        use shoal_parser::ParserMode;
        let modes = [
            ("ANSI_QUOTES", ParserMode::ANSI_QUOTES),
            ("PIPES_AS_CONCAT", ParserMode::PIPES_AS_CONCAT),
            ("NO_BACKSLASH_ESCAPES", ParserMode::NO_BACKSLASH_ESCAPES),
            ("IGNORE_SPACE", ParserMode::IGNORE_SPACE),
            ("HIGH_NOT_PRECEDENCE", ParserMode::HIGH_NOT_PRECEDENCE),
        ];
        modes.iter().filter(|(word, _)| self.has(word)).fold(ParserMode::NONE, |mode, (_, one)| mode.with(*one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_their_combinations_are_understood() {
        assert_eq!(
            SqlModes::parse("ansi").unwrap().text(),
            "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI"
        );
        assert_eq!(SqlModes::parse("").unwrap().text(), "");
        assert_eq!(SqlModes::parse("NO_AUTO_CREATE_USER").unwrap().text(), "");
        assert_eq!(SqlModes::parse("nonsense").unwrap_err().errno(), 1231);
        assert!(SqlModes::default().for_evaluation().strict);
    }
}
