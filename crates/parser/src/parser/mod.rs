//! The recursive-descent parser.
//!
//! One method a grammar rule; expressions by precedence climbing (`expression`). Every rule that can contain itself goes through `enter`,
//! so recursion is bounded by `NESTING_MAX`, and every expression's height by `EXPRESSION_HEIGHT_MAX`. Nothing is parsed twice:
//! where the grammar is ambiguous the parser looks at a few tokens ahead, never tries and goes back.

mod account;
mod admin;
mod alter_table;
mod create_table;
mod cursor;
mod data_type;
mod dml;
mod event;
mod expression;
mod function;
mod handler;
mod literal;
mod load;
mod object;
mod partition;
mod primary;
mod query;
mod replication;
mod routine;
mod session;
mod set;
mod show;
mod statement;
mod table_option;
mod table_reference;
mod tablespace;
mod transaction;
mod user;
mod window;

#[cfg(test)]
mod tests;

use crate::ast::{Expr, Statement};
use crate::digest::{Digester, LiteralToken};
use crate::lexer::{Lexer, Token, TokenKind};
use crate::{ParseError, ParseErrorKind, ParserMode};

/// Rules inside rules: parentheses, subqueries, function arguments, blocks. A level costs about 2 KiB of stack in a release build, so this
/// fits in a thread with 2 MiB many times over.
pub const NESTING_MAX: u32 = 200;

/// Levels of operators and calls from an expression to its deepest leaf. Bounds the recursion of whoever walks or drops a tree.
pub const EXPRESSION_HEIGHT_MAX: u32 = 1000;

pub(crate) type Result<T> = std::result::Result<T, ParseError>;

/// The first statement of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The tree.
    pub statement: Statement,
    /// The number of `?` markers.
    pub parameter_count: u32,
    /// Byte range of the statement in the text, without the semicolon.
    pub start: usize,
    /// Exclusive.
    pub end: usize,
    /// Where the next statement starts; None when nothing but blanks, comments and semicolons follows.
    pub next: Option<usize>,
}

/// A statement whose literals can be replaced by those of another statement with the same digest.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameterised {
    /// The tree, whose literals have ordinals.
    pub statement: Statement,
    /// Literals in the digest's list; each `Literal::ordinal` is below this.
    pub literal_count: u32,
    /// Every literal of the list stands in the tree as an expression with its ordinal, and there is no `?`. When false, a value of the list
    /// shaped the tree in another way (a type's length, a JSON path, a temporal literal ..): the plan serves this text alone.
    pub rebindable: bool,
    /// Byte offset of the statement's first token.
    pub start: usize,
    /// Exclusive, without the semicolon.
    pub end: usize,
    /// Where the next statement starts, if there is one.
    pub next: Option<usize>,
}

/// Parses every statement of `sql`.
pub fn parse(sql: &[u8], mode: ParserMode) -> Result<Vec<Statement>> {
    let mut statements = Vec::new();
    let mut position = Some(0);
    while let Some(start) = position {
        let parsed = parse_first(sql, start, mode)?;
        statements.push(parsed.statement);
        position = parsed.next;
    }
    Ok(statements)
}

/// Parses the first statement at or behind byte `start` of `sql`; positions in trees and errors count from the start of `sql`.
pub fn parse_first(sql: &[u8], start: usize, mode: ParserMode) -> Result<Parsed> {
    let mut parser = Parser::new(sql, start, mode);
    let (statement, start, end) = parser.single_statement()?;
    Ok(Parsed { statement, parameter_count: parser.parameter_count, start, end, next: parser.next_statement() })
}

/// Parses the first statement at or behind byte `start` and gives its literals their ordinals in the list that `Digester` yields.
pub fn parse_parameterised(sql: &[u8], start: usize, mode: ParserMode) -> Result<Parameterised> {
    let mut literals = Vec::new();
    Digester::default().digest(sql, start, mode, &mut literals);
    let mut parser = Parser::new(sql, start, mode);
    parser.bound_literals = vec![false; literals.len()];
    parser.literals = literals;
    let (statement, start, end) = parser.single_statement()?;
    Ok(Parameterised {
        statement,
        literal_count: parser.literals.len() as u32,
        rebindable: parser.parameter_count == 0 && parser.bound_literals.iter().all(|&bound| bound),
        start,
        end,
        next: parser.next_statement(),
    })
}

/// Parses a lone expression, as stored for defaults, generated columns and checks.
pub fn parse_expression(sql: &[u8], mode: ParserMode) -> Result<Expr> {
    let mut parser = Parser::new(sql, 0, mode);
    let expr = parser.expr()?;
    parser.expect_kind(TokenKind::End)?;
    Ok(expr)
}

pub(crate) struct Parser<'a> {
    source: &'a [u8],
    lexer: Lexer<'a>,
    mode: ParserMode,
    /// The token that the next rule looks at.
    token: Token,
    /// End of the token before it.
    previous_end: usize,
    nesting: u32,
    /// Height of the tallest expression parsed since this was last set to zero; see `expression`.
    height: u32,
    parameter_count: u32,
    /// Inside CREATE PROCEDURE and friends, where compound statements are allowed.
    in_routine: bool,
    /// The digest's literals, by source position, when literals are to get ordinals.
    literals: Vec<LiteralToken>,
    bound_literals: Vec<bool>,
}

impl<'a> Parser<'a> {
    fn new(source: &'a [u8], start: usize, mode: ParserMode) -> Parser<'a> {
        let mut lexer = Lexer::new(source, start, mode);
        let token = lexer.next();
        Parser {
            source,
            lexer,
            mode,
            token,
            previous_end: start.min(source.len()),
            nesting: 0,
            height: 0,
            parameter_count: 0,
            in_routine: false,
            literals: Vec::new(),
            bound_literals: Vec::new(),
        }
    }

    /// One statement and what ends it; the statement's start and end.
    fn single_statement(&mut self) -> Result<(Statement, usize, usize)> {
        while self.token.kind == TokenKind::Semicolon {
            self.advance();
        }
        if self.token.kind == TokenKind::End {
            return Err(self.error_of(ParseErrorKind::EmptyQuery));
        }
        let start = self.token.start as usize;
        let statement = self.statement()?;
        let end = self.previous_end;
        if !matches!(self.token.kind, TokenKind::Semicolon | TokenKind::End) {
            return Err(self.unexpected());
        }
        Ok((statement, start, end))
    }

    /// Skips semicolons; where the next statement starts.
    fn next_statement(&mut self) -> Option<usize> {
        while self.token.kind == TokenKind::Semicolon {
            self.advance();
        }
        (self.token.kind != TokenKind::End).then_some(self.token.start as usize)
    }

    /// Runs a rule one level deeper.
    fn enter<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.enter_levels(1, rule)
    }

    /// As `enter`, for rules that take more stack than an expression.
    fn enter_levels<T>(&mut self, levels: u32, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting + levels > NESTING_MAX {
            return Err(self.error_of(ParseErrorKind::TooNested));
        }
        self.nesting += levels;
        let result = rule(self);
        self.nesting -= levels;
        result
    }
}
