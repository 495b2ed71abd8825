//! The dictionary of a cluster: kept by the management nodes, followed by all.
//!
//! The meta partition is a partition like any other, whose rows are the dictionary's changes and the state before them
//! (`meta_rows`). Its leader takes changes one at a time, each on the version that it was planned for. All nodes, the management
//! nodes too, follow it (`follow`).
//!
//! A definition takes effect in this order: its author has the definitions to itself (`definition_lock`) and the tables concerned
//! on every node with sessions (`exclusive_tables`); the change is committed by the meta partition, which decides;
//! every node that is up has the new catalog, and leaders have brought the fragments of their partitions in line with it.
//! Whoever fails on the way leaves a dictionary of before or after, never between; fragments follow it whenever a leader
//! sees that they differ.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prost::Message;
use shoal_partition::{ReadView, Step, WaitToken};
use shoal_types::{Error, ErrorCode, IndexMethod, NodeId, Outcome, Result, TableId, TableSchema, TransactionId};
use tokio::time::Instant;

use crate::base::wait::lock;
use crate::dictionary::catalog::Change;
use crate::dictionary::ddl::{FragmentChange, propose};
use crate::dictionary::metadata_lock::ExclusiveTables;
use crate::dictionary::stored::StoredChanges;
use crate::dictionary::table::Table;
use crate::dictionary::unique::{
    base_primary_key as second_column, bytes_table_schema, hidden_primary_key, unique_row as bytes_row,
};
use crate::membership::peers::Cluster;
use crate::membership::remote::not_leader;
use crate::membership::requests::{Ask, ChangeCatalog, ExclusiveTablesOf, SequenceBlock, ServiceReply, temporary};
use crate::node::Node;

/// In every partition: the sequences of the tables whose id falls on it.
const SEQUENCES_TABLE: TableId = TableId(u32::MAX - 2);
/// How long a definition waits for a leader of the meta partition, and for the other nodes to follow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const RETRY_AFTER: Duration = Duration::from_millis(20);

/// What a node keeps for the dictionary of its cluster.
#[derive(Default)]
pub(crate) struct MetaState {
    pub(crate) changing: tokio::sync::Mutex<()>,
    pub(crate) compacting: tokio::sync::Mutex<()>,
    pub(crate) fetching: tokio::sync::Mutex<()>,
    pub(crate) reconciling: tokio::sync::Mutex<()>,
    sequences: tokio::sync::Mutex<()>,
    definitions: Arc<tokio::sync::Mutex<()>>,
    definers: Mutex<HashMap<(NodeId, u64), tokio::sync::OwnedMutexGuard<()>>>,
    /// Tables that definitions of other nodes have for themselves.
    tables: Mutex<HashMap<(NodeId, u64), ExclusiveTables>>,
    next_token: AtomicU64,
}

/// A change of a system table.
pub(crate) enum RowChange {
    Put(Vec<u8>),
    /// By the primary key.
    Delete(Vec<u8>),
}

/// The right to change the dictionary; given back when dropped.
#[derive(Default)]
pub struct DefinitionLock {
    held: Option<(Arc<Cluster>, NodeId, u64)>,
}

/// Tables that other nodes have been asked to leave alone; let go of when dropped.
pub(crate) struct TablesElsewhere {
    cluster: Arc<Cluster>,
    token: u64,
    nodes: Vec<NodeId>,
}

impl Drop for DefinitionLock {
    fn drop(&mut self) {
        if let Some((cluster, leader, token)) = self.held.take() {
            cluster.tell(leader, Ask::UnlockDefinitions(token));
        }
    }
}

impl Drop for TablesElsewhere {
    fn drop(&mut self) {
        for &node in &self.nodes {
            self.cluster.tell(node, Ask::ReleaseTables(self.token));
        }
    }
}

pub(crate) fn sequences_schema() -> TableSchema {
    bytes_table_schema(SEQUENCES_TABLE, "$sequences", "ndbcluster", IndexMethod::Hash, 0)
}

fn not_followed(version: u64) -> Error {
    temporary(format!(
        "the definition is made (dictionary version {version}), but not every node has followed within {PATIENCE:?}"
    ))
    .with_outcome(Outcome::Unknown)
}

impl Node {
    pub(crate) fn meta_state(&self) -> Result<(&Arc<Cluster>, &MetaState, u32)> {
        let cluster =
            self.cluster.as_ref().ok_or_else(|| Error::unknown("internal: this process is no cluster"))?;
        Ok((cluster, &cluster.meta, cluster.options.partition_count()))
    }

    // ---- the leader's side ----

    pub(crate) async fn have_fragment(&self, partition: u32, schema: TableSchema) -> Result<()> {
        if self.leader(partition)?.schema(schema.id).is_some() {
            return Ok(());
        }
        self.propose_fragments(partition, &[FragmentChange::Create(Arc::new(schema))]).await
    }

    pub(crate) async fn propose_fragments(&self, partition: u32, changes: &[FragmentChange]) -> Result<()> {
        // What Raft appends cannot be refused any more.
        self.wait_for_log_room(Node::log_room_for(changes.iter().map(FragmentChange::entry_bytes)))?;
        let mut waiter = self.waiter();
        let token = waiter.arm(changes.len() as u32);
        let settled = {
            let mut guard = self.leader(partition)?;
            for change in changes {
                propose(&mut guard, change, token)?;
            }
            self.settle(partition, &mut guard, shoal_types::Timestamp::ZERO)?
        };
        self.see_to(settled);
        match tokio::time::timeout(PATIENCE, waiter.wait()).await {
            Ok(true) => Ok(()),
            _ => Err(temporary(format!("partition {partition} could not agree on a definition; try again"))),
        }
    }

    /// Changes rows of a system table, as a transaction of its own, in this term of the leader's or in any. Callers keep out of
    /// each other's way.
    pub(crate) async fn commit_rows(
        &self,
        (partition, term): (u32, Option<u64>),
        table: TableId,
        changes: &[RowChange],
    ) -> Result<()> {
        let transaction: TransactionId = self.next_transaction_id();
        let mut waiter = self.waiter();
        {
            let mut guard = self.leader(partition)?;
            // What is staged now is committed in this term or never.
            if term.is_some_and(|term| term != guard.leader_term()) {
                return Err(not_leader(partition));
            }
            let token = WaitToken(waiter.token());
            for change in changes {
                let step = match change {
                    RowChange::Put(row) => guard.put(transaction, table, row, token).map(|step| step.is_ready()),
                    RowChange::Delete(key) => {
                        guard.delete(transaction, table, key, token).map(|step| step.is_ready())
                    }
                };
                if !matches!(step, Ok(true)) {
                    guard.rollback(transaction);
                    step?;
                    return Err(temporary("a system row is locked; try again"));
                }
            }
        }
        let token = waiter.arm(1);
        let appending = self.append_commit(transaction, &[partition], &[], token)?;
        if appending.signals == 0 {
            return Ok(());
        }
        self.see_to(appending);
        match tokio::time::timeout(PATIENCE, waiter.wait()).await {
            Ok(true) => Ok(()),
            _ => Err(temporary("the change may have been made or not").with_outcome(Outcome::Unknown)),
        }
    }

    /// The first of `count` values of a table's sequence that nobody else gets.
    pub(crate) async fn sequence_block(&self, block: &SequenceBlock) -> Result<u64> {
        let (_, meta, partitions) = self.meta_state()?;
        let partition = block.table % partitions;
        let _one_at_a_time = meta.sequences.lock().await;
        self.have_fragment(partition, sequences_schema()).await?;
        let key = block.table.to_be_bytes();
        let mut primary_key = Vec::new();
        hidden_primary_key(&key, &mut primary_key);
        let next = {
            let mut guard = self.leader(partition)?;
            let view = ReadView::newest(None, WaitToken(0));
            match guard.get(&view, SEQUENCES_TABLE, &primary_key, None)? {
                Step::Ready(Some(row)) => {
                    second_column(row).first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes))
                }
                _ => 1,
            }
        };
        let start = next.max(block.at_least);
        let row = bytes_row(&key, &start.saturating_add(block.count).to_le_bytes())?;
        self.commit_rows((partition, None), SEQUENCES_TABLE, &[RowChange::Put(row)]).await?;
        Ok(start)
    }

    // ---- definitions ----

    pub(crate) async fn lock_definitions_for(&self, from: NodeId, token: u64) -> Result<u64> {
        let (_, meta, partition) = self.meta_state()?;
        drop(self.leader(partition)?);
        let guard = Arc::clone(&meta.definitions).lock_owned().await;
        let newest = self.newest_change()?;
        lock(&meta.definers).insert((from, token), guard);
        Ok(newest)
    }

    pub(crate) fn unlock_definitions_of(&self, from: NodeId, token: u64) {
        if let Ok((_, meta, _)) = self.meta_state() {
            lock(&meta.definers).remove(&(from, token));
        }
    }

    /// Whatever a node that is gone had locked is free.
    pub(crate) fn release_definitions_of(&self, node: NodeId) {
        if let Ok((_, meta, _)) = self.meta_state() {
            lock(&meta.definers).retain(|&(holder, _), _| holder != node);
            lock(&meta.tables).retain(|&(holder, _), _| holder != node);
        }
    }

    /// Keeps definitions of other nodes out until the lock is dropped, and has the dictionary as it is now. In a process that is
    /// the whole database there is nobody to keep out.
    pub async fn definition_lock(&self) -> Result<DefinitionLock> {
        let Some(cluster) = &self.cluster else { return Ok(DefinitionLock::default()) };
        let token = cluster.meta.next_token.fetch_add(1, Ordering::Relaxed);
        let (leader, reply) = self.ask_meta_leader(Ask::LockDefinitions(token)).await?;
        let held = DefinitionLock { held: Some((Arc::clone(cluster), leader, token)) };
        self.fetch_catalog(reply.value).await?;
        Ok(held)
    }

    pub(crate) async fn exclusive_tables_for(
        &self,
        from: NodeId,
        token: u64,
        tables: &[TableId],
        timeout: Duration,
    ) -> Result<()> {
        let (_, meta, _) = self.meta_state()?;
        // Who asks again has not had the answer, and waits for nobody but others.
        lock(&meta.tables).remove(&(from, token));
        let catalog = self.catalog();
        let tables: Vec<Arc<Table>> =
            tables.iter().filter_map(|id| catalog.tables_by_id.get(id).cloned()).collect();
        let exclusive = self.metadata_locks.exclusive(&tables, timeout).await?;
        lock(&meta.tables).insert((from, token), exclusive);
        Ok(())
    }

    pub(crate) fn release_tables_of(&self, from: NodeId, token: u64) {
        if let Ok((_, meta, _)) = self.meta_state() {
            lock(&meta.tables).remove(&(from, token));
        }
    }

    /// Has the tables left alone on all nodes with sessions, this one included, in the order of their ids so that no two
    /// definitions can wait for each other.
    pub(crate) async fn exclusive_in_cluster(
        &self,
        tables: &[Arc<Table>],
        timeout: Duration,
    ) -> Result<(ExclusiveTables, TablesElsewhere)> {
        let (cluster, meta, _) = self.meta_state()?;
        let me = cluster.options.me;
        let token = meta.next_token.fetch_add(1, Ordering::Relaxed);
        let deadline = Instant::now() + timeout;
        let sessions = |node: &NodeId| cluster.options.node(*node).is_some_and(|entry| entry.roles.has_sessions());
        let mut nodes: Vec<NodeId> = cluster.peers_up().into_iter().filter(sessions).chain([me]).collect();
        nodes.sort_unstable();
        let ids: Vec<u32> = tables.iter().map(|table| table.id().0).collect();
        let mut elsewhere = TablesElsewhere { cluster: Arc::clone(cluster), token, nodes: Vec::new() };
        let mut here = None;
        for node in nodes {
            if node == me {
                here = Some(self.metadata_locks.exclusive(tables, timeout).await?);
                continue;
            }
            elsewhere.nodes.push(node);
            self.exclusive_at(cluster, node, &ids, token, deadline).await?;
        }
        let here = here.ok_or_else(|| Error::unknown("internal: this node was not among those with sessions"))?;
        Ok((here, elsewhere))
    }

    /// Has the tables left alone on another node; one that is gone uses nothing.
    async fn exclusive_at(
        &self,
        cluster: &Cluster,
        node: NodeId,
        tables: &[u32],
        token: u64,
        deadline: Instant,
    ) -> Result<()> {
        loop {
            let timeout_ms = deadline.saturating_duration_since(Instant::now()).as_millis() as u64;
            let wanted = ExclusiveTablesOf { tables: tables.to_vec(), timeout_ms, token };
            match self.ask(node, Ask::ExclusiveTables(wanted)).await {
                Ok(_) => return Ok(()),
                Err(_) if !cluster.is_up(node) => return Ok(()),
                // A link that breaks is heard of by whoever waits for an answer before it is known that the node is gone.
                Err(error) if error.is(ErrorCode::GetTemporaryErrmsg) && Instant::now() < deadline => {
                    tokio::time::sleep(RETRY_AFTER).await;
                }
                Err(error) => return Err(error.with_outcome(Outcome::NotCommitted)),
            }
        }
    }

    /// Makes a change of the dictionary, and has it followed everywhere.
    pub(crate) async fn change_in_cluster(&self, changes: &[Change]) -> Result<()> {
        let base = self.catalog_version();
        let bytes = StoredChanges::of(changes).encode_to_vec();
        let ask = Ask::ChangeCatalog(ChangeCatalog { base, changes: bytes.clone() });
        let version = match self.ask_meta_leader(ask).await {
            Ok((_, reply)) => reply.value,
            Err(error) if error.outcome() == Outcome::Unknown => {
                // Whether it was made shows in what the next version is.
                let (_, reply) = self.ask_meta_leader(Ask::FetchCatalog(base)).await?;
                match reply.changes.first() {
                    // Too long ago to tell.
                    _ if reply.snapshot.is_some() => return Err(error),
                    Some(first) if first.changes == bytes => first.version,
                    _ => return Err(error.with_outcome(Outcome::NotCommitted)),
                }
            }
            Err(error) => return Err(error),
        };
        self.have_catalog_everywhere(version).await
    }

    async fn have_catalog_everywhere(&self, version: u64) -> Result<()> {
        let (cluster, _, partitions) = self.meta_state()?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut covered = vec![false; partitions as usize];
            let mut behind = false;
            for node in cluster.peers_up().into_iter().chain([cluster.options.me]) {
                match self.ask_within(node, Ask::AwaitCatalog(version), PATIENCE).await {
                    Ok(reply) => {
                        for partition in reply.partitions {
                            if let Some(covered) = covered.get_mut(partition as usize) {
                                *covered = true;
                            }
                        }
                    }
                    Err(_) => behind |= cluster.is_up(node),
                }
            }
            if !behind && covered.iter().all(|&covered| covered) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(not_followed(version));
            }
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }

    /// Asks the leader of the meta partition, whoever that is by the time it answers.
    pub(crate) async fn ask_meta_leader(&self, ask: Ask) -> Result<(NodeId, ServiceReply)> {
        let (cluster, _, partition) = self.meta_state()?;
        self.ask_leader(cluster, partition, ask).await
    }

    pub(crate) async fn ask_leader(
        &self,
        cluster: &Arc<Cluster>,
        partition: u32,
        ask: Ask,
    ) -> Result<(NodeId, ServiceReply)> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let failure = match cluster.leaders.of(partition) {
                None if partition == cluster.options.partition_count() => {
                    temporary("no management node leads just now; see that a majority of them runs")
                }
                None => temporary(format!("partition {partition} has no leader just now")),
                Some(leader) => match self.ask_within(leader, ask.clone(), PATIENCE).await {
                    Ok(reply) => return Ok((leader, reply)),
                    Err(error)
                        if crate::membership::remote::is_not_leader(&error)
                            && error.outcome() == Outcome::NotCommitted =>
                    {
                        error
                    }
                    Err(error) => return Err(error),
                },
            };
            if Instant::now() >= deadline {
                return Err(failure);
            }
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }
}

impl Cluster {
    /// Sends a request whose reply nobody wants.
    fn tell(&self, to: NodeId, ask: Ask) {
        if let Some(node) = self.node.get().and_then(std::sync::Weak::upgrade) {
            self.spawn(move || async move {
                let _ = node.ask(to, ask).await;
            });
        }
    }

    /// Another node is reached.
    pub fn is_up(&self, node: NodeId) -> bool {
        lock(&self.peers).get(&node).is_some_and(|peer| peer.is_up)
    }
}
