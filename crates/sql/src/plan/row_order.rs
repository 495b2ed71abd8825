//! Which tables are read in the order of their keys because whoever asked can see it.
//!
//! A query without ORDER BY promises no order, but users of InnoDB see its rows by primary key, or by the index that finds them, and rely
//! on it. Partitions are merged for that, which copies rows. So nothing is merged where nobody can tell: below counts and sums, below
//! a sort, in subqueries that are only tested.

use std::sync::Arc;

use shoal_expr::AggregateKind;

use super::{Aggregation, Block, Input, Lateral, QueryBody, QueryPlan};

/// Has the rows of a block's tables come in key order, if its result shows their order: those of the first table, and for each of
/// them those of the others. If not, derived tables need none either. For a block that is planned otherwise.
pub fn keep_row_order(block: &mut Block) {
    let is_seen = shows_order(block);
    for step in &mut block.steps {
        match &mut step.input {
            Input::Table(input) => {
                input.access.keep_order(&input.table, is_seen);
            }
            Input::Derived(plan) | Input::Lateral(Lateral { plan, .. }) if !is_seen => {
                if let Some(plan) = Arc::get_mut(plan) {
                    forget_row_order(plan);
                }
            }
            _ => {}
        }
    }
}

/// For a query whose rows are looked at in no order.
pub fn forget_row_order(plan: &mut QueryPlan) {
    match &mut plan.body {
        QueryBody::Block(block) => {
            let decides = block.limit.is_some()
                || block.windowing.is_some()
                || block.aggregation.as_ref().is_some_and(keeps_order);
            for step in block.steps.iter_mut().filter(|_| !decides) {
                match &mut step.input {
                    Input::Table(input) => input.access.in_key_order = false,
                    Input::Derived(plan) | Input::Lateral(Lateral { plan, .. }) => {
                        Arc::get_mut(plan).into_iter().for_each(forget_row_order);
                    }
                    _ => {}
                }
            }
        }
        QueryBody::SetOperation(operation) if operation.limit.is_none() => {
            forget_row_order(&mut operation.first);
            operation.rest.iter_mut().for_each(|term| forget_row_order(&mut term.query));
        }
        QueryBody::Recursion(recursion) if recursion.limit.is_none() => {
            let parts = recursion.seeds.iter_mut().chain(&mut recursion.members);
            parts.for_each(|part| forget_row_order(&mut part.query));
        }
        QueryBody::SetOperation(_) | QueryBody::Recursion(_) | QueryBody::Call(_) => {}
    }
}

/// What comes out of the block depends on the order of the rows that go in.
fn shows_order(block: &Block) -> bool {
    // Windows see the rows before they are sorted.
    let is_sorted = !block.order.is_empty() && block.windowing.is_none();
    match &block.aggregation {
        None => !is_sorted,
        // Groups come in the order of their first rows, subtotals behind their sorted groups.
        Some(aggregation) => aggregation.grouped && !aggregation.rollup && !is_sorted || keeps_order(aggregation),
    }
}

/// Some aggregate tells in which order it was given its rows.
fn keeps_order(aggregation: &Aggregation) -> bool {
    aggregation.aggregates.iter().any(|aggregate| match aggregate.kind {
        AggregateKind::GroupConcat => aggregate.order_by.is_empty(),
        AggregateKind::JsonArray | AggregateKind::JsonObject | AggregateKind::AnyValue => true,
        _ => false,
    })
}
