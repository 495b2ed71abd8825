//! Query expressions and SELECT.

use super::{Parser, Result};
use crate::ast::{
    CommonTableExpression, Expr, FieldFormat, GroupBy, IntoTarget, Limit, LineFormat, LockStrength, LockWait,
    LockingClause, ObjectName, OrderItem, Query, QueryBody, Select, SelectInto, SelectItem, SelectOptions,
    SetOperationTerm, SetOperations, SetOperator, With,
};
use crate::lexer::{TokenKind, trim_marks};

/// Nesting levels that a query takes: its rules use more stack than an expression's.
const QUERY_LEVELS: u32 = 3;

impl Parser<'_> {
    /// True before `( SELECT`, `( WITH`, `( TABLE` and `( VALUES ROW`.
    pub(super) fn peeks_query_in_parens(&self) -> bool {
        self.at_kind(TokenKind::LeftParen)
            && (self.peek_is(1, "SELECT")
                || self.peek_is(1, "WITH")
                || self.peek_is(1, "TABLE")
                || (self.peek_is(1, "VALUES") && self.peek_is(2, "ROW")))
    }

    /// True at the first word of a query.
    pub(super) fn at_query_word(&self) -> bool {
        self.at_any(&["SELECT", "WITH", "TABLE"]) || (self.at("VALUES") && self.peek_is(1, "ROW"))
    }

    /// True at what may follow a query in parentheses that is part of a larger query.
    pub(super) fn at_query_continuation(&self) -> bool {
        self.at_any(&["UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT", "INTO", "FOR", "LOCK"])
    }

    /// `( query )`.
    #[inline(never)]
    pub(super) fn query_in_parens(&mut self) -> Result<Box<Query>> {
        self.expect_kind(TokenKind::LeftParen)?;
        let query = self.query()?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(query)
    }

    #[inline(never)]
    pub(super) fn query(&mut self) -> Result<Box<Query>> {
        self.enter_levels(QUERY_LEVELS, |parser| {
            let with = parser.optional_with()?;
            parser.query_behind_with(with)
        })
    }

    /// The rest of a query whose WITH clause has been taken.
    pub(super) fn query_behind_with(&mut self, with: Option<With>) -> Result<Box<Query>> {
        let (first, into) = self.query_primary()?;
        self.query_tail(with, first, into)
    }

    /// Goes on behind a query in parentheses that turned out to be the first part of a larger one.
    #[inline(never)]
    pub(super) fn continue_query(&mut self, first: Box<Query>) -> Result<Box<Query>> {
        self.enter_levels(QUERY_LEVELS, |parser| parser.query_tail(None, QueryBody::Parenthesised(first), None))
    }

    /// Set operations behind `first`, then ORDER BY, LIMIT, locking, INTO. `into` is what `first` had before FROM.
    #[inline(never)]
    fn query_tail(
        &mut self,
        with: Option<With>,
        first: QueryBody,
        into: Option<SelectInto>,
    ) -> Result<Box<Query>> {
        if into.is_some() && self.at_any(&["UNION", "EXCEPT", "INTERSECT"]) {
            return Err(self.unexpected());
        }
        let body = self.set_operations(first)?;
        let order_by = self.optional_order_by()?;
        let limit = self.optional_limit()?;
        let mut locking = Vec::new();
        let mut into = into;
        loop {
            if let Some(clause) = self.optional_locking()? {
                locking.push(clause);
            } else if into.is_none() && self.at("INTO") {
                into = self.optional_into()?;
            } else {
                break;
            }
        }
        let bare =
            with.is_none() && order_by.is_empty() && limit.is_none() && locking.is_empty() && into.is_none();
        Ok(match body {
            // Parentheses around a whole query say nothing.
            QueryBody::Parenthesised(query) if bare => query,
            body => Box::new(Query { with, body, order_by, limit, locking, into }),
        })
    }

    fn set_operations(&mut self, first: QueryBody) -> Result<QueryBody> {
        let first = self.intersections(first)?;
        let mut rest = Vec::new();
        loop {
            let operator = match self.upper().as_str() {
                "UNION" => SetOperator::Union,
                "EXCEPT" => SetOperator::Except,
                _ => break,
            };
            self.advance();
            let all = self.set_quantifier();
            let term = self.query_term()?;
            let body = self.intersections(term)?;
            rest.push(SetOperationTerm { operator, all, body });
        }
        Ok(set_operations(first, rest))
    }

    fn intersections(&mut self, first: QueryBody) -> Result<QueryBody> {
        let mut rest = Vec::new();
        while self.eat("INTERSECT") {
            let all = self.set_quantifier();
            let body = self.query_term()?;
            rest.push(SetOperationTerm { operator: SetOperator::Intersect, all, body });
        }
        Ok(set_operations(first, rest))
    }

    /// ALL or DISTINCT; true for ALL.
    fn set_quantifier(&mut self) -> bool {
        let all = self.eat("ALL");
        if !all {
            self.eat("DISTINCT");
        }
        all
    }

    /// A query that is an operand of a set operation behind the first: INTO has no place before its FROM.
    #[inline(never)]
    fn query_term(&mut self) -> Result<QueryBody> {
        match self.query_primary()? {
            (body, None) => Ok(body),
            (_, Some(_)) => Err(self.unexpected()),
        }
    }

    /// A query without set operations, and the INTO that stands before its FROM.
    #[inline(never)]
    fn query_primary(&mut self) -> Result<(QueryBody, Option<SelectInto>)> {
        if self.at_kind(TokenKind::LeftParen) {
            return Ok((QueryBody::Parenthesised(self.query_in_parens()?), None));
        }
        match self.upper().as_str() {
            "SELECT" => {
                let (select, into) = self.select()?;
                Ok((QueryBody::Select(Box::new(select)), into))
            }
            "TABLE" => {
                self.advance();
                Ok((QueryBody::Table(self.object_name()?), None))
            }
            "VALUES" => {
                self.advance();
                let rows = self.comma_list(|parser| {
                    parser.expect("ROW")?;
                    parser.arguments()
                })?;
                Ok((QueryBody::Values(rows), None))
            }
            _ => Err(self.unexpected()),
        }
    }

    pub(super) fn optional_with(&mut self) -> Result<Option<With>> {
        if !self.eat("WITH") {
            return Ok(None);
        }
        let recursive = self.eat("RECURSIVE");
        let tables = self.comma_list(|parser| {
            let name = parser.ident()?;
            let columns = parser.optional_ident_list()?;
            parser.expect("AS")?;
            let query = parser.query_in_parens()?;
            Ok(CommonTableExpression { name, columns, query })
        })?;
        Ok(Some(With { recursive, tables }))
    }

    #[inline(never)]
    fn select(&mut self) -> Result<(Select, Option<SelectInto>)> {
        self.expect("SELECT")?;
        let hints = self.optional_hints();
        let options = self.select_options();
        let items = self.select_items()?;
        let into = self.optional_into()?;
        let mut from = Vec::new();
        let mut from_dual = false;
        if self.eat("FROM") {
            from_dual = self.eat("DUAL");
            if !from_dual {
                from = self.comma_list(Self::table_reference)?;
            }
        }
        let selection = self.optional_where()?;
        let group_by = self.optional_group_by()?;
        let having = if self.eat("HAVING") { Some(self.expr()?) } else { None };
        let windows = if self.eat("WINDOW") { self.comma_list(Self::named_window)? } else { Vec::new() };
        let select = Select { hints, options, items, from, from_dual, selection, group_by, having, windows };
        Ok((select, into))
    }

    pub(super) fn optional_hints(&mut self) -> Option<Vec<u8>> {
        let token = self.token;
        self.eat_kind(TokenKind::Hint).then(|| trim_marks(self.source, &token).trim_ascii().to_vec())
    }

    fn select_options(&mut self) -> SelectOptions {
        let mut options = SelectOptions::default();
        loop {
            match self.upper().as_str() {
                "ALL" => {}
                "DISTINCT" | "DISTINCTROW" => options.distinct = true,
                "HIGH_PRIORITY" => options.high_priority = true,
                "STRAIGHT_JOIN" => options.straight_join = true,
                "SQL_SMALL_RESULT" => options.small_result = true,
                "SQL_BIG_RESULT" => options.big_result = true,
                "SQL_BUFFER_RESULT" => options.buffer_result = true,
                "SQL_NO_CACHE" => options.no_cache = true,
                "SQL_CALC_FOUND_ROWS" => options.calc_found_rows = true,
                _ => return options,
            }
            self.advance();
        }
    }

    fn select_items(&mut self) -> Result<Vec<SelectItem>> {
        let first = if self.eat_kind(TokenKind::Star) { SelectItem::Wildcard } else { self.select_item()? };
        let mut items = vec![first];
        while self.eat_kind(TokenKind::Comma) {
            items.push(self.select_item()?);
        }
        Ok(items)
    }

    fn select_item(&mut self) -> Result<SelectItem> {
        if let Some(name) = self.optional_qualified_wildcard()? {
            return Ok(SelectItem::QualifiedWildcard(name));
        }
        let start = self.here();
        let expr = self.expr()?;
        let text = self.text_since(start);
        let alias = if self.eat("AS") || self.at_ident() || self.token.kind == TokenKind::String {
            Some(self.ident_or_string()?.value)
        } else {
            None
        };
        Ok(SelectItem::Expression { expr, alias, text })
    }

    /// `table.*` or `schema.table.*`.
    fn optional_qualified_wildcard(&mut self) -> Result<Option<ObjectName>> {
        if !self.at_ident() || self.peek(1).kind != TokenKind::Dot {
            return Ok(None);
        }
        let qualified = self.peek(3).kind == TokenKind::Dot && self.peek(4).kind == TokenKind::Star;
        if !qualified && self.peek(2).kind != TokenKind::Star {
            return Ok(None);
        }
        let first = self.ident()?;
        self.expect_kind(TokenKind::Dot)?;
        let name = if qualified {
            let name = self.take_ident()?;
            self.expect_kind(TokenKind::Dot)?;
            ObjectName { schema: Some(first), name }
        } else {
            ObjectName { schema: None, name: first }
        };
        self.expect_kind(TokenKind::Star)?;
        Ok(Some(name))
    }

    pub(super) fn optional_where(&mut self) -> Result<Option<Expr>> {
        if self.eat("WHERE") { self.expr().map(Some) } else { Ok(None) }
    }

    fn optional_group_by(&mut self) -> Result<Option<GroupBy>> {
        if !self.eat("GROUP") {
            return Ok(None);
        }
        self.expect("BY")?;
        let items = self.comma_list(Self::expr)?;
        let with_rollup = self.eat_pair("WITH", "ROLLUP");
        Ok(Some(GroupBy { items, with_rollup }))
    }

    pub(super) fn optional_order_by(&mut self) -> Result<Vec<OrderItem>> {
        if !self.eat("ORDER") {
            return Ok(Vec::new());
        }
        self.expect("BY")?;
        self.comma_list(Self::order_item)
    }

    fn order_item(&mut self) -> Result<OrderItem> {
        let expr = self.expr()?;
        let descending = self.optional_direction();
        Ok(OrderItem { expr, descending })
    }

    /// ASC or DESC; true for DESC.
    pub(super) fn optional_direction(&mut self) -> bool {
        let descending = self.eat("DESC");
        if !descending {
            self.eat("ASC");
        }
        descending
    }

    /// `LIMIT count`, `LIMIT offset, count` or `LIMIT count OFFSET offset`.
    pub(super) fn optional_limit(&mut self) -> Result<Option<Limit>> {
        if !self.eat("LIMIT") {
            return Ok(None);
        }
        let first = self.limit_value()?;
        if self.eat_kind(TokenKind::Comma) {
            let count = self.limit_value()?;
            return Ok(Some(Limit { count, offset: Some(first) }));
        }
        let offset = if self.eat("OFFSET") { Some(self.limit_value()?) } else { None };
        Ok(Some(Limit { count: first, offset }))
    }

    /// `LIMIT count`, for statements without an offset.
    pub(super) fn optional_count_limit(&mut self) -> Result<Option<Limit>> {
        if !self.eat("LIMIT") {
            return Ok(None);
        }
        let count = self.limit_value()?;
        Ok(Some(Limit { count, offset: None }))
    }

    fn limit_value(&mut self) -> Result<Expr> {
        match self.token.kind {
            TokenKind::Parameter => Ok(self.parameter()),
            TokenKind::Integer => match self.optional_literal()? {
                Some(literal) => Ok(Expr::Literal(literal)),
                None => Err(self.unexpected()),
            },
            _ => {
                let column = self.ident()?;
                let name = crate::ast::ColumnName { schema: None, table: None, column };
                Ok(Expr::Column(Box::new(name)))
            }
        }
    }

    fn optional_locking(&mut self) -> Result<Option<LockingClause>> {
        if self.at("LOCK") && self.peek_is(1, "IN") {
            self.expect_all(&["LOCK", "IN", "SHARE", "MODE"])?;
            return Ok(Some(LockingClause {
                strength: LockStrength::Share,
                of: Vec::new(),
                wait: LockWait::Wait,
            }));
        }
        if !self.eat("FOR") {
            return Ok(None);
        }
        let strength = if self.eat("UPDATE") {
            LockStrength::Update
        } else {
            self.expect("SHARE")?;
            LockStrength::Share
        };
        let of = if self.eat("OF") { self.comma_list(Self::object_name)? } else { Vec::new() };
        let wait = if self.eat("NOWAIT") {
            LockWait::NoWait
        } else if self.eat("SKIP") {
            self.expect("LOCKED")?;
            LockWait::SkipLocked
        } else {
            LockWait::Wait
        };
        Ok(Some(LockingClause { strength, of, wait }))
    }

    fn optional_into(&mut self) -> Result<Option<SelectInto>> {
        if !self.eat("INTO") {
            return Ok(None);
        }
        if self.eat("DUMPFILE") {
            return Ok(Some(SelectInto::DumpFile(self.string()?)));
        }
        if !self.eat("OUTFILE") {
            return Ok(Some(SelectInto::Variables(self.comma_list(Self::value_target)?)));
        }
        let path = self.string()?;
        let charset = self.optional_load_charset()?;
        let fields = self.field_format()?;
        let lines = self.line_format()?;
        Ok(Some(SelectInto::OutFile { path, charset, fields, lines }))
    }

    pub(super) fn value_target(&mut self) -> Result<IntoTarget> {
        match self.optional_user_variable()? {
            Some(name) => Ok(IntoTarget::UserVariable(name)),
            None => self.ident().map(IntoTarget::Local),
        }
    }

    /// FIELDS | COLUMNS options.
    pub(super) fn field_format(&mut self) -> Result<FieldFormat> {
        let mut format = FieldFormat::default();
        if !self.eat_any(&["FIELDS", "COLUMNS"]) {
            return Ok(format);
        }
        let start = self.here();
        loop {
            if self.eat("TERMINATED") {
                self.expect("BY")?;
                format.terminated_by = Some(self.text_or_binary()?);
            } else if self.at_any(&["OPTIONALLY", "ENCLOSED"]) {
                format.optionally_enclosed = self.eat("OPTIONALLY");
                self.expect_all(&["ENCLOSED", "BY"])?;
                format.enclosed_by = Some(self.text_or_binary()?);
            } else if self.eat("ESCAPED") {
                self.expect("BY")?;
                format.escaped_by = Some(self.text_or_binary()?);
            } else if self.here() == start {
                return Err(self.unexpected());
            } else {
                return Ok(format);
            }
        }
    }

    /// LINES options.
    pub(super) fn line_format(&mut self) -> Result<LineFormat> {
        let mut format = LineFormat::default();
        if !self.eat("LINES") {
            return Ok(format);
        }
        let start = self.here();
        loop {
            if self.eat("STARTING") {
                self.expect("BY")?;
                format.starting_by = Some(self.text_or_binary()?);
            } else if self.eat("TERMINATED") {
                self.expect("BY")?;
                format.terminated_by = Some(self.text_or_binary()?);
            } else if self.here() == start {
                return Err(self.unexpected());
            } else {
                return Ok(format);
            }
        }
    }
}

/// `first` with the terms that follow it, if any.
fn set_operations(first: QueryBody, rest: Vec<SetOperationTerm>) -> QueryBody {
    if rest.is_empty() {
        return first;
    }
    QueryBody::SetOperations(Box::new(SetOperations { first, rest }))
}
