//! JSON functions that change and merge documents.

use shoal_types::json::{JsonPath, JsonValue};
use shoal_types::{Error, ErrorCode, Result, Value};

use super::json::{document, documents, from_tree, item, single_path};
use super::{Derivation, Function, MANY, ResultType};
use crate::context::EvalContext;
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new("JSON_SET", 3, MANY, pairs_type, |call, values, _| change(call, values, JsonValue::set))
        .takes_nulls(),
    Function::new("JSON_INSERT", 3, MANY, pairs_type, |call, values, _| change(call, values, JsonValue::insert))
        .takes_nulls(),
    Function::new("JSON_REPLACE", 3, MANY, pairs_type, |call, values, _| change(call, values, JsonValue::replace))
        .takes_nulls(),
    Function::new("JSON_ARRAY_APPEND", 3, MANY, pairs_type, |call, values, _| {
        change(call, values, JsonValue::array_append)
    })
    .takes_nulls(),
    Function::new("JSON_ARRAY_INSERT", 3, MANY, pairs_type, |call, values, _| {
        change(call, values, JsonValue::array_insert)
    })
    .takes_nulls(),
    Function::new("JSON_REMOVE", 2, MANY, |d| documents(d, 0), remove),
    Function::new("JSON_MERGE", 2, MANY, |d| documents(d, 0), merge_preserve),
    Function::new("JSON_MERGE_PRESERVE", 2, MANY, |d| documents(d, 0), merge_preserve),
    Function::new("JSON_MERGE_PATCH", 2, MANY, |d| documents(d, 0), merge_patch).takes_nulls(),
];

/// A document, then pairs of path and value.
fn pairs_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    if derivation.arguments.len().is_multiple_of(2) {
        return Err(Error::new(
            ErrorCode::WrongParamcountToNativeFct,
            format!("Incorrect parameter count in the call to native function '{}'", derivation.name),
        ));
    }
    documents(derivation, 0)
}

/// Applies a change for each pair of path and value. A NULL document or path makes the result NULL.
fn change(call: &Call, values: &[Value], apply: fn(&mut JsonValue, &JsonPath, JsonValue)) -> Result<Value> {
    let has_null = values[0].is_null() || (1..values.len()).step_by(2).any(|position| values[position].is_null());
    if has_null {
        return Ok(Value::Null);
    }
    let mut tree = document(call, values, 0)?.to_tree();
    for position in (1..values.len().saturating_sub(1)).step_by(2) {
        let path = single_path(call, values, position)?;
        apply(&mut tree, &path, item(call, values, position + 1));
    }
    Ok(from_tree(tree))
}

fn remove(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let mut tree = document(call, values, 0)?.to_tree();
    for position in 1..values.len() {
        let path = single_path(call, values, position)?;
        if path.legs.is_empty() {
            return Err(Error::new(
                ErrorCode::InvalidJsonPath,
                "The path expression '$' is not allowed in this context.",
            ));
        }
        tree.remove(&path);
    }
    Ok(from_tree(tree))
}

fn merge_preserve(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let mut tree = document(call, values, 0)?.to_tree();
    for position in 1..values.len() {
        tree = tree.merge_preserve(document(call, values, position)?.to_tree());
    }
    Ok(from_tree(tree))
}

/// NULL arguments stand for an unknown document: an object that is patched onto one leaves it unknown, anything else
/// replaces it.
fn merge_patch(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let mut merged: Option<JsonValue> = None;
    for position in 0..values.len() {
        if values[position].is_null() {
            merged = None;
            continue;
        }
        let patch = document(call, values, position)?.to_tree();
        merged = match (merged, patch) {
            (_, patch) if position == 0 || !matches!(patch, JsonValue::Object(_)) => Some(patch),
            (Some(tree), patch) => Some(tree.merge_patch(patch)),
            (None, _) => None,
        };
    }
    Ok(merged.map_or(Value::Null, from_tree))
}
