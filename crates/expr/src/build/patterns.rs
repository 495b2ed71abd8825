//! LIKE and REGEXP.

use std::sync::Arc;

use shoal_types::{Result, SqlType, Value};

use super::logic::truth_result;
use super::{BuildContext, convert_charset, function, make_call_with, not, types};
use crate::collate;
use crate::expr::{CallData, Expr, Operation};
use crate::like::{LikePattern, escape_character};

/// `text [NOT] LIKE pattern [ESCAPE escape]`. Errors: an escape of several characters (1210).
pub fn like(
    mut text: Expr,
    mut pattern: Expr,
    escape: Option<Expr>,
    negated: bool,
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
    let connection = ctx.settings.collation_connection;
    let hint = SqlType::varchar(0, connection);
    types::give_type(&mut text, &hint);
    types::give_type(&mut pattern, &hint);
    let attributes = collate::for_comparison([&text, &pattern].into_iter(), "like", connection)?;
    convert_charset(&mut text, attributes.collation, "like", ctx)?;
    convert_charset(&mut pattern, attributes.collation, "like", ctx)?;
    let mut data = CallData::None;
    let constant_escape = match &escape {
        None if ctx.settings.sql_mode.no_backslash_escapes => Some(Vec::new()),
        None => Some(b"\\".to_vec()),
        Some(escape) => escape.as_literal().map(|value| value.to_text()),
    };
    if let (Some(Value::Str(bytes)), Some(escape)) = (pattern.as_literal(), &constant_escape) {
        let escape = escape_character(escape, attributes.collation)?;
        data = CallData::Like(Arc::new(LikePattern::new(bytes, escape, attributes.collation)));
    }
    let nullable = text.nullable() || pattern.nullable();
    let mut arguments = vec![text, pattern];
    arguments.extend(escape);
    let operation = Operation::Like { negated, collation: attributes.collation };
    make_call_with(operation, arguments, truth_result(nullable), data, ctx)
}

/// `text [NOT] REGEXP pattern`.
pub fn regexp(text: Expr, pattern: Expr, negated: bool, ctx: &BuildContext<'_>) -> Result<Expr> {
    let matches = function("REGEXP_LIKE", vec![text, pattern], ctx)?;
    if negated { not(matches, ctx) } else { Ok(matches) }
}
