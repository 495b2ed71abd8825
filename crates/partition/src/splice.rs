//! Changes within one column of a row, which cost what they change and not what the row has.
//!
//! The first such write of a transaction stages a version as any update does. The next one takes that version's bytes along: it
//! changes them where they lie ([`Splice`]), and the write that it supersedes keeps only what leads back to it. So a value that is
//! appended to in a hundred pieces is in memory once, every write counts as one (`Partition::has_part`), and going back to any
//! savepoint restores the very bytes that were staged at it.
//!
//! Only columns that no index has a part of are changed so: nothing else of the row's staged versions differs then, neither keys,
//! nor unique entries, nor what range locks care about.

use shoal_types::row::Splice;
use shoal_types::{Error, Result, TableId, TransactionId, key_hash};

use crate::api::*;
use crate::fragment::Fragment;
use crate::partition::Partition;
use crate::read::Found;
use crate::workspace::Moved;
use crate::write::{Outcome, Target};

/// Some bytes of one column that others take the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSplice<'a> {
    /// A variable-size column, by its position in the row.
    pub column: usize,
    /// Position in the column, which is not NULL and has the bytes that are removed.
    pub at: usize,
    /// So many bytes go.
    pub removed: usize,
    /// These come in their place.
    pub inserted: &'a [u8],
}

impl Partition {
    /// Stages a version of the row with this primary key in which some bytes of one column are others. The row's newest version
    /// must be locked by this transaction, which has judged by it what is to be changed; the column is not part of the primary
    /// key.
    pub fn splice(
        &mut self,
        transaction: TransactionId,
        table: TableId,
        key: &[u8],
        splice: ColumnSplice<'_>,
        token: WaitToken,
    ) -> Result<Step<WriteOutcome<'_>>> {
        let target = Target { table, hash: key_hash(key), key };
        let outcome = match self.lock_target(transaction, &target, token)? {
            Step::Ready(Found::Nothing) => Step::Ready(Outcome::NotFound),
            Step::Ready(found) => self.splice_version(transaction, &target, found, splice, token)?,
            Step::Wait(blocked) => Step::Wait(blocked),
        };
        Ok(self.resolve(transaction, table, outcome))
    }

    fn splice_version(
        &mut self,
        id: TransactionId,
        target: &Target<'_>,
        found: Found,
        wanted: ColumnSplice<'_>,
        token: WaitToken,
    ) -> Result<Step<Outcome>> {
        let ColumnSplice { column, at, removed, inserted } = wanted;
        let fragment = self.fragment(target.table)?;
        let old = self.found_bytes(id, target.table, found).ok_or_else(unfit)?;
        let row = fragment.row(old);
        let splice = fragment.layout.splice(row, column, at, removed, inserted);
        if let (Some(splice), Found::Staged(number)) = (&splice, found)
            && !fragment.has_indexed(column)
        {
            self.splice_staged(id, target.table, number, splice)?;
            return Ok(Step::Ready(Outcome::Done));
        }
        let new = match splice {
            Some(splice) => splice.apply(old.into()).0,
            None => spliced_copy(fragment, old, wanted)?,
        };
        self.stage_version(id, target, &new, found, token)
    }

    /// Changes the transaction's newest write of a row where it lies.
    ///
    /// What both writes have reserved is enough, whichever of them remains: the change can be taken back without asking for memory.
    fn splice_staged(&mut self, id: TransactionId, table: TableId, number: u32, splice: &Splice) -> Result<()> {
        let fragment = self.fragment(table)?;
        let staged = self.transaction(id).and_then(|known| known.writes.get(number as usize)).ok_or_else(unfit)?;
        let row = staged.row.as_deref().ok_or_else(unfit)?;
        let before = staged.charge;
        let charge = fragment.charge_with(row, row.len() + splice.kept_bytes() - splice.removed_bytes());
        let kept = Moved::charge_of(splice).max(before.saturating_sub(charge));
        let (reserved, wanted) = (before, charge + kept);
        if wanted > reserved && !self.config.budget.try_reserve(wanted - reserved) {
            return Err(self.full(&fragment.schema.name));
        }
        fragment.counted.add(|operations| operations.key_updates += 1);
        // The lock was taken in this very call, so the transaction is active.
        self.active(id)?.stage_splice(number, splice, charge, kept);
        self.config.budget.release(reserved.saturating_sub(wanted));
        Ok(())
    }
}

fn unfit() -> Error {
    Error::unknown("internal: a change within a column does not fit its row")
}

/// The row that a splice would make, encoded anew.
fn spliced_copy(fragment: &Fragment, old: &[u8], wanted: ColumnSplice<'_>) -> Result<Box<[u8]>> {
    let ColumnSplice { column, at, removed, inserted } = wanted;
    let row = fragment.row(old);
    if column >= fragment.layout.column_count() || row.is_null(column) {
        return Err(unfit());
    }
    let raw = row.raw(column);
    let (head, rest) = raw.split_at_checked(at).ok_or_else(unfit)?;
    let tail = rest.get(removed..).ok_or_else(unfit)?;
    let value = [head, inserted, tail].concat();
    let mut new = Vec::with_capacity(old.len() + inserted.len());
    fragment.layout.encode_replaced(row, &[(column, Some(&value))], &mut new)?;
    Ok(new.into())
}
