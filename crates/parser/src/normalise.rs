//! The normalised text of a statement, for people: statistics, slow logs.
//!
//! Keywords in upper case, names in backticks, literals as `?`, lists of literals as `...`, repeated rows once. Statements that do the
//! same with other values have the same text. It says nothing about plans; that is the digest's business.

use crate::ParserMode;
use crate::lexer::{Lexer, TokenKind, name_text};
use crate::reserved::is_reserved;

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
            TokenKind::Word if is_reserved(bytes) => words.push(text.to_ascii_uppercase()),
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

/// `? , ?` and `... , ?` become `...`.
fn push_literal(words: &mut Vec<String>) {
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

/// `( ... ) , ( ... )` becomes `( ... ) /* , ... */`, and so do rows of one literal.
fn push_right_paren(words: &mut Vec<String>) {
    words.push(")".to_owned());
    let row_start = words.len().saturating_sub(3);
    let row = &words[row_start..];
    if row.len() < 3 || row[0] != "(" || !(row[1] == "?" || row[1] == "...") {
        return;
    }
    let before = &words[..row_start];
    let Some((comma, before)) = before.split_last() else {
        return;
    };
    if comma != "," {
        return;
    }
    let behind_rows = before.last().is_some_and(|word| word == MORE_ROWS);
    if behind_rows {
        words.truncate(row_start - 1);
    } else if before.ends_with(row) {
        words.truncate(row_start - 1);
        words.push(MORE_ROWS.to_owned());
    }
}
