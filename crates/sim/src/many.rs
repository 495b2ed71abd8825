//! Many seeds on several threads; a run is one thread's, from beginning to end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::context::Trace;
use crate::log::run_log;
use crate::run::{Report, run};
use crate::sights::Sights;

/// What a seed is run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Cluster,
    Log,
}

impl Part {
    pub const ALL: [Part; 2] = [Part::Cluster, Part::Log];

    pub fn name(self) -> &'static str {
        match self {
            Part::Cluster => "cluster",
            Part::Log => "log",
        }
    }

    pub fn run(self, seed: u64, trace: Trace) -> Report {
        match self {
            Part::Cluster => run(seed, trace),
            Part::Log => run_log(seed, trace),
        }
    }
}

/// What came of many seeds.
#[derive(Default)]
pub struct Summary {
    pub seeds: u64,
    /// In clusters.
    pub transactions: u64,
    /// In clusters.
    pub simulated_ms: u64,
    pub sights: Sights,
    /// The seeds that failed, with which part and how, in their order.
    pub failures: Vec<(u64, &'static str, String)>,
}

/// Runs one seed; a panic is a failure like any other.
pub fn run_caught(part: Part, seed: u64) -> Report {
    catch_unwind(AssertUnwindSafe(|| part.run(seed, Trace::Off))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Report {
            sights: Sights::default(),
            simulated_ms: 0,
            transactions: 0,
            trace: Vec::new(),
            outcome: Err(format!("panic: {}", text.unwrap_or_default())),
        }
    })
}

/// Runs the seeds from `first` on, each on all `parts`, until `failures_max` have failed. `begin` is called in each thread, `progress` after every seed
/// with how many are done and how many have failed.
pub fn run_many(
    parts: &[Part],
    first: u64,
    seeds: u64,
    threads: usize,
    failures_max: usize,
    begin: impl Fn() + Sync,
    progress: impl Fn(u64, usize) + Sync,
) -> Summary {
    let next = AtomicU64::new(first);
    let enough = AtomicBool::new(false);
    let summary = Mutex::new(Summary::default());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                begin();
                while !enough.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        return;
                    }
                    for &part in parts {
                        let report = run_caught(part, seed);
                        let Ok(mut summary) = summary.lock() else { return };
                        if part == Part::Cluster {
                            summary.transactions += report.transactions as u64;
                            summary.simulated_ms += report.simulated_ms;
                        }
                        summary.sights.add(&report.sights);
                        if let Err(error) = report.outcome {
                            summary.failures.push((seed, part.name(), error));
                            enough.fetch_or(summary.failures.len() >= failures_max, Ordering::Relaxed);
                        }
                    }
                    let Ok(mut summary) = summary.lock() else { return };
                    summary.seeds += 1;
                    progress(summary.seeds, summary.failures.len());
                }
            });
        }
    });
    let mut summary = summary.into_inner().unwrap_or_default();
    summary.failures.sort_unstable();
    summary
}
