//! Driving replicated partitions: Raft's messages in and out, entries to the log, the passing of time.
//!
//! Whatever touches a replicated partition ends with `settle`, which does what the partition's outputs ask for while the partition
//! is still held, so that messages and entries leave in the order they were made. What must wait for the disk is remembered with
//! the number of the output batch and leaves when the log has reported it durable.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use shoal_partition::{Message, decode_message, encode_message};
use shoal_types::{NodeId, Result, Timestamp};

use crate::base::wait::lock;
use crate::membership::frames::FRAME_RAFT;
use crate::replication::Replication;
use crate::storage::partitions::PartitionGuard;
use crate::storage::sequencer::Appending;

/// Messages that wait until everything up to the output batch of their number is durable.
#[derive(Default)]
pub(crate) struct Unsent {
    queue: VecDeque<(u64, Message)>,
    durable: u64,
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
        self.send_messages(partition, guard);
        self.remember_unsent(partition, guard);
        let applied = guard.applied_timestamp();
        if applied > self.clock().latest() {
            self.clock().observe(applied);
        }
        // Before anybody hears of a commit, and for the day when this replica leads.
        if applied > self.snapshots().visible() {
            self.snapshots().set_visible(applied);
        }
        let outputs = guard.outputs();
        for token in outputs.committed.drain(..) {
            self.waits().signal(token.0);
        }
        for token in outputs.lost.drain(..).chain(outputs.unknown.drain(..)) {
            self.waits().signal_lost(token.0);
        }
        if !outputs.wants_checkpoint.is_empty() {
            let wanted = std::mem::take(&mut outputs.wants_checkpoint);
            self.want_checkpoints(partition, &wanted);
        }
        if !outputs.must_persist() {
            return Ok(Appending::NOTHING);
        }
        let mut sequencer = self.sequencer();
        sequencer.collect(partition, guard, timestamp, 0);
        self.append_batch(&mut sequencer)
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
            self.remember_unsent(partition, guard);
            self.send_messages(partition, guard);
        }
    }

    pub(crate) fn remember_unsent(&self, partition: u32, guard: &mut PartitionGuard<'_>) {
        let outputs = guard.outputs();
        if outputs.messages_after_persist.is_empty() {
            return;
        }
        let number = outputs.number;
        let mut unsent = lock(&self.replicas[partition as usize].unsent);
        for message in outputs.messages_after_persist.drain(..) {
            match number <= unsent.durable {
                true => self.send_raft(partition, &message),
                false => unsent.queue.push_back((number, message)),
            }
        }
    }

    /// Everything up to the output batch of this number is durable: messages that have waited for that leave.
    pub(super) fn send_persisted(&self, partition: u32, number: u64) {
        let mut unsent = lock(&self.replicas[partition as usize].unsent);
        unsent.durable = unsent.durable.max(number);
        while unsent.queue.front().is_some_and(|&(wanted, _)| wanted <= number) {
            if let Some((_, message)) = unsent.queue.pop_front() {
                self.send_raft(partition, &message);
            }
        }
    }

    pub(crate) fn send_messages(&self, partition: u32, guard: &mut PartitionGuard<'_>) {
        let mut messages = std::mem::take(&mut guard.outputs().messages);
        for message in messages.drain(..) {
            if guard.may_change_path(&message) {
                self.choose_lane(partition);
            }
            self.send_raft(partition, &message);
        }
        guard.outputs().messages = messages;
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
    pub(crate) fn step_replica(&self, partition: u32, message: Message) {
        let mut guard = self.partition(partition);
        if let Err(error) = guard.step_message(message) {
            // Not settled: what it wants done may rest on what it could not do.
            drop(guard);
            return self.stop(&format!("partition {partition} cannot go on: {error}"));
        }
        if guard.is_leader() && !self.serves_term(partition, guard.term()) {
            self.note_leader(partition, &guard, self.now());
        }
        self.settle_and_release(partition, guard);
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
            self.settle_and_release(partition, guard);
        }
    }

    pub(crate) fn receive_raft(&self, payload: &[u8]) {
        let Some((partition, rest)) = payload.split_first_chunk::<4>() else { return };
        let partition = u32::from_le_bytes(*partition);
        let hosted = self.is_hosted(partition);
        match decode_message(rest) {
            Ok(message) if hosted => self.step_replica(partition, message),
            Ok(_) => tracing::debug!(partition, "a message for a partition that is not here was ignored"),
            Err(error) => tracing::warn!(partition, %error, "a replica's message is damaged"),
        }
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
