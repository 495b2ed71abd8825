//! Reads of one row by its primary key, the statements that there are most of: as those of clients, and as those of stored programs,
//! whose results go to variables.

use std::cmp::Ordering;
use std::task::Poll;

use shoal_expr::{EvalContext, NoRow, Settings};
use shoal_txn::ReadMode;
use shoal_types::row::RowRef;
use shoal_types::{Result, TimeZone, Value};

use super::plans::{Plan, PointSelect};
use super::transaction::NextTransaction;
use super::{Interrupt, Session};
use crate::convert;
use crate::counters::Counter;
use crate::execute::memory::{Held, row_bytes};
use crate::frontend::{ResultSink, Summary};
use crate::plan::QueryPlan;
use crate::statement_events::EventKind;
use crate::statement_times::kind_of;
use crate::table_usage::RowUse;

impl PointSelect {
    /// Makes the key from the statement's parameters. `false`: no row has such a key.
    pub fn key_into(
        &self,
        parameters: &[Value],
        (zone, settings): (&TimeZone, Settings),
        key: &mut Vec<u8>,
    ) -> Result<bool> {
        key.clear();
        for (part, expression) in self.table.keys[0].parts.iter().zip(&self.key) {
            let value = match expression.signed(parameters) {
                Some(number) => Value::Int(number),
                None => expression.eval(&NoRow, &mut EvalContext::new(parameters, zone, 0, settings))?,
            };
            match convert::for_lookup(value, expression.sql_type(), &part.sql_type, zone) {
                Some((value, Ordering::Equal)) if !value.is_null() => part.append_value(&value, zone, key)?,
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Copies the columns that are wanted.
    #[inline]
    pub fn fill(&self, row: RowRef<'_>, zone: &TimeZone, values: &mut Vec<Value>) {
        values.extend(self.projection.iter().map(|&column| row.value(column, zone)));
    }
}

impl Session {
    /// An autocommitted single-row read needs no snapshot and no transaction.
    pub(super) fn point_select_applies(&self) -> bool {
        !self.explicit_transaction && self.variables.autocommit
    }

    pub(super) async fn run_point_select<S: ResultSink>(
        &mut self,
        query: &QueryPlan,
        point: &PointSelect,
        parameters: &[Value],
        more: bool,
        sink: &mut S,
    ) -> Result<()> {
        let begins_again = self.begins_again();
        self.stage("executing");
        let zone = &self.variables.time_zone;
        let mut key = std::mem::take(&mut self.key);
        let mut rows = 0;
        if point.key_into(parameters, (zone, self.variables.settings), &mut key)? {
            let read = self.transaction.get_newest(&point.table, &key, |row| match row {
                Some(row) => {
                    rows = 1;
                    sink.columns(&query.columns)?;
                    sink.stored_row(row, &point.projection, zone)
                }
                None => Ok(()),
            });
            // A read that begins again has its time from the first attempt.
            let limit_ms = point.limit_ms.unwrap_or(self.variables.max_execution_time_ms);
            let limit_ms = (!begins_again).then_some(limit_ms);
            guard_if_it_waits(&self.shared.interrupt, limit_ms, read).await??;
            point.usage.add(Some(0), RowUse::Fetch, 1);
        }
        if rows == 0 {
            sink.columns(&query.columns)?;
        }
        self.key = key;
        self.stage("end");
        self.next_transaction = NextTransaction::default();
        self.count_point_read(rows);
        self.state.row_count = -1;
        if self.state.warning_count > 0 {
            self.clear_conditions();
        }
        let summary = Summary { more_results: more, tracked: self.tracked(), ..self.status_summary() };
        sink.finish(&summary)
    }

    fn count_point_read(&mut self, rows: u64) {
        self.shared.counters.add(Counter::HandlerReadKey, 1);
        self.shared.counters.add_transaction(&std::mem::take(&mut self.transaction.counters));
        self.rows_sent = rows;
        self.state.found_rows = rows;
    }

    /// The same for a stored program: whether there is a row, and its columns, behind what is in `values`. `None`: nothing was done,
    /// and it is to be run like any other statement.
    pub async fn read_row(
        &mut self,
        plan: &Plan,
        point: &PointSelect,
        parameters: &[Value],
        values: &mut Vec<Value>,
    ) -> Result<Option<bool>> {
        if self.is_profiled() {
            return Ok(None);
        }
        let known = values.len();
        match self.try_read_row(plan, point, parameters, values).await {
            Ok(found) => Ok(Some(found)),
            Err(error) => {
                values.truncate(known);
                self.finish_or_retry(Err(error)).await.map(|_| None)
            }
        }
    }

    async fn try_read_row(
        &mut self,
        plan: &Plan,
        point: &PointSelect,
        parameters: &[Value],
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        self.runs_program = true;
        self.count(Counter::ComSelect);
        self.kind = kind_of(Counter::ComSelect);
        self.note_kind(EventKind::of_counter(Counter::ComSelect));
        self.is_past_beginning = self.explicit_transaction;
        self.check_password(None)?;
        self.count_of_account(false)?;
        self.check_single_user()?;
        self.check_plan(plan)?;
        let mut key = std::mem::take(&mut self.key);
        let may_exist =
            point.key_into(parameters, (&self.variables.time_zone, self.variables.settings), &mut key)?;
        let found = may_exist && self.read_key(point, &key, values).await?;
        self.key = key;
        if values.iter().any(|value| value.heap_bytes() > 0) {
            // It is counted while it is copied; what variables keep is not.
            Held::new(&self.memory).add(row_bytes(values))?;
        }
        self.count_point_read(u64::from(found));
        Ok(found)
    }

    async fn read_key(&mut self, point: &PointSelect, key: &[u8], values: &mut Vec<Value>) -> Result<bool> {
        point.usage.add(Some(0), RowUse::Fetch, 1);
        if self.point_select_applies() {
            self.next_transaction = NextTransaction::default();
            let zone = &self.variables.time_zone;
            let read = self
                .transaction
                .get_newest(&point.table, key, |row| row.map(|row| point.fill(row, zone, values)).is_some());
            return guard_if_it_waits(&self.shared.interrupt, Some(0), read).await;
        }
        self.begin_statement(false, true)?;
        let read = self.read_in_transaction(point, key, values).await;
        if let Err(error) = &read {
            self.undo_statement(error, None);
        }
        read
    }

    async fn read_in_transaction(
        &mut self,
        point: &PointSelect,
        key: &[u8],
        values: &mut Vec<Value>,
    ) -> Result<bool> {
        let interrupt = &self.shared.interrupt;
        if let Err(error) = guard_if_it_waits(interrupt, None, self.transaction.use_table(&point.table)).await {
            // As in `run_in_transaction`.
            self.is_past_beginning = self.explicit_transaction && self.transaction.has_snapshot();
            return Err(error);
        }
        self.is_past_beginning = self.explicit_transaction;
        let zone = &self.variables.time_zone;
        let read = self.transaction.get(&point.table, key, ReadMode::default(), |row| {
            row.map(|row| point.fill(row, zone, values)).is_some()
        });
        guard_if_it_waits(interrupt, None, read).await
    }
}

/// Runs a read that hardly ever waits; nothing is set up for an interruption unless it does. `limit_ms`: of a statement that
/// begins with this read.
pub async fn guard_if_it_waits<T>(
    interrupt: &Interrupt,
    limit_ms: Option<u64>,
    read: impl Future<Output = Result<T>>,
) -> Result<T> {
    let mut read = std::pin::pin!(read);
    if let Poll::Ready(done) = std::future::poll_fn(|context| Poll::Ready(read.as_mut().poll(context))).await {
        return done;
    }
    if let Some(limit_ms) = limit_ms {
        interrupt.start_statement(limit_ms);
    }
    interrupt.guard(read).await
}
