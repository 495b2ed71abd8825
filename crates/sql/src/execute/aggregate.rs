//! GROUP BY: hash aggregation, groups in order of first appearance.

use std::cmp::Ordering;
use std::rc::Rc;

use shoal_expr::{Accumulator, Aggregate, EvalContext, RowSource, append_group_key, compare};
use shoal_types::{Result, Value};

use super::memory::{Held, StatementMemory, row_bytes};
use super::sort_in_turns::sort_in_turns;
use super::{HashMap, RowBatch};
use crate::plan::Aggregation;
use crate::session::Interrupt;

/// Groups that go through the rest of the pipeline together.
const GROUPS_PER_BATCH: usize = 256;

/// What a group takes besides its keys and accumulators: its places in a list and in a table that grow by doubling.
const GROUP_BYTES: usize = 2 * size_of::<Group>() + 64;

struct Group {
    keys: Vec<Value>,
    /// So many of the keys have values.
    level: usize,
    accumulators: Vec<Accumulator>,
}

/// The groups of one execution.
pub struct Aggregator<'a> {
    plan: &'a Aggregation,
    groups: Vec<Group>,
    by_key: HashMap<Box<[u8]>, usize>,
    key: Vec<u8>,
    /// Some accumulators grow with their rows.
    keeps_values: bool,
    held: Held,
}

impl<'a> Aggregator<'a> {
    pub fn new(plan: &'a Aggregation, memory: &Rc<StatementMemory>) -> Aggregator<'a> {
        let mut aggregator = Aggregator {
            plan,
            groups: Vec::new(),
            by_key: HashMap::default(),
            key: Vec::new(),
            keeps_values: plan.aggregates.iter().any(Aggregate::keeps_values),
            held: Held::new(memory),
        };
        if !plan.grouped {
            aggregator.groups.push(aggregator.new_group(Vec::new(), 0));
        }
        aggregator
    }

    fn new_group(&self, keys: Vec<Value>, level: usize) -> Group {
        Group { keys, level, accumulators: self.plan.aggregates.iter().map(Accumulator::new).collect() }
    }

    pub fn add<R: RowSource + ?Sized>(&mut self, row: &R, eval: &mut EvalContext<'_>) -> Result<()> {
        if !self.plan.grouped {
            return self.add_to(0, row, eval);
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
                let accumulators = self.plan.aggregates.len() * size_of::<Accumulator>();
                self.held.add(row_bytes(&group_keys) + accumulators + self.key.len() + GROUP_BYTES)?;
                let group = self.new_group(group_keys, level);
                self.groups.push(group);
                self.by_key.insert(self.key.as_slice().into(), self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        self.add_to(group, row, eval)
    }

    fn add_to<R: RowSource + ?Sized>(&mut self, group: usize, row: &R, eval: &mut EvalContext<'_>) -> Result<()> {
        let accumulators = &mut self.groups[group].accumulators;
        if !self.keeps_values {
            return add_to_all(accumulators, self.plan, row, eval);
        }
        let kept = |accumulators: &[Accumulator]| accumulators.iter().map(Accumulator::kept_bytes).sum::<usize>();
        let before = kept(accumulators);
        add_to_all(accumulators, self.plan, row, eval)?;
        self.held.add(kept(accumulators).saturating_sub(before))
    }

    /// The groups, in their order.
    pub async fn finish(mut self, interrupt: &Interrupt) -> Result<Groups> {
        if self.plan.rollup {
            self.sort_for_rollup(interrupt).await?;
        }
        let (width, level) = (self.plan.width, self.plan.level);
        Ok(Groups { groups: self.groups.into_iter(), width, level, _held: self.held })
    }

    /// Every subtotal behind its groups.
    async fn sort_for_rollup(&mut self, interrupt: &Interrupt) -> Result<()> {
        let levels: Vec<usize> = self.groups.iter().map(|group| group.level).collect();
        let types: Vec<_> = self.plan.keys.iter().map(|key| key.sql_type().clone()).collect();
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        let compare_groups = |&left: &usize, &right: &usize| {
            let common = levels[left].min(levels[right]);
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
    level: Option<usize>,
    _held: Held,
}

impl Groups {
    /// The next rows, one a group: keys, aggregates, then room for subquery results. Empty: there are no more.
    pub fn next_batch(&mut self, eval: &mut EvalContext<'_>) -> Result<RowBatch> {
        let mut rows = RowBatch::new(self.width);
        for group in self.groups.by_ref().take(GROUPS_PER_BATCH) {
            let row = rows.push_empty();
            let keys = group.keys.len();
            if let Some(level) = self.level {
                row[level] = Value::Int(group.level as i64);
            }
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

fn add_to_all<R: RowSource + ?Sized>(
    accumulators: &mut [Accumulator],
    plan: &Aggregation,
    row: &R,
    eval: &mut EvalContext<'_>,
) -> Result<()> {
    for (accumulator, aggregate) in accumulators.iter_mut().zip(&plan.aggregates) {
        accumulator.add(aggregate, row, eval)?;
    }
    Ok(())
}
