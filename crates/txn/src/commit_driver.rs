//! Carries out what the two-phase commit's coordinator asks for: frames to the leaders, here and elsewhere, all at once.
//!
//! The client is answered as soon as the outcome is known; what is left (telling the participants, telling the home that
//! they know) goes on in a task of its own. Whatever is not carried out any more is seen to by the participants and the
//! home themselves.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use shoal_cluster::{Node, Place, RequestError, Table};
use shoal_partition::{Decision, SavepointMark};
use shoal_types::{Error, NodeId, Outcome, PartitionId, Timestamp, TransactionId};
use tokio::time::Instant;

use crate::protocol::{self, Status, WorkHead, WorkReply};
use crate::remote::part_lost;
use crate::serve::{Server, serve_here};
use crate::two_phase::{Answer, Coordinator, Participant, Request};

/// The home is asked again for the outcome after so long, and not any more after so long.
const ASK_AGAIN: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(10);

type Reply = Result<Vec<u8>, RequestError>;

/// A request that is under way.
struct Running {
    kind: Kind,
    partition: PartitionId,
    reply: Pin<Box<dyn Future<Output = Reply>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Prepare,
    HomeCommit,
    OutcomeOf,
    Decide,
    /// Nobody waits for the reply, but it has to be fetched.
    Abort,
}

/// The transaction is one of this node's as long as this lives.
struct Coordinating {
    node: Arc<Node>,
    transaction: TransactionId,
}

impl Drop for Coordinating {
    fn drop(&mut self) {
        self.node.end_coordinating(self.transaction);
    }
}

pub(crate) struct CommitDriver {
    coordinator: Coordinator,
    coordinating: Coordinating,
    server: Arc<Server>,
    /// The leaders with which the transaction has joined its partitions.
    places: Vec<(PartitionId, Option<NodeId>)>,
    sequences: Vec<Arc<Table>>,
    running: Vec<Running>,
    /// What the first refusal said.
    refusal: Option<Error>,
    frame: Vec<u8>,
}

impl CommitDriver {
    /// For a transaction that `Node::begin_coordinating` knows of; that ends with the driver.
    pub fn new(
        node: &Arc<Node>,
        transaction: TransactionId,
        home: Participant,
        others: Vec<Participant>,
        places: Vec<(PartitionId, Option<NodeId>)>,
        sequences: Vec<Arc<Table>>,
    ) -> CommitDriver {
        CommitDriver {
            coordinator: Coordinator::new(transaction, home, others),
            coordinating: Coordinating { node: Arc::clone(node), transaction },
            server: Server::new(Arc::clone(node)),
            places,
            sequences,
            running: Vec::new(),
            refusal: None,
            frame: Vec::new(),
        }
    }

    /// Goes on until the client can be answered.
    pub async fn run(&mut self) -> Result<Timestamp, Error> {
        let mut deadline = None;
        loop {
            self.start_requests();
            match self.coordinator.answer() {
                Some(Answer::Committed(timestamp)) => return Ok(timestamp),
                Some(Answer::NotCommitted) => return Err(self.refusal.take().unwrap_or_else(|| self.lost_home())),
                Some(Answer::Unknown) => return Err(unknown()),
                None => {}
            }
            if !self.coordinator.is_asking() {
                self.next_reply().await;
                continue;
            }
            let give_up_at = *deadline.get_or_insert_with(|| Instant::now() + PATIENCE);
            // The end of the pause is the reason to ask again, and nothing else: a request that fails at once would be
            // repeated for ever, in the very thread that has to hear of a new leader.
            let pause_ends = Instant::now() + ASK_AGAIN;
            while self.coordinator.is_asking() {
                if tokio::time::timeout_at(pause_ends, self.next_reply()).await.is_err() {
                    break;
                }
            }
            if !self.coordinator.is_asking() {
                continue;
            }
            match Instant::now() < give_up_at {
                true => self.coordinator.ask_again(),
                false => self.coordinator.give_up(),
            }
        }
    }

    /// Goes on until nothing is left to be done, or nobody can be reached.
    pub async fn finish(mut self) {
        loop {
            self.start_requests();
            if self.running.is_empty() {
                return;
            }
            self.next_reply().await;
        }
    }

    /// Nothing is under way: what is left needs no waiting.
    pub fn is_finished(&mut self) -> bool {
        self.start_requests();
        self.running.is_empty()
    }

    fn lost_home(&self) -> Error {
        part_lost(self.coordinator.home().0)
    }

    fn place_of(&self, partition: PartitionId) -> Option<NodeId> {
        self.places.iter().find(|(one, _)| *one == partition).and_then(|(_, node)| *node)
    }

    // ---- requests ----

    fn start_requests(&mut self) {
        for request in self.coordinator.take_requests() {
            self.start(request);
        }
    }

    fn start(&mut self, request: Request) {
        let id = self.coordinator.transaction();
        let partition = request.partition();
        self.frame.clear();
        match request {
            Request::Prepare { participant, home } => {
                self.put_head(&participant);
                protocol::put_then_prepare(&mut self.frame, home.0);
                self.run_at(Kind::Prepare, partition, self.place_of(partition));
            }
            Request::HomeCommit { home, after, participants } => {
                self.put_head(&home);
                let next = |table: &Arc<Table>| (table.id(), table.next_auto_increment.load(Ordering::Relaxed));
                let participants = participants.into_iter().map(|one| one.0);
                let sequences = self.sequences.iter().map(next);
                protocol::put_then_home_commit(&mut self.frame, after, participants, sequences);
                self.run_at(Kind::HomeCommit, partition, self.place_of(partition));
            }
            Request::OutcomeOf { home } => {
                protocol::put_outcome_of(&mut self.frame, home.0, id);
                self.run_at_leader(Kind::OutcomeOf, partition);
            }
            Request::Decide { decision: Decision::Commit(timestamp), .. } => {
                protocol::put_decide(&mut self.frame, partition.0, id, Some(timestamp));
                self.run_at_leader(Kind::Decide, partition);
            }
            Request::Decide { decision: Decision::Abort, .. } => {
                protocol::put_decide(&mut self.frame, partition.0, id, None);
                self.run_at_leader(Kind::Abort, partition);
            }
            Request::Rollback { .. } => {
                protocol::put_roll_back(&mut self.frame, id, [partition.0].into_iter());
                self.send(self.place_of(partition));
            }
            Request::Confirm { home, participants } => {
                let participants = participants.into_iter().map(|one| one.0);
                protocol::put_confirm(&mut self.frame, home.0, id, true, participants);
                match self.coordinating.node.place(home.0) {
                    Place::Local => self.send(None),
                    Place::Remote(node) => self.send(Some(node)),
                    // The home asks whether the coordinator still runs.
                    Place::Unknown => {}
                }
            }
        }
    }

    fn put_head(&mut self, participant: &Participant) {
        let head = WorkHead {
            partition: participant.partition.0,
            transaction: Some(self.coordinator.transaction()),
            term: participant.term,
            staged: participant.writes,
            snapshot: Timestamp::MAX,
            own_writes_before: SavepointMark::LATEST,
            lock_wait_ms: 0,
            joined_for_ms: 0,
        };
        // What was planned by a definition that has been passed has ended there.
        protocol::put_work(&mut self.frame, &head, std::iter::empty(), std::iter::empty());
    }

    /// Has the frame executed by whoever leads the partition by now.
    fn run_at_leader(&mut self, kind: Kind, partition: PartitionId) {
        match self.coordinating.node.place(partition.0) {
            Place::Local => self.run_at(kind, partition, None),
            Place::Remote(node) => self.run_at(kind, partition, Some(node)),
            Place::Unknown => {
                let reply = Box::pin(std::future::ready(Err(RequestError::NotSent)));
                self.running.push(Running { kind, partition, reply });
            }
        }
    }

    fn run_at(&mut self, kind: Kind, partition: PartitionId, node: Option<NodeId>) {
        let reply: Pin<Box<dyn Future<Output = Reply>>> = match (node, self.coordinating.node.remote()) {
            (Some(node), Some(remote)) => remote.call(node, &self.frame),
            _ => {
                let (server, frame) = (Arc::clone(&self.server), std::mem::take(&mut self.frame));
                Box::pin(async move { Ok(serve_here(&server, &frame).await) })
            }
        };
        self.running.push(Running { kind, partition, reply });
    }

    /// Has the frame executed without a reply.
    fn send(&self, node: Option<NodeId>) {
        match (node, self.coordinating.node.remote()) {
            (Some(node), Some(remote)) => {
                remote.send(node, &self.frame);
            }
            _ => {
                self.server.serve(NodeId(0), &self.frame, &mut Vec::new());
            }
        }
    }

    // ---- replies ----

    /// Waits for the next reply and hands it to the coordinator.
    async fn next_reply(&mut self) {
        let running = &mut self.running;
        let next = std::future::poll_fn(|context| {
            for (position, one) in running.iter_mut().enumerate() {
                if let Poll::Ready(reply) = one.reply.as_mut().poll(context) {
                    return Poll::Ready((position, reply));
                }
            }
            if running.is_empty() { Poll::Ready((usize::MAX, Err(RequestError::NotSent))) } else { Poll::Pending }
        });
        let (position, reply) = next.await;
        if position == usize::MAX {
            // Only an outcome that is asked for again is waited for with nothing under way.
            return tokio::time::sleep(ASK_AGAIN).await;
        }
        let Running { kind, partition, .. } = self.running.swap_remove(position);
        match kind {
            Kind::Prepare | Kind::HomeCommit => self.take_work(kind, partition, reply),
            Kind::OutcomeOf => match reply.ok().and_then(|reply| protocol::read_outcome(&reply).ok()).flatten() {
                Some(outcome) => self.coordinator.home_answered(outcome),
                None => self.coordinator.lost_contact(partition),
            },
            Kind::Decide => match reply.is_ok_and(|reply| protocol::read_decided(&reply).unwrap_or(false)) {
                true => self.coordinator.decided(partition),
                false => self.coordinator.lost_contact(partition),
            },
            Kind::Abort => {}
        }
    }

    fn take_work(&mut self, kind: Kind, partition: PartitionId, reply: Reply) {
        let refusal = match reply {
            Err(RequestError::Lost) => return self.coordinator.lost_contact(partition),
            Err(RequestError::NotSent) => part_lost(partition.0),
            Ok(reply) => match WorkReply::read(&reply).map(|reply| reply.status) {
                Ok(Status::Done(body)) => match protocol::read_timestamp(body) {
                    Ok(timestamp) => return self.take_timestamp(kind, partition, timestamp),
                    Err(_) => return self.coordinator.lost_contact(partition),
                },
                Ok(Status::Failed(error)) if error.outcome() == Outcome::NotCommitted => error,
                Ok(Status::NotLeader(_) | Status::Lost) => part_lost(partition.0),
                _ => return self.coordinator.lost_contact(partition),
            },
        };
        self.refusal.get_or_insert(refusal);
        match kind {
            Kind::Prepare => self.coordinator.refused(partition),
            _ => self.coordinator.home_refused(),
        }
    }

    fn take_timestamp(&mut self, kind: Kind, partition: PartitionId, timestamp: Timestamp) {
        match kind {
            Kind::Prepare => {
                let prepared_at = Some(timestamp).filter(|&timestamp| timestamp != Timestamp::ZERO);
                self.coordinator.prepared(partition, prepared_at);
            }
            _ => self.coordinator.home_committed(timestamp),
        }
    }
}

/// Nobody has told the outcome in time.
fn unknown() -> Error {
    let message = "the partition that decides about the transaction cannot be reached; it may be committed or not";
    Error::unknown(message).with_outcome(Outcome::Unknown)
}
