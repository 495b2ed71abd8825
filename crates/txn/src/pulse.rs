//! What nodes tell each other about time: the newest visible commit, and the oldest snapshot in use.
//!
//! A snapshot is the newest visible timestamp of all nodes that lead partitions. Each of them confirms that it still leads
//! those it is taken to lead, so that a commit that was acknowledged anywhere is in it. The clocks of all nodes that are asked
//! for rows at a snapshot are moved beyond it first, so nothing is ever committed into it. No assumption about clocks
//! is made.
//!
//! Versions are kept for the oldest snapshot of any node. Nodes tell theirs from time to time ([`exchange_pulses`]); one that
//! has not spoken yet holds everything back.

use std::collections::BTreeMap;
use std::sync::Arc;

use shoal_cluster::remote::not_leader;
use shoal_cluster::{Node, Place};
use shoal_types::{NodeId, Result, TableId, Timestamp};

use crate::gather::{join_all, join_all_seeing};
use crate::leader_wait::{LeaderWait, map_version};
use crate::protocol::{self, PulseReply};

/// Takes a snapshot over all partitions, wherever they are led.
pub(crate) async fn snapshot_of_all_nodes(node: &Arc<Node>) -> Result<Timestamp> {
    let mut leader_wait = LeaderWait::default();
    loop {
        let seen = map_version(node);
        match newest_visible(node).await {
            Ok(newest) => {
                node.clock().observe(newest);
                return Ok(node.snapshots().take_at(newest));
            }
            Err(error) => leader_wait.wait(node, seen, error).await?,
        }
    }
}

/// The newest timestamp that is visible at any leader.
async fn newest_visible(node: &Arc<Node>) -> Result<Timestamp> {
    let Some(remote) = node.remote() else { return Ok(node.visible()) };
    let mut local = Vec::new();
    let mut elsewhere: BTreeMap<NodeId, Vec<u32>> = BTreeMap::new();
    for partition in 0..node.partition_count() {
        match node.place(partition) {
            Place::Local => local.push(partition),
            Place::Remote(leader) => elsewhere.entry(leader).or_default().push(partition),
            Place::Unknown => return Err(not_leader(partition)),
        }
    }
    let mut request = Vec::new();
    let mut calls = Vec::with_capacity(elsewhere.len());
    for (&leader, partitions) in &elsewhere {
        request.clear();
        protocol::put_visible(&mut request, partitions.iter().copied());
        calls.push(remote.call(leader, &request));
    }
    let mut newest = Timestamp::ZERO;
    for (reply, (&leader, partitions)) in join_all(calls).await.into_iter().zip(&elsewhere) {
        let visible = match reply {
            Ok(reply) => protocol::read_timestamp(&reply)?,
            Err(_) => Timestamp::ZERO,
        };
        if visible == Timestamp::ZERO {
            partitions.iter().for_each(|&partition| remote.misplaced(partition, leader, None));
            return Err(not_leader(partitions[0]));
        }
        newest = newest.max(visible);
    }
    local.into_iter().try_for_each(|partition| node.leader(partition).map(drop))?;
    Ok(newest.max(node.visible()))
}

/// Tells all peers which snapshots are in use here, and learns what they have to tell. To be called several times a second:
/// peers keep old versions of rows until they hear that nobody here needs them. Each answer counts as soon as it is there, for
/// those who do not wait for all.
pub async fn exchange_pulses(node: &Arc<Node>) {
    let Some(remote) = node.remote() else { return };
    let mut request = Vec::new();
    protocol::put_pulse(&mut request, node.snapshots().horizon());
    let calls = remote.peers().into_iter().map(|peer| remote.call(peer, &request)).collect();
    join_all_seeing(calls, |reply| {
        if let Ok(reply) = reply {
            observe_pulse(node, reply);
        }
    })
    .await;
}

fn observe_pulse(node: &Node, reply: &[u8]) {
    let Ok(reply) = PulseReply::read(reply) else { return };
    // Snapshots taken here from now on are not older.
    node.clock().observe(reply.visible);
    node.snapshots().release(node.snapshots().take_at(reply.visible));
    for ((partition, table), rows) in reply.rows.iter() {
        node.note_remote_rows(partition, TableId(table), rows);
    }
}
