//! A full disk: user writes are refused while there is still room for what must go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use shoal_log::testing::{Fault, MemoryFileSystem, Operation};
use shoal_log::{AppendClass, LogBatch, LogError, LogHooks, LogOptions, RecordHeader};

use crate::support::{
    SEGMENT_BYTES, append, batch, disk_with, numbers, options, recover, reopen, wait_until, write_all,
};

/// A disk without room for one more segment, and a log on it that has noticed.
fn full_disk() -> (MemoryFileSystem, shoal_log::Log) {
    let disk = MemoryFileSystem::new();
    disk.set_space(Some(3 * SEGMENT_BYTES as usize));
    let log = reopen(&disk).expect("opens").log;
    let mut number = 0;
    while !log.disk_space_low() {
        append(&log, number);
        log.try_flush_inline().expect("there is room in the prepared segment");
        log.maintain().expect("a full disk is not an error");
        number += 1;
        assert!(number < 1000, "the disk never fills up");
    }
    (disk, log)
}

#[test]
fn on_a_full_disk_user_writes_are_refused_and_internal_ones_are_not() {
    let (disk, log) = full_disk();
    let refused = log.append(&batch(0), AppendClass::User).expect_err("refused");
    assert!(matches!(refused, LogError::DiskFull { .. }) && refused.is_disk_full());
    assert!(log.check_space().is_err());
    let end = log.end_lsn();
    log.append(&batch(0), AppendClass::Internal).expect("taken");
    log.wait_durable(end).expect("durable");
    assert!(disk.paths().iter().all(|path| path.extension().is_none_or(|name| name != "tmp")));
}

#[test]
fn user_writes_work_again_when_space_is_back() {
    let (disk, log) = full_disk();
    disk.set_space(None);
    log.maintain().expect("the next segment is prepared");
    assert!(!log.disk_space_low());
    append(&log, 0);
}

#[test]
fn a_full_disk_becomes_free_by_cutting_the_log() {
    let disk = MemoryFileSystem::new();
    disk.set_space(Some(2 * SEGMENT_BYTES as usize + 9000));
    let mut settings = options(&disk);
    settings.spare_segments = 0;
    let log = recover(settings, LogHooks::none()).expect("opens").log;
    log.maintain().expect("the second segment fits");
    let mut number = 0;
    while !log.disk_space_low() {
        write_all(&log, number..number + 1);
        log.maintain().expect("a full disk is not an error");
        number += 1;
    }
    write_internal(&log, number);
    log.set_low_water(log.end_lsn());
    log.maintain().expect("cutting needs no space");
    assert!(!log.disk_space_low());
}

fn write_internal(log: &shoal_log::Log, number: u64) {
    log.append(&batch(number), AppendClass::Internal).expect("taken");
    log.try_flush_inline().expect("there is room");
}

#[test]
fn a_write_that_finds_the_disk_full_stops_the_log_and_loses_nothing_acknowledged() {
    let disk = disk_with(5);
    let fatal = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&fatal);
    let hooks = LogHooks {
        on_fatal: Box::new(move |error| {
            assert!(error.is_disk_full());
            counted.fetch_add(1, Ordering::SeqCst);
        }),
        ..LogHooks::none()
    };
    let log = recover(options(&disk), hooks).expect("opens").log;
    write_all(&log, 5..8);
    let durable = log.durable_lsn();
    append(&log, 8);
    disk.fail(Operation::Write, 0, Fault::DiskFull);
    let failed = log.try_flush_inline().expect_err("the write fails");
    assert!(matches!(failed, LogError::Poisoned { .. }) && failed.is_disk_full());
    let refused = log.append(&batch(9), AppendClass::Internal).expect_err("refused");
    assert!(matches!(refused, LogError::Poisoned { .. }));
    assert!(log.try_flush_inline().is_err());
    assert_eq!(log.durable_lsn(), durable);
    assert_eq!(fatal.load(Ordering::SeqCst), 1);
    drop(log);
    assert_eq!(reopen(&disk).expect("opens").batches, numbers(0..8));
}

#[test]
fn a_log_opens_on_a_full_disk() {
    let disk = disk_with(40);
    disk.set_space(Some(0));
    let recovered = reopen(&disk).expect("opening needs no space");
    assert_eq!(recovered.batches, numbers(0..40));
}

#[test]
fn the_keeper_thread_notices_that_space_is_back_by_itself() {
    let disk = MemoryFileSystem::new();
    disk.set_space(Some(3 * SEGMENT_BYTES as usize));
    let settings = LogOptions { spawn_threads: true, disk_full_retry: Duration::from_millis(1), ..options(&disk) };
    let log = recover(settings, LogHooks::none()).expect("opens").log;
    let mut number = 0;
    while !log.disk_space_low() {
        // Refused means that the keeper has noticed between the two lines.
        if let Ok(end) = log.append(&batch(number), AppendClass::User) {
            log.wait_durable(end).expect("what a user may append has its place");
            number += 1;
        }
    }
    disk.set_space(None);
    wait_until(|| !log.disk_space_low());
    let end = append(&log, number);
    log.wait_durable(end).expect("durable");
    drop(log);
    assert_eq!(reopen(&disk).expect("opens").batches, numbers(0..number + 1));
}

/// Users used to be taken until the disk was known to be full: when they filled the last segment before that, the flush found no
/// place for what had been taken, and the log ended.
#[test]
fn users_who_fill_the_last_segment_before_anybody_has_looked_are_refused_and_the_log_goes_on() {
    let disk = MemoryFileSystem::new();
    let log = reopen(&disk).expect("opens").log;
    disk.set_space(Some(3 * SEGMENT_BYTES as usize));
    let mut number = 0;
    // Nobody maintains the log but those who append, and every other batch goes into the same frame as the one before it.
    let refused = loop {
        match log.append(&batch(number), AppendClass::User) {
            Ok(_) if number % 2 == 0 => {}
            Ok(_) => drop(log.try_flush_inline().expect("what a user may append has its place")),
            Err(error) => break error,
        }
        number += 1;
        assert!(number < 1000, "the disk never fills up");
    };
    assert!(matches!(refused, LogError::DiskFull { .. }), "{refused}");
    // A decision and a vote.
    for _ in 0..2 {
        write_internal(&log, number);
        number += 1;
    }
    disk.set_space(None);
    log.maintain().expect("the next segment is prepared");
    write_all(&log, number..number + 50);
    drop(log);
    assert_eq!(reopen(&disk).expect("opens").batches, numbers(0..number + 50));
}

#[test]
fn many_threads_that_fill_a_disk_up_are_all_refused_and_go_on_when_there_is_space_again() {
    for round in 0..20 {
        let disk = MemoryFileSystem::new();
        let settings = LogOptions {
            spawn_threads: true,
            disk_full_retry: Duration::from_millis(1),
            segment_bytes: 4 * SEGMENT_BYTES,
            ..options(&disk)
        };
        let hooks =
            LogHooks { on_fatal: Box::new(|error| panic!("the log stopped: {error}")), ..LogHooks::none() };
        let log = recover(settings, hooks).expect("opens").log;
        // At another place in a segment each time.
        disk.set_space(Some(10 * SEGMENT_BYTES as usize + round * 600));
        let (taken, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let (log, disk, taken, refused) = (&log, &disk, &taken, &refused);
                scope.spawn(move || {
                    let mut waits = true;
                    for number in 0.. {
                        match log.append_unflushed(&user_batch(thread, number), AppendClass::User) {
                            Ok(end) => {
                                taken.fetch_add(1, Ordering::SeqCst);
                                match thread % 2 {
                                    0 => log.wake_writer(),
                                    _ => drop(log.try_flush_inline().expect("it has its place")),
                                }
                                log.wait_durable(end).expect("it has its place");
                                if !waits {
                                    return;
                                }
                            }
                            Err(error) => {
                                assert!(matches!(error, LogError::DiskFull { .. }), "{error}");
                                if waits && refused.fetch_add(1, Ordering::SeqCst) == 5 {
                                    disk.set_space(None);
                                }
                                waits = false;
                            }
                        }
                    }
                });
            }
        });
        let taken = taken.into_inner();
        drop(log);
        assert_eq!(count_records(&disk), taken);
    }
}

fn user_batch(thread: u64, number: u64) -> LogBatch {
    let mut batch = LogBatch::new();
    let header = RecordHeader { group: thread, kind: 0, index: number, term: 0 };
    batch.push(header, &vec![7; (thread * 100 + number * 37 % 900) as usize]);
    batch
}

fn count_records(disk: &MemoryFileSystem) -> u64 {
    let recovery = shoal_log::Log::open(crate::support::DIRECTORY.as_ref(), options(disk)).expect("opens");
    let mut count = 0;
    drop(recovery.replay(LogHooks::none(), |_| count += 1).expect("the log is intact"));
    count
}

#[test]
fn a_batch_that_is_larger_than_a_segment_is_refused_when_there_is_no_space_for_it_and_smaller_ones_are_not() {
    let disk = MemoryFileSystem::new();
    let log = reopen(&disk).expect("opens").log;
    log.maintain().expect("the second segment fits");
    let large = |number| {
        let mut batch = LogBatch::new();
        batch.push(
            RecordHeader { group: 0, kind: 1, index: number, term: 0 },
            &vec![7; 5 * SEGMENT_BYTES as usize],
        );
        batch
    };
    let used = log.disk_bytes() as usize;
    disk.set_space(Some(used + 4 * SEGMENT_BYTES as usize));
    let refused = log.append(&large(0), AppendClass::User).expect_err("refused");
    assert!(matches!(refused, LogError::DiskFull { .. }), "{refused}");
    assert_eq!(log.disk_bytes() as usize, used, "the space that was won for it is given back");
    for number in 0..20 {
        log.append(&user_batch(1, number), AppendClass::User).expect("taken");
        log.try_flush_inline().expect("it has its place");
    }
    disk.set_space(None);
    log.append(&large(20), AppendClass::User).expect("taken");
    let allocated = log.disk_bytes();
    log.try_flush_inline().expect("it has its place");
    assert_eq!(log.disk_bytes(), allocated, "no file had to grow");
    drop(log);
    assert_eq!(count_records(&disk), 21);
}
