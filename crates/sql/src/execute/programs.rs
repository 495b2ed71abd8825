//! What a running statement asks of stored programs.

use std::sync::Arc;

use shoal_cluster::Program;
use shoal_types::{Collation, Result, SqlType, Value};

use super::{ExecContext, LocalFuture};

/// What a program comes to: at once, if it waits for nothing.
pub enum Called<'f, T> {
    Done(Result<T>),
    Waits(LocalFuture<'f, Result<T>>),
}

impl<T> Called<'_, T> {
    pub async fn outcome(self) -> Result<T> {
        match self {
            Called::Done(outcome) => outcome,
            Called::Waits(running) => running.await,
        }
    }
}

/// Runs programs within a statement, in its transaction.
pub trait Programs {
    /// Calls a stored function.
    fn call<'f>(
        &'f self,
        function: &'f Arc<Program>,
        arguments: Vec<(Value, Collation)>,
        ctx: &'f mut ExecContext<'_>,
    ) -> Called<'f, Value>;

    /// Runs a trigger for a row of these columns, whose values, of NEW and OLD, are in `slots`; what it makes of them comes back.
    fn trigger<'f>(
        &'f self,
        trigger: &'f Arc<Program>,
        row: &'f Arc<[(String, SqlType)]>,
        slots: Vec<Value>,
        ctx: &'f mut ExecContext<'_>,
    ) -> Called<'f, Vec<Value>>;

    /// cte_max_recursion_depth.
    fn recursion_depth_max(&self) -> u64;
}
