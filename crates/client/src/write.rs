//! Rows and changes on their way to the cluster: values by column names become rows, keys and changes in place.

use std::sync::Arc;

use shoal_txn::new_row::{AtEnd, AutoIncrementSettings, Numbering, check_has_no_rules, duplicate_entry};
use shoal_txn::{Assignment, Inserted, Operand, RowChange};
use shoal_types::row::encode_column;
use shoal_types::{BaseType, Decimal, Error, ErrorCode, Result, TimeZone, Value};

use crate::filter::Filter;
use crate::table::{column, default_of, needs_sql, now, stored};

/// What becomes of a row: columns that are set, and columns that are counted up where the row lies, under its lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    sets: Vec<(String, Value)>,
    adds: Vec<(String, Value)>,
    condition: Option<Filter>,
}

impl Update {
    /// An update that changes nothing yet.
    pub fn new() -> Update {
        Update::default()
    }

    /// Sets a column to a value, which must be of its type and fit.
    pub fn set(mut self, column: &str, value: impl Into<Value>) -> Update {
        self.sets.push((column.to_owned(), value.into()));
        self
    }

    /// Adds a number, which may be negative; NULL stays NULL. Out of the column's range it is error 1264.
    pub fn add(mut self, column: &str, number: impl Into<Value>) -> Update {
        self.adds.push((column.to_owned(), number.into()));
        self
    }

    /// Only if the row fulfils the condition.
    pub fn only_if(mut self, condition: Filter) -> Update {
        self.condition = Some(condition);
        self
    }
}

/// An update for one table.
pub(crate) struct ResolvedUpdate {
    pub change: RowChange,
    /// A column of a unique index that is kept in a hidden table changes.
    pub concerns_unique: bool,
    /// A column of the primary key changes.
    pub moves: bool,
}

impl Update {
    pub(crate) fn resolve(&self, table: &shoal_cluster::Table) -> Result<ResolvedUpdate> {
        check_has_no_rules(table)?;
        let mut assignments = Vec::with_capacity(self.sets.len() + self.adds.len());
        for (name, value) in &self.sets {
            let column = column(table, name)?;
            let value = stored(table, column, value, 1)?;
            assignments.push(Assignment { column, operand: Operand::Set(raw(table, column, value)?) });
        }
        for (name, number) in &self.adds {
            let column = column(table, name)?;
            assignments.push(Assignment { column, operand: addend(table, column, number)? });
        }
        if assignments.is_empty() {
            return Err(Error::new(ErrorCode::WrongArguments, "An update sets or adds to no column"));
        }
        let given: Vec<usize> = assignments.iter().map(|one| one.column).collect();
        assignments.extend(stamps(table, &given)?);
        let is_assigned = |column: usize| assignments.iter().any(|one| one.column == column);
        let is_part =
            |index: usize| table.schema.indexes[index].columns.iter().any(|part| is_assigned(part.column));
        let condition = self.condition.as_ref().map(|condition| condition.resolve(table)).transpose()?;
        Ok(ResolvedUpdate {
            concerns_unique: table.global_unique.iter().any(|&index| is_part(index)),
            moves: is_part(0),
            change: RowChange { condition, assignments },
        })
    }
}

/// The present time for ON UPDATE columns that are not given. Errors: 1235, the table has generated columns.
pub(crate) fn stamps(table: &shoal_cluster::Table, given: &[usize]) -> Result<Vec<Assignment>> {
    let mut stamps = Vec::new();
    for (column, definition) in table.schema.columns.iter().enumerate() {
        if definition.generated.is_some() {
            return Err(needs_sql(table, &definition.name, "a generated value"));
        }
        if definition.on_update_now && !given.contains(&column) {
            let value = Value::DateTime(now(definition.sql_type.decimals));
            stamps.push(Assignment { column, operand: Operand::Set(raw(table, column, value)?) });
        }
    }
    Ok(stamps)
}

/// The stored bytes of a value that was converted; `None`: NULL.
fn raw(table: &shoal_cluster::Table, column: usize, value: Value) -> Result<Option<Vec<u8>>> {
    encode_column(&value, &table.schema.columns[column].sql_type, &TimeZone::UTC)
}

fn addend(table: &shoal_cluster::Table, column: usize, number: &Value) -> Result<Operand> {
    let definition = &table.schema.columns[column];
    let wrong = || {
        let message =
            format!("Column '{}' of table '{}' cannot be counted up by {number:?}", definition.name, table.name());
        Error::new(ErrorCode::WrongArguments, message)
    };
    let whole = match number {
        Value::Int(number) => Some(*number),
        Value::UInt(number) => i64::try_from(*number).ok(),
        _ => None,
    };
    let base = definition.sql_type.base;
    match (base, whole, number) {
        (
            BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt,
            Some(number),
            _,
        ) => Ok(Operand::AddInteger(number)),
        (BaseType::Float | BaseType::Double, Some(number), _) => Ok(Operand::AddDouble(number as f64)),
        (BaseType::Float | BaseType::Double, None, Value::Double(number)) => Ok(Operand::AddDouble(*number)),
        (BaseType::Decimal, Some(number), _) => Ok(Operand::AddDecimal(Decimal::from(number))),
        (BaseType::Decimal, None, Value::Decimal(number)) => Ok(Operand::AddDecimal(*number)),
        _ => Err(wrong()),
    }
}

/// How rows are numbered.
const NUMBERING: AutoIncrementSettings =
    AutoIncrementSettings { increment: 1, offset: 1, zero_means_next: true, forced: None, at_end: AtEnd::Refuse };

/// The columns for which rows are given, in the order of their values.
pub(crate) struct Columns {
    given: Vec<usize>,
    defaults: Vec<Value>,
}

impl Columns {
    /// `names` empty: all columns that can be named.
    pub fn of(table: &shoal_cluster::Table, names: &[&str]) -> Result<Columns> {
        let given = match names.is_empty() {
            true => table.schema.visible_columns().collect(),
            false => names.iter().map(|name| column(table, name)).collect::<Result<Vec<_>>>()?,
        };
        let mut defaults = Vec::with_capacity(table.schema.columns.len());
        for (column, definition) in table.schema.columns.iter().enumerate() {
            if definition.generated.is_some() {
                return Err(needs_sql(table, &definition.name, "a generated value"));
            }
            defaults.push(match given.contains(&column) {
                true => Value::Null,
                false => default_of(table, column)?,
            });
        }
        Ok(Columns { given, defaults })
    }

    /// All values of a row, before it is numbered.
    pub fn values(&self, table: &shoal_cluster::Table, row: &[Value], number: u64) -> Result<Vec<Value>> {
        if row.len() != self.given.len() {
            let message = format!("Column count doesn't match value count at row {number}");
            return Err(Error::new(ErrorCode::WrongValueCountOnRow, message));
        }
        let mut values = self.defaults.clone();
        for (&column, value) in self.given.iter().zip(row) {
            values[column] = stored(table, column, value, number)?;
        }
        Ok(values)
    }
}

/// The rows with numbers where they need one, encoded; with the first AUTO_INCREMENT value that was generated.
pub(crate) async fn rows_of(
    node: &shoal_cluster::Node,
    table: &Arc<shoal_cluster::Table>,
    columns: &Columns,
    rows: &[Vec<Value>],
) -> Result<(Vec<Vec<u8>>, Option<u64>)> {
    check_has_no_rules(table)?;
    let mut complete = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().enumerate() {
        complete.push(columns.values(table, row, number as u64 + 1)?);
    }
    let mut numbering = Numbering::new(table, NUMBERING);
    let mut wanting = complete.iter().filter(|row| numbering.wants_number(row)).count();
    let mut first_number = None;
    let mut encoded = Vec::with_capacity(rows.len());
    for mut row in complete {
        if numbering.wants_number(&row) {
            numbering.reserve(node, table, wanting).await?;
            wanting -= 1;
        }
        let number = numbering.fill(&mut row, node)?;
        first_number = first_number.or(number);
        let mut bytes = Vec::with_capacity(64);
        table.layout.encode(&row, &TimeZone::UTC, &mut bytes)?;
        encoded.push(bytes);
    }
    numbering.report_given(node).await?;
    Ok((encoded, first_number))
}

/// Error 1062, with the entry as MySQL shows it.
pub(crate) fn duplicate_error(table: &shoal_cluster::Table, inserted: &Inserted, row: &[u8]) -> Error {
    let index = match inserted {
        Inserted::Duplicate { index, .. } => *index,
        Inserted::Done => 0,
    };
    duplicate_entry(table, index, row)
}
