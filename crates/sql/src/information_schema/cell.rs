//! Values of made-up rows.

use shoal_types::Value;

/// Something that becomes a value of a row.
pub(crate) trait Cell {
    fn value(self) -> Value;
}

impl Cell for Value {
    fn value(self) -> Value {
        self
    }
}

impl Cell for &str {
    fn value(self) -> Value {
        Value::str(self)
    }
}

impl Cell for String {
    fn value(self) -> Value {
        Value::Str(self.into_bytes())
    }
}

impl Cell for &String {
    fn value(self) -> Value {
        Value::str(self.as_str())
    }
}

impl Cell for u64 {
    fn value(self) -> Value {
        Value::UInt(self)
    }
}

impl Cell for u32 {
    fn value(self) -> Value {
        Value::UInt(u64::from(self))
    }
}

impl Cell for usize {
    fn value(self) -> Value {
        Value::UInt(self as u64)
    }
}

impl Cell for i64 {
    fn value(self) -> Value {
        Value::Int(self)
    }
}

impl<T: Cell> Cell for Option<T> {
    fn value(self) -> Value {
        self.map_or(Value::Null, Cell::value)
    }
}

/// A row of anything that can be a cell.
macro_rules! row {
    ($($cell:expr),* $(,)?) => {
        vec![$($crate::information_schema::Cell::value($cell)),*]
    };
}
pub(crate) use row;

/// YES or NO.
pub(crate) fn yes_no(truth: bool) -> &'static str {
    if truth { "YES" } else { "NO" }
}
