//! The entries of unique indexes that are built while others write.
//!
//! The hidden table of such an index is there from the first definition on, and whoever writes a row keeps it up to date. The entries
//! of the rows that were there before are made here, in the order of the primary key, a batch at a time: the batch's rows are locked
//! shared until its entries are committed, so that no writer changes a row between the two. An entry that a writer has made already is the
//! row's own; one of another row is a duplicate, and ends the definition. A writer that comes with the key of a row that has its entry is
//! refused.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::unique::{hidden_primary_key, primary_key_in, unique_row};
use shoal_cluster::{Node, Table};
use shoal_txn::new_row::duplicate_entry;
use shoal_txn::{Inserted, Isolation, LockMode, LockWait, ReadMode, Transaction};
use shoal_types::row::RowRef;
use shoal_types::{Error, ErrorCode, IndexId, Result, TableId};

use super::locked_rows::{LockedRows, PAUSE, lock_rows};
use crate::ddl::running_stage::RunningStage;
use crate::definition_stages::StageKind;
use crate::resolve::Statistics;
use crate::session::Session;

/// Rows that are locked at a time.
const ROWS_PER_BATCH: usize = 1024;

const SHARED: ReadMode = ReadMode { lock: Some(LockMode::Shared), wait: LockWait::Wait };

/// Makes the entries of all rows in those of the indexes that are unique. Errors: 1062, 1205, 1317.
pub async fn fill(session: &Session, node: &Arc<Node>, table: &Arc<Table>, ids: &[IndexId]) -> Result<()> {
    let Some(present) = building(node, table.id(), ids) else { return Ok(()) };
    let stage =
        RunningStage::begin(&session.shared, StageKind::ReadRows, session.statistics().row_count(&present.0));
    let timeout = Duration::from_secs(session.variables.innodb_lock_wait_timeout_s);
    let (mut start, mut done) = (Vec::new(), 0);
    loop {
        session.shared.interrupt.check_between_batches().await?;
        // Another definition may have come in between, and have dropped them.
        let Some((table, indexes)) = building(node, table.id(), ids) else { return Ok(()) };
        let mut transaction = Transaction::new(Arc::clone(node));
        transaction.set_lock_wait_timeout(timeout);
        transaction.begin(Isolation::ReadCommitted);
        let filling = Filling { table: &table, indexes: &indexes, node };
        let filled = session.shared.interrupt.guard(filling.batch(&mut transaction, &start)).await;
        match filled {
            Ok(LockedRows { rows, next }) => {
                done += rows.len() as u64;
                stage.set_completed(done);
                match next {
                    Some(next) => start = next,
                    None => return Ok(()),
                }
            }
            Err(error) => {
                transaction.rollback();
                if !error.is(ErrorCode::LockDeadlock) && !error.is(ErrorCode::TableDefChanged) {
                    return Err(error);
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// The table as it is, and the positions of those of its unique indexes that are being built.
fn building(node: &Node, table: TableId, ids: &[IndexId]) -> Option<(Arc<Table>, Vec<usize>)> {
    let table = node.catalog().tables_by_id.get(&table).cloned()?;
    let indexes = table.schema.indexes.iter().enumerate();
    let wanted = indexes.filter(|(_, index)| index.building && index.unique && ids.contains(&index.id));
    let positions: Vec<usize> = wanted.map(|(position, _)| position).collect();
    (!positions.is_empty()).then_some((table, positions))
}

struct Filling<'f> {
    table: &'f Arc<Table>,
    indexes: &'f [usize],
    node: &'f Node,
}

impl Filling<'_> {
    /// The entries of the next rows, committed.
    async fn batch(&self, transaction: &mut Transaction, start: &[u8]) -> Result<LockedRows> {
        transaction.start_statement();
        let batch = lock_rows(transaction, self.table, start, LockMode::Shared, ROWS_PER_BATCH).await?;
        for &index in self.indexes {
            self.add_entries(transaction, index, &batch.rows).await?;
        }
        transaction.commit().await?;
        Ok(batch)
    }

    async fn add_entries(&self, transaction: &mut Transaction, index: usize, rows: &[Vec<u8>]) -> Result<()> {
        let spec = &self.table.keys[index];
        let hidden = self.table.schema.indexes[index].unique_table;
        let hidden = hidden.and_then(|id| self.node.catalog().tables_by_id.get(&id).cloned());
        let hidden =
            hidden.ok_or_else(|| Error::new(ErrorCode::TableDefChanged, "the index is not built any more"))?;
        let (mut entries, mut keys, mut sources) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            let stored = self.table.layout.row(row);
            if spec.has_null(stored) {
                continue;
            }
            let mut primary_key = Vec::with_capacity(16);
            self.table.keys[0].append_from_row(stored, &mut primary_key);
            let before = keys.len();
            spec.each_key(stored, &mut Vec::new(), |key| keys.push(key.to_vec()));
            for key in &keys[before..] {
                entries.push(unique_row(key, &primary_key)?);
                sources.push((row, primary_key.clone()));
            }
        }
        let outcomes = transaction.insert_many(&hidden, &entries, true).await?;
        for (place, _) in outcomes.iter().enumerate().filter(|(_, outcome)| **outcome != Inserted::Done) {
            let (row, primary_key) = &sources[place];
            let mut key = Vec::new();
            hidden_primary_key(&keys[place], &mut key);
            let owner = |entry: Option<RowRef<'_>>| entry.map(|entry| primary_key_in(entry.bytes())).transpose();
            match transaction.get(&hidden, &key, SHARED, owner).await?? {
                Some(owner) if owner == *primary_key => {}
                Some(_) => return Err(duplicate_entry(self.table, index, row)),
                None => return Err(Error::new(ErrorCode::LockDeadlock, "an entry went while it was looked at")),
            }
        }
        Ok(())
    }
}
