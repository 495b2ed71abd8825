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

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prost::Message;
use shoal_types::{Error, ErrorCode, NodeId, Outcome, Result, TableId};
use tokio::time::Instant;

use crate::base::errors::temporary;
use crate::base::wait::lock;
use crate::dictionary::Dictionary;
use crate::dictionary::catalog::Change;
use crate::dictionary::meta_state::{BeingFilled, KeptFor, WantedToken};
use crate::dictionary::metadata_lock::ExclusiveTables;
use crate::dictionary::stored::StoredChanges;
use crate::dictionary::table::Table;
use crate::membership::messages::{Ask, CatalogAt, ChangeCatalog, ExclusiveTablesOf, LockTokens, ServiceReply};
use crate::membership::peers::Membership;
use crate::membership::requests::{REQUEST_TIMEOUT, RETRY_AFTER, RequestTimeouts};

/// Where nobody can use the tables concerned meanwhile: longer than an election takes, and than connections that were reset need.
const WHILE_TABLES_ARE_KEPT: RequestTimeouts =
    RequestTimeouts { total: Duration::from_secs(3), without_majority: Duration::from_millis(200) };
/// A node that is asked to follow meanwhile, and a native client always, is asked again after so long.
const FOLLOW_ROUND: Duration = Duration::from_millis(500);

/// The right to change the dictionary; given back when dropped.
#[derive(Default)]
pub struct DefinitionLock {
    held: Option<(Arc<Membership>, NodeId, WantedToken)>,
}

/// Tables that other nodes have been asked to leave alone; let go of when dropped.
pub(crate) struct TablesElsewhere {
    cluster: Arc<Membership>,
    token: WantedToken,
    nodes: Vec<NodeId>,
}

impl Drop for DefinitionLock {
    fn drop(&mut self) {
        if let Some((cluster, leader, token)) = self.held.take() {
            cluster.tell(leader, Ask::UnlockDefinitions(token.get()));
        }
    }
}

impl Drop for TablesElsewhere {
    fn drop(&mut self) {
        for &node in &self.nodes {
            self.cluster.tell(node, Ask::ReleaseTables(self.token.get()));
        }
    }
}

fn not_followed(version: u64, patience: Duration) -> Error {
    temporary(format!(
        "the definition is made (dictionary version {version}), but not every node has followed within {patience:?}"
    ))
    .with_outcome(Outcome::Unknown)
}

impl Dictionary {
    pub(crate) async fn lock_definitions_for(&self, from: NodeId, token: u64) -> Result<u64> {
        let (_, meta, partition) = self.meta_state()?;
        drop(self.leader(partition)?);
        let guard = Arc::clone(&meta.definitions).lock_owned().await;
        let newest = self.newest_change()?;
        self.keep_for(from, token, &meta.definers, guard)?;
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

    /// A statement of this node is about to make these tables, which others are not to see before they are full.
    pub fn begin_to_fill(&self, tables: Vec<TableId>) -> BeingFilled {
        lock(&self.meta.being_filled).extend(tables.iter().copied());
        BeingFilled { tables, all: Arc::clone(&self.meta.being_filled) }
    }

    pub(crate) fn being_filled_here(&self) -> Vec<TableId> {
        lock(&self.meta.being_filled).iter().copied().collect()
    }

    /// The tables that statements are filling anywhere.
    ///
    /// # Errors
    /// 1297: a node with sessions does not say, and may live.
    pub async fn being_filled(&self) -> Result<HashSet<TableId>> {
        let mut tables: HashSet<TableId> = self.being_filled_here().into_iter().collect();
        let Some(cluster) = self.cluster() else { return Ok(tables) };
        for node in &cluster.options.nodes {
            if node.id != cluster.options.me && node.roles.has_sessions() {
                let reply = cluster.ask_within(node.id, Ask::TablesBeingFilled(true), REQUEST_TIMEOUT).await?;
                tables.extend(reply.tokens.into_iter().map(|table| TableId(table as u32)));
            }
        }
        Ok(tables)
    }

    /// Somebody of this node wants or has the locks of this token.
    pub(crate) fn wants_lock(&self, token: u64) -> bool {
        lock(&self.meta.wanted).contains(&token)
    }

    /// Lets go of what is kept for other nodes that do not want it any more: where a link broke for them alone, word of that was
    /// lost, or came before what they had asked for. One look.
    pub(crate) fn check_locks(&self) {
        let Ok((cluster, meta, partition)) = self.meta_state() else { return };
        let keeps_none = lock(&meta.definers).is_empty() && lock(&meta.tables).is_empty();
        let frees_tables = !self.catalog().held.is_empty() && self.leader(partition).is_ok();
        if (keeps_none && !frees_tables) || meta.is_checking_locks.swap(true, Ordering::AcqRel) {
            return;
        }
        let handle = self.handle.clone();
        cluster.spawn(move || async move {
            let Some(dictionary) = handle.upgrade() else { return };
            dictionary.release_unwanted_locks().await;
            if frees_tables {
                dictionary.free_unwanted_tables().await;
            }
            dictionary.meta.is_checking_locks.store(false, Ordering::Release);
        });
    }

    async fn release_unwanted_locks(&self) {
        let Some(cluster) = self.cluster() else { return };
        let mut kept: HashMap<NodeId, HashSet<u64>> = HashMap::new();
        for &(holder, token) in lock(&self.meta.definers).keys().chain(lock(&self.meta.tables).keys()) {
            kept.entry(holder).or_default().insert(token);
        }
        for (holder, tokens) in kept {
            let asked = LockTokens { tokens: tokens.into_iter().collect() };
            let answer = cluster.ask_within(holder, Ask::UnwantedLocks(asked), REQUEST_TIMEOUT).await;
            for token in answer.map(|reply| reply.tokens).unwrap_or_default() {
                tracing::debug!(%holder, token, "a lock that its holder does not want any more is released");
                lock(&self.meta.definers).remove(&(holder, token));
                lock(&self.meta.tables).remove(&(holder, token));
            }
        }
    }

    /// Keeps definitions of other nodes out until the lock is dropped, and has the dictionary as it is now. In a process that is
    /// the whole database there is nobody to keep out.
    pub async fn definition_lock(&self) -> Result<DefinitionLock> {
        let Some(cluster) = self.cluster() else { return Ok(DefinitionLock::default()) };
        let token = self.meta.new_token(cluster.incarnation);
        let (leader, reply) = self.ask_meta_leader(cluster, Ask::LockDefinitions(token.get())).await?;
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
        self.keep_for(from, token, &meta.tables, exclusive)
    }

    /// Keeps a lock for another node, until it is released by that node or with all that it has.
    ///
    /// # Errors
    /// 1297: the node was lost while the lock was waited for, so that nobody would release it.
    fn keep_for<T>(&self, from: NodeId, token: u64, kept: &KeptFor<T>, held: T) -> Result<()> {
        lock(kept).insert((from, token), held);
        // Only now: a node that is not reached counts as that before what is kept for it is released.
        if self.cluster().is_some_and(|cluster| from != cluster.options.me && !cluster.is_up(from)) {
            lock(kept).remove(&(from, token));
            return Err(temporary(format!("node {from}, which asked for the lock, is not reached any more")));
        }
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
        let token = meta.new_token(cluster.incarnation);
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
            self.exclusive_at(cluster, node, &ids, elsewhere.token.get(), deadline).await?;
        }
        let here = here.ok_or_else(|| Error::unknown("internal: this node was not among those with sessions"))?;
        Ok((here, elsewhere))
    }

    /// Has the tables left alone on another node; one that is gone uses nothing.
    async fn exclusive_at(
        &self,
        cluster: &Membership,
        node: NodeId,
        tables: &[u32],
        token: u64,
        deadline: Instant,
    ) -> Result<()> {
        loop {
            let timeout_ms = deadline.saturating_duration_since(Instant::now()).as_millis() as u64;
            let wanted = ExclusiveTablesOf { tables: tables.to_vec(), timeout_ms, token };
            match cluster.ask(node, Ask::ExclusiveTables(wanted)).await {
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
        let (cluster, ..) = self.meta_state()?;
        let base = self.catalog_version();
        let bytes = StoredChanges::of(changes).encode_to_vec();
        let ask = Ask::ChangeCatalog(ChangeCatalog { base, changes: bytes.clone() });
        let version = match self.ask_meta_leader(cluster, ask).await {
            Ok((_, reply)) => reply.value,
            Err(error) if error.outcome() == Outcome::Unknown => self.find_out(base, &bytes, error).await?,
            Err(error) => return Err(error),
        };
        self.have_catalog_everywhere(version).await
    }

    /// A definition of this node keeps everybody from its tables.
    fn keeps_tables(&self) -> bool {
        self.tables_kept.load(Ordering::Relaxed) > 0
    }

    /// How long a definition waits for a management node that leads, and for others to follow.
    fn timeouts(&self) -> RequestTimeouts {
        if self.keeps_tables() { WHILE_TABLES_ARE_KEPT } else { RequestTimeouts::REQUEST }
    }

    pub(crate) async fn ask_meta_leader(&self, cluster: &Membership, ask: Ask) -> Result<(NodeId, ServiceReply)> {
        cluster.ask_leader(cluster.options.partition_count(), ask, self.timeouts()).await
    }

    /// Whether a change was made whose author has lost the answer: the version that was made by it, else `error`.
    ///
    /// What shows in the next version decides. If there is none yet, the request may be under way still: then a change of nothing is
    /// made in its place, after which it comes too late.
    async fn find_out(&self, base: u64, bytes: &[u8], error: Error) -> Result<u64> {
        let (cluster, ..) = self.meta_state()?;
        let (keeps_tables, timeouts) = (self.keeps_tables(), self.timeouts());
        let text = format!("{}; the definition may have been made or not", error.message());
        let unknown = Error::new(ErrorCode::GetTemporaryErrmsg, text).with_outcome(Outcome::Unknown);
        let deadline = Instant::now() + timeouts.total;
        while Instant::now() < deadline {
            let newest = self.ask_meta_leader(cluster, Ask::FetchCatalog(base)).await;
            if newest.is_err() && keeps_tables {
                break;
            }
            if let Ok((_, reply)) = newest {
                match reply.changes.first() {
                    // Too long ago to tell.
                    _ if reply.snapshot.is_some() => return Err(unknown),
                    Some(next) if next.changes == bytes => return Ok(next.version),
                    Some(_) => return Err(error.with_outcome(Outcome::NotCommitted)),
                    None => {}
                }
                let nothing = ChangeCatalog { base, changes: StoredChanges::of(&[]).encode_to_vec() };
                // Whatever comes of it shows as well.
                let _ = self.ask_meta_leader(cluster, Ask::ChangeCatalog(nothing)).await;
            }
            tokio::time::sleep(RETRY_AFTER).await;
        }
        Err(unknown)
    }

    /// Those of the nodes have this version that this node reaches.
    pub(crate) async fn have_catalog_at(&self, version: u64, nodes: &[NodeId]) -> Result<()> {
        let (cluster, ..) = self.meta_state()?;
        for &node in nodes.iter().filter(|&&node| cluster.is_member(node) && cluster.is_up(node)) {
            let followed = cluster.ask_within(node, Ask::AwaitCatalog(version), FOLLOW_ROUND).await;
            if let Err(error) = followed
                && cluster.is_up(node)
            {
                return Err(error);
            }
        }
        Ok(())
    }

    async fn have_catalog_everywhere(&self, version: u64) -> Result<()> {
        let (cluster, _, partitions) = self.meta_state()?;
        let (keeps_tables, timeouts) = (self.keeps_tables(), self.timeouts());
        let deadline = Instant::now() + timeouts.total;
        loop {
            let mut covered = vec![false; partitions as usize];
            let mut behind = false;
            for node in cluster.peers_up().into_iter().chain([cluster.options.me]) {
                let is_member = cluster.is_member(node);
                let within = if is_member && !keeps_tables { REQUEST_TIMEOUT } else { FOLLOW_ROUND };
                match cluster.ask_within(node, Ask::AwaitCatalog(version), within).await {
                    Ok(reply) => {
                        for partition in reply.partitions {
                            if let Some(covered) = covered.get_mut(partition as usize) {
                                *covered = true;
                            }
                        }
                    }
                    // A native client follows when its program lets it; until then partitions refuse what it plans.
                    Err(_) => behind |= is_member && cluster.is_up(node),
                }
            }
            let unreached: Vec<u32> = cluster.members_down().map(|node| node.0).collect();
            if !behind && !unreached.is_empty() {
                // Whom this node has lost sight of may serve others all the same.
                let ask = Ask::AwaitCatalogAt(CatalogAt { version, nodes: unreached });
                behind = self.ask_meta_leader(cluster, ask).await.is_err();
            }
            if !behind && covered.iter().all(|&covered| covered) {
                return Ok(());
            }
            let is_headless = keeps_tables && !cluster.majority_is_up(partitions);
            if is_headless || Instant::now() >= deadline {
                return Err(not_followed(version, timeouts.total));
            }
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::compaction::tests::{Bed, run};

    fn lost() -> Error {
        temporary("the answer was lost").with_outcome(Outcome::Unknown)
    }

    fn put(value: &str) -> Vec<u8> {
        let change = Change::PutVariable { name: "v".into(), value: Some(value.into()) };
        StoredChanges::of(&[change]).encode_to_vec()
    }

    #[test]
    fn a_change_whose_answer_was_lost_is_found() {
        run(async {
            let Bed { node, .. } = &Bed::new().await;
            let base = node.catalog_version();
            node.change_as_leader(base, &put("1")).await.unwrap();
            assert_eq!(node.find_out(base, &put("1"), lost()).await.unwrap(), base + 1);
            let other = node.find_out(base, &put("2"), lost()).await.unwrap_err();
            assert_eq!(other.outcome(), Outcome::NotCommitted);
        });
    }

    /// A request once overtook the question what had become of it, and was made after its author had been told that it was not.
    #[test]
    fn a_change_that_was_said_to_have_failed_cannot_come_late() {
        run(async {
            let Bed { node, .. } = &Bed::new().await;
            let base = node.catalog_version();
            let said = node.find_out(base, &put("1"), lost()).await.unwrap_err();
            assert_eq!(said.outcome(), Outcome::NotCommitted);
            assert!(node.change_as_leader(base, &put("1")).await.is_err());
            // The change of nothing is one like any other to those who follow.
            node.fetch_catalog(base + 1).await.unwrap();
            node.change_as_leader(base + 1, &put("2")).await.unwrap();
            node.fetch_catalog(base + 2).await.unwrap();
        });
    }

    /// A management node that was killed alone once lost what others had followed: they dropped what an older dictionary did not name.
    #[test]
    fn a_definition_is_on_disk_before_anybody_follows_it_wherever_commits_are_acknowledged() {
        run(async {
            let Bed { node, .. } = &Bed::new().await;
            node.log().set_durability(shoal_log::Durability::Replicated);
            node.log().set_sync_interval(Duration::from_secs(3600));
            let base = node.catalog_version();
            node.change_as_leader(base, &put("1")).await.unwrap();
            assert_eq!(node.log().durable_lsn(), node.log().end_lsn());
        });
    }

    /// A node was killed while its request for a table waited for the table's users: it was given the table after all that it had was
    /// released, and everybody else waited for the table until the node was back.
    #[test]
    fn a_lock_that_comes_when_its_holder_is_gone_is_kept_for_nobody() {
        run(async {
            let Bed { node, .. } = &Bed::new().await;
            let gone = NodeId(2);
            let error = node.exclusive_tables_for(gone, 7, &[], Duration::ZERO).await.unwrap_err();
            assert!(error.is(ErrorCode::GetTemporaryErrmsg), "{error}");
            let error = node.lock_definitions_for(gone, 8).await.unwrap_err();
            assert!(error.is(ErrorCode::GetTemporaryErrmsg), "{error}");
            assert!(lock(&node.meta.tables).is_empty());
            assert!(lock(&node.meta.definers).is_empty());
        });
    }

    /// Such a lock once kept a table from the sessions of a node that had slept through the end of its holder's links.
    #[test]
    fn locks_that_their_holder_does_not_want_any_more_are_released() {
        run(async {
            let Bed { node, .. } = &Bed::new().await;
            let me = node.cluster().unwrap().options.me;
            let wanted = node.meta.new_token(1 << 40);
            for token in [7, wanted.get()] {
                node.exclusive_tables_for(me, token, &[], Duration::ZERO).await.unwrap();
            }
            node.lock_definitions_for(me, 8).await.unwrap();
            node.release_unwanted_locks().await;
            let kept: Vec<_> = lock(&node.meta.tables).keys().copied().collect();
            assert_eq!(kept, [(me, wanted.get())]);
            assert!(lock(&node.meta.definers).is_empty());
            drop(wanted);
            node.release_unwanted_locks().await;
            assert!(lock(&node.meta.tables).is_empty());
        });
    }
}
