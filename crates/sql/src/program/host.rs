//! What a running program asks of the world around it.

use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::{Catalog, Program};
use shoal_expr::EvalContext;
use shoal_parser::ast::Statement;
use shoal_types::{Error, ErrorCode, Result, SqlType, StoreOptions, Value, WarningLevel};

use super::scope::{Scope, Slots};
use super::settings::ProgramSettings;
use crate::account::access::Access;
use crate::execute::consumer::Collect;
use crate::execute::memory::StatementMemory;
use crate::resolve::Locals;
use crate::session::Interrupt;
use crate::session::plans::Plan;
use crate::session::state::SessionState;
use crate::variables::registry::Definition;

/// What plans of a program's statements depend on: they are made anew when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanVersion {
    /// Version of the dictionary.
    pub catalog: u64,
    /// Of the session's settings and those that the program brings along.
    pub settings: u64,
}

/// The variables of a program, where something that is no part of it has to know them.
pub struct Inside {
    pub slots: Rc<Slots>,
    pub scope: Scope,
    pub values: Vec<Value>,
}

/// What `leave` puts back.
pub struct Entered {
    pub access: Rc<Access>,
    /// `None`: it is the same one.
    pub database: Option<Option<String>>,
    pub settings: ProgramSettings,
    pub inside_key: u64,
}

/// See the module.
#[allow(async_fn_in_trait)]
pub trait Host {
    fn state(&mut self) -> &mut SessionState;
    fn interrupt(&self) -> &Interrupt;
    /// A statement has begun, in which functions run, whatever they do. Otherwise only those do that need none.
    fn is_inside_statement(&self) -> bool;
    fn memory(&self) -> &Rc<StatementMemory>;
    /// max_sp_recursion_depth.
    fn recursion_max(&self) -> u64;
    fn catalog(&self) -> Arc<Catalog>;
    /// What SET ... = DEFAULT gives a session's variable.
    fn global_text(&self, definition: &'static Definition) -> String;
    fn version(&self) -> PlanVersion;
    /// The settings of that.
    fn settings(&self) -> u64;
    fn make_plan(&mut self, statement: &Statement, locals: &Locals<'_>) -> Result<Plan>;
    /// For expressions that read nothing but variables. `at_once`: they do not ask what time it is.
    fn eval<'e>(&'e mut self, slots: &'e [Value], at_once: bool) -> EvalContext<'e>;
    /// How values become those of variables.
    fn store_options(&mut self) -> StoreOptions;
    /// After a failure of something that has done nothing: `Ok` if it may begin again, with what is news here.
    async fn begin_with_news(&mut self, used: &mut u64, error: Error) -> Result<()>;
    /// The row that a query names by its primary key: whether there is one, and its columns. `None`: nothing was done, and it is to be run as
    /// any query.
    async fn read_row(&mut self, plan: &Plan, slots: &[Value], values: &mut Vec<Value>) -> Result<Option<bool>>;
    /// The rows of a query, at most `limit` of them; `None`: nothing was done, and it has to be planned anew.
    async fn rows(&mut self, plan: &Rc<Plan>, slots: &[Value], limit: Option<usize>) -> Result<Option<Collect>>;
    /// Runs a plan; `false`: as `None` of `rows`. Rows go to the client. Errors: 1415, there is none.
    async fn run(&mut self, plan: &Rc<Plan>, slots: &[Value]) -> Result<bool>;
    /// Runs any other statement; the variables come back.
    async fn other(&mut self, statement: &Statement, inside: Inside) -> (Result<()>, Vec<Value>);
    /// Adds a condition to the running statement's.
    fn warn(&mut self, level: WarningLevel, code: ErrorCode, message: &str);
    /// A parameter of a prepared CALL has been given a value.
    fn note_out(&mut self, _parameter: usize, _name: &str, _value: &Value, _sql_type: &SqlType) {}
    /// Errors: 1370.
    fn check_may_execute(&mut self, program: &Program) -> Result<()>;
    /// A program begins: its settings with their key, its database, the privileges of its definer. Errors: 1449, there is none.
    fn enter(&mut self, program: &Program, settings: (ProgramSettings, u64)) -> Result<Entered>;
    fn leave(&mut self, entered: Entered);
}
