//! The dictionary as rows of the meta partition, at its leader.
//!
//! Two tables:
//!
//! | table | key | row |
//! |---|---|---|
//! | `$changes` | the version that the change made, u64 big-endian | [`StoredChanges`](crate::dictionary::stored::StoredChanges) |
//! | `$dictionary` | nothing | [`SnapshotHead`]: which version the snapshot is of, and of how many pieces |
//! | | a version, u64, and a number, u32, big-endian | a piece of that version's snapshot |
//!
//! The changes are all those behind the snapshot's version, and some before it: whoever is behind the oldest of them takes the
//! snapshot first. Pieces of other versions than the head's mean nothing. See `compaction` for how a snapshot comes about.

use prost::Message;
use shoal_log::Durability;
use shoal_partition::{Direction, Partition, VisitAnswer};
use shoal_types::{Error, IndexMethod, Outcome, Result, TableId, TableSchema};

use crate::dictionary::Dictionary;
use crate::dictionary::system_rows::{primary_key, visit_rows};
use crate::dictionary::unique::bytes_table_schema;
use crate::membership::messages::{CatalogChange, ServiceReply, SnapshotHead, SnapshotPiece};

pub(crate) const CHANGES_TABLE: TableId = TableId(u32::MAX - 1);
pub(crate) const DICTIONARY_TABLE: TableId = TableId(u32::MAX - 3);
/// Bytes of changes or of a snapshot in one reply.
const REPLY_BYTES: usize = 4 << 20;

/// The key of a change's row.
pub(crate) fn change_key(version: u64) -> Vec<u8> {
    primary_key(&version.to_be_bytes())
}

/// The first column of the row of a snapshot's piece.
pub(crate) fn piece_name(version: u64, number: u32) -> Vec<u8> {
    [version.to_be_bytes().as_slice(), &number.to_be_bytes()].concat()
}

/// The number at the front of a row's name.
fn version_of(name: &[u8]) -> u64 {
    name.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

fn end_of_changes(partition: &mut Partition, direction: Direction) -> Result<u64> {
    let mut version = 0;
    visit_rows(partition, CHANGES_TABLE, None, direction, &mut |name, _| {
        version = version_of(name);
        VisitAnswer::Stop
    })?;
    Ok(version)
}

/// The version of the oldest change that is kept; 0 if there is none.
pub(crate) fn oldest_change(partition: &mut Partition) -> Result<u64> {
    end_of_changes(partition, Direction::Forward)
}

/// The version of the dictionary.
pub(crate) fn newest_change(partition: &mut Partition) -> Result<u64> {
    end_of_changes(partition, Direction::Backward)
}

/// The snapshot that there is.
pub(crate) fn snapshot_head(partition: &mut Partition) -> Result<Option<SnapshotHead>> {
    let mut head = None;
    visit_rows(partition, DICTIONARY_TABLE, None, Direction::Forward, &mut |name, bytes| {
        head = name.is_empty().then(|| SnapshotHead::decode(bytes));
        VisitAnswer::Stop
    })?;
    let damaged = |error| Error::unknown(format!("the head of the dictionary's snapshot is damaged: {error}"));
    head.transpose().map_err(damaged)
}

/// Names of pieces that belong to no snapshot, some of them.
pub(crate) fn stray_pieces(partition: &mut Partition, head: u64, limit: usize) -> Result<Vec<Vec<u8>>> {
    let mut stray = Vec::new();
    visit_rows(partition, DICTIONARY_TABLE, None, Direction::Forward, &mut |name, _| {
        if !name.is_empty() && version_of(name) != head {
            stray.push(name.to_vec());
        }
        if stray.len() < limit { VisitAnswer::Continue } else { VisitAnswer::Stop }
    })?;
    Ok(stray)
}

/// Changes are missing that nothing stands for.
pub(crate) fn gap() -> Error {
    Error::unknown("the dictionary's changes have a gap")
}

pub(crate) fn changes_schema() -> TableSchema {
    bytes_table_schema(CHANGES_TABLE, "$changes", "ndbcluster", IndexMethod::BTree, 0)
}

pub(crate) fn dictionary_schema() -> TableSchema {
    bytes_table_schema(DICTIONARY_TABLE, "$dictionary", "ndbcluster", IndexMethod::BTree, 0)
}

impl Dictionary {
    /// Changes behind a version, the oldest first, as many as fit a reply; or, if not all of them are kept, the head of the
    /// snapshot to begin with.
    pub(crate) fn changes_since(&self, since: u64) -> Result<ServiceReply> {
        let (_, _, partition) = self.meta_state()?;
        let mut guard = self.leader(partition)?;
        let mut reply = ServiceReply::default();
        let mut bytes = 0;
        let from = Some(change_key(since + 1));
        visit_rows(&mut guard, CHANGES_TABLE, from, Direction::Forward, &mut |name, changes| {
            bytes += changes.len();
            reply.changes.push(CatalogChange { version: version_of(name), changes: changes.to_vec() });
            if bytes > REPLY_BYTES { VisitAnswer::Stop } else { VisitAnswer::Continue }
        })?;
        if reply.changes.first().is_some_and(|first| first.version != since + 1) {
            reply.changes.clear();
            reply.snapshot = Some(snapshot_head(&mut guard)?.ok_or_else(gap)?);
        }
        drop(guard);
        if !reply.changes.is_empty() {
            self.have_definitions_on_disk()?;
        }
        Ok(reply)
    }

    /// Definitions are on this leader's disk before anybody follows them, also where commits are acknowledged from memory: whoever follows
    /// drops what they dropped, and an older dictionary, after a crash, would drop the rest.
    ///
    /// # Errors
    /// The log has stopped: they may be there after a restart or not.
    pub(crate) fn have_definitions_on_disk(&self) -> Result<()> {
        if self.log().durability() == Durability::Disk {
            return Ok(());
        }
        let synced = self.log().sync();
        synced.map(|_| ()).map_err(|error| Error::unknown(error.to_string()).with_outcome(Outcome::Unknown))
    }

    /// Pieces of a snapshot, from one on, as many as fit a reply; none if there is another snapshot by now.
    pub(crate) fn snapshot_pieces(&self, wanted: &SnapshotPiece) -> Result<ServiceReply> {
        let (_, _, partition) = self.meta_state()?;
        let mut guard = self.leader(partition)?;
        let mut reply = ServiceReply::default();
        if snapshot_head(&mut guard)?.is_none_or(|head| head.version != wanted.version) {
            return Ok(reply);
        }
        let mut bytes = 0;
        let from = Some(primary_key(&piece_name(wanted.version, wanted.number)));
        visit_rows(&mut guard, DICTIONARY_TABLE, from, Direction::Forward, &mut |name, piece| {
            if version_of(name) != wanted.version {
                return VisitAnswer::Stop;
            }
            bytes += piece.len();
            reply.pieces.push(piece.to_vec());
            if bytes > REPLY_BYTES { VisitAnswer::Stop } else { VisitAnswer::Continue }
        })?;
        Ok(reply)
    }

    pub(crate) fn newest_change(&self) -> Result<u64> {
        let (_, _, partition) = self.meta_state()?;
        newest_change(&mut *self.leader(partition)?)
    }
}
