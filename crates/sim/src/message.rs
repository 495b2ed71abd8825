//! What nodes say to each other.
//!
//! Raft's messages travel as bytes, as they do between processes. Requests have a number, which the reply carries back;
//! number 0 asks for no reply.

use shoal_foreign_keys::ScanLock;
use shoal_partition::{
    Agreement, Decision, Gap, HomeOutcome, LockMode, LogEnd, OwnedWrite, ReplicaReport, WaitEdge,
};
use shoal_replication::Piece;
use shoal_two_phase as two_phase;
use shoal_types::{NodeId, PartitionId, TableId, Timestamp, TransactionId};

use crate::rows::Row;
use crate::tables::TableRow;

/// One message on its way.
#[derive(Clone, Debug)]
pub struct Packet {
    pub from: NodeId,
    /// The life of the process that sent it.
    pub life: u64,
    pub to: NodeId,
    /// The sender's hybrid clock.
    pub clock: Timestamp,
    pub body: Body,
}

#[derive(Clone, Debug)]
pub enum Body {
    Raft(PartitionId, Vec<u8>),
    Gossip(Gossip),
    Request(u64, Request),
    Reply(u64, Reply),
}

/// What nodes tell each other unasked.
#[derive(Clone, Debug, Default)]
pub struct Gossip {
    pub reports: Vec<(PartitionId, ReplicaReport)>,
    pub agreements: Vec<(PartitionId, Agreement)>,
    /// Partitions that the sender leads, and since which terms.
    pub leads: Vec<(u32, u64)>,
    /// Transactions there read no snapshot before this.
    pub horizon: Timestamp,
    pub visible: Timestamp,
}

/// One operation of a transaction, with its locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Changes `k` by so much; a row whose `k` is zero is not there. Refused if `k` would be negative.
    Add(i32, i32),
    /// Makes the row be there with this `k`.
    Put(Row),
    /// Refused if there is a row with this id.
    Insert(Row),
    Remove(i32),
    ReadShared(i32),
    ReadExclusive(i32),
    /// Inserts the next version of the dictionary.
    Append(i32),
    /// Appends this element to this list; tells which one was the last before.
    Push(i32, i32),
    /// Reads a list and locks it.
    ListShared(i32),
    /// Reads a list as it is, without locks.
    ListNewest(i32),
    /// Reads all rows with ids from the first to before the second, and locks the range. What it finds is told as one number.
    ReadRange(i32, i32),
    /// Takes back what the transaction has written in this partition, but for so many writes: those of its first operation there.
    RollBackTo(u32),
    /// Of one of the tables that refer to each other, as the next ones: reads the row with this id.
    ReadRow(TableId, i32, Option<LockMode>),
    /// Reads and locks all rows with this `k`.
    ReadChildren(TableId, i32, ScanLock),
    PutRow(TableId, Row),
    /// Refused if there is a row with this id.
    InsertRow(TableId, Row),
    RemoveRow(TableId, i32),
}

impl Operation {
    pub fn writes(self) -> bool {
        !matches!(
            self,
            Operation::ReadShared(_)
                | Operation::ReadExclusive(_)
                | Operation::ReadRange(..)
                | Operation::ListShared(_)
                | Operation::ListNewest(_)
                | Operation::RollBackTo(_)
                | Operation::ReadRow(..)
                | Operation::ReadChildren(..)
        )
    }
}

/// What a transaction knows of its part in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub partition: PartitionId,
    pub transaction: TransactionId,
    /// The term in which it joined; 0 if it joins now.
    pub term: u64,
    /// Writes staged.
    pub writes: u32,
    /// How long ago its transaction joined its first partition, in milliseconds; 0: it has joined none.
    pub joined_for_ms: u64,
}

#[derive(Clone, Debug)]
pub enum Request {
    /// The operation and, with the first write to a partition, the transaction's mark.
    Work(Part, Operation, Option<i32>),
    /// The newest version of a row, without locks.
    ReadNewest(PartitionId, i32),
    /// The newest commit that is visible at the leader.
    Visible(PartitionId),
    /// The newest commit that is visible at a node, whatever it leads: later than all snapshots that are read there.
    Pulse,
    /// All rows as of a snapshot; of the leader of this term if it is not 0.
    Scan(PartitionId, Timestamp, u64),
    /// Does the transaction still have its part? Ends it there.
    CheckRead(Part),
    /// All of a transaction: these operations, in one partition, and its commit.
    Batch(Part, Vec<Operation>, i32),
    /// What has been committed in a partition behind this place.
    Follow(PartitionId, Option<LogEnd>),
    Commit(Part),
    TwoPhase(TransactionId, two_phase::Request),
    Rollback(PartitionId, TransactionId),
    /// A participant asks the home.
    OutcomeOf(PartitionId, TransactionId),
    /// The home tells a participant.
    Decide(PartitionId, TransactionId, Decision),
    Confirm(PartitionId, TransactionId, PartitionId),
    /// Who waits for whom in the partitions that the node leads?
    WaitEdges,
    /// Which of these transactions does the node not run any more?
    EndedAmong(Vec<TransactionId>),
    Checkpoint(PartitionId, Piece),
}

impl Request {
    /// The partition whose leader is asked, if a leader is.
    pub fn partition(&self) -> Option<PartitionId> {
        match self {
            Request::Work(part, ..)
            | Request::Batch(part, ..)
            | Request::CheckRead(part)
            | Request::Commit(part) => Some(part.partition),
            Request::TwoPhase(_, request) => Some(request.partition()),
            Request::ReadNewest(partition, _)
            | Request::Visible(partition)
            | Request::Follow(partition, _)
            | Request::Scan(partition, ..)
            | Request::Rollback(partition, _)
            | Request::OutcomeOf(partition, _)
            | Request::Decide(partition, ..)
            | Request::Confirm(partition, ..) => Some(*partition),
            Request::Pulse | Request::WaitEdges | Request::EndedAmong(_) | Request::Checkpoint(..) => None,
        }
    }
}

#[derive(Clone, Debug)]
pub enum Reply {
    /// Somebody else leads; nothing was done.
    NotLeader(Option<NodeId>),
    /// What the transaction had there is gone.
    Lost,
    /// It was refused, and nothing of it was done.
    /// Why is told in traces.
    #[allow(dead_code)]
    Refused(String),
    /// The operation is done: term, writes staged now, `k` before it.
    Worked(u64, u32, Option<i32>),
    /// The list is read: term, writes staged, the list. Term 0 if the transaction has not joined.
    List(u64, u32, Vec<i32>),
    /// The place behind what is told, or why nothing can be.
    Changes(Result<(LogEnd, Vec<Told>), Gap>),
    /// What was read, and in which term.
    Value(Option<i32>),
    Visible(Timestamp, u64),
    /// And those of the tables that refer to each other.
    Rows(Vec<Row>, Vec<TableRow>),
    Fine,
    Committed(Timestamp),
    NotCommitted,
    /// Nobody here will learn what became of it.
    Unknown,
    Prepared(Option<Timestamp>),
    Outcome(HomeOutcome),
    Ended(Vec<TransactionId>),
    Edges(Vec<WaitEdge>),
    /// The wait is part of a cycle, and this transaction gives way.
    Deadlock,
}

/// A change that a follower is told of.
#[derive(Clone, Debug)]
pub enum Told {
    Committed(TransactionId, Timestamp, Vec<OwnedWrite>),
    Prepared(TransactionId, Vec<OwnedWrite>),
    Decided(TransactionId, Option<Timestamp>),
    Dropped(TableId),
}

/// Why a request has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    NotSent,
    /// It may have been executed, or will be, or never.
    Lost,
}

pub type Answer = Result<Reply, Failure>;
