//! Checkpoints on their way to replicas whose logs end before the leader's begins.
//!
//! The leader pins a state and sends it block by block, each when the one before it has been taken, so that a slow receiver slows the
//! sender and nothing piles up. The receiver writes a checkpoint file first and keeps what it has; only when the file is whole and
//! durable is it installed in the place of the old rows. A transfer that breaks off leaves nothing behind.

use std::collections::BTreeMap;

use shoal_partition::{CheckpointCursor, CheckpointHead, Partition};
use shoal_types::{Error, ErrorCode, NodeId, Result};

/// A copy that another replica is sent. Ends with [`Sending::end`].
pub struct Sending {
    cursor: CheckpointCursor,
    has_begun: bool,
}

/// One piece of a copy.
#[derive(Clone, Debug)]
pub struct Piece {
    pub first: bool,
    pub last: bool,
    pub block: Vec<u8>,
}

impl Sending {
    /// The replica's state as it is now; and the entries behind it stay in memory until the copy has been sent.
    ///
    /// # Errors
    /// A copy is being installed here.
    pub fn begin(partition: &mut Partition) -> Result<Sending> {
        if partition.is_installing() {
            return Err(temporary("the partition is being replaced by a copy itself"));
        }
        let cursor = partition.begin_checkpoint();
        partition.pin_log(cursor.index());
        Ok(Sending { cursor, has_begun: false })
    }

    /// The entry up to which the copy has everything.
    pub fn index(&self) -> u64 {
        self.cursor.index()
    }

    /// The next piece, of about so many bytes.
    pub fn next(&mut self, partition: &mut Partition, bytes: usize) -> Result<Piece> {
        let mut block = Vec::with_capacity(bytes * 2);
        let more = partition.next_checkpoint_block(&mut self.cursor, bytes, &mut block)?;
        let first = !std::mem::replace(&mut self.has_begun, true);
        Ok(Piece { first, last: !more, block })
    }

    /// It was sent, or will not be.
    pub fn end(self, partition: &mut Partition) {
        partition.unpin_log(self.cursor.index());
        partition.end_checkpoint(self.cursor);
    }
}

/// A copy that is being received into a file `F`.
pub struct Receiving<F> {
    from: NodeId,
    head: CheckpointHead,
    pub file: F,
}

impl<F> Receiving<F> {
    /// With the first block.
    pub fn begin(from: NodeId, block: &[u8], file: impl FnOnce() -> Result<F>) -> Result<Receiving<F>> {
        Ok(Receiving { from, head: CheckpointHead::of(block)?, file: file()? })
    }

    /// The file is about to be made durable under this `number`: from then on it counts as the newest checkpoint here, unless `newest`
    /// there is is newer. It may take the place of none that it is not to replace: the log may have been cut behind that one.
    ///
    /// # Errors
    /// The copy is not to be kept. What was begun is to be [given up](give_up), unless another copy is being installed.
    pub fn begin_install<N: Ord>(
        &self,
        partition: &mut Partition,
        number: N,
        newest: Option<N>,
    ) -> Result<(), NotKept> {
        if partition.is_installing() {
            return Err(NotKept::Another(temporary("another copy of the partition is being installed")));
        }
        self.check(partition, number, newest).map_err(NotKept::This)
    }

    fn check<N: Ord>(&self, partition: &mut Partition, number: N, newest: Option<N>) -> Result<()> {
        partition.begin_install()?;
        partition.check_news(&self.head)?;
        match newest.is_some_and(|newest| newest > number) {
            true => Err(temporary("a checkpoint was made while the copy of the partition came; it comes again")),
            false => Ok(()),
        }
    }
}

/// Why a copy is not kept.
#[derive(Debug)]
pub enum NotKept {
    /// It is given up.
    This(Error),
    /// Another one is being installed, and goes on.
    Another(Error),
}

/// Goes on without a copy. False: the old rows are gone from memory. They are still on disk, with the log behind them, so the node
/// stops. The partition is to be settled.
pub fn give_up(partition: &mut Partition) -> bool {
    matches!(partition.abort_install(), Ok(true))
}

/// Copies of this node's partitions that are being received, one of each.
pub struct Copies<F> {
    coming: BTreeMap<u32, Receiving<F>>,
}

impl<F> Default for Copies<F> {
    fn default() -> Copies<F> {
        Copies { coming: BTreeMap::new() }
    }
}

impl<F> Copies<F> {
    /// The copy that the next piece of this sender belongs to.
    pub fn take(&mut self, partition: u32, from: NodeId) -> Result<Receiving<F>> {
        let begun = self.coming.remove(&partition).filter(|copy| copy.from == from);
        begun.ok_or_else(|| temporary("the copy of the partition was not begun; it begins again"))
    }

    /// More of it is to come. It takes the place of one that was begun before.
    pub fn keep(&mut self, partition: u32, copy: Receiving<F>) {
        self.coming.insert(partition, copy);
    }
}

fn temporary(reason: &str) -> Error {
    Error::new(ErrorCode::GetTemporaryErrmsg, format!("Got temporary error: {reason}"))
}
