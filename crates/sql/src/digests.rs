//! What statements of a kind have cost, by their digests: `performance_schema.events_statements_summary_by_digest`.
//!
//! A digest is that of a statement's normalised text (`shoal_parser::normalised_text`) in a database. Counting must cost a statement next
//! to nothing, so each thread with sessions has counts of its own, which are merged when somebody asks, and remembers which counts belong to
//! which hash of a statement's tokens, the one by which plans are found. Only a hash that a thread has not seen lately is normalised and
//! looked up in the table that all share. That has a bound; what finds no place in it is counted together, without a text.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use sha2::{Digest, Sha256};
use shoal_parser::{ParserMode, normalised_text};

use crate::statement_times::{BUCKETS, bound_us, bucket_of};

/// A thread remembers so many hashes; then it begins to do so anew.
const HASHES_MAX: usize = 4096;
/// `max_digest_length` and `performance_schema_max_sql_text_length`: of texts only so much is kept.
const TEXT_BYTES_MAX: usize = 1024;
/// A longer statement is not normalised to its end.
const NORMALISED_BYTES_MAX: usize = 16 << 10;

/// What a statement has cost, beside its time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Costs {
    /// 0: it succeeded.
    pub errno: u16,
    pub warnings: u64,
    pub rows_affected: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    pub full_scans: u64,
}

/// Which digest.
#[derive(Debug)]
pub(crate) struct Identity {
    /// Hexadecimal; `None`: that of statements that found no place.
    pub digest: Option<String>,
    pub text: String,
}

/// One thread's counts of one digest. Nobody else writes them.
#[derive(Debug)]
pub(crate) struct Counts {
    identity: Arc<Identity>,
    count: AtomicU64,
    sum_us: AtomicU64,
    min_us: AtomicU64,
    max_us: AtomicU64,
    errors: AtomicU64,
    warnings: AtomicU64,
    rows_affected: AtomicU64,
    rows_sent: AtomicU64,
    rows_examined: AtomicU64,
    full_scans: AtomicU64,
    statements_without_index: AtomicU64,
    /// Microseconds since 1970; 0: never.
    first_seen: AtomicI64,
    last_seen: AtomicI64,
    /// As in `statement_times`.
    buckets: [AtomicU64; BUCKETS],
}

impl Counts {
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    fn of(identity: &Arc<Identity>) -> Counts {
        Counts {
            identity: Arc::clone(identity),
            count: AtomicU64::new(0),
            sum_us: AtomicU64::new(0),
            min_us: AtomicU64::new(u64::MAX),
            max_us: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            warnings: AtomicU64::new(0),
            rows_affected: AtomicU64::new(0),
            rows_sent: AtomicU64::new(0),
            rows_examined: AtomicU64::new(0),
            full_scans: AtomicU64::new(0),
            statements_without_index: AtomicU64::new(0),
            first_seen: AtomicI64::new(0),
            last_seen: AtomicI64::new(0),
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    #[inline]
    fn add(&self, us: u64, costs: &Costs, now: impl FnOnce() -> i64) {
        let add = |cell: &AtomicU64, amount: u64| {
            if amount > 0 {
                cell.store(cell.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
            }
        };
        add(&self.count, 1);
        add(&self.sum_us, us);
        if us < self.min_us.load(Ordering::Relaxed) {
            self.min_us.store(us, Ordering::Relaxed);
        }
        if us > self.max_us.load(Ordering::Relaxed) {
            self.max_us.store(us, Ordering::Relaxed);
        }
        add(&self.errors, u64::from(costs.errno != 0));
        add(&self.warnings, costs.warnings);
        add(&self.rows_affected, costs.rows_affected);
        add(&self.rows_sent, costs.rows_sent);
        add(&self.rows_examined, costs.rows_examined);
        add(&self.full_scans, costs.full_scans);
        add(&self.statements_without_index, u64::from(costs.full_scans > 0));
        add(&self.buckets[bucket_of(us)], 1);
        let now = now();
        if self.first_seen.load(Ordering::Relaxed) == 0 {
            self.first_seen.store(now, Ordering::Relaxed);
        }
        self.last_seen.store(now, Ordering::Relaxed);
    }
}

/// What was counted of a digest, by all threads.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    /// Empty: the statements were in no database.
    pub database: String,
    /// Hexadecimal; `None`: statements that found no place.
    pub digest: Option<String>,
    pub text: String,
    pub sample: Sample,
    pub count: u64,
    pub sum_us: u64,
    pub min_us: u64,
    pub max_us: u64,
    pub errors: u64,
    pub warnings: u64,
    pub rows_affected: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    pub full_scans: u64,
    pub statements_without_index: u64,
    pub first_seen: i64,
    pub last_seen: i64,
    buckets: [u64; BUCKETS],
}

impl Summary {
    pub fn buckets(&self) -> &[u64; BUCKETS] {
        &self.buckets
    }

    /// A time that so many of a thousand statements did not exceed, in microseconds, at most a quarter too long.
    pub fn quantile_us(&self, of_1000: u64) -> u64 {
        let wanted = (self.count * of_1000).div_ceil(1000);
        let mut seen = 0;
        for (bucket, &count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted && count > 0 {
                return bound_us(bucket).min(self.max_us);
            }
        }
        self.max_us
    }

    /// How many fell into which bucket, without the empty ones.
    pub fn full_buckets(&self) -> Vec<(usize, u64)> {
        self.buckets.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect()
    }

    fn add(&mut self, counts: &Counts) {
        let get = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        self.count += get(&counts.count);
        self.sum_us += get(&counts.sum_us);
        self.min_us = self.min_us.min(get(&counts.min_us));
        self.max_us = self.max_us.max(get(&counts.max_us));
        self.errors += get(&counts.errors);
        self.warnings += get(&counts.warnings);
        self.rows_affected += get(&counts.rows_affected);
        self.rows_sent += get(&counts.rows_sent);
        self.rows_examined += get(&counts.rows_examined);
        self.full_scans += get(&counts.full_scans);
        self.statements_without_index += get(&counts.statements_without_index);
        let (first, last) = (counts.first_seen.load(Ordering::Relaxed), counts.last_seen.load(Ordering::Relaxed));
        if first != 0 && (self.first_seen == 0 || first < self.first_seen) {
            self.first_seen = first;
        }
        self.last_seen = self.last_seen.max(last);
        for (sum, cell) in self.buckets.iter_mut().zip(&counts.buckets) {
            *sum += get(cell);
        }
    }
}

/// What the statements of a digest have cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DigestCost {
    /// Statements.
    pub count: u64,
    /// Their time in microseconds.
    pub sum_us: u64,
}

/// A statement of a digest as it was: the first one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// Without passwords.
    pub text: Vec<u8>,
    /// Microseconds since 1970.
    pub seen: i64,
    pub us: u64,
}

struct Entry {
    identity: Arc<Identity>,
    sample: Sample,
    threads: HashMap<ThreadId, Arc<Counts>>,
}

impl Entry {
    fn cost(&self) -> DigestCost {
        self.threads.values().fold(DigestCost::default(), |sum, counts| DigestCost {
            count: sum.count + counts.count.load(Ordering::Relaxed),
            sum_us: sum.sum_us + counts.sum_us.load(Ordering::Relaxed),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    database: String,
    /// `None`: all that found no place.
    digest: Option<String>,
}

/// The table that all share, and the threads' own.
#[derive(Default)]
pub(crate) struct Digests {
    is_off: AtomicBool,
    /// The table takes so many digests beside that without a text.
    size: AtomicUsize,
    lost: AtomicU64,
    entries: Mutex<HashMap<Key, Entry>>,
    threads: Mutex<HashMap<ThreadId, Arc<ThreadDigests>>>,
}

/// Which counts of a thread belong to which hash.
pub(crate) struct ThreadDigests {
    /// The system's number of the thread.
    pub os_thread: Option<u64>,
    known: Mutex<hashbrown::HashMap<(u128, u64), Arc<Counts>, foldhash::fast::RandomState>>,
}

impl Default for ThreadDigests {
    /// Those of the thread that asks.
    fn default() -> ThreadDigests {
        let link = std::fs::read_link("/proc/thread-self").ok();
        let number = link.and_then(|link| link.file_name()?.to_str()?.parse().ok());
        ThreadDigests { os_thread: number, known: Mutex::default() }
    }
}

/// A statement that has ended.
pub(crate) struct Ended<'a> {
    /// Of its tokens, by which it is known again; 0: it is too long for that.
    pub hash: u128,
    pub database: &'a str,
    pub mode: ParserMode,
    pub us: u64,
    pub costs: Costs,
}

impl Digests {
    /// `size`: `performance_schema_digests_size`; with 0 nothing is counted.
    pub fn new(size: usize) -> Digests {
        let digests = Digests::default();
        digests.size.store(size, Ordering::Relaxed);
        digests.is_off.store(size == 0, Ordering::Relaxed);
        digests
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        !self.is_off.load(Ordering::Relaxed)
    }

    /// `Performance_schema_digest_lost`: statements that found no place.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Those of the thread that asks, where a session that begins stays.
    pub fn of_this_thread(&self) -> Arc<ThreadDigests> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(threads.entry(thread::current().id()).or_default())
    }

    /// Counts a statement, and tells where. `text` is what it was, `sample` that without passwords, `now` the time in microseconds since
    /// 1970.
    #[inline]
    pub fn count(
        &self,
        thread: &ThreadDigests,
        ended: &Ended<'_>,
        text: &[u8],
        sample: impl FnOnce() -> Vec<u8>,
        now: impl Fn() -> i64,
    ) -> Option<Arc<Counts>> {
        let key = (ended.hash, foldhash::fast::FixedState::default().hash_one(ended.database));
        let known = thread.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).map(Arc::clone);
        match known {
            Some(counts) => {
                counts.add(ended.us, &ended.costs, now);
                Some(counts)
            }
            None => self.count_new(thread, key, ended, text, sample, now),
        }
    }

    #[cold]
    fn count_new(
        &self,
        thread: &ThreadDigests,
        key: (u128, u64),
        ended: &Ended<'_>,
        text: &[u8],
        sample: impl FnOnce() -> Vec<u8>,
        now: impl Fn() -> i64,
    ) -> Option<Arc<Counts>> {
        let normalised = normalised_text(&text[..text.len().min(NORMALISED_BYTES_MAX)], 0, ended.mode);
        if normalised.is_empty() {
            return None;
        }
        let seen = now();
        let counts = self.counts_of(ended.database, normalised, || {
            let mut text = sample();
            text.truncate(TEXT_BYTES_MAX);
            Sample { text, seen, us: ended.us }
        });
        counts.add(ended.us, &ended.costs, now);
        if ended.hash == 0 {
            return Some(counts);
        }
        let mut known = thread.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= HASHES_MAX {
            known.clear();
        }
        known.insert(key, Arc::clone(&counts));
        Some(counts)
    }

    /// This thread's counts of a normalised text.
    fn counts_of(&self, database: &str, mut text: String, sample: impl FnOnce() -> Sample) -> Arc<Counts> {
        let key = Key { database: database.to_owned(), digest: Some(digest_of(&text)) };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = entries.len() >= self.size.load(Ordering::Relaxed);
        let key = if is_full && !entries.contains_key(&key) {
            self.lost.fetch_add(1, Ordering::Relaxed);
            Key { database: String::new(), digest: None }
        } else {
            key
        };
        let digest = key.digest.clone();
        let entry = entries.entry(key).or_insert_with(|| {
            let sample = if digest.is_none() { Sample::default() } else { sample() };
            text.truncate(if digest.is_none() { 0 } else { text.floor_char_boundary(TEXT_BYTES_MAX) });
            Entry { identity: Arc::new(Identity { digest, text }), sample, threads: HashMap::new() }
        });
        let Entry { identity, threads, .. } = entry;
        let counts = threads.entry(thread::current().id()).or_insert_with(|| Arc::new(Counts::of(identity)));
        Arc::clone(counts)
    }

    /// All that was counted.
    pub fn summaries(&self) -> Vec<Summary> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().map(|(key, entry)| summary_of(key, entry)).filter(|summary| summary.count > 0).collect()
    }

    /// Those on which most time was spent, and of how many.
    pub fn costliest(&self, count: usize) -> (Vec<Summary>, usize) {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let known = entries.iter().filter(|(key, _)| key.digest.is_some());
        let mut ranked: Vec<(u64, &Key, &Entry)> =
            known.map(|(key, entry)| (entry.cost().sum_us, key, entry)).collect();
        let total = ranked.len();
        ranked.sort_unstable_by_key(|(sum_us, ..)| std::cmp::Reverse(*sum_us));
        (ranked.into_iter().take(count).map(|(_, key, entry)| summary_of(key, entry)).collect(), total)
    }

    /// Counts and times alone, by database and digest.
    pub fn costs(&self) -> HashMap<(String, String), DigestCost> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let known = entries.iter().filter_map(|(key, entry)| Some((key.digest.clone()?, key, entry)));
        known.map(|(digest, key, entry)| ((key.database.clone(), digest), entry.cost())).collect()
    }

    /// The sample of a digest.
    pub fn sample(&self, database: &str, digest: &str) -> Option<Vec<u8>> {
        let key = Key { database: database.to_owned(), digest: Some(digest.to_owned()) };
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(&key).map(|entry| entry.sample.text.clone())
    }

    /// TRUNCATE TABLE: everything is forgotten.
    pub fn clear(&self) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clear();
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).values() {
            thread.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }
}

/// A digest of a normalised text, as STATEMENT_DIGEST() shows it.
fn digest_of(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn summary_of(key: &Key, entry: &Entry) -> Summary {
    let mut summary = Summary {
        database: key.database.clone(),
        digest: key.digest.clone(),
        text: entry.identity.text.clone(),
        sample: entry.sample.clone(),
        count: 0,
        sum_us: 0,
        min_us: u64::MAX,
        max_us: 0,
        errors: 0,
        warnings: 0,
        rows_affected: 0,
        rows_sent: 0,
        rows_examined: 0,
        full_scans: 0,
        statements_without_index: 0,
        first_seen: 0,
        last_seen: 0,
        buckets: [0; BUCKETS],
    };
    entry.threads.values().for_each(|counts| summary.add(counts));
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(digests: &Digests, hash: u128, database: &str, text: &str, us: u64) {
        let costs = Costs { rows_sent: 2, full_scans: 1, ..Costs::default() };
        let ended = Ended { hash, database, mode: ParserMode::NONE, us, costs };
        let thread = digests.of_this_thread();
        digests.count(&thread, &ended, text.as_bytes(), || text.as_bytes().to_vec(), || 7_000_000);
    }

    #[test]
    fn statements_of_a_digest_are_counted_together_over_threads_and_hashes() {
        let digests = Digests::new(10);
        std::thread::scope(|scope| {
            for thread in 0..3u64 {
                let digests = &digests;
                scope.spawn(move || {
                    for us in 0..100 {
                        count(digests, 1, "shop", "SELECT a FROM t WHERE b = 1", us + thread);
                        count(digests, 2, "shop", "select a from t where b=2", 1000);
                    }
                });
            }
        });
        count(&digests, 1, "other", "SELECT a FROM t WHERE b = 1", 5);
        let mut found = digests.summaries();
        found.sort_by_key(|summary| summary.count);
        let [other, shop] = &found[..] else { panic!("{found:?}") };
        assert_eq!((other.database.as_str(), other.count, other.digest == shop.digest), ("other", 1, true));
        assert_eq!((shop.count, shop.rows_sent, shop.statements_without_index), (600, 1200, 600));
        assert_eq!((shop.min_us, shop.max_us), (0, 1000));
        assert_eq!(shop.text, "SELECT `a` FROM `t` WHERE `b` = ?");
        assert_eq!((shop.quantile_us(1000), shop.first_seen), (1000, 7_000_000));
        assert!(shop.quantile_us(250) < 70, "{}", shop.quantile_us(250));
        digests.clear();
        assert!(digests.summaries().is_empty());
        count(&digests, 1, "shop", "SELECT a FROM t WHERE b = 1", 5);
        assert_eq!(digests.summaries().len(), 1, "what a thread knew is forgotten too");
    }

    #[test]
    fn what_finds_no_place_is_counted_without_a_text_and_takes_no_memory() {
        let digests = Digests::new(2);
        for number in 0..1000u32 {
            count(&digests, u128::from(number) + 1, "shop", &format!("SELECT a FROM t{number}"), 5);
        }
        let found = digests.summaries();
        assert_eq!(found.len(), 3);
        let lost = found.iter().find(|summary| summary.digest.is_none()).unwrap();
        assert_eq!((lost.count, lost.text.as_str(), lost.sample.text.len()), (998, "", 0));
        assert_eq!(digests.lost(), 998);
        let thread = digests.of_this_thread();
        for number in 0..3 * HASHES_MAX {
            count(&digests, number as u128 + 5000, "shop", "SELECT 1", 5);
        }
        assert!(thread.known.lock().unwrap().len() <= HASHES_MAX);
        assert_eq!(digests.summaries().len(), 3);
    }
}
