//! A document as a tree, for building and changing.

use super::JsonPath;
use crate::{Date, DateTime, Decimal, Time};

#[derive(Clone, Debug, PartialEq)]
pub enum JsonValue {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    String(Vec<u8>),
    Array(Vec<JsonValue>),
    /// Sorted by length of the key, then by its bytes; keys are unique. Use `JsonValue::object` to build one.
    Object(Vec<(Vec<u8>, JsonValue)>),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    Timestamp(DateTime),
    /// A value of another MySQL type: the type's protocol number and its bytes.
    Opaque(u8, Vec<u8>),
}

impl JsonValue {
    /// An object of members in any order; of equal keys the last one counts.
    pub fn object(_members: Vec<(Vec<u8>, JsonValue)>) -> JsonValue {
        unimplemented!()
    }
    /// JSON_MERGE_PRESERVE.
    pub fn merge_preserve(self, _other: JsonValue) -> JsonValue {
        unimplemented!()
    }
    /// JSON_MERGE_PATCH.
    pub fn merge_patch(self, _patch: JsonValue) -> JsonValue {
        unimplemented!()
    }
    /// JSON_SET: replaces or adds.
    pub fn set(&mut self, _path: &JsonPath, _value: JsonValue) {
        unimplemented!()
    }
    /// JSON_INSERT: only adds.
    pub fn insert(&mut self, _path: &JsonPath, _value: JsonValue) {
        unimplemented!()
    }
    /// JSON_REPLACE: only replaces.
    pub fn replace(&mut self, _path: &JsonPath, _value: JsonValue) {
        unimplemented!()
    }
    /// JSON_REMOVE.
    pub fn remove(&mut self, _path: &JsonPath) {
        unimplemented!()
    }
    pub fn array_append(&mut self, _path: &JsonPath, _value: JsonValue) {
        unimplemented!()
    }
    pub fn array_insert(&mut self, _path: &JsonPath, _value: JsonValue) {
        unimplemented!()
    }
}
