//! Comparisons: as what two operands are compared, and constants brought to the other side's type once.
//!
//! MySQL's rules: strings with strings by their collation; integers, decimals and doubles by the wider class; a date or
//! time with a string as dates or times; a string with a number as doubles, except that a constant which is exactly a
//! number of the column's class becomes one; JSON with anything as JSON.

use std::sync::Arc;

use shoal_types::{BaseType, DateTime, Error, ErrorCode, Result, SqlType, Value};

use super::arithmetic::arithmetic;
use super::logic::truth_result;
use super::{BuildContext, and, convert_charset, make_call, make_call_with, not, or, types};
use crate::collate;
use crate::expr::{CallData, Expr, Operation};
use crate::membership::ConstantSet;
use crate::operator::{ArithmeticOperator, Comparator, CompareOperator};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Null,
    Integer,
    Decimal,
    Double,
    Text,
    /// With a date part.
    DateTime,
    Time,
    Json,
}

fn class_of(sql_type: &SqlType) -> Class {
    match sql_type.base {
        BaseType::Null => Class::Null,
        BaseType::Decimal => Class::Decimal,
        BaseType::Float | BaseType::Double => Class::Double,
        BaseType::Date | BaseType::DateTime | BaseType::Timestamp => Class::DateTime,
        BaseType::Time => Class::Time,
        BaseType::Json => Class::Json,
        _ if sql_type.is_integer() => Class::Integer,
        _ => Class::Text,
    }
}

/// Chooses the comparator for two operands and converts constants to the other side's class.
pub(crate) fn prepare_comparison(
    left: &mut Expr,
    right: &mut Expr,
    operation: &str,
    ctx: &BuildContext<'_>,
) -> Result<Comparator> {
    let (left_type, right_type) = (left.sql_type().clone(), right.sql_type().clone());
    types::give_type(left, &right_type);
    types::give_type(right, &left_type);
    let is_number = |sql_type: &SqlType| sql_type.is_numeric();
    if is_number(&left_type) {
        right.hexadecimal_as_number();
    }
    if is_number(&right_type) {
        left.hexadecimal_as_number();
    }
    adapt_constant(left, right, ctx)?;
    adapt_constant(right, left, ctx)?;
    let (first, second) = (class_of(left.sql_type()), class_of(right.sql_type()));
    Ok(match (first, second) {
        (Class::Json, _) | (_, Class::Json) => Comparator::Json,
        (Class::Null, Class::Null) => Comparator::Integer,
        (Class::Null, other) | (other, Class::Null) => own_comparator(other, left, right, ctx),
        (Class::DateTime, Class::DateTime | Class::Text | Class::Time)
        | (Class::Text | Class::Time, Class::DateTime) => Comparator::DateTime,
        // A constant whose value is not known yet is taken for a date, as `adapt_constant` does with one that is.
        (Class::DateTime, Class::Integer) if matches!(right, Expr::Parameter(_)) => Comparator::DateTime,
        (Class::Integer, Class::DateTime) if matches!(left, Expr::Parameter(_)) => Comparator::DateTime,
        (Class::Time, Class::Time | Class::Text) | (Class::Text, Class::Time) => Comparator::Time,
        (Class::Text, Class::Text) => {
            let attributes = collate::for_comparison(
                [&*left, &*right].into_iter(),
                operation,
                ctx.settings.collation_connection,
            )?;
            convert_charset(left, attributes.collation, operation, ctx)?;
            convert_charset(right, attributes.collation, operation, ctx)?;
            Comparator::Text(attributes.collation)
        }
        (Class::Integer, Class::Integer) => Comparator::Integer,
        (Class::Integer | Class::Decimal, Class::Integer | Class::Decimal) => Comparator::Decimal,
        _ => Comparator::Double,
    })
}

fn own_comparator(class: Class, left: &Expr, right: &Expr, ctx: &BuildContext<'_>) -> Comparator {
    match class {
        Class::Null | Class::Integer => Comparator::Integer,
        Class::Decimal => Comparator::Decimal,
        Class::Double => Comparator::Double,
        Class::DateTime => Comparator::DateTime,
        Class::Time => Comparator::Time,
        Class::Json => Comparator::Json,
        Class::Text => {
            let text = if left.sql_type().is_string() { left } else { right };
            Comparator::Text(collate::collation_of(text.sql_type(), ctx.settings.collation_connection))
        }
    }
}

/// Converts `constant`, if it is a literal, to the class of `other`, when that changes no result. Errors: a text that is
/// no date compared with a date.
fn adapt_constant(constant: &mut Expr, other: &Expr, ctx: &BuildContext<'_>) -> Result<()> {
    if let Expr::Parameter(parameter) = &*constant
        && parameter.is_constant
        && parameter.sql_type.is_int()
        && other.sql_type().base == BaseType::Year
    {
        *constant = full_year(constant, ctx)?;
        return Ok(());
    }
    let Expr::Literal(literal) = &*constant else {
        return Ok(());
    };
    if matches!(other, Expr::Literal(_)) {
        return Ok(());
    }
    let replacement = match (class_of(other.sql_type()), &literal.value) {
        (Class::DateTime, Value::Str(text)) => datetime_constant(text, other.sql_type(), ctx)?,
        (Class::DateTime, number @ (Value::Int(_) | Value::UInt(_))) => {
            let converted = number.to_datetime(&ctx.evaluation().temporal());
            converted.value.filter(|_| converted.is_exact()).map(datetime_literal)
        }
        (Class::Time, Value::Str(text)) => {
            let converted = shoal_types::Time::parse(text);
            let time = converted.value.filter(|_| !converted.truncated && !converted.out_of_range);
            time.map(|time| (Value::Time(time), types::time(time.fsp)))
        }
        (Class::Integer, Value::Int(number @ 1..=99)) if other.sql_type().base == BaseType::Year => {
            let year = if *number < 70 { 2000 + number } else { 1900 + number };
            Some((Value::Int(year), types::bigint(false, 4)))
        }
        (Class::Integer | Class::Decimal, Value::Str(text)) if other.sql_type().base != BaseType::Bit => {
            exact_number(text)
        }
        _ => None,
    };
    if let Some((value, sql_type)) = replacement {
        *constant = Expr::literal(value, sql_type);
    }
    Ok(())
}

/// What one or two digits mean as a year, of a constant whose value is not known yet.
fn full_year(year: &Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    let number = |number: i64| Expr::literal(Value::Int(number), types::bigint(false, 4));
    // 1 or 0 times the century.
    let century = |low, high, years| {
        let is_within = between(year.clone(), number(low), number(high), false, ctx)?;
        arithmetic(ArithmeticOperator::Multiply, is_within, number(years), ctx)
    };
    let centuries = arithmetic(ArithmeticOperator::Add, century(1, 69, 2000)?, century(70, 99, 1900)?, ctx)?;
    arithmetic(ArithmeticOperator::Add, year.clone(), centuries, ctx)
}

fn datetime_literal(datetime: DateTime) -> (Value, SqlType) {
    (Value::DateTime(datetime), types::datetime(datetime.fsp))
}

/// A text as a datetime. A text with a time zone offset waits for the session's zone.
fn datetime_constant(text: &[u8], column: &SqlType, ctx: &BuildContext<'_>) -> Result<Option<(Value, SqlType)>> {
    let has_offset = text.iter().skip(11).any(|byte| matches!(byte, b'+' | b'-'));
    if has_offset {
        return Ok(None);
    }
    let converted = DateTime::parse(text, &ctx.evaluation().temporal());
    match converted.value {
        Some(datetime) if !converted.truncated => Ok(Some(datetime_literal(datetime))),
        Some(_) => Ok(None),
        None => {
            let kind = match column.base {
                BaseType::Date => "DATE",
                BaseType::Timestamp => "TIMESTAMP",
                _ => "DATETIME",
            };
            Err(Error::new(
                ErrorCode::WrongValue,
                format!("Incorrect {kind} value: '{}'", crate::context::printable(text)),
            ))
        }
    }
}

/// The text as an integer or decimal if it is one to the last digit.
fn exact_number(text: &[u8]) -> Option<(Value, SqlType)> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_plain = !digits.is_empty()
        && digits.len() <= 60
        && digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
        && digits.iter().filter(|byte| **byte == b'.').count() <= 1
        && digits.iter().any(u8::is_ascii_digit);
    if !is_plain {
        return None;
    }
    if !digits.contains(&b'.') {
        let text = std::str::from_utf8(text).ok()?;
        if let Ok(number) = text.parse::<i64>() {
            return Some((Value::Int(number), types::bigint(false, text.len() as u32)));
        }
        if let Ok(number) = text.parse::<u64>() {
            return Some((Value::UInt(number), types::bigint(true, text.len() as u32)));
        }
    }
    let converted = shoal_types::Decimal::parse(text);
    if !converted.is_exact() {
        return None;
    }
    let number = converted.value;
    Some((Value::Decimal(number), SqlType::decimal(u32::from(number.precision()), number.scale())))
}

/// `left operator right` of two scalars.
pub fn comparison(
    operator: CompareOperator,
    mut left: Expr,
    mut right: Expr,
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
    let comparator = prepare_comparison(&mut left, &mut right, operator.symbol(), ctx)?;
    let nullable = operator != CompareOperator::NullSafeEqual
        && (left.nullable() || right.nullable() || may_fail(comparator));
    make_call(Operation::Compare(operator, comparator), vec![left, right], truth_result(nullable), ctx)
}

/// A text may turn out to be no time, which makes the comparison unknown.
fn may_fail(comparator: Comparator) -> bool {
    matches!(comparator, Comparator::Time)
}

/// The comparator of operands that are all texts: one collation for all of them, to which each contributes. `None` if
/// they are compared in pairs. Errors: 1267, 1270 or 1271, by their number.
fn texts(operands: &mut [&mut Expr], operation: &str, ctx: &BuildContext<'_>) -> Result<Option<Comparator>> {
    let is_text = |expr: &Expr| match class_of(expr.sql_type()) {
        Class::Text => !matches!(expr, Expr::Parameter(parameter) if parameter.untyped),
        Class::Null => expr.is_null_literal(),
        _ => false,
    };
    let count = operands.iter().filter(|expr| class_of(expr.sql_type()) == Class::Text).count();
    if count < 2 || !operands.iter().all(|expr| is_text(expr)) {
        return Ok(None);
    }
    let connection = ctx.settings.collation_connection;
    let collation = collate::for_comparison(operands.iter().map(|expr| &**expr), operation, connection)?.collation;
    for operand in operands.iter_mut() {
        convert_charset(operand, collation, operation, ctx)?;
    }
    Ok(Some(Comparator::Text(collation)))
}

/// `value [NOT] BETWEEN low AND high`.
pub fn between(
    mut value: Expr,
    mut low: Expr,
    mut high: Expr,
    negated: bool,
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
    let (low_comparator, high_comparator) = match texts(&mut [&mut value, &mut low, &mut high], "between", ctx)? {
        Some(comparator) => (comparator, comparator),
        None => {
            let low_comparator = prepare_comparison(&mut value, &mut low, "between", ctx)?;
            let high_comparator = prepare_comparison(&mut value, &mut high, "between", ctx)?;
            // The second preparation may have changed the value's character set.
            match (low_comparator, high_comparator) {
                (Comparator::Text(first), Comparator::Text(second)) if first != second => {
                    (prepare_comparison(&mut value, &mut low, "between", ctx)?, high_comparator)
                }
                both => both,
            }
        }
    };
    // A mix of texts and numbers is compared as numbers on both sides.
    let (low_comparator, high_comparator) = match (low_comparator, high_comparator) {
        (Comparator::Text(_), Comparator::Integer | Comparator::Decimal | Comparator::Double)
        | (Comparator::Integer | Comparator::Decimal | Comparator::Double, Comparator::Text(_))
            if !low.is_null_literal() && !high.is_null_literal() =>
        {
            (Comparator::Double, Comparator::Double)
        }
        same => same,
    };
    let nullable = value.nullable()
        || low.nullable()
        || high.nullable()
        || may_fail(low_comparator)
        || may_fail(high_comparator);
    let operation = Operation::Between { negated, low: low_comparator, high: high_comparator };
    make_call(operation, vec![value, low, high], truth_result(nullable), ctx)
}

/// `value [NOT] IN (list)`. Errors: an empty list (1064).
pub fn in_list(mut value: Expr, list: Vec<Expr>, negated: bool, ctx: &BuildContext<'_>) -> Result<Expr> {
    if list.is_empty() {
        return Err(Error::new(ErrorCode::Parse, "IN needs at least one value"));
    }
    if list.len() == 1 {
        let operator = if negated { CompareOperator::NotEqual } else { CompareOperator::Equal };
        return comparison(operator, value, list.into_iter().next().unwrap_or_else(Expr::null), ctx);
    }
    let mut members = list;
    let mut comparators = Vec::with_capacity(members.len());
    let shared = {
        let mut operands: Vec<&mut Expr> = std::iter::once(&mut value).chain(&mut members).collect();
        texts(&mut operands, " IN ", ctx)?
    };
    if let Some(comparator) = shared {
        comparators = vec![comparator; members.len()];
    }
    // Twice, because a member may change the character set in which all are compared.
    for _ in 0..if shared.is_some() { 0 } else { 2 } {
        comparators.clear();
        for member in &mut members {
            comparators.push(prepare_comparison(&mut value, member, " IN ", ctx)?);
        }
        let is_uniform_text = comparators.windows(2).all(|pair| match (pair[0], pair[1]) {
            (Comparator::Text(first), Comparator::Text(second)) => first == second,
            _ => true,
        });
        if is_uniform_text {
            break;
        }
    }
    let nullable = value.nullable()
        || members.iter().any(Expr::nullable)
        || comparators.iter().any(|comparator| may_fail(*comparator));
    let data = constant_set(&members, &comparators).map_or(CallData::None, |set| CallData::Set(Arc::new(set)));
    let operation = Operation::In { negated, comparators: Arc::from(comparators) };
    let mut arguments = Vec::with_capacity(members.len() + 1);
    arguments.push(value);
    arguments.append(&mut members);
    make_call_with(operation, arguments, truth_result(nullable), data, ctx)
}

/// The members as a set, if they are all constant and compared alike.
fn constant_set(members: &[Expr], comparators: &[Comparator]) -> Option<ConstantSet> {
    let first = comparators.iter().zip(members).find(|(_, member)| !member.is_null_literal())?.0;
    let is_alike = comparators
        .iter()
        .zip(members)
        .all(|(comparator, member)| comparator == first || member.is_null_literal());
    if !is_alike {
        return None;
    }
    let values: Vec<&Value> = members.iter().map(Expr::as_literal).collect::<Option<_>>()?;
    ConstantSet::new(*first, values.into_iter())
}

/// `value IS [NOT] NULL`, also IS [NOT] UNKNOWN.
pub fn is_null(value: Expr, negated: bool, ctx: &BuildContext<'_>) -> Result<Expr> {
    make_call(Operation::IsNull { negated }, vec![value], truth_result(false), ctx)
}

/// `value IS [NOT] TRUE` or `FALSE`.
pub fn is_truth(value: Expr, truth: bool, negated: bool, ctx: &BuildContext<'_>) -> Result<Expr> {
    make_call(Operation::IsTruth { truth, negated }, vec![value], truth_result(false), ctx)
}

fn check_columns(left: usize, right: usize) -> Result<()> {
    if left == right && left > 0 {
        return Ok(());
    }
    Err(Error::new(ErrorCode::OperandColumns, format!("Operand should contain {left} column(s)")))
}

/// `(a, b, ..) operator (c, d, ..)`, expanded into comparisons of the columns. Errors: different numbers (1241).
pub fn row_comparison(
    operator: CompareOperator,
    left: Vec<Expr>,
    right: Vec<Expr>,
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
    check_columns(left.len(), right.len())?;
    match operator {
        CompareOperator::Equal => {
            let pairs = left.into_iter().zip(right);
            and(pairs.map(|(l, r)| comparison(operator, l, r, ctx)).collect::<Result<_>>()?, ctx)
        }
        CompareOperator::NotEqual => {
            let pairs = left.into_iter().zip(right);
            or(pairs.map(|(l, r)| comparison(operator, l, r, ctx)).collect::<Result<_>>()?, ctx)
        }
        CompareOperator::NullSafeEqual => row_null_safe_equal(left, right, ctx),
        _ => ordered_rows(operator, left, right, ctx),
    }
}

/// `(a, b, ...) <=> (c, d, ...)`. Error 1241 for rows of different widths.
pub fn row_null_safe_equal(left: Vec<Expr>, right: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    check_columns(left.len(), right.len())?;
    let pairs = left.into_iter().zip(right);
    let terms = pairs.map(|(l, r)| comparison(CompareOperator::NullSafeEqual, l, r, ctx));
    and(terms.collect::<Result<_>>()?, ctx)
}

/// `(a, b) < (c, d)` is `a < c OR (a = c AND b < d)`; only the last comparison admits equality.
fn ordered_rows(
    operator: CompareOperator,
    left: Vec<Expr>,
    right: Vec<Expr>,
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
    let strict = match operator {
        CompareOperator::LessOrEqual => CompareOperator::Less,
        CompareOperator::GreaterOrEqual => CompareOperator::Greater,
        other => other,
    };
    let mut pairs: Vec<(Expr, Expr)> = left.into_iter().zip(right).collect();
    let Some((last_left, last_right)) = pairs.pop() else {
        return Err(Error::new(ErrorCode::OperandColumns, "Operand should contain 1 column(s)"));
    };
    let mut result = comparison(operator, last_left, last_right, ctx)?;
    while let Some((left, right)) = pairs.pop() {
        let first = comparison(strict, left.clone(), right.clone(), ctx)?;
        let equal = comparison(CompareOperator::Equal, left, right, ctx)?;
        result = or(vec![first, and(vec![equal, result], ctx)?], ctx)?;
    }
    Ok(result)
}

/// `(a, b, ..) [NOT] IN ((c, d, ..), ..)`.
pub fn row_in_list(left: Vec<Expr>, rows: Vec<Vec<Expr>>, negated: bool, ctx: &BuildContext<'_>) -> Result<Expr> {
    let mut alternatives = Vec::with_capacity(rows.len());
    for row in rows {
        alternatives.push(row_comparison(CompareOperator::Equal, left.clone(), row, ctx)?);
    }
    let any = or(alternatives, ctx)?;
    if negated { not(any, ctx) } else { Ok(any) }
}

/// The type to which both sides are converted so that equal keys mean equality: for hash joins and IN over a subquery.
/// `column` is the type of the other side.
pub fn comparison_type(ctx: &BuildContext<'_>, expr: &Expr, column: &SqlType) -> Result<SqlType> {
    let mut left = expr.clone();
    let mut right = Expr::column(0, column.clone(), true, "");
    Ok(match prepare_comparison(&mut left, &mut right, "=", ctx)? {
        Comparator::Integer if left.sql_type().unsigned == column.unsigned => SqlType::bigint(column.unsigned),
        Comparator::Integer => SqlType::decimal(20, 0),
        Comparator::Decimal => types::decimal(65, 30),
        Comparator::Double => SqlType::double(),
        Comparator::Text(collation) => {
            let wider = types::text_length(left.sql_type()).max(types::text_length(column));
            types::string_type(wider, collation)
        }
        Comparator::DateTime => types::datetime(6),
        Comparator::Time => types::time(6),
        Comparator::Json => types::json(),
    })
}
