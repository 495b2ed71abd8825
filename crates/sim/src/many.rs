//! Many seeds on several threads; a run is one thread's, from beginning to end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::context::Trace;
use crate::run::{Report, run};
use crate::sights::Sights;

/// What came of many seeds.
#[derive(Default)]
pub struct Summary {
    pub seeds: u64,
    pub transactions: u64,
    pub simulated_ms: u64,
    pub sights: Sights,
    /// The seeds that failed and how, in their order.
    pub failures: Vec<(u64, String)>,
}

/// Runs one seed; a panic is a failure like any other.
pub fn run_caught(seed: u64) -> Report {
    catch_unwind(AssertUnwindSafe(|| run(seed, Trace::Off))).unwrap_or_else(|panic| {
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

/// Runs the seeds from `first` on, until `failures_max` have failed. `begin` is called in each thread, `progress` after every seed
/// with how many are done and how many have failed.
pub fn run_many(
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
                    let report = run_caught(seed);
                    let Ok(mut summary) = summary.lock() else { return };
                    summary.seeds += 1;
                    summary.transactions += report.transactions as u64;
                    summary.simulated_ms += report.simulated_ms;
                    summary.sights.add(&report.sights);
                    if let Err(error) = report.outcome {
                        summary.failures.push((seed, error));
                        enough.fetch_or(summary.failures.len() >= failures_max, Ordering::Relaxed);
                    }
                    progress(summary.seeds, summary.failures.len());
                }
            });
        }
    });
    let mut summary = summary.into_inner().unwrap_or_default();
    summary.failures.sort_unstable();
    summary
}
