//! Text forms of values and the conversions between classes that every expression uses.

use crate::number::Converted;
use crate::sql_type::SqlType;
use crate::temporal::TemporalContext;
use crate::value::Value;
use crate::{Date, DateTime, Decimal, Time};

impl Value {
    /// Appends the value as MySQL prints it; nothing for NULL. BIT is its raw bytes.
    pub fn append_text(&self, _out: &mut Vec<u8>) {
        unimplemented!()
    }
    /// Appends the value of a column or expression of type `sql_type`: with ZEROFILL, and FLOAT and DOUBLE with their
    /// declared digits after the point.
    pub fn append_text_as(&self, _sql_type: &SqlType, _out: &mut Vec<u8>) {
        unimplemented!()
    }
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.append_text(&mut text);
        text
    }
    /// The text of a string without copying it, of any other value as a copy.
    pub fn as_text(&self) -> std::borrow::Cow<'_, [u8]> {
        match self {
            Value::Str(text) => std::borrow::Cow::Borrowed(text),
            other => std::borrow::Cow::Owned(other.to_text()),
        }
    }
    /// 0 for NULL. Numbers with a fraction are rounded.
    pub fn to_i64(&self) -> Converted<i64> {
        unimplemented!()
    }
    pub fn to_u64(&self) -> Converted<u64> {
        unimplemented!()
    }
    pub fn to_f64(&self) -> Converted<f64> {
        unimplemented!()
    }
    pub fn to_decimal(&self) -> Converted<Decimal> {
        unimplemented!()
    }
    /// Whether the value counts as true in a condition; `None` for NULL.
    pub fn to_bool(&self) -> Option<bool> {
        unimplemented!()
    }
    /// `None` in `value`: NULL, or not a date under the rules (then `truncated` is set).
    pub fn to_date(&self, _context: &TemporalContext) -> Converted<Option<Date>> {
        unimplemented!()
    }
    pub fn to_time(&self) -> Converted<Option<Time>> {
        unimplemented!()
    }
    pub fn to_datetime(&self, _context: &TemporalContext) -> Converted<Option<DateTime>> {
        unimplemented!()
    }
    /// DECIMAL, integer or double, whichever a value of this class becomes in arithmetic.
    pub fn is_numeric(&self) -> bool {
        !matches!(self, Value::Str(_) | Value::Enum(_) | Value::Set(_) | Value::Json(_) | Value::Null)
    }
}
