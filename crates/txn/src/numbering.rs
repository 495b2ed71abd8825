//! Numbers for new rows: AUTO_INCREMENT columns and hidden keys.
//!
//! The process that is the whole database takes values from the table's counter. In a cluster a statement reserves values first, which may
//! ask another node; what it has not given out goes back when the statement ends. Values that were given rather than generated are noted,
//! so that later ones are greater, and are reported to the cluster before their rows are written.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use shoal_cluster::{Node, Table};
use shoal_types::{BaseType, Error, ErrorCode, Result, SqlType, Value};

/// What is said about generated values.
#[derive(Clone, Copy, Debug)]
pub struct AutoIncrementSettings {
    /// auto_increment_increment; 0 is taken as 1.
    pub increment: u64,
    /// auto_increment_offset; 0 is taken as 1.
    pub offset: u64,
    /// NO_AUTO_VALUE_ON_ZERO is off.
    pub zero_means_next: bool,
    /// SET insert_id: the value to generate first.
    pub forced: Option<u64>,
    /// What happens when the column's type has no further value.
    pub at_end: AtEnd,
}

impl Default for AutoIncrementSettings {
    /// MySQL's defaults.
    fn default() -> AutoIncrementSettings {
        AutoIncrementSettings {
            increment: 1,
            offset: 1,
            zero_means_next: true,
            forced: None,
            at_end: AtEnd::Repeat,
        }
    }
}

/// What becomes of a generated value for which the column's type has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// The greatest value comes again, and is a duplicate then: MySQL.
    Repeat,
    /// Error 1264.
    Refuse,
}

/// Numbers the rows that one statement inserts into a table.
pub struct Numbering<'t> {
    table: &'t Table,
    settings: AutoIncrementSettings,
    /// In a cluster: the values that this statement may still give out. Elsewhere the table's counter has them.
    reserved: Option<Reserved>,
    /// The greatest value that was given rather than generated.
    given: u64,
}

/// Values of a cluster's sequence for the rows to come. What is left of them goes back.
struct Reserved {
    left: Range<u64>,
    table: Arc<Table>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.table.next_auto_increment.give_back(self.left.clone());
    }
}

impl<'t> Numbering<'t> {
    /// For the rows of one statement.
    pub fn new(table: &'t Table, settings: AutoIncrementSettings) -> Numbering<'t> {
        let settings = AutoIncrementSettings {
            increment: settings.increment.max(1),
            offset: settings.offset.max(1),
            ..settings
        };
        Numbering { table, settings, reserved: None, given: 0 }
    }

    /// Whether a row that is otherwise complete gets a value of the sequence.
    pub fn wants_number(&self, values: &[Value]) -> bool {
        self.table.schema.auto_increment_column().is_some_and(|column| self.given(&values[column]).is_none())
    }

    /// In a cluster: makes sure that the next row can be numbered; `rows`: how many are likely to come. `table` is the one of [`Numbering::new`].
    pub async fn reserve(&mut self, node: &Node, table: &Arc<Table>, rows: usize) -> Result<()> {
        if !table.uses_sequence || node.cluster().is_none() {
            return Ok(());
        }
        let increment = self.settings.increment;
        if let Some(Reserved { left, .. }) = &mut self.reserved {
            // Rows are numbered above what was given before them.
            left.start = left.start.max(self.given.saturating_add(1)).min(left.end);
            if left.end - left.start >= increment {
                return Ok(());
            }
        }
        self.reserved = None;
        // Values between those that increment and offset choose are taken as well.
        let count = increment.saturating_mul(rows as u64).saturating_add(increment - 1);
        self.reserved = Some(Reserved { left: node.take_numbers(table, count).await?, table: Arc::clone(table) });
        Ok(())
    }

    /// Fills AUTO_INCREMENT and hidden key columns of a row that is otherwise complete. Yields the AUTO_INCREMENT value if it was generated.
    ///
    /// # Errors
    /// 1264, the column has no room for it ([`AtEnd::Refuse`]).
    pub fn fill(&mut self, values: &mut [Value], node: &Node) -> Result<Option<u64>> {
        let table = self.table;
        if table.schema.has_hidden_key()
            && let Some(key) = values.last_mut()
        {
            // Not of the sequence, so that rows of all nodes lie as they were inserted.
            *key = Value::UInt(node.next_row_id());
        }
        let Some(column) = table.schema.auto_increment_column() else { return Ok(None) };
        if let Some(number) = self.given(&values[column]) {
            self.note_given(number);
            return Ok(None);
        }
        let number = match self.settings.forced.take() {
            Some(number) => {
                self.note_given(number);
                number
            }
            None => self.next_value(self.settings.increment, self.settings.offset)?,
        };
        values[column] = generated_value(number, &table.schema.columns[column].sql_type, self.settings.at_end)?;
        Ok(Some(number))
    }

    /// To be called before rows are written: in a cluster no node generates any more what they have been given.
    pub async fn report_given(&mut self, node: &Node) -> Result<()> {
        let given = std::mem::take(&mut self.given);
        if given > 0 && node.cluster().is_some() {
            node.note_number(self.table, given).await?;
        }
        Ok(())
    }

    /// What a row gives its AUTO_INCREMENT column; `None`: a value is to be generated.
    fn given(&self, value: &Value) -> Option<u64> {
        match value {
            Value::Null => None,
            Value::Int(0) | Value::UInt(0) if self.settings.zero_means_next => None,
            value => given_number(value).or(Some(0)),
        }
    }

    /// The next value of the sequence that auto_increment_increment and auto_increment_offset describe.
    fn next_value(&mut self, increment: u64, offset: u64) -> Result<u64> {
        let next = |present: u64| {
            let above = present.max(offset) - offset;
            offset + above.div_ceil(increment) * increment
        };
        if let Some(Reserved { left: numbers, .. }) = &mut self.reserved {
            let value = next(numbers.start);
            if value >= numbers.end {
                return Err(Error::unknown("internal: a row's number was not reserved"));
            }
            numbers.start = value.saturating_add(increment).min(numbers.end);
            return Ok(value);
        }
        let counter = &self.table.next_auto_increment;
        if increment == 1 {
            return Ok(counter.fetch_add(1, Ordering::Relaxed));
        }
        let mut present = counter.load(Ordering::Relaxed);
        loop {
            let value = next(present);
            // As InnoDB counts: the next one is the next of this session's, whatever the next session counts by.
            let following = value.saturating_add(increment);
            match counter.compare_exchange_weak(present, following, Ordering::Relaxed, Ordering::Relaxed) {
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
}

/// A value of an AUTO_INCREMENT column as its sequence counts; `None`: it is none of the sequence's.
pub fn given_number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::UInt(number) => Some(*number),
        Value::Double(number) => Some(*number as u64),
        Value::Float(number) => Some(*number as u64),
        _ => None,
    }
}

/// A generated number as the column's type.
fn generated_value(number: u64, sql_type: &SqlType, at_end: AtEnd) -> Result<Value> {
    let greatest = match (sql_type.base, sql_type.unsigned) {
        (BaseType::TinyInt, false) => i8::MAX as u64,
        (BaseType::TinyInt, true) => u64::from(u8::MAX),
        (BaseType::SmallInt, false) => i16::MAX as u64,
        (BaseType::SmallInt, true) => u64::from(u16::MAX),
        (BaseType::MediumInt, false) => (1 << 23) - 1,
        (BaseType::MediumInt, true) => (1 << 24) - 1,
        (BaseType::Int, false) => i32::MAX as u64,
        (BaseType::Int, true) => u64::from(u32::MAX),
        (BaseType::BigInt, true) => u64::MAX,
        (BaseType::Float, _) => return Ok(Value::Float(number as f32)),
        (BaseType::Double, _) => return Ok(Value::Double(number as f64)),
        _ => i64::MAX as u64,
    };
    if number > greatest && at_end == AtEnd::Refuse {
        let message = format!("The column's type has no room for the next AUTO_INCREMENT value, {number}");
        return Err(Error::new(ErrorCode::WarnDataOutOfRange, message));
    }
    let number = number.min(greatest);
    Ok(if sql_type.unsigned { Value::UInt(number) } else { Value::Int(number as i64) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_value_beyond_its_type_is_the_greatest_one_or_refused() {
        let tiny = |unsigned| SqlType { unsigned, ..SqlType::new(BaseType::TinyInt) };
        assert_eq!(generated_value(127, &tiny(false), AtEnd::Refuse).unwrap(), Value::Int(127));
        assert_eq!(generated_value(128, &tiny(false), AtEnd::Repeat).unwrap(), Value::Int(127));
        assert_eq!(generated_value(128, &tiny(false), AtEnd::Refuse).unwrap_err().errno(), 1264);
        assert_eq!(generated_value(255, &tiny(true), AtEnd::Refuse).unwrap(), Value::UInt(255));
        let double = SqlType::new(BaseType::Double);
        assert_eq!(generated_value(u64::MAX, &double, AtEnd::Refuse).unwrap(), Value::Double(u64::MAX as f64));
    }
}
