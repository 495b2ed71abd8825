//! Expressions and statements of a program, with the plans that were made for them.
//!
//! Most expressions read nothing but variables and are evaluated where they stand (`Plain`). Those that call stored functions besides are
//! calls, one after the other, and an expression over what they yield (`Calls`). Only the others are queries.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::Program;
use shoal_expr::{Expr, NoRow, RowSource};
use shoal_parser::ast::{self, Statement};
use shoal_types::{Collation, Result, SqlType, Value};

use super::host::{Host, PlanVersion};
use super::scope::{Scope, Slots};
use crate::execute::consumer::Collect;
use crate::plan::{Block, QueryBody, QueryPlan, SubqueryKind};
use crate::session::plans::{Plan, PlanKind};

/// A statement, planned at its first use and whenever what its plan depends on has changed.
pub struct Planned {
    pub statement: Statement,
    pub scope: Scope,
    known: RefCell<Option<(PlanVersion, Rc<Plan>)>>,
}

impl Planned {
    pub fn new(statement: Statement, scope: &Scope) -> Planned {
        Planned { statement, scope: Rc::clone(scope), known: RefCell::default() }
    }

    /// The plan, if it is known or can be made with what this node knows.
    pub fn plan_now<H: Host>(&self, all: &Slots, host: &mut H) -> Result<Rc<Plan>> {
        let version = host.version();
        if let Some((known, plan)) = &*self.known.borrow()
            && *known == version
            && host.state().has_variable_types(&plan.user_variables)
        {
            return Ok(Rc::clone(plan));
        }
        let plan = Rc::new(all.with_locals(&self.scope, |locals| host.make_plan(&self.statement, locals))?);
        self.keep(version, &plan);
        Ok(plan)
    }

    fn keep(&self, version: PlanVersion, plan: &Rc<Plan>) {
        *self.known.borrow_mut() = plan.reusable_inside.then(|| (version, Rc::clone(plan)));
    }

    pub async fn plan<H: Host>(&self, all: &Slots, host: &mut H) -> Result<Rc<Plan>> {
        let mut version = host.version();
        loop {
            match self.plan_now(all, host) {
                Err(error) => host.begin_with_news(&mut version.catalog, error).await?,
                planned => return planned,
            }
        }
    }

    /// The rows of a query.
    pub async fn rows<H: Host>(
        &self,
        all: &Slots,
        slots: &[Value],
        limit: Option<usize>,
        host: &mut H,
    ) -> Result<(Rc<Plan>, Collect)> {
        loop {
            let plan = self.plan(all, host).await?;
            match host.rows(&plan, slots, limit).await? {
                Some(rows) => return Ok((plan, rows)),
                None => self.forget(),
            }
        }
    }

    pub fn forget(&self) {
        *self.known.borrow_mut() = None;
    }
}

/// A value and the collation that it has if it is a text.
pub type Typed = (Value, Collation);

/// An expression.
pub struct Computed {
    planned: Planned,
    /// If it reads nothing but variables.
    plain: RefCell<Option<KnownPlain>>,
    calls: RefCell<Option<KnownCalls>>,
}

/// A plain expression, as it was resolved.
struct KnownPlain {
    /// The settings that it was resolved with.
    settings: u64,
    /// As those of its plan.
    user_variables: Vec<(String, Option<SqlType>)>,
    plain: Plain,
}

impl KnownPlain {
    /// It is resolved as it would be now.
    #[inline]
    fn applies<H: Host>(&self, host: &mut H) -> bool {
        self.settings == host.settings()
            && (self.user_variables.is_empty() || host.state().has_variable_types(&self.user_variables))
    }
}

/// What is known of the calls of an expression that is not plain.
struct KnownCalls {
    /// What it was resolved with.
    version: PlanVersion,
    /// `None`: it is a query.
    calls: Option<Rc<Calls>>,
    /// Not only inside statements.
    is_everywhere: bool,
}

/// An expression that waits for nothing.
pub struct Plain {
    expression: Expr,
    /// It does not ask what time it is.
    at_once: bool,
}

/// Calls of stored functions, and an expression over what they yield.
pub struct Calls {
    pub list: Vec<CallCode>,
    pub value: Plain,
    /// Columns of the row that the results of some calls are in.
    pub width: usize,
    /// Parameters: first the program's variables.
    pub slots: usize,
}

/// A call of a stored function.
pub struct CallCode {
    pub function: Arc<Program>,
    pub arguments: Vec<Plain>,
    /// Parameters that are computed from the row before the arguments are.
    pub outer: Vec<(usize, Plain)>,
    pub result: ResultPlace,
}

/// Where the result of a call goes.
#[derive(Clone, Copy)]
pub enum ResultPlace {
    Parameter(usize),
    Column(usize),
}

impl Plain {
    /// `None`: it may wait.
    fn of(expression: &Expr) -> Option<Plain> {
        let waits =
            |part: &Expr| part.function().is_some_and(|called| matches!(called.name, "GET_LOCK" | "SLEEP"));
        if !expression.all(&mut |part| !waits(part)) {
            return None;
        }
        let at_once = expression.all(&mut |part| part.function().is_none());
        Some(Plain { expression: expression.clone(), at_once })
    }

    pub fn collation(&self) -> Collation {
        self.expression.sql_type().collation
    }

    #[inline]
    pub fn value<H: Host, R: RowSource + ?Sized>(&self, row: &R, slots: &[Value], host: &mut H) -> Result<Value> {
        if let Some(number) = self.expression.signed(slots) {
            return Ok(Value::Int(number));
        }
        let mut eval = host.eval(slots, self.at_once);
        let value = self.expression.eval(row, &mut eval);
        let warnings = std::mem::take(&mut eval.warnings);
        drop(eval);
        warn_all(&warnings, host);
        value
    }

    #[inline]
    fn truth<H: Host>(&self, slots: &[Value], host: &mut H) -> Result<bool> {
        if let Some(holds) = self.expression.holds(slots) {
            return Ok(holds);
        }
        let mut eval = host.eval(slots, self.at_once);
        let truth = self.expression.eval_bool(&NoRow, &mut eval);
        let warnings = std::mem::take(&mut eval.warnings);
        drop(eval);
        warn_all(&warnings, host);
        truth.map(|truth| truth == Some(true))
    }
}

impl Computed {
    pub fn new(expression: ast::Expr, scope: &Scope) -> Computed {
        let planned = Planned::new(Statement::Do(vec![expression]), scope);
        Computed { planned, plain: RefCell::default(), calls: RefCell::default() }
    }

    /// Its value if it reads nothing but variables.
    #[inline]
    pub fn plain_value<H: Host>(&self, slots: &[Value], host: &mut H) -> Option<Result<Typed>> {
        let known = self.plain.borrow();
        let known = known.as_ref().filter(|known| known.applies(host))?;
        let plain = &known.plain;
        Some(plain.value(&NoRow, slots, host).map(|value| (value, plain.collation())))
    }

    /// Its value if it is one of signed integers, which take nothing but the variables.
    #[inline]
    pub fn signed<H: Host>(&self, slots: &[Value], host: &H) -> Option<i64> {
        let known = self.plain.borrow();
        let known = known.as_ref()?;
        // Nothing that is computed that way reads user variables.
        if known.settings == host.settings() { known.plain.expression.signed(slots) } else { None }
    }

    /// Its truth if it reads nothing but variables.
    #[inline]
    pub fn plain_truth<H: Host>(&self, slots: &[Value], host: &mut H) -> Option<Result<bool>> {
        let known = self.plain.borrow();
        let known = known.as_ref().filter(|known| known.applies(host))?;
        Some(known.plain.truth(slots, host))
    }

    /// What it calls, if it reads nothing but variables besides, and that can be run here.
    #[inline]
    pub fn calls<H: Host>(&self, host: &H) -> Option<Rc<Calls>> {
        let known = self.calls.borrow();
        let KnownCalls { version, calls: Some(calls), is_everywhere } = known.as_ref()? else { return None };
        let applies = *version == host.version() && (*is_everywhere || host.is_inside_statement());
        applies.then(|| Rc::clone(calls))
    }

    /// The same, of whatever it was resolved to last.
    pub fn resolved_calls(&self) -> Option<Rc<Calls>> {
        self.calls.borrow().as_ref().and_then(|known| known.calls.clone())
    }

    /// It was resolved, and is to be run as a query here.
    pub fn is_query<H: Host>(&self, host: &H) -> bool {
        let known = self.calls.borrow();
        let Some(KnownCalls { version, calls: None, is_everywhere }) = &*known else { return false };
        // What is plain may have to be resolved anew: user variables have got other types.
        self.plain.borrow().is_none()
            && *version == host.version()
            && (*is_everywhere || !host.is_inside_statement())
    }

    /// Its calls can be run everywhere, or only inside statements.
    pub fn set_calls_everywhere(&self, are_everywhere: bool) {
        if let Some(known) = &mut *self.calls.borrow_mut() {
            known.is_everywhere = are_everywhere;
            if !are_everywhere {
                known.calls = None;
            }
        }
    }

    /// What its last value was; `None`: it has had none.
    pub fn sql_type(&self) -> Option<SqlType> {
        if let Some(known) = &*self.plain.borrow() {
            return Some(known.plain.expression.sql_type().clone());
        }
        let known = self.planned.known.borrow();
        known.as_ref().and_then(|(_, plan)| plan.columns().first()).map(|column| column.sql_type.clone())
    }

    /// It was resolved, and reads nothing but variables.
    pub fn is_plain<H: Host>(&self, host: &H) -> bool {
        self.plain.borrow().as_ref().is_some_and(|known| known.settings == host.settings())
    }

    /// Finds out of which kind it is.
    pub async fn resolve<H: Host>(&self, all: &Slots, host: &mut H) -> Result<()> {
        let plan = self.planned.plan(all, host).await?;
        self.classify(&plan, host);
        Ok(())
    }

    /// The same with what this node knows.
    pub fn resolve_now<H: Host>(&self, all: &Slots, host: &mut H) -> Result<()> {
        let plan = self.planned.plan_now(all, host)?;
        self.classify(&plan, host);
        Ok(())
    }

    fn classify<H: Host>(&self, plan: &Plan, host: &H) {
        let version = PlanVersion { catalog: plan.catalog_version, settings: host.settings() };
        *self.plain.borrow_mut() = plain(plan).map(|plain| {
            let user_variables = plan.user_variables.clone();
            KnownPlain { settings: version.settings, user_variables, plain }
        });
        let calls = calls(plan).map(Rc::new);
        *self.calls.borrow_mut() = Some(KnownCalls { version, is_everywhere: calls.is_none(), calls });
    }

    /// Its value, as that of a query.
    pub async fn queried<H: Host>(&self, all: &Slots, slots: &[Value], host: &mut H) -> Result<Typed> {
        let (plan, mut found) = self.planned.rows(all, slots, None, host).await?;
        let value = found.rows.pop().and_then(|mut row| row.pop()).unwrap_or_default();
        let collation = plan.columns().first().map_or(Collation::BINARY, |column| column.sql_type.collation);
        Ok((value, collation))
    }
}

#[inline]
fn warn_all<H: Host>(warnings: &shoal_expr::Warnings, host: &mut H) {
    if warnings.count() > 0 {
        for warning in warnings.list() {
            host.warn(warning.level, warning.code, &warning.message);
        }
    }
}

/// The block of a plan that yields one value and reads no rows.
fn single_value(plan: &Plan) -> Option<(&QueryPlan, &Block)> {
    let PlanKind::Select { query, into: None } = &plan.kind else { return None };
    let QueryBody::Block(block) = &query.body else { return None };
    let is_single = block.reads_no_rows()
        && block.projection.len() == 1
        && block.filter.is_none()
        && block.late_filter.is_none()
        && block.limit.is_none()
        && plan.reusable_inside;
    is_single.then_some((query, block))
}

/// The expression of a plan that reads nothing but parameters and waits for nothing.
fn plain(plan: &Plan) -> Option<Plain> {
    let (query, block) = single_value(plan)?;
    if !block.subqueries.is_empty() || !query.constants.is_empty() {
        return None;
    }
    Plain::of(&block.projection[0])
}

/// The calls of a plan that reads nothing but parameters and what stored functions yield.
fn calls(plan: &Plan) -> Option<Calls> {
    let (query, block) = single_value(plan).filter(|_| plan.reusable)?;
    let mut list = Vec::with_capacity(query.constants.len() + block.subqueries.len());
    for constant in query.constants.iter().filter(|constant| !constant.exists) {
        list.push(call(&constant.plan, &[], ResultPlace::Parameter(constant.slot))?);
    }
    for column in block.subqueries.iter().filter(|column| matches!(column.kind, SubqueryKind::Scalar)) {
        list.push(call(&column.plan, &column.outer, ResultPlace::Column(column.position))?);
    }
    if list.is_empty() || list.len() < query.constants.len() + block.subqueries.len() {
        return None;
    }
    let mut slots = 0;
    for call in &list {
        if let ResultPlace::Parameter(slot) = call.result {
            slots = slots.max(slot + 1);
        }
        slots = call.outer.iter().fold(slots, |slots, (slot, _)| slots.max(slot + 1));
    }
    Some(Calls { list, value: Plain::of(&block.projection[0])?, width: block.width, slots })
}

fn call(plan: &QueryPlan, outer: &[(usize, Expr)], result: ResultPlace) -> Option<CallCode> {
    let call = plan.as_call()?;
    let arguments = call.arguments.iter().map(Plain::of).collect::<Option<Vec<Plain>>>()?;
    let outer = outer.iter().map(|(slot, value)| Some((*slot, Plain::of(value)?)));
    let outer = outer.collect::<Option<Vec<(usize, Plain)>>>()?;
    Some(CallCode { function: Arc::clone(&call.function), arguments, outer, result })
}
