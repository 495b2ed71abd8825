//! A value while it is computed with. At rest values live in rows (`row`) and keys (`key`).

use std::sync::Arc;

use crate::{Date, DateTime, Decimal, Json, Time};

/// An SQL value. Values describe themselves (scale of decimals, fsp of temporal values); the collation and
/// character set of a string belong to the type of the expression that yielded it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// SQL's NULL: no value.
    #[default]
    Null,
    /// Of signed integer types.
    Int(i64),
    /// Of unsigned integer types.
    UInt(u64),
    /// Of FLOAT columns.
    Float(f32),
    /// Of DOUBLE columns, and of floating-point expressions.
    Double(f64),
    /// With its own scale.
    Decimal(Decimal),
    /// Characters in the character set of the expression's collation, or bytes.
    Str(Vec<u8>),
    /// Day, month and year.
    Date(Date),
    /// A signed duration with its fractional digits.
    Time(Time),
    /// DATETIME, and TIMESTAMP already turned into the session's time zone.
    DateTime(DateTime),
    /// 0, or 1901 to 2155.
    Year(u16),
    /// The bits and the declared width (1 to 64).
    Bit(u64, u8),
    /// One label of an ENUM column.
    Enum(EnumValue),
    /// Any labels of a SET column.
    Set(SetValue),
    /// A document in binary form.
    Json(Json),
}

/// An ENUM value: its 1-based index (0 is the error value '') and the labels of its type.
#[derive(Clone, Debug, PartialEq)]
pub struct EnumValue {
    /// 1-based; 0 is the error value ''.
    pub index: u16,
    /// Of the type, in the type's character set.
    pub labels: Arc<[Box<[u8]>]>,
}

impl EnumValue {
    /// The label, empty for index 0.
    pub fn label(&self) -> &[u8] {
        match self.index {
            0 => b"",
            index => self.labels.get(index as usize - 1).map_or(b"", |label| label),
        }
    }
}

/// A SET value: one bit a member, the first member lowest, and the labels of its type.
#[derive(Clone, Debug, PartialEq)]
pub struct SetValue {
    /// Bit 0 is the first label.
    pub bits: u64,
    /// Of the type, in the type's character set.
    pub labels: Arc<[Box<[u8]>]>,
}

impl SetValue {
    /// The chosen members in declaration order, separated by commas.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (position, label) in self.labels.iter().enumerate().take(64) {
            if self.bits & (1 << position) != 0 {
                if !text.is_empty() {
                    text.push(b',');
                }
                text.extend_from_slice(label);
            }
        }
        text
    }
}

impl Value {
    /// SQL's NULL. A JSON `null` is not.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Bytes that the value has beyond its own size.
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Value::Str(text) => text.capacity(),
            Value::Json(json) => json.as_bytes().len(),
            _ => 0,
        }
    }

    /// A text, in whatever character set its expression has.
    pub fn str(text: impl Into<Vec<u8>>) -> Value {
        Value::Str(text.into())
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Int(truth as i64)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Value {
        Value::Int(number.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::UInt(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Double(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::str(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::str(text)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}
