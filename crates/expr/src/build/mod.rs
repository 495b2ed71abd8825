//! Construction of typed expressions with MySQL's rules for types, collations and comparison.
//!
//! The resolver walks its syntax tree from the leaves up and calls one function here a node. Every function checks its
//! operands, derives the result type (what metadata and CREATE TABLE ... SELECT show), inserts the conversions that
//! evaluation relies on, and folds what is constant. Folding never hides a condition: an expression whose evaluation
//! fails or warns stays as it is and does so at run time.

mod casts;
mod comparison;
mod control;
mod function;
mod operators;
mod patterns;
mod special;
mod temporal;
pub(crate) mod types;

use shoal_types::{Charset, Collation, Error, ErrorCode, Result, TimeZone, Value};

pub use casts::{binary_cast, cast, collate, convert_using};
pub use comparison::{
    between, comparison, comparison_type, in_list, is_null, is_truth, row_comparison, row_in_list,
    row_null_safe_equal,
};
pub use control::{case, coalesce, common_type, convert_expr, if_else, if_null, null_if};
#[cfg(test)]
pub(crate) use function::call as function_by_entry;
pub use function::{function, is_function};
pub use operators::{BinaryOperator, UnaryOperator, and, binary, not, or, unary};
pub use patterns::{like, regexp};
pub use special::{
    TrimSide, WeightStringType, assign_variable, char_function, date_format_name, json_extract, json_value,
    member_of, trim, untyped_parameter, user_variable, weight_string,
};
pub use temporal::{TemporalKind, add_interval, extract, temporal_literal, timestamp_add, timestamp_difference};
pub use types::{parameter_type, stored_type, union_type};

use crate::cast::convert_to;
use crate::context::{EvalContext, Settings};
use crate::expr::{Call, Expr, Literal, MAX_DEPTH};
use crate::functions::derive::ResultType;
use crate::operation::{CallData, Operation};
use crate::row_source::NoRow;

/// A constant result longer than this is computed again for every execution rather than kept in the plan.
const FOLDED_BYTES_MAX: usize = 1 << 16;

/// What the rules of construction depend on besides the operands.
#[derive(Clone, Debug)]
pub struct BuildContext<'a> {
    pub settings: Settings,
    /// The default database, named in error 1305.
    pub database: Option<&'a str>,
}

impl<'a> BuildContext<'a> {
    pub fn new(settings: Settings) -> BuildContext<'a> {
        BuildContext { settings, database: None }
    }

    /// A context for folding. Nothing that is folded looks at the clock, the zone or the session.
    pub(crate) fn evaluation(&self) -> EvalContext<'static> {
        EvalContext::new(&[], &TimeZone::UTC, 0, self.settings)
    }
}

impl Default for BuildContext<'_> {
    fn default() -> Self {
        BuildContext::new(Settings::default())
    }
}

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
    let is_quotient =
        matches!(call.operation, Operation::Arithmetic(crate::operation::ArithmeticOperator::Divide, _));
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

/// Converts a string argument to the character set of `collation` if it has another one. A constant is converted at
/// once; error 1267 if that loses characters.
pub(crate) fn convert_charset(
    argument: &mut Expr,
    collation: Collation,
    operation: &str,
    ctx: &BuildContext<'_>,
) -> Result<()> {
    let source = crate::collate::collation_of(argument.sql_type(), collation);
    let (from, to) = (source.charset(), collation.charset());
    let is_text = crate::collate::is_text(argument.sql_type());
    if !is_text || from == to || to == Charset::Binary || argument.is_null_literal() {
        return Ok(());
    }
    if let Expr::Literal(literal) = argument {
        if let Value::Str(text) = &literal.value
            && !Charset::convert(text, from, to).is_exact()
            && from != Charset::Binary
        {
            return Err(Error::new(
                ErrorCode::CantAggregate2Collations,
                format!(
                    "Illegal mix of collations ({},IMPLICIT) and ({},COERCIBLE) for operation '{operation}'",
                    collation.name(),
                    source.name()
                ),
            ));
        }
        let mut target = types::as_text(&literal.sql_type, collation);
        target.collation = collation;
        let value = std::mem::take(&mut literal.value);
        literal.value = convert_to(value, &literal.sql_type, &target, &mut ctx.evaluation())?;
        literal.sql_type = target;
        return Ok(());
    }
    let target = types::as_text(argument.sql_type(), collation);
    control::replace_with_conversion(argument, target, ctx)
}
