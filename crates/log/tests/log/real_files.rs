//! The same on the operating system's files.

use shoal_log::{Log, LogError, LogHooks, LogOptions};

use crate::support::{LOG_ID, append, batch};

#[test]
fn a_second_log_on_the_same_directory_is_refused_with_the_directory_and_the_process() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = Log::open(directory.path(), LogOptions::new(LOG_ID)).expect("opens");
    let second = Log::open(directory.path(), LogOptions::new(LOG_ID)).expect_err("refused");
    let message = second.to_string();
    assert!(matches!(second, LogError::Locked { .. }));
    assert!(message.contains(&directory.path().display().to_string()), "{message}");
    assert!(message.contains(&std::process::id().to_string()), "{message}");
    let (log, _) = first.replay(LogHooks::none(), |_| {}).expect("replays");
    assert!(Log::open(directory.path(), LogOptions::new(LOG_ID)).is_err());
    drop(log);
    Log::open(directory.path(), LogOptions::new(LOG_ID)).expect("the lock is gone with the log");
}

#[test]
fn records_survive_closing_and_opening_and_segments_are_prepared_and_cut() {
    let directory = tempfile::tempdir().expect("a directory");
    let settings = || LogOptions {
        segment_bytes: 64 << 10,
        first_segment_bytes: 8 << 10,
        spare_segments: 1,
        ..LogOptions::new(LOG_ID)
    };
    let mut expected = 0;
    for round in 0..3 {
        let recovery = Log::open(directory.path(), settings()).expect("opens");
        assert_eq!(recovery.is_new(), round == 0);
        let mut last = None;
        let (log, report) =
            recovery.replay(LogHooks::none(), |record| last = Some(record.index)).expect("replays");
        assert_eq!(last, u64::checked_sub(expected, 1));
        assert_eq!(report.created, round == 0);
        for _ in 0..400 {
            append(&log, expected);
            expected += 1;
        }
        let end = log.sync().expect("durable");
        for number in expected..expected + 400 {
            let end = append(&log, number);
            if number % 10 == 0 {
                log.wait_durable(end).expect("durable");
            }
        }
        expected += 400;
        log.set_low_water(end);
        log.close().expect("closes");
    }
}

#[test]
fn a_log_opened_elsewhere_keeps_its_number() {
    let directory = tempfile::tempdir().expect("a directory");
    let (log, _) = Log::open(directory.path(), LogOptions::new(7))
        .and_then(|recovery| recovery.replay(LogHooks::none(), |_| {}))
        .expect("opens");
    log.append(&batch(1), shoal_log::AppendClass::Internal).expect("taken");
    log.close().expect("closes");
    drop(log);
    let recovery = Log::open(directory.path(), LogOptions::new(8)).expect("opens");
    assert_eq!(recovery.log_id(), 7);
    let (log, report) = recovery.replay(LogHooks::none(), |_| {}).expect("replays");
    assert_eq!((log.log_id(), report.records), (7, 2));
}
