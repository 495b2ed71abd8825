//! The scanners for single tokens.

use super::{Lexer, Token, TokenKind, is_digit, is_word};
use crate::ParserMode;

impl Lexer<'_> {
    /// A word, or one of the literals that start with a letter.
    #[inline]
    pub(super) fn word(&mut self, start: usize, first: u8) -> Token {
        if self.byte(start + 1) == b'\'' {
            match first {
                b'x' | b'X' => return self.radix_string(start, TokenKind::HexString),
                b'b' | b'B' => return self.radix_string(start, TokenKind::BitString),
                b'n' | b'N' => return self.string(start, start + 1, b'\'', TokenKind::NationalString),
                _ => {}
            }
        }
        self.plain_word(start)
    }

    #[inline]
    pub(super) fn plain_word(&mut self, start: usize) -> Token {
        let end = self.word_end(start);
        self.after_name = true;
        self.word_start = start;
        self.token(TokenKind::Word, start, end)
    }

    #[inline]
    fn word_end(&self, start: usize) -> usize {
        let rest = &self.source[start..];
        start + rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len())
    }

    /// True behind the words after which `/*+ .. */` is a hint and no comment.
    pub(super) fn last_word_takes_hint(&self) -> bool {
        let word = &self.source[self.word_start..self.word_end(self.word_start)];
        [&b"SELECT"[..], b"INSERT", b"UPDATE", b"DELETE", b"REPLACE"]
            .iter()
            .any(|keyword| word.eq_ignore_ascii_case(keyword))
    }

    /// A number, or a name that starts with digits.
    pub(super) fn number(&mut self, start: usize) -> Token {
        if self.byte(start) == b'0'
            && let Some(token) = self.radix_number(start)
        {
            return token;
        }
        let mut end = self.digits_end(start + 1);
        match self.byte(end) {
            b'.' => {
                end = self.digits_end(end + 1);
                let kind = self.exponent(&mut end);
                return self.token(kind, start, end);
            }
            b'e' | b'E' if self.exponent(&mut end) == TokenKind::Float => {
                return self.token(TokenKind::Float, start, end);
            }
            byte if is_word(byte) => return self.plain_word(start),
            _ => {}
        }
        self.token(TokenKind::Integer, start, end)
    }

    /// `0x..` and `0b..`, when nothing but digits of that radix follows.
    fn radix_number(&mut self, start: usize) -> Option<Token> {
        let (kind, is_radix_digit): (_, fn(&u8) -> bool) = match self.byte(start + 1) {
            b'x' => (TokenKind::HexNumber, u8::is_ascii_hexdigit),
            b'b' => (TokenKind::BitNumber, |byte| matches!(byte, b'0' | b'1')),
            _ => return None,
        };
        let mut end = start + 2;
        while is_radix_digit(&self.byte(end)) {
            end += 1;
        }
        if end == start + 2 || is_word(self.byte(end)) {
            return None;
        }
        Some(self.token(kind, start, end))
    }

    #[inline]
    fn digits_end(&self, mut position: usize) -> usize {
        while is_digit(self.byte(position)) {
            position += 1;
        }
        position
    }

    /// Moves `end` behind an exponent if there is one; tells the kind of the number.
    fn exponent(&self, end: &mut usize) -> TokenKind {
        if !matches!(self.byte(*end), b'e' | b'E') {
            return TokenKind::Decimal;
        }
        let mut digits = *end + 1;
        if matches!(self.byte(digits), b'+' | b'-') {
            digits += 1;
        }
        if !is_digit(self.byte(digits)) {
            return TokenKind::Decimal;
        }
        *end = self.digits_end(digits);
        TokenKind::Float
    }

    /// `.` between names, or the start of a decimal like `.5`.
    pub(super) fn dot(&mut self, start: usize, after_name: bool) -> Token {
        if after_name {
            self.after_name_dot = true;
        } else if is_digit(self.byte(start + 1)) {
            let mut end = self.digits_end(start + 1);
            let kind = self.exponent(&mut end);
            return self.token(kind, start, end);
        }
        self.token(TokenKind::Dot, start, start + 1)
    }

    pub(super) fn quoted_name(&mut self, start: usize, quote: u8) -> Token {
        let mut escaped = false;
        let mut position = start + 1;
        loop {
            let rest = self.source.get(position..).unwrap_or_default();
            let Some(found) = memchr::memchr(quote, rest) else {
                return self.unterminated(start);
            };
            position += found + 1;
            if self.byte(position) != quote {
                break;
            }
            escaped = true;
            position += 1;
        }
        self.after_name = true;
        self.word_start = start;
        let mut token = self.token(TokenKind::QuotedWord, start, position);
        token.escaped = escaped;
        token
    }

    /// A string whose opening quote stands at `open`.
    #[inline]
    pub(super) fn string(&mut self, start: usize, open: usize, quote: u8, kind: TokenKind) -> Token {
        let backslash_escapes = !self.mode.contains(ParserMode::NO_BACKSLASH_ESCAPES);
        let mut escaped = false;
        let mut position = open + 1;
        loop {
            let rest = self.source.get(position..).unwrap_or_default();
            let found =
                if backslash_escapes { memchr::memchr2(quote, b'\\', rest) } else { memchr::memchr(quote, rest) };
            let Some(found) = found else {
                return self.unterminated(start);
            };
            position += found + 1;
            if rest[found] == quote && self.byte(position) != quote {
                break;
            }
            // Either a backslash with the byte it escapes, or a doubled quote.
            escaped = true;
            position += 1;
        }
        let mut token = self.token(kind, start, position);
        token.escaped = escaped;
        token
    }

    /// `x'..'` and `b'..'`.
    fn radix_string(&mut self, start: usize, kind: TokenKind) -> Token {
        let mut end = start + 2;
        while self.byte(end).is_ascii_hexdigit() {
            end += 1;
        }
        let digits = self.source.get(start + 2..end).unwrap_or_default();
        let well_formed = match kind {
            TokenKind::HexString => digits.len().is_multiple_of(2),
            _ => digits.iter().all(|byte| matches!(byte, b'0' | b'1')),
        };
        if !well_formed || self.byte(end) != b'\'' {
            return self.unterminated(start);
        }
        self.token(kind, start, end + 1)
    }

    pub(super) fn at(&mut self, start: usize) -> Token {
        match self.byte(start + 1) {
            b'@' => self.token(TokenKind::AtAt, start, start + 2),
            b'\'' | b'"' | b'`' => self.token(TokenKind::At, start, start + 1),
            _ => {
                let mut end = start + 1;
                while is_word(self.byte(end)) || self.byte(end) == b'.' {
                    end += 1;
                }
                self.token(TokenKind::AtName, start, end)
            }
        }
    }

    pub(super) fn operator(&mut self, start: usize, first: u8) -> Token {
        use TokenKind::*;
        let second = self.byte(start + 1);
        let third = self.byte(start + 2);
        let (kind, length) = match (first, second, third) {
            (b'(', ..) => (LeftParen, 1),
            (b')', ..) => (RightParen, 1),
            (b',', ..) => (Comma, 1),
            (b';', ..) => (Semicolon, 1),
            (b'=', ..) => (Equal, 1),
            (b'?', ..) => (Parameter, 1),
            (b'*', ..) => (Star, 1),
            (b'+', ..) => (Plus, 1),
            (b'-', b'>', b'>') => (DoubleArrow, 3),
            (b'-', b'>', _) => (Arrow, 2),
            (b'-', ..) => (Minus, 1),
            (b'<', b'=', b'>') => (NullSafeEqual, 3),
            (b'<', b'=', _) => (LessOrEqual, 2),
            (b'<', b'>', _) => (NotEqual, 2),
            (b'<', b'<', _) => (ShiftLeft, 2),
            (b'<', ..) => (Less, 1),
            (b'>', b'=', _) => (GreaterOrEqual, 2),
            (b'>', b'>', _) => (ShiftRight, 2),
            (b'>', ..) => (Greater, 1),
            (b'!', b'=', _) => (NotEqual, 2),
            (b'!', ..) => (Bang, 1),
            (b'/', ..) => (Slash, 1),
            (b'%', ..) => (Percent, 1),
            (b'^', ..) => (Caret, 1),
            (b'~', ..) => (Tilde, 1),
            (b'&', b'&', _) => (AmpersandAmpersand, 2),
            (b'&', ..) => (Ampersand, 1),
            (b'|', b'|', _) => (PipePipe, 2),
            (b'|', ..) => (Pipe, 1),
            (b':', b'=', _) => (Assign, 2),
            (b':', ..) => (Colon, 1),
            (b'{', ..) => (LeftBrace, 1),
            (b'}', ..) => (RightBrace, 1),
            _ => (Invalid, 1),
        };
        self.token(kind, start, start + length)
    }
}
