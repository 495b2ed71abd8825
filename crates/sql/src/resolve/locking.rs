//! FOR UPDATE and FOR SHARE: which tables of a block are read with locks, and with which. A clause without OF is about all tables of its block; those that it
//! does not name are read as without it.

use shoal_parser::ast;
use shoal_txn::{LockMode, LockWait};
use shoal_types::{Error, ErrorCode, Result};

use super::scope::ScopeTable;

/// How rows are locked, and what is done about those that others have locked.
pub type Lock = (LockMode, LockWait);

/// The locks that a block's tables are read with.
#[derive(Clone, Debug, Default)]
pub struct Locks {
    all: Option<Lock>,
    /// Of single tables, by their places in the scope.
    named: Vec<(usize, Lock)>,
}

impl Locks {
    pub fn of(&self, table: usize) -> Option<Lock> {
        self.all.or_else(|| self.named.iter().find(|(place, _)| *place == table).map(|(_, lock)| *lock))
    }
}

/// The locks of a block with these clauses. `shared`: without a clause rows are locked as FOR SHARE does.
///
/// # Errors
/// 3568, a table that the block does not have; 3569, a table that two clauses name.
pub fn locks(clauses: &[ast::LockingClause], tables: &[ScopeTable], shared: bool) -> Result<Locks> {
    let mut locks = Locks::default();
    if clauses.is_empty() {
        locks.all = shared.then_some((LockMode::Shared, LockWait::Wait));
    }
    for clause in clauses {
        let lock = lock_of(clause);
        if clause.of.is_empty() {
            if let (true, Some(table)) = (clauses.len() > 1, tables.first()) {
                return Err(named_twice(&table.name));
            }
            locks.all = Some(lock);
        }
        for name in &clause.of {
            let place = place_of(name, tables)?;
            if locks.of(place).is_some() {
                return Err(named_twice(&name.name.value));
            }
            locks.named.push((place, lock));
        }
    }
    Ok(locks)
}

fn lock_of(clause: &ast::LockingClause) -> Lock {
    let mode = match clause.strength {
        ast::LockStrength::Update => LockMode::Exclusive,
        ast::LockStrength::Share => LockMode::Shared,
    };
    let wait = match clause.wait {
        ast::LockWait::Wait => LockWait::Wait,
        ast::LockWait::NoWait => LockWait::NoWait,
        ast::LockWait::SkipLocked => LockWait::SkipLocked,
    };
    (mode, wait)
}

/// Tables go by their aliases, as everywhere in their block.
fn place_of(name: &ast::ObjectName, tables: &[ScopeTable]) -> Result<usize> {
    let is_named = |table: &ScopeTable| {
        table.name == name.name.value && name.schema.as_ref().is_none_or(|schema| schema.value == table.database)
    };
    tables.iter().position(is_named).ok_or_else(|| {
        let message = format!("Unresolved table name `{}` in locking clause.", name.name.value);
        Error::new(ErrorCode::UnresolvedTableLock, message)
    })
}

fn named_twice(name: &str) -> Error {
    Error::new(ErrorCode::DuplicateTableLock, format!("Table `{name}` appears in multiple locking clauses."))
}
