//! LOCK TABLES, prepared statements, KILL.

use super::{Parser, Result};
use crate::ast::{Execute, Kill, Prepare, PrepareSource, Statement, TableLock, TableLockKind};

impl Parser<'_> {
    /// LOCK, the word taken.
    pub(super) fn lock(&mut self) -> Result<Statement> {
        if self.eat("INSTANCE") {
            self.expect_all(&["FOR", "BACKUP"])?;
            return Ok(Statement::LockInstanceForBackup);
        }
        self.expect_any(&["TABLES", "TABLE"])?;
        let locks = self.comma_list(|parser| {
            let table = parser.object_name()?;
            let alias = parser.optional_table_alias()?;
            let kind = parser.table_lock_kind()?;
            Ok(TableLock { table, alias, kind })
        })?;
        Ok(Statement::LockTables(locks))
    }

    fn table_lock_kind(&mut self) -> Result<TableLockKind> {
        if self.eat("READ") {
            return Ok(if self.eat("LOCAL") { TableLockKind::ReadLocal } else { TableLockKind::Read });
        }
        let low_priority = self.eat("LOW_PRIORITY");
        self.expect("WRITE")?;
        Ok(if low_priority { TableLockKind::LowPriorityWrite } else { TableLockKind::Write })
    }

    /// UNLOCK, the word taken.
    pub(super) fn unlock(&mut self) -> Result<Statement> {
        if self.eat("INSTANCE") {
            return Ok(Statement::UnlockInstance);
        }
        self.expect_any(&["TABLES", "TABLE"])?;
        Ok(Statement::UnlockTables)
    }

    /// PREPARE, the word taken.
    pub(super) fn prepare(&mut self) -> Result<Statement> {
        let name = self.ident()?;
        self.expect("FROM")?;
        let source = match self.optional_user_variable()? {
            Some(name) => PrepareSource::UserVariable(name),
            None => PrepareSource::Text(self.string()?),
        };
        Ok(Statement::Prepare(Prepare { name, source }))
    }

    /// EXECUTE, the word taken.
    pub(super) fn execute(&mut self) -> Result<Statement> {
        let name = self.ident()?;
        let using = if self.eat("USING") { self.comma_list(Self::user_variable)? } else { Vec::new() };
        Ok(Statement::Execute(Execute { name, using }))
    }

    /// KILL, the word taken.
    pub(super) fn kill(&mut self) -> Result<Statement> {
        let query_only = self.eat("QUERY");
        if !query_only {
            self.eat("CONNECTION");
        }
        let id = self.expr()?;
        Ok(Statement::Kill(Kill { query_only, id }))
    }
}
