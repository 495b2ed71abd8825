//! CREATE TABLE, column and key definitions, CREATE INDEX, DROP INDEX.

use super::{Parser, Result};
use crate::ast::{
    Check, ColumnDefinition, ColumnFormat, CreateIndex, CreateTable, DataTypeKind, DropIndex, DuplicateHandling,
    Expr, ForeignKey, ForeignKeyReference, FunctionCall, GeneratedColumn, Ident, IndexMethod, KeyDefinition,
    KeyKind, KeyOptions, KeyPart, KeyPartExpr, Literal, LiteralValue, MatchKind, ReferentialAction, Statement,
    StorageMedium, UnaryOperator,
};
use crate::lexer::TokenKind;

/// One element of a table's definition.
pub(super) enum TableElement {
    Column(Box<ColumnDefinition>),
    Key(KeyDefinition),
    ForeignKey(ForeignKey),
    Check(Check),
}

impl Parser<'_> {
    /// CREATE [TEMPORARY] TABLE, the words taken.
    pub(super) fn create_table(&mut self, temporary: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let mut table = CreateTable {
            temporary,
            if_not_exists,
            name: self.object_name()?,
            like: None,
            columns: Vec::new(),
            keys: Vec::new(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            options: Vec::new(),
            partitioning: None,
            duplicates: DuplicateHandling::Error,
            query: None,
        };
        if self.eat("LIKE") {
            table.like = Some(self.object_name()?);
            return Ok(Statement::CreateTable(Box::new(table)));
        }
        if self.at_kind(TokenKind::LeftParen) && self.peek_is(1, "LIKE") {
            self.advance();
            self.advance();
            table.like = Some(self.object_name()?);
            self.expect_kind(TokenKind::RightParen)?;
            return Ok(Statement::CreateTable(Box::new(table)));
        }
        let has_elements = self.at_kind(TokenKind::LeftParen) && !self.parens_lead_to_query();
        if has_elements {
            for element in self.paren_list(Self::table_element)? {
                table.add(element);
            }
        }
        table.options = self.table_options()?;
        table.partitioning = self.optional_partitioning()?;
        table.duplicates = self.duplicate_handling();
        let query_follows = self.eat("AS") || self.at_query_word() || self.at_kind(TokenKind::LeftParen);
        if query_follows {
            table.query = Some(self.query()?);
        } else if table.duplicates != DuplicateHandling::Error || !has_elements {
            return Err(self.unexpected());
        }
        Ok(Statement::CreateTable(Box::new(table)))
    }

    pub(super) fn table_element(&mut self) -> Result<TableElement> {
        let upper = self.upper();
        match upper.as_str() {
            "CONSTRAINT" => {
                self.advance();
                let name = self.optional_ident()?;
                match self.upper().as_str() {
                    "PRIMARY" | "UNIQUE" => self.key(name).map(TableElement::Key),
                    "FOREIGN" => self.foreign_key(name).map(TableElement::ForeignKey),
                    _ => self.check(name).map(TableElement::Check),
                }
            }
            "PRIMARY" | "UNIQUE" | "INDEX" | "KEY" | "FULLTEXT" | "SPATIAL" => {
                self.key(None).map(TableElement::Key)
            }
            "FOREIGN" => self.foreign_key(None).map(TableElement::ForeignKey),
            "CHECK" => self.check(None).map(TableElement::Check),
            _ => self.column_definition().map(|column| TableElement::Column(Box::new(column))),
        }
    }

    /// A key of a table's definition, from its first word on.
    pub(super) fn key(&mut self, constraint: Option<Ident>) -> Result<KeyDefinition> {
        let kind = match self.any_word()?.as_str() {
            "PRIMARY" => KeyKind::Primary,
            "UNIQUE" => KeyKind::Unique,
            "FULLTEXT" => KeyKind::FullText,
            "SPATIAL" => KeyKind::Spatial,
            _ => KeyKind::Index,
        };
        match kind {
            KeyKind::Primary => self.expect("KEY")?,
            KeyKind::Index => {}
            _ => {
                self.eat_any(&["INDEX", "KEY"]);
            }
        }
        let name = self.optional_ident()?;
        let method = self.optional_index_method(name.is_some())?;
        let parts = self.key_parts()?;
        let mut options = self.key_options()?;
        options.method = options.method.or(method);
        Ok(KeyDefinition { kind, constraint, name, parts, options })
    }

    /// `USING method`; TYPE is a synonym behind a name.
    fn optional_index_method(&mut self, behind_name: bool) -> Result<Option<IndexMethod>> {
        let method_follows = self.eat("USING") || (behind_name && self.eat("TYPE"));
        if !method_follows {
            return Ok(None);
        }
        let method = match self.upper().as_str() {
            "BTREE" => IndexMethod::BTree,
            "RTREE" => IndexMethod::RTree,
            "HASH" => IndexMethod::Hash,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(Some(method))
    }

    pub(super) fn key_parts(&mut self) -> Result<Vec<KeyPart>> {
        self.paren_list(|parser| {
            let expr = if parser.eat_kind(TokenKind::LeftParen) {
                let expr = parser.expr()?;
                parser.expect_kind(TokenKind::RightParen)?;
                KeyPartExpr::Expression(expr)
            } else {
                let name = parser.ident()?;
                let prefix_length = parser.optional_length()?;
                KeyPartExpr::Column { name, prefix_length }
            };
            let descending = parser.optional_direction();
            Ok(KeyPart { expr, descending })
        })
    }

    fn key_options(&mut self) -> Result<KeyOptions> {
        let mut options = KeyOptions::default();
        loop {
            let upper = self.upper();
            match upper.as_str() {
                "USING" | "TYPE" => {
                    options.method = self.optional_index_method(true)?;
                    continue;
                }
                "KEY_BLOCK_SIZE" => {
                    self.advance();
                    self.optional_equal();
                    options.block_size = Some(self.integer()?);
                    continue;
                }
                "WITH" => {
                    self.advance();
                    self.expect("PARSER")?;
                    options.parser = Some(self.ident()?);
                    continue;
                }
                "VISIBLE" => options.visible = Some(true),
                "INVISIBLE" => options.visible = Some(false),
                "COMMENT" => {
                    self.advance();
                    options.comment = Some(self.string()?);
                    continue;
                }
                "ENGINE_ATTRIBUTE" | "SECONDARY_ENGINE_ATTRIBUTE" => {
                    self.advance();
                    self.optional_equal();
                    let text = Some(self.string()?);
                    if upper.as_str() == "ENGINE_ATTRIBUTE" {
                        options.engine_attribute = text;
                    } else {
                        options.secondary_engine_attribute = text;
                    }
                    continue;
                }
                _ => return Ok(options),
            }
            self.advance();
        }
    }

    pub(super) fn foreign_key(&mut self, constraint: Option<Ident>) -> Result<ForeignKey> {
        self.expect_all(&["FOREIGN", "KEY"])?;
        let index_name = self.optional_ident()?;
        let columns = self.ident_list_in_parens()?;
        let reference = self.reference()?;
        Ok(ForeignKey { constraint, index_name, columns, reference })
    }

    /// `REFERENCES table [(columns)] [MATCH ..] [ON DELETE ..] [ON UPDATE ..]`.
    fn reference(&mut self) -> Result<ForeignKeyReference> {
        self.expect("REFERENCES")?;
        let mut reference = ForeignKeyReference {
            table: self.object_name()?,
            columns: self.optional_ident_list()?,
            match_kind: None,
            on_delete: None,
            on_update: None,
        };
        if self.eat("MATCH") {
            reference.match_kind = Some(match self.any_word()?.as_str() {
                "FULL" => MatchKind::Full,
                "PARTIAL" => MatchKind::Partial,
                "SIMPLE" => MatchKind::Simple,
                _ => return Err(self.unexpected()),
            });
        }
        loop {
            if reference.on_delete.is_none() && self.eat_pair("ON", "DELETE") {
                reference.on_delete = Some(self.referential_action()?);
            } else if reference.on_update.is_none() && self.eat_pair("ON", "UPDATE") {
                reference.on_update = Some(self.referential_action()?);
            } else {
                return Ok(reference);
            }
        }
    }

    fn referential_action(&mut self) -> Result<ReferentialAction> {
        if self.eat("RESTRICT") {
            Ok(ReferentialAction::Restrict)
        } else if self.eat("CASCADE") {
            Ok(ReferentialAction::Cascade)
        } else if self.eat_pair("SET", "NULL") {
            Ok(ReferentialAction::SetNull)
        } else if self.eat_pair("SET", "DEFAULT") {
            Ok(ReferentialAction::SetDefault)
        } else if self.eat_pair("NO", "ACTION") {
            Ok(ReferentialAction::NoAction)
        } else {
            Err(self.unexpected())
        }
    }

    /// `CHECK (expr) [[NOT] ENFORCED]`.
    pub(super) fn check(&mut self, name: Option<Ident>) -> Result<Check> {
        self.expect("CHECK")?;
        let (expr, text) = self.expr_with_text()?;
        let enforced = if self.eat_pair("NOT", "ENFORCED") {
            false
        } else {
            self.eat("ENFORCED");
            true
        };
        Ok(Check { name, expr, text, enforced })
    }

    /// `(expr)` with the source between the parentheses.
    fn expr_with_text(&mut self) -> Result<(Expr, Vec<u8>)> {
        self.expect_kind(TokenKind::LeftParen)?;
        let start = self.here();
        let expr = self.expr()?;
        let text = self.text_since(start);
        self.expect_kind(TokenKind::RightParen)?;
        Ok((expr, text))
    }

    /// `name type attributes`.
    pub(super) fn column_definition(&mut self) -> Result<ColumnDefinition> {
        let name = self.ident()?;
        self.column_definition_named(name)
    }

    pub(super) fn column_definition_named(&mut self, name: Ident) -> Result<ColumnDefinition> {
        let data_type = self.data_type()?;
        let serial = data_type.kind == DataTypeKind::Serial;
        let mut column = ColumnDefinition {
            name,
            data_type,
            nullable: None,
            default: None,
            default_is_expression: false,
            on_update_now: None,
            auto_increment: false,
            primary_key: false,
            unique_key: false,
            comment: None,
            generated: None,
            visible: None,
            srid: None,
            storage: None,
            column_format: None,
            references: None,
            checks: Vec::new(),
            engine_attribute: None,
            secondary_engine_attribute: None,
        };
        if serial {
            column.make_serial();
        }
        while self.column_attribute(&mut column)? {}
        Ok(column)
    }

    /// Takes one attribute; false when none follows.
    fn column_attribute(&mut self, column: &mut ColumnDefinition) -> Result<bool> {
        let upper = self.upper();
        match upper.as_str() {
            "NOT" => {
                self.advance();
                self.expect("NULL")?;
                column.nullable = Some(false);
            }
            "NULL" => {
                self.advance();
                column.nullable = Some(true);
            }
            "DEFAULT" => {
                self.advance();
                let (default, is_expression) = self.column_default()?;
                column.default = Some(default);
                column.default_is_expression = is_expression;
            }
            "ON" => {
                self.expect_all(&["ON", "UPDATE"])?;
                self.expect_any(&["NOW", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"])?;
                column.on_update_now = Some(self.optional_fraction_digits()?);
            }
            "AUTO_INCREMENT" => {
                self.advance();
                column.auto_increment = true;
                // It says NOT NULL as well, until another attribute does not.
                column.nullable = Some(false);
            }
            "SERIAL" => {
                self.expect_all(&["SERIAL", "DEFAULT", "VALUE"])?;
                column.make_serial();
            }
            "PRIMARY" => {
                self.expect_all(&["PRIMARY", "KEY"])?;
                column.primary_key = true;
            }
            "KEY" => {
                self.advance();
                column.primary_key = true;
            }
            "UNIQUE" => {
                self.advance();
                self.eat("KEY");
                column.unique_key = true;
            }
            "COLLATE" => {
                self.advance();
                column.data_type.collation = Some(self.collation_name()?);
            }
            "GENERATED" | "AS" => column.generated = Some(self.generated_column()?),
            "REFERENCES" => column.references = Some(self.reference()?),
            "CONSTRAINT" => {
                self.advance();
                let name = self.optional_ident()?;
                column.checks.push(self.check(name)?);
            }
            "CHECK" => column.checks.push(self.check(None)?),
            _ => return self.column_storage_attribute(column, upper.as_str()),
        }
        Ok(true)
    }

    fn column_storage_attribute(&mut self, column: &mut ColumnDefinition, word: &str) -> Result<bool> {
        match word {
            "COMMENT" => {
                self.advance();
                column.comment = Some(self.string()?);
            }
            "VISIBLE" | "INVISIBLE" => {
                self.advance();
                column.visible = Some(word == "VISIBLE");
            }
            "SRID" => {
                self.advance();
                column.srid = Some(self.integer()?);
            }
            "STORAGE" => {
                self.advance();
                column.storage = Some(self.storage_medium()?);
            }
            "COLUMN_FORMAT" => {
                self.advance();
                column.column_format = Some(match self.any_word()?.as_str() {
                    "DEFAULT" => ColumnFormat::Default,
                    "FIXED" => ColumnFormat::Fixed,
                    "DYNAMIC" => ColumnFormat::Dynamic,
                    _ => return Err(self.unexpected()),
                });
            }
            "ENGINE_ATTRIBUTE" => {
                self.advance();
                self.optional_equal();
                column.engine_attribute = Some(self.string()?);
            }
            "SECONDARY_ENGINE_ATTRIBUTE" => {
                self.advance();
                self.optional_equal();
                column.secondary_engine_attribute = Some(self.string()?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn storage_medium(&mut self) -> Result<StorageMedium> {
        let medium = match self.upper().as_str() {
            "DEFAULT" => StorageMedium::Default,
            "DISK" => StorageMedium::Disk,
            "MEMORY" => StorageMedium::Memory,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(medium)
    }

    /// What follows DEFAULT: (value, whether it is an expression in parentheses).
    pub(super) fn column_default(&mut self) -> Result<(Expr, bool)> {
        if self.at_kind(TokenKind::LeftParen) {
            let (expr, _) = self.expr_with_text()?;
            return Ok((expr, true));
        }
        Ok((self.simple_default()?, false))
    }

    /// A literal with an optional sign, or NOW.
    fn simple_default(&mut self) -> Result<Expr> {
        let sign = match self.token.kind {
            TokenKind::Minus => Some(UnaryOperator::Minus),
            TokenKind::Plus => Some(UnaryOperator::Plus),
            _ => None,
        };
        if let Some(operator) = sign {
            self.advance();
            if !matches!(self.token.kind, TokenKind::Integer | TokenKind::Decimal | TokenKind::Float) {
                return Err(self.unexpected());
            }
            let operand = Box::new(self.simple_default()?);
            return Ok(Expr::Unary { operator, operand });
        }
        let offset = self.token.start;
        if self.at_any(&["NOW", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"]) {
            self.advance();
            let digits = self.optional_fraction_digits()?;
            return Ok(now_call(offset, digits));
        }
        let constant = match self.upper().as_str() {
            "NULL" => Some(LiteralValue::Null),
            "TRUE" => Some(LiteralValue::Boolean(true)),
            "FALSE" => Some(LiteralValue::Boolean(false)),
            _ => None,
        };
        if let Some(value) = constant {
            self.advance();
            return Ok(Expr::Literal(Literal { value, ordinal: None }));
        }
        if let Some(temporal) = self.optional_temporal_literal()? {
            return Ok(temporal);
        }
        match self.optional_literal()? {
            Some(literal) => Ok(Expr::Literal(literal)),
            None => Err(self.unexpected()),
        }
    }

    /// `[( [digits] )]` behind NOW.
    fn optional_fraction_digits(&mut self) -> Result<u32> {
        if !self.eat_kind(TokenKind::LeftParen) || self.eat_kind(TokenKind::RightParen) {
            return Ok(0);
        }
        let digits = u32::try_from(self.integer()?).unwrap_or(u32::MAX);
        self.expect_kind(TokenKind::RightParen)?;
        Ok(digits)
    }

    /// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`.
    fn generated_column(&mut self) -> Result<GeneratedColumn> {
        if self.eat("GENERATED") {
            self.expect("ALWAYS")?;
        }
        self.expect("AS")?;
        let (expr, text) = self.expr_with_text()?;
        let stored = self.eat("STORED");
        if !stored {
            self.eat("VIRTUAL");
        }
        Ok(GeneratedColumn { expr, text, stored })
    }

    /// CREATE [UNIQUE | FULLTEXT | SPATIAL] INDEX, at the first word behind CREATE.
    pub(super) fn create_index(&mut self) -> Result<Statement> {
        let kind = match self.upper().as_str() {
            "UNIQUE" => KeyKind::Unique,
            "FULLTEXT" => KeyKind::FullText,
            "SPATIAL" => KeyKind::Spatial,
            _ => KeyKind::Index,
        };
        if kind != KeyKind::Index {
            self.advance();
        }
        self.expect("INDEX")?;
        let name = Some(self.ident()?);
        let method = self.optional_index_method(true)?;
        self.expect("ON")?;
        let table = self.object_name()?;
        let parts = self.key_parts()?;
        let mut options = self.key_options()?;
        options.method = options.method.or(method);
        let (algorithm, lock) = self.algorithm_and_lock()?;
        let key = KeyDefinition { kind, constraint: None, name, parts, options };
        Ok(Statement::CreateIndex(Box::new(CreateIndex { key, table, algorithm, lock })))
    }

    /// DROP INDEX, the words taken.
    pub(super) fn drop_index(&mut self) -> Result<Statement> {
        let name = self.index_name()?;
        self.expect("ON")?;
        let table = self.object_name()?;
        let (algorithm, lock) = self.algorithm_and_lock()?;
        Ok(Statement::DropIndex(Box::new(DropIndex { name, table, algorithm, lock })))
    }
}

/// `NOW()` or `NOW(digits)`.
fn now_call(offset: u32, digits: u32) -> Expr {
    let mut name = Ident::new("NOW");
    name.offset = offset;
    let literal = |value| Expr::Literal(Literal { value: LiteralValue::Integer(value), ordinal: None });
    let arguments = if digits == 0 { Vec::new() } else { vec![literal(u64::from(digits))] };
    Expr::Function(Box::new(FunctionCall { schema: None, name, distinct: false, star: false, arguments }))
}

impl CreateTable {
    fn add(&mut self, element: TableElement) {
        match element {
            TableElement::Column(column) => self.columns.push(*column),
            TableElement::Key(key) => self.keys.push(key),
            TableElement::ForeignKey(key) => self.foreign_keys.push(key),
            TableElement::Check(check) => self.checks.push(check),
        }
    }
}

impl ColumnDefinition {
    /// What SERIAL says beside its type.
    fn make_serial(&mut self) {
        self.nullable = Some(false);
        self.auto_increment = true;
        self.unique_key = true;
    }
}
