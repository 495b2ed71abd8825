//! Checkpoints of all replicas in rounds, and the log cut behind them, step by step while everything else goes on.

use shoal_replication::{Checkpoint, begin_checkpoint, may_finish};
use shoal_types::PartitionId;

use crate::context::Event;
use crate::disk::CheckpointFile;
use crate::process::{Env, Process};
use crate::under_way::{Current, Round, Stage};

const STEP_US: (u64, u64) = (200, 4_000);

impl Process {
    pub fn keep(&mut self, env: &mut Env<'_>) {
        self.step_keeper(env, None);
        let delay = match self.keeper.round {
            Some(_) => env.ctx.random.between(STEP_US.0, STEP_US.1),
            None => {
                env.ctx.knobs.checkpoint_ms * 1000 / 2 + env.ctx.random.below(env.ctx.knobs.checkpoint_ms * 1000)
            }
        };
        env.ctx.plan(delay, Event::Keeper(self.me, self.life));
    }

    /// Goes on with the round, or begins one, with this partition first.
    pub fn step_keeper(&mut self, env: &mut Env<'_>, first: Option<PartitionId>) {
        let round = self.keeper.round.take();
        self.keeper.round = match round {
            None => {
                let mut left = self.hosted();
                left.sort_by_key(|&id| Some(id) == first);
                Some(Round { left, low_water: u64::MAX, current: None, durable_at: 0 })
            }
            Some(round) => self.go_on_with_round(env, round),
        };
    }

    /// `None`: it has ended.
    fn go_on_with_round(&mut self, env: &mut Env<'_>, mut round: Round) -> Option<Round> {
        if let Some(current) = round.current.take() {
            match self.go_on_with_checkpoint(env, current) {
                Going::On(current) => round.current = Some(current),
                Going::Done(low_water) => round.low_water = round.low_water.min(low_water),
                Going::Failed => return None,
            }
            return Some(round);
        }
        if let Some(partition) = round.left.pop() {
            let file = CheckpointFile { number: env.disk.next_file(), blocks: Vec::new() };
            let (completed, checkpointed) = (self.completed, self.checkpointed);
            let (low_water, begun) = begin_checkpoint(self.partition(partition), completed, checkpointed);
            self.settle(env, partition);
            let me = self.me;
            match begun {
                Checkpoint::None => round.low_water = round.low_water.min(low_water),
                Checkpoint::Logged => {
                    round.low_water = round.low_water.min(low_water);
                    round.durable_at = env.disk.end();
                }
                Checkpoint::Writing(cursor) => {
                    let index = cursor.index();
                    env.ctx.tell(|| format!("node {me} begins a checkpoint of partition {partition} at {index}"));
                    round.current = Some(Current { partition, file, low_water, stage: Stage::Writing(cursor) });
                }
            }
            return Some(round);
        }
        if env.disk.durable() < round.durable_at {
            self.want_sync(env, round.durable_at);
            return Some(round);
        }
        self.checkpointed = round.low_water;
        let (me, low_water) = (self.me, round.low_water);
        env.ctx.tell(|| format!("node {me} cuts its log at {low_water}"));
        env.disk.cut(round.low_water);
        None
    }

    fn go_on_with_checkpoint(&mut self, env: &mut Env<'_>, mut current: Current) -> Going {
        let partition = current.partition;
        current.stage = match current.stage {
            Stage::Writing(mut cursor) => {
                let bytes = env.ctx.knobs.checkpoint_block_bytes;
                let mut block = Vec::new();
                match self.partition(partition).next_checkpoint_block(&mut cursor, bytes, &mut block) {
                    Ok(true) => {
                        current.file.blocks.push(block);
                        Stage::Writing(cursor)
                    }
                    Ok(false) => {
                        // Other partitions may have a share in what is in the checkpoint.
                        let end = env.disk.end();
                        self.want_sync(env, end);
                        Stage::Syncing(cursor, end)
                    }
                    Err(_) => {
                        self.partition(partition).end_checkpoint(cursor);
                        return Going::Failed;
                    }
                }
            }
            Stage::Syncing(cursor, end) if env.disk.durable() >= end => {
                let me = self.me;
                let is_current = may_finish(self.partition(partition), &cursor);
                self.partition(partition).end_checkpoint(cursor);
                if !is_current {
                    return Going::Failed;
                }
                env.ctx.tell(|| format!("node {me} has a checkpoint of partition {partition}"));
                env.disk.finish_checkpoint(partition, current.file);
                return Going::Done(current.low_water);
            }
            Stage::Syncing(cursor, end) => Stage::Syncing(cursor, end),
        };
        Going::On(current)
    }
}

enum Going {
    On(Current),
    Done(u64),
    Failed,
}
