//! Comparison of two operands: of values by a [`Comparator`], and of operands in place where no value is needed.

use std::cmp::Ordering;

use shoal_types::json::JsonRef;
use shoal_types::{BaseType, Collation, Json, Result, SqlType, Value};

use crate::collate;
use crate::context::EvalContext;
use crate::convert::{self, plain_integer};
use crate::expr::Expr;
use crate::operator::Comparator;
use crate::row_source::RowSource;

/// An integer operand read without making a value.
#[derive(Clone, Copy)]
pub(crate) enum FastInteger {
    Null,
    Signed(i64),
    Unsigned(u64),
}

impl FastInteger {
    #[inline]
    pub fn compare(self, other: FastInteger) -> Option<Ordering> {
        Some(match (self, other) {
            (FastInteger::Signed(left), FastInteger::Signed(right)) => left.cmp(&right),
            (FastInteger::Unsigned(left), FastInteger::Unsigned(right)) => left.cmp(&right),
            (FastInteger::Signed(left), FastInteger::Unsigned(right)) => i128::from(left).cmp(&i128::from(right)),
            (FastInteger::Unsigned(left), FastInteger::Signed(right)) => i128::from(left).cmp(&i128::from(right)),
            _ => return None,
        })
    }

    fn of_value(value: &Value) -> Option<FastInteger> {
        Some(match value {
            Value::Int(number) => FastInteger::Signed(*number),
            Value::UInt(number) => FastInteger::Unsigned(*number),
            Value::Null => FastInteger::Null,
            _ => return None,
        })
    }
}

/// The operand as an integer if that takes no evaluation: a column, literal or parameter of an integer type.
#[inline]
pub(crate) fn fast_integer<R: RowSource + ?Sized>(
    expr: &Expr,
    row: &R,
    parameters: &[Value],
) -> Option<FastInteger> {
    match expr {
        Expr::Column(column) => {
            if row.is_null(column.position) {
                return Some(FastInteger::Null);
            }
            let bits = row.integer(column.position)?;
            Some(if column.sql_type.unsigned {
                FastInteger::Unsigned(bits as u64)
            } else {
                FastInteger::Signed(bits)
            })
        }
        Expr::Literal(literal) => FastInteger::of_value(&literal.value),
        Expr::Parameter(parameter) => FastInteger::of_value(parameters.get(parameter.index)?),
        Expr::Call(_) => None,
    }
}

/// The operand's text if it can be lent: a column, literal or parameter that holds a string. The inner `None` is NULL.
#[inline]
pub(crate) fn fast_text<'a, R: RowSource + ?Sized>(
    expr: &'a Expr,
    row: &'a R,
    parameters: &'a [Value],
) -> Option<Option<&'a [u8]>> {
    let of_value = |value: &'a Value| match value {
        Value::Str(text) => Some(Some(text.as_slice())),
        Value::Null => Some(None),
        _ => None,
    };
    match expr {
        Expr::Column(column) => {
            if row.is_null(column.position) {
                return Some(None);
            }
            row.text(column.position).map(Some)
        }
        Expr::Literal(literal) => of_value(&literal.value),
        Expr::Parameter(parameter) => of_value(parameters.get(parameter.index)?),
        Expr::Call(_) => None,
    }
}

/// Compares two operands; `None` when one is NULL (or no value of the comparator's class).
pub(crate) fn compare_operands<R: RowSource + ?Sized>(
    comparator: Comparator,
    left: &Expr,
    right: &Expr,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<Ordering>> {
    let parameters = ctx.parameters;
    if let Comparator::Text(collation) = comparator
        && let (Some(first), Some(second)) = (fast_text(left, row, parameters), fast_text(right, row, parameters))
    {
        return Ok(match (first, second) {
            (Some(first), Some(second)) => Some(collate::compare(collation, first, second)),
            _ => None,
        });
    }
    let first = left.eval(row, ctx)?;
    if first.is_null() {
        return Ok(None);
    }
    compare_with_value(comparator, &first, right, row, ctx)
}

/// Compares a value with an operand; the operand is not copied if it is constant.
pub(crate) fn compare_with_value<R: RowSource + ?Sized>(
    comparator: Comparator,
    left: &Value,
    right: &Expr,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<Ordering>> {
    match right {
        Expr::Literal(literal) => compare_values(comparator, left, &literal.value, ctx),
        Expr::Parameter(parameter) => match ctx.parameters.get(parameter.index) {
            Some(value) => compare_values(comparator, left, value, ctx),
            None => Ok(None),
        },
        _ => {
            let right = right.eval(row, ctx)?;
            compare_values(comparator, left, &right, ctx)
        }
    }
}

/// Compares two values; `None` when one is NULL or no value of the comparator's class.
pub(crate) fn compare_values(
    comparator: Comparator,
    left: &Value,
    right: &Value,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<Ordering>> {
    if left.is_null() || right.is_null() {
        return Ok(None);
    }
    Ok(match comparator {
        Comparator::Integer => match (plain_integer(left), plain_integer(right)) {
            (Some(first), Some(second)) => Some(first.cmp(&second)),
            // A parameter's value need not be of the class that its statement was built for.
            _ => return compare_values(comparator_of_values(left, right), left, right, ctx),
        },
        Comparator::Decimal => {
            if is_text_or_float(left) || is_text_or_float(right) {
                return compare_values(Comparator::Double, left, right, ctx);
            }
            Some(convert::to_decimal(left, ctx)?.cmp(&convert::to_decimal(right, ctx)?))
        }
        Comparator::Double => {
            let (first, second) = (convert::to_f64(left, ctx)?, convert::to_f64(right, ctx)?);
            first.partial_cmp(&second)
        }
        Comparator::Text(collation) => {
            Some(collate::compare(collation, &convert::text(left), &convert::text(right)))
        }
        Comparator::DateTime => {
            let (first, second) = (datetime_operand(left, ctx)?, datetime_operand(right, ctx)?);
            Some(first.cmp(&second))
        }
        Comparator::Time => match (convert::to_time(left, ctx)?, convert::to_time(right, ctx)?) {
            (Some(first), Some(second)) => Some(first.micros.cmp(&second.micros)),
            _ => None,
        },
        Comparator::Json => {
            let (first, second) = (json_operand(left), json_operand(right));
            let (first, second): (JsonRef<'_>, JsonRef<'_>) = (first.root(), second.root());
            Some(first.compare(&second))
        }
    })
}

/// A text that is no date counts as the zero date.
fn datetime_operand(value: &Value, ctx: &mut EvalContext<'_>) -> Result<u64> {
    Ok(convert::to_datetime(value, ctx)?.map_or(0, |datetime| datetime.packed))
}

fn json_operand(value: &Value) -> std::borrow::Cow<'_, Json> {
    match value {
        Value::Json(json) => std::borrow::Cow::Borrowed(json),
        other => std::borrow::Cow::Owned(Json::from_tree(&crate::json_value::of_value(other))),
    }
}

fn is_text_or_float(value: &Value) -> bool {
    matches!(value, Value::Str(_) | Value::Double(_) | Value::Float(_) | Value::Enum(_) | Value::Set(_))
}

/// The comparator for two values whose static types are not known.
fn comparator_of_values(left: &Value, right: &Value) -> Comparator {
    let is_exact = |value: &Value| matches!(value, Value::Decimal(_)) || plain_integer(value).is_some();
    match (left, right) {
        (Value::Json(_), _) | (_, Value::Json(_)) => Comparator::Json,
        (Value::Str(_), Value::Str(_)) => Comparator::Text(Collation::UTF8MB4_0900_AI_CI),
        (Value::DateTime(_) | Value::Date(_), _) | (_, Value::DateTime(_) | Value::Date(_)) => {
            Comparator::DateTime
        }
        (Value::Time(_), _) | (_, Value::Time(_)) => Comparator::Time,
        _ if is_exact(left) && is_exact(right) => Comparator::Decimal,
        _ => Comparator::Double,
    }
}

/// The order of two values of one type, as ORDER BY, MIN and MAX see it: NULL first, strings by their collation, ENUM
/// and SET by their numbers.
pub fn compare(left: &Value, right: &Value, sql_type: &SqlType) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Int(first), Value::Int(second)) => first.cmp(second),
        (Value::UInt(first), Value::UInt(second)) => first.cmp(second),
        (Value::Double(first), Value::Double(second)) => compare_floats(*first, *second),
        (Value::Float(first), Value::Float(second)) => compare_floats(f64::from(*first), f64::from(*second)),
        (Value::Decimal(first), Value::Decimal(second)) => first.cmp(second),
        (Value::Str(first), Value::Str(second)) => match sql_type.base {
            BaseType::Geometry => first.cmp(second),
            _ => collate::compare(sql_type.collation, first, second),
        },
        (Value::Date(first), Value::Date(second)) => first.cmp(second),
        (Value::Time(first), Value::Time(second)) => first.micros.cmp(&second.micros),
        (Value::DateTime(first), Value::DateTime(second)) => first.packed.cmp(&second.packed),
        (Value::Enum(first), Value::Enum(second)) => first.index.cmp(&second.index),
        (Value::Set(first), Value::Set(second)) => first.bits.cmp(&second.bits),
        (Value::Json(first), Value::Json(second)) => first.root().compare(&second.root()),
        _ => match (plain_integer(left), plain_integer(right)) {
            (Some(first), Some(second)) => first.cmp(&second),
            _ if sql_type.is_string() => {
                collate::compare(sql_type.collation, &convert::text(left), &convert::text(right))
            }
            _ => compare_floats(left.to_f64().value, right.to_f64().value),
        },
    }
}

/// -0 equals 0; NaN, which MySQL never stores, sorts by its bits.
fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.total_cmp(&right))
}
