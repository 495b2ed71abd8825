//! One write of a batch, staged in its partition.

use shoal_cluster::PartitionGuard;
use shoal_partition::{ColumnSplice, LockMode, LockPolicy, LockRequest, ReadView, Step, WaitToken, WriteOutcome};
use shoal_types::row::RowRef;
use shoal_types::{IndexId, Result, TransactionId};

use super::bytes::Within;
use super::change::ChangeOfRow;
use crate::protocol::{FrameReader, Write, WriteKind};

pub(crate) enum Staged<'p> {
    Done,
    /// There is no such row, or it does not fulfil the condition; the batch goes on.
    Skipped,
    /// There is no such row, and there has to be.
    NotFound,
    Duplicate {
        index: IndexId,
        row: RowRef<'p>,
    },
}

/// The row is locked, and what is beside it is not.
const LOCK_ROW: LockRequest =
    LockRequest { mode: LockMode::Exclusive, policy: LockPolicy::Wait, lock_gaps: false };

/// For a write that came in a frame: a row in it is one of its table. Nothing that is no row gets to the partition's keys, nor
/// into its log.
pub(crate) fn check_frame(guard: &PartitionGuard<'_>, write: &Write<'_>) -> Result<()> {
    match write.kind {
        WriteKind::Insert | WriteKind::Update => guard.check_row(write.table, write.bytes),
        WriteKind::Put => {
            let mut reader = FrameReader::new(write.bytes);
            reader.bytes()?;
            guard.check_row(write.table, reader.rest())
        }
        // Keys are compared, not read; what is changed in place is made of the row that is there.
        WriteKind::Delete | WriteKind::DeleteIfThere | WriteKind::Change => Ok(()),
    }
}

pub(crate) fn stage<'p>(
    guard: &'p mut PartitionGuard<'_>,
    id: TransactionId,
    write: Write<'_>,
    token: WaitToken,
) -> Result<Step<Staged<'p>>> {
    let view = ReadView::newest(Some(id), token);
    let step = match write.kind {
        WriteKind::Insert => guard.insert(id, write.table, write.bytes, token)?,
        WriteKind::Update => guard.update(id, write.table, write.bytes, token)?,
        WriteKind::Delete => guard.delete(id, write.table, write.bytes, token)?,
        WriteKind::DeleteIfThere => {
            return Ok(match guard.delete(id, write.table, write.bytes, token)? {
                Step::Ready(WriteOutcome::NotFound) => Step::Ready(Staged::Skipped),
                Step::Ready(_) => Step::Ready(Staged::Done),
                Step::Wait(blocked) => Step::Wait(blocked),
            });
        }
        WriteKind::Change => {
            let change = ChangeOfRow::read(write.bytes)?;
            let key = change.primary_key;
            let row = match guard.get(&view, write.table, key, Some(LOCK_ROW))? {
                Step::Ready(Some(row)) => row,
                Step::Ready(None) => return Ok(Step::Ready(Staged::Skipped)),
                Step::Wait(blocked) => return Ok(Step::Wait(blocked)),
            };
            if let Some((column, Within { at, removed, inserted })) = change.change.within(row)? {
                let splice = ColumnSplice { column, at, removed, inserted: &inserted };
                guard.splice(id, write.table, key, splice, token)?
            } else if let Some(new) = change.change.apply(row)? {
                guard.update(id, write.table, &new, token)?
            } else {
                return Ok(Step::Ready(Staged::Skipped));
            }
        }
        WriteKind::Put => {
            let mut reader = FrameReader::new(write.bytes);
            let (primary_key, row) = (reader.bytes()?, reader.rest());
            let is_there = match guard.get(&view, write.table, primary_key, Some(LOCK_ROW))? {
                Step::Ready(row) => row.is_some(),
                Step::Wait(blocked) => return Ok(Step::Wait(blocked)),
            };
            match is_there {
                true => guard.update(id, write.table, row, token)?,
                false => guard.insert(id, write.table, row, token)?,
            }
        }
    };
    Ok(match step {
        Step::Ready(WriteOutcome::Done) => Step::Ready(Staged::Done),
        Step::Ready(WriteOutcome::NotFound) => Step::Ready(Staged::NotFound),
        Step::Ready(WriteOutcome::Duplicate { index, row }) => Step::Ready(Staged::Duplicate { index, row }),
        Step::Wait(blocked) => Step::Wait(blocked),
    })
}
