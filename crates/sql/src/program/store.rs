//! Values as variables hold them: converted as columns of the same type would.

use shoal_types::{BaseType, Collation, Result, SqlType, StoreOptions, StoreTarget, Value, Warning, store_value};

/// Errors: what the type refuses, by the name of the variable.
#[inline]
pub fn converted(
    value: Value,
    source: Collation,
    sql_type: &SqlType,
    name: &str,
    options: &StoreOptions,
) -> Result<(Value, Option<Warning>)> {
    if let Value::Int(number) = value
        && fits(number, sql_type)
    {
        return Ok((value, None));
    }
    store_value(value, source, StoreTarget { sql_type, column: name, row: 1 }, options)
}

/// A variable of this type holds the number as it is.
#[inline]
pub fn fits(number: i64, sql_type: &SqlType) -> bool {
    !sql_type.unsigned
        && match sql_type.base {
            BaseType::BigInt => true,
            BaseType::Int => i32::try_from(number).is_ok(),
            _ => false,
        }
}
