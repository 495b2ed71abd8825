//! REGEXP_LIKE, REGEXP_INSTR, REGEXP_REPLACE, REGEXP_SUBSTR.

use std::sync::Arc;

use shoal_types::{Charset, Collation, Error, ErrorCode, Result, Value};

use super::argument::{integer, optional_integer, text};
use super::{Derivation, Function, ResultType};
use crate::build;
use crate::characters;
use crate::context::EvalContext;
use crate::expr::{Call, Expr};
use crate::regexp::{CompiledRegex, Groups, MatchOptions};

pub(super) const TABLE: &[Function] = &[
    Function::new(
        "REGEXP_LIKE",
        2,
        3,
        |d| {
            let collation = share_unicode(d, &[0, 1])?;
            Ok(d.boolean()?.with_collation(collation))
        },
        matches,
    ),
    Function::new(
        "REGEXP_INSTR",
        2,
        6,
        |d| {
            let collation = share_unicode(d, &[0, 1])?;
            Ok(d.integer(11)?.with_collation(collation))
        },
        position,
    ),
    Function::new(
        "REGEXP_SUBSTR",
        2,
        5,
        |d| {
            let length = d.length_of(0);
            text_result(d, &[0, 1], length)
        },
        part,
    ),
    Function::new("REGEXP_REPLACE", 3, 6, |d| text_result(d, &[0, 1, 2], u64::from(u32::MAX)), replace),
];

/// The collation of the arguments; texts of other character sets than UTF-8 and binary are converted to UTF-8.
fn share_unicode(derivation: &mut Derivation<'_>, positions: &[usize]) -> Result<Collation> {
    let collation = derivation.compared(positions)?;
    if collation.charset().is_unicode() || collation.charset() == Charset::Binary {
        return Ok(collation);
    }
    let unicode = if collation.is_ci() { Collation::UTF8MB4_0900_AI_CI } else { Collation::UTF8MB4_BIN };
    for position in positions {
        if let Some(argument) = derivation.arguments.get_mut(*position) {
            let original = std::mem::replace(argument, Expr::null());
            *argument = build::convert_using(original, Charset::Utf8mb4, derivation.ctx)?;
        }
    }
    Ok(unicode)
}

fn text_result(derivation: &mut Derivation<'_>, positions: &[usize], length: u64) -> Result<ResultType> {
    let collation = share_unicode(derivation, positions)?;
    let mut result = derivation.text(positions, length)?.nullable();
    result.sql_type.collation = collation;
    Ok(result.with_collation(collation))
}

/// The compiled pattern of argument 1 under the match type at `match_type`.
fn compiled(
    call: &Call,
    values: &[Value],
    match_type: usize,
    ctx: &mut EvalContext<'_>,
) -> Result<Arc<CompiledRegex>> {
    let options = MatchOptions::new(call.collation, &text(call, values, match_type))?;
    ctx.patterns.get(&text(call, values, 1), options)
}

fn matches(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let compiled = compiled(call, values, 2, ctx)?;
    Ok(Value::from(compiled.is_match(&text(call, values, 0))?))
}

/// The byte at which a search from the character position of argument `position` (default 1) starts.
fn start_of(
    call: &Call,
    values: &[Value],
    position: usize,
    source: &[u8],
    ctx: &mut EvalContext<'_>,
) -> Result<usize> {
    let position = optional_integer(values, position, ctx)?.unwrap_or(1);
    let count = characters::count(call.collation, source) as u64;
    if position < 1 || position as u64 > count.max(1) {
        return Err(Error::new(ErrorCode::WrongArguments, "Index out of bounds in regular expression search."));
    }
    Ok(characters::offset(call.collation, source, position as usize - 1))
}

/// The match number `occurrence` (from 1) at or after byte `start`.
fn find(compiled: &CompiledRegex, source: &[u8], start: usize, occurrence: i64) -> Result<Option<(usize, usize)>> {
    let skipped = usize::try_from(occurrence.max(1) - 1).unwrap_or(usize::MAX);
    let found = compiled.find(&source[start..], skipped)?;
    Ok(found.map(|(from, to)| (start + from, start + to)))
}

/// REGEXP_INSTR(text, pattern, position, occurrence, return option, match type).
fn position(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let compiled = compiled(call, values, 5, ctx)?;
    let source = text(call, values, 0);
    let start = start_of(call, values, 2, &source, ctx)?;
    let occurrence = optional_integer(values, 3, ctx)?.unwrap_or(1);
    let after = match integer(values, 4, ctx)? {
        0 => false,
        1 => true,
        _ => {
            return Err(Error::new(
                ErrorCode::WrongArguments,
                "Incorrect arguments to regexp_instr: return_option must be 1 or 0.",
            ));
        }
    };
    let found = find(&compiled, &source, start, occurrence)?;
    Ok(Value::Int(found.map_or(0, |(from, to)| {
        let at = if after { to } else { from };
        characters::count(call.collation, &source[..at]) as i64 + 1
    })))
}

/// REGEXP_SUBSTR(text, pattern, position, occurrence, match type).
fn part(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let compiled = compiled(call, values, 4, ctx)?;
    let source = text(call, values, 0);
    let start = start_of(call, values, 2, &source, ctx)?;
    let occurrence = optional_integer(values, 3, ctx)?.unwrap_or(1);
    let found = find(&compiled, &source, start, occurrence)?;
    Ok(found.map_or(Value::Null, |(from, to)| Value::Str(source[from..to].to_vec())))
}

/// REGEXP_REPLACE(text, pattern, replacement, position, occurrence, match type); occurrence 0 replaces all.
fn replace(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let compiled = compiled(call, values, 5, ctx)?;
    let source = text(call, values, 0);
    if source.is_empty() {
        return Ok(Value::Str(Vec::new()));
    }
    let start = start_of(call, values, 3, &source, ctx)?;
    let occurrence = optional_integer(values, 4, ctx)?.unwrap_or(0);
    let replacement = text(call, values, 2);
    let limit = ctx.settings.max_allowed_packet;
    let mut result = source[..start].to_vec();
    let mut copied = start;
    let mut number = 0;
    compiled.for_each(&source[start..], &mut |groups| {
        number += 1;
        let Some(Some((from, to))) = groups.first().copied() else { return Ok(true) };
        if occurrence > 0 && number != occurrence {
            return Ok(true);
        }
        result.extend_from_slice(&source[copied..start + from]);
        expand(&replacement, groups, &source[start..], &mut result)?;
        copied = start + to;
        Ok(occurrence <= 0 && result.len() <= limit)
    })?;
    if result.len() > limit {
        return ctx.too_long("regexp_replace");
    }
    result.extend_from_slice(&source[copied..]);
    if result.len() > limit { ctx.too_long("regexp_replace") } else { Ok(Value::Str(result)) }
}

/// ICU's replacement text: `$1` is a group, a backslash takes the next character as it is. Errors: a group that the
/// pattern does not have.
fn expand(replacement: &[u8], groups: &Groups, source: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut rest = replacement.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' => out.extend(rest.next()),
            b'$' => {
                let mut group = None;
                while let Some(digit) = rest.peek().filter(|byte| byte.is_ascii_digit()) {
                    let longer = group.unwrap_or(0) * 10 + usize::from(digit - b'0');
                    if group.is_some() && longer >= groups.len() {
                        break;
                    }
                    group = Some(longer);
                    rest.next();
                }
                match group {
                    Some(group) if group < groups.len() => {
                        out.extend_from_slice(groups[group].map_or(&[], |(from, to)| &source[from..to]));
                    }
                    Some(_) => return Err(bad_replacement("Index out of bounds in regular expression search.")),
                    None => return Err(bad_replacement("A capture group has an invalid name.")),
                }
            }
            other => out.push(other),
        }
    }
    Ok(())
}

fn bad_replacement(message: &str) -> Error {
    Error::new(ErrorCode::RegexpError, message)
}
