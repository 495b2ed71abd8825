//! Following committed changes of tables over all partitions, wherever they are led.
//!
//! A [`Follower`] asks the leader of each partition what lies behind a place in its log, and keeps the place: that is all there is to
//! a subscription. The reply waits at the leader until there is something to tell. When a leader is lost the next one is asked for
//! what lies behind the same place, so nothing is lost and nothing comes twice. There is one reply for each partition at most
//! that has not been taken, and a partition is asked again when what it told has been taken: a slow follower holds nothing but these.
//! It reads behind, until a place is no longer in the leader's memory: then there is a gap, and the partition is followed from now on.
//!
//! What is prepared by a transaction over several partitions is kept here until its outcome comes; that is bounded by what is
//! in doubt at the leaders.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use shoal_cluster::{Call, Node, Place, RequestError};
use shoal_partition::{ChangeKind, Gap, LogEnd, LoggedChange, OwnedWrite, Undecided};
use shoal_types::{Error, ErrorCode, NodeId, Result, TableId, Timestamp, TransactionId};

use crate::protocol::{self, Status, Told, WorkReply};

/// A leader keeps a question for so long while there is nothing to tell.
const WAIT_MS: u32 = 5_000;
/// How long to wait before a partition without a leader is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const REPLY_BYTES_MIN: usize = 16 << 10;
const REPLY_BYTES_MAX: usize = 1 << 20;

/// How much a follower lets be on its way to it.
#[derive(Clone, Copy, Debug)]
pub struct FollowOptions {
    /// About so many bytes of changes are on their way or wait to be taken, over all partitions. A single transaction with more
    /// of them comes all the same.
    pub window_bytes: usize,
}

impl Default for FollowOptions {
    fn default() -> FollowOptions {
        FollowOptions { window_bytes: 8 << 20 }
    }
}

/// What a follower is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// A row was changed. The changes of each row come in their order; `row` is the row as it is afterwards, or the primary key's
    /// columns of one that is gone.
    Change {
        /// One of those that are followed.
        table: TableId,
        /// Whether the row was inserted, updated or deleted.
        kind: ChangeKind,
        /// Changes of one transaction have the same.
        transaction: TransactionId,
        /// When it was committed.
        timestamp: Timestamp,
        /// Encoded by the table's layout.
        row: Vec<u8>,
    },
    /// Everything that was committed up to here has been told.
    Complete(Timestamp),
    /// What one partition committed after `after` and before this was told may be missing.
    Gap {
        /// Where changes are missing.
        partition: u32,
        /// Everything that was committed up to here has been told.
        after: Timestamp,
        /// Why they cannot be told.
        reason: Gap,
    },
    /// The table has a new definition; its rows are stored as before.
    Altered {
        /// The same id as before.
        table: TableId,
        /// Of its schema.
        version: u32,
    },
    /// The table is gone, in all partitions: no more changes of it will come.
    Dropped(TableId),
}

/// Follows tables.
pub struct Follower {
    node: Arc<Node>,
    tables: Vec<Followable>,
    partitions: Vec<PartitionFollower>,
    reply_bytes: u32,
    told: VecDeque<Followed>,
    complete: Timestamp,
    /// Where in `partitions` to look first: all of them have their turn.
    turn: usize,
}

struct Followable {
    id: TableId,
    version: u32,
    /// Partitions in which it is gone.
    dropped_in: Vec<u32>,
}

struct PartitionFollower {
    partition: u32,
    /// `None`: the next question is where to begin.
    place: Option<LogEnd>,
    /// Why the place was given up.
    gap: Option<Gap>,
    complete: Timestamp,
    undecided: Undecided,
    asking: Asking,
}

/// A partition's reply, or that the node has not answered.
struct Heard {
    number: usize,
    node: NodeId,
    reply: std::result::Result<Vec<u8>, RequestError>,
}

enum Asking {
    Idle,
    Asked(NodeId, Call),
    /// Until the map may have changed.
    LeaderWait(Pin<Box<dyn Future<Output = ()>>>),
}

impl Follower {
    /// Begins to follow tables, by their ids and the versions of their definitions: what is committed from now on will be told.
    pub async fn begin(node: &Arc<Node>, tables: &[(TableId, u32)], options: FollowOptions) -> Result<Follower> {
        let count = node.partition_count();
        let share = options.window_bytes / count.max(1) as usize;
        let partition = |partition| PartitionFollower {
            partition,
            place: None,
            gap: None,
            complete: Timestamp::ZERO,
            undecided: Undecided::default(),
            asking: Asking::Idle,
        };
        let table = |&(id, version)| Followable { id, version, dropped_in: Vec::new() };
        let mut follower = Follower {
            node: Arc::clone(node),
            tables: tables.iter().map(table).collect(),
            partitions: (0..count).map(partition).collect(),
            reply_bytes: share.clamp(REPLY_BYTES_MIN, REPLY_BYTES_MAX) as u32,
            told: VecDeque::new(),
            complete: Timestamp::ZERO,
            turn: 0,
        };
        while follower.partitions.iter().any(|one| one.place.is_none()) {
            follower.hear().await?;
        }
        Ok(follower)
    }

    /// The next thing to tell. It may be dropped and called again.
    ///
    /// # Errors
    /// A leader's answer is not understood, or the node has stopped.
    pub async fn next(&mut self) -> Result<Followed> {
        loop {
            if let Some(told) = self.told.pop_front() {
                return Ok(told);
            }
            self.hear().await?;
        }
    }

    /// Another thing to tell that is here already.
    pub fn next_here(&mut self) -> Option<Followed> {
        self.told.pop_front()
    }

    /// Everything that was committed up to here has been told.
    pub fn complete(&self) -> Timestamp {
        self.complete
    }

    /// Waits for the reply of some partition and takes it.
    async fn hear(&mut self) -> Result<()> {
        let Heard { number, node, reply } = std::future::poll_fn(|context| self.poll_partitions(context)).await?;
        self.turn = number + 1;
        self.partitions[number].asking = Asking::Idle;
        let is_leader = match reply {
            Ok(reply) => self.take(number, &reply)?,
            Err(_) => false,
        };
        if !is_leader {
            self.look_elsewhere(number, node);
        }
        self.note_complete();
        Ok(())
    }

    fn poll_partitions(&mut self, context: &mut Context<'_>) -> Poll<Result<Heard>> {
        if self.node.is_stopped() {
            return Poll::Ready(Err(Error::new(ErrorCode::ServerShutdown, "this node has stopped")));
        }
        let count = self.partitions.len();
        for step in 0..count {
            let number = (self.turn + step) % count;
            loop {
                match &mut self.partitions[number].asking {
                    Asking::Idle => self.ask(number)?,
                    Asking::LeaderWait(leader_wait) => match leader_wait.as_mut().poll(context) {
                        Poll::Ready(()) => self.partitions[number].asking = Asking::Idle,
                        Poll::Pending => break,
                    },
                    Asking::Asked(node, call) => match call.as_mut().poll(context) {
                        Poll::Ready(reply) => {
                            let node = *node;
                            return Poll::Ready(Ok(Heard { number, node, reply }));
                        }
                        Poll::Pending => break,
                    },
                }
            }
        }
        Poll::Pending
    }

    /// Asks a partition's leader, or begins to wait until there is one.
    fn ask(&mut self, number: usize) -> Result<()> {
        let one = &mut self.partitions[number];
        let Some(remote) = self.node.remote() else { return Err(not_a_client()) };
        match self.node.place(one.partition) {
            Place::Local => return Err(not_a_client()),
            Place::Unknown => one.asking = leader_wait(&self.node),
            Place::Remote(node) => {
                let mut frame = Vec::with_capacity(64);
                let tables = self.tables.iter().map(|table| table.id);
                let limits = (self.reply_bytes, WAIT_MS);
                protocol::put_follow(&mut frame, one.partition, one.place, one.complete, limits, tables);
                one.asking = Asking::Asked(node, remote.call(node, &frame));
            }
        }
        Ok(())
    }

    /// The node does not lead the partition, or does not answer.
    fn look_elsewhere(&mut self, number: usize, node: NodeId) {
        let one = &mut self.partitions[number];
        if let Some(remote) = self.node.remote() {
            remote.misplaced(one.partition, node, None);
        }
        one.asking = leader_wait(&self.node);
    }

    /// Takes what a partition has told. False: it was told by nobody who leads it.
    fn take(&mut self, number: usize, reply: &[u8]) -> Result<bool> {
        let body = match WorkReply::read(reply)?.status {
            Status::Done(body) => body,
            Status::Failed(error) => return Err(error),
            Status::NotLeader(_) | Status::Lost | Status::Stopped(_) => return Ok(false),
        };
        let mut told = match Told::read(body)? {
            Ok(told) => told,
            Err(gap) => {
                let one = &mut self.partitions[number];
                (one.place, one.gap) = (None, Some(gap));
                one.undecided.clear();
                return Ok(true);
            }
        };
        if let Some(reason) = self.partitions[number].gap.take() {
            let one = &self.partitions[number];
            self.told.push_back(Followed::Gap { partition: one.partition, after: one.complete, reason });
        }
        while let Some(change) = told.next()? {
            self.take_change(number, change);
        }
        // Snapshots that are taken from now on are not earlier than what was said to be complete, so nobody commits before it.
        if told.complete > self.node.visible() {
            self.node.clock().observe_peer(told.complete)?;
            self.node.snapshots().release(self.node.snapshots().take_at(told.complete));
        }
        let one = &mut self.partitions[number];
        one.place = Some(told.place);
        one.complete = one.complete.max(told.complete);
        Ok(true)
    }

    fn take_change(&mut self, number: usize, change: LoggedChange<'_>) {
        if let Some((transaction, timestamp, writes)) = self.partitions[number].undecided.take(&change) {
            self.tell(number, transaction, timestamp, writes);
        }
        match change {
            LoggedChange::Committed { .. } | LoggedChange::Prepared { .. } | LoggedChange::Decided { .. } => {}
            LoggedChange::Altered { table, version } => {
                if let Some(known) = self.tables.iter_mut().find(|known| known.id == table)
                    && known.version < version
                {
                    known.version = version;
                    self.told.push_back(Followed::Altered { table, version });
                }
            }
            LoggedChange::Dropped(table) => self.note_dropped(number, table),
        }
    }

    fn tell(&mut self, number: usize, transaction: TransactionId, timestamp: Timestamp, writes: Vec<OwnedWrite>) {
        let one = &self.partitions[number];
        if timestamp <= self.complete {
            // It was said that nothing so early would come: a clock has gone back while a leader was replaced.
            self.told.push_back(Followed::Gap {
                partition: one.partition,
                after: Timestamp(timestamp.0.saturating_sub(1)),
                reason: Gap::Lost,
            });
        }
        for OwnedWrite { table, kind, row } in writes {
            let known = self.tables.iter().find(|known| known.id == table);
            if known.is_some_and(|known| !known.dropped_in.contains(&one.partition)) {
                self.told.push_back(Followed::Change { table, kind, transaction, timestamp, row });
            }
        }
    }

    fn note_dropped(&mut self, number: usize, table: TableId) {
        let (partition, count) = (self.partitions[number].partition, self.partitions.len());
        let Some(known) = self.tables.iter_mut().find(|known| known.id == table) else { return };
        if known.dropped_in.contains(&partition) {
            return;
        }
        known.dropped_in.push(partition);
        if known.dropped_in.len() == count {
            self.told.push_back(Followed::Dropped(table));
        }
    }

    fn note_complete(&mut self) {
        let least = self.partitions.iter().map(|one| one.complete).min().unwrap_or_default();
        if least > self.complete {
            self.complete = least;
            self.told.push_back(Followed::Complete(least));
        }
    }
}

fn leader_wait(node: &Arc<Node>) -> Asking {
    let changed = node.remote().map(|remote| remote.map_changed(remote.map_version()));
    Asking::LeaderWait(Box::pin(async move {
        let changed = async {
            match changed {
                Some(changed) => changed.await,
                None => std::future::pending().await,
            }
        };
        // Either end is a reason to look again.
        let _ = tokio::time::timeout(LOOK_AGAIN, changed).await;
    }))
}

fn not_a_client() -> Error {
    Error::unknown("internal: changes are followed from nodes that lead nothing themselves")
}
