//! Windows against a naive evaluation: every frame is gathered by its definition.

use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::MemoryBudget;
use shoal_expr::{Aggregate, BuildContext, EvalContext, Expr, Settings, WindowFunction, WindowKind};
use shoal_types::{Collation, Decimal, SqlType, TimeZone, Value};

use super::aggregates::aggregates;
use super::frame::BoundFrame;
use super::rows::WindowRows;
use super::sort::sort;
use super::spans::Spans;
use super::values::values;
use crate::execute::memory::{Held, StatementMemory};
use crate::execute::sort::compare_rows;
use crate::plan::SortKey;
use crate::plan::windows::{Frame, FrameBound, FrameOffset, RangeOffset, WindowCall};
use crate::session::Interrupt;

/// Columns of a row: partition, key, value, the key less and plus the amount, result.
const KEY: usize = 1;
const VALUE: usize = 2;
const LOW: usize = 3;
const HIGH: usize = 4;
const RESULT: usize = 5;

/// A small generator: tests say their seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn integer(&mut self, limit: u64, may_be_null: bool) -> Value {
        if may_be_null && self.below(5) == 0 { Value::Null } else { Value::Int(self.below(limit) as i64) }
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn memory(bytes: u64) -> (Arc<MemoryBudget>, Rc<StatementMemory>) {
    let budget = Arc::new(MemoryBudget::new(bytes));
    let memory = StatementMemory::new(Arc::clone(&budget));
    (budget, memory)
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Null => None,
        other => Some(other.to_i64().value),
    }
}

/// One end of a frame: `None`: unbounded; the current row; so much before (negative) or behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Unbounded,
    Current,
    Offset(i64),
}

#[derive(Debug)]
struct Case {
    by_rows: bool,
    descending: bool,
    amount: i64,
    start: End,
    end: End,
}

impl Case {
    fn random(random: &mut Random) -> Case {
        let amount = random.below(4) as i64;
        let end = |random: &mut Random| match random.below(4) {
            0 => End::Unbounded,
            1 => End::Current,
            2 => End::Offset(-amount),
            _ => End::Offset(amount),
        };
        let (start, last) = (end(random), end(random));
        Case { by_rows: random.below(2) == 0, descending: random.below(2) == 0, amount, start, end: last }
    }

    fn frame(&self, is_backward: [bool; 2]) -> Frame {
        let bound = |end: End, unbounded: FrameBound, preceding: bool| match end {
            End::Unbounded => unbounded,
            End::Current => FrameBound::CurrentRow,
            End::Offset(_) => {
                let column = |position| Expr::column(position, SqlType::bigint(false), true, "");
                let bound = column(if preceding != self.descending { LOW } else { HIGH });
                let range = RangeOffset { key: column(KEY), bound, descending: self.descending };
                let amount = Expr::integer(self.amount);
                let range = (!self.by_rows).then_some(range);
                FrameBound::Offset(Box::new(FrameOffset { amount, preceding, range }))
            }
        };
        Frame {
            by_rows: self.by_rows,
            start: bound(self.start, FrameBound::UnboundedPreceding, is_backward[0]),
            end: bound(self.end, FrameBound::UnboundedFollowing, is_backward[1]),
        }
    }

    /// The place is not before the frame's start, or not behind its end.
    fn includes(&self, rows: &[Vec<Value>], row: usize, place: usize, end: (End, bool), is_start: bool) -> bool {
        let (end, is_backward) = end;
        let steps = match end {
            End::Unbounded => return true,
            End::Current => 0,
            End::Offset(_) if is_backward => -self.amount,
            End::Offset(_) => self.amount,
        };
        if self.by_rows {
            let limit = row as i64 + steps;
            return if is_start { place as i64 >= limit } else { place as i64 <= limit };
        }
        let sign = if self.descending { -1 } else { 1 };
        // In the order of the rows: NULL is below everything.
        let position = |value: &Value| number(value).map_or(i64::MIN / 2 * sign, |number| number * sign);
        let (here, there) = (position(&rows[row][KEY]), position(&rows[place][KEY]));
        let limit = if rows[row][KEY].is_null() { here } else { here + steps };
        if is_start { there >= limit } else { there <= limit }
    }
}

fn key(position: usize, descending: bool, sql_type: SqlType) -> SortKey {
    SortKey { position, descending, sql_type }
}

fn naive(kind: &WindowKind, frame: &[&Vec<Value>]) -> Value {
    let numbers: Vec<i64> = frame.iter().filter_map(|row| number(&row[VALUE])).collect();
    match kind {
        WindowKind::FirstValue => frame.first().map_or(Value::Null, |row| row[VALUE].clone()),
        WindowKind::LastValue => frame.last().map_or(Value::Null, |row| row[VALUE].clone()),
        WindowKind::NthValue => frame.get(1).map_or(Value::Null, |row| row[VALUE].clone()),
        WindowKind::Aggregate(aggregate) => match aggregate.kind {
            shoal_expr::AggregateKind::Count => Value::Int(numbers.len() as i64),
            shoal_expr::AggregateKind::Minimum => {
                numbers.iter().min().map_or(Value::Null, |least| Value::Int(*least))
            }
            shoal_expr::AggregateKind::Maximum => {
                numbers.iter().max().map_or(Value::Null, |most| Value::Int(*most))
            }
            shoal_expr::AggregateKind::BitOr => {
                Value::UInt(numbers.iter().fold(0, |all, number| all | *number as u64))
            }
            _ if numbers.is_empty() => Value::Null,
            _ => Value::Decimal(Decimal::new(i128::from(numbers.iter().sum::<i64>()), 0)),
        },
        _ => Value::Null,
    }
}

fn functions() -> Vec<WindowFunction> {
    let context = BuildContext::default();
    let column = || Expr::column(VALUE, SqlType::bigint(false), true, "v");
    let mut functions: Vec<WindowFunction> = ["SUM", "COUNT", "MIN", "MAX", "BIT_OR"]
        .into_iter()
        .map(|name| WindowFunction::of_aggregate(Aggregate::new(name, vec![column()], false, &context).unwrap()))
        .collect();
    functions.push(WindowFunction::new("first_value", vec![column()], &context).unwrap());
    functions.push(WindowFunction::new("last_value", vec![column()], &context).unwrap());
    functions.push(WindowFunction::new("nth_value", vec![column(), Expr::integer(2)], &context).unwrap());
    functions
}

#[test]
fn frames_have_the_rows_that_their_definitions_say() {
    let (_, memory) = memory(1 << 30);
    let interrupt = Interrupt::default();
    let mut eval = EvalContext::new(&[], &TimeZone::UTC, 0, Settings::default());
    for seed in 0..300 {
        let mut random = Random(seed);
        let case = Case::random(&mut random);
        let backward = [random.below(2) == 0, random.below(2) == 0];
        let mut rows = WindowRows::new(RESULT + 1, &memory);
        for _ in 0..random.below(40) {
            let key = random.integer(8, true);
            let moved = |by: i64| number(&key).map_or(Value::Null, |number| Value::Int(number + by));
            let (low, high) = (moved(-case.amount), moved(case.amount));
            let partition = random.integer(3, false);
            let value = random.integer(50, true);
            rows.push(&mut vec![partition, key, value, low, high]).unwrap();
        }
        let keys = [key(0, false, SqlType::bigint(false)), key(KEY, case.descending, SqlType::bigint(false))];
        block_on(sort(&mut rows, &keys, &memory, &interrupt)).unwrap();
        let sorted: Vec<Vec<Value>> = (0..rows.len()).map(|row| rows.row(row).to_vec()).collect();
        let partitions = block_on(Spans::of_equal(&rows, &keys[..1], &memory, &interrupt)).unwrap();
        let peers = block_on(Spans::of_equal(&rows, &keys, &memory, &interrupt)).unwrap();
        let frame = BoundFrame::new(&case.frame(backward), &mut eval).unwrap().unwrap();
        for function in functions() {
            let call = WindowCall { function, position: RESULT };
            let spans = (&partitions, &peers);
            match &call.function.kind {
                WindowKind::Aggregate(aggregate) => {
                    let mut held = Held::new(&memory);
                    let kept = (&mut eval, &mut held);
                    block_on(aggregates((aggregate, RESULT), &frame, &mut rows, spans, kept, &interrupt)).unwrap();
                }
                _ => block_on(values(&call, &frame, &mut rows, spans, &mut eval, &interrupt)).unwrap(),
            }
            for row in 0..sorted.len() {
                let is_in_frame = |&place: &usize| {
                    sorted[place][0] == sorted[row][0]
                        && case.includes(&sorted, row, place, (case.start, backward[0]), true)
                        && case.includes(&sorted, row, place, (case.end, backward[1]), false)
                };
                let frame: Vec<&Vec<Value>> =
                    (0..sorted.len()).filter(is_in_frame).map(|place| &sorted[place]).collect();
                let expected = naive(&call.function.kind, &frame);
                let found = &rows.row(row)[RESULT];
                assert_eq!(*found, expected, "seed {seed}, {case:?} {backward:?}, {}, row {row}", call.function);
            }
        }
    }
}

#[test]
fn rows_are_sorted_as_their_values_compare_and_equal_ones_stay_in_order() {
    let (_, memory) = memory(1 << 30);
    let interrupt = Interrupt::default();
    for seed in 0..25 {
        let mut random = Random(seed);
        let types = [
            SqlType::bigint(false),
            SqlType::varchar(10, Collation::UTF8MB4_0900_AI_CI),
            SqlType::double(),
            SqlType::decimal(10, 2),
            SqlType::bigint(true),
        ];
        let keys: Vec<SortKey> = (0..1 + random.below(5) as usize)
            .map(|position| key(position, random.below(2) == 0, types[position].clone()))
            .collect();
        let mut rows = WindowRows::new(7, &memory);
        let range = 1 + random.below(20);
        for number in 0..9_000i64 {
            let mut row = vec![
                match random.below(30) {
                    0 => Value::Int(i64::MIN),
                    1 => Value::Int(i64::MAX),
                    _ => Value::Int(random.below(range) as i64 - 3),
                },
                Value::str(["a", "A", "b", "", "Ä", "zebra", "zebras"][random.below(7) as usize]),
                Value::Double([-1.5, 0.0, -0.0, 1e300, 2.0][random.below(5) as usize]),
                Value::Decimal(Decimal::new(i128::from(random.below(7)), (random.below(2) * 2) as u8)),
                Value::UInt(u64::MAX - random.below(3)),
            ];
            if random.below(4) == 0 {
                row[random.below(5) as usize] = Value::Null;
            }
            row.push(Value::Int(number));
            rows.push(&mut row).unwrap();
        }
        let mut expected: Vec<Vec<Value>> = (0..rows.len()).map(|row| rows.row(row).to_vec()).collect();
        expected.sort_by(|left, right| compare_rows(left, right, &keys));
        block_on(sort(&mut rows, &keys, &memory, &interrupt)).unwrap();
        for (row, expected) in expected.iter().enumerate() {
            assert_eq!(rows.row(row), expected.as_slice(), "seed {seed}, row {row}, {keys:?}");
        }
    }
}

#[test]
fn what_windows_keep_is_counted_and_given_back() {
    let (budget, memory) = memory(1 << 20);
    let interrupt = Interrupt::default();
    let mut rows = WindowRows::new(3, &memory);
    let error = loop {
        if let Err(error) = rows.push(&mut vec![Value::str("x".repeat(1000)), Value::Int(1)]) {
            break error;
        }
    };
    assert_eq!(error.errno(), 1041, "{error}");
    let kept = rows.len() * 1000;
    assert!(budget.statement_bytes() as usize > kept / 2, "{} of {kept}", budget.statement_bytes());
    let keys = [key(0, false, SqlType::varchar(1000, Collation::UTF8MB4_0900_AI_CI))];
    let sorted = block_on(sort(&mut rows, &keys, &memory, &interrupt));
    assert_eq!(sorted.map_err(|error| error.errno()), Err(1041), "a sort needs memory of its own");
    drop(rows);
    assert_eq!(budget.statement_bytes(), 0);
}

#[test]
fn a_killed_statement_leaves_every_step() {
    let (_, memory) = memory(1 << 30);
    let interrupt = Interrupt::default();
    let mut rows = WindowRows::new(RESULT + 1, &memory);
    for number in (0..20_000).rev() {
        let key = Value::Int(number);
        rows.push(&mut vec![Value::Int(0), key.clone(), key.clone(), key.clone(), key]).unwrap();
    }
    let keys = [key(KEY, false, SqlType::bigint(false))];
    let partitions = block_on(Spans::of_equal(&rows, &[], &memory, &interrupt)).unwrap();
    let peers = block_on(Spans::of_equal(&rows, &keys, &memory, &interrupt)).unwrap();
    let frame = Frame { by_rows: true, start: FrameBound::CurrentRow, end: FrameBound::UnboundedFollowing };
    let mut eval = EvalContext::new(&[], &TimeZone::UTC, 0, Settings::default());
    let frame = BoundFrame::new(&frame, &mut eval).unwrap().unwrap();
    interrupt.kill_query();
    assert!(block_on(sort(&mut rows, &keys, &memory, &interrupt)).is_err());
    assert!(block_on(Spans::of_equal(&rows, &keys, &memory, &interrupt)).is_err());
    for function in functions() {
        let call = WindowCall { function, position: RESULT };
        let mut held = Held::new(&memory);
        let spans = (&partitions, &peers);
        let outcome = match &call.function.kind {
            WindowKind::Aggregate(aggregate) => {
                let kept = (&mut eval, &mut held);
                block_on(aggregates((aggregate, RESULT), &frame, &mut rows, spans, kept, &interrupt))
            }
            _ => block_on(values(&call, &frame, &mut rows, spans, &mut eval, &interrupt)),
        };
        assert!(outcome.is_err(), "{}", call.function);
    }
}
