//! The end of the partition's log, as far as it is in memory: what Raft reads and replicas that fall behind are sent.

use std::collections::VecDeque;

use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{GetEntriesContext, RaftState, Storage, StorageError};

/// What an entry takes in memory beside its data.
const ENTRY_OVERHEAD_BYTES: u64 = 160;

/// Entries behind (`start_index`, `start_term`).
#[derive(Default)]
pub(crate) struct Tail {
    entries: VecDeque<Entry>,
    bytes: u64,
    start_index: u64,
    start_term: u64,
    pub(crate) hard_state: HardState,
    voters: Vec<u64>,
    /// The voter that is content with index and term for a snapshot.
    witness: Option<u64>,
}

fn bytes_of(entry: &Entry) -> u64 {
    entry.data.len() as u64 + ENTRY_OVERHEAD_BYTES
}

impl Tail {
    pub(crate) fn new(voters: &[u64], witness: Option<u64>, hard_state: HardState) -> Tail {
        Tail { voters: voters.to_vec(), witness, hard_state, ..Tail::default() }
    }

    /// Index and term of the last entry.
    pub(crate) fn last(&self) -> (u64, u64) {
        self.entries.back().map_or(self.start(), |entry| (entry.index, entry.term))
    }

    /// Index and term of the entry before the first one that is kept.
    pub(crate) fn start(&self) -> (u64, u64) {
        (self.start_index, self.start_term)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn position(&self, index: u64) -> Option<usize> {
        index.checked_sub(self.start_index + 1).map(|position| position as usize)
    }

    /// Appends an entry, cutting off what it overwrites. One before the start stands for the start: all later entries
    /// were written before it and are overwritten.
    pub(crate) fn append(&mut self, entry: Entry) {
        let position = self.position(entry.index);
        while self.entries.len() > position.unwrap_or(0) {
            self.bytes -= self.entries.pop_back().map_or(0, |entry| bytes_of(&entry));
        }
        if position.is_some() {
            self.bytes += bytes_of(&entry);
            self.entries.push_back(entry);
        }
    }

    pub(crate) fn entries_behind(&self, index: u64) -> impl Iterator<Item = Entry> + '_ {
        self.entries.iter().filter(move |entry| entry.index > index).cloned()
    }

    /// Entries behind `index`, which does not lie before the start.
    pub(crate) fn after(&self, index: u64) -> impl Iterator<Item = &Entry> + '_ {
        let first = self.position(index + 1).unwrap_or(0).min(self.entries.len());
        self.entries.range(first..)
    }

    /// The term of an entry; `None` if it is not known (any more).
    pub(crate) fn term_of(&self, index: u64) -> Option<u64> {
        match index == self.start_index {
            true => Some(self.start_term),
            false => self.entries.get(self.position(index)?).map(|entry| entry.term),
        }
    }

    /// Forgets entries up to `index`.
    pub(crate) fn compact(&mut self, index: u64) {
        while self.entries.front().is_some_and(|entry| entry.index <= index) {
            if let Some(entry) = self.entries.pop_front() {
                self.bytes -= bytes_of(&entry);
                (self.start_index, self.start_term) = (entry.index, entry.term);
            }
        }
    }

    /// The greatest index up to which entries must go so that no more than `bytes` of them stay.
    pub(crate) fn index_within(&self, bytes: u64) -> u64 {
        let mut left = self.bytes;
        for entry in &self.entries {
            if left <= bytes {
                return entry.index - 1;
            }
            left -= bytes_of(entry);
        }
        self.last().0
    }

    /// The log begins anew behind an entry whose effects came by another way.
    pub(crate) fn restart_at(&mut self, index: u64, term: u64) {
        self.entries.clear();
        self.bytes = 0;
        (self.start_index, self.start_term) = (index, term);
    }

    /// The log begins behind an entry; what follows it stays if the tail holds that very entry. A tail that begins even
    /// later stays as it is: the records before it have been cut off.
    pub(crate) fn begin_at(&mut self, index: u64, term: u64) {
        if index < self.start_index {
            return;
        }
        if self.term(index).is_ok_and(|known| known == term) {
            self.compact(index);
        } else {
            self.restart_at(index, term);
        }
    }

    /// A snapshot at index and term, without data.
    pub(crate) fn metadata_snapshot(&self, index: u64, term: u64) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let metadata = snapshot.mut_metadata();
        metadata.index = index;
        metadata.term = term;
        metadata.mut_conf_state().voters = self.voters.clone();
        snapshot
    }
}

impl Storage for Tail {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let conf_state = ConfState { voters: self.voters.clone(), ..ConfState::default() };
        Ok(RaftState::new(self.hard_state.clone(), conf_state))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        let first = self.position(low).ok_or(raft::Error::Store(StorageError::Compacted))?;
        let count = (high - low) as usize;
        if self.entries.len() < first + count {
            return Err(raft::Error::Store(StorageError::Unavailable));
        }
        let mut left = max_size.into().unwrap_or(u64::MAX);
        let fits = |entry: &&Entry| {
            let size = u64::from(protobuf::Message::compute_size(*entry));
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        };
        let mut entries: Vec<Entry> = self.entries.range(first..first + count).take_while(fits).cloned().collect();
        if entries.is_empty() {
            // The first one always goes.
            entries.extend(self.entries.get(first).filter(|_| count > 0).cloned());
        }
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let missing = if index < self.start_index { StorageError::Compacted } else { StorageError::Unavailable };
        self.term_of(index).ok_or(raft::Error::Store(missing))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.start_index + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last().0)
    }

    /// Only the witness is sent snapshots in Raft's messages. Checkpoints for the others travel beside them.
    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<Snapshot> {
        if Some(to) != self.witness || self.start_index < request_index {
            return Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        }
        Ok(self.metadata_snapshot(self.start_index, self.start_term))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u64, term: u64) -> Entry {
        Entry { index, term, data: vec![0; 40].into(), ..Entry::default() }
    }

    fn tail(entries: &[(u64, u64)]) -> Tail {
        let mut tail = Tail::default();
        entries.iter().for_each(|&(index, term)| tail.append(entry(index, term)));
        tail
    }

    fn terms(tail: &Tail) -> Vec<(u64, u64)> {
        tail.entries.iter().map(|entry| (entry.index, entry.term)).collect()
    }

    #[test]
    fn an_entry_overwrites_what_follows_it() {
        let tail = tail(&[(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (3, 2)]);
        assert_eq!(terms(&tail), [(1, 1), (2, 2), (3, 2)]);
        assert_eq!(tail.bytes(), 3 * (40 + ENTRY_OVERHEAD_BYTES));
    }

    #[test]
    fn an_entry_before_the_start_overwrites_what_is_behind_the_start() {
        let mut tail = Tail::default();
        tail.restart_at(2, 2);
        // The order of a log in which entry 2 was written twice; 2 is the checkpoint's.
        for (index, term) in [(1, 1), (2, 1), (3, 1), (4, 1), (2, 2)] {
            tail.append(entry(index, term));
        }
        assert_eq!((terms(&tail), tail.bytes()), (vec![], 0));
        tail.append(entry(3, 2));
        assert_eq!(tail.last(), (3, 2));
    }

    #[test]
    fn bounds_in_bytes_and_in_entries_agree() {
        let mut tail = tail(&[(1, 1), (2, 1), (3, 1), (4, 2)]);
        let one = 40 + ENTRY_OVERHEAD_BYTES;
        assert_eq!(tail.index_within(4 * one), 0);
        assert_eq!(tail.index_within(4 * one - 1), 1);
        assert_eq!(tail.index_within(one), 3);
        assert_eq!(tail.index_within(0), 4);
        tail.compact(tail.index_within(2 * one));
        assert_eq!((tail.bytes(), tail.start()), (2 * one, (2, 1)));
    }

    #[test]
    fn messages_are_filled_up_to_their_size_and_hold_one_entry_at_least() {
        let tail = tail(&[(1, 1), (2, 1), (3, 1)]);
        let count = |max_size| tail.entries(1, 4, max_size, GetEntriesContext::empty(false)).unwrap().len();
        assert_eq!([count(0), count(60), count(100), count(1000)], [1, 1, 2, 3]);
        assert!(tail.entries(2, 5, 1000, GetEntriesContext::empty(false)).is_err());
    }
}
