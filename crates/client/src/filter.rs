//! Conditions as a client writes them, by column names; evaluated where the rows lie.

use shoal_txn::Predicate;
use shoal_types::key::append_raw;
use shoal_types::row::encode_column;
use shoal_types::{Comparison, Error, ErrorCode, Result, TimeZone, Value};

use crate::table::{column, stored};

/// A condition on a row. A comparison with NULL is unknown, as in SQL; rows pass for which the whole is true.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// A column by its name, compared with a constant under the column's collation. Unknown if the column is NULL.
    Compare(String, Comparison, Value),
    /// The column with this name is NULL.
    IsNull(String),
    /// All of them; true if there are none.
    And(Vec<Filter>),
    /// Any of them; false if there are none.
    Or(Vec<Filter>),
    /// True where the condition is false; unknown stays unknown.
    Not(Box<Filter>),
}

impl Filter {
    /// The column equals the value; NULL equals nothing.
    pub fn equal(column: &str, value: impl Into<Value>) -> Filter {
        Filter::Compare(column.to_owned(), Comparison::Equal, value.into())
    }

    /// The column is less than the value.
    pub fn less(column: &str, value: impl Into<Value>) -> Filter {
        Filter::Compare(column.to_owned(), Comparison::Less, value.into())
    }

    /// The column is greater than the value.
    pub fn greater(column: &str, value: impl Into<Value>) -> Filter {
        Filter::Compare(column.to_owned(), Comparison::Greater, value.into())
    }

    /// Both conditions.
    pub fn and(self, other: Filter) -> Filter {
        Filter::And(vec![self, other])
    }

    /// One of the conditions, or both.
    pub fn or(self, other: Filter) -> Filter {
        Filter::Or(vec![self, other])
    }

    pub(crate) fn resolve(&self, table: &shoal_cluster::Table) -> Result<Predicate> {
        let all = |parts: &[Filter]| parts.iter().map(|part| part.resolve(table)).collect::<Result<Vec<_>>>();
        Ok(match self {
            Filter::Compare(name, comparison, value) => compare(table, name, *comparison, value)?,
            Filter::IsNull(name) => Predicate::IsNull(column(table, name)?),
            Filter::And(parts) => Predicate::And(all(parts)?),
            Filter::Or(parts) => Predicate::Or(all(parts)?),
            Filter::Not(inner) => Predicate::Not(Box::new(inner.resolve(table)?)),
        })
    }
}

fn compare(table: &shoal_cluster::Table, name: &str, comparison: Comparison, value: &Value) -> Result<Predicate> {
    let column = column(table, name)?;
    if value.is_null() {
        return Err(Error::new(
            ErrorCode::WrongArguments,
            format!("Column '{name}' is compared with NULL; use IsNull"),
        ));
    }
    let sql_type = &table.schema.columns[column].sql_type;
    let value = stored(table, column, value, 1)?;
    let mut key = Vec::new();
    if let Some(raw) = encode_column(&value, sql_type, &TimeZone::UTC)? {
        append_raw(&raw, sql_type, 0, &mut key);
    }
    Ok(Predicate::Compare { column, comparison, key })
}
