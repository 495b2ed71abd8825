//! Temporal literals, INTERVAL arithmetic, EXTRACT, TIMESTAMPADD and TIMESTAMPDIFF.

use shoal_types::{BaseType, Collation, DateTime, Error, ErrorCode, IntervalUnit, Result, SqlType, Time, Value};

use super::{BuildContext, make_call, types};
use crate::build::types::string_type;
use crate::collate::Coercibility;
use crate::context::printable;
use crate::expr::{Expr, Operation, ResultType};

/// DATE '..', TIME '..', TIMESTAMP '..'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemporalKind {
    /// DATE
    Date,
    /// TIME
    Time,
    /// TIMESTAMP; the value is a DATETIME.
    Timestamp,
}

/// A temporal literal. Errors: a text that is no such value.
pub fn temporal_literal(kind: TemporalKind, text: &[u8], ctx: &BuildContext<'_>) -> Result<Expr> {
    let context = ctx.evaluation().temporal();
    let incorrect =
        |name: &str| Error::new(ErrorCode::WrongValue, format!("Incorrect {name} value: '{}'", printable(text)));
    match kind {
        TemporalKind::Date => {
            let converted = DateTime::parse(text, &context);
            let date = converted.value.filter(|_| !converted.truncated && !text.contains(&b':'));
            let date = date.ok_or_else(|| incorrect("DATE"))?.date();
            let sql_type = SqlType { length: 10, ..SqlType::new(BaseType::Date) };
            Ok(Expr::literal(Value::Date(date), sql_type))
        }
        TemporalKind::Time => {
            let converted = Time::parse(text);
            let is_whole = !converted.truncated && !converted.out_of_range;
            let time = converted.value.filter(|_| is_whole).ok_or_else(|| incorrect("TIME"))?;
            Ok(Expr::literal(Value::Time(time), types::time(time.fsp)))
        }
        TemporalKind::Timestamp => {
            let converted = DateTime::parse(text, &context);
            let datetime =
                converted.value.filter(|_| !converted.truncated).ok_or_else(|| incorrect("DATETIME"))?;
            Ok(Expr::literal(Value::DateTime(datetime), types::datetime(datetime.fsp)))
        }
    }
}

fn temporal_result(sql_type: SqlType) -> ResultType {
    ResultType { sql_type, nullable: true, coercibility: Coercibility::Numeric, collation: Collation::BINARY }
}

/// `start + INTERVAL amount unit`, or minus.
pub fn add_interval(
    mut start: Expr,
    mut amount: Expr,
    unit: IntervalUnit,
    subtract: bool,
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
    types::give_type(&mut start, &types::datetime(6));
    types::give_type(&mut amount, &interval_amount_type(unit, ctx));
    let fsp = types::fsp_of(&start).max(interval_fsp(unit, &amount));
    let sql_type = match start.sql_type().base {
        BaseType::Date if !unit.has_time() => start.sql_type().clone(),
        BaseType::Date => types::datetime(interval_fsp(unit, &amount)),
        BaseType::DateTime | BaseType::Timestamp => types::datetime(fsp),
        BaseType::Time if unit.has_date() => types::datetime(fsp),
        BaseType::Time => types::time(fsp),
        _ => string_type(29, ctx.settings.collation_connection),
    };
    if sql_type.base == BaseType::DateTime && start.sql_type().base == BaseType::Time {
        start = super::cast(start, types::datetime(fsp), ctx)?;
    }
    let mut result = temporal_result(sql_type);
    if result.sql_type.is_string() {
        result.coercibility = Coercibility::Coercible;
        result.collation = result.sql_type.collation;
    }
    make_call(Operation::AddInterval { unit, subtract }, vec![start, amount], result, ctx)
}

fn interval_amount_type(unit: IntervalUnit, ctx: &BuildContext<'_>) -> SqlType {
    use IntervalUnit::*;
    match unit {
        Microsecond | Minute | Hour | Day | Week | Month | Quarter | Year => SqlType::bigint(false),
        Second => SqlType::decimal(65, 30),
        _ => SqlType::varchar(0, ctx.settings.collation_connection),
    }
}

/// Fractional digits that adding the interval brings.
fn interval_fsp(unit: IntervalUnit, amount: &Expr) -> u8 {
    if unit.has_micros() {
        6
    } else if unit == IntervalUnit::Second {
        types::fsp_of(amount)
    } else {
        0
    }
}

/// EXTRACT(unit FROM value).
pub fn extract(unit: IntervalUnit, mut value: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    types::give_type(&mut value, &types::datetime(6));
    make_call(Operation::Extract(unit), vec![value], temporal_result(types::bigint(false, 21)), ctx)
}

/// TIMESTAMPADD(unit, amount, start).
pub fn timestamp_add(unit: IntervalUnit, amount: Expr, start: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    add_interval(start, amount, unit, false, ctx)
}

/// TIMESTAMPDIFF(unit, from, to).
pub fn timestamp_difference(
    unit: IntervalUnit,
    mut from: Expr,
    mut to: Expr,
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
    types::give_type(&mut from, &types::datetime(6));
    types::give_type(&mut to, &types::datetime(6));
    let result = temporal_result(types::bigint(false, 21));
    make_call(Operation::TimestampDifference(unit), vec![from, to], result, ctx)
}
