//! Driving replicated partitions: Raft's messages in and out, entries to the log, the passing of time.
//!
//! Whatever touches a replicated partition ends with `settle`, which does what the partition's outputs ask for while the partition
//! is still held, so that messages and entries leave in the order they were made. What must wait for the disk is remembered with
//! the number of the output batch and leaves when the log has reported it durable.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use shoal_partition::{CommitToken, Message, Partition, decode_message, encode_message};
use shoal_replication::{Host, Unsent};
use shoal_types::{Error, NodeId, Result, Timestamp};

use crate::base::wait::lock;
use crate::membership::frames::FRAME_RAFT;
use crate::replication::Replication;
use crate::storage::partitions::PartitionGuard;
use crate::storage::sequencer::Appending;

/// A partition that this thread holds, and what the node does for it.
pub(super) struct Held<'a> {
    pub(super) node: &'a Replication,
    pub(super) partition: u32,
    /// Of what is appended for it.
    pub(super) timestamp: Timestamp,
}

impl Host for Held<'_> {
    type Appended = Appending;

    fn choose_path(&mut self) {
        self.node.choose_lane(self.partition);
    }

    #[inline]
    fn send(&mut self, message: &Message) {
        self.node.send_raft(self.partition, message);
    }

    #[inline]
    fn applied(&mut self, timestamp: Timestamp) {
        if timestamp > self.node.clock().latest() {
            self.node.clock().observe(timestamp);
        }
        if timestamp > self.node.snapshots().visible() {
            self.node.snapshots().set_visible(timestamp);
        }
    }

    fn committed(&mut self, token: CommitToken) {
        self.node.waits().signal(token.0);
    }

    fn lost(&mut self, token: CommitToken) {
        self.node.waits().signal_lost(token.0);
    }

    fn unknown(&mut self, token: CommitToken) {
        self.node.waits().signal_lost(token.0);
    }

    fn want_checkpoints(&mut self, replicas: &[u64]) {
        self.node.want_checkpoints(self.partition, replicas);
    }

    fn append(&mut self, partition: &mut Partition) -> Result<Appending> {
        let mut sequencer = self.node.sequencer();
        sequencer.collect(self.partition, partition, self.timestamp, 0);
        self.node.append_batch(&mut sequencer)
    }
}

impl Replication {
    /// Does what a replicated partition wants done. The caller passes the result on to `flush_or_complete` when it has let go of
    /// the partition.
    pub(crate) fn settle(
        &self,
        partition: u32,
        guard: &mut PartitionGuard<'_>,
        timestamp: Timestamp,
    ) -> Result<Appending> {
        let mut held = Held { node: self, partition, timestamp };
        shoal_replication::settle(guard, || self.unsent(partition), &mut held)
    }

    pub(super) fn unsent(&self, partition: u32) -> MutexGuard<'_, Unsent> {
        lock(&self.replicas[partition as usize].unsent)
    }

    /// A timestamp later than all in the partition's log.
    pub(crate) fn timestamp_after(&self, guard: &PartitionGuard<'_>) -> Timestamp {
        self.clock().observe(guard.newest_timestamp());
        self.clock().tick()
    }

    /// What has been proposed and collected goes to the other replicas.
    #[inline]
    pub(crate) fn send_proposed(&self, partition: u32, guard: &mut PartitionGuard<'_>) {
        if self.cluster.is_some() {
            self.send_messages(partition, guard);
        }
    }

    /// Sends what may be sent, and remembers what has to wait for the disk.
    pub(crate) fn send_messages(&self, partition: u32, guard: &mut PartitionGuard<'_>) {
        let mut held = Held { node: self, partition, timestamp: Timestamp::ZERO };
        shoal_replication::send_messages(guard, || self.unsent(partition), &mut held);
    }

    /// The partition's messages go by this thread's lane from now on: the answers come to where they are waited for.
    pub(super) fn choose_lane(&self, partition: u32) {
        let transport = self.cluster.as_ref().and_then(|cluster| cluster.transport.get());
        if let Some(lane) = transport.and_then(|transport| transport.own_lane()) {
            self.replicas[partition as usize].lane.store(u32::from(lane), Ordering::Relaxed);
        }
    }

    fn send_raft(&self, partition: u32, message: &Message) {
        let Some(cluster) = &self.cluster else { return };
        let lane = self.replicas[partition as usize].lane.load(Ordering::Relaxed);
        cluster.send(NodeId(message.to as u32), lane, FRAME_RAFT, |buffer| {
            buffer.extend_from_slice(&partition.to_le_bytes());
            encode_message(message, buffer);
        });
    }

    /// A message of another replica.
    ///
    /// # Errors
    /// No replica sends that, and nothing was done.
    pub(crate) fn step_replica(&self, partition: u32, from: NodeId, message: Message) -> Result<()> {
        let mut guard = self.partition(partition);
        guard.check_message(u64::from(from.0), &message)?;
        if let Err(error) = guard.step_message(message) {
            // Not settled: what it wants done may rest on what it could not do.
            drop(guard);
            self.stop(&format!("partition {partition} cannot go on: {error}"));
            return Ok(());
        }
        if guard.is_leader() && !self.serves_term(partition, guard.term()) {
            self.note_leader(partition, &guard, self.now());
        }
        self.settle_and_release(partition, guard);
        Ok(())
    }

    /// Lets time pass in all replicated partitions.
    pub(crate) fn tick_replicas(&self) {
        let now = self.now();
        for partition in self.hosted() {
            let mut guard = self.partition(partition);
            if let Err(error) = guard.tick(now) {
                drop(guard);
                self.stop(&format!("partition {partition} cannot go on: {error}"));
                return;
            }
            self.note_leader(partition, &guard, now);
            let (end, durable) = (|| self.log().end_lsn(), || self.log().durable_lsn());
            lock(&self.replicas[partition as usize].on_disk).pass(&mut guard, end, durable);
            self.settle_and_release(partition, guard);
        }
    }

    /// # Errors
    /// No replica on that node sends that, and nothing was done.
    pub(crate) fn receive_raft(&self, from: NodeId, payload: &[u8]) -> Result<()> {
        let spoilt = |what: String| Err(Error::unknown(what).as_spoilt());
        let Some((partition, rest)) = payload.split_first_chunk::<4>() else {
            return spoilt("a replication message is shorter than a partition's number".into());
        };
        let partition = u32::from_le_bytes(*partition);
        if !self.is_hosted(partition) {
            return spoilt(format!("a replication message is for partition {partition}, which is not kept here"));
        }
        self.step_replica(partition, from, decode_message(rest)?)
    }

    /// The link to a peer is broken; `is_dead`: there is proof that its process is gone, and its groups need not wait for its leases to
    /// end.
    pub(crate) fn peer_lost(&self, peer: NodeId, is_dead: bool) {
        for partition in self.hosted().collect::<Vec<_>>() {
            let mut guard = self.partition(partition);
            if guard.is_single() {
                continue;
            }
            let replica = u64::from(peer.0);
            if let Err(error) = if is_dead { guard.peer_died(replica) } else { guard.peer_lost(replica) } {
                drop(guard);
                return self.stop(&format!("partition {partition} cannot go on: {error}"));
            }
            self.settle_and_release(partition, guard);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Node 2 leads the partition in term 1, as node 1 knows from its heartbeat.
    pub(crate) fn hear_leader(node: &Replication, partition: u32) {
        const HEARTBEAT: u8 = 8;
        // From, to and term follow; no context, no entries.
        let mut bytes = vec![HEARTBEAT, 0b111, 0, 0];
        [2u64, 1, 1].iter().for_each(|field| bytes.extend_from_slice(&field.to_le_bytes()));
        bytes.extend_from_slice(&[0; 8]);
        node.step_replica(partition, NodeId(2), decode_message(&bytes).unwrap()).unwrap();
    }
}
