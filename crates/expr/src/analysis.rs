//! What the planner reads off an expression: conjunctions, and comparisons of a column with a constant.

use shoal_types::{Collation, Result};

use crate::build::{self, BuildContext};
use crate::expr::{Call, CallData, Expr, Operation};
use crate::operator::{Comparator, CompareOperator};

/// A condition on one column that an index over it can serve. Constants may be parameters and calls of them.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnCondition<'a> {
    /// `column operator constant`.
    Compare {
        /// With the column on its left side, whatever was written.
        operator: CompareOperator,
        /// Without columns of the row.
        constant: &'a Expr,
    },
    /// `column BETWEEN low AND high`.
    Between {
        /// Inclusive.
        low: &'a Expr,
        /// Inclusive.
        high: &'a Expr,
    },
    /// `column IN (constants)`.
    In {
        /// In the order in which they were written.
        constants: &'a [Expr],
    },
    /// `column IS NULL`.
    IsNull,
    /// `column IS NOT NULL`.
    IsNotNull,
    /// `column LIKE pattern` with a constant pattern: every match begins with `prefix`; it is all of the match if
    /// `is_whole`.
    LikePrefix {
        /// In the column's character set, without escapes.
        prefix: Vec<u8>,
        /// The pattern has no wildcards.
        is_whole: bool,
    },
}

/// A column and the condition on it.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnConstraint<'a> {
    /// Position in the input row.
    pub column: usize,
    /// What must be true of it.
    pub condition: ColumnCondition<'a>,
}

/// The terms of a conjunction; a term that is no conjunction is the only one.
pub fn split_conjunction(expr: Expr) -> Vec<Expr> {
    match expr {
        Expr::Call(call) if call.operation == Operation::And => {
            call.arguments.into_iter().flat_map(split_conjunction).collect()
        }
        other => vec![other],
    }
}

/// The terms by reference.
pub fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Call(call) if call.operation == Operation::And => {
            call.arguments.iter().flat_map(conjuncts).collect()
        }
        other => vec![other],
    }
}

/// The terms of a disjunction by reference.
pub fn disjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Call(call) if call.operation == Operation::Or => call.arguments.iter().flat_map(disjuncts).collect(),
        other => vec![other],
    }
}

/// AND of the terms; `None` when there are none.
pub fn join_conjunction(terms: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Option<Expr>> {
    if terms.is_empty() { Ok(None) } else { build::and(terms, ctx).map(Some) }
}

/// The expression is the literal false (0 or NULL), so no row passes.
pub fn is_never_true(expr: &Expr) -> bool {
    expr.as_literal().is_some_and(|value| value.to_bool() != Some(true))
}

/// The expression is a true literal, so every row passes.
pub fn is_always_true(expr: &Expr) -> bool {
    expr.as_literal().is_some_and(|value| value.to_bool() == Some(true))
}

/// `column operator constant`, whichever side the column stands on; the comparison follows the column's own order, so
/// that a range over an index gives the same rows.
pub fn as_column_comparison(expr: &Expr) -> Option<(usize, CompareOperator, &Expr)> {
    let (column, operator, other, _) = column_comparison(expr)?;
    other.is_constant().then_some((column, operator, other))
}

/// `column operator other` where `other` is any expression that does not read that column: for joins.
pub fn as_column_equality(expr: &Expr) -> Option<(usize, &Expr)> {
    let (column, operator, other, _) = column_comparison(expr)?;
    let is_equality = operator == CompareOperator::Equal;
    (is_equality && !other.columns_used().contains(&column)).then_some((column, other))
}

/// Both ways to read `a = b` of two columns.
pub fn as_column_pair(expr: &Expr) -> Option<(usize, usize)> {
    match expr {
        Expr::Call(call) => match (&call.operation, call.arguments.as_slice()) {
            (Operation::Compare(CompareOperator::Equal, _), [Expr::Column(left), Expr::Column(right)]) => {
                Some((left.position, right.position))
            }
            _ => None,
        },
        _ => None,
    }
}

fn column_comparison(expr: &Expr) -> Option<(usize, CompareOperator, &Expr, Comparator)> {
    let Expr::Call(call) = expr else {
        return None;
    };
    let (Operation::Compare(operator, comparator), [left, right]) = (&call.operation, call.arguments.as_slice())
    else {
        return None;
    };
    if let Some(column) = ordered_column(left, *comparator) {
        return Some((column, *operator, right, *comparator));
    }
    let column = ordered_column(right, *comparator)?;
    Some((column, operator.mirrored(), left, *comparator))
}

/// The position of a column whose own order is the comparator's.
fn ordered_column(expr: &Expr, comparator: Comparator) -> Option<usize> {
    use shoal_types::BaseType::*;
    let Expr::Column(column) = expr else {
        return None;
    };
    let base = column.sql_type.base;
    let agrees = match comparator {
        Comparator::Text(collation) => text_order_agrees(base, column.sql_type.collation, collation),
        Comparator::DateTime => matches!(base, Date | DateTime | Timestamp),
        Comparator::Time => base == Time,
        Comparator::Json => false,
        Comparator::Integer => column.sql_type.is_integer(),
        Comparator::Decimal | Comparator::Double => column.sql_type.is_numeric(),
    };
    agrees.then_some(column.position)
}

fn text_order_agrees(base: shoal_types::BaseType, column: Collation, comparison: Collation) -> bool {
    use shoal_types::BaseType::*;
    matches!(base, Char | VarChar | Text) && column == comparison
}

/// The condition that `expr` puts on one column, if it is of a form that an index can serve.
pub fn as_column_constraint(expr: &Expr) -> Option<ColumnConstraint<'_>> {
    if let Some((column, operator, constant)) = as_column_comparison(expr) {
        return Some(ColumnConstraint { column, condition: ColumnCondition::Compare { operator, constant } });
    }
    let Expr::Call(call) = expr else {
        return None;
    };
    let (column, condition) = constraint_of_call(call)?;
    Some(ColumnConstraint { column, condition })
}

fn constraint_of_call(call: &Call) -> Option<(usize, ColumnCondition<'_>)> {
    match (&call.operation, call.arguments.as_slice()) {
        (Operation::Between { negated: false, low, high }, [value, least, most]) => {
            let column = ordered_column(value, *low)?;
            ordered_column(value, *high)?;
            let is_constant = least.is_constant() && most.is_constant();
            is_constant.then_some((column, ColumnCondition::Between { low: least, high: most }))
        }
        (Operation::In { negated: false, comparators }, [value, members @ ..]) => {
            let column = value.as_column()?;
            let agrees = comparators.iter().all(|comparator| ordered_column(value, *comparator).is_some());
            let is_constant = members.iter().all(Expr::is_constant);
            (agrees && is_constant).then_some((column, ColumnCondition::In { constants: members }))
        }
        (Operation::IsNull { negated }, [value]) => {
            let condition = if *negated { ColumnCondition::IsNotNull } else { ColumnCondition::IsNull };
            Some((value.as_column()?, condition))
        }
        (Operation::Like { negated: false, collation }, [value, ..]) => {
            let column = ordered_column(value, Comparator::Text(*collation))?;
            let CallData::Like(pattern) = &call.data else {
                return None;
            };
            let (prefix, is_whole) = pattern.literal_prefix();
            (!prefix.is_empty()).then_some((column, ColumnCondition::LikePrefix { prefix, is_whole }))
        }
        _ => None,
    }
}
