//! Calls: put together, and folded where they are constant.

use shoal_types::{Error, ErrorCode, Result, Value};

use super::BuildContext;
use crate::expr::{Call, CallData, Expr, Literal, MAX_DEPTH, Operation, ResultType};
use crate::operator::ArithmeticOperator;
use crate::row_source::NoRow;

/// A constant result longer than this is computed again for every execution rather than kept in the plan.
const FOLDED_BYTES_MAX: usize = 1 << 16;

/// Puts a call together and folds it if it is constant. Errors: nested too deep.
pub(crate) fn make_call(
    operation: Operation,
    arguments: Vec<Expr>,
    result: ResultType,
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
    make_call_with(operation, arguments, result, CallData::None, ctx)
}

pub(crate) fn make_call_with(
    operation: Operation,
    arguments: Vec<Expr>,
    result: ResultType,
    data: CallData,
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
    let depth = 1 + arguments.iter().map(Expr::depth).max().unwrap_or(0);
    if depth > MAX_DEPTH {
        return Err(Error::new(
            ErrorCode::OutOfResources,
            format!("Expression is nested too deep: at most {MAX_DEPTH} levels are supported"),
        ));
    }
    let call = Call {
        operation,
        arguments,
        sql_type: result.sql_type,
        nullable: result.nullable,
        coercibility: result.coercibility,
        collation: result.collation,
        data,
        depth,
    };
    Ok(fold(call, ctx))
}

fn fold(call: Call, ctx: &BuildContext<'_>) -> Expr {
    let is_constant =
        call.operation.is_pure() && call.arguments.iter().all(|argument| matches!(argument, Expr::Literal(_)));
    // As a literal a quotient would lose the digits that arithmetic around it still wants.
    let is_quotient = matches!(call.operation, Operation::Arithmetic(ArithmeticOperator::Divide, _));
    if !is_constant || is_quotient {
        return Expr::Call(Box::new(call));
    }
    let expr = Expr::Call(Box::new(call));
    let mut evaluation = ctx.evaluation();
    match expr.eval(&NoRow, &mut evaluation) {
        Ok(value) if evaluation.warnings.count() == 0 && is_small(&value) => Expr::Literal(Box::new(Literal {
            value,
            // A folded truth value stays one.
            sql_type: if expr.is_boolean() {
                Expr::boolean(true).sql_type().clone()
            } else {
                expr.sql_type().clone()
            },
            coercibility: expr.coercibility(),
        })),
        _ => expr,
    }
}

fn is_small(value: &Value) -> bool {
    match value {
        Value::Str(text) => text.len() <= FOLDED_BYTES_MAX,
        Value::Json(json) => json.as_bytes().len() <= FOLDED_BYTES_MAX,
        _ => true,
    }
}
