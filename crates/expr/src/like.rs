//! LIKE: patterns with `%`, `_` and an escape, matched character by character under a collation.

use shoal_types::{Collation, Error, ErrorCode, Result};

use crate::characters::{character_length, characters};

/// A compiled pattern.
#[derive(Debug)]
pub struct LikePattern {
    collation: Collation,
    ignores_case: bool,
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    /// `%`
    Anything,
    /// `_`
    AnyCharacter,
    /// A printable ASCII character.
    Byte(u8),
    Character(Box<[u8]>),
}

impl LikePattern {
    /// `escape` is one character; `None` when nothing escapes.
    pub fn new(pattern: &[u8], escape: Option<&[u8]>, collation: Collation) -> LikePattern {
        let mut parts = Vec::new();
        let mut characters = characters(collation, pattern).peekable();
        while let Some(character) = characters.next() {
            let part = if Some(character) == escape && characters.peek().is_some() {
                literal(characters.next().unwrap_or(character))
            } else {
                match character {
                    b"%" => Part::Anything,
                    b"_" => Part::AnyCharacter,
                    other => literal(other),
                }
            };
            if !matches!((&part, parts.last()), (Part::Anything, Some(Part::Anything))) {
                parts.push(part);
            }
        }
        LikePattern { collation, ignores_case: collation.is_ci(), parts }
    }

    /// The text that every match begins with, and whether the pattern is that text and nothing else. For ranges over
    /// an index.
    pub fn literal_prefix(&self) -> (Vec<u8>, bool) {
        let mut prefix = Vec::new();
        for part in &self.parts {
            match part {
                Part::Byte(byte) => prefix.push(*byte),
                Part::Character(character) => prefix.extend_from_slice(character),
                _ => return (prefix, false),
            }
        }
        (prefix, true)
    }

    /// Greedy with one point of return: on a mismatch the last `%` takes one character more.
    pub fn matches(&self, text: &[u8]) -> bool {
        let (mut at, mut part) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match self.parts.get(part) {
                Some(Part::Anything) => {
                    part += 1;
                    if part == self.parts.len() {
                        return true;
                    }
                    retry = Some((part, at));
                    continue;
                }
                Some(other) if at < text.len() => {
                    let length = character_length(self.collation, &text[at..]);
                    if self.part_matches(other, &text[at..at + length]) {
                        at += length;
                        part += 1;
                        continue;
                    }
                }
                None if at == text.len() => return true,
                _ => {}
            }
            match &mut retry {
                Some((after, from)) if *from < text.len() => {
                    *from += character_length(self.collation, &text[*from..]);
                    *from += self.hopeless(*after, &text[*from..]);
                    (part, at) = (*after, *from);
                }
                _ => return false,
            }
        }
    }

    /// How many bytes the part cannot begin with: printable ASCII that differs from it.
    #[inline]
    fn hopeless(&self, part: usize, text: &[u8]) -> usize {
        let Some(Part::Byte(expected)) = self.parts.get(part) else {
            return 0;
        };
        let may_match = |byte: &u8| !is_printable(*byte) || byte.eq_ignore_ascii_case(expected);
        text.iter().position(may_match).unwrap_or(text.len())
    }

    fn part_matches(&self, part: &Part, character: &[u8]) -> bool {
        match part {
            Part::Anything | Part::AnyCharacter => true,
            Part::Byte(expected) => match character {
                [byte] if is_printable(*byte) => {
                    byte == expected || (self.ignores_case && byte.eq_ignore_ascii_case(expected))
                }
                other => self.same_character(std::slice::from_ref(expected), other),
            },
            Part::Character(expected) => **expected == *character || self.same_character(expected, character),
        }
    }
}

impl LikePattern {
    fn same_character(&self, left: &[u8], right: &[u8]) -> bool {
        self.collation != Collation::BINARY && self.collation.equal(left, right)
    }
}

/// Printable ASCII characters equal each other only as letters that differ in case, under every collation.
fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

fn literal(character: &[u8]) -> Part {
    match character {
        [byte] if is_printable(*byte) => Part::Byte(*byte),
        other => Part::Character(Box::from(other)),
    }
}

/// The escape character of a LIKE. Errors: more than one character (1210).
pub(crate) fn escape_character(escape: &[u8], collation: Collation) -> Result<Option<&[u8]>> {
    if escape.is_empty() {
        return Ok(None);
    }
    if character_length(collation, escape) != escape.len() {
        return Err(Error::new(ErrorCode::WrongArguments, "Incorrect arguments to ESCAPE"));
    }
    Ok(Some(escape))
}
