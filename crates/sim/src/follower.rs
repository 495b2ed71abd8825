//! An application that follows the changes of a partition's rows, with the product's code (`Partition::follow`, `Undecided`).
//!
//! It outlives the nodes: any data node asks for it, the leader answers, and it goes on behind its place at the next leader. Each change comes once, in the
//! order in which its row was changed, and what it has been told in the end is what the rows are. Where the log in memory does not
//! reach back, or what was read last is lost, it hears of a gap, begins again, and knows nothing of what was before.

use std::collections::{BTreeMap, BTreeSet};

use shoal_partition::{ChangeKind, LogEnd, LoggedChange, LoggedWrite, OwnedWrite, Undecided};
use shoal_types::{NodeId, PartitionId, Timestamp};

use crate::history::History;
use crate::message::Told;
use crate::rows::{Codec, MARKS, Row};

#[derive(Default)]
pub struct Follower {
    /// `None`: it has not begun, or there was a gap.
    pub place: Option<LogEnd>,
    undecided: Undecided,
    /// What it knows of rows that were changed since it began: `k`, if they are there, and when they were changed last.
    rows: BTreeMap<i32, (Option<i32>, Timestamp)>,
    /// Transactions whose marks it has seen.
    marks: BTreeSet<usize>,
    /// What was committed by transactions that began later than this moment it must be told.
    pub since: u64,
    /// The question under way, and when it was asked.
    pub asking: Option<(u64, u64)>,
    pub next_number: u64,
    pub told_by: Option<NodeId>,
    codec: Codec,
}

fn logged(writes: &[OwnedWrite]) -> Vec<LoggedWrite<'_>> {
    writes.iter().map(|write| LoggedWrite { table: write.table, kind: write.kind, row: &write.row }).collect()
}

impl Follower {
    /// It has been told everything up to this entry of the log.
    pub fn is_at(&self, index: u64) -> bool {
        self.place.is_some_and(|place| place.index == index)
    }

    /// There was a gap: it knows nothing any more.
    pub fn begin_again(&mut self) {
        *self = Follower { next_number: self.next_number, ..Follower::default() };
    }

    /// True if it was a decision about something that was prepared.
    pub fn take(&mut self, told: Told) -> Result<bool, String> {
        let is_decision = matches!(told, Told::Decided(..));
        let change = match &told {
            Told::Committed(transaction, timestamp, writes) => LoggedChange::Committed {
                transaction: *transaction,
                timestamp: *timestamp,
                writes: logged(writes),
            },
            Told::Prepared(transaction, writes) => {
                LoggedChange::Prepared { transaction: *transaction, writes: logged(writes) }
            }
            Told::Decided(transaction, commit) => {
                LoggedChange::Decided { transaction: *transaction, commit: *commit }
            }
            Told::Dropped(table) => LoggedChange::Dropped(*table),
        };
        let Some((_, timestamp, writes)) = self.undecided.take(&change) else { return Ok(false) };
        for write in &writes {
            self.change(timestamp, write)?;
        }
        Ok(is_decision)
    }

    fn change(&mut self, timestamp: Timestamp, write: &OwnedWrite) -> Result<(), String> {
        let (id, k) = self.codec.changed(write);
        let before = self.rows.insert(id, (k, timestamp));
        if id >= MARKS && !self.marks.insert((id - MARKS) as usize) {
            return Err(format!("the mark {id} was told twice"));
        }
        let Some((known, changed_at)) = before else { return Ok(()) };
        if changed_at >= timestamp {
            return Err(format!("row {id} was changed at {changed_at}, and then at {timestamp}"));
        }
        match known.is_some() != (write.kind == ChangeKind::Insert) {
            true => Ok(()),
            false => Err(format!("{:?} of row {id}, which was {known:?} before", write.kind)),
        }
    }

    /// At the end: what it knows of rows is so, and it knows of all transactions.
    ///
    /// # Errors
    /// It does not.
    pub fn check_end(&self, id: PartitionId, rows: &[Row], history: &History) -> Result<(), String> {
        let there: BTreeMap<i32, i32> = rows.iter().copied().collect();
        for (row, (k, _)) in &self.rows {
            let is = there.get(row).copied();
            if is != *k {
                return Err(format!(
                    "the changes of partition {id} have told {k:?} of row {row}, which is {is:?}"
                ));
            }
        }
        for &number in &history.committed {
            let record = &history.records[number];
            let must_be_told = record.began_at > self.since && record.wrote_to.contains(&id);
            if must_be_told && !self.marks.contains(&number) {
                return Err(format!("the changes of partition {id} have not told of transaction {number}"));
            }
        }
        Ok(())
    }
}
