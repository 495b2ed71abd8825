//! Faults at random on a cluster of local processes, for as long as wanted; every round ends with the judge.
//!
//! `cargo run -p shoal-system-tests --example soak -- --minutes 60 --seed 7`: a round is a cluster, each node of which is a host of
//! its own (a network namespace), clients on all nodes with sessions, somebody who defines tables and indexes meanwhile, and a dozen
//! faults, each chosen and timed by the seed. What clients and the network do in between is not repeated by a seed. Ends with
//! an error at the first violation, else with a table of what was done and how long nothing could be committed.

mod faults;
mod report;
mod round;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use shoal_system_tests::transfer::Plan;

use faults::Kind;
use report::Report;

const HELP: &str = "\
Breaks a cluster of local processes at random and judges what its clients were told.

  --minutes N   no new round after so many minutes (5)
  --faults N    no new round after so many faults
  --seed N      of the first round; round n has the n-th seed after it
  --only KINDS  faults of these kinds only, with commas between them; see below
  --report PATH writes the table as Markdown

Kinds of faults: ";

struct Wanted {
    seed: u64,
    minutes: f64,
    faults: u64,
    only: Vec<Kind>,
    report: Option<PathBuf>,
}

fn wanted() -> Result<Wanted, String> {
    let mut wanted = Wanted {
        seed: Plan::new().seed,
        minutes: 5.0,
        faults: u64::MAX,
        only: Kind::all().collect(),
        report: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--help" {
            let names: Vec<&str> = Kind::all().map(Kind::name).collect();
            println!("{HELP}{}", names.join(", "));
            std::process::exit(0);
        }
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let bad = || format!("{name} {value}: a number is wanted");
        match name.as_str() {
            "--seed" => wanted.seed = value.parse().map_err(|_| bad())?,
            "--minutes" => wanted.minutes = value.parse().map_err(|_| bad())?,
            "--faults" => wanted.faults = value.parse().map_err(|_| bad())?,
            "--report" => wanted.report = Some(value.into()),
            "--only" => wanted.only = value.split(',').map(Kind::parse).collect::<Result<_, _>>()?,
            _ => return Err(format!("{name} is unknown; --help lists what there is")),
        }
    }
    Ok(wanted)
}

fn main() -> Result<(), String> {
    let wanted = wanted()?;
    let started = Instant::now();
    let duration = Duration::from_secs_f64(wanted.minutes * 60.0);
    let mut report = Report::default();
    while started.elapsed() < duration && report.faults() < wanted.faults {
        let seed = wanted.seed.wrapping_add(report.rounds);
        println!(
            "round {}, seed {seed}, after {:.1} minutes and {} faults",
            report.rounds,
            started.elapsed().as_secs_f64() / 60.0,
            report.faults()
        );
        round::run(seed, &wanted.only, &mut report);
        report.rounds += 1;
        if let Some(path) = &wanted.report {
            std::fs::write(path, report.markdown()).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    println!("{}", report.markdown());
    Ok(())
}
