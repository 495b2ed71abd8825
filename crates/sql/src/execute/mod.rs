//! Running plans: pipelines of batches from the partitions to a consumer.
//!
//! A block pulls batches of rows (at most a few hundred) from its first input, widens them join step by join step with one
//! round trip a step and batch, and pushes what is left through aggregation, projection, DISTINCT, ORDER BY and LIMIT
//! into a [`RowConsumer`]. Only inputs wait; everything after them is synchronous.

pub mod aggregate;
pub mod batch;
pub mod block;
pub mod connection_memory;
pub mod consumer;
pub mod fetch;
pub mod join;
pub mod json_table;
pub mod kept_index;
pub mod key_set;
pub mod lateral;
pub mod lock_in_order;
pub mod lookup;
pub mod memory;
pub mod output;
pub mod programs;
pub mod query;
pub mod recursion;
pub mod set_operation;
pub mod sort;
pub mod sort_in_turns;
pub mod subquery;
pub mod window;

use std::future::Future;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;

use shoal_expr::{EvalContext, Expr, LockRequest};
use shoal_txn::Transaction;
use shoal_types::{Error, ErrorCode, Result, Value};

pub use batch::RowBatch;
pub use consumer::{Flow, RowConsumer};
use memory::StatementMemory;
pub use programs::{Called, Programs};

/// Maps of keys that come from rows; their hash is seeded anew in every process.
type HashMap<K, V> = hashbrown::HashMap<K, V, foldhash::fast::RandomState>;

/// A future that stays on its worker.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A future on the heap, made where it lies: those of statements are large, and are not to be on the stack before.
#[inline(always)]
pub fn boxed<'a, T, F: Future<Output = T> + 'a>(make: impl FnOnce() -> F) -> LocalFuture<'a, T> {
    let place: Box<MaybeUninit<F>> = Box::new_uninit();
    let made: Box<F> = Box::write(place, make());
    Box::into_pin(made)
}

/// Everything that one execution of a statement works with.
pub struct ExecContext<'a> {
    pub transaction: &'a mut Transaction,
    pub eval: EvalContext<'a>,
    /// Set by KILL and by timeouts; looked at between batches.
    pub interrupt: &'a crate::session::Interrupt,
    /// What counts all that is kept until the statement ends.
    pub memory: &'a Rc<StatementMemory>,
    /// Rows of information_schema and the like.
    pub virtual_rows: &'a dyn crate::information_schema::VirtualSource,
    pub user_locks: &'a crate::user_locks::UserLockTable,
    /// Whose statement it is.
    pub connection: u32,
    /// Handler_* counters of the session.
    pub handlers: &'a mut crate::counters::HandlerCounters,
    pub found_rows: u64,
    /// foreign_key_checks.
    pub checks_foreign_keys: bool,
    /// A SELECT without tables: SLEEP() that is told to stop yields 1, and the statement goes on.
    pub survives_kill_in_sleep: bool,
    /// The recursive table whose part is running.
    pub working: Option<Rc<recursion::WorkingTable>>,
    /// For stored programs that the statement calls.
    pub programs: &'a dyn Programs,
}

impl ExecContext<'_> {
    /// Errors: the statement was killed (1317) or took longer than it may (3024).
    pub fn check_interrupt(&self) -> Result<()> {
        self.interrupt.check()
    }

    /// The same where the statement can make way for others.
    pub async fn check_between_batches(&self) -> Result<()> {
        self.interrupt.check_between_batches().await
    }
}

/// Reads a LIMIT or OFFSET: a non-negative integer.
pub fn limit_value(value: &shoal_types::Value) -> Result<u64> {
    match value {
        shoal_types::Value::UInt(count) => Ok(*count),
        shoal_types::Value::Int(count) if *count >= 0 => Ok(*count as u64),
        _ => Err(Error::new(ErrorCode::WrongArguments, "Incorrect arguments to LIMIT")),
    }
}

/// SLEEP() only asks for its pause; it is taken here, after the rows that asked for it, and ends early when the statement is
/// killed. Whoever evaluates expressions for rows calls this when a row or a batch is through.
pub async fn sleep_if_asked(ctx: &mut ExecContext<'_>) -> Result<()> {
    ctx.eval.lock_calls.clear();
    if let Some(pause) = ctx.eval.pending_sleep.take() {
        ctx.interrupt.sleep(pause).await;
        ctx.check_interrupt()?;
    }
    Ok(())
}

/// Evaluates a column of a result without tables: SLEEP() pauses here, and yields 1 if it was told to stop.
pub async fn eval_with_sleep(expression: &Expr, row: &[Value], ctx: &mut ExecContext<'_>) -> Result<Value> {
    let value = eval_with_locks(expression, row, ctx).await?;
    let Some(pause) = ctx.eval.pending_sleep.take() else { return Ok(value) };
    if !ctx.interrupt.sleep_and_survive(pause).await? {
        return Ok(value);
    }
    ctx.eval.is_sleep_interrupted = true;
    eval_with_locks(expression, row, ctx).await
}

/// Evaluates an expression where GET_LOCK() can wait.
pub async fn eval_with_locks(expression: &Expr, row: &[Value], ctx: &mut ExecContext<'_>) -> Result<Value> {
    loop {
        let outcome = expression.eval(row, &mut ctx.eval);
        match (outcome, ctx.eval.pending_lock.take()) {
            (Err(_), Some(LockRequest { name, timeout })) => {
                let taken = ctx.user_locks.wait(ctx.connection, &name, timeout).await?;
                ctx.eval.lock_calls.settle(Value::from(taken));
            }
            (outcome, _) => {
                ctx.eval.lock_calls.clear();
                return outcome;
            }
        }
    }
}
