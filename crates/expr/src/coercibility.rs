//! How strongly a value of a type insists on its collation.

use shoal_types::{BaseType, SqlType, Value};

pub use shoal_types::collation::Coercibility;

/// A string, or JSON, which is text in utf8mb4.
pub(crate) fn is_text(sql_type: &SqlType) -> bool {
    sql_type.is_string() || sql_type.base == BaseType::Json
}

/// The coercibility of a column of this type.
pub(crate) fn coercibility_of_column(sql_type: &SqlType) -> Coercibility {
    if is_text(sql_type) { Coercibility::Implicit } else { Coercibility::Numeric }
}

/// The coercibility that a literal of this type has.
pub(crate) fn coercibility_of_literal(value: &Value, sql_type: &SqlType) -> Coercibility {
    match value {
        Value::Null => Coercibility::Ignorable,
        _ if is_text(sql_type) => Coercibility::Coercible,
        _ => Coercibility::Numeric,
    }
}
