//! The benchmark of a cluster: two data nodes and a management node as local processes.
//!
//! - **throughput**: sysbench against Galera, an unreplicated MariaDB and Shoal in turn (A B A B ...), medians; the other
//!   servers are paused meanwhile, except Shoal's, whose leases and heartbeats a pause would break. Figures that cannot
//!   be measured here (NDB) are constants and say so.
//! - **faults**: nodes are killed and paused while clients count what they were promised; see [`faults`].
//! - **rejoin**: a node comes back under load with its directory and without; see [`rejoin`].
//!
//! A server that does not start, or dies, is reported in its rows; the rest goes on. Every wait has a limit.

mod clients;
mod contestant;
mod faults;
pub(crate) mod galera;
mod management;
pub(crate) mod nodes;
mod options;
mod rejoin;
mod report;
mod throughput;

pub use options::Options;

use std::io;
use std::time::{Duration, Instant};

use crate::measure::interrupt;
use crate::measure::progress::Progress;
use options::Part;

/// Everything that was measured.
#[derive(Default)]
struct Outcome {
    rows: Vec<throughput::Row>,
    faults: Vec<faults::Series>,
    rejoins: Vec<rejoin::Rejoin>,
    /// What could not be measured, and why.
    failures: Vec<String>,
    took: Duration,
}

/// Runs the benchmark and writes its results.
pub fn run(options: &Options) -> io::Result<()> {
    interrupt::install()?;
    let plan = options.plan()?;
    let facts = crate::machine::machine(&plan.work_dir, Some(&plan.shoal_binary))?;
    let started = Instant::now();
    let progress = Progress::new(throughput::steps(&plan) + faults::steps(&plan) + rejoin::steps(&plan));
    let mut outcome = Outcome::default();
    throughput::measure(&plan, &progress, &mut outcome);
    faults::measure(&plan, &progress, &mut outcome);
    if plan.takes_part(Part::Rejoin) {
        rejoin::measure(&plan, &progress, &mut outcome);
    }
    progress.end();
    outcome.took = started.elapsed();
    let report = report::Report { plan: &plan, facts: &facts, outcome: &outcome };
    report.write()?;
    println!("{}", report.markdown());
    match interrupt::requested() {
        true => Err(io::Error::other("interrupted; the results are incomplete")),
        false => Ok(()),
    }
}
