//! JSON_ARRAYAGG and JSON_OBJECTAGG.

use shoal_types::json::JsonValue;
use shoal_types::{Error, ErrorCode, Json, Result, Value};

use crate::json_value::of_value;

#[derive(Clone, Debug)]
pub(super) enum JsonCollection {
    Array { items: Vec<JsonValue> },
    Object { members: Vec<(Vec<u8>, JsonValue)> },
}

impl JsonCollection {
    pub fn array() -> JsonCollection {
        JsonCollection::Array { items: Vec::new() }
    }

    pub fn object() -> JsonCollection {
        JsonCollection::Object { members: Vec::new() }
    }

    /// Errors: a NULL key (3158).
    pub fn add(&mut self, values: Vec<Value>) -> Result<()> {
        let mut values = values.into_iter();
        match self {
            JsonCollection::Array { items } => items.push(of_value(&values.next().unwrap_or_default())),
            JsonCollection::Object { members } => {
                let key = values.next().unwrap_or_default();
                if key.is_null() {
                    return Err(Error::new(
                        ErrorCode::JsonDocumentNullKey,
                        "JSON documents may not contain NULL member names.",
                    ));
                }
                members.push((key.to_text(), of_value(&values.next().unwrap_or_default())));
            }
        }
        Ok(())
    }

    pub fn merge(&mut self, other: JsonCollection) {
        match (self, other) {
            (JsonCollection::Array { items }, JsonCollection::Array { items: more }) => items.extend(more),
            (JsonCollection::Object { members }, JsonCollection::Object { members: more }) => members.extend(more),
            _ => {}
        }
    }

    /// NULL without rows.
    pub fn finish(self) -> Value {
        let tree = match self {
            JsonCollection::Array { items } if items.is_empty() => return Value::Null,
            JsonCollection::Object { members } if members.is_empty() => return Value::Null,
            JsonCollection::Array { items } => JsonValue::Array(items),
            JsonCollection::Object { members } => JsonValue::object(members),
        };
        Value::Json(Json::from_tree(&tree))
    }
}
