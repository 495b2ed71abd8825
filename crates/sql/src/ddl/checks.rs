//! The names of CHECK constraints, and what becomes of constraints and generated columns when columns go.

use shoal_cluster::Catalog;
use shoal_parser::ast;
use shoal_types::{CheckConstraint, Error, ErrorCode, Result, TableId, TableSchema};

use super::draft::{DraftCheck, DraftColumn, TableDraft};
use crate::dml::rules::RowRules;

/// A constraint as written. Without a name it gets one in [`name_new`].
pub fn of_table(check: &ast::Check) -> DraftCheck {
    let constraint = CheckConstraint {
        name: check.name.as_ref().map(|name| name.value.clone()).unwrap_or_default(),
        expression: check.expr.to_string(),
        enforced: check.enforced,
    };
    DraftCheck { constraint, column: None }
}

/// The constraints that are written at a column.
pub fn of_column(definition: &ast::ColumnDefinition) -> impl Iterator<Item = DraftCheck> {
    let column = &definition.name.value;
    definition.checks.iter().map(move |check| DraftCheck { column: Some(column.clone()), ..of_table(check) })
}

/// Errors: 3813, a constraint at a column reads another.
pub fn check_columns(schema: &TableSchema, rules: &RowRules, written: &[DraftCheck]) -> Result<()> {
    for (check, draft) in rules.checks.iter().zip(written) {
        let Some(column) = &draft.column else { continue };
        let is_other = |used: &usize| !schema.columns[*used].name.eq_ignore_ascii_case(column);
        if check.condition.columns_used().iter().any(is_other) {
            let message = format!("Column check constraint '{}' references other column.", check.name);
            return Err(Error::new(ErrorCode::ColumnCheckReferencesOtherColumn, message));
        }
    }
    Ok(())
}

/// The name that MySQL gives to the nth constraint of a table that has none.
pub fn made_up_name(table: &str, number: usize) -> String {
    format!("{table}_chk_{number}")
}

/// The number of a name that was made up for a table's constraint.
fn made_up_number(table: &str, name: &str) -> Option<usize> {
    name.strip_prefix(table)?.strip_prefix("_chk_")?.parse().ok()
}

/// Names what has no name, above all numbers that the table has already.
pub fn name_new(draft: &mut TableDraft) {
    let numbers = draft.checks.iter().filter_map(|check| made_up_number(&draft.name, &check.constraint.name));
    let mut last = numbers.max().unwrap_or(0);
    for check in draft.checks.iter_mut().filter(|check| check.constraint.name.is_empty()) {
        last += 1;
        check.constraint.name = made_up_name(&draft.name, last);
    }
}

/// Names that were made up follow their table's.
pub fn rename<'c>(checks: impl Iterator<Item = &'c mut CheckConstraint>, from: &str, to: &str) {
    for check in checks {
        if let Some(number) = made_up_number(from, &check.name) {
            check.name = made_up_name(to, number);
        }
    }
}

/// Errors: 3822, the database has a constraint of this name. `own`: the table that is altered.
pub fn check_names(
    catalog: &Catalog,
    database: &str,
    own: Option<TableId>,
    checks: &[CheckConstraint],
) -> Result<()> {
    let duplicate = |name: &str| {
        let message = format!("Duplicate check constraint name '{name}'.");
        Err(Error::new(ErrorCode::CheckConstraintDupName, message))
    };
    for (position, check) in checks.iter().enumerate() {
        if checks[..position].iter().any(|other| other.name.eq_ignore_ascii_case(&check.name)) {
            return duplicate(&check.name);
        }
    }
    if checks.is_empty() {
        return Ok(());
    }
    let Some(present) = catalog.database(database) else { return Ok(()) };
    for table in present.tables.values().filter(|table| Some(table.id()) != own) {
        for other in &table.schema.checks {
            if let Some(check) = checks.iter().find(|check| check.name.eq_ignore_ascii_case(&other.name)) {
                return duplicate(&check.name);
            }
        }
    }
    Ok(())
}

/// Constraints over a column that is dropped go with it if they read no other; nothing else that reads a column lets it be dropped or
/// renamed. Errors: 3108, 3837, 3959.
pub fn follow_columns(old: &TableSchema, rules: &RowRules, draft: &mut TableDraft) -> Result<()> {
    for (position, column) in old.columns.iter().enumerate().filter(|(_, column)| !column.hidden) {
        let present = draft.columns.iter().find(|draft| draft.origin == Some(position));
        let is_dropped = present.is_none();
        if present.is_some_and(|draft| draft.column.name == column.name) {
            continue;
        }
        let remains = |generated: usize| {
            let is_it = |draft: &&DraftColumn| draft.origin == Some(generated);
            draft
                .columns
                .iter()
                .find(is_it)
                .is_some_and(|draft| draft.column.generated == old.columns[generated].generated)
        };
        let mut dependent = rules.generated.iter().filter(|(_, value)| value.columns_used().contains(&position));
        if let Some((place, _)) = dependent.find(|(place, _)| remains(*place)) {
            if old.columns[*place].is_functional() {
                let message = format!(
                    "Column '{}' has a functional index dependency and cannot be dropped or renamed.",
                    column.name
                );
                return Err(Error::new(ErrorCode::DependentByFunctionalIndex, message));
            }
            let message = format!("Column '{}' has a generated column dependency.", column.name);
            return Err(Error::new(ErrorCode::DependentByGeneratedColumn, message));
        }
        for check in &rules.checks {
            let used = check.condition.columns_used();
            let Some(place) = draft.check_position(&check.name).filter(|_| used.contains(&position)) else {
                continue;
            };
            if is_dropped && used.len() == 1 {
                draft.checks.remove(place);
                continue;
            }
            let message = format!(
                "Check constraint '{}' uses column '{}', hence column cannot be dropped or renamed.",
                check.name, column.name
            );
            return Err(Error::new(ErrorCode::DependentByCheckConstraint, message));
        }
    }
    Ok(())
}
