//! A document as a tree.

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
