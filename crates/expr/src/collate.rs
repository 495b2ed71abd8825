//! Which collation the arguments of a call share, and the attributes of an expression as a string.

use std::cmp::Ordering;

use shoal_types::collation::StringAttributes;
use shoal_types::{BaseType, Collation, Result, SqlType, Value};

pub(crate) use crate::coercibility::{Coercibility, is_text};
use crate::expr::Expr;

/// The collation that an expression's text has.
pub(crate) fn collation_of(sql_type: &SqlType, connection: Collation) -> Collation {
    match sql_type.base {
        BaseType::Json => Collation::UTF8MB4_BIN,
        BaseType::Bit | BaseType::Geometry => Collation::BINARY,
        _ if sql_type.is_string() => sql_type.collation,
        _ => connection,
    }
}

pub(crate) fn attributes(expr: &Expr, connection: Collation) -> StringAttributes {
    let collation = collation_of(expr.sql_type(), connection);
    let ascii_only = match expr {
        Expr::Literal(literal) => match &literal.value {
            Value::Str(text) => text.is_ascii(),
            Value::Bit(..) => false,
            _ => true,
        },
        other => !is_text(other.sql_type()) && collation != Collation::BINARY,
    };
    StringAttributes { collation, coercibility: expr.coercibility(), ascii_only }
}

/// The collation by which the expressions are compared.
pub(crate) fn for_comparison<'a>(
    exprs: impl Iterator<Item = &'a Expr>,
    operation: &str,
    connection: Collation,
) -> Result<StringAttributes> {
    let sides: Vec<StringAttributes> = exprs.map(|expr| attributes(expr, connection)).collect();
    if sides.is_empty() {
        return Ok(StringAttributes::numeric(connection));
    }
    Collation::aggregate_for_comparison(&sides, operation)
}

/// The collation of a string made of the expressions.
pub(crate) fn for_result<'a>(
    exprs: impl Iterator<Item = &'a Expr>,
    operation: &str,
    connection: Collation,
) -> Result<StringAttributes> {
    let sides: Vec<StringAttributes> = exprs.map(|expr| attributes(expr, connection)).collect();
    if sides.is_empty() {
        return Ok(StringAttributes::numeric(connection));
    }
    Collation::aggregate_for_result(&sides, operation)
}

/// Compares two texts of the collation's character set.
#[inline]
pub(crate) fn compare(collation: Collation, left: &[u8], right: &[u8]) -> Ordering {
    // Equal bytes are equal under every collation.
    if left == right { Ordering::Equal } else { collation.compare(left, right) }
}
