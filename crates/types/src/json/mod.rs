//! JSON documents in MySQL's binary format, and everything that the JSON functions do with them.

mod path;
mod tree;

pub use path::{ArrayIndex, JsonPath, JsonPathError, PathLeg};
pub use tree::JsonValue;

use std::cmp::Ordering;

/// A document in binary form.
#[derive(Clone, Debug, PartialEq)]
pub struct Json(Vec<u8>);

/// A document or a part of one, read in place.
#[derive(Clone, Copy, Debug)]
pub struct JsonRef<'a> {
    kind: u8,
    bytes: &'a [u8],
}

/// What JSON_TYPE tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonKind {
    Null,
    Boolean,
    Integer,
    UnsignedInteger,
    Double,
    Decimal,
    String,
    Array,
    Object,
    Date,
    Time,
    DateTime,
    Timestamp,
    Opaque,
}

/// Why a text is not JSON: MySQL's wording and the byte at which it was noticed (errno 3140).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonSyntaxError {
    pub message: &'static str,
    pub position: usize,
    /// Nested more than 100 deep (errno 3157).
    pub too_deep: bool,
}

impl Json {
    /// Takes bytes that were a document's `as_bytes` before.
    pub fn from_bytes(bytes: Vec<u8>) -> Json {
        Json(bytes)
    }
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
    /// Parses UTF-8 text.
    pub fn parse(_text: &[u8]) -> Result<Json, JsonSyntaxError> {
        unimplemented!()
    }
    pub fn from_tree(_tree: &JsonValue) -> Json {
        unimplemented!()
    }
    pub fn root(&self) -> JsonRef<'_> {
        unimplemented!()
    }
    pub fn to_tree(&self) -> JsonValue {
        self.root().to_tree()
    }
    pub fn append_text(&self, out: &mut Vec<u8>) {
        self.root().append_text(out)
    }
}

impl<'a> JsonRef<'a> {
    pub fn kind(&self) -> JsonKind {
        let _ = (self.kind, self.bytes);
        unimplemented!()
    }
    /// Members of an object or array, 1 for a scalar (JSON_LENGTH).
    pub fn length(&self) -> usize {
        unimplemented!()
    }
    pub fn depth(&self) -> usize {
        unimplemented!()
    }
    pub fn get(&self, _key: &[u8]) -> Option<JsonRef<'a>> {
        unimplemented!()
    }
    pub fn element(&self, _index: usize) -> Option<JsonRef<'a>> {
        unimplemented!()
    }
    /// The key and value of an object's member.
    pub fn member(&self, _index: usize) -> Option<(&'a [u8], JsonRef<'a>)> {
        unimplemented!()
    }
    pub fn as_str(&self) -> Option<&'a [u8]> {
        unimplemented!()
    }
    pub fn to_tree(&self) -> JsonValue {
        unimplemented!()
    }
    /// The part as a document of its own.
    pub fn to_json(&self) -> Json {
        unimplemented!()
    }
    pub fn append_text(&self, _out: &mut Vec<u8>) {
        unimplemented!()
    }
    pub fn append_pretty(&self, _out: &mut Vec<u8>) {
        unimplemented!()
    }
    /// MySQL's total order of JSON values.
    pub fn compare(&self, _other: &JsonRef<'_>) -> Ordering {
        unimplemented!()
    }
    /// JSON_CONTAINS.
    pub fn contains(&self, _candidate: &JsonRef<'_>) -> bool {
        unimplemented!()
    }
    /// JSON_OVERLAPS.
    pub fn overlaps(&self, _other: &JsonRef<'_>) -> bool {
        unimplemented!()
    }
    /// Every part that the path names, in document order.
    pub fn find(&self, _path: &JsonPath) -> Vec<JsonRef<'a>> {
        unimplemented!()
    }
    /// JSON_TYPE's word.
    pub fn type_name(&self) -> &'static str {
        unimplemented!()
    }
}
