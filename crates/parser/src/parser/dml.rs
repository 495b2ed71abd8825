//! INSERT, REPLACE, UPDATE, DELETE, CALL, DO.

use super::{Parser, Result};
use crate::ast::{
    Assignment, Call, ColumnName, Delete, DeleteTarget, Expr, Ident, Insert, InsertSource, ObjectName, Statement,
    Update, With, WritePriority,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// INSERT and REPLACE, the word taken.
    pub(super) fn insert(&mut self, replace: bool) -> Result<Statement> {
        let hints = self.optional_hints();
        let priority = self.write_priority();
        let ignore = !replace && self.eat("IGNORE");
        self.eat("INTO");
        let table = self.object_name()?;
        let partitions = self.optional_partition_selection()?;
        let mut insert = Insert {
            hints,
            replace,
            priority,
            ignore,
            table,
            partitions,
            columns: None,
            source: InsertSource::Values(Vec::new()),
            row_alias: None,
            row_alias_columns: Vec::new(),
            on_duplicate: Vec::new(),
        };
        self.insert_source(&mut insert)?;
        if !replace && self.eat("ON") {
            self.expect_all(&["DUPLICATE", "KEY", "UPDATE"])?;
            insert.on_duplicate = self.comma_list(Self::assignment)?;
        }
        Ok(Statement::Insert(Box::new(insert)))
    }

    fn write_priority(&mut self) -> Option<WritePriority> {
        let priority = match self.upper().as_str() {
            "LOW_PRIORITY" => WritePriority::Low,
            "HIGH_PRIORITY" => WritePriority::High,
            "DELAYED" => WritePriority::Delayed,
            _ => return None,
        };
        self.advance();
        Some(priority)
    }

    /// Columns and rows, SET, or a query.
    fn insert_source(&mut self, insert: &mut Insert) -> Result<()> {
        if self.eat("SET") {
            let (columns, row) = self
                .comma_list(Self::assignment)?
                .into_iter()
                .map(|assignment| (assignment.column, assignment.value))
                .unzip();
            insert.columns = Some(columns);
            insert.source = InsertSource::Values(vec![row]);
            return self.row_alias(insert);
        }
        // The parenthesis may hold columns or be the first of a query.
        if self.at_kind(TokenKind::LeftParen) && !self.parens_lead_to_query() {
            insert.columns = Some(self.insert_columns()?);
        }
        if self.at_any(&["VALUES", "VALUE"]) && !self.at_query_word() {
            self.advance();
            let rows = self.comma_list(Self::arguments)?;
            insert.source = InsertSource::Values(rows);
            return self.row_alias(insert);
        }
        insert.source = InsertSource::Query(self.query()?);
        Ok(())
    }

    /// True when nothing but parentheses stands before the first word of a query.
    pub(super) fn parens_lead_to_query(&self) -> bool {
        let mut lexer = self.lexer;
        let mut token = self.token;
        while token.kind == TokenKind::LeftParen {
            token = lexer.next();
        }
        token.kind == TokenKind::Word
            && [&b"SELECT"[..], b"WITH", b"TABLE", b"VALUES"]
                .iter()
                .any(|word| self.bytes_of(&token).eq_ignore_ascii_case(word))
    }

    /// `(a, t.b, ..)` or `()`.
    fn insert_columns(&mut self) -> Result<Vec<ColumnName>> {
        if self.peek(1).kind == TokenKind::RightParen {
            self.advance();
            self.advance();
            return Ok(Vec::new());
        }
        self.paren_list(Self::column_name)
    }

    /// `AS alias [(columns)]`.
    fn row_alias(&mut self, insert: &mut Insert) -> Result<()> {
        if !insert.replace && self.eat("AS") {
            insert.row_alias = Some(self.ident()?);
            insert.row_alias_columns = self.optional_ident_list()?;
        }
        Ok(())
    }

    /// `column = expr`.
    pub(super) fn assignment(&mut self) -> Result<Assignment> {
        let column = self.column_name()?;
        self.expect_assign()?;
        let value = self.expr()?;
        Ok(Assignment { column, value })
    }

    /// UPDATE, the word taken.
    pub(super) fn update(&mut self, with: Option<With>) -> Result<Statement> {
        let hints = self.optional_hints();
        let low_priority = self.eat("LOW_PRIORITY");
        let ignore = self.eat("IGNORE");
        let tables = self.comma_list(Self::table_reference)?;
        self.expect("SET")?;
        let assignments = self.comma_list(Self::assignment)?;
        let selection = self.optional_where()?;
        let mut update = Update {
            hints,
            with,
            low_priority,
            ignore,
            tables,
            assignments,
            selection,
            order_by: Vec::new(),
            limit: None,
        };
        // Only the single-table form may have them; the SQL layer says so by name.
        update.order_by = self.optional_order_by()?;
        update.limit = self.optional_count_limit()?;
        Ok(Statement::Update(Box::new(update)))
    }

    /// DELETE, the word taken.
    pub(super) fn delete(&mut self, with: Option<With>) -> Result<Statement> {
        let hints = self.optional_hints();
        let mut delete = Delete {
            hints,
            with,
            low_priority: false,
            quick: false,
            ignore: false,
            target: DeleteTarget::Multiple { tables: Vec::new(), from: Vec::new() },
            selection: None,
            order_by: Vec::new(),
            limit: None,
        };
        loop {
            match self.upper().as_str() {
                "LOW_PRIORITY" => delete.low_priority = true,
                "QUICK" => delete.quick = true,
                "IGNORE" => delete.ignore = true,
                _ => break,
            }
            self.advance();
        }
        delete.target = self.delete_target()?;
        delete.selection = self.optional_where()?;
        if matches!(delete.target, DeleteTarget::Single { .. }) {
            delete.order_by = self.optional_order_by()?;
            delete.limit = self.optional_count_limit()?;
        }
        Ok(Statement::Delete(Box::new(delete)))
    }

    fn delete_target(&mut self) -> Result<DeleteTarget> {
        if !self.eat("FROM") {
            let tables = self.comma_list(Self::delete_table)?;
            self.expect("FROM")?;
            let from = self.comma_list(Self::table_reference)?;
            return Ok(DeleteTarget::Multiple { tables, from });
        }
        let table = self.delete_table()?;
        if self.at_kind(TokenKind::Comma) || self.at("USING") {
            let mut tables = vec![table];
            while self.eat_kind(TokenKind::Comma) {
                tables.push(self.delete_table()?);
            }
            self.expect("USING")?;
            let from = self.comma_list(Self::table_reference)?;
            return Ok(DeleteTarget::Multiple { tables, from });
        }
        let alias: Option<Ident> = self.optional_table_alias()?;
        let partitions = self.optional_partition_selection()?;
        Ok(DeleteTarget::Single { table, alias, partitions })
    }

    /// A table to delete from; `.*` may follow it in the multi-table forms.
    fn delete_table(&mut self) -> Result<ObjectName> {
        let first = self.ident()?;
        let mut name = ObjectName { schema: None, name: first };
        while self.eat_kind(TokenKind::Dot) {
            if self.eat_kind(TokenKind::Star) {
                break;
            }
            if name.schema.is_some() {
                return Err(self.unexpected());
            }
            name.schema = Some(std::mem::replace(&mut name.name, self.take_ident()?));
        }
        Ok(name)
    }

    /// CALL, the word taken.
    pub(super) fn call_statement(&mut self) -> Result<Statement> {
        let procedure = self.object_name()?;
        let arguments = if self.at_kind(TokenKind::LeftParen) { self.arguments()? } else { Vec::new() };
        Ok(Statement::Call(Box::new(Call { procedure, arguments })))
    }

    /// DO, the word taken; aliases are allowed and mean nothing.
    pub(super) fn do_statement(&mut self) -> Result<Statement> {
        let exprs: Vec<Expr> = self.comma_list(|parser| {
            let expr = parser.expr()?;
            if parser.eat("AS") || parser.at_ident() || parser.token.kind == TokenKind::String {
                parser.ident_or_string()?;
            }
            Ok(expr)
        })?;
        Ok(Statement::Do(exprs))
    }
}
