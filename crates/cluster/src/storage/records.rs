//! The groups and kinds of the log's records, and those that are no messages.
//!
//! | group | kind | payload |
//! |---|---|---|
//! | partition + 1 | 0 | a Raft entry |
//! | | 1 | the record's term is voted in: the vote and the commit index, u64, little-endian |
//! | | 2 | nothing: the replica's log begins anew behind the record's index and term |
//! | 0, the dictionary of a process that is the whole database | 1, 2, 3 | see the dictionary's `stored` |

use shoal_partition::HardState;
use shoal_types::{Error, Result, TableId};

/// The meta group's id in the log and in the checkpoint store; partitions follow from 1 on.
pub(crate) const META_GROUP: u64 = 0;
pub(crate) const KIND_MAP: u8 = 1;
pub(crate) const KIND_CHANGES: u8 = 2;
pub(crate) const KIND_SEQUENCE: u8 = 3;
/// A partition's Raft entry.
pub(crate) const KIND_ENTRY: u8 = 0;
/// A replica's vote: the record's term, and the vote and the commit index as u64, little-endian.
pub(crate) const KIND_VOTE: u8 = 1;
/// A replica's log begins anew behind the record's index and term: what lies before is in a checkpoint.
pub(crate) const KIND_LOG_START: u8 = 2;

/// The id of a partition's records and checkpoints.
pub(crate) fn group_of(partition: u32) -> u64 {
    u64::from(partition) + 1
}

pub(crate) fn vote_record(vote: &HardState) -> [u8; 16] {
    let mut record = [0; 16];
    record[..8].copy_from_slice(&vote.vote.to_le_bytes());
    record[8..].copy_from_slice(&vote.commit.to_le_bytes());
    record
}

pub(crate) fn read_vote(term: u64, payload: &[u8]) -> Result<HardState> {
    let (vote, rest) = payload.split_first_chunk::<8>().ok_or_else(damaged_vote)?;
    let commit = rest.first_chunk::<8>().ok_or_else(damaged_vote)?;
    Ok(HardState { term, vote: u64::from_le_bytes(*vote), commit: u64::from_le_bytes(*commit) })
}

fn damaged_vote() -> Error {
    Error::unknown("a replica's vote in the log is damaged or of a newer version")
}

/// No value of the table's sequence lies at or above `value`.
pub(crate) fn sequence_record(table: TableId, value: u64) -> [u8; 12] {
    let mut record = [0; 12];
    record[..4].copy_from_slice(&table.0.to_le_bytes());
    record[4..].copy_from_slice(&value.to_le_bytes());
    record
}
