//! Following the dictionary: fetching it, and bringing the fragments of the partitions led here in line with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prost::Message;
use shoal_types::{Error, Result, TableId};

use crate::base::errors::temporary;
use crate::dictionary::Dictionary;
use crate::dictionary::catalog::Change;
use crate::dictionary::fragments::{FragmentChange, fragment_differences, unknown_fragments};
use crate::dictionary::meta_rows::gap;
use crate::dictionary::numbers::sequences_schema;
use crate::dictionary::stored::{StoredChanges, StoredDictionary};
use crate::membership::messages::{Ask, CatalogChange, ServiceReply, SnapshotHead, SnapshotPiece};

/// How long a statement that found something missing waits to hear whether it is there by now.
const NEWS_WITHIN: Duration = Duration::from_secs(2);

impl Dictionary {
    /// One look at whether there is something to follow; from the cluster's thread. `map_changed`: this node may have begun to lead,
    /// and whoever does sees to it that the fragments are those of the dictionary.
    pub(crate) fn check_dictionary(&self, map_changed: bool) {
        let Some(cluster) = self.cluster() else { return };
        if map_changed {
            self.reconcile.store(true, Ordering::Release);
        }
        let meta_leader = cluster.leaders.of(cluster.options.meta_partition().0);
        let behind = self.newest_catalog.load(Ordering::Acquire) > self.catalog_version();
        if meta_leader.is_some() && (behind || !self.knows_catalog() || self.reconcile.load(Ordering::Acquire)) {
            self.follow_catalog();
        }
    }

    /// Fetches what the dictionary has that this node has not.
    fn follow_catalog(&self) {
        let Some(cluster) = self.cluster() else { return };
        if self.following.swap(true, Ordering::AcqRel) {
            return;
        }
        let handle = self.handle.clone();
        self.reconcile.store(false, Ordering::Release);
        let wanted = self.newest_catalog.load(Ordering::Acquire);
        cluster.spawn(move || async move {
            let Some(node) = handle.upgrade() else { return };
            let again = match node.have_catalog(wanted).await {
                Ok(_) => false,
                Err(error) => {
                    tracing::debug!(%error, "the dictionary could not be followed yet");
                    true
                }
            };
            node.reconcile.fetch_or(again, Ordering::AcqRel);
            node.following.store(false, Ordering::Release);
        });
    }

    /// Has at least this version of the dictionary, and what its leader has beyond it.
    pub(crate) async fn fetch_catalog(&self, version: u64) -> Result<()> {
        let (_, meta, _) = self.meta_state()?;
        let _one_at_a_time = meta.fetching.lock().await;
        if self.catalog_version() < version || !self.knows_catalog.load(Ordering::Acquire) {
            self.fetch_all().await?;
            self.knows_catalog.store(true, Ordering::Release);
        }
        match self.catalog_version() < version {
            true => Err(temporary(format!("dictionary version {version} is not to be had yet"))),
            false => Ok(()),
        }
    }

    /// Has the dictionary as its leader has it at some moment after this was called.
    async fn fetch_newest(&self) -> Result<()> {
        let (_, meta, _) = self.meta_state()?;
        let _one_at_a_time = meta.fetching.lock().await;
        self.fetch_all().await
    }

    /// Whether the dictionary has come further than the version that somebody used. What a node has not heard of while others did not reach it
    /// is asked of the dictionary's leader; in a process that is the whole database there is nobody to ask.
    ///
    /// # Errors
    /// 1297: no leader answers, and what this node has may be old.
    pub async fn has_newer_catalog(&self, used: u64) -> Result<bool> {
        if self.cluster().is_some() && self.catalog_version() <= used {
            match tokio::time::timeout(NEWS_WITHIN, self.fetch_newest()).await {
                Ok(fetched) => fetched?,
                Err(_) => return Err(temporary(format!("no management node answered within {NEWS_WITHIN:?}"))),
            }
        }
        Ok(self.catalog_version() > used)
    }

    async fn fetch_all(&self) -> Result<()> {
        let (cluster, ..) = self.meta_state()?;
        loop {
            let (_, reply) = self.ask_meta_leader(cluster, Ask::FetchCatalog(self.catalog_version())).await?;
            match reply {
                ServiceReply { snapshot: Some(head), .. } => self.fetch_snapshot(&head).await?,
                ServiceReply { changes, .. } if changes.is_empty() => return Ok(()),
                ServiceReply { changes, .. } => self.take_changes(changes)?,
            }
        }
    }

    /// Takes the snapshot, unless another has taken its place meanwhile.
    pub(crate) async fn fetch_snapshot(&self, head: &SnapshotHead) -> Result<()> {
        if head.version <= self.catalog_version() {
            return Err(gap());
        }
        let (cluster, ..) = self.meta_state()?;
        let mut number = 0;
        let mut bytes = Vec::new();
        while number < head.pieces {
            let wanted = SnapshotPiece { version: head.version, number };
            let (_, reply) = self.ask_meta_leader(cluster, Ask::FetchSnapshot(wanted)).await?;
            if reply.pieces.is_empty() {
                return Ok(());
            }
            for piece in reply.pieces {
                bytes.extend_from_slice(&piece);
                number += 1;
            }
        }
        let mut stored = StoredDictionary::decode(bytes.as_slice())
            .map_err(|error| Error::unknown(format!("the dictionary's snapshot is damaged: {error}")))?;
        let changes = stored.take_changes()?;
        self.note_table_ids(&changes);
        self.note_next_table_id(stored.next_table_id);
        let catalog = self.catalog().succeeded_by(head.version, &changes)?;
        self.publish_catalog(Arc::new(catalog), head.version);
        Ok(())
    }

    fn take_changes(&self, changes: Vec<CatalogChange>) -> Result<()> {
        let mut catalog = self.catalog().successor();
        for change in changes {
            if change.version != catalog.version + 1 {
                return Err(gap());
            }
            let changes = StoredChanges::decode(change.changes.as_slice())
                .map_err(|error| Error::unknown(format!("a change of the dictionary is damaged: {error}")))?;
            let changes = changes.changes()?;
            for change in &changes {
                catalog.apply(change)?;
            }
            self.note_table_ids(&changes);
            catalog.version = change.version;
        }
        let version = catalog.version;
        self.publish_catalog(Arc::new(catalog), version);
        Ok(())
    }

    fn note_table_ids(&self, changes: &[Change]) {
        for change in changes {
            if let Change::PutTable(schema) = change {
                self.note_table_id(schema.id);
            }
        }
    }

    /// Has this version, and brings the fragments of the partitions led here in line with it; those partitions.
    pub(crate) async fn have_catalog(&self, version: u64) -> Result<Vec<u32>> {
        let (cluster, meta, partitions) = self.meta_state()?;
        self.fetch_catalog(version).await?;
        let _one_at_a_time = meta.reconciling.lock().await;
        let me = cluster.options.me;
        let mut led = Vec::new();
        let mut unknown = Vec::new();
        for partition in (0..partitions).filter(|&one| cluster.leaders.of(one) == Some(me)) {
            let changes = {
                let guard = self.leader(partition)?;
                unknown.extend(unknown_fragments(&guard, &self.catalog(), &sequences_schema()));
                fragment_differences(&guard, &self.catalog(), &sequences_schema())
            };
            if !changes.is_empty() {
                self.propose_fragments(partition, &changes).await?;
            }
            led.push(partition);
        }
        self.drop_unknown(&led, unknown).await?;
        Ok(led)
    }

    /// Drops the fragments of tables that are gone. Where a fragment is, its table has been in the dictionary: what is not in
    /// the dictionary as it is from now on has been dropped, and ids are not used twice.
    async fn drop_unknown(&self, partitions: &[u32], mut unknown: Vec<TableId>) -> Result<()> {
        if unknown.is_empty() {
            return Ok(());
        }
        self.fetch_newest().await?;
        let catalog = self.catalog();
        unknown.retain(|table| !catalog.tables_by_id.contains_key(table));
        for &partition in partitions {
            let present = self.leader(partition)?.tables();
            let gone = present.into_iter().filter(|table| unknown.contains(table));
            let changes: Vec<FragmentChange> = gone.map(FragmentChange::Drop).collect();
            if !changes.is_empty() {
                self.propose_fragments(partition, &changes).await?;
            }
        }
        Ok(())
    }
}
