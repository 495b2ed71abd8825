//! Inserting: the values of the request, defaults for all other columns, numbers for AUTO_INCREMENT.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use shoal_cluster::{Node, Table};
use shoal_txn::Inserted;
use shoal_types::{BaseType, Column, ColumnDefault, EnumValue, Error, ErrorCode, Result, StoreOptions, Value};

use crate::clock::now_of;
use crate::convert::{column_value, stored};
use crate::find::Tools;
use crate::host::Host;
use crate::open_index::Resolved;
use crate::refusal::{Outcome, Refusal};
use crate::reply::{append_done, append_number};
use crate::request::Request;
use crate::token;

/// A row that has not been inserted.
pub struct NewRow {
    /// Encoded by the table's layout.
    pub bytes: Vec<u8>,
    /// The AUTO_INCREMENT value that was generated for it.
    number: Option<u64>,
}

/// Inserts one row.
pub async fn insert(
    host: &dyn Host,
    open: &Resolved,
    request: &Request,
    line: &[u8],
    (tools, now_micros): (Tools<'_>, i64),
    out: &mut Vec<u8>,
) -> Outcome {
    let Tools { transaction, buffer, options, .. } = tools;
    let row = new_row(host, open, request, line, buffer, (options, now_micros)).await?;
    let inserted = transaction.insert_many(&open.table, std::slice::from_ref(&row.bytes), false).await?;
    row.answer(open, inserted.first(), out)
}

impl NewRow {
    /// Appends the answer: the number that was generated, 0 if none was, where the table numbers its rows.
    ///
    /// # Errors
    /// The row has not been inserted.
    pub fn answer(&self, open: &Resolved, inserted: Option<&Inserted>, out: &mut Vec<u8>) -> Outcome {
        if inserted != Some(&Inserted::Done) {
            return Err(Refusal::duplicate());
        }
        match open.table.schema.auto_increment_column() {
            Some(_) => append_number(self.number.unwrap_or(0), out),
            None => append_done(out),
        }
        Ok(())
    }
}

/// The row that a line describes.
pub async fn new_row(
    host: &dyn Host,
    open: &Resolved,
    request: &Request,
    line: &[u8],
    buffer: &mut Vec<u8>,
    (options, now_micros): (&StoreOptions, i64),
) -> Outcome<NewRow> {
    let table = &open.table;
    let columns = &table.schema.columns;
    if request.values.len() > open.columns.len() {
        return Err(Refusal::Request("klen"));
    }
    let zone = &options.temporal.zone;
    let mut values = vec![None; columns.len()];
    for (shown, span) in open.columns.iter().zip(&request.values) {
        let column = &columns[shown.column];
        let text = token::value(span.of(line), buffer);
        values[shown.column] = Some(match text {
            None if column.auto_increment => Value::Null,
            text => column_value(column, text, options)?,
        });
    }
    let mut row = Vec::with_capacity(columns.len());
    for (position, value) in values.into_iter().enumerate() {
        row.push(match (value, &columns[position]) {
            (Some(value), _) => value,
            (None, column) if column.auto_increment || column.hidden => Value::Null,
            (None, Column { default: ColumnDefault::Expression(_), .. }) => {
                host.expression_default(table, position)?
            }
            (None, column @ Column { default: ColumnDefault::Now, .. }) => now_of(column, zone, now_micros),
            (None, column) => constant_default(column)?,
        });
    }
    let generated = number(host.node(), table, &mut row).await?;
    if let (Some(number), Some(column)) = (generated, table.schema.auto_increment_column()) {
        row[column] = stored(&columns[column], Value::UInt(number), options)?;
    }
    let mut bytes = Vec::new();
    table.layout.encode(&row, zone, &mut bytes)?;
    Ok(NewRow { bytes, number: generated })
}

fn constant_default(column: &Column) -> Result<Value> {
    match &column.default {
        ColumnDefault::Value(value) if !value.is_null() || column.nullable => Ok(value.clone()),
        _ if column.nullable => Ok(Value::Null),
        // The first member is an ENUM's default.
        _ if column.sql_type.base == BaseType::Enum => {
            Ok(Value::Enum(EnumValue { index: 1, labels: column.sql_type.labels.clone().unwrap_or_default() }))
        }
        _ => {
            let message = format!("Field '{}' doesn't have a default value", column.name);
            Err(Error::new(ErrorCode::NoDefaultForField, message))
        }
    }
}

/// Fills the hidden key, and yields the number for the AUTO_INCREMENT column if it wants one.
async fn number(node: &Arc<Node>, table: &Arc<Table>, row: &mut [Value]) -> Result<Option<u64>> {
    let numbered = table.schema.auto_increment_column();
    if table.schema.has_hidden_key() {
        let next = if numbered.is_some() { node.next_row_id() } else { next_number(node, table).await? };
        if let Some(key) = row.last_mut() {
            *key = Value::UInt(next);
        }
    }
    let Some(column) = numbered else { return Ok(None) };
    let given = match &row[column] {
        Value::Null | Value::Int(0) | Value::UInt(0) => return next_number(node, table).await.map(Some),
        Value::UInt(number) => *number,
        other => u64::try_from(other.to_i64().value).unwrap_or(0),
    };
    table.next_auto_increment.note_given(given);
    if node.cluster().is_some() {
        node.note_number(table, given).await?;
    }
    Ok(None)
}

async fn next_number(node: &Arc<Node>, table: &Arc<Table>) -> Result<u64> {
    match node.cluster() {
        None => Ok(table.next_auto_increment.fetch_add(1, Ordering::Relaxed)),
        Some(_) => Ok(node.take_numbers(table, 1).await?.start),
    }
}
