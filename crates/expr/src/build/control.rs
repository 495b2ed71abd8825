//! CASE, IF, IFNULL, COALESCE, NULLIF: results of one common type.

use std::sync::Arc;

use shoal_types::{BaseType, Collation, Error, ErrorCode, Result, SqlType};

use super::comparison::prepare_comparison;
use super::conversion::convert_expr;
use super::{BuildContext, make_call, types};
use crate::collate::{self, Coercibility};
use crate::expr::{Expr, Operation, ResultType};
use crate::operator::Comparator;

/// The type to which all the expressions convert, with the coercibility of the result.
pub fn common_type(exprs: &[&Expr], operation: &str, ctx: &BuildContext<'_>) -> Result<(SqlType, Coercibility)> {
    let connection = ctx.settings.collation_connection;
    let has_text = exprs.iter().any(|expr| collate::is_text(expr.sql_type()));
    let attributes = if has_text {
        let texts = exprs.iter().copied().filter(|expr| !expr.is_null_literal());
        collate::for_result(texts, operation, connection)?
    } else {
        shoal_types::collation::StringAttributes::numeric(connection)
    };
    let mut merged = SqlType::null();
    for expr in exprs {
        merged = types::merge(&merged, expr.sql_type(), attributes.collation);
    }
    if matches!(
        merged.base,
        shoal_types::BaseType::Char | shoal_types::BaseType::VarChar | shoal_types::BaseType::Text
    ) {
        merged.collation = attributes.collation;
    }
    merged.zerofill = false;
    let coercibility = match merged.base {
        shoal_types::BaseType::Null => Coercibility::Ignorable,
        _ if collate::is_text(&merged) => attributes.coercibility,
        _ => Coercibility::Numeric,
    };
    Ok((merged, coercibility))
}

/// The type of a column of a UNION of columns of these types, and how firm its collation is. Errors: collations that do
/// not mix (1271).
pub fn union_type(
    ctx: &BuildContext<'_>,
    left: (&SqlType, Coercibility),
    right: (&SqlType, Coercibility),
) -> Result<(SqlType, Coercibility)> {
    let side = |(sql_type, coercibility): (&SqlType, Coercibility)| {
        Expr::parameter(0, sql_type.clone(), true, coercibility)
    };
    let (sql_type, coercibility) = common_type(&[&side(left), &side(right)], "UNION", ctx)?;
    if coercibility == Coercibility::NoCollation {
        let message = "Illegal mix of collations for operation 'UNION'";
        return Err(Error::new(ErrorCode::CantAggregateNCollations, message));
    }
    Ok((if left.0 == right.0 { left.0.clone() } else { sql_type }, coercibility))
}

/// Converts the expressions at `positions` to their common type and returns it.
fn unify(
    arguments: &mut [Expr],
    positions: &[usize],
    operation: &str,
    ctx: &BuildContext<'_>,
) -> Result<(SqlType, Coercibility)> {
    let known = positions.iter().map(|position| &arguments[*position]).find(|expr| !is_untyped(expr));
    if let Some(sql_type) = known.map(|expr| expr.sql_type().clone()) {
        for position in positions {
            types::give_type(&mut arguments[*position], &sql_type);
        }
    }
    let results: Vec<&Expr> = positions.iter().map(|position| &arguments[*position]).collect();
    let (sql_type, coercibility) = common_type(&results, operation, ctx)?;
    for position in positions {
        let argument = std::mem::replace(&mut arguments[*position], Expr::null());
        arguments[*position] = convert_expr(argument, &sql_type, ctx)?;
    }
    Ok((sql_type, coercibility))
}

fn is_untyped(expr: &Expr) -> bool {
    matches!(expr, Expr::Parameter(parameter) if parameter.untyped) || expr.is_null_literal()
}

fn result_of(sql_type: SqlType, coercibility: Coercibility, nullable: bool) -> ResultType {
    ResultType { collation: sql_type.collation, sql_type, nullable, coercibility }
}

/// CASE [operand] WHEN .. THEN .. [ELSE ..] END.
pub fn case(
    operand: Option<Expr>,
    branches: Vec<(Expr, Expr)>,
    otherwise: Option<Expr>,
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
    if branches.is_empty() {
        return Err(Error::new(ErrorCode::Parse, "CASE needs at least one WHEN"));
    }
    let has_operand = operand.is_some();
    let branch_count = branches.len();
    let has_else = otherwise.is_some();
    let mut arguments: Vec<Expr> = operand.into_iter().collect();
    for (condition, result) in branches {
        arguments.push(condition);
        arguments.push(result);
    }
    arguments.extend(otherwise);
    let first = usize::from(has_operand);
    let mut positions: Vec<usize> = (0..branch_count).map(|branch| first + 2 * branch + 1).collect();
    if has_else {
        positions.push(arguments.len() - 1);
    }
    let (sql_type, coercibility) = unify(&mut arguments, &positions, "case", ctx)?;
    let nullable = !has_else || positions.iter().any(|position| arguments[*position].nullable());
    let operation = if has_operand {
        let mut comparators = Vec::with_capacity(branch_count);
        for branch in 0..branch_count {
            let (operand, rest) = arguments.split_at_mut(1);
            let comparator = prepare_comparison(&mut operand[0], &mut rest[2 * branch], "case", ctx)?;
            comparators.push(of_json(&operand[0], &rest[2 * branch]).unwrap_or(comparator));
        }
        Operation::CaseOf(Arc::from(comparators))
    } else {
        Operation::Case
    };
    make_call(operation, arguments, result_of(sql_type, coercibility, nullable), ctx)
}

/// CASE compares JSON with texts as the text that it is written as, and with numbers as a number: `CASE j WHEN 'null'` finds JSON's null. `=` compares both as JSON.
fn of_json(operand: &Expr, when: &Expr) -> Option<Comparator> {
    let (one, other) = (operand.sql_type(), when.sql_type());
    let other = match (one.base, other.base) {
        (BaseType::Json, base) if base != BaseType::Json => other,
        (base, BaseType::Json) if base != BaseType::Json => one,
        _ => return None,
    };
    match other {
        sql_type if sql_type.is_string() => Some(Comparator::Text(Collation::UTF8MB4_BIN)),
        sql_type if sql_type.is_numeric() => Some(Comparator::Double),
        _ => None,
    }
}

/// IF(condition, yes, no).
pub fn if_else(condition: Expr, yes: Expr, no: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    let mut arguments = vec![condition, yes, no];
    let (sql_type, coercibility) = unify(&mut arguments, &[1, 2], "if", ctx)?;
    let nullable = arguments[1].nullable() || arguments[2].nullable();
    make_call(Operation::If, arguments, result_of(sql_type, coercibility, nullable), ctx)
}

/// IFNULL(value, otherwise).
pub fn if_null(value: Expr, otherwise: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    first_not_null(vec![value, otherwise], "ifnull", ctx)
}

/// COALESCE: the first argument that is not NULL.
pub fn coalesce(arguments: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    first_not_null(arguments, "coalesce", ctx)
}

fn first_not_null(mut arguments: Vec<Expr>, name: &str, ctx: &BuildContext<'_>) -> Result<Expr> {
    let positions: Vec<usize> = (0..arguments.len()).collect();
    let (sql_type, coercibility) = unify(&mut arguments, &positions, name, ctx)?;
    let nullable = arguments.iter().all(Expr::nullable);
    make_call(Operation::Coalesce, arguments, result_of(sql_type, coercibility, nullable), ctx)
}

/// NULLIF(left, right): the first argument's type, as arithmetic would see it.
pub fn null_if(mut left: Expr, mut right: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    let result = left.clone();
    let comparator = prepare_comparison(&mut left, &mut right, "nullif", ctx)?;
    let (sql_type, coercibility) = common_type(&[&result], "nullif", ctx)?;
    let result_type = result_of(sql_type, coercibility, true);
    make_call(Operation::NullIf(comparator), vec![left, right, result], result_type, ctx)
}
