//! Opening a node: the newest checkpoints, the log behind them, then the partitions lead.
//!
//! This thread reads the log and keeps the dictionary; the partitions are read back by others (`replay`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use prost::Message;
use shoal_log::{LogHooks, RecordRef};
use shoal_partition::MemoryBudget;
use shoal_types::{Error, Result, Timestamp};

use crate::base::clock::wall_micros;
use crate::base::errors::log_error;
use crate::base::handle::Handle;
use crate::base::options::{Durability, NodeOptions, RecoveryProgress};
use crate::base::router::{PARTITIONS_MAX, Router};
use crate::base::topology::ClusterOptions;
use crate::dictionary::Dictionary;
use crate::dictionary::recovery::DictionaryRecovery;
use crate::dictionary::stored::StoredMap;
use crate::management::Management;
use crate::membership::links::Links;
use crate::membership::peers::Membership;
use crate::node::Node;
use crate::replication::Replication;
use crate::storage::identity::Identity;
use crate::storage::records::{KIND_MAP, META_GROUP};
use crate::storage::replay::{PartitionPlans, Replay, bytes_on_disk, data_memory, open_checkpoints, open_log};
use crate::storage::{Storage, StorageParts};

/// The progress callback hears of so many bytes of the log at a time.
const PROGRESS_BYTES: u64 = 4 << 20;

impl Node {
    /// Opens a data directory and recovers what is in it.
    pub fn open(options: NodeOptions) -> Result<Arc<Node>> {
        Node::open_with_progress(options, |_| {})
    }

    /// The same with a callback that hears how far recovery is.
    pub fn open_with_progress(
        options: NodeOptions,
        mut progress: impl FnMut(RecoveryProgress),
    ) -> Result<Arc<Node>> {
        let mut identity = match &options.cluster {
            Some(cluster) if !options.keeps_nothing => Some(Identity::open(&options.data_dir, cluster)?),
            _ => None,
        };
        let recovery = open_log(&options)?;
        let store = open_checkpoints(&options)?;
        let mut dictionary = DictionaryRecovery::from_checkpoint(&store)?;
        let is_new = recovery.is_new();
        if is_new {
            let partitions = options.cluster.as_ref().map(ClusterOptions::partition_count).or(options.partitions);
            dictionary.router = Some(Router::contiguous(partitions.unwrap_or_else(default_partitions)));
        }
        let amnesia = match &mut identity {
            Some(identity) => {
                let amnesia = identity.promises.begin_process(options.durability == Durability::Replicated);
                identity.write()?;
                amnesia
            }
            None => false,
        };
        let incarnation = wall_micros();
        let plan = PartitionPlans {
            cluster: options.cluster.clone(),
            amnesia,
            incarnation,
            keeps_nothing: options.keeps_nothing,
        };
        let plan = Arc::new(plan);
        let budget = options.shared_memory.clone();
        let budget = budget.unwrap_or_else(|| Arc::new(MemoryBudget::new(data_memory(&options))));
        let node_cell: Arc<OnceLock<Weak<Node>>> = Arc::default();
        let total_bytes = if options.keeps_nothing { 0 } else { bytes_on_disk(&options.data_dir) };
        let mut replay = Replay::new(options.recovery_threads, store.clone(), Arc::clone(&budget), plan);
        let done_bytes = Arc::clone(&replay.done_bytes);
        let mut report = || {
            let done_bytes = done_bytes.load(Ordering::Relaxed).min(total_bytes);
            progress(RecoveryProgress { done_bytes, total_bytes });
        };
        let mut first_error = None;
        let mut reported_bytes = 0;
        let (log, found) = recovery
            .replay(hooks(&node_cell), |record| {
                reported_bytes += record.payload.len() as u64;
                if reported_bytes >= PROGRESS_BYTES {
                    replay.done_bytes.fetch_add(std::mem::take(&mut reported_bytes), Ordering::Relaxed);
                    report();
                }
                if first_error.is_none() {
                    first_error = see(&mut replay, &mut dictionary, record).err();
                }
            })
            .map_err(log_error)?;
        if let Some(error) = first_error {
            return Err(error);
        }
        tracing::debug!(records = found.records, "the log was read");
        let router =
            dictionary.router.take().ok_or_else(|| Error::unknown("the log has no map of hash buckets"))?;
        let partitions = replay.finish(&router, report)?;
        let initialised = identity.as_ref().is_none_or(|identity| identity.promises.initialised);
        let background_work = options.background_work;
        let cluster = options.cluster.clone().map(|cluster| Arc::new(Membership::new(cluster, incarnation)));
        let node = Arc::new_cyclic(|node: &Weak<Node>| {
            let storage = Storage::new(StorageParts {
                options,
                log,
                checkpoints: store,
                router,
                partitions,
                budget,
                identity,
                meta_index: dictionary.index,
                handle: Handle::new(node.clone()),
            });
            let replication = Replication::new(storage, cluster, initialised, Handle::new(node.clone()));
            let dictionary = Dictionary::new(replication, dictionary, Handle::new(node.clone()));
            Node {
                management: Management::new(dictionary),
                keeper: Arc::default(),
                checkpointing: Mutex::default(),
                underway: AtomicUsize::new(0),
            }
        });
        let _ = node_cell.set(Arc::downgrade(&node));
        if let Some(cluster) = node.cluster() {
            let answers: Weak<Node> = Arc::downgrade(&node);
            cluster.set_answers(answers);
            node.set_remote(Arc::new(Links { cluster: Arc::clone(cluster) }));
        }
        let last = Arc::downgrade(&node);
        node.set_stop_hook(move || {
            if let Some(node) = last.upgrade() {
                node.forward_events();
            }
        });
        node.begin(is_new)?;
        node.start_lock_monitor()?;
        node.start_slices()?;
        if background_work {
            node.start_background_work()?;
        }
        Ok(node)
    }

    /// Writes what a new directory begins with, and has every partition lead.
    fn begin(&self, is_new: bool) -> Result<()> {
        {
            let mut sequencer = self.sequencer();
            if is_new {
                sequencer.push_meta(KIND_MAP, &StoredMap::of(self.router()).encode_to_vec());
            }
            for partition in self.hosted() {
                let mut guard = self.partition(partition);
                guard.start()?;
                self.send_messages(partition, &mut guard);
                sequencer.collect(partition, &mut guard, Timestamp::ZERO, 0);
            }
            self.append_batch(&mut sequencer)?;
        }
        let end = self.log().sync().map_err(log_error)?;
        self.complete(end);
        let leads = |partition| {
            let guard = self.partition(partition);
            guard.is_leader() || !guard.is_single()
        };
        match self.hosted().all(leads) {
            true => Ok(()),
            false => Err(Error::unknown("a partition did not become the leader of its own group")),
        }
    }
}

fn see(replay: &mut Replay, dictionary: &mut DictionaryRecovery, record: RecordRef<'_>) -> Result<()> {
    if record.group == META_GROUP {
        return dictionary.see(record);
    }
    let Some(router) = &dictionary.router else {
        return Err(Error::unknown("the log does not begin with the map of hash buckets"));
    };
    replay.see(router, record)
}

fn hooks(node: &Arc<OnceLock<Weak<Node>>>) -> LogHooks {
    let of = |node: &Arc<OnceLock<Weak<Node>>>| {
        let node = Arc::clone(node);
        move || node.get().and_then(Weak::upgrade)
    };
    let (durable, fatal) = (of(node), of(node));
    LogHooks {
        on_durable: Box::new(move |end| {
            if let Some(node) = durable() {
                node.complete(end);
            }
        }),
        on_fatal: Box::new(move |error| {
            if let Some(node) = fatal() {
                node.stop(&error.to_string());
                node.lose_in_flight();
            }
        }),
    }
}

fn default_partitions() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores as u32).clamp(2, PARTITIONS_MAX)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::thread;
    use std::time::{Duration, Instant};

    use shoal_partition::{Agreement, LogEnd};
    use shoal_types::NodeId;

    use super::*;
    use crate::base::topology::{NodeEntry, Placement, Roles};
    use crate::membership::gossip::stored_agreement;

    const PARTITIONS: usize = 2;

    /// Node 1 of a cluster that has its partitions placed like this.
    fn options(directory: &Path, durability: Durability, placement: Placement) -> NodeOptions {
        let data = Roles { data: true, ..Roles::default() };
        let node = |id| NodeEntry { id: NodeId(id), roles: data, address: None };
        let voters = placement.voters().len() as u32;
        let cluster = ClusterOptions {
            name: "reef".into(),
            me: NodeId(1),
            nodes: (1..=voters).map(node).collect(),
            placements: vec![placement; PARTITIONS],
            config_hash: 0,
            heartbeat: Duration::from_millis(100),
            timing: shoal_partition::Timing::default(),
            lanes: 1,
            unsent_bytes_max: None,
            transporter: shoal_transport::Transporter::default(),
            tls: Default::default(),
        };
        NodeOptions {
            durability,
            background_work: false,
            cluster: Some(cluster),
            data_memory: Some(64 << 20),
            ..NodeOptions::new(directory)
        }
    }

    fn is_amnesiac(node: &Node) -> bool {
        node.partition(0).is_amnesiac()
    }

    /// Nobody knows more than this node; what the directory says of that.
    fn catch_up(node: &Node) -> bool {
        for partition in 0..PARTITIONS as u32 {
            let agreement = Agreement { incarnations: Vec::new(), newest: LogEnd::default(), worthless: None };
            node.partition(partition).forget_amnesia(&agreement).unwrap();
        }
        node.note_whole().unwrap()
    }

    /// A process that another test starts at this moment has the directory's lock until it becomes that program.
    fn reopen(options: impl Fn() -> NodeOptions) -> Arc<Node> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match Node::open(options()) {
                Err(error) if error.message().contains("is in use") && Instant::now() < deadline => {
                    thread::yield_now()
                }
                opened => return opened.unwrap(),
            }
        }
    }

    /// It was judged by the durability of the life that begins: after `SET GLOBAL commit_durability='replicated'` and a crash, a replica
    /// whose configuration says `disk` voted without what it had acknowledged from memory.
    #[test]
    fn a_replica_is_amnesiac_if_the_life_that_crashed_acknowledged_from_memory_at_any_time() {
        let directory = tempfile::tempdir().unwrap();
        let placement = Placement { replicas: vec![NodeId(1), NodeId(2)], witness: None };
        let open = |durability| reopen(|| options(directory.path(), durability, placement.clone()));
        let node = open(Durability::Disk);
        assert!(!node.note_whole().unwrap(), "not before it is");
        assert!(catch_up(&node));
        drop(node);
        // The directory has taken part; nothing was promised from memory.
        let node = open(Durability::Disk);
        assert!(!is_amnesiac(&node));
        node.set_durability(Durability::Replicated).unwrap();
        drop(node);
        // As the configuration file says.
        let node = open(Durability::Disk);
        assert!(is_amnesiac(&node));
        // A crash before it has caught up changes nothing, nor does a sync of what little it has.
        node.set_durability(Durability::Replicated).unwrap();
        node.set_durability(Durability::Disk).unwrap();
        drop(node);
        let node = open(Durability::Disk);
        assert!(is_amnesiac(&node));
        // It has caught up, and all that it acknowledges is on the disk.
        assert!(catch_up(&node));
        drop(node);
        let node = open(Durability::Disk);
        assert!(!is_amnesiac(&node));
        // Back in `disk` mode, everything from the time in memory is on the disk.
        node.set_durability(Durability::Replicated).unwrap();
        node.set_durability(Durability::Disk).unwrap();
        drop(node);
        assert!(!is_amnesiac(&open(Durability::Disk)));
    }

    /// It was so in that life alone: after a crash it voted as if it still had what it had acknowledged from its disk.
    #[test]
    fn a_witness_that_has_given_up_its_log_is_amnesiac_in_its_next_life_too() {
        let directory = tempfile::tempdir().unwrap();
        let placement = Placement { replicas: vec![NodeId(2), NodeId(3)], witness: Some(NodeId(1)) };
        let open = || Node::open(options(directory.path(), Durability::Disk, placement.clone())).unwrap();
        let node = open();
        assert!(catch_up(&node));
        drop(node);
        let node = open();
        assert!(!is_amnesiac(&node));
        let cluster = node.cluster().unwrap();
        let end = node.partition(0).report(false, Vec::new()).unwrap().end;
        let newest = LogEnd { index: end.index + 1, ..end };
        let agreement = Agreement { incarnations: vec![cluster.me()], newest, worthless: Some(end) };
        node.receive_agreements(cluster, &[stored_agreement(0, &agreement)]);
        assert!(is_amnesiac(&node));
        assert!(!node.note_whole().unwrap());
        drop(node);
        let node = open();
        assert!(is_amnesiac(&node));
        assert!(catch_up(&node));
        drop(node);
        assert!(!is_amnesiac(&open()));
    }
}
