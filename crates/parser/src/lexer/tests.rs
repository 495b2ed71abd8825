use super::{Lexer, TokenKind, bit_bytes, hex_bytes};
use crate::ParserMode;

fn kinds(sql: &str) -> Vec<TokenKind> {
    let mut lexer = Lexer::new(sql.as_bytes(), 0, ParserMode::NONE);
    let mut kinds = Vec::new();
    loop {
        let token = lexer.next();
        if token.kind == TokenKind::End {
            return kinds;
        }
        kinds.push(token.kind);
    }
}

#[test]
fn operators_take_the_longest_match() {
    use TokenKind::*;
    assert_eq!(
        kinds("<=> <= <> < << >> >= > != ! := : -> ->> - & && | ||"),
        [
            NullSafeEqual,
            LessOrEqual,
            NotEqual,
            Less,
            ShiftLeft,
            ShiftRight,
            GreaterOrEqual,
            Greater,
            NotEqual,
            Bang,
            Assign,
            Colon,
            Arrow,
            DoubleArrow,
            Minus,
            Ampersand,
            AmpersandAmpersand,
            Pipe,
            PipePipe
        ]
    );
}

#[test]
fn variables_and_hosts_are_one_token_unless_quoted() {
    use TokenKind::*;
    assert_eq!(
        kinds("@a.b @'x' @`y` @@c u@10.0.0.1"),
        [AtName, At, String, At, QuotedWord, AtAt, Word, Word, AtName]
    );
}

#[test]
fn tokens_cover_the_source_in_order() {
    let sql = "SELECT a.b, 'x''y', 1.5e3 FROM `t` -- end";
    let mut lexer = Lexer::new(sql.as_bytes(), 0, ParserMode::NONE);
    let mut end = 0;
    loop {
        let token = lexer.next();
        assert!(token.start >= end && token.end >= token.start);
        end = token.end;
        if token.kind == TokenKind::End {
            break;
        }
    }
    assert_eq!(end as usize, sql.len());
}

#[test]
fn radix_digits_become_bytes() {
    assert_eq!(hex_bytes(b"F0a"), [0x0F, 0x0A]);
    assert_eq!(hex_bytes(b""), [0u8; 0]);
    assert_eq!(bit_bytes(b"101"), [5]);
    assert_eq!(bit_bytes(b"1000000001"), [2, 1]);
}

#[test]
fn stray_bytes_are_invalid_tokens() {
    assert_eq!(kinds("\\"), [TokenKind::Invalid]);
    assert_eq!(kinds("a \0 b"), [TokenKind::Word, TokenKind::Invalid, TokenKind::Word]);
}
