//! Forms with a syntax of their own: TRIM, CHAR, WEIGHT_STRING, GET_FORMAT, `->`, MEMBER OF, user variables.

use std::sync::Arc;

use shoal_types::{BaseType, Charset, Collation, Result, SqlType, Value};

use super::temporal::TemporalKind;
use super::{BuildContext, function, make_call, types};
use crate::collate::Coercibility;
use crate::expr::{Expr, Operation, Parameter, ResultType};
use crate::functions::json_scalar::Response;

/// TRIM's BOTH, LEADING and TRAILING.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimSide {
    /// From both ends; also if none is written.
    Both,
    /// From the beginning.
    Leading,
    /// From the end.
    Trailing,
}

/// WEIGHT_STRING(x AS CHAR(n)) or AS BINARY(n).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightStringType {
    /// Cut or padded with spaces to so many characters.
    Char(u32),
    /// Cut or padded with zero bytes to so many bytes.
    Binary(u32),
}

/// A `?` whose type is found by what it meets.
pub fn untyped_parameter(index: usize, ctx: &BuildContext<'_>) -> Expr {
    Expr::Parameter(Box::new(Parameter {
        index,
        sql_type: SqlType::varchar(65_535, ctx.settings.collation_connection),
        nullable: true,
        coercibility: Coercibility::Coercible,
        untyped: true,
        is_constant: true,
        name: None,
    }))
}

/// TRIM([side] [remove FROM] text).
pub fn trim(side: TrimSide, remove: Option<Expr>, text: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    let name = match side {
        TrimSide::Both => "TRIM",
        TrimSide::Leading => "LTRIM",
        TrimSide::Trailing => "RTRIM",
    };
    let mut arguments = vec![text];
    arguments.extend(remove);
    super::function::special(name, arguments, ctx)
}

/// CHAR(n, .. [USING charset]).
pub fn char_function(arguments: Vec<Expr>, charset: Option<Charset>, ctx: &BuildContext<'_>) -> Result<Expr> {
    let bytes = function("CHAR", arguments, ctx)?;
    match charset {
        Some(charset) if charset != Charset::Binary => {
            let mut text = super::convert_using(bytes, charset, ctx)?;
            // As firm as a literal, whatever the numbers come from.
            match &mut text {
                Expr::Call(call) => call.coercibility = Coercibility::Coercible,
                Expr::Literal(literal) => literal.coercibility = Coercibility::Coercible,
                _ => {}
            }
            Ok(text)
        }
        _ => Ok(bytes),
    }
}

/// CHAR(n, .. USING utf16): characters by their numbers, as utf8mb4, since no value has the character set utf16.
pub fn utf16_char_function(arguments: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    super::function::special("CHAR USING UTF16", arguments, ctx)
}

/// GET_FORMAT(kind, name).
pub fn date_format_name(kind: TemporalKind, name: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    let kind = match kind {
        TemporalKind::Date => "DATE",
        TemporalKind::Time => "TIME",
        TemporalKind::Timestamp => "DATETIME",
    };
    let collation = ctx.settings.collation_connection;
    let kind = Expr::literal(Value::str(kind), SqlType::varchar(kind.len() as u32, collation));
    super::function::special("GET_FORMAT", vec![kind, name], ctx)
}

/// WEIGHT_STRING(text [AS type]).
pub fn weight_string(text: Expr, as_type: Option<WeightStringType>, ctx: &BuildContext<'_>) -> Result<Expr> {
    let text = match as_type {
        None => text,
        Some(WeightStringType::Char(length)) => {
            let collation = crate::collate::collation_of(text.sql_type(), ctx.settings.collation_connection);
            super::cast(text, SqlType { length, collation, ..SqlType::new(BaseType::Char) }, ctx)?
        }
        Some(WeightStringType::Binary(length)) => {
            super::cast(text, SqlType { length, ..SqlType::new(BaseType::Char) }, ctx)?
        }
    };
    super::function::special("WEIGHT_STRING", vec![text], ctx)
}

/// `document -> path`, or `document ->> path` if `unquote`.
pub fn json_extract(document: Expr, path: Expr, unquote: bool, ctx: &BuildContext<'_>) -> Result<Expr> {
    let extracted = function("JSON_EXTRACT", vec![document, path], ctx)?;
    if unquote { function("JSON_UNQUOTE", vec![extracted], ctx) } else { Ok(extracted) }
}

/// JSON_VALUE(document, path [RETURNING type] [.. ON EMPTY] [.. ON ERROR]): a scalar of the document as an SQL value,
/// VARCHAR(512) unless a type is asked for. `responses`: to an empty path and to a value that is not of the type, each with the
/// default that is written.
///
/// # Errors
/// Those of casts to the type.
pub fn json_value(
    document: Expr,
    path: Expr,
    returning: Option<SqlType>,
    responses: [(Response, Option<Expr>); 2],
    ctx: &BuildContext<'_>,
) -> Result<Expr> {
    let target = match returning {
        Some(target) => {
            let text = Expr::column(0, SqlType::varchar(512, Collation::UTF8MB4_0900_AI_CI), true, "");
            super::cast(text, target, ctx)?.sql_type().clone()
        }
        None => SqlType::varchar(512, Collation::UTF8MB4_0900_AI_CI),
    };
    let mut arguments = vec![document, path];
    arguments.extend(responses.iter().map(|(response, _)| Expr::integer(response.number())));
    for (_, default) in responses {
        arguments.push(super::convert_expr(default.unwrap_or_else(Expr::null), &target, ctx)?);
    }
    arguments.push(Expr::literal(Value::Null, target));
    super::function::special("JSON_VALUE", arguments, ctx)
}

/// The number of the partition, of so many, that a row with these partitioning columns is in.
pub fn partition_number(count: u32, columns: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    let count = Expr::literal(shoal_types::Value::Int(i64::from(count)), SqlType::bigint(false));
    super::function::special("PARTITION NUMBER", std::iter::once(count).chain(columns).collect(), ctx)
}

/// `value MEMBER OF (array)`.
pub fn member_of(value: Expr, array: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    super::function::special("MEMBER OF", vec![value, array], ctx)
}

/// A predicate that can be true only for rows whose array has one of these elements, which are of the array's type. `column`: the
/// hidden column of a multi-valued key part that keeps the array.
pub fn of_elements(predicate: Expr, column: Expr, elements: Vec<Expr>, ctx: &BuildContext<'_>) -> Result<Expr> {
    let result = ResultType {
        sql_type: predicate.sql_type().clone(),
        nullable: predicate.nullable(),
        coercibility: predicate.coercibility(),
        collation: predicate.sql_type().collation,
    };
    make_call(Operation::OfElements, [predicate, column].into_iter().chain(elements).collect(), result, ctx)
}

/// The value that `value MEMBER OF (array)` looks for in an array of such elements; NULL if none has it.
pub fn wanted_element(value: Expr, element: &SqlType, ctx: &BuildContext<'_>) -> Result<Expr> {
    let function = crate::functions::WANTED_ELEMENT;
    let result = ResultType {
        sql_type: element.clone(),
        nullable: true,
        coercibility: Coercibility::Coercible,
        collation: element.collation,
    };
    make_call(Operation::Function(function), vec![value], result, ctx)
}

/// `@name`. `sql_type` is the type of its present value; a variable that was never set is NULL of a string type.
pub fn user_variable(name: &str, sql_type: Option<SqlType>, ctx: &BuildContext<'_>) -> Result<Expr> {
    let sql_type = match sql_type {
        Some(sql_type) if sql_type.base != BaseType::Null => sql_type,
        _ => SqlType { length: u32::MAX, collation: Collation::BINARY, ..SqlType::new(BaseType::Text) },
    };
    let result = ResultType {
        collation: sql_type.collation,
        sql_type,
        nullable: true,
        coercibility: Coercibility::Implicit,
    };
    make_call(Operation::UserVariable(Arc::from(name)), Vec::new(), result, ctx)
}

/// `@name := value`.
pub fn assign_variable(name: &str, value: Expr, ctx: &BuildContext<'_>) -> Result<Expr> {
    let sql_type = variable_type(value.sql_type());
    let value = super::convert_expr(value, &sql_type, ctx)?;
    let result = ResultType {
        collation: sql_type.collation,
        nullable: value.nullable(),
        coercibility: Coercibility::Implicit,
        sql_type,
    };
    make_call(Operation::AssignVariable(Arc::from(name)), vec![value], result, ctx)
}

/// User variables hold integers, decimals, doubles and strings only.
fn variable_type(sql_type: &SqlType) -> SqlType {
    match sql_type.base {
        BaseType::Null => SqlType::null(),
        BaseType::Decimal => sql_type.clone(),
        BaseType::Float | BaseType::Double => SqlType::double(),
        BaseType::Bit => SqlType::bigint(true),
        _ if sql_type.is_integer() => types::bigint(sql_type.unsigned, sql_type.length.max(1)),
        BaseType::Json => types::as_text(sql_type, Collation::UTF8MB4_BIN),
        _ if sql_type.is_string() => types::as_text(sql_type, sql_type.collation),
        _ => types::as_text(sql_type, Collation::UTF8MB4_0900_AI_CI),
    }
}
