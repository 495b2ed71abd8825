//! What a seed chooses.

use crate::transfer::Random;

pub struct Chance(Random);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(Random::new(seed, 0))
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.below(end as u64) as usize
    }

    pub fn between(&mut self, first: usize, last: usize) -> usize {
        first + self.below(last - first + 1)
    }

    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}
