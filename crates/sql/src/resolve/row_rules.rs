//! The expressions of a table's definition: generated columns, CHECK constraints, defaults that read columns.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_expr::{Expr, Operation};
use shoal_parser::ast;
use shoal_txn::foreign_keys::foreign_keys_of;
use shoal_types::{CheckConstraint, ColumnDefault, Error, ErrorCode, Result, TableSchema};

use super::Resolver;
use super::scope::ScopeTable;
use crate::dml::rules::{Check, CheckKind, RowRules};
use crate::dml::triggers::TableTriggers;

/// Functions of the statement's clock, which a row's values may not depend on.
const CLOCK_FUNCTIONS: [&str; 7] =
    ["NOW", "CURDATE", "CURTIME", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "SYSDATE"];

/// What an expression of a definition belongs to; MySQL has words and numbers of its own for each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnerKind {
    Check,
    Column,
    /// A functional key part.
    Index,
}

/// What may be wrong with an expression of a definition, in the words of what it belongs to.
struct Owner<'a> {
    /// A CHECK's, a column's or an index's.
    name: &'a str,
    kind: OwnerKind,
}

impl<'a> Owner<'a> {
    /// The owner of a generated column's expression.
    fn of_column(schema: &'a TableSchema, position: usize) -> Owner<'a> {
        let column = &schema.columns[position];
        match column.is_functional() {
            true => Owner {
                name: schema.index_of_functional(position).map_or(&column.name, |index| &index.name),
                kind: OwnerKind::Index,
            },
            false => Owner { name: &column.name, kind: OwnerKind::Column },
        }
    }

    fn disallowed(&self, function: &str) -> Error {
        let function = function.to_lowercase();
        self.error(
            (ErrorCode::CheckConstraintNamedFunction, ErrorCode::GeneratedColumnNamedFunction),
            &format!("contains disallowed function: {function}."),
            &format!("contains a disallowed function: {function}."),
        )
    }

    fn no_subqueries(&self) -> Error {
        self.error(
            (ErrorCode::CheckConstraintFunction, ErrorCode::GeneratedColumnFunction),
            "contains disallowed function.",
            "contains a disallowed function.",
        )
    }

    fn no_variables(&self) -> Error {
        self.error(
            (ErrorCode::CheckConstraintVariables, ErrorCode::GeneratedColumnVariables),
            "cannot refer to a user or system variable.",
            "cannot refer user or system variables.",
        )
    }

    fn no_auto_increment(&self) -> Error {
        let name = self.name;
        match self.kind {
            OwnerKind::Check => {
                let message = format!("Check constraint '{name}' cannot refer to an auto-increment column.");
                Error::new(ErrorCode::CheckConstraintAutoIncrement, message)
            }
            OwnerKind::Column => {
                let message = format!("Generated column '{name}' cannot refer to auto-increment column.");
                Error::new(ErrorCode::GeneratedColumnAutoIncrement, message)
            }
            OwnerKind::Index => {
                let message = format!("Functional index '{name}' cannot refer to an auto-increment column.");
                Error::new(ErrorCode::FunctionalIndexAutoIncrement, message)
            }
        }
    }

    fn error(&self, (of_check, of_column): (ErrorCode, ErrorCode), check_says: &str, column_says: &str) -> Error {
        let name = self.name;
        match self.kind {
            OwnerKind::Check => {
                Error::new(of_check, format!("An expression of a check constraint '{name}' {check_says}"))
            }
            OwnerKind::Column => {
                Error::new(of_column, format!("Expression of generated column '{name}' {column_says}"))
            }
            OwnerKind::Index => {
                let message = format!("Expression of functional index '{name}' contains a disallowed function.");
                Error::new(ErrorCode::FunctionalIndexFunction, message)
            }
        }
    }
}

impl Resolver<'_> {
    /// The rules of a table that is written. Errors: what is wrong with its definition, in MySQL's words.
    pub fn row_rules(&mut self, table: &Arc<Table>) -> Result<RowRules> {
        let schema = &table.schema;
        let foreign = foreign_keys_of(self.environment.catalog, table);
        let triggers = self.triggers(table);
        let mut rules = RowRules { foreign, triggers, ..RowRules::default() };
        let reads = |column: &shoal_types::Column| {
            column.generated.is_some() || matches!(column.default, ColumnDefault::Expression(_))
        };
        if schema.checks.is_empty() && !schema.columns.iter().any(reads) {
            return Ok(rules);
        }
        let cacheable = !self.uncacheable;
        self.open_block();
        let resolved = self.scope().add_table(ScopeTable::of_base(table, table.name()));
        let resolved = resolved.and_then(|_| self.fill_rules(schema, &mut rules));
        let block = self.close_block();
        if cacheable {
            self.uncacheable = false;
        }
        resolved?;
        if !block.subqueries.is_empty() || !block.late_subqueries.is_empty() || !block.constants.is_empty() {
            return Err(Error::unsupported("subqueries in DEFAULT"));
        }
        Ok(rules)
    }

    pub fn triggers(&mut self, table: &Table) -> Option<Arc<TableTriggers>> {
        let triggers = TableTriggers::of(self.environment.catalog, table);
        self.calls_programs |= triggers.is_some();
        triggers
    }

    /// The expression of a functional key part of the index with this name, over the scope's only table. Errors: 1054, 3758.
    pub fn functional_part(&mut self, text: &str, index: &str) -> Result<Expr> {
        let owner = Owner { name: index, kind: OwnerKind::Index };
        self.rule_expression(text, &owner).map_err(|error| {
            if !error.is(ErrorCode::BadField) {
                return error;
            }
            let column = error.message().split('\'').nth(1).unwrap_or_default();
            Error::new(ErrorCode::BadField, format!("Unknown column '{column}' in 'functional index'"))
        })
    }

    fn fill_rules(&mut self, schema: &TableSchema, rules: &mut RowRules) -> Result<()> {
        for (position, column) in schema.columns.iter().enumerate() {
            if let Some((text, _)) = &column.generated {
                let owner = Owner::of_column(schema, position);
                let expression = self.rule_expression(text, &owner)?;
                check_generated(schema, position, &expression, &owner)?;
                rules.generated.push((position, expression));
            } else if matches!(column.default, ColumnDefault::Expression(_)) {
                let expression = self.column_default(schema, position)?;
                if !expression.columns_used().is_empty() {
                    rules.reading_defaults.push((position, expression));
                }
            }
        }
        for check in &schema.checks {
            let condition = self.check_condition(schema, check)?;
            rules.checks.push(Check {
                name: check.name.clone(),
                condition,
                enforced: check.enforced,
                kind: CheckKind::Constraint,
            });
        }
        Ok(())
    }

    /// Errors: 3812 to 3820.
    fn check_condition(&mut self, schema: &TableSchema, check: &CheckConstraint) -> Result<Expr> {
        let name = &check.name;
        let owner = Owner { name, kind: OwnerKind::Check };
        let condition = self.rule_expression(&check.expression, &owner)?;
        if condition.columns_used().iter().any(|&column| schema.columns[column].auto_increment) {
            return Err(owner.no_auto_increment());
        }
        let is_no_truth = match &condition {
            Expr::Column(_) => true,
            Expr::Call(call) => matches!(call.operation, Operation::Arithmetic { .. } | Operation::Negate(..)),
            _ => false,
        };
        if is_no_truth {
            let message = format!("An expression of non-boolean type specified to a check constraint '{name}'.");
            return Err(Error::new(ErrorCode::NonBooleanCheckConstraint, message));
        }
        Ok(condition)
    }

    fn rule_expression(&mut self, text: &str, owner: &Owner<'_>) -> Result<Expr> {
        let mut parsed = shoal_parser::parse_expression(text.as_bytes(), Default::default())
            .map_err(|error| Error::unknown(format!("the expression of '{}': {error}", owner.name)))?;
        if owner.kind == OwnerKind::Index {
            parsed = computed_by_part(parsed);
        }
        self.uncacheable = false;
        let variables = self.user_variables.len();
        let before = self.block().subquery_count();
        let expression = self.expression(&parsed).map_err(|error| match owner.kind {
            OwnerKind::Check => unknown_column(error, owner.name),
            OwnerKind::Column | OwnerKind::Index => error,
        })?;
        if self.uncacheable || self.user_variables.len() > variables {
            return Err(owner.no_variables());
        }
        if self.block().subquery_count() > before {
            return Err(owner.no_subqueries());
        }
        let mut disallowed = None;
        expression.walk(&mut |part| {
            if let Some(name) = disallowed_function(part) {
                disallowed = Some(name);
            }
        });
        disallowed.map_or(Ok(expression), |name| Err(owner.disallowed(name)))
    }
}

/// What a functional key part computes: of a multi-valued one the array, whose elements are made keys when it is stored.
pub(super) fn computed_by_part(parsed: ast::Expr) -> ast::Expr {
    match parsed {
        ast::Expr::Cast(cast) if cast.array => cast.operand,
        other => other,
    }
}

/// The name of a function whose value is not the row's alone.
fn disallowed_function(part: &Expr) -> Option<&'static str> {
    let Expr::Call(call) = part else { return None };
    let Operation::Function(function) = &call.operation else { return None };
    let reads_clock = CLOCK_FUNCTIONS.contains(&function.name)
        || (function.name == "UNIX_TIMESTAMP" && call.arguments.is_empty());
    (!call.operation.is_stable() || function.session || reads_clock).then_some(function.name)
}

/// A generated column reads generated columns before it, and no number that the server gives out. Errors: 3107, 3109, 3754.
fn check_generated(schema: &TableSchema, position: usize, expression: &Expr, owner: &Owner<'_>) -> Result<()> {
    for used in expression.columns_used() {
        if schema.columns[used].auto_increment {
            return Err(owner.no_auto_increment());
        }
        if used >= position && schema.columns[used].generated.is_some() {
            let message = "Generated column can refer only to generated columns defined prior to it.";
            return Err(Error::new(ErrorCode::GeneratedColumnNonPrior, message));
        }
    }
    Ok(())
}

/// Unknown column 'x' in '...' in the words of a CHECK.
fn unknown_column(error: Error, check: &str) -> Error {
    if !error.is(ErrorCode::BadField) {
        return error;
    }
    let column = error.message().split('\'').nth(1).unwrap_or_default();
    let message = format!("Check constraint '{check}' refers to non-existing column '{column}'.");
    Error::new(ErrorCode::CheckConstraintUnknownColumn, message)
}
