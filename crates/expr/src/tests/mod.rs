//! Tests of whole expressions: from text to text.

mod aggregates;
mod building;
mod control;
mod dates;
mod jsons;
mod numbers;
mod order;
mod robustness;
mod session;
mod sql;
mod texts;

use shoal_types::{DateRules, DateTime, Error, SqlType, TimeZone, Value};

use crate::build::BuildContext;
use crate::context::{EvalContext, Settings};
use crate::expr::Expr;
use crate::row_source::NoRow;
use session::TestSession;

/// The statement's time in these tests: 2024-02-29 13:14:15.678901 UTC.
pub fn now_micros() -> i64 {
    let now = DateTime::new([2024, 2, 29, 13, 14, 15], 678_901, 6, DateRules::default()).unwrap();
    TimeZone::UTC.to_utc_micros(now)
}

/// What an expression yields: its text, or the error; and the messages of its warnings.
pub fn evaluate(sql: &str) -> (Result<String, Error>, Vec<String>) {
    evaluate_with(sql, &[], &[], Settings::default())
}

pub fn evaluate_with(
    sql: &str,
    columns: &[(&str, SqlType)],
    row: &[Value],
    settings: Settings,
) -> (Result<String, Error>, Vec<String>) {
    let context = BuildContext { settings, database: Some("test") };
    let expr = match sql::read(sql, columns, &context) {
        Ok(expr) => expr,
        Err(error) => return (Err(error), Vec::new()),
    };
    let mut session = TestSession::default();
    let mut ctx = EvalContext::new(&[], &TimeZone::UTC, now_micros(), settings).with_session(&mut session);
    let result = expr.eval(row, &mut ctx).map(|value| shown(&value, expr.sql_type()));
    let warnings = ctx.warnings.list().iter().map(|warning| warning.message.clone()).collect();
    (result, warnings)
}

/// The value as a client sees it.
pub fn shown(value: &Value, sql_type: &SqlType) -> String {
    if value.is_null() {
        return "NULL".to_owned();
    }
    let mut text = Vec::new();
    value.append_text_as(sql_type, &mut text);
    String::from_utf8(text.clone()).unwrap_or_else(|_| format!("{text:02X?}"))
}

/// Checks a table of expressions and their texts; an expected text `ERROR n` is an error of that number.
pub fn check(table: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (sql, expected) in table {
        let found = match evaluate(sql).0 {
            Ok(text) => text,
            Err(error) => format!("ERROR {}", error.errno()),
        };
        if found != *expected {
            wrong.push(format!("{sql}\n    expected {expected}\n    found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

pub fn build(sql: &str, columns: &[(&str, SqlType)]) -> Expr {
    sql::read(sql, columns, &BuildContext::default()).unwrap()
}

/// The warnings of an expression.
pub fn warnings_of(sql: &str) -> Vec<String> {
    evaluate(sql).1
}

pub fn constant(expr: &Expr) -> Value {
    let mut ctx = EvalContext::new(&[], &TimeZone::UTC, now_micros(), Settings::default());
    expr.eval(&NoRow, &mut ctx).unwrap()
}
