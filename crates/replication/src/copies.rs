//! Checkpoints on their way to replicas whose logs end before the leader's begins.
//!
//! The leader pins a state and sends it block by block, each when the one before it has been taken, so that a slow receiver slows the
//! sender and nothing piles up. The receiver writes a checkpoint file first and keeps what it has; only when the file is whole and
//! durable is it installed in the place of the old rows. A transfer that breaks off leaves nothing behind.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use shoal_partition::{CheckpointCursor, CheckpointHead, Partition};
use shoal_types::{Error, ErrorCode, NodeId, Result};

/// A copy that another replica is sent. Ends with [`Sending::end`].
pub struct Sending {
    cursor: CheckpointCursor,
    attempt: u64,
    pieces: u64,
}

/// One piece of a copy.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Of its sender's attempts the one that it belongs to.
    pub attempt: u64,
    /// How many came before it.
    pub number: u64,
    /// No piece comes behind it.
    pub last: bool,
    /// Bytes of the checkpoint.
    pub block: Vec<u8>,
}

impl Sending {
    /// The replica's state as it is now; and the entries behind it stay in memory until the copy has been sent. `attempt`: no other of this
    /// node has it, in no life.
    ///
    /// # Errors
    /// A copy is being installed here.
    pub fn begin(partition: &mut Partition, attempt: u64) -> Result<Sending> {
        if partition.is_installing() {
            return Err(temporary("the partition is being replaced by a copy itself"));
        }
        let cursor = partition.begin_checkpoint();
        partition.pin_log(cursor.index());
        Ok(Sending { cursor, attempt, pieces: 0 })
    }

    /// The entry up to which the copy has everything.
    pub fn index(&self) -> u64 {
        self.cursor.index()
    }

    /// The next piece, of about so many bytes.
    pub fn next(&mut self, partition: &mut Partition, bytes: usize) -> Result<Piece> {
        let mut block = Vec::with_capacity(bytes * 2);
        let more = partition.next_checkpoint_block(&mut self.cursor, bytes, &mut block)?;
        self.pieces += 1;
        Ok(Piece { attempt: self.attempt, number: self.pieces - 1, last: !more, block })
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
    attempt: u64,
    /// Pieces that have come, the one that is being taken included.
    pieces: u64,
    head: CheckpointHead,
    /// Where the pieces go.
    pub file: F,
}

impl<F> Receiving<F> {
    /// With the first piece.
    pub fn begin(from: NodeId, piece: &Piece, file: impl FnOnce() -> Result<F>) -> Result<Receiving<F>> {
        let head = CheckpointHead::of(&piece.block).map_err(Error::as_spoilt)?;
        Ok(Receiving { from, attempt: piece.attempt, pieces: 1, head, file: file()? })
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
    /// The copy that this piece of this sender is the next of. A late piece of an attempt that was given up would make a copy that lacks
    /// what is between: it is refused, and the one that is coming goes on.
    ///
    /// # Errors
    /// 1297: there is no such copy.
    pub fn take(&mut self, partition: u32, from: NodeId, piece: &Piece) -> Result<Receiving<F>> {
        let awaits =
            |copy: &Receiving<F>| (copy.from, copy.attempt, copy.pieces) == (from, piece.attempt, piece.number);
        match self.coming.entry(partition) {
            Entry::Occupied(entry) if awaits(entry.get()) => {
                let mut copy = entry.remove();
                copy.pieces += 1;
                Ok(copy)
            }
            _ => Err(temporary("the copy of the partition was not begun; it begins again")),
        }
    }

    /// More of it is to come. It takes the place of one that was begun before.
    pub fn keep(&mut self, partition: u32, copy: Receiving<F>) {
        self.coming.insert(partition, copy);
    }
}

fn temporary(reason: &str) -> Error {
    Error::new(ErrorCode::GetTemporaryErrmsg, format!("Got temporary error: {reason}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shoal_partition::{MemoryBudget, PartitionConfig};
    use shoal_types::PartitionId;

    use super::*;

    const FROM: NodeId = NodeId(2);

    /// The pieces of a copy of an empty partition, cut as small as can be.
    fn pieces(attempt: u64) -> Vec<Piece> {
        let config = PartitionConfig::single(PartitionId(0), Arc::new(MemoryBudget::new(1 << 20)));
        let mut partition = Partition::new(config);
        partition.start().unwrap();
        let mut sending = Sending::begin(&mut partition, attempt).unwrap();
        let mut pieces = Vec::new();
        while pieces.last().is_none_or(|piece: &Piece| !piece.last) {
            pieces.push(sending.next(&mut partition, 1).unwrap());
        }
        sending.end(&mut partition);
        pieces
    }

    /// A late last piece behind the next attempt's first one once made a file with a hole, which counted as the newest.
    #[test]
    fn pieces_of_another_attempt_and_those_out_of_turn_are_refused_and_the_copy_goes_on() {
        let (old, new) = (pieces(1), pieces(2));
        assert!(new.len() >= 2 && new[0].number == 0 && new.last().unwrap().last);
        let mut copies = Copies::default();
        copies.keep(0, Receiving::begin(FROM, &new[0], || Ok(())).unwrap());
        assert!(copies.take(0, FROM, old.last().unwrap()).is_err());
        assert!(copies.take(0, NodeId(3), &new[1]).is_err());
        assert!(copies.take(0, FROM, &new[0]).is_err(), "it has come");
        for piece in &new[1..] {
            let copy = copies.take(0, FROM, piece).unwrap();
            copies.keep(0, copy);
        }
        let late = Piece { number: new.len() as u64 + 1, ..new[1].clone() };
        assert!(copies.take(0, FROM, &late).is_err(), "one is missing between");
    }
}
