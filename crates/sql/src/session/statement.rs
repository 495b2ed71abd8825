//! Statements that are not planned: each goes to the module that knows it.

use shoal_parser::ast::{self, Statement};
use shoal_types::{Error, ErrorCode, Result};

use super::Session;
use super::prepared::OutParameter;
use crate::account;
use crate::counters::Counter;
use crate::dml::Affected;
use crate::frontend::{ResultColumn, ResultSink, Summary};
use crate::program;
use crate::read_only;
use crate::statement_events::EventKind;

impl Session {
    /// Before a statement that changes rows, definitions or accounts. Errors: 1290.
    #[inline]
    pub fn check_writable(&self) -> Result<()> {
        match self.server.read_only.refuses(|| account::has_global(self, read_only::EXEMPT)) {
            true => Err(self.server.read_only.refusal()),
            false => Ok(()),
        }
    }

    /// A session whose password has expired changes that before anything else. Errors: 1820.
    #[inline]
    pub fn check_password(&self, statement: Option<&Statement>) -> Result<()> {
        match statement {
            _ if !self.must_change_password => Ok(()),
            Some(Statement::AlterUser(_) | Statement::SetPassword(_)) => Ok(()),
            _ => Err(account::expiry::must_change()),
        }
    }

    /// Counts a statement of an account that has limits. Errors: 1226.
    #[inline]
    pub fn count_of_account(&self, changes_something: bool) -> Result<()> {
        self.account_slot.as_ref().map_or(Ok(()), |slot| slot.count_statement(changes_something))
    }

    /// Runs a statement, or that of a prepared one, and sends its result.
    pub async fn run_statement<S: ResultSink>(
        &mut self,
        statement: &Statement,
        prepared: Option<u32>,
        more: bool,
        sink: &mut S,
    ) -> Result<()> {
        self.shared.interrupt.start_statement(0);
        self.note_audited(statement, prepared);
        self.note_kind(EventKind::of_statement(statement));
        self.stage("checking permissions");
        self.check_password(Some(statement))?;
        if !matches!(statement, Statement::Execute(_)) {
            self.count_of_account(changes_something(statement))?;
        }
        self.stage("executing");
        match statement {
            Statement::Show(show) => {
                self.count(Counter::ComShow);
                return crate::show::run(self, show, more, sink).await;
            }
            Statement::Describe(describe) => return crate::show::describe(self, describe, more, sink).await,
            Statement::Explain(explain) => {
                self.count(Counter::ComExplain);
                return crate::explain::run(self, explain, more, sink).await;
            }
            Statement::TableMaintenance(maintenance) => {
                return crate::show::maintenance(self, maintenance, more, sink).await;
            }
            Statement::Execute(execute) => return self.execute_named(execute, more, sink).await,
            Statement::Call(call) => {
                self.check_single_user()?;
                let affected = Box::pin(program::session_host::call(self, call, sink)).await?;
                if self.executed.is_none() {
                    self.send_out_parameters(sink)?;
                }
                return self.finish(affected, more, sink);
            }
            Statement::Handler(handler) => return Box::pin(crate::handler::run(self, handler, more, sink)).await,
            Statement::LoadData(load) => {
                self.count(Counter::ComLoad);
                self.check_single_user()?;
                self.check_writable()?;
                let affected = Box::pin(crate::dml::load::run(self, load, sink)).await?;
                return self.finish(affected, more, sink);
            }
            _ => {}
        }
        let affected = match statement {
            Statement::StartTransaction(_)
            | Statement::Commit(_)
            | Statement::Rollback(_)
            | Statement::Savepoint(_)
            | Statement::RollbackToSavepoint(_)
            | Statement::ReleaseSavepoint(_) => self.transaction_statement(statement).await?,
            Statement::Use(database) => {
                self.count(Counter::ComChangeDb);
                self.use_database(&database.value)?;
                self.clear_conditions();
                Affected::default()
            }
            Statement::Set(assignments) => {
                self.count(Counter::ComSetOption);
                self.clear_conditions();
                crate::variables::set::run(self, assignments).await?;
                Affected::default()
            }
            Statement::SetRole(roles) => {
                self.clear_conditions();
                account::role::set(self, roles)?;
                self.tracker.note_change();
                Affected::default()
            }
            Statement::SetTransaction(set) => {
                self.clear_conditions();
                crate::variables::set::transaction(self, set)?;
                Affected::default()
            }
            Statement::Signal(signal) => {
                Box::pin(self.run_signal(signal)).await?;
                Affected::default()
            }
            Statement::GetDiagnostics(get) => {
                // It tells of conditions only if it has raised one itself.
                let count = self.state.warning_count;
                Box::pin(self.run_get_diagnostics(get)).await?;
                let kept = self.state.warning_count;
                if kept == count {
                    self.state.warning_count = 0;
                }
                let sent = self.finish(Affected::default(), more, sink);
                self.state.warning_count = kept;
                return sent;
            }
            Statement::Do(expressions) => self.run_do(expressions).await?,
            Statement::Prepare(prepare) => self.prepare_named(prepare).await?,
            Statement::Deallocate(name) => self.deallocate(&name.value)?,
            Statement::Kill(kill) => self.run_kill(kill).await?,
            Statement::LockTables(_) | Statement::UnlockTables => self.lock_tables(statement).await?,
            Statement::Flush(_) => {
                self.clear_conditions();
                crate::show::flush(self, statement).await?;
                Affected::default()
            }
            Statement::AlterInstance(what) if what.starts_with("RELOAD TLS") => {
                self.clear_conditions();
                crate::account::require_global(self, crate::account::Privileges::RELOAD)?;
                self.server.reload_tls()?;
                Affected::default()
            }
            Statement::CreateUser(_)
            | Statement::AlterUser(_)
            | Statement::DropUser(_)
            | Statement::RenameUsers(_)
            | Statement::SetPassword(_)
            | Statement::CreateRole { .. }
            | Statement::DropRole(_)
            | Statement::SetDefaultRole { .. }
            | Statement::InstallComponents { .. }
            | Statement::UninstallComponents(_)
            | Statement::Grant(_)
            | Statement::Revoke(_) => {
                self.check_single_user()?;
                self.check_writable()?;
                self.commit().await?;
                self.check_may_change()?;
                self.clear_conditions();
                let rows = crate::account::run(self, statement).await?;
                if !rows.is_empty() {
                    return self.send_rows(&crate::account::random_password::columns(), &rows, more, sink);
                }
                Affected::default()
            }
            other => {
                crate::ddl::check_supported(other)?;
                self.check_single_user()?;
                // DDL ends the running transaction, whatever becomes of it, unless it says that it is about temporary tables.
                if !crate::ddl::is_about_temporary(other) {
                    if !crate::ddl::concerns_temporary_alone(self, other) {
                        self.check_writable()?;
                    }
                    self.commit().await?;
                }
                self.check_may_change()?;
                self.clear_conditions();
                Box::pin(crate::ddl::run(self, other)).await?
            }
        };
        self.stage("query end");
        self.finish(affected, more, sink)
    }

    /// What a procedure has given the parameters of a prepared CALL is a result of its own, before the last.
    fn send_out_parameters<S: ResultSink>(&mut self, sink: &mut S) -> Result<()> {
        let given = std::mem::take(&mut self.out_parameters);
        if given.is_empty() {
            return Ok(());
        }
        let column = |one: &OutParameter| ResultColumn {
            name: one.name.clone(),
            sql_type: one.sql_type.clone(),
            ..ResultColumn::default()
        };
        sink.columns(&given.iter().map(column).collect::<Vec<ResultColumn>>())?;
        sink.row(&given.into_iter().map(|one| one.value).collect::<Vec<shoal_types::Value>>())?;
        let summary = self.summary(0, 0, String::new(), true);
        sink.finish(&Summary { has_out_parameters: true, ..summary })
    }

    fn finish<S: ResultSink>(&mut self, affected: Affected, more: bool, sink: &mut S) -> Result<()> {
        self.state.row_count = affected.rows as i64;
        let summary = self.summary(affected.rows, affected.last_insert_id, affected.info, more);
        sink.finish(&summary)
    }

    /// A statement that can raise conditions begins: those of the last one are forgotten.
    pub fn clear_conditions(&mut self) {
        self.state.warnings.clear();
        self.state.signalled = None;
        self.state.warning_count = 0;
    }

    /// Adds a condition to SHOW WARNINGS.
    pub fn warn(&mut self, level: shoal_types::WarningLevel, code: ErrorCode, message: impl Into<String>) {
        self.state.warning_count += 1;
        if self.state.warnings.len() < self.variables.max_error_count {
            self.state.warnings.push(shoal_types::Warning { level, code, message: message.into() });
        }
    }

    async fn transaction_statement(&mut self, statement: &Statement) -> Result<Affected> {
        self.clear_conditions();
        match statement {
            Statement::StartTransaction(start) => {
                self.count(Counter::ComBegin);
                self.commit().await?;
                if start.read_only == Some(false) {
                    self.check_writable()?;
                }
                let started = self.start_in_words(start.read_only, start.consistent_snapshot);
                self.begin(start.read_only);
                self.tracker.begin(started);
                if start.consistent_snapshot {
                    self.transaction.settle_snapshot().await?;
                }
            }
            Statement::Commit(completion) => {
                self.count(Counter::ComCommit);
                self.commit().await?;
                self.complete(completion);
            }
            Statement::Rollback(completion) => {
                self.count(Counter::ComRollback);
                self.rollback();
                self.complete(completion);
            }
            Statement::Savepoint(name) => self.savepoint(&name.value)?,
            Statement::RollbackToSavepoint(name) => self.rollback_to_savepoint(&name.value)?,
            Statement::ReleaseSavepoint(name) => self.release_savepoint(&name.value)?,
            _ => {}
        }
        Ok(Affected::default())
    }

    /// AND CHAIN starts the next transaction; RELEASE ends the connection.
    fn complete(&mut self, completion: &ast::Completion) {
        if completion.chain == Some(true) {
            let read_only = self.read_only;
            let started = self.start_in_words(Some(read_only), false);
            self.begin(Some(read_only));
            self.tracker.begin(started);
        }
        if completion.release == Some(true) {
            self.shared.interrupt.connection.kill();
        }
    }

    /// USE.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        let catalog = self.server.node.catalog();
        crate::databases::check_exists(&catalog, name)?;
        crate::account::check_database(self, name)?;
        self.state.database = Some(name.to_owned());
        self.variables.collation_database =
            catalog.database(name).map_or(self.variables.collation_server, |database| database.collation);
        *self.shared.database.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(name.to_owned());
        self.tracker.note_schema();
        self.settings_changed();
        Ok(())
    }

    /// Evaluates expressions that stand alone (DO, SET, KILL).
    pub async fn evaluate(
        &mut self,
        expressions: &[ast::Expr],
    ) -> Result<Vec<(shoal_types::Value, shoal_types::SqlType)>> {
        let statement = Statement::Do(expressions.to_vec());
        let plan = match &self.inside {
            None => {
                let types = self.bound_types();
                self.make_plan(&statement, types.len(), Some(&types))?
            }
            Some(inside) => {
                let planner = self.planner();
                inside.slots.with_locals(&inside.scope, |locals| planner.make_plan_inside(&statement, locals))?
            }
        };
        let (super::plans::PlanKind::Select { query, .. } | super::plans::PlanKind::PointSelect { query, .. }) =
            &plan.kind
        else {
            return Ok(Vec::new());
        };
        crate::account::check_plan(&self.asking(), &plan)?;
        let has_tables = !plan.tables.is_empty();
        self.begin_statement(false, has_tables)?;
        let (inside, bound) = (self.inside.take(), std::mem::take(&mut self.bound));
        let values = inside.as_ref().map_or(&bound, |inside| &inside.values);
        let rows = self.collect(query, values).await;
        (self.inside, self.bound) = (inside, bound);
        if !self.explicit_transaction {
            self.commit_statement(has_tables).await?;
        }
        let row = rows?.into_iter().next().unwrap_or_default();
        Ok(row.into_iter().zip(query.columns.iter().map(|column| column.sql_type.clone())).collect())
    }

    async fn run_do(&mut self, expressions: &[ast::Expr]) -> Result<Affected> {
        self.evaluate(expressions).await?;
        Ok(Affected::default())
    }

    async fn run_kill(&mut self, kill: &ast::Kill) -> Result<Affected> {
        self.count(Counter::ComKill);
        let values = self.evaluate(std::slice::from_ref(&kill.id)).await?;
        let id =
            values.first().and_then(|(value, _)| u32::try_from(value.to_i64().value).ok()).unwrap_or(u32::MAX);
        self.kill_session(id, kill.query_only)?;
        Ok(Affected::default())
    }

    pub fn kill_session(&mut self, id: u32, query_only: bool) -> Result<()> {
        let Some(session) = self.server.session(id) else {
            return Err(Error::new(ErrorCode::NoSuchThread, format!("Unknown thread id: {id}")));
        };
        crate::account::check_kill(self, &session)?;
        if query_only {
            session.interrupt.kill_query();
        } else {
            session.interrupt.kill_connection();
        }
        self.shared.interrupt.check()
    }

    /// LOCK TABLES is accepted for tools that wrap their work in it (dumps): transactions isolate them already.
    async fn lock_tables(&mut self, statement: &Statement) -> Result<Affected> {
        self.clear_conditions();
        if matches!(statement, Statement::LockTables(_)) || self.tables_locked {
            self.commit().await?;
        }
        self.tables_locked = false;
        if let Statement::LockTables(locks) = statement {
            self.tables_locked = true;
            for lock in locks {
                let name = &lock.table;
                let database = match (&name.schema, &self.state.database) {
                    (Some(schema), _) => schema.value.clone(),
                    (None, Some(database)) => database.clone(),
                    (None, None) => return Err(Error::new(ErrorCode::NoDb, "No database selected")),
                };
                let (catalog, name_of) = (self.catalog(), &name.name.value);
                if catalog.table(&database, name_of).is_none() && catalog.view(&database, name_of).is_none() {
                    return Err(crate::databases::no_such_table(&database, &name.name.value));
                }
            }
        }
        Ok(Affected::default())
    }
}

/// Of statements that are not planned: whether they change rows, definitions or accounts. All that are not named here do.
fn changes_something(statement: &Statement) -> bool {
    !matches!(
        statement,
        Statement::Show(_)
            | Statement::Describe(_)
            | Statement::Explain(_)
            | Statement::TableMaintenance(_)
            | Statement::StartTransaction(_)
            | Statement::Commit(_)
            | Statement::Rollback(_)
            | Statement::Savepoint(_)
            | Statement::RollbackToSavepoint(_)
            | Statement::ReleaseSavepoint(_)
            | Statement::Use(_)
            | Statement::Set(_)
            | Statement::SetRole(_)
            | Statement::SetTransaction(_)
            | Statement::Do(_)
            | Statement::Prepare(_)
            | Statement::Execute(_)
            | Statement::Deallocate(_)
            | Statement::Kill(_)
            | Statement::LockTables(_)
            | Statement::UnlockTables
            | Statement::Flush(_)
            | Statement::Handler(_)
            | Statement::AlterInstance(_)
    )
}
