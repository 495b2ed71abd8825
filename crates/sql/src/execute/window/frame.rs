//! Frames: which rows of its partition a row's functions see.

use std::ops::Range;

use shoal_expr::{EvalContext, Expr, NoRow, compare};
use shoal_types::{Result, SqlType, Value};

use super::rows::WindowRows;
use crate::plan::windows::{Frame, FrameBound, FrameOffset};

/// A frame whose amounts are known.
pub struct BoundFrame {
    by_rows: bool,
    start: Bound,
    end: Bound,
}

enum Bound {
    /// The end of the partition on its side.
    Unbounded,
    CurrentRow,
    /// So many rows before or behind.
    Rows {
        count: usize,
        preceding: bool,
    },
    /// Where the values of one column pass those of another one.
    Values {
        key: usize,
        bound: usize,
        descending: bool,
        sql_type: SqlType,
    },
}

impl BoundFrame {
    /// Evaluates the amounts; `None`: one is negative, NULL or no number.
    pub fn new(frame: &Frame, eval: &mut EvalContext<'_>) -> Result<Option<BoundFrame>> {
        let mut bounds = Vec::with_capacity(2);
        for bound in [&frame.start, &frame.end] {
            bounds.push(match bound {
                FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => Bound::Unbounded,
                FrameBound::CurrentRow => Bound::CurrentRow,
                FrameBound::Offset(offset) => match offset_bound(offset, eval)? {
                    Some(bound) => bound,
                    None => return Ok(None),
                },
            });
        }
        let (Some(end), Some(start)) = (bounds.pop(), bounds.pop()) else { return Ok(None) };
        Ok(Some(BoundFrame { by_rows: frame.by_rows, start, end }))
    }

    /// Its first row is that of the partition, always.
    pub fn begins_with_partition(&self) -> bool {
        matches!(self.start, Bound::Unbounded)
    }
}

fn offset_bound(offset: &FrameOffset, eval: &mut EvalContext<'_>) -> Result<Option<Bound>> {
    let amount = offset.amount.eval(&NoRow, eval)?;
    let Some(range) = &offset.range else {
        let count = match amount {
            Value::Int(count) => u64::try_from(count).ok(),
            Value::UInt(count) => Some(count),
            _ => None,
        };
        let bound = |count| Bound::Rows {
            count: usize::try_from(count).unwrap_or(usize::MAX),
            preceding: offset.preceding,
        };
        return Ok(count.map(bound));
    };
    // The amount of an interval of several parts is a text.
    let is_negative = match &amount {
        Value::Str(text) => text.trim_ascii_start().starts_with(b"-"),
        number => number.to_f64().value < 0.0,
    };
    let (Some(key), Some(bound)) = (range.key.as_column(), range.bound.as_column()) else { return Ok(None) };
    if amount.is_null() || is_negative {
        return Ok(None);
    }
    let sql_type = range.key.sql_type().clone();
    Ok(Some(Bound::Values { key, bound, descending: range.descending, sql_type }))
}

/// Finds the frames of a partition's rows, one row after the other: neither end of a frame ever moves back.
pub struct FrameCursor<'a> {
    frame: &'a BoundFrame,
    partition: Range<usize>,
    start: usize,
    end: usize,
}

impl<'a> FrameCursor<'a> {
    pub fn new(frame: &'a BoundFrame, partition: Range<usize>) -> FrameCursor<'a> {
        FrameCursor { frame, start: partition.start, end: partition.start, partition }
    }

    /// The frame of a row with these peers; its end is not before its start.
    pub fn of_row(&mut self, row: usize, peers: Range<usize>, rows: &WindowRows) -> Range<usize> {
        let Range { start: first, end: last } = self.partition.clone();
        let start = match &self.frame.start {
            Bound::Unbounded => first,
            Bound::CurrentRow if self.frame.by_rows => row,
            Bound::CurrentRow => peers.start,
            Bound::Rows { count, preceding: true } => row.saturating_sub(*count).max(first),
            Bound::Rows { count, preceding: false } => row.saturating_add(*count).min(last),
            Bound::Values { key, bound, descending, sql_type } => {
                let values = rows.row(row);
                match values[*key].is_null() {
                    true => peers.start,
                    false => {
                        let limit = &values[*bound];
                        let is_before = |place: usize| {
                            let order = compare(&rows.row(place)[*key], limit, sql_type);
                            if *descending { order.is_gt() } else { order.is_lt() }
                        };
                        while self.start < last && is_before(self.start) {
                            self.start += 1;
                        }
                        self.start
                    }
                }
            }
        };
        let end = match &self.frame.end {
            Bound::Unbounded => last,
            Bound::CurrentRow if self.frame.by_rows => row + 1,
            Bound::CurrentRow => peers.end,
            Bound::Rows { count, preceding: true } => (row + 1).saturating_sub(*count).max(first),
            Bound::Rows { count, preceding: false } => row.saturating_add(*count).saturating_add(1).min(last),
            Bound::Values { key, bound, descending, sql_type } => {
                let values = rows.row(row);
                match values[*key].is_null() {
                    true => peers.end,
                    false => {
                        let limit = &values[*bound];
                        let is_within = |place: usize| {
                            let value = &rows.row(place)[*key];
                            let order = compare(value, limit, sql_type);
                            if *descending { !value.is_null() && order.is_ge() } else { order.is_le() }
                        };
                        while self.end < last && is_within(self.end) {
                            self.end += 1;
                        }
                        self.end
                    }
                }
            }
        };
        start..end.max(start)
    }
}

/// A number that a function takes: of buckets, of rows, of a row.
pub fn constant_number(expression: Option<&Expr>, eval: &mut EvalContext<'_>) -> Result<Option<u64>> {
    let Some(expression) = expression else { return Ok(None) };
    Ok(match expression.eval(&NoRow, eval)? {
        Value::Int(number) => u64::try_from(number).ok(),
        Value::UInt(number) => Some(number),
        _ => None,
    })
}
