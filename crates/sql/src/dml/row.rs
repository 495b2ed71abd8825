//! Building rows: conversion into column types, defaults, NOT NULL, AUTO_INCREMENT.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use shoal_cluster::{Node, Table};
use shoal_expr::EvalContext;
use shoal_types::{
    BaseType, Collation, Error, ErrorCode, Result, SqlType, StoreOptions, StoreTarget, TemporalContext, Value,
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
    zero_means_next: bool,
    forced: Option<u64>,
    increment: u64,
    offset: u64,
    /// The value that was generated for the last row, if it got one.
    pub generated: Option<u64>,
    /// In a cluster: the values that this statement may still give out. Elsewhere the table's counter has them.
    numbers: Option<Numbers>,
    /// The greatest value that was given rather than generated.
    given: u64,
}

/// Session settings for generated values.
#[derive(Clone, Copy, Debug)]
pub struct AutoIncrementSettings {
    pub increment: u64,
    pub offset: u64,
    /// NO_AUTO_VALUE_ON_ZERO is off.
    pub zero_means_next: bool,
    /// SET insert_id: the value to generate first.
    pub forced: Option<u64>,
}

/// Values of a cluster's sequence for the rows to come. What is left of them goes back.
struct Numbers {
    left: Range<u64>,
    table: Arc<Table>,
}

impl Drop for Numbers {
    fn drop(&mut self) {
        self.table.next_auto_increment.give_back(self.left.clone());
    }
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
            zero_means_next: settings.zero_means_next,
            forced: settings.forced,
            increment: settings.increment.max(1),
            offset: settings.offset.max(1),
            generated: None,
            numbers: None,
            given: 0,
        }
    }

    /// Of a cluster's sequence: makes sure that `rows` rows can be numbered.
    pub async fn have_numbers(&mut self, node: &Node, table: &Arc<Table>, rows: usize) -> Result<()> {
        if !table.uses_sequence {
            return Ok(());
        }
        if let Some(Numbers { left, .. }) = &mut self.numbers {
            // Rows are numbered above what was given before them.
            left.start = left.start.max(self.given.saturating_add(1)).min(left.end);
            if left.end - left.start >= self.increment {
                return Ok(());
            }
        }
        self.numbers = None;
        // Values between those that increment and offset choose are taken as well.
        let count = self.increment.saturating_mul(rows as u64).saturating_add(self.increment - 1);
        self.numbers = Some(Numbers { left: node.take_numbers(table, count).await?, table: Arc::clone(table) });
        Ok(())
    }

    /// Of a cluster's sequence: what it must not generate any more.
    pub fn take_given(&mut self) -> u64 {
        std::mem::take(&mut self.given)
    }

    /// For rows that are there already.
    pub fn for_update(table: &'t Table, ignore: bool, eval: &EvalContext<'_>) -> RowBuilder<'t> {
        let settings = AutoIncrementSettings { increment: 1, offset: 1, zero_means_next: false, forced: None };
        RowBuilder { generates: false, ..RowBuilder::new(table, ignore, settings, eval) }
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
        if definition.nullable || (definition.auto_increment && self.generates) {
            return Ok(Value::Null);
        }
        let message = format!("Column '{}' cannot be null", definition.name);
        if self.null_is_default {
            eval.warnings.push(WarningLevel::Warning, ErrorCode::BadNull, || message);
            return Ok(implicit_default(&definition.sql_type));
        }
        Err(Error::new(ErrorCode::BadNull, message))
    }

    /// What a NOT NULL column without a default gets. Errors: 1364 in strict mode.
    pub fn missing(&self, column: usize, eval: &mut EvalContext<'_>) -> Result<Value> {
        let definition = &self.table.schema.columns[column];
        let message = format!("Field '{}' doesn't have a default value", definition.name);
        if definition.sql_type.base == BaseType::Enum {
            // The first member is an ENUM's default.
            return Ok(implicit_default(&definition.sql_type));
        }
        if self.strict {
            return Err(Error::new(ErrorCode::NoDefaultForField, message));
        }
        eval.warnings.push(WarningLevel::Warning, ErrorCode::NoDefaultForField, || message);
        Ok(implicit_default(&definition.sql_type))
    }

    /// Fills AUTO_INCREMENT and hidden key columns of a row that is otherwise complete.
    pub fn generate(&mut self, values: &mut [Value], node: &Node) -> Result<()> {
        let table = self.table;
        self.generated = None;
        let numbered = table.schema.auto_increment_column();
        if table.schema.has_hidden_key()
            && let Some(key) = values.last_mut()
        {
            // The sequence is the AUTO_INCREMENT column's, if there is one: its values follow each other without gaps.
            let id = if numbered.is_some() { node.next_row_id() } else { self.next_value(1, 1)? };
            *key = Value::UInt(id);
        }
        let Some(column) = numbered else { return Ok(()) };
        let given = match &values[column] {
            Value::Null => None,
            Value::Int(0) | Value::UInt(0) if self.zero_means_next => None,
            value => given_number(value).or(Some(0)),
        };
        match given {
            Some(number) => self.note_given(number),
            None => {
                let number = match self.forced.take() {
                    Some(number) => {
                        self.note_given(number);
                        number
                    }
                    None => self.next_value(self.increment, self.offset)?,
                };
                values[column] = fitting(number, &table.schema.columns[column].sql_type);
                self.generated = Some(number);
            }
        }
        Ok(())
    }

    /// The next value of the sequence that auto_increment_increment and auto_increment_offset describe.
    fn next_value(&mut self, increment: u64, offset: u64) -> Result<u64> {
        let next = |present: u64| {
            let above = present.max(offset) - offset;
            offset + above.div_ceil(increment) * increment
        };
        if let Some(Numbers { left: numbers, .. }) = &mut self.numbers {
            let value = next(numbers.start);
            if value >= numbers.end {
                return Err(Error::unknown("internal: a row's number was not reserved"));
            }
            numbers.start = value + 1;
            return Ok(value);
        }
        let counter = &self.table.next_auto_increment;
        if increment == 1 {
            return Ok(counter.fetch_add(1, Ordering::Relaxed));
        }
        let mut present = counter.load(Ordering::Relaxed);
        loop {
            let value = next(present);
            match counter.compare_exchange_weak(present, value + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(value),
                Err(changed) => present = changed,
            }
        }
    }

    /// Rows that come later are numbered above it.
    fn note_given(&mut self, number: u64) {
        self.table.next_auto_increment.note_given(number);
        self.given = self.given.max(number);
    }

    pub fn encode(&self, values: &[Value], eval: &EvalContext<'_>, out: &mut Vec<u8>) -> Result<()> {
        self.table.layout.encode(values, eval.zone, out)
    }
}

/// A value of an AUTO_INCREMENT column as its sequence counts.
fn given_number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::UInt(number) => Some(*number),
        Value::Double(number) => Some(*number as u64),
        Value::Float(number) => Some(*number as u64),
        _ => None,
    }
}

/// A generated number as the column's type.
fn fitting(number: u64, sql_type: &SqlType) -> Value {
    let limit = match (sql_type.base, sql_type.unsigned) {
        (BaseType::TinyInt, false) => i8::MAX as u64,
        (BaseType::TinyInt, true) => u64::from(u8::MAX),
        (BaseType::SmallInt, false) => i16::MAX as u64,
        (BaseType::SmallInt, true) => u64::from(u16::MAX),
        (BaseType::MediumInt, false) => (1 << 23) - 1,
        (BaseType::MediumInt, true) => (1 << 24) - 1,
        (BaseType::Int, false) => i32::MAX as u64,
        (BaseType::Int, true) => u64::from(u32::MAX),
        (BaseType::BigInt, true) => u64::MAX,
        (BaseType::Float, _) => return Value::Float(number as f32),
        (BaseType::Double, _) => return Value::Double(number as f64),
        _ => i64::MAX as u64,
    };
    // A sequence at its end yields the greatest value again, which is then a duplicate.
    let number = number.min(limit);
    if sql_type.unsigned { Value::UInt(number) } else { Value::Int(number as i64) }
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

/// "Duplicate entry '1-abc' for key 't.PRIMARY'" from the row that was to be written.
pub fn duplicate_entry(table: &Table, index: usize, row: &[u8]) -> Error {
    let row = table.layout.row(row);
    let definition = &table.schema.indexes[index];
    let mut text = String::new();
    for (position, part) in definition.columns.iter().enumerate() {
        if position > 0 {
            text.push('-');
        }
        let value = row.value(part.column, &shoal_types::TimeZone::UTC);
        text.push_str(&String::from_utf8_lossy(&value.to_text()));
    }
    text.truncate(text.char_indices().nth(64).map_or(text.len(), |(at, _)| at));
    let message = format!("Duplicate entry '{text}' for key '{}.{}'", table.schema.name, definition.name);
    Error::new(ErrorCode::DupEntry, message)
}
