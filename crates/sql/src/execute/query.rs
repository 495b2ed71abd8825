//! Running a whole query: its constant subqueries first, then its body.
//!
//! Queries stand in queries: whoever meets one in a plan runs it by the methods of [`ExecContext`] here.

use shoal_expr::{Expr, NoRow, Settings};
use shoal_types::{Result, Value};

use super::consumer::Collect;
use super::subquery::scalar;
use super::{ExecContext, LocalFuture, Programs, RowConsumer};
use crate::plan::{ConstantSubquery, FunctionCall, QueryBody, QueryPlan};

impl ExecContext<'_> {
    /// Runs a query into a consumer.
    pub fn run_query<'a>(
        &'a mut self,
        plan: &'a QueryPlan,
        consumer: &'a mut dyn RowConsumer,
    ) -> LocalFuture<'a, Result<()>> {
        super::boxed(|| async move {
            if plan.constants.is_empty() {
                return run_body(plan, self, consumer).await;
            }
            let parameters = self.run_constants(&plan.constants).await?;
            self.with_parameters(&parameters, async |inner| run_body(plan, inner, consumer).await).await
        })
    }

    /// The present parameters with the results of these subqueries in their slots.
    pub async fn run_constants(&mut self, constants: &[ConstantSubquery]) -> Result<Vec<Value>> {
        let mut parameters = self.eval.parameters.to_vec();
        for constant in constants {
            if let Some(call) = constant.plan.as_call() {
                let value = self.call_function(call, &parameters).await?;
                set_slot(&mut parameters, constant.slot, value);
                continue;
            }
            let limit = if constant.exists { 1 } else { 2 };
            let run = async |inner: &mut ExecContext<'_>| inner.run_collect(&constant.plan, Some(limit)).await;
            let mut rows = self.with_parameters(&parameters, run).await?;
            let value = if constant.exists { Value::from(!rows.rows.is_empty()) } else { scalar(&mut rows.rows)? };
            set_slot(&mut parameters, constant.slot, value);
        }
        Ok(parameters)
    }

    /// Runs a query into memory; at most `limit` rows.
    pub async fn run_collect(&mut self, plan: &QueryPlan, limit: Option<usize>) -> Result<Collect> {
        let mut rows = Collect { limit, ..Collect::new(self.memory) };
        self.run_query(plan, &mut rows).await?;
        Ok(rows)
    }

    /// The same with some parameter slots set.
    pub async fn run_collect_with(
        &mut self,
        plan: &QueryPlan,
        bindings: Vec<(usize, Value)>,
        limit: Option<usize>,
    ) -> Result<Collect> {
        let mut rows = Collect { limit, ..Collect::new(self.memory) };
        self.run_query_with(plan, bindings, &mut rows).await?;
        Ok(rows)
    }

    /// Runs a query into a consumer with some parameter slots set.
    pub async fn run_query_with(
        &mut self,
        plan: &QueryPlan,
        bindings: Vec<(usize, Value)>,
        consumer: &mut dyn RowConsumer,
    ) -> Result<()> {
        if bindings.is_empty() {
            return self.run_query(plan, consumer).await;
        }
        let parameters = self.bound(bindings);
        self.with_parameters(&parameters, async |inner| inner.run_query(plan, consumer).await).await
    }

    /// Calls a stored function with arguments over these parameters.
    pub async fn call_function(&mut self, call: &FunctionCall, parameters: &[Value]) -> Result<Value> {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        let mut eval = self.eval.with_other_parameters(parameters);
        let mut evaluated = Ok(());
        for argument in &call.arguments {
            match argument.eval(&NoRow, &mut eval) {
                Ok(value) => arguments.push((value, argument.sql_type().collation)),
                Err(error) => {
                    evaluated = Err(error);
                    break;
                }
            }
        }
        let (warnings, pause) = (std::mem::take(&mut eval.warnings), eval.pending_sleep.take());
        drop(eval);
        self.eval.warnings.append(warnings);
        evaluated?;
        if pause.is_some() {
            self.eval.pending_sleep = pause;
            super::sleep_if_asked(self).await?;
        }
        let programs = self.programs;
        programs.call(&call.function, arguments, self).outcome().await
    }

    /// The same with some parameter slots set. An argument that depends on the row is such a slot, and nothing else.
    pub async fn call_function_with(
        &mut self,
        call: &FunctionCall,
        bindings: Vec<(usize, Value)>,
    ) -> Result<Value> {
        let bound = |argument: &Expr| match argument {
            Expr::Parameter(parameter) => bindings.iter().position(|(slot, _)| *slot == parameter.index),
            _ => None,
        };
        let is_free = |argument: &Expr| argument.all(&mut |part| !matches!(part, Expr::Parameter(_)));
        if !call.arguments.iter().all(|argument| bound(argument).is_some() || is_free(argument)) {
            let parameters = self.bound(bindings);
            return self.call_function(call, &parameters).await;
        }
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            let value = match bound(argument) {
                Some(place) => bindings[place].1.clone(),
                None => argument.eval(&NoRow, &mut self.eval)?,
            };
            arguments.push((value, argument.sql_type().collation));
        }
        super::sleep_if_asked(self).await?;
        let programs = self.programs;
        programs.call(&call.function, arguments, self).outcome().await
    }

    fn bound(&self, bindings: Vec<(usize, Value)>) -> Vec<Value> {
        let mut parameters = self.eval.parameters.to_vec();
        for (slot, value) in bindings {
            set_slot(&mut parameters, slot, value);
        }
        parameters
    }

    /// Runs something with other parameters; warnings and everything else carry over.
    pub async fn with_parameters<T>(
        &mut self,
        parameters: &[Value],
        run: impl AsyncFnOnce(&mut ExecContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut inner = ExecContext {
            transaction: &mut *self.transaction,
            eval: self.eval.with_other_parameters(parameters),
            interrupt: self.interrupt,
            memory: self.memory,
            virtual_rows: self.virtual_rows,
            user_locks: self.user_locks,
            connection: self.connection,
            handlers: &mut *self.handlers,
            found_rows: 0,
            checks_foreign_keys: self.checks_foreign_keys,
            survives_kill_in_sleep: self.survives_kill_in_sleep,
            working: self.working.clone(),
            programs: self.programs,
        };
        let mut result = run(&mut inner).await;
        if result.is_ok()
            && let Err(killed) = super::sleep_if_asked(&mut inner).await
        {
            result = Err(killed);
        }
        self.found_rows = inner.found_rows;
        let is_sleep_interrupted = inner.eval.is_sleep_interrupted;
        let warnings = std::mem::take(&mut inner.eval.warnings);
        self.eval.warnings.append(warnings);
        self.eval.is_sleep_interrupted = is_sleep_interrupted;
        result
    }
}

impl ExecContext<'_> {
    /// The same for a statement of a stored program, which has settings and tables of its own.
    pub fn inside_program<'s>(&'s mut self, programs: &'s dyn Programs, settings: Settings) -> ExecContext<'s> {
        let mut eval = self.eval.with_other_parameters(self.eval.parameters);
        eval.settings = settings;
        eval.ignore_errors = false;
        ExecContext {
            transaction: &mut *self.transaction,
            eval,
            interrupt: self.interrupt,
            memory: self.memory,
            virtual_rows: self.virtual_rows,
            user_locks: self.user_locks,
            connection: self.connection,
            handlers: &mut *self.handlers,
            found_rows: 0,
            checks_foreign_keys: self.checks_foreign_keys,
            survives_kill_in_sleep: false,
            working: None,
            programs,
        }
    }
}

fn set_slot(parameters: &mut Vec<Value>, slot: usize, value: Value) {
    if parameters.len() <= slot {
        parameters.resize(slot + 1, Value::Null);
    }
    parameters[slot] = value;
}

async fn run_body(plan: &QueryPlan, ctx: &mut ExecContext<'_>, consumer: &mut dyn RowConsumer) -> Result<()> {
    match &plan.body {
        QueryBody::Block(block) => super::block::run_block(block, ctx, consumer).await,
        QueryBody::SetOperation(operation) => super::set_operation::run(operation, ctx, consumer).await,
        QueryBody::Recursion(recursion) => super::recursion::run(recursion, ctx, consumer).await,
        QueryBody::Call(call) => {
            let parameters = ctx.eval.parameters;
            let value = ctx.call_function(call, parameters).await?;
            consumer.push(&[value]).map(|_| ())
        }
    }
}
