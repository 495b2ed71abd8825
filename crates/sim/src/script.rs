//! What clients do: transactions as rows of operations, some of them decided on the way.

use shoal_types::PartitionId;

use crate::history::History;
use crate::knobs::Knobs;
use crate::message::Operation;
use crate::random::Random;
use crate::rows::*;

/// Counters in the database.
const COUNTERS_THERE: u64 = 2;
const OWNERS_THERE: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// What is read under locks is the sum of all accounts.
    Sum,
    /// What is read first is what is read last.
    Twice,
    /// The owner's row is to have this value, or to go; the index follows.
    Own(i32, Option<i32>),
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
    let account = |account: i32| {
        let id = ACCOUNTS + account;
        (knobs.partition_of(id), Operation::Put((id, OPENING_BALANCE)))
    };
    Script::new(Kind::Plain, (0..knobs.accounts).map(account).collect())
}

/// Draws what a client does. Registers' writes are in the history from here on.
pub fn draw(knobs: &Knobs, random: &mut Random, history: &mut History) -> Task {
    let at = |id: i32| knobs.partition_of(id);
    let mut operations = Vec::new();
    let mut kind = Kind::Plain;
    match random.below(20) {
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
        _ => return Task::ReadRegister(REGISTERS + random.below(knobs.registers as u64) as i32),
    }
    Task::Transaction(Script::new(kind, operations))
}
