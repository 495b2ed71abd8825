//! LIKE: `%` is any run of characters, `_` any one character, everything else compares character by character by the
//! collation's weights. Accents and case follow the collation; expansions do not ('ß' is not like 'ss'), and trailing
//! spaces count, also under PAD SPACE.

use super::Collation;
use crate::charset::Charset;

/// The first token of a pattern.
enum Token<'a> {
    AnyRun,
    AnyOne,
    Exactly(&'a [u8]),
}

/// Whether the whole text matches. Greedy with one point of return (the last `%`), so the time is at most the
/// product of both lengths and the space constant.
pub(super) fn like(collation: Collation, text: &[u8], pattern: &[u8], escape: Option<char>) -> bool {
    let charset = collation.charset();
    let mut text = text;
    let mut pattern = pattern;
    // Where to go on when a character does not match: the pattern behind the last `%`, the text it has not eaten.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        let matched = match next_token(charset, pattern, escape) {
            None if text.is_empty() => return true,
            None => false,
            Some((Token::AnyRun, rest)) => {
                if rest.is_empty() {
                    return true;
                }
                pattern = rest;
                retry = Some((rest, text));
                continue;
            }
            Some((token, rest)) => match charset.decode(text) {
                None => return false,
                Some(symbol) => {
                    let (character, behind) = text.split_at(usize::from(symbol.length));
                    let matched = match token {
                        Token::Exactly(wanted) => collation.characters_equal(character, wanted),
                        _ => true,
                    };
                    if matched {
                        text = behind;
                        pattern = rest;
                    }
                    matched
                }
            },
        };
        if matched {
            continue;
        }
        let Some((pattern_behind_run, uneaten)) = retry else { return false };
        let Some(symbol) = charset.decode(uneaten) else { return false };
        text = &uneaten[usize::from(symbol.length)..];
        pattern = pattern_behind_run;
        retry = Some((pattern_behind_run, text));
    }
}

fn next_token<'a>(charset: Charset, pattern: &'a [u8], escape: Option<char>) -> Option<(Token<'a>, &'a [u8])> {
    let first = charset.decode(pattern)?;
    let (character, rest) = pattern.split_at(usize::from(first.length));
    if escape.is_some_and(|escape| u32::from(escape) == first.code)
        && let Some(second) = charset.decode(rest)
    {
        let (character, rest) = rest.split_at(usize::from(second.length));
        return Some((Token::Exactly(character), rest));
    }
    let token = match character {
        b"%" => Token::AnyRun,
        b"_" => Token::AnyOne,
        _ => Token::Exactly(character),
    };
    Some((token, rest))
}
