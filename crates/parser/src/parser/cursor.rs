//! Moving over tokens: looking, accepting, expecting; names, numbers and strings where the grammar wants one.

use super::{Parser, Result};
use crate::ast::{ColumnName, Ident, ObjectName};
use crate::lexer::{Token, TokenKind, name_text, string_bytes};
use crate::reserved::is_reserved;
use crate::{ParseError, ParseErrorKind, ParserMode};

/// A word in upper case, for dispatch by `match`. Longer words and words outside ASCII are empty: no keyword is.
pub(super) struct UpperWord {
    bytes: [u8; UpperWord::BYTES_MAX],
    length: usize,
}

impl UpperWord {
    const BYTES_MAX: usize = 40;

    fn new(word: &[u8]) -> UpperWord {
        let mut upper = UpperWord { bytes: [0; UpperWord::BYTES_MAX], length: 0 };
        if word.len() <= UpperWord::BYTES_MAX && word.is_ascii() {
            upper.length = word.len();
            upper.bytes[..word.len()].copy_from_slice(word);
            upper.bytes[..word.len()].make_ascii_uppercase();
        }
        upper
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl<'a> Parser<'a> {
    /// Moves to the next token; returns the one it leaves.
    pub(super) fn advance(&mut self) -> Token {
        let token = self.token;
        self.previous_end = token.end as usize;
        self.token = self.lexer.next();
        token
    }

    /// The `distance`-th token behind the current one.
    pub(super) fn peek(&self, distance: usize) -> Token {
        let mut lexer = self.lexer;
        let mut token = lexer.next();
        for _ in 1..distance {
            token = lexer.next();
        }
        token
    }

    pub(super) fn peek_is(&self, distance: usize, word: &str) -> bool {
        let token = self.peek(distance);
        token.kind == TokenKind::Word && self.bytes_of(&token).eq_ignore_ascii_case(word.as_bytes())
    }

    pub(super) fn bytes_of(&self, token: &Token) -> &'a [u8] {
        &self.source[token.start as usize..token.end as usize]
    }

    /// The source from `start` to the end of the last token taken, without surrounding blanks.
    pub(super) fn text_since(&self, start: usize) -> Vec<u8> {
        self.source.get(start..self.previous_end).unwrap_or_default().trim_ascii().to_vec()
    }

    pub(super) fn here(&self) -> usize {
        self.token.start as usize
    }

    pub(super) fn error_of(&self, kind: ParseErrorKind) -> ParseError {
        ParseError::new(kind, self.source, self.here())
    }

    /// A syntax error at the current token.
    pub(super) fn unexpected(&self) -> ParseError {
        self.error_of(ParseErrorKind::Syntax)
    }

    pub(super) fn at_end(&self) -> bool {
        matches!(self.token.kind, TokenKind::End | TokenKind::Semicolon)
    }

    pub(super) fn at_kind(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }

    pub(super) fn eat_kind(&mut self, kind: TokenKind) -> bool {
        let found = self.token.kind == kind;
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect_kind(&mut self, kind: TokenKind) -> Result<()> {
        if self.eat_kind(kind) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// True when the current token is the unquoted word `word`, in any case.
    pub(super) fn at(&self, word: &str) -> bool {
        self.token.kind == TokenKind::Word && self.bytes_of(&self.token).eq_ignore_ascii_case(word.as_bytes())
    }

    pub(super) fn at_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.at(word))
    }

    pub(super) fn eat(&mut self, word: &str) -> bool {
        let found = self.at(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes `first second` or nothing.
    pub(super) fn eat_pair(&mut self, first: &str, second: &str) -> bool {
        let found = self.at(first) && self.peek_is(1, second);
        if found {
            self.advance();
            self.advance();
        }
        found
    }

    pub(super) fn eat_any(&mut self, words: &[&str]) -> bool {
        let found = self.at_any(words);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.eat(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn expect_all(&mut self, words: &[&str]) -> Result<()> {
        words.iter().try_for_each(|word| self.expect(word))
    }

    pub(super) fn expect_any(&mut self, words: &[&str]) -> Result<()> {
        if self.eat_any(words) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The current word in upper case; empty for every other token.
    pub(super) fn upper(&self) -> UpperWord {
        match self.token.kind {
            TokenKind::Word => UpperWord::new(self.bytes_of(&self.token)),
            _ => UpperWord::new(b""),
        }
    }

    /// Takes a word of any kind; its text in upper case.
    pub(super) fn any_word(&mut self) -> Result<String> {
        let text = self.upper().as_str().to_owned();
        if text.is_empty() {
            return Err(self.unexpected());
        }
        self.advance();
        Ok(text)
    }

    /// True when the current token can be a name.
    pub(super) fn at_ident(&self) -> bool {
        match self.token.kind {
            TokenKind::QuotedWord => true,
            TokenKind::Word => !is_reserved(self.bytes_of(&self.token)),
            _ => false,
        }
    }

    pub(super) fn ident(&mut self) -> Result<Ident> {
        if self.at_ident() { self.take_ident() } else { Err(self.unexpected()) }
    }

    /// The current token as a name, reserved or not.
    pub(super) fn take_ident(&mut self) -> Result<Ident> {
        let token = self.token;
        if !matches!(token.kind, TokenKind::Word | TokenKind::QuotedWord) {
            return Err(self.unexpected());
        }
        let value = name_text(self.source, &token).ok_or_else(|| self.error_of(ParseErrorKind::InvalidName))?;
        self.advance();
        Ok(Ident { value, offset: token.start, quoted: token.kind == TokenKind::QuotedWord })
    }

    pub(super) fn optional_ident(&mut self) -> Result<Option<Ident>> {
        if self.at_ident() { self.take_ident().map(Some) } else { Ok(None) }
    }

    /// A name or a string, as aliases, engines and character sets allow.
    pub(super) fn ident_or_string(&mut self) -> Result<Ident> {
        let offset = self.token.start;
        if self.token.kind != TokenKind::String {
            return self.ident();
        }
        let value = String::from_utf8(self.string()?)
            .map_err(|_| ParseError::new(ParseErrorKind::InvalidName, self.source, offset as usize))?;
        Ok(Ident { value, offset, quoted: true })
    }

    /// `name` or `schema.name`; behind the dot every word is a name.
    pub(super) fn object_name(&mut self) -> Result<ObjectName> {
        // `.name` is the ODBC way to say: no schema.
        if self.eat_kind(TokenKind::Dot) {
            let name = self.take_ident()?;
            return Ok(ObjectName { schema: None, name });
        }
        let first = self.ident()?;
        if self.eat_kind(TokenKind::Dot) {
            let name = self.take_ident()?;
            return Ok(ObjectName { schema: Some(first), name });
        }
        Ok(ObjectName { schema: None, name: first })
    }

    /// `column`, `table.column` or `schema.table.column`.
    pub(super) fn column_name(&mut self) -> Result<ColumnName> {
        let first = self.ident()?;
        self.column_name_from(first)
    }

    /// What follows the first part of a column name.
    pub(super) fn column_name_from(&mut self, first: Ident) -> Result<ColumnName> {
        let mut name = ColumnName { schema: None, table: None, column: first };
        if self.eat_kind(TokenKind::Dot) {
            name.table = Some(std::mem::replace(&mut name.column, self.take_ident()?));
            if self.eat_kind(TokenKind::Dot) {
                name.schema = name.table.take();
                name.table = Some(std::mem::replace(&mut name.column, self.take_ident()?));
            }
        }
        Ok(name)
    }

    /// One or more of `item`, separated by commas.
    pub(super) fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat_kind(TokenKind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `( item, .. )`.
    pub(super) fn paren_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect_kind(TokenKind::LeftParen)?;
        let items = self.comma_list(item)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(items)
    }

    /// `(a, b, ..)` of names.
    pub(super) fn ident_list_in_parens(&mut self) -> Result<Vec<Ident>> {
        self.paren_list(Self::ident)
    }

    /// `(a, b, ..)` if there is a parenthesis.
    pub(super) fn optional_ident_list(&mut self) -> Result<Vec<Ident>> {
        if self.at_kind(TokenKind::LeftParen) { self.ident_list_in_parens() } else { Ok(Vec::new()) }
    }

    pub(super) fn at_string(&self) -> bool {
        matches!(self.token.kind, TokenKind::String | TokenKind::NationalString)
    }

    /// The bytes of a string; neighbours are joined.
    pub(super) fn string(&mut self) -> Result<Vec<u8>> {
        if !self.at_string() {
            return Err(self.unexpected());
        }
        let mut bytes = self.take_string_token().into_owned();
        while self.token.kind == TokenKind::String {
            let next = self.take_string_token();
            bytes.extend_from_slice(&next);
        }
        Ok(bytes)
    }

    pub(super) fn take_string_token(&mut self) -> std::borrow::Cow<'a, [u8]> {
        let token = self.advance();
        string_bytes(self.source, &token, !self.mode.contains(ParserMode::NO_BACKSLASH_ESCAPES))
    }

    /// A string or a hexadecimal literal, for separators.
    pub(super) fn text_or_binary(&mut self) -> Result<Vec<u8>> {
        match self.token.kind {
            TokenKind::HexNumber | TokenKind::HexString | TokenKind::BitNumber | TokenKind::BitString => {
                let token = self.advance();
                Ok(self.binary_value(&token))
            }
            _ => self.string(),
        }
    }

    /// An unsigned integer (decimal or `0x`) that fits in 64 bits.
    pub(super) fn integer(&mut self) -> Result<u64> {
        let text = std::str::from_utf8(self.bytes_of(&self.token)).unwrap_or_default();
        let value = match self.token.kind {
            TokenKind::Integer => text.parse().ok(),
            TokenKind::HexNumber => u64::from_str_radix(&text[2..], 16).ok(),
            _ => None,
        };
        let value = value.ok_or_else(|| self.unexpected())?;
        self.advance();
        Ok(value)
    }

    /// Takes an `=` if there is one.
    pub(super) fn optional_equal(&mut self) {
        self.eat_kind(TokenKind::Equal);
    }

    /// `=` or `:=`.
    pub(super) fn expect_assign(&mut self) -> Result<()> {
        if self.eat_kind(TokenKind::Assign) { Ok(()) } else { self.expect_kind(TokenKind::Equal) }
    }

    /// IF EXISTS.
    pub(super) fn if_exists(&mut self) -> Result<bool> {
        let found = self.eat("IF");
        if found {
            self.expect("EXISTS")?;
        }
        Ok(found)
    }

    /// IF NOT EXISTS.
    pub(super) fn if_not_exists(&mut self) -> Result<bool> {
        let found = self.eat("IF");
        if found {
            self.expect_all(&["NOT", "EXISTS"])?;
        }
        Ok(found)
    }

    /// The name behind `@`, or None when the current token is no user variable.
    pub(super) fn optional_user_variable(&mut self) -> Result<Option<String>> {
        match self.token.kind {
            TokenKind::AtName => {
                let name = name_text(self.source, &self.token)
                    .ok_or_else(|| self.error_of(ParseErrorKind::InvalidName))?;
                self.advance();
                Ok(Some(name))
            }
            TokenKind::At => {
                self.advance();
                let name = match self.token.kind {
                    TokenKind::QuotedWord => self.take_ident()?,
                    _ => self.ident_or_string()?,
                };
                Ok(Some(name.value))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn user_variable(&mut self) -> Result<String> {
        self.optional_user_variable()?.ok_or_else(|| self.unexpected())
    }
}
