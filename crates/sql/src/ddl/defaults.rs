//! What columns take when nothing is said, as expressions.

use std::sync::Arc;

use shoal_cluster::{Sequence, Table};
use shoal_types::{ColumnDefault, Error, Result, TableSchema};

use crate::dml::DefaultValue;
use crate::dml::rules::RowRules;
use crate::resolve::Resolver;
use crate::resolve::scope::ScopeTable;
use crate::session::Session;

/// Checks the expressions of a new definition. Errors: what is wrong with them.
pub fn check(session: &Session, schema: &TableSchema) -> Result<RowRules> {
    let has_expression = |column: &shoal_types::Column| {
        column.generated.is_some() || matches!(column.default, ColumnDefault::Expression(_))
    };
    if !schema.checks.is_empty() || schema.columns.iter().any(has_expression) {
        let table = Arc::new(Table::new(schema.clone(), Arc::new(Sequence::new(1))));
        return resolve(session, &table).map(|(_, rules)| rules);
    }
    Ok(RowRules::default())
}

/// The defaults of all columns of a table, and its rules.
pub fn resolve(session: &Session, table: &Arc<Table>) -> Result<(Vec<DefaultValue>, RowRules)> {
    with_resolver(session, |resolver| {
        resolver.open_block();
        resolver.scope().add_table(ScopeTable::of_base(table, table.name()))?;
        let rules = resolver.row_rules(table)?;
        let defaults = resolver.defaults(table, &rules)?;
        let block = resolver.close_block();
        if !block.subqueries.is_empty() || !block.late_subqueries.is_empty() || !block.constants.is_empty() {
            return Err(Error::unsupported("subqueries in DEFAULT"));
        }
        Ok((defaults, rules))
    })
}

/// Resolves something of a definition as the session's statements are resolved.
pub fn with_resolver<T>(session: &Session, resolve: impl FnOnce(&mut Resolver<'_>) -> Result<T>) -> Result<T> {
    let planner = crate::session::StatementPlanner { lock_reads: false, ..session.planner() };
    let around = planner.surroundings();
    resolve(&mut Resolver::new(&planner.environment(&around, Some(&[]), None), 0))
}
