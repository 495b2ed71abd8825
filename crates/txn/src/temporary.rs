//! A transaction that works in temporary tables too: their rows are in a node of their own, which is no part of the cluster.
//!
//! There it is a transaction of its own, within this one: begun, marked, rolled back and committed with it. Every operation on a table
//! goes to the one that has the table ([`Transaction::of`]). Nobody else sees those rows, so it reads the newest ones and takes no
//! snapshot: a table that was made since the outer one took its own is there at once.

use std::sync::Arc;

use shoal_cluster::{Node, Table};
use shoal_types::{Error, ErrorCode, Outcome, Result};

use crate::transaction::Transaction;

impl Transaction {
    /// From now on it works in this node's tables, those that are temporary, as well.
    pub fn set_temporary_node(&mut self, node: Arc<Node>) {
        let mut temporary = Transaction::new(node);
        temporary.set_reads_newest(true);
        self.temporary = Some(Box::new(temporary));
        self.begin_temporary();
    }

    /// Temporary tables are not worked in any more. What was not committed there is gone.
    pub fn forget_temporary_node(&mut self) {
        self.temporary = None;
    }

    /// The node of a table's rows, and of its numbers.
    pub fn node_of(&self, table: &Table) -> &Arc<Node> {
        self.for_table(table).node()
    }

    /// The part that works in this table.
    #[inline]
    pub fn of(&mut self, table: &Table) -> &mut Transaction {
        if !table.is_temporary {
            return self;
        }
        match self.temporary {
            Some(ref mut temporary) => temporary,
            None => self,
        }
    }

    /// The same, to look at it.
    pub(crate) fn for_table(&self, table: &Table) -> &Transaction {
        match &self.temporary {
            Some(temporary) if table.is_temporary => temporary,
            _ => self,
        }
    }

    /// The part in temporary tables lasts as long as this does.
    pub(crate) fn begin_temporary(&mut self) {
        let isolation = self.explicit_isolation();
        if let (Some(temporary), Some(isolation)) = (&mut self.temporary, isolation) {
            temporary.begin(isolation);
        }
    }

    /// Something was written in temporary tables, or locked there, that COMMIT or ROLLBACK decides about.
    pub fn has_work_in_temporary(&self) -> bool {
        self.temporary.as_ref().is_some_and(|temporary| temporary.id().is_some())
    }

    /// What can fail of the commit in temporary tables, its parts that need memory, is done first; then the other tables' commit
    /// decides.
    pub(crate) async fn commit_with_temporary(&mut self) -> Result<()> {
        if let Err(error) = self.log_temporary_parts().await {
            self.rollback_quietly();
            return Err(error);
        }
        let outcome = self.commit_own().await;
        let Some(temporary) = &mut self.temporary else { return outcome };
        match &outcome {
            Err(error) if error.outcome() == Outcome::NotCommitted => temporary.rollback_quietly(),
            _ => {
                let committed = temporary.commit_own().await;
                let also = outcome.is_ok() && committed.is_err();
                committed.map_err(|error| if also { lost_there(error) } else { error })?;
            }
        }
        outcome
    }

    async fn log_temporary_parts(&mut self) -> Result<()> {
        let Some(temporary) = &mut self.temporary else { return Ok(()) };
        let Some(id) = temporary.id else { return Ok(()) };
        let mut writers = Vec::new();
        temporary.participants.writers_into(&mut writers);
        temporary.log_parts(id, &writers).await
    }
}

/// The transaction is committed but for its rows in temporary tables.
fn lost_there(error: Error) -> Error {
    let message =
        format!("{}; what was written to temporary tables is rolled back, all else is committed", error.message());
    let code = ErrorCode::from_errno(error.errno()).unwrap_or(ErrorCode::UnknownError);
    Error::new(code, message).with_outcome(Outcome::Unknown)
}
