//! Random transactions, orders and faults. A seed is a whole run.

use crate::world::{ACCOUNTS, Counters, World};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// Money goes from some accounts to others, in up to four partitions.
fn random_work(random: &mut Random, partitions: usize) -> Vec<(usize, i32, i32)> {
    let mut work: Vec<(usize, i32, i32)> = Vec::new();
    let mut owed = 0;
    for _ in 0..2 + random.below(3) {
        let place = (random.below(partitions), random.below(ACCOUNTS as usize) as i32);
        if work.iter().any(|&(partition, account, _)| (partition, account) == place) {
            continue;
        }
        let amount = random.below(7) as i32 - 3;
        owed += amount;
        work.push((place.0, place.1, amount));
    }
    work[0].2 -= owed;
    work
}

fn run(seed: u64) -> Counters {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (partitions, clients) = (2 + random.below(3), 1 + random.below(4));
    let mut world = World::new(partitions, clients, random.below(400) as u64);
    let fault_rate = [8, 20, 60, 100_000][random.below(4)];
    let restart_rate = [1, 4, 30][random.below(3)];
    let clock_rate = [5, 40, 100_000][random.below(3)];
    for _ in 0..300 {
        let client = random.below(clients);
        if world.is_idle(client) {
            world.begin(client, random_work(&mut random, partitions));
        }
        let moves = world.moves();
        if !moves.is_empty() {
            world.make(moves[random.below(moves.len())]);
        }
        if world.readers() < 3 && random.one_in(10) {
            world.begin_read();
        }
        let server = random.below(partitions);
        if random.one_in(4) {
            world.servers[server].go_on_with_checkpoint();
        }
        if random.one_in(10) {
            world.collect_garbage(server);
        }
        if random.one_in(12) {
            world.take_over(server);
            world.ask_again(client);
        }
        if random.one_in(clock_rate) {
            world.servers[server].clock += random.below(200) as u64;
        }
        if random.one_in(fault_rate) {
            let message = world.messages.len().checked_sub(1).map(|last| random.below(last + 1));
            match (random.below(5), message) {
                (0, _) if random.one_in(restart_rate) => world.restart(server),
                (1, _) => world.kill(client),
                (2, _) if random.one_in(2) => world.give_up(client),
                (3, Some(message)) => world.lose(message),
                (4, Some(message)) => world.time_out(message),
                _ => {}
            }
        }
    }
    world.heal();
    world.check_end();
    world.counters
}

#[test]
fn random_runs_keep_the_money_and_their_word() {
    let mut counters = Counters::default();
    for seed in 1..=3000 {
        let outcome = std::panic::catch_unwind(|| run(seed));
        match outcome {
            Ok(run) => counters.add(run),
            Err(panic) => {
                println!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{counters:?}");
    let Counters { committed, not_committed, unknown, snapshots, snapshots_waited, .. } = counters;
    assert!(committed > 10_000 && not_committed > 1000 && unknown > 100, "{counters:?}");
    assert!(snapshots > 10_000 && snapshots_waited > 1000, "{counters:?}");
    assert!(counters.decided_late > 300 && counters.asked_home > 1000, "{counters:?}");
    assert!(counters.restarts_with_prepared > 100 && counters.installed_checkpoints > 100, "{counters:?}");
}
