//! What statements call of stored programs: functions and triggers begin in the statement's host, and most end before it has to wait.

use std::sync::Arc;

use shoal_cluster::Program;
use shoal_types::{Collation, Value};

use super::cache::Row;
use super::call;
use super::caller::Caller;
use super::frame::Invocation;
use super::invoke;
use super::machine;
use super::statement_host::{StatementHost, StatementPrograms};
use crate::execute::{Called, ExecContext, Programs};

impl Programs for StatementPrograms<'_> {
    fn call<'f>(
        &'f self,
        function: &'f Arc<Program>,
        arguments: Vec<(Value, Collation)>,
        ctx: &'f mut ExecContext<'_>,
    ) -> Called<'f, Value> {
        let mut host = StatementHost::new(self, ctx);
        match call::function(function, arguments, &mut host) {
            Ok(invocation) => host.called(invocation, invoke::end_function),
            Err(error) => Called::Done(Err(error)),
        }
    }

    fn trigger<'f>(
        &'f self,
        trigger: &'f Arc<Program>,
        row: &'f Row,
        slots: Vec<Value>,
        ctx: &'f mut ExecContext<'_>,
    ) -> Called<'f, Vec<Value>> {
        let mut host = StatementHost::new(self, ctx);
        match call::trigger(trigger, row, slots, &mut host) {
            Ok(invocation) => host.called(invocation, |invocation, host| invoke::end(invocation, host).slots),
            Err(error) => Called::Done(Err(error)),
        }
    }

    fn recursion_depth_max(&self) -> u64 {
        self.variables.number("cte_max_recursion_depth")
    }
}

impl<'h, 'c> StatementHost<'h, 'c> {
    /// Runs a program that has begun; `end` is what its caller gets of it.
    fn called<T: 'h>(
        mut self,
        mut invocation: Invocation,
        end: fn(Invocation, &mut StatementHost<'h, 'c>) -> T,
    ) -> Called<'h, T>
    where
        'c: 'h,
    {
        match self.advance(&mut invocation) {
            Ok(true) => Called::Done(Ok(end(invocation, &mut self))),
            Ok(false) => Called::Waits(Box::pin(async move {
                let Invocation { compiled, frame, .. } = &mut invocation;
                let ran = machine::run(compiled, frame, &mut self).await;
                let ended = end(invocation, &mut self);
                ran.map(|()| ended)
            })),
            Err(error) => {
                end(invocation, &mut self);
                Called::Done(Err(error))
            }
        }
    }
}
