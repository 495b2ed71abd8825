//! SQL values as JSON values.

use shoal_types::json::JsonValue;
use shoal_types::{Collation, Error, ErrorCode, Json, Result, Value};

/// The protocol's number of BLOB, VAR_STRING and BIT columns, under which JSON keeps bytes that are not text.
const OPAQUE_BLOB: u8 = 252;
const OPAQUE_BIT: u8 = 16;

/// The value as a JSON scalar; a string becomes a JSON string (it is not parsed).
pub(crate) fn of_value(value: &Value) -> JsonValue {
    match value {
        Value::Null => JsonValue::Null,
        Value::Int(number) => JsonValue::Int(*number),
        Value::UInt(number) => JsonValue::UInt(*number),
        Value::Year(year) => JsonValue::Int(i64::from(*year)),
        Value::Float(number) => JsonValue::Double(f64::from(*number)),
        Value::Double(number) => JsonValue::Double(*number),
        Value::Decimal(number) => JsonValue::Decimal(*number),
        Value::Date(date) => JsonValue::Date(*date),
        Value::Time(time) => JsonValue::Time(*time),
        Value::DateTime(datetime) => JsonValue::DateTime(*datetime),
        Value::Json(json) => json.to_tree(),
        Value::Bit(_, _) => JsonValue::Opaque(OPAQUE_BIT, value.to_text()),
        Value::Str(text) => JsonValue::String(text.clone()),
        Value::Enum(_) | Value::Set(_) => JsonValue::String(value.to_text()),
    }
}

/// The value as a JSON scalar, where bytes (strings of the binary collation) stay bytes.
pub(crate) fn of_typed_value(value: &Value, collation: Collation) -> JsonValue {
    match value {
        Value::Str(bytes) if collation == Collation::BINARY => JsonValue::Opaque(OPAQUE_BLOB, bytes.clone()),
        other => of_value(other),
    }
}

/// Parses JSON text (UTF-8). Errors: 3141, with the number of the argument and the function's name; 3157 if nested too
/// deep.
pub fn parse(text: &[u8], argument: usize, function: &str) -> Result<Json> {
    Json::parse(text).map_err(|error| {
        if error.too_deep {
            return Error::new(ErrorCode::JsonDocumentTooDeep, "The JSON document exceeds the maximum depth.");
        }
        Error::new(
            ErrorCode::InvalidJsonTextInParam,
            format!(
                "Invalid JSON text in argument {argument} to function {function}: \"{}\" at position {}.",
                error.message, error.position
            ),
        )
    })
}
