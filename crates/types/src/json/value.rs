//! A document as a tree.

use crate::{Date, DateTime, Decimal, Time};

/// A value of a document with all that is in it. Dates and the like come from SQL values; JSON texts have none.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonValue {
    /// The JSON literal `null`, which is not SQL's NULL.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without a fraction that fits i64.
    Int(i64),
    /// A number without a fraction that fits u64 and not i64.
    UInt(u64),
    /// Any other number of a JSON text.
    Double(f64),
    /// From an SQL DECIMAL.
    Decimal(Decimal),
    /// UTF-8, without quotes and escapes.
    String(Vec<u8>),
    /// In their order.
    Array(Vec<JsonValue>),
    /// Sorted by length of the key, then by its bytes; keys are unique. Use `JsonValue::object` to build one.
    Object(Vec<(Vec<u8>, JsonValue)>),
    /// From an SQL DATE.
    Date(Date),
    /// From an SQL TIME.
    Time(Time),
    /// From an SQL DATETIME.
    DateTime(DateTime),
    /// From an SQL TIMESTAMP.
    Timestamp(DateTime),
    /// A value of another MySQL type: the type's protocol number and its bytes.
    Opaque(u8, Vec<u8>),
}
