//! Triggers of a table that a statement changes.

use std::sync::Arc;

use shoal_cluster::{Catalog, Program, Table};
use shoal_types::{BaseType, Result, SqlType, Value};

use crate::execute::ExecContext;

/// What happens to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Insert,
    Update,
    Delete,
}

impl Event {
    fn word(self) -> &'static str {
        match self {
            Event::Insert => "INSERT",
            Event::Update => "UPDATE",
            Event::Delete => "DELETE",
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct TableTriggers {
    /// In the order in which they run.
    programs: Vec<Arc<Program>>,
    /// The columns of NEW and OLD.
    row: Arc<[(String, SqlType)]>,
    /// Their positions in the table.
    columns: Vec<usize>,
}

impl TableTriggers {
    /// Those of a table; `None`: it has none.
    pub fn of(catalog: &Catalog, table: &Table) -> Option<Arc<TableTriggers>> {
        let schema = &table.schema;
        let programs = catalog.triggers(&schema.database, &schema.name);
        // Those of the table that a temporary one hides are not its own.
        if programs.is_empty() || table.is_temporary {
            return None;
        }
        let (columns, row) = columns(table);
        Some(Arc::new(TableTriggers { programs: programs.to_vec(), row: row.into(), columns }))
    }

    fn those(&self, is_before: bool, event: Event) -> impl Iterator<Item = &Arc<Program>> {
        self.programs.iter().filter(move |program| {
            program
                .trigger
                .as_ref()
                .is_some_and(|place| place.is_before == is_before && place.event == event.word())
        })
    }

    pub fn has(&self, event: Event) -> bool {
        self.those(true, event).next().is_some() || self.those(false, event).next().is_some()
    }

    pub fn has_before(&self, event: Event) -> bool {
        self.those(true, event).next().is_some()
    }

    /// BEFORE triggers, which may change the new row. Rows are values of all columns of the table.
    pub async fn before(
        &self,
        event: Event,
        old: Option<&[Value]>,
        new: Option<&mut Vec<Value>>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<()> {
        let mut nothing = Vec::new();
        let (has_new, new) = match new {
            Some(new) => (true, new),
            None => (false, &mut nothing),
        };
        for program in self.those(true, event) {
            let slots = self.slots(has_new.then_some(&**new), old);
            let slots = self.run(program, slots, ctx).await?;
            if has_new {
                for (slot, &column) in slots.into_iter().zip(&self.columns) {
                    new[column] = slot;
                }
            }
        }
        Ok(())
    }

    /// AFTER triggers.
    pub async fn after(
        &self,
        event: Event,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<()> {
        for program in self.those(false, event) {
            self.run(program, self.slots(new, old), ctx).await?;
        }
        Ok(())
    }

    fn slots(&self, new: Option<&[Value]>, old: Option<&[Value]>) -> Vec<Value> {
        let rows = new.into_iter().chain(old);
        rows.flat_map(|row| self.columns.iter().map(|&column| row[column].clone())).collect()
    }

    async fn run(
        &self,
        program: &Arc<Program>,
        slots: Vec<Value>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<Vec<Value>> {
        ctx.programs.trigger(program, &self.row, slots, ctx).outcome().await
    }
}

/// The columns of NEW and OLD: their positions in the table, names and types.
pub fn columns(table: &Table) -> (Vec<usize>, Vec<(String, SqlType)>) {
    let shown = table.schema.columns.iter().enumerate().filter(|(_, column)| !column.hidden);
    shown.map(|(position, column)| (position, (column.name.clone(), column.sql_type.clone()))).unzip()
}

/// What NEW shows of a number that will be generated.
pub fn ungenerated(sql_type: &SqlType) -> Value {
    match sql_type.base {
        BaseType::Float => Value::Float(0.0),
        BaseType::Double => Value::Double(0.0),
        _ if sql_type.unsigned => Value::UInt(0),
        _ => Value::Int(0),
    }
}
