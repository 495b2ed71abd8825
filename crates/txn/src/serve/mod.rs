//! The leader's side: requests of coordinators in other processes, executed on this node's partitions.
//!
//! [`Server::serve`] takes a frame and runs it as far as it goes without waiting, which is nearly always to its end: the
//! reply is in the buffer when it returns. Work that has to wait (for a lock, for a commit to be durable) goes on in a future,
//! to be polled on the same thread; dropping that gives the wait up, except that a commit under way is left to the log.
//!
//! **A transaction that has ended does nothing more.** Its end (or the end of the statement that was cancelled)
//! may overtake work of it that waits here. So waiting work is listed by transaction, and a roll back strikes it out
//! before it touches the partition; the work looks at that under the partition's lock.

mod ending;
mod follow;
mod job;
mod resolve;

use std::collections::HashMap;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shoal_cluster::{Node, Served, Waiter};
use shoal_partition::SavepointMark;
use shoal_types::{Error, NodeId, PartitionId, Result, Timestamp, TransactionId};
use tokio::time::Instant;

use crate::deadlock::local_edges;
use crate::protocol::{self, List, Request, Then, Work};
use crate::two_phase::Resolver;
use crate::wait::{WaitEnd, deadlock_error, timeout_error, wait_in_partition};
use job::{Job, Progress, Refusal};
pub(crate) use resolve::serve_here;

/// A leader whose lease is not renewed for so long is not waited for any more. A leader that hears nobody resigns sooner than that.
const LAPSE_MAX: Duration = Duration::from_secs(10);
/// How often work looks at a lease that has run out. The heartbeats that renew it are rarer.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Executes other nodes' requests; one for each node, shared by all threads.
pub struct Server {
    node: Arc<Node>,
    /// Work that waits, by transaction.
    waiting: Mutex<HashMap<TransactionId, Vec<Arc<AtomicBool>>>>,
    resolver: Mutex<Resolver>,
}

/// Waiting work on the list; off it when dropped.
struct Listed {
    server: Arc<Server>,
    transaction: Option<TransactionId>,
    struck_out: Arc<AtomicBool>,
}

impl Drop for Listed {
    fn drop(&mut self) {
        let Some(transaction) = self.transaction else { return };
        let mut waiting = self.server.waiting();
        if let Some(list) = waiting.get_mut(&transaction) {
            list.retain(|one| !Arc::ptr_eq(one, &self.struck_out));
            if list.is_empty() {
                waiting.remove(&transaction);
            }
        }
    }
}

impl Server {
    /// Of one node; nothing is served until requests are handed to it.
    pub fn new(node: Arc<Node>) -> Arc<Server> {
        Arc::new(Server { node, waiting: Mutex::default(), resolver: Mutex::default() })
    }

    /// Whose partitions are served.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<TransactionId, Vec<Arc<AtomicBool>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes a request of node `from`; the reply is appended to `reply`.
    pub fn serve(self: &Arc<Self>, from: NodeId, request: &[u8], reply: &mut Vec<u8>) -> Served {
        match self.start(from, request, reply) {
            Ok(served) => served,
            Err(error) => {
                self.node.cut_off(from, &error);
                protocol::put_failed(reply, 0, 0, &error);
                Served::Done
            }
        }
    }

    fn start(self: &Arc<Self>, from: NodeId, request: &[u8], reply: &mut Vec<u8>) -> Result<Served> {
        match Request::read(request).map_err(Error::as_spoilt)? {
            Request::Work(work) => {
                self.check_partition(work.head.partition)?;
                self.node.note_asked(work.head.partition, from);
                return self.start_work(from, &work, request, reply);
            }
            Request::Unlock { partition, transaction, table, keys } => {
                self.check_partition(partition)?;
                let mut guard = self.node.partition(partition);
                for key in keys.iter() {
                    guard.unlock_row(transaction, table, key);
                }
            }
            Request::RollBackTo { transaction, marks } => {
                self.strike_out(transaction);
                for (partition, mark) in marks.iter() {
                    self.check_partition(partition)?;
                    self.node.partition(partition).rollback_to(transaction, SavepointMark(mark));
                }
            }
            Request::RollBack { transaction, partitions } => {
                self.strike_out(transaction);
                for partition in partitions.iter() {
                    self.check_partition(partition)?;
                    self.node.partition(partition).rollback(transaction);
                }
            }
            Request::Decide { partition, transaction, commit } => {
                return self.start_decision(partition, transaction, commit, reply);
            }
            Request::OutcomeOf { home, transaction } => {
                self.check_partition(home)?;
                protocol::put_outcome(reply, self.outcome_of(home, transaction));
            }
            Request::Confirm { home, transaction, coordinator, participants } => {
                self.check_partition(home)?;
                let participants = participants.iter().map(PartitionId);
                self.confirm(home, transaction, coordinator, participants);
            }
            Request::WaitEdges => protocol::put_edges(reply, &local_edges(&self.node)),
            Request::Visible { partitions } => {
                let visible = self.visible_at(partitions)?;
                protocol::put_u64(reply, visible.0);
            }
            Request::Pulse { horizon } => {
                self.node.note_peer_horizon(from, horizon);
                protocol::put_pulse_reply(reply, self.node.visible(), self.row_counts().into_iter());
            }
            Request::Follow(follow) => {
                self.check_partition(follow.partition)?;
                return Ok(follow::start(&self.node, &follow, reply));
            }
            Request::EndedAmong { transactions } => {
                let ended = transactions.iter().filter(|&id| !self.node.coordinates(TransactionId(id)));
                protocol::put_ended(reply, ended);
            }
        }
        Ok(Served::Done)
    }

    /// Whoever has sent what no node sends is cut off.
    fn cut_off_for(&self, from: NodeId, refusal: &Refusal) {
        if let Refusal::Error(error) = refusal {
            self.node.cut_off(from, error);
        }
    }

    fn check_partition(&self, partition: u32) -> Result<()> {
        match partition < self.node.partition_count() {
            true => Ok(()),
            false => {
                Err(Error::unknown(format!("a request is about partition {partition}, which does not exist"))
                    .as_spoilt())
            }
        }
    }

    /// The newest visible timestamp, if this node leads all of these partitions.
    fn visible_at(&self, partitions: List<'_, u32>) -> Result<Timestamp> {
        for partition in partitions.iter() {
            self.check_partition(partition)?;
            if self.node.leader(partition).is_err() {
                return Ok(Timestamp::ZERO);
            }
        }
        // A node that has committed nothing yet is not taken for one that does not lead.
        Ok(self.node.visible().max(Timestamp(1)))
    }

    /// Rows of all tables in the partitions that are led here.
    fn row_counts(&self) -> Vec<protocol::TableRows> {
        let mut counts = Vec::new();
        for partition in 0..self.node.partition_count() {
            if let Ok(guard) = self.node.leader(partition) {
                let tables = guard.tables().into_iter();
                counts.extend(tables.map(|table| ((partition, table.0), guard.row_count(table))));
            }
        }
        counts
    }

    /// Work of the transaction that waits here does nothing more.
    fn strike_out(&self, transaction: TransactionId) {
        let waiting = self.waiting();
        for one in waiting.get(&transaction).into_iter().flatten() {
            one.store(true, Ordering::Release);
        }
    }

    fn list(self: &Arc<Self>, transaction: Option<TransactionId>) -> Listed {
        let struck_out = Arc::new(AtomicBool::new(false));
        if let Some(transaction) = transaction {
            self.waiting().entry(transaction).or_default().push(Arc::clone(&struck_out));
        }
        Listed { server: Arc::clone(self), transaction, struck_out }
    }

    fn start_work(
        self: &Arc<Self>,
        from: NodeId,
        work: &Work<'_>,
        request: &[u8],
        reply: &mut Vec<u8>,
    ) -> Result<Served> {
        let mut waiter = work.may_wait().then(|| self.node.waiter());
        let mut job = Job::new(reply);
        let mut progress = job.advance(&self.node, work, waiter.as_mut(), None, reply);
        if let (Ok(Progress::Blocked(_)), None) = (&progress, &waiter) {
            // A prepared write of that very key is rare: only now is it worth a place to wait in.
            let waiter = waiter.insert(self.node.waiter());
            progress = job.advance(&self.node, work, Some(waiter), None, reply);
        }
        if let Ok(Progress::Lapsed) = &progress {
            waiter.get_or_insert_with(|| self.node.waiter());
        }
        match progress {
            Ok(Progress::Done) => Ok(Served::Done),
            Err(refusal) => {
                self.cut_off_for(from, &refusal);
                job.refuse(refusal, reply);
                Ok(Served::Done)
            }
            Ok(progress) => {
                let Some(waiter) = waiter else {
                    return Err(Error::unknown("internal: work waits without a place to wait in"));
                };
                if let Progress::Committing(unflushed) = &progress
                    && !unflushed.needs_flush()
                {
                    let own = job.move_into_own(reply);
                    return Ok(Served::AtSignal(
                        waiter,
                        Box::new(move |is_durable| job.reply_at_end(own, is_durable)),
                    ));
                }
                let later = Later {
                    from,
                    listed: self.list(work.head.transaction),
                    request: request.to_vec(),
                    reply: job.move_into_own(reply),
                    job,
                    waiter,
                    lapsed_since: None,
                };
                Ok(Served::Later(Box::pin(later.run(progress))))
            }
        }
    }
}

/// Work that has come to a wait.
struct Later {
    from: NodeId,
    listed: Listed,
    request: Vec<u8>,
    job: Job,
    reply: Vec<u8>,
    waiter: Waiter,
    /// The leader's lease had run out at the last look, and all those before it from then on.
    lapsed_since: Option<Instant>,
}

impl Later {
    async fn run(mut self, mut progress: Progress) -> Vec<u8> {
        loop {
            match self.step(progress).await {
                Ok(Progress::Done) => return self.reply,
                Ok(next) => progress = next,
                Err(refusal) => {
                    self.listed.server.cut_off_for(self.from, &refusal);
                    self.job.refuse(refusal, &mut self.reply);
                    return self.reply;
                }
            }
        }
    }

    /// Waits for what the work waits for, and goes on with it.
    async fn step(&mut self, progress: Progress) -> Result<Progress, Refusal> {
        let server = Arc::clone(&self.listed.server);
        if !matches!(progress, Progress::Lapsed) {
            self.lapsed_since = None;
        }
        let blocked = match progress {
            Progress::Done => return Ok(Progress::Done),
            Progress::Committing(unflushed) => {
                unflushed.wait(&self.waiter).await?;
                return Ok(Progress::Done);
            }
            Progress::Lapsed => {
                if self.lapsed_since.get_or_insert_with(Instant::now).elapsed() >= LAPSE_MAX {
                    return Err(Refusal::Lost);
                }
                tokio::time::sleep(LOOK_AGAIN).await;
                self.waiter.arm(1);
                return self.go_on(&server);
            }
            Progress::Blocked(blocked) => blocked,
        };
        let Ok(Request::Work(work)) = Request::read(&self.request) else {
            return Err(Error::unknown("internal: a request that was read cannot be read again").into());
        };
        let head = &work.head;
        let timeout = Duration::from_millis(u64::from(head.lock_wait_ms));
        let (waiter, transaction) = (&self.waiter, head.transaction.filter(|_| work.holds_locks()));
        let end = wait_in_partition(&server.node, waiter, transaction, head.partition, &blocked, timeout).await;
        self.waiter.arm(1);
        match end {
            WaitEnd::Woken => {}
            WaitEnd::Deadlock => return Err(deadlock_error().into()),
            WaitEnd::Timeout => return Err(timeout_error().into()),
        }
        self.go_on(&server)
    }

    fn go_on(&mut self, server: &Server) -> Result<Progress, Refusal> {
        let Ok(Request::Work(work)) = Request::read(&self.request) else {
            return Err(Error::unknown("internal: a request that was read cannot be read again").into());
        };
        let struck_out = &self.listed.struck_out;
        self.job.advance(&server.node, &work, Some(&mut self.waiter), Some(struck_out), &mut self.reply)
    }
}

impl Work<'_> {
    /// It is likely enough to wait: for locks, or for a commit to be durable or applied.
    fn may_wait(&self) -> bool {
        self.holds_locks() || self.head.snapshot != Timestamp::MAX
    }

    /// It takes locks, or ends in a commit.
    fn holds_locks(&self) -> bool {
        self.writes.len() > 0
            || match &self.then {
                Then::Nothing => false,
                Then::Read { lock, .. } => lock.is_some(),
                Then::Scan(scan) => scan.head.lock.is_some(),
                Then::Slice(slice) => slice.lock.is_some(),
                Then::Commit { .. } | Then::Prepare { .. } | Then::HomeCommit { .. } => true,
            }
    }
}
