//! What was done to clusters, and how long nothing could be committed meanwhile.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use shoal_system_tests::transfer::{History, Told};

use crate::faults::Kind;

/// Without a word from a broken node it takes so long to know, with a closed connection so long: the goals.
const SILENT: Duration = Duration::from_millis(1500);
pub const CLOSED: Duration = Duration::from_millis(300);

#[derive(Default)]
pub struct Report {
    pub rounds: u64,
    outages: BTreeMap<Kind, Vec<Duration>>,
    not_possible: BTreeMap<Kind, String>,
    committed: usize,
    failed: usize,
    unknown: usize,
    definitions: u64,
}

impl Report {
    pub fn faults(&self) -> u64 {
        self.outages.values().map(|outages| outages.len() as u64).sum()
    }

    /// A fault, and the longest time without a commit at the other nodes until it was healed.
    pub fn note(&mut self, kind: Kind, outage: Duration) {
        self.outages.entry(kind).or_default().push(outage);
    }

    /// This machine cannot do that to a cluster.
    pub fn note_not_possible(&mut self, kind: Kind, why: String) {
        self.not_possible.insert(kind, why);
    }

    pub fn note_round(&mut self, history: &History, definitions: u64) {
        self.committed += history.count(Told::Committed);
        self.failed += history.count(Told::NotCommitted);
        self.unknown += history.count(Told::Unknown);
        self.definitions += definitions;
    }

    pub fn markdown(&self) -> String {
        let mut out = format!(
            "{} faults in {} rounds; transfers: {} committed, {} not, {} unknown; {} definitions. Nothing acknowledged was lost, no \
             transaction was halved, nothing was invented, nothing stale was read.\n\n\
             Without a commit at the other nodes, in milliseconds:\n\n\
             | fault | how often | median | 95% | longest | goal | reached by |\n|---|---|---|---|---|---|---|\n",
            self.faults(),
            self.rounds,
            self.committed,
            self.failed,
            self.unknown,
            self.definitions
        );
        for (kind, outages) in &self.outages {
            let mut sorted = outages.clone();
            sorted.sort_unstable();
            let at = |part: f64| sorted[((sorted.len() - 1) as f64 * part).round() as usize].as_millis();
            let goal = match kind.is_silent() {
                Some(true) => Some(SILENT),
                Some(false) => Some(CLOSED),
                None => None,
            };
            let (text, reached) = match goal {
                Some(goal) => {
                    let good = sorted.iter().filter(|outage| **outage <= goal).count();
                    (format!("{}", goal.as_millis()), format!("{:.0}%", 100.0 * good as f64 / sorted.len() as f64))
                }
                None => ("-".into(), "-".into()),
            };
            let (median, most, longest) = (at(0.5), at(0.95), at(1.0));
            let _ = writeln!(
                out,
                "| {} | {} | {median} | {most} | {longest} | {text} | {reached} |",
                kind.describe(),
                sorted.len()
            );
        }
        for (kind, why) in &self.not_possible {
            let _ = writeln!(out, "\nNot possible on this machine: {} ({why}).", kind.describe());
        }
        out
    }
}
