//! Literals.

use super::{Parser, Result};
use crate::ast::{BinaryLiteral, Expr, Literal, LiteralValue, StringLiteral, TemporalKind};
use crate::lexer::{Token, TokenKind, bit_bytes, hex_bytes, trim_marks};

/// The character sets of MySQL 8.4: only `_name` with one of these is an introducer.
#[rustfmt::skip]
const CHARSETS: &[&str] = &[
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932", "dec8",
    "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1",
    "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32",
    "utf8", "utf8mb3", "utf8mb4",
];

impl Parser<'_> {
    /// A literal at the current token, or None when it is none. TRUE, FALSE and NULL are words and not handled here.
    #[inline(never)]
    pub(super) fn optional_literal(&mut self) -> Result<Option<Literal>> {
        let token = self.token;
        let value = match token.kind {
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => self.number(),
            TokenKind::String | TokenKind::NationalString => return self.string_literal(None).map(Some),
            TokenKind::HexNumber | TokenKind::HexString => {
                self.advance();
                LiteralValue::Hex(BinaryLiteral { bytes: self.binary_value(&token), introducer: None })
            }
            TokenKind::BitNumber | TokenKind::BitString => {
                self.advance();
                LiteralValue::Bit(BinaryLiteral { bytes: self.binary_value(&token), introducer: None })
            }
            TokenKind::Word => return self.introduced_literal(),
            _ => return Ok(None),
        };
        Ok(Some(self.literal_at(value, token.start)))
    }

    /// Gives the literal that started at byte `start` its ordinal.
    fn literal_at(&mut self, value: LiteralValue, start: u32) -> Literal {
        let found = self.literals.binary_search_by_key(&start, |literal| literal.start() as u32);
        if let Ok(index) = found {
            self.bound_literals[index] = true;
        }
        Literal { value, ordinal: found.ok().map(|index| index as u32) }
    }

    fn number(&mut self) -> LiteralValue {
        let token = self.advance();
        let text = String::from_utf8_lossy(self.bytes_of(&token)).into_owned();
        match token.kind {
            TokenKind::Float => LiteralValue::Float(text),
            TokenKind::Integer => match text.parse() {
                Ok(value) => LiteralValue::Integer(value),
                Err(_) => LiteralValue::Decimal(text),
            },
            _ => LiteralValue::Decimal(text),
        }
    }

    pub(super) fn binary_value(&self, token: &Token) -> Vec<u8> {
        let digits = trim_marks(self.source, token);
        match token.kind {
            TokenKind::HexNumber | TokenKind::HexString => hex_bytes(digits),
            _ => bit_bytes(digits),
        }
    }

    /// A string with its neighbours. When it is made of several tokens, the digest has several literals for it, so none is
    /// bound; nor is one that names its character set, as bound strings are in the connection's.
    fn string_literal(&mut self, introducer: Option<String>) -> Result<Literal> {
        let start = self.token.start;
        let national = self.token.kind == TokenKind::NationalString;
        let bindable = introducer.is_none() && !national && self.peek(1).kind != TokenKind::String;
        let value = LiteralValue::String(StringLiteral { bytes: self.string()?, introducer, national });
        if bindable {
            return Ok(self.literal_at(value, start));
        }
        Ok(Literal { value, ordinal: None })
    }

    /// `_charset` before a string, hexadecimal or bit literal.
    fn introduced_literal(&mut self) -> Result<Option<Literal>> {
        let Some(charset) = self.introducer() else {
            return Ok(None);
        };
        self.advance();
        let token = self.token;
        if token.kind == TokenKind::String {
            return self.string_literal(Some(charset)).map(Some);
        }
        self.advance();
        let binary = BinaryLiteral { bytes: self.binary_value(&token), introducer: Some(charset) };
        let value = match token.kind {
            TokenKind::HexNumber | TokenKind::HexString => LiteralValue::Hex(binary),
            _ => LiteralValue::Bit(binary),
        };
        Ok(Some(self.literal_at(value, token.start)))
    }

    /// The character set that the current word introduces, when it does.
    fn introducer(&self) -> Option<String> {
        let name = self.bytes_of(&self.token).strip_prefix(b"_")?;
        let charset = CHARSETS.iter().find(|charset| charset.as_bytes().eq_ignore_ascii_case(name))?;
        let introduces = matches!(
            self.peek(1).kind,
            TokenKind::String
                | TokenKind::HexNumber
                | TokenKind::HexString
                | TokenKind::BitNumber
                | TokenKind::BitString
        );
        introduces.then(|| (*charset).to_owned())
    }

    /// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'`, when a string follows the word.
    #[inline(never)]
    pub(super) fn optional_temporal_literal(&mut self) -> Result<Option<Expr>> {
        let kind = match self.upper().as_str() {
            "DATE" => TemporalKind::Date,
            "TIME" => TemporalKind::Time,
            "TIMESTAMP" => TemporalKind::Timestamp,
            _ => return Ok(None),
        };
        if self.peek(1).kind != TokenKind::String {
            return Ok(None);
        }
        self.advance();
        let text = self.string()?;
        Ok(Some(Expr::Temporal { kind, text }))
    }

    /// A literal where an option wants one: numbers, strings, TRUE, FALSE, NULL, with an optional sign before numbers.
    pub(super) fn literal_of_string(&mut self) -> Result<Literal> {
        if !self.at_string() {
            return Err(self.unexpected());
        }
        self.string_literal(None)
    }
}
