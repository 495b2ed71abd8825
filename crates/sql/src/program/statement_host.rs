//! Functions and triggers: they run inside a statement, with its transaction, and end with it.

use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::{Catalog, Program, Table};
use shoal_expr::{EvalContext, SessionValues, Settings, Warnings};
use shoal_parser::ast::{SetAssignment, Statement};
use shoal_txn::ReadMode;
use shoal_txn::new_row::AutoIncrementSettings;
use shoal_types::{Error, ErrorCode, Result, StoreOptions, Value, WarningLevel};

use super::cache::ProgramCache;
use super::caller::Caller;
use super::frame::Invocation;
use super::host::{Entered, Host, Inside, PlanVersion};
use super::machine;
use super::session_host::{access_of_definer, store_options};
use super::set_inside::{self, Effect};
use super::settings::ProgramSettings;
use crate::account::{self, Asking};
use crate::dml;
use crate::dml::insert::InsertSettings;
use crate::execute::consumer::Collect;
use crate::execute::memory::{Held, StatementMemory, row_bytes};
use crate::execute::{ExecContext, LocalFuture, boxed};
use crate::plan::QueryPlan;
use crate::resolve::Locals;
use crate::server::Server;
use crate::session::plans::{self, Plan, PlanKind};
use crate::session::point_read::guard_if_it_waits;
use crate::session::state::SessionState;
use crate::session::temporary::{self, TemporaryTables};
use crate::session::{Interrupt, StatementPlanner};
use crate::table_usage::{RowUse, ThreadTableUsage};
use crate::variables::SessionVariables;
use crate::variables::registry::Definition;

/// What of a session the programs in its statements need.
#[derive(Clone, Copy)]
pub struct StatementPrograms<'a> {
    pub server: &'a Arc<Server>,
    /// Where the client is.
    pub host: &'a str,
    pub variables: &'a SessionVariables,
    pub(crate) usage: &'a ThreadTableUsage,
    pub cache: &'a Rc<ProgramCache>,
    /// What the session lays over the dictionary.
    pub temporary: Option<&'a TemporaryTables>,
    pub lock_reads: bool,
    /// The transaction may not write.
    pub is_read_only: bool,
    /// The session's, when the statement began.
    pub settings_version: u64,
    /// Of the program that the statement stands in.
    pub inside_key: u64,
    /// Tables of the statements around, the innermost first.
    pub in_use: InUse<'a>,
}

/// Tables of a statement, and of those around it.
#[derive(Clone, Copy)]
pub struct InUse<'a> {
    pub tables: &'a [Arc<Table>],
    pub around: Option<&'a InUse<'a>>,
}

impl InUse<'_> {
    fn has(&self, table: &Table) -> bool {
        self.tables.iter().any(|used| used.id() == table.id())
            || self.around.is_some_and(|around| around.has(table))
    }
}

/// See the module.
pub struct StatementHost<'h, 'c> {
    programs: &'h StatementPrograms<'h>,
    ctx: &'h mut ExecContext<'c>,
    settings: Settings,
    present: ProgramSettings,
    inside_key: u64,
    /// As `Caller::raised`.
    raised: Option<Warnings>,
    /// A key that is made.
    key: Vec<u8>,
    /// The session's variables, if programs have set some, with what plans made of them depend on.
    set: Option<(Rc<SessionVariables>, u64)>,
}

impl<'h, 'c> StatementHost<'h, 'c> {
    pub fn new(programs: &'h StatementPrograms<'h>, ctx: &'h mut ExecContext<'c>) -> StatementHost<'h, 'c> {
        let variables = programs.variables;
        let settings = ctx.eval.settings;
        let present = ProgramSettings {
            modes: variables.sql_mode,
            character_set_client: settings.character_set_client,
            collation_connection: settings.collation_connection,
        };
        let mut host = StatementHost {
            programs,
            ctx,
            settings,
            present,
            inside_key: programs.inside_key,
            raised: None,
            key: Vec::new(),
            set: None,
        };
        host.follow_set();
        host
    }

    fn variables(&self) -> &SessionVariables {
        self.set.as_ref().map_or(self.programs.variables, |(variables, _)| variables)
    }

    /// Takes over what programs within the statement have set.
    fn follow_set(&mut self) {
        let Some(inside) = &self.state().set_inside else { return };
        let (variables, key) = (Rc::clone(&inside.variables), inside.key);
        if self.set.as_ref().is_none_or(|(_, known)| *known != key) {
            self.settings = variables.settings;
            self.set = Some((variables, key));
            self.set_settings(self.present);
        }
    }

    /// SET of system variables.
    async fn set_variables(&mut self, assignments: &[SetAssignment], inside: &Inside) -> Result<()> {
        for assignment in assignments {
            let variables = self.variables().clone();
            let set = set_inside::evaluate(assignment, inside, &variables, self).await?;
            match set_inside::apply(set, &variables, self.state().set_inside.as_deref())? {
                Effect::Program(settings) => {
                    // Until `leave`.
                    self.inside_key = self.inside_key.rotate_left(7)
                        ^ settings.key(self.state().database.as_deref().unwrap_or(""));
                    self.set_settings(settings);
                }
                Effect::Session(set) => {
                    self.state().set_inside = Some(Box::new(set));
                    self.follow_set();
                }
            }
        }
        Ok(())
    }

    fn set_key(&self) -> u64 {
        self.set.as_ref().map_or(0, |(_, key)| *key)
    }

    fn set_settings(&mut self, wanted: ProgramSettings) {
        if self.present == wanted {
            return;
        }
        self.present = wanted;
        self.settings.sql_mode = wanted.modes.for_evaluation();
        self.settings.character_set_client = wanted.character_set_client;
        self.settings.collation_connection = wanted.collation_connection;
    }

    fn check(&mut self, plan: &Plan) -> Result<()> {
        let programs = self.programs;
        let access = Rc::clone(&self.state().access);
        let asking = Asking { node: &programs.server.node, access: &access, host: programs.host };
        account::check_plan(&asking, plan)
    }

    /// Whatever a definition has overtaken is noticed here. `false`: the plan has to be made anew.
    async fn use_tables(&mut self, plan: &Plan) -> Result<bool> {
        for table in &plan.tables {
            let used = async {
                match plan.changes(table) {
                    true => self.ctx.transaction.use_table_to_write(table).await,
                    false => self.ctx.transaction.use_table(table).await,
                }
            };
            match self.ctx.interrupt.guard(used).await {
                Ok(()) => {}
                Err(error) if error.is(ErrorCode::TableDefChanged) && !self.ctx.transaction.has_snapshot() => {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Runs something with the program's variables as parameters and its settings.
    async fn nested<T>(
        &mut self,
        plan: &Plan,
        slots: &[Value],
        run: impl AsyncFnOnce(&mut ExecContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let settings = self.settings;
        let around = self.programs.in_use;
        let programs = StatementPrograms {
            in_use: InUse { tables: &plan.tables, around: Some(&around) },
            inside_key: self.inside_key,
            ..*self.programs
        };
        let inner_statement = self.ctx.transaction.begin_inner_statement();
        let set = self.set.clone();
        let outcome = self
            .ctx
            .with_parameters(slots, async |inner| {
                let mut inner = inner.inside_program(&programs, settings);
                if let Some((variables, _)) = &set {
                    inner.eval.zone = &variables.time_zone;
                    inner.checks_foreign_keys = variables.foreign_key_checks;
                }
                let outcome = run(&mut inner).await;
                Ok((outcome, std::mem::take(&mut inner.eval.warnings)))
            })
            .await;
        self.ctx.transaction.end_inner_statement(&inner_statement);
        let (outcome, warnings) = outcome?;
        let state = self.state();
        state.warnings.clear();
        state.warnings.extend_from_slice(warnings.list());
        state.warning_count = warnings.count();
        state.signalled = None;
        self.ctx.eval.warnings.append(warnings);
        self.follow_set();
        outcome
    }

    /// What runs a query, made in a frame of its own: see `session_host`.
    #[inline(never)]
    fn boxed_rows<'f>(
        &'f mut self,
        plan: &'f Plan,
        query: &'f QueryPlan,
        slots: &'f [Value],
        limit: Option<usize>,
    ) -> LocalFuture<'f, Result<Collect>> {
        boxed(|| {
            self.nested(plan, slots, async move |inner| {
                inner.eval.changes_data = false;
                inner.run_collect(query, limit).await
            })
        })
    }

    /// The same of what changes rows.
    #[inline(never)]
    fn boxed_change<'f>(
        &'f mut self,
        plan: &'f Plan,
        slots: &'f [Value],
        settings: InsertSettings,
    ) -> LocalFuture<'f, Result<dml::Affected>> {
        boxed(|| self.nested(plan, slots, async move |inner| dml::run::run(plan, settings, inner).await))
    }

    /// Errors: 1290, 1792.
    fn check_writable(&mut self) -> Result<()> {
        let programs = self.programs;
        if programs.is_read_only {
            let message = "Cannot execute statement in a READ ONLY transaction.";
            return Err(Error::new(ErrorCode::CantExecuteInReadOnlyTransaction, message));
        }
        let access = Rc::clone(&self.state().access);
        let asking = Asking { node: &programs.server.node, access: &access, host: programs.host };
        match programs.server.read_only.refuses(|| account::is_exempt_from_read_only(&asking)) {
            true => Err(programs.server.read_only.refusal()),
            false => Ok(()),
        }
    }

    /// Errors: 1442.
    fn check_targets(&self, plan: &Plan) -> Result<()> {
        for table in plan.changed_tables() {
            if self.programs.in_use.has(table) {
                let message = format!(
                    "Can't update table '{}' in stored function/trigger because it is already used by statement which \
                     invoked this stored function/trigger.",
                    table.schema.name
                );
                return Err(Error::new(ErrorCode::CantUpdateUsedTableInSfOrTrg, message));
            }
        }
        Ok(())
    }
}

impl Host for StatementHost<'_, '_> {
    fn state(&mut self) -> &mut SessionState {
        let session = self.ctx.eval.session.as_mut().and_then(|session| session.itself());
        session.and_then(|session| session.downcast_mut::<SessionState>()).expect("statements run in sessions")
    }

    fn interrupt(&self) -> &Interrupt {
        self.ctx.interrupt
    }

    fn is_inside_statement(&self) -> bool {
        true
    }

    fn memory(&self) -> &Rc<StatementMemory> {
        self.ctx.memory
    }

    fn recursion_max(&self) -> u64 {
        self.variables().number("max_sp_recursion_depth")
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.programs.server.node.catalog()
    }

    fn global_text(&self, definition: &'static Definition) -> String {
        self.programs.server.global_text(definition.name)
    }

    #[inline]
    fn version(&self) -> PlanVersion {
        let programs = self.programs;
        PlanVersion {
            catalog: temporary::catalog_version(&programs.server.node, programs.temporary),
            settings: self.settings(),
        }
    }

    #[inline]
    fn settings(&self) -> u64 {
        plans::settings_key(self.programs.settings_version, self.inside_key, self.programs.lock_reads)
            ^ self.set_key()
    }

    fn make_plan(&mut self, statement: &Statement, locals: &Locals<'_>) -> Result<Plan> {
        let settings = self.settings;
        let programs = self.programs;
        let variables = self.set.as_ref().map_or(programs.variables, |(variables, _)| variables);
        let session = self.ctx.eval.session.as_mut().and_then(|session| session.itself());
        let state = session
            .and_then(|session| session.downcast_ref::<SessionState>())
            .expect("statements run in sessions");
        let planner = StatementPlanner {
            server: programs.server,
            variables,
            state,
            transaction: &*self.ctx.transaction,
            usage: programs.usage,
            settings,
            lock_reads: programs.lock_reads,
            temporary: programs.temporary,
        };
        planner.make_plan_inside(statement, locals)
    }

    #[inline]
    fn eval<'e>(&'e mut self, slots: &'e [Value], _at_once: bool) -> EvalContext<'e> {
        let settings = self.settings;
        let limit = self.programs.variables.max_error_count;
        let outer = &mut self.ctx.eval;
        let zone = self.set.as_ref().map_or(outer.zone, |(variables, _)| &variables.time_zone);
        let mut eval = EvalContext::new(slots, zone, outer.now_micros, settings);
        eval.warnings = Warnings::with_limit(limit);
        eval.session = outer.session.as_mut().map(|session| &mut **session as &mut dyn SessionValues);
        eval
    }

    fn store_options(&mut self) -> StoreOptions {
        let zone = self.set.as_ref().map_or(self.ctx.eval.zone, |(variables, _)| &variables.time_zone);
        store_options(&self.settings, zone, self.ctx.eval.now_micros)
    }

    async fn begin_with_news(&mut self, _used: &mut u64, error: Error) -> Result<()> {
        Err(error)
    }

    async fn read_row(&mut self, plan: &Plan, slots: &[Value], values: &mut Vec<Value>) -> Result<Option<bool>> {
        let PlanKind::PointSelect { point, .. } = &plan.kind else { return Ok(None) };
        self.check(plan)?;
        if !self.use_tables(plan).await? {
            return Ok(None);
        }
        let mut key = std::mem::take(&mut self.key);
        if !point.key_into(slots, (self.ctx.eval.zone, self.settings), &mut key)? {
            self.key = key;
            return Ok(Some(false));
        }
        let inner_statement = self.ctx.transaction.begin_inner_statement();
        let (transaction, zone) = (&mut *self.ctx.transaction, self.ctx.eval.zone);
        let read = transaction.get(&point.table, &key, ReadMode::default(), |row| {
            row.map(|row| point.fill(row, zone, values)).is_some()
        });
        let found = guard_if_it_waits(self.ctx.interrupt, None, read).await;
        self.ctx.transaction.end_inner_statement(&inner_statement);
        self.key = key;
        self.ctx.handlers.read_key += 1;
        point.usage.add(Some(0), RowUse::Fetch, 1);
        if values.iter().any(|value| value.heap_bytes() > 0) {
            Held::new(self.ctx.memory).add(row_bytes(values))?;
        }
        found.map(Some)
    }

    async fn rows(&mut self, plan: &Rc<Plan>, slots: &[Value], limit: Option<usize>) -> Result<Option<Collect>> {
        let (PlanKind::PointSelect { query, .. } | PlanKind::Select { query, .. }) = &plan.kind else {
            return Err(Error::unsupported("this statement as a query"));
        };
        self.check(plan)?;
        if !self.use_tables(plan).await? {
            return Ok(None);
        }
        self.boxed_rows(plan, query, slots, limit).await.map(Some)
    }

    async fn run(&mut self, plan: &Rc<Plan>, slots: &[Value]) -> Result<bool> {
        if !plan.writes() {
            let message = "Not allowed to return a result set from a function";
            return Err(Error::new(ErrorCode::SpNoResultSet, message));
        }
        self.check_targets(plan)?;
        self.check(plan)?;
        if plan.writes_shared() {
            self.check_writable()?;
        }
        if !self.use_tables(plan).await? {
            return Ok(false);
        }
        let variables = self.variables();
        let settings = InsertSettings {
            found_rows: false,
            auto_increment: AutoIncrementSettings {
                increment: variables.auto_increment_increment,
                offset: variables.auto_increment_offset,
                zero_means_next: !self.present.modes.has("NO_AUTO_VALUE_ON_ZERO"),
                ..AutoIncrementSettings::default()
            },
        };
        let savepoint = self.ctx.transaction.savepoint();
        let outcome = self.boxed_change(plan, slots, settings).await;
        let affected = match outcome {
            Ok(affected) => affected,
            Err(error) => {
                if !error.rolls_back_transaction() {
                    self.ctx.transaction.rollback_to(&savepoint);
                }
                return Err(error);
            }
        };
        let server = self.programs.server;
        if server.node.cluster().is_some() {
            for table in plan.tables_numbered_by_hand() {
                server.node.report_numbers(table).await?;
            }
        }
        let state = self.state();
        state.row_count = affected.rows as i64;
        if let Some(generated) = affected.generated_id {
            state.last_insert_id = generated;
        }
        Ok(true)
    }

    async fn other(&mut self, statement: &Statement, inside: Inside) -> (Result<()>, Vec<Value>) {
        let outcome = match set_inside::assignments(statement) {
            Ok(assignments) => self.set_variables(assignments, &inside).await,
            Err(refusal) => Err(refusal),
        };
        (outcome, inside.values)
    }

    fn warn(&mut self, level: WarningLevel, code: ErrorCode, message: &str) {
        self.ctx.eval.warnings.push(level, code, || message.to_owned());
        if let Some(raised) = &mut self.raised {
            raised.push(level, code, || message.to_owned());
        }
        let limit = self.programs.variables.max_error_count;
        let state = self.state();
        state.warning_count += 1;
        if state.warnings.len() < limit {
            state.warnings.push(shoal_types::Warning { level, code, message: message.to_owned() });
        }
    }

    fn check_may_execute(&mut self, program: &Program) -> Result<()> {
        let programs = self.programs;
        let access = Rc::clone(&self.state().access);
        let asking = Asking { node: &programs.server.node, access: &access, host: programs.host };
        account::check_execute(&asking, program)
    }

    fn enter(&mut self, program: &Program, (wanted, key): (ProgramSettings, u64)) -> Result<Entered> {
        let server = self.programs.server;
        let settings = self.present;
        let state = self.state();
        let access = access_of_definer(server, program, &state.access)?;
        let access = std::mem::replace(&mut state.access, access);
        let database = state.enter_database(&program.database);
        self.set_settings(wanted);
        let inside_key = std::mem::replace(&mut self.inside_key, key);
        Ok(Entered { access, database, settings, inside_key })
    }

    fn leave(&mut self, entered: Entered) {
        let state = self.state();
        state.access = entered.access;
        if let Some(database) = entered.database {
            state.database = database;
        }
        self.inside_key = entered.inside_key;
        self.set_settings(entered.settings);
    }
}

impl Caller for StatementHost<'_, '_> {
    fn programs(&self) -> &Rc<ProgramCache> {
        self.programs.cache
    }

    fn raised(&mut self) -> &mut Option<Warnings> {
        &mut self.raised
    }

    fn conditions_max(&self) -> usize {
        self.programs.variables.max_error_count
    }

    fn advance(&mut self, invocation: &mut Invocation) -> Result<bool> {
        let Invocation { compiled, frame, .. } = invocation;
        machine::advance(compiled, frame, self)
    }

    #[inline(never)]
    fn finish<'f>(&'f mut self, invocation: &'f mut Invocation) -> LocalFuture<'f, Result<()>> {
        let Invocation { compiled, frame, .. } = invocation;
        boxed(|| machine::run(compiled, frame, self))
    }
}
