//! GREATEST, LEAST, INTERVAL and other functions that choose among values.

use shoal_types::{BaseType, Result, Value};

use super::{Derivation, Function, MANY, ResultType};
use crate::build;
use crate::compare::compare;
use crate::context::EvalContext;
use crate::convert;
use crate::expr::{Call, Expr};

pub(super) const TABLE: &[Function] = &[
    Function::new("GREATEST", 2, MANY, extreme_type, |call, values, _| Ok(extreme(call, values, true))),
    Function::new("LEAST", 2, MANY, extreme_type, |call, values, _| Ok(extreme(call, values, false))),
    Function::new("INTERVAL", 2, MANY, |d| Ok(d.integer(2)?.not_null()), interval).takes_nulls(),
    Function::new("ANY_VALUE", 1, 1, argument_itself, first).takes_nulls(),
    Function::new("NAME_CONST", 2, 2, name_const_type, second).takes_nulls(),
];

/// The arguments' common type; they are converted to it.
fn extreme_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let known = derivation.arguments.iter().find(|argument| !is_untyped(argument));
    if let Some(sql_type) = known.map(|argument| argument.sql_type().clone()) {
        for position in 0..derivation.arguments.len() {
            derivation.expect(position, &sql_type);
        }
    }
    let operation = derivation.name.to_ascii_lowercase();
    let all: Vec<&Expr> = derivation.arguments.iter().collect();
    let (mut sql_type, coercibility) = build::common_type(&all, &operation, derivation.ctx)?;
    // The members' texts are compared, not their numbers.
    if matches!(sql_type.base, BaseType::Enum | BaseType::Set) {
        sql_type = build::types::as_text(&sql_type, sql_type.collation);
    }
    for argument in derivation.arguments.iter_mut() {
        let converted = build::convert_expr(std::mem::replace(argument, Expr::null()), &sql_type, derivation.ctx)?;
        *argument = converted;
    }
    let nullable = derivation.any_nullable();
    Ok(ResultType { collation: sql_type.collation, sql_type, nullable, coercibility })
}

fn is_untyped(expr: &Expr) -> bool {
    matches!(expr, Expr::Parameter(parameter) if parameter.untyped)
}

fn extreme(call: &Call, values: &mut [Value], greatest: bool) -> Value {
    let mut best = 0;
    for position in 1..values.len() {
        let ordering = compare(&values[position], &values[best], &call.sql_type);
        if if greatest { ordering.is_gt() } else { ordering.is_lt() } {
            best = position;
        }
    }
    values.get_mut(best).map(std::mem::take).unwrap_or_default()
}

/// INTERVAL(n, n1, n2, ...): how many of the ascending numbers are at most `n`; -1 for NULL.
fn interval(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    if values[0].is_null() {
        return Ok(Value::Int(-1));
    }
    let is_exact = call.arguments.iter().all(|argument| {
        argument.sql_type().is_integer() || argument.sql_type().base == shoal_types::BaseType::Decimal
    });
    let mut count = 0;
    for value in &values[1..] {
        let is_at_most = value.is_null()
            || if is_exact {
                convert::to_decimal(value, ctx)? <= convert::to_decimal(&values[0], ctx)?
            } else {
                convert::to_f64(value, ctx)? <= convert::to_f64(&values[0], ctx)?
            };
        if !is_at_most {
            break;
        }
        count += 1;
    }
    Ok(Value::Int(count))
}

fn like_argument(derivation: &Derivation<'_>, position: usize) -> ResultType {
    match derivation.arguments.get(position) {
        Some(argument) => ResultType {
            sql_type: argument.sql_type().clone(),
            nullable: argument.nullable(),
            coercibility: argument.coercibility(),
            collation: argument.sql_type().collation,
        },
        None => derivation.typed(shoal_types::SqlType::null()),
    }
}

fn argument_itself(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    Ok(like_argument(derivation, 0))
}

fn name_const_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    Ok(like_argument(derivation, 1))
}

fn first(_call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    Ok(values.first_mut().map(std::mem::take).unwrap_or_default())
}

fn second(_call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    Ok(values.get_mut(1).map(std::mem::take).unwrap_or_default())
}
