//! FOR UPDATE and FOR SHARE: which tables of a FROM clause are read with which lock.

use shoal_parser::ast;
use shoal_txn::{LockMode, LockWait};
use shoal_types::{Error, ErrorCode, Result};

use super::Resolver;
use super::scope::Scope;

/// The lock of each table, in the order of the scope.
#[derive(Clone, Debug, Default)]
pub struct TableLocks {
    named: Vec<Option<(LockMode, LockWait)>>,
    /// Of all that are not named.
    others: Option<(LockMode, LockWait)>,
}

impl TableLocks {
    pub fn of(&self, table: usize) -> Option<(LockMode, LockWait)> {
        self.named.get(table).copied().flatten().or(self.others)
    }
}

impl Resolver<'_> {
    /// What the locking clauses of a query say of the tables in its scope.
    ///
    /// # Errors
    /// 3568, a name that none of them has; 3569, two clauses for one table.
    pub(super) fn table_locks(&mut self, clauses: &[ast::LockingClause]) -> Result<TableLocks> {
        let others = self.environment.lock_reads.then_some((LockMode::Shared, LockWait::Wait));
        let mut locks = TableLocks { named: Vec::new(), others };
        let scope = self.scope();
        locks.named.resize(scope.tables.len(), None);
        for clause in clauses {
            let lock = (mode_of(clause.strength), wait_of(clause.wait));
            let named = match clause.of.is_empty() {
                true => (0..scope.tables.len()).collect(),
                false => clause.of.iter().map(|name| named_table(scope, name)).collect::<Result<Vec<usize>>>()?,
            };
            for table in named {
                if locks.named[table].replace(lock).is_some() {
                    let name = &scope.tables[table].name;
                    let message = format!("Table `{name}` appears in multiple locking clauses.");
                    return Err(Error::new(ErrorCode::DuplicateTableLock, message));
                }
            }
        }
        Ok(locks)
    }
}

fn named_table(scope: &Scope, name: &ast::ObjectName) -> Result<usize> {
    let is_it = |table: &super::scope::ScopeTable| {
        table.name == name.name.value && name.schema.as_ref().is_none_or(|schema| schema.value == table.database)
    };
    scope.tables.iter().position(is_it).ok_or_else(|| {
        let message = format!("Unresolved table name `{}` in locking clause.", name.name.value);
        Error::new(ErrorCode::UnresolvedTableLock, message)
    })
}

fn mode_of(strength: ast::LockStrength) -> LockMode {
    match strength {
        ast::LockStrength::Update => LockMode::Exclusive,
        ast::LockStrength::Share => LockMode::Shared,
    }
}

fn wait_of(wait: ast::LockWait) -> LockWait {
    match wait {
        ast::LockWait::Wait => LockWait::Wait,
        ast::LockWait::NoWait => LockWait::NoWait,
        ast::LockWait::SkipLocked => LockWait::SkipLocked,
    }
}
