//! Which nodes hold which partition, worked out from the configuration alone.
//!
//! Data nodes form groups of NoOfReplicas in the order of their ids, as in NDB (or as `NodeGroup` says). Partitions are dealt out
//! over the groups; inside a group the preferred leader rotates, so that every node leads its share. With two replicas a
//! third vote comes from a management node that holds no copy itself, on a host without a copy if there is one, so that the
//! loss of a host takes one vote only; those rotate too.
//! The partition after the last is the meta partition: the dictionary, kept by the management nodes.

use std::fmt;

use shoal_types::{NodeId, PartitionId};

use crate::cluster::{ClusterConfig, host_key};

/// One partition's Raft group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionPlacement {
    /// Which one.
    pub partition: PartitionId,
    /// The nodes with a copy; the first is the preferred leader.
    pub voters: Vec<NodeId>,
    /// One more voter, without a copy.
    pub witness: Option<NodeId>,
}

impl fmt::Display for PartitionPlacement {
    /// `7: 2,1 witness 3`. [`ClusterConfig::placement_hash`] is made from it: frozen.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.partition)?;
        for (position, voter) in self.voters.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            write!(f, "{comma}{voter}")?;
        }
        match self.witness {
            Some(witness) => write!(f, " witness {witness}"),
            None => Ok(()),
        }
    }
}

impl ClusterConfig {
    /// The data nodes that hold the same partitions, group by group. A group is as large as there are replicas.
    pub fn node_groups(&self) -> Vec<Vec<NodeId>> {
        let mut members: Vec<(u32, NodeId)> = Vec::new();
        let mut unassigned: Vec<NodeId> = Vec::new();
        for node in self.data_nodes() {
            match node.node_group {
                Some(NO_NODE_GROUP) => {}
                Some(group) => members.push((group, node.id)),
                None => unassigned.push(node.id),
            }
        }
        members.sort_unstable();
        let mut groups: Vec<Vec<NodeId>> =
            members.chunk_by(|a, b| a.0 == b.0).map(|group| group.iter().map(|(_, id)| *id).collect()).collect();
        groups.extend(unassigned.chunks(self.replicas.max(1) as usize).map(<[NodeId]>::to_vec));
        groups
    }

    /// Where each of the partitions lives that hold tables, in their order.
    pub fn partition_map(&self) -> Vec<PartitionPlacement> {
        let groups = self.node_groups();
        let place = |partition: u32| {
            let index = partition as usize;
            let group = &groups[index % groups.len()];
            let mut voters = group.clone();
            voters.rotate_left(index / groups.len() % group.len());
            let candidates = if voters.len() == 2 { self.witness_candidates(&voters) } else { Vec::new() };
            let witness = (!candidates.is_empty()).then(|| candidates[index % candidates.len()]);
            PartitionPlacement { partition: PartitionId(partition), voters, witness }
        };
        if groups.is_empty() { Vec::new() } else { (0..self.partitions).map(place).collect() }
    }

    /// The management nodes that can have the third vote beside these two. A node with both roles cannot if it is one of
    /// them.
    fn witness_candidates(&self, voters: &[NodeId]) -> Vec<NodeId> {
        let host = |id: &NodeId| self.node(*id).map(|node| host_key(node.host.as_deref()));
        let voter_hosts: Vec<Option<String>> = voters.iter().map(host).collect();
        let (apart, beside): (Vec<NodeId>, Vec<NodeId>) = self
            .mgm_nodes()
            .map(|node| node.id)
            .filter(|id| !voters.contains(id))
            .partition(|id| !voter_hosts.contains(&host(id)));
        if apart.is_empty() { beside } else { apart }
    }

    /// The meta partition: the management nodes.
    pub fn meta_placement(&self) -> PartitionPlacement {
        let voters = self.mgm_nodes().map(|node| node.id).collect();
        PartitionPlacement { partition: PartitionId(self.partitions), voters, witness: None }
    }
}

/// NDB's number for "in no node group yet".
pub(crate) const NO_NODE_GROUP: u32 = 65536;
