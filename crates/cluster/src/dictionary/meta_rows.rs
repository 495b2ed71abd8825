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

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use prost::Message;
use shoal_partition::{Cursor, Direction, KeyRange, Partition, ReadView, ScanState, Step, Visit, WaitToken};
use shoal_types::row::RowRef;
use shoal_types::{Error, IndexId, IndexMethod, Result, TableId, TableSchema};

use crate::dictionary::compaction::CHANGES_MAX;
use crate::dictionary::meta_group::RowChange;
use crate::dictionary::unique::{
    base_primary_key as second_column, bytes_table_schema, hidden_primary_key, unique_row as bytes_row,
};
use crate::membership::requests::{CatalogChange, ServiceReply, SnapshotHead, SnapshotPiece, temporary};
use crate::node::Node;

pub(crate) const CHANGES_TABLE: TableId = TableId(u32::MAX - 1);
pub(crate) const DICTIONARY_TABLE: TableId = TableId(u32::MAX - 3);
/// Bytes of changes or of a snapshot in one reply.
const REPLY_BYTES: usize = 4 << 20;
const ROWS_PER_STEP: usize = 256;

/// The key of a change's row.
pub(crate) fn change_key(version: u64) -> Vec<u8> {
    primary_key(&version.to_be_bytes())
}

/// The first column of the row of a snapshot's piece.
pub(crate) fn piece_name(version: u64, number: u32) -> Vec<u8> {
    [version.to_be_bytes().as_slice(), &number.to_be_bytes()].concat()
}

pub(crate) fn primary_key(name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(16);
    hidden_primary_key(name, &mut key);
    key
}

/// The number at the front of a row's name.
fn version_of(name: &[u8]) -> u64 {
    name.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Visits rows of a system table by their names and contents, from a key on.
pub(crate) fn visit_rows(
    partition: &mut Partition,
    table: TableId,
    from: Option<Vec<u8>>,
    direction: Direction,
    visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit,
) -> Result<()> {
    if partition.schema(table).is_none() {
        return Ok(());
    }
    let start = from.map_or(Bound::Unbounded, Bound::Included);
    let mut cursor = Cursor::new(table, IndexId(0), KeyRange { start, ..KeyRange::ALL }, direction);
    let view = ReadView::newest(None, WaitToken(0));
    loop {
        let mut see = |row: RowRef<'_>| visit(row.raw(0), second_column(row));
        match partition.scan(&view, &mut cursor, None, ROWS_PER_STEP, &mut see)? {
            Step::Ready(ScanState::More) => {}
            _ => return Ok(()),
        }
    }
}

fn end_of_changes(partition: &mut Partition, direction: Direction) -> Result<u64> {
    let mut version = 0;
    visit_rows(partition, CHANGES_TABLE, None, direction, &mut |name, _| {
        version = version_of(name);
        Visit::Stop
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
        Visit::Stop
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
        if stray.len() < limit { Visit::Continue } else { Visit::Stop }
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

impl Node {
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
            if bytes > REPLY_BYTES { Visit::Stop } else { Visit::Continue }
        })?;
        if reply.changes.first().is_some_and(|first| first.version != since + 1) {
            reply.changes.clear();
            reply.snapshot = Some(snapshot_head(&mut guard)?.ok_or_else(gap)?);
        }
        Ok(reply)
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
                return Visit::Stop;
            }
            bytes += piece.len();
            reply.pieces.push(piece.to_vec());
            if bytes > REPLY_BYTES { Visit::Stop } else { Visit::Continue }
        })?;
        Ok(reply)
    }

    pub(crate) fn newest_change(&self) -> Result<u64> {
        let (_, _, partition) = self.meta_state()?;
        newest_change(&mut *self.leader(partition)?)
    }

    /// Makes a change that was planned on version `base`; the version that it made.
    pub(crate) async fn change_as_leader(&self, base: u64, changes: &[u8]) -> Result<u64> {
        let (cluster, meta, partition) = self.meta_state()?;
        let _one_at_a_time = meta.changing.lock().await;
        self.have_fragment(partition, changes_schema()).await?;
        let newest = self.newest_change()?;
        if newest != base {
            return Err(temporary(format!(
                "the dictionary has changed meanwhile (version {newest}, planned on {base}); try again"
            )));
        }
        let row = bytes_row(&(base + 1).to_be_bytes(), changes)?;
        self.commit_rows((partition, None), CHANGES_TABLE, &[RowChange::Put(row)]).await?;
        cluster.newest_catalog.fetch_max(base + 1, Ordering::AcqRel);
        let oldest = oldest_change(&mut *self.leader(partition)?)?;
        if base + 1 - oldest >= CHANGES_MAX
            && let Some(node) = cluster.node.get().and_then(std::sync::Weak::upgrade)
        {
            let node = Arc::downgrade(&node);
            cluster.spawn(move || async move {
                let Some(node) = node.upgrade() else { return };
                if let Err(error) = node.compact_dictionary().await {
                    tracing::debug!(%error, "the dictionary's changes could not be compacted yet");
                }
            });
        }
        Ok(base + 1)
    }
}
