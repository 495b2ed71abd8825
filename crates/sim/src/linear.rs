//! Is the history of a register linearizable?
//!
//! A register is written with values that are all different, and read. The search is Wing and Gong's: one of the operations that
//! no other one had ended before is taken to be the next, if the value allows it; sets of operations that led nowhere
//! are remembered.

use std::collections::BTreeSet;

use shoal_two_phase::Answer;

/// Operations that one search can take.
const OPERATIONS_MAX: usize = 512;

/// A set of operations, by number.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Set([u128; OPERATIONS_MAX / 128]);

impl Set {
    fn has(&self, number: usize) -> bool {
        self.0[number / 128] & (1 << (number % 128)) != 0
    }

    fn with(mut self, number: usize) -> Set {
        self.0[number / 128] |= 1 << (number % 128);
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Write(i32),
    Read(Option<i32>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Ended(u64),
    /// It has taken place, or will, or never does.
    Unknown,
    Never,
}

#[derive(Clone, Copy, Debug)]
pub struct RegisterOperation {
    start: u64,
    state: State,
    kind: Kind,
}

impl RegisterOperation {
    pub fn write(start: u64, value: i32) -> RegisterOperation {
        RegisterOperation { start, state: State::Open, kind: Kind::Write(value) }
    }

    pub fn read(start: u64, end: u64, value: Option<i32>) -> RegisterOperation {
        RegisterOperation { start, state: State::Ended(end), kind: Kind::Read(value) }
    }

    pub fn finish(&mut self, moment: u64, answer: Answer) {
        self.state = match answer {
            Answer::Committed(_) => State::Ended(moment),
            Answer::NotCommitted => State::Never,
            Answer::Unknown => State::Unknown,
        };
    }

    /// What was read after this moment may have been lost since.
    pub fn forget_read_after(&mut self, moment: u64) {
        if matches!((self.kind, self.state), (Kind::Read(_), State::Ended(end)) if end > moment) {
            self.state = State::Never;
        }
    }

    fn end(&self) -> u64 {
        match self.state {
            State::Ended(end) => end,
            _ => u64::MAX,
        }
    }
}

/// Whether there is an order of the operations that all reads agree with.
///
/// # Errors
/// There is none, or the history cannot be judged.
pub fn check(register: i32, history: &[RegisterOperation]) -> Result<(), String> {
    let mut operations: Vec<RegisterOperation> =
        history.iter().filter_map(|operation| bounded(operation, history)).collect();
    operations.sort_unstable_by_key(|operation| operation.start);
    // Whole pieces between which nothing is open are judged one after the other, so that sets stay small.
    let mut values: BTreeSet<Option<i32>> = BTreeSet::from([None]);
    let mut begin = 0;
    while begin < operations.len() {
        let mut end = begin;
        let mut latest = 0;
        while end < operations.len() && (end == begin || operations[end].start < latest) {
            latest = latest.max(operations[end].end());
            end += 1;
        }
        let piece = &operations[begin..end];
        if piece.len() > OPERATIONS_MAX {
            return Err(format!("register {register}: {} operations overlap, which is too many", piece.len()));
        }
        let mut finals = BTreeSet::new();
        for &value in &values {
            search(piece, value, &mut finals);
        }
        if finals.is_empty() {
            return Err(format!("register {register} is not linearizable from {values:?} on: {piece:?}"));
        }
        values = finals;
        begin = end;
    }
    Ok(())
}

/// An operation with an end. One whose outcome nobody knows has taken place before the first read of its value ended; if
/// there is none, it makes no difference.
fn bounded(operation: &RegisterOperation, history: &[RegisterOperation]) -> Option<RegisterOperation> {
    match (operation.state, operation.kind) {
        (State::Ended(_), _) => Some(*operation),
        (State::Open | State::Unknown, Kind::Write(value)) => {
            let sees = |other: &&RegisterOperation| {
                other.kind == Kind::Read(Some(value)) && matches!(other.state, State::Ended(_))
            };
            let end = history.iter().filter(sees).map(RegisterOperation::end).min()?;
            Some(RegisterOperation { state: State::Ended(end), ..*operation })
        }
        _ => None,
    }
}

/// Collects the values that the register may have after the operations.
fn search(operations: &[RegisterOperation], value: Option<i32>, finals: &mut BTreeSet<Option<i32>>) {
    let all = (0..operations.len()).fold(Set::default(), Set::with);
    let mut tried: BTreeSet<(Set, Option<i32>)> = BTreeSet::new();
    let mut stack = vec![(Set::default(), value)];
    while let Some((done, value)) = stack.pop() {
        if !tried.insert((done, value)) {
            continue;
        }
        if done == all {
            finals.insert(value);
        }
        let left = || operations.iter().enumerate().filter(|(number, _)| !done.has(*number));
        let first_end = left().map(|(_, operation)| operation.end()).min().unwrap_or(u64::MAX);
        for (number, operation) in left().filter(|(_, operation)| operation.start <= first_end) {
            match operation.kind {
                Kind::Write(written) => stack.push((done.with(number), Some(written))),
                Kind::Read(read) if read == value => stack.push((done.with(number), value)),
                Kind::Read(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(start: u64, value: i32, answer: Option<(u64, Answer)>) -> RegisterOperation {
        let mut operation = RegisterOperation::write(start, value);
        if let Some((end, answer)) = answer {
            operation.finish(end, answer);
        }
        operation
    }

    fn committed(start: u64, end: u64, value: i32) -> RegisterOperation {
        write(start, value, Some((end, Answer::Committed(shoal_types::Timestamp(1)))))
    }

    fn read(start: u64, end: u64, value: Option<i32>) -> RegisterOperation {
        RegisterOperation::read(start, end, value)
    }

    #[test]
    fn reads_see_the_newest_write_that_has_ended() {
        assert!(check(1, &[committed(1, 2, 7), read(3, 4, Some(7))]).is_ok());
        assert!(check(1, &[committed(1, 2, 7), read(3, 4, None)]).is_err());
        assert!(check(1, &[committed(1, 2, 7), committed(3, 4, 8), read(5, 6, Some(7))]).is_err());
    }

    #[test]
    fn a_write_under_way_may_be_seen_or_not_but_not_seen_and_then_not() {
        let open = committed(1, 10, 7);
        assert!(check(1, &[open, read(2, 3, None), read(4, 5, Some(7))]).is_ok());
        assert!(check(1, &[open, read(2, 3, Some(7)), read(4, 5, None)]).is_err());
    }

    #[test]
    fn an_unknown_write_may_take_place_late_or_never_and_a_refused_one_does_not() {
        let unknown = write(1, 7, Some((2, Answer::Unknown)));
        assert!(check(1, &[unknown, read(3, 4, None), read(5, 6, Some(7))]).is_ok());
        assert!(check(1, &[unknown, read(3, 4, None), read(5, 6, None)]).is_ok());
        assert!(check(1, &[unknown, read(3, 4, Some(7)), read(5, 6, None)]).is_err());
        let refused = write(1, 7, Some((2, Answer::NotCommitted)));
        assert!(check(1, &[refused, read(3, 4, Some(7))]).is_err());
    }
}
