//! The changes of the dictionary, one behind the other, and compacting them: its state as a snapshot, and then the old changes go.
//!
//! Whoever leads the meta partition does it, now and then after a change. The rows tell how far it has come, and nothing else
//! does; every step is a commit of its own of bounded size, and whoever leads after any of them begins again from the rows:
//!
//! 1. Pieces that belong to no snapshot are deleted: of one that was never finished, or of an earlier one.
//! 2. The pieces of this node's catalog are written.
//! 3. The head is put: from here on this is the snapshot.
//! 4. Pieces of the earlier one are deleted, and then changes that are in the snapshot, but for the newest few.
//!
//! At any moment the head's snapshot is whole, and no change behind its version is missing. A node that is half through with
//! fetching a snapshot when another takes its place begins again with that.

use prost::Message;
use shoal_partition::{Direction, VisitAnswer};
use shoal_types::Result;

use crate::base::errors::temporary;
use crate::dictionary::Dictionary;
use crate::dictionary::meta_rows::{
    CHANGES_TABLE, DICTIONARY_TABLE, change_key, changes_schema, dictionary_schema, newest_change, oldest_change,
    piece_name, snapshot_head, stray_pieces,
};
use crate::dictionary::stored::StoredDictionary;
use crate::dictionary::system_rows::{RowChange, primary_key, visit_rows};
use crate::dictionary::unique::unique_row as bytes_row;
use crate::membership::messages::SnapshotHead;

/// So many changes are the reason to compact.
pub(crate) const CHANGES_MAX: u64 = 256;
/// So many are kept when that has been done: nodes that are a little behind need not begin anew, and authors find out
/// what became of a change whose reply was lost.
pub(crate) const CHANGES_KEPT: u64 = 64;
const _: () =
    assert!(CHANGES_KEPT > 0 && CHANGES_KEPT < CHANGES_MAX, "the newest change tells the dictionary's version");
/// Rows that are deleted by one commit, and bytes that are written by one.
const ROWS_PER_COMMIT: usize = 64;
const PIECE_BYTES: usize = 256 << 10;

/// A compaction at work.
struct Compaction {
    /// The leader's term. In another one somebody else may have begun anew meanwhile.
    term: u64,
    version: u64,
    pieces: Vec<Vec<u8>>,
    /// How many of them are written.
    written: usize,
}

impl Dictionary {
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
        self.have_definitions_on_disk()?;
        self.note_newest_catalog(base + 1);
        // The change is made, whatever this node leads by now: no error may say otherwise.
        let oldest = self.leader(partition).and_then(|mut guard| oldest_change(&mut guard));
        if oldest.is_ok_and(|oldest| base + 1 - oldest >= CHANGES_MAX) {
            let handle = self.handle.clone();
            cluster.spawn(move || async move {
                let Some(dictionary) = handle.upgrade() else { return };
                if let Err(error) = dictionary.compact_dictionary().await {
                    tracing::debug!(%error, "the dictionary's changes could not be compacted yet");
                }
            });
        }
        Ok(base + 1)
    }

    /// Compacts the dictionary, whose leader this node is.
    async fn compact_dictionary(&self) -> Result<()> {
        let (_, meta, _) = self.meta_state()?;
        let Ok(_one_at_a_time) = meta.compacting.try_lock() else { return Ok(()) };
        let mut compaction = self.begin_compaction(PIECE_BYTES).await?;
        while self.step_compaction(&mut compaction).await? {}
        self.log_event("dictionary", &format!("Changes up to version {} are compacted", compaction.version));
        Ok(())
    }

    /// Of the dictionary as this node has it.
    async fn begin_compaction(&self, piece_bytes: usize) -> Result<Compaction> {
        let (_, _, partition) = self.meta_state()?;
        self.have_fragment(partition, dictionary_schema()).await?;
        let term = self.leader(partition)?.leader_term();
        let catalog = self.catalog();
        let bytes = StoredDictionary::snapshot(&catalog, self.next_free_table_id()).encode_to_vec();
        let pieces = bytes.chunks(piece_bytes).map(<[u8]>::to_vec).collect();
        Ok(Compaction { term, version: catalog.version, pieces, written: 0 })
    }

    /// One commit, if one is left to do.
    async fn step_compaction(&self, compaction: &mut Compaction) -> Result<bool> {
        let (_, _, partition) = self.meta_state()?;
        let (head, stray, newest) = {
            let mut guard = self.leader(partition)?;
            let head = snapshot_head(&mut guard)?.map_or(0, |head| head.version);
            (head, stray_pieces(&mut guard, head, ROWS_PER_COMMIT)?, newest_change(&mut guard)?)
        };
        let Compaction { term, version, .. } = *compaction;
        // Until the head is put, this compaction's own pieces belong to no snapshot either.
        let is_writing = head < version && compaction.written > 0;
        if !stray.is_empty() && !is_writing {
            let changes: Vec<RowChange> = stray.iter().map(|name| RowChange::Delete(primary_key(name))).collect();
            self.commit_rows((partition, Some(term)), DICTIONARY_TABLE, &changes).await?;
            return Ok(true);
        }
        if head < version {
            let row = match compaction.pieces.get(compaction.written) {
                Some(piece) => bytes_row(&piece_name(version, compaction.written as u32), piece)?,
                None => {
                    let pieces = compaction.pieces.len() as u32;
                    bytes_row(&[], &SnapshotHead { version, pieces }.encode_to_vec())?
                }
            };
            self.commit_rows((partition, Some(term)), DICTIONARY_TABLE, &[RowChange::Put(row)]).await?;
            compaction.written += 1;
            return Ok(true);
        }
        self.delete_changes((partition, term), head.min(newest.saturating_sub(CHANGES_KEPT))).await
    }

    /// Deletes the oldest changes up to a version, some of them. False: there are none.
    async fn delete_changes(&self, (partition, term): (u32, u64), last: u64) -> Result<bool> {
        let mut changes = Vec::new();
        {
            let mut guard = self.leader(partition)?;
            let oldest = oldest_change(&mut guard)?;
            if oldest == 0 || oldest > last {
                return Ok(false);
            }
            visit_rows(
                &mut guard,
                CHANGES_TABLE,
                Some(change_key(oldest)),
                Direction::Forward,
                &mut |name, _| {
                    let is_old = name.first_chunk().is_some_and(|bytes| u64::from_be_bytes(*bytes) <= last);
                    if is_old {
                        changes.push(RowChange::Delete(primary_key(name)));
                    }
                    if is_old && changes.len() < ROWS_PER_COMMIT {
                        VisitAnswer::Continue
                    } else {
                        VisitAnswer::Stop
                    }
                },
            )?;
        }
        self.commit_rows((partition, Some(term)), CHANGES_TABLE, &changes).await?;
        Ok(true)
    }
}

#[cfg(test)]
pub(super) mod tests;
