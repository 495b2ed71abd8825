//! Checkpoints on their way to replicas whose logs end before the leader's begins.
//!
//! The leader pins a state and sends it block by block, each when the one before it has been taken, so that a slow receiver
//! slows the sender and nothing piles up. The receiver writes a checkpoint file first and keeps what it has; only when the
//! file is whole and durable is it installed in the place of the old rows. A transfer that breaks off leaves nothing behind.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use shoal_log::checkpoint::{
    CheckpointNumber, CheckpointOptions, CheckpointReader, CheckpointWriter, FinishedCheckpoint,
};
use shoal_types::{Error, NodeId, Result};

use crate::cluster_log::Severity;
use crate::commit::log_error;
use crate::meta::group_of;
use crate::node::Node;
use crate::services::{Ask, CheckpointPiece, ServiceReply, temporary};
use crate::wait::lock;

const BLOCK_BYTES: usize = 256 << 10;
/// Blocks that are installed before others on the thread have their turn.
const BLOCKS_PER_TURN: usize = 4;

/// Transfers that are under way.
#[derive(Default)]
pub(crate) struct Transfers {
    outgoing: Mutex<HashMap<(u32, NodeId), Progress>>,
    incoming: Mutex<HashMap<u32, (NodeId, CheckpointWriter)>>,
}

/// How far a transfer is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    pub sent_bytes: u64,
    /// About how many there will be.
    pub total_bytes: u64,
    pub elapsed_ms: u64,
}

impl Node {
    /// Begins to send what replicas are missing.
    pub(crate) fn want_checkpoints(&self, partition: u32, replicas: &[u64]) {
        let Some(cluster) = &self.cluster else { return };
        for &replica in replicas {
            let to = NodeId(replica as u32);
            let mut outgoing = lock(&cluster.transfers.outgoing);
            if !cluster.is_up(to) || outgoing.contains_key(&(partition, to)) {
                continue;
            }
            outgoing.insert((partition, to), Progress::default());
            let Some(node) = cluster.node.get().cloned() else { continue };
            cluster.spawn(move || async move {
                let Some(node) = node.upgrade() else { return };
                node.log_event("restart", &format!("Node {to} gets a copy of partition {partition}"));
                match node.send_checkpoint(partition, to).await {
                    Ok(bytes) => node.log_event(
                        "restart",
                        &format!("Node {to} has got a copy of partition {partition}: {bytes} bytes"),
                    ),
                    Err(error) => {
                        tracing::warn!(partition, %to, %error, "a replica could not be brought up to date");
                        let text = format!("Node {to} could not be sent a copy of partition {partition}: {error}");
                        node.log_event_as(Severity::Warning, "restart", &text);
                    }
                }
                if let Some(cluster) = &node.cluster {
                    lock(&cluster.transfers.outgoing).remove(&(partition, to));
                }
            });
        }
    }

    /// Transfers from this node that are under way: partition, receiver, progress.
    pub fn transfers(&self) -> Vec<(u32, NodeId, Progress)> {
        let Some(cluster) = &self.cluster else { return Vec::new() };
        let outgoing = lock(&cluster.transfers.outgoing);
        outgoing.iter().map(|(&(partition, to), &progress)| (partition, to, progress)).collect()
    }

    async fn send_checkpoint(self: &Arc<Self>, partition: u32, to: NodeId) -> Result<u64> {
        let start = self.now();
        let mut cursor = {
            let mut guard = self.partition(partition);
            let cursor = guard.begin_checkpoint();
            guard.pin_log(cursor.index());
            cursor
        };
        let total_bytes = self.budget.used_bytes() / u64::from(self.partition_count().max(1));
        let mut sent_bytes = 0;
        let mut first = true;
        let outcome = loop {
            let mut block = Vec::with_capacity(BLOCK_BYTES * 2);
            let more = self.partition(partition).next_checkpoint_block(&mut cursor, BLOCK_BYTES, &mut block);
            let more = match more {
                Ok(more) => more,
                Err(error) => break Err(error),
            };
            sent_bytes += block.len() as u64;
            let piece = CheckpointPiece { partition, first, last: !more, block };
            first = false;
            if let Err(error) = self.ask(to, Ask::Checkpoint(piece)).await {
                break Err(error);
            }
            if let Some(cluster) = &self.cluster {
                let elapsed_ms = self.now().0 - start.0;
                let progress = Progress { sent_bytes, total_bytes, elapsed_ms };
                lock(&cluster.transfers.outgoing).insert((partition, to), progress);
            }
            if !more {
                break Ok(sent_bytes);
            }
        };
        let mut guard = self.partition(partition);
        guard.unpin_log(cursor.index());
        guard.end_checkpoint(cursor);
        outcome
    }

    /// One piece of a checkpoint that another node sends.
    pub(crate) async fn take_checkpoint_piece(
        &self,
        from: NodeId,
        piece: CheckpointPiece,
    ) -> Result<ServiceReply> {
        let cluster =
            self.cluster.as_ref().ok_or_else(|| Error::unknown("internal: this process is no cluster"))?;
        let partition = piece.partition;
        if !cluster.options.placement(partition).replicas.contains(&cluster.options.me) {
            return Err(Error::unknown(format!(
                "partition {partition} is not kept by node {}",
                cluster.options.me
            )));
        }
        let mut writer = match piece.first {
            true => {
                let options = CheckpointOptions { compress: false, throttle: None };
                let _one_at_a_time = lock(&self.checkpoint_files);
                self.checkpoints.create(group_of(partition), &[], options).map_err(log_error)?
            }
            false => {
                let begun = lock(&cluster.transfers.incoming).remove(&partition);
                let begun = begun.filter(|(sender, _)| *sender == from);
                begun.ok_or_else(|| temporary("the copy of the partition was not begun; it begins again"))?.1
            }
        };
        if !piece.block.is_empty() {
            writer.append(&piece.block).map_err(log_error)?;
        }
        if !piece.last {
            lock(&cluster.transfers.incoming).insert(partition, (from, writer));
            return Ok(ServiceReply::default());
        }
        let node = cluster.node.get().and_then(std::sync::Weak::upgrade);
        let node = node.ok_or_else(|| temporary("the node is stopping"))?;
        let finished = tokio::task::spawn_blocking(move || node.keep_received(partition, writer)).await;
        let finished = finished.map_err(|_| Error::unknown("internal: writing a checkpoint failed"))??;
        self.install_received(partition, finished.number).await?;
        self.checkpoints.remove_older(group_of(partition), finished.number).map_err(log_error)?;
        self.log_event("restart", &format!("Got a copy of partition {partition} from Node {from}"));
        Ok(ServiceReply::default())
    }

    /// Makes a copy durable. From then on no checkpoint of the old state takes its place.
    fn keep_received(&self, partition: u32, writer: CheckpointWriter) -> Result<FinishedCheckpoint> {
        let _one_at_a_time = lock(&self.checkpoint_files);
        let finished = writer.finish().map_err(log_error)?;
        let mut guard = self.partition(partition);
        let begun = guard.begin_install();
        self.settle_and_release(partition, guard);
        begun.map(|()| finished)
    }

    async fn install_received(&self, partition: u32, number: CheckpointNumber) -> Result<()> {
        let mut reader = self.checkpoints.read(group_of(partition), number).map_err(log_error);
        let newest = self.checkpoints.numbers(group_of(partition)).map_err(log_error)?.last().copied();
        if newest != Some(number) {
            reader = Err(temporary("a checkpoint was begun while the copy of the partition came; it comes again"));
        }
        let mut installed = 0;
        let outcome = loop {
            let block = match reader.as_mut().map(CheckpointReader::next_block) {
                Err(error) => break Err(error.clone()),
                Ok(block) => block,
            };
            let block = match block {
                Ok(Some(block)) => block,
                Ok(None) => break Ok(()),
                Err(error) => break Err(log_error(error)),
            };
            if let Err(error) = self.partition(partition).install_checkpoint_block(block) {
                break Err(error);
            }
            installed += 1;
            if installed % BLOCKS_PER_TURN == 0 {
                tokio::task::yield_now().await;
            }
        };
        let mut guard = self.partition(partition);
        let outcome = match outcome {
            Ok(()) => guard.finish_install(),
            Err(error) if guard.abort_install()? => Err(error),
            Err(error) => {
                // The old rows are gone from memory; they are still on disk, with the log behind them.
                self.stop(&format!("a copy of partition {partition} could not be installed: {error}"));
                Err(error)
            }
        };
        self.settle_and_release(partition, guard);
        outcome
    }
}
