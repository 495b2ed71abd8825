//! Copies for replicas that fell behind: requests, files and time around what the product decides (`shoal_replication`).

use shoal_replication::{NotKept, Piece, Receiving, Sending, give_up};
use shoal_types::{Error, NodeId, PartitionId, Result};

use crate::context::Event;
use crate::disk::CheckpointFile;
use crate::message::{Answer, Reply, Request};
use crate::process::{Env, Owner, Process};
use crate::sights::Sight;
use crate::under_way::{Installing, Outgoing};

const INSTALL_STEP_US: u64 = 3_000;
const SLOW_INSTALL_STEP_US: u64 = 60_000;
const LATE_INSTALL_US: u64 = 800_000;

impl Process {
    pub fn want_checkpoint(&mut self, env: &mut Env<'_>, partition: PartitionId, to: NodeId) {
        let is_up = self.peers.get(&to).is_some_and(|peer| peer.link.is_some());
        if !is_up || self.outgoing.contains_key(&(partition, to)) {
            return;
        }
        let attempt = self.next_call;
        let Ok(sending) = Sending::begin(self.partition(partition), attempt) else { return };
        let me = self.me;
        env.ctx.tell(|| format!("node {me} sends {to} a copy of partition {partition} at {}", sending.index()));
        self.outgoing.insert((partition, to), Outgoing { sending, was_last: false });
        self.send_block(env, partition, to);
    }

    fn send_block(&mut self, env: &mut Env<'_>, partition: PartitionId, to: NodeId) {
        let Some(mut outgoing) = self.outgoing.remove(&(partition, to)) else { return };
        let bytes = env.ctx.knobs.checkpoint_block_bytes;
        let Ok(piece) = outgoing.sending.next(self.partition(partition), bytes) else {
            return outgoing.sending.end(self.partition(partition));
        };
        outgoing.was_last = piece.last;
        self.outgoing.insert((partition, to), outgoing);
        self.call(env, to, Request::Checkpoint(partition, piece), Owner::Transfer(partition, to));
    }

    pub fn block_taken(&mut self, env: &mut Env<'_>, partition: PartitionId, to: NodeId, answer: Answer) {
        match self.outgoing.remove(&(partition, to)) {
            Some(outgoing) if matches!(answer, Ok(Reply::Fine)) && !outgoing.was_last => {
                self.outgoing.insert((partition, to), outgoing);
                self.send_block(env, partition, to);
            }
            Some(outgoing) => outgoing.sending.end(self.partition(partition)),
            None => {}
        }
    }

    // ---- the receiver ----

    pub fn take_piece(
        &mut self,
        env: &mut Env<'_>,
        (from, number): (NodeId, u64),
        partition: PartitionId,
        piece: Piece,
    ) {
        if !self.replicas.contains_key(&partition) {
            return self.reply(env, from, number, Reply::Refused("the partition is not kept here".into()));
        }
        let copy = match piece.number {
            0 => Receiving::begin(from, &piece, || {
                Ok(CheckpointFile { number: env.disk.next_file(), blocks: Vec::new() })
            }),
            _ => self.incoming.take(partition.0, from, &piece),
        };
        let mut copy = match copy {
            Ok(copy) => copy,
            Err(error) => return self.reply(env, from, number, Reply::Refused(error.message().to_owned())),
        };
        if !piece.block.is_empty() {
            copy.file.blocks.push(piece.block);
        }
        if !piece.last {
            self.incoming.keep(partition.0, copy);
            return self.reply(env, from, number, Reply::Fine);
        }
        self.installing.push_back(Installing { partition, copy, asker: (from, number), installed: None });
        // Meanwhile the replica may get a newer copy, or catch up, or make a checkpoint of its own.
        let longest = if env.ctx.random.one_in(8) { LATE_INSTALL_US } else { INSTALL_STEP_US * 2 };
        let delay = env.ctx.random.between(100, longest);
        env.ctx.plan(delay, Event::Install(self.me, self.life));
    }

    /// Goes on with the copies that are here: each is made durable, then installed piece by piece.
    pub fn install(&mut self, env: &mut Env<'_>) {
        let Some(mut installing) = self.installing.pop_front() else { return };
        match self.install_piece(env, &mut installing) {
            Ok(false) => {
                // Copies of one partition may be here at the same time.
                self.installing.push_back(installing);
                let longest = if env.ctx.random.one_in(4) { SLOW_INSTALL_STEP_US } else { INSTALL_STEP_US };
                let delay = env.ctx.random.below(longest);
                env.ctx.plan(delay, Event::Install(self.me, self.life));
            }
            ended => {
                let (to, number) = installing.asker;
                let reply = ended.map_or_else(|error| Reply::Refused(error.message().to_owned()), |_| Reply::Fine);
                self.reply(env, to, number, reply);
            }
        }
    }

    /// True when it has ended.
    fn install_piece(&mut self, env: &mut Env<'_>, installing: &mut Installing) -> Result<bool> {
        let (id, file) = (installing.partition, &installing.copy.file);
        let me = self.me;
        let Some(installed) = &mut installing.installed else {
            let newest = env.disk.checkpoint(id).map(|file| file.number);
            let begun = installing.copy.begin_install(self.partition(id), file.number, newest);
            self.settle(env, id);
            return match begun {
                Ok(()) => {
                    installing.installed = Some(0);
                    env.disk.finish_checkpoint(id, file.clone());
                    Ok(false)
                }
                Err(NotKept::Another(error)) => Err(error),
                Err(NotKept::This(error)) => {
                    env.ctx.see(Sight::CopyRefused);
                    Err(self.give_up_copy(env, id, error))
                }
            };
        };
        let partition = self.partition(id);
        let (outcome, has_ended) = match file.blocks.get(*installed) {
            Some(block) => (partition.install_checkpoint_block(block), false),
            None => (partition.finish_install(), true),
        };
        *installed += 1;
        if let Err(error) = outcome {
            return Err(self.give_up_copy(env, id, error));
        }
        self.settle(env, id);
        if env.ctx.random.one_in(3) {
            // A checkpoint may be quicker than the copy.
            (0..env.ctx.random.below(12)).for_each(|_| self.step_keeper(env, Some(id)));
        }
        if has_ended {
            env.ctx.tell(|| format!("node {me} has installed a copy of partition {id}"));
            env.ctx.see(Sight::CheckpointInstalled);
        }
        Ok(has_ended)
    }

    fn give_up_copy(&mut self, env: &mut Env<'_>, id: PartitionId, error: Error) -> Error {
        let me = self.me;
        env.ctx.tell(|| format!("node {me} does not install partition {id}: {error}"));
        let goes_on = give_up(self.partition(id));
        self.settle(env, id);
        if !goes_on {
            self.stop(env, &format!("a copy of partition {id} could not be installed: {error}"));
        }
        error
    }
}
