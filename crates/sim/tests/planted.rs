//! The checkers are checked: each bug that is planted is found within 500 seeds.

use shoal_planted::{Bug, plant};
use shoal_sim::run_many;

const SEEDS: u64 = 500;

fn is_found(bug: Bug) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let summary = run_many(0, SEEDS, threads, 1, || plant(Some(bug)), |_, _| {});
    let Some((seed, error)) = summary.failures.first() else { panic!("{bug:?} was not found in {SEEDS} seeds") };
    println!("{bug:?}: seed {seed}: {error}");
}

#[test]
fn commits_that_are_acknowledged_before_a_majority_has_them() {
    is_found(Bug::AcknowledgeBeforeMajority);
}

#[test]
fn a_lease_that_is_longer_than_the_election_timeout() {
    is_found(Bug::LeaseLongerThanElection);
}

#[test]
fn a_participant_that_guesses_abort() {
    is_found(Bug::GuessAbort);
}

#[test]
fn a_replica_that_votes_after_it_has_lost_the_end_of_its_log() {
    is_found(Bug::VoteAfterLostTail);
}

#[test]
fn a_backup_that_answers_reads() {
    is_found(Bug::BackupServes);
}

#[test]
fn entries_that_are_applied_again_after_a_restart() {
    is_found(Bug::ApplyTwiceAfterRestart);
}
