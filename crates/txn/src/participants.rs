//! Which partitions a transaction has touched, and how much it has written in each.
//!
//! The counts mirror the partitions' own (every staged write adds one), so that savepoints and statement marks cost no
//! visit there.
//!
//! A transaction joins a partition at its leader, in the leader's term: what it has there ends with the term. While a
//! request to a leader on another node is under way it is not known what it has done; if it is given up, the partition
//! has to be brought back to what is known before anything else is asked of it.

use shoal_cluster::Place;
use shoal_partition::{Millis, SavepointMark};
use shoal_types::NodeId;

const ABSENT: u16 = u16::MAX;
/// What a write takes in the log besides its row.
const WRITE_HEAD_BYTES: u64 = 16;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Participant {
    pub partition: u32,
    /// Writes staged there.
    pub writes: u32,
    /// What of them was there when the statement began.
    pub statement_mark: u32,
    /// Untouched before this statement, so all its locks are the statement's own.
    pub joined_in_statement: bool,
    /// The leader's node, if it is another one.
    pub node: Option<NodeId>,
    /// The leader's term; 0 until it is known.
    pub term: u64,
    /// A request is under way, or was given up: there may be more writes than counted.
    pub uncertain: bool,
}

/// Consecutive writes to one partition. No savepoint lies within one.
#[derive(Clone, Copy, Debug)]
struct Run {
    partition: u32,
    writes: u32,
    bytes: u64,
}

#[derive(Debug)]
pub(crate) struct Participants {
    list: Vec<Participant>,
    /// For every partition its place in `list`.
    places: Box<[u16]>,
    /// When the first of them was joined.
    first_joined: Option<Millis>,
    /// All writes in the order they were made.
    runs: Vec<Run>,
    run_closed: bool,
    total: u64,
    /// About what the writes will take in the log.
    bytes: u64,
}

impl Participants {
    pub fn new(partitions: u32) -> Participants {
        let places = vec![ABSENT; partitions as usize].into_boxed_slice();
        Participants {
            list: Vec::new(),
            places,
            first_joined: None,
            runs: Vec::new(),
            run_closed: false,
            total: 0,
            bytes: 0,
        }
    }

    #[inline]
    fn place(&self, partition: u32) -> Option<usize> {
        let place = self.places[partition as usize];
        (place != ABSENT).then_some(usize::from(place))
    }

    /// The partition takes part from now on.
    #[inline]
    pub fn join(&mut self, partition: u32) -> &mut Participant {
        let place = self.place(partition).unwrap_or_else(|| {
            self.places[partition as usize] = self.list.len() as u16;
            self.list.push(Participant {
                partition,
                writes: 0,
                statement_mark: 0,
                joined_in_statement: true,
                node: None,
                term: 0,
                uncertain: false,
            });
            self.list.len() - 1
        });
        &mut self.list[place]
    }

    pub fn get(&self, partition: u32) -> Option<&Participant> {
        self.place(partition).map(|place| &self.list[place])
    }

    /// The transaction's part in the partition is with this leader. False: it is with another one, and lost.
    pub fn check(
        &mut self,
        partition: u32,
        node: Option<NodeId>,
        term: u64,
        now: impl FnOnce() -> Millis,
    ) -> bool {
        let participant = self.join(partition);
        let joins = participant.term == 0;
        if joins {
            (participant.node, participant.term) = (node, term);
        }
        let is_there = (participant.node, participant.term) == (node, term);
        if joins && self.first_joined.is_none() {
            self.first_joined = Some(now());
        }
        is_there
    }

    /// How long ago the first partition was joined, in milliseconds; 0 if none was.
    pub fn joined_for_ms(&self, now: Millis) -> u64 {
        self.first_joined.map_or(0, |joined| now.since(joined))
    }

    /// The partition is led where the transaction joined it, or has not been joined.
    pub fn may_be_at(&self, partition: u32, place: Place) -> bool {
        self.get(partition).is_none_or(|participant| {
            participant.term == 0
                || match place {
                    Place::Local => participant.node.is_none(),
                    Place::Remote(node) => participant.node == Some(node),
                    // It may come back.
                    Place::Unknown => true,
                }
        })
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Participant> {
        self.list.iter()
    }

    pub fn statement_mark(&self, partition: u32) -> SavepointMark {
        SavepointMark(self.get(partition).map_or(0, |participant| participant.statement_mark))
    }

    pub fn begin_statement(&mut self) {
        for participant in &mut self.list {
            participant.statement_mark = participant.writes;
            participant.joined_in_statement = false;
        }
    }

    /// A statement within the running one begins, which sees all that has been written; the marks of the one around.
    pub fn begin_inner_statement(&mut self) -> Vec<u32> {
        let mark =
            |participant: &mut Participant| std::mem::replace(&mut participant.statement_mark, participant.writes);
        self.list.iter_mut().map(mark).collect()
    }

    /// The statement around goes on.
    pub fn end_inner_statement(&mut self, marks: &[u32]) {
        for (place, participant) in self.list.iter_mut().enumerate() {
            participant.statement_mark = marks.get(place).copied().unwrap_or(0);
        }
    }

    /// A write of so many bytes was staged in the partition.
    #[inline]
    pub fn wrote(&mut self, partition: u32, bytes: usize) {
        self.join(partition).writes += 1;
        self.total += 1;
        let bytes = bytes as u64 + WRITE_HEAD_BYTES;
        self.bytes += bytes;
        match self.runs.last_mut() {
            Some(run) if run.partition == partition && !self.run_closed => {
                run.writes += 1;
                run.bytes += bytes;
            }
            _ => self.runs.push(Run { partition, writes: 1, bytes }),
        }
        self.run_closed = false;
    }

    /// How many writes there are: a savepoint.
    pub fn mark(&mut self) -> u64 {
        self.run_closed = true;
        self.total
    }

    pub fn has_writes(&self) -> bool {
        self.total > 0
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes back the writes since the mark; yields the partitions concerned with what is left in each. Those where more
    /// may have been written than is known are among them.
    pub fn truncate(&mut self, mark: u64) -> Vec<(u32, SavepointMark)> {
        let mut concerned: Vec<u32> = Vec::new();
        while self.total > mark {
            let Some(run) = self.runs.pop() else { break };
            self.total -= u64::from(run.writes);
            self.bytes -= run.bytes;
            self.join(run.partition).writes -= run.writes;
            if !concerned.contains(&run.partition) {
                concerned.push(run.partition);
            }
        }
        self.run_closed = true;
        for participant in &mut self.list {
            if std::mem::take(&mut participant.uncertain) && !concerned.contains(&participant.partition) {
                concerned.push(participant.partition);
            }
        }
        concerned.into_iter().map(|partition| (partition, SavepointMark(self.join(partition).writes))).collect()
    }

    /// The partitions that were written to, ascending.
    pub fn writers_into(&self, writers: &mut Vec<u32>) {
        writers.clear();
        writers.extend(self.list.iter().filter(|one| one.writes > 0).map(|one| one.partition));
        writers.sort_unstable();
    }

    pub fn clear(&mut self) {
        for participant in self.list.drain(..) {
            self.places[participant.partition as usize] = ABSENT;
        }
        self.first_joined = None;
        self.runs.clear();
        self.total = 0;
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_as_old_as_its_first_part() {
        let mut participants = Participants::new(4);
        participants.join(1);
        assert_eq!(participants.joined_for_ms(Millis(50)), 0, "it has not been there yet");
        assert!(participants.check(1, None, 7, || Millis(100)));
        assert!(participants.check(2, Some(NodeId(2)), 3, || Millis(130)));
        assert_eq!(participants.joined_for_ms(Millis(150)), 50);
        participants.clear();
        assert_eq!(participants.joined_for_ms(Millis(150)), 0);
    }

    #[test]
    fn going_back_leaves_each_partition_with_what_it_had() {
        let mut participants = Participants::new(4);
        for partition in [1, 1, 3] {
            participants.wrote(partition, 10);
        }
        let early = participants.mark();
        participants.wrote(1, 10);
        let (mark, bytes) = (participants.mark(), participants.bytes());
        for partition in [1, 3, 3, 0, 1] {
            participants.wrote(partition, 1000);
        }
        let mut left = participants.truncate(mark);
        assert_eq!(participants.bytes(), bytes);
        left.sort_unstable();
        assert_eq!(left, [(0, SavepointMark(0)), (1, SavepointMark(3)), (3, SavepointMark(1))]);
        let mut writers = Vec::new();
        participants.writers_into(&mut writers);
        assert_eq!(writers, [1, 3]);
        assert_eq!(participants.truncate(early), [(1, SavepointMark(2))]);
        participants.clear();
        assert!(participants.get(1).is_none());
    }
}
