//! Procedures that CALL runs: statements are those of the session, one after the other.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::{Catalog, Program};
use shoal_expr::{EvalContext, Warnings};
use shoal_parser::ast::{self, Statement};
use shoal_types::{DateRules, Error, ErrorCode, Result, StoreOptions, TemporalContext, Value, WarningLevel};

use super::cache::ProgramCache;
use super::call;
use super::caller::Caller;
use super::code::{Argument, CallStep};
use super::compile::outer_argument;
use super::frame::{Frame, Invocation};
use super::host::{Entered, Host, Inside, PlanVersion};
use super::machine;
use super::settings::ProgramSettings;
use super::sink::{Capture, Nowhere, ProgramSink};
use crate::account;
use crate::account::access::Access;
use crate::dml::Affected;
use crate::execute::consumer::Collect;
use crate::execute::memory::StatementMemory;
use crate::execute::{LocalFuture, boxed};
use crate::frontend::{ConnectInfo, Frontend, ResultSink};
use crate::resolve::Locals;
use crate::server::Server;
use crate::session::plans::{Plan, PlanKind};
use crate::session::prepared::OutParameter;
use crate::session::state::SessionState;
use crate::session::{Interrupt, Session};
use crate::shared_server::SharedServer;
use crate::variables::registry::Definition;

/// See the module.
pub struct SessionHost<'s, 'k> {
    pub session: &'s mut Session,
    pub sink: &'s mut ProgramSink<'k>,
    /// As `Caller::raised`.
    raised: Option<Warnings>,
}

impl<'s, 'k> SessionHost<'s, 'k> {
    fn new(session: &'s mut Session, sink: &'s mut ProgramSink<'k>) -> SessionHost<'s, 'k> {
        SessionHost { session, sink, raised: None }
    }
}

/// CALL outside programs.
pub async fn call<S: ResultSink>(session: &mut Session, call: &ast::Call, sink: &mut S) -> Result<Affected> {
    let arguments: Vec<Argument> = call.arguments.iter().map(outer_argument).collect();
    let mut sink = ProgramSink::new(sink);
    let (types, bound) = (session.bound_types(), std::mem::take(&mut session.bound));
    let mut host = SessionHost::new(session, &mut sink);
    // What a prepared statement's parameters have is what the variables of a program are.
    let compiled = call::outside(types);
    let mut frame = Frame::new(&compiled);
    frame.slots = bound;
    let step = CallStep { procedure: call.procedure.clone(), arguments, known: RefCell::default() };
    call::procedure(&step, (&compiled, &mut frame), &mut host).await?;
    session.bound = frame.slots;
    let rows = u64::try_from(session.state.row_count).unwrap_or(0);
    Ok(Affected { rows, ..Affected::default() })
}

/// Runs an event, with the privileges of its definer. What it selects goes nowhere.
pub async fn run_event(server: &Arc<Server>, event: &Arc<Program>) -> Result<()> {
    let id = SharedServer(Arc::clone(server)).next_connection_id();
    let (user, database) = (event.definer.0.clone(), Some(event.database.clone()));
    let info = ConnectInfo {
        collation: event.collation_connection,
        ..ConnectInfo::internal(id, user, "localhost".to_owned(), database)
    };
    let mut session = Session::open(Arc::clone(server), info)?;
    let mut nowhere = Nowhere;
    let mut sink = ProgramSink::new(&mut nowhere);
    let mut host = SessionHost::new(&mut session, &mut sink);
    let ran = call::event(event, &mut host).await;
    session.rollback();
    ran
}

/// How values become those of variables.
pub fn store_options(settings: &shoal_expr::Settings, zone: &shoal_types::TimeZone, now_us: i64) -> StoreOptions {
    let mode = &settings.sql_mode;
    let rules = DateRules {
        no_zero_date: mode.no_zero_date && mode.strict,
        no_zero_in_date: mode.no_zero_in_date && mode.strict,
        allow_invalid_dates: mode.allow_invalid_dates,
    };
    let today = zone.from_utc_micros(now_us, 6).date();
    let temporal = TemporalContext { rules, zone: zone.clone(), today };
    StoreOptions { strict: mode.strict, ignore: false, temporal }
}

/// The access of a program's definer, if it is another one. Errors: 1449.
pub fn access_of_definer(server: &Arc<Server>, program: &Program, present: &Rc<Access>) -> Result<Rc<Access>> {
    if program.is_invokers || program.definer == present.account {
        return Ok(Rc::clone(present));
    }
    if !server.node.catalog().users.contains_key(&program.definer) {
        let (user, host) = &program.definer;
        let message = format!("The user specified as a definer ('{user}'@'{host}') does not exist");
        return Err(Error::new(ErrorCode::NoSuchUser, message));
    }
    Ok(Rc::new(Access::at_login(server, program.definer.clone())))
}

/// Procedures that call each other are on the stack together: what runs a statement is made in a frame of its own, and is not.
#[inline(never)]
fn boxed_plan<'f, S: ResultSink>(
    session: &'f mut Session,
    plan: &'f Rc<Plan>,
    slots: &'f [Value],
    sink: &'f mut S,
) -> LocalFuture<'f, Result<()>> {
    boxed(|| session.run_plan(plan, slots, true, sink))
}

/// The same of a statement that is not planned.
#[inline(never)]
fn boxed_statement<'f>(
    session: &'f mut Session,
    statement: &'f Statement,
    sink: &'f mut ProgramSink<'_>,
) -> LocalFuture<'f, Result<()>> {
    boxed(|| session.run_statement(statement, None, true, sink))
}

impl Host for SessionHost<'_, '_> {
    fn state(&mut self) -> &mut SessionState {
        &mut self.session.state
    }

    fn interrupt(&self) -> &Interrupt {
        &self.session.shared.interrupt
    }

    fn is_inside_statement(&self) -> bool {
        false
    }

    fn memory(&self) -> &Rc<StatementMemory> {
        &self.session.memory
    }

    fn recursion_max(&self) -> u64 {
        self.session.variables.number("max_sp_recursion_depth")
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.session.server.node.catalog()
    }

    fn global_text(&self, definition: &'static Definition) -> String {
        self.session.server.global_text(definition.name)
    }

    #[inline]
    fn version(&self) -> PlanVersion {
        PlanVersion { catalog: self.session.catalog_version(), settings: self.session.settings_key() }
    }

    #[inline]
    fn settings(&self) -> u64 {
        self.session.settings_key()
    }

    fn make_plan(&mut self, statement: &Statement, locals: &Locals<'_>) -> Result<Plan> {
        self.session.planner().make_plan_inside(statement, locals)
    }

    #[inline]
    fn eval<'e>(&'e mut self, slots: &'e [Value], at_once: bool) -> EvalContext<'e> {
        let session = &mut *self.session;
        let variables = &session.variables;
        let now = match (at_once, variables.timestamp_micros) {
            (_, Some(now)) => now,
            (true, None) => 0,
            (false, None) => session.server.clock_micros(),
        };
        let mut eval = EvalContext::new(slots, &variables.time_zone, now, variables.settings);
        eval.warnings = Warnings::with_limit(variables.max_error_count);
        eval.session = Some(&mut session.state);
        eval
    }

    fn store_options(&mut self) -> StoreOptions {
        let variables = &self.session.variables;
        let now = variables.timestamp_micros.unwrap_or_else(|| self.session.server.clock_micros());
        store_options(&variables.settings, &variables.time_zone, now)
    }

    async fn begin_with_news(&mut self, used: &mut u64, error: Error) -> Result<()> {
        self.session.ask_for_news(used, error).await
    }

    async fn read_row(&mut self, plan: &Plan, slots: &[Value], values: &mut Vec<Value>) -> Result<Option<bool>> {
        match &plan.kind {
            PlanKind::PointSelect { point, .. } => self.session.read_row(plan, point, slots, values).await,
            _ => Ok(None),
        }
    }

    async fn rows(&mut self, plan: &Rc<Plan>, slots: &[Value], limit: Option<usize>) -> Result<Option<Collect>> {
        let mut capture = Capture::new(&self.session.memory, limit);
        self.session.runs_program = true;
        let outcome = boxed_plan(self.session, plan, slots, &mut capture).await;
        if !self.session.finish_or_retry(outcome).await? {
            return Ok(None);
        }
        Ok(Some(Collect { rows: capture.rows, limit: None, held: capture.held }))
    }

    async fn run(&mut self, plan: &Rc<Plan>, slots: &[Value]) -> Result<bool> {
        self.session.runs_program = true;
        let outcome = boxed_plan(self.session, plan, slots, self.sink).await;
        self.session.finish_or_retry(outcome).await
    }

    async fn other(&mut self, statement: &Statement, inside: Inside) -> (Result<()>, Vec<Value>) {
        self.session.runs_program = true;
        // What a prepared statement says has been said outside.
        let is_outside = matches!(statement, Statement::Execute(_) | Statement::Prepare(_));
        if is_outside {
            let done = boxed_statement(self.session, statement, self.sink).await;
            return (done, inside.values);
        }
        let bound = std::mem::take(&mut self.session.bound);
        let around = self.session.inside.replace(inside);
        let done = boxed_statement(self.session, statement, self.sink).await;
        self.session.bound = bound;
        let values = std::mem::replace(&mut self.session.inside, around).map(|inside| inside.values);
        (done, values.unwrap_or_default())
    }

    fn warn(&mut self, level: WarningLevel, code: ErrorCode, message: &str) {
        self.session.warn(level, code, message);
        if let Some(raised) = &mut self.raised {
            raised.push(level, code, || message.to_owned());
        }
    }

    fn note_out(&mut self, parameter: usize, name: &str, value: &Value, sql_type: &shoal_types::SqlType) {
        let (name, value, sql_type) = (name.to_owned(), value.clone(), sql_type.clone());
        self.session.out_parameters.push(OutParameter { parameter, name, value, sql_type });
    }

    fn check_may_execute(&mut self, program: &Program) -> Result<()> {
        account::check_execute(&self.session.asking(), program)
    }

    fn enter(&mut self, program: &Program, (wanted, key): (ProgramSettings, u64)) -> Result<Entered> {
        let session = &mut *self.session;
        let access = access_of_definer(&session.server, program, &session.state.access)?;
        let present = session.program_settings();
        session.set_program_settings(wanted);
        let inside_key = std::mem::replace(&mut session.inside_key, key);
        Ok(Entered {
            access: std::mem::replace(&mut session.state.access, access),
            database: session.state.enter_database(&program.database),
            settings: present,
            inside_key,
        })
    }

    fn leave(&mut self, entered: Entered) {
        let session = &mut *self.session;
        session.state.access = entered.access;
        if let Some(database) = entered.database {
            session.state.database = database;
        }
        session.inside_key = entered.inside_key;
        session.set_program_settings(entered.settings);
    }
}

impl Caller for SessionHost<'_, '_> {
    fn programs(&self) -> &Rc<ProgramCache> {
        &self.session.programs
    }

    fn raised(&mut self) -> &mut Option<Warnings> {
        &mut self.raised
    }

    fn conditions_max(&self) -> usize {
        self.session.variables.max_error_count
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
