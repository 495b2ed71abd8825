//! Checkpoints on their way to replicas whose logs end before the leader's begins: requests and files around what `shoal_replication`
//! decides ([`Sending`], [`Receiving`]).

use std::time::Instant;

use shoal_log::checkpoint::{
    CheckpointNumber, CheckpointOptions, CheckpointReader, CheckpointWriter, FinishedCheckpoint,
};
use shoal_replication::{NotKept, Piece, Receiving, Sending, give_up};
use shoal_types::{Error, NodeId, Result};

use crate::base::cluster_log::Severity;
use crate::base::errors::{log_error, temporary};
use crate::base::throttle::{Pace, in_background};
use crate::base::wait::lock;
use crate::membership::messages::{Ask, CheckpointPiece, ServiceReply};
use crate::membership::peers::Membership;
use crate::replication::Replication;
use crate::replication::transfers::Progress;
use crate::storage::records::group_of;

const BLOCK_BYTES: usize = 256 << 10;

impl Replication {
    /// Begins to send what replicas are missing.
    pub(crate) fn want_checkpoints(&self, partition: u32, replicas: &[u64]) {
        let Some(cluster) = &self.cluster else { return };
        for &replica in replicas {
            let to = NodeId(replica as u32);
            let mut outgoing = lock(&self.transfers.outgoing);
            if !cluster.is_up(to) || outgoing.contains_key(&(partition, to)) {
                continue;
            }
            outgoing.insert((partition, to), Progress::default());
            let handle = self.handle.clone();
            cluster.spawn(move || async move {
                let Some(node) = handle.upgrade() else { return };
                let Some(cluster) = &node.cluster else { return };
                node.log_event("restart", &format!("Node {to} gets a copy of partition {partition}"));
                match node.send_checkpoint(cluster, partition, to).await {
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
                lock(&node.transfers.outgoing).remove(&(partition, to));
            });
        }
    }

    /// Transfers from this node that are under way: partition, receiver, progress.
    pub fn transfers(&self) -> Vec<(u32, NodeId, Progress)> {
        let outgoing = lock(&self.transfers.outgoing);
        outgoing.iter().map(|(&(partition, to), &progress)| (partition, to, progress)).collect()
    }

    async fn send_checkpoint(&self, cluster: &Membership, partition: u32, to: NodeId) -> Result<u64> {
        let start = self.now();
        let attempt = self.next_transaction_id().0;
        let mut sending = Sending::begin(&mut self.partition(partition), attempt)?;
        let total_bytes = self.memory_budget().used_bytes() / u64::from(self.partition_count().max(1));
        let mut sent_bytes = 0;
        let mut pace = Pace::start(self.throttle());
        let outcome = loop {
            let begun = Instant::now();
            let piece = match sending.next(&mut self.partition(partition), BLOCK_BYTES) {
                Ok(piece) => piece,
                Err(error) => break Err(error),
            };
            let Piece { attempt, number, last, block } = piece;
            sent_bytes += block.len() as u64;
            let piece = CheckpointPiece { partition, attempt, number, last, block };
            if let Err(error) = cluster.ask(to, Ask::Checkpoint(piece)).await {
                break Err(error);
            }
            let elapsed_ms = self.now().0 - start.0;
            let progress = Progress { sent_bytes, total_bytes, elapsed_ms };
            lock(&self.transfers.outgoing).insert((partition, to), progress);
            if last {
                break Ok(sent_bytes);
            }
            // What the receiver did with the piece counts as well: it may live on this host.
            tokio::time::sleep(pace.pause_after(begun.elapsed())).await;
        };
        sending.end(&mut self.partition(partition));
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
        let CheckpointPiece { partition, attempt, number, last, block } = piece;
        let piece = Piece { attempt, number, last, block };
        let replicas = cluster.options.placement(partition).replicas;
        if !self.is_hosted(partition) || ![cluster.options.me, from].iter().all(|node| replicas.contains(node)) {
            let me = cluster.options.me;
            return Err(Error::unknown(format!(
                "a piece of a copy of partition {partition} is not for node {me}, or not from one of its replicas"
            ))
            .as_spoilt());
        }
        if piece.number == 0 && self.partition(partition).leader() != Some(u64::from(from.0)) {
            return Err(temporary(format!(
                "node {from} is not known here as the leader of partition {partition}"
            )));
        }
        let mut copy = match piece.number {
            0 => Receiving::begin(from, &piece, || {
                let options = CheckpointOptions { compress: false, throttle: None };
                let _one_at_a_time = self.lock_checkpoint_files();
                self.checkpoints().create(group_of(partition), &[], options).map_err(log_error)
            })?,
            _ => lock(&self.transfers.incoming).take(partition, from, &piece)?,
        };
        if !piece.block.is_empty() {
            copy.file.append(&piece.block).map_err(log_error)?;
        }
        if !piece.last {
            lock(&self.transfers.incoming).keep(partition, copy);
            return Ok(ServiceReply::default());
        }
        let node = self.handle.upgrade();
        let node = node.ok_or_else(|| temporary("the node is stopping"))?;
        let take_in = move || {
            let finished = node.keep_received(partition, copy)?;
            node.install_received(partition, finished.number).map(|()| finished)
        };
        let finished = in_background(take_in).await??;
        self.checkpoints().remove_older(group_of(partition), finished.number).map_err(log_error)?;
        self.log_event("restart", &format!("Got a copy of partition {partition} from Node {from}"));
        Ok(ServiceReply::default())
    }

    /// Makes a copy durable. From then on no checkpoint of the old state takes its place; and it takes the place of none that it
    /// is not to replace: the log may have been cut behind that one.
    fn keep_received(&self, partition: u32, copy: Receiving<CheckpointWriter>) -> Result<FinishedCheckpoint> {
        let _one_at_a_time = self.lock_checkpoint_files();
        let numbers = self.checkpoints().numbers(group_of(partition)).map_err(log_error)?;
        let newest = numbers.last().copied();
        let mut guard = self.partition(partition);
        let begun = copy.begin_install(&mut guard, copy.file.number(), newest);
        self.settle_and_release(partition, guard);
        match begun {
            Ok(()) => copy.file.finish().map_err(log_error),
            Err(NotKept::Another(error)) => return Err(error),
            Err(NotKept::This(error)) => Err(error),
        }
        .map_err(|error| self.give_up_copy(partition, error))
    }

    /// Goes on without a copy, if that is still possible.
    fn give_up_copy(&self, partition: u32, error: Error) -> Error {
        let mut guard = self.partition(partition);
        let goes_on = give_up(&mut guard);
        self.settle_and_release(partition, guard);
        if !goes_on {
            self.stop(&format!("a copy of partition {partition} could not be installed: {error}"));
        }
        error
    }

    fn install_received(&self, partition: u32, number: CheckpointNumber) -> Result<()> {
        let mut reader = self.checkpoints().read(group_of(partition), number).map_err(log_error);
        let mut pace = Pace::start(self.throttle());
        let outcome = loop {
            pace.keep();
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
        };
        if let Err(error) = outcome {
            return Err(self.give_up_copy(partition, error));
        }
        let mut guard = self.partition(partition);
        let finished = guard.finish_install();
        self.settle_and_release(partition, guard);
        finished.map_err(|error| self.give_up_copy(partition, error))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shoal_partition::{CommitToken, MemoryBudget, Partition, PartitionConfig, Timing};
    use shoal_types::{IndexMethod, PartitionId, TableId};

    use std::sync::Arc;

    use super::*;
    use crate::base::options::NodeOptions;
    use crate::base::topology::{ClusterOptions, NodeEntry, Placement, Roles};
    use crate::dictionary::unique::bytes_table_schema;
    use crate::node::Node;
    use crate::replication::driver::tests::hear_leader;

    const PARTITION: u32 = 0;

    /// Node 1 of three, alone.
    fn follower(directory: &std::path::Path) -> Arc<Node> {
        one_of(Placement { replicas: [1, 2, 3].map(NodeId).to_vec(), witness: None }, directory)
    }

    /// Node 1 of three nodes that keep partitions like this.
    fn one_of(placement: Placement, directory: &std::path::Path) -> Arc<Node> {
        let data = Roles { data: true, ..Roles::default() };
        let node = |id| NodeEntry { id: NodeId(id), roles: data, address: None };
        let cluster = ClusterOptions {
            name: "reef".into(),
            me: NodeId(1),
            nodes: vec![node(1), node(2), node(3)],
            placements: vec![placement.clone(), placement],
            config_hash: 0,
            heartbeat: Duration::from_millis(100),
            timing: Timing::default(),
            lanes: 1,
            unsent_bytes_max: None,
            transporter: shoal_transport::Transporter::default(),
            tls: Default::default(),
        };
        let options = NodeOptions::new(directory);
        Node::open(NodeOptions { background_work: false, cluster: Some(cluster), ..options }).unwrap()
    }

    /// Node 2's newest entry: one opens its term, and one makes a table.
    const COPY_INDEX: u64 = 2;

    /// A checkpoint of node 2's.
    fn copy() -> Vec<u8> {
        let single = PartitionConfig::single(PartitionId(PARTITION), Arc::new(MemoryBudget::new(1 << 20)));
        let mut partition = Partition::new(PartitionConfig { replica: 2, voters: vec![2], ..single });
        partition.start().unwrap();
        let number = partition.outputs().number;
        partition.persisted(number).unwrap();
        let table = bytes_table_schema(TableId(900), "t", "InnoDB", IndexMethod::Hash, 0);
        partition.create_fragment(Arc::new(table), CommitToken(1)).unwrap();
        let number = partition.outputs().number;
        partition.persisted(number).unwrap();
        assert_eq!(partition.applied_index(), COPY_INDEX);
        let mut block = Vec::new();
        let mut cursor = partition.begin_checkpoint();
        while partition.next_checkpoint_block(&mut cursor, BLOCK_BYTES, &mut block).unwrap() {}
        block
    }

    fn give(node: &Arc<Node>, block: Vec<u8>) -> Result<ServiceReply> {
        let piece = CheckpointPiece { partition: PARTITION, attempt: 1, number: 0, last: true, block };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(node.take_checkpoint_piece(NodeId(2), piece))
    }

    /// The file of such a copy once stayed and counted as the newest, while the log was cut behind the node's own: "the log of
    /// partition 2 has a gap" at the next start.
    #[test]
    fn a_copy_that_is_no_news_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let node = follower(directory.path());
        hear_leader(&node, PARTITION);
        give(&node, copy()).unwrap();
        assert_eq!(node.partition(PARTITION).applied_index(), COPY_INDEX);
        let numbers = || node.checkpoints().numbers(group_of(PARTITION)).unwrap();
        let installed = numbers();
        assert_eq!(installed.len(), 1);
        let error = give(&node, copy()).unwrap_err();
        assert!(error.message().contains("no news"), "{error}");
        assert_eq!(numbers(), installed);
        assert!(!node.partition(PARTITION).is_installing());
        node.close().unwrap();
    }

    /// The log then begins behind an entry that it does not hold.
    #[test]
    fn a_copy_is_there_after_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let node = follower(directory.path());
        hear_leader(&node, PARTITION);
        give(&node, copy()).unwrap();
        node.close().unwrap();
        drop(node);
        let node = follower(directory.path());
        let partition = node.partition(PARTITION);
        assert_eq!((partition.applied_index(), partition.last_index()), (COPY_INDEX, (COPY_INDEX, 1)));
        assert_eq!(partition.tables(), [TableId(900)]);
        drop(partition);
        node.close().unwrap();
    }

    /// It has no checkpoint that says where it begins.
    #[test]
    fn a_witness_whose_log_begins_at_a_snapshot_knows_that_after_a_restart() {
        const SNAPSHOT: u8 = 7;
        let directory = tempfile::tempdir().unwrap();
        let placement = Placement { replicas: [2, 3].map(NodeId).to_vec(), witness: Some(NodeId(1)) };
        let node = one_of(placement.clone(), directory.path());
        // From, to and term; no context; index and term of the snapshot, the voters; no entries.
        let mut bytes = vec![SNAPSHOT, 0b111, 0, 2];
        [2u64, 1, 3].iter().for_each(|field| bytes.extend_from_slice(&field.to_le_bytes()));
        bytes.extend_from_slice(&[0; 4]);
        [50u64, 3].iter().for_each(|field| bytes.extend_from_slice(&field.to_le_bytes()));
        bytes.extend_from_slice(&3u32.to_le_bytes());
        [1u64, 2, 3].iter().for_each(|voter| bytes.extend_from_slice(&voter.to_le_bytes()));
        bytes.extend_from_slice(&[0; 4]);
        let message = shoal_partition::decode_message(&bytes).unwrap();
        node.step_replica(PARTITION, NodeId(2), message).unwrap();
        assert_eq!(node.partition(PARTITION).last_index(), (50, 3));
        node.close().unwrap();
        drop(node);
        let node = one_of(placement, directory.path());
        assert_eq!(node.partition(PARTITION).last_index(), (50, 3));
        node.close().unwrap();
    }

    #[test]
    fn a_copy_that_no_leader_sends_is_not_begun() {
        let directory = tempfile::tempdir().unwrap();
        let node = follower(directory.path());
        let error = give(&node, copy()).unwrap_err();
        assert!(error.message().contains("not known here as the leader"), "{error}");
        hear_leader(&node, PARTITION);
        let error = give(&node, b"noise".to_vec()).unwrap_err();
        assert!(error.is_spoilt(), "{error}");
        assert_eq!(node.checkpoints().numbers(group_of(PARTITION)).unwrap(), []);
        assert_eq!(node.partition(PARTITION).applied_index(), 0);
        node.close().unwrap();
    }

    #[test]
    fn a_copy_that_was_begun_before_the_newest_checkpoint_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let node = follower(directory.path());
        let options = CheckpointOptions { compress: false, throttle: None };
        let writer = node.checkpoints().create(group_of(PARTITION), &[], options).unwrap();
        let piece = Piece { attempt: 1, number: 0, last: true, block: copy() };
        let late = Receiving::begin(NodeId(2), &piece, || Ok(writer)).unwrap();
        node.checkpoint().unwrap();
        let newest = node.checkpoints().numbers(group_of(PARTITION)).unwrap();
        assert!(newest[0] > late.file.number());
        assert!(node.keep_received(PARTITION, late).unwrap_err().message().contains("comes again"));
        assert_eq!(node.checkpoints().numbers(group_of(PARTITION)).unwrap(), newest);
        assert!(!node.partition(PARTITION).is_installing());
        node.close().unwrap();
    }
}
