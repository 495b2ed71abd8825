//! Every moment of a scripted run is a possible crash; for each, many images of what may have reached the
//! medium. Recovery must never fail, never show half a batch, and keep whatever had been acknowledged.

use shoal_log::testing::{CrashImage, CrashPoint, MemoryFileSystem};
use shoal_log::{Durability, InlineFlush, Log, LogHooks, LogOptions};

use crate::support::{Random, append, numbers, options, recover, reopen};

/// What is known at a crash point: batches below `cut` may be gone, those below `acknowledged` must not be
/// lost, none from `appended` on can be there.
#[derive(Clone, Copy, Default)]
struct Known {
    cut: u64,
    acknowledged: u64,
    appended: u64,
}

impl Known {
    fn marker(self) -> u64 {
        self.cut << 40 | self.acknowledged << 20 | self.appended
    }

    fn from_marker(marker: u64) -> Known {
        let mask = (1 << 20) - 1;
        Known { cut: marker >> 40, acknowledged: marker >> 20 & mask, appended: marker & mask }
    }
}

/// Appends, flushes, cuts and maintains at random; returns the moments.
fn run_script(seed: u64, durability: Durability, batches: u64) -> Vec<CrashPoint> {
    let mut random = Random(seed);
    let disk = MemoryFileSystem::new();
    disk.record_history();
    let options = LogOptions { durability, ..options(&disk) };
    let log = recover(options, LogHooks::none()).expect("an empty directory opens").log;
    let mut known = Known::default();
    let mut ends = Vec::new();
    while known.appended < batches {
        for _ in 0..=random.below(3) {
            ends.push(append(&log, known.appended));
            known.appended += 1;
        }
        disk.set_marker(known.marker());
        if durability == Durability::Replicated && random.below(4) > 0 {
            log.write_unsynced().expect("the write succeeds");
        } else {
            let flushed = log.try_flush_inline().expect("the flush succeeds");
            assert_eq!(flushed, InlineFlush::Flushed(log.durable_lsn()));
            known.acknowledged = known.appended;
            disk.set_marker(known.marker());
        }
        if random.below(5) == 0 {
            // Half of what is durable is no longer needed.
            known.cut = known.cut.max(known.acknowledged / 2);
            disk.set_marker(known.marker());
            if let Some(low_water) = known.cut.checked_sub(1).map(|cut| ends[cut as usize]) {
                log.set_low_water(low_water);
            }
        }
        if random.below(3) == 0 {
            log.maintain().expect("maintenance succeeds");
        }
    }
    drop(log);
    disk.history()
}

/// Images of one moment: nothing, everything, every prefix, all subsets if there are few, else some.
fn images(point: &CrashPoint, random: &mut Random, samples: usize) -> Vec<CrashImage> {
    let fragments = point.fragment_count();
    let names = point.name_change_count();
    let mut images = vec![point.uniform_image(false), point.uniform_image(true)];
    for kept in 0..fragments {
        for keep_names in [false, true] {
            images.push(CrashImage {
                fragments: (0..fragments).map(|number| number < kept).collect(),
                names: vec![keep_names; names],
            });
        }
    }
    for kept in 1..names {
        images.push(CrashImage {
            fragments: vec![true; fragments],
            names: (0..names).map(|number| number < kept).collect(),
        });
    }
    let bits = fragments + names;
    let subsets: Vec<u64> = match bits {
        0..=6 => (0..1 << bits).collect(),
        _ => (0..samples).map(|_| random.below(1 << 31) ^ random.below(1 << 31) << 25).collect(),
    };
    for subset in subsets {
        let keep = |number: usize| subset >> (number % 56) & 1 == 1;
        images.push(CrashImage {
            fragments: (0..fragments).map(keep).collect(),
            names: (fragments..bits).map(keep).collect(),
        });
    }
    images.sort_unstable();
    images.dedup();
    images
}

fn check_batches(batches: &[u64], known: Known, context: &str) -> u64 {
    let first = batches.first().copied().unwrap_or(0);
    let end = first + batches.len() as u64;
    assert_eq!(batches, numbers(first..end), "{context}: the batches have a gap");
    assert!(first <= known.cut, "{context}: {first} > {}", known.cut);
    assert!(
        end >= known.acknowledged,
        "{context}: {} batches were acknowledged, only {end} found",
        known.acknowledged
    );
    assert!(end <= known.appended, "{context}: batch {end} was never appended");
    end
}

fn recover_image(disk: &MemoryFileSystem, known: Known, context: &str) -> (Log, u64) {
    let recovered = reopen(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    let end = check_batches(&recovered.batches, known, context);
    (recovered.log, end)
}

/// After recovery the log must go on: one more batch survives the next crash, with everything before it.
fn check_life_goes_on(disk: &MemoryFileSystem, log: &Log, known: Known, end: u64, context: &str) {
    append(log, end);
    log.try_flush_inline().expect("the flush succeeds");
    let point = disk.crash_point();
    let after = Known { cut: known.cut, acknowledged: end + 1, appended: end + 1 };
    let crashed = point.crash(&point.uniform_image(false));
    recover_image(&crashed, after, &format!("{context}, one batch later"));
}

fn check_all_images(durability: Durability, seeds: std::ops::Range<u64>) {
    let mut images_seen = 0;
    let mut torn_tails = 0;
    for seed in seeds {
        let mut random = Random(seed);
        for (number, point) in run_script(seed, durability, 40).iter().enumerate() {
            let known = Known::from_marker(point.marker());
            for image in images(point, &mut random, 12) {
                let context = format!("seed {seed}, moment {number}, image {image:?}");
                let disk = point.crash(&image);
                let recovered = reopen(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
                let end = check_batches(&recovered.batches, known, &context);
                torn_tails += u64::from(recovered.report.torn_tail.is_some());
                check_life_goes_on(&disk, &recovered.log, known, end, &context);
                images_seen += 1;
            }
        }
    }
    assert!(images_seen > 1000, "only {images_seen} images");
    assert!(torn_tails > 50, "only {torn_tails} torn tails");
}

#[test]
fn after_any_crash_of_a_disk_log_exactly_the_acknowledged_batches_and_perhaps_whole_later_ones_survive() {
    check_all_images(Durability::Disk, 0..4);
}

#[test]
fn after_any_crash_of_a_replicated_log_a_prefix_with_all_synced_batches_survives() {
    check_all_images(Durability::Replicated, 100..104);
}

#[test]
fn recovery_itself_can_be_crashed_at_every_step() {
    for (seed, durability) in [(200, Durability::Disk), (201, Durability::Replicated)] {
        let mut random = Random(seed);
        for point in run_script(seed, durability, 30).iter().step_by(3) {
            let known = Known::from_marker(point.marker());
            for image in images(point, &mut random, 3).into_iter().step_by(5) {
                let disk = point.crash(&image);
                disk.record_history();
                let context = format!("seed {seed}, image {image:?}");
                let (log, end) = recover_image(&disk, known, &context);
                // What recovery has shown once must not be lost by a crash after it.
                disk.set_marker(1 + end);
                drop(log);
                for (step, second) in disk.history().iter().enumerate() {
                    let mut after = known;
                    if second.marker() == 1 + end {
                        after.acknowledged = after.acknowledged.max(end);
                    }
                    for image in images(second, &mut random, 2) {
                        let disk = second.crash(&image);
                        recover_image(&disk, after, &format!("{context}, recovery step {step}"));
                    }
                }
            }
        }
    }
}

#[test]
fn what_recovery_shows_after_a_killed_process_survives_a_crash_of_the_machine() {
    for (seed, durability) in [(300, Durability::Disk), (301, Durability::Replicated)] {
        for point in run_script(seed, durability, 40) {
            let known = Known::from_marker(point.marker());
            let disk = point.kill();
            let (log, end) = recover_image(&disk, known, "killed");
            drop(log);
            let shown = Known { acknowledged: known.acknowledged.max(end), ..known };
            let after = disk.crash_point();
            let crashed = after.crash(&after.uniform_image(false));
            recover_image(&crashed, shown, "killed, then crashed");
        }
    }
}
