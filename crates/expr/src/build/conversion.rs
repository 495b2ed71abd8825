//! Implicit conversions: to another type, and to another character set.

use shoal_types::{Charset, Collation, Error, ErrorCode, Result, SqlType, Value};

use super::{BuildContext, make_call, types};
use crate::cast::convert_to;
use crate::collate;
use crate::expr::{Expr, Operation, ResultType};

/// The expression as a value of another type: itself if it has that type already.
pub fn convert_expr(expr: Expr, sql_type: &SqlType, ctx: &BuildContext<'_>) -> Result<Expr> {
    let mut expr = expr;
    if !is_same_representation(expr.sql_type(), sql_type) && !expr.is_null_literal() {
        replace_with_conversion(&mut expr, sql_type.clone(), ctx)?;
    }
    Ok(expr)
}

/// Values of the one type are values of the other as they are.
fn is_same_representation(from: &SqlType, to: &SqlType) -> bool {
    use shoal_types::BaseType::*;
    let is_plain_integer = |base| matches!(base, TinyInt | SmallInt | MediumInt | Int | BigInt);
    let is_plain_text = |base| matches!(base, Char | VarChar | Text);
    if is_plain_integer(from.base) && is_plain_integer(to.base) {
        return from.unsigned == to.unsigned;
    }
    if is_plain_text(from.base) && is_plain_text(to.base) {
        return from.collation.charset() == to.collation.charset() || to.collation.is_binary();
    }
    let is_datetime = |base| matches!(base, DateTime | Timestamp);
    if is_datetime(from.base) && is_datetime(to.base) {
        return from.decimals == to.decimals;
    }
    from.base == to.base
        && match from.base {
            Decimal | Time => from.decimals == to.decimals,
            Enum | Set => from.labels == to.labels,
            _ => true,
        }
}

/// Wraps the expression in a conversion, keeping its nullability and coercibility.
pub(crate) fn replace_with_conversion(expr: &mut Expr, sql_type: SqlType, ctx: &BuildContext<'_>) -> Result<()> {
    let argument = std::mem::replace(expr, Expr::null());
    let nullable = argument.nullable() || sql_type.is_temporal() || may_be_malformed(&argument, &sql_type);
    let coercibility = argument.coercibility();
    let result = ResultType { collation: sql_type.collation, sql_type, nullable, coercibility };
    *expr = make_call(Operation::Convert { explicit: false }, vec![argument], result, ctx)?;
    Ok(())
}

/// Bytes that are no text of the target's character set become NULL.
pub(crate) fn may_be_malformed(operand: &Expr, target: &SqlType) -> bool {
    let source = collate::collation_of(operand.sql_type(), target.collation);
    source.is_binary() && target.is_string() && !target.collation.is_binary()
}

/// Converts a string argument to the character set of `collation` if it has another one. A constant is converted at
/// once; error 1267 if that loses characters.
pub(crate) fn convert_charset(
    argument: &mut Expr,
    collation: Collation,
    operation: &str,
    ctx: &BuildContext<'_>,
) -> Result<()> {
    let source = collate::collation_of(argument.sql_type(), collation);
    let (from, to) = (source.charset(), collation.charset());
    let is_text = collate::is_text(argument.sql_type());
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
    replace_with_conversion(argument, target, ctx)
}
