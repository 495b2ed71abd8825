//! What clients do: transactions as rows of operations, some of them decided on the way.

use shoal_types::PartitionId;

use crate::history::History;
use crate::knobs::Knobs;
use crate::message::Operation;
use crate::random::Random;
use crate::rows::*;
use crate::statements::Statement;

/// Counters in the database.
const COUNTERS_THERE: u64 = 2;
const OWNERS_THERE: u64 = 3;
/// Numbers that are taken from a sequence at a time.
const BLOCK: i32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// What is read under locks is the sum of all accounts.
    Sum,
    /// What is read first is what is read last.
    Twice,
    /// The owner's row is to have this value, or to go; the index follows.
    Own(i32, Option<i32>),
    /// It carries out this request.
    Once(i32),
    /// One row is changed, by a transaction that does nothing else.
    SingleRow,
    /// All operations are in one partition and go there with the commit.
    Batch,
    /// A block of this sequence's numbers is taken.
    Block(i32),
    /// Statements on tables that refer to each other say on the way what they read and write.
    Statements(Statement, Option<Statement>),
}

#[derive(Clone, Debug)]
pub struct Script {
    pub kind: Kind,
    pub operations: Vec<(PartitionId, Operation)>,
    /// What the operations done so far have found.
    pub found: Vec<Option<i32>>,
}

/// What a client begins with next.
pub enum Task {
    Transaction(Script),
    ReadRegister(i32),
    Snapshot,
    /// Was this request carried out?
    Look(i32),
}

impl Script {
    fn new(kind: Kind, operations: Vec<(PartitionId, Operation)>) -> Script {
        Script { kind, operations, found: Vec::new() }
    }

    pub fn next(&self) -> Option<(PartitionId, Operation)> {
        self.operations.get(self.found.len()).copied()
    }

    /// An operation is done.
    pub fn found(&mut self, knobs: &Knobs, value: Option<i32>) {
        self.found.push(value);
        let Kind::Own(owner, wanted) = self.kind else { return };
        if self.found.len() != 1 || value == wanted {
            return;
        }
        let mut add = |id: i32, operation| self.operations.push((knobs.partition_of(id), operation));
        if let Some(old) = value {
            add(INDEX + old, Operation::Remove(INDEX + old));
        }
        match wanted {
            Some(new) => {
                add(INDEX + new, Operation::Insert((INDEX + new, owner)));
                add(owner, Operation::Put((owner, new)));
            }
            None => add(owner, Operation::Remove(owner)),
        }
    }

    /// What was read first, and last.
    pub fn ends(&self) -> (Option<i32>, Option<i32>) {
        let value = |found: Option<&Option<i32>>| found.copied().flatten();
        (value(self.found.first()), value(self.found.last()))
    }

    /// The sum of what was read.
    pub fn sum(&self) -> i64 {
        self.found.iter().flatten().map(|&k| i64::from(k)).sum()
    }
}

/// The rows that the database begins with, of all partitions.
pub fn opening(knobs: &Knobs) -> Script {
    let put = |id: i32, k: i32| (knobs.partition_of(id), Operation::Put((id, k)));
    let accounts = (0..knobs.accounts).map(|account| put(ACCOUNTS + account, OPENING_BALANCE));
    Script::new(Kind::Plain, accounts.collect())
}

/// Carries out a request, for the first time or again.
pub fn once(knobs: &Knobs, request: i32, history: &History) -> Script {
    let tally = history.requests.tally_of(request);
    let (row, counter) = (REQUESTS + request, TALLIES + tally);
    let mut operations = vec![
        (knobs.partition_of(row), Operation::Insert((row, tally))),
        (knobs.partition_of(counter), Operation::Add(counter, 1)),
    ];
    if request % 3 == 0 {
        operations.reverse();
    }
    Script::new(Kind::Once(request), operations)
}

/// Draws what a client does. Registers' writes are in the history from here on.
pub fn draw(knobs: &Knobs, random: &mut Random, history: &mut History) -> Task {
    let at = |id: i32| knobs.partition_of(id);
    let mut operations = Vec::new();
    let mut kind = Kind::Plain;
    match random.below(38) {
        0..5 => {
            let from = random.below(knobs.accounts as u64) as i32;
            let to = (from + 1 + random.below(knobs.accounts as u64 - 1) as i32) % knobs.accounts;
            let amount = random.between(1, 3) as i32;
            let mut parts = vec![(ACCOUNTS + from, -amount), (ACCOUNTS + to, amount)];
            if random.one_in(4) {
                parts.reverse();
            }
            operations.extend(parts.into_iter().map(|(id, amount)| (at(id), Operation::Add(id, amount))));
        }
        5..8 => {
            let registers = 1 + u64::from(random.one_in(3));
            let first = random.below(knobs.registers as u64) as i32;
            for register in 0..registers.min(knobs.registers as u64) as i32 {
                let id = REGISTERS + (first + register) % knobs.registers;
                if register == 0 && registers > 1 && random.one_in(2) {
                    operations.push((at(id), Operation::ReadShared(id)));
                    continue;
                }
                operations.push((at(id), Operation::Put((id, history.next_value()))));
            }
        }
        8..10 => {
            let id = COUNTERS + random.below(COUNTERS_THERE) as i32;
            operations.push((at(id), Operation::Add(id, 1)));
            if random.one_in(3) {
                let other = if random.one_in(2) { id } else { id + knobs.partitions as i32 };
                let amount = random.between(2, 100) as i32;
                operations.push((at(id), Operation::Add(other, amount)));
                operations.push((at(id), Operation::RollBackTo(0)));
            }
            if random.one_in(3) {
                let other = COUNTERS + random.below(COUNTERS_THERE) as i32;
                operations.push((at(other), Operation::Add(other, 1)));
            }
        }
        10..12 => {
            let owner = OWNERS + random.below(OWNERS_THERE) as i32;
            let value = (!random.one_in(4)).then(|| random.below(VALUES as u64) as i32);
            kind = Kind::Own(owner, value);
            operations.push((at(owner), Operation::ReadExclusive(owner)));
        }
        12 if random.one_in(3) => {
            let registers = (0..knobs.registers).map(|register| REGISTERS + register);
            operations.extend(registers.map(|id| (at(id), Operation::ReadShared(id))));
        }
        12 => {
            kind = Kind::Sum;
            let accounts = (0..knobs.accounts).map(|account| ACCOUNTS + account);
            operations.extend(accounts.map(|id| (at(id), Operation::ReadShared(id))));
        }
        13 if random.one_in(2) => {
            // Rows come and go in these ranges.
            kind = Kind::Twice;
            let partition = PartitionId(random.below(u64::from(knobs.partitions)) as u32);
            let (first, end) = if random.one_in(2) { (OWNERS, VERSIONS) } else { (ACCOUNTS, REGISTERS) };
            let register = REGISTERS + random.below(knobs.registers as u64) as i32;
            operations.push((partition, Operation::ReadRange(first, end)));
            operations.push((at(register), Operation::ReadShared(register)));
            operations.push((partition, Operation::ReadRange(first, end)));
        }
        13 => operations.push((knobs.meta(), Operation::Append(0))),
        14..16 => return Task::Snapshot,
        20..22 => {
            let mut rows: Vec<i32> = (0..knobs.hot_rows).map(|row| HOT + row).collect();
            let count = random.between(2, knobs.hot_rows.min(4) as u64) as usize;
            for place in 0..count {
                let other = place + random.below((rows.len() - place) as u64) as usize;
                rows.swap(place, other);
                let id = rows[place];
                let (reads, adds) = (random.one_in(4), !random.one_in(8));
                if reads || !adds {
                    operations.push((at(id), Operation::ReadShared(id)));
                }
                if adds {
                    operations.push((at(id), Operation::Add(id, 1)));
                }
            }
        }
        22..24 => {
            kind = Kind::SingleRow;
            let id = HOT + random.below(knobs.hot_rows as u64) as i32;
            operations.push((at(id), Operation::Add(id, 1)));
        }
        26..30 => {
            let is_serializable = random.one_in(2);
            let same = random.below(LISTS_THERE as u64) as i32;
            let mut pushed_to = None;
            for _ in 0..random.between(1, 4) {
                let list = if random.one_in(2) { same } else { random.below(LISTS_THERE as u64) as i32 };
                let partition = PartitionId(list as u32 % knobs.partitions);
                let element = random.one_in(2).then(|| history.next_element(list)).flatten();
                let operation = match (element, is_serializable) {
                    (Some(element), _) => Operation::Push(list, element),
                    (None, true) => Operation::ListShared(list),
                    (None, false) => Operation::ListNewest(list),
                };
                operations.push((partition, operation));
                pushed_to = element.map(|_| list).or(pushed_to);
            }
            // Somebody else must not see the first of two.
            if let Some(list) = pushed_to.filter(|_| random.one_in(3))
                && let Some(element) = history.next_element(list)
            {
                let partition = PartitionId(list as u32 % knobs.partitions);
                operations.push((partition, Operation::Push(list, element)));
            }
        }
        30 => {
            kind = Kind::Batch;
            let partition = PartitionId(random.below(u64::from(knobs.partitions)) as u32);
            let rows = (COUNTERS..COUNTERS + 12).chain(HOT..HOT + knobs.hot_rows);
            let here: Vec<i32> = rows.filter(|&id| at(id) == partition).collect();
            for _ in 0..random.between(1, 6) {
                let id = random.pick(&here).copied().unwrap_or(COUNTERS);
                operations.push((at(id), Operation::Add(id, 1)));
            }
        }
        31 => {
            let sequence = SEQUENCES + random.below(2) as i32;
            kind = Kind::Block(sequence);
            operations.push((at(sequence), Operation::Add(sequence, BLOCK)));
        }
        32.. => {
            let statement = Statement::draw(random);
            kind = Kind::Statements(statement, random.one_in(3).then(|| Statement::draw(random)));
        }
        24..26 => match history.requests.begin(random) {
            Some(request) => return Task::Transaction(once(knobs, request, history)),
            None => return Task::Snapshot,
        },
        _ => return Task::ReadRegister(REGISTERS + random.below(knobs.registers as u64) as i32),
    }
    Task::Transaction(Script::new(kind, operations))
}
