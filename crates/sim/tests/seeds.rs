//! The simulator's runs as everybody has them, and whether they get into the situations that matter.

use shoal_sim::{Part, Trace, run_many};

const SEEDS: u64 = 2000;

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn no_seed_finds_a_mistake_and_together_they_see_everything() {
    let summary = run_many(&Part::ALL, 0, SEEDS, threads(), 3, || {}, |_, _| {});
    assert!(summary.failures.is_empty(), "seeds that fail, each to be run alone: {:#?}", summary.failures);
    assert_eq!(summary.seeds, SEEDS);
    println!("{}", summary.sights);
    assert_eq!(summary.sights.never_seen(), []);
}

#[test]
fn a_seed_always_gives_the_same_run() {
    for seed in [1, 7, 42] {
        for part in Part::ALL {
            let [one, two] = [(); 2].map(|()| part.run(seed, Trace::Keep(Vec::new())));
            assert!(!one.trace.is_empty());
            assert_eq!(one.trace, two.trace, "{part:?}, seed {seed}");
        }
    }
}
