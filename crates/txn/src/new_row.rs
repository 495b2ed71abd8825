//! New rows: what INSERT through SQL, HandlerSocket and the native client have in common.
//!
//! What a column gets that a row leaves out, which numbers AUTO_INCREMENT columns and hidden keys get ([`Numbering`]), and how the errors
//! read. Values are converted by `shoal_types::store_value`. What differs stays with the callers: SQL evaluates expressions and knows
//! other modes than strict, and each of them has a clock and a time zone of its own.

use shoal_cluster::Table;
use shoal_types::json::JsonValue;
use shoal_types::{
    BaseType, Column, ColumnDefault, EnumValue, Error, ErrorCode, IndexColumn, Json, Result, SqlType, TimeZone,
    Value, array_elements,
};

pub use crate::numbering::{AtEnd, AutoIncrementSettings, Numbering, given_number};

/// Characters of a key that error 1062 shows.
const ENTRY_CHARS_MAX: usize = 64;

/// What a column gets that a new row leaves out.
#[derive(Clone, Debug, PartialEq)]
pub enum OmittedValue {
    /// What [`Numbering::fill`] gives NULL: the column is AUTO_INCREMENT or the hidden key.
    Number,
    /// The column's DEFAULT, NULL, or the type's implicit default.
    Constant(Value),
    /// The present time, with the column's fractional digits.
    Now,
    /// `DEFAULT (expression)`, which only SQL evaluates.
    Expression,
}

/// What `column` gets if a new row leaves it out, in strict mode. Errors: 1364, it has no default.
pub fn omitted_value(column: &Column) -> Result<OmittedValue> {
    if column.auto_increment || (column.hidden && !column.is_functional()) {
        return Ok(OmittedValue::Number);
    }
    match &column.default {
        ColumnDefault::Expression(_) => Ok(OmittedValue::Expression),
        ColumnDefault::Now => Ok(OmittedValue::Now),
        ColumnDefault::Value(value) if !value.is_null() || column.nullable => {
            Ok(OmittedValue::Constant(value.clone()))
        }
        _ if column.nullable => Ok(OmittedValue::Constant(Value::Null)),
        // The first member is an ENUM's default.
        _ if column.sql_type.base == BaseType::Enum => {
            let labels = column.sql_type.labels.clone().unwrap_or_default();
            Ok(OmittedValue::Constant(Value::Enum(EnumValue { index: 1, labels })))
        }
        _ => Err(no_default(column)),
    }
}

/// Refuses what would leave generated columns, CHECK constraints, parents and triggers aside. Errors: 1235.
pub fn check_has_no_rules(table: &Table) -> Result<()> {
    if !table.has_row_rules {
        return Ok(());
    }
    let name = &table.schema.name;
    Err(Error::new(
        ErrorCode::NotSupportedYet,
        format!(
            "Table '{name}' can be written by SQL statements alone, because it has generated columns, CHECK constraints, foreign keys or triggers: \
             use INSERT, UPDATE, DELETE"
        ),
    ))
}

/// Error 1364.
pub fn no_default(column: &Column) -> Error {
    Error::new(ErrorCode::NoDefaultForField, format!("Field '{}' doesn't have a default value", column.name))
}

/// Error 1048.
pub fn null_refused(column: &Column) -> Error {
    Error::new(ErrorCode::BadNull, format!("Column '{}' cannot be null", column.name))
}

/// The elements that a multi-valued key part keeps, as JSON.
fn array_text(elements: &[u8], element: &SqlType) -> String {
    let elements = array_elements::iter(elements).map(|one| array_elements::value(one, element));
    let array = JsonValue::Array(elements.map(|value| JsonValue::from_value(&value)).collect());
    let mut text = Vec::new();
    Json::from_tree(&array).append_text(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Error 1062, "Duplicate entry '1-abc' for key 't.PRIMARY'", from the row that was to be written.
pub fn duplicate_entry(table: &Table, index: usize, row: &[u8]) -> Error {
    let row = table.layout.row(row);
    let definition = &table.schema.indexes[index];
    let part = |part: &IndexColumn| {
        if let Some(element) = &table.schema.columns[part.column].array_of {
            return array_text(row.raw(part.column), element);
        }
        let text = String::from_utf8_lossy(&row.value(part.column, &TimeZone::UTC).to_text()).into_owned();
        match part.prefix_length {
            0 => text,
            length => text.chars().take(length as usize).collect(),
        }
    };
    let parts: Vec<String> = definition.columns.iter().map(part).collect();
    let mut entry = parts.join("-");
    entry.truncate(entry.char_indices().nth(ENTRY_CHARS_MAX).map_or(entry.len(), |(at, _)| at));
    let message = format!("Duplicate entry '{entry}' for key '{}.{}'", table.schema.name, definition.name);
    Error::new(ErrorCode::DupEntry, message)
}
