//! Tables as a client names them, and values on their way into rows and keys.
//!
//! Values are converted as an SQL statement in strict mode converts them: what does not fit its column is an error. A value that
//! would be changed on its way into a key is one too, as it would find another row.

use std::sync::{Arc, Mutex, PoisonError};

use shoal_cluster::Node;
use shoal_txn::new_row::{OmittedValue, null_refused, omitted_value};
use shoal_types::{
    BaseType, Collation, Error, ErrorCode, Result, StoreOptions, StoreTarget, TemporalContext, TimeZone, Value,
    store_value,
};

/// A table of the cluster. Cheap to clone; it follows changes of its definition.
#[derive(Clone)]
pub struct Table {
    node: Arc<Node>,
    database: Arc<str>,
    name: Arc<str>,
    known: Arc<Mutex<Arc<shoal_cluster::Table>>>,
}

/// Where a value lies: a column of the row with a primary key.
#[derive(Debug)]
pub(crate) struct ValueAddress {
    pub table: Table,
    pub key: Vec<Value>,
    pub column: String,
}

/// Error 1054.
fn unknown_column(table: &shoal_cluster::Table, column: &str) -> Error {
    let message = format!("Unknown column '{column}' in table '{}'", table.name());
    Error::new(ErrorCode::BadField, message)
}

impl Table {
    pub(crate) fn find(node: &Arc<Node>, database: &str, name: &str) -> Result<Table> {
        let known = look_up(node, database, name)?;
        Ok(Table {
            node: Arc::clone(node),
            database: database.into(),
            name: name.into(),
            known: Arc::new(Mutex::new(known)),
        })
    }

    /// Without the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Of the table, by its name.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The names of its columns, in their order.
    pub fn columns(&self) -> Result<Vec<String>> {
        let table = self.definition()?;
        Ok(table.schema.columns.iter().filter(|column| !column.hidden).map(|column| column.name.clone()).collect())
    }

    /// The newest definition.
    #[doc(hidden)]
    pub fn definition(&self) -> Result<Arc<shoal_cluster::Table>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_stale() {
            *known = look_up(&self.node, &self.database, &self.name)?;
        }
        Ok(Arc::clone(&known))
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}", self.database, self.name)
    }
}

fn look_up(node: &Node, database: &str, name: &str) -> Result<Arc<shoal_cluster::Table>> {
    let found = node.catalog().table(database, name).cloned();
    found.ok_or_else(|| Error::new(ErrorCode::NoSuchTable, format!("Table '{database}.{name}' doesn't exist")))
}

/// The position of a column.
pub(crate) fn column(table: &shoal_cluster::Table, name: &str) -> Result<usize> {
    table.schema.column_position(name).ok_or_else(|| unknown_column(table, name))
}

/// The position of an index by its name; `PRIMARY` is the primary key. Errors: 1176, 1235.
pub(crate) fn index(table: &shoal_cluster::Table, name: &str) -> Result<usize> {
    let position =
        table.schema.indexes.iter().position(|index| !index.building && index.name.eq_ignore_ascii_case(name));
    let position = position.ok_or_else(|| {
        let message = format!("Key '{name}' doesn't exist in table '{}'", table.name());
        Error::new(ErrorCode::KeyDoesNotExist, message)
    })?;
    if table.schema.is_multi_valued(&table.schema.indexes[position]) {
        return Err(Error::unsupported("multi-valued indexes outside SQL"));
    }
    Ok(position)
}

/// A value as the column keeps it. Errors: it does not fit, or is NULL where that may not be.
pub(crate) fn stored(table: &shoal_cluster::Table, column: usize, value: &Value, row: u64) -> Result<Value> {
    convert(table, column, value, row).map(|(value, _)| value)
}

fn convert(table: &shoal_cluster::Table, column: usize, value: &Value, row: u64) -> Result<(Value, bool)> {
    let definition = &table.schema.columns[column];
    if value.is_null() {
        return match definition.nullable || definition.auto_increment {
            true => Ok((Value::Null, true)),
            false => Err(null_refused(definition)),
        };
    }
    let sql_type = &definition.sql_type;
    if let (Value::Int(_), BaseType::BigInt, false) = (value, sql_type.base, sql_type.unsigned) {
        return Ok((value.clone(), true));
    }
    let temporal = TemporalContext { zone: TimeZone::UTC, today: now(0).date(), ..TemporalContext::default() };
    let options = StoreOptions { strict: true, ignore: false, temporal };
    let target = StoreTarget { sql_type, column: &definition.name, row };
    // Text is UTF-8; for a column of bytes it is bytes.
    let is_bytes = sql_type.collation.is_binary() && sql_type.base != BaseType::Json;
    let source = if is_bytes { Collation::BINARY } else { Collation::UTF8MB4_0900_AI_CI };
    let (value, warning) = store_value(value.clone(), source, target, &options)?;
    Ok((value, warning.is_none()))
}

/// The memcomparable key of values for the leading columns of an index.
pub(crate) fn key_prefix(table: &shoal_cluster::Table, index: usize, values: &[Value]) -> Result<Vec<u8>> {
    let spec = &table.keys[index];
    if values.len() > spec.parts.len() {
        let message = format!(
            "Key '{}' of table '{}' has {} column(s), and {} values were given for it",
            table.schema.indexes[index].name,
            table.name(),
            spec.parts.len(),
            values.len()
        );
        return Err(Error::new(ErrorCode::WrongValueCount, message));
    }
    let mut key = Vec::with_capacity(16);
    for (part, value) in spec.parts.iter().zip(values) {
        let definition = &table.schema.columns[part.column];
        if value.is_null() && !definition.nullable {
            return Err(null_refused(definition));
        }
        match convert(table, part.column, value, 1)? {
            (value, true) => part.append_value(&value, &TimeZone::UTC, &mut key)?,
            (_, false) => {
                let message = format!("A value for the key column '{}' does not fit it exactly", definition.name);
                return Err(Error::new(ErrorCode::DataTruncated, message));
            }
        }
    }
    Ok(key)
}

/// The whole key of an index.
pub(crate) fn full_key(table: &shoal_cluster::Table, index: usize, values: &[Value]) -> Result<Vec<u8>> {
    let parts = table.keys[index].parts.len();
    if values.len() != parts {
        let message = format!(
            "Key '{}' of table '{}' has {parts} column(s), and {} values were given for it",
            table.schema.indexes[index].name,
            table.name(),
            values.len()
        );
        return Err(Error::new(ErrorCode::WrongValueCount, message));
    }
    key_prefix(table, index, values)
}

/// The present time in UTC.
pub(crate) fn now(fsp: u8) -> shoal_types::DateTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    TimeZone::UTC.from_utc_micros(since.map_or(0, |since| since.as_micros() as i64), fsp)
}

/// What a column that was not given gets. NULL where rows are numbered.
pub(crate) fn default_of(table: &shoal_cluster::Table, column: usize) -> Result<Value> {
    let definition = &table.schema.columns[column];
    Ok(match omitted_value(definition)? {
        OmittedValue::Number => Value::Null,
        OmittedValue::Constant(value) => value,
        OmittedValue::Now => Value::DateTime(now(definition.sql_type.decimals)),
        OmittedValue::Expression => {
            return Err(needs_sql(table, &definition.name, "a default that is an expression"));
        }
    })
}

/// Error 1235: expressions of a definition are SQL's.
pub(crate) fn needs_sql(table: &shoal_cluster::Table, column: &str, what: &str) -> Error {
    let message =
        format!("Column '{column}' of table '{}' has {what}, which only SQL can evaluate; use SQL", table.name());
    Error::new(ErrorCode::NotSupportedYet, message)
}
