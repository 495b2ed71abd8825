//! Running plans.

use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::Table;
use shoal_expr::{EvalContext, Warnings};
use shoal_parser::LiteralText;
use shoal_parser::ast::SelectInto;
use shoal_txn::new_row::AutoIncrementSettings;
use shoal_types::{Decimal, Error, ErrorCode, Result, Value, WarningLevel};

use super::Session;
use super::plans::{Plan, PlanKind};
use crate::counters::HandlerCounters;
use crate::dml::insert::InsertSettings;
use crate::dml::{self, Affected};
use crate::execute::consumer::{Collect, ToSink};
use crate::execute::memory::Held;
use crate::execute::{ExecContext, RowConsumer};
use crate::files::FileWriter;
use crate::frontend::{ResultColumn, ResultSink};
use crate::plan::QueryPlan;
use crate::program::statement_host::{InUse, StatementPrograms};
use crate::statement_events::EventKind;
use crate::statement_times::kind_of;

/// A literal of the digest as a value, of the kind that the resolver makes of it. `None`: hexadecimal and bit literals, which
/// are numbers or strings by their surroundings and so no parameters.
pub fn literal_value(literal: LiteralText<'_>) -> Option<Value> {
    Some(match literal {
        LiteralText::Integer(number) => match i64::try_from(number) {
            Ok(signed) => Value::Int(signed),
            Err(_) => Value::UInt(number),
        },
        LiteralText::Decimal(text) => Value::Decimal(Decimal::parse(text.as_bytes()).value),
        // A number beyond DOUBLE is an error that the resolver words.
        LiteralText::Float(text) => Value::Double(text.parse().ok().filter(|number: &f64| number.is_finite())?),
        LiteralText::String(text) => Value::Str(text.into_owned()),
        LiteralText::Hex(_) | LiteralText::Bit(_) => return None,
    })
}

impl Session {
    /// Runs a plan and sends its result.
    pub async fn run_plan<S: ResultSink>(
        &mut self,
        plan: &Rc<Plan>,
        parameters: &[Value],
        more: bool,
        sink: &mut S,
    ) -> Result<()> {
        let counter = plan.counter();
        self.shared.counters.add(counter, 1);
        self.kind = kind_of(counter);
        self.note_kind(EventKind::of_counter(counter));
        self.stage("checking permissions");
        self.is_past_beginning = self.explicit_transaction;
        self.check_password(None)?;
        if !self.begins_again() {
            self.count_of_account(plan.writes())?;
        }
        if !plan.tables.is_empty() {
            self.check_single_user()?;
        }
        if plan.writes_shared() {
            self.check_writable()?;
        }
        self.check_plan(plan)?;
        if let PlanKind::PointSelect { query, point } = &plan.kind
            && self.point_select_applies()
        {
            return self.run_point_select(query, point, parameters, more, sink).await;
        }
        if !self.begins_again() {
            self.shared.interrupt.start_statement(self.statement_limit_ms(plan));
        }
        let has_tables = !plan.tables.is_empty() || plan.calls_programs;
        self.begin_statement(plan.writes_shared() || self.is_read_only() && plan.locks_exclusively(), has_tables)?;
        let may_write = plan.writes() || plan.calls_programs;
        let savepoint = (self.explicit_transaction && may_write).then(|| self.transaction.savepoint());
        let outcome = self.run_in_transaction(plan, parameters, sink).await;
        self.stage("end");
        self.shared.counters.add_transaction(&std::mem::take(&mut self.transaction.counters));
        match outcome {
            Ok(done) => {
                if !self.explicit_transaction {
                    self.stage("waiting for handler commit");
                    self.commit_statement(has_tables).await?;
                }
                self.stage("query end");
                self.shared.counters.add_transaction(&std::mem::take(&mut self.transaction.counters));
                for (code, message) in &plan.warnings {
                    let level = match code {
                        ErrorCode::WindowFunctionIgnoresFrame => WarningLevel::Note,
                        _ => WarningLevel::Warning,
                    };
                    self.warn(level, *code, message.as_str());
                }
                match done {
                    Done::Rows => {
                        self.tracker.note_result();
                        let summary = self.summary(0, 0, String::new(), more);
                        sink.finish(&summary)
                    }
                    Done::Changed(affected) => {
                        let summary = self.summary(affected.rows, affected.last_insert_id, affected.info, more);
                        sink.finish(&summary)
                    }
                }
            }
            Err(error) => {
                self.undo_statement(&error, savepoint.as_ref());
                Err(error)
            }
        }
    }

    /// How long a plan may run, in milliseconds; 0 for ever. Only SELECT is limited.
    pub(super) fn statement_limit_ms(&self, plan: &Plan) -> u64 {
        let is_limited = !plan.writes() && self.inside_key == 0;
        if !is_limited { 0 } else { plan.limit_ms.unwrap_or(self.variables.max_execution_time_ms) }
    }

    /// What was true when the plan was made must still be: tables exist, the user may use them.
    pub(super) fn check_plan(&self, plan: &Plan) -> Result<()> {
        crate::account::check_plan(&self.asking(), plan)
    }

    async fn run_in_transaction<S: ResultSink>(
        &mut self,
        plan: &Rc<Plan>,
        parameters: &[Value],
        sink: &mut S,
    ) -> Result<Done> {
        self.stage("Opening tables");
        // Whatever a definition has overtaken is noticed here, before anything is sent.
        for table in &plan.tables {
            let used = async {
                match plan.changes(table) {
                    true => self.transaction.use_table_to_write(table).await,
                    false => self.transaction.use_table(table).await,
                }
            };
            if let Err(error) = self.shared.interrupt.guard(used).await {
                // Nothing of this statement has been done, and what was done before stays. Only a snapshot that is older than
                // a definition cannot read what that has made.
                self.is_past_beginning = self.explicit_transaction && self.transaction.has_snapshot();
                return Err(error);
            }
        }
        self.stage("executing");
        match &plan.kind {
            PlanKind::PointSelect { query, .. } | PlanKind::Select { query, into: None } => {
                let limit = self.variables.sql_select_limit;
                let mut begun = false;
                let to_sink = ToSink {
                    sink,
                    columns: &query.columns,
                    begun: &mut begun,
                    rows_sent: 0,
                    held: Held::new(&self.memory),
                };
                let mut consumer = Limited { inner: to_sink, left: limit };
                let found = self
                    .with_context(&plan.tables, parameters, false, async |ctx| {
                        ctx.survives_kill_in_sleep = query.reads_no_rows();
                        ctx.run_query(query, &mut consumer).await?;
                        consumer.inner.begin()?;
                        Ok(ctx.found_rows)
                    })
                    .await;
                self.rows_sent = consumer.inner.rows_sent;
                self.is_past_beginning |= begun;
                self.state.found_rows = found?;
                self.state.row_count = -1;
                Ok(Done::Rows)
            }
            PlanKind::Select {
                query,
                into: Some(into @ (SelectInto::OutFile { .. } | SelectInto::DumpFile(_))),
            } => {
                // Rare, and not to be in the task of every connection.
                Box::pin(self.select_into_file(into, query, parameters)).await.map(Done::Changed)
            }
            PlanKind::Select { query, into: Some(into) } => {
                let rows = self.collect(query, parameters).await?;
                let affected = self.select_into(into, query, rows)?;
                Ok(Done::Changed(affected))
            }
            _ => {
                let affected = self.change(plan, parameters).await?;
                self.state.row_count = affected.rows as i64;
                Ok(Done::Changed(affected))
            }
        }
    }

    async fn change(&mut self, plan: &Rc<Plan>, parameters: &[Value]) -> Result<Affected> {
        let found_rows = self.info.found_rows;
        let settings = InsertSettings {
            found_rows,
            auto_increment: AutoIncrementSettings {
                increment: self.variables.auto_increment_increment,
                offset: self.variables.auto_increment_offset,
                zero_means_next: !self.variables.no_auto_value_on_zero,
                forced: self.variables.insert_id.take(),
                ..AutoIncrementSettings::default()
            },
        };
        let inserts = matches!(plan.kind, PlanKind::Insert(_));
        let affected = self
            .with_context(&plan.tables, parameters, true, async |ctx| dml::run::run(plan, settings, ctx).await)
            .await?;
        if self.server.node.cluster().is_some() {
            for table in plan.tables_numbered_by_hand() {
                self.server.node.report_numbers(table).await?;
            }
        }
        if inserts
            && let Some(generated) = affected.generated_id
            && !self.state.insert_id_assigned
        {
            self.state.last_insert_id = generated;
        }
        let mut affected = affected;
        if !affected.info.is_empty() && inserts {
            affected.info = format!("{}  Warnings: {}", affected.info, self.state.warning_count);
        }
        Ok(affected)
    }

    /// Runs a query into memory.
    pub async fn collect(&mut self, query: &QueryPlan, parameters: &[Value]) -> Result<Vec<Vec<Value>>> {
        let mut rows = Collect::new(&self.memory);
        self.with_context(&[], parameters, false, async |ctx| ctx.run_query(query, &mut rows).await).await?;
        Ok(rows.rows)
    }

    /// Sets up an execution, runs it, and keeps its warnings and counts.
    pub async fn with_context<T>(
        &mut self,
        tables: &[Arc<Table>],
        parameters: &[Value],
        changes_data: bool,
        work: impl AsyncFnOnce(&mut ExecContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let now = self.variables.timestamp_micros.unwrap_or_else(|| self.server.clock_micros());
        let access = &self.state.access;
        let virtual_rows =
            crate::information_schema::Rows::new(&self.server, &self.shared, &self.variables, access);
        let mut handlers = HandlerCounters::default();
        let programs = StatementPrograms {
            server: &self.server,
            host: &self.shared.host,
            variables: &self.variables,
            usage: &self.table_usage,
            cache: &self.programs,
            temporary: self.temporary.as_deref(),
            lock_reads: self.locks_reads(),
            is_read_only: self.is_read_only(),
            settings_version: self.settings_version,
            inside_key: self.inside_key,
            in_use: InUse { tables, around: None },
        };
        let mut eval = EvalContext::new(parameters, &self.variables.time_zone, now, self.variables.settings);
        eval.changes_data = changes_data;
        eval.warnings = Warnings::with_limit(self.variables.max_error_count);
        eval.session = Some(&mut self.state);
        let mut ctx = ExecContext {
            transaction: &mut self.transaction,
            eval,
            interrupt: &self.shared.interrupt,
            memory: &self.memory,
            virtual_rows: &virtual_rows,
            user_locks: &self.server.user_locks,
            connection: self.shared.id,
            handlers: &mut handlers,
            found_rows: 0,
            checks_foreign_keys: self.variables.foreign_key_checks,
            survives_kill_in_sleep: false,
            working: None,
            programs: &programs,
        };
        // Given away by value, it would be twice in the task of every connection.
        let outcome = {
            let work = std::pin::pin!(work(&mut ctx));
            self.shared.interrupt.guard(work).await
        };
        let warnings = std::mem::take(&mut ctx.eval.warnings);
        drop(ctx);
        self.shared.counters.add_handlers(&handlers);
        self.state.warning_count = warnings.count();
        self.state.signalled = None;
        self.state.warnings.clear();
        self.state.warnings.extend_from_slice(warnings.list());
        let assigned = self.state.assigned_insert_id.take();
        self.state.insert_id_assigned = assigned.is_some();
        if let Some(id) = assigned {
            self.state.last_insert_id = id;
        }
        if let Some(inside) = self.state.set_inside.take() {
            crate::variables::set::keep(self, inside.set);
        }
        outcome
    }

    /// Sends rows that are already there.
    pub fn send_rows<S: ResultSink>(
        &mut self,
        columns: &[ResultColumn],
        rows: &[Vec<Value>],
        more: bool,
        sink: &mut S,
    ) -> Result<()> {
        sink.columns(columns)?;
        for row in rows {
            sink.row(row)?;
        }
        self.rows_sent = rows.len() as u64;
        self.state.found_rows = rows.len() as u64;
        self.state.row_count = -1;
        let summary = self.summary(0, 0, String::new(), more);
        sink.finish(&summary)
    }

    /// SELECT ... INTO OUTFILE and INTO DUMPFILE.
    async fn select_into_file(
        &mut self,
        into: &SelectInto,
        query: &QueryPlan,
        parameters: &[Value],
    ) -> Result<Affected> {
        let mut file = FileWriter::create(self, into, &query.columns).await?;
        let ran =
            self.with_context(&[], parameters, false, async |ctx| ctx.run_query(query, &mut file).await).await;
        ran?;
        let rows = file.finish().await?;
        if rows == 0 && matches!(into, SelectInto::DumpFile(_)) {
            let message = "No data - zero rows fetched, selected, or processed";
            self.warn(shoal_types::WarningLevel::Warning, ErrorCode::SpFetchNoData, message);
        }
        self.state.row_count = rows as i64;
        Ok(Affected { rows, ..Affected::default() })
    }

    fn select_into(
        &mut self,
        into: &SelectInto,
        query: &QueryPlan,
        mut rows: Vec<Vec<Value>>,
    ) -> Result<Affected> {
        use shoal_expr::SessionValues;
        use shoal_parser::ast::IntoTarget;
        let SelectInto::Variables(targets) = into else {
            return Err(Error::unsupported("SELECT ... INTO OUTFILE"));
        };
        if targets.len() != query.columns.len() {
            let message = "The used SELECT statements have a different number of columns";
            return Err(Error::new(ErrorCode::WrongNumberOfColumnsInSelect, message));
        }
        if rows.len() > 1 {
            return Err(Error::new(ErrorCode::TooManyRows, "Result consisted of more than one row"));
        }
        let Some(row) = rows.pop() else {
            let message = "No data - zero rows fetched, selected, or processed";
            self.warn(shoal_types::WarningLevel::Warning, ErrorCode::SpFetchNoData, message);
            return Ok(Affected::default());
        };
        for ((target, value), column) in targets.iter().zip(row).zip(&query.columns) {
            match target {
                IntoTarget::UserVariable(name) => {
                    self.state.set_user_variable(name, value, column.sql_type.clone());
                }
                IntoTarget::Local(_) => return Err(Error::unsupported("local variables outside stored programs")),
            }
        }
        Ok(Affected { rows: 1, ..Affected::default() })
    }
}

enum Done {
    Rows,
    Changed(Affected),
}

/// SQL_SELECT_LIMIT.
struct Limited<C> {
    inner: C,
    left: u64,
}

impl<C: RowConsumer> Limited<C> {
    fn take(&mut self, flow: crate::execute::Flow) -> crate::execute::Flow {
        self.left -= 1;
        if self.left == 0 { crate::execute::Flow::Stop } else { flow }
    }
}

impl<C: RowConsumer> RowConsumer for Limited<C> {
    fn push(&mut self, row: &[Value]) -> Result<crate::execute::Flow> {
        if self.left == 0 {
            return Ok(crate::execute::Flow::Stop);
        }
        let flow = self.inner.push(row)?;
        Ok(self.take(flow))
    }

    fn push_stored(
        &mut self,
        row: shoal_types::row::RowRef<'_>,
        projection: &[usize],
        zone: &shoal_types::TimeZone,
    ) -> Result<crate::execute::Flow> {
        if self.left == 0 {
            return Ok(crate::execute::Flow::Stop);
        }
        let flow = self.inner.push_stored(row, projection, zone)?;
        Ok(self.take(flow))
    }

    fn wants_flush(&self) -> bool {
        self.inner.wants_flush()
    }

    fn flush(&mut self) -> crate::execute::LocalFuture<'_, Result<()>> {
        self.inner.flush()
    }
}
