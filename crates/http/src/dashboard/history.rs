//! The last hour of this node, in samples of a fixed size: rates and percentiles since the sample before, and what was in use.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use shoal_sql::figures::Figures;
use shoal_sql::server::Server;
use shoal_sql::statement_times::{BUCKETS, Times, bound_us};

use crate::metrics::process;

pub const SAMPLE_EVERY: Duration = Duration::from_secs(5);
const KEPT: Duration = Duration::from_secs(3600);
const SAMPLES_MAX: usize = (KEPT.as_secs() / SAMPLE_EVERY.as_secs()) as usize;

/// What a sample has, by the names that the page knows. Rates are per second.
pub const FIELDS: [&str; 25] = [
    "reads",
    "writes",
    "others",
    "errors",
    "read_p50_us",
    "read_p95_us",
    "read_p99_us",
    "write_p50_us",
    "write_p95_us",
    "write_p99_us",
    "commits",
    "connections",
    "running",
    "lock_waits",
    "received_bytes",
    "sent_bytes",
    "login_failures",
    "memory_used_bytes",
    "memory_limit_bytes",
    "resident_bytes",
    "log_bytes",
    "log_disk_bytes",
    "disk_free_bytes",
    "disk_size_bytes",
    "cpu",
];

// All of it, whatever happens.
const _: () = assert!(SAMPLES_MAX * size_of::<Sample>() <= 256 << 10);

#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Seconds since 1970.
    at_s: f64,
    taken: Instant,
    values: [f64; FIELDS.len()],
}

impl Sample {
    /// By a name of [`FIELDS`].
    pub fn value(&self, field: &str) -> f64 {
        FIELDS.iter().position(|known| *known == field).map_or(0.0, |at| self.values[at])
    }
}

/// Statements of the same kind for a person: reads, writes, all the others.
const READS: &[&str] = &["select"];
const WRITES: &[&str] = &["insert", "update", "delete"];

/// What only grows, as it was at the last sample.
struct Before {
    taken: Instant,
    figures: Figures,
    log_bytes: u64,
    cpu_s: f64,
}

#[derive(Default)]
pub struct History {
    samples: Mutex<VecDeque<Sample>>,
    before: Mutex<Option<Before>>,
}

impl History {
    /// Every [`SAMPLE_EVERY`].
    pub fn take_sample(&self, server: &Server) {
        let (figures, observed) = (server.figures(), server.node.observed());
        let memory = server.node.memory_usage();
        let (cpu_s, resident) = process::cpu_and_resident();
        let disk = process::disk(&server.node.log().directory());
        let now = Before { taken: Instant::now(), figures, log_bytes: observed.log_end_bytes, cpu_s };
        let before = {
            let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
            before.replace(Before { figures: now.figures.clone(), ..now })
        };
        // The first one only tells what there was before.
        let Some(before) = before else { return };
        let seconds = now.taken.duration_since(before.taken).as_secs_f64().max(0.001);
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let count = |name| rate(now.figures.counter(name), before.figures.counter(name));
        let since = |kinds: Option<&[&str]>| Spread::between(&before.figures, &now.figures, kinds);
        let (reads, writes, all) = (since(Some(READS)), since(Some(WRITES)), since(None));
        let keeps_rows = observed.roles.split(',').any(|role| role == "data");
        let per_second = |statements: u64| statements as f64 / seconds;
        let values = [
            per_second(reads.count),
            per_second(writes.count),
            per_second(all.count - reads.count - writes.count),
            per_second(all.errors),
            reads.percentile_us(50),
            reads.percentile_us(95),
            reads.percentile_us(99),
            writes.percentile_us(50),
            writes.percentile_us(95),
            writes.percentile_us(99),
            count("Ndb_api_trans_commit_count"),
            now.figures.sessions as f64,
            now.figures.sessions_running as f64,
            observed.lock_waits as f64,
            rate(now.figures.received_bytes, before.figures.received_bytes),
            rate(now.figures.sent_bytes, before.figures.sent_bytes),
            rate(now.figures.login_failures, before.figures.login_failures),
            // Where no rows are kept DataMemory is nobody's limit.
            if keeps_rows { memory.used_bytes as f64 } else { 0.0 },
            if keeps_rows { memory.limit_bytes as f64 } else { 0.0 },
            resident as f64,
            rate(now.log_bytes, before.log_bytes),
            observed.log_disk_bytes as f64,
            disk.0 as f64,
            disk.1 as f64,
            (now.cpu_s - before.cpu_s).max(0.0) / seconds,
        ];
        let at_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        self.add(Sample { at_s, taken: now.taken, values });
    }

    fn add(&self, sample: Sample) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() >= SAMPLES_MAX {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    /// The newest sample.
    pub fn latest(&self) -> Option<Sample> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).back().copied()
    }

    /// The mean of a field over this time.
    pub fn mean(&self, field: &str, time: Duration) -> f64 {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let values = samples.iter().rev().take_while(|sample| sample.taken.elapsed() < time);
        let (sum, count) = values.fold((0.0, 0), |(sum, count), sample| (sum + sample.value(field), count + 1));
        if count == 0 { 0.0 } else { sum / f64::from(count) }
    }

    /// The samples of the last `time`: seconds since 1970, then the values in the order of [`FIELDS`].
    pub fn json(&self, time: Duration) -> Value {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let row = |sample: &Sample| {
            let values = sample.values.iter().map(|value| (value * 1000.0).round() / 1000.0);
            [(sample.at_s * 10.0).round() / 10.0].into_iter().chain(values).map(number).collect::<Value>()
        };
        let newer = samples.iter().filter(|sample| sample.taken.elapsed() < time);
        json!({ "every_s": SAMPLE_EVERY.as_secs(), "fields": FIELDS, "rows": newer.map(row).collect::<Vec<_>>() })
    }
}

/// Whole numbers without a point: they are most of the bytes.
pub fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

/// How long the statements between two moments took.
struct Spread {
    buckets: [u64; BUCKETS],
    count: u64,
    errors: u64,
}

impl Spread {
    /// `None`: of all kinds.
    fn between(before: &Figures, now: &Figures, kinds: Option<&[&str]>) -> Spread {
        let mut spread = Spread { buckets: [0; BUCKETS], count: 0, errors: 0 };
        let none = Times::default();
        for (kind, times) in now.times.iter().filter(|(kind, _)| kinds.is_none_or(|kinds| kinds.contains(kind))) {
            let before = before.times.iter().find(|(known, _)| known == kind).map_or(&none, |(_, times)| times);
            for ((sum, now), before) in spread.buckets.iter_mut().zip(&times.buckets).zip(&before.buckets) {
                *sum += now.saturating_sub(*before);
            }
            spread.errors += times.errors.saturating_sub(before.errors);
        }
        spread.count = spread.buckets.iter().sum();
        spread
    }

    /// The bound below which so many per cent of them are; 0 if there were none.
    fn percentile_us(&self, percent: u64) -> f64 {
        let wanted = (self.count * percent).div_ceil(100);
        let mut below = 0;
        for (bucket, count) in self.buckets.iter().enumerate().filter(|_| self.count > 0) {
            below += count;
            if below >= wanted {
                // The last bucket has no bound but that of the one before.
                return bound_us(bucket.min(BUCKETS - 2)) as f64;
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(kind: &'static str, buckets: &[(usize, u64)]) -> Figures {
        let mut times = Times::default();
        buckets.iter().for_each(|&(bucket, count)| times.buckets[bucket] = count);
        Figures { times: vec![(kind, times)], ..Figures::default() }
    }

    #[test]
    fn percentiles_are_of_what_came_since() {
        let before = figures("select", &[(10, 5000)]);
        let now = figures("select", &[(10, 5090), (40, 9), (50, 1)]);
        let spread = Spread::between(&before, &now, Some(READS));
        let found = [50, 90, 95, 99, 100].map(|percent| spread.percentile_us(percent));
        assert_eq!(found, [10, 10, 40, 40, 50].map(|bucket| bound_us(bucket) as f64));
        let nothing = Spread::between(&before, &now, Some(WRITES));
        assert_eq!((nothing.count, nothing.percentile_us(99)), (0, 0.0));
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let history = History::default();
        let taken = Instant::now();
        for at in 0..SAMPLES_MAX + 10 {
            history.add(Sample { at_s: at as f64, taken, values: [at as f64; FIELDS.len()] });
        }
        let json = history.json(KEPT);
        let rows = json["rows"].as_array().unwrap();
        assert_eq!((rows.len(), rows[0][0].as_u64()), (SAMPLES_MAX, Some(10)));
        assert_eq!(rows[0].as_array().unwrap().len(), FIELDS.len() + 1);
        assert_eq!(history.json(Duration::ZERO)["rows"].as_array().unwrap().len(), 0);
        assert_eq!(history.latest().unwrap().value("cpu"), (SAMPLES_MAX + 9) as f64);
    }
}
