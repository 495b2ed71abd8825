//! Columns that come, go and move without a row being touched: what rows from before the definition have in the columns of now.

use shoal_types::row::{encode_column, fixed_width};
use shoal_types::{Column, ColumnDefault, PastColumn, PastRows, Result, TableSchema, Value};

use super::way::keeps_places;
use crate::ddl::build::BuiltTable;
use crate::dml::row::implicit_default;
use crate::session::Session;

/// How rows of all earlier versions lie for the new definition.
pub fn past_rows(session: &Session, old: &TableSchema, built: &BuiltTable) -> Result<Vec<PastRows>> {
    if keeps_places(old, built) {
        return Ok(old.past_rows.clone());
    }
    let values = built.column_origins.iter().zip(&built.schema.columns).map(|(origin, column)| match origin {
        Some(_) => Ok(None),
        None => value_of_added(session, column),
    });
    let values = values.collect::<Result<Vec<Option<Vec<u8>>>>>()?;
    let follow = |was: &dyn Fn(usize) -> PastColumn| {
        let columns = built.column_origins.iter().zip(&values);
        columns.map(|(origin, value)| origin.map_or_else(|| PastColumn::Value(value.clone()), was)).collect()
    };
    let mut past: Vec<PastRows> = Vec::with_capacity(old.past_rows.len() + 1);
    for rows in &old.past_rows {
        past.push(PastRows {
            widths: rows.widths.clone(),
            columns: follow(&|origin| rows.columns[origin].clone()),
        });
    }
    let width = |column: &Column| fixed_width(&column.sql_type).map(|width| width as u8);
    past.push(PastRows { widths: old.columns.iter().map(width).collect(), columns: follow(&PastColumn::At) });
    Ok(past)
}

/// What a column that is added has in the rows that are there, as it is stored.
fn value_of_added(session: &Session, column: &Column) -> Result<Option<Vec<u8>>> {
    let value = match &column.default {
        ColumnDefault::Value(value) => value.clone(),
        ColumnDefault::Now => {
            let micros = session.variables.timestamp_micros.unwrap_or_else(|| session.server.clock_micros());
            // The column keeps fewer digits.
            let step = 10_i64.pow(6 - u32::from(column.sql_type.decimals.min(6)));
            let micros = micros - micros.rem_euclid(step);
            Value::DateTime(session.variables.time_zone.from_utc_micros(micros, column.sql_type.decimals))
        }
        ColumnDefault::None if column.nullable => Value::Null,
        ColumnDefault::None | ColumnDefault::Expression(_) => implicit_default(&column.sql_type),
    };
    encode_column(&value, &column.sql_type, &session.variables.time_zone)
}
