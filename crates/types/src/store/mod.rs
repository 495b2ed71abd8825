//! Conversion of values into a column's type, as INSERT and UPDATE do it.

use crate::Result;
use crate::collation::Collation;
use crate::error::ErrorCode;
use crate::sql_type::SqlType;
use crate::temporal::TemporalContext;
use crate::value::Value;

/// What SHOW WARNINGS lists beside errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningLevel {
    Note,
    Warning,
    Error,
}

/// A condition that did not end the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub level: WarningLevel,
    pub code: ErrorCode,
    pub message: String,
}

/// How the statement wants unfit values treated.
#[derive(Clone, Debug, Default)]
pub struct StoreOptions {
    /// Unfit values are errors (STRICT_ALL_TABLES or STRICT_TRANS_TABLES).
    pub strict: bool,
    /// INSERT IGNORE and UPDATE IGNORE: errors become warnings even in strict mode.
    pub ignore: bool,
    pub temporal: TemporalContext,
}

/// Where a value goes, for messages.
#[derive(Clone, Copy, Debug)]
pub struct StoreTarget<'a> {
    pub sql_type: &'a SqlType,
    pub column: &'a str,
    /// 1-based row of the statement.
    pub row: u64,
}

/// Converts `value` to the column's type. `source` is the collation of a string value. NULL passes unchanged (whether
/// the column takes it is the caller's question).
pub fn store_value(
    _value: Value,
    _source: Collation,
    _target: StoreTarget<'_>,
    _options: &StoreOptions,
) -> Result<(Value, Option<Warning>)> {
    unimplemented!()
}
