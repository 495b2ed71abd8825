//! The coordinator's calls to leaders on other nodes.
//!
//! An operation asks [`Node::place`] first; if the answer is another node it makes a frame ([`Transaction::begin_work`]),
//! sends it, and reads the reply. Requests to several partitions are sent before the first reply is awaited.
//!
//! When a partition turns out to be led elsewhere, or nowhere, an operation that has done nothing there waits a moment
//! for the map to change and begins again (`leader_wait`); a transaction that has joined the partition has lost
//! what it had there and ends.

use std::pin::Pin;
use std::sync::Arc;

use shoal_cluster::remote::{is_not_leader, not_leader};
use shoal_cluster::{Call, Node, PartitionGuard, Place, RequestError, Table};
use shoal_partition::{ReadView, SavepointMark};
use shoal_types::{Error, ErrorCode, NodeId, Outcome, Result, TableId, Timestamp};

use crate::gather::join_all_seeing;
use crate::leader_wait::{LeaderWait, map_version};
use crate::participants::Participants;
use crate::protocol::{self, Status, WorkHead, WorkReply, Write, WriteStop};
use crate::transaction::Transaction;
use crate::wait::deadlock_error;

/// Work that was sent.
pub(crate) struct Asked {
    pub partition: u32,
    node: NodeId,
    pub call: Call,
    /// A transaction's work, which joins it to the partition.
    joins: bool,
    /// Sizes of the writes in it.
    write_bytes: Vec<usize>,
}

/// A reply to work that was done, or that a write has stopped.
pub(crate) struct Answer {
    node: NodeId,
    bytes: Vec<u8>,
}

impl Answer {
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The term of the leader that has answered.
    pub fn term(&self) -> Result<u64> {
        Ok(WorkReply::read(&self.bytes)?.term)
    }

    /// What was read; or the write that stopped.
    pub fn status(&self) -> Result<Status<'_>> {
        Ok(WorkReply::read(&self.bytes)?.status)
    }

    /// What was read. For work whose writes surely succeed.
    pub fn done(&self) -> Result<&[u8]> {
        match self.status()? {
            Status::Done(body) => Ok(body),
            _ => Err(Error::unknown("internal: a write met a row that its transaction had made sure of")),
        }
    }

    /// The places of writes that were skipped. For work that reads nothing.
    pub fn skipped(&self) -> Result<Vec<u32>> {
        protocol::read_skipped(self.done()?)
    }

    /// The place of the write that stopped.
    pub fn stopped_at(&self) -> Result<u32> {
        Ok(WorkReply::read(&self.bytes)?.stopped_at)
    }

    /// The write that stopped, if one did.
    pub fn stop(&self) -> Result<Option<WriteStop<'_>>> {
        match self.status()? {
            Status::Stopped(stop) => Ok(Some(stop)),
            _ => Ok(None),
        }
    }
}

/// What a request is made from, besides its operation.
#[derive(Clone, Copy)]
pub(crate) struct WorkFor {
    pub partition: u32,
    /// The transaction takes part from now on: the work locks or writes.
    pub joins: bool,
    /// The leader's term in which a scan has begun; 0 for what begins now. A transaction that has joined knows the term.
    pub term: u64,
    pub snapshot: Timestamp,
    pub own_writes_before: SavepointMark,
}

impl WorkFor {
    /// Work that locks or writes.
    pub fn joining(partition: u32) -> WorkFor {
        WorkFor {
            partition,
            joins: true,
            term: 0,
            snapshot: Timestamp::MAX,
            own_writes_before: SavepointMark::LATEST,
        }
    }

    /// Work that sees what the view shows.
    pub fn reading(partition: u32, view: &ReadView, joins: bool) -> WorkFor {
        WorkFor { partition, joins, term: 0, snapshot: view.snapshot, own_writes_before: view.own_writes_before }
    }
}

impl Transaction {
    /// Where an operation on the partition goes. Waits until somebody leads it.
    ///
    /// # Errors
    /// The transaction has joined the partition at another leader: it has been rolled back.
    #[inline]
    pub(crate) async fn route(&mut self, partition: u32) -> Result<Option<NodeId>> {
        match self.node.place(partition) {
            Place::Local if self.node.remote().is_none() => Ok(None),
            place => self.route_in_cluster(partition, place).await,
        }
    }

    async fn route_in_cluster(&mut self, partition: u32, mut place: Place) -> Result<Option<NodeId>> {
        let mut leader_wait = LeaderWait::default();
        loop {
            if !self.participants.may_be_at(partition, place) {
                return Err(self.lose_part(partition));
            }
            match place {
                Place::Local => return Ok(None),
                Place::Remote(node) => return Ok(Some(node)),
                Place::Unknown => {}
            }
            let seen = map_version(&self.node);
            place = self.node.place(partition);
            if place == Place::Unknown {
                leader_wait.wait(&self.node, seen, not_leader(partition)).await?;
                place = self.node.place(partition);
            }
        }
    }

    /// After an operation has failed: waits and yields, if it is worth another try; else the error.
    pub(crate) async fn try_again(&mut self, leader_wait: &mut LeaderWait, seen: u64, error: Error) -> Result<()> {
        match is_not_leader(&error) {
            true => leader_wait.wait(&self.node, seen, error).await,
            false => Err(error),
        }
    }

    /// Makes the frame's beginning in `self.frame`: the caller adds what is to be done after the writes.
    pub(crate) fn begin_work<'w>(
        &mut self,
        work: WorkFor,
        node: NodeId,
        writes: impl Iterator<Item = Write<'w>> + Clone,
    ) {
        if work.joins {
            self.join_remote(work.partition, node);
        }
        let joined = self.participants.get(work.partition);
        let head = WorkHead {
            partition: work.partition,
            transaction: self.id.filter(|_| joined.is_some()),
            term: joined.map_or(work.term, |participant| participant.term),
            staged: joined.map_or(0, |participant| participant.writes),
            snapshot: work.snapshot,
            own_writes_before: work.own_writes_before,
            lock_wait_ms: u32::try_from(self.lock_wait_timeout.as_millis()).unwrap_or(u32::MAX),
            joined_for_ms: match joined {
                Some(participant) if participant.term == 0 => {
                    u32::try_from(self.participants.joined_for_ms(self.node.now())).unwrap_or(u32::MAX)
                }
                _ => 0,
            },
        };
        self.frame.clear();
        let used = if joined.is_some() { self.tables.as_slice() } else { &[] };
        let tables = used.iter().map(|table| (table.id().0, table.schema.version));
        protocol::put_work(&mut self.frame, &head, tables, writes);
    }

    /// The transaction is about to take part in a partition on another node.
    fn join_remote(&mut self, partition: u32, node: NodeId) {
        let id = self.begin_writing();
        if !self.is_coordinated {
            self.is_coordinated = true;
            self.node.begin_coordinating(id);
        }
        self.settle(partition);
        let participant = self.participants.join(partition);
        if participant.term == 0 {
            participant.node = Some(node);
        }
        participant.uncertain = true;
    }

    /// If an earlier request to this partition was given up: takes back what it may have written.
    fn settle(&mut self, partition: u32) {
        let Some(id) = self.id else { return };
        let participant = self.participants.join(partition);
        if std::mem::take(&mut participant.uncertain)
            && let Some(node) = participant.node
        {
            let mark = SavepointMark(participant.writes);
            self.frame.clear();
            protocol::put_roll_back_to(&mut self.frame, id, [(partition, mark)].into_iter());
            self.send(node);
        }
    }

    /// Sends the frame to a node, without a reply. What is lost is found by that node itself: the transaction's parts are
    /// asked after when they grow old.
    pub(crate) fn send(&mut self, node: NodeId) {
        if let Some(remote) = self.node.remote() {
            remote.send(node, &self.frame);
        }
    }

    /// Lets go of rows' locks, here or elsewhere.
    pub(crate) fn unlock_rows(&mut self, partition: u32, table: TableId, keys: &[Vec<u8>]) {
        let Some(id) = self.id.filter(|_| !keys.is_empty()) else { return };
        match self.participants.get(partition).and_then(|participant| participant.node) {
            None => {
                let mut guard = self.node.partition(partition);
                keys.iter().for_each(|key| guard.unlock_row(id, table, key));
            }
            Some(node) => {
                self.frame.clear();
                let keys = keys.iter().map(Vec::as_slice);
                protocol::put_unlock(&mut self.frame, partition, id, table, keys);
                self.send(node);
            }
        }
    }

    /// Sends the frame that `begin_work` has begun.
    pub(crate) fn send_work(
        &mut self,
        partition: u32,
        node: NodeId,
        write_bytes: impl Iterator<Item = usize>,
    ) -> Asked {
        let call: Call = match self.node.remote() {
            Some(remote) => remote.call(node, &self.frame),
            None => Box::pin(std::future::ready(Err(RequestError::NotSent))),
        };
        let joins = self.participants.get(partition).is_some();
        Asked { partition, node, call, joins, write_bytes: write_bytes.collect() }
    }

    /// Sends the frame and waits for the reply.
    pub(crate) async fn ask(
        &mut self,
        partition: u32,
        node: NodeId,
        write_bytes: impl Iterator<Item = usize>,
    ) -> Result<Answer> {
        let mut asked = self.send_work(partition, node, write_bytes);
        let reply = asked.call.as_mut().await;
        self.take_reply(asked, reply)
    }

    /// Waits for all replies. All of them are taken account of, whatever the others are.
    pub(crate) async fn gather(&mut self, mut asked: Vec<Asked>) -> Vec<(u32, Result<Answer>)> {
        let none = || -> Call { Box::pin(std::future::ready(Err(RequestError::NotSent))) };
        let calls: Vec<Pin<Box<_>>> =
            asked.iter_mut().map(|one| std::mem::replace(&mut one.call, none())).collect();
        // The victim of a deadlock gives way at once: others wait for its locks, and it may be waiting for them elsewhere.
        let mut is_victim = false;
        let replies = join_all_seeing(calls, |reply| {
            if !is_victim && is_deadlock(reply) {
                is_victim = true;
                if let Some(id) = self.id {
                    self.roll_back_all(id);
                }
            }
        })
        .await;
        let taken =
            asked.into_iter().zip(replies).map(|(one, reply)| (one.partition, self.take_reply(one, reply)));
        let mut taken: Vec<(u32, Result<Answer>)> = taken.collect();
        if is_victim {
            // Whatever the others say is no more than that.
            self.rollback();
            taken.iter_mut().for_each(|(_, answer)| *answer = Err(deadlock_error()));
        }
        taken
    }

    /// Takes account of what a reply says about the transaction's part.
    ///
    /// # Errors
    /// What went wrong there. [`not_leader`] if nothing was done and somebody else may do it. Any other way to lose a leader
    /// ends the transaction.
    pub(crate) fn take_reply(&mut self, asked: Asked, reply: Result<Vec<u8>, RequestError>) -> Result<Answer> {
        let bytes = match reply {
            Ok(bytes) => bytes,
            Err(failure) => return Err(self.lose_call(&asked, failure)),
        };
        // A reply that cannot be read leaves the part uncertain.
        let reply = WorkReply::read(&bytes).map_err(Error::as_spoilt);
        let reply = reply.inspect_err(|error| self.node.cut_off(asked.node, error))?;
        match &reply.status {
            Status::NotLeader(hint) => {
                if let Some(remote) = self.node.remote() {
                    remote.misplaced(asked.partition, asked.node, *hint);
                }
                let participant = self.participants.get(asked.partition);
                if participant.is_some_and(|participant| participant.term != 0) {
                    return Err(self.lose_part(asked.partition));
                }
                if asked.joins {
                    self.participants.join(asked.partition).uncertain = false;
                }
                return Err(not_leader(asked.partition));
            }
            Status::Lost => return Err(self.lose_part(asked.partition)),
            Status::Done(_) | Status::Stopped(..) | Status::Failed(_) => {}
        }
        if asked.joins && reply.term != 0 {
            self.count_writes(&asked, reply.term, reply.staged)?;
        }
        match reply.status {
            Status::Failed(error) if error.is(ErrorCode::LockDeadlock) => {
                self.rollback();
                Err(deadlock_error())
            }
            Status::Failed(error) => Err(error),
            _ => Ok(Answer { node: asked.node, bytes }),
        }
    }

    /// The leader has told how many writes are staged: the newest of them are the request's.
    fn count_writes(&mut self, asked: &Asked, term: u64, staged: u32) -> Result<()> {
        let participant = self.participants.join(asked.partition);
        let known = participant.writes;
        participant.uncertain = false;
        if !self.participants.check(asked.partition, Some(asked.node), term, || self.node.now()) || staged < known
        {
            return Err(self.lose_part(asked.partition));
        }
        let mut outcome = Ok(());
        for &bytes in asked.write_bytes.iter().take((staged - known) as usize) {
            outcome = outcome.and(Transaction::wrote(&mut self.participants, asked.partition, bytes));
        }
        outcome
    }

    fn lose_call(&mut self, asked: &Asked, failure: RequestError) -> Error {
        if let Some(remote) = self.node.remote() {
            remote.misplaced(asked.partition, asked.node, None);
        }
        let participant = self.participants.get(asked.partition);
        let joined = participant.is_some_and(|participant| participant.term != 0);
        let unwritten = failure == RequestError::NotSent || asked.write_bytes.is_empty();
        // Locks that the request may have taken are the transaction's, or are let go when it has ended.
        if !joined && unwritten {
            return not_leader(asked.partition);
        }
        self.lose_part(asked.partition)
    }

    /// Ends the transaction, which has lost what it had in a partition.
    pub(crate) fn lose_part(&mut self, partition: u32) -> Error {
        self.rollback();
        part_lost(partition)
    }

    /// Holds a partition that is led here. `joins`: for an operation that locks or writes; `tables`: those that the transaction
    /// uses.
    ///
    /// # Errors
    /// [`not_leader`]; or the partition has had another leader since the transaction joined it; or one of the tables has been
    /// defined anew, by a node that could not ask this one.
    #[inline]
    pub(crate) fn hold<'n>(
        node: &'n Node,
        participants: &mut Participants,
        tables: &[Arc<Table>],
        partition: u32,
        joins: bool,
    ) -> Result<PartitionGuard<'n>> {
        if joins {
            participants.join(partition);
        }
        let guard = node.leader(partition)?;
        let Some(remote) = node.remote() else { return Ok(guard) };
        node.note_asked(partition, remote.node());
        if let Some(participant) = participants.get(partition) {
            // A node follows the dictionary before its partitions do: whatever a definition has ended here is found out.
            if tables.iter().any(|table| table.is_stale()) {
                return Err(part_lost(partition));
            }
            if participant.term == 0 && node.is_handed_over(partition, || participants.joined_for_ms(node.now())) {
                return Err(not_leader(partition));
            }
            if !participants.check(partition, None, guard.leader_term(), || node.now()) {
                return Err(part_lost(partition));
            }
        }
        Ok(guard)
    }
}

fn is_deadlock(reply: &Result<Vec<u8>, RequestError>) -> bool {
    let read = reply.as_ref().ok().and_then(|bytes| WorkReply::read(bytes).ok());
    matches!(read, Some(WorkReply { status: Status::Failed(error), .. }) if error.is(ErrorCode::LockDeadlock))
}

/// Error 1297 after which the transaction is gone.
pub(crate) fn part_lost(partition: u32) -> Error {
    let message = format!(
        "Got temporary error: the leader of partition {partition} has changed, or a table's definition, and what the \
         transaction had there is lost; it was rolled back, restart it"
    );
    Error::new(ErrorCode::GetTemporaryErrmsg, message).rolling_back_transaction()
}

/// The node that was to commit cannot be asked any more.
pub(crate) fn commit_lost() -> Error {
    let message = "the connection to the node that commits the transaction was lost; it may be committed or not";
    Error::unknown(message).with_outcome(Outcome::Unknown)
}
