//! Conversion of values into a column's type, as INSERT, UPDATE and LOAD DATA do it.
//!
//! A value that does not fit is an error in strict mode; otherwise the nearest value that fits is taken and a warning
//! tells so. Numbers, texts and errors are MySQL's. The result is always of the class that rows of the column's type
//! keep, so row encoding cannot refuse it.
//!
//! `numeric` stores numbers, BIT and YEAR, `text` strings, ENUM, SET and JSON, `temporal` dates and times.

mod numeric;
mod temporal;
mod text;

#[cfg(test)]
mod tests;

use crate::collation::Collation;
use crate::error::{Error, ErrorCode, Result};
use crate::sql_type::{BaseType, SqlType};
use crate::temporal::TemporalContext;
use crate::value::Value;

/// What SHOW WARNINGS lists beside errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningLevel {
    /// For information: nothing is wrong with the result.
    Note,
    /// A value was changed to fit.
    Warning,
    /// The statement failed with this.
    Error,
}

/// A condition that did not end the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The first column of SHOW WARNINGS.
    pub level: WarningLevel,
    /// Its number is the second column.
    pub code: ErrorCode,
    /// The third column.
    pub message: String,
}

/// How the statement wants unfit values treated.
#[derive(Clone, Debug, Default)]
pub struct StoreOptions {
    /// Unfit values are errors (STRICT_ALL_TABLES or STRICT_TRANS_TABLES).
    pub strict: bool,
    /// INSERT IGNORE and UPDATE IGNORE: errors become warnings even in strict mode.
    pub ignore: bool,
    /// Of the session, for conversions between temporal types.
    pub temporal: TemporalContext,
}

/// Where a value goes: its type, and the names for messages.
#[derive(Clone, Copy, Debug)]
pub struct StoreTarget<'a> {
    /// The column's declared type.
    pub sql_type: &'a SqlType,
    /// The column's name.
    pub column: &'a str,
    /// 1-based row of the statement.
    pub row: u64,
}

/// A value of the column's class, and what there is to say about how it came to be.
type Stored = Result<(Value, Option<Warning>)>;

/// Converts `value` to the column's type. `source` is the collation of a string value. NULL passes unchanged: whether
/// the column takes it is the caller's question.
pub fn store_value(value: Value, source: Collation, target: StoreTarget<'_>, options: &StoreOptions) -> Stored {
    let store = Store { target, options };
    match target.sql_type.base {
        _ if value.is_null() => Ok((Value::Null, None)),
        BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt => {
            store.integer(value)
        }
        BaseType::Float | BaseType::Double => store.float(value),
        BaseType::Decimal => store.decimal(value),
        BaseType::Bit => store.bit(value),
        BaseType::Year => store.year(value),
        BaseType::Date => store.date(value),
        BaseType::Time => store.time(value),
        BaseType::DateTime => store.datetime(value),
        BaseType::Timestamp => store.timestamp(value),
        BaseType::Char | BaseType::VarChar | BaseType::Text | BaseType::Geometry => store.text(value, source),
        BaseType::Enum => store.enumeration(value, source),
        BaseType::Set => store.set(value, source),
        BaseType::Json => store.json(value, source),
        BaseType::Null => Ok((Value::Null, None)),
    }
}

struct Store<'a> {
    target: StoreTarget<'a>,
    options: &'a StoreOptions,
}

impl Store<'_> {
    fn is_strict(&self) -> bool {
        self.options.strict && !self.options.ignore
    }

    fn sql_type(&self) -> &SqlType {
        self.target.sql_type
    }

    /// " for column 'c' at row 1"
    fn place(&self) -> String {
        format!(" for column '{}' at row {}", self.target.column, self.target.row)
    }

    /// An error in strict mode, else `value` and a warning.
    fn unfit(&self, value: Value, code: ErrorCode, message: String) -> Stored {
        if self.is_strict() {
            return Err(Error::new(code, message));
        }
        Ok((value, Some(Warning { level: WarningLevel::Warning, code, message })))
    }

    /// Errno 1264.
    fn out_of_range(&self, clamped: Value) -> Stored {
        self.unfit(clamped, ErrorCode::WarnDataOutOfRange, format!("Out of range value{}", self.place()))
    }

    /// Errno 1265.
    fn truncated(&self, rest: Value) -> Stored {
        self.unfit(rest, ErrorCode::DataTruncated, self.truncation_message())
    }

    fn truncation_message(&self) -> String {
        format!("Data truncated{}", self.place())
    }

    /// Note 1265: never an error.
    fn truncation_note(&self, value: Value) -> Stored {
        let message = self.truncation_message();
        Ok((value, Some(Warning { level: WarningLevel::Note, code: ErrorCode::DataTruncated, message })))
    }

    /// Errno 1366: "Incorrect integer value: 'x' for column 'a' at row 1".
    fn incorrect(&self, class: &str, text: &str, nearest: Value) -> Stored {
        let message = format!("Incorrect {class} value: '{text}'{}", self.place());
        self.unfit(nearest, ErrorCode::TruncatedWrongValueForField, message)
    }

    /// Errno 1406 in strict mode, warning 1265 otherwise.
    fn too_long(&self, cut: Value) -> Stored {
        if self.is_strict() {
            return Err(Error::new(ErrorCode::DataTooLong, format!("Data too long{}", self.place())));
        }
        self.truncated(cut)
    }
}

/// A value as messages show it, at most 128 characters.
fn shown(value: &Value) -> String {
    const SHOWN_CHARACTERS_MAX: usize = 128;
    String::from_utf8_lossy(&value.as_text()).chars().take(SHOWN_CHARACTERS_MAX).collect()
}
