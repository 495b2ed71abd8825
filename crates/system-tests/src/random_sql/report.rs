//! Seeds run one after the other, and what came of them.

use std::collections::BTreeMap;

use super::check::Finding;
use super::generator::{Generator, Oracles};
use super::shrink::shrink;
use super::step::Step;
use super::world::World;

/// What was done and found.
#[derive(Debug, Default)]
pub struct Report {
    pub statements: u64,
    /// Of these nothing can be said: an error hides the rows.
    pub undecided: u64,
    /// How often each known difference of MariaDB was met.
    pub explained: BTreeMap<&'static str, u64>,
    /// Failing cases as scripts, with what differs.
    pub failures: Vec<String>,
}

impl Report {
    pub fn summary(&self) -> String {
        let Report { statements, undecided, explained, failures } = self;
        let mut text = format!("{statements} statements, {} differences, {undecided} undecided", failures.len());
        for (reason, count) in explained {
            text += &format!("\n  explained {count} times: {reason}");
        }
        text
    }
}

/// Runs one seed. A query that differs does not end it; a change that differs does, as nothing is equal after it.
pub fn run_seed(world: &mut World, oracles: Oracles, seed: u64, steps: usize, report: &mut Report) {
    let mut generator = Generator::new(seed, oracles);
    if let Err(error) = world.reset() {
        report.failures.push(format!("seed {seed}: the server takes no case: {error}"));
        return;
    }
    let mut done: Vec<Step> = Vec::new();
    let setup = generator.setup();
    let count = setup.len() + steps;
    let mut setup = setup.into_iter();
    for _ in 0..count {
        let step = setup.next().unwrap_or_else(|| generator.step());
        report.statements += 1;
        let finding = world.run(&step);
        if world.has_refused {
            generator.forget(&step);
        }
        let is_query = step.is_query();
        done.push(step);
        match finding {
            Finding::None => {}
            Finding::Undecided => report.undecided += 1,
            Finding::Explained(reason) => {
                *report.explained.entry(reason).or_default() += 1;
                // Only one of the servers may have changed something.
                if world.has_refused && !is_query {
                    return;
                }
            }
            Finding::Difference { label, .. } => {
                let (small, text) = shrink(world, done.clone(), &label);
                let script: String = small.iter().map(Step::script).collect();
                report.failures.push(format!("seed {seed}, {label}:\n{script}{text}\n"));
                let leaves_rows = !is_query && !["warnings", "types"].contains(&label.as_str());
                if leaves_rows || !rebuild(world, &done, is_query) {
                    return;
                }
                if is_query {
                    done.pop();
                }
            }
        }
    }
}

/// The state after the steps, without the last one if that is a query.
fn rebuild(world: &mut World, done: &[Step], without_last: bool) -> bool {
    let done = if without_last { &done[..done.len() - 1] } else { done };
    let mut changes = done.iter().filter(|step| !step.is_query());
    let is_harmless = |finding| match finding {
        Finding::Difference { label, .. } => label == "warnings" || label == "types",
        _ => true,
    };
    world.reset().is_ok() && changes.all(|step| is_harmless(world.run(step)))
}
