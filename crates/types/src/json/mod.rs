//! JSON documents in MySQL's binary format, and everything that the JSON functions do with them.
//!
//! A document at rest is MySQL's own layout: a type byte and a value; objects keep their keys sorted by length and
//! then by bytes, and every element is found by an offset, so members and elements are looked up without reading the
//! rest. [`JsonRef`] reads a document or a part of it in place; [`JsonValue`] is a tree, for building and changing.
//! Bytes from a damaged file read as some document, never as a panic.
//!
//! `binary` writes and reads the layout, `parse` reads text, `text` prints, `path` and `find` are path expressions,
//! `compare` orders and matches documents, `tree` changes them (`value`).

mod binary;
mod compare;
mod find;
mod parse;
mod path;
mod text;
mod tree;
mod value;

#[cfg(test)]
mod tests;

pub use binary::JsonItem;
pub use parse::JsonSyntaxError;
pub use path::{ArrayIndex, JsonPath, JsonPathError, PathLeg};
pub use text::{append_quoted, unquote};
pub use value::JsonValue;

use crate::error::{Error, ErrorCode};

/// Deepest nesting of a document.
pub const DEPTH_MAX: usize = 100;

/// A document in binary form.
#[derive(Clone, Debug, PartialEq)]
pub struct Json(Vec<u8>);

/// A document or a part of one, read in place.
#[derive(Clone, Copy, Debug)]
pub struct JsonRef<'a> {
    /// The layout's type byte.
    kind: u8,
    bytes: &'a [u8],
}

/// What JSON_TYPE tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonKind {
    /// `NULL`: the JSON literal.
    Null,
    /// `BOOLEAN`.
    Boolean,
    /// `INTEGER`.
    Integer,
    /// `UNSIGNED INTEGER`.
    UnsignedInteger,
    /// `DOUBLE`.
    Double,
    /// `DECIMAL`.
    Decimal,
    /// `STRING`.
    String,
    /// `ARRAY`.
    Array,
    /// `OBJECT`.
    Object,
    /// `DATE`.
    Date,
    /// `TIME`.
    Time,
    /// `DATETIME`.
    DateTime,
    /// `TIMESTAMP`, a DATETIME to JSON_TYPE.
    Timestamp,
    /// A value of another MySQL type: `BLOB`, `BIT`, `OPAQUE` and others.
    Opaque,
}

impl Json {
    /// Takes bytes that were a document's `as_bytes` before.
    pub fn from_bytes(bytes: Vec<u8>) -> Json {
        Json(bytes)
    }

    /// The binary form, as columns store it and [`Json::from_bytes`] takes it.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Parses UTF-8 text.
    pub fn parse(text: &[u8]) -> Result<Json, JsonSyntaxError> {
        JsonValue::parse(text).map(|tree| Json::from_tree(&tree))
    }

    /// Encodes a tree, which is not nested too deep: see [`Json::checked_from_tree`].
    pub fn from_tree(tree: &JsonValue) -> Json {
        let mut bytes = Vec::new();
        binary::append_document(tree, &mut bytes);
        Json(bytes)
    }

    /// As [`Json::from_tree`]; errno 3157 for a tree that is nested too deep.
    pub fn checked_from_tree(tree: &JsonValue) -> crate::Result<Json> {
        if tree.is_deeper_than(DEPTH_MAX + 1) {
            return Err(Error::new(
                ErrorCode::JsonDocumentTooDeep,
                "The JSON document exceeds the maximum depth.",
            ));
        }
        Ok(Json::from_tree(tree))
    }

    /// The outermost value, read in place.
    pub fn root(&self) -> JsonRef<'_> {
        JsonRef::of_document(&self.0)
    }

    /// The whole document, decoded.
    pub fn to_tree(&self) -> JsonValue {
        self.root().to_tree()
    }

    /// The document as JSON text, in MySQL's format.
    pub fn append_text(&self, out: &mut Vec<u8>) {
        self.root().append_text(out)
    }
}

impl<'a> JsonRef<'a> {
    /// JSON_TYPE's word.
    pub fn type_name(&self) -> &'static str {
        match self.kind() {
            JsonKind::Null => "NULL",
            JsonKind::Boolean => "BOOLEAN",
            JsonKind::Integer => "INTEGER",
            JsonKind::UnsignedInteger => "UNSIGNED INTEGER",
            JsonKind::Double => "DOUBLE",
            JsonKind::Decimal => "DECIMAL",
            JsonKind::String => "STRING",
            JsonKind::Array => "ARRAY",
            JsonKind::Object => "OBJECT",
            JsonKind::Date => "DATE",
            JsonKind::Time => "TIME",
            JsonKind::DateTime | JsonKind::Timestamp => "DATETIME",
            JsonKind::Opaque => self.opaque_type_name(),
        }
    }

    fn opaque_type_name(&self) -> &'static str {
        match self.item() {
            JsonItem::Opaque(binary::FIELD_TYPE_BIT, _) => "BIT",
            JsonItem::Opaque(249..=252 | 15 | 253 | 254, _) => "BLOB",
            _ => "OPAQUE",
        }
    }

    /// Members of an object, elements of an array, 1 for a scalar (JSON_LENGTH).
    pub fn length(&self) -> usize {
        match self.kind() {
            JsonKind::Array | JsonKind::Object => self.element_count(),
            _ => 1,
        }
    }

    /// 1 for a scalar or an empty container (JSON_DEPTH).
    pub fn depth(&self) -> usize {
        self.depth_within(DEPTH_MAX + 1)
    }

    fn depth_within(&self, limit: usize) -> usize {
        if limit == 0 {
            return 0;
        }
        1 + self.elements().map(|element| element.depth_within(limit - 1)).max().unwrap_or(0)
    }

    /// The elements of an array or the values of an object; nothing for a scalar.
    pub fn elements(&self) -> impl Iterator<Item = JsonRef<'a>> + use<'a> {
        let container = *self;
        let count = self.element_count();
        (0..count).filter_map(move |index| container.element_of(index, count))
    }

    /// Keys and values of an object, in its order; nothing for anything else.
    pub fn members(&self) -> impl Iterator<Item = (&'a [u8], JsonRef<'a>)> + use<'a> {
        let container = *self;
        let count = if self.is_object() { self.element_count() } else { 0 };
        (0..count).filter_map(move |index| container.member_of(index, count))
    }

    /// The value is an array.
    pub fn is_array(&self) -> bool {
        self.kind() == JsonKind::Array
    }

    /// The value is an object.
    pub fn is_object(&self) -> bool {
        self.kind() == JsonKind::Object
    }

    /// Neither an array nor an object.
    pub fn is_scalar(&self) -> bool {
        !self.is_array() && !self.is_object()
    }

    /// The characters of a string.
    pub fn as_str(&self) -> Option<&'a [u8]> {
        match self.item() {
            JsonItem::String(text) => Some(text),
            _ => None,
        }
    }

    /// The part as a document of its own.
    pub fn to_json(&self) -> Json {
        let mut bytes = vec![self.kind];
        bytes.extend_from_slice(self.own_bytes());
        Json(bytes)
    }
}
