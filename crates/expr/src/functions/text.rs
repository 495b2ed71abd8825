//! String functions: putting together, cutting, padding, changing case.

use shoal_types::{Collation, Result, Value};

use super::argument::{integer, size, take_text, text};
use super::{Derivation, Function, MANY, ResultType};
use crate::characters;
use crate::context::EvalContext;
use crate::convert;
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new("CONCAT", 1, MANY, concat_type, concat),
    Function::new("CONCAT_WS", 2, MANY, concat_with_separator_type, concat_with_separator).takes_nulls(),
    Function::new("LENGTH", 1, 1, |d| d.integer(10), byte_length),
    Function::new("OCTET_LENGTH", 1, 1, |d| d.integer(10), byte_length),
    Function::new(
        "BIT_LENGTH",
        1,
        1,
        |d| d.integer(11),
        |call, values, _| Ok(Value::Int(text(call, values, 0).len() as i64 * 8)),
    ),
    Function::new("CHAR_LENGTH", 1, 1, character_count_type, character_count),
    Function::new("CHARACTER_LENGTH", 1, 1, character_count_type, character_count),
    Function::new("LOWER", 1, 1, first_text, |call, values, _| {
        Ok(Value::Str(call.collation.to_lower(&text(call, values, 0)).into_owned()))
    }),
    Function::new("LCASE", 1, 1, first_text, |call, values, _| {
        Ok(Value::Str(call.collation.to_lower(&text(call, values, 0)).into_owned()))
    }),
    Function::new("UPPER", 1, 1, first_text, |call, values, _| {
        Ok(Value::Str(call.collation.to_upper(&text(call, values, 0)).into_owned()))
    }),
    Function::new("UCASE", 1, 1, first_text, |call, values, _| {
        Ok(Value::Str(call.collation.to_upper(&text(call, values, 0)).into_owned()))
    }),
    Function::new("LEFT", 2, 2, head_type, left),
    Function::new("RIGHT", 2, 2, head_type, right),
    Function::new("SUBSTRING", 2, 3, first_text, substring),
    Function::new("SUBSTR", 2, 3, first_text, substring),
    Function::new("MID", 3, 3, first_text, substring),
    Function::new("SUBSTRING_INDEX", 3, 3, searched_text, substring_index),
    Function::new("LTRIM", 1, 2, trim_type, |call, values, _| Ok(trim(call, values, true, false))),
    Function::new("RTRIM", 1, 2, trim_type, |call, values, _| Ok(trim(call, values, false, true))),
    Function::new("TRIM", 1, 2, trim_type, |call, values, _| Ok(trim(call, values, true, true))),
    Function::new("LPAD", 2, 3, pad_type, |call, values, ctx| pad(call, values, true, ctx)),
    Function::new("RPAD", 2, 3, pad_type, |call, values, ctx| pad(call, values, false, ctx)),
    Function::new("REPEAT", 2, 2, repeat_type, repeat),
    Function::new("SPACE", 1, 1, space_type, space),
    Function::new("REPLACE", 3, 3, replace_type, replace),
    Function::new("REVERSE", 1, 1, first_text, reverse),
    Function::new("INSERT", 4, 4, insert_type, insert),
];

/// Text of the first argument's collation and length.
fn first_text(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    d_text(derivation, &[0], 0)
}

/// Text of the collation shared by the arguments at `positions`, as long as the one at `length_of`.
fn d_text(derivation: &mut Derivation<'_>, positions: &[usize], length_of: usize) -> Result<ResultType> {
    let length = derivation.length_of(length_of);
    derivation.text(positions, length)
}

fn concat_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let positions = derivation.all_positions();
    let length = positions.iter().map(|position| derivation.length_of(*position)).sum();
    derivation.text(&positions, length)
}

fn concat(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let mut result = take_text(call, values, 0);
    for position in 1..values.len() {
        result.extend_from_slice(&text(call, values, position));
        if result.len() > ctx.settings.max_allowed_packet {
            return ctx.too_long("concat");
        }
    }
    Ok(Value::Str(result))
}

fn concat_with_separator_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let positions = derivation.all_positions();
    let parts: u64 = positions[1..].iter().map(|position| derivation.length_of(*position)).sum();
    let separators = derivation.length_of(0).saturating_mul(positions.len().saturating_sub(2) as u64);
    let result = derivation.text(&positions, parts.saturating_add(separators))?;
    let nullable = derivation.arguments[0].nullable();
    Ok(ResultType { nullable, ..result })
}

fn concat_with_separator(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    if values[0].is_null() {
        return Ok(Value::Null);
    }
    let mut result = Vec::new();
    let mut is_first = true;
    for position in 1..values.len() {
        if values[position].is_null() {
            continue;
        }
        if !is_first {
            result.extend_from_slice(&text(call, values, 0));
        }
        is_first = false;
        result.extend_from_slice(&text(call, values, position));
        if result.len() > ctx.settings.max_allowed_packet {
            return ctx.too_long("concat_ws");
        }
    }
    Ok(Value::Str(result))
}

fn byte_length(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    Ok(Value::Int(text(call, values, 0).len() as i64))
}

fn character_count_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let collation = derivation.compared(&[0])?;
    Ok(derivation.integer(10)?.with_collation(collation))
}

fn character_count(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    Ok(Value::Int(characters::count(call.collation, &text(call, values, 0)) as i64))
}

fn head_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let length = derivation.length_of(0);
    let wanted = derivation.constant_integer(1).map_or(length, |count| count.max(0) as u64);
    derivation.text(&[0], length.min(wanted))
}

fn left(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let count = size(integer(values, 1, ctx)?);
    let mut text = take_text(call, values, 0);
    text.truncate(characters::offset(call.collation, &text, count));
    Ok(Value::Str(text))
}

fn right(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let count = size(integer(values, 1, ctx)?);
    let text = text(call, values, 0);
    let skipped = characters::count(call.collation, &text).saturating_sub(count);
    Ok(Value::Str(text[characters::offset(call.collation, &text, skipped)..].to_vec()))
}

fn substring(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let start = integer(values, 1, ctx)?;
    let length = match values.get(2) {
        Some(value) => size(convert::to_i64(value, ctx)?),
        None => usize::MAX,
    };
    let text = text(call, values, 0);
    let first = match start {
        0 => return Ok(Value::Str(Vec::new())),
        1.. => start as usize - 1,
        _ => {
            let count = characters::count(call.collation, &text);
            match count.checked_sub(start.unsigned_abs() as usize) {
                Some(first) => first,
                None => return Ok(Value::Str(Vec::new())),
            }
        }
    };
    let rest = &text[characters::offset(call.collation, &text, first)..];
    let end = characters::offset(call.collation, rest, length);
    Ok(Value::Str(rest[..end].to_vec()))
}

/// Where `needle` begins in `text`, byte by byte, at or after `from`. Occurrences inside a character are passed over.
pub(super) fn find_bytes(collation: Collation, text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at + needle.len() <= text.len() {
        if text[at..].starts_with(needle) {
            return Some(at);
        }
        at += characters::character_length(collation, &text[at..]);
    }
    None
}

fn substring_index(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let count = integer(values, 2, ctx)?;
    let (text, delimiter) = (text(call, values, 0), text(call, values, 1));
    if text.is_empty() || delimiter.is_empty() || count == 0 {
        return Ok(Value::Str(Vec::new()));
    }
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = find_bytes(call.collation, &text, &delimiter, from) {
        found.push(at);
        from = at + delimiter.len();
        if count > 0 && found.len() as u64 == count as u64 {
            return Ok(Value::Str(text[..at].to_vec()));
        }
    }
    if count < 0
        && let Some(index) = found.len().checked_sub(usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX))
    {
        return Ok(Value::Str(text[found[index] + delimiter.len()..].to_vec()));
    }
    Ok(Value::Str(text.into_owned()))
}

fn trim_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    match derivation.arguments.len() {
        1 => first_text(derivation),
        _ => searched_text(derivation),
    }
}

/// The first argument, or part of it, in which the second is looked for.
fn searched_text(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let length = derivation.length_of(0);
    derivation.compared_text(&[0, 1], length)
}

fn trim(call: &Call, values: &[Value], leading: bool, trailing: bool) -> Value {
    let text = text(call, values, 0);
    let removed = if values.len() > 1 { super::argument::text(call, values, 1) } else { b" ".as_slice().into() };
    let mut rest: &[u8] = &text;
    if removed.is_empty() {
        return Value::Str(rest.to_vec());
    }
    while leading && let Some(shorter) = rest.strip_prefix(&*removed) {
        rest = shorter;
    }
    while trailing && let Some(shorter) = strip_last(call.collation, rest, &removed) {
        rest = shorter;
    }
    Value::Str(rest.to_vec())
}

/// Strips a suffix that begins at a character.
fn strip_last<'t>(collation: Collation, text: &'t [u8], suffix: &[u8]) -> Option<&'t [u8]> {
    let shorter = text.strip_suffix(suffix)?;
    let is_boundary = collation.charset().is_single_byte() || suffix[0] & 0xC0 != 0x80;
    is_boundary.then_some(shorter)
}

fn pad_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let length = derivation.constant_integer(1).map_or(u64::from(u32::MAX), |length| length.max(0) as u64);
    let length = length.min(u64::from(u32::MAX));
    Ok(derivation.text(&[0, 2], length)?.nullable())
}

fn pad(call: &Call, values: &mut [Value], before: bool, ctx: &mut EvalContext<'_>) -> Result<Value> {
    let name = if before { "lpad" } else { "rpad" };
    let length = integer(values, 1, ctx)?;
    if length < 0 {
        return Ok(Value::Null);
    }
    let length = length as usize;
    let collation = call.collation;
    let mut body = take_text(call, values, 0);
    let count = characters::count(collation, &body);
    if length <= count {
        body.truncate(characters::offset(collation, &body, length));
        return Ok(Value::Str(body));
    }
    let padding = if values.len() > 2 { text(call, values, 2) } else { b" ".as_slice().into() };
    let padding_count = characters::count(collation, &padding);
    if padding_count == 0 {
        return Ok(Value::Str(Vec::new()));
    }
    let wanted = length - count;
    let (whole, part) = (wanted / padding_count, wanted % padding_count);
    let part = &padding[..characters::offset(collation, &padding, part)];
    let bytes = whole.saturating_mul(padding.len()).saturating_add(part.len() + body.len());
    if bytes > ctx.settings.max_allowed_packet {
        return ctx.too_long(name);
    }
    let mut filler = padding.repeat(whole);
    filler.extend_from_slice(part);
    if before {
        filler.extend_from_slice(&body);
        return Ok(Value::Str(filler));
    }
    body.extend_from_slice(&filler);
    Ok(Value::Str(body))
}

fn repeat_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let count = derivation.constant_integer(1).map_or(u64::from(u32::MAX), |count| count.max(0) as u64);
    let length = derivation.length_of(0).saturating_mul(count).min(u64::from(u32::MAX));
    Ok(derivation.text(&[0], length)?.nullable())
}

fn repeat(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let count = size(integer(values, 1, ctx)?);
    let text = text(call, values, 0);
    if text.len().saturating_mul(count) > ctx.settings.max_allowed_packet {
        return ctx.too_long("repeat");
    }
    Ok(Value::Str(text.repeat(count)))
}

fn space_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let count = derivation.constant_integer(0).map_or(u64::from(u32::MAX), |count| count.max(0) as u64);
    Ok(derivation.ascii_text(count.min(u64::from(u32::MAX)))?.nullable())
}

fn space(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let count = size(integer(values, 0, ctx)?);
    if count > ctx.settings.max_allowed_packet {
        return ctx.too_long("space");
    }
    Ok(Value::Str(vec![b' '; count]))
}

fn replace_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let (length, searched, replacement) =
        (derivation.length_of(0), derivation.length_of(1), derivation.length_of(2));
    let growth = replacement.saturating_sub(searched.max(1));
    let occurrences = if growth > 0 { length / searched.max(1) } else { 0 };
    let length = length.saturating_add(occurrences.saturating_mul(growth)).min(u64::from(u32::MAX));
    Ok(derivation.compared_text(&[0, 1, 2], length)?.nullable())
}

fn replace(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let (source, searched, replacement) = (text(call, values, 0), text(call, values, 1), text(call, values, 2));
    if searched.is_empty() {
        return Ok(Value::Str(source.into_owned()));
    }
    let mut result = Vec::with_capacity(source.len());
    let mut from = 0;
    while let Some(at) = find_bytes(call.collation, &source, &searched, from) {
        result.extend_from_slice(&source[from..at]);
        result.extend_from_slice(&replacement);
        if result.len() > ctx.settings.max_allowed_packet {
            return ctx.too_long("replace");
        }
        from = at + searched.len();
    }
    result.extend_from_slice(&source[from..]);
    Ok(Value::Str(result))
}

fn reverse(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let text = text(call, values, 0);
    let mut result = vec![0; text.len()];
    let mut end = text.len();
    for character in characters::characters(call.collation, &text) {
        let start = end - character.len();
        result[start..end].copy_from_slice(character);
        end = start;
    }
    Ok(Value::Str(result))
}

fn insert_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let length = derivation.length_of(0).saturating_add(derivation.length_of(3));
    derivation.text(&[0, 3], length)
}

/// INSERT(text, position, length, inserted).
fn insert(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let (position, length) = (integer(values, 1, ctx)?, integer(values, 2, ctx)?);
    let (source, inserted) = (text(call, values, 0), text(call, values, 3));
    let count = characters::count(call.collation, &source);
    if position < 1 || position as u64 > count as u64 {
        return Ok(Value::Str(source.into_owned()));
    }
    let start = characters::offset(call.collation, &source, position as usize - 1);
    let removed = usize::try_from(length).unwrap_or(usize::MAX);
    let end = start + characters::offset(call.collation, &source[start..], removed);
    if source.len() - (end - start) + inserted.len() > ctx.settings.max_allowed_packet {
        return ctx.too_long("insert");
    }
    Ok(Value::Str([&source[..start], &inserted, &source[end..]].concat()))
}
