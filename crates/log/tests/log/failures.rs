//! The first failed write or sync ends the log; nothing after it is ever reported durable.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use shoal_log::testing::{CrashImage, Fault, MemoryFileSystem, Operation};
use shoal_log::{AppendClass, LogError, LogHooks, LogOptions};

use crate::support::{append, batch, numbers, options, recover, reopen, wait_until, write_all};

#[test]
fn after_a_failed_sync_nothing_is_reported_durable_even_though_later_syncs_would_succeed() {
    for operation in [Operation::Write, Operation::Sync] {
        let disk = MemoryFileSystem::new();
        let reported = Arc::new(AtomicU64::new(0));
        let fatal = Arc::new(AtomicU64::new(0));
        let (durable, stopped) = (Arc::clone(&reported), Arc::clone(&fatal));
        let hooks = LogHooks {
            on_durable: Box::new(move |lsn| {
                durable.fetch_max(lsn.0, Ordering::SeqCst);
            }),
            on_fatal: Box::new(move |_| {
                stopped.fetch_add(1, Ordering::SeqCst);
            }),
        };
        let log = recover(options(&disk), hooks).expect("opens").log;
        write_all(&log, 0..3);
        let acknowledged = log.durable_lsn();
        assert_eq!(reported.load(Ordering::SeqCst), acknowledged.0);
        append(&log, 3);
        disk.fail(operation, 0, Fault::InputOutput);
        let error = log.try_flush_inline().expect_err("the flush fails");
        assert!(matches!(error, LogError::Poisoned { .. }) && !error.is_disk_full());
        assert!(log.append(&batch(4), AppendClass::User).is_err());
        assert!(log.try_flush_inline().is_err());
        assert!(log.maintain().is_err());
        assert!(log.wait_durable(log.end_lsn()).is_err());
        assert_eq!(reported.load(Ordering::SeqCst), acknowledged.0);
        assert_eq!(fatal.load(Ordering::SeqCst), 1);
        drop(log);
        let point = disk.crash_point();
        let crashed = point.crash(&point.uniform_image(false));
        assert_eq!(reopen(&crashed).expect("opens").batches, numbers(0..3));
    }
}

#[test]
fn a_batch_that_recovery_shows_after_a_failed_sync_is_written_again() {
    let disk = MemoryFileSystem::new();
    let log = reopen(&disk).expect("opens").log;
    write_all(&log, 0..3);
    append(&log, 3);
    disk.fail(Operation::Sync, 0, Fault::InputOutput);
    assert!(log.try_flush_inline().is_err());
    drop(log);
    // The process restarts; the batch is still in the operating system's memory, marked as clean.
    let recovered = reopen(&disk).expect("opens");
    assert_eq!(recovered.batches, numbers(0..4));
    let point = disk.crash_point();
    let crashed = point.crash(&point.uniform_image(false));
    assert_eq!(reopen(&crashed).expect("opens").batches, numbers(0..4));
}

/// With a page cache the operating system tells of a lost write once, whoever syncs next. The start that is told fails; the next one writes
/// everything again that may be lost.
#[test]
fn a_write_that_the_process_before_lost_fails_one_start_and_nothing_else() {
    let disk = MemoryFileSystem::new();
    disk.use_page_cache(true);
    let log = reopen(&disk).expect("opens").log;
    write_all(&log, 0..3);
    append(&log, 3);
    disk.fail(Operation::Write, 0, Fault::WriteBack);
    log.write_unsynced().expect("the page cache takes the write");
    let killed = disk.crash_point().kill();
    killed.use_page_cache(true);
    assert!(killed.has_untold_failure());
    let Err(error) = reopen(&killed) else { panic!("starts although a sync has failed") };
    assert!(matches!(error, LogError::Io { .. }), "{error}");
    let recovered = reopen(&killed).expect("opens");
    assert_eq!(recovered.batches, numbers(0..4));
    let point = killed.crash_point();
    let crashed = point.crash(&point.uniform_image(false));
    assert_eq!(reopen(&crashed).expect("opens").batches, numbers(0..4));
}

/// The manifest said where the log begins in the operating system's memory alone; the next process removed the segments before
/// that, and when the machine crashed they were missing.
#[test]
fn segments_go_only_when_the_manifest_is_on_the_medium() {
    let disk = MemoryFileSystem::new();
    let log = reopen(&disk).expect("opens").log;
    write_all(&log, 0..40);
    log.maintain().expect("maintenance succeeds");
    log.set_low_water(log.durable_lsn());
    disk.fail(Operation::Sync, 0, Fault::InputOutput);
    assert!(log.maintain().is_err());
    drop(log);
    drop(reopen(&disk).expect("opens"));
    let point = disk.crash_point();
    let names = vec![true; point.name_change_count()];
    let image = CrashImage { names, ..point.uniform_image(false) };
    let recovered = reopen(&point.crash(&image)).expect("no segment is missing");
    assert_eq!(recovered.batches.last(), Some(&39));
}

/// A process died between the renaming of a file and the sync of its directory. The next one went on in a segment, or with a
/// manifest, whose name was gone when the machine crashed, and with it what had been acknowledged.
#[test]
fn names_that_the_process_before_left_unsynced_are_made_durable() {
    for skipped in 0..4 {
        let disk = MemoryFileSystem::new();
        disk.fail(Operation::SyncDirectory, skipped, Fault::InputOutput);
        if let Ok(recovered) = reopen(&disk) {
            let _ = recovered.log.maintain();
        }
        let log = reopen(&disk).expect("opens once the fault is over").log;
        write_all(&log, 0..8);
        let point = disk.crash_point();
        let crashed = point.crash(&point.uniform_image(false));
        assert_eq!(reopen(&crashed).expect("opens").batches, numbers(0..8), "{skipped}");
    }
}

#[test]
fn every_operation_of_recovery_and_maintenance_can_fail_without_a_loss() {
    let kinds = [
        Operation::Write,
        Operation::Sync,
        Operation::Create,
        Operation::Rename,
        Operation::Remove,
        Operation::SyncDirectory,
    ];
    for kind in kinds {
        for skipped in 0..12 {
            let disk = MemoryFileSystem::new();
            let mut acknowledged = 0;
            disk.fail(kind, skipped, Fault::InputOutput);
            if let Ok(recovered) = reopen(&disk) {
                let log = recovered.log;
                while acknowledged < 60 && log.append(&batch(acknowledged), AppendClass::User).is_ok() {
                    if log.try_flush_inline().is_err() {
                        break;
                    }
                    acknowledged += 1;
                    log.set_low_water(log.first_lsn());
                }
            }
            disk.clear_faults();
            let recovered = reopen(&disk).expect("opens once the fault is over");
            let found = recovered.batches.len() as u64;
            assert_eq!(recovered.batches, numbers(0..found));
            assert!(found >= acknowledged, "{kind:?} {skipped}: {found} of {acknowledged}");
        }
    }
}

#[test]
fn threads_that_wait_learn_that_the_log_has_stopped() {
    let disk = MemoryFileSystem::new();
    let settings = LogOptions { spawn_threads: true, ..options(&disk) };
    let log = recover(settings, LogHooks::none()).expect("opens").log;
    let end = append(&log, 0);
    log.wait_durable(end).expect("durable");
    // The keeper may be preparing a segment; whichever write comes first fails, and either stops the log.
    disk.fail(Operation::Sync, 0, Fault::InputOutput);
    std::thread::scope(|scope| {
        for number in 1..5 {
            let log = &log;
            scope.spawn(move || {
                let outcome = log.append(&batch(number), AppendClass::User).and_then(|end| log.wait_durable(end));
                if let Err(error) = outcome {
                    assert!(matches!(error, LogError::Poisoned { .. }));
                }
            });
        }
    });
    wait_until(|| log.append(&batch(9), AppendClass::User).is_err());
}

#[test]
fn a_closed_log_refuses_batches_and_has_kept_all_it_took() {
    let disk = MemoryFileSystem::new();
    let settings = LogOptions { spawn_threads: true, ..options(&disk) };
    let log = recover(settings, LogHooks::none()).expect("opens").log;
    for number in 0..20 {
        append(&log, number);
    }
    log.close().expect("everything is flushed");
    let refused = log.append(&batch(20), AppendClass::User).expect_err("closed");
    assert!(matches!(refused, LogError::Closed));
    let point = disk.crash_point();
    let crashed = point.crash(&point.uniform_image(false));
    assert_eq!(reopen(&crashed).expect("opens").batches, numbers(0..20));
}

/// A flush that failed let go of the segment before it said so: the next one took its place in the file, and what the first had
/// taken was reported durable with it. Found on a disk that had room for the smaller one alone.
#[test]
#[cfg(feature = "simulated")]
fn no_flush_takes_the_place_of_one_that_failed() {
    use shoal_log::schedule::{Outcome, join, pause, simulate, spawn};

    let outcome_of = |seed| {
        simulate(seed, || {
            let disk = MemoryFileSystem::new();
            let log = Arc::new(recover(options(&disk), LogHooks::none()).expect("opens").log);
            let before = log.durable_lsn();
            append(&log, 0);
            disk.fail(Operation::Write, 0, Fault::InputOutput);
            disk.before_each(|_| {
                pause(100);
                None
            });
            let first = Arc::clone(&log);
            let first = spawn("first", move || drop(first.write_unsynced())).expect("there are threads");
            pause(50);
            append(&log, 1);
            let _ = log.try_flush_inline();
            join(first);
            assert_eq!(log.durable_lsn(), before);
        })
    };
    for seed in 0..1000 {
        let outcome = outcome_of(seed);
        assert!(matches!(outcome, Outcome::Finished(())), "seed {seed}: {outcome:?}");
    }
}
