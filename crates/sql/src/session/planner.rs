//! From a statement to its plan, by the settings of a session.

use std::sync::Arc;

use shoal_cluster::Catalog;
use shoal_expr::{BuildContext, Settings};
use shoal_parser::ast::{self, Statement};
use shoal_txn::Transaction;
use shoal_types::{Result, SqlType};

use super::Interrupt;
use super::plans::{self, Plan};
use super::state::SessionState;
use super::statistics::NodeStatistics;
use super::temporary::{self, TemporaryTables};
use crate::resolve::{Locals, ResolveEnvironment};
use crate::server::Server;
use crate::table_usage::ThreadTableUsage;
use crate::variables::SessionVariables;
use crate::variables::read::VariableReader;

/// What of a session decides what its statements mean.
pub struct StatementPlanner<'a> {
    pub server: &'a Arc<Server>,
    pub variables: &'a SessionVariables,
    pub state: &'a SessionState,
    pub transaction: &'a Transaction,
    pub(crate) usage: &'a ThreadTableUsage,
    /// Those of the session, but for what a stored program brings along.
    pub settings: Settings,
    /// Plain SELECTs lock.
    pub lock_reads: bool,
    /// What the session lays over the dictionary.
    pub temporary: Option<&'a TemporaryTables>,
}

/// What it takes to resolve names, for one statement.
pub struct Surroundings<'a> {
    pub catalog: Arc<Catalog>,
    variables: VariableReader<'a>,
    statistics: NodeStatistics<'a>,
}

impl<'a> StatementPlanner<'a> {
    pub fn surroundings(&self) -> Surroundings<'a> {
        Surroundings {
            catalog: temporary::catalog(&self.server.node, self.temporary),
            variables: VariableReader { server: self.server, variables: self.variables, state: self.state },
            statistics: NodeStatistics::of(self.transaction, self.usage, &self.server.node),
        }
    }

    pub fn environment<'e>(
        &'e self,
        around: &'e Surroundings<'e>,
        parameter_types: Option<&'e [SqlType]>,
        locals: Option<&'e Locals<'e>>,
    ) -> ResolveEnvironment<'e> {
        let database = self.state.database.as_deref();
        ResolveEnvironment {
            catalog: &around.catalog,
            database,
            build: BuildContext { settings: self.settings, database },
            parameter_types,
            variables: &around.variables,
            only_full_group_by: self.variables.only_full_group_by,
            uses_invisible_indexes: self.variables.uses_invisible_indexes,
            lock_reads: self.lock_reads,
            statistics: &around.statistics,
            locals,
        }
    }

    /// Resolves a statement that reads or changes rows; `types` are those of its parameters, if they are known.
    pub fn make_plan(&self, statement: &Statement, parameters: usize, types: Option<&[SqlType]>) -> Result<Plan> {
        plans::make(statement, parameters, &self.environment(&self.surroundings(), types, None))
    }

    /// The same of a statement of a stored program, whose parameters are the slots of its variables.
    pub fn make_plan_inside(&self, statement: &Statement, locals: &Locals<'_>) -> Result<Plan> {
        let around = self.surroundings();
        let environment = self.environment(&around, Some(locals.types), Some(locals));
        plans::make(statement, locals.types.len(), &environment)
    }

    /// The same for an INSERT of many rows of VALUES; other sessions have their turns in between.
    pub async fn make_bulk_insert(
        &self,
        insert: &ast::Insert,
        rows: &[Vec<ast::Expr>],
        interrupt: &Interrupt,
    ) -> Result<Plan> {
        let around = self.surroundings();
        let environment = self.environment(&around, Some(&[]), None);
        plans::make_bulk_insert(insert, rows, &environment, interrupt).await
    }
}
