//! One process with the log: it recovers, its threads append, flush, checkpoint and cut, and it ends in some way.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shoal_log::checkpoint::{CheckpointOptions, CheckpointStore};
use shoal_log::schedule::{crash, is_gone, join, now_us, pause, spawn};
use shoal_log::testing::{CrashPoint, Fault, MemoryFileSystem, Operation};
use shoal_log::{AppendClass, Durability, InlineFlush, Log, LogError, LogHooks, LogOptions, Lsn};

use super::known::Found;
use super::shared::{Shared, held};
use crate::random::Random;
use crate::sights::Sight;

pub const DIRECTORY: &str = "data";
const CHECKPOINTS: &str = "data/checkpoints";
const GROUP: u64 = 1;

/// What is the same for all lives of a run.
#[derive(Clone, Debug)]
pub struct LifeKnobs {
    pub lives: u64,
    segment_bytes: u64,
    spare_segments: usize,
    pub page_cache: bool,
    durability: Durability,
    /// The log has its writer and its keeper.
    has_threads: bool,
    sync_interval_ms: u64,
    workers: u64,
    /// A worker does so many things.
    steps: u64,
    latency_us: u64,
    /// One in so many operations on the disk fails; 0 is none.
    fault_one_in: u64,
    /// Some appends may not be refused.
    has_internal: bool,
    /// Nearly all flushes take one sector, so that what a crash has left behind a hole fits behind what fills it.
    has_small_batches: bool,
    space_is_short: bool,
    switches_durability: bool,
}

impl LifeKnobs {
    pub fn draw(random: &mut Random) -> LifeKnobs {
        let has_threads = !random.one_in(4);
        LifeKnobs {
            lives: random.between(2, 6),
            segment_bytes: [16 << 10, 24 << 10, 64 << 10][random.below(3) as usize],
            spare_segments: random.below(3) as usize,
            page_cache: random.one_in(3),
            durability: if random.one_in(3) { Durability::Replicated } else { Durability::Disk },
            has_threads,
            sync_interval_ms: random.between(1, 50),
            workers: if has_threads { random.between(1, 4) } else { 1 },
            steps: random.between(5, 40),
            latency_us: random.between(1, 2_000),
            fault_one_in: if random.one_in(3) { random.between(20, 400) } else { 0 },
            has_internal: random.one_in(2),
            has_small_batches: random.one_in(2),
            space_is_short: random.one_in(4),
            switches_durability: random.one_in(4),
        }
    }

    pub fn options(&self, disk: &MemoryFileSystem, durability: Durability) -> LogOptions {
        LogOptions {
            segment_bytes: self.segment_bytes,
            first_segment_bytes: 8 << 10,
            spare_segments: self.spare_segments,
            durability,
            sync_interval: Duration::from_millis(self.sync_interval_ms),
            spawn_threads: self.has_threads,
            file_system: Arc::new(disk.clone()),
            ..LogOptions::new(0x1234_5678_9abc_def0)
        }
    }
}

/// How a life is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// In good order.
    Close,
    /// The log is let go of, and flushes what it has.
    Drop,
    /// The process dies when its threads are done, or at the disk's operation of this number.
    Crash(u64),
    /// The process dies behind its flush of this number.
    CrashBehindFlush(u64),
}

#[derive(Debug)]
pub struct LifePlan {
    end: End,
    durability: Durability,
    /// The disk takes so many bytes.
    space_bytes: Option<usize>,
    has_faults: bool,
    seed: u64,
}

pub struct Life {
    shared: Shared,
    knobs: LifeKnobs,
    disk: MemoryFileSystem,
    plan: LifePlan,
    /// A write of an earlier life was lost in the page cache, and nobody has been told.
    had_untold_failure: bool,
    crashed: Arc<Mutex<Option<CrashPoint>>>,
    end_us: Arc<Mutex<u64>>,
}

impl Life {
    pub fn new(
        shared: &Shared,
        knobs: &LifeKnobs,
        disk: MemoryFileSystem,
        random: &mut Random,
        is_last: bool,
    ) -> Life {
        let end = match random.below(9) {
            0 => End::Close,
            1 => End::Drop,
            2 => End::Crash(random.between(1, 30)),
            3..6 => End::CrashBehindFlush(random.between(1, 2)),
            _ => End::Crash(random.between(1, 600)),
        };
        let used: usize = disk.paths().iter().filter_map(|path| disk.read(path)).map(|bytes| bytes.len()).sum();
        let space = used + random.below(5 * knobs.segment_bytes) as usize;
        let plan = LifePlan {
            end: if is_last { End::Close } else { end },
            durability: if random.one_in(4) { other(knobs.durability) } else { knobs.durability },
            space_bytes: (knobs.space_is_short && !is_last).then_some(space),
            has_faults: knobs.fault_one_in > 0 && !is_last,
            seed: random.next(),
        };
        let (shared, knobs) = (shared.clone(), knobs.clone());
        let had_untold_failure = disk.has_untold_failure();
        Life { shared, knobs, disk, plan, had_untold_failure, crashed: Arc::default(), end_us: Arc::default() }
    }

    pub fn plan(&self) -> &LifePlan {
        &self.plan
    }

    pub fn crash_point(&self) -> Arc<Mutex<Option<CrashPoint>>> {
        Arc::clone(&self.crashed)
    }

    pub fn end_us(&self) -> Arc<Mutex<u64>> {
        Arc::clone(&self.end_us)
    }
}

fn other(durability: Durability) -> Durability {
    match durability {
        Durability::Disk => Durability::Replicated,
        Durability::Replicated => Durability::Disk,
    }
}

/// What the threads of one life share.
struct Process {
    shared: Shared,
    knobs: LifeKnobs,
    disk: MemoryFileSystem,
    random: Mutex<Random>,
    /// A fault has hit, so that errors are to be expected.
    has_failed: Arc<AtomicBool>,
    /// Somebody has appended what may not be refused.
    was_internal: AtomicBool,
    violation: Mutex<Option<String>>,
    end: End,
    flushes: AtomicU64,
    crashed: Arc<Mutex<Option<CrashPoint>>>,
}

impl Process {
    fn below(&self, bound: u64) -> u64 {
        held(&self.random).below(bound)
    }

    fn accuse(&self, what: String) {
        self.shared.tell(|| format!("WRONG: {what}"));
        held(&self.violation).get_or_insert(what);
    }

    /// Looks at what the log says of itself.
    fn look(&self, log: &Log) {
        held(&self.shared.known).durable(log.durable_lsn());
    }

    /// A call has failed. False if the log goes on.
    fn is_over(&self, log: &Log, error: &LogError) -> bool {
        self.shared.tell(|| format!("an error: {error}"));
        match error {
            LogError::DiskFull { .. } => {
                self.shared.see(Sight::LogDiskFull);
                false
            }
            LogError::Poisoned { reason } => {
                let checked = held(&self.shared.known).check_stopped(log.durable_lsn());
                if let Err(violation) = checked {
                    self.accuse(violation);
                }
                let may_be_full = reason.disk_full && self.was_internal.load(Ordering::SeqCst);
                if !self.has_failed.load(Ordering::SeqCst) && !may_be_full {
                    self.accuse(format!("the log stopped although the disk never failed: {error}"));
                }
                true
            }
            LogError::Closed => true,
            LogError::Io { .. } if self.has_failed.load(Ordering::SeqCst) => true,
            _ => {
                self.accuse(format!("an error that nobody expects: {error}"));
                true
            }
        }
    }
}

/// The disk's operations take time, fail, and may be the last of the process.
fn prepare_disk(life: &Life, has_failed: &Arc<AtomicBool>) {
    let (knobs, end) = (life.knobs.clone(), life.plan.end);
    let has_faults = life.plan.has_faults;
    let random = Mutex::new(Random::new(life.plan.seed ^ 1));
    let (operations, failed) = (AtomicU64::new(0), Arc::clone(has_failed));
    let (disk, crashed, end_us) = (life.disk.clone(), Arc::clone(&life.crashed), Arc::clone(&life.end_us));
    let shared = life.shared.clone();
    let (dies_at_last, dies_next) =
        (matches!(end, End::Crash(_) | End::CrashBehindFlush(_)), AtomicBool::new(false));
    life.disk.set_space(life.plan.space_bytes);
    life.disk.use_page_cache(knobs.page_cache);
    life.disk.before_each(move |operation| {
        if is_gone() {
            return None;
        }
        let us = held(&random).below(knobs.latency_us);
        pause(us);
        let number = operations.fetch_add(1, Ordering::SeqCst) + 1;
        if end == End::Crash(number) || dies_next.load(Ordering::SeqCst) {
            shared.tell(|| format!("the process dies before its operation {number}, {operation:?}"));
            *held(&crashed) = Some(disk.crash_point());
            *held(&end_us) = now_us();
            crash();
        }
        // Only the log's own writes fail: what else fails is an error like any other.
        let mut random = held(&random);
        if !has_faults || !random.one_in(knobs.fault_one_in) {
            return None;
        }
        failed.store(true, Ordering::SeqCst);
        let is_later = operation == Operation::Write && knobs.page_cache && random.one_in(2);
        shared.tell(|| format!("{operation:?} fails{}", if is_later { " on its way to the medium" } else { "" }));
        shared.see(if is_later { Sight::LogWriteBackFailed } else { Sight::LogOperationFailed });
        // The next process is told of it then, if the machine goes on.
        dies_next.fetch_or(is_later && dies_at_last && random.one_in(2), Ordering::SeqCst);
        Some(if is_later { Fault::WriteBack } else { Fault::InputOutput })
    });
}

/// The whole life. An error is a violation.
pub fn live(life: Life) -> Result<(), String> {
    // The operating system tells whoever syncs next, and that may be another process than the one whose write it was.
    let has_failed = Arc::new(AtomicBool::new(life.had_untold_failure));
    prepare_disk(&life, &has_failed);
    let outcome = live_on(&life, &has_failed);
    *held(&life.end_us) = now_us();
    outcome?;
    if let End::Crash(_) | End::CrashBehindFlush(_) = life.plan.end {
        *held(&life.crashed) = Some(life.disk.crash_point());
        crash();
    }
    Ok(())
}

fn live_on(life: &Life, has_failed: &Arc<AtomicBool>) -> Result<(), String> {
    let Life { shared, knobs, disk, plan, .. } = life;
    let process = Arc::new(Process {
        shared: shared.clone(),
        knobs: knobs.clone(),
        disk: disk.clone(),
        random: Mutex::new(Random::new(plan.seed)),
        has_failed: Arc::clone(has_failed),
        was_internal: AtomicBool::new(false),
        violation: Mutex::default(),
        end: plan.end,
        flushes: AtomicU64::new(0),
        crashed: Arc::clone(&life.crashed),
    });
    let Some(log) = open(life, &process)? else { return Ok(()) };
    let log = Arc::new(log);
    let mut threads = Vec::new();
    for number in 0..knobs.workers {
        let (process, log) = (Arc::clone(&process), Arc::clone(&log));
        let thread = spawn("worker", move || work(&process, &log, number == 0));
        threads.push(thread.map_err(|error| error.to_string())?);
    }
    let (keeper, kept) = (Arc::clone(&process), Arc::clone(&log));
    let thread = spawn("checkpoints", move || checkpoint(&keeper, &kept));
    threads.push(thread.map_err(|error| error.to_string())?);
    threads.into_iter().for_each(join);
    process.look(&log);
    if plan.end == End::Close {
        match log.close() {
            Ok(()) => {
                process.look(&log);
                let mut known = held(&shared.known);
                known.closed = true;
                if known.durable_count() < known.order_count() {
                    return Err("the log was closed and not all of it is durable".to_owned());
                }
                drop(known);
                shared.see(Sight::LogClosed);
            }
            Err(error) => {
                process.is_over(&log, &error);
            }
        }
    }
    drop(log);
    let violation = held(&process.violation).take();
    violation.map_or(Ok(()), Err)
}

/// Recovers. `None`: the disk has failed meanwhile.
fn open(life: &Life, process: &Process) -> Result<Option<Log>, String> {
    let Life { shared, knobs, disk, plan, .. } = life;
    let options = knobs.options(disk, plan.durability);
    let (reporting, stopped) = (shared.clone(), shared.clone());
    let hooks = LogHooks {
        on_durable: Box::new(move |position| held(&reporting.known).durable(position)),
        on_fatal: Box::new(move |error| stopped.tell(|| format!("the log stops: {error}"))),
    };
    let mut found = Found::default();
    let opened = Log::open(Path::new(DIRECTORY), options)
        .and_then(|recovery| recovery.replay(hooks, |record| found.record(record)));
    let (log, report) = match opened {
        Ok(opened) => opened,
        Err(error) => return excuse(life, process, &error).map(|()| None),
    };
    found.end();
    shared.tell(|| format!("{} batches are found; {report:?}", found.ids.len()));
    if report.torn_tail.is_some() {
        shared.see(Sight::LogTornTail);
    }
    held(&shared.known).recovered(&found, log.durable_lsn())?;
    // Wherever the log begins, a checkpoint covers what is before.
    let store = CheckpointStore::open(Arc::new(disk.clone()), Path::new(CHECKPOINTS));
    let covered = match store.and_then(|store| store.latest(GROUP)) {
        Err(error) => return excuse(life, process, &error).map(|()| None),
        Ok(None) => 0,
        Ok(Some(latest)) => u64::from_le_bytes(latest.reader.metadata().try_into().unwrap_or_default()),
    };
    let known = held(&shared.known);
    if (covered as usize) < known.cut_count() {
        return Err(format!("the log is cut behind {} batches, a checkpoint covers {covered}", known.cut_count()));
    }
    drop(known);
    Ok(Some(log))
}

/// An error at the start is one only if the disk has done nothing to cause it.
fn excuse(life: &Life, process: &Process, error: &LogError) -> Result<(), String> {
    life.shared.tell(|| format!("the start fails: {error}"));
    let is_io = matches!(error, LogError::Io { .. });
    if is_io && life.had_untold_failure {
        life.shared.see(Sight::LogToldLate);
    }
    let is_full = life.plan.space_bytes.is_some() && error.is_disk_full();
    match (is_io && process.has_failed.load(Ordering::SeqCst)) || is_full {
        true => Ok(()),
        false => Err(format!("the log does not start: {error}")),
    }
}

// ---- threads ----

/// A session, or several of one worker.
fn work(process: &Process, log: &Log, is_first: bool) {
    for _ in 0..process.knobs.steps {
        if let Err(error) = step(process, log, is_first)
            && process.is_over(log, &error)
        {
            return;
        }
        process.look(log);
    }
}

fn step(process: &Process, log: &Log, is_first: bool) -> Result<(), LogError> {
    let shared = &process.shared;
    let small = process.knobs.has_small_batches;
    match process.below(20) {
        0..9 => {
            let end = shared.append(log, class(process), (false, small))?;
            if process.below(4) == 0 {
                shared.append(log, class(process), (false, small))?;
            }
            flush(process, log, end)
        }
        9..13 => {
            let end = shared.append(log, class(process), (true, small))?;
            match process.below(2) {
                0 => wait(process, log, end),
                _ => Ok(()),
            }
        }
        13 => {
            shared.append(log, class(process), (false, small))?;
            log.wake_writer();
            Ok(())
        }
        14 => {
            log.request_sync();
            Ok(())
        }
        15 => {
            let end = log.sync()?;
            wait(process, log, end)
        }
        16 if process.knobs.switches_durability && is_first => {
            let wanted = other(log.durability());
            process.shared.tell(|| format!("durability is {wanted:?} from now on"));
            process.shared.see(Sight::LogDurabilitySwitched);
            log.set_durability(wanted);
            Ok(())
        }
        17 if !process.knobs.has_threads => match process.below(2) {
            0 => log.maintain(),
            _ => log.write_unsynced(),
        },
        18 if process.knobs.space_is_short && process.below(4) == 0 => {
            process.disk.set_space(None);
            Ok(())
        }
        _ => {
            pause(process.below(5_000));
            Ok(())
        }
    }
}

fn class(process: &Process) -> AppendClass {
    if process.knobs.has_internal && process.below(4) == 0 {
        process.was_internal.store(true, Ordering::SeqCst);
        return AppendClass::Internal;
    }
    AppendClass::User
}

fn flush(process: &Process, log: &Log, end: Lsn) -> Result<(), LogError> {
    let flushed = log.try_flush_inline()?;
    process.look(log);
    let number = process.flushes.fetch_add(1, Ordering::SeqCst) + 1;
    if process.end == End::CrashBehindFlush(number) {
        process.shared.tell(|| format!("the process dies behind its flush {number}"));
        *held(&process.crashed) = Some(process.disk.crash_point());
        crash();
    }
    match flushed {
        InlineFlush::Flushed(position) if position > log.durable_lsn() => {
            process.shared.see(Sight::LogFlushOvertook);
            wait(process, log, end)
        }
        InlineFlush::Flushed(_) => Ok(()),
        InlineFlush::LeftToWriter | InlineFlush::Nothing => match process.below(2) {
            0 => wait(process, log, end),
            _ => Ok(()),
        },
    }
}

/// What it says is durable from then on.
fn wait(process: &Process, log: &Log, end: Lsn) -> Result<(), LogError> {
    log.wait_durable(end)?;
    held(&process.shared.known).durable(end);
    Ok(())
}

/// Checkpoints: each covers what is durable when it begins, and lets the log be cut when it is there.
fn checkpoint(process: &Process, log: &Log) {
    let file_system = Arc::new(process.disk.clone());
    let Ok(store) = CheckpointStore::open(file_system, Path::new(CHECKPOINTS)) else { return };
    for _ in 0..process.below(4) {
        pause(process.below(20_000));
        let covered = held(&process.shared.known).durable_count();
        let written = store.create(GROUP, &(covered as u64).to_le_bytes(), CheckpointOptions::default()).and_then(
            |mut writer| {
                for _ in 0..process.below(3) {
                    writer.append(&[7; 3000])?;
                }
                writer.finish()
            },
        );
        // Without one the log stays as it is.
        let Ok(finished) = written else { continue };
        let low_water = held(&process.shared.known).cut(covered);
        if let Some(low_water) = low_water {
            process.shared.tell(|| format!("a checkpoint covers {covered} batches, up to {low_water}"));
            log.set_low_water(low_water);
            process.shared.see(Sight::LogCut);
        }
        let _ = store.remove_older(GROUP, finished.number);
    }
}
