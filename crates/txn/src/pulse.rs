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
use std::pin::Pin;
use std::sync::Arc;

use shoal_cluster::remote::not_leader;
use shoal_cluster::{Node, Place};
use shoal_types::{Error, NodeId, Result, TableId, Timestamp};

use crate::gather::join_all;
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
            Ok(reply) => visible_in(&reply).inspect_err(|error| node.cut_off(leader, error))?,
            Err(_) => Timestamp::ZERO,
        };
        if visible == Timestamp::ZERO {
            partitions.iter().for_each(|&partition| remote.misplaced(partition, leader, None));
            return Err(not_leader(partitions[0]));
        }
        node.clock().observe_peer(visible).inspect_err(|error| node.cut_off(leader, error))?;
        newest = newest.max(visible);
    }
    local.into_iter().try_for_each(|partition| node.leader(partition).map(drop))?;
    Ok(newest.max(node.visible()))
}

fn visible_in(reply: &[u8]) -> Result<Timestamp> {
    protocol::read_timestamp(reply).map_err(Error::as_spoilt)
}

/// Tells all peers which snapshots are in use here, and learns what they have to tell. To be called several times a second:
/// peers keep old versions of rows until they hear that nobody here needs them. Each answer counts as soon as it is there, for
/// those who do not wait for all.
pub async fn exchange_pulses(node: &Arc<Node>) {
    let Some(remote) = node.remote() else { return };
    let mut request = Vec::new();
    protocol::put_pulse(&mut request, node.snapshots().horizon());
    let mut calls: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
    for peer in remote.peers() {
        let (node, call) = (Arc::clone(node), remote.call(peer, &request));
        calls.push(Box::pin(async move {
            if let Ok(reply) = call.await
                && let Err(error) = observe_pulse(&node, &reply)
            {
                node.cut_off(peer, &error);
            }
        }));
    }
    join_all(calls).await;
}

fn observe_pulse(node: &Node, reply: &[u8]) -> Result<()> {
    let reply = PulseReply::read(reply).map_err(Error::as_spoilt)?;
    // Snapshots taken here from now on are not older.
    node.clock().observe_peer(reply.visible)?;
    node.snapshots().release(node.snapshots().take_at(reply.visible));
    for ((partition, table), rows) in reply.rows.iter() {
        node.note_remote_rows(partition, TableId(table), rows);
    }
    Ok(())
}
