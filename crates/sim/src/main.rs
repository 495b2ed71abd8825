//! `shoal-sim`: runs seeds, or one seed with its story.

use clap::Parser;
use shoal_sim::{Trace, run};

/// Simulates the cluster under faults, one run a seed.
#[derive(Parser)]
struct Options {
    /// Run this seed alone.
    #[arg(long)]
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
}

fn main() {
    let options = Options::parse();
    if let Some(seed) = options.seed {
        let report = run(seed, if options.trace { Trace::Print } else { Trace::Off });
        println!("{}", report.sights);
        println!("{} ms, {} transactions, {:?}", report.simulated_ms, report.transactions, report.outcome.is_ok());
        if let Err(error) = report.outcome {
            println!("seed {seed}: {error}");
            std::process::exit(1);
        }
    }
}
