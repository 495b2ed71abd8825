//! Options of tables and partitions.

use super::{Parser, Result};
use crate::ast::{OptionValue, TableOption};
use crate::lexer::TokenKind;

/// Options that are kept by name.
#[rustfmt::skip]
const OTHER_OPTIONS: &[&str] = &[
    "CHECKSUM", "TABLE_CHECKSUM", "COMPRESSION", "CONNECTION", "DELAY_KEY_WRITE", "ENCRYPTION", "ENGINE_ATTRIBUTE",
    "SECONDARY_ENGINE_ATTRIBUTE", "INSERT_METHOD", "PACK_KEYS", "PASSWORD", "STATS_AUTO_RECALC", "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES", "AUTOEXTEND_SIZE", "NODEGROUP",
];

impl Parser<'_> {
    /// Options of CREATE TABLE, with or without commas between them.
    pub(super) fn table_options(&mut self) -> Result<Vec<TableOption>> {
        let mut options = Vec::new();
        while let Some(option) = self.optional_table_option()? {
            options.push(option);
            self.eat_kind(TokenKind::Comma);
        }
        Ok(options)
    }

    pub(super) fn optional_table_option(&mut self) -> Result<Option<TableOption>> {
        let upper = self.upper();
        let option = match upper.as_str() {
            "ENGINE" => TableOption::Engine(self.option_name()?),
            "STORAGE" => {
                self.advance();
                // Partition definitions may say STORAGE ENGINE.
                if self.at("ENGINE") {
                    TableOption::Engine(self.option_name()?)
                } else {
                    TableOption::Storage(self.storage_medium()?)
                }
            }
            "SECONDARY_ENGINE" => {
                self.advance();
                self.optional_equal();
                let name = if self.eat("NULL") { None } else { Some(self.ident_or_string()?.value) };
                TableOption::SecondaryEngine(name)
            }
            "AUTO_INCREMENT" => TableOption::AutoIncrement(self.option_integer()?),
            "MAX_ROWS" => TableOption::MaxRows(self.option_integer()?),
            "MIN_ROWS" => TableOption::MinRows(self.option_integer()?),
            "AVG_ROW_LENGTH" => TableOption::AverageRowLength(self.option_integer()?),
            "KEY_BLOCK_SIZE" => TableOption::KeyBlockSize(self.option_integer()?),
            "COMMENT" => {
                self.advance();
                self.optional_equal();
                TableOption::Comment(self.string()?)
            }
            "ROW_FORMAT" => {
                self.advance();
                self.optional_equal();
                TableOption::RowFormat(self.any_word()?)
            }
            "TABLESPACE" => {
                self.advance();
                self.optional_equal();
                TableOption::Tablespace(self.ident_or_string()?)
            }
            "UNION" => {
                self.advance();
                self.optional_equal();
                let tables = if self.peek(1).kind == TokenKind::RightParen {
                    self.advance();
                    self.advance();
                    Vec::new()
                } else {
                    self.paren_list(Self::object_name)?
                };
                TableOption::Union(tables)
            }
            "START" => {
                self.expect_all(&["START", "TRANSACTION"])?;
                TableOption::StartTransaction
            }
            "DEFAULT" | "CHARACTER" | "CHAR" | "CHARSET" | "COLLATE" => return self.charset_option().map(Some),
            "DATA" | "INDEX" => {
                self.advance();
                self.expect("DIRECTORY")?;
                let name = format!("{} DIRECTORY", upper.as_str());
                self.optional_equal();
                let value = OptionValue::Text(self.string()?);
                TableOption::Other { name, value }
            }
            word if OTHER_OPTIONS.contains(&word) => {
                let name = self.any_word()?;
                self.optional_equal();
                let value = self.option_value()?;
                TableOption::Other { name, value }
            }
            _ => return Ok(None),
        };
        Ok(Some(option))
    }

    /// `[DEFAULT] CHARACTER SET [=] name` or `[DEFAULT] COLLATE [=] name`.
    fn charset_option(&mut self) -> Result<TableOption> {
        self.eat("DEFAULT");
        if self.eat("COLLATE") {
            self.optional_equal();
            return Ok(TableOption::Collate(self.collation_name()?));
        }
        if !self.eat("CHARSET") {
            self.expect_any(&["CHARACTER", "CHAR"])?;
            self.expect("SET")?;
        }
        self.optional_equal();
        if self.eat("DEFAULT") {
            return Ok(TableOption::Charset("default".to_owned()));
        }
        Ok(TableOption::Charset(self.charset_name()?))
    }

    /// `OPTION [=] name`.
    fn option_name(&mut self) -> Result<String> {
        self.advance();
        self.optional_equal();
        Ok(self.ident_or_string()?.value)
    }

    /// `OPTION [=] integer`.
    fn option_integer(&mut self) -> Result<u64> {
        self.advance();
        self.optional_equal();
        self.size()
    }

    /// The value of an option that is kept by name.
    pub(super) fn option_value(&mut self) -> Result<OptionValue> {
        match self.token.kind {
            TokenKind::Integer | TokenKind::HexNumber => self.integer().map(OptionValue::Integer),
            TokenKind::Decimal => {
                let token = self.advance();
                Ok(OptionValue::Decimal(String::from_utf8_lossy(self.bytes_of(&token)).into_owned()))
            }
            TokenKind::Word if self.bytes_of(&self.token)[0].is_ascii_digit() => {
                self.size().map(OptionValue::Integer)
            }
            TokenKind::Word => self.any_word().map(OptionValue::Word),
            _ => self.string().map(OptionValue::Text),
        }
    }

    /// An integer, or one with a K, M, G or T behind it.
    pub(super) fn size(&mut self) -> Result<u64> {
        if self.token.kind != TokenKind::Word {
            return self.integer();
        }
        let text = self.bytes_of(&self.token);
        let (digits, unit) = text.split_at(text.len() - 1);
        let shift = match unit {
            b"k" | b"K" => 10,
            b"m" | b"M" => 20,
            b"g" | b"G" => 30,
            b"t" | b"T" => 40,
            _ => return Err(self.unexpected()),
        };
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u64>().ok());
        let size = number.and_then(|number| number.checked_mul(1 << shift)).ok_or_else(|| self.unexpected())?;
        self.advance();
        Ok(size)
    }
}
