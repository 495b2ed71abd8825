//! The running state of an aggregate over the rows of one group.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use shoal_types::{Result, SqlType, Value};

use super::concat::Concatenation;
use super::json::JsonCollection;
use super::numeric::{BitState, Moments, Sum};
use super::{Aggregate, AggregateKind};
use crate::compare::{FastInteger, compare, fast_integer};
use crate::context::EvalContext;
use crate::expr::Expr;
use crate::group_key::append_group_key;
use crate::row_source::RowSource;

/// One group's state of one aggregate.
#[derive(Clone, Debug)]
pub struct Accumulator {
    state: State,
    sql_type: SqlType,
    /// With DISTINCT: the arguments seen, by their grouping key. They are added to the state at the end, so that
    /// accumulators with common values can be merged.
    distinct: Option<DistinctRows>,
    /// What the values take that are kept.
    kept_bytes: usize,
}

/// What a value that is kept takes besides its bytes: its place in a list or table, and its allocation.
const KEPT_VALUE_BYTES: usize = 64;
/// What a row of distinct arguments takes besides them.
const DISTINCT_ROW_BYTES: usize = 144;

/// By grouping key: the order of arrival, and the arguments with the sort keys.
type DistinctRows = HashMap<Vec<u8>, (usize, Vec<Value>)>;

#[derive(Clone, Debug)]
enum State {
    Count(u64),
    Sum(Sum),
    Average(Sum),
    Extreme { best: Value, maximum: bool },
    Any { value: Value, seen: bool },
    Bits(BitState),
    Moments { moments: Moments, sample: bool, root: bool },
    Concatenation(Concatenation),
    Json(JsonCollection),
}

impl Accumulator {
    /// Of a group without rows yet.
    pub fn new(aggregate: &Aggregate) -> Accumulator {
        let state = match aggregate.kind {
            AggregateKind::CountRows | AggregateKind::Count => State::Count(0),
            AggregateKind::Sum => State::Sum(Sum::new(&aggregate.sql_type)),
            AggregateKind::Average => State::Average(Sum::new(&aggregate.sql_type)),
            AggregateKind::Minimum => State::Extreme { best: Value::Null, maximum: false },
            AggregateKind::Maximum => State::Extreme { best: Value::Null, maximum: true },
            AggregateKind::AnyValue => State::Any { value: Value::Null, seen: false },
            AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor => {
                State::Bits(BitState::new(aggregate.kind, &aggregate.sql_type))
            }
            AggregateKind::DeviationPopulation => {
                State::Moments { moments: Moments::default(), sample: false, root: true }
            }
            AggregateKind::DeviationSample => {
                State::Moments { moments: Moments::default(), sample: true, root: true }
            }
            AggregateKind::VariancePopulation => {
                State::Moments { moments: Moments::default(), sample: false, root: false }
            }
            AggregateKind::VarianceSample => {
                State::Moments { moments: Moments::default(), sample: true, root: false }
            }
            AggregateKind::GroupConcat => State::Concatenation(Concatenation::new(aggregate)),
            AggregateKind::JsonArray => State::Json(JsonCollection::array()),
            AggregateKind::JsonObject => State::Json(JsonCollection::object()),
        };
        Accumulator {
            state,
            sql_type: aggregate.sql_type.clone(),
            distinct: aggregate.distinct.then(HashMap::new),
            kept_bytes: 0,
        }
    }

    /// About what the accumulator takes beyond its own size.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Takes in a row. `aggregate` is the one that the accumulator was made for.
    #[inline]
    pub fn add<R: RowSource + ?Sized>(
        &mut self,
        aggregate: &Aggregate,
        row: &R,
        ctx: &mut EvalContext<'_>,
    ) -> Result<()> {
        if self.distinct.is_none() {
            match (&mut self.state, aggregate.arguments.as_slice()) {
                (State::Count(count), []) => {
                    *count += 1;
                    return Ok(());
                }
                (State::Count(count), [Expr::Column(column)]) => {
                    *count += u64::from(!row.is_null(column.position));
                    return Ok(());
                }
                (State::Sum(sum) | State::Average(sum), [argument]) => {
                    match fast_integer(argument, row, ctx.parameters) {
                        Some(FastInteger::Signed(number)) => return sum.add_integer(i128::from(number), ctx),
                        Some(FastInteger::Unsigned(number)) => return sum.add_integer(i128::from(number), ctx),
                        Some(FastInteger::Null) => return Ok(()),
                        None => {}
                    }
                }
                _ => {}
            }
        }
        self.add_evaluated(aggregate, row, ctx)
    }

    fn add_evaluated<R: RowSource + ?Sized>(
        &mut self,
        aggregate: &Aggregate,
        row: &R,
        ctx: &mut EvalContext<'_>,
    ) -> Result<()> {
        if let ([argument], None) = (aggregate.arguments.as_slice(), &self.distinct)
            && !matches!(self.state, State::Concatenation(_) | State::Json(_))
        {
            let value = argument.eval(row, ctx)?;
            return self.add_value(value, ctx);
        }
        let mut values = Vec::with_capacity(aggregate.arguments.len() + aggregate.order_by.len());
        for argument in &aggregate.arguments {
            values.push(argument.eval(row, ctx)?);
        }
        let skips_nulls = !matches!(self.state, State::Json(_));
        if skips_nulls && values.iter().any(Value::is_null) {
            return Ok(());
        }
        for (key, _) in &aggregate.order_by {
            values.push(key.eval(row, ctx)?);
        }
        match &mut self.distinct {
            Some(seen) => {
                let mut key = Vec::new();
                for (value, argument) in values.iter().zip(&aggregate.arguments) {
                    append_group_key(value, argument.sql_type(), &mut key);
                }
                let position = seen.len();
                if let Entry::Vacant(place) = seen.entry(key) {
                    self.kept_bytes += place.key().len() + values_bytes(&values) + DISTINCT_ROW_BYTES;
                    place.insert((position, values));
                }
                Ok(())
            }
            None => self.add_values(values, ctx),
        }
    }

    fn add_values(&mut self, mut values: Vec<Value>, ctx: &mut EvalContext<'_>) -> Result<()> {
        match &mut self.state {
            State::Count(count) => {
                *count += 1;
                Ok(())
            }
            State::Concatenation(concatenation) => {
                self.kept_bytes += concatenation.add(values, ctx.settings.group_concat_max_len);
                Ok(())
            }
            State::Json(collection) => {
                self.kept_bytes += values_bytes(&values);
                collection.add(values)
            }
            _ => {
                let value = if values.is_empty() { Value::Null } else { values.swap_remove(0) };
                self.add_value(value, ctx)
            }
        }
    }

    fn add_value(&mut self, value: Value, ctx: &mut EvalContext<'_>) -> Result<()> {
        match &mut self.state {
            State::Any { value: kept, seen } => {
                if !*seen {
                    self.kept_bytes = value.heap_bytes();
                    *kept = value;
                    *seen = true;
                }
                Ok(())
            }
            _ if value.is_null() => Ok(()),
            State::Count(count) => {
                *count += 1;
                Ok(())
            }
            State::Sum(sum) | State::Average(sum) => sum.add(&value, ctx),
            State::Extreme { best, maximum } => {
                let is_better = best.is_null() || {
                    let ordering = compare(&value, best, &self.sql_type);
                    if *maximum { ordering.is_gt() } else { ordering.is_lt() }
                };
                if is_better {
                    self.kept_bytes = value.heap_bytes();
                    *best = value;
                }
                Ok(())
            }
            State::Bits(bits) => bits.add(&value, ctx),
            State::Moments { moments, .. } => {
                moments.add(crate::convert::to_f64(&value, ctx)?);
                Ok(())
            }
            State::Concatenation(_) | State::Json(_) => self.add_values(vec![value], ctx),
        }
    }

    /// Takes away a row that was taken in: for counts and sums, whose rows leave a frame one by one.
    pub fn remove<R: RowSource + ?Sized>(
        &mut self,
        aggregate: &Aggregate,
        row: &R,
        ctx: &mut EvalContext<'_>,
    ) -> Result<()> {
        let value = match aggregate.arguments.as_slice() {
            [] => Value::Int(1),
            [argument] => argument.eval(row, ctx)?,
            several => {
                let mut value = Value::Int(1);
                for argument in several {
                    if argument.eval(row, ctx)?.is_null() {
                        value = Value::Null;
                    }
                }
                value
            }
        };
        match &mut self.state {
            _ if value.is_null() => Ok(()),
            State::Count(count) => {
                *count = count.saturating_sub(1);
                Ok(())
            }
            State::Sum(sum) | State::Average(sum) => sum.remove(&value, ctx),
            _ => Ok(()),
        }
    }

    /// The aggregate's value over the rows so far; more may come.
    pub fn value(&self, ctx: &mut EvalContext<'_>) -> Result<Value> {
        match &self.state {
            State::Count(count) => Ok(Value::Int(i64::try_from(*count).unwrap_or(i64::MAX))),
            State::Sum(sum) => sum.total(),
            State::Average(sum) => sum.average(&self.sql_type, ctx),
            State::Extreme { best, .. } => Ok(best.clone()),
            State::Moments { moments, sample, root } => Ok(moments.result(*sample, *root)),
            _ => self.clone().finish(ctx),
        }
    }

    /// Takes in the state of another accumulator of the same aggregate.
    pub fn merge(&mut self, other: Accumulator, ctx: &mut EvalContext<'_>) -> Result<()> {
        if let (Some(seen), Some(more)) = (&mut self.distinct, other.distinct) {
            let mut entries: Vec<_> = more.into_iter().collect();
            entries.sort_by_key(|(_, (position, _))| *position);
            for (key, (_, values)) in entries {
                let position = seen.len();
                seen.entry(key).or_insert((position, values));
            }
            return Ok(());
        }
        match (&mut self.state, other.state) {
            (State::Count(count), State::Count(more)) => *count += more,
            (State::Sum(sum), State::Sum(more)) | (State::Average(sum), State::Average(more)) => {
                sum.merge(more, ctx)?;
            }
            (State::Extreme { .. }, State::Extreme { best, .. }) => self.add_value(best, ctx)?,
            (State::Any { .. }, State::Any { value, seen: true }) => self.add_value(value, ctx)?,
            (State::Bits(bits), State::Bits(more)) => bits.merge(more)?,
            (State::Moments { moments, .. }, State::Moments { moments: more, .. }) => moments.merge(more),
            (State::Concatenation(concatenation), State::Concatenation(more)) => concatenation.merge(more),
            (State::Json(collection), State::Json(more)) => collection.merge(more),
            _ => {}
        }
        Ok(())
    }

    /// The aggregate's value.
    pub fn finish(mut self, ctx: &mut EvalContext<'_>) -> Result<Value> {
        if let Some(seen) = self.distinct.take() {
            let mut rows: Vec<_> = seen.into_values().collect();
            rows.sort_by_key(|(position, _)| *position);
            for (_, values) in rows {
                self.add_values(values, ctx)?;
            }
        }
        match self.state {
            State::Count(count) => Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX))),
            State::Sum(sum) => sum.total(),
            State::Average(sum) => sum.average(&self.sql_type, ctx),
            State::Extreme { best, .. } => Ok(best),
            State::Any { value, .. } => Ok(value),
            State::Bits(bits) => Ok(bits.result()),
            State::Moments { moments, sample, root } => Ok(moments.result(sample, root)),
            State::Concatenation(concatenation) => concatenation.finish(ctx),
            State::Json(collection) => Ok(collection.finish()),
        }
    }
}

fn values_bytes(values: &[Value]) -> usize {
    values.iter().map(|value| value.heap_bytes() + KEPT_VALUE_BYTES).sum()
}
