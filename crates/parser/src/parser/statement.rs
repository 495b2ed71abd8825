//! The first words of a statement decide what it is.

use super::{Parser, Result};
use crate::ast::{DefinitionAction, DropTable, MaintenanceKind, StartTransaction, Statement};
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Result<Statement> {
        if self.at_kind(TokenKind::LeftParen) || self.at_any(&["SELECT", "TABLE", "VALUES"]) {
            return self.query().map(Statement::Query);
        }
        let upper = self.upper();
        if let Some(statement) = self.row_statement(upper.as_str())? {
            return Ok(statement);
        }
        if let Some(statement) = self.session_statement(upper.as_str())? {
            return Ok(statement);
        }
        if let Some(statement) = self.admin_statement(upper.as_str())? {
            return Ok(statement);
        }
        Err(self.unexpected())
    }

    /// Statements about rows and definitions.
    fn row_statement(&mut self, word: &str) -> Result<Option<Statement>> {
        let rule: fn(&mut Self) -> Result<Statement> = match word {
            "WITH" => return self.with_statement().map(Some),
            "INSERT" => |parser| parser.insert(false),
            "REPLACE" => |parser| parser.insert(true),
            "UPDATE" => |parser| parser.update(None),
            "DELETE" => |parser| parser.delete(None),
            "LOAD" => Self::load,
            "IMPORT" => Self::import,
            "CALL" => Self::call_statement,
            "DO" => Self::do_statement,
            "HANDLER" => Self::handler,
            "CREATE" => Self::create,
            "ALTER" => Self::alter,
            "DROP" => Self::drop,
            "RENAME" => Self::rename,
            "TRUNCATE" => |parser| {
                parser.eat("TABLE");
                parser.object_name().map(Statement::TruncateTable)
            },
            "SIGNAL" => |parser| parser.signal(false),
            "RESIGNAL" => |parser| parser.signal(true),
            "GET" => Self::get_diagnostics,
            _ => return Ok(None),
        };
        self.advance();
        rule(self).map(Some)
    }

    /// Statements about the session and what it may see.
    fn session_statement(&mut self, word: &str) -> Result<Option<Statement>> {
        let rule: fn(&mut Self) -> Result<Statement> = match word {
            "USE" => |parser| parser.ident().map(Statement::Use),
            "SET" => Self::set,
            "START" => Self::start,
            "BEGIN" => |parser| {
                parser.eat("WORK");
                Ok(Statement::StartTransaction(StartTransaction::default()))
            },
            "COMMIT" => |parser| parser.end_transaction(true),
            "ROLLBACK" => |parser| parser.end_transaction(false),
            "SAVEPOINT" => |parser| parser.ident().map(Statement::Savepoint),
            "RELEASE" => |parser| {
                parser.expect("SAVEPOINT")?;
                parser.ident().map(Statement::ReleaseSavepoint)
            },
            "XA" => Self::xa,
            "LOCK" => Self::lock,
            "UNLOCK" => Self::unlock,
            "PREPARE" => Self::prepare,
            "EXECUTE" => Self::execute,
            "DEALLOCATE" => |parser| {
                parser.expect("PREPARE")?;
                parser.ident().map(Statement::Deallocate)
            },
            "SHOW" => Self::show,
            "DESCRIBE" | "DESC" | "EXPLAIN" => Self::explain,
            "HELP" => |parser| Ok(Statement::Help(parser.ident_or_string()?.value.into_bytes())),
            "GRANT" => Self::grant,
            "REVOKE" => Self::revoke,
            "KILL" => Self::kill,
            _ => return Ok(None),
        };
        self.advance();
        rule(self).map(Some)
    }

    /// Statements about the server.
    fn admin_statement(&mut self, word: &str) -> Result<Option<Statement>> {
        let rule: fn(&mut Self) -> Result<Statement> = match word {
            "ANALYZE" => |parser| parser.table_maintenance(MaintenanceKind::Analyze),
            "CHECK" => |parser| parser.table_maintenance(MaintenanceKind::Check),
            "CHECKSUM" => |parser| parser.table_maintenance(MaintenanceKind::Checksum),
            "OPTIMIZE" => |parser| parser.table_maintenance(MaintenanceKind::Optimize),
            "REPAIR" => |parser| parser.table_maintenance(MaintenanceKind::Repair),
            "FLUSH" => Self::flush,
            "RESET" => Self::reset,
            "PURGE" => Self::purge,
            "CACHE" => |parser| {
                parser.expect("INDEX")?;
                parser.cache_index()
            },
            "INSTALL" => Self::install,
            "UNINSTALL" => Self::uninstall,
            "SHUTDOWN" => |_| Ok(Statement::Shutdown),
            "RESTART" => |_| Ok(Statement::Restart),
            "CLONE" => Self::clone_instance,
            "CHANGE" => Self::change,
            "STOP" => Self::stop,
            "BINLOG" => Self::binlog,
            _ => return Ok(None),
        };
        self.advance();
        rule(self).map(Some)
    }

    /// WITH before a query, UPDATE or DELETE.
    fn with_statement(&mut self) -> Result<Statement> {
        let with = self.optional_with()?;
        if self.eat("UPDATE") {
            return self.update(with);
        }
        if self.eat("DELETE") {
            return self.delete(with);
        }
        let query = self.query_behind_with(with)?;
        Ok(Statement::Query(query))
    }

    fn start(&mut self) -> Result<Statement> {
        if self.eat("TRANSACTION") {
            return self.start_transaction();
        }
        if self.eat("GROUP_REPLICATION") {
            return self.start_group_replication();
        }
        self.expect_any(&["REPLICA", "SLAVE"])?;
        self.start_replica()
    }

    /// CREATE, the word taken.
    fn create(&mut self) -> Result<Statement> {
        if let Some(tablespace) = self.optional_tablespace(DefinitionAction::Create)? {
            return Ok(tablespace);
        }
        match self.upper().as_str() {
            "TABLE" => {
                self.advance();
                self.create_table(false)
            }
            "TEMPORARY" => {
                self.expect_all(&["TEMPORARY", "TABLE"])?;
                self.create_table(true)
            }
            "SPATIAL" if self.peek_is(1, "REFERENCE") => self.create_spatial_reference_system(false),
            "UNIQUE" | "FULLTEXT" | "SPATIAL" | "INDEX" => self.create_index(),
            "DATABASE" | "SCHEMA" => {
                self.advance();
                self.create_database()
            }
            "USER" => {
                self.advance();
                self.user_definition(true)
            }
            "ROLE" => {
                self.advance();
                self.create_role()
            }
            "SERVER" => {
                self.advance();
                self.server(true)
            }
            "RESOURCE" => {
                self.expect_all(&["RESOURCE", "GROUP"])?;
                self.create_resource_group()
            }
            "AGGREGATE" => {
                self.advance();
                self.create_aggregate()
            }
            _ => self.create_program(),
        }
    }

    /// CREATE of views and stored programs, with what may stand before the kind.
    fn create_program(&mut self) -> Result<Statement> {
        let prefix = self.definition_prefix()?;
        if prefix.or_replace && self.at("SPATIAL") {
            return self.create_spatial_reference_system(true);
        }
        let view_only = prefix.or_replace || prefix.algorithm.is_some() || prefix.security.is_some();
        let upper = self.upper();
        if upper.as_str() == "VIEW" {
            self.advance();
            return self.view(prefix, true);
        }
        if view_only {
            return Err(self.unexpected());
        }
        let word = self.upper();
        if !matches!(word.as_str(), "PROCEDURE" | "FUNCTION" | "TRIGGER" | "EVENT") {
            return Err(self.unexpected());
        }
        self.advance();
        match word.as_str() {
            "PROCEDURE" => self.create_procedure(prefix),
            "FUNCTION" => self.create_function(prefix),
            "TRIGGER" => self.create_trigger(prefix),
            _ => self.event(prefix, true),
        }
    }

    /// ALTER, the word taken.
    fn alter(&mut self) -> Result<Statement> {
        if let Some(tablespace) = self.optional_tablespace(DefinitionAction::Alter)? {
            return Ok(tablespace);
        }
        let upper = self.upper();
        match upper.as_str() {
            "TABLE" => {
                self.advance();
                self.alter_table()
            }
            "DATABASE" | "SCHEMA" => {
                self.advance();
                self.alter_database()
            }
            "USER" => {
                self.advance();
                self.user_definition(false)
            }
            "PROCEDURE" | "FUNCTION" => {
                self.advance();
                self.alter_routine(upper.as_str() == "FUNCTION")
            }
            "SERVER" => {
                self.advance();
                self.server(false)
            }
            "INSTANCE" => {
                self.advance();
                self.alter_instance()
            }
            "RESOURCE" => {
                self.expect_all(&["RESOURCE", "GROUP"])?;
                self.alter_resource_group()
            }
            _ => {
                let prefix = self.definition_prefix()?;
                if self.eat("VIEW") {
                    return self.view(prefix, false);
                }
                self.expect("EVENT")?;
                self.event(prefix, false)
            }
        }
    }

    /// DROP, the word taken.
    fn drop(&mut self) -> Result<Statement> {
        if let Some(tablespace) = self.optional_tablespace(DefinitionAction::Drop)? {
            return Ok(tablespace);
        }
        if self.eat_pair("SPATIAL", "REFERENCE") {
            self.expect("SYSTEM")?;
            let if_exists = self.if_exists()?;
            let srid = self.integer()?;
            return Ok(Statement::DropSpatialReferenceSystem { srid, if_exists });
        }
        if self.eat_pair("RESOURCE", "GROUP") {
            let name = self.ident()?;
            let force = self.eat("FORCE");
            return Ok(Statement::ResourceGroup(crate::ast::ResourceGroup::Drop { name, force }));
        }
        let temporary = self.eat("TEMPORARY");
        if self.eat_any(&["TABLE", "TABLES"]) {
            let if_exists = self.if_exists()?;
            let names = self.comma_list(Self::object_name)?;
            let behavior = self.optional_drop_behavior();
            return Ok(Statement::DropTable(DropTable { temporary, if_exists, names, behavior }));
        }
        let upper = self.upper();
        let known = matches!(
            upper.as_str(),
            "INDEX"
                | "DATABASE"
                | "SCHEMA"
                | "VIEW"
                | "PROCEDURE"
                | "FUNCTION"
                | "TRIGGER"
                | "EVENT"
                | "SERVER"
                | "USER"
                | "ROLE"
                | "PREPARE"
        );
        if temporary || !known {
            return Err(self.unexpected());
        }
        self.advance();
        match upper.as_str() {
            "INDEX" => self.drop_index(),
            "DATABASE" | "SCHEMA" => {
                let if_exists = self.if_exists()?;
                let name = self.ident()?;
                Ok(Statement::DropDatabase { name, if_exists })
            }
            "VIEW" => self.drop_objects().map(Statement::DropView),
            "PROCEDURE" => self.drop_object().map(Statement::DropProcedure),
            "FUNCTION" => self.drop_object().map(Statement::DropFunction),
            "TRIGGER" => self.drop_object().map(Statement::DropTrigger),
            "EVENT" => self.drop_object().map(Statement::DropEvent),
            "SERVER" => {
                let if_exists = self.if_exists()?;
                let name = self.ident_or_string()?;
                Ok(Statement::DropServer { name, if_exists })
            }
            "USER" => self.drop_accounts().map(Statement::DropUser),
            "ROLE" => self.drop_accounts().map(Statement::DropRole),
            _ => self.ident().map(Statement::Deallocate),
        }
    }

    /// RENAME, the word taken.
    fn rename(&mut self) -> Result<Statement> {
        if self.eat("USER") {
            return self.rename_users();
        }
        self.expect_any(&["TABLE", "TABLES"])?;
        let pairs = self.comma_list(|parser| {
            let from = parser.object_name()?;
            parser.expect("TO")?;
            Ok((from, parser.object_name()?))
        })?;
        Ok(Statement::RenameTables(pairs))
    }
}
