//! Tests of the parser, by theme.

mod corpus;
mod dump;
mod errors;
mod hostile;
mod modes;
mod precedence;
mod statements;

use super::{parse, parse_expression};
use crate::ast::{Expr, Statement};
use crate::{ParseError, ParserMode};

/// The only statement of `sql`.
fn statement(sql: &str) -> Statement {
    let mut statements = parse(sql.as_bytes(), ParserMode::NONE).unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert_eq!(statements.len(), 1, "{sql}");
    statements.remove(0)
}

fn expression(sql: &str) -> Expr {
    parse_expression(sql.as_bytes(), ParserMode::NONE).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn error(sql: &str) -> ParseError {
    match parse(sql.as_bytes(), ParserMode::NONE) {
        Ok(statements) => panic!("{sql} parsed into {statements:?}"),
        Err(error) => error,
    }
}
