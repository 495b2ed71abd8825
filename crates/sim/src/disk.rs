//! A node's disk: the log with what of it is durable, checkpoint files, and a note about the last stop.
//!
//! The log is a row of batches, each atomic. A crash keeps what was synced; what was not may be lost, kept, or end in a
//! torn batch, which recovery drops.

use std::collections::{BTreeMap, VecDeque};

use shoal_partition::{HardState, LogStart};
use shoal_replication::{LogRecord, Promises};
use shoal_types::PartitionId;

use crate::random::Random;

#[derive(Clone, Debug)]
pub enum Record {
    Entry { index: u64, term: u64, data: Vec<u8> },
    Vote(HardState),
    Start(LogStart),
}

impl Record {
    pub fn of(record: LogRecord<'_>) -> Record {
        match record {
            LogRecord::Start(start) => Record::Start(start),
            LogRecord::Vote(vote) => Record::Vote(vote),
            LogRecord::Entry { index, term, data } => Record::Entry { index, term, data: data.to_vec() },
        }
    }

    pub fn as_log_record(&self) -> LogRecord<'_> {
        match self {
            Record::Start(start) => LogRecord::Start(*start),
            Record::Vote(vote) => LogRecord::Vote(*vote),
            Record::Entry { index, term, data } => LogRecord::Entry { index: *index, term: *term, data },
        }
    }
}

impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Record::Entry { index, term, .. } => write!(f, "{index}/{term}"),
            Record::Vote(state) => write!(f, "vote for {} in term {}", state.vote, state.term),
            Record::Start(start) => write!(f, "begins behind {}/{}", start.index, start.term),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Batch {
    /// The position behind it.
    pub end: u64,
    pub records: Vec<(PartitionId, Record)>,
}

#[derive(Clone, Debug)]
pub struct CheckpointFile {
    pub number: u64,
    pub blocks: Vec<Vec<u8>>,
}

pub struct Disk {
    batches: VecDeque<Batch>,
    end: u64,
    durable: u64,
    checkpoints: BTreeMap<PartitionId, CheckpointFile>,
    next_file: u64,
    /// Durable at once.
    pub promises: Promises,
    /// The log has been cut behind checkpoints since the last crash.
    pub was_cut: bool,
}

impl Default for Disk {
    fn default() -> Disk {
        Disk {
            batches: VecDeque::new(),
            end: 0,
            durable: 0,
            checkpoints: BTreeMap::new(),
            next_file: 0,
            promises: Promises::NONE,
            was_cut: false,
        }
    }
}

/// What a crash has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Damage {
    pub batches_lost: usize,
    pub torn: bool,
}

impl Disk {
    pub fn append(&mut self, records: Vec<(PartitionId, Record)>) -> u64 {
        self.end += 1;
        self.batches.push_back(Batch { end: self.end, records });
        self.end
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn durable(&self) -> u64 {
        self.durable
    }

    pub fn sync(&mut self, end: u64) {
        self.durable = self.durable.max(end);
    }

    pub fn batches(&self) -> impl Iterator<Item = &Batch> {
        self.batches.iter()
    }

    /// Nothing before this position is needed any more.
    pub fn cut(&mut self, low_water: u64) {
        let before = self.batches.len();
        while self.batches.front().is_some_and(|batch| batch.end <= low_water && batch.end <= self.durable) {
            self.batches.pop_front();
        }
        self.was_cut |= before != self.batches.len();
    }

    pub fn next_file(&mut self) -> u64 {
        self.next_file += 1;
        self.next_file
    }

    /// A checkpoint is whole and durable. Of several the one that was begun last counts.
    pub fn finish_checkpoint(&mut self, partition: PartitionId, file: CheckpointFile) {
        let newest = self.checkpoints.get(&partition).map_or(0, |file| file.number);
        if file.number > newest {
            self.checkpoints.insert(partition, file);
        }
    }

    pub fn checkpoint(&self, partition: PartitionId) -> Option<&CheckpointFile> {
        self.checkpoints.get(&partition)
    }

    /// The process is gone. What was written and not synced is there up to some point.
    pub fn crash(&mut self, random: &mut Random) -> Damage {
        let unsynced = self.batches.iter().filter(|batch| batch.end > self.durable).count();
        let kept = match random.below(3) {
            0 => 0,
            1 => unsynced,
            _ => random.below(unsynced as u64 + 1) as usize,
        };
        let batches_lost = unsynced - kept;
        self.batches.truncate(self.batches.len() - batches_lost);
        self.end = self.batches.back().map_or(self.durable, |batch| batch.end);
        self.durable = self.end;
        Damage { batches_lost, torn: batches_lost > 0 && random.one_in(2) }
    }

    /// The directory is a new one.
    pub fn wipe(&mut self) {
        *self = Disk::default();
    }
}
