//! Random SQL on one process: the server's answers agree with each other. `make differential` runs it long, and beside MariaDB.
//!
//! `SHOAL_TEST_SEED` runs one seed again.

use shoal_system_tests::TestServer;
use shoal_system_tests::random_sql::{Oracles, Report, World, run_seed};

const SEEDS: u64 = 4;
const STATEMENTS: usize = 150;

#[test]
fn a_server_agrees_with_itself() {
    let server = TestServer::start();
    let mut world = World::alone(server.port());
    let mut report = Report::default();
    let seeds = match std::env::var("SHOAL_TEST_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..=seed,
        None => 1..=SEEDS,
    };
    for seed in seeds {
        run_seed(&mut world, Oracles::Own, seed, STATEMENTS, &mut report);
    }
    assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
    assert!(report.undecided * 3 < report.statements, "errors hide too much: {}", report.summary());
}
