//! Changes of the dictionary: definitions and fragments in one log batch.
//!
//! One change at a time. The fragments of all partitions and the record of the dictionary are appended together, so
//! that after a crash all of them are there or none. The new dictionary is published when the batch is durable,
//! whether the session that asked for it still waits or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prost::Message;
use shoal_types::{Error, Outcome, Result};
use tokio::time::Instant;

use crate::base::wait::Waiter;
use crate::dictionary::Dictionary;
use crate::dictionary::catalog::Change;
use crate::dictionary::fragments::{FragmentChange, fragment_changes, propose};
use crate::dictionary::meta_group::TablesElsewhere;
use crate::dictionary::metadata_lock::{ExclusiveTables, FrozenTables};
use crate::dictionary::stored::StoredChanges;
use crate::dictionary::table::Table;
use crate::storage::partitions::PartitionGuard;
use crate::storage::records::{KIND_CHANGES, KIND_SEQUENCE, sequence_record};
use crate::storage::sequencer::log_room_for;

/// Tables that nobody else uses, on any node, until this is dropped.
pub struct HeldTables {
    _here: ExclusiveTables,
    _elsewhere: Option<TablesElsewhere>,
    _counted: Counted,
}

/// One more than without this.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Counted {
        count.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Dictionary {
    /// Changes the dictionary; all of `changes` take effect as one, and have when this returns.
    pub async fn change(&self, changes: Vec<Change>) -> Result<()> {
        if self.cluster().is_some() {
            return self.change_in_cluster(&changes).await;
        }
        let _one_at_a_time = self.ddl.lock().await;
        let mut waiter = self.waiter();
        self.append_change(&changes, &mut waiter)?;
        match waiter.wait().await {
            true => Ok(()),
            false => {
                Err(Error::unknown("the log stopped before the definition was durable")
                    .with_outcome(Outcome::Unknown))
            }
        }
    }

    /// Waits until no transaction uses these tables and the outcome of all that used them is known and applied, and keeps others
    /// from beginning to use them. The caller must not use any of them itself at this time.
    ///
    /// # Errors
    /// 1205 when that takes too long.
    pub async fn exclusive_tables(&self, tables: &[Arc<Table>], timeout: Duration) -> Result<HeldTables> {
        let deadline = Instant::now() + timeout;
        let _counted = Counted::new(&self.tables_kept);
        let held = if self.cluster().is_some() {
            let (here, elsewhere) = self.exclusive_in_cluster(tables, timeout).await?;
            HeldTables { _here: here, _elsewhere: Some(elsewhere), _counted }
        } else {
            let here = self.metadata_locks.exclusive(tables, timeout).await?;
            self.wait_until_applied().await?;
            HeldTables { _here: here, _elsewhere: None, _counted }
        };
        self.settle_tables(tables, deadline.saturating_duration_since(Instant::now())).await?;
        Ok(held)
    }

    /// Lets nobody write to these tables, which the caller has exclusively, until the guard is dropped; in a cluster at this node alone.
    pub fn freeze_tables(&self, tables: &[Arc<Table>]) -> FrozenTables {
        self.metadata_locks.freeze(tables)
    }

    fn append_change(&self, changes: &[Change], waiter: &mut Waiter) -> Result<()> {
        self.check_running()?;
        let old = self.catalog();
        let mut new = old.successor();
        for change in changes {
            new.apply(change)?;
        }
        new.version = old.version + 1;
        let fragments = fragment_changes(&old, &new);
        for change in changes {
            if let Change::PutTable(schema) = change {
                self.note_table_id(schema.id);
            }
        }
        let record = StoredChanges::of(changes).encode_to_vec();
        let (mut guards, mut sequencer) = loop {
            let guards: Vec<(u32, PartitionGuard<'_>)> = match fragments.is_empty() {
                true => Vec::new(),
                false => {
                    (0..self.partition_count()).map(|partition| (partition, self.partition(partition))).collect()
                }
            };
            let of_partitions = guards.iter().flat_map(|_| fragments.iter().map(FragmentChange::entry_bytes));
            let room = log_room_for(of_partitions.chain([record.len()]));
            let sequencer = self.sequencer();
            sequencer.check_open()?;
            if self.log().has_room(room) {
                break (guards, sequencer);
            }
            drop(sequencer);
            drop(guards);
            self.wait_for_log_room(room)?;
        };
        let token = waiter.arm((fragments.len() * guards.len()) as u32 + 1);
        let timestamp = self.clock().tick();
        let mut proposed = false;
        for (partition, guard) in &mut guards {
            for change in &fragments {
                if let Err(error) = propose(guard, change, token) {
                    if proposed {
                        self.stop(&format!("a partition refused its share of a definition: {error}"));
                    }
                    return Err(error);
                }
                proposed = true;
            }
            sequencer.collect(*partition, guard, timestamp, token);
        }
        sequencer.push_meta(KIND_CHANGES, &record);
        let (catalog, index, handle) = (Arc::new(new), sequencer.meta_index(), self.handle.clone());
        sequencer.collect_definition(timestamp, token, move || {
            if let Some(dictionary) = handle.upgrade() {
                dictionary.publish_catalog(catalog, index);
            }
        });
        let appending = self.append_batch(&mut sequencer)?;
        drop(sequencer);
        drop(guards);
        match appending.needs_flush {
            true => self.wake_log_writer(),
            false => self.complete(appending.end),
        }
        Ok(())
    }

    /// Writes the sequences' counters as they are, for the next start, as the last thing that goes into the log.
    pub(crate) fn write_exact_sequences(&self) -> Result<()> {
        let mut sequencer = self.sequencer();
        if sequencer.check_open().is_err() {
            return Ok(());
        }
        sequencer.close();
        let catalog = self.catalog();
        let tables = catalog.tables_by_id.values().filter(|table| table.uses_sequence);
        let mut any = false;
        for table in tables.filter(|table| table.next_auto_increment.bound() > 0) {
            let value = table.next_auto_increment.exact_bound();
            sequencer.push_meta(KIND_SEQUENCE, &sequence_record(table.id(), value));
            any = true;
        }
        if any {
            self.append_batch(&mut sequencer)?;
        }
        Ok(())
    }
}
