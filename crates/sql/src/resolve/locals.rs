//! Names of a stored program: parameters, DECLAREd variables, columns of the row that a trigger runs for.
//!
//! Each has a slot among the parameters of the program's statements. A variable hides columns of the same name (manual, "Local
//! Variable Scope and Resolution").

use std::rc::Rc;

use shoal_expr::{Coercibility, Expr};
use shoal_types::{Error, ErrorCode, Result, SqlType};

use super::names::Wanted;

/// What is in sight at some place of a program.
#[derive(Clone, Copy, Debug)]
pub struct Locals<'a> {
    /// Names and slots, the innermost last.
    pub variables: &'a [(Rc<str>, usize)],
    /// NEW and OLD.
    pub rows: &'a [LocalRow],
    /// Of every slot of the program.
    pub types: &'a [SqlType],
}

/// NEW or OLD of a trigger.
#[derive(Clone, Debug)]
pub struct LocalRow {
    /// In upper case.
    pub name: &'static str,
    /// Slot of its first column.
    pub first: usize,
    /// Names of columns, in the order of their slots.
    pub columns: Rc<[String]>,
}

impl Locals<'_> {
    /// The slot of a variable.
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.variables.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, slot)| *slot)
    }

    /// The slot of a column of NEW or OLD; `None`: it is no such name. Errors: 1054, 1363.
    pub fn column(&self, row: &str, column: &str) -> Result<Option<usize>> {
        let is_row = |name: &str| name.eq_ignore_ascii_case(row);
        if self.rows.is_empty() || !["NEW", "OLD"].into_iter().any(is_row) {
            return Ok(None);
        }
        let Some(found) = self.rows.iter().find(|found| is_row(found.name)) else {
            let (row, event) = if is_row("NEW") { ("NEW", "DELETE") } else { ("OLD", "INSERT") };
            let message = format!("There is no {row} row in on {event} trigger");
            return Err(Error::new(ErrorCode::TrgNoSuchRow, message));
        };
        match found.columns.iter().position(|name| name.eq_ignore_ascii_case(column)) {
            Some(position) => Ok(Some(found.first + position)),
            None => {
                let message = format!("Unknown column '{column}' in '{}'", found.name);
                Err(Error::new(ErrorCode::BadField, message))
            }
        }
    }

    /// What a name means, as an expression; `None`: it is none of the program's.
    pub(super) fn find(&self, wanted: &Wanted<'_>) -> Result<Option<Expr>> {
        let slot = match (wanted.database, wanted.table) {
            (None, None) => self.slot(wanted.column),
            (None, Some(row)) => self.column(row, wanted.column)?,
            _ => None,
        };
        Ok(slot.map(|slot| {
            // As MySQL's messages have it: variables with their numbers, columns of a trigger's row with its name.
            let name = match self.rows.iter().rev().find(|row| slot >= row.first) {
                Some(row) if slot < row.first + row.columns.len() => {
                    format!("{}.{}", row.name, row.columns[slot - row.first])
                }
                Some(row) => format!("{}@{}", wanted.column, slot - row.first - row.columns.len()),
                None => format!("{}@{slot}", wanted.column),
            };
            let sql_type = self.types[slot].clone();
            let coercibility = if sql_type.is_string() { Coercibility::Implicit } else { Coercibility::Numeric };
            Expr::parameter(slot, sql_type, true, coercibility).called(&name)
        }))
    }
}
