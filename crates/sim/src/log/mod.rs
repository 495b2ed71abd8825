//! The real log, with its own threads, on a simulated file system: writers that flush side by side, checkpoints that cut it,
//! faults of the disk, deaths of the process and of the machine, the next process on what is left.
//!
//! - `life`: one process, from recovery to its end
//! - `known`: what the log has told so far, and what recovery must therefore show
//! - `rot`: flipped bits
//! - `shared`: what all of them write down
//!
//! What is checked: what was reported durable is there after every crash, in the order in which it was appended, as whole
//! batches; nothing else is, but what was appended behind it, without a gap; after the first failed write or sync nothing
//! more is reported durable; a full disk ends no log that takes nothing but what may be refused; a flipped bit that can be told
//! from a torn write is refused; no thread waits for ever.

mod known;
mod life;
mod rot;
mod shared;

use shoal_log::schedule::{Outcome, simulate};
use shoal_log::testing::{CrashImage, CrashPoint, MemoryFileSystem};

use self::life::{Life, LifeKnobs, live};
use self::shared::{Shared, held};
use crate::context::Trace;
use crate::random::Random;
use crate::run::Report;
use crate::sights::Sight;

/// Runs one seed.
pub fn run_log(seed: u64, trace: Trace) -> Report {
    let shared = Shared { says: !matches!(trace, Trace::Off), ..Shared::default() };
    let mut simulated_us = 0;
    let outcome = run(seed, &shared, &mut simulated_us);
    let story = std::mem::take(&mut *held(&shared.story));
    let trace = match trace {
        Trace::Keep(_) => story,
        Trace::Print => {
            story.iter().for_each(|line| println!("{line}"));
            Vec::new()
        }
        Trace::Off => Vec::new(),
    };
    let (sights, transactions) = (held(&shared.sights).clone(), held(&shared.known).appended());
    Report { sights, simulated_ms: simulated_us / 1000, transactions, trace, outcome }
}

fn run(seed: u64, shared: &Shared, simulated_us: &mut u64) -> Result<(), String> {
    let mut random = Random::new(seed ^ 0x10c0_ffee);
    let knobs = LifeKnobs::draw(&mut random);
    shared.tell(|| format!("{knobs:?}"));
    let mut disk = MemoryFileSystem::new();
    for number in 1..=knobs.lives {
        let is_last = number == knobs.lives;
        let life = Life::new(shared, &knobs, disk.clone(), &mut random, is_last);
        shared.tell(|| format!("life {number}: {:?}", life.plan()));
        let (end_us, crashed) = (life.end_us(), life.crash_point());
        let outcome = simulate(random.next(), || live(life));
        *simulated_us += *held(&end_us);
        // What the disk calls knows the disk.
        disk.before_each(|_| None);
        let (point, has_crashed) = match outcome {
            Outcome::Failed(failure) => return Err(format!("the log, life {number}: {failure}")),
            Outcome::Finished(Err(violation)) => return Err(format!("the log, life {number}: {violation}")),
            Outcome::Finished(Ok(())) => (disk.crash_point(), false),
            Outcome::Crashed => match held(&crashed).take() {
                Some(point) => (point, true),
                None => return Err("the log has crashed by itself".to_owned()),
            },
        };
        disk = next_disk(shared, &knobs, &point, has_crashed, &mut random);
        if random.one_in(3) {
            rot::flip_bits(shared, &knobs, &disk, &mut random)
                .map_err(|violation| format!("the log, after life {number}: {violation}"))?;
        }
    }
    Ok(())
}

/// The disk that the next process finds: the machine has gone on, or it has crashed as well.
fn next_disk(
    shared: &Shared,
    knobs: &LifeKnobs,
    point: &CrashPoint,
    has_crashed: bool,
    random: &mut Random,
) -> MemoryFileSystem {
    let disk = if random.one_in(3) {
        if has_crashed {
            shared.see(Sight::LogProcessKilled);
        }
        point.kill()
    } else {
        let image = image(point, random);
        let lost = image.fragments.iter().filter(|&&kept| !kept).count();
        shared.tell(|| {
            format!("the machine crashes: {lost} of {} unsynced sectors are lost", image.fragments.len())
        });
        if lost > 0 {
            shared.see(Sight::LogSectorsLost);
        }
        point.crash(&image)
    };
    disk.use_page_cache(knobs.page_cache);
    disk.set_space(None);
    disk
}

/// Nothing, everything, all but one piece, a beginning or anything of what was not synced. Names change in order: file systems have a journal.
fn image(point: &CrashPoint, random: &mut Random) -> CrashImage {
    let (fragments, names) = (point.fragment_count(), point.name_change_count());
    let names_kept = random.below(names as u64 + 1) as usize;
    let mut choose = |count: usize| -> Vec<bool> {
        match random.below(6) {
            0 => vec![false; count],
            1 => vec![true; count],
            2 => {
                let lost = random.below(count as u64 + 1) as usize;
                (0..count).map(|number| number != lost).collect()
            }
            3 => {
                let kept = random.below(count as u64 + 1) as usize;
                (0..count).map(|number| number < kept).collect()
            }
            _ => (0..count).map(|_| random.one_in(2)).collect(),
        }
    };
    let names = (0..names).map(|number| number < names_kept).collect();
    CrashImage { fragments: choose(fragments), names }
}
