//! The order of the measurements: who runs what when.

use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use shoal_testkit::server::tail;

use super::contestant::{Contestant, Footprint, Run};
use super::options::{Plan, Who};
use super::workload::Workload;
use crate::measure::progress::Progress;
use crate::measure::{interrupt, results};

/// After loading, background work gets this long before anything is measured.
const SETTLE: Duration = Duration::from_secs(5);

/// Everything that was measured.
pub struct Outcome {
    pub footprints: Vec<(Who, Result<Footprint, String>)>,
    pub rows: Vec<Row>,
    pub took: Duration,
}

/// One workload with one number of threads.
pub struct Row {
    pub workload: &'static Workload,
    pub threads: u32,
    pub cells: BTreeMap<&'static str, Cell>,
    /// What Shoal reached with the workload's fewest threads.
    pub first_rate: Option<f64>,
}

/// The runs of one server in one row.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub runs: Vec<Run>,
    pub failure: Option<String>,
}

pub fn run(plan: &Plan) -> io::Result<Outcome> {
    let started = Instant::now();
    let progress = Progress::new(steps(plan));
    let mut contestants = Vec::new();
    let mut footprints = Vec::new();
    for &who in &plan.servers {
        progress.doing(format!("{}: start and load", who.name()));
        let loaded = start_and_load(who, plan).map(|(contestant, footprint)| {
            contestants.push(contestant);
            footprint
        });
        if let Err(error) = &loaded {
            progress.say(&format!("{}: {error}", who.name()));
        }
        footprints.push((who, loaded.map_err(|error| error.to_string())));
    }
    if !interrupt::requested() {
        thread::sleep(if plan.quick { SETTLE / 5 } else { SETTLE });
    }
    let mut rows = Vec::new();
    for &workload in &plan.workloads {
        let mut first_rate = None;
        for &threads in workload.threads(&plan.threads) {
            if interrupt::requested() {
                break;
            }
            let mut row = measure_row(workload, threads, plan, &mut contestants, &progress)?;
            let own = row.cells.get(Who::Shoal.name());
            first_rate = first_rate.or(own.and_then(|cell| cell.median(|run| run.rate(workload))));
            row.first_rate = first_rate;
            rows.push(row);
        }
    }
    progress.end();
    Ok(Outcome { footprints, rows, took: started.elapsed() })
}

fn start_and_load(who: Who, plan: &Plan) -> io::Result<(Contestant, Footprint)> {
    let mut contestant = Contestant::start(who, plan)?;
    let footprint = contestant.load(plan)?;
    Ok((contestant, footprint))
}

fn measure_row(
    workload: &'static Workload,
    threads: u32,
    plan: &Plan,
    contestants: &mut [Contestant],
    progress: &Progress,
) -> io::Result<Row> {
    let mut row = Row { workload, threads, cells: BTreeMap::new(), first_rate: None };
    for round in 0..plan.runs {
        for active in 0..contestants.len() {
            let who = contestants[active].who;
            if who == Who::Canned && !workload.has_ceiling() {
                continue;
            }
            let cell = row.cells.entry(who.name()).or_default();
            progress.step();
            if cell.failure.is_some() || interrupt::requested() {
                continue;
            }
            progress.doing(format!("{} x{threads} {} {}/{}", workload.name, who.name(), round + 1, plan.runs));
            give_the_floor_to(active, contestants, plan)?;
            match measure(&mut contestants[active], workload, threads, plan) {
                Ok(run) => cell.runs.push(run),
                Err(failure) => cell.failure = Some(failure),
            }
        }
    }
    progress.say(&summary(&row));
    Ok(row)
}

fn give_the_floor_to(active: usize, contestants: &mut [Contestant], plan: &Plan) -> io::Result<()> {
    for (number, contestant) in contestants.iter_mut().enumerate() {
        match number == active || !plan.pause {
            true => contestant.resume()?,
            false => contestant.pause()?,
        }
    }
    Ok(())
}

fn measure(contestant: &mut Contestant, workload: &Workload, threads: u32, plan: &Plan) -> Result<Run, String> {
    let measured = contestant.revive(plan).and_then(|()| contestant.measure(workload, threads, plan));
    match measured {
        Ok(run) => Ok(run),
        Err(error) if contestant.is_running() => Err(error.to_string()),
        Err(error) => {
            let log = tail(&contestant.log(), 20);
            Err(format!("the server died: {error}; its log ends: {log}"))
        }
    }
}

fn summary(row: &Row) -> String {
    let mut text = format!("{:<22} x{:<3}", row.workload.name, row.threads);
    for (who, cell) in &row.cells {
        let rate = cell.median(|run| run.rate(row.workload));
        match (&cell.failure, rate) {
            (Some(failure), _) => text.push_str(&format!("  {who}: {failure}")),
            (None, Some(rate)) => text.push_str(&format!("  {who} {rate:.0}/s")),
            (None, None) => {}
        }
    }
    text
}

impl Run {
    /// Queries, or rows where these count, a second.
    pub fn rate(&self, workload: &Workload) -> f64 {
        match workload.counts_rows() {
            true => self.figures.events as f64 / self.figures.wall_seconds,
            false => self.figures.queries as f64 / self.figures.seconds,
        }
    }

    /// Server CPU of one query or row.
    pub fn cpu_micros(&self, workload: &Workload) -> f64 {
        let work = match workload.counts_rows() {
            true => self.figures.events,
            false => self.figures.queries,
        };
        self.server_cpu.as_secs_f64() * 1e6 / work.max(1) as f64
    }
}

impl Cell {
    /// The median of a figure over the runs.
    pub fn median(&self, figure: impl Fn(&Run) -> f64) -> Option<f64> {
        results::median(self.runs.iter().map(figure))
    }
}

/// Runs, over all.
fn steps(plan: &Plan) -> u64 {
    let mut steps = 0;
    for workload in &plan.workloads {
        let part = |who: &&Who| **who != Who::Canned || workload.has_ceiling();
        steps += plan.servers.iter().filter(part).count() * workload.threads(&plan.threads).len();
    }
    steps as u64 * u64::from(plan.runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysbench::Figures;

    fn run(queries: u64) -> Run {
        Run {
            figures: Figures { queries, seconds: 2.0, ..Figures::default() },
            server_cpu: Duration::from_millis(1),
        }
    }

    #[test]
    fn the_median_ignores_one_slow_run() {
        let workload = &crate::compare::workload::ALL[0];
        let cell = Cell { runs: vec![run(1000), run(2), run(1200)], failure: None };
        assert_eq!(cell.median(|run| run.rate(workload)), Some(500.0));
        assert_eq!(cell.median(|run| run.cpu_micros(workload)), Some(1.0));
        assert_eq!(Cell::default().median(|run| run.rate(workload)), None);
    }
}
