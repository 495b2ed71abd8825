//! Trees as SQL text, in the style of MySQL's SHOW CREATE: names in backticks, keywords and functions in lower case, every operation in
//! parentheses. The text parses back into the same meaning under the empty SQL mode.
//!
//! Strings that are not UTF-8 are written in hexadecimal, for the text is UTF-8.

mod data_type;
mod expr;
mod query;
mod table;
mod window;

#[cfg(test)]
mod tests;

use std::fmt::{self, Display, Formatter};

use crate::ast::{ColumnName, Ident, ObjectName};
use crate::quote::{quote_identifier, quote_string};

impl Display for Ident {
    /// The name in backticks.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&quote_identifier(&self.value))
    }
}

impl Display for ObjectName {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(formatter, "{schema}.")?;
        }
        write!(formatter, "{}", self.name)
    }
}

impl Display for ColumnName {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        for qualifier in [&self.schema, &self.table].into_iter().flatten() {
            write!(formatter, "{qualifier}.")?;
        }
        write!(formatter, "{}", self.column)
    }
}

/// Items with `separator` between them.
fn join<T>(
    formatter: &mut Formatter<'_>,
    items: &[T],
    separator: &str,
    write_item: impl Fn(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            formatter.write_str(separator)?;
        }
        write_item(formatter, item)?;
    }
    Ok(())
}

fn comma_list<T: Display>(formatter: &mut Formatter<'_>, items: &[T]) -> fmt::Result {
    join(formatter, items, ",", |formatter, item| write!(formatter, "{item}"))
}

/// ` (a,b)` of names, when there are any.
fn name_list(formatter: &mut Formatter<'_>, names: &[Ident]) -> fmt::Result {
    if names.is_empty() {
        return Ok(());
    }
    formatter.write_str(" (")?;
    comma_list(formatter, names)?;
    formatter.write_str(")")
}

/// A string literal, or a hexadecimal one when the bytes are not UTF-8.
fn write_string(formatter: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    match String::from_utf8(quote_string(bytes)) {
        Ok(text) => formatter.write_str(&text),
        Err(_) => write_hex(formatter, bytes),
    }
}

fn write_hex(formatter: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    formatter.write_str("x'")?;
    for byte in bytes {
        write!(formatter, "{byte:02X}")?;
    }
    formatter.write_str("'")
}
