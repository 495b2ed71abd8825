//! Schemas, views, servers, spatial reference systems, resource groups.

use super::{Parser, Result};
use crate::ast::{
    AccountName, AlterDatabase, CheckOption, CreateDatabase, DatabaseOptions, DropBehavior, DropObjects,
    OptionValue, ResourceGroup, ServerDefinition, SpatialReferenceSystem, SqlSecurity, Statement, ViewAlgorithm,
    ViewDefinition,
};
use crate::lexer::TokenKind;

/// What may stand between CREATE and the kind of a view or stored program.
#[derive(Default)]
pub(super) struct DefinitionPrefix {
    pub or_replace: bool,
    pub algorithm: Option<ViewAlgorithm>,
    pub definer: Option<AccountName>,
    pub security: Option<SqlSecurity>,
}

impl Parser<'_> {
    /// CREATE DATABASE, the words taken.
    pub(super) fn create_database(&mut self) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        let options = self.database_options()?;
        Ok(Statement::CreateDatabase(CreateDatabase { name, if_not_exists, options }))
    }

    /// ALTER DATABASE, the words taken.
    pub(super) fn alter_database(&mut self) -> Result<Statement> {
        let names_schema = !self.at_database_option();
        let name = if names_schema { Some(self.ident()?) } else { None };
        if !self.at_database_option() {
            return Err(self.unexpected());
        }
        let options = self.database_options()?;
        Ok(Statement::AlterDatabase(AlterDatabase { name, options }))
    }

    fn at_database_option(&self) -> bool {
        self.at_any(&["DEFAULT", "CHARACTER", "CHAR", "CHARSET", "COLLATE", "ENCRYPTION", "READ"])
    }

    fn database_options(&mut self) -> Result<DatabaseOptions> {
        let mut options = DatabaseOptions::default();
        loop {
            if self.eat("READ") {
                self.expect("ONLY")?;
                self.optional_equal();
                options.read_only = Some(!self.eat("DEFAULT") && self.integer()? != 0);
                continue;
            }
            self.eat("DEFAULT");
            if self.eat("COLLATE") {
                self.optional_equal();
                options.collation = Some(self.collation_name()?);
            } else if self.eat("ENCRYPTION") {
                self.optional_equal();
                options.encryption = Some(self.string()?);
            } else if self.at_any(&["CHARACTER", "CHAR", "CHARSET"]) {
                if !self.eat("CHARSET") {
                    self.advance();
                    self.expect("SET")?;
                }
                self.optional_equal();
                options.charset = Some(self.charset_choice()?);
            } else {
                return Ok(options);
            }
        }
    }

    /// OR REPLACE, ALGORITHM, DEFINER and SQL SECURITY, in MySQL's order.
    pub(super) fn definition_prefix(&mut self) -> Result<DefinitionPrefix> {
        let mut prefix = DefinitionPrefix { or_replace: self.eat_pair("OR", "REPLACE"), ..Default::default() };
        if self.eat("ALGORITHM") {
            self.optional_equal();
            prefix.algorithm = Some(match self.any_word()?.as_str() {
                "UNDEFINED" => ViewAlgorithm::Undefined,
                "MERGE" => ViewAlgorithm::Merge,
                "TEMPTABLE" => ViewAlgorithm::TempTable,
                _ => return Err(self.unexpected()),
            });
        }
        if self.eat("DEFINER") {
            self.optional_equal();
            prefix.definer = Some(self.account_name()?);
        }
        if self.at("SQL") && self.peek_is(1, "SECURITY") {
            prefix.security = Some(self.sql_security()?);
        }
        Ok(prefix)
    }

    /// `SQL SECURITY DEFINER | INVOKER`.
    pub(super) fn sql_security(&mut self) -> Result<SqlSecurity> {
        self.expect_all(&["SQL", "SECURITY"])?;
        if self.eat("DEFINER") {
            return Ok(SqlSecurity::Definer);
        }
        self.expect("INVOKER")?;
        Ok(SqlSecurity::Invoker)
    }

    /// What follows VIEW in CREATE and ALTER.
    pub(super) fn view(&mut self, prefix: DefinitionPrefix, create: bool) -> Result<Statement> {
        let if_not_exists = create && self.if_not_exists()?;
        let name = self.object_name()?;
        let columns = self.optional_ident_list()?;
        self.expect("AS")?;
        let start = self.here();
        let query = self.query()?;
        let query_text = self.text_since(start);
        let mut check_option = None;
        if self.eat("WITH") {
            check_option = Some(if self.eat("LOCAL") { CheckOption::Local } else { CheckOption::Cascaded });
            if check_option == Some(CheckOption::Cascaded) {
                self.eat("CASCADED");
            }
            self.expect_all(&["CHECK", "OPTION"])?;
        }
        let definition = Box::new(ViewDefinition {
            or_replace: prefix.or_replace,
            if_not_exists,
            algorithm: prefix.algorithm,
            definer: prefix.definer,
            security: prefix.security,
            name,
            columns,
            query,
            query_text,
            check_option,
        });
        Ok(if create { Statement::CreateView(definition) } else { Statement::AlterView(definition) })
    }

    /// `[IF EXISTS] name, .. [RESTRICT | CASCADE]`.
    pub(super) fn drop_objects(&mut self) -> Result<DropObjects> {
        let if_exists = self.if_exists()?;
        let names = self.comma_list(Self::object_name)?;
        let behavior = self.optional_drop_behavior();
        Ok(DropObjects { if_exists, names, behavior })
    }

    /// `[IF EXISTS] name`, for objects that are dropped one at a time.
    pub(super) fn drop_object(&mut self) -> Result<DropObjects> {
        let if_exists = self.if_exists()?;
        let names = vec![self.object_name()?];
        Ok(DropObjects { if_exists, names, behavior: None })
    }

    pub(super) fn optional_drop_behavior(&mut self) -> Option<DropBehavior> {
        if self.eat("RESTRICT") {
            Some(DropBehavior::Restrict)
        } else if self.eat("CASCADE") {
            Some(DropBehavior::Cascade)
        } else {
            None
        }
    }

    /// CREATE SERVER and ALTER SERVER, the words taken.
    pub(super) fn server(&mut self, create: bool) -> Result<Statement> {
        let name = self.ident_or_string()?;
        let wrapper = if create {
            self.expect_all(&["FOREIGN", "DATA", "WRAPPER"])?;
            Some(self.ident_or_string()?)
        } else {
            None
        };
        self.expect("OPTIONS")?;
        let options = self.paren_list(|parser| {
            let name = parser.any_word()?;
            let value = if parser.at_string() {
                OptionValue::Text(parser.string()?)
            } else {
                OptionValue::Integer(parser.integer()?)
            };
            Ok((name, value))
        })?;
        let definition = ServerDefinition { name, wrapper, options };
        Ok(if create { Statement::CreateServer(definition) } else { Statement::AlterServer(definition) })
    }

    /// CREATE [OR REPLACE] SPATIAL REFERENCE SYSTEM, at SPATIAL.
    pub(super) fn create_spatial_reference_system(&mut self, or_replace: bool) -> Result<Statement> {
        self.expect_all(&["SPATIAL", "REFERENCE", "SYSTEM"])?;
        let if_not_exists = !or_replace && self.if_not_exists()?;
        let srid = self.integer()?;
        let mut attributes = Vec::new();
        while !self.at_end() {
            let name = self.any_word()?;
            let value = OptionValue::Text(self.string()?);
            attributes.push((name, value));
            if self.eat("IDENTIFIED") {
                self.expect("BY")?;
                attributes.push(("IDENTIFIED BY".to_owned(), OptionValue::Integer(self.integer()?)));
            }
        }
        Ok(Statement::CreateSpatialReferenceSystem(SpatialReferenceSystem {
            or_replace,
            if_not_exists,
            srid,
            attributes,
        }))
    }

    /// CREATE RESOURCE GROUP, the words taken.
    pub(super) fn create_resource_group(&mut self) -> Result<Statement> {
        let name = self.ident()?;
        self.expect("TYPE")?;
        self.optional_equal();
        let system = self.at("SYSTEM");
        self.expect_any(&["SYSTEM", "USER"])?;
        let cpus = self.optional_cpus()?;
        let priority = self.optional_thread_priority()?;
        let enabled = self.optional_enabled();
        Ok(Statement::ResourceGroup(ResourceGroup::Create { name, system, cpus, priority, enabled }))
    }

    /// ALTER RESOURCE GROUP, the words taken.
    pub(super) fn alter_resource_group(&mut self) -> Result<Statement> {
        let name = self.ident()?;
        let cpus = self.optional_cpus()?;
        let priority = self.optional_thread_priority()?;
        let enabled = self.optional_enabled();
        let force = self.eat("FORCE");
        Ok(Statement::ResourceGroup(ResourceGroup::Alter { name, cpus, priority, enabled, force }))
    }

    /// SET RESOURCE GROUP, the words taken.
    pub(super) fn set_resource_group(&mut self) -> Result<Statement> {
        let name = self.ident()?;
        let mut threads = Vec::new();
        if self.eat("FOR") {
            threads.push(self.integer()?);
            while self.eat_kind(TokenKind::Comma) || self.at_kind(TokenKind::Integer) {
                threads.push(self.integer()?);
            }
        }
        Ok(Statement::ResourceGroup(ResourceGroup::Set { name, threads }))
    }

    /// `VCPU = n, n-m, ..`.
    fn optional_cpus(&mut self) -> Result<Vec<(u64, u64)>> {
        if !self.eat("VCPU") {
            return Ok(Vec::new());
        }
        self.optional_equal();
        self.comma_list(|parser| {
            let first = parser.integer()?;
            let last = if parser.eat_kind(TokenKind::Minus) { parser.integer()? } else { first };
            Ok((first, last))
        })
    }

    fn optional_thread_priority(&mut self) -> Result<Option<i64>> {
        if !self.eat("THREAD_PRIORITY") {
            return Ok(None);
        }
        self.optional_equal();
        let negative = self.eat_kind(TokenKind::Minus);
        let value = i64::try_from(self.integer()?).map_err(|_| self.unexpected())?;
        Ok(Some(if negative { -value } else { value }))
    }

    fn optional_enabled(&mut self) -> Option<bool> {
        if self.eat("ENABLE") {
            Some(true)
        } else if self.eat("DISABLE") {
            Some(false)
        } else {
            None
        }
    }
}
