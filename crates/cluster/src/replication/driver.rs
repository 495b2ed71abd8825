//! Driving replicated partitions: Raft's messages in and out, entries to the log, the passing of time.
//!
//! Whatever touches a replicated partition ends with `settle`, which does what the partition's outputs ask for while the partition
//! is still held, so that messages and entries leave in the order they were made. What must wait for the disk is remembered with
//! the number of the output batch and leaves when the log has reported it durable.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Duration;

use shoal_partition::{Message, Millis, encode_message};
use shoal_types::{NodeId, Result, Timestamp};

use crate::base::wait::lock;
use crate::membership::links::FRAME_RAFT;
use crate::node::{Node, PartitionGuard};
use crate::replication::commit::Appending;

/// How long a node that begins to lead waits for those that may be reading snapshots.
const SNAPSHOTS_PATIENCE: Duration = Duration::from_millis(100);

/// Messages that wait until everything up to the output batch of their number is durable.
#[derive(Default)]
pub(crate) struct Unsent {
    queue: VecDeque<(u64, Message)>,
    durable: u64,
}

impl Node {
    /// The clock that leases run by.
    #[inline]
    pub fn now(&self) -> Millis {
        crate::base::clock::since_boot()
    }

    /// Does what a replicated partition wants done. The caller passes the result on to `see_to` when it has let go of
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
        if applied > self.clock.latest() {
            self.clock.observe(applied);
        }
        // Before anybody hears of a commit, and for the day when this replica leads.
        if applied > self.snapshots.visible() {
            self.snapshots.set_visible(applied);
        }
        let outputs = guard.outputs();
        for token in outputs.committed.drain(..) {
            self.waits.signal(token.0);
        }
        for token in outputs.lost.drain(..).chain(outputs.unknown.drain(..)) {
            self.waits.signal_lost(token.0);
        }
        if !outputs.wants_checkpoint.is_empty() {
            let wanted = std::mem::take(&mut outputs.wants_checkpoint);
            self.want_checkpoints(partition, &wanted);
        }
        if !outputs.must_persist() {
            return Ok(Appending::NOTHING);
        }
        let mut sequencer = lock(&self.sequencer);
        sequencer.collect(partition, guard, timestamp, 0);
        self.append_batch(&mut sequencer)
    }

    /// What `complete` does with a replicated partition after it has told it of an output batch.
    pub(crate) fn settle_persisted(
        &self,
        partition: u32,
        mut guard: PartitionGuard<'_>,
        number: u64,
    ) -> Option<Appending> {
        if !guard.is_leader() {
            self.choose_lane(partition);
        }
        let mut unsent = lock(&self.partitions[partition as usize].unsent);
        unsent.durable = unsent.durable.max(number);
        while unsent.queue.front().is_some_and(|&(wanted, _)| wanted <= number) {
            if let Some((_, message)) = unsent.queue.pop_front() {
                self.send_raft(partition, &message);
            }
        }
        drop(unsent);
        match self.settle(partition, &mut guard, Timestamp::ZERO) {
            Ok(appending) => (appending.end > shoal_log::Lsn::ZERO).then_some(appending),
            Err(error) => {
                self.stop(&format!("partition {partition} cannot log what it wants: {error}"));
                None
            }
        }
    }

    /// Has what was appended flushed, or handed back if it need not be. No partition may be held.
    pub(crate) fn see_to(&self, appending: Appending) {
        if appending.end == shoal_log::Lsn::ZERO {
            return;
        }
        if appending.needs_flush {
            let _ = self.flush_inline();
            return;
        }
        self.complete(appending.end);
    }

    /// A timestamp later than all in the partition's log.
    pub(crate) fn timestamp_after(&self, guard: &PartitionGuard<'_>) -> Timestamp {
        self.clock.observe(guard.newest_timestamp());
        self.clock.tick()
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
        let mut unsent = lock(&self.partitions[partition as usize].unsent);
        for message in outputs.messages_after_persist.drain(..) {
            match number <= unsent.durable {
                true => self.send_raft(partition, &message),
                false => unsent.queue.push_back((number, message)),
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
    fn choose_lane(&self, partition: u32) {
        let transport = self.cluster.as_ref().and_then(|cluster| cluster.transport.get());
        if let Some(lane) = transport.and_then(|transport| transport.own_lane()) {
            self.partitions[partition as usize].lane.store(u32::from(lane), Ordering::Relaxed);
        }
    }

    fn send_raft(&self, partition: u32, message: &Message) {
        let Some(cluster) = &self.cluster else { return };
        let lane = self.partitions[partition as usize].lane.load(Ordering::Relaxed);
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

    pub(crate) fn settle_and_release(&self, partition: u32, mut guard: PartitionGuard<'_>) {
        let settled = self.settle(partition, &mut guard, Timestamp::ZERO);
        drop(guard);
        match settled {
            Ok(appending) => self.see_to(appending),
            Err(error) => self.stop(&format!("partition {partition} cannot log what it wants: {error}")),
        }
    }

    /// The partitions, the meta partition among them, that this node is a voter of.
    pub(crate) fn hosted(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.partitions.len() as u32).filter(|&partition| self.partitions[partition as usize].hosted)
    }

    #[inline]
    pub(crate) fn serves_term(&self, partition: u32, term: u64) -> bool {
        self.partitions[partition as usize].serving_term.load(Ordering::Acquire) == term
    }

    /// A snapshot that the leader before has shown must stay what it was: nothing is committed here at a timestamp before it.
    /// Whoever reads it is asked first; who does not answer soon is not waited for.
    fn begin_to_serve(&self, partition: u32, term: u64) {
        let Some(cluster) = &self.cluster else { return };
        let serving_term = &self.partitions[partition as usize].serving_term;
        if partition == cluster.options.partition_count() {
            return serving_term.store(term, Ordering::Release);
        }
        if !lock(&cluster.asking).insert((partition, term)) {
            return;
        }
        let Some(node) = cluster.node.get().cloned() else { return };
        cluster.spawn(move || async move {
            let Some(node) = node.upgrade() else { return };
            if let Some(operations) = node.operations.get() {
                let _ = tokio::time::timeout(SNAPSHOTS_PATIENCE, operations.observe_snapshots()).await;
            }
            node.partitions[partition as usize].serving_term.store(term, Ordering::Release);
            if let Some(cluster) = &node.cluster {
                lock(&cluster.asking).remove(&(partition, term));
                let guard = node.partition(partition);
                if guard.term() == term && guard.serves(node.now()) {
                    cluster.learn_leader(partition, cluster.options.me, term);
                }
            }
        });
    }

    /// Leaders tell the others that they lead; the rest is told what this replica has heard.
    fn note_leader(&self, partition: u32, guard: &PartitionGuard<'_>, now: Millis) {
        let Some(cluster) = &self.cluster else { return };
        let me = cluster.options.me;
        self.note_witness(partition, guard);
        if guard.serves(now) {
            let term = guard.term();
            match guard.is_single() || self.serves_term(partition, term) {
                true => cluster.learn_leader(partition, me, term),
                false => self.begin_to_serve(partition, term),
            }
        } else {
            if cluster.leaders.of(partition) == Some(me) {
                cluster.leaders.forget(partition, me);
            }
            if let Some(leader) = guard.leader().filter(|&leader| leader != u64::from(me.0)) {
                cluster.leaders.learn(partition, NodeId(leader as u32), guard.term());
            }
        }
    }
}
