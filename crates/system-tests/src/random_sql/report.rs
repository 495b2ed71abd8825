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
            Finding::Explained(reason) => *report.explained.entry(reason).or_default() += 1,
            Finding::Difference { label, .. } => {
                let (small, text) = shrink(world, done.clone(), &label);
                let script: String = small.iter().map(Step::script).collect();
                report.failures.push(format!("seed {seed}, {label}:\n{script}{text}\n"));
                if !is_query || !rebuild(world, &done) {
                    return;
                }
                done.pop();
            }
        }
    }
}

/// The state after the steps but for the last one.
fn rebuild(world: &mut World, done: &[Step]) -> bool {
    world.reset().is_ok()
        && done[..done.len() - 1]
            .iter()
            .all(|step| step.is_query() || !matches!(world.run(step), Finding::Difference { .. }))
}
