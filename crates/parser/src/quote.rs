//! Writing names and strings so that the lexer reads them back.

/// `name` in backticks, as SHOW CREATE TABLE has it.
pub fn quote_identifier(name: &str) -> String {
    let mut quoted = String::with_capacity(name.len() + 2);
    quoted.push('`');
    for character in name.chars() {
        if character == '`' {
            quoted.push('`');
        }
        quoted.push(character);
    }
    quoted.push('`');
    quoted
}

/// `bytes` as a string literal in single quotes, with the escapes that `NO_BACKSLASH_ESCAPES` turns off.
pub fn quote_string(bytes: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(bytes.len() + 2);
    quoted.push(b'\'');
    for &byte in bytes {
        match byte {
            0 => quoted.extend_from_slice(b"\\0"),
            b'\n' => quoted.extend_from_slice(b"\\n"),
            b'\r' => quoted.extend_from_slice(b"\\r"),
            0x1A => quoted.extend_from_slice(b"\\Z"),
            b'\\' => quoted.extend_from_slice(b"\\\\"),
            b'\'' => quoted.extend_from_slice(b"''"),
            _ => quoted.push(byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParserMode;
    use crate::lexer::{Lexer, TokenKind, name_text, string_bytes};

    #[test]
    fn a_quoted_string_reads_back_as_it_was() {
        let bytes: Vec<u8> = (0..=255).collect();
        let quoted = quote_string(&bytes);
        let token = Lexer::new(&quoted, 0, ParserMode::NONE).next();
        assert_eq!(token.kind, TokenKind::String);
        assert_eq!(string_bytes(&quoted, &token, true).as_ref(), bytes);
    }

    #[test]
    fn a_quoted_name_reads_back_as_it_was() {
        let quoted = quote_identifier("a`b``c");
        let token = Lexer::new(quoted.as_bytes(), 0, ParserMode::NONE).next();
        assert_eq!(token.kind, TokenKind::QuotedWord);
        assert_eq!(name_text(quoted.as_bytes(), &token).as_deref(), Some("a`b``c"));
    }
}
