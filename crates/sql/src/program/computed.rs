//! Expressions and statements of a program, with the plans that were made for them.

use std::cell::RefCell;
use std::rc::Rc;

use shoal_expr::{Expr, NoRow};
use shoal_parser::ast::{self, Statement};
use shoal_types::{Collation, Result, SqlType, Value};

use super::host::{Host, PlanVersion};
use super::scope::{Scope, Slots};
use crate::execute::consumer::Collect;
use crate::plan::QueryBody;
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

    pub async fn plan<H: Host>(&self, all: &Slots, host: &mut H) -> Result<Rc<Plan>> {
        let mut version = host.version();
        if let Some((known, plan)) = &*self.known.borrow()
            && *known == version
        {
            return Ok(Rc::clone(plan));
        }
        let plan = loop {
            match all.with_locals(&self.scope, |locals| host.make_plan(&self.statement, locals)) {
                Ok(plan) => break Rc::new(plan),
                Err(error) => host.begin_with_news(&mut version.catalog, error).await?,
            }
        };
        let kept = plan.reusable.then(|| (version, Rc::clone(&plan)));
        *self.known.borrow_mut() = kept;
        Ok(plan)
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

/// An expression. Most read nothing but variables and are evaluated where they stand; the others are queries.
pub struct Computed {
    planned: Planned,
    /// Settings that it was resolved with, if it is of the first kind.
    plain: RefCell<Option<(u64, Plain)>>,
}

struct Plain {
    expression: Expr,
    at_once: bool,
}

impl Computed {
    pub fn new(expression: ast::Expr, scope: &Scope) -> Computed {
        let planned = Planned::new(Statement::Do(vec![expression]), scope);
        Computed { planned, plain: RefCell::default() }
    }

    /// Its value if that takes no waiting.
    #[inline]
    pub fn value_now<H: Host>(&self, slots: &[Value], host: &mut H) -> Option<Result<Typed>> {
        let plain = self.plain.borrow();
        let (settings, plain) = plain.as_ref()?;
        if *settings != host.settings() {
            return None;
        }
        let collation = plain.expression.sql_type().collation;
        let mut eval = host.eval(slots, plain.at_once);
        let value = plain.expression.eval(&NoRow, &mut eval);
        let warnings = std::mem::take(&mut eval.warnings);
        drop(eval);
        warn_all(&warnings, host);
        Some(value.map(|value| (value, collation)))
    }

    /// Its value if it is one of signed integers, which take nothing but the variables.
    #[inline]
    pub fn signed<H: Host>(&self, slots: &[Value], host: &H) -> Option<i64> {
        let plain = self.plain.borrow();
        let (settings, plain) = plain.as_ref()?;
        if *settings == host.settings() { plain.expression.signed(slots) } else { None }
    }

    /// Its truth, if that takes no waiting.
    #[inline]
    pub fn truth_now<H: Host>(&self, slots: &[Value], host: &mut H) -> Option<Result<bool>> {
        let plain = self.plain.borrow();
        let (settings, plain) = plain.as_ref()?;
        if *settings != host.settings() {
            return None;
        }
        if let Some(holds) = plain.expression.holds(slots) {
            return Some(Ok(holds));
        }
        let mut eval = host.eval(slots, plain.at_once);
        let truth = plain.expression.eval_bool(&NoRow, &mut eval);
        let warnings = std::mem::take(&mut eval.warnings);
        drop(eval);
        warn_all(&warnings, host);
        Some(truth.map(|truth| truth == Some(true)))
    }

    pub async fn value<H: Host>(&self, all: &Slots, slots: &[Value], host: &mut H) -> Result<Typed> {
        if let Some(value) = self.value_now(slots, host) {
            return value;
        }
        self.resolve(all, host).await?;
        match self.value_now(slots, host) {
            Some(value) => value,
            None => self.queried(all, slots, host).await,
        }
    }

    /// What its last value was; `None`: it has had none.
    pub fn sql_type(&self) -> Option<SqlType> {
        if let Some((_, plain)) = &*self.plain.borrow() {
            return Some(plain.expression.sql_type().clone());
        }
        let known = self.planned.known.borrow();
        known.as_ref().and_then(|(_, plan)| plan.columns().first()).map(|column| column.sql_type.clone())
    }

    pub async fn truth<H: Host>(&self, all: &Slots, slots: &[Value], host: &mut H) -> Result<bool> {
        if let Some(truth) = self.truth_now(slots, host) {
            return truth;
        }
        self.resolve(all, host).await?;
        if let Some(truth) = self.truth_now(slots, host) {
            return truth;
        }
        let (value, _) = self.queried(all, slots, host).await?;
        Ok(!value.is_null() && value.to_f64().value != 0.0)
    }

    /// Finds out whether it is of the first kind.
    async fn resolve<H: Host>(&self, all: &Slots, host: &mut H) -> Result<()> {
        let plain = plain(&*self.planned.plan(all, host).await?);
        *self.plain.borrow_mut() = plain.map(|plain| (host.settings(), plain));
        Ok(())
    }

    async fn queried<H: Host>(&self, all: &Slots, slots: &[Value], host: &mut H) -> Result<Typed> {
        let (plan, mut found) = self.planned.rows(all, slots, None, host).await?;
        let value = found.rows.pop().and_then(|mut row| row.pop()).unwrap_or_default();
        let collation = plan.columns().first().map_or(Collation::BINARY, |column| column.sql_type.collation);
        Ok((value, collation))
    }
}

fn warn_all<H: Host>(warnings: &shoal_expr::Warnings, host: &mut H) {
    if warnings.count() > 0 {
        for warning in warnings.list() {
            host.warn(warning.level, warning.code, &warning.message);
        }
    }
}

/// The expression of a plan that reads nothing but parameters and waits for nothing.
fn plain(plan: &Plan) -> Option<Plain> {
    let PlanKind::Select { query, into: None } = &plan.kind else { return None };
    let QueryBody::Block(block) = &query.body else { return None };
    let reads_nothing = block.reads_no_rows()
        && block.subqueries.is_empty()
        && query.constants.is_empty()
        && block.filter.is_none()
        && plan.reusable
        && block.limit.is_none();
    let [expression] = &block.projection[..] else { return None };
    let waits = |part: &Expr| part.function().is_some_and(|called| matches!(called.name, "GET_LOCK" | "SLEEP"));
    if !reads_nothing || !expression.all(&mut |part| !waits(part)) {
        return None;
    }
    let at_once = expression.all(&mut |part| part.function().is_none());
    Some(Plain { expression: expression.clone(), at_once })
}
