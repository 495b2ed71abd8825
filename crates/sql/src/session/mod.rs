//! Sessions: one client's state, and the walk of a statement from text to result.
//!
//! `query` and `execute` find or make a plan and hand it to `run`; statements that are not planned (DDL, SHOW, SET,
//! transactions) go to `statement`. A session belongs to one task; only `SessionShared` is seen by others.

mod audited;
mod diagnostics;
mod entrance;
mod events;
mod frontend;
pub mod handlers;
pub mod interrupt;
mod logged;
mod news;
mod planner;
pub mod plans;
pub mod point_read;
pub mod prepared;
mod profiling;
mod program;
pub mod run;
mod shared;
pub mod state;
pub mod statement;
pub mod statistics;
pub mod temporary;
#[cfg(test)]
mod tests;
pub mod tracking;
pub mod transaction;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use shoal_parser::ast::{self, Statement};
use shoal_parser::{Digester, LiteralToken, ParseError, ParseErrorKind, Parsed};
use shoal_txn::Transaction;
use shoal_types::{Error, ErrorCode, Outcome, Result, SqlType, Value};

use crate::account::compared::Compared;
use crate::account::expiry;
use crate::account::limits::AccountSlot;
use crate::client_text;
use crate::counters::{Counter, Counters};
use crate::digests::ThreadDigests;
use crate::dml::InsertSource;
use crate::execute::memory::{Held, StatementMemory};
use crate::frontend::{ConnectInfo, ResultSink, Summary, ends_connection};
use crate::profile::RunningProfile;
use crate::program::ProgramCache;
use crate::program::host::Inside;
use crate::server::Server;
use crate::statement_events::EventKind;
use crate::statement_times::{StatementKind, ThreadTimes};
use crate::syntax_error::syntax_error;
use crate::table_usage::ThreadTableUsage;
use crate::variables::SessionVariables;
pub use entrance::too_many_connections;
pub use interrupt::Interrupt;
use logged::Ran;
pub use planner::StatementPlanner;
use plans::{Plan, PlanCache, PlanKey, PreparedStatement, plan_bytes};
pub use shared::{Activity, SessionShared, ShownDefinition};
use state::SessionState;
use temporary::TemporaryTables;
use tracking::Tracker;

/// Bytes of a statement that the processlist keeps.
const ACTIVITY_TEXT_MAX: usize = 65_536;

/// How long a statement that has done nothing begins again because partitions have no leaders, and how soon.
const AGAIN_FOR: Duration = Duration::from_secs(10);
const AGAIN_AFTER: Duration = Duration::from_millis(10);

/// Texts and values of statements that are not counted.
const UNCOUNTED_TEXT_BYTES: usize = 64 << 10;
/// What becomes of a literal on its way to a row: a parameter, a value, an encoded row.
const COPIES_OF_VALUES: usize = 3;
/// What a literal takes besides its bytes, as a token and a parameter.
const LITERAL_BYTES: usize = size_of::<LiteralToken>() + size_of::<Value>();
/// Statements that are parsed on a thread of their own.
const LONG_TEXT_BYTES: usize = 256 << 10;
/// Rows of VALUES that are resolved, and freed, in turns.
const BULK_ROWS_MIN: usize = 1000;

/// One client's session.
pub struct Session {
    pub server: Arc<Server>,
    pub shared: Arc<SessionShared>,
    pub info: ConnectInfo,
    pub variables: SessionVariables,
    pub state: SessionState,
    pub transaction: Transaction,
    /// `None` before its first one. They go after the transaction that works in them.
    temporary: Option<Box<TemporaryTables>>,
    /// BEGIN was said, or autocommit is off and a statement has run.
    pub explicit_transaction: bool,
    /// The running transaction may not write: START TRANSACTION READ ONLY.
    pub read_only: bool,
    /// SET TRANSACTION without a scope: for the next transaction alone.
    pub next_transaction: transaction::NextTransaction,
    pub savepoints: Vec<(String, shoal_txn::Savepoint)>,
    pub statements: HashMap<u32, PreparedStatement, foldhash::fast::RandomState>,
    /// PREPARE name -> statement id.
    pub named_statements: HashMap<String, u32>,
    pub next_statement_id: u32,
    pub multi_statements: bool,
    /// LOCK TABLES was said: UNLOCK TABLES ends the transaction.
    pub tables_locked: bool,
    /// Of HANDLER ... OPEN.
    pub handlers: handlers::OpenHandlers,
    plans: PlanCache,
    digester: Digester,
    literals: Vec<LiteralToken>,
    parameters: Vec<Value>,
    key: Vec<u8>,
    /// The parameters of the running prepared statement, if it has some and is not planned.
    pub(crate) bound: Vec<Value>,
    /// What the running CALL has given its parameters.
    pub(crate) out_parameters: Vec<prepared::OutParameter>,
    /// The running statement has sent something, or is not the first of its transaction.
    is_past_beginning: bool,
    /// How long the running statement may begin again, if it has done so.
    again_until: Option<tokio::time::Instant>,
    /// Raised by everything that changes how statements resolve: settings that plans depend on.
    pub settings_version: u64,
    /// What was counted before the running statement.
    measured: logged::Shares,
    /// The traceparent that came beside the running statement.
    trace_attribute: Option<Vec<u8>>,
    /// The running statement is in the audit log by its class.
    audited: Option<audited::Audited>,
    /// Where this thread's sessions count how long statements take.
    times: Arc<ThreadTimes>,
    /// What its thread knows of digests.
    digests: Arc<ThreadDigests>,
    /// Where its thread counts uses of rows.
    pub(crate) table_usage: Arc<ThreadTableUsage>,
    /// Of the running statement's tokens; 0: not known.
    statement_hash: u128,
    /// Of the running statement.
    kind: StatementKind,
    /// Of the running statement.
    event_kind: EventKind,
    /// The prepared statement that the running EXECUTE names.
    executed: Option<u32>,
    /// The stages of the running statement, while `profiling` is on.
    profile: Option<Box<RunningProfile>>,
    /// Of the running statement.
    pub rows_sent: u64,
    /// What statements and cursors keep.
    pub memory: Rc<StatementMemory>,
    /// What the protocol server keeps of a large packet.
    packet_held: Option<Held>,
    /// What it keeps of parameters that came before their statement's execution.
    long_data_held: Option<Held>,
    /// What the client is told of changes.
    pub tracker: Tracker,
    /// Its place among the connections of an account that has limits.
    pub(crate) account_slot: Option<AccountSlot>,
    /// The password has expired: nothing else is done before there is another one.
    pub must_change_password: bool,
    /// The login was told to the logs.
    is_logged_in: bool,
    /// By a statement that changes passwords, while it runs.
    pub compared_passwords: Compared,
    /// Stored programs that it has compiled.
    pub programs: Rc<ProgramCache>,
    /// The variables of the stored program whose statement runs, if that has any use for them.
    pub inside: Option<Inside>,
    /// What the settings of the stored program that runs add to `settings_version`; 0: none runs.
    pub inside_key: u64,
    /// The running CALL has begun to run statements.
    pub runs_program: bool,
}

impl Session {
    /// Opens a session for an authenticated client. Errors: 1049, unknown database; 1862, 1203, 1226.
    pub fn open(server: Arc<Server>, mut info: ConnectInfo) -> Result<Session> {
        let catalog = server.node.catalog();
        if let Some(database) = &info.database {
            crate::databases::check_exists(&catalog, database)?;
        }
        let account = crate::account::matching(&catalog, &info.user, &info.host);
        let must_change_password = expiry::check_login(&server, &catalog, &account, &info)?;
        let (account, proxy_user) = crate::account::proxied::of_login(&server, &catalog, account);
        let account_slot = server.admit_account(&catalog, &account)?;
        let transaction = Transaction::new(Arc::clone(&server.node));
        let shared = Arc::new(SessionShared {
            id: info.connection_id,
            user: info.user.clone(),
            host: info.host.clone(),
            tls: info.tls.clone(),
            compression: info.compression,
            database: Mutex::new(info.database.clone()),
            interrupt: Interrupt::of(&server.node),
            counters: Counters::default(),
            activity: Mutex::new(Activity {
                command: "Sleep",
                since: Instant::now(),
                text: Vec::new(),
                state: "",
                statements: Default::default(),
                stages: Default::default(),
            }),
            transaction: transaction.shown(),
            began: AtomicI64::new(0),
            definitions: Mutex::default(),
            attributes: std::mem::take(&mut info.attributes),
            user_variables: Arc::default(),
            variables: Mutex::default(),
            profiles: Mutex::default(),
            os_thread: server.digests.of_this_thread().os_thread,
        });
        let variables = SessionVariables::for_connection(
            &server.globals.read().unwrap_or_else(PoisonError::into_inner),
            &info,
        );
        let budget = Arc::clone(server.node.memory_budget());
        let memory = StatementMemory::of_connection(Arc::clone(&budget), Arc::clone(&server.connections_memory));
        let mut state = SessionState::new(&info, account, &server, &memory, &shared.user_variables);
        state.proxy_user = proxy_user;
        shared.show_variables(&variables);
        let tracker = Tracker::new(info.session_track, &variables);
        server.enter(&shared);
        let times = server.statement_times.of_this_thread();
        let digests = server.digests.of_this_thread();
        let table_usage = server.table_usage.of_this_thread();
        let mut session = Session {
            multi_statements: info.multi_statements,
            tables_locked: false,
            handlers: Default::default(),
            server,
            shared,
            info,
            variables,
            state,
            transaction,
            temporary: None,
            explicit_transaction: false,
            read_only: false,
            next_transaction: Default::default(),
            savepoints: Vec::new(),
            statements: HashMap::default(),
            named_statements: HashMap::new(),
            next_statement_id: 1,
            plans: PlanCache::new(budget),
            digester: Digester::default(),
            literals: Vec::new(),
            parameters: Vec::new(),
            key: Vec::new(),
            bound: Vec::new(),
            out_parameters: Vec::new(),
            is_past_beginning: false,
            again_until: None,
            settings_version: 0,
            measured: Default::default(),
            trace_attribute: None,
            audited: None,
            times,
            digests,
            table_usage,
            statement_hash: 0,
            kind: StatementKind::Other,
            event_kind: EventKind::Other,
            executed: None,
            profile: None,
            rows_sent: 0,
            memory,
            packet_held: None,
            long_data_held: None,
            tracker,
            account_slot,
            must_change_password,
            is_logged_in: false,
            compared_passwords: Compared::default(),
            programs: Rc::default(),
            inside: None,
            inside_key: 0,
            runs_program: false,
        };
        session.limit_memory()?;
        session.check_entrance()?;
        session.is_logged_in = true;
        session.log_login("Connect");
        Ok(session)
    }

    pub fn count(&self, counter: Counter) {
        self.shared.counters.add(counter, 1);
    }

    /// When it began.
    fn begin_activity(&self, command: &'static str, text: &[u8]) -> Instant {
        self.transaction.note_turn();
        let now = Instant::now();
        let mut activity = self.shared.activity.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.interrupt.forget_kill();
        activity.command = command;
        activity.since = now;
        activity.state = "executing";
        activity.text.clear();
        activity.text.extend_from_slice(&text[..text.len().min(ACTIVITY_TEXT_MAX)]);
        now
    }

    /// Everything besides the dictionary that a plan depends on, as one number.
    pub fn settings_key(&self) -> u64 {
        plans::settings_key(self.settings_version, self.inside_key, self.locks_reads())
    }

    /// Plain SELECTs lock: SERIALIZABLE inside a transaction.
    fn locks_reads(&self) -> bool {
        self.variables.isolation == shoal_txn::Isolation::Serializable
            && (self.explicit_transaction || !self.variables.autocommit)
    }

    /// Runs every statement of a text.
    pub async fn run_text<S: ResultSink>(&mut self, sql: &[u8], sink: &mut S) -> Result<()> {
        // Some clients send the terminator of their string along.
        let sql = sql.strip_suffix(b"\0").unwrap_or(sql);
        let sql = &*client_text::for_parser(sql, &self.variables.settings);
        let mut began = self.begin_activity("Query", sql);
        let mut position = Some(0);
        while let Some(start) = position {
            self.begin_measuring();
            let outcome = self.run_with_news(sql, start, sink).await;
            let ended = Instant::now();
            let next = outcome.as_ref().ok().copied().flatten();
            let ran = Ran::Text(&sql[start..next.unwrap_or(sql.len())]);
            self.end_statement(began, ended, outcome.as_ref().err(), &ran, next.is_none());
            began = ended;
            match outcome {
                Ok(next) => position = next,
                Err(error) => {
                    self.fail(&error);
                    sink.error(&error);
                    if ends_connection(&error) {
                        return Err(error);
                    }
                    break;
                }
            }
        }
        Ok(())
    }

    /// Runs the statement at `start`, again if what it found missing is only news to this node; where the next one begins.
    async fn run_with_news<S: ResultSink>(
        &mut self,
        sql: &[u8],
        start: usize,
        sink: &mut S,
    ) -> Result<Option<usize>> {
        let mut used = self.server.node.catalog_version();
        loop {
            match self.run_one(sql, start, sink).await {
                Err(error) => self.begin_with_news(&mut used, error).await?,
                done => return done,
            }
        }
    }

    /// The same with what is known here.
    async fn run_one<S: ResultSink>(&mut self, sql: &[u8], start: usize, sink: &mut S) -> Result<Option<usize>> {
        self.count(Counter::Queries);
        self.count(Counter::Questions);
        self.again_until = None;
        self.runs_program = false;
        let mut literals = std::mem::take(&mut self.literals);
        let mode = self.variables.parser_mode;
        let digest = self.digester.digest(sql, start, mode, &mut literals);
        self.statement_hash = digest.hash;
        let _held = self.hold_text(sql.len() - start, digest.cacheable.then_some(literals.len()))?;
        let mut parameters = std::mem::take(&mut self.parameters);
        parameters.clear();
        let mut cacheable = digest.cacheable && (digest.next.is_none() || self.multi_statements);
        if cacheable {
            let values = literals.iter().map_while(|literal| run::literal_value(literal.value(sql, mode)));
            parameters.extend(values);
            cacheable = parameters.len() == literals.len();
            if client_text::string_charset(&self.variables.settings).is_some() {
                self.convert_strings(&mut parameters);
            }
        }
        self.literals = literals;
        if cacheable {
            let key = PlanKey { digest: digest.hash, settings: self.settings_key() };
            let outcome = self.run_cacheable(sql, start, key, &parameters, digest.next, sink).await;
            parameters.clear();
            self.parameters = parameters;
            if outcome? {
                return Ok(digest.next);
            }
        } else {
            self.parameters = parameters;
        }
        let parsed = match self.parse(sql, start).await? {
            Ok(parsed) => parsed,
            Err(error) if error.kind == ParseErrorKind::EmptyQuery && start > 0 => return Ok(None),
            Err(error) if error.kind == ParseErrorKind::EmptyQuery && has_comment(sql) => {
                self.clear_conditions();
                sink.finish(&self.summary(0, 0, String::new(), false))?;
                return Ok(None);
            }
            Err(error) => return Err(syntax_error(&error)),
        };
        if let Some(next) = parsed.next
            && !self.multi_statements
        {
            return Err(syntax_error(&shoal_parser::ParseError::new(ParseErrorKind::Syntax, sql, next)));
        }
        if parsed.parameter_count > 0 {
            return Err(syntax_error(&shoal_parser::ParseError::new(ParseErrorKind::Syntax, sql, parsed.start)));
        }
        let next = parsed.next;
        self.log_command("Query", &Ran::Text(&sql[start..next.unwrap_or(sql.len())]));
        let outcome = self.run_parsed(&parsed, next.is_some(), sink).await;
        if bulk_rows(&parsed.statement).is_some() {
            // Nobody waits for that.
            tokio::task::spawn_blocking(move || drop(parsed));
        }
        outcome.map(|()| next)
    }

    /// Counts what a long text becomes besides rows: parameters, so many of them, or a syntax tree and a plan.
    ///
    /// # Errors
    /// 1041: there is no memory for them.
    fn hold_text(&self, bytes: usize, parameters: Option<usize>) -> Result<Option<Held>> {
        self.memory.check()?;
        if bytes <= UNCOUNTED_TEXT_BYTES {
            return Ok(None);
        }
        let mut held = Held::new(&self.memory);
        held.add(match parameters {
            Some(count) => COPIES_OF_VALUES * bytes + count * LITERAL_BYTES,
            None => plan_bytes(bytes),
        })?;
        Ok(Some(held))
    }

    /// The same of a prepared statement's parameters.
    fn hold_values(&self, parameters: &[Value]) -> Result<Option<Held>> {
        self.hold_text(parameters.iter().map(Value::heap_bytes).sum(), Some(0))
    }

    fn convert_strings(&self, literals: &mut [Value]) {
        for literal in literals {
            if let Value::Str(text) = literal {
                *text = client_text::string(text, &self.variables.settings);
            }
        }
    }

    /// Runs a statement by a plan in which its literals are parameters; the plan comes from the cache, or is made and kept.
    /// `false`: this text cannot be served that way.
    async fn run_cacheable<S: ResultSink>(
        &mut self,
        sql: &[u8],
        start: usize,
        key: PlanKey,
        parameters: &[Value],
        next: Option<usize>,
        sink: &mut S,
    ) -> Result<bool> {
        let more = next.is_some();
        let text = &sql[start..next.unwrap_or(sql.len())];
        if let Some(plan) = self.plans.get(&key, self.catalog_version()).cloned() {
            if plan.wants_literals || !temporal_parameters_are_valid(&plan, parameters, &self.variables.time_zone)
            {
                return Ok(false);
            }
            self.count(Counter::PlanCacheHits);
            self.log_command("Query", &Ran::Text(text));
            let outcome = self.run_plan(&plan, parameters, more, sink).await;
            return self.finish_or_retry(outcome).await;
        }
        let Ok(parsed) = shoal_parser::parse_parameterised(sql, start, self.variables.parser_mode) else {
            return Ok(false);
        };
        if !parsed.rebindable || parsed.literal_count as usize != parameters.len() {
            return Ok(false);
        }
        let collation = self.variables.settings.collation_connection;
        let types: Vec<SqlType> =
            parameters.iter().map(|value| shoal_expr::build::parameter_type(value, collation)).collect();
        let Ok(plan) = self.make_plan(&parsed.statement, parameters.len(), Some(&types)) else { return Ok(false) };
        if !temporal_parameters_are_valid(&plan, parameters, &self.variables.time_zone) {
            return Ok(false);
        }
        self.count(Counter::PlanCacheMisses);
        let plan = Rc::new(plan);
        if plan.reusable {
            self.plans.put(key, Rc::clone(&plan), parameters.len(), sql.len() - start);
        }
        if plan.wants_literals {
            return Ok(false);
        }
        self.log_command("Query", &Ran::Text(text));
        let outcome = self.run_plan(&plan, parameters, more, sink).await;
        self.finish_or_retry(outcome).await
    }

    /// `Ok(false)` for a statement that has done and sent nothing and may begin again: a definition has overtaken its plan, or
    /// a partition has changed its leader. Not inside a transaction, where what earlier statements did may be lost, unless the
    /// statement has met the definition before it did anything.
    pub(crate) async fn finish_or_retry(&mut self, outcome: Result<()>) -> Result<bool> {
        match outcome {
            Err(error) if self.may_begin_again(&error) && self.has_time_to_begin_again() => {
                if !error.is(ErrorCode::TableDefChanged) {
                    tokio::time::sleep(AGAIN_AFTER).await;
                }
                if let Err(interrupted) = self.shared.interrupt.check() {
                    self.again_until = None;
                    return Err(interrupted);
                }
                Ok(false)
            }
            other => {
                self.again_until = None;
                other.map(|()| true)
            }
        }
    }

    fn has_time_to_begin_again(&mut self) -> bool {
        let now = tokio::time::Instant::now();
        now < *self.again_until.get_or_insert(now + AGAIN_FOR)
    }

    /// The running statement has been begun before: its time began then.
    fn begins_again(&self) -> bool {
        self.again_until.is_some()
    }

    fn may_begin_again(&self, error: &Error) -> bool {
        let passes = error.is(ErrorCode::TableDefChanged) || error.is(ErrorCode::GetTemporaryErrmsg);
        passes && error.outcome() != Outcome::Unknown && !self.is_past_beginning
    }

    async fn run_parsed<S: ResultSink>(&mut self, parsed: &Parsed, more: bool, sink: &mut S) -> Result<()> {
        self.note_kind(EventKind::of_statement(&parsed.statement));
        if plans::is_planned(&parsed.statement) {
            loop {
                let plan = Rc::new(match bulk_rows(&parsed.statement) {
                    Some((insert, rows)) => self.plan_bulk_insert(insert, rows).await?,
                    None => self.make_plan(&parsed.statement, 0, Some(&[]))?,
                });
                let outcome = self.run_plan(&plan, &[], more, sink).await;
                self.discard(plan).await;
                if self.finish_or_retry(outcome).await? {
                    return Ok(());
                }
            }
        }
        self.run_statement(&parsed.statement, None, more, sink).await
    }

    /// Resolves a planned statement with the session's settings.
    pub fn make_plan(
        &self,
        statement: &shoal_parser::ast::Statement,
        parameter_count: usize,
        types: Option<&[SqlType]>,
    ) -> Result<Plan> {
        self.planner().make_plan(statement, parameter_count, types)
    }

    pub fn planner(&self) -> StatementPlanner<'_> {
        StatementPlanner {
            server: &self.server,
            variables: &self.variables,
            state: &self.state,
            transaction: &self.transaction,
            usage: &self.table_usage,
            settings: self.variables.settings,
            lock_reads: self.locks_reads(),
            temporary: self.temporary.as_deref(),
        }
    }

    async fn plan_bulk_insert(&self, insert: &ast::Insert, rows: &[Vec<ast::Expr>]) -> Result<Plan> {
        self.shared.interrupt.start_statement(0);
        Box::pin(self.planner().make_bulk_insert(insert, rows, &self.shared.interrupt)).await
    }

    /// Frees a plan that is not kept. That of a bulk load has so many parts that others have their turns in between.
    async fn discard(&self, plan: Rc<Plan>) {
        let Ok(plan) = Rc::try_unwrap(plan) else { return };
        let plans::PlanKind::Insert(insert) = plan.kind else { return };
        let InsertSource::Values(mut rows) = insert.source else { return };
        while rows.len() > BULK_ROWS_MIN {
            rows.truncate(rows.len() - BULK_ROWS_MIN);
            self.shared.interrupt.give_way().await;
        }
    }

    /// Parses the statement at `start`: a long text on a thread of its own, so that other sessions do not wait for that.
    async fn parse(&self, sql: &[u8], start: usize) -> Result<std::result::Result<Parsed, ParseError>> {
        let mode = self.variables.parser_mode;
        if sql.len() - start < LONG_TEXT_BYTES {
            return Ok(shoal_parser::parse_first(sql, start, mode));
        }
        self.shared.interrupt.start_statement(0);
        let text = sql.to_vec();
        let parsing = tokio::task::spawn_blocking(move || shoal_parser::parse_first(&text, start, mode));
        let parsed = async { parsing.await.map_err(|_| Error::unknown("the parser ended early")) };
        self.shared.interrupt.guard(parsed).await
    }

    /// Forgets plans: settings that they depend on have changed.
    pub fn settings_changed(&mut self) {
        self.shared.show_variables(&self.variables);
        self.settings_version += 1;
        self.plans.clear();
    }

    /// A statement failed: its error is the only condition of SHOW WARNINGS.
    pub fn fail(&mut self, error: &Error) {
        self.server.error_counts.count(error.errno(), self.server.clock_micros());
        crate::diagnostics::set_error(&mut self.state, error);
    }

    /// The OK packet's contents after a statement.
    pub fn summary(&mut self, affected: u64, last_insert_id: u64, info: String, more: bool) -> Summary {
        Summary {
            affected_rows: affected,
            last_insert_id,
            warnings: u16::try_from(self.state.warning_count).unwrap_or(u16::MAX),
            info,
            more_results: more,
            tracked: self.tracked(),
            ..self.status_summary()
        }
    }

    /// A summary of nothing but the session's state.
    pub fn status_summary(&self) -> Summary {
        Summary {
            in_transaction: self.in_transaction(),
            in_read_only_transaction: self.explicit_transaction && self.read_only,
            autocommit: self.variables.autocommit,
            no_backslash_escapes: self.variables.settings.sql_mode.no_backslash_escapes,
            ..Summary::default()
        }
    }

    pub fn in_transaction(&self) -> bool {
        self.explicit_transaction
    }
}

/// The texts and numbers that the plan compares as dates are dates; else the statement is resolved as written, which words the error.
fn temporal_parameters_are_valid(plan: &Plan, parameters: &[Value], zone: &shoal_types::TimeZone) -> bool {
    if plan.temporal_parameters.is_empty() {
        return true;
    }
    let context = shoal_types::TemporalContext { zone: zone.clone(), ..Default::default() };
    plan.temporal_parameters.iter().all(|&index| match parameters.get(index) {
        Some(Value::Str(text)) => shoal_types::DateTime::parse(text, &context).value.is_some(),
        Some(number @ (Value::Int(_) | Value::UInt(_))) => number.to_datetime(&context).value.is_some(),
        _ => true,
    })
}

/// An INSERT of so many rows of VALUES that they are resolved in turns.
fn bulk_rows(statement: &Statement) -> Option<(&ast::Insert, &[Vec<ast::Expr>])> {
    let Statement::Insert(insert) = statement else { return None };
    match &insert.source {
        ast::InsertSource::Values(rows) if rows.len() >= BULK_ROWS_MIN => Some((insert, rows)),
        _ => None,
    }
}

/// A text without a statement that is more than blanks: it is a comment.
fn has_comment(sql: &[u8]) -> bool {
    sql.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b';')
}
