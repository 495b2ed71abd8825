//! JSON_VALUE: one scalar of a document as an SQL value.
//!
//! Arguments: document, path, what an empty path and an error yield: two [`Response`]s as numbers and the two defaults, and a NULL of
//! the wanted type.

use shoal_types::json::JsonKind;
use shoal_types::{BaseType, Collation, Decimal, Error, ErrorCode, Result, SqlType, Value};

use super::Function;
use super::json::{document, single_path, unquoted};
use crate::build::convert_charset;
use crate::cast::convert_to;
use crate::characters;
use crate::collate::Coercibility;
use crate::context::EvalContext;
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[Function::new(
    "JSON_VALUE",
    2,
    7,
    |d| {
        let returning = d.type_of(6).cloned();
        let sql_type = returning.unwrap_or_else(|| SqlType::varchar(512, Collation::UTF8MB4_0900_AI_CI));
        if let Some(document) = d.arguments.first_mut()
            && document.sql_type().is_string()
            && !document.sql_type().is_binary_string()
        {
            convert_charset(document, Collation::UTF8MB4_BIN, d.name, d.ctx)?;
        }
        let collation = sql_type.collation;
        let mut result = d.typed(sql_type).nullable().with_collation(collation);
        result.coercibility = Coercibility::Implicit;
        Ok(result)
    },
    json_value,
)
.takes_nulls()];

/// What JSON_VALUE yields where it has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// NULL ON ..., also where nothing is written.
    Null,
    /// ERROR ON ...: the statement fails.
    Error,
    /// DEFAULT value ON ...
    Default,
}

impl Response {
    fn of(values: &[Value], position: usize) -> Response {
        match values.get(position) {
            Some(Value::Int(1)) => Response::Error,
            Some(Value::Int(2)) => Response::Default,
            _ => Response::Null,
        }
    }

    /// As an argument says it.
    pub fn number(self) -> i64 {
        match self {
            Response::Null => 0,
            Response::Error => 1,
            Response::Default => 2,
        }
    }
}

fn json_value(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    if values[0].is_null() || values[1].is_null() {
        return Ok(Value::Null);
    }
    let (on_empty, on_error) = (Response::of(values, 2), Response::of(values, 3));
    let respond = |response: Response, default: usize, error: &dyn Fn() -> Error| match response {
        Response::Null => Ok(Value::Null),
        Response::Error => Err(error()),
        Response::Default => Ok(values.get(default).cloned().unwrap_or_default()),
    };
    let path = single_path(call, values, 1)?;
    let json = match document(call, values, 0) {
        Ok(json) => json,
        Err(error) => return respond(on_error, 5, &|| error.clone()),
    };
    let parts = json.root().find(&path);
    let Some(part) = parts.first() else {
        let missing = || {
            let message = "No value was found by 'json_value' on the specified path.";
            Error::new(ErrorCode::MissingJsonValue, message)
        };
        return respond(on_empty, 4, &missing);
    };
    if part.kind() == JsonKind::Null {
        return Ok(Value::Null);
    }
    if call.sql_type.base == BaseType::Json {
        return Ok(Value::Json(part.to_json()));
    }
    if !part.is_scalar() {
        return respond(on_error, 5, &|| not_convertible(&call.sql_type));
    }
    match converted(part.kind(), unquoted(part), &call.sql_type, ctx) {
        Some(value) => Ok(value),
        None => respond(on_error, 5, &|| not_convertible(&call.sql_type)),
    }
}

/// A scalar as the wanted type; `None`: it is not one without loss.
fn converted(kind: JsonKind, text: Vec<u8>, target: &SqlType, ctx: &mut EvalContext<'_>) -> Option<Value> {
    if target.is_string() {
        let end = characters::offset(target.collation, &text, target.length as usize);
        return (end == text.len()).then_some(Value::Str(text));
    }
    let value = match kind {
        JsonKind::Boolean if target.is_numeric() => Value::Int(i64::from(text == b"true")),
        JsonKind::Integer | JsonKind::UnsignedInteger | JsonKind::Decimal => {
            Value::Decimal(Decimal::parse(&text).value)
        }
        JsonKind::Double => Value::Double(std::str::from_utf8(&text).ok()?.parse().ok()?),
        _ => Value::Str(text),
    };
    // Whatever is worth a warning is an error here.
    let mut strict = ctx.with_other_parameters(&[]);
    let from = SqlType::varchar(0, Collation::UTF8MB4_0900_AI_CI);
    let bounds = match (target.is_integer(), target.unsigned) {
        (true, true) => Some((0.0, u64::MAX as f64)),
        (true, false) => Some((i64::MIN as f64, i64::MAX as f64)),
        _ => None,
    };
    if let (Some((least, most)), false) = (bounds, matches!(value, Value::Str(_))) {
        let number = value.to_f64().value;
        if !(least..=most).contains(&number) {
            return None;
        }
    }
    let value = convert_to(value, &from, target, &mut strict).ok()?;
    (strict.warnings.count() == 0 && !value.is_null()).then_some(value)
}

/// Errno 3156.
fn not_convertible(target: &SqlType) -> Error {
    let name = match target.base {
        BaseType::Date => "DATE",
        BaseType::Time => "TIME",
        BaseType::DateTime | BaseType::Timestamp => "DATETIME",
        BaseType::Year => "YEAR",
        BaseType::Decimal => "DECIMAL",
        BaseType::Float | BaseType::Double => "DOUBLE",
        _ if target.is_string() => "CHAR",
        _ => "INTEGER",
    };
    let message = format!("Invalid JSON value for CAST to {name} from column json_value at row 1");
    Error::new(ErrorCode::InvalidJsonValueForCast, message)
}
