//! JSON functions that build, read and describe documents.

use std::borrow::Cow;

use shoal_types::json::{JsonKind, JsonPath, JsonRef, JsonValue};
use shoal_types::{BaseType, Charset, Collation, Error, ErrorCode, Json, Result, Value};

use super::argument::text;
use super::{Derivation, Function, MANY, ResultType};
use crate::array_element::wanted_element;
use crate::build::convert_charset;
use crate::context::EvalContext;
use crate::expr::Call;
use crate::json_value::{of_typed_value, parse};

pub(super) const TABLE: &[Function] = &[
    Function::new(
        "JSON_ARRAY",
        0,
        MANY,
        |d| Ok(documents(d, 0)?.not_null()),
        |call, values, _| {
            let items = (0..values.len()).map(|position| item(call, values, position)).collect();
            Ok(from_tree(JsonValue::Array(items)))
        },
    )
    .takes_nulls(),
    Function::new("JSON_OBJECT", 0, MANY, object_type, object).takes_nulls(),
    Function::new("JSON_QUOTE", 1, 1, quote_type, |call, values, _| {
        let mut out = Vec::new();
        Json::from_tree(&JsonValue::String(text(call, values, 0).into_owned())).append_text(&mut out);
        Ok(Value::Str(out))
    }),
    Function::new("JSON_UNQUOTE", 1, 1, unquote_type, unquote),
    Function::new("JSON_EXTRACT", 2, MANY, |d| documents(d, 0), extract),
    Function::new(
        "JSON_TYPE",
        1,
        1,
        |d| {
            documents(d, 0)?;
            Ok(d.ascii_text(51)?.nullable())
        },
        |call, values, _| {
            let json = document(call, values, 0)?;
            Ok(Value::str(json.root().type_name()))
        },
    ),
    Function::new(
        "JSON_VALID",
        1,
        1,
        |d| {
            documents(d, 0)?;
            d.boolean()
        },
        valid,
    ),
    Function::new(
        "JSON_DEPTH",
        1,
        1,
        |d| {
            documents(d, 0)?;
            d.integer(21)
        },
        |call, values, _| Ok(Value::Int(document(call, values, 0)?.root().depth() as i64)),
    ),
    Function::new(
        "JSON_LENGTH",
        1,
        2,
        |d| {
            documents(d, 0)?;
            Ok(d.integer(21)?.nullable())
        },
        |call, values, _| with_part(call, values, 1, |part| Value::Int(part.length() as i64)),
    ),
    Function::new("JSON_KEYS", 1, 2, |d| documents(d, 0), |call, values, _| with_part(call, values, 1, keys)),
    Function::new(
        "JSON_PRETTY",
        1,
        1,
        |d| {
            documents(d, 0)?;
            json_text(d)
        },
        |call, values, _| {
            let mut out = Vec::new();
            document(call, values, 0)?.root().append_pretty(&mut out);
            Ok(Value::Str(out))
        },
    ),
    Function::new(
        "JSON_STORAGE_SIZE",
        1,
        1,
        |d| {
            documents(d, 0)?;
            d.integer(21)
        },
        |call, values, _| Ok(Value::Int(document(call, values, 0)?.as_bytes().len() as i64)),
    ),
    Function::new(
        "JSON_STORAGE_FREE",
        1,
        1,
        |d| {
            documents(d, 0)?;
            d.integer(21)
        },
        |call, values, _| document(call, values, 0).map(|_| Value::Int(0)),
    ),
    Function::new(
        "JSON_CONTAINS",
        2,
        3,
        |d| {
            documents(d, 0)?;
            Ok(d.boolean()?.nullable())
        },
        contains,
    ),
    Function::new(
        "JSON_OVERLAPS",
        2,
        2,
        |d| {
            documents(d, 0)?;
            d.boolean()
        },
        |call, values, _| {
            let (first, second) = (document(call, values, 0)?, document(call, values, 1)?);
            Ok(Value::from(first.root().overlaps(&second.root())))
        },
    ),
    Function::new(
        "MEMBER OF",
        2,
        2,
        |d| {
            documents(d, 0)?;
            d.boolean()
        },
        member_of,
    ),
];

/// An element of a JSON array as a key of a multi-valued index: no user can call it. The call's type is that of the elements.
pub(crate) const WANTED_ELEMENT: &Function = &Function::new(
    "WANTED ELEMENT",
    1,
    1,
    |d| Ok(d.json()?.nullable()),
    |call, values, _| {
        let wanted = Json::from_tree(&item(call, values, 0));
        wanted_element(&wanted.root(), &call.sql_type)
    },
);

/// Arguments from `from` on become UTF-8; the result is JSON.
pub(super) fn documents(derivation: &mut Derivation<'_>, from: usize) -> Result<ResultType> {
    for position in from..derivation.arguments.len() {
        let argument = &mut derivation.arguments[position];
        if argument.sql_type().is_string() && !argument.sql_type().is_binary_string() {
            convert_charset(argument, Collation::UTF8MB4_BIN, derivation.name, derivation.ctx)?;
        }
    }
    derivation.json()
}

fn json_text(derivation: &Derivation<'_>) -> Result<ResultType> {
    let collation = Collation::UTF8MB4_BIN;
    let mut result = derivation.typed(crate::build::types::string_type(u64::from(u32::MAX), collation));
    result.coercibility = crate::collate::Coercibility::Implicit;
    Ok(result.nullable().with_collation(collation))
}

fn quote_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    if !derivation.type_of(0).is_some_and(|sql_type| sql_type.is_string() || sql_type.base == BaseType::Null) {
        return Err(Error::new(ErrorCode::IncorrectType, "Incorrect type for argument 1 in function json_quote."));
    }
    documents(derivation, 0)?;
    json_text(derivation)
}

fn unquote_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    let is_text = |base| matches!(base, BaseType::Json | BaseType::Null);
    if !derivation.type_of(0).is_some_and(|sql_type| sql_type.is_string() || is_text(sql_type.base)) {
        return Err(Error::new(
            ErrorCode::IncorrectType,
            "Incorrect type for argument 1 in function json_unquote.",
        ));
    }
    documents(derivation, 0)?;
    json_text(derivation)
}

pub(super) fn from_tree(tree: JsonValue) -> Value {
    Value::Json(Json::from_tree(&tree))
}

/// The argument as a document: JSON as it is, text parsed. Errors: 3141, 3144, 3146.
pub(super) fn document<'v>(call: &Call, values: &'v [Value], position: usize) -> Result<Cow<'v, Json>> {
    let function = || call_name(call);
    match values.get(position) {
        Some(Value::Json(json)) => Ok(Cow::Borrowed(json)),
        Some(Value::Str(text)) => {
            let collation = call.arguments.get(position).map(|argument| argument.sql_type().collation);
            if collation.is_some_and(|collation| collation.charset() == Charset::Binary) {
                return Err(Error::new(
                    ErrorCode::InvalidJsonCharset,
                    "Cannot create a JSON value from a string with CHARACTER SET 'binary'.",
                ));
            }
            parse(text, position + 1, &function()).map(Cow::Owned)
        }
        _ => Err(Error::new(
            ErrorCode::InvalidTypeForJson,
            format!(
                "Invalid data type for JSON data in argument {} to function {}; a JSON string or JSON type is required.",
                position + 1,
                function()
            ),
        )),
    }
}

pub(super) fn call_name(call: &Call) -> String {
    match call.operation {
        crate::expr::Operation::Function(function) => function.name.to_ascii_lowercase(),
        _ => String::new(),
    }
}

/// The argument as a value inside a document: JSON as it is, a string as a JSON string, truth values as true and false.
pub(super) fn item(call: &Call, values: &[Value], position: usize) -> JsonValue {
    let value = &values[position];
    match (value, call.arguments.get(position)) {
        (Value::Int(number @ (0 | 1)), Some(argument)) if argument.is_boolean() => JsonValue::Bool(*number == 1),
        (_, Some(argument)) => of_typed_value(value, argument.sql_type().collation),
        (_, None) => of_typed_value(value, Collation::UTF8MB4_BIN),
    }
}

/// The argument as a path. Errors: 3143.
pub(super) fn path(call: &Call, values: &[Value], position: usize) -> Result<JsonPath> {
    JsonPath::parse(&text(call, values, position)).map_err(|error| {
        Error::new(
            ErrorCode::InvalidJsonPath,
            format!("Invalid JSON path expression. The error is around character position {}.", error.position),
        )
    })
}

/// A path that names one part at most. Errors: 3143, 3149.
pub(super) fn single_path(call: &Call, values: &[Value], position: usize) -> Result<JsonPath> {
    let path = path(call, values, position)?;
    if path.can_match_many() {
        return Err(Error::new(
            ErrorCode::InvalidJsonPathWildcard,
            "In this situation, path expressions may not contain the * and ** tokens or an array range.",
        ));
    }
    Ok(path)
}

fn object_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    if !derivation.arguments.len().is_multiple_of(2) {
        return Err(Error::new(
            ErrorCode::WrongParamcountToNativeFct,
            "Incorrect parameter count in the call to native function 'JSON_OBJECT'",
        ));
    }
    Ok(documents(derivation, 0)?.not_null())
}

fn object(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let mut members = Vec::with_capacity(values.len() / 2);
    for position in (0..values.len()).step_by(2) {
        if values[position].is_null() {
            return Err(Error::new(
                ErrorCode::JsonDocumentNullKey,
                "JSON documents may not contain NULL member names.",
            ));
        }
        members.push((text(call, values, position).into_owned(), item(call, values, position + 1)));
    }
    Ok(from_tree(JsonValue::object(members)))
}

/// A quoted JSON string without quotes and escapes; any other text or document as it is.
fn unquote(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    if let Value::Json(json) = &values[0] {
        return Ok(Value::Str(unquoted(&json.root())));
    }
    let text = text(call, values, 0);
    let is_quoted = text.len() >= 2 && text.starts_with(b"\"") && text.ends_with(b"\"");
    if !is_quoted {
        return Ok(Value::Str(text.into_owned()));
    }
    let json = parse(&text, 1, "json_unquote")?;
    Ok(Value::Str(unquoted(&json.root())))
}

pub(super) fn unquoted(part: &JsonRef<'_>) -> Vec<u8> {
    if let Some(text) = part.as_str() {
        return text.to_vec();
    }
    let mut out = Vec::new();
    part.append_text(&mut out);
    match part.kind() {
        // Temporal values and decimals are printed in quotes inside a document.
        JsonKind::Date | JsonKind::Time | JsonKind::DateTime | JsonKind::Timestamp | JsonKind::Opaque => {
            match out.as_slice() {
                [b'"', inner @ .., b'"'] => inner.to_vec(),
                _ => out,
            }
        }
        _ => out,
    }
}

/// JSON_EXTRACT: the part of one path, or an array of all parts if there are several paths or a path can name several.
fn extract(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let json = document(call, values, 0)?;
    let root = json.root();
    let mut found = Vec::new();
    let mut as_array = values.len() > 2;
    for position in 1..values.len() {
        let path = path(call, values, position)?;
        as_array |= path.can_match_many();
        found.extend(root.find(&path));
    }
    Ok(match found.as_slice() {
        [] => Value::Null,
        [only] if !as_array => Value::Json(only.to_json()),
        parts => from_tree(JsonValue::Array(parts.iter().map(JsonRef::to_tree).collect())),
    })
}

fn valid(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    Ok(Value::from(match &values[0] {
        Value::Json(_) => true,
        Value::Str(text) => {
            let is_bytes = call.arguments.first().is_some_and(|argument| argument.sql_type().is_binary_string());
            !is_bytes && Json::parse(text).is_ok()
        }
        _ => false,
    }))
}

/// What `describe` says of the part that the optional path at `position` names; NULL if there is none.
fn with_part(
    call: &Call,
    values: &[Value],
    position: usize,
    describe: fn(&JsonRef<'_>) -> Value,
) -> Result<Value> {
    let json = document(call, values, 0)?;
    if values.len() <= position {
        return Ok(describe(&json.root()));
    }
    let path = single_path(call, values, position)?;
    Ok(json.root().find(&path).first().map_or(Value::Null, describe))
}

/// The member names of an object.
fn keys(part: &JsonRef<'_>) -> Value {
    if part.kind() != JsonKind::Object {
        return Value::Null;
    }
    let names = (0..part.length()).filter_map(|index| part.member(index));
    from_tree(JsonValue::Array(names.map(|(name, _)| JsonValue::String(name.to_vec())).collect()))
}

fn contains(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let (target, candidate) = (document(call, values, 0)?, document(call, values, 1)?);
    if values.len() == 2 {
        return Ok(Value::from(target.root().contains(&candidate.root())));
    }
    let path = single_path(call, values, 2)?;
    let part = target.root().find(&path).first().copied();
    Ok(part.map_or(Value::Null, |part| Value::from(part.contains(&candidate.root()))))
}

/// `value MEMBER OF (array)`: an element equals the value; a document that is no array is its own only element.
fn member_of(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let wanted = Json::from_tree(&item(call, values, 0));
    let array = document(call, values, 1)?;
    let root = array.root();
    let is_equal = |part: &JsonRef<'_>| part.compare(&wanted.root()).is_eq();
    if root.kind() != JsonKind::Array {
        return Ok(Value::from(is_equal(&root)));
    }
    let found = (0..root.length()).filter_map(|index| root.element(index)).any(|part| is_equal(&part));
    Ok(Value::from(found))
}
