//! JSON_SEARCH and JSON_CONTAINS_PATH.

use shoal_types::json::{ArrayIndex, JsonPath, JsonValue, PathLeg};
use shoal_types::{Collation, Error, ErrorCode, Result, Value};

use super::argument::text;
use super::json::{document, documents, from_tree, path};
use super::{Function, MANY};
use crate::context::EvalContext;
use crate::expr::Call;
use crate::like::{LikePattern, escape_character};

pub(super) const TABLE: &[Function] = &[
    Function::new(
        "JSON_CONTAINS_PATH",
        3,
        MANY,
        |d| {
            documents(d, 0)?;
            d.boolean()
        },
        contains_path,
    ),
    Function::new("JSON_SEARCH", 3, MANY, |d| documents(d, 0), search).takes_nulls(),
];

/// Whether the argument says `one` (true) or `all` (false). Errors: anything else (3154 in MySQL).
fn wants_one(call: &Call, values: &[Value], function: &str) -> Result<bool> {
    let word = text(call, values, 1).to_ascii_lowercase();
    match word.as_slice() {
        b"one" => Ok(true),
        b"all" => Ok(false),
        _ => Err(Error::new(
            ErrorCode::WrongArguments,
            format!("The oneOrAll argument to {function} may take these values: 'one' or 'all'."),
        )),
    }
}

fn contains_path(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let one = wants_one(call, values, "json_contains_path")?;
    let json = document(call, values, 0)?;
    for position in 2..values.len() {
        let found = !json.root().find(&path(call, values, position)?).is_empty();
        if found == one {
            return Ok(Value::from(one));
        }
    }
    Ok(Value::from(!one))
}

/// JSON_SEARCH(document, one or all, pattern, escape, paths...).
fn search(call: &Call, values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let is_unknown = |(position, value): (usize, &Value)| value.is_null() && position != 3;
    if values.iter().enumerate().any(is_unknown) {
        return Ok(Value::Null);
    }
    let one = wants_one(call, values, "json_search")?;
    let escape = match values.get(3) {
        None | Some(Value::Null) => b"\\".to_vec(),
        Some(_) => text(call, values, 3).into_owned(),
    };
    let collation = Collation::UTF8MB4_BIN;
    let escape = escape_character(&escape, collation)?;
    let pattern = LikePattern::new(&text(call, values, 2), escape, collation);
    let tree = document(call, values, 0)?.to_tree();
    let mut starts = Vec::new();
    if values.len() <= 4 {
        starts.push((String::from("$"), &tree));
    }
    for position in 4..values.len() {
        matches_of(&tree, &path(call, values, position)?, &mut starts);
    }
    let mut found = Vec::new();
    for (place, node) in starts {
        collect(node, place, &pattern, one, &mut found);
        if one && !found.is_empty() {
            break;
        }
    }
    let mut unique: Vec<JsonValue> = Vec::new();
    for place in found {
        let place = JsonValue::String(place.into_bytes());
        if !unique.contains(&place) {
            unique.push(place);
        }
    }
    Ok(match unique.len() {
        0 => Value::Null,
        1 => from_tree(unique.remove(0)),
        _ => from_tree(JsonValue::Array(unique)),
    })
}

/// Adds the paths of all strings at or below `node` that match; only the first if `one`.
fn collect(node: &JsonValue, place: String, pattern: &LikePattern, one: bool, found: &mut Vec<String>) {
    if one && !found.is_empty() {
        return;
    }
    match node {
        JsonValue::String(text) if pattern.matches(text) => found.push(place),
        JsonValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{place}[{index}]"), pattern, one, found);
            }
        }
        JsonValue::Object(members) => {
            for (name, member) in members {
                collect(member, format!("{place}{}", member_leg(name)), pattern, one, found);
            }
        }
        _ => {}
    }
}

/// `.name`, quoted unless it is an identifier.
fn member_leg(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let is_start = |c: char| c.is_alphabetic() || c == '_' || c == '$';
    let is_identifier =
        text.chars().next().is_some_and(is_start) && text.chars().all(|c| is_start(c) || c.is_ascii_digit());
    if is_identifier {
        return format!(".{text}");
    }
    let mut quoted = Vec::new();
    shoal_types::Json::from_tree(&JsonValue::String(name.to_vec())).append_text(&mut quoted);
    format!(".{}", String::from_utf8_lossy(&quoted))
}

/// Adds every part that the path names, with its own path.
fn matches_of<'t>(tree: &'t JsonValue, path: &JsonPath, found: &mut Vec<(String, &'t JsonValue)>) {
    follow(tree, String::from("$"), &path.legs, found);
}

fn follow<'t>(node: &'t JsonValue, place: String, legs: &[PathLeg], found: &mut Vec<(String, &'t JsonValue)>) {
    let Some((leg, rest)) = legs.split_first() else {
        found.push((place, node));
        return;
    };
    match (leg, node) {
        (PathLeg::Member(name), JsonValue::Object(members)) => {
            for (key, member) in members.iter().filter(|(key, _)| key == name) {
                follow(member, format!("{place}{}", member_leg(key)), rest, found);
            }
        }
        (PathLeg::AnyMember, JsonValue::Object(members)) => {
            for (key, member) in members {
                follow(member, format!("{place}{}", member_leg(key)), rest, found);
            }
        }
        (PathLeg::Element(_) | PathLeg::Range(..) | PathLeg::AnyElement, JsonValue::Array(items)) => {
            for (index, item) in items.iter().enumerate().filter(|(index, _)| covers(leg, *index, items.len())) {
                follow(item, format!("{place}[{index}]"), rest, found);
            }
        }
        // A scalar counts as an array of itself.
        (PathLeg::Element(index), scalar) if position_of(*index, 1) == Some(0) => {
            follow(scalar, place, rest, found)
        }
        (PathLeg::AnyDepth, _) => {
            follow(node, place.clone(), rest, found);
            match node {
                JsonValue::Array(items) => {
                    for (index, item) in items.iter().enumerate() {
                        follow(item, format!("{place}[{index}]"), legs, found);
                    }
                }
                JsonValue::Object(members) => {
                    for (key, member) in members {
                        follow(member, format!("{place}{}", member_leg(key)), legs, found);
                    }
                }
                _ => {}
            }
        }
        _ => {}
    }
}

fn position_of(index: ArrayIndex, length: usize) -> Option<usize> {
    let offset = index.index as usize;
    if index.from_last { length.checked_sub(offset + 1) } else { Some(offset) }
}

fn covers(leg: &PathLeg, position: usize, length: usize) -> bool {
    match leg {
        PathLeg::Element(index) => position_of(*index, length) == Some(position),
        PathLeg::Range(from, to) => {
            let from = position_of(*from, length).unwrap_or(0);
            position_of(*to, length).is_some_and(|to| (from..=to).contains(&position))
        }
        _ => true,
    }
}
