//! What clients did and were told, and whether what they see fits.

use std::collections::{BTreeMap, BTreeSet};

use shoal_two_phase::Answer;
use shoal_types::{NodeId, PartitionId, Timestamp};

use crate::cycles::{self, Level, Observed, Read};
use crate::knobs::Knobs;
use crate::linear::RegisterOperation;
use crate::requests::Requests;
use crate::rows::*;

/// Snapshots of one run whose lists are kept for the end.
const SNAPSHOTS_MAX: usize = 200;

/// One transaction.
#[derive(Debug, Default)]
pub struct Record {
    /// The partitions that it has left a mark in, if it is committed.
    pub wrote_to: BTreeSet<PartitionId>,
    pub answer: Option<Answer>,
    /// When that was.
    pub told_at: u64,
    /// Somebody has seen its writes.
    pub was_seen: bool,
    /// Registers written and their operations' numbers.
    pub register_writes: Vec<(i32, usize)>,
    pub began_at: u64,
    /// Under locks: register, value before, value written.
    pub overwrote: Vec<(i32, Option<i32>, i32)>,
    /// Of registers, under locks, and of lists.
    pub read: Vec<Read>,
    /// It adds so much to a counter.
    pub counts: Vec<(i32, i32)>,
    /// What it carries out.
    pub request: Option<i32>,
    /// Rows have gone with their parents, or got their new keys.
    pub cascaded: bool,
    /// Its client had done the same before and not known what became of it.
    pub was_repeated: bool,
    /// The process in which its session was: what that did later is later everywhere.
    pub process: (NodeId, u64),
}

pub struct History {
    pub records: Vec<Record>,
    /// Those that clients were told are committed, in that order.
    pub committed: Vec<usize>,
    /// By register.
    pub registers: BTreeMap<i32, Vec<RegisterOperation>>,
    /// What a snapshot showed when it was first read.
    shown: BTreeMap<Timestamp, BTreeMap<PartitionId, Vec<Row>>>,
    pub requests: Requests,
    /// Lists as snapshots have shown them.
    snapshots: Vec<Observed>,
    /// By list: how many elements transactions were to append.
    pushes: BTreeMap<i32, i32>,
    /// First numbers of the blocks that were taken from sequences, and when.
    blocks: BTreeMap<(i32, i32), u64>,
    money: i64,
    partitions: u32,
    /// Something that clients were told was forgotten: what was read by then proves nothing.
    has_forgotten: bool,
    /// Rises with everything that clients do.
    clock: u64,
    next_value: i32,
}

impl History {
    pub fn new(knobs: &Knobs) -> History {
        History {
            records: Vec::new(),
            committed: Vec::new(),
            registers: BTreeMap::new(),
            shown: BTreeMap::new(),
            requests: Requests::default(),
            snapshots: Vec::new(),
            pushes: BTreeMap::new(),
            blocks: BTreeMap::new(),
            money: i64::from(knobs.accounts * OPENING_BALANCE),
            partitions: knobs.partitions,
            has_forgotten: false,
            clock: 0,
            next_value: 0,
        }
    }

    pub fn money(&self) -> i64 {
        self.money
    }

    pub fn moment(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The newest moment.
    pub fn now(&self) -> u64 {
        self.clock
    }

    /// When the database had the rows that it begins with.
    pub fn opened_at(&self) -> u64 {
        self.committed.first().map_or(u64::MAX, |&number| self.records[number].told_at)
    }

    /// The memory of all nodes is gone, and all of their disks had what clients knew at this moment. Later commits in one partition
    /// may be lost or not, and what was read later may have been lost; those over several partitions must be there.
    pub fn forget_after(&mut self, moment: u64) {
        self.has_forgotten = true;
        for &number in &self.committed {
            let record = &mut self.records[number];
            if record.told_at <= moment || record.wrote_to.len() > 1 {
                continue;
            }
            record.answer = Some(Answer::Unknown);
            for (register, operation) in &record.register_writes {
                if let Some(operations) = self.registers.get_mut(register) {
                    operations[*operation].finish(moment, Answer::Unknown);
                }
            }
        }
        self.committed.retain(|&number| self.records[number].answer != Some(Answer::Unknown));
        self.registers.values_mut().flatten().for_each(|operation| operation.forget_read_after(moment));
        self.shown.clear();
        self.requests.forget_after(moment);
        self.blocks.retain(|_, taken_at| *taken_at <= moment);
    }

    pub fn next_value(&mut self) -> i32 {
        self.next_value += 1;
        self.next_value
    }

    /// Nobody has made the rows that the database begins with, or is about to.
    pub fn needs_opening(&self) -> bool {
        self.records.iter().all(|record| record.answer == Some(Answer::NotCommitted))
    }

    /// The database has the rows that it begins with.
    pub fn is_open(&self) -> bool {
        !self.committed.is_empty()
    }

    /// A transaction begins; its number.
    pub fn begin(&mut self, process: (NodeId, u64)) -> usize {
        let began_at = self.moment();
        self.records.push(Record { began_at, process, ..Record::default() });
        self.records.len() - 1
    }

    pub fn begin_register_write(&mut self, number: usize, register: i32, value: i32) {
        let start = self.moment();
        let operations = self.registers.entry(register).or_default();
        self.records[number].register_writes.push((register, operations.len()));
        operations.push(RegisterOperation::write(start, value));
    }

    pub fn register_read(&mut self, register: i32, start: u64, value: Option<i32>) {
        let end = self.moment();
        self.registers.entry(register).or_default().push(RegisterOperation::read(start, end, value));
    }

    /// The client has been told.
    ///
    /// # Errors
    /// It cannot be true.
    pub fn told(&mut self, number: usize, answer: Answer) -> Result<(), String> {
        let moment = self.moment();
        let record = &mut self.records[number];
        if let Some(before) = record.answer {
            return match before == answer {
                true => Ok(()),
                false => Err(format!("transaction {number} was answered {before:?} and then {answer:?}")),
            };
        }
        record.answer = Some(answer);
        record.told_at = moment;
        if let Some(request) = record.request {
            record.was_repeated = self.requests.told(request, answer, moment);
        }
        for &(register, operation) in &record.register_writes {
            if let Some(operation) =
                self.registers.get_mut(&register).and_then(|operations| operations.get_mut(operation))
            {
                operation.finish(moment, answer);
            }
        }
        match answer {
            Answer::Committed(_) => self.committed.push(number),
            Answer::NotCommitted if record.was_seen => {
                return Err(format!("transaction {number}, whose writes were seen, is said not to be committed"));
            }
            Answer::NotCommitted | Answer::Unknown => {}
        }
        Ok(())
    }

    /// Checks all rows of all partitions as of one moment; `told` commits had been told of before.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check_rows(
        &mut self,
        rows: &BTreeMap<PartitionId, Vec<Row>>,
        told: usize,
        whence: &str,
    ) -> Result<(), String> {
        let all = || rows.values().flatten().copied();
        let accounts = all().filter(|&(id, _)| id < REGISTERS);
        let money: i64 = accounts.clone().map(|(_, balance)| i64::from(balance)).sum();
        if money != self.money {
            let accounts: Vec<Row> = accounts.collect();
            return Err(format!("{whence}: the accounts hold {money} instead of {}: {accounts:?}", self.money));
        }
        check_unique_index(&all().collect(), whence)?;
        Requests::check_tallies(rows, whence)?;
        let marks: BTreeSet<(PartitionId, usize)> = rows
            .iter()
            .flat_map(|(&partition, rows)| rows.iter().map(move |&(id, number)| (partition, id, number)))
            .filter(|&(_, id, _)| id >= MARKS)
            .map(|(partition, _, number)| (partition, number as usize))
            .collect();
        let partitions = self.partitions;
        for (number, record) in self.records.iter_mut().enumerate() {
            let wrote_to = record.wrote_to.iter().filter(|partition| partition.0 < partitions);
            let (mut there, mut of) = (0, 0);
            for &partition in wrote_to {
                of += 1;
                there += usize::from(marks.contains(&(partition, number)));
            }
            let is_open = record.answer.is_none() && !record.was_seen;
            if there != of && there != 0 && !is_open {
                return Err(format!("{whence}: half of transaction {number} ({there} of {of} partitions)"));
            }
            if there > 0 {
                record.was_seen = true;
                if record.answer == Some(Answer::NotCommitted) {
                    return Err(format!("{whence}: transaction {number} was told not to be committed, and is"));
                }
            }
        }
        let is_there = |&number: &usize| {
            let mut wrote_to = self.records[number].wrote_to.iter();
            wrote_to.all(|partition| partition.0 >= partitions || marks.contains(&(*partition, number)))
        };
        if let Some(number) = self.committed[..told].iter().find(|number| !is_there(number)) {
            return Err(format!("{whence}: transaction {number}, told to be committed before, is not there"));
        }
        self.check_prefix(&marks, &is_there, whence)
    }

    /// Whoever sees a transaction sees all that its client's process had been told of before it began.
    fn check_prefix(
        &self,
        marks: &BTreeSet<(PartitionId, usize)>,
        is_there: &dyn Fn(&usize) -> bool,
        whence: &str,
    ) -> Result<(), String> {
        // By process: what is there and began last.
        let mut last: BTreeMap<(NodeId, u64), usize> = BTreeMap::new();
        for number in marks.iter().map(|&(_, number)| number).filter(|&number| number < self.records.len()) {
            let record = &self.records[number];
            let known = last.entry(record.process).or_insert(number);
            if self.records[*known].began_at < record.began_at {
                *known = number;
            }
        }
        for &number in &self.committed {
            let record = &self.records[number];
            let Some(&later) = last.get(&record.process) else { continue };
            if record.told_at < self.records[later].began_at && !is_there(&number) {
                return Err(format!(
                    "{whence}: transaction {later} is there, and {number}, which its client's node had been told of before, is not"
                ));
            }
        }
        Ok(())
    }

    /// Whoever reads a snapshot again sees the same.
    ///
    /// # Errors
    /// It does not.
    pub fn check_same(
        &mut self,
        snapshot: Timestamp,
        rows: &BTreeMap<PartitionId, Vec<Row>>,
    ) -> Result<bool, String> {
        let Some(before) = self.shown.get(&snapshot) else {
            self.shown.insert(snapshot, rows.clone());
            return Ok(false);
        };
        for (partition, rows) in rows {
            let old: BTreeSet<&Row> = before[partition].iter().collect();
            let new: BTreeSet<&Row> = rows.iter().collect();
            if old != new {
                let differing: Vec<_> = old.symmetric_difference(&new).collect();
                return Err(format!(
                    "the snapshot at {snapshot} has changed in partition {partition} since it was read: {differing:?}"
                ));
            }
        }
        Ok(true)
    }

    /// An element that a list has room for, in all likelihood.
    pub fn next_element(&mut self, list: i32) -> Option<i32> {
        let pushes = self.pushes.entry(list).or_default();
        *pushes += 1;
        (*pushes < LIST_ROWS - 10).then(|| self.next_value())
    }

    /// A block of a sequence's numbers was taken.
    ///
    /// # Errors
    /// Somebody has had it before.
    pub fn took_block(&mut self, sequence: i32, first: i32) -> Result<(), String> {
        let moment = self.moment();
        match self.blocks.insert((sequence, first), moment) {
            None => Ok(()),
            Some(_) => Err(format!("the numbers from {first} on of sequence {sequence} were given out twice")),
        }
    }

    /// A snapshot that was taken after `began_at` has shown these rows. True if it is kept.
    pub fn saw_lists(&mut self, began_at: u64, rows: &BTreeMap<PartitionId, Vec<Row>>) -> bool {
        if self.snapshots.len() >= SNAPSHOTS_MAX || !rows.values().flatten().any(|(id, _)| is_list_row(*id)) {
            return false;
        }
        let ended_at = self.moment();
        self.snapshots.push(snapshot_of_lists((began_at, ended_at), rows, Level::Snapshot));
        true
    }

    /// What transactions have read and written could have happened at the levels that they asked for.
    ///
    /// # Errors
    /// It could not.
    pub fn check_cycles(&mut self, rows: &BTreeMap<PartitionId, Vec<Row>>) -> Result<(), String> {
        if self.has_forgotten {
            return Ok(());
        }
        let mut refused = Vec::new();
        let mut observed = Vec::new();
        for (number, record) in self.records.iter().enumerate() {
            if record.overwrote.is_empty() && record.read.is_empty() {
                continue;
            }
            if record.answer == Some(Answer::NotCommitted) {
                refused.extend(record.overwrote.iter().map(|&(register, _, value)| (register, Some(value))));
                continue;
            }
            observed.push(Observed {
                number,
                began_at: record.began_at,
                committed_at: matches!(record.answer, Some(Answer::Committed(_))).then_some(record.told_at),
                process: Some(record.process),
                writes: record.overwrote.clone(),
                reads: record.read.clone(),
            });
        }
        let moment = self.moment();
        observed.append(&mut self.snapshots);
        observed.push(snapshot_of_lists((moment, self.moment()), rows, Level::Serializable));
        cycles::check(&observed, &refused)
    }

    /// Counters hold what was added: all that was acknowledged, and perhaps what nobody knows.
    ///
    /// # Errors
    /// They do not.
    pub fn check_counters(&self, rows: &BTreeMap<PartitionId, Vec<Row>>) -> Result<(), String> {
        let there = rows.values().flatten().filter(|&&(id, _)| is_counter(id));
        let mut bounds: BTreeMap<i32, (i32, i32)> = there.map(|&(id, _)| (id, (0, 0))).collect();
        for record in &self.records {
            for &(counter, amount) in &record.counts {
                let (low, high) = bounds.entry(counter).or_default();
                match record.answer {
                    Some(Answer::Committed(_)) => (*low, *high) = (*low + amount, *high + amount),
                    Some(Answer::NotCommitted) => {}
                    Some(Answer::Unknown) | None if amount < 0 => *low += amount,
                    Some(Answer::Unknown) | None => *high += amount,
                }
            }
        }
        for (counter, (low, high)) in bounds {
            let value = rows.values().flatten().find(|&&(id, _)| id == counter).map_or(0, |&(_, k)| k);
            if !(low..=high).contains(&value) {
                return Err(format!("counter {counter} is at {value}, not in {low}..={high}"));
            }
        }
        Ok(())
    }

    /// The dictionary's versions follow each other, each made by one transaction that was not refused.
    ///
    /// # Errors
    /// They do not.
    pub fn check_versions(&self, meta: PartitionId, rows: &[Row]) -> Result<(), String> {
        let versions: Vec<Row> = rows.iter().copied().filter(|&(id, _)| (VERSIONS..MARKS).contains(&id)).collect();
        let gap = versions.iter().enumerate().find(|(place, (id, _))| *id != VERSIONS + 1 + *place as i32);
        if let Some((_, version)) = gap {
            return Err(format!("the dictionary's versions have a gap before {version:?}"));
        }
        let made: Vec<i32> = versions.iter().map(|&(_, number)| number).collect();
        for (number, record) in self.records.iter().enumerate() {
            if !record.wrote_to.contains(&meta) {
                continue;
            }
            let times = made.iter().filter(|&&by| by == number as i32).count();
            let fits = match record.answer {
                Some(Answer::Committed(_)) => times == 1,
                Some(Answer::NotCommitted) => times == 0,
                Some(Answer::Unknown) | None => times <= 1,
            };
            if !fits {
                return Err(format!("transaction {number}, answered {:?}, made {times} versions", record.answer));
            }
        }
        Ok(())
    }
}

fn is_list_row(id: i32) -> bool {
    (LISTS..MARKS).contains(&id)
}

/// Somebody reads all lists at once.
fn snapshot_of_lists(
    (began_at, ended_at): (u64, u64),
    rows: &BTreeMap<PartitionId, Vec<Row>>,
    level: Level,
) -> Observed {
    let lists = (0..LISTS_THERE).map(|list| {
        let (first, end) = list_range(list);
        let rows = rows.values().flatten().filter(|(id, _)| (first..end).contains(id));
        let elements: BTreeMap<i32, i32> = rows.copied().collect();
        Read::list(LISTS + list, elements.into_values().collect(), level)
    });
    let reads = lists.collect();
    Observed {
        number: usize::MAX,
        began_at,
        committed_at: Some(ended_at),
        process: None,
        writes: Vec::new(),
        reads,
    }
}

/// Every owner is in the index under its value, and nothing else is.
fn check_unique_index(rows: &BTreeSet<Row>, whence: &str) -> Result<(), String> {
    let owners: BTreeSet<Row> = rows.range((OWNERS, i32::MIN)..(INDEX, i32::MIN)).copied().collect();
    let index: BTreeSet<Row> = rows.range((INDEX, i32::MIN)..(VERSIONS, i32::MIN)).copied().collect();
    let expected: BTreeSet<Row> = owners.iter().map(|&(owner, value)| (INDEX + value, owner)).collect();
    match expected == index && index.len() == owners.len() {
        true => Ok(()),
        false => Err(format!("{whence}: the unique index {index:?} does not agree with its table {owners:?}")),
    }
}
