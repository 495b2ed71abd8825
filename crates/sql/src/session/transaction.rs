//! Transactions as a session runs them: implicit ones around statements, BEGIN to COMMIT, savepoints.

use std::sync::atomic::Ordering;

use shoal_txn::{Isolation, Savepoint};
use shoal_types::{Error, ErrorCode, Result};

use super::Session;
use crate::counters::Counter;

/// Characteristics that SET TRANSACTION gave the next transaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct NextTransaction {
    pub isolation: Option<Isolation>,
    pub read_only: Option<bool>,
}

impl Session {
    /// Before a statement that uses tables: another node may have them to itself.
    #[inline]
    pub fn check_single_user(&mut self) -> Result<()> {
        let checked = self.server.node.check_single_user();
        if checked.is_err() {
            self.rollback();
        }
        checked
    }

    /// A statement that reads or writes rows begins; one without tables begins no transaction.
    pub fn begin_statement(&mut self, writes: bool, has_tables: bool) -> Result<()> {
        if !self.explicit_transaction && !self.variables.autocommit && has_tables {
            self.begin(None);
        }
        if writes {
            self.check_may_change()?;
        }
        if !self.explicit_transaction {
            self.transaction.begin(self.next_transaction.isolation.unwrap_or(self.variables.isolation));
        }
        if self.tracker.follows_transactions() {
            self.tracker.note_access(writes, has_tables);
        }
        let timeout = std::time::Duration::from_secs(self.variables.innodb_lock_wait_timeout_s);
        self.transaction.set_lock_wait_timeout(timeout);
        self.transaction.start_statement();
        Ok(())
    }

    /// Errors: 1792, the transaction may not write. Definitions ask after they have ended the transaction before them.
    pub fn check_may_change(&self) -> Result<()> {
        if self.is_read_only() {
            let message = "Cannot execute statement in a READ ONLY transaction.";
            return Err(Error::new(ErrorCode::CantExecuteInReadOnlyTransaction, message));
        }
        Ok(())
    }

    /// The running transaction, or the one that a statement would be, may not write.
    pub fn is_read_only(&self) -> bool {
        if self.explicit_transaction {
            self.read_only
        } else {
            self.next_transaction.read_only.unwrap_or(self.variables.transaction_read_only)
        }
    }

    /// BEGIN.
    pub fn begin(&mut self, read_only: Option<bool>) {
        let next = std::mem::take(&mut self.next_transaction);
        self.read_only = read_only.or(next.read_only).unwrap_or(self.variables.transaction_read_only);
        self.transaction.begin(next.isolation.unwrap_or(self.variables.isolation));
        self.tracker.begin(String::new());
        self.explicit_transaction = true;
        self.shared.began.store(self.server.clock_micros(), Ordering::Relaxed);
        self.savepoints.clear();
    }

    /// The end of an autocommitted statement. One without tables was no transaction: SET TRANSACTION is about what follows.
    pub async fn commit_statement(&mut self, has_tables: bool) -> Result<()> {
        if has_tables {
            self.next_transaction = NextTransaction::default();
        }
        let outcome = self.transaction.commit().await;
        self.release_dropped_tables();
        outcome
    }

    /// COMMIT, also what DDL and BEGIN do first.
    ///
    /// # Errors
    /// 1290 if the transaction has written and the node has become read-only since: it is rolled back.
    pub async fn commit(&mut self) -> Result<()> {
        if self.transaction.has_writes()
            && let Err(refusal) = self.check_writable()
        {
            self.rollback();
            return Err(refusal);
        }
        self.explicit_transaction = false;
        self.shared.began.store(0, Ordering::Relaxed);
        self.savepoints.clear();
        self.stage("waiting for handler commit");
        let outcome = self.transaction.commit().await;
        self.release_dropped_tables();
        self.shared.counters.add_transaction(&std::mem::take(&mut self.transaction.counters));
        outcome
    }

    pub fn rollback(&mut self) {
        self.explicit_transaction = false;
        self.shared.began.store(0, Ordering::Relaxed);
        self.savepoints.clear();
        self.transaction.rollback();
        self.release_dropped_tables();
        self.shared.counters.add_transaction(&std::mem::take(&mut self.transaction.counters));
    }

    /// Takes a failed statement back: the statement alone, or the transaction if the error says so.
    pub fn undo_statement(&mut self, error: &Error, savepoint: Option<&Savepoint>) {
        if !self.explicit_transaction || error.rolls_back_transaction() {
            self.rollback();
        } else if let Some(savepoint) = savepoint {
            self.transaction.rollback_to(savepoint);
        }
    }

    pub fn savepoint(&mut self, name: &str) -> Result<()> {
        self.count(Counter::ComSavepoint);
        if !self.explicit_transaction && self.variables.autocommit {
            return Ok(());
        }
        self.begin_statement(false, true)?;
        self.savepoints.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        let savepoint = self.transaction.savepoint();
        self.savepoints.push((name.to_owned(), savepoint));
        Ok(())
    }

    pub fn rollback_to_savepoint(&mut self, name: &str) -> Result<()> {
        self.count(Counter::ComRollbackToSavepoint);
        let position = self.find_savepoint(name)?;
        self.savepoints.truncate(position + 1);
        self.transaction.rollback_to(&self.savepoints[position].1);
        Ok(())
    }

    pub fn release_savepoint(&mut self, name: &str) -> Result<()> {
        self.count(Counter::ComReleaseSavepoint);
        let position = self.find_savepoint(name)?;
        self.savepoints.truncate(position);
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        let found = self.savepoints.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::new(ErrorCode::SpDoesNotExist, format!("SAVEPOINT {name} does not exist")))
    }
}
