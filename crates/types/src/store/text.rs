//! CHAR, VARCHAR, TEXT and their binary kin, ENUM, SET and JSON.

use std::borrow::Cow;

use super::{Store, Stored};
use crate::charset::Charset;
use crate::collation::Collation;
use crate::error::{Error, ErrorCode};
use crate::json::Json;
use crate::number;
use crate::sql_type::{BaseType, SqlType};
use crate::value::{EnumValue, SetValue, Value};

/// A text in the column's character set, and the place in the source from which on it could not be kept.
struct Recoded {
    text: Vec<u8>,
    /// What the message shows of the offending bytes.
    offending: Option<String>,
}

/// The character set of a value's text: that of its collation for strings, ASCII for everything else.
fn source_charset(value: &Value, source: Collation) -> Charset {
    match value {
        Value::Str(_) | Value::Enum(_) | Value::Set(_) => source.charset(),
        Value::Json(_) => Charset::Utf8mb4,
        Value::Bit(..) => Charset::Binary,
        _ => Charset::Ascii,
    }
}

fn into_text(value: Value) -> Vec<u8> {
    match value {
        Value::Str(text) => text,
        other => other.to_text(),
    }
}

/// The text in the character set `to`. Bytes that are no characters end it; characters that `to` does not have
/// become `?`.
fn recode(text: Vec<u8>, from: Charset, to: Charset) -> Recoded {
    if to == Charset::Binary || text.is_ascii() {
        return Recoded { text, offending: None };
    }
    let from = if from == Charset::Binary { to } else { from };
    let well_formed = from.well_formed_length(&text);
    if well_formed < text.len() {
        let offending = Some(printable(&text[well_formed..]));
        let kept = Charset::convert(&text[..well_formed], from, to).bytes.into_owned();
        return Recoded { text: kept, offending };
    }
    if from == to {
        return Recoded { text, offending: None };
    }
    let conversion = Charset::convert(&text, from, to);
    let offending = conversion.lossy.then(|| printable(&text[first_unknown_character(&text, from, to)..]));
    Recoded { text: conversion.bytes.into_owned(), offending }
}

/// Where the first character begins that `to` does not have.
fn first_unknown_character(text: &[u8], from: Charset, to: Charset) -> usize {
    let mut encoded = Vec::new();
    from.symbols(text)
        .take_while(|symbol| to.encode(symbol.code, &mut encoded))
        .map(|symbol| usize::from(symbol.length))
        .sum()
}

/// The first bytes, those outside ASCII in hexadecimal.
fn printable(bytes: &[u8]) -> String {
    const SHOWN_BYTES: usize = 6;
    let mut text = String::new();
    for &byte in bytes.iter().take(SHOWN_BYTES) {
        if (0x20..0x7f).contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    if bytes.len() > SHOWN_BYTES {
        text.push_str("...");
    }
    text
}

/// How many bytes of the text the column takes.
fn length_that_fits(text: &[u8], sql_type: &SqlType) -> usize {
    let charset = sql_type.collation.charset();
    let limit = sql_type.length as usize;
    match sql_type.base {
        BaseType::Char | BaseType::VarChar => {
            // No text has more characters than bytes.
            if text.len() <= limit { text.len() } else { charset.offset_of_char(text, limit) }
        }
        // A TEXT of unstated size, and geometries, are not limited here.
        BaseType::Text if limit > 0 && text.len() > limit => charset.well_formed_length(&text[..limit]),
        _ => text.len(),
    }
}

fn trim_end_spaces(text: &[u8]) -> &[u8] {
    let kept = text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &text[..kept]
}

impl Store<'_> {
    pub(super) fn text(&self, value: Value, source: Collation) -> Stored {
        let sql_type = self.sql_type();
        let charset = sql_type.collation.charset();
        let from = source_charset(&value, source);
        let Recoded { mut text, offending } = recode(into_text(value), from, charset);
        let fitting = length_that_fits(&text, sql_type);
        let is_binary = charset == Charset::Binary;
        let lost_only_spaces = !is_binary && trim_end_spaces(&text[fitting..]).is_empty();
        let is_cut = fitting < text.len();
        text.truncate(fitting);
        let is_char = sql_type.base == BaseType::Char;
        if is_char && is_binary {
            text.resize(sql_type.length as usize, 0);
        } else if is_char {
            text.truncate(trim_end_spaces(&text).len());
        }
        let stored = Value::Str(text);
        if let Some(offending) = offending {
            return self.incorrect("string", &offending, stored);
        }
        if is_cut && !lost_only_spaces {
            return self.too_long(stored);
        }
        if is_cut && !is_char {
            return self.truncation_note(stored);
        }
        Ok((stored, None))
    }

    /// A string value in the character set of the labels, without trailing blanks.
    fn label_text<'v>(&self, value: &'v Value, source: Collation) -> Cow<'v, [u8]> {
        let text = value.as_text();
        let to = self.sql_type().collation.charset();
        let from = source_charset(value, source);
        if text.is_ascii() || from == to {
            let kept = trim_end_spaces(&text).len();
            return match text {
                Cow::Borrowed(text) => Cow::Borrowed(&text[..kept]),
                Cow::Owned(mut text) => {
                    text.truncate(kept);
                    Cow::Owned(text)
                }
            };
        }
        let converted = Charset::convert(&text, from, to).bytes;
        Cow::Owned(trim_end_spaces(&converted).to_vec())
    }

    fn label_position(&self, text: &[u8]) -> Option<usize> {
        let labels = self.sql_type().labels.as_deref().unwrap_or_default();
        let collation = self.sql_type().collation;
        labels.iter().position(|label| collation.equal(trim_end_spaces(label), text))
    }

    pub(super) fn enumeration(&self, value: Value, source: Collation) -> Stored {
        let labels = self.sql_type().labels.clone().unwrap_or_default();
        let index = match &value {
            Value::Str(_) | Value::Enum(_) | Value::Set(_) | Value::Json(_) => {
                let text = self.label_text(&value, source);
                match self.label_position(&text) {
                    Some(position) => Some(position as u64 + 1),
                    // A number that is no label is an index.
                    None => {
                        Some(number::parse_u64(&text)).filter(|index| index.is_exact()).map(|index| index.value)
                    }
                }
            }
            number => truncated_number(number),
        };
        // The error value of an ENUM passes to another ENUM as it is.
        let was_empty = matches!(&value, Value::Enum(member) if member.index == 0);
        match index {
            Some(index) if (1..=labels.len() as u64).contains(&index) => {
                Ok((Value::Enum(EnumValue { index: index as u16, labels }), None))
            }
            _ if was_empty => Ok((Value::Enum(EnumValue { index: 0, labels }), None)),
            _ => self.truncated(Value::Enum(EnumValue { index: 0, labels })),
        }
    }

    pub(super) fn set(&self, value: Value, source: Collation) -> Stored {
        let labels = self.sql_type().labels.clone().unwrap_or_default();
        let known = u64::MAX.checked_shr(64 - labels.len().min(64) as u32).unwrap_or(0);
        let (bits, is_whole) = match &value {
            Value::Str(_) | Value::Enum(_) | Value::Set(_) | Value::Json(_) => {
                let text = self.label_text(&value, source);
                let (bits, is_whole) = self.members_of(&text);
                match number::parse_u64(&text) {
                    number if !is_whole && number.is_exact() && number.value <= known => (number.value, true),
                    _ => (bits, is_whole),
                }
            }
            number => match truncated_number(number) {
                Some(bits) => (bits & known, bits & !known == 0),
                None => (0, false),
            },
        };
        let stored = Value::Set(SetValue { bits, labels });
        if is_whole { Ok((stored, None)) } else { self.truncated(stored) }
    }

    /// The bits of the members that a comma-separated list names, and whether all of them are known.
    fn members_of(&self, text: &[u8]) -> (u64, bool) {
        if text.is_empty() {
            return (0, true);
        }
        let mut bits = 0;
        let mut is_whole = true;
        for name in text.split(|&byte| byte == b',') {
            match self.label_position(trim_end_spaces(name)) {
                Some(position) if position < 64 => bits |= 1 << position,
                _ => is_whole = false,
            }
        }
        (bits, is_whole)
    }

    pub(super) fn json(&self, value: Value, source: Collation) -> Stored {
        let refused = |reason: &str, position: usize| {
            let column = self.target.column;
            let message =
                format!("Invalid JSON text: \"{reason}\" at position {position} in value for column '{column}'.");
            Err(Error::new(ErrorCode::InvalidJsonText, message))
        };
        let text = match value {
            Value::Json(json) => return Ok((Value::Json(json), None)),
            Value::Str(_) | Value::Enum(_) | Value::Set(_) => {
                let charset = source_charset(&value, source);
                if charset == Charset::Binary {
                    let message = "Cannot create a JSON value from a string with CHARACTER SET 'binary'.";
                    return Err(Error::new(ErrorCode::InvalidJsonCharset, message));
                }
                recode(into_text(value), charset, Charset::Utf8mb4).text
            }
            _ => return refused("not a JSON text, may need CAST", 0),
        };
        match Json::parse(&text) {
            Ok(json) => Ok((Value::Json(json), None)),
            Err(error) if error.too_deep => Err(Error::new(ErrorCode::JsonDocumentTooDeep, error.message)),
            Err(error) => refused(error.message, error.position),
        }
    }
}

/// A number as an index or bit mask: its fraction cut off; `None` below zero.
fn truncated_number(value: &Value) -> Option<u64> {
    let integer = match value {
        Value::Decimal(decimal) => decimal.truncate(0).to_i128()?,
        Value::Double(number) => *number as i128,
        Value::Float(number) => *number as i128,
        other => other.to_integer().value,
    };
    u64::try_from(integer).ok()
}
