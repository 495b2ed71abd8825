//! LOAD DATA INFILE: a file of the server's, or with LOCAL of the client, as rows of a table.
//!
//! The file arrives in pieces; `reader` makes rows of them, which go the way of an INSERT. A client sends its whole file before
//! anybody can tell it to stop, so with LOCAL unfit values and duplicates are warnings.

mod reader;

use shoal_expr::Expr;
use shoal_parser::ast::{self, DuplicateHandling, LoadData, LoadTarget};
use shoal_txn::new_row::AutoIncrementSettings;
use shoal_types::{Charset, Collation, Error, ErrorCode, Result, SqlType, Value, WarningLevel};

use super::insert::{InsertSettings, Insertion, NUMBERS_PER_QUERY};
use super::row::{RowBuilder, implicit_default};
use super::{Affected, DefaultValue, InsertPlan, InsertSource};
use crate::execute::ExecContext;
use crate::files::{self, FileReader};
use crate::frontend::ResultSink;
use crate::session::Session;
use crate::session::plans::PlanKind;
use reader::{Field, Format, RowReader};

/// Where a field of the file goes.
enum Target {
    /// Position among the plan's targets.
    Column(usize),
    Variable(String),
}

/// A resolved LOAD DATA.
struct Load<'p> {
    plan: &'p InsertPlan,
    targets: Vec<Target>,
    /// SET: position among the plan's targets, and the value over the table's columns. `None` is DEFAULT.
    assignments: Vec<(usize, Option<&'p Expr>)>,
    /// Of the file's text.
    collation: Collation,
    /// Rows with too few or too many fields are errors.
    strict: bool,
    /// Some field goes into a variable that SET may read, or some column is set.
    computes: bool,
}

pub async fn run<S: ResultSink>(session: &mut Session, statement: &LoadData, sink: &mut S) -> Result<Affected> {
    check(session, statement)?;
    let format = Format::of(&statement.fields, &statement.lines)?;
    let charset = match &statement.charset {
        Some(name) => Charset::resolve(name)?,
        None => session.variables.collation_database.charset(),
    };
    let collation = charset.default_collation();
    let file_columns = file_columns(session, statement)?;
    declare_variables(session, statement, collation);
    let insert = insert_of(statement, &file_columns);
    let plan = session.make_plan(&ast::Statement::Insert(Box::new(insert)), 0, Some(&[]))?;
    crate::account::check_plan(&session.asking(), &plan)?;
    let PlanKind::Insert(plan) = &plan.kind else { return Err(Error::unsupported("LOAD DATA into this table")) };
    if !plan.subqueries.is_empty() {
        return Err(Error::unsupported("a stored function or a subquery of columns in LOAD DATA ... SET"));
    }
    let load = Load::new(statement, plan, collation, session.variables.settings.sql_mode.strict);
    let mut source = match statement.local {
        true => Source::Client(sink),
        false => Source::Server(files::open_to_read(session, &statement.path).await?),
    };
    let row_bytes_max = session.variables.settings.max_allowed_packet;
    let reader = RowReader::new(format, statement.ignore_lines, row_bytes_max);
    session.begin_statement(true, true)?;
    let savepoint = session.explicit_transaction.then(|| session.transaction.savepoint());
    let settings = insert_settings(session);
    let outcome = transfer(session, &load, settings, &statement.path, reader, &mut source).await;
    session.shared.counters.add_transaction(&std::mem::take(&mut session.transaction.counters));
    match outcome {
        Ok(affected) => {
            if !session.explicit_transaction {
                session.commit_statement(true).await?;
            }
            Ok(finish(session, plan, affected))
        }
        Err(error) => {
            session.undo_statement(&error, savepoint.as_ref());
            Err(error)
        }
    }
}

/// What an INSERT needs of the session's settings.
pub fn insert_settings(session: &Session) -> InsertSettings {
    InsertSettings {
        found_rows: false,
        auto_increment: AutoIncrementSettings {
            increment: session.variables.auto_increment_increment,
            offset: session.variables.auto_increment_offset,
            zero_means_next: !session.variables.no_auto_value_on_zero,
            ..AutoIncrementSettings::default()
        },
    }
}

/// Errors: 1235, 3948 where LOCAL is not allowed.
fn check(session: &Session, statement: &LoadData) -> Result<()> {
    if statement.xml {
        return Err(Error::unsupported("LOAD XML"));
    }
    if !statement.partitions.is_empty() {
        return Err(Error::unsupported("PARTITION (...) selection"));
    }
    if !statement.local {
        return Ok(());
    }
    let allowed = session.server.globals.read().unwrap_or_else(std::sync::PoisonError::into_inner).local_infile();
    if !allowed || !session.info.local_files {
        let message = "Loading local data is disabled; this must be enabled on both the client and server sides";
        return Err(Error::new(ErrorCode::ClientLocalFilesDisabled, message));
    }
    Ok(())
}

/// The columns that take fields of the file, in the file's order: those that are named, or all. Errors: 1046, 1146.
fn file_columns(session: &Session, statement: &LoadData) -> Result<Vec<String>> {
    if !statement.targets.is_empty() {
        let columns = statement.targets.iter().filter_map(|target| match target {
            LoadTarget::Column(name) => Some(name.column.value.clone()),
            LoadTarget::UserVariable(_) => None,
        });
        return Ok(columns.collect());
    }
    let database = match (&statement.table.schema, &session.state.database) {
        (Some(schema), _) => schema.value.clone(),
        (None, Some(current)) => current.clone(),
        (None, None) => return Err(Error::new(ErrorCode::NoDb, "No database selected")),
    };
    let name = &statement.table.name.value;
    let catalog = session.catalog();
    let table = catalog.table(&database, name).ok_or_else(|| crate::databases::no_such_table(&database, name))?;
    Ok(table.schema.visible_columns().map(|column| table.schema.columns[column].name.clone()).collect())
}

/// Variables of the file's fields are texts from now on, so that expressions over them are resolved as such.
fn declare_variables(session: &mut Session, statement: &LoadData, collation: Collation) {
    use shoal_expr::SessionValues;
    for target in &statement.targets {
        if let LoadTarget::UserVariable(name) = target {
            session.state.set_user_variable(name, Value::Null, text_type(collation));
        }
    }
}

fn text_type(collation: Collation) -> SqlType {
    SqlType::varchar(u32::from(u16::MAX), collation)
}

/// The INSERT that the statement amounts to: file columns, then columns that are only SET, with one row of what is SET.
fn insert_of(statement: &LoadData, file_columns: &[String]) -> ast::Insert {
    let mut columns = file_columns.to_vec();
    for assignment in &statement.assignments {
        let name = &assignment.column.column.value;
        if !columns.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            columns.push(name.clone());
        }
    }
    let null = || ast::Expr::Literal(ast::Literal { value: ast::LiteralValue::Null, ordinal: None });
    let value = |column: &String| {
        let set = statement.assignments.iter().rev().find(|assignment| assignment.column.column.is(column));
        set.map_or_else(null, |assignment| assignment.value.clone())
    };
    let row = columns.iter().map(value).collect();
    let name = |column: &String| ast::ColumnName { schema: None, table: None, column: ast::Ident::new(column) };
    ast::Insert {
        hints: None,
        replace: statement.duplicates == DuplicateHandling::Replace,
        priority: None,
        ignore: statement.local || statement.duplicates == DuplicateHandling::Ignore,
        table: statement.table.clone(),
        partitions: Vec::new(),
        columns: Some(columns.iter().map(name).collect()),
        source: ast::InsertSource::Values(vec![row]),
        row_alias: None,
        row_alias_columns: Vec::new(),
        on_duplicate: Vec::new(),
    }
}

impl<'p> Load<'p> {
    fn new(statement: &LoadData, plan: &'p InsertPlan, collation: Collation, strict: bool) -> Load<'p> {
        let name_at = |at: usize| plan.table.schema.columns[plan.targets[at]].name.as_str();
        let mut next_column = 0;
        let mut next = || {
            next_column += 1;
            Target::Column(next_column - 1)
        };
        let targets = match statement.targets.is_empty() {
            // All visible columns come first; behind them are invisible ones that are SET.
            true => plan.table.schema.visible_columns().map(|_| next()).collect(),
            false => {
                let targets = statement.targets.iter().map(|target| match target {
                    LoadTarget::Column(_) => next(),
                    LoadTarget::UserVariable(name) => Target::Variable(name.clone()),
                });
                targets.collect()
            }
        };
        let values = match &plan.source {
            InsertSource::Values(rows) => rows.first().map(Vec::as_slice).unwrap_or_default(),
            InsertSource::Query(_) => &[],
        };
        let mut assignments = Vec::with_capacity(statement.assignments.len());
        for assignment in &statement.assignments {
            let at = (0..plan.targets.len()).find(|&at| assignment.column.column.is(name_at(at)));
            if let Some(at) = at
                && let Some(value) = values.get(at)
            {
                assignments.push((at, value.as_ref()));
            }
        }
        let computes = !assignments.is_empty();
        Load { plan, targets, assignments, collation, strict: strict && !plan.ignore, computes }
    }

    /// The values of a row's target columns with the collations of their texts.
    fn row(
        &self,
        fields: Vec<Field>,
        number: u64,
        builder: &RowBuilder<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<(Vec<Value>, Vec<Collation>)> {
        let mut values = vec![Value::Null; self.plan.targets.len()];
        let mut collations = vec![self.collation; values.len()];
        let mut fields = fields.into_iter();
        let mut too_few = false;
        for target in &self.targets {
            let field = fields.next();
            too_few |= field.is_none();
            match (target, field) {
                (Target::Column(at), Some(field)) => values[*at] = field.map_or(Value::Null, Value::Str),
                (Target::Column(at), None) => {
                    (values[*at], collations[*at]) = self.default_value(self.plan.targets[*at], ctx)?;
                }
                (Target::Variable(name), field) => {
                    let value = field.flatten().map_or(Value::Null, Value::Str);
                    if let Some(session) = &mut ctx.eval.session {
                        session.set_user_variable(name, value, text_type(self.collation));
                    }
                }
            }
        }
        if too_few {
            let message = format!("Row {number} doesn't contain data for all columns");
            self.complain(ErrorCode::WarnTooFewRecords, message, ctx)?;
        }
        if fields.next().is_some() {
            let message =
                format!("Row {number} was truncated; it contained more data than there were input columns");
            self.complain(ErrorCode::WarnTooManyRecords, message, ctx)?;
        }
        if self.computes {
            self.compute(&mut values, &mut collations, number, builder, ctx)?;
        }
        Ok((values, collations))
    }

    /// SET: over the columns as the table will hold them.
    fn compute(
        &self,
        values: &mut [Value],
        collations: &mut [Collation],
        number: u64,
        builder: &RowBuilder<'_>,
        ctx: &mut ExecContext<'_>,
    ) -> Result<()> {
        let schema = &self.plan.table.schema;
        let mut row = vec![Value::Null; schema.columns.len()];
        for target in &self.targets {
            let Target::Column(at) = target else { continue };
            if self.assignments.iter().any(|(set, _)| set == at) {
                continue;
            }
            let column = self.plan.targets[*at];
            let value = std::mem::take(&mut values[*at]);
            row[column] = builder.convert(column, value, collations[*at], number, &mut ctx.eval)?;
            values[*at] = row[column].clone();
            collations[*at] = schema.columns[column].sql_type.collation;
        }
        for (at, expression) in &self.assignments {
            let column = self.plan.targets[*at];
            let (value, collation) = match expression {
                Some(expression) => (expression.eval(&row[..], &mut ctx.eval)?, expression.sql_type().collation),
                None => self.default_value(column, ctx)?,
            };
            row[column] = builder.convert(column, value, collation, number, &mut ctx.eval)?;
            values[*at] = row[column].clone();
            collations[*at] = schema.columns[column].sql_type.collation;
        }
        Ok(())
    }

    fn default_value(&self, column: usize, ctx: &mut ExecContext<'_>) -> Result<(Value, Collation)> {
        let sql_type = &self.plan.table.schema.columns[column].sql_type;
        let no_row: &[Value] = &[];
        Ok(match &self.plan.defaults[column] {
            DefaultValue::Expression(expression) => {
                (expression.eval(no_row, &mut ctx.eval)?, expression.sql_type().collation)
            }
            DefaultValue::Missing => (implicit_default(sql_type), sql_type.collation),
            DefaultValue::AutoIncrement | DefaultValue::Later => (Value::Null, sql_type.collation),
        })
    }

    fn complain(&self, code: ErrorCode, message: String, ctx: &mut ExecContext<'_>) -> Result<()> {
        if self.strict {
            return Err(Error::new(code, message));
        }
        ctx.eval.warnings.push(WarningLevel::Warning, code, || message);
        Ok(())
    }
}

/// Where the file comes from.
enum Source<'s, S> {
    Client(&'s mut S),
    Server(FileReader),
}

impl<S: ResultSink> Source<'_, S> {
    async fn begin(&mut self, path: &[u8]) -> Result<()> {
        match self {
            Source::Client(sink) => sink.request_local_file(path).await,
            Source::Server(_) => Ok(()),
        }
    }

    /// `None`: its end.
    async fn next_piece(&mut self) -> Result<Option<Vec<u8>>> {
        match self {
            Source::Client(sink) => sink.local_file_chunk().await,
            Source::Server(file) => file.next_piece().await,
        }
    }
}

/// Takes the file and inserts its rows.
async fn transfer<S: ResultSink>(
    session: &mut Session,
    load: &Load<'_>,
    settings: InsertSettings,
    path: &[u8],
    mut reader: RowReader,
    source: &mut Source<'_, S>,
) -> Result<Affected> {
    source.begin(path).await?;
    session
        .with_context(&[], &[], true, async |ctx| {
            ctx.eval.ignore_errors = load.plan.ignore;
            let builder = RowBuilder::new(&load.plan.table, load.plan.ignore, settings.auto_increment, &ctx.eval);
            let mut insertion = Insertion::new(load.plan, settings, ctx);
            let mut number = 0;
            loop {
                let piece = source.next_piece().await?;
                let ended = piece.is_none();
                match piece {
                    Some(bytes) => reader.push(&bytes),
                    None => reader.end(),
                }
                while let Some(fields) = reader.next_row()? {
                    number += 1;
                    let (values, collations) = load.row(fields, number, &builder, ctx)?;
                    insertion.have_numbers(NUMBERS_PER_QUERY, ctx).await?;
                    insertion.add_row(values, &collations, ctx).await?;
                    insertion.flush_if_full(ctx).await?;
                }
                if ended {
                    insertion.flush(ctx).await?;
                    return insertion.finish();
                }
            }
        })
        .await
}

fn finish(session: &mut Session, plan: &InsertPlan, mut affected: Affected) -> Affected {
    if let Some(generated) = affected.generated_id {
        session.state.last_insert_id = generated;
    }
    let records = affected.found;
    let (deleted, skipped) = match plan.replace {
        true => (affected.rows.saturating_sub(records), 0),
        false => (0, affected.duplicates),
    };
    affected.info = format!(
        "Records: {records}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {}",
        session.state.warning_count
    );
    affected
}
