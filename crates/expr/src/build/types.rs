//! Rules about types: lengths, classes, the common type of several expressions, the type of untyped parameters.

use shoal_types::{BaseType, Collation, Error, ErrorCode, Result, SqlType, Value};

use crate::collate;
use crate::expr::Expr;
use crate::operator::NumberClass;

pub(crate) const DECIMAL_PRECISION_MAX: u32 = 65;
pub(crate) const DECIMAL_SCALE_MAX: u8 = 30;
/// The longest VARCHAR in characters of the widest character set; longer results are TEXT.
const VARCHAR_LENGTH_MAX: u32 = 16_383;

pub(crate) fn datetime(fsp: u8) -> SqlType {
    SqlType { length: fraction_length(19, fsp), ..SqlType::datetime(fsp) }
}

pub(crate) fn time(fsp: u8) -> SqlType {
    SqlType { length: fraction_length(10, fsp), decimals: fsp, ..SqlType::new(BaseType::Time) }
}

fn fraction_length(length: u32, fsp: u8) -> u32 {
    if fsp == 0 { length } else { length + 1 + u32::from(fsp) }
}

pub(crate) fn json() -> SqlType {
    SqlType { length: u32::MAX, collation: Collation::UTF8MB4_BIN, ..SqlType::new(BaseType::Json) }
}

/// BIGINT as arithmetic yields it.
pub(crate) fn bigint(unsigned: bool, length: u32) -> SqlType {
    SqlType { length, ..SqlType::bigint(unsigned) }
}

/// Most characters that a value of the type has as text.
pub(crate) fn text_length(sql_type: &SqlType) -> u64 {
    let labels = || sql_type.labels.iter().flat_map(|labels| labels.iter());
    u64::from(match sql_type.base {
        BaseType::Null => 0,
        BaseType::TinyInt => 4,
        BaseType::SmallInt => 6,
        BaseType::MediumInt => 8,
        BaseType::Int => 11,
        BaseType::BigInt if sql_type.length > 0 => sql_type.length,
        BaseType::BigInt => 20,
        BaseType::Float => 12,
        BaseType::Double => 22,
        BaseType::Decimal => sql_type.length + 2,
        BaseType::Bit => sql_type.length.div_ceil(8),
        BaseType::Year => 4,
        BaseType::Date => 10,
        BaseType::Time => fraction_length(10, sql_type.decimals),
        BaseType::DateTime | BaseType::Timestamp => fraction_length(19, sql_type.decimals),
        BaseType::Char | BaseType::VarChar | BaseType::Text => sql_type.length,
        BaseType::Enum => labels().map(|label| label.len() as u32).max().unwrap_or(0),
        BaseType::Set => labels().map(|label| label.len() as u32 + 1).sum::<u32>().saturating_sub(1),
        BaseType::Json | BaseType::Geometry => u32::MAX,
    })
}

/// VARCHAR, or TEXT where that would be too long.
pub(crate) fn string_type(length: u64, collation: Collation) -> SqlType {
    if length <= u64::from(VARCHAR_LENGTH_MAX) || (collation == Collation::BINARY && length <= 65_535) {
        return SqlType::varchar(length as u32, collation);
    }
    let bytes = length.saturating_mul(collation.charset().char_bytes_max() as u64);
    SqlType { length: u32::try_from(bytes).unwrap_or(u32::MAX), collation, ..SqlType::new(BaseType::Text) }
}

/// The type as text in a collation.
pub(crate) fn as_text(sql_type: &SqlType, collation: Collation) -> SqlType {
    match sql_type.base {
        BaseType::Char | BaseType::VarChar | BaseType::Text => {
            SqlType { collation, unsigned: false, zerofill: false, labels: None, ..sql_type.clone() }
        }
        BaseType::Json | BaseType::Geometry => {
            SqlType { length: u32::MAX, collation, ..SqlType::new(BaseType::Text) }
        }
        _ => string_type(text_length(sql_type), collation),
    }
}

/// In which class a type takes part in arithmetic.
pub(crate) fn number_class(sql_type: &SqlType) -> NumberClass {
    match sql_type.base {
        BaseType::Decimal => NumberClass::Decimal,
        // As a text is: NULL has no type of its own.
        BaseType::Null => NumberClass::Double,
        BaseType::Date => NumberClass::Integer,
        BaseType::Time | BaseType::DateTime | BaseType::Timestamp if sql_type.decimals == 0 => {
            NumberClass::Integer
        }
        BaseType::Time | BaseType::DateTime | BaseType::Timestamp => NumberClass::Decimal,
        _ if sql_type.is_integer() => NumberClass::Integer,
        _ => NumberClass::Double,
    }
}

/// Digits of the type as a decimal: (precision, scale).
pub(crate) fn decimal_digits(sql_type: &SqlType) -> (u32, u8) {
    let precision = match sql_type.base {
        BaseType::TinyInt => 3,
        BaseType::SmallInt => 5,
        BaseType::MediumInt => 8,
        BaseType::Int => 10,
        BaseType::BigInt => sql_type.length.clamp(1, if sql_type.unsigned { 20 } else { 19 }),
        BaseType::Decimal => return (sql_type.length.clamp(1, 65), sql_type.decimals.min(DECIMAL_SCALE_MAX)),
        BaseType::Bit => 20,
        BaseType::Year => 4,
        BaseType::Date => 8,
        BaseType::Time => return (7 + u32::from(sql_type.decimals), sql_type.decimals),
        BaseType::DateTime | BaseType::Timestamp => return (14 + u32::from(sql_type.decimals), sql_type.decimals),
        BaseType::Null => 1,
        _ => return (DECIMAL_PRECISION_MAX, DECIMAL_SCALE_MAX),
    };
    (precision, 0)
}

/// DECIMAL with the digits cut to what the type can have.
pub(crate) fn decimal(precision: u32, scale: u32) -> SqlType {
    let scale = scale.min(u32::from(DECIMAL_SCALE_MAX));
    SqlType::decimal(precision.clamp(scale.max(1), DECIMAL_PRECISION_MAX), scale as u8)
}

/// Fractional seconds digits of an expression read as a temporal value.
pub(crate) fn fsp_of(expr: &Expr) -> u8 {
    let sql_type = expr.sql_type();
    match sql_type.base {
        BaseType::Time | BaseType::DateTime | BaseType::Timestamp | BaseType::Decimal => sql_type.decimals.min(6),
        BaseType::Float | BaseType::Double => 6,
        _ if sql_type.is_string() => match expr.as_literal() {
            Some(Value::Str(text)) => fraction_digits(text),
            Some(_) => 0,
            None => 6,
        },
        _ => 0,
    }
}

/// Digits behind the last point of a text, at most 6.
fn fraction_digits(text: &[u8]) -> u8 {
    match text.iter().rposition(|byte| *byte == b'.') {
        Some(point) => text[point + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count().min(6) as u8,
        None => 0,
    }
}

/// The constant fsp argument of NOW(6) and the like. Errors: not a constant from 0 to 6.
pub(crate) fn fsp_argument(argument: Option<&Expr>, function: &str) -> Result<u8> {
    let Some(argument) = argument else {
        return Ok(0);
    };
    match argument.as_literal().map(|value| value.to_i64().value) {
        Some(fsp @ 0..=6) => Ok(fsp as u8),
        Some(fsp) => Err(Error::new(
            ErrorCode::TooBigPrecision,
            format!("Too-big precision {fsp} specified for '{}'. Maximum is 6.", function.to_ascii_lowercase()),
        )),
        None => Err(Error::new(
            ErrorCode::WrongArguments,
            format!("Incorrect arguments to {}", function.to_ascii_lowercase()),
        )),
    }
}

/// An untyped parameter takes the type that its context expects; anything else stays as it is.
pub(crate) fn give_type(argument: &mut Expr, sql_type: &SqlType) {
    let Expr::Parameter(parameter) = argument else {
        return;
    };
    if !parameter.untyped || sql_type.base == BaseType::Null {
        return;
    }
    parameter.sql_type = match sql_type.base {
        BaseType::Decimal => SqlType::decimal(65, 30),
        BaseType::Float | BaseType::Double => SqlType::double(),
        BaseType::Date | BaseType::DateTime | BaseType::Timestamp => datetime(6),
        BaseType::Time => time(6),
        _ if sql_type.is_integer() => SqlType::bigint(sql_type.unsigned),
        BaseType::Json => sql_type.clone(),
        _ => SqlType::varchar(65_535, sql_type.collation),
    };
    parameter.coercibility = if collate::is_text(&parameter.sql_type) {
        collate::Coercibility::Coercible
    } else {
        collate::Coercibility::Numeric
    };
    parameter.untyped = false;
}

/// The type under which a bound value takes part in expressions.
pub fn parameter_type(value: &Value, connection: Collation) -> SqlType {
    match value {
        Value::Null => SqlType::null(),
        Value::Int(_) => SqlType::bigint(false),
        Value::UInt(_) => SqlType::bigint(true),
        Value::Float(_) | Value::Double(_) => SqlType::double(),
        Value::Decimal(number) => SqlType::decimal(u32::from(number.precision()), number.scale()),
        Value::Date(_) => SqlType { length: 10, ..SqlType::new(BaseType::Date) },
        Value::Time(value) => time(value.fsp),
        Value::DateTime(value) => datetime(value.fsp),
        Value::Year(_) => SqlType { length: 4, unsigned: true, ..SqlType::new(BaseType::Year) },
        Value::Bit(_, width) => SqlType { length: u32::from(*width), ..SqlType::new(BaseType::Bit) },
        Value::Json(_) => json(),
        Value::Str(text) => string_type(text.len() as u64, connection),
        Value::Enum(_) | Value::Set(_) => string_type(255, connection),
    }
}

/// The type of the column that CREATE TABLE ... SELECT makes of an expression.
pub fn stored_type(expr: &Expr) -> SqlType {
    let sql_type = expr.sql_type();
    match (expr, sql_type.base) {
        (_, BaseType::Null) => SqlType { length: 0, ..SqlType::new(BaseType::Char) },
        (Expr::Column(_), _) => sql_type.clone(),
        (_, BaseType::BigInt) if sql_type.length < 10 => {
            SqlType { length: sql_type.length.max(1), unsigned: sql_type.unsigned, ..SqlType::new(BaseType::Int) }
        }
        (_, BaseType::Timestamp) => SqlType { base: BaseType::DateTime, ..sql_type.clone() },
        _ => SqlType { zerofill: false, ..sql_type.clone() },
    }
}

fn integer_rank(base: BaseType) -> u8 {
    match base {
        BaseType::TinyInt => 1,
        BaseType::SmallInt => 2,
        BaseType::MediumInt => 3,
        BaseType::Int => 4,
        _ => 5,
    }
}

const INTEGERS: [BaseType; 5] =
    [BaseType::TinyInt, BaseType::SmallInt, BaseType::MediumInt, BaseType::Int, BaseType::BigInt];

/// The type that values of both types fit: UNION, CASE, COALESCE, GREATEST. The collation of a string result is
/// `collation`.
pub(crate) fn merge(left: &SqlType, right: &SqlType, collation: Collation) -> SqlType {
    use BaseType::*;
    match (left.base, right.base) {
        (Null, _) => return right.clone(),
        (_, Null) => return left.clone(),
        (Json, Json) | (Geometry, Geometry) => return left.clone(),
        (Enum, Enum) | (Set, Set) if left == right => return left.clone(),
        (Year, Year) | (Date, Date) => return left.clone(),
        (Bit, Bit) => return SqlType { length: left.length.max(right.length), ..left.clone() },
        (Time, Time) => return time(left.decimals.max(right.decimals)),
        (Timestamp, Timestamp) => {
            return SqlType { base: Timestamp, ..datetime(left.decimals.max(right.decimals)) };
        }
        _ => {}
    }
    if left.is_temporal() && right.is_temporal() {
        return datetime(left.decimals.max(right.decimals));
    }
    if left.is_numeric() && right.is_numeric() {
        return merge_numbers(left, right);
    }
    merge_texts(left, right, collation)
}

fn merge_numbers(left: &SqlType, right: &SqlType) -> SqlType {
    let is_float = |sql_type: &SqlType| matches!(sql_type.base, BaseType::Float | BaseType::Double);
    if is_float(left) || is_float(right) {
        if left.base == BaseType::Float && right.base == BaseType::Float {
            return left.clone();
        }
        // Fixed if both are: integers have none, and DECIMALS_NOT_FIXED is the largest.
        return SqlType { decimals: left.decimals.max(right.decimals), ..SqlType::double() };
    }
    if left.base == BaseType::Decimal || right.base == BaseType::Decimal {
        return merge_decimals(left, right);
    }
    let rank = integer_rank(left.base).max(integer_rank(right.base));
    let length = left.length.max(right.length);
    let unsigned =
        |sql_type: &SqlType| sql_type.unsigned || matches!(sql_type.base, BaseType::Year | BaseType::Bit);
    let (first, second) = (unsigned(left), unsigned(right));
    if first == second {
        return SqlType { unsigned: first, length, ..SqlType::new(INTEGERS[usize::from(rank) - 1]) };
    }
    // Mixed signs: the signed type must be wider than the unsigned one.
    let unsigned_rank = integer_rank(if first { left.base } else { right.base });
    let signed_rank = integer_rank(if first { right.base } else { left.base });
    match signed_rank.max(unsigned_rank + 1) {
        rank @ 1..=5 => SqlType { length, ..SqlType::new(INTEGERS[usize::from(rank) - 1]) },
        _ => SqlType::decimal(20, 0),
    }
}

fn merge_decimals(left: &SqlType, right: &SqlType) -> SqlType {
    let (left_precision, left_scale) = decimal_digits(left);
    let (right_precision, right_scale) = decimal_digits(right);
    let scale = left_scale.max(right_scale);
    let integer =
        (left_precision - u32::from(left_scale)).max(right_precision.saturating_sub(u32::from(right_scale)));
    decimal(integer + u32::from(scale), u32::from(scale))
}

fn merge_texts(left: &SqlType, right: &SqlType, collation: Collation) -> SqlType {
    let length = text_length(left).max(text_length(right));
    let is_text =
        |sql_type: &SqlType| matches!(sql_type.base, BaseType::Text | BaseType::Json | BaseType::Geometry);
    if is_text(left) || is_text(right) {
        let bytes = length.min(u64::from(u32::MAX)) as u32;
        return SqlType { length: bytes, collation, ..SqlType::new(BaseType::Text) };
    }
    if left.base == BaseType::Char && right.base == BaseType::Char {
        return SqlType { length: length as u32, collation, ..SqlType::new(BaseType::Char) };
    }
    string_type(length, collation)
}
