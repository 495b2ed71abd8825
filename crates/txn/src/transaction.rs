//! A session's transaction: its life, its snapshot, its savepoints, its end.

use std::sync::Arc;
use std::time::Duration;

use shoal_cluster::{Appending, Node, Place, Table, Waiter};
use shoal_partition::{KeyBounds, LockPolicy, LockRequest, ReadView, SavepointMark, WaitToken};
use shoal_types::{Error, ErrorCode, NodeId, Outcome, Result, Timestamp, TransactionId};

use crate::api::*;
use crate::commit::wait_until_durable;
use crate::participants::{Participant, Participants};
use crate::protocol;
use crate::pulse::snapshot_of_all_nodes;
use crate::shown::ShownTransaction;

/// innodb_lock_wait_timeout's default.
const LOCK_WAIT_TIMEOUT: Duration = Duration::from_secs(50);
/// What the writes of one transaction may take in the log: half of what the log allows for a batch.
const TRANSACTION_BYTES_MAX: u64 = 512 << 20;
/// A commit that takes more in the log goes there in parts, so many before they are waited for.
const PARTS_FROM_BYTES: u64 = 2 << 20;
const PARTS_AT_A_TIME: u32 = 4;
/// Rows that are counted exactly for an estimate lie in so many partitions; the others are taken to be alike.
const ESTIMATE_PARTITIONS: usize = 8;

/// A session's transaction; reused for one transaction after the other.
pub struct Transaction {
    /// Work since they were last taken; over all transactions of the session.
    pub counters: TransactionCounters,
    pub(crate) node: Arc<Node>,
    pub(crate) waiter: Waiter,
    pub(crate) isolation: Isolation,
    /// `begin` was called.
    explicit: bool,
    active: bool,
    pub(crate) id: Option<TransactionId>,
    shown: Arc<ShownTransaction>,
    snapshot: Option<Timestamp>,
    /// The dictionary's version when the snapshot was taken.
    snapshot_catalog: u64,
    pub(crate) participants: Participants,
    pub(crate) lock_wait_timeout: Duration,
    /// Tables that cannot change their definition while this transaction lasts.
    pub(crate) tables: Vec<Arc<Table>>,
    ignores_metadata_locks: bool,
    /// Tables whose sequences this transaction has used.
    pub(crate) sequences: Vec<Arc<Table>>,
    writers: Vec<u32>,
    pub(crate) key_buffer: Vec<u8>,
    /// Partitions and numbers of keys that are read together.
    pub(crate) places: Vec<(u32, usize)>,
    /// The request in the making.
    pub(crate) frame: Vec<u8>,
    /// Other nodes may ask whether it still runs.
    pub(crate) is_coordinated: bool,
    reads_newest: bool,
    /// What it does in temporary tables; see `temporary`.
    pub(crate) temporary: Option<Box<Transaction>>,
}

/// What a statement saw before one within it began.
pub struct InnerStatement {
    marks: Vec<u32>,
    temporary: Vec<u32>,
}

impl Transaction {
    /// Not begun; `begin` or the first operation starts it.
    pub fn new(node: Arc<Node>) -> Transaction {
        Transaction {
            counters: TransactionCounters::default(),
            waiter: node.waiter(),
            participants: Participants::new(node.partition_count()),
            node,
            isolation: Isolation::default(),
            explicit: false,
            active: false,
            id: None,
            shown: Arc::default(),
            snapshot: None,
            snapshot_catalog: 0,
            lock_wait_timeout: LOCK_WAIT_TIMEOUT,
            tables: Vec::new(),
            ignores_metadata_locks: false,
            sequences: Vec::new(),
            writers: Vec::new(),
            key_buffer: Vec::new(),
            places: Vec::new(),
            frame: Vec::new(),
            is_coordinated: false,
            reads_newest: false,
            temporary: None,
        }
    }

    /// Where the session is connected.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Starts a transaction that lasts until `commit` or `rollback`. One that is active is rolled back: commit it first.
    pub fn begin(&mut self, isolation: Isolation) {
        self.rollback_quietly();
        self.isolation = isolation;
        self.shown.set_isolation(isolation);
        self.explicit = true;
        self.active = true;
        self.begin_temporary();
    }

    /// The level of transactions that begin by themselves: autocommitted statements.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        if !self.active {
            self.isolation = isolation;
            self.shown.set_isolation(isolation);
        }
    }

    /// From now on reads without a lock see every row as it was committed last, each for itself, and take no snapshot, which costs
    /// a round trip: what NDB calls a committed read.
    pub fn set_reads_newest(&mut self, reads_newest: bool) {
        self.reads_newest = reads_newest;
    }

    /// Of the transaction that is open, or of the next one.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// What reads without a lock see: everything that was committed, anywhere, before the snapshot was taken.
    pub async fn settle_snapshot(&mut self) -> Result<Timestamp> {
        self.active = true;
        if let Some(snapshot) = self.snapshot {
            return Ok(snapshot);
        }
        self.snapshot_catalog = self.node.catalog_version();
        let snapshot = match self.node.remote() {
            None => self.node.snapshots().take(),
            Some(_) => snapshot_of_all_nodes(&self.node).await?,
        };
        self.snapshot = Some(snapshot);
        Ok(snapshot)
    }

    fn release_snapshot(&mut self) {
        if let Some(snapshot) = self.snapshot.take() {
            self.node.snapshots().release(snapshot);
        }
    }

    /// Reads without a lock see an earlier moment from now on.
    pub fn has_snapshot(&self) -> bool {
        self.snapshot.is_some()
    }

    /// To be called before every statement. READ COMMITTED (and autocommit) reads of the statement see what is committed
    /// by now; its scans see this transaction's writes of earlier statements, and none of its own.
    pub fn start_statement(&mut self) {
        if !self.explicit || self.isolation == Isolation::ReadCommitted {
            self.release_snapshot();
        }
        self.participants.begin_statement();
        if let Some(temporary) = &mut self.temporary {
            temporary.start_statement();
        }
    }

    /// A statement within the running one begins, of a stored function or a trigger: it sees what the transaction has written so far,
    /// by the snapshot of the statement around.
    pub fn begin_inner_statement(&mut self) -> InnerStatement {
        let temporary = self.temporary.as_mut().map(|temporary| temporary.participants.begin_inner_statement());
        InnerStatement {
            marks: self.participants.begin_inner_statement(),
            temporary: temporary.unwrap_or_default(),
        }
    }

    /// The statement around goes on, and sees what it saw before.
    pub fn end_inner_statement(&mut self, inner: &InnerStatement) {
        self.participants.end_inner_statement(&inner.marks);
        if let Some(temporary) = &mut self.temporary {
            temporary.participants.end_inner_statement(&inner.temporary);
        }
    }

    /// The transaction's session has a turn in this thread, which may not come to commit anything.
    #[inline]
    pub fn note_turn(&self) {
        self.node.note_turn(self.waiter.session());
    }

    /// It lasts until `commit` or `rollback`, and how it reads: `begin` was called.
    pub(crate) fn explicit_isolation(&self) -> Option<Isolation> {
        self.explicit.then_some(self.isolation)
    }

    /// A transaction is open.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Something was staged that COMMIT would make durable.
    pub fn has_writes(&self) -> bool {
        self.participants.has_writes()
    }

    /// `None` as long as nothing was locked or written.
    pub fn id(&self) -> Option<TransactionId> {
        self.id
    }

    /// Where other threads see this transaction and all that come after it.
    pub fn shown(&self) -> Arc<ShownTransaction> {
        Arc::clone(&self.shown)
    }

    /// For the session that has the tables for itself (`Node::exclusive_tables`) and would wait for itself.
    pub fn ignore_metadata_locks(&mut self, ignore: bool) {
        self.ignores_metadata_locks = ignore;
    }

    /// The table's definition cannot change until this transaction ends. Every operation but `get_newest` does this by
    /// itself; a statement that plans may do it first.
    ///
    /// # Errors
    /// 1205 when a definition under way takes too long. 1412 when `table` is not its definition's newest version: plan
    /// again with the newest one.
    #[inline]
    pub async fn use_table(&mut self, table: &Arc<Table>) -> Result<()> {
        let this = self.of(table);
        if this.tables.iter().any(|used| Arc::ptr_eq(used, table)) || this.ignores_metadata_locks {
            return Ok(());
        }
        this.begin_using(table).await
    }

    pub(crate) async fn use_table_for(&mut self, table: &Arc<Table>, mode: ReadMode) -> Result<()> {
        match mode.lock {
            Some(LockMode::Exclusive) => self.use_table_to_write(table).await,
            Some(LockMode::Shared) | None => self.use_table(table).await,
        }
    }

    /// The same for whoever is about to write rows of the table, or to lock them for that: it waits while a definition copies them.
    ///
    /// # Errors
    /// As `use_table`; 1213 when the definition waits for this transaction.
    pub async fn use_table_to_write(&mut self, table: &Arc<Table>) -> Result<()> {
        let this = self.of(table);
        let is_writable = |this: &Transaction| this.ignores_metadata_locks || !table.metadata_lock.is_frozen();
        loop {
            if is_writable(this) {
                let used = this.tables.len();
                this.use_table(table).await?;
                if is_writable(this) {
                    return Ok(());
                }
                // The definition had the table for itself in between. It must not wait for who only waits for it.
                for late in this.tables.drain(used..) {
                    this.node.metadata_locks().release(&late);
                }
                this.shown.forget_tables(used);
            }
            let uses_it = this.tables.iter().any(|used| Arc::ptr_eq(&used.metadata_lock, &table.metadata_lock));
            this.active = true;
            this.shown.set_awaited_table(Some(table.id()));
            let locks = this.node.metadata_locks();
            let writable = locks.await_writable(table, uses_it, &mut this.waiter, this.lock_wait_timeout).await;
            this.shown.set_awaited_table(None);
            writable?;
        }
    }

    async fn begin_using(&mut self, table: &Arc<Table>) -> Result<()> {
        self.active = true;
        let locks = self.node.metadata_locks();
        let uses_others = !self.tables.is_empty();
        if !locks.try_share(table, uses_others) {
            self.shown.set_awaited_table(Some(table.id()));
            let shared = locks.share(table, uses_others, &mut self.waiter, self.lock_wait_timeout).await;
            self.shown.set_awaited_table(None);
            shared?;
        }
        // The rows of a table that was made since are later than the snapshot: it would look empty.
        let is_later = self.snapshot.is_some() && table.since() > self.snapshot_catalog;
        if table.is_stale() || is_later {
            self.node.metadata_locks().release(table);
            return Err(table_changed());
        }
        self.shown.add_table(table.id(), self.tables.len());
        self.tables.push(Arc::clone(table));
        Ok(())
    }

    /// For waits on rows from now on, each by itself: error 1205 when it is over.
    pub fn set_lock_wait_timeout(&mut self, timeout: Duration) {
        self.lock_wait_timeout = timeout;
    }

    /// The transaction's id, given when it first locks or writes.
    #[inline]
    pub(crate) fn begin_writing(&mut self) -> TransactionId {
        self.active = true;
        match self.id {
            Some(id) => id,
            None => {
                let id = self.node.next_transaction_id();
                self.id = Some(id);
                self.shown.set_id(Some(id));
                // The token of the last commit has had its signal: a wait under it would end before it has begun.
                self.waiter.arm(1);
                id
            }
        }
    }

    #[inline]
    pub(crate) fn token(&self) -> WaitToken {
        WaitToken(self.waiter.token())
    }

    /// What point reads with this mode see. Takes the snapshot, or the transaction's id for a locking read.
    pub(crate) async fn point_view(&mut self, mode: ReadMode) -> Result<(ReadView, Option<LockRequest>)> {
        Ok(match self.lock_request(mode) {
            None if self.reads_newest => (ReadView::newest(self.id, self.token()), None),
            None => {
                let snapshot = self.settle_snapshot().await?;
                (ReadView { snapshot, ..ReadView::newest(self.id, self.token()) }, None)
            }
            Some(request) => {
                let id = self.begin_writing();
                (ReadView::newest(Some(id), self.token()), Some(request))
            }
        })
    }

    pub(crate) fn lock_request(&self, mode: ReadMode) -> Option<LockRequest> {
        let policy = match mode.wait {
            LockWait::Wait | LockWait::WaitAndCloseGaps => LockPolicy::Wait,
            LockWait::NoWait => LockPolicy::NoWait,
            LockWait::SkipLocked => LockPolicy::SkipLocked,
        };
        let lock_gaps = self.isolation != Isolation::ReadCommitted || mode.wait == LockWait::WaitAndCloseGaps;
        Some(LockRequest { mode: mode.lock?, policy, lock_gaps })
    }

    /// Locks of this partition that a statement does not need after all may be let go: it surely took them itself.
    pub(crate) fn may_unlock(&self, partition: u32) -> bool {
        self.isolation == Isolation::ReadCommitted
            && self.participants.get(partition).is_some_and(|one| one.joined_in_statement)
    }

    /// A write of so many bytes was staged.
    ///
    /// # Errors
    /// 1197 when the transaction grows beyond what one batch of the log may hold.
    #[inline]
    pub(crate) fn wrote(participants: &mut Participants, partition: u32, bytes: usize) -> Result<()> {
        participants.wrote(partition, bytes);
        match participants.bytes() > TRANSACTION_BYTES_MAX {
            true => Err(too_large()),
            false => Ok(()),
        }
    }

    /// The table's sequence has given values to this transaction, or was moved by it.
    pub fn note_sequence(&mut self, table: &Arc<Table>) {
        let sequences = &mut self.of(table).sequences;
        if table.uses_sequence && !sequences.iter().any(|known| known.id() == table.id()) {
            sequences.push(Arc::clone(table));
        }
    }

    /// Marks what was written so far, for `rollback_to`.
    pub fn savepoint(&mut self) -> Savepoint {
        let temporary = self.temporary.as_mut().map_or(0, |temporary| temporary.participants.mark());
        Savepoint { own: self.participants.mark(), temporary }
    }

    /// Takes back the writes since the savepoint; locks stay.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) {
        if let Some(temporary) = &mut self.temporary {
            temporary.rollback_to(&Savepoint { own: savepoint.temporary, temporary: 0 });
        }
        let Some(id) = self.id else { return };
        let mut remote: Vec<(NodeId, u32, SavepointMark)> = Vec::new();
        for (partition, mark) in self.participants.truncate(savepoint.own) {
            match self.participants.get(partition).and_then(|participant| participant.node) {
                None => self.node.partition(partition).rollback_to(id, mark),
                Some(node) => remote.push((node, partition, mark)),
            }
        }
        for (node, parts) in by_node(&mut remote) {
            self.frame.clear();
            let marks = parts.iter().map(|&(_, partition, mark)| (partition, mark));
            protocol::put_roll_back_to(&mut self.frame, id, marks);
            self.send(node);
        }
    }

    /// Makes the transaction durable and visible, and ends it.
    ///
    /// Errors with `Outcome::Unknown` when the decision cannot be learnt; after any other error it is rolled back.
    pub async fn commit(&mut self) -> Result<()> {
        match self.temporary.is_some() {
            true => Box::pin(self.commit_with_temporary()).await,
            false => self.commit_own().await,
        }
    }

    /// The same without what it has done in temporary tables.
    pub(crate) async fn commit_own(&mut self) -> Result<()> {
        self.release_snapshot();
        if self.active {
            self.counters.commits += 1;
        }
        let Some(id) = self.id else {
            self.forget();
            return Ok(());
        };
        if let Err(error) = self.await_predecessors(id).await {
            self.rollback_quietly();
            return Err(error);
        }
        let mut writers = std::mem::take(&mut self.writers);
        self.participants.writers_into(&mut writers);
        let outcome = match self.node.remote().is_none() {
            true => self.commit_here(id, &writers).await,
            false => self.commit_between_nodes(id, &writers).await,
        };
        self.writers = writers;
        if let Err(error) = &outcome
            && error.outcome() == Outcome::NotCommitted
        {
            self.rollback_quietly();
        }
        self.forget();
        outcome
    }

    /// Waits until what the transaction has seen under locks that it got early is committed, in partitions in which it has written
    /// nothing: see `shoal_partition`'s `early`.
    async fn await_predecessors(&mut self, id: TransactionId) -> Result<()> {
        for number in 0..self.participants.iter().len() {
            let Some(&Participant { partition, writes: 0, node: None, .. }) = self.participants.iter().nth(number)
            else {
                continue;
            };
            let mut has_waited = false;
            loop {
                let blocked = {
                    let mut guard = self.node.partition(partition);
                    if has_waited {
                        guard.expect_joined(id)?;
                    }
                    guard.await_predecessors(id, self.token())
                };
                let Some(blocked) = blocked else { break };
                self.wait(partition, blocked).await?;
                has_waited = true;
            }
        }
        Ok(())
    }

    /// Has the writes of a large transaction in the log, part by part, but for what goes with its commit.
    pub(crate) async fn log_parts(&mut self, id: TransactionId, writers: &[u32]) -> Result<()> {
        if self.participants.bytes() <= PARTS_FROM_BYTES {
            return Ok(());
        }
        let mut left = writers.to_vec();
        while !left.is_empty() {
            let token = self.waiter.arm(PARTS_AT_A_TIME);
            let mut last = None;
            let mut appended = 0;
            while appended < PARTS_AT_A_TIME && !left.is_empty() {
                // The partitions take turns.
                let partition = left.remove(0);
                let Some(appending) = self.node.append_part(id, partition, token)? else { continue };
                left.push(partition);
                last = Some(appending);
                appended += 1;
                // The disk has something to do meanwhile, and the other sessions of this thread as well.
                self.node.wake_log_writer();
                tokio::task::yield_now().await;
            }
            for _ in appended..PARTS_AT_A_TIME {
                self.node.waits().signal(token);
            }
            if let Some(appending) = last {
                wait_until_durable(&self.node, &self.waiter, appending).await?;
            }
        }
        Ok(())
    }

    /// Commits a transaction that has written in this process alone.
    pub(crate) async fn commit_here(&mut self, id: TransactionId, writers: &[u32]) -> Result<()> {
        self.log_parts(id, writers).await?;
        let Some(appending) = self.append_commit(id, writers)? else { return Ok(()) };
        self.counters.execute_count += 1;
        // From here on the log decides: the session may go away.
        self.forget();
        wait_until_durable(&self.node, &self.waiter, appending).await
    }

    /// Appends the writes to the log; `None` if there was nothing to write.
    fn append_commit(&mut self, id: TransactionId, writers: &[u32]) -> Result<Option<Appending>> {
        let token = self.waiter.arm(writers.len() as u32);
        let appending = self.node.append_commit(id, writers, &self.sequences, token)?;
        self.release_readers(id);
        for _ in appending.signals..writers.len() as u32 {
            self.node.waits().signal(token);
        }
        if appending.signals == 0 {
            self.forget();
            return Ok(None);
        }
        Ok(Some(appending))
    }

    /// Ends the transaction everywhere, without its writes.
    pub(crate) fn roll_back_all(&mut self, id: TransactionId) {
        self.roll_back_parts(id, |_| true);
    }

    /// Lets go of the partitions in which nothing was written.
    pub(crate) fn release_readers(&mut self, id: TransactionId) {
        self.roll_back_parts(id, |participant| participant.writes == 0);
    }

    /// Ends the transaction without its writes.
    pub fn rollback(&mut self) {
        if self.active {
            self.counters.rollbacks += 1;
        }
        self.rollback_quietly();
    }

    pub(crate) fn rollback_quietly(&mut self) {
        if let Some(temporary) = &mut self.temporary {
            temporary.rollback_quietly();
        }
        if let Some(id) = self.id {
            self.roll_back_all(id);
        }
        self.release_snapshot();
        self.forget();
    }

    /// Ends the transaction, without its writes, in some of its partitions. Other nodes are told and not waited for.
    fn roll_back_parts(&mut self, id: TransactionId, concerns: impl Fn(&Participant) -> bool) {
        let mut remote: Vec<(NodeId, u32, SavepointMark)> = Vec::new();
        for participant in self.participants.iter().filter(|&one| concerns(one)) {
            match participant.node {
                None => self.node.partition(participant.partition).rollback(id),
                Some(node) => remote.push((node, participant.partition, SavepointMark(0))),
            }
        }
        for (node, parts) in by_node(&mut remote) {
            self.frame.clear();
            protocol::put_roll_back(&mut self.frame, id, parts.iter().map(|&(_, partition, _)| partition));
            self.send(node);
        }
    }

    /// The transaction has been committed by its last request.
    pub(crate) fn end_committed(&mut self) {
        self.counters.commits += 1;
        self.release_snapshot();
        self.forget();
    }

    pub(crate) fn forget(&mut self) {
        if std::mem::take(&mut self.is_coordinated)
            && let Some(id) = self.id
        {
            self.node.end_coordinating(id);
        }
        if self.id.take().is_some() {
            self.shown.set_id(None);
        }
        self.active = false;
        self.explicit = false;
        self.participants.clear();
        self.sequences.clear();
        self.shown.release_tables();
        for table in self.tables.drain(..) {
            self.node.metadata_locks().release(&table);
        }
    }

    /// Rows in a range, roughly; cheap. What other nodes have is taken to be like what is here; a node that leads nothing
    /// says how many rows the tables have.
    pub fn estimate_rows(&self, table: &Arc<Table>, index: usize, range: &KeyRange) -> u64 {
        self.for_table(table).estimate_rows_here(table, index, range)
    }

    fn estimate_rows_here(&self, table: &Arc<Table>, index: usize, range: &KeyRange) -> u64 {
        let Some(definition) = table.schema.indexes.get(index) else { return 0 };
        let range = partition_range(range);
        let partitions = self.node.partition_count();
        let local: Vec<u32> = (0..partitions).filter(|&one| self.node.place(one) == Place::Local).collect();
        if local.is_empty() {
            return self.row_count(table);
        }
        let asked = local.len().min(ESTIMATE_PARTITIONS);
        let estimate = |number: usize| {
            let partition = local[number * local.len() / asked];
            self.node.partition(partition).estimate_rows(table.id(), definition.id, &range).unwrap_or(0)
        };
        let sum: u64 = (0..asked).map(estimate).sum();
        sum.saturating_mul(u64::from(partitions)) / asked as u64
    }

    /// Rows of the newest committed state. For partitions on other nodes as these have said last.
    pub fn row_count(&self, table: &Arc<Table>) -> u64 {
        let node = &self.for_table(table).node;
        let count = |partition: u32| match node.place(partition) {
            Place::Local => node.partition(partition).row_count(table.id()),
            _ => node.remote_rows(partition, table.id()),
        };
        (0..node.partition_count()).map(count).sum()
    }

    /// The partition (0-based) that a partition key lies in, for EXPLAIN.
    pub fn partition_of(&self, partition_key: &[u8]) -> u32 {
        self.node.router().partition_of(partition_key)
    }

    /// Of the cluster, without the dictionary's.
    pub fn partition_count(&self) -> u32 {
        self.node.partition_count()
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.rollback_quietly();
    }
}

/// Partitions grouped by their leaders' nodes.
fn by_node(
    parts: &mut [(NodeId, u32, SavepointMark)],
) -> impl Iterator<Item = (NodeId, &[(NodeId, u32, SavepointMark)])> {
    parts.sort_unstable();
    parts.chunk_by(|one, other| one.0 == other.0).map(|parts| (parts[0].0, parts))
}

/// Error 1412.
fn table_changed() -> Error {
    Error::new(ErrorCode::TableDefChanged, "Table definition has changed, please retry transaction")
}

/// Error 1197.
fn too_large() -> Error {
    let message = format!("The transaction is larger than {} MiB; do it in parts", TRANSACTION_BYTES_MAX >> 20);
    Error::new(ErrorCode::TransCacheFull, message)
}

/// A range in the partition's words.
pub(crate) fn partition_range(range: &KeyRange) -> KeyBounds {
    use std::ops::Bound;
    let start = if range.start.is_empty() { Bound::Unbounded } else { Bound::Included(range.start.clone()) };
    let end = if range.end.is_empty() { Bound::Unbounded } else { Bound::Excluded(range.end.clone()) };
    KeyBounds { start, end }
}
