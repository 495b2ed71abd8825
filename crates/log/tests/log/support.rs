//! Numbered batches whose content can be checked after recovery, and logs on a disk in memory.

use std::path::Path;
use std::sync::Arc;

use shoal_log::testing::MemoryFileSystem;
use shoal_log::{AppendClass, Log, LogBatch, LogError, LogHooks, LogOptions, Lsn, RecordHeader, RecoveryReport};

pub const DIRECTORY: &str = "data";
pub const LOG_ID: u64 = 0x1234_5678_9abc_def0;
/// One page of header and one of frames: segments change often.
pub const SEGMENT_BYTES: u64 = 8192;

/// A log without threads on `disk`.
pub fn options(disk: &MemoryFileSystem) -> LogOptions {
    LogOptions {
        segment_bytes: SEGMENT_BYTES,
        first_segment_bytes: SEGMENT_BYTES,
        spare_segments: 2,
        spawn_threads: false,
        file_system: Arc::new(disk.clone()),
        ..LogOptions::new(LOG_ID)
    }
}

/// A small generator of random numbers with a seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Batch `number`: one to three records of different groups; `kind` says how many, `term` which one.
pub fn batch(number: u64) -> LogBatch {
    let mut batch = LogBatch::new();
    let records = 1 + number % 3;
    for record in 0..records {
        let header = RecordHeader { group: number % 5 + record, kind: records as u8, index: number, term: record };
        batch.push(header, &payload(number, record));
    }
    batch
}

fn payload(number: u64, record: u64) -> Vec<u8> {
    let mut random = Random(number * 7 + record);
    let length = random.below(400);
    // Every fifth byte run imitates the magic of a frame.
    (0..length)
        .map(|at| match at / 8 % 5 {
            0 => b"SHLF"[(at % 4) as usize],
            _ => random.below(256) as u8,
        })
        .collect()
}

/// What recovery found: the numbers of complete batches, in order.
pub struct Recovered {
    pub log: Log,
    pub report: RecoveryReport,
    pub batches: Vec<u64>,
    /// Where each batch began.
    pub starts: Vec<Lsn>,
}

/// Opens the log and checks every record, that no batch is half there, and that numbers have no gaps.
pub fn recover(options: LogOptions, hooks: LogHooks) -> Result<Recovered, LogError> {
    let mut batches = Vec::new();
    let mut starts = Vec::new();
    let mut expected_record = 0;
    let recovery = Log::open(Path::new(DIRECTORY), options)?;
    let (log, report) = recovery.replay(hooks, |record| {
        assert_eq!(record.term, expected_record, "batch {} is torn", record.index);
        assert_eq!(record.payload, payload(record.index, record.term));
        assert_eq!(record.group, record.index % 5 + record.term);
        if record.term == 0 {
            starts.push(record.lsn);
        }
        expected_record += 1;
        let complete = expected_record == u64::from(record.kind);
        assert_eq!(record.ends_batch, complete);
        if complete {
            batches.push(record.index);
            expected_record = 0;
        }
    })?;
    assert_eq!(expected_record, 0, "the last batch is torn");
    Ok(Recovered { log, report, batches, starts })
}

/// Recovers on a disk in memory, without threads and hooks.
pub fn reopen(disk: &MemoryFileSystem) -> Result<Recovered, LogError> {
    recover(options(disk), LogHooks::none())
}

/// Appends batch `number` without flushing.
pub fn append(log: &Log, number: u64) -> Lsn {
    log.append(&batch(number), AppendClass::User).expect("the log takes the batch")
}

/// Appends batches and makes each durable with a flush of its own.
pub fn write_all(log: &Log, numbers: std::ops::Range<u64>) {
    for number in numbers {
        append(log, number);
        log.try_flush_inline().expect("the flush succeeds");
    }
}

/// A log with `count` durable batches, each in its own frame, and the disk it is on.
pub fn disk_with(count: u64) -> MemoryFileSystem {
    let disk = MemoryFileSystem::new();
    let recovered = reopen(&disk).expect("an empty directory opens");
    write_all(&recovered.log, 0..count);
    disk
}

pub fn numbers(range: std::ops::Range<u64>) -> Vec<u64> {
    range.collect()
}

/// Waits for a condition that another thread brings about.
pub fn wait_until(condition: impl Fn() -> bool) {
    let begin = std::time::Instant::now();
    while !condition() {
        assert!(begin.elapsed().as_secs() < 60, "the condition does not come true");
        std::thread::yield_now();
    }
}
