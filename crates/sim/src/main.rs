//! `shoal-sim`: runs seeds and tells which of them fail; or one seed, with its story.

use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use shoal_sim::{Trace, run, run_many};

/// Simulates the cluster under faults, one run a seed. The same seed gives the same run.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Run this seed alone.
    #[arg(long, conflicts_with_all = ["seeds", "first"])]
    seed: Option<u64>,
    /// Tell everything that happens in the run.
    #[arg(long, requires = "seed")]
    trace: bool,
    /// How many seeds to run.
    #[arg(long, default_value_t = 2000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Threads to run them on; all cores by default.
    #[arg(long)]
    threads: Option<usize>,
    /// Stop after so many failures.
    #[arg(long, default_value_t = 10)]
    failures: usize,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match options.seed {
        Some(seed) => run_one(seed, options.trace),
        None => run_all(&options),
    }
}

fn run_one(seed: u64, trace: bool) -> ExitCode {
    let report = run(seed, if trace { Trace::Print } else { Trace::Off });
    print!("{}", report.sights);
    println!("seed {seed}: {} ms were simulated, with {} transactions", report.simulated_ms, report.transactions);
    match report.outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("seed {seed} fails: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_all(options: &Options) -> ExitCode {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let bar = ProgressBar::new(options.seeds);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} seeds, {msg}, {eta} left") {
        bar.set_style(style);
    }
    let progress = |seeds, failures| {
        bar.set_message(format!("{failures} failed"));
        bar.set_position(seeds);
    };
    let threads = options.threads.unwrap_or(cores);
    let summary = run_many(options.first, options.seeds, threads, options.failures, || {}, progress);
    bar.finish_and_clear();
    print!("{}", summary.sights);
    println!(
        "{} seeds, {} s simulated, {} transactions, {} seeds failed",
        summary.seeds,
        summary.simulated_ms / 1000,
        summary.transactions,
        summary.failures.len()
    );
    for (seed, error) in &summary.failures {
        println!("seed {seed} fails: {error}\n  run it alone: shoal-sim --seed {seed} --trace");
    }
    match summary.failures.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
