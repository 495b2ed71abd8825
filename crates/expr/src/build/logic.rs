//! AND, OR, XOR, NOT.

use shoal_types::{Collation, Result, SqlType, Value};

use super::{BuildContext, make_call, types};
use crate::collate::Coercibility;
use crate::expr::{Call, Expr, Operation, ResultType};

/// A number, as operators yield it.
pub(crate) fn number_result(sql_type: SqlType, nullable: bool) -> ResultType {
    ResultType { sql_type, nullable, coercibility: Coercibility::Numeric, collation: Collation::BINARY }
}

/// 0, 1 or NULL.
pub(crate) fn truth_result(nullable: bool) -> ResultType {
    number_result(types::bigint(false, 1), nullable)
}

/// AND of any number of terms; nested ANDs are flattened. No terms: true.
pub fn and(terms: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    chain(terms, Operation::And, ctx)
}

/// OR of any number of terms; nested ORs are flattened. No terms: false.
pub fn or(terms: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    chain(terms, Operation::Or, ctx)
}

fn chain(terms: Vec<Expr>, operation: Operation, ctx: &BuildContext<'_>) -> Result<Expr> {
    let mut flat = Vec::with_capacity(terms.len());
    for mut term in terms {
        types::give_type(&mut term, &SqlType::bigint(false));
        match term {
            Expr::Call(call) if call.operation == operation => {
                let Call { arguments, .. } = *call;
                flat.extend(arguments);
            }
            other => flat.push(other),
        }
    }
    let neutral = operation == Operation::And;
    let flat_is_free = flat.iter().all(Expr::is_deterministic);
    if flat_is_free && flat.iter().any(|term| literal_truth(term) == Some(!neutral)) {
        return Ok(Expr::boolean(!neutral));
    }
    flat.retain(|term| literal_truth(term) != Some(neutral));
    match flat.len() {
        0 => return Ok(Expr::boolean(neutral)),
        1 if is_truth_valued(&flat[0]) => return Ok(flat.remove(0)),
        _ => {}
    }
    let nullable = flat.iter().any(Expr::nullable);
    make_call(operation, flat, truth_result(nullable), ctx)
}

/// The truth of a literal; `None` for NULL and anything else.
fn literal_truth(term: &Expr) -> Option<bool> {
    match term.as_literal()? {
        // Texts are left to warn at run time.
        Value::Str(_) => None,
        value => value.to_bool(),
    }
}

/// Yields 0, 1 or NULL and nothing else.
fn is_truth_valued(expr: &Expr) -> bool {
    match expr {
        Expr::Call(call) => call.operation.is_boolean(),
        Expr::Literal(literal) => matches!(literal.value, Value::Null | Value::Int(0 | 1)),
        _ => false,
    }
}

pub(crate) fn xor(left: Expr, right: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    let nullable = left.nullable() || right.nullable();
    make_call(Operation::Xor, vec![left, right], truth_result(nullable), ctx)
}

/// NOT; a comparison, BETWEEN, IN, LIKE, IS is turned around instead, so that it stays usable for ranges.
pub fn not(operand: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    let mut operand = operand;
    types::give_type(&mut operand, &SqlType::bigint(false));
    if let Expr::Call(call) = &mut operand {
        let turned = match &mut call.operation {
            Operation::Compare(operator, _) => match operator.negated() {
                Some(negated) => {
                    *operator = negated;
                    true
                }
                None => false,
            },
            Operation::Between { negated, .. }
            | Operation::In { negated, .. }
            | Operation::IsNull { negated }
            | Operation::IsTruth { negated, .. }
            | Operation::Like { negated, .. } => {
                *negated = !*negated;
                true
            }
            _ => false,
        };
        if turned {
            return Ok(operand);
        }
    }
    let nullable = operand.nullable();
    make_call(Operation::Not, vec![operand], truth_result(nullable), ctx)
}
