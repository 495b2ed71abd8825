//! Measures the log on a real disk: appends a second and latency with 1, 8 and 64 threads that each wait
//! for their batch to be durable, next to a bare write and fdatasync of the same size.
//!
//! `cargo run --release -p shoal-log --example log_bench -- [directory] [seconds per line] [payload bytes]`

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use shoal_log::{AppendClass, Durability, Log, LogBatch, LogHooks, LogOptions, RecordHeader};

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// How a thread gets its batch to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Appends and waits for the writer thread.
    Writer,
    /// Appends, flushes in its own thread if nobody else does, and waits otherwise.
    Inline,
}

struct Settings {
    directory: PathBuf,
    duration: Duration,
    payload_bytes: usize,
}

fn main() -> Result<(), AnyError> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "log_bench.tmp".into());
    let seconds: f64 = arguments.next().map_or(Ok(2.0), |text| text.parse())?;
    let payload_bytes = arguments.next().map_or(Ok(200), |text| text.parse())?;
    let settings = Settings {
        directory: PathBuf::from(directory),
        duration: Duration::from_secs_f64(seconds),
        payload_bytes,
    };
    std::fs::create_dir_all(&settings.directory)?;
    println!("payload {payload_bytes} bytes, {seconds} s a line, latency in us");
    bare(&settings)?;
    for (threads, way) in [
        (1, Way::Inline),
        (1, Way::Writer),
        (8, Way::Inline),
        (8, Way::Writer),
        (64, Way::Inline),
        (64, Way::Writer),
    ] {
        appending(&settings, threads, way, Durability::Disk)?;
    }
    appending(&settings, 8, Way::Writer, Durability::Replicated)?;
    starting(&settings)?;
    std::fs::remove_dir_all(&settings.directory)?;
    Ok(())
}

fn print_line(name: &str, elapsed: Duration, histogram: &Histogram<u64>, note: &str) {
    let microseconds = |quantile| histogram.value_at_quantile(quantile) as f64 / 1000.0;
    println!(
        "{name:<34} {:>9.0}/s  mean {:>7.1}  p50 {:>7.1}  p95 {:>7.1}  p99 {:>7.1}  max {:>8.1}  {note}",
        histogram.len() as f64 / elapsed.as_secs_f64(),
        histogram.mean() / 1000.0,
        microseconds(0.5),
        microseconds(0.95),
        microseconds(0.99),
        histogram.max() as f64 / 1000.0,
    );
}

fn histogram() -> Result<Histogram<u64>, AnyError> {
    Ok(Histogram::new_with_bounds(1, 60_000_000_000, 3)?)
}

fn nanoseconds(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// One thread, a zero-filled file, write and fdatasync: what no log can beat.
fn bare(settings: &Settings) -> Result<(), AnyError> {
    let path = settings.directory.join("bare");
    let file = std::fs::File::create(&path)?;
    let size = 64 << 20;
    for at in (0..size).step_by(1 << 20) {
        file.write_all_at(&vec![0; 1 << 20], at)?;
    }
    file.sync_all()?;
    let record = vec![1; settings.payload_bytes + 64];
    let mut histogram = histogram()?;
    let start = Instant::now();
    let mut at = 0;
    while start.elapsed() < settings.duration {
        let begin = Instant::now();
        file.write_all_at(&record, at)?;
        file.sync_data()?;
        histogram.record(nanoseconds(begin))?;
        at = (at + record.len() as u64) % (size - record.len() as u64);
    }
    print_line("bare write and fdatasync", start.elapsed(), &histogram, "");
    std::fs::remove_file(path)?;
    Ok(())
}

fn appending(settings: &Settings, threads: u64, way: Way, durability: Durability) -> Result<(), AnyError> {
    let directory = settings.directory.join("log");
    let _ = std::fs::remove_dir_all(&directory);
    let flushes = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&flushes);
    let hooks = LogHooks {
        on_durable: Box::new(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        }),
        ..LogHooks::none()
    };
    let options = LogOptions { durability, ..LogOptions::new(1) };
    let (log, _) = Log::open(&directory, options)?.replay(hooks, |_| {})?;
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let outcomes: Vec<Result<Histogram<u64>, AnyError>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                let (log, stop) = (&log, &stop);
                scope.spawn(move || append_until(log, stop, thread, way, settings.payload_bytes))
            })
            .collect();
        std::thread::sleep(settings.duration);
        stop.store(true, Ordering::Relaxed);
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    });
    let elapsed = start.elapsed();
    let mut all = histogram()?;
    for outcome in outcomes {
        all.add(outcome?)?;
    }
    let per_flush = all.len() as f64 / flushes.load(Ordering::Relaxed).max(1) as f64;
    let name = format!("{durability:?}, {way:?}, {threads} threads");
    print_line(&name, elapsed, &all, &format!("{per_flush:.1} per flush"));
    drop(log);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

fn append_until(
    log: &Log,
    stop: &AtomicBool,
    thread: u64,
    way: Way,
    payload_bytes: usize,
) -> Result<Histogram<u64>, AnyError> {
    let payload = vec![thread as u8; payload_bytes];
    let mut batch = LogBatch::new();
    let mut histogram = histogram()?;
    let mut index = 0;
    while !stop.load(Ordering::Relaxed) {
        index += 1;
        let begin = Instant::now();
        batch.clear();
        let header = RecordHeader { group: thread, kind: 0, index, term: 1 };
        batch.push(header, &payload);
        let end = match way {
            Way::Writer => log.append(&batch, AppendClass::User)?,
            Way::Inline => {
                let end = log.append_unflushed(&batch, AppendClass::User)?;
                log.try_flush_inline()?;
                end
            }
        };
        if !log.is_acknowledged(end) {
            log.wait_durable(end)?;
        }
        histogram.record(nanoseconds(begin))?;
    }
    Ok(histogram)
}

/// How long it takes to open an empty directory, and one with a log of some hundred megabytes.
fn starting(settings: &Settings) -> Result<(), AnyError> {
    let directory = settings.directory.join("start");
    let begin = Instant::now();
    let (log, _) = open(&directory)?;
    println!("start of an empty directory: {:.1} ms", milliseconds(begin));
    let mut batch = LogBatch::new();
    let header = RecordHeader { group: 1, kind: 0, index: 1, term: 1 };
    for _ in 0..100 {
        batch.push(header, &[7; 1000]);
    }
    let begin = Instant::now();
    for _ in 0..3000 {
        log.append(&batch, AppendClass::User)?;
    }
    log.close()?;
    let megabytes = log.size_bytes() >> 20;
    println!("bulk load of {megabytes} MiB: {:.0} ms", milliseconds(begin));
    drop(log);
    let begin = Instant::now();
    let (log, records) = open(&directory)?;
    println!("recovery of it, {records} records: {:.0} ms", milliseconds(begin));
    drop(log);
    Ok(())
}

fn open(directory: &Path) -> Result<(Log, u64), AnyError> {
    let mut records = 0;
    let (log, _) = Log::open(directory, LogOptions::new(1))?.replay(LogHooks::none(), |_| records += 1)?;
    Ok((log, records))
}

fn milliseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1000.0
}
