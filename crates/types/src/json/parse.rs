//! JSON text to trees.
//!
//! Messages and positions are those that MySQL's errors 3140 and 3141 show.

use super::binary::KEY_LENGTH_MAX;
use super::{DEPTH_MAX, JsonValue};

/// Why a text is not JSON: MySQL's wording and the byte at which it was noticed (errno 3140).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonSyntaxError {
    /// MySQL's wording of what is wrong there.
    pub message: &'static str,
    /// Bytes from the text's beginning.
    pub position: usize,
    /// Nested more than 100 deep (errno 3157).
    pub too_deep: bool,
}

type Parsed<T> = Result<T, JsonSyntaxError>;

impl JsonValue {
    /// Parses UTF-8 text.
    pub fn parse(text: &[u8]) -> Parsed<JsonValue> {
        if let Err(error) = std::str::from_utf8(text) {
            return Err(syntax_error("Invalid encoding in string.", error.valid_up_to()));
        }
        let mut parser = Parser { text, position: 0 };
        parser.skip_blanks();
        if parser.peek().is_none() {
            return Err(parser.error("The document is empty."));
        }
        let value = parser.value(0)?;
        parser.skip_blanks();
        match parser.peek() {
            None => Ok(value),
            Some(_) => Err(parser.error("The document root must not be followed by other values.")),
        }
    }
}

/// The characters of a JSON string, quotes and all.
pub(super) fn parse_string(text: &[u8]) -> Parsed<Vec<u8>> {
    match JsonValue::parse(text)? {
        JsonValue::String(characters) => Ok(characters),
        _ => Err(syntax_error("Invalid value.", 0)),
    }
}

fn syntax_error(message: &'static str, position: usize) -> JsonSyntaxError {
    JsonSyntaxError { message, position, too_deep: false }
}

struct Parser<'a> {
    text: &'a [u8],
    position: usize,
}

impl Parser<'_> {
    fn error(&self, message: &'static str) -> JsonSyntaxError {
        syntax_error(message, self.position)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.position += usize::from(found);
        found
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.position += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Parsed<JsonValue> {
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string().map(JsonValue::String),
            Some(b'n') => self.word(b"null", JsonValue::Null),
            Some(b't') => self.word(b"true", JsonValue::Bool(true)),
            Some(b'f') => self.word(b"false", JsonValue::Bool(false)),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8], value: JsonValue) -> Parsed<JsonValue> {
        for &letter in word {
            if !self.take(letter) {
                return Err(self.error("Invalid value."));
            }
        }
        Ok(value)
    }

    fn check_depth(&self, depth: usize) -> Parsed<()> {
        if depth > DEPTH_MAX {
            let message = "The JSON document exceeds the maximum depth.";
            return Err(JsonSyntaxError { message, position: self.position, too_deep: true });
        }
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Parsed<JsonValue> {
        self.check_depth(depth)?;
        self.position += 1;
        self.skip_blanks();
        let mut elements = Vec::new();
        if self.take(b']') {
            return Ok(JsonValue::Array(elements));
        }
        loop {
            elements.push(self.value(depth)?);
            self.skip_blanks();
            if self.take(b',') {
                self.skip_blanks();
            } else if self.take(b']') {
                return Ok(JsonValue::Array(elements));
            } else {
                return Err(self.error("Missing a comma or ] after an array element."));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Parsed<JsonValue> {
        self.check_depth(depth)?;
        self.position += 1;
        self.skip_blanks();
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(JsonValue::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.error("Missing a name for object member."));
            }
            let key = self.string()?;
            if key.len() > KEY_LENGTH_MAX {
                return Err(self.error("The JSON object contains a key name that is too long."));
            }
            self.skip_blanks();
            if !self.take(b':') {
                return Err(self.error("Missing a colon after a name of object member."));
            }
            self.skip_blanks();
            members.push((key, self.value(depth)?));
            self.skip_blanks();
            if self.take(b',') {
                self.skip_blanks();
            } else if self.take(b'}') {
                return Ok(JsonValue::object(members));
            } else {
                return Err(self.error("Missing a comma or } after an object member."));
            }
        }
    }

    fn string(&mut self) -> Parsed<Vec<u8>> {
        self.position += 1;
        let mut characters = Vec::new();
        loop {
            let rest = &self.text[self.position..];
            let plain = rest.iter().take_while(|&&byte| byte != b'"' && byte != b'\\' && byte >= 0x20).count();
            characters.extend_from_slice(&rest[..plain]);
            self.position += plain;
            match self.peek() {
                Some(b'"') => {
                    self.position += 1;
                    return Ok(characters);
                }
                Some(b'\\') => self.escape(&mut characters)?,
                None | Some(0) => return Err(self.error("Missing a closing quotation mark in string.")),
                Some(_) => return Err(self.error("Invalid encoding in string.")),
            }
        }
    }

    fn escape(&mut self, characters: &mut Vec<u8>) -> Parsed<()> {
        let start = self.position;
        self.position += 1;
        let character = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.position += 1;
                let character = self.unicode_escape(start)?;
                characters.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(syntax_error("Invalid escape character in string.", start)),
        };
        self.position += 1;
        characters.push(character);
        Ok(())
    }

    fn unicode_escape(&mut self, start: usize) -> Parsed<char> {
        let invalid = syntax_error("The surrogate pair in string is invalid.", start);
        let first = self.four_hex_digits(start)?;
        let code = match first {
            0xd800..=0xdbff => {
                if !(self.take(b'\\') && self.take(b'u')) {
                    return Err(invalid);
                }
                let second = self.four_hex_digits(start)?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(invalid);
                }
                0x1_0000 + ((first - 0xd800) << 10 | (second - 0xdc00))
            }
            code => code,
        };
        char::from_u32(code).ok_or(invalid)
    }

    fn four_hex_digits(&mut self, start: usize) -> Parsed<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(syntax_error("Incorrect hex digit after \\u escape in string.", start));
            };
            code = code << 4 | digit;
            self.position += 1;
        }
        Ok(code)
    }

    fn skip_digits(&mut self) -> usize {
        let start = self.position;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
        self.position - start
    }

    fn number(&mut self) -> Parsed<JsonValue> {
        let start = self.position;
        let negative = self.take(b'-');
        if !self.take(b'0') && self.skip_digits() == 0 {
            return Err(self.error("Invalid value."));
        }
        let integer_end = self.position;
        if self.take(b'.') && self.skip_digits() == 0 {
            return Err(self.error("Miss fraction part in number."));
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            if self.skip_digits() == 0 {
                return Err(self.error("Miss exponent in number."));
            }
        }
        let text = &self.text[start..self.position];
        if self.position == integer_end {
            let number = crate::number::parse_integer(text);
            if !number.out_of_range {
                return Ok(match i64::try_from(number.value) {
                    Ok(number) => JsonValue::Int(number),
                    Err(_) if !negative => JsonValue::UInt(number.value as u64),
                    Err(_) => JsonValue::Double(number.value as f64),
                });
            }
        }
        let number = crate::number::parse_f64(text);
        if number.out_of_range {
            return Err(syntax_error("Number too big to be stored in double.", start));
        }
        Ok(JsonValue::Double(number.value))
    }
}
