//! A failing case made small: first steps are dropped, then clauses.

use std::time::{Duration, Instant};

use super::check::Finding;
use super::step::Step;
use super::world::World;

const TIME_MAX: Duration = Duration::from_secs(15);

struct Shrinker<'a> {
    world: &'a mut World,
    label: String,
    deadline: Instant,
    /// The steps that the servers have run since they were emptied, if nothing has changed them since.
    loaded: Option<Vec<Step>>,
}

/// The smallest case found that still fails in the same way, and how it fails.
pub fn shrink(world: &mut World, mut steps: Vec<Step>, label: &str) -> (Vec<Step>, String) {
    let deadline = Instant::now() + TIME_MAX;
    let mut shrinker = Shrinker { world, label: label.to_owned(), deadline, loaded: None };
    let Some(mut text) = shrinker.failure(&steps) else {
        return (steps, "It does not fail when it is run again alone.".to_owned());
    };
    shrinker.drop_steps(&mut steps, &mut text);
    // The failing step first: that needs no other state.
    while shrinker.make_smaller(&mut steps, &mut text, true) {}
    shrinker.drop_steps(&mut steps, &mut text);
    while shrinker.make_smaller(&mut steps, &mut text, false) {}
    shrinker.drop_steps(&mut steps, &mut text);
    (steps, text)
}

impl Shrinker<'_> {
    /// How the last of the steps fails, if it does as it should.
    fn failure(&mut self, steps: &[Step]) -> Option<String> {
        let (last, before) = steps.split_last()?;
        if self.loaded.as_deref() != Some(before) {
            self.world.reset().ok()?;
            self.loaded = None;
            for step in before {
                if step.is_query() {
                    continue;
                }
                match self.world.run(step) {
                    // Rows are equal after it, as they are after what does not differ.
                    Finding::Difference { label, .. } if label != "warnings" && label != "types" => return None,
                    _ => {}
                }
            }
        }
        let finding = self.world.run(last);
        self.loaded = last.is_query().then(|| before.to_vec());
        match finding {
            Finding::Difference { label, text } if label == self.label => Some(text),
            _ => None,
        }
    }

    fn is_over(&self) -> bool {
        Instant::now() > self.deadline
    }

    fn drop_steps(&mut self, steps: &mut Vec<Step>, text: &mut String) {
        let mut size = steps.len() / 2;
        while size > 0 {
            let mut start = 0;
            while start + size < steps.len() {
                let mut fewer = steps.clone();
                fewer.drain(start..start + size);
                match self.failure(&fewer) {
                    Some(failure) => (*steps, *text) = (fewer, failure),
                    None => start += size,
                }
                if self.is_over() {
                    return;
                }
            }
            size /= 2;
        }
    }

    /// Takes the first smaller form of a step that fails as well. Returns whether there is one.
    fn make_smaller(&mut self, steps: &mut Vec<Step>, text: &mut String, only_last: bool) -> bool {
        let first = if only_last { steps.len() - 1 } else { 0 };
        for number in (first..steps.len()).rev() {
            for smaller in steps[number].smaller() {
                if self.is_over() {
                    return false;
                }
                let mut changed = steps.clone();
                changed[number] = smaller;
                if let Some(failure) = self.failure(&changed) {
                    (*steps, *text) = (changed, failure);
                    return true;
                }
            }
        }
        false
    }
}
