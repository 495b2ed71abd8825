//! The normalised text of a statement, for people: statistics, slow logs.
//!
//! As MySQL's DIGEST_TEXT: keywords in upper case, names in backticks, literals as `?`, lists of literals as `...`, rows of them as `(...)`,
//! repeated rows once, one space between words. Statements that do the same with other values have the same text. It says nothing about
//! plans; that is the digest's business. Only reserved words and the first one of a statement count as keywords: others are told from
//! names by the grammar alone, which is not asked here.

use crate::ParserMode;
use crate::lexer::{Lexer, TokenKind, name_text};
use crate::reserved::is_reserved;

/// One row of a single literal, and of several.
const ROW_OF_ONE: &str = "(?)";
const ROW: &str = "(...)";
/// Rows of an INSERT behind the first.
const MORE_ROWS: &str = "/* , ... */";

/// The normalised text of the first statement at or behind byte `start`; bytes that are not UTF-8 are replaced.
pub fn normalised_text(sql: &[u8], start: usize, mode: ParserMode) -> String {
    let mut lexer = Lexer::new(sql, start, mode);
    let mut words: Vec<String> = Vec::new();
    loop {
        let token = lexer.next();
        let bytes = &sql[token.start as usize..token.end as usize];
        let text = String::from_utf8_lossy(bytes);
        match token.kind {
            TokenKind::Semicolon if words.is_empty() => {}
            TokenKind::End | TokenKind::Semicolon => break,
            TokenKind::Invalid => {
                words.push(text.into_owned());
                break;
            }
            TokenKind::Hint => {}
            TokenKind::Word if words.is_empty() || is_reserved(bytes) => words.push(text.to_ascii_uppercase()),
            TokenKind::Word | TokenKind::QuotedWord => {
                let name = name_text(sql, &token).unwrap_or_else(|| text.into_owned());
                words.push(crate::quote::quote_identifier(&name));
            }
            TokenKind::Integer
            | TokenKind::Decimal
            | TokenKind::Float
            | TokenKind::String
            | TokenKind::NationalString
            | TokenKind::HexNumber
            | TokenKind::HexString
            | TokenKind::BitNumber
            | TokenKind::BitString
            | TokenKind::Parameter => push_literal(&mut words),
            TokenKind::RightParen => push_right_paren(&mut words),
            _ => words.push(text.into_owned()),
        }
    }
    words.join(" ")
}

/// `? , ?` and `... , ?` become `...`; the sign of a number is part of it.
fn push_literal(words: &mut Vec<String>) {
    while let [.., before, sign] = words.as_slice()
        && (sign == "-" || sign == "+")
        && ["(", ",", "=", "<", ">", "<=", ">=", "<>", "!=", "<=>"].contains(&before.as_str())
    {
        words.pop();
    }
    if let [.., before, comma] = words.as_slice()
        && comma == ","
        && (before == "?" || before == "...")
    {
        words.pop();
        words.pop();
        words.push("...".to_owned());
        return;
    }
    words.push("?".to_owned());
}

/// `( ? )` becomes `(?)` and `( ... )` becomes `(...)`, which is also what follows IN; such a row behind such a row becomes
/// `/* , ... */`.
fn push_right_paren(words: &mut Vec<String>) {
    let row = match words.as_slice() {
        [.., before, paren, literal] if paren == "(" && literal == "?" => {
            if before == "IN" {
                ROW
            } else {
                ROW_OF_ONE
            }
        }
        [.., paren, literals] if paren == "(" && literals == "..." => ROW,
        _ => return words.push(")".to_owned()),
    };
    words.truncate(words.len() - 2);
    match words.as_slice() {
        [.., before, comma] if comma == "," && before == MORE_ROWS => {
            words.pop();
        }
        [.., before, comma] if comma == "," && before == row => {
            words.pop();
            words.push(MORE_ROWS.to_owned());
        }
        _ => words.push(row.to_owned()),
    }
}
