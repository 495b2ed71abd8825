//! EXPLAIN: the plan of a statement as rows, as JSON, or as a tree.
//!
//! The rows come from the plan that would run. What depends on data is asked of the store: row estimates of key ranges, and
//! the partitions that the constants of an access path choose. Subqueries are not run for it, so what depends on their
//! results is shown as if it were unknown.

mod access;
mod json;
mod rows;
mod tree;
mod windows;

use std::rc::Rc;
use std::time::Instant;

use shoal_expr::EvalContext;
use shoal_parser::ast::{self, ExplainTarget, Statement};
use shoal_types::{Decimal, Error, ErrorCode, Result, SqlType, Value, WarningLevel};

use crate::execute::{Flow, RowConsumer};
use crate::frontend::{ResultColumn, ResultSink};
use crate::information_schema::types_of;
use crate::session::Session;
use crate::session::plans::{self, Plan, PlanKind};
use rows::ExplainRow;

/// FORMAT = ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Traditional,
    Json,
    Tree,
}

fn format_of(explain: &ast::Explain) -> Result<Format> {
    match explain.format.as_deref() {
        None if explain.analyze => Ok(Format::Tree),
        None | Some("TRADITIONAL" | "TRADITIONAL_STRICT") => Ok(Format::Traditional),
        Some("JSON") => Ok(Format::Json),
        Some("TREE") => Ok(Format::Tree),
        Some(other) => {
            Err(Error::new(ErrorCode::UnknownExplainFormat, format!("Unknown EXPLAIN format name: '{other}'")))
        }
    }
}

/// The columns of the result, for PREPARE too.
pub fn result_columns(explain: &ast::Explain) -> Vec<ResultColumn> {
    match format_of(explain) {
        Ok(Format::Json | Format::Tree) => types_of("EXPLAIN l!"),
        _ => {
            let mut columns = types_of(
                "id U, select_type v19, table v64, partitions t, type v10, possible_keys v4096, key v64, key_len v4096, \
                 ref v1024, rows U, filtered f, Extra v255",
            );
            columns[10].sql_type = SqlType::decimal(5, 2);
            columns
        }
    }
}

pub async fn run<S: ResultSink>(
    session: &mut Session,
    explain: &ast::Explain,
    more: bool,
    sink: &mut S,
) -> Result<()> {
    session.clear_conditions();
    let ExplainTarget::Statement(statement) = &explain.target else {
        return Err(Error::unsupported("EXPLAIN FOR CONNECTION"));
    };
    if explain.schema.is_some() {
        return Err(Error::unsupported("EXPLAIN FOR SCHEMA"));
    }
    if !plans::is_planned(statement) {
        return Err(Error::unsupported("EXPLAIN of this statement"));
    }
    let format = format_of(explain)?;
    let plan = Rc::new(session.make_plan(statement, 0, Some(&[]))?);
    crate::account::check_plan(&session.asking(), &plan)?;
    let text = match format {
        Format::Traditional if explain.analyze => {
            return Err(Error::unsupported("EXPLAIN ANALYZE with FORMAT=TRADITIONAL"));
        }
        Format::Traditional => {
            let rows = rows_of(session, &plan);
            if rows.iter().any(|row| !row.windows.is_empty()) {
                let message = "To get information about window functions use EXPLAIN FORMAT=JSON";
                session.warn(WarningLevel::Note, ErrorCode::WindowExplainJson, message);
            }
            let rows: Vec<Vec<Value>> = rows.iter().map(values_of).collect();
            let columns = result_columns(explain);
            note_statement(session, statement);
            return session.send_rows(&columns, &rows, more, sink);
        }
        Format::Json if explain.analyze => return Err(Error::unsupported("EXPLAIN ANALYZE with FORMAT=JSON")),
        Format::Json => {
            note_statement(session, statement);
            json::text(&rows_of(session, &plan))
        }
        Format::Tree => {
            let lines = with_eval(session, |session, eval| tree::text(&session.transaction, eval, &plan));
            match explain.analyze {
                true => format!("{}{lines}", analyze(session, statement, &plan).await?),
                false => lines,
            }
        }
    };
    if let Some(name) = &explain.into {
        use shoal_expr::SessionValues;
        let collation = session.variables.settings.collation_connection;
        session.state.set_user_variable(name, Value::str(text), SqlType::varchar(65_535, collation));
        let summary = session.summary(0, 0, String::new(), more);
        return sink.finish(&summary);
    }
    session.send_rows(&result_columns(explain), &[vec![Value::str(text)]], more, sink)
}

/// The query as it was understood, for SHOW WARNINGS.
fn note_statement(session: &mut Session, statement: &Statement) {
    if let Statement::Query(query) = statement {
        session.warn(WarningLevel::Note, ErrorCode::Yes, query.to_string());
    }
}

/// Evaluates the constants of access paths; they see no session, so that explaining changes nothing.
fn with_eval<T>(session: &Session, work: impl FnOnce(&Session, &mut EvalContext<'_>) -> T) -> T {
    let now = session.variables.timestamp_micros.unwrap_or_else(|| session.server.clock_micros());
    let mut eval = EvalContext::new(&[], &session.variables.time_zone, now, session.variables.settings);
    work(session, &mut eval)
}

fn rows_of(session: &Session, plan: &Plan) -> Vec<ExplainRow> {
    with_eval(session, |session, eval| rows::explain(&session.transaction, eval, plan))
}

fn values_of(row: &ExplainRow) -> Vec<Value> {
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::str);
    vec![
        row.id.map_or(Value::Null, Value::UInt),
        Value::str(row.select_type.as_str()),
        text(&row.table),
        text(&row.partitions),
        row.access.map_or(Value::Null, Value::str),
        text(&row.possible_keys),
        text(&row.key),
        text(&row.key_length),
        text(&row.reference),
        row.rows.map_or(Value::Null, Value::UInt),
        row.filtered.map_or(Value::Null, |share| Value::Decimal(Decimal::parse(share.as_bytes()).value)),
        if row.extra.is_empty() { Value::Null } else { Value::str(row.extra.join("; ")) },
    ]
}

/// Counts rows and forgets them.
#[derive(Default)]
struct Count {
    rows: u64,
}

impl RowConsumer for Count {
    fn push(&mut self, _: &[Value]) -> Result<Flow> {
        self.rows += 1;
        Ok(Flow::Continue)
    }
}

/// Runs the query; a line that says how long it took and how many rows came.
async fn analyze(session: &mut Session, statement: &Statement, plan: &Plan) -> Result<String> {
    let (PlanKind::Select { query, into: None } | PlanKind::PointSelect { query, .. }) = &plan.kind else {
        let what = if matches!(statement, Statement::Query(_)) {
            "SELECT ... INTO"
        } else {
            "statements that change rows"
        };
        return Err(Error::unsupported(format!("EXPLAIN ANALYZE of {what}")));
    };
    session.begin_statement(false, true)?;
    let started = Instant::now();
    let mut count = Count::default();
    let outcome = session.with_context(&[], &[], false, async |ctx| ctx.run_query(query, &mut count).await).await;
    let elapsed = started.elapsed();
    match outcome {
        Ok(()) if !session.explicit_transaction => session.commit_statement(true).await?,
        Ok(()) => {}
        Err(error) => {
            session.undo_statement(&error, None);
            return Err(error);
        }
    }
    Ok(format!("-> Actual: time={:.3}ms rows={} loops=1\n", elapsed.as_secs_f64() * 1000.0, count.rows))
}

#[cfg(test)]
mod tests;
