//! Aggregates over frames.
//!
//! As a frame moves on, rows come in at its end and go at its start. Counts and exact sums take rows in and give them away
//! again; so do sums of doubles if `windowing_use_high_precision` is off. The least and the greatest value are at the head of
//! a queue in which no value waits behind one that is as good and stays longer. Everything else is computed anew when a row
//! has gone, and goes on while rows only come.

use std::collections::VecDeque;
use std::ops::Range;

use shoal_expr::{Accumulator, Aggregate, AggregateKind, EvalContext, compare};
use shoal_types::{Result, Value};

use super::frame::{BoundFrame, FrameCursor};
use super::rows::WindowRows;
use super::spans::{Spans, Turns};
use crate::execute::memory::Held;
use crate::session::Interrupt;

/// Computes an aggregate for all rows; `position`: of its result. `held` counts what it keeps meanwhile.
///
/// # Errors
/// Those of the aggregate; 1041; 1317.
pub async fn aggregates(
    (aggregate, position): (&Aggregate, usize),
    frame: &BoundFrame,
    rows: &mut WindowRows,
    (partitions, peers): (&Spans, &Spans),
    (eval, held): (&mut EvalContext<'_>, &mut Held),
    interrupt: &Interrupt,
) -> Result<()> {
    let mut peers = peers.cursor();
    let mut turns = Turns::default();
    for partition in partitions.iter() {
        let mut state = State::new(aggregate, frame, partition.start, eval);
        let mut cursor = FrameCursor::new(frame, partition.clone());
        let mut known: Option<(Range<usize>, Value)> = None;
        for row in partition {
            if turns.is_due() {
                interrupt.check_between_batches().await?;
            }
            let frame = cursor.of_row(row, peers.of_row(row), rows);
            if known.as_ref().is_none_or(|(last, _)| *last != frame) {
                state.move_to(aggregate, &frame, rows, (eval, held), (&mut turns, interrupt)).await?;
                known = Some((frame, state.value(eval)?));
            }
            if let Some((_, value)) = &known {
                rows.keep(row, position, value.clone())?;
            }
        }
        held.shrink_to(0);
    }
    Ok(())
}

/// What is known of the rows of a frame.
struct State {
    method: Method,
    accumulator: Accumulator,
    /// The rows that the accumulator, or the queue, has taken in.
    taken: Range<usize>,
    /// Values that may become the best one, the present one first, and their rows.
    queue: VecDeque<(usize, Value)>,
    maximum: bool,
}

/// How rows that leave the frame are forgotten.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Remove,
    Queue,
    Anew,
}

impl State {
    fn new(aggregate: &Aggregate, frame: &BoundFrame, first: usize, eval: &EvalContext<'_>) -> State {
        let is_exact = eval.settings.windowing_use_high_precision;
        let maximum = aggregate.kind == AggregateKind::Maximum;
        let method = match aggregate.kind {
            _ if frame.begins_with_partition() => Method::Anew,
            _ if aggregate.is_removable(is_exact) => Method::Remove,
            AggregateKind::Minimum | AggregateKind::Maximum => Method::Queue,
            _ => Method::Anew,
        };
        let accumulator = Accumulator::new(aggregate);
        State { method, accumulator, taken: first..first, queue: VecDeque::new(), maximum }
    }

    /// Takes in the rows of `frame` that it does not know, and forgets those that are none of it.
    async fn move_to(
        &mut self,
        aggregate: &Aggregate,
        frame: &Range<usize>,
        rows: &WindowRows,
        (eval, held): (&mut EvalContext<'_>, &mut Held),
        (turns, interrupt): (&mut Turns, &Interrupt),
    ) -> Result<()> {
        if self.method == Method::Anew && self.taken.start != frame.start || self.taken.end < frame.start {
            self.accumulator = Accumulator::new(aggregate);
            self.queue.clear();
            self.taken = frame.start..frame.start;
        }
        while self.taken.end < frame.end {
            if turns.is_due() {
                interrupt.check_between_batches().await?;
            }
            let row = self.taken.end;
            match self.method {
                Method::Queue => self.enqueue(row, aggregate.arguments[0].eval(rows.row(row), eval)?, aggregate),
                _ => self.accumulator.add(aggregate, rows.row(row), eval)?,
            }
            self.taken.end += 1;
            held.set(self.kept_bytes())?;
        }
        while self.taken.start < frame.start {
            if turns.is_due() {
                interrupt.check_between_batches().await?;
            }
            match self.method {
                Method::Queue => {
                    while self.queue.front().is_some_and(|(row, _)| *row <= self.taken.start) {
                        self.queue.pop_front();
                    }
                }
                _ => self.accumulator.remove(aggregate, rows.row(self.taken.start), eval)?,
            }
            self.taken.start += 1;
        }
        Ok(())
    }

    fn kept_bytes(&self) -> usize {
        self.accumulator.kept_bytes() + self.queue.len() * size_of::<(usize, Value)>()
    }

    /// A value that is not better than the newcomer will never be the best one again: it goes first. Of equal ones the first
    /// one counts.
    fn enqueue(&mut self, row: usize, value: Value, aggregate: &Aggregate) {
        if value.is_null() {
            return;
        }
        let is_worse = |waiting: &Value| {
            let order = compare(waiting, &value, &aggregate.sql_type);
            if self.maximum { order.is_lt() } else { order.is_gt() }
        };
        while self.queue.back().is_some_and(|(_, waiting)| is_worse(waiting)) {
            self.queue.pop_back();
        }
        self.queue.push_back((row, value));
    }

    fn value(&self, eval: &mut EvalContext<'_>) -> Result<Value> {
        match self.method {
            Method::Queue => Ok(self.queue.front().map_or(Value::Null, |(_, value)| value.clone())),
            _ => self.accumulator.value(eval),
        }
    }
}
