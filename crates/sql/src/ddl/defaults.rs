//! What columns take when nothing is said, as expressions.

use std::sync::Arc;

use shoal_cluster::{Sequence, Table};
use shoal_expr::BuildContext;
use shoal_types::{ColumnDefault, Error, Result, TableSchema};

use crate::dml::DefaultValue;
use crate::resolve::scope::ScopeTable;
use crate::resolve::{ResolveEnvironment, Resolver};
use crate::session::Session;
use crate::session::statistics::NodeStatistics;

/// Checks the default expressions of a new definition. Errors: what is wrong with them; 1235 for what they may not read.
pub fn check(session: &Session, schema: &TableSchema) -> Result<()> {
    if schema.columns.iter().any(|column| matches!(column.default, ColumnDefault::Expression(_))) {
        let table = Arc::new(Table::new(schema.clone(), Arc::new(Sequence::new(1))));
        resolve(session, &table)?;
    }
    Ok(())
}

/// The defaults of all columns of a table.
pub fn resolve(session: &Session, table: &Arc<Table>) -> Result<Vec<DefaultValue>> {
    let catalog = session.server.node.catalog();
    let variables = session.variable_reader();
    let statistics = NodeStatistics::of(session);
    let database = session.state.database.as_deref();
    let environment = ResolveEnvironment {
        catalog: &catalog,
        database,
        build: BuildContext { settings: session.variables.settings, database },
        parameter_types: Some(&[]),
        variables: &variables,
        only_full_group_by: session.variables.only_full_group_by,
        lock_reads: false,
        statistics: &statistics,
    };
    let mut resolver = Resolver::new(&environment, 0);
    resolver.open_block();
    resolver.scope().add_table(ScopeTable::of_base(table, table.name()))?;
    let mut defaults = Vec::with_capacity(table.schema.columns.len());
    for (position, column) in table.schema.columns.iter().enumerate() {
        defaults.push(if column.auto_increment || column.hidden {
            DefaultValue::AutoIncrement
        } else if column.default == ColumnDefault::None && !column.nullable {
            DefaultValue::Missing
        } else {
            let expression = resolver.column_default(&table.schema, position)?;
            if !expression.columns_used().is_empty() {
                return Err(Error::unsupported("DEFAULT expressions that read columns"));
            }
            DefaultValue::Expression(expression)
        });
    }
    let block = resolver.close_block();
    if !block.subqueries.is_empty() || !block.late_subqueries.is_empty() || !block.constants.is_empty() {
        return Err(Error::unsupported("subqueries in DEFAULT"));
    }
    Ok(defaults)
}
