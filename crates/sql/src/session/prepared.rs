//! Prepared statements: of the protocol and of PREPARE.

use std::rc::Rc;
use std::time::Instant;

use shoal_expr::SessionValues;
use shoal_parser::ast;
use shoal_types::{Charset, Error, ErrorCode, Result, SqlType, Value};

use super::Session;
use super::logged::Ran;
use super::plans::{self, Cursor, Plan, PreparedStatement};
use crate::client_text;
use crate::counters::Counter;
use crate::dml::Affected;
use crate::execute::memory::Held;
use crate::frontend::{Prepared, ResultColumn, ResultSink};
use crate::syntax_error::syntax_error;

/// max_prepared_stmt_count, for one session.
const STATEMENTS_MAX: usize = 16_382;

impl Session {
    /// Parses a statement and keeps it. The columns of its result are known if it resolves without its parameters' types.
    pub fn prepare_text(&mut self, sql: &[u8]) -> Result<Prepared> {
        if self.statements.len() >= STATEMENTS_MAX {
            let message = format!(
                "Can't create more than max_prepared_stmt_count statements (current value: {STATEMENTS_MAX})"
            );
            return Err(Error::new(ErrorCode::MaxPreparedStmtCountReached, message));
        }
        let sql = &*client_text::for_parser(sql, &self.variables.settings);
        self.prepare_utf8(sql)
    }

    fn prepare_utf8(&mut self, sql: &[u8]) -> Result<Prepared> {
        let parsed =
            shoal_parser::parse_first(sql, 0, self.variables.parser_mode).map_err(|error| syntax_error(&error))?;
        if let Some(next) = parsed.next {
            let error = shoal_parser::ParseError::new(shoal_parser::ParseErrorKind::Syntax, sql, next);
            return Err(syntax_error(&error));
        }
        self.check_password(Some(&parsed.statement))?;
        if matches!(
            parsed.statement,
            ast::Statement::Prepare(_) | ast::Statement::Execute(_) | ast::Statement::Deallocate(_)
        ) {
            let message = "This command is not supported in the prepared statement protocol yet";
            return Err(Error::new(ErrorCode::UnsupportedPs, message));
        }
        let parameter_count = parsed.parameter_count as usize;
        let columns = if plans::is_planned(&parsed.statement) {
            self.make_plan(&parsed.statement, parameter_count, None)?.columns().to_vec()
        } else {
            if parameter_count > 0 {
                self.check_parameters(&parsed.statement, parameter_count)?;
            }
            crate::show::result_columns(self, &parsed.statement)?
        };
        let mut held = Held::new(&self.memory);
        held.add(plans::plan_bytes(sql.len()))?;
        let statement_id = self.next_statement_id;
        self.next_statement_id = self.next_statement_id.checked_add(1).unwrap_or(1);
        let statement = PreparedStatement {
            statement: Rc::new(parsed.statement),
            text: sql.into(),
            hash: self.digester.digest(sql, 0, self.variables.parser_mode, &mut self.literals).hash,
            parameter_count,
            plan: None,
            cursor: None,
            held,
        };
        self.statements.insert(statement_id, statement);
        let parameter = ResultColumn {
            name: "?".to_owned(),
            sql_type: SqlType::varchar(65_535, self.variables.settings.collation_connection),
            ..ResultColumn::default()
        };
        Ok(Prepared { statement_id, parameters: vec![parameter; parameter_count], columns, warnings: 0 })
    }

    /// Of statements that are not planned, these have parameters: CALL, SET, DO, and CREATE TABLE ... SELECT in its query. Errors: 1295,
    /// what is wrong with the query.
    fn check_parameters(&self, statement: &ast::Statement, count: usize) -> Result<()> {
        let create = match statement {
            ast::Statement::CreateTable(create) => create,
            ast::Statement::Call(_) | ast::Statement::Set(_) | ast::Statement::Do(_) => return Ok(()),
            _ => return Err(no_parameters()),
        };
        let query = create.query.as_ref().ok_or_else(no_parameters)?;
        self.make_plan(&ast::Statement::Query(query.clone()), count, None).map(|_| ())
    }

    /// What the parameters of the running statement are for a query within it.
    pub(crate) fn bound_types(&self) -> Vec<SqlType> {
        let collation = self.variables.settings.collation_connection;
        self.bound.iter().map(|value| shoal_expr::build::parameter_type(value, collation)).collect()
    }

    /// Runs a prepared statement with values for its parameters, again if what it found missing is only news to this node.
    pub async fn run_prepared<S: ResultSink>(
        &mut self,
        statement_id: u32,
        parameters: &[Value],
        cursor: bool,
        more: bool,
        sink: &mut S,
    ) -> Result<()> {
        let Some(prepared) = self.statements.get(&statement_id) else { return Err(unknown_handler(statement_id)) };
        if prepared.parameter_count != parameters.len() {
            return Err(Error::new(ErrorCode::WrongArguments, "Incorrect arguments to mysqld_stmt_execute"));
        }
        let statement = Rc::clone(&prepared.statement);
        let mut used = self.server.node.catalog_version();
        loop {
            match self.run_known(statement_id, &statement, parameters, cursor, more, sink).await {
                Err(error) => self.begin_with_news(&mut used, error).await?,
                done => return done,
            }
        }
    }

    /// The same with what is known here.
    async fn run_known<S: ResultSink>(
        &mut self,
        statement_id: u32,
        statement: &Rc<ast::Statement>,
        parameters: &[Value],
        cursor: bool,
        more: bool,
        sink: &mut S,
    ) -> Result<()> {
        self.again_until = None;
        self.runs_program &= self.inside_key != 0;
        if !plans::is_planned(statement) {
            self.bound = parameters.to_vec();
            let ran = self.run_statement(statement, Some(statement_id), more, sink).await;
            self.bound.clear();
            return ran;
        }
        loop {
            let plan = self.prepared_plan(statement_id, statement, parameters)?;
            if cursor && !plan.columns().is_empty() {
                self.check_password(None)?;
                self.count_of_account(false)?;
                return Box::pin(self.open_cursor(statement_id, &plan, parameters, sink)).await;
            }
            let outcome = self.run_plan(&plan, parameters, more, sink).await;
            if self.finish_or_retry(outcome).await? {
                return Ok(());
            }
            if let Some(prepared) = self.statements.get_mut(&statement_id) {
                prepared.plan = None;
            }
        }
    }

    /// The statement's plan for parameters of these types; made anew when types, settings or the dictionary changed.
    fn prepared_plan(
        &mut self,
        statement_id: u32,
        statement: &Rc<ast::Statement>,
        parameters: &[Value],
    ) -> Result<Rc<Plan>> {
        let collation = self.variables.settings.collation_connection;
        let settings = self.settings_key();
        let version = self.catalog_version();
        if let Some(PreparedStatement { plan: Some((types, known, plan)), .. }) =
            self.statements.get(&statement_id)
            && *known == settings
            && plan.catalog_version == version
            && plan.reusable
            && types.iter().zip(parameters).all(|(sql_type, value)| same_class(sql_type, value))
        {
            return Ok(Rc::clone(plan));
        }
        let types: Vec<SqlType> = parameters.iter().map(|value| general_type(value, collation)).collect();
        let plan = Rc::new(self.make_plan(statement, parameters.len(), Some(&types))?);
        if let Some(prepared) = self.statements.get_mut(&statement_id) {
            prepared.plan = Some((types, settings, Rc::clone(&plan)));
        }
        Ok(plan)
    }

    async fn open_cursor<S: ResultSink>(
        &mut self,
        statement_id: u32,
        plan: &Rc<Plan>,
        parameters: &[Value],
        sink: &mut S,
    ) -> Result<()> {
        let (plans::PlanKind::Select { query, .. } | plans::PlanKind::PointSelect { query, .. }) = &plan.kind
        else {
            return self.run_plan(plan, parameters, false, sink).await;
        };
        self.shared.counters.add(plan.counter(), 1);
        crate::account::check_plan(&self.asking(), plan)?;
        self.shared.interrupt.start_statement(self.statement_limit_ms(plan));
        self.begin_statement(false, !plan.tables.is_empty())?;
        let mut rows = crate::execute::consumer::Collect::new(&self.memory);
        let outcome = self
            .with_context(&plan.tables, parameters, false, async |ctx| {
                ctx.survives_kill_in_sleep = query.reads_no_rows();
                ctx.run_query(query, &mut rows).await
            })
            .await;
        if let Err(error) = outcome {
            self.undo_statement(&error, None);
            return Err(error);
        }
        if !self.explicit_transaction {
            self.commit_statement(!plan.tables.is_empty()).await?;
        }
        let columns = query.columns.clone();
        sink.columns(&columns)?;
        if let Some(prepared) = self.statements.get_mut(&statement_id) {
            prepared.cursor = Some(Cursor { columns, rows: rows.rows.into(), held: rows.held });
        }
        let summary = self.summary(0, 0, String::new(), false);
        sink.finish(&summary)
    }

    pub fn fetch_rows<S: ResultSink>(&mut self, statement_id: u32, count: u32, sink: &mut S) -> Result<()> {
        self.count(Counter::ComStmtFetch);
        let prepared = self.statements.get_mut(&statement_id).ok_or_else(|| unknown_handler(statement_id))?;
        let Some(cursor) = &mut prepared.cursor else {
            let message = format!("The statement ({statement_id}) has no open cursor.");
            return Err(Error::new(ErrorCode::UnknownError, message));
        };
        sink.columns(&cursor.columns)?;
        let take = cursor.rows.len().min(count as usize);
        for row in cursor.rows.drain(..take) {
            sink.row(&row)?;
        }
        if take < count as usize {
            prepared.cursor = None;
        }
        let summary = self.summary(0, 0, String::new(), false);
        sink.finish(&summary)
    }

    /// PREPARE name FROM ...
    pub async fn prepare_named(&mut self, prepare: &ast::Prepare) -> Result<Affected> {
        self.tracker.note_change();
        self.count(Counter::ComPrepareSql);
        self.clear_conditions();
        let text = match &prepare.source {
            ast::PrepareSource::Text(text) => text.clone(),
            ast::PrepareSource::UserVariable(name) => match self.state.user_variable(name) {
                Some((value, sql_type)) if !value.is_null() => {
                    let charset = sql_type.collation.charset();
                    Charset::convert(&value.to_text(), charset, Charset::Utf8mb4).bytes.into_owned()
                }
                _ => b"NULL".to_vec(),
            },
        };
        let name = prepare.name.value.to_lowercase();
        if let Some(old) = self.named_statements.remove(&name) {
            self.statements.remove(&old);
            self.hide_prepared(old);
        }
        let began = Instant::now();
        let prepared = self.prepare_utf8(&text)?;
        self.show_prepared(prepared.statement_id, Some(&prepare.name.value), began);
        self.log_command("Prepare", &Ran::Prepared(prepared.statement_id, &[]));
        self.named_statements.insert(name, prepared.statement_id);
        Ok(Affected { info: "Statement prepared".to_owned(), ..Affected::default() })
    }

    /// EXECUTE name USING @a, ...
    pub async fn execute_named<S: ResultSink>(
        &mut self,
        execute: &ast::Execute,
        more: bool,
        sink: &mut S,
    ) -> Result<()> {
        self.count(Counter::ComExecuteSql);
        let name = execute.name.value.to_lowercase();
        let Some(&statement_id) = self.named_statements.get(&name) else {
            return Err(unknown_name(&execute.name.value, "EXECUTE"));
        };
        let parameters: Vec<Value> = execute
            .using
            .iter()
            .map(|variable| self.state.user_variable(variable).map_or(Value::Null, |(value, _)| value))
            .collect();
        self.log_command("Execute", &Ran::Prepared(statement_id, &parameters));
        self.executed = Some(statement_id);
        let ran = Box::pin(self.run_prepared(statement_id, &parameters, false, more, sink)).await;
        // What a procedure has given its OUT parameters goes to the variables.
        for OutParameter { parameter, value, sql_type, .. } in std::mem::take(&mut self.out_parameters) {
            if let Some(variable) = execute.using.get(parameter) {
                self.state.set_user_variable(variable, value, sql_type);
            }
        }
        ran
    }

    pub fn deallocate(&mut self, name: &str) -> Result<Affected> {
        self.count(Counter::ComDeallocSql);
        self.clear_conditions();
        match self.named_statements.remove(&name.to_lowercase()) {
            Some(statement_id) => {
                self.statements.remove(&statement_id);
                self.hide_prepared(statement_id);
                Ok(Affected::default())
            }
            None => Err(unknown_name(name, "DEALLOCATE PREPARE")),
        }
    }
}

/// What CALL has given a parameter of the statement.
pub struct OutParameter {
    /// Which one, from 0.
    pub parameter: usize,
    /// The procedure's name of it.
    pub name: String,
    pub value: Value,
    pub sql_type: SqlType,
}

/// The type that a plan is made for: general enough that values of one class share it.
fn general_type(value: &Value, collation: shoal_types::Collation) -> SqlType {
    match value {
        Value::Str(_) => SqlType::varchar(65_535, collation),
        Value::Decimal(number) => SqlType::decimal(65, number.scale()),
        other => shoal_expr::build::parameter_type(other, collation),
    }
}

fn same_class(sql_type: &SqlType, value: &Value) -> bool {
    use shoal_types::BaseType;
    match (sql_type.base, value) {
        (BaseType::Null, Value::Null) => true,
        (BaseType::BigInt, Value::Int(_)) => !sql_type.unsigned,
        (BaseType::BigInt, Value::UInt(_)) => sql_type.unsigned,
        (BaseType::VarChar, Value::Str(_)) => true,
        (BaseType::Double, Value::Double(_) | Value::Float(_)) => true,
        (BaseType::Decimal, Value::Decimal(number)) => number.scale() == sql_type.decimals,
        (BaseType::Date, Value::Date(_)) => true,
        (BaseType::Time, Value::Time(time)) => time.fsp == sql_type.decimals,
        (BaseType::DateTime, Value::DateTime(datetime)) => datetime.fsp == sql_type.decimals,
        _ => false,
    }
}

pub fn unknown_handler(statement_id: u32) -> Error {
    let message = format!("Unknown prepared statement handler ({statement_id}) given to mysqld_stmt_execute");
    Error::new(ErrorCode::UnknownStmtHandler, message)
}

fn no_parameters() -> Error {
    Error::new(ErrorCode::UnsupportedPs, "Parameters are not supported in this statement")
}

fn unknown_name(name: &str, command: &str) -> Error {
    let message = format!("Unknown prepared statement handler ({name}) given to {command}");
    Error::new(ErrorCode::UnknownStmtHandler, message)
}
