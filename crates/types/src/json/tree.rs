//! Building documents as trees, and changing them.

use super::binary::{FIELD_TYPE_BIT, compare_keys};
use super::{JsonPath, JsonValue, PathLeg};
use crate::value::Value;

/// What a change does at the end of its path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Set,
    Insert,
    Replace,
}

impl JsonValue {
    /// An object of members in any order; of equal keys the last one counts.
    pub fn object(mut members: Vec<(Vec<u8>, JsonValue)>) -> JsonValue {
        members.sort_by(|first, second| compare_keys(&first.0, &second.0));
        // The sort is stable, so of equal keys the later member comes later: move it into the kept place.
        members.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                std::mem::swap(&mut later.1, &mut kept.1);
            }
            is_same
        });
        JsonValue::Object(members)
    }

    /// The value as JSON functions take an argument: numbers, strings and temporal values as themselves, ENUM and SET
    /// as strings, BIT as an opaque value. A string must be UTF-8 (bytes of other kinds go into `Opaque`).
    pub fn from_value(value: &Value) -> JsonValue {
        match value {
            Value::Null => JsonValue::Null,
            Value::Int(number) => JsonValue::Int(*number),
            Value::UInt(number) => JsonValue::UInt(*number),
            Value::Float(number) => JsonValue::Double(f64::from(*number)),
            Value::Double(number) => JsonValue::Double(*number),
            Value::Decimal(decimal) => JsonValue::Decimal(*decimal),
            Value::Str(text) => JsonValue::String(text.clone()),
            Value::Date(date) => JsonValue::Date(*date),
            Value::Time(time) => JsonValue::Time(*time),
            Value::DateTime(moment) => JsonValue::DateTime(*moment),
            Value::Year(year) => JsonValue::Int(i64::from(*year)),
            Value::Bit(..) => JsonValue::Opaque(FIELD_TYPE_BIT, value.to_text()),
            Value::Enum(_) | Value::Set(_) => JsonValue::String(value.to_text()),
            Value::Json(json) => json.to_tree(),
        }
    }

    /// More than `limit` values within each other.
    pub fn is_deeper_than(&self, limit: usize) -> bool {
        if limit == 0 {
            return true;
        }
        match self {
            JsonValue::Array(elements) => elements.iter().any(|element| element.is_deeper_than(limit - 1)),
            JsonValue::Object(members) => members.iter().any(|(_, value)| value.is_deeper_than(limit - 1)),
            _ => false,
        }
    }

    fn into_elements(self) -> Vec<JsonValue> {
        match self {
            JsonValue::Array(elements) => elements,
            other => vec![other],
        }
    }

    /// JSON_MERGE_PRESERVE: arrays are joined, objects merged, everything else becomes an array first.
    pub fn merge_preserve(self, other: JsonValue) -> JsonValue {
        match (self, other) {
            (JsonValue::Object(mut members), JsonValue::Object(others)) => {
                for (key, value) in others {
                    match find_member(&members, &key) {
                        Ok(position) => {
                            let kept = std::mem::replace(&mut members[position].1, JsonValue::Null);
                            members[position].1 = kept.merge_preserve(value);
                        }
                        Err(position) => members.insert(position, (key, value)),
                    }
                }
                JsonValue::Object(members)
            }
            (first, second) => {
                let mut elements = first.into_elements();
                elements.extend(second.into_elements());
                JsonValue::Array(elements)
            }
        }
    }

    /// JSON_MERGE_PATCH (RFC 7396).
    pub fn merge_patch(self, patch: JsonValue) -> JsonValue {
        let JsonValue::Object(changes) = patch else {
            return patch;
        };
        let mut members = match self {
            JsonValue::Object(members) => members,
            _ => Vec::new(),
        };
        for (key, change) in changes {
            match (find_member(&members, &key), change) {
                (Ok(position), JsonValue::Null) => {
                    members.remove(position);
                }
                (Err(_), JsonValue::Null) => {}
                (Ok(position), change) => {
                    let kept = std::mem::replace(&mut members[position].1, JsonValue::Null);
                    members[position].1 = kept.merge_patch(change);
                }
                (Err(position), change) => {
                    members.insert(position, (key, JsonValue::Null.merge_patch(change)));
                }
            }
        }
        JsonValue::Object(members)
    }

    /// JSON_SET: replaces or adds.
    pub fn set(&mut self, path: &JsonPath, value: JsonValue) {
        self.change(&path.legs, value, Change::Set);
    }

    /// JSON_INSERT: only adds.
    pub fn insert(&mut self, path: &JsonPath, value: JsonValue) {
        self.change(&path.legs, value, Change::Insert);
    }

    /// JSON_REPLACE: only replaces.
    pub fn replace(&mut self, path: &JsonPath, value: JsonValue) {
        self.change(&path.legs, value, Change::Replace);
    }

    fn change(&mut self, legs: &[PathLeg], value: JsonValue, change: Change) {
        if let Some(target) = self.target_mut(legs) {
            if change != Change::Insert {
                *target = value;
            }
            return;
        }
        if change == Change::Replace {
            return;
        }
        let Some((leg, parent)) = legs.split_last().and_then(|(leg, legs)| Some((leg, self.target_mut(legs)?)))
        else {
            return;
        };
        match (leg, parent) {
            (PathLeg::Member(key), JsonValue::Object(members)) => {
                if let Err(position) = find_member(members, key) {
                    members.insert(position, (key.clone(), value));
                }
            }
            (PathLeg::Element(index), parent) => {
                parent.wrap();
                if let JsonValue::Array(elements) = parent {
                    // Beyond the end at the end, before the start at the start.
                    let position =
                        index.position(elements.len()).map_or(0, |position| position.min(elements.len()));
                    elements.insert(position, value);
                }
            }
            _ => {}
        }
    }

    /// Makes anything but an array the only element of one.
    fn wrap(&mut self) {
        if !matches!(self, JsonValue::Array(_)) {
            let value = std::mem::replace(self, JsonValue::Null);
            *self = JsonValue::Array(vec![value]);
        }
    }

    /// The part that a path without wildcards names.
    fn target_mut(&mut self, legs: &[PathLeg]) -> Option<&mut JsonValue> {
        let mut part = self;
        for leg in legs {
            part = match (leg, part) {
                (PathLeg::Member(key), JsonValue::Object(members)) => {
                    let position = find_member(members, key).ok()?;
                    &mut members[position].1
                }
                (PathLeg::Element(index), JsonValue::Array(elements)) => {
                    let position = index.position(elements.len())?;
                    elements.get_mut(position)?
                }
                (PathLeg::Element(_), part) if leg.takes_non_array() => part,
                _ => return None,
            };
        }
        Some(part)
    }

    /// JSON_REMOVE. A path that names nothing changes nothing.
    pub fn remove(&mut self, path: &JsonPath) {
        let Some((leg, legs)) = path.legs.split_last() else {
            return;
        };
        match (leg, self.target_mut(legs)) {
            (PathLeg::Member(key), Some(JsonValue::Object(members))) => {
                if let Ok(position) = find_member(members, key) {
                    members.remove(position);
                }
            }
            (PathLeg::Element(index), Some(JsonValue::Array(elements))) => {
                let position = index.position(elements.len()).filter(|&position| position < elements.len());
                if let Some(position) = position {
                    elements.remove(position);
                }
            }
            _ => {}
        }
    }

    /// JSON_ARRAY_APPEND: appends to the array at the path; anything else there becomes an array first.
    pub fn array_append(&mut self, path: &JsonPath, value: JsonValue) {
        if let Some(target) = self.target_mut(&path.legs) {
            target.wrap();
            if let JsonValue::Array(elements) = target {
                elements.push(value);
            }
        }
    }

    /// JSON_ARRAY_INSERT: inserts before the element at the path (which must end in an array index), at the end if
    /// there is none.
    pub fn array_insert(&mut self, path: &JsonPath, value: JsonValue) {
        let Some((PathLeg::Element(index), legs)) = path.legs.split_last() else {
            return;
        };
        if let Some(JsonValue::Array(elements)) = self.target_mut(legs) {
            let position = index.position(elements.len()).map_or(0, |position| position.min(elements.len()));
            elements.insert(position, value);
        }
    }
}

fn find_member(members: &[(Vec<u8>, JsonValue)], key: &[u8]) -> Result<usize, usize> {
    members.binary_search_by(|(other, _)| compare_keys(other, key))
}
