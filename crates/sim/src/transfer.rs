//! Checkpoints on their way to replicas whose logs end before the leader's begins.
//!
//! The leader pins a state and sends it block by block, each when the one before it was taken. The receiver keeps the blocks until
//! the file is whole and durable, and only then installs it, a block at a time, in the place of the old rows.

use shoal_partition::{CheckpointCursor, CheckpointHead};
use shoal_types::{NodeId, PartitionId};

use crate::context::Event;
use crate::disk::CheckpointFile;
use crate::message::{Answer, Reply, Request};
use crate::process::{Env, Owner, Process};
use crate::sights::Sight;

const INSTALL_STEP_US: u64 = 3_000;

/// A checkpoint that another replica is sent.
pub struct Outgoing {
    cursor: CheckpointCursor,
    was_last: bool,
}

/// A checkpoint that comes from the leader.
pub struct Incoming {
    from: NodeId,
    file: CheckpointFile,
    /// Whom to answer when it is installed, once all of it is here.
    asker: Option<u64>,
    installed: usize,
    begun: bool,
}

impl Process {
    pub fn want_checkpoint(&mut self, env: &mut Env<'_>, partition: PartitionId, to: NodeId) {
        let is_up = self.peers.get(&to).is_some_and(|peer| peer.link.is_some());
        if !is_up || self.outgoing.contains_key(&(partition, to)) || self.partition(partition).is_installing() {
            return;
        }
        let cursor = self.partition(partition).begin_checkpoint();
        self.partition(partition).pin_log(cursor.index());
        let me = self.me;
        env.ctx.tell(|| format!("node {me} sends {to} a copy of partition {partition} at {}", cursor.index()));
        self.outgoing.insert((partition, to), Outgoing { cursor, was_last: false });
        self.send_block(env, partition, to, true);
    }

    fn send_block(&mut self, env: &mut Env<'_>, partition: PartitionId, to: NodeId, first: bool) {
        let Some(mut outgoing) = self.outgoing.remove(&(partition, to)) else { return };
        let mut block = Vec::new();
        let bytes = env.ctx.knobs.checkpoint_block_bytes;
        let more = self.partition(partition).next_checkpoint_block(&mut outgoing.cursor, bytes, &mut block);
        let Ok(more) = more else {
            return self.end_transfer(partition, outgoing);
        };
        outgoing.was_last = !more;
        self.outgoing.insert((partition, to), outgoing);
        let request = Request::Checkpoint(partition, first, !more, block);
        self.call(env, to, request, Owner::Transfer(partition, to));
    }

    pub fn block_taken(&mut self, env: &mut Env<'_>, partition: PartitionId, to: NodeId, answer: Answer) {
        match self.outgoing.remove(&(partition, to)) {
            Some(outgoing) if matches!(answer, Ok(Reply::Fine)) && !outgoing.was_last => {
                self.outgoing.insert((partition, to), outgoing);
                self.send_block(env, partition, to, false);
            }
            Some(outgoing) => self.end_transfer(partition, outgoing),
            None => {}
        }
    }

    fn end_transfer(&mut self, partition: PartitionId, outgoing: Outgoing) {
        let index = outgoing.cursor.index();
        self.partition(partition).unpin_log(index);
        self.partition(partition).end_checkpoint(outgoing.cursor);
    }

    // ---- the receiver ----

    pub fn take_block(
        &mut self,
        env: &mut Env<'_>,
        (from, number): (NodeId, u64),
        partition: PartitionId,
        (first, last): (bool, bool),
        block: Vec<u8>,
    ) {
        let is_installing = self.incoming.get(&partition).is_some_and(|incoming| incoming.asker.is_some());
        if is_installing || !self.replicas.contains_key(&partition) {
            return self.reply(env, from, number, Reply::Refused("a copy is being installed".into()));
        }
        if first {
            let file = CheckpointFile { number: env.disk.next_file(), blocks: Vec::new() };
            let incoming = Incoming { from, file, asker: None, installed: 0, begun: false };
            self.incoming.insert(partition, incoming);
        }
        let Some(incoming) = self.incoming.get_mut(&partition).filter(|incoming| incoming.from == from) else {
            return self.reply(env, from, number, Reply::Refused("the copy was not begun".into()));
        };
        if !block.is_empty() {
            incoming.file.blocks.push(block);
        }
        if !last {
            return self.reply(env, from, number, Reply::Fine);
        }
        incoming.asker = Some(number);
        self.installing.push_back(partition);
        let delay = env.ctx.random.between(100, INSTALL_STEP_US * 2);
        env.ctx.plan(delay, Event::Install(self.me, self.life));
    }

    /// Makes the file durable, then installs it piece by piece.
    pub fn install(&mut self, env: &mut Env<'_>) {
        let Some(&partition) = self.installing.front() else { return };
        let Some(mut incoming) = self.incoming.remove(&partition) else { return };
        match self.install_piece(env, partition, &mut incoming) {
            Ok(false) => {
                self.incoming.insert(partition, incoming);
                let delay = env.ctx.random.below(INSTALL_STEP_US);
                env.ctx.plan(delay, Event::Install(self.me, self.life));
            }
            ended => {
                self.installing.pop_front();
                let reply = match ended {
                    Ok(_) => Reply::Fine,
                    Err(error) => {
                        let me = self.me;
                        env.ctx.tell(|| format!("node {me} does not install partition {partition}: {error}"));
                        let aborted = self.partition(partition).abort_install().map(drop);
                        self.check(env, partition, aborted);
                        self.settle(env, partition);
                        Reply::Refused(error.message().to_owned())
                    }
                };
                self.reply(env, incoming.from, incoming.asker.unwrap_or(0), reply);
                if !self.installing.is_empty() {
                    env.ctx.plan(1, Event::Install(self.me, self.life));
                }
            }
        }
    }

    /// True when it has ended.
    fn install_piece(
        &mut self,
        env: &mut Env<'_>,
        id: PartitionId,
        incoming: &mut Incoming,
    ) -> shoal_types::Result<bool> {
        if !incoming.begun {
            incoming.begun = true;
            self.partition(id).begin_install()?;
            let head = CheckpointHead::of(&incoming.file.blocks[0])?;
            self.partition(id).check_news(&head)?;
            self.settle(env, id);
            // Of several files the one that was begun last counts.
            if env.disk.checkpoint(id).is_some_and(|file| file.number > incoming.file.number) {
                return Err(shoal_types::Error::unknown("a checkpoint was made while the copy came"));
            }
            env.disk.finish_checkpoint(id, incoming.file.clone());
            return Ok(false);
        }
        match incoming.file.blocks.get(incoming.installed) {
            Some(block) => {
                self.partition(id).install_checkpoint_block(block)?;
                incoming.installed += 1;
                self.settle(env, id);
                Ok(false)
            }
            None => {
                self.partition(id).finish_install()?;
                self.settle(env, id);
                let me = self.me;
                env.ctx.tell(|| format!("node {me} has installed a copy of partition {id}"));
                env.ctx.see(Sight::CheckpointInstalled);
                Ok(true)
            }
        }
    }
}
