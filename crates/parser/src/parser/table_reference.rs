//! Table references: tables, joins, derived tables, index hints, JSON_TABLE.

use super::{Parser, Result};
use crate::ParseErrorKind;
use crate::ast::{
    Ident, IndexHint, IndexHintAction, IndexHintScope, Join, JoinCondition, JoinKind, JsonTable, JsonTableColumn,
    Query, TableFactor, TableReference,
};
use crate::lexer::TokenKind;

/// ON clauses that may be postponed: `a JOIN b JOIN c ON .. ON ..` has one. Each nests the tree one level deeper.
const POSTPONED_CONDITIONS_MAX: usize = 64;

/// What a parenthesis in FROM holds.
enum Parenthesised {
    Query(Box<Query>),
    Tables(Vec<TableReference>),
}

impl Parser<'_> {
    pub(super) fn table_reference(&mut self) -> Result<TableReference> {
        self.enter(|parser| {
            let base = parser.table_factor()?;
            parser.joins_behind(base)
        })
    }

    #[inline(never)]
    fn joins_behind(&mut self, base: TableFactor) -> Result<TableReference> {
        let mut joins: Vec<Join> = Vec::new();
        let mut postponed = 0;
        loop {
            if let Some((kind, natural)) = self.optional_join_words()? {
                let right = TableReference { base: self.enter(Self::table_factor)?, joins: Vec::new() };
                joins.push(Join { kind, natural, right, condition: None });
            } else if let Some(open) = self.open_join(&joins) {
                self.attach_condition(&mut joins, open, &mut postponed)?;
            } else {
                break;
            }
        }
        let outer_without_condition = joins.iter().any(|join| {
            matches!(join.kind, JoinKind::Left | JoinKind::Right) && !join.natural && join.condition.is_none()
        });
        if outer_without_condition {
            return Err(self.unexpected());
        }
        Ok(TableReference { base, joins })
    }

    /// The join that an ON or USING at the current token belongs to: the last one without a condition.
    fn open_join(&self, joins: &[Join]) -> Option<usize> {
        let on = self.at("ON") && !self.peek_is(1, "DUPLICATE");
        if !on && !self.at("USING") {
            return None;
        }
        joins.iter().rposition(|join| join.condition.is_none() && !join.natural)
    }

    /// Takes the condition of the join at `open`; the joins behind that one become part of its right side.
    #[inline(never)]
    fn attach_condition(&mut self, joins: &mut Vec<Join>, open: usize, postponed: &mut usize) -> Result<()> {
        if open + 1 < joins.len() {
            *postponed += 1;
            if *postponed > POSTPONED_CONDITIONS_MAX {
                return Err(self.error_of(ParseErrorKind::TooNested));
            }
        }
        let condition = if self.eat("ON") {
            JoinCondition::On(self.expr()?)
        } else {
            self.expect("USING")?;
            JoinCondition::Using(self.ident_list_in_parens()?)
        };
        let nested = joins.split_off(open + 1);
        joins[open].right.joins.extend(nested);
        joins[open].condition = Some(condition);
        Ok(())
    }

    /// The words that join; (kind, NATURAL).
    fn optional_join_words(&mut self) -> Result<Option<(JoinKind, bool)>> {
        let natural = self.eat("NATURAL");
        let upper = self.upper();
        let kind = match upper.as_str() {
            "JOIN" => JoinKind::Inner,
            "STRAIGHT_JOIN" if !natural => {
                self.advance();
                return Ok(Some((JoinKind::Straight, false)));
            }
            "INNER" => {
                self.advance();
                JoinKind::Inner
            }
            "CROSS" if !natural => {
                self.advance();
                JoinKind::Inner
            }
            "LEFT" | "RIGHT" => {
                self.advance();
                self.eat("OUTER");
                if upper.as_str() == "LEFT" { JoinKind::Left } else { JoinKind::Right }
            }
            _ if natural => return Err(self.unexpected()),
            _ => return Ok(None),
        };
        self.expect("JOIN")?;
        Ok(Some((kind, natural)))
    }

    #[inline(never)]
    fn table_factor(&mut self) -> Result<TableFactor> {
        if self.at_kind(TokenKind::LeftParen) {
            return match self.parenthesised_tables()? {
                Parenthesised::Query(query) => self.derived_table(false, query),
                Parenthesised::Tables(tables) => Ok(TableFactor::Nested(tables)),
            };
        }
        if self.eat_kind(TokenKind::LeftBrace) {
            // The ODBC outer join: { OJ table_reference }.
            self.ident()?;
            let table = self.table_reference()?;
            self.expect_kind(TokenKind::RightBrace)?;
            return Ok(TableFactor::Nested(vec![table]));
        }
        if self.eat("LATERAL") {
            let query = self.query_in_parens()?;
            return self.derived_table(true, query);
        }
        if self.at("JSON_TABLE") {
            return self.json_table();
        }
        let name = self.object_name()?;
        let partitions = self.optional_partition_selection()?;
        let alias = self.optional_table_alias()?;
        let hints = self.index_hints()?;
        Ok(TableFactor::Table { name, partitions, alias, hints })
    }

    #[inline(never)]
    fn parenthesised_tables(&mut self) -> Result<Parenthesised> {
        if self.peeks_query_in_parens() {
            return Ok(Parenthesised::Query(self.query_in_parens()?));
        }
        self.expect_kind(TokenKind::LeftParen)?;
        let first = if self.at_kind(TokenKind::LeftParen) {
            match self.enter(Self::parenthesised_tables)? {
                Parenthesised::Query(query) if self.eat_kind(TokenKind::RightParen) => {
                    return Ok(Parenthesised::Query(query));
                }
                Parenthesised::Query(query) if self.at_query_continuation() => {
                    let query = self.continue_query(query)?;
                    self.expect_kind(TokenKind::RightParen)?;
                    return Ok(Parenthesised::Query(query));
                }
                Parenthesised::Query(query) => self.derived_table(false, query)?,
                Parenthesised::Tables(tables) => TableFactor::Nested(tables),
            }
        } else {
            self.enter(Self::table_factor)?
        };
        let mut tables = vec![self.joins_behind(first)?];
        while self.eat_kind(TokenKind::Comma) {
            tables.push(self.table_reference()?);
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Parenthesised::Tables(tables))
    }

    #[inline(never)]
    fn derived_table(&mut self, lateral: bool, query: Box<Query>) -> Result<TableFactor> {
        let alias = self.optional_table_alias()?;
        let columns = if alias.is_some() { self.optional_ident_list()? } else { Vec::new() };
        Ok(TableFactor::Derived { lateral, query, alias, columns })
    }

    /// `[AS] alias`.
    pub(super) fn optional_table_alias(&mut self) -> Result<Option<Ident>> {
        if self.eat("AS") { self.ident().map(Some) } else { self.optional_ident() }
    }

    /// `PARTITION (p0, ..)`.
    pub(super) fn optional_partition_selection(&mut self) -> Result<Vec<Ident>> {
        if self.at("PARTITION") && self.peek(1).kind == TokenKind::LeftParen {
            self.advance();
            return self.ident_list_in_parens();
        }
        Ok(Vec::new())
    }

    #[inline(never)]
    fn index_hints(&mut self) -> Result<Vec<IndexHint>> {
        let mut hints = Vec::new();
        loop {
            let action = match self.upper().as_str() {
                "USE" => IndexHintAction::Use,
                "IGNORE" => IndexHintAction::Ignore,
                "FORCE" => IndexHintAction::Force,
                _ => return Ok(hints),
            };
            if !self.peek_is(1, "INDEX") && !self.peek_is(1, "KEY") {
                return Ok(hints);
            }
            self.advance();
            self.advance();
            let scope = self.index_hint_scope()?;
            self.expect_kind(TokenKind::LeftParen)?;
            let empty = action == IndexHintAction::Use && self.at_kind(TokenKind::RightParen);
            let indexes = if empty { Vec::new() } else { self.comma_list(Self::index_name)? };
            self.expect_kind(TokenKind::RightParen)?;
            hints.push(IndexHint { action, scope, indexes });
        }
    }

    fn index_hint_scope(&mut self) -> Result<Option<IndexHintScope>> {
        if !self.eat("FOR") {
            return Ok(None);
        }
        if self.eat("JOIN") {
            return Ok(Some(IndexHintScope::Join));
        }
        let scope = if self.eat("ORDER") {
            IndexHintScope::OrderBy
        } else {
            self.expect("GROUP")?;
            IndexHintScope::GroupBy
        };
        self.expect("BY")?;
        Ok(Some(scope))
    }

    /// An index's name; PRIMARY is one though reserved.
    pub(super) fn index_name(&mut self) -> Result<Ident> {
        if self.at("PRIMARY") { self.take_ident() } else { self.ident() }
    }

    /// `JSON_TABLE(document, 'path' COLUMNS (..)) [AS] alias`.
    #[inline(never)]
    fn json_table(&mut self) -> Result<TableFactor> {
        self.advance();
        self.expect_kind(TokenKind::LeftParen)?;
        let document = self.expr()?;
        self.expect_kind(TokenKind::Comma)?;
        let path = self.string()?;
        let columns = self.json_table_columns()?;
        self.expect_kind(TokenKind::RightParen)?;
        let alias = self.optional_table_alias()?;
        Ok(TableFactor::JsonTable(Box::new(JsonTable { document, path, columns, alias })))
    }

    fn json_table_columns(&mut self) -> Result<Vec<JsonTableColumn>> {
        self.expect("COLUMNS")?;
        self.enter(|parser| parser.paren_list(Self::json_table_column))
    }

    fn json_table_column(&mut self) -> Result<JsonTableColumn> {
        if self.at("NESTED") && (self.peek_is(1, "PATH") || self.peek(1).kind == TokenKind::String) {
            self.advance();
            self.eat("PATH");
            let path = self.string()?;
            let columns = self.json_table_columns()?;
            return Ok(JsonTableColumn::Nested { path, columns });
        }
        let name = self.ident()?;
        if self.eat("FOR") {
            self.expect("ORDINALITY")?;
            return Ok(JsonTableColumn::Ordinality(name));
        }
        let mut data_type = self.data_type()?;
        if self.eat("COLLATE") {
            data_type.collation = Some(self.collation_name()?);
        }
        let exists = self.eat("EXISTS");
        self.expect("PATH")?;
        let path = self.string()?;
        let (on_empty, on_error) = self.json_responses()?;
        Ok(JsonTableColumn::Path { name, data_type, exists, path, on_empty, on_error })
    }
}
