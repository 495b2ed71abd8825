//! Groups under random faults: crashes, restarts, pauses, cut and one-way networks, lost, late and doubled messages,
//! stalled disks, clocks of different speeds, hand-overs, checkpoints.
//!
//! At every step at most one replica serves. At the end, with everything healed, all replicas hold the same rows; what
//! was acknowledged is there and what was reported lost is not.

use std::collections::{BTreeMap, BTreeSet};

use super::network::*;
use super::replicas::Rows;
use super::*;

const STEPS: u64 = 150;

#[derive(Clone, Copy, Debug)]
struct Shape {
    witness: bool,
    replicated: bool,
}

struct Run {
    network: Network,
    random: Random,
    shape: Shape,
    rows: Rows,
    next: i32,
    /// Rows by the token of their commit.
    tokens: BTreeMap<u64, i32>,
    acknowledged: BTreeSet<i32>,
    lost: BTreeSet<i32>,
    /// Replicas that a checkpoint is on its way to: from whom, and the blocks so far.
    streams: BTreeMap<u64, (u64, CheckpointCursor, Vec<Vec<u8>>)>,
}

impl Run {
    fn new(seed: u64, shape: Shape) -> Run {
        let mut network = Network::with(|replica| PartitionConfig {
            replica,
            voters: vec![1, 2, 3],
            witness: shape.witness.then_some(3),
            timing: Timing::new(HEARTBEAT_MS, ELECTION_MS).unwrap(),
            tail_bytes_max: 3000,
            ..single(1 << 30)
        });
        let mut random = Random(seed);
        for site in network.sites.values_mut() {
            site.replicated = shape.replicated;
            (site.drift, site.offset) = (random.below(60), random.below(1 << 40));
        }
        let (rows, _) = Rows::over(&mut network);
        network.sync_all();
        network.chaos = Some(Random(!seed));
        let (tokens, acknowledged, lost) = Default::default();
        Run { network, random, shape, rows, next: 0, tokens, acknowledged, lost, streams: BTreeMap::new() }
    }

    fn up(&self) -> Vec<u64> {
        (1..=3).filter(|&replica| self.network.is_up(replica) && !self.network.sites[&replica].paused).collect()
    }

    fn insert(&mut self) {
        let Some(server) = self.network.server() else { return };
        if self.network.sites[&server].paused {
            return;
        }
        self.next += 1;
        let (id, token) = (self.next, 1000 + self.next as u64);
        let partition = self.network.at(server);
        if partition.role() != Role::Leader {
            return;
        }
        let bytes = self.rows.codec.encode(&row(id, id));
        let transaction = TransactionId(token);
        if !partition.insert(transaction, TABLE, &bytes, TOKEN).is_ok_and(|step| step.is_ready()) {
            return;
        }
        let timestamp = Timestamp(partition.newest_timestamp().0 + 1);
        match partition.propose_commit(transaction, timestamp, CommitToken(token)) {
            Ok(_) => drop(self.tokens.insert(token, id)),
            Err(error) => {
                assert!(error.why_transient().is_some(), "{error}");
                partition.rollback(transaction);
            }
        }
    }

    /// No more may be gone than the durability stands.
    fn may_crash(&mut self, replica: u64) -> bool {
        let whole = |run: &mut Run, other: u64| {
            run.network.is_up(other)
                && !run.network.at(other).is_amnesiac()
                && !run.network.at(other).is_installing()
        };
        !self.shape.replicated || (1..=3).all(|other| other == replica || whole(self, other))
    }

    fn crash(&mut self, replica: u64) {
        self.collect();
        self.end_streams(|from, to| from == replica || to == replica);
        self.network.crash(replica);
        if self.random.one_in(2) {
            self.network.announce_death(replica);
        }
    }

    fn end_streams(&mut self, ends: impl Fn(u64, u64) -> bool) {
        let ending: Vec<u64> =
            self.streams.iter().filter(|(to, (from, ..))| ends(*from, **to)).map(|(&to, _)| to).collect();
        for to in ending {
            let Some((from, cursor, _)) = self.streams.remove(&to) else { continue };
            if self.network.is_up(from) {
                self.network.at(from).unpin_log(cursor.index());
                self.network.at(from).end_checkpoint(cursor);
            }
            if self.network.is_up(to) {
                self.network.at(to).abort_install().unwrap();
            }
        }
    }

    /// Begins streams that are wanted and moves those under way by a block.
    fn stream(&mut self) {
        for from in self.up() {
            let mut wanted = self.network.at(from).outputs().wants_checkpoint.clone();
            if self.network.at(from).is_leader() && !self.network.at(from).config().is_witness() {
                // Those whose stream has ended early ask for another.
                wanted.extend(self.up().into_iter().filter(|&to| self.network.at(to).is_installing()));
            }
            for to in wanted {
                if self.streams.contains_key(&to) || !self.up().contains(&to) {
                    continue;
                }
                if self.network.at(to).begin_install().is_ok() {
                    let cursor = self.network.at(from).begin_checkpoint();
                    self.network.at(from).pin_log(cursor.index());
                    self.streams.insert(to, (from, cursor, Vec::new()));
                }
            }
        }
        let streams: Vec<u64> = self.streams.keys().copied().collect();
        for to in streams {
            let Some((from, cursor, blocks)) = self.streams.get_mut(&to) else { continue };
            let from = *from;
            let mut block = Vec::new();
            let more = self.network.at(from).next_checkpoint_block(cursor, 2000, &mut block);
            let goes_on = match more {
                Ok(true) => {
                    let taken = self.network.at(to).install_checkpoint_block(&block);
                    blocks.push(block);
                    taken.is_ok()
                }
                Ok(false) => {
                    self.network.site(to).checkpoint = std::mem::take(blocks);
                    self.network.at(to).finish_install().unwrap();
                    false
                }
                Err(_) => false,
            };
            if !goes_on {
                self.end_streams(|_, ending| ending == to);
            }
        }
    }

    fn fault(&mut self) {
        let replica = 1 + self.random.below(3);
        let up = self.network.is_up(replica);
        match self.random.below(14) {
            0 | 1 if up && self.may_crash(replica) => self.crash(replica),
            0..=3 if !up => self.network.restart(replica),
            4 => self.network.isolate(replica),
            5 => drop(self.network.cut.insert((replica, 1 + self.random.below(3)))),
            6 | 7 => self.network.heal(),
            8 if up && !self.network.sites[&replica].paused => {
                self.end_streams(|from, to| from == replica || to == replica);
                self.network.site(replica).paused = true;
            }
            8 | 9 if up && self.network.sites[&replica].paused => self.network.resume(replica),
            10 => {
                let stalls = !self.network.sites[&replica].disk_stalls;
                self.network.site(replica).disk_stalls = stalls && !self.shape.replicated;
            }
            11 => {
                if let Some(server) = self.network.server().filter(|&server| !self.network.sites[&server].paused) {
                    // Refused for the witness, and while another hand-over is under way.
                    let _ = self.network.at(server).transfer_leader(replica);
                }
            }
            // A link breaks, whatever has become of the other one, or of the line.
            12 if up && !self.network.sites[&replica].paused => {
                let other = 1 + self.random.below(3);
                self.network.at(replica).peer_lost(other).unwrap();
            }
            13 => self.network.announce_loss(replica),
            _ => {}
        }
    }

    /// What the clients have been told.
    fn collect(&mut self) {
        let Run { network, tokens, acknowledged, lost, .. } = self;
        for site in network.sites.values_mut() {
            acknowledged.extend(site.committed.drain(..).filter_map(|token| tokens.get(&token.0)));
            lost.extend(site.lost.drain(..).filter_map(|token| tokens.get(&token.0)));
        }
    }

    fn step(&mut self) {
        for _ in 0..self.random.below(3) {
            self.insert();
        }
        if self.random.one_in(3) {
            self.fault();
        }
        self.stream();
        if self.shape.replicated {
            self.network.sync_all();
        }
        let ms = HEARTBEAT_MS / 2 * (1 + self.random.below(8));
        self.network.advance(ms);
        self.network.server();
        self.collect();
    }

    fn heal(&mut self) {
        self.network.heal();
        self.network.chaos = None;
        for replica in 1..=3 {
            self.network.site(replica).disk_stalls = false;
            if !self.network.is_up(replica) {
                self.network.restart(replica);
            } else if self.network.sites[&replica].paused {
                self.network.resume(replica);
            }
        }
    }

    fn finish(&mut self) {
        self.heal();
        self.network.advance(ELECTION_MS);
        let converged = |run: &mut Run| {
            let Some(server) = run.network.server() else { return false };
            let network = &mut run.network;
            let all = (1..=3).all(|id| !network.at(id).is_installing() && !network.at(id).is_amnesiac());
            let end = run.network.at(server).last_index().0;
            all && (1..=3)
                .all(|replica| run.shape.witness && replica == 3 || run.network.at(replica).applied_index() == end)
        };
        let mut rounds = 0;
        while !converged(self) {
            rounds += 1;
            if rounds > 600 {
                for replica in 1..=3 {
                    let partition = self.network.at(replica);
                    println!(
                        "{replica}: {:?} term {} leader {:?} applied {} last {:?} first {} amnesiac {} installing {} {:?}",
                        partition.role(),
                        partition.term(),
                        partition.leader(),
                        partition.applied_index(),
                        partition.last_index(),
                        partition.first_index(),
                        partition.is_amnesiac(),
                        partition.is_installing(),
                        partition.replica_progress()
                    );
                }
                panic!("the group does not come to rest");
            }
            self.stream();
            self.network.advance(HEARTBEAT_MS);
        }
        self.collect();
    }

    fn check(&mut self) {
        let data = if self.shape.witness { 2 } else { 3 };
        let ids =
            |partition: &mut Partition| all_rows(partition).iter().map(|row| row.id).collect::<BTreeSet<i32>>();
        let held = ids(self.network.at(1));
        for replica in 2..=data {
            assert_eq!(ids(self.network.at(replica)), held, "replicas 1 and {replica} differ");
        }
        let missing: Vec<_> = self.acknowledged.difference(&held).collect();
        assert!(missing.is_empty(), "acknowledged and gone: {missing:?}");
        let ghosts: Vec<_> = self.lost.intersection(&held).collect();
        assert!(ghosts.is_empty(), "reported lost and there: {ghosts:?}");
        for replica in 1..=data {
            let activity = Activity { old_versions: 0, ..self.network.at(replica).activity() };
            assert_eq!(activity, Activity::default(), "at {replica}");
            let bytes = self.network.at(replica).usage(TABLE).unwrap().bytes;
            assert_eq!(self.network.at(replica).config().budget.used_bytes(), bytes, "at {replica}");
        }
    }
}

/// Prints the seed if the run fails.
struct Seed(u64, Shape);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("seed {} of {:?}", self.0, self.1);
        }
    }
}

fn run_seeds(shape: Shape) {
    let seeds = std::env::var("SHOAL_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(60);
    let first = std::env::var("SHOAL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let mut acknowledged = 0;
    for seed in first..first + seeds {
        let _seed = Seed(seed, shape);
        let mut run = Run::new(seed, shape);
        for _ in 0..STEPS {
            run.step();
        }
        run.finish();
        run.check();
        acknowledged += run.acknowledged.len();
    }
    assert!(acknowledged as u64 > seeds, "hardly anything was acknowledged");
}

#[test]
fn three_data_replicas_lose_nothing() {
    run_seeds(Shape { witness: false, replicated: false });
}

#[test]
fn two_data_replicas_and_a_witness_lose_nothing() {
    run_seeds(Shape { witness: true, replicated: false });
}

#[test]
fn three_data_replicas_that_acknowledge_from_memory_lose_nothing_with_one_of_them() {
    run_seeds(Shape { witness: false, replicated: true });
}

#[test]
fn two_data_replicas_and_a_witness_that_acknowledge_from_memory_lose_nothing_with_one_of_them() {
    run_seeds(Shape { witness: true, replicated: true });
}
