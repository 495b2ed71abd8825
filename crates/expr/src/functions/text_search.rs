//! String functions that search, compare and choose.

use shoal_types::{BaseType, Result, Value};

use super::argument::{integer, optional_integer, text};
use super::{Derivation, Function, MANY, ResultType};
use crate::build::types;
use crate::context::EvalContext;
use crate::convert;
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new("INSTR", 2, 2, two_texts, |call, values, _| {
        let position = call.collation.locate(&text(call, values, 1), &text(call, values, 0), 1);
        Ok(Value::Int(position as i64))
    }),
    Function::new("LOCATE", 2, 3, two_texts, locate),
    Function::new("POSITION", 2, 2, two_texts, locate),
    Function::new("STRCMP", 2, 2, two_texts, |call, values, _| {
        let ordering = call.collation.compare(&text(call, values, 0), &text(call, values, 1));
        Ok(Value::Int(ordering as i64))
    }),
    Function::new("FIELD", 2, MANY, field_type, field).takes_nulls(),
    Function::new("FIND_IN_SET", 2, 2, two_texts, find_in_set),
    Function::new("ELT", 2, MANY, elt_type, elt).takes_nulls(),
    Function::new("MAKE_SET", 2, MANY, make_set_type, make_set).takes_nulls(),
    Function::new("EXPORT_SET", 3, 5, export_set_type, export_set),
    Function::new(
        "ASCII",
        1,
        1,
        |d| d.integer(3),
        |call, values, _| Ok(Value::Int(text(call, values, 0).first().map_or(0, |byte| i64::from(*byte)))),
    ),
    Function::new("ORD", 1, 1, ord_type, ord),
];

fn two_texts(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let collation = derivation.compared(&[0, 1])?;
    Ok(derivation.integer(11)?.with_collation(collation))
}

/// LOCATE(needle, text, position).
fn locate(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let position = optional_integer(values, 2, ctx)?.unwrap_or(1);
    if position < 1 {
        return Ok(Value::Int(0));
    }
    let position = usize::try_from(position).unwrap_or(usize::MAX);
    let found = call.collation.locate(&text(call, values, 0), &text(call, values, 1), position);
    Ok(Value::Int(found as i64))
}

fn field_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let all_text = derivation.arguments.iter().all(|argument| argument.sql_type().is_string());
    let collation = if all_text {
        let positions = derivation.all_positions();
        derivation.compared(&positions)?
    } else {
        derivation.ctx.settings.collation_connection
    };
    Ok(derivation.integer(3)?.not_null().with_collation(collation))
}

/// FIELD(value, candidates...): texts compare as texts, integers as integers, a mix as doubles.
fn field(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    if values[0].is_null() {
        return Ok(Value::Int(0));
    }
    let all =
        |test: fn(&shoal_types::SqlType) -> bool| call.arguments.iter().all(|argument| test(argument.sql_type()));
    let all_text = all(|sql_type| sql_type.is_string());
    let all_exact = all(|sql_type| sql_type.is_integer() || sql_type.base == BaseType::Decimal);
    let first = text(call, values, 0);
    for position in 1..values.len() {
        if values[position].is_null() {
            continue;
        }
        let is_equal = if all_text {
            call.collation.equal(&first, &text(call, values, position))
        } else if all_exact {
            convert::to_decimal(&values[0], ctx)? == convert::to_decimal(&values[position], ctx)?
        } else {
            convert::to_f64(&values[0], ctx)? == convert::to_f64(&values[position], ctx)?
        };
        if is_equal {
            return Ok(Value::Int(position as i64));
        }
    }
    Ok(Value::Int(0))
}

fn find_in_set(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let (needle, list) = (text(call, values, 0), text(call, values, 1));
    if list.is_empty() || needle.contains(&b',') {
        return Ok(Value::Int(0));
    }
    let found = list.split(|byte| *byte == b',').position(|member| call.collation.equal(member, &needle));
    Ok(Value::Int(found.map_or(0, |index| index as i64 + 1)))
}

fn rest_type(derivation: &mut Derivation<'_>, length: u64) -> Result<ResultType> {
    let positions: Vec<usize> = (1..derivation.arguments.len()).collect();
    Ok(derivation.text(&positions, length)?.nullable())
}

fn elt_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let lengths = (1..derivation.arguments.len()).map(|position| derivation.length_of(position));
    let length = lengths.max().unwrap_or(0);
    rest_type(derivation, length)
}

fn elt(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    if values[0].is_null() {
        return Ok(Value::Null);
    }
    let index = integer(values, 0, ctx)?;
    match usize::try_from(index) {
        Ok(index) if index >= 1 && index < values.len() && !values[index].is_null() => {
            Ok(Value::Str(text(call, values, index).into_owned()))
        }
        _ => Ok(Value::Null),
    }
}

fn make_set_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let lengths = (1..derivation.arguments.len()).map(|position| derivation.length_of(position).saturating_add(1));
    let length = lengths.fold(0u64, u64::saturating_add);
    rest_type(derivation, length)
}

fn make_set(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    if values[0].is_null() {
        return Ok(Value::Null);
    }
    let bits = convert::to_bits(&values[0], ctx)?;
    let mut result = Vec::new();
    let mut is_first = true;
    for position in (1..values.len()).take(64) {
        if bits & (1 << (position - 1)) == 0 || values[position].is_null() {
            continue;
        }
        if !is_first {
            result.push(b',');
        }
        is_first = false;
        result.extend_from_slice(&text(call, values, position));
    }
    Ok(Value::Str(result))
}

fn export_set_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let flag = derivation.length_of(1).max(derivation.length_of(2));
    let separator = if derivation.arguments.len() > 3 { derivation.length_of(3) } else { 1 };
    let length = flag.saturating_add(separator).saturating_mul(64);
    derivation.text(&[1, 2, 3], length)
}

/// EXPORT_SET(bits, on, off, separator, count).
fn export_set(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let bits = convert::to_bits(&values[0], ctx)?;
    let count =
        optional_integer(values, 4, ctx)?.map_or(64, |count| if (0..=64).contains(&count) { count } else { 64 });
    let (on, off) = (text(call, values, 1), text(call, values, 2));
    let separator = if values.len() > 3 { text(call, values, 3) } else { b",".as_slice().into() };
    let longest = on.len().max(off.len()).saturating_add(separator.len());
    if longest.saturating_mul(64) > ctx.settings.max_allowed_packet {
        return ctx.too_long("export_set");
    }
    let mut result = Vec::new();
    for bit in 0..count {
        if bit > 0 {
            result.extend_from_slice(&separator);
        }
        result.extend_from_slice(if bits >> bit & 1 == 1 { &on } else { &off });
    }
    Ok(Value::Str(result))
}

fn ord_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let connection = derivation.ctx.settings.collation_connection;
    let sql_type = derivation.type_of(0).cloned().unwrap_or_default();
    let collation = crate::collate::collation_of(&sql_type, connection);
    Ok(derivation.typed(types::bigint(false, 21)).with_collation(collation))
}

/// The bytes of the first character as a big-endian number.
fn ord(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let text = text(call, values, 0);
    if text.is_empty() {
        return Ok(Value::Int(0));
    }
    let length = crate::characters::character_length(call.collation, &text);
    Ok(Value::Int(text[..length].iter().fold(0i64, |number, byte| number << 8 | i64::from(*byte))))
}
