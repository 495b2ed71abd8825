//! Operations by the dictionary as it is now: what names mean, whether the account may, and values as their columns want them.
//!
//! Privileges are looked at before tables, by the names in the request, so that nobody learns of tables that are none of their business.

use serde_json::Value as Json;
use shoal_client::{Session, Table, Update};
use shoal_sql::{Privileges, RequestAccess};
use shoal_types::{Error, ErrorCode, Result, TableSchema, Value};

use super::request::{Operation, Verb};
use super::value::from_json;

/// An operation that can be executed, again and again.
pub struct Step {
    pub verb: Verb,
    pub table: Table,
    /// Of the row.
    pub key: Vec<Value>,
    /// Columns that are read, or the names of `values`.
    pub columns: Vec<String>,
    /// Of a new row.
    pub values: Vec<Value>,
    /// What becomes of a row that is there; `None`: nothing.
    pub update: Option<Update>,
    /// Its rows may have megabytes.
    pub is_large: bool,
    pub id: Option<String>,
}

/// # Errors
/// 1142, 1143: the account may not. 1054, 1146: there is no such column or table. 1210, 1366 and others: a value or a key is no such.
pub fn resolve(session: &Session, access: &RequestAccess, operation: Operation) -> Result<Step> {
    check_access(access, &operation)?;
    let Operation { database, table: name, verb, filters, data, columns, id } = operation;
    let table = session.table(&database, &name)?;
    let definition = table.definition()?;
    let schema = &definition.schema;
    if schema.has_hidden_key() {
        let text =
            format!("Table '{database}.{name}' has no primary key, by which rows could be named here; use SQL");
        return Err(Error::new(ErrorCode::NotSupportedYet, text));
    }
    let columns = match (verb, columns.is_empty()) {
        (Verb::Read, true) => {
            let visible = schema.visible_columns().map(|column| schema.columns[column].name.clone());
            let visible: Vec<String> = visible.collect();
            access.check((&database, &name), Privileges::SELECT, visible.iter().map(String::as_str))?;
            visible
        }
        (Verb::Read, false) => {
            columns.iter().try_for_each(|column| position(schema, column).map(drop))?;
            columns
        }
        _ => data.iter().map(|(column, _)| column.clone()).collect(),
    };
    let values: Vec<Value> =
        data.iter().map(|(column, json)| value(schema, column, json)).collect::<Result<_>>()?;
    let key = match verb {
        Verb::Insert => Vec::new(),
        Verb::Upsert => key(schema, &data, "data")?,
        Verb::Read | Verb::Update | Verb::Delete => {
            if filters.len() > schema.indexes[0].columns.len() {
                return Err(no_key(schema, "filters"));
            }
            key(schema, &filters, "filters")?
        }
    };
    let update = match verb {
        Verb::Update | Verb::Upsert => update(schema, verb, &columns, &values),
        Verb::Read | Verb::Insert | Verb::Delete => None,
    };
    let is_large = schema.columns.iter().any(|column| column.sql_type.is_blob());
    Ok(Step { verb, table, key, columns, values, update, is_large, id })
}

fn check_access(access: &RequestAccess, operation: &Operation) -> Result<()> {
    let table = (operation.database.as_str(), operation.table.as_str());
    let names = |list: &'_ [(String, Json)]| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let check = |needed, names: &[String]| access.check(table, needed, names.iter().map(String::as_str));
    let (key, data) = (names(&operation.filters), names(&operation.data));
    match operation.verb {
        Verb::Read => {
            check(Privileges::SELECT, &key)?;
            check(Privileges::SELECT, &operation.columns)
        }
        Verb::Insert => check(Privileges::INSERT, &data),
        Verb::Update => {
            check(Privileges::UPDATE, &data)?;
            check(Privileges::SELECT, &key)
        }
        Verb::Upsert => {
            check(Privileges::INSERT, &data)?;
            check(Privileges::UPDATE, &data)
        }
        Verb::Delete => {
            access.check_table(table, Privileges::DELETE)?;
            check(Privileges::SELECT, &key)
        }
    }
}

/// The position of a column. Errors: 1054.
fn position(schema: &TableSchema, column: &str) -> Result<usize> {
    schema.column_position(column).ok_or_else(|| {
        Error::new(ErrorCode::BadField, format!("Unknown column '{column}' in table '{}'", schema.name))
    })
}

fn value(schema: &TableSchema, column: &str, json: &Json) -> Result<Value> {
    let definition = &schema.columns[position(schema, column)?];
    from_json(json, &definition.sql_type, &definition.name)
}

/// The primary key's values, in its order, from a list that has them all.
fn key(schema: &TableSchema, list: &[(String, Json)], word: &str) -> Result<Vec<Value>> {
    list.iter().try_for_each(|(column, _)| position(schema, column).map(drop))?;
    let part = |column: usize| {
        let name = &schema.columns[column].name;
        let (_, json) =
            list.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).ok_or_else(|| no_key(schema, word))?;
        value(schema, name, json)
    };
    schema.indexes[0].columns.iter().map(|indexed| part(indexed.column)).collect()
}

fn no_key(schema: &TableSchema, word: &str) -> Error {
    let names: Vec<&str> =
        schema.indexes[0].columns.iter().map(|part| schema.columns[part.column].name.as_str()).collect();
    let text = format!("`{word}` has to name the primary key of table '{}': {}", schema.name, names.join(", "));
    Error::new(ErrorCode::WrongArguments, text)
}

/// Of the columns that change: an upsert leaves those of the key alone.
fn update(schema: &TableSchema, verb: Verb, columns: &[String], values: &[Value]) -> Option<Update> {
    let is_key = |name: &str| {
        schema.indexes[0].columns.iter().any(|part| schema.columns[part.column].name.eq_ignore_ascii_case(name))
    };
    let changes = columns.iter().zip(values).filter(|(name, _)| verb == Verb::Update || !is_key(name));
    let changes: Vec<_> = changes.collect();
    if changes.is_empty() {
        return None;
    }
    Some(changes.into_iter().fold(Update::new(), |update, (name, value)| update.set(name, value.clone())))
}
