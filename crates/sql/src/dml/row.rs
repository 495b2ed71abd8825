//! Building rows as SQL modes want them: conversion into column types, NOT NULL, missing values. What other interfaces do as well is
//! `shoal_txn::new_row`.

use shoal_cluster::Table;
use shoal_expr::EvalContext;
use shoal_txn::new_row::{
    AutoIncrementSettings, Numbering, duplicate_entry, given_number, no_default, null_refused,
};
use shoal_types::{
    BaseType, Collation, ErrorCode, Result, SqlType, StoreOptions, StoreTarget, TemporalContext, Value,
    WarningLevel, store_value,
};

/// Converts values into the columns of one table for one statement.
pub struct RowBuilder<'t> {
    pub table: &'t Table,
    options: StoreOptions,
    strict: bool,
    /// NULL stands for a value to be generated.
    generates: bool,
    /// A NULL that may not be becomes the type's implicit default, with a warning.
    pub null_is_default: bool,
    /// A trigger may yet put something in the place of a NULL.
    pub defers_null: bool,
    /// AUTO_INCREMENT and hidden keys.
    pub numbering: Numbering<'t>,
}

impl<'t> RowBuilder<'t> {
    pub fn new(
        table: &'t Table,
        ignore: bool,
        settings: AutoIncrementSettings,
        eval: &EvalContext<'_>,
    ) -> RowBuilder<'t> {
        let mode = &eval.settings.sql_mode;
        let rules = shoal_types::DateRules {
            no_zero_date: mode.no_zero_date && mode.strict,
            no_zero_in_date: mode.no_zero_in_date && mode.strict,
            allow_invalid_dates: mode.allow_invalid_dates,
        };
        let temporal = TemporalContext { rules, zone: eval.zone.clone(), today: eval.now(0).date() };
        RowBuilder {
            table,
            options: StoreOptions { strict: mode.strict && !ignore, ignore, temporal },
            strict: mode.strict && !ignore,
            generates: true,
            null_is_default: ignore || !mode.strict,
            defers_null: false,
            numbering: Numbering::new(table, settings),
        }
    }

    /// For rows that are there already.
    pub fn for_update(table: &'t Table, ignore: bool, eval: &EvalContext<'_>) -> RowBuilder<'t> {
        RowBuilder { generates: false, ..RowBuilder::new(table, ignore, AutoIncrementSettings::default(), eval) }
    }

    /// A value as the column will hold it. Errors and warnings of conversion name the column and `row`.
    pub fn convert(
        &self,
        column: usize,
        value: Value,
        source: Collation,
        row: u64,
        eval: &mut EvalContext<'_>,
    ) -> Result<Value> {
        let definition = &self.table.schema.columns[column];
        if value.is_null() {
            return self.null(column, eval);
        }
        if definition.auto_increment && !self.generates {
            return self.assigned_number(
                value,
                source,
                StoreTarget { sql_type: &definition.sql_type, column: &definition.name, row },
                eval,
            );
        }
        let value = match (value, definition.sql_type.base) {
            (Value::Int(number), BaseType::BigInt) if !definition.sql_type.unsigned => {
                return Ok(Value::Int(number));
            }
            (value, _) => value,
        };
        let target = StoreTarget { sql_type: &definition.sql_type, column: &definition.name, row };
        self.store(value, source, target, eval)
    }

    fn store(
        &self,
        value: Value,
        source: Collation,
        target: StoreTarget<'_>,
        eval: &mut EvalContext<'_>,
    ) -> Result<Value> {
        let (stored, warning) = store_value(value, source, target, &self.options)?;
        if let Some(warning) = warning {
            eval.warnings.push(warning.level, warning.code, || warning.message);
        }
        Ok(stored)
    }

    /// A value that an update gives the AUTO_INCREMENT column: rows that come later are numbered above it.
    fn assigned_number(
        &self,
        value: Value,
        source: Collation,
        target: StoreTarget<'_>,
        eval: &mut EvalContext<'_>,
    ) -> Result<Value> {
        let stored = self.store(value, source, target, eval)?;
        if let Some(number) = given_number(&stored) {
            self.table.next_auto_increment.note_given(number);
        }
        Ok(stored)
    }

    fn null(&self, column: usize, eval: &mut EvalContext<'_>) -> Result<Value> {
        let definition = &self.table.schema.columns[column];
        if definition.nullable || (definition.auto_increment && self.generates) || self.defers_null {
            return Ok(Value::Null);
        }
        self.null_of(definition, eval)
    }

    /// After triggers: no NULL that may not be is left. `given`: the columns that the statement has named.
    pub fn settle_nulls(
        &mut self,
        values: &mut [Value],
        given: &dyn Fn(usize) -> bool,
        eval: &mut EvalContext<'_>,
    ) -> Result<()> {
        let table = self.table;
        for (column, definition) in table.schema.columns.iter().enumerate() {
            let may_be = definition.nullable
                || definition.hidden
                || definition.generated.is_some()
                || (definition.auto_increment && self.generates);
            if may_be || !values[column].is_null() {
                continue;
            }
            self.defers_null = false;
            let settled = match given(column) {
                true => self.null_of(definition, eval),
                false => self.missing(column, eval),
            };
            self.defers_null = true;
            values[column] = settled?;
        }
        Ok(())
    }

    fn null_of(&self, definition: &shoal_types::Column, eval: &mut EvalContext<'_>) -> Result<Value> {
        let error = null_refused(definition);
        if self.null_is_default {
            eval.warnings.push(WarningLevel::Warning, ErrorCode::BadNull, || error.message().to_owned());
            return Ok(implicit_default(&definition.sql_type));
        }
        Err(error)
    }

    /// What a NOT NULL column without a default gets. Errors: 1364 in strict mode.
    pub fn missing(&self, column: usize, eval: &mut EvalContext<'_>) -> Result<Value> {
        let definition = &self.table.schema.columns[column];
        if self.defers_null {
            return Ok(Value::Null);
        }
        if definition.sql_type.base == BaseType::Enum {
            // The first member is an ENUM's default.
            return Ok(implicit_default(&definition.sql_type));
        }
        if self.strict {
            return Err(no_default(definition));
        }
        let message = || no_default(definition).message().to_owned();
        eval.warnings.push(WarningLevel::Warning, ErrorCode::NoDefaultForField, message);
        Ok(implicit_default(&definition.sql_type))
    }

    pub fn encode(&self, values: &[Value], eval: &EvalContext<'_>, out: &mut Vec<u8>) -> Result<()> {
        self.table.layout.encode(values, eval.zone, out)
    }
}

/// A row that another stands in the way of: an error, or with IGNORE a warning.
pub fn refuse_duplicate(
    table: &Table,
    index: usize,
    row: &[u8],
    ignore: bool,
    eval: &mut EvalContext<'_>,
) -> Result<()> {
    let error = duplicate_entry(table, index, row);
    if !ignore || table.schema.indexes[index].building {
        return Err(error);
    }
    eval.warnings.push(WarningLevel::Warning, ErrorCode::DupEntry, || error.message().to_owned());
    Ok(())
}

/// Zero, the empty string, the zero date, the first ENUM member.
pub fn implicit_default(sql_type: &SqlType) -> Value {
    use shoal_types::{Date, DateTime, Decimal, EnumValue, SetValue, Time};
    match sql_type.base {
        BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt => {
            if sql_type.unsigned {
                Value::UInt(0)
            } else {
                Value::Int(0)
            }
        }
        BaseType::Float => Value::Float(0.0),
        BaseType::Double => Value::Double(0.0),
        BaseType::Decimal => Value::Decimal(Decimal::from(0i64).round(i32::from(sql_type.decimals))),
        BaseType::Bit => Value::Bit(0, sql_type.length as u8),
        BaseType::Year => Value::Year(0),
        BaseType::Date => Value::Date(Date(0)),
        BaseType::Time => Value::Time(Time { micros: 0, fsp: sql_type.decimals }),
        BaseType::DateTime | BaseType::Timestamp => {
            Value::DateTime(DateTime { packed: 0, fsp: sql_type.decimals })
        }
        BaseType::Enum => Value::Enum(EnumValue { index: 1, labels: sql_type.labels.clone().unwrap_or_default() }),
        BaseType::Set => Value::Set(SetValue { bits: 0, labels: sql_type.labels.clone().unwrap_or_default() }),
        BaseType::Char if sql_type.collation.is_binary() => Value::Str(vec![0; sql_type.length as usize]),
        BaseType::Json => Value::Json(shoal_types::Json::from_tree(&shoal_types::json::JsonValue::Null)),
        BaseType::Char | BaseType::VarChar | BaseType::Text | BaseType::Geometry => Value::Str(Vec::new()),
        BaseType::Null => Value::Null,
    }
}

/// What ON UPDATE CURRENT_TIMESTAMP gives a column.
pub fn now_for(table: &Table, column: usize, eval: &EvalContext<'_>) -> Value {
    Value::DateTime(eval.now(table.schema.columns[column].sql_type.decimals))
}

/// Sets ON UPDATE CURRENT_TIMESTAMP columns.
pub fn set_now(table: &Table, columns: &[usize], values: &mut [Value], eval: &EvalContext<'_>) {
    for &column in columns {
        values[column] = now_for(table, column, eval);
    }
}

/// The same for the columns of a table that `assigned` leaves out.
pub fn touch_update_columns(table: &Table, assigned: &[usize], values: &mut [Value], eval: &EvalContext<'_>) {
    let columns = on_update_columns(table, assigned);
    set_now(table, &columns, values, eval);
}

pub fn on_update_columns(table: &Table, assigned: &[usize]) -> Vec<usize> {
    let schema = &table.schema;
    (0..schema.columns.len())
        .filter(|column| schema.columns[*column].on_update_now && !assigned.contains(column))
        .collect()
}
