//! What monitoring is shown of this node: whether it is ready, and figures of its partitions, its log and its links.
//!
//! Each look holds one partition at a time, for as long as its numbers are copied. Nothing is asked of other nodes.

use shoal_partition::{Activity, Role};
use shoal_types::NodeId;

use crate::management::Management;

/// Whether clients are well served here, and if not, why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Something broke, and the process is about to end.
    pub is_stopped: bool,
    /// An orderly end has begun: others take over.
    pub is_draining: bool,
    /// What this node waits for before it can do what its roles promise, as a part of a sentence: "waits for ...".
    pub waits_for: Option<String>,
}

/// A replica of a partition, as its leader knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedReplica {
    /// Where it is.
    pub node: u32,
    /// Entries of the leader's log that it is not known to have.
    pub lag_entries: u64,
    /// It was heard lately.
    pub is_active: bool,
    /// It keeps no rows.
    pub is_witness: bool,
}

/// A partition that this node is a voter of.
#[derive(Clone, Debug)]
pub struct ObservedPartition {
    /// Its number.
    pub partition: u32,
    /// It holds the dictionary.
    pub is_meta: bool,
    /// This node leads it and may serve it.
    pub serves: bool,
    /// This replica keeps no rows.
    pub is_witness: bool,
    /// Who leads it, as far as this replica knows.
    pub leader: Option<u32>,
    /// Raised by every election.
    pub term: u64,
    /// The last entry of its log that has become rows.
    pub applied_index: u64,
    /// The last entry of its log.
    pub last_index: u64,
    /// What is going on in it.
    pub activity: Activity,
    /// The other replicas; empty unless this node leads.
    pub replicas: Vec<ObservedReplica>,
}

/// Another node, as the links show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedPeer {
    /// Its id.
    pub node: u32,
    /// It is connected.
    pub is_up: bool,
}

/// Who keeps a partition that holds tables, as this node knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedPlacement {
    /// Its number.
    pub partition: u32,
    /// Who leads it, if that is known.
    pub leader: Option<u32>,
    /// Nodes with rows, the preferred leader first.
    pub replicas: Vec<u32>,
    /// The voter without rows.
    pub witness: Option<u32>,
}

/// What a node's process is doing, of which its operator is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedProcess {
    /// Clients are served.
    pub is_started: bool,
    /// How long the process has had its directory.
    pub uptime_s: u64,
    /// Where MySQL clients reach it; empty: nowhere, or it is the whole database.
    pub mysql: String,
    /// The only node that serves statements; `None`: all do.
    pub single_user: Option<u32>,
    /// Who leads the dictionary's partition, if that is known.
    pub dictionary_leader: Option<u32>,
}

/// What is known here of this node.
#[derive(Clone, Debug, Default)]
pub struct ObservedNode {
    /// 1 in a process that is the whole database.
    pub id: u32,
    /// `data,sql`.
    pub roles: String,
    /// Empty in a process that is the whole database.
    pub cluster: String,
    /// Partitions that hold tables.
    pub partition_count: u32,
    /// Those with a replica here, that of the dictionary among them.
    pub partitions: Vec<ObservedPartition>,
    /// Partitions, that of the dictionary among them, of which no leader is known here.
    pub without_leader: u32,
    /// The other nodes of the configuration.
    pub peers: Vec<ObservedPeer>,
    /// Links that have ended since the process began.
    pub links_lost: u64,
    /// Transactions that wait for a lock.
    pub lock_waits: usize,
    /// Snapshots that keep old versions.
    pub snapshots: usize,
    /// Appended to the log over all its life.
    pub log_end_bytes: u64,
    /// How much of that is on disk.
    pub log_durable_bytes: u64,
    /// Of the log behind the newest checkpoint.
    pub log_since_checkpoint_bytes: u64,
    /// The log's files.
    pub log_disk_bytes: u64,
    /// What users commit is refused, as the log has no room to grow.
    pub disk_is_full: bool,
    /// Copies of partitions that are on their way to other nodes.
    pub transfers: usize,
}

impl Management {
    /// Whether clients are well served here; a moment later that may be otherwise.
    pub fn readiness(&self) -> Readiness {
        Readiness {
            is_stopped: self.is_stopped(),
            is_draining: self.stopping().is_some() || (self.cluster().is_some() && self.is_draining()),
            waits_for: self.what_is_missing(),
        }
    }

    /// The figures of this node.
    pub fn observed(&self) -> ObservedNode {
        let (end, durable) = (self.log().end_lsn(), self.log().durable_lsn());
        let mut observed = ObservedNode {
            id: 1,
            roles: "data,sql".into(),
            partition_count: self.partition_count(),
            partitions: self.hosted().map(|partition| self.observed_partition(partition)).collect(),
            lock_waits: self.wait_for_graph().len(),
            snapshots: self.snapshots().in_use(),
            log_end_bytes: end.0,
            log_durable_bytes: durable.0,
            log_since_checkpoint_bytes: end.bytes_since(self.checkpointed_lsn()),
            log_disk_bytes: self.log().disk_bytes(),
            disk_is_full: self.log().disk_space_low(),
            transfers: self.transfers().len(),
            ..ObservedNode::default()
        };
        if let Some(cluster) = self.cluster() {
            let options = &cluster.options;
            observed.id = options.me.0;
            observed.roles = options.roles().to_string();
            observed.cluster = options.name.clone();
            let is_led = |&partition: &u32| cluster.leaders.of(partition).is_some();
            observed.without_leader =
                (0..=options.partition_count()).filter(|partition| !is_led(partition)).count() as u32;
            let configured = |node: &NodeId| options.node(*node).is_some_and(|entry| entry.roles.bits() != 0);
            let peers = cluster.peers().into_iter().filter(|(node, _)| configured(node));
            observed.peers = peers.map(|(node, peer)| ObservedPeer { node: node.0, is_up: peer.is_up }).collect();
            observed.links_lost = cluster.links_lost();
        }
        observed
    }

    /// Who keeps which partition with tables.
    pub fn observed_placements(&self) -> Vec<ObservedPlacement> {
        let number = |node: NodeId| node.0;
        let of = |partition: u32| match self.cluster() {
            None => ObservedPlacement { partition, leader: Some(1), replicas: vec![1], witness: None },
            Some(cluster) => {
                let placement = cluster.options.placement(partition);
                ObservedPlacement {
                    partition,
                    leader: cluster.leaders.of(partition).map(number),
                    replicas: placement.replicas.into_iter().map(number).collect(),
                    witness: placement.witness.map(number),
                }
            }
        };
        (0..self.partition_count()).map(of).collect()
    }

    /// What this node's process is doing.
    pub fn observed_process(&self) -> ObservedProcess {
        let cluster = self.cluster();
        ObservedProcess {
            is_started: cluster.is_none() || self.is_started(),
            uptime_s: self.uptime().as_secs(),
            mysql: self.mysql_address(),
            single_user: self.single_user_node().map(|node| node.0),
            dictionary_leader: match cluster {
                None => Some(1),
                Some(cluster) => cluster.leaders.of(cluster.options.partition_count()).map(|node| node.0),
            },
        }
    }

    /// The partitions with tables of which this node keeps rows.
    pub fn observed_data_partitions(&self) -> Vec<u32> {
        let count = self.partition_count();
        self.hosted().filter(|&partition| partition < count && !self.partition(partition).is_witness()).collect()
    }

    fn observed_partition(&self, partition: u32) -> ObservedPartition {
        let guard = self.partition(partition);
        let is_single = guard.is_single();
        let leads = is_single || guard.role() == Role::Leader;
        let me = self.cluster().map_or(1, |cluster| cluster.options.me.0);
        let last_index = guard.last_index().0;
        let progress = if leads && !is_single { guard.replica_progress() } else { Vec::new() };
        let others = progress.into_iter().filter(|one| one.replica != u64::from(me));
        ObservedPartition {
            partition,
            is_meta: self.cluster().is_some_and(|cluster| cluster.options.meta_partition().0 == partition),
            serves: is_single || guard.serves(self.now()),
            is_witness: guard.is_witness(),
            leader: if is_single { Some(me) } else { guard.leader().map(|leader| leader as u32) },
            term: guard.term(),
            applied_index: guard.applied_index(),
            last_index,
            activity: guard.activity(),
            replicas: others
                .map(|one| ObservedReplica {
                    node: one.replica as u32,
                    lag_entries: last_index.saturating_sub(one.matched),
                    is_active: one.active,
                    is_witness: one.is_witness,
                })
                .collect(),
        }
    }
}
