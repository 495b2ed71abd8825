//! Cutting the log, and using its segments again.

use shoal_log::testing::MemoryFileSystem;
use shoal_log::{AppendClass, Lsn};

use crate::support::{SEGMENT_BYTES, append, batch, numbers, options, recover, reopen, write_all};

#[test]
fn segments_before_the_low_water_go_and_the_rest_of_the_log_stays_readable() {
    let disk = MemoryFileSystem::new();
    let log = reopen(&disk).expect("opens").log;
    write_all(&log, 0..100);
    let size = log.size_bytes();
    let low_water = append(&log, 100);
    write_all(&log, 101..105);
    log.set_low_water(low_water);
    log.maintain().expect("maintenance succeeds");
    assert!(log.size_bytes() < size / 4);
    assert!(log.disk_bytes() <= 6 * SEGMENT_BYTES);
    assert!(log.first_lsn() > Lsn::ZERO && log.first_lsn() <= low_water);
    drop(log);
    let recovered = reopen(&disk).expect("opens");
    let first = recovered.batches[0];
    assert!(first <= 101, "batch 101 begins at the low water or behind it");
    assert_eq!(recovered.batches, numbers(first..105));
    assert_eq!(recovered.report.first_lsn, recovered.log.first_lsn());
}

/// A log that was long once does not keep all of its files: no more wait to be used again than the options say.
#[test]
fn no_more_files_than_wanted_are_kept_for_later() {
    let disk = MemoryFileSystem::new();
    let log = reopen(&disk).expect("opens").log;
    write_all(&log, 0..100);
    log.set_low_water(log.end_lsn());
    log.maintain().expect("maintenance succeeds");
    // One of them has become the next segment.
    let spares = options(&disk).spare_segments as u64;
    assert_eq!(log.disk_bytes(), (1 + spares) * SEGMENT_BYTES);
}

#[test]
fn a_low_water_in_the_future_never_cuts_what_is_being_written() {
    let disk = MemoryFileSystem::new();
    let log = reopen(&disk).expect("opens").log;
    log.set_low_water(Lsn(u64::MAX));
    write_all(&log, 0..100);
    log.maintain().expect("maintenance succeeds");
    drop(log);
    let recovered = reopen(&disk).expect("opens");
    assert_eq!(recovered.batches.last(), Some(&99));
}

#[test]
fn the_old_frames_in_a_recycled_segment_are_never_taken_for_records() {
    let disk = MemoryFileSystem::new();
    let log = reopen(&disk).expect("opens").log;
    let mut written = 0;
    let mut recycled = 0;
    for round in 0..30 {
        write_all(&log, written..written + 7);
        written += 7;
        log.set_low_water(log.end_lsn());
        log.maintain().expect("maintenance succeeds");
        let point = disk.crash_point();
        let newest = point.kill();
        let paths = newest.paths();
        let prepared = paths
            .iter()
            .rfind(|path| path.extension().is_some_and(|name| name == "log"))
            .and_then(|path| newest.read(path))
            .expect("there is a segment");
        recycled += u64::from(prepared[4096..].starts_with(b"SHLF"));
        let crashed = point.crash(&point.uniform_image(false));
        let recovered = reopen(&crashed).expect("opens");
        let first = recovered.batches[0];
        assert_eq!(recovered.batches, numbers(first..written), "round {round}");
        assert_eq!(recovered.report.torn_tail, None, "round {round}");
    }
    assert!(recycled > 10, "only {recycled} rounds had a recycled segment in waiting");
}

#[test]
fn a_batch_that_is_larger_than_a_segment_has_one_of_its_own() {
    let disk = MemoryFileSystem::new();
    let log = reopen(&disk).expect("opens").log;
    // All of it goes into one frame, several segments long.
    for number in 0..100 {
        log.append(&batch(number), AppendClass::Internal).expect("taken");
    }
    log.try_flush_inline().expect("the flush succeeds");
    write_all(&log, 100..110);
    drop(log);
    let recovered = reopen(&disk).expect("opens");
    assert_eq!(recovered.batches, numbers(0..110));
    assert!(recovered.report.frames == 11);
}

#[test]
fn a_log_can_be_opened_with_other_segment_sizes() {
    let disk = MemoryFileSystem::new();
    let log = reopen(&disk).expect("opens").log;
    write_all(&log, 0..50);
    drop(log);
    let mut settings = options(&disk);
    settings.segment_bytes = 4 * SEGMENT_BYTES;
    let log = recover(settings, shoal_log::LogHooks::none()).expect("opens").log;
    write_all(&log, 50..100);
    drop(log);
    assert_eq!(reopen(&disk).expect("opens").batches, numbers(0..100));
}

#[test]
fn the_positions_that_recovery_reports_agree_with_those_that_append_returned() {
    let disk = MemoryFileSystem::new();
    let log = reopen(&disk).expect("opens").log;
    let mut ends = Vec::new();
    for number in 0..50 {
        ends.push(append(&log, number));
        if number % 3 == 0 {
            log.try_flush_inline().expect("the flush succeeds");
        }
    }
    log.close().expect("everything is flushed");
    drop(log);
    let recovered = reopen(&disk).expect("opens");
    for (number, start) in recovered.starts.iter().enumerate() {
        assert!(*start < ends[number]);
        assert!(number == 0 || *start >= ends[number - 1]);
    }
    assert!(recovered.report.end_lsn >= ends[49]);
}
