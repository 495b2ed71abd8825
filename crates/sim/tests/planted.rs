//! The checkers are checked: each bug that is planted is found within 500 seeds.

use shoal_planted::{Bug, plant};
use shoal_sim::{Part, run_many};

const SEEDS: u64 = 500;

#[test]
fn every_planted_bug_is_found() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut overlooked = Vec::new();
    for &bug in Bug::ALL {
        let part = if bug.is_in_log() { Part::Log } else { Part::Cluster };
        let summary = run_many(&[part], 0, SEEDS, threads, 1, || plant(Some(bug)), |_, _| {});
        match summary.failures.first() {
            Some((seed, _, error)) => println!("{bug:?}: seed {seed}: {error}"),
            None => overlooked.push(bug),
        }
    }
    assert!(overlooked.is_empty(), "not found in {SEEDS} seeds: {overlooked:?}");
}
