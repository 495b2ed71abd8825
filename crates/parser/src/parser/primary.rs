//! Operands: literals, names, variables, parentheses, CASE and the words that start an expression.

use super::expression::{Interval, power};
use super::{Parser, Result};
use crate::ast::{
    Case, ColumnName, Expr, Ident, Literal, LiteralValue, Match, MatchMode, SystemVariable, TemporalKind,
    UnaryOperator, VariableScope,
};
use crate::lexer::TokenKind;
use crate::reserved::is_reserved;

impl Parser<'_> {
    /// An operand with the prefix operators before it.
    pub(super) fn prefix(&mut self, minimum: u8) -> Result<Expr> {
        match self.token.kind {
            TokenKind::Word => self.word(minimum),
            TokenKind::QuotedWord => self.named(),
            TokenKind::LeftParen => self.parenthesised(),
            TokenKind::Minus => self.prefix_operator(UnaryOperator::Minus, power::UNARY),
            TokenKind::Plus => self.prefix_operator(UnaryOperator::Plus, power::UNARY),
            TokenKind::Tilde => self.prefix_operator(UnaryOperator::BitNot, power::UNARY),
            TokenKind::Bang => self.prefix_operator(UnaryOperator::Not, power::BANG),
            TokenKind::Parameter => Ok(self.parameter()),
            TokenKind::AtName | TokenKind::At => self.user_variable_operand(),
            TokenKind::AtAt => Ok(Expr::SystemVariable(Box::new(self.system_variable()?))),
            TokenKind::LeftBrace => self.odbc_escape(),
            TokenKind::Dot => Ok(Expr::Column(Box::new(self.dotted_column()?))),
            _ => match self.optional_literal()? {
                Some(literal) => Ok(Expr::Literal(literal)),
                None => Err(self.unexpected()),
            },
        }
    }

    fn prefix_operator(&mut self, operator: UnaryOperator, operand_power: u8) -> Result<Expr> {
        self.advance();
        self.unary(operator, operand_power)
    }

    pub(super) fn parameter(&mut self) -> Expr {
        self.advance();
        let ordinal = self.parameter_count;
        self.parameter_count += 1;
        Expr::Parameter(ordinal)
    }

    #[inline(never)]
    fn user_variable_operand(&mut self) -> Result<Expr> {
        let name = self.user_variable()?;
        if !self.eat_kind(TokenKind::Assign) {
            return Ok(Expr::UserVariable(name));
        }
        let value = Box::new(self.expr()?);
        Ok(Expr::AssignUserVariable { name, value })
    }

    /// `@@[scope.]name[.name]`.
    #[inline(never)]
    pub(super) fn system_variable(&mut self) -> Result<SystemVariable> {
        self.expect_kind(TokenKind::AtAt)?;
        let scope = if self.peek(1).kind == TokenKind::Dot { self.variable_scope_word() } else { None };
        if scope.is_some() {
            self.advance();
            self.expect_kind(TokenKind::Dot)?;
        }
        let (component, name) = self.variable_name()?;
        Ok(SystemVariable { scope, component, name })
    }

    /// The scope that the current word names, which is not taken.
    pub(super) fn variable_scope_word(&self) -> Option<VariableScope> {
        match self.upper().as_str() {
            "GLOBAL" => Some(VariableScope::Global),
            "SESSION" | "LOCAL" => Some(VariableScope::Session),
            "PERSIST" => Some(VariableScope::Persist),
            "PERSIST_ONLY" => Some(VariableScope::PersistOnly),
            _ => None,
        }
    }

    /// `name` or `component.name`; DEFAULT.name is a key cache.
    pub(super) fn variable_name(&mut self) -> Result<(Option<Ident>, Ident)> {
        let first = if self.at("DEFAULT") { self.take_ident()? } else { self.ident()? };
        if self.eat_kind(TokenKind::Dot) {
            return Ok((Some(first), self.take_ident()?));
        }
        Ok((None, first))
    }

    /// `.table.column`, the ODBC way to leave out the schema.
    #[inline(never)]
    fn dotted_column(&mut self) -> Result<ColumnName> {
        self.expect_kind(TokenKind::Dot)?;
        let table = self.take_ident()?;
        self.expect_kind(TokenKind::Dot)?;
        let column = self.take_ident()?;
        Ok(ColumnName { schema: None, table: Some(table), column })
    }

    #[inline(never)]
    fn parenthesised(&mut self) -> Result<Expr> {
        if self.peeks_query_in_parens() {
            return Ok(Expr::Subquery(self.query_in_parens()?));
        }
        self.expect_kind(TokenKind::LeftParen)?;
        let first = self.expr()?;
        if let Expr::Subquery(query) = first {
            // ((SELECT ..) UNION ..): what looked like an operand was the first part of a query.
            let query = if self.at_kind(TokenKind::RightParen) || !self.at_query_continuation() {
                self.rest_of_row(Expr::Subquery(query))?
            } else {
                let query = self.continue_query(query)?;
                self.expect_kind(TokenKind::RightParen)?;
                Expr::Subquery(query)
            };
            return Ok(query);
        }
        self.rest_of_row(first)
    }

    /// The other fields of a row whose first has been parsed, and the closing parenthesis.
    fn rest_of_row(&mut self, first: Expr) -> Result<Expr> {
        if self.eat_kind(TokenKind::RightParen) {
            return Ok(first);
        }
        self.expect_kind(TokenKind::Comma)?;
        let mut fields = vec![first];
        fields.append(&mut self.comma_list(Self::expr)?);
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Row(fields))
    }

    #[inline(never)]
    fn word(&mut self, minimum: u8) -> Result<Expr> {
        let upper = self.upper();
        match upper.as_str() {
            "NULL" => Ok(self.constant(LiteralValue::Null)),
            "TRUE" => Ok(self.constant(LiteralValue::Boolean(true))),
            "FALSE" => Ok(self.constant(LiteralValue::Boolean(false))),
            "NOT" => self.not_operator(minimum),
            "BINARY" => self.prefix_operator(UnaryOperator::Binary, power::COLLATE),
            "CASE" => self.case(),
            "EXISTS" => {
                self.advance();
                Ok(Expr::Exists(self.query_in_parens()?))
            }
            "INTERVAL" => self.leading_interval(),
            "DEFAULT" => self.default(),
            "VALUES" => {
                self.advance();
                let column = self.column_in_parens()?;
                Ok(Expr::InsertedValue(Box::new(column)))
            }
            "MATCH" => self.full_text_match(),
            "ROW" => {
                self.advance();
                match self.exprs_in_parens()? {
                    fields if fields.len() > 1 => Ok(Expr::Row(fields)),
                    _ => Err(self.unexpected()),
                }
            }
            "DATE" | "TIME" | "TIMESTAMP" => match self.optional_temporal_literal()? {
                Some(literal) => Ok(literal),
                None => self.named(),
            },
            word if word.starts_with('_') => match self.optional_literal()? {
                Some(literal) => Ok(Expr::Literal(literal)),
                None => self.named(),
            },
            _ => self.named(),
        }
    }

    fn constant(&mut self, value: LiteralValue) -> Expr {
        self.advance();
        Expr::Literal(Literal { value, ordinal: None })
    }

    /// A column, or a function by its name.
    #[inline(never)]
    fn named(&mut self) -> Result<Expr> {
        let token = self.token;
        let reserved = token.kind == TokenKind::Word && is_reserved(self.bytes_of(&token));
        if reserved {
            return self.reserved_function();
        }
        let upper = self.upper();
        let name = self.take_ident()?;
        match self.token.kind {
            TokenKind::LeftParen => {
                let adjacent = self.token.start == token.end;
                self.function(name, upper.as_str(), adjacent)
            }
            TokenKind::Dot => self.qualified(name),
            _ => self.column_operand(ColumnName { schema: None, table: None, column: name }),
        }
    }

    /// A column with a qualifier, or a stored function with its schema.
    #[inline(never)]
    fn qualified(&mut self, first: Ident) -> Result<Expr> {
        let name = self.column_name_from(first)?;
        match (name.schema.is_none(), self.token.kind) {
            (true, TokenKind::LeftParen) => self.stored_function(name.table, name.column),
            _ => self.column_operand(name),
        }
    }

    /// A column with the JSON operators that may follow it.
    #[inline(never)]
    fn column_operand(&mut self, column: ColumnName) -> Result<Expr> {
        let unquote = match self.token.kind {
            TokenKind::Arrow => false,
            TokenKind::DoubleArrow => true,
            _ => return Ok(Expr::Column(Box::new(column))),
        };
        self.advance();
        let path = Box::new(self.literal_of_string()?);
        Ok(Expr::JsonExtract { column: Box::new(column), path, unquote })
    }

    fn column_in_parens(&mut self) -> Result<ColumnName> {
        self.expect_kind(TokenKind::LeftParen)?;
        let column = self.column_name()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(column)
    }

    #[inline(never)]
    fn default(&mut self) -> Result<Expr> {
        self.advance();
        if !self.at_kind(TokenKind::LeftParen) {
            return Ok(Expr::Default(None));
        }
        let column = self.column_in_parens()?;
        Ok(Expr::Default(Some(Box::new(column))))
    }

    #[inline(never)]
    fn case(&mut self) -> Result<Expr> {
        self.advance();
        let operand = if self.at("WHEN") { None } else { Some(self.expr()?) };
        let mut branches = Vec::new();
        while self.eat("WHEN") {
            let condition = self.expr()?;
            self.expect("THEN")?;
            branches.push((condition, self.expr()?));
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.eat("ELSE") { Some(self.expr()?) } else { None };
        self.expect("END")?;
        Ok(Expr::Case(Box::new(Case { operand, branches, otherwise })))
    }

    /// `INTERVAL amount unit + date`, or the function INTERVAL.
    #[inline(never)]
    fn leading_interval(&mut self) -> Result<Expr> {
        match self.interval()? {
            Interval::Call(call) => Ok(call),
            Interval::Amount(amount, unit) => {
                self.expect_kind(TokenKind::Plus)?;
                let date = self.expression(power::UNARY)?;
                Ok(Expr::DateArithmetic { date: Box::new(date), amount: Box::new(amount), unit, subtract: false })
            }
        }
    }

    /// `MATCH (columns) AGAINST (expr [mode])`.
    #[inline(never)]
    fn full_text_match(&mut self) -> Result<Expr> {
        self.advance();
        let columns = if self.at_kind(TokenKind::LeftParen) {
            self.paren_list(Self::column_name)?
        } else {
            self.comma_list(Self::column_name)?
        };
        self.expect("AGAINST")?;
        self.expect_kind(TokenKind::LeftParen)?;
        // Without the predicates, so that IN starts the mode.
        let against = self.expression(power::BIT_OR)?;
        let mode = if self.eat("IN") {
            if self.eat("BOOLEAN") {
                self.expect("MODE")?;
                MatchMode::Boolean
            } else {
                self.expect_all(&["NATURAL", "LANGUAGE", "MODE"])?;
                if self.query_expansion()? {
                    MatchMode::NaturalLanguageWithQueryExpansion
                } else {
                    MatchMode::NaturalLanguage
                }
            }
        } else if self.query_expansion()? {
            MatchMode::QueryExpansion
        } else {
            MatchMode::NaturalLanguage
        };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Expr::Match(Box::new(Match { columns, against, mode })))
    }

    fn query_expansion(&mut self) -> Result<bool> {
        let found = self.eat("WITH");
        if found {
            self.expect_all(&["QUERY", "EXPANSION"])?;
        }
        Ok(found)
    }

    /// `{d '..'}`, `{t '..'}`, `{ts '..'}`, `{fn expr}`.
    #[inline(never)]
    fn odbc_escape(&mut self) -> Result<Expr> {
        self.advance();
        let kind = match self.upper().as_str() {
            "D" => Some(TemporalKind::Date),
            "T" => Some(TemporalKind::Time),
            "TS" => Some(TemporalKind::Timestamp),
            _ => None,
        };
        self.ident()?;
        let expr = match kind {
            Some(kind) if self.at_string() => Expr::Temporal { kind, text: self.string()? },
            _ => self.expr()?,
        };
        self.expect_kind(TokenKind::RightBrace)?;
        Ok(expr)
    }
}
