//! What a running statement asks of stored programs.

use std::sync::Arc;

use shoal_cluster::Program;
use shoal_types::{Collation, Result, SqlType, Value};

use super::{ExecContext, LocalFuture};

/// Runs programs within a statement, in its transaction.
pub trait Programs {
    /// Calls a stored function.
    fn call<'f>(
        &'f self,
        function: &'f Arc<Program>,
        arguments: Vec<(Value, Collation)>,
        ctx: &'f mut ExecContext<'_>,
    ) -> LocalFuture<'f, Result<Value>>;

    /// Runs a trigger for a row of these columns, whose values, of NEW and OLD, are in `slots`; what it makes of them comes back.
    fn trigger<'f>(
        &'f self,
        trigger: &'f Arc<Program>,
        row: &'f [(String, SqlType)],
        slots: Vec<Value>,
        ctx: &'f mut ExecContext<'_>,
    ) -> LocalFuture<'f, Result<Vec<Value>>>;

    /// cte_max_recursion_depth.
    fn recursion_depth_max(&self) -> u64;
}
