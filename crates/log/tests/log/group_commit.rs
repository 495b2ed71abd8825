//! Many threads, one log: what was acknowledged to any of them survives a crash at any moment.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use shoal_log::testing::{Fault, MemoryFileSystem, Operation};
use shoal_log::{AppendClass, Durability, Log, LogBatch, LogHooks, LogOptions, RecordHeader};

use crate::support::{DIRECTORY, append, numbers, options, recover, reopen, wait_until};

fn threaded(disk: &MemoryFileSystem) -> LogOptions {
    LogOptions { spawn_threads: true, segment_bytes: 64 << 10, first_segment_bytes: 16 << 10, ..options(disk) }
}

fn record(thread: u64, index: u64) -> LogBatch {
    let mut batch = LogBatch::new();
    for part in 0..2 {
        let header = RecordHeader { group: thread, kind: 0, index, term: part };
        batch.push(header, &[thread as u8; 100]);
    }
    batch
}

/// How many batches of each thread a recovery finds; every batch has both its records.
fn count_recovered(disk: &MemoryFileSystem, threads: usize) -> Vec<u64> {
    let mut records = vec![0; threads];
    let recovery = Log::open(DIRECTORY.as_ref(), threaded(disk)).expect("opens");
    let replayed = recovery.replay(LogHooks::none(), |record| {
        let count = &mut records[record.group as usize];
        assert_eq!((record.index, record.term), (*count / 2, *count % 2));
        *count += 1;
    });
    drop(replayed.expect("the log is intact"));
    assert!(records.iter().all(|count| count % 2 == 0));
    records.iter().map(|count| count / 2).collect()
}

#[test]
fn every_acknowledged_batch_of_many_threads_survives_a_crash_at_any_moment() {
    const THREADS: usize = 8;
    const BATCHES: u64 = 300;
    let disk = MemoryFileSystem::new();
    let log = recover(threaded(&disk), LogHooks::none()).expect("opens").log;
    let acknowledged: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
    let finished = AtomicUsize::new(0);
    let mut moments = Vec::new();
    std::thread::scope(|scope| {
        for (thread, mine) in acknowledged.iter().enumerate() {
            let (log, finished) = (&log, &finished);
            scope.spawn(move || {
                for index in 0..BATCHES {
                    let batch = record(thread as u64, index);
                    // Half of the threads try to flush themselves.
                    let end = match thread % 2 {
                        0 => log.append(&batch, AppendClass::User).expect("taken"),
                        _ => {
                            let end = log.append_unflushed(&batch, AppendClass::User).expect("taken");
                            log.try_flush_inline().expect("the flush succeeds");
                            end
                        }
                    };
                    log.wait_durable(end).expect("durable");
                    mine.store(index + 1, Ordering::SeqCst);
                }
                finished.fetch_add(1, Ordering::SeqCst);
            });
        }
        while finished.load(Ordering::SeqCst) < THREADS {
            let before: Vec<u64> = acknowledged.iter().map(|count| count.load(Ordering::SeqCst)).collect();
            let progress: u64 = before.iter().sum();
            if progress >= 50 * moments.len() as u64 {
                moments.push((before, disk.crash_point()));
            }
            std::thread::yield_now();
        }
    });
    let last: Vec<u64> = acknowledged.iter().map(|count| count.load(Ordering::SeqCst)).collect();
    assert_eq!(last, vec![BATCHES; THREADS]);
    moments.push((last, disk.crash_point()));
    for (before, point) in moments {
        let found = count_recovered(&point.crash(&point.uniform_image(false)), THREADS);
        assert!(found.iter().zip(&before).all(|(found, before)| found >= before));
    }
}

#[test]
fn a_batch_appended_while_another_is_flushed_is_flushed_without_further_ado() {
    let disk = MemoryFileSystem::new();
    let log = Arc::new(OnceLock::<Weak<Log>>::new());
    let appended = Arc::new(AtomicU64::new(1));
    let (reachable, counter) = (Arc::clone(&log), Arc::clone(&appended));
    // The hook appends the next batch, until there are a hundred: hooks run without locks held.
    let hooks = LogHooks {
        on_durable: Box::new(move |_| {
            let Some(log) = reachable.get().and_then(Weak::upgrade) else {
                return;
            };
            let next = counter.load(Ordering::SeqCst);
            if next < 100 {
                append(&log, next);
                counter.store(next + 1, Ordering::SeqCst);
            }
        }),
        ..LogHooks::none()
    };
    let opened = Arc::new(recover(threaded(&disk), hooks).expect("opens").log);
    log.set(Arc::downgrade(&opened)).expect("set once");
    append(&opened, 0);
    wait_until(|| appended.load(Ordering::SeqCst) >= 100);
    opened.sync().expect("durable");
    opened.close().expect("closes");
    drop(opened);
    assert_eq!(reopen(&disk).expect("opens").batches, numbers(0..100));
}

#[test]
fn a_flush_that_is_done_first_counts_when_the_one_before_it_is_done() {
    let disk = MemoryFileSystem::new();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&reports);
    let hooks = LogHooks {
        on_durable: Box::new(move |lsn| sink.lock().expect("not poisoned").push(lsn)),
        ..LogHooks::none()
    };
    let log = Arc::new(recover(options(&disk), hooks).expect("opens").log);
    let second = Arc::new(OnceLock::new());
    let (other, seen, crashed) = (Arc::downgrade(&log), Arc::clone(&second), Arc::new(Mutex::new(None)));
    let (inner_disk, image) = (disk.clone(), Arc::clone(&crashed));
    // While the first flush is about to write, another thread appends and flushes.
    disk.before_sync(move || {
        let Some(log) = other.upgrade() else { return };
        if seen.set(append(&log, 1)).is_ok() {
            let before = log.durable_lsn();
            std::thread::scope(|scope| {
                scope.spawn(|| log.try_flush_inline().expect("the flush succeeds"));
            });
            assert_eq!(log.durable_lsn(), before, "nothing counts while there is a hole before it");
            *image.lock().expect("not poisoned") = Some(inner_disk.crash_point());
        }
    });
    append(&log, 0);
    log.try_flush_inline().expect("the flush succeeds");
    let second = second.get().copied().expect("appended");
    assert!(log.durable_lsn() >= second);
    assert_eq!(*reports.lock().expect("not poisoned"), [log.durable_lsn()], "both are reported at once");
    drop(log);
    // A crash in between, with the second flush on the medium and not the first: neither was acknowledged.
    let point = crashed.lock().expect("not poisoned").take().expect("seen");
    let recovered = reopen(&point.crash(&point.uniform_image(false))).expect("a hole at the end is a torn tail");
    assert_eq!(recovered.batches, numbers(0..0));
    assert_eq!(reopen(&disk).expect("opens").batches, numbers(0..2));
}

/// A flush that was under way when another one failed was still reported, though nothing may be after the first failure.
#[test]
fn a_flush_that_ends_after_another_one_failed_counts_no_more() {
    let disk = MemoryFileSystem::new();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&reports);
    let hooks = LogHooks {
        on_durable: Box::new(move |lsn| sink.lock().expect("not poisoned").push(lsn)),
        ..LogHooks::none()
    };
    let log = Arc::new(recover(options(&disk), hooks).expect("opens").log);
    let (other, seen, inner_disk) = (Arc::downgrade(&log), OnceLock::new(), disk.clone());
    // While the first flush is about to write, the next one fails.
    disk.before_sync(move || {
        let Some(log) = other.upgrade() else { return };
        if seen.set(append(&log, 1)).is_ok() {
            inner_disk.fail(Operation::Write, 0, Fault::InputOutput);
            std::thread::scope(|scope| {
                scope.spawn(|| log.try_flush_inline().expect_err("the flush fails"));
            });
        }
    });
    let before = log.durable_lsn();
    append(&log, 0);
    assert!(log.try_flush_inline().is_err());
    assert_eq!(log.durable_lsn(), before);
    assert!(reports.lock().expect("not poisoned").is_empty());
}

/// A flush that had something unsynced before it was still reported when the keeper had failed meanwhile.
#[test]
fn a_flush_made_alone_counts_no_more_when_the_keeper_has_failed() {
    let disk = MemoryFileSystem::new();
    let log = Arc::new(recover(options(&disk), LogHooks::none()).expect("opens").log);
    append(&log, 0);
    log.write_unsynced().expect("the write succeeds");
    let (other, seen, inner_disk) = (Arc::downgrade(&log), OnceLock::new(), disk.clone());
    disk.before_sync(move || {
        let Some(log) = other.upgrade() else { return };
        if seen.set(()).is_ok() {
            inner_disk.fail(Operation::Create, 0, Fault::InputOutput);
            std::thread::scope(|scope| {
                scope.spawn(|| log.maintain().expect_err("no segment can be prepared"));
            });
        }
    });
    let before = log.durable_lsn();
    assert!(log.try_flush_inline().is_err());
    assert_eq!(log.durable_lsn(), before);
}

/// Only a failed flush woke those who wait for others to end, and not a failure of the keeper.
#[test]
fn a_flush_that_waits_for_others_ends_when_the_keeper_has_failed() {
    let disk = MemoryFileSystem::new();
    let log = Arc::new(recover(options(&disk), LogHooks::none()).expect("opens").log);
    let (other, seen, inner_disk) = (Arc::downgrade(&log), OnceLock::new(), disk.clone());
    let (ended, has_ended) = std::sync::mpsc::channel();
    disk.before_sync(move || {
        let Some(log) = other.upgrade() else { return };
        if seen.set(append(&log, 1)).is_ok() {
            let (waiting, ended) = (Arc::clone(&log), ended.clone());
            std::thread::spawn(move || ended.send(waiting.write_unsynced().is_err()));
            // It mostly waits by now; if it does not yet, it will see why it need not.
            (0..1000).for_each(|_| std::thread::yield_now());
            inner_disk.fail(Operation::Create, 0, Fault::InputOutput);
            assert!(log.maintain().is_err());
        }
    });
    append(&log, 0);
    assert!(log.try_flush_inline().is_err());
    assert_eq!(has_ended.recv_timeout(Duration::from_secs(30)), Ok(true));
}

#[test]
fn the_durable_hook_reports_the_end_of_everything_that_was_appended() {
    let disk = MemoryFileSystem::new();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&reports);
    let hooks = LogHooks {
        on_durable: Box::new(move |lsn| sink.lock().expect("not poisoned").push(lsn)),
        ..LogHooks::none()
    };
    let log = recover(options(&disk), hooks).expect("opens").log;
    append(&log, 0);
    let end = append(&log, 1);
    assert!(!log.is_acknowledged(end));
    log.try_flush_inline().expect("the flush succeeds");
    assert!(log.is_acknowledged(end));
    let reports = reports.lock().expect("not poisoned");
    assert_eq!(reports.len(), 1, "one flush, one report");
    assert!(reports[0] >= end);
    assert_eq!(reports[0], log.durable_lsn());
}

#[test]
fn a_replicated_log_acknowledges_at_once_and_syncs_on_request_or_when_switched_to_disk() {
    let disk = MemoryFileSystem::new();
    let settings = LogOptions {
        durability: Durability::Replicated,
        sync_interval: Duration::from_secs(3600),
        ..threaded(&disk)
    };
    let log = recover(settings, LogHooks::none()).expect("opens").log;
    let end = append(&log, 0);
    assert!(log.is_acknowledged(end));
    assert!(log.durable_lsn() < end);
    log.wait_durable(end).expect("synced on request");
    let end = append(&log, 1);
    log.set_durability(Durability::Disk);
    wait_until(|| log.durable_lsn() >= end);
    assert!(log.is_acknowledged(end));
}

#[test]
fn a_replicated_log_syncs_by_itself_after_the_interval() {
    let disk = MemoryFileSystem::new();
    let settings = LogOptions {
        durability: Durability::Replicated,
        sync_interval: Duration::from_millis(1),
        ..threaded(&disk)
    };
    let log = recover(settings, LogHooks::none()).expect("opens").log;
    for number in 0..50 {
        let end = append(&log, number);
        wait_until(|| log.durable_lsn() >= end);
    }
}
