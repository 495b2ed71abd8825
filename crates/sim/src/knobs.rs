//! What a seed decides before the run begins: the cluster's shape, how bad the network and the disks are, which faults there
//! are and how often. Each run draws its own mixture, so that rare ones meet.

use shoal_partition::{SLICE_WRITES, Timing};
use shoal_types::{NodeId, PartitionId};

use crate::random::Random;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Entries count when the disk has them.
    #[default]
    Disk,
    /// Entries count in memory; the disk follows.
    Replicated,
}

/// Who holds a partition.
#[derive(Clone, Debug)]
pub struct Placement {
    pub voters: Vec<u64>,
    pub witness: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Knobs {
    pub data_nodes: u32,
    pub management_nodes: u32,
    /// Without the meta partition.
    pub partitions: u32,
    pub placements: Vec<Placement>,
    /// What all nodes begin with.
    pub durability: Durability,
    pub timing: Timing,
    pub tail_bytes_max: u64,
    pub checkpoint_block_bytes: usize,
    /// Transactions with more writes are applied in slices.
    pub slice_writes: usize,
    /// A round of checkpoints begins so often.
    pub checkpoint_ms: u64,
    pub global_checkpoint_ms: u64,
    pub sync_us: (u64, u64),
    pub delay_us: (u64, u64),
    pub late_per_mille: u64,
    pub loss_per_mille: u64,
    pub double_per_mille: u64,
    /// A silent link counts as broken after so long.
    pub silence_ms: u64,
    /// A node connects to another at one in so many ticks.
    pub connects_one_in: u64,
    /// Of the processes that die, so many leave proof of it.
    pub proof_per_mille: u64,
    /// Requests that go to a node that need not lead.
    pub astray_per_mille: u64,
    pub clients_per_node: u64,
    pub think_us: (u64, u64),
    /// By node: how far its clock is ahead, and how much faster it runs, in thousandths.
    pub clock_ms: Vec<(u64, u64)>,
    /// By node: how far its wall clock is ahead.
    pub wall_us: Vec<u64>,
    pub fault_every_ms: (u64, u64),
    /// How much each kind of fault weighs.
    pub faults: Vec<(Fault, u64)>,
    pub run_ms: u64,
    pub accounts: i32,
    pub registers: i32,
    /// Rows that transactions lock in any order.
    pub hot_rows: i32,
    /// A request waits for a lock for so long.
    pub lock_wait_us: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Crash,
    CrashSeveral,
    Pause,
    Cut,
    CutOneWay,
    Isolate,
    Reset,
    SlowDisk,
    SlowLink,
    HandOver,
    Wipe,
    KillClient,
    /// Started again at once, and perhaps dead again soon.
    QuickRestart,
    /// A follower on which a lease rests is started again while another one cannot hear the leader.
    RestartUnderLease,
    /// The process lives and its connections are refused.
    Refuse,
    /// Some ways are cut while no client does anything.
    CutInQuiet,
    ClockStep,
    SwitchDurability,
}

const FAULTS: [Fault; 18] = [
    Fault::Crash,
    Fault::CrashSeveral,
    Fault::Pause,
    Fault::Cut,
    Fault::CutOneWay,
    Fault::Isolate,
    Fault::Reset,
    Fault::SlowDisk,
    Fault::SlowLink,
    Fault::HandOver,
    Fault::Wipe,
    Fault::KillClient,
    Fault::QuickRestart,
    Fault::RestartUnderLease,
    Fault::Refuse,
    Fault::CutInQuiet,
    Fault::ClockStep,
    Fault::SwitchDurability,
];

impl Knobs {
    pub fn draw(random: &mut Random) -> Knobs {
        let data_nodes = 2 + u32::from(random.one_in(3));
        let management_nodes = if random.one_in(3) { 3 } else { 1 };
        let partitions = random.between(2, 3) as u32;
        let nodes = (data_nodes + management_nodes) as usize;
        let durability = if random.one_in(3) { Durability::Replicated } else { Durability::Disk };
        let skew = if random.one_in(4) { 0 } else { random.below(2_000_000) };
        // Many clients that never rest, on a few rows.
        let is_hot = random.one_in(5);
        let heartbeat_ms = if random.one_in(2) { 20 } else { 40 };
        let faults = FAULTS.map(|fault| (fault, if random.one_in(3) { 0 } else { random.between(1, 8) }));
        Knobs {
            data_nodes,
            management_nodes,
            partitions,
            placements: placements(data_nodes, management_nodes, partitions),
            durability,
            timing: Timing::new(heartbeat_ms, 10 * heartbeat_ms).expect("ten heartbeats make an election timeout"),
            tail_bytes_max: [6_000, 12_000, 1 << 20][random.below(3) as usize],
            checkpoint_block_bytes: [200, 2_000][random.below(2) as usize],
            slice_writes: if is_hot || random.one_in(2) { SLICE_WRITES } else { random.between(1, 2) as usize },
            checkpoint_ms: random.between(150, 900),
            global_checkpoint_ms: random.between(20, 120),
            sync_us: (100, random.between(200, 8_000)),
            delay_us: (20, random.between(100, 4_000)),
            late_per_mille: random.below(3) * random.below(40),
            loss_per_mille: random.below(3) * random.below(30),
            double_per_mille: random.below(3) * random.below(40),
            silence_ms: random.between(60, 300),
            connects_one_in: random.between(1, 3),
            proof_per_mille: random.below(1001),
            astray_per_mille: random.below(40),
            clients_per_node: if is_hot { random.between(4, 8) } else { random.between(1, 3) },
            think_us: (0, if is_hot { random.between(10, 400) } else { random.between(1_000, 20_000) }),
            clock_ms: (0..nodes).map(|_| (random.below(1 << 30), random.below(80))).collect(),
            wall_us: (0..nodes).map(|_| if skew == 0 { 0 } else { random.below(skew) }).collect(),
            // Now and then nothing goes wrong for a second.
            fault_every_ms: (5, if random.one_in(8) { 3_000 } else { random.between(60, 400) }),
            faults: faults.to_vec(),
            run_ms: random.between(1_500, 3_500),
            accounts: if is_hot { 2 } else { random.between(3, 6) as i32 },
            registers: if is_hot { 1 } else { random.between(1, 3) as i32 },
            hot_rows: random.between(2, 5) as i32,
            lock_wait_us: [250_000, 3_000_000][random.below(2) as usize],
        }
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (1..=self.data_nodes + self.management_nodes).map(NodeId)
    }

    pub fn is_data(&self, node: NodeId) -> bool {
        node.0 <= self.data_nodes
    }

    pub fn meta(&self) -> PartitionId {
        PartitionId(self.partitions)
    }

    pub fn all_partitions(&self) -> impl Iterator<Item = PartitionId> + use<> {
        (0..=self.partitions).map(PartitionId)
    }

    pub fn data_partitions(&self) -> impl Iterator<Item = PartitionId> + use<> {
        (0..self.partitions).map(PartitionId)
    }

    pub fn placement(&self, partition: PartitionId) -> &Placement {
        &self.placements[partition.0 as usize]
    }

    pub fn hosts(&self, node: NodeId, partition: PartitionId) -> bool {
        self.placement(partition).voters.contains(&u64::from(node.0))
    }

    /// Where the row with this id lives.
    pub fn partition_of(&self, id: i32) -> PartitionId {
        PartitionId(id as u32 % self.partitions)
    }

    /// One replica has all there is of a partition that some node holds alone.
    pub fn is_alone(&self, partition: PartitionId) -> bool {
        self.placement(partition).voters.len() == 1
    }
}

fn placements(data_nodes: u32, management_nodes: u32, partitions: u32) -> Vec<Placement> {
    let managers: Vec<u64> = (data_nodes + 1..=data_nodes + management_nodes).map(u64::from).collect();
    let mut placements: Vec<Placement> = (0..partitions)
        .map(|partition| {
            let mut voters: Vec<u64> =
                (0..data_nodes).map(|place| u64::from((partition + place) % data_nodes) + 1).collect();
            let witness = (data_nodes == 2).then(|| managers[partition as usize % managers.len()]);
            voters.extend(witness);
            Placement { voters, witness }
        })
        .collect();
    placements.push(Placement { voters: managers, witness: None });
    placements
}
