//! GROUP BY: hash aggregation, groups in order of first appearance.

use std::cmp::Ordering;

use shoal_expr::{Accumulator, EvalContext, RowSource, append_group_key, compare};
use shoal_types::{Result, Value};

use super::sort_in_turns::sort_in_turns;
use super::{HashMap, RowBatch};
use crate::plan::Aggregation;
use crate::session::Interrupt;

/// Groups that go through the rest of the pipeline together.
const GROUPS_PER_BATCH: usize = 256;

struct Group {
    keys: Vec<Value>,
    accumulators: Vec<Accumulator>,
}

/// The groups of one execution.
pub struct Aggregator<'a> {
    plan: &'a Aggregation,
    groups: Vec<Group>,
    by_key: HashMap<Box<[u8]>, usize>,
    key: Vec<u8>,
}

impl<'a> Aggregator<'a> {
    pub fn new(plan: &'a Aggregation) -> Aggregator<'a> {
        let mut aggregator = Aggregator { plan, groups: Vec::new(), by_key: HashMap::default(), key: Vec::new() };
        if !plan.grouped {
            aggregator.groups.push(aggregator.new_group(Vec::new()));
        }
        aggregator
    }

    fn new_group(&self, keys: Vec<Value>) -> Group {
        Group { keys, accumulators: self.plan.aggregates.iter().map(Accumulator::new).collect() }
    }

    pub fn add<R: RowSource + ?Sized>(&mut self, row: &R, eval: &mut EvalContext<'_>) -> Result<()> {
        if !self.plan.grouped {
            return add_to(&mut self.groups[0], self.plan, row, eval);
        }
        let keys = self.plan.keys.iter().map(|key| key.eval(row, eval)).collect::<Result<Vec<Value>>>()?;
        if !self.plan.rollup {
            return self.add_to_group(&keys, keys.len(), row, eval);
        }
        for level in (0..=keys.len()).rev() {
            self.add_to_group(&keys, level, row, eval)?;
        }
        Ok(())
    }

    /// Adds to the group of the first `level` keys; the other keys read as NULL in it.
    fn add_to_group<R: RowSource + ?Sized>(
        &mut self,
        keys: &[Value],
        level: usize,
        row: &R,
        eval: &mut EvalContext<'_>,
    ) -> Result<()> {
        self.key.clear();
        for (value, expression) in keys[..level].iter().zip(&self.plan.keys) {
            append_group_key(value, expression.sql_type(), &mut self.key);
        }
        if self.plan.rollup {
            self.key.push(level as u8);
        }
        let group = match self.by_key.get(self.key.as_slice()) {
            Some(&group) => group,
            None => {
                let mut group_keys = keys.to_vec();
                group_keys[level..].fill(Value::Null);
                let group = self.new_group(group_keys);
                self.groups.push(group);
                self.by_key.insert(self.key.as_slice().into(), self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        add_to(&mut self.groups[group], self.plan, row, eval)
    }

    /// The groups, in their order.
    pub async fn finish(mut self, interrupt: &Interrupt) -> Result<Groups> {
        if self.plan.rollup {
            self.sort_for_rollup(interrupt).await?;
        }
        Ok(Groups { groups: self.groups.into_iter(), width: self.plan.width })
    }

    /// Every subtotal behind its groups.
    async fn sort_for_rollup(&mut self, interrupt: &Interrupt) -> Result<()> {
        let mut levels = vec![0u8; self.groups.len()];
        for (key, &group) in &self.by_key {
            levels[group] = key.last().copied().unwrap_or(0);
        }
        let types: Vec<_> = self.plan.keys.iter().map(|key| key.sql_type().clone()).collect();
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        let compare_groups = |&left: &usize, &right: &usize| {
            let common = levels[left].min(levels[right]) as usize;
            for (position, sql_type) in types.iter().enumerate().take(common) {
                let ordering =
                    compare(&self.groups[left].keys[position], &self.groups[right].keys[position], sql_type);
                if ordering != Ordering::Equal {
                    return ordering;
                }
            }
            levels[right].cmp(&levels[left])
        };
        sort_in_turns(&mut order, compare_groups, interrupt).await?;
        let mut groups: Vec<Option<Group>> = self.groups.drain(..).map(Some).collect();
        self.groups = order.into_iter().filter_map(|position| groups[position].take()).collect();
        Ok(())
    }
}

/// Groups on their way out.
pub struct Groups {
    groups: std::vec::IntoIter<Group>,
    width: usize,
}

impl Groups {
    /// The next rows, one a group: keys, aggregates, then room for subquery results. Empty: there are no more.
    pub fn next_batch(&mut self, eval: &mut EvalContext<'_>) -> Result<RowBatch> {
        let mut rows = RowBatch::new(self.width);
        for group in self.groups.by_ref().take(GROUPS_PER_BATCH) {
            let row = rows.push_empty();
            let keys = group.keys.len();
            for (place, key) in row.iter_mut().zip(group.keys) {
                *place = key;
            }
            for (place, accumulator) in row[keys..].iter_mut().zip(group.accumulators) {
                *place = accumulator.finish(eval)?;
            }
        }
        Ok(rows)
    }
}

fn add_to<R: RowSource + ?Sized>(
    group: &mut Group,
    plan: &Aggregation,
    row: &R,
    eval: &mut EvalContext<'_>,
) -> Result<()> {
    for (accumulator, aggregate) in group.accumulators.iter_mut().zip(&plan.aggregates) {
        accumulator.add(aggregate, row, eval)?;
    }
    Ok(())
}
