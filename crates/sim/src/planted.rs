//! Planted bugs, and after how many seeds they are found.

use shoal_planted::{Bug, plant};

use crate::many::{Part, run_many};

/// How a planted bug was found.
pub struct Found {
    /// After so many seeds.
    pub seeds: u64,
    /// What the checker said.
    pub error: String,
}

/// The part of the simulator that runs the code with the bug.
fn part_of(bug: Bug) -> Part {
    match bug.is_in_log() {
        true => Part::Log,
        false => Part::Cluster,
    }
}

/// Plants a bug and runs seeds until it is found.
pub fn find_planted(bug: Bug, seeds_max: u64, threads: usize) -> Option<Found> {
    let summary = run_many(&[part_of(bug)], 0, seeds_max, threads, 1, || plant(Some(bug)), |_, _| {});
    let (seed, _, error) = summary.failures.into_iter().next()?;
    Some(Found { seeds: seed + 1, error })
}

/// Looks for the planted bugs whose names contain `name` and prints a table. True if all were found.
pub fn print_planted(name: &str, seeds_max: u64, threads: usize) -> bool {
    const TEXT_MAX: usize = 110;
    println!("| bug | part | seeds | found by |\n|---|---|---:|---|");
    let mut all_found = true;
    for &bug in Bug::ALL.iter().filter(|bug| format!("{bug:?}").contains(name)) {
        let part = bug.part();
        match find_planted(bug, seeds_max, threads) {
            Some(found) => {
                let text = found.error.lines().next().unwrap_or_default();
                let text: String = text.chars().take(TEXT_MAX).collect();
                println!("| {bug:?} | {part} | {} | {text} |", found.seeds);
            }
            None => {
                all_found = false;
                println!("| {bug:?} | {part} | - | nothing in {seeds_max} seeds |");
            }
        }
    }
    all_found
}
