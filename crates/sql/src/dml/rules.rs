//! What a table's definition says of its rows beyond types and keys: generated columns and CHECK constraints.
//!
//! Plans that write carry the rules of their table, resolved once; rows meet them when all of their columns have values. The values of
//! VIRTUAL columns are kept in rows like those of STORED ones, so that reading them and their indexes costs nothing more.

use std::sync::Arc;

use shoal_expr::{EvalContext, Expr, RowSource};
use shoal_txn::foreign_keys::ForeignKeys;
use shoal_types::{Error, ErrorCode, Result, TableSchema, Value, WarningLevel};

use super::multi_valued::stored_elements;
use super::row::RowBuilder;
use super::triggers::TableTriggers;

/// The rules of one table. Expressions are over its columns.
#[derive(Debug, Default)]
pub struct RowRules {
    /// Each behind those that it reads.
    pub generated: Vec<(usize, Expr)>,
    /// Those that are not enforced among them.
    pub checks: Vec<Check>,
    /// Columns whose DEFAULT reads other columns.
    pub reading_defaults: Vec<(usize, Expr)>,
    /// Foreign keys that writing the table can concern.
    pub foreign: Option<ForeignKeys>,
    /// What else is done when rows are written.
    pub triggers: Option<Arc<TableTriggers>>,
}

#[derive(Debug)]
pub struct Check {
    pub name: String,
    pub condition: Expr,
    pub enforced: bool,
    pub kind: CheckKind,
}

/// What a condition on rows comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckKind {
    Constraint,
    /// The WITH CHECK OPTION of the view with the check's name.
    ViewOption,
    /// PARTITION (...) of the statement.
    PartitionSet,
}

impl CheckKind {
    fn code(self) -> ErrorCode {
        match self {
            CheckKind::Constraint => ErrorCode::CheckConstraintViolated,
            CheckKind::ViewOption => ErrorCode::ViewCheckFailed,
            CheckKind::PartitionSet => ErrorCode::RowDoesNotMatchGivenPartitionSet,
        }
    }
}

impl RowRules {
    pub fn is_empty(&self) -> bool {
        self.generated.is_empty() && self.checks.is_empty()
    }

    /// Gives the generated columns of a row their values.
    pub fn complete(
        &self,
        values: &mut [Value],
        builder: &RowBuilder<'_>,
        row: u64,
        eval: &mut EvalContext<'_>,
    ) -> Result<()> {
        for (column, expression) in &self.generated {
            values[*column] = column_value(*column, expression, &*values, builder, row, eval)?;
        }
        Ok(())
    }

    /// Whether a complete row may be. Errors: 3819; with IGNORE that is a warning, and the row is left out.
    pub fn permit<R: RowSource + ?Sized>(
        &self,
        row: &R,
        ignore: bool,
        eval: &mut EvalContext<'_>,
    ) -> Result<bool> {
        for check in self.checks.iter().filter(|check| check.enforced) {
            // Of a CHECK, unknown is not false; a view does not show what is unknown.
            let outcome = check.condition.eval_bool(row, eval)?;
            if outcome == Some(false) || (check.kind == CheckKind::ViewOption && outcome.is_none()) {
                let error = violated(check);
                if !ignore {
                    return Err(error);
                }
                eval.warnings.push(WarningLevel::Warning, check.kind.code(), || error.message().to_owned());
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The value of an expression over a row as a column holds it.
pub fn column_value<R: RowSource + ?Sized>(
    column: usize,
    expression: &Expr,
    source: &R,
    builder: &RowBuilder<'_>,
    row: u64,
    eval: &mut EvalContext<'_>,
) -> Result<Value> {
    let value = expression.eval(source, eval)?;
    let schema = &builder.table.schema;
    if let Some(element) = &schema.columns[column].array_of {
        let is_bytes = expression.sql_type().is_binary_string();
        return stored_elements(schema, column, element, value, is_bytes, row, eval);
    }
    builder.convert(column, value, expression.sql_type().collation, row, eval)
}

fn violated(check: &Check) -> Error {
    let name = &check.name;
    let message = match check.kind {
        CheckKind::Constraint => format!("Check constraint '{name}' is violated."),
        CheckKind::ViewOption => format!("CHECK OPTION failed '{name}'"),
        CheckKind::PartitionSet => "Found a row not matching the given partition set".to_owned(),
    };
    Error::new(check.kind.code(), message)
}

/// Errors: 3105, a generated column is given a value.
pub fn refuse_value(schema: &TableSchema, column: usize) -> Result<()> {
    let definition = &schema.columns[column];
    if definition.generated.is_none() {
        return Ok(());
    }
    let message = format!(
        "The value specified for generated column '{}' in table '{}' is not allowed.",
        definition.name, schema.name
    );
    Err(Error::new(ErrorCode::NonDefaultValueForGeneratedColumn, message))
}
