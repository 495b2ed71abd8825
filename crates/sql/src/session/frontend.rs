//! The session as protocols use it.

use std::rc::Rc;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use shoal_types::{Charset, Collation, Result, Value};

use super::Session;
use super::logged::Ran;
use super::state::SessionState;
use super::tracking::Tracker;
use crate::account::expiry;
use crate::counters::Counter;
use crate::execute::memory::{Held, StatementMemory};
use crate::frontend::{ConnectInfo, FrontendSession, KillSignal, Prepared, ResultSink, Summary, ends_connection};
use crate::query_log::trace;
use crate::variables::SessionVariables;

/// Has so many bytes counted in `held`, which is there from the first of them on.
fn hold(held: &mut Option<Held>, memory: &Rc<StatementMemory>, bytes: usize) -> Result<()> {
    match held {
        None if bytes == 0 => Ok(()),
        held => held.get_or_insert_with(|| Held::new(memory)).set(bytes),
    }
}

impl FrontendSession for Session {
    async fn query<S: ResultSink>(&mut self, sql: &[u8], sink: &mut S) -> Result<()> {
        let ended = self.run_text(sql, sink).await;
        self.trace_attribute = None;
        ended
    }

    fn wanted_attribute(&self) -> Option<&'static str> {
        self.logs_traces().then_some(trace::ATTRIBUTE)
    }

    fn set_attribute(&mut self, value: Vec<u8>) {
        self.trace_attribute = Some(value);
    }

    fn hold_packet(&mut self, bytes: usize) -> Result<()> {
        hold(&mut self.packet_held, &self.memory, bytes)
    }

    fn hold_long_data(&mut self, bytes: usize) -> Result<()> {
        hold(&mut self.long_data_held, &self.memory, bytes)
    }

    async fn prepare(&mut self, sql: &[u8]) -> Result<Prepared> {
        self.count(Counter::ComStmtPrepare);
        self.clear_conditions();
        let began = Instant::now();
        let mut used = self.server.node.catalog_version();
        let prepared = loop {
            match self.prepare_text(sql) {
                Err(error) => match self.begin_with_news(&mut used, error).await {
                    Ok(()) => {}
                    Err(error) => break Err(error),
                },
                done => break done,
            }
        };
        match &prepared {
            Ok(prepared) => {
                self.show_prepared(prepared.statement_id, None, began);
                self.log_command("Prepare", &Ran::Prepared(prepared.statement_id, &[]));
            }
            Err(error) => self.fail(error),
        }
        prepared
    }

    async fn execute<S: ResultSink>(
        &mut self,
        statement_id: u32,
        parameters: &[Value],
        cursor: bool,
        sink: &mut S,
    ) -> Result<()> {
        self.count(Counter::Queries);
        self.count(Counter::Questions);
        self.count(Counter::ComStmtExecute);
        let began = {
            let text = self.statements.get(&statement_id).map_or(&b""[..], |prepared| &prepared.text);
            self.begin_activity("Execute", text)
        };
        self.begin_measuring();
        let ran = Ran::Prepared(statement_id, parameters);
        self.log_command("Execute", &ran);
        let outcome = match self.hold_values(parameters) {
            Ok(_held) => self.run_prepared(statement_id, parameters, cursor, false, sink).await,
            Err(error) => Err(error),
        };
        let ended = Instant::now();
        self.end_statement(began, ended, outcome.as_ref().err(), &ran, true);
        self.trace_attribute = None;
        if let Err(error) = outcome {
            self.fail(&error);
            sink.error(&error);
            if ends_connection(&error) {
                return Err(error);
            }
        }
        Ok(())
    }

    async fn fetch<S: ResultSink>(&mut self, statement_id: u32, rows: u32, sink: &mut S) -> Result<()> {
        if let Err(error) = self.fetch_rows(statement_id, rows, sink) {
            self.fail(&error);
            sink.error(&error);
        }
        Ok(())
    }

    fn reset_statement(&mut self, statement_id: u32) -> Result<()> {
        self.count(Counter::ComStmtReset);
        self.log_command("Reset stmt", &Ran::Prepared(statement_id, &[]));
        match self.statements.get_mut(&statement_id) {
            Some(prepared) => {
                prepared.cursor = None;
                Ok(())
            }
            None => Err(super::prepared::unknown_handler(statement_id)),
        }
    }

    fn close_statement(&mut self, statement_id: u32) {
        self.count(Counter::ComStmtClose);
        self.log_command("Close stmt", &Ran::Text(b""));
        self.statements.remove(&statement_id);
        self.hide_prepared(statement_id);
    }

    fn parameter_count(&self, statement_id: u32) -> Option<usize> {
        self.statements.get(&statement_id).map(|prepared| prepared.parameter_count)
    }

    async fn change_database(&mut self, database: &str) -> Result<()> {
        self.count(Counter::ComChangeDb);
        self.log_command("Init DB", &Ran::Text(database.as_bytes()));
        self.check_password(None)?;
        let mut used = self.server.node.catalog_version();
        loop {
            match self.use_database(database) {
                Err(error) => self.begin_with_news(&mut used, error).await?,
                done => return done,
            }
        }
    }

    async fn list_fields<S: ResultSink>(&mut self, table: &str, pattern: &str, sink: &mut S) -> Result<()> {
        self.log_command("Field List", &Ran::Text(format!("{table} {pattern}").as_bytes()));
        let columns = self.check_password(None).and_then(|()| crate::show::field_list(self, table, pattern));
        match columns {
            Ok(columns) => {
                sink.columns(&columns)?;
                let summary = self.summary(0, 0, String::new(), false);
                sink.finish(&summary)
            }
            Err(error) => {
                self.fail(&error);
                sink.error(&error);
                Ok(())
            }
        }
    }

    fn statistics(&self) -> String {
        let totals = self.server.totals();
        let uptime = self.server.uptime_s().max(1);
        let questions = totals[Counter::Questions as usize];
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: 0  Flush tables: 0  Open \
             tables: {}  Queries per second avg: {:.3}",
            self.server.all_sessions().len(),
            totals[Counter::SlowQueries as usize],
            self.server.node.catalog().tables_by_id.len(),
            questions as f64 / uptime as f64
        )
    }

    async fn kill(&mut self, connection_id: u32) -> Result<()> {
        self.count(Counter::ComKill);
        self.check_password(None)?;
        self.kill_session(connection_id, false)
    }

    fn set_multi_statements(&mut self, on: bool) {
        self.multi_statements = on;
    }

    fn note_command(&self, command: &'static str) {
        self.log_command(command, &Ran::Text(b""));
    }

    async fn reset(&mut self) -> Result<()> {
        self.rollback();
        self.forget_temporary_tables();
        self.statements.clear();
        self.hide_all_prepared();
        self.long_data_held = None;
        self.named_statements.clear();
        self.handlers.clear();
        self.variables = SessionVariables::for_connection(
            &self.server.globals.read().unwrap_or_else(PoisonError::into_inner),
            &self.info,
        );
        let (database, proxy_user) = (self.state.database.take(), self.state.proxy_user.take());
        self.state = SessionState::new(
            &self.info,
            self.state.access.account.clone(),
            &self.server,
            &self.memory,
            &self.shared.user_variables,
        );
        self.state.database = database;
        self.state.proxy_user = proxy_user;
        self.next_transaction = Default::default();
        self.tracker = Tracker::new(self.info.session_track, &self.variables);
        self.settings_changed();
        self.limit_memory()
    }

    async fn change_user(&mut self, info: ConnectInfo) -> Result<()> {
        let catalog = self.server.node.catalog();
        if let Some(database) = &info.database {
            crate::databases::check_exists(&catalog, database)?;
        }
        let account = crate::account::matching(&catalog, &info.user, &info.host);
        self.must_change_password = expiry::check_login(&self.server, &catalog, &account, &info)?;
        let (account, proxy_user) = crate::account::proxied::of_login(&self.server, &catalog, account);
        self.account_slot = None;
        self.account_slot = self.server.admit_account(&catalog, &account)?;
        self.info = info;
        self.reset().await?;
        let variables = &self.shared.user_variables;
        self.state = SessionState::new(&self.info, account, &self.server, &self.memory, variables);
        self.state.proxy_user = proxy_user;
        self.limit_memory()?;
        self.check_entrance()?;
        *self.shared.database.lock().unwrap_or_else(PoisonError::into_inner) = self.info.database.clone();
        self.log_login("Change user");
        Ok(())
    }

    fn status(&self) -> Summary {
        self.status_summary()
    }

    fn concluding_status(&mut self) -> Summary {
        Summary { tracked: self.tracked(), ..self.status_summary() }
    }

    fn kill_signal(&self) -> Arc<KillSignal> {
        Arc::clone(&self.shared.interrupt.connection)
    }

    fn may_hold_locks(&self) -> bool {
        self.transaction.id().is_some()
    }

    fn wait_timeout_s(&self) -> u64 {
        self.variables.wait_timeout_s
    }

    fn max_allowed_packet(&self) -> usize {
        self.variables.settings.max_allowed_packet
    }

    fn parameter_conversion(&self) -> Option<(Charset, Charset)> {
        crate::client_text::parameter_conversion(&self.variables.settings)
    }

    fn result_collation(&self) -> Option<Collation> {
        self.variables.character_set_results.map(Charset::default_collation)
    }

    async fn close(mut self) {
        self.rollback();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_logged_in {
            self.audit_connection("disconnect");
        }
        self.server.leave(&self.shared);
    }
}
