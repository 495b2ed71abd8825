//! The side-by-side benchmark: MariaDB, Shoal and the canned responder under the same sysbench commands.
//!
//! Method: every server is started by the benchmark in a temporary folder of its own. For each workload and
//! thread count the servers take turns (A B A B ...), so that a slow minute of the machine hits all of them, and
//! medians are compared. While one server is measured the others are paused with SIGSTOP: their background work
//! cannot disturb it. Server CPU is the CPU clock of the server's process over the run.
//!
//! A server that dies or a workload that fails is reported in its row; the rest goes on.

mod contestant;
mod options;
mod report;
mod session;
mod workload;

pub use options::{Options, Who};

use std::io;

use crate::measure::interrupt;

/// Runs the comparison and writes its results.
pub fn run(options: &Options) -> io::Result<()> {
    interrupt::install()?;
    let plan = options.plan()?;
    let shoal = plan.takes_part(Who::Shoal).then_some(plan.shoal_binary.as_path());
    let facts = crate::machine::machine(&plan.work_dir, shoal)?;
    let outcome = session::run(&plan)?;
    let report = report::Report { plan: &plan, facts: &facts, outcome: &outcome };
    report.write()?;
    println!("{}", report.markdown());
    if interrupt::requested() {
        return Err(io::Error::other("interrupted; the results are incomplete"));
    }
    Ok(())
}
