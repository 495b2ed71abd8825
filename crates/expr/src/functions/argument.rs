//! Access to evaluated arguments.

use std::borrow::Cow;

use shoal_types::{Result, Value};

use crate::context::EvalContext;
use crate::convert;
use crate::expr::Call;

/// The text of the argument at `position`, as its type prints it; empty for NULL or a missing argument.
pub(crate) fn text<'v>(call: &Call, values: &'v [Value], position: usize) -> Cow<'v, [u8]> {
    match values.get(position) {
        Some(Value::Str(text)) => Cow::Borrowed(text),
        Some(Value::Null) | None => Cow::Borrowed(&[]),
        Some(other) => {
            let mut text = Vec::new();
            match call.arguments.get(position) {
                Some(argument) => other.append_text_as(argument.sql_type(), &mut text),
                None => other.append_text(&mut text),
            }
            Cow::Owned(text)
        }
    }
}

/// Like [`text`], without a copy of a string.
pub(crate) fn take_text(call: &Call, values: &mut [Value], position: usize) -> Vec<u8> {
    if let Some(Value::Str(text)) = values.get_mut(position) {
        return std::mem::take(text);
    }
    text(call, values, position).into_owned()
}

/// The argument as a signed integer, clamped; `None` if there is no such argument.
pub(crate) fn optional_integer(
    values: &[Value],
    position: usize,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<i64>> {
    values.get(position).map(|value| convert::to_i64(value, ctx)).transpose()
}

pub(crate) fn integer(values: &[Value], position: usize, ctx: &mut EvalContext<'_>) -> Result<i64> {
    Ok(optional_integer(values, position, ctx)?.unwrap_or(0))
}

pub(crate) fn double(values: &[Value], position: usize, ctx: &mut EvalContext<'_>) -> Result<f64> {
    values.get(position).map_or(Ok(0.0), |value| convert::to_f64(value, ctx))
}

/// A count of characters or bytes: 0 for negative numbers.
pub(crate) fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}
