//! Faults at random on a cluster of local processes, for as long as wanted; every round ends with the judge.
//!
//! `cargo run -p shoal-system-tests --example soak -- --minutes 60 --seed 7`: a round is a cluster, clients on all nodes with
//! sessions, and a dozen faults (kill, pause, kill while another starts, kill of all), each chosen and timed by the seed.
//! What clients and the network do in between is not repeated by a seed. Ends with an error at the first violation.

use std::time::{Duration, Instant};

use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::transfer::{Plan, Random, Workload, check};

const FAULTS_PER_ROUND: u64 = 12;
const SHAPES: [&[&str]; 4] = [
    &["--data-nodes", "2", "--sql-nodes", "1"],
    &["--data-nodes", "2", "--sql-nodes", "1", "--set", "CommitDurability=replicated"],
    &["--data-nodes", "3", "--replicas", "3"],
    &["--data-nodes", "2", "--mgm-nodes", "3"],
];

struct Wanted {
    seed: u64,
    minutes: f64,
}

fn wanted() -> Result<Wanted, String> {
    let mut wanted = Wanted { seed: Plan::new().seed, minutes: 5.0 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let bad = || format!("{name} {value}: a number is wanted");
        match name.as_str() {
            "--seed" => wanted.seed = value.parse().map_err(|_| bad())?,
            "--minutes" => wanted.minutes = value.parse().map_err(|_| bad())?,
            _ => return Err(format!("{name} is unknown; there are --seed N and --minutes N")),
        }
    }
    Ok(wanted)
}

fn main() -> Result<(), String> {
    let wanted = wanted()?;
    let started = Instant::now();
    let duration = Duration::from_secs_f64(wanted.minutes * 60.0);
    let mut round = 0;
    while started.elapsed() < duration {
        let seed = wanted.seed.wrapping_add(round);
        println!("round {round}, seed {seed}, after {:.1} minutes", started.elapsed().as_secs_f64() / 60.0);
        run_round(seed);
        round += 1;
    }
    println!("{round} rounds, nothing lost, halved or invented");
    Ok(())
}

fn run_round(seed: u64) {
    let mut random = Random::new(seed, 0);
    let shape = SHAPES[random.below(SHAPES.len() as u64) as usize];
    // Two nodes at once may cost the newest commits unless they are on disk before they are acknowledged.
    let is_on_disk = !shape.contains(&"CommitDurability=replicated");
    println!("  shoal dev {}", shape.join(" "));
    let mut cluster = DevCluster::start(shape);
    let workload = Workload::start(&cluster, Plan { seed, threads: 6, ..Plan::new() });
    workload.wait_for_commits_everywhere(20);
    for _ in 0..FAULTS_PER_ROUND {
        let nodes = cluster.all();
        let one = &nodes[random.below(nodes.len() as u64) as usize];
        let other = &nodes[random.below(nodes.len() as u64) as usize];
        match random.below(if is_on_disk { 10 } else { 6 }) {
            0..4 => {
                println!("  node {} ({}) is killed", one.id, one.roles);
                cluster.kill_and_wait(one.id);
            }
            4..6 => {
                let commits = 1 + random.below(80);
                println!("  node {} ({}) is paused for {commits} commits", one.id, one.roles);
                cluster.pause(one.id);
                workload.wait_for_commits_of_others(one.id, commits);
                cluster.resume(one.id);
            }
            6..9 => {
                println!("  nodes {} and {} are killed one after the other", one.id, other.id);
                cluster.kill(one.id);
                if other.id != one.id {
                    workload.wait_for_commits_of_others(one.id, random.below(10));
                    cluster.kill(other.id);
                    cluster.wait_until_back(other);
                }
                cluster.wait_until_back(one);
            }
            _ => {
                println!("  all nodes are killed");
                cluster.kill_all_and_wait();
            }
        }
        workload.wait_for_commits_everywhere(1 + random.below(20));
    }
    check(&cluster, &workload.finish());
    assert!(cluster.stop().success(), "the cluster did not stop in an orderly way");
}
