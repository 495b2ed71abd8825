//! `shoal bench kv`: rows by key through every door: HandlerSocket and SQL, Shoal's and MariaDB's, the native client, memcached, Redis, and an
//! echo server as the limit.
//!
//! All servers hold the same rows and are measured by one client (`load`; `native` for the native one), in turn: who is not measured is
//! stopped meanwhile. Every reply of a run is counted, and the first of every connection is compared with the row.

mod contestant;
mod door;
pub(crate) mod echo;
mod load;
mod native;
mod report;
mod row;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::measure::progress::Progress;
use crate::measure::{facts, interrupt};
use clap::Args;

use self::contestant::{Contestant, Who};
use self::load::Job;
use self::row::Row;
use crate::perf::outputs::Outputs;
use crate::perf::told;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Measure these operations only: read, update, insert, "read by SQL"
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Measure these shapes of load only: connections x requests that each sends at once, as in 8x1
    #[arg(long, value_name = "CxD", value_delimiter = ',')]
    load: Vec<String>,

    /// Runs of each server in each row; the median counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: u32,

    /// How long a run is
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,

    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(100..=900_000))]
    rows: u32,

    /// One run of a second each
    #[arg(long)]
    quick: bool,

    /// Where the servers' temporary folders are made
    #[arg(long, value_name = "FOLDER")]
    work_dir: Option<PathBuf>,

    #[command(flatten)]
    outputs: Outputs,
}

/// Measures and writes the report.
///
/// # Errors
/// Shoal cannot be started, or the report not written. Others that cannot be started are left out, and named.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let (text, outputs) = measured(options).map_err(told)?;
    print!("{text}");
    options.outputs.write(&outputs.0, || outputs.1)
}

/// The table for the terminal; the figures, and the page.
fn measured(options: &Options) -> io::Result<(String, (serde_json::Value, String))> {
    interrupt::install()?;
    let work_dir = options.work_dir.clone().unwrap_or_else(std::env::temp_dir);
    let shoal = std::env::current_exe()?;
    let own = shoal.to_string_lossy();
    let programs =
        [("MariaDB", "mariadbd"), ("memcached", "memcached"), ("Redis", "redis-server"), ("Shoal", &own)];
    let facts = facts::gather(&work_dir, &programs)?;
    let rows = row::rows();
    check_names(&options.only, rows.iter().map(|row| row.operation.to_owned()))?;
    check_names(&options.load, rows.iter().map(Row::load))?;
    let is_wanted = |row: &Row| {
        (options.only.is_empty() || options.only.iter().any(|only| only == row.operation))
            && (options.load.is_empty() || options.load.contains(&row.load()))
    };
    let mut rows: Vec<Row> = rows.into_iter().filter(is_wanted).collect();
    let (runs, time) =
        if options.quick { (1, 1.0) } else { (options.runs.max(1), options.seconds.clamp(0.01, 600.0)) };
    let steps: u64 = rows.iter().map(|row| row.cells.len() as u64 * u64::from(runs)).sum();
    let progress = Progress::new(steps);
    let (mut contestants, mut failures) = (Vec::new(), Vec::new());
    for who in Who::ALL {
        if !rows.iter().any(|row| row.cells.iter().any(|cell| cell.lane.who == who)) {
            continue;
        }
        progress.doing(format!("{}: start and load", who.name()));
        match Contestant::start(who, &shoal, &work_dir, options.rows) {
            Ok(contestant) => contestants.push(contestant),
            Err(error) if who.is_own() => return Err(error),
            Err(error) => failures.push(format!("{} is not available: {error}", who.name())),
        }
    }
    let mut generation = 0;
    for row in &mut rows {
        for _ in 0..runs {
            generation += 1;
            let job = Shape { rows: options.rows, time: Duration::from_secs_f64(time), generation };
            measure(row, &job, &mut contestants, &progress)?;
        }
        progress.say(&report::line(row));
    }
    progress.end();
    drop(contestants);
    let report = report::Report { facts: &facts, rows: &rows, failures: &failures, runs, seconds: time };
    Ok((report.markdown(), (report.json(), report.html())))
}

/// # Errors
/// A name is none of the known ones; they are named.
fn check_names(named: &[String], known: impl Iterator<Item = String>) -> io::Result<()> {
    let known: BTreeSet<String> = known.collect();
    match named.iter().find(|name| !known.contains(*name)) {
        None => Ok(()),
        Some(name) => {
            let known: Vec<String> = known.into_iter().collect();
            Err(io::Error::other(format!("there is no {name}; there are {}", known.join(", "))))
        }
    }
}

/// What the runs of a row have in common.
struct Shape {
    rows: u32,
    time: Duration,
    generation: u32,
}

/// One run of every lane of a row.
fn measure(row: &mut Row, shape: &Shape, contestants: &mut [Contestant], progress: &Progress) -> io::Result<()> {
    let load = row.load();
    for cell in &mut row.cells {
        progress.step();
        if cell.failure.is_some() || interrupt::requested() {
            continue;
        }
        progress.doing(format!("{} {load} {}", row.operation, cell.lane.name()));
        let mut active = None;
        for contestant in contestants.iter_mut() {
            let is_active = contestant.who == cell.lane.who;
            contestant.set_paused(!is_active)?;
            if is_active {
                active = Some(&*contestant);
            }
        }
        let Some(contestant) = active else { continue };
        let job = Job {
            door: cell.lane.door,
            port: contestant.port(cell.lane.door),
            secret: contestant.secret(),
            connections: row.connections,
            depth: row.depth,
            rows: shape.rows,
            time: shape.time,
            generation: shape.generation,
        };
        let run = match contestant.management_address() {
            Some(address) => native::run(address, &job),
            None => load::run(&job),
        };
        match run {
            Ok(figures) => cell.runs.push(figures),
            Err(error) => cell.failure = Some(error.to_string()),
        }
    }
    Ok(())
}
