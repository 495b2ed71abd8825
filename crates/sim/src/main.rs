//! `shoal-sim`: runs seeds and tells which of them fail; or one seed, with its story.

use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use shoal_sim::{Part, Trace, run_many};

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
    /// Run this part alone: cluster or log.
    #[arg(long, value_parser = part_of)]
    only: Option<Part>,
    /// Look for the bugs that are planted, or for the one of this name, instead of unknown ones.
    #[cfg(feature = "planted-bugs")]
    #[arg(long, value_name = "BUG", num_args = 0..=1, default_missing_value = "")]
    planted: Option<String>,
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

fn part_of(name: &str) -> Result<Part, String> {
    let part = Part::ALL.into_iter().find(|part| part.name() == name);
    part.ok_or_else(|| "a part is `cluster` or `log`".to_owned())
}

fn main() -> ExitCode {
    let options = Options::parse();
    let parts = options.only.map_or(Part::ALL.to_vec(), |part| vec![part]);
    #[cfg(feature = "planted-bugs")]
    if let Some(name) = &options.planted {
        let found = shoal_sim::print_planted(name, options.seeds, threads(&options));
        return if found { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    match options.seed {
        Some(seed) => {
            let codes: Vec<bool> = parts.into_iter().map(|part| run_one(part, seed, options.trace)).collect();
            if codes.into_iter().all(|ok| ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        None => run_all(&options, &parts),
    }
}

fn threads(options: &Options) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    options.threads.unwrap_or(cores)
}

fn run_one(part: Part, seed: u64, trace: bool) -> bool {
    let report = part.run(seed, if trace { Trace::Print } else { Trace::Off });
    print!("{}", report.sights);
    let name = part.name();
    println!(
        "{name}, seed {seed}: {} ms were simulated, with {} transactions",
        report.simulated_ms, report.transactions
    );
    match report.outcome {
        Ok(()) => true,
        Err(error) => {
            println!("{name}, seed {seed} fails: {error}");
            false
        }
    }
}

fn run_all(options: &Options, parts: &[Part]) -> ExitCode {
    let bar = ProgressBar::new(options.seeds);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} seeds, {msg}, {eta} left") {
        bar.set_style(style);
    }
    let progress = |seeds, failures| {
        bar.set_message(format!("{failures} failed"));
        bar.set_position(seeds);
    };
    let summary =
        run_many(parts, options.first, options.seeds, threads(options), options.failures, || {}, progress);
    bar.finish_and_clear();
    print!("{}", summary.sights);
    println!(
        "{} seeds, {} s simulated, {} transactions, {} seeds failed",
        summary.seeds,
        summary.simulated_ms / 1000,
        summary.transactions,
        summary.failures.len()
    );
    for (seed, part, error) in &summary.failures {
        println!(
            "{part}, seed {seed} fails: {error}\n  run it alone: shoal-sim --only {part} --seed {seed} --trace"
        );
    }
    match summary.failures.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
