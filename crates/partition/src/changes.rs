//! What the log tells of committed changes, for whoever follows tables from outside.
//!
//! A place in the stream of changes is an entry of the log, and the log is the same on all replicas: whoever has read up to an
//! entry at one leader goes on behind it at the next, and misses nothing and gets nothing twice. Nothing is kept for followers: they
//! read what is in memory for replicas that are away, and hear of a [`Gap`] if that does not reach back far enough. Only a group of
//! one, which needs no log in memory, keeps the end of it while it is followed.
//!
//! The writes of a transaction over several partitions come with its PREPARE entry and count from its DECIDE entry on, which
//! names the transaction alone: followers keep them in between. Whoever begins to follow gets what is prepared at that moment.

use hashbrown::HashMap;
use shoal_planted::{Bug, is_planted};
use shoal_types::{TableId, Timestamp, TransactionId};

use crate::agreement::LogEnd;
use crate::api::WaitToken;
use crate::entry::{self, DecodedEntry, DecodedWrite};
use crate::partition::Partition;
use crate::proposal::Change;
use crate::workspace::State;

/// Entries that are looked at in one call.
const ENTRIES_MAX: usize = 1024;

/// What a write does to its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The row was not there before.
    Insert,
    /// The row was there before, and stays.
    Update,
    /// The row goes.
    Delete,
}

/// A row as it is afterwards; of one that goes the columns of its primary key alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedWrite<'a> {
    /// The row's table.
    pub table: TableId,
    /// What becomes of the row.
    pub kind: ChangeKind,
    /// The row's bytes, as tables store them.
    pub row: &'a [u8],
}

/// An entry of the log, as far as the tables that are followed are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoggedChange<'a> {
    /// Writes that are committed by this entry.
    Committed {
        /// Whose writes they are.
        transaction: TransactionId,
        /// When they were committed.
        timestamp: Timestamp,
        /// In the order in which they were staged.
        writes: Vec<LoggedWrite<'a>>,
    },
    /// To be kept until it is decided.
    Prepared {
        /// Whose writes they are.
        transaction: TransactionId,
        /// In the order in which they were staged.
        writes: Vec<LoggedWrite<'a>>,
    },
    /// What was prepared is committed at this timestamp; `None`: it never was. Comes for transactions without writes to the
    /// tables as well.
    Decided {
        /// What was decided on.
        transaction: TransactionId,
        /// When it is committed, if it is.
        commit: Option<Timestamp>,
    },
    /// The table has a new definition; rows are stored as before.
    Altered {
        /// Which table it is.
        table: TableId,
        /// The version of its definition from here on.
        version: u32,
    },
    /// The table is gone with all its rows.
    Dropped(TableId),
}

/// A write that outlives the entry that told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedWrite {
    /// The row's table.
    pub table: TableId,
    /// What becomes of the row.
    pub kind: ChangeKind,
    /// The row's bytes, as tables store them.
    pub row: Vec<u8>,
}

impl OwnedWrite {
    /// A copy of a write.
    pub fn of(write: &LoggedWrite<'_>) -> OwnedWrite {
        OwnedWrite { table: write.table, kind: write.kind, row: write.row.to_vec() }
    }
}

/// What a follower keeps of one partition: writes that are prepared, until they are decided.
#[derive(Default)]
pub struct Undecided {
    prepared: HashMap<TransactionId, Vec<OwnedWrite>, foldhash::fast::FixedState>,
}

impl Undecided {
    /// The follower begins again at another place.
    pub fn clear(&mut self) {
        self.prepared.clear();
    }

    /// Takes the next change; yields what it commits.
    pub fn take(&mut self, change: &LoggedChange<'_>) -> Option<(TransactionId, Timestamp, Vec<OwnedWrite>)> {
        match change {
            LoggedChange::Committed { transaction, timestamp, writes } => {
                Some((*transaction, *timestamp, writes.iter().map(OwnedWrite::of).collect()))
            }
            LoggedChange::Prepared { transaction, writes } => {
                // A large one comes in parts.
                let known = self.prepared.entry(*transaction).or_default();
                known.extend(writes.iter().map(OwnedWrite::of));
                None
            }
            LoggedChange::Decided { transaction, commit } => {
                let writes = self.prepared.remove(transaction)?;
                commit.map(|timestamp| (*transaction, timestamp, writes))
            }
            LoggedChange::Altered { .. } | LoggedChange::Dropped(_) => None,
        }
    }
}

/// Why changes behind a place cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The log in memory does not reach back so far.
    Compacted,
    /// The place is not in the log: what was read last was lost when all replicas crashed.
    Lost,
    /// An entry cannot be told: an earlier version wrote it, which did not say what it deletes, or it is too long for a frame.
    Unreadable,
}

/// How far `follow` has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Where to go on.
    pub place: LogEnd,
    /// All that is applied has been seen.
    pub is_at_end: bool,
}

/// The writes to these tables.
fn writes_to<'a>(tables: &[TableId], writes: &[DecodedWrite<'a>]) -> Result<Vec<LoggedWrite<'a>>, Gap> {
    let wanted = writes.iter().filter_map(|write| {
        let (table, kind, row) = match *write {
            DecodedWrite::Put { table, row, is_new: true } => (table, ChangeKind::Insert, row),
            DecodedWrite::Put { table, row, is_new: false } => (table, ChangeKind::Update, row),
            DecodedWrite::Delete { table, name, .. } => (table, ChangeKind::Delete, name),
        };
        let is_nameless = kind == ChangeKind::Delete && row.is_empty();
        tables.contains(&table).then_some(match is_nameless {
            true => Err(Gap::Unreadable),
            false => Ok(LoggedWrite { table, kind, row }),
        })
    });
    wanted.collect()
}

/// What an entry says about these tables; `None`: nothing.
fn change_in<'a>(tables: &[TableId], data: &'a [u8]) -> Result<Option<LoggedChange<'a>>, Gap> {
    let writes = |writes: &[DecodedWrite<'a>], make: &dyn Fn(Vec<LoggedWrite<'a>>) -> LoggedChange<'a>| {
        writes_to(tables, writes).map(|writes| (!writes.is_empty()).then(|| make(writes)))
    };
    match entry::decode(data).map_err(|_| Gap::Unreadable)? {
        DecodedEntry::Commit { transaction, timestamp, writes: all } => {
            writes(&all, &|writes| LoggedChange::Committed { transaction, timestamp, writes })
        }
        DecodedEntry::HomeCommit(commit) => {
            let (transaction, timestamp) = (commit.transaction, commit.timestamp);
            writes(&commit.writes, &|writes| LoggedChange::Committed { transaction, timestamp, writes })
        }
        DecodedEntry::Prepare(prepare) => {
            let transaction = prepare.transaction;
            writes(&prepare.writes, &|writes| LoggedChange::Prepared { transaction, writes })
        }
        DecodedEntry::Decide { transaction, decision } => {
            Ok(Some(LoggedChange::Decided { transaction, commit: decision.timestamp() }))
        }
        DecodedEntry::Part { transaction, writes: all } => {
            writes(&all, &|writes| LoggedChange::Prepared { transaction, writes })
        }
        DecodedEntry::CommitOfParts { transaction, timestamp, .. } => {
            Ok(Some(LoggedChange::Decided { transaction, commit: Some(timestamp) }))
        }
        DecodedEntry::AlterFragment(schema) if tables.contains(&schema.id) => {
            Ok(Some(LoggedChange::Altered { table: schema.id, version: schema.version }))
        }
        DecodedEntry::DropFragment(table) if tables.contains(&table) => Ok(Some(LoggedChange::Dropped(table))),
        DecodedEntry::Empty
        | DecodedEntry::CreateFragment(_)
        | DecodedEntry::DropFragment(_)
        | DecodedEntry::AlterFragment(_)
        | DecodedEntry::Forget(_) => Ok(None),
    }
}

impl Partition {
    /// Begins to follow tables: shows what is prepared, which tables are not here, and yields the place behind all that is
    /// applied.
    pub fn begin_to_follow(
        &mut self,
        tables: &[TableId],
        see: &mut dyn FnMut(LoggedChange<'_>),
    ) -> Result<LogEnd, Gap> {
        self.group.note_follower();
        for &table in tables.iter().filter(|table| !self.fragments.contains_key(*table)) {
            see(LoggedChange::Dropped(table));
        }
        for &id in self.two_phase.prepared.keys() {
            let Some(transaction) = self.transaction(id) else { continue };
            let State::Prepared { home, timestamp } = transaction.state else { continue };
            let data = entry::encode_prepare(transaction, home, timestamp, |table| tables.contains(&table));
            change_in(tables, &data)?.into_iter().for_each(&mut *see);
        }
        for part in self.logged_parts() {
            change_in(tables, &part)?.into_iter().for_each(&mut *see);
        }
        Ok(LogEnd { term: self.applied_term, index: self.applied_index })
    }

    /// Shows what has been applied behind a place, up to about so many bytes of entries.
    pub fn follow(
        &mut self,
        place: LogEnd,
        tables: &[TableId],
        bytes_max: usize,
        see: &mut dyn FnMut(LoggedChange<'_>),
    ) -> Result<Followed, Gap> {
        self.group.note_follower();
        if place.index > self.applied_index {
            return Err(Gap::Lost);
        }
        let behind = self.group.log_behind(place.index, place.term)?;
        let mut place = place;
        let mut bytes = 0;
        for entry in behind.take_while(|entry| entry.index <= self.applied_index).take(ENTRIES_MAX) {
            if is_planted(Bug::FollowSkipsWhatIsTooLong) {
                place = LogEnd { term: entry.term, index: entry.index };
            }
            if let Some(change) = change_in(tables, &entry.data)? {
                // One at least goes.
                if bytes > 0 && bytes + entry.data.len() > bytes_max {
                    break;
                }
                bytes += entry.data.len();
                see(change);
            }
            place = LogEnd { term: entry.term, index: entry.index };
        }
        Ok(Followed { place, is_at_end: place.index == self.applied_index })
    }

    /// `token` is woken when something more has been applied.
    pub fn wake_follower(&mut self, token: WaitToken) {
        if !self.followers.contains(&token) {
            self.followers.push(token);
        }
    }

    /// The token waits no longer.
    pub fn forget_follower(&mut self, token: WaitToken) {
        self.followers.retain(|&known| known != token);
    }

    /// All commits up to this timestamp, which is not later than `limit`, are applied, and none will come any more. The clock that gives
    /// timestamps to this partition has passed `limit`.
    pub fn complete_up_to(&self, limit: Timestamp) -> Timestamp {
        let proposed = self.proposals.iter().filter_map(|proposal| match proposal.change {
            Change::Commit(_, timestamp) | Change::HomeCommit(_, timestamp, _) => Some(timestamp),
            _ => None,
        });
        let undecided = self.two_phase.prepared.values().copied();
        let before = |timestamp: Timestamp| Timestamp(timestamp.0.saturating_sub(1));
        proposed.chain(undecided).map(before).fold(limit, Timestamp::min)
    }
}
