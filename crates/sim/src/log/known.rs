//! What the log has been given and has told, and what a recovery must show.

use shoal_log::{LogBatch, Lsn, RecordHeader, RecordRef};

use crate::random::Random;

/// A batch that was appended, in the order of positions.
#[derive(Clone, Copy, Debug)]
struct Appended {
    id: u64,
    end: Lsn,
    /// What was reported durable by then.
    durable_before: Lsn,
}

/// What outlives processes.
#[derive(Default)]
pub struct Known {
    /// All lives' batches, as far as they are part of the log.
    order: Vec<Appended>,
    next_id: u64,
    /// So many batches may be cut away.
    cut: usize,
    /// Everything before this was reported durable.
    pub reported: Lsn,
    /// What was durable when the log was first seen to have stopped.
    pub stopped_at: Option<Lsn>,
    /// The log was closed in good order and not opened since.
    pub closed: bool,
}

/// Batch `id`: one to three records, told apart by their terms, of a length that the id decides.
fn batch(id: u64) -> LogBatch {
    let mut batch = LogBatch::new();
    let records = 1 + id % 3;
    for record in 0..records {
        let header = RecordHeader { group: id % 5 + record, kind: records as u8, index: id, term: record };
        batch.push(header, &payload(id, record));
    }
    batch
}

fn payload(id: u64, record: u64) -> Vec<u8> {
    let mut random = Random::new(id * 8 + record);
    // Of even numbers several fit into a sector.
    let length = if id.is_multiple_of(2) {
        random.below(100)
    } else if random.one_in(12) {
        random.below(6_000)
    } else {
        random.below(500)
    };
    // Now and then it imitates the magic of a frame.
    (0..length)
        .map(|at| match at / 8 % 5 {
            0 => b"SHLF"[(at % 4) as usize],
            _ => random.below(256) as u8,
        })
        .collect()
}

impl Known {
    pub fn appended(&self) -> usize {
        self.next_id as usize / 2
    }

    pub fn next_batch(&mut self, is_small: bool) -> (u64, LogBatch) {
        self.next_id += 2;
        let id = if is_small { self.next_id } else { self.next_id + 1 };
        (id, batch(id))
    }

    /// The log has taken a batch. To be called before anybody else can append.
    pub fn took(&mut self, id: u64, end: Lsn) {
        self.order.push(Appended { id, end, durable_before: self.reported });
    }

    pub fn durable(&mut self, position: Lsn) {
        self.reported = self.reported.max(position);
    }

    /// The number of batches that are known to be durable.
    pub fn durable_count(&self) -> usize {
        self.order.partition_point(|batch| batch.end <= self.reported)
    }

    /// So many batches are covered by a durable checkpoint: the log may be cut up to the position that this yields.
    pub fn cut(&mut self, count: usize) -> Option<Lsn> {
        self.cut = self.cut.max(count);
        Some(self.order.get(count.checked_sub(1)?)?.end)
    }

    /// What is seen of the log must not contradict that it has stopped.
    pub fn check_stopped(&mut self, durable: Lsn) -> Result<(), String> {
        match self.stopped_at {
            None => self.stopped_at = Some(durable),
            Some(before) if before != durable => {
                return Err(format!("{durable} was durable after the log had stopped at {before}"));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Whether a flipped bit in the frame that ends at `end` can be told from a torn write: something was written and is
    /// durable that knows that the frame was.
    pub fn knows_durable(&self, end: Lsn) -> bool {
        let knows = |batch: &Appended| batch.durable_before >= end && batch.end <= self.reported;
        self.closed || self.order.iter().any(knows)
    }

    /// Takes what a recovery has found as what the log now is.
    pub fn recovered(&mut self, found: &Found, durable: Lsn) -> Result<(), String> {
        let start = self.check(found, self.durable_count())?;
        self.order.truncate(start + found.ids.len());
        self.reported = durable;
        (self.stopped_at, self.closed) = (None, false);
        Ok(())
    }

    /// `must_have`: so many batches must be there, or cut away. Where what was found begins.
    pub fn check(&self, found: &Found, must_have: usize) -> Result<usize, String> {
        if found.is_torn {
            return Err(format!("recovery has shown a part of a batch, behind {:?}", found.ids.last()));
        }
        let start = match found.ids.first() {
            None => must_have.min(self.cut),
            Some(first) => match self.order.iter().position(|batch| batch.id == *first) {
                Some(start) => start,
                None => return Err(format!("batch {first} was found and is none of the log's")),
            },
        };
        if start > self.cut {
            return Err(format!("{} batches could have been cut away, {start} were", self.cut));
        }
        let end = start + found.ids.len();
        if end < must_have {
            return Err(format!("{must_have} batches were reported durable, and only {end} are there"));
        }
        let expected = self.order.get(start..end).unwrap_or_default();
        if !expected.iter().map(|batch| batch.id).eq(found.ids.iter().copied()) {
            return Err(format!("recovery has shown {:?}, which is no beginning of what was appended", found.ids));
        }
        Ok(start)
    }

    /// The number of batches that are part of the log, those that are cut away included.
    pub fn order_count(&self) -> usize {
        self.order.len()
    }

    pub fn cut_count(&self) -> usize {
        self.cut
    }
}

/// What a recovery shows.
#[derive(Default)]
pub struct Found {
    pub ids: Vec<u64>,
    expected_record: u64,
    is_torn: bool,
}

impl Found {
    pub fn record(&mut self, record: RecordRef<'_>) {
        let continues = self.expected_record != 0;
        let fits = record.term == self.expected_record
            && record.payload == payload(record.index, record.term)
            && (!continues || self.ids.last() == Some(&record.index));
        self.is_torn |= !fits;
        if !continues {
            self.ids.push(record.index);
        }
        self.expected_record = if record.ends_batch { 0 } else { record.term + 1 };
        self.is_torn |= record.ends_batch != (record.term + 1 == u64::from(record.kind));
    }

    /// All records have been shown.
    pub fn end(&mut self) {
        self.is_torn |= self.expected_record != 0;
    }
}
