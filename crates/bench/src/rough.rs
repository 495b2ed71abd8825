//! Loads that friendly benchmarks do not have: one hot row, skewed keys, statements over millions of rows, thousands of
//! tables, large values, clients that vanish, definitions beside writes, long snapshots.
//!
//! Method: each load starts its servers anew in temporary folders and gives them turns (A B A B ...); those that are not
//! measured are paused. Every load checks its result (sums, counts, acknowledged increments) besides its figures. A
//! load that fails is reported in its row; the rest goes on. Sessions are driven by [`driver`], one thread for all.

pub mod driver;
mod loads;
mod memory;
mod options;
mod report;
mod rounds;
mod row;
mod target;

pub use options::Options;

use std::io;
use std::time::Instant;

use crate::measure::interrupt;
use crate::measure::progress::Progress;

use options::Plan;
use row::Row;

/// What every load is given.
pub struct Session<'a> {
    plan: &'a Plan,
    progress: &'a Progress,
    rows: Vec<Row>,
}

impl Session<'_> {
    /// A row is complete.
    fn push(&mut self, row: Row) {
        self.progress.say(&row.summary());
        self.rows.push(row);
    }
}

/// Runs the loads and writes their results.
pub fn run(options: &Options) -> io::Result<()> {
    interrupt::install()?;
    let Some(plan) = options.plan()? else { return Ok(()) };
    let facts = crate::machine::machine(&plan.work_dir, Some(&plan.shoal_binary))?;
    let started = Instant::now();
    let progress = Progress::new(plan.loads.len() as u64);
    let mut session = Session { plan: &plan, progress: &progress, rows: Vec::new() };
    for load in &plan.loads {
        if interrupt::requested() {
            break;
        }
        progress.doing(load.name);
        if let Err(error) = (load.run)(&mut session) {
            let mut row = Row::new(load.name, "");
            row.cell_mut(target::Who::Shoal).failure = Some(error.to_string());
            session.push(row);
        }
        progress.step();
    }
    progress.end();
    let report = report::Report { plan: &plan, facts: &facts, rows: &session.rows, took: started.elapsed() };
    report.write()?;
    println!("{}", report.markdown());
    match interrupt::requested() {
        true => Err(io::Error::other("interrupted; the results are incomplete")),
        false => Ok(()),
    }
}
