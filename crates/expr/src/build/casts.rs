//! CAST, CONVERT, COLLATE and BINARY.

use shoal_types::{BaseType, Charset, Collation, Error, ErrorCode, Result, SqlType};

use super::conversion::may_be_malformed;
use super::{BuildContext, make_call, types};
use crate::collate::{self, Coercibility};
use crate::expr::{Expr, Operation, ResultType};

/// CAST(operand AS target).
///
/// `target` is the written type: BIGINT for SIGNED and UNSIGNED, CHAR(n) or BINARY(n) as CHAR of that length (a length of
/// `u32::MAX` when none was given) with the collation of its character set, DECIMAL(p, s), DATE, TIME(n), DATETIME(n),
/// YEAR, FLOAT, DOUBLE, JSON. Errors: fsp, scale or precision too big (1210).
pub fn cast(mut operand: Expr, mut target: SqlType, ctx: &BuildContext<'_>) -> Result<Expr> {
    types::give_type(&mut operand, &target);
    if target.is_numeric() && target.base != BaseType::Bit {
        operand.hexadecimal_as_number();
    }
    check_target(&target)?;
    if matches!(target.base, BaseType::Char | BaseType::VarChar | BaseType::Text) {
        return cast_to_text(operand, target, ctx);
    }
    target.length = match target.base {
        BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt => {
            target.base = BaseType::BigInt;
            if target.unsigned { 20 } else { 21 }
        }
        BaseType::Decimal if target.length == 0 => 10,
        BaseType::Decimal => target.length,
        BaseType::Time | BaseType::DateTime | BaseType::Timestamp | BaseType::Date => {
            types::text_length(&target) as u32
        }
        BaseType::Float => 12,
        BaseType::Double => 22,
        BaseType::Json => u32::MAX,
        _ => target.length,
    };
    let nullable = operand.nullable() || target.is_temporal() || target.base == BaseType::Year;
    let coercibility = if collate::is_text(&target) { Coercibility::Implicit } else { Coercibility::Numeric };
    let result = ResultType { collation: target.collation, sql_type: target, nullable, coercibility };
    make_call(Operation::Convert { explicit: true }, vec![operand], result, ctx)
}

fn check_target(target: &SqlType) -> Result<()> {
    let too_big = |what: &str, value: u32, limit: u32| {
        let code = if what == "scale" { ErrorCode::TooBigScale } else { ErrorCode::TooBigPrecision };
        Error::new(code, format!("Too-big {what} {value} specified for 'CAST'. Maximum is {limit}."))
    };
    match target.base {
        BaseType::Decimal if target.length > types::DECIMAL_PRECISION_MAX => {
            Err(too_big("precision", target.length, types::DECIMAL_PRECISION_MAX))
        }
        BaseType::Decimal if target.decimals > types::DECIMAL_SCALE_MAX => {
            Err(too_big("scale", u32::from(target.decimals), u32::from(types::DECIMAL_SCALE_MAX)))
        }
        BaseType::Decimal if target.length > 0 && u32::from(target.decimals) > target.length => Err(Error::new(
            ErrorCode::MBiggerThanD,
            "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '').",
        )),
        BaseType::Time | BaseType::DateTime | BaseType::Timestamp if target.decimals > 6 => {
            Err(too_big("precision", u32::from(target.decimals), 6))
        }
        _ => Ok(()),
    }
}

fn cast_to_text(operand: Expr, mut target: SqlType, ctx: &BuildContext<'_>) -> Result<Expr> {
    let has_length = target.length != u32::MAX;
    if !has_length {
        // The length of the result is the operand's; evaluation knows by `u32::MAX` that nothing is cut.
        target = SqlType { length: u32::MAX, ..types::as_text(operand.sql_type(), target.collation) };
    } else if !(target.base == BaseType::Char && target.collation == Collation::BINARY) {
        target.base = BaseType::VarChar;
    }
    let nullable = operand.nullable() || may_be_malformed(&operand, &target);
    let coercibility = match operand.coercibility() {
        Coercibility::Explicit => Coercibility::Explicit,
        _ => Coercibility::Implicit,
    };
    let shown = if has_length { target.clone() } else { types::as_text(operand.sql_type(), target.collation) };
    let result = ResultType { collation: target.collation, sql_type: shown, nullable, coercibility };
    make_call(Operation::Convert { explicit: has_length }, vec![operand], result, ctx)
}

/// CONVERT(operand USING charset).
pub fn convert_using(operand: Expr, charset: Charset, ctx: &BuildContext<'_>) -> Result<Expr> {
    let connection = ctx.settings.collation_connection;
    let collation = if connection.charset() == charset { connection } else { charset.default_collation() };
    let result = ResultType {
        sql_type: types::as_text(operand.sql_type(), collation),
        nullable: operand.nullable() || charset != Charset::Binary,
        coercibility: Coercibility::Implicit,
        collation,
    };
    make_call(Operation::Convert { explicit: false }, vec![operand], result, ctx)
}

/// `BINARY operand`: the bytes of the operand's text.
pub fn binary_cast(operand: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    cast(operand, SqlType { length: u32::MAX, ..SqlType::new(BaseType::VarChar) }, ctx)
}

/// `operand COLLATE collation`. Errors: a collation of another character set (1253).
pub fn collate(mut operand: Expr, collation: Collation, ctx: &BuildContext<'_>) -> Result<Expr> {
    types::give_type(&mut operand, &SqlType::varchar(0, collation));
    let connection = ctx.settings.collation_connection;
    let present = collate::collation_of(operand.sql_type(), connection);
    collation.check_charset(present.charset())?;
    let result = ResultType {
        sql_type: types::as_text(operand.sql_type(), collation),
        nullable: operand.nullable(),
        coercibility: Coercibility::Explicit,
        collation,
    };
    let operation = if operand.sql_type().is_string() && operand.sql_type().labels.is_none() {
        Operation::Collate
    } else {
        Operation::Convert { explicit: false }
    };
    make_call(operation, vec![operand], result, ctx)
}
