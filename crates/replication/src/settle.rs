//! Doing what partitions want done.
//!
//! Whatever touches a replicated partition ends with [`settle`] while the partition is still held, so that messages and entries leave
//! in the order in which they were made. When the log has made an output batch durable, [`apply_durable`] tells the partition and
//! [`settle_durable`] does what follows from that. `shoal_partition::Outputs` says what the order must be.

use std::ops::DerefMut;

use shoal_partition::{CommitToken, Message, Partition};
use shoal_types::{Result, Timestamp};

use crate::unsent::Unsent;

/// What a node does for one of its partitions, which is held meanwhile.
pub trait Host {
    /// Where something was appended; the default is that nothing was.
    type Appended: Default;

    /// The messages that follow may go by another path than those before.
    fn choose_path(&mut self) {}

    /// Sends a message to another replica, or loses it.
    fn send(&mut self, message: &Message);

    /// All up to this timestamp is applied here: clocks go on from there, and snapshots that are taken from now on show it.
    fn applied(&mut self, timestamp: Timestamp);

    /// What was proposed under this token is committed.
    fn committed(&mut self, token: CommitToken);

    /// Surely not committed.
    fn lost(&mut self, token: CommitToken);

    /// Nobody here will learn what became of it.
    fn unknown(&mut self, token: CommitToken);

    /// These replicas lack what this leader's log no longer has.
    fn want_checkpoints(&mut self, replicas: &[u64]);

    /// Appends what [`take_records`](crate::take_records) yields to the log.
    fn append(&mut self, partition: &mut Partition) -> Result<Self::Appended>;
}

/// Sends what may be sent, and remembers the rest. `unsent` is the partition's; it is asked for when it is needed.
#[inline]
pub fn send_messages<U: DerefMut<Target = Unsent>>(
    partition: &mut Partition,
    unsent: impl FnOnce() -> U,
    host: &mut impl Host,
) {
    let mut messages = std::mem::take(&mut partition.outputs().messages);
    for message in messages.drain(..) {
        if partition.may_change_path(&message) {
            host.choose_path();
        }
        host.send(&message);
    }
    let outputs = partition.outputs();
    // Its buffer is used again.
    outputs.messages = messages;
    if outputs.messages_after_persist.is_empty() {
        return;
    }
    let number = outputs.number;
    let mut unsent = unsent();
    for message in outputs.messages_after_persist.drain(..) {
        unsent.take(number, message, |message| host.send(message));
    }
}

/// Does what a partition wants done.
pub fn settle<H: Host, U: DerefMut<Target = Unsent>>(
    partition: &mut Partition,
    unsent: impl FnOnce() -> U,
    host: &mut H,
) -> Result<H::Appended> {
    send_messages(partition, unsent, host);
    // Before anybody hears of a commit, and for the day when this replica leads.
    host.applied(partition.applied_timestamp());
    let outputs = partition.outputs();
    outputs.committed.drain(..).for_each(|token| host.committed(token));
    outputs.lost.drain(..).for_each(|token| host.lost(token));
    outputs.unknown.drain(..).for_each(|token| host.unknown(token));
    if !outputs.wants_checkpoint.is_empty() {
        let wanted = std::mem::take(&mut outputs.wants_checkpoint);
        host.want_checkpoints(&wanted);
    }
    match partition.outputs().must_persist() {
        true => host.append(partition),
        false => Ok(H::Appended::default()),
    }
}

/// Everything up to the partition's output batch of this number is durable. No snapshot before `horizon` is in use or will be taken.
///
/// # Errors
/// The partition cannot go on: the node stops, and nothing of what the partition wants done is done.
#[inline]
pub fn apply_durable(partition: &mut Partition, number: u64, horizon: Timestamp) -> Result<()> {
    partition.set_gc_horizon(horizon);
    partition.persisted(number)
}

/// What follows [`apply_durable`] in a replicated partition: messages that have waited for that leave, and others.
pub fn settle_durable<H: Host, U: DerefMut<Target = Unsent>>(
    partition: &mut Partition,
    number: u64,
    mut unsent: U,
    host: &mut H,
) -> Result<H::Appended> {
    if !partition.is_leader() {
        // The answers go to where they are waited for.
        host.choose_path();
    }
    unsent.durable(number, |message| host.send(message));
    settle(partition, || unsent, host)
}
