//! Planning a block: join order, access paths, where each conjunct is tested, and packing the joined row.

use std::collections::HashMap;
use std::sync::Arc;

use shoal_expr::analysis::{join_conjunction, split_conjunction};
use shoal_expr::{BuildContext, CompareOperator, Expr, Operation, build};
use shoal_types::{Error, Result, Value};

use super::choose::{Bound, ChooseRequest, choose, find_bounds, is_decided, possible_keys};
use super::row_order::keep_row_order;
use super::{AccessPath, Block, Input, JoinKind, JoinStep, QueryBody, QueryPlan, TableInput};
use crate::execute::lookup::common_key_type;
use crate::resolve::Statistics;
use crate::resolve::from::{From, JoinTree, Source};
use crate::resolve::locking::TableLocks;
use crate::resolve::scope::{SUBQUERY_BASE, Scope};

/// Rows a derived or virtual table is taken to have.
const DERIVED_ROWS: u64 = 100;

/// What is known of a block's FROM and WHERE.
pub struct JoinRequest {
    pub from: From,
    pub selection: Option<Expr>,
    pub locks: TableLocks,
    pub straight: bool,
    pub uses_invisible_indexes: bool,
    pub subquery_places: Vec<(bool, usize)>,
}

/// One input of the join in the order as written.
struct Part {
    tables: Vec<usize>,
    kind: JoinKind,
    /// ON conjuncts of an outer join.
    on: Vec<Expr>,
    /// An outer join's inner side that is a join itself.
    nested: Option<JoinTree>,
    /// STRAIGHT_JOIN: not before the parts in front of it.
    in_order: bool,
}

/// A WHERE or inner ON conjunct.
struct Conjunct {
    expression: Expr,
    tables: Vec<usize>,
    used: bool,
}

struct Planner<'p> {
    scope: &'p Scope,
    sources: Vec<Option<Source>>,
    context: &'p BuildContext<'p>,
    statistics: &'p dyn Statistics,
    locks: TableLocks,
    uses_invisible_indexes: bool,
    conjuncts: Vec<Conjunct>,
}

/// Fills in steps and filters of `block` and packs its row.
pub fn plan_block(
    mut block: Block,
    request: JoinRequest,
    scope: &Scope,
    context: &BuildContext<'_>,
    statistics: &dyn Statistics,
) -> Result<Block> {
    let mut planner = Planner {
        scope,
        sources: request.from.sources.into_iter().map(Some).collect(),
        context,
        statistics,
        locks: request.locks,
        uses_invisible_indexes: request.uses_invisible_indexes,
        conjuncts: Vec::new(),
    };
    let mut late = Vec::new();
    let mut constant = Vec::new();
    let mut pool = Vec::new();
    if let Some(selection) = request.selection {
        pool.extend(split_conjunction(selection));
    }
    let mut parts = Vec::new();
    if let Some(tree) = request.from.tree {
        flatten(tree, &mut parts, &mut pool, request.straight);
    }
    for conjunct in pool {
        if reads_subquery(&conjunct) {
            late.push(conjunct);
            continue;
        }
        let tables = planner.tables_of(&conjunct);
        if tables.is_empty() {
            block.impossible |= conjunct.as_literal().is_some_and(|value| !is_true(value));
            if conjunct.as_literal().is_none() {
                constant.push(conjunct);
            }
        } else {
            planner.conjuncts.push(Conjunct { expression: conjunct, tables, used: false });
        }
    }
    late.extend(planner.outer_joins_to_inner(&mut parts));
    let order = wanted_order(&block, scope, &parts);
    let sorted_by_index = planner.place_all(parts, &order, &mut block)?;
    if sorted_by_index {
        block.order.clear();
        block.projection.truncate(block.visible);
    }
    let left_over: Vec<Expr> = planner
        .conjuncts
        .into_iter()
        .filter(|conjunct| !conjunct.used)
        .map(|conjunct| conjunct.expression)
        .collect();
    block.filter = join_conjunction(constant.into_iter().chain(left_over).collect(), context)?;
    block.late_filter = join_conjunction(late, context)?;
    keep_row_order(&mut block);
    pack(&mut block, &request.subquery_places);
    Ok(block)
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Int(number) => *number != 0,
        Value::UInt(number) => *number != 0,
        // Other constants are left to evaluation.
        _ => true,
    }
}

fn reads_subquery(expression: &Expr) -> bool {
    expression.columns_used().iter().any(|&position| position >= SUBQUERY_BASE)
}

/// The leaves in written order; conditions of inner joins go to the pool.
fn flatten(tree: JoinTree, parts: &mut Vec<Part>, pool: &mut Vec<Expr>, straight: bool) {
    match tree {
        JoinTree::Leaf(table) => parts.push(Part {
            tables: vec![table],
            kind: JoinKind::Inner,
            on: Vec::new(),
            nested: None,
            in_order: straight,
        }),
        JoinTree::Join { outer: false, straight: here, left, right, condition } => {
            flatten(*left, parts, pool, straight);
            let first = parts.len();
            flatten(*right, parts, pool, straight);
            if let (true, Some(part)) = (here, parts.get_mut(first)) {
                part.in_order = true;
            }
            if let Some(condition) = condition {
                pool.extend(split_conjunction(condition));
            }
        }
        JoinTree::Join { outer: true, left, right, condition, .. } => {
            flatten(*left, parts, pool, straight);
            let mut on = Vec::new();
            if let Some(condition) = condition {
                on.extend(split_conjunction(condition));
            }
            let mut tables = Vec::new();
            leaves(&right, &mut tables);
            let nested = if matches!(*right, JoinTree::Leaf(_)) { None } else { Some(*right) };
            parts.push(Part { tables, kind: JoinKind::LeftOuter, on, nested, in_order: straight });
        }
    }
}

fn leaves(tree: &JoinTree, tables: &mut Vec<usize>) {
    match tree {
        JoinTree::Leaf(table) => tables.push(*table),
        JoinTree::Join { left, right, .. } => {
            leaves(left, tables);
            leaves(right, tables);
        }
    }
}

/// ORDER BY as columns of the only table, if an index could serve it.
fn wanted_order(block: &Block, scope: &Scope, parts: &[Part]) -> Vec<(usize, bool)> {
    let [part] = parts else { return Vec::new() };
    if block.aggregation.is_some() || block.windowing.is_some() || block.distinct || part.nested.is_some() {
        return Vec::new();
    }
    let table = &scope.tables[part.tables[0]];
    let column = |key: &super::SortKey| {
        let position = block.projection[key.position].as_column()?.checked_sub(table.first)?;
        (position < table.columns.len()).then_some((position, key.descending))
    };
    block.order.iter().map(column).collect::<Option<Vec<_>>>().unwrap_or_default()
}

impl Planner<'_> {
    fn tables_of(&self, expression: &Expr) -> Vec<usize> {
        let found = expression.columns_used().into_iter().filter_map(|position| self.scope.at_position(position));
        let mut tables: Vec<usize> = found.map(|found| found.table).collect();
        tables.dedup();
        tables
    }

    /// A WHERE comparison on a column of an outer join's inner table throws away its NULL rows: the join is an inner one.
    /// Returns what reads subqueries of the conditions that are WHERE's from here on.
    fn outer_joins_to_inner(&mut self, parts: &mut [Part]) -> Vec<Expr> {
        let mut late = Vec::new();
        for part in parts.iter_mut().filter(|part| part.kind == JoinKind::LeftOuter && part.nested.is_none()) {
            let rejects = |conjunct: &Conjunct| {
                let Expr::Call(call) = &conjunct.expression else { return false };
                // Of which arguments a NULL alone makes it unknown.
                let strict = match &call.operation {
                    Operation::Compare(operator, _) if *operator != CompareOperator::NullSafeEqual => 2,
                    // What lies outside of one bound is outside whatever the other one is.
                    Operation::Between { negated: true, .. } => 1,
                    Operation::Between { negated: false, .. } => 3,
                    Operation::Like { .. } => 2,
                    _ => 0,
                };
                call.arguments.iter().take(strict).any(|argument| {
                    argument
                        .as_column()
                        .and_then(|position| self.scope.at_position(position))
                        .is_some_and(|found| part.tables.contains(&found.table))
                })
            };
            if self.conjuncts.iter().any(rejects) {
                part.kind = JoinKind::Inner;
                for expression in part.on.drain(..) {
                    if reads_subquery(&expression) {
                        late.push(expression);
                        continue;
                    }
                    let tables = self.tables_of(&expression);
                    self.conjuncts.push(Conjunct { expression, tables, used: false });
                }
            }
        }
        late
    }

    /// Orders the parts and makes a step of each. True if the first step yields the wanted order.
    fn place_all(&mut self, parts: Vec<Part>, order: &[(usize, bool)], block: &mut Block) -> Result<bool> {
        let mut waiting: Vec<Part> = parts;
        let mut placed: Vec<usize> = Vec::new();
        let has_limit = block.limit.is_some();
        let mut sorted = false;
        while !waiting.is_empty() {
            let next = self.next_part(&waiting, &placed);
            let part = waiting.remove(next);
            let step = self.step(part, &placed, order, has_limit)?;
            if let Input::Table(TableInput { access, .. }) = &step.input {
                sorted = access.ordered;
            }
            placed.extend(step_tables(&step, self.scope));
            block.steps.push(step);
        }
        Ok(sorted && block.steps.len() == 1 && !order.is_empty())
    }

    /// The cheapest part that may come next.
    fn next_part(&self, waiting: &[Part], placed: &[usize]) -> usize {
        if waiting[0].in_order || waiting.len() == 1 {
            return 0;
        }
        if placed.is_empty()
            && let Some(working) = self.working_part(waiting)
        {
            return working;
        }
        let mut best = (0, u64::MAX);
        for (position, part) in waiting.iter().enumerate() {
            if part.in_order {
                break;
            }
            let depends = part.on.iter().flat_map(|on| self.tables_of(on));
            let ready = part.kind == JoinKind::Inner
                || (!placed.is_empty()
                    && depends.into_iter().all(|table| placed.contains(&table) || part.tables.contains(&table))
                    && position == 0);
            // The first one in the order as written has all before it that it may read.
            if !ready || position > 0 && !self.reads_of(part).iter().all(|table| placed.contains(table)) {
                continue;
            }
            let mut cost = self.estimate(part, placed);
            if !placed.is_empty() && !self.connected(part, placed) {
                cost = cost.saturating_mul(1000);
            }
            if cost < best.1 {
                best = (position, cost);
            }
        }
        best.0
    }

    /// The table of WITH RECURSIVE that the block is a part of: it comes first wherever it may.
    fn working_part(&self, waiting: &[Part]) -> Option<usize> {
        let movable = waiting.iter().take_while(|part| !part.in_order);
        let is_working = |part: &Part| {
            part.kind == JoinKind::Inner
                && part.nested.is_none()
                && matches!(self.sources[part.tables[0]], Some(Source::Working))
        };
        movable.into_iter().position(is_working)
    }

    /// The tables that a part reads while its rows are made: those that LATERAL tables and JSON_TABLE in it name.
    fn reads_of(&self, part: &Part) -> Vec<usize> {
        let sources = part.tables.iter().filter_map(|&table| self.sources[table].as_ref());
        let read = sources.flat_map(Source::reads).flat_map(|expression| self.tables_of(expression));
        read.filter(|table| !part.tables.contains(table)).collect()
    }

    fn connected(&self, part: &Part, placed: &[usize]) -> bool {
        let joins = |tables: &[usize]| {
            tables.iter().any(|table| part.tables.contains(table))
                && tables.iter().any(|table| placed.contains(table))
        };
        part.kind == JoinKind::LeftOuter || self.conjuncts.iter().any(|conjunct| joins(&conjunct.tables))
    }

    fn estimate(&self, part: &Part, placed: &[usize]) -> u64 {
        let table = part.tables[0];
        match (&self.sources[table], &part.nested) {
            (Some(Source::Base(hints)), None) => {
                let bounds = self.bounds(part, table, placed);
                self.choose(table, &bounds, hints, &[], false).map_or(DERIVED_ROWS, |path| path.estimated_rows)
            }
            _ => DERIVED_ROWS,
        }
    }

    fn choose(
        &self,
        table: usize,
        bounds: &[Bound],
        hints: &[shoal_parser::ast::IndexHint],
        order: &[(usize, bool)],
        has_limit: bool,
    ) -> Option<AccessPath> {
        let base = self.scope.tables[table].base.as_ref()?;
        let request = ChooseRequest {
            table: base,
            bounds,
            hints,
            rows: self.statistics.row_count(base),
            wanted_order: order,
            has_limit,
            uses_invisible: self.uses_invisible_indexes,
        };
        Some(choose(&request))
    }

    /// Bounds on a table from the conjuncts that may be used for it, given the tables placed so far.
    fn bounds(&self, part: &Part, table: usize, placed: &[usize]) -> Vec<Bound> {
        let mut bounds = Vec::new();
        let Some(base) = &self.scope.tables[table].base else { return bounds };
        let first = self.scope.tables[table].first;
        let known = |position: usize| {
            position < SUBQUERY_BASE
                && self.scope.at_position(position).is_some_and(|found| placed.contains(&found.table))
        };
        match part.kind {
            JoinKind::LeftOuter => {
                for conjunct in &part.on {
                    find_bounds(conjunct, base, first, &known, &mut bounds);
                }
            }
            JoinKind::Inner => {
                for conjunct in &self.conjuncts {
                    find_bounds(&conjunct.expression, base, first, &known, &mut bounds);
                }
            }
        }
        bounds
    }

    fn step(
        &mut self,
        part: Part,
        placed: &[usize],
        order: &[(usize, bool)],
        has_limit: bool,
    ) -> Result<JoinStep> {
        let Part { tables, kind, on, nested, .. } = part;
        if let Some(tree) = nested {
            return self.nested_step(tree, tables, kind, on, placed);
        }
        let table = tables[0];
        let part = Part { tables, kind, on, nested: None, in_order: false };
        let bounds = self.bounds(&part, table, placed);
        let name = self.scope.tables[table].name.clone();
        let mut possible = Vec::new();
        let input = match self.sources[table].take() {
            Some(Source::Base(hints)) => {
                let base = self.scope.tables[table].base.clone().ok_or_else(lost_table)?;
                let order = if placed.is_empty() { order } else { &[] };
                let only = placed.is_empty() && has_limit;
                let access = self.choose(table, &bounds, &hints, order, only).unwrap_or_else(AccessPath::full);
                possible = possible_keys(&base, &bounds, self.uses_invisible_indexes);
                let (lock, wait) = match self.locks.of(table) {
                    Some((mode, wait)) => (Some(mode), wait),
                    None => (None, Default::default()),
                };
                let usage = self.statistics.usage(&base);
                Input::Table(TableInput { table: base, access, filter: None, lock, wait, usage })
            }
            Some(Source::Derived(plan)) => Input::Derived(plan),
            Some(Source::Virtual(table)) => Input::Virtual(table),
            Some(Source::Working) => Input::Working,
            Some(Source::Lateral(lateral)) => Input::Lateral(lateral),
            Some(Source::JsonTable(table)) => Input::JsonTable(table),
            None => return Err(lost_table()),
        };
        let columns = all_columns(self.scope, &[table]);
        let mut step = JoinStep {
            input,
            columns,
            kind,
            hash_keys: Vec::new(),
            condition: None,
            condition_subqueries: Vec::new(),
            filter: None,
            spent: Vec::new(),
            name,
            possible_keys: possible,
        };
        self.place_conjuncts(&mut step, part.on, &[table], placed)?;
        Ok(step)
    }

    /// Decides where the conjuncts that became testable are tested: in the table, as hash keys, or on the joined row.
    fn place_conjuncts(
        &mut self,
        step: &mut JoinStep,
        on: Vec<Expr>,
        tables: &[usize],
        placed: &[usize],
    ) -> Result<()> {
        let mut local = Vec::new();
        let mut joined = Vec::new();
        let mut where_filter = Vec::new();
        let is_local = |used: &[usize]| used.iter().all(|table| tables.contains(table));
        for expression in on {
            let used = self.tables_of(&expression);
            if !reads_subquery(&expression) && !used.is_empty() && is_local(&used) && expression.is_deterministic()
            {
                local.push(expression);
            } else {
                joined.push(expression);
            }
        }
        for conjunct in self.conjuncts.iter_mut().filter(|conjunct| !conjunct.used) {
            if !conjunct.tables.iter().all(|table| tables.contains(table) || placed.contains(table)) {
                continue;
            }
            conjunct.used = true;
            let expression = conjunct.expression.clone();
            match (step.kind, is_local(&conjunct.tables)) {
                (JoinKind::Inner, true) if expression.is_deterministic() && !expression.needs_session() => {
                    local.push(expression)
                }
                (JoinKind::Inner, _) => joined.push(expression),
                (JoinKind::LeftOuter, _) => where_filter.push(expression),
            }
        }
        let first = self.scope.tables[tables[0]].first;
        let by_lookup = step.input.depends_on_row();
        match &mut step.input {
            Input::Table(input) => {
                if !by_lookup {
                    local.retain(|expression| !is_decided(expression, &input.access, &input.table, first));
                }
                let shifted =
                    local.into_iter().map(|expression| expression.map_columns(&mut |position| position - first));
                input.filter = join_conjunction(shifted.collect(), self.context)?;
            }
            _ => joined.extend(local),
        }
        if !placed.is_empty() && !by_lookup {
            self.take_hash_keys(step, &mut joined, tables)?;
        }
        match step.kind {
            JoinKind::Inner => step.filter = join_conjunction(joined, self.context)?,
            JoinKind::LeftOuter => {
                step.condition = join_conjunction(joined, self.context)?;
                step.filter = join_conjunction(where_filter, self.context)?;
            }
        }
        Ok(())
    }

    /// Equalities between the row so far and the input become hash keys.
    fn take_hash_keys(&self, step: &mut JoinStep, joined: &mut Vec<Expr>, tables: &[usize]) -> Result<()> {
        let columns = step.columns.clone();
        let mut kept = Vec::new();
        for expression in joined.drain(..) {
            match self.hash_key(&expression, tables, &columns)? {
                Some(key) => step.hash_keys.push(key),
                None => kept.push(expression),
            }
        }
        *joined = kept;
        Ok(())
    }

    fn hash_key(
        &self,
        expression: &Expr,
        tables: &[usize],
        columns: &[(usize, usize)],
    ) -> Result<Option<(Expr, Expr)>> {
        let Expr::Call(call) = expression else { return Ok(None) };
        if !matches!(call.operation, Operation::Compare(CompareOperator::Equal, _)) || reads_subquery(expression) {
            return Ok(None);
        }
        let sides = [&call.arguments[0], &call.arguments[1]];
        let inside = sides.map(|side| {
            let used = self.tables_of(side);
            (
                !used.is_empty() && used.iter().all(|table| tables.contains(table)),
                used.iter().any(|table| tables.contains(table)),
            )
        });
        let (outer, inner) = match inside {
            [(false, false), (true, _)] => (sides[0], sides[1]),
            [(true, _), (false, false)] => (sides[1], sides[0]),
            _ => return Ok(None),
        };
        let Some(target) = common_key_type(outer.sql_type(), inner.sql_type()) else { return Ok(None) };
        let outer = build::convert_expr(outer.clone(), &target, self.context)?;
        let inner = build::convert_expr(inner.clone(), &target, self.context)?;
        let place: HashMap<usize, usize> =
            columns.iter().enumerate().map(|(place, &(_, position))| (position, place)).collect();
        let inner = inner.map_columns(&mut |position| place.get(&position).copied().unwrap_or(usize::MAX));
        Ok(Some((outer, inner)))
    }

    /// The inner side of an outer join that is a join itself: planned as a block of its own and kept.
    fn nested_step(
        &mut self,
        tree: JoinTree,
        tables: Vec<usize>,
        kind: JoinKind,
        mut on: Vec<Expr>,
        placed: &[usize],
    ) -> Result<JoinStep> {
        let mut pool = Vec::new();
        let mut parts = Vec::new();
        flatten(tree, &mut parts, &mut pool, false);
        if parts.iter().flat_map(|part| self.reads_of(part)).any(|table| !tables.contains(&table)) {
            let what = "a LATERAL reference from within a nested outer join to a table before it";
            return Err(Error::unsupported(what));
        }
        if parts.iter().flat_map(|part| &part.on).any(reads_subquery) {
            return Err(Error::unsupported("a subquery in ON of an outer join inside another one"));
        }
        let around = std::mem::take(&mut self.conjuncts);
        for expression in pool {
            // Subqueries are the outer block's: what reads them is tested there, for each pair.
            if reads_subquery(&expression) {
                on.push(expression);
                continue;
            }
            let tables = self.tables_of(&expression);
            self.conjuncts.push(Conjunct { expression, tables, used: false });
        }
        let columns = all_columns(self.scope, &tables);
        let projection: Vec<Expr> = columns
            .iter()
            .filter_map(|&(_, position)| self.scope.at_position(position))
            .map(|found| self.scope.named_column(found))
            .collect();
        let mut block = Block {
            steps: Vec::new(),
            width: 0,
            filter: None,
            subqueries: Vec::new(),
            late_filter: None,
            aggregation: None,
            windowing: None,
            visible: projection.len(),
            projection,
            distinct: false,
            order: Vec::new(),
            limit: None,
            count_all_rows: false,
            impossible: false,
        };
        self.place_all(parts, &[], &mut block)?;
        let left_over = std::mem::replace(&mut self.conjuncts, around);
        let left_over =
            left_over.into_iter().filter(|conjunct| !conjunct.used).map(|conjunct| conjunct.expression);
        block.filter = join_conjunction(left_over.collect(), self.context)?;
        keep_row_order(&mut block);
        pack(&mut block, &[]);
        let plan =
            QueryPlan { columns: Vec::new(), body: QueryBody::Block(Box::new(block)), constants: Vec::new() };
        let columns: Vec<(usize, usize)> =
            columns.into_iter().enumerate().map(|(place, (_, position))| (place, position)).collect();
        let mut step = JoinStep {
            input: Input::Derived(Arc::new(plan)),
            columns,
            kind,
            hash_keys: Vec::new(),
            condition: None,
            condition_subqueries: Vec::new(),
            filter: None,
            spent: Vec::new(),
            name: self.scope.tables[tables[0]].name.clone(),
            possible_keys: Vec::new(),
        };
        self.place_conjuncts(&mut step, on, &tables, placed)?;
        Ok(step)
    }
}

fn lost_table() -> Error {
    Error::unknown("internal: a table of the FROM clause was planned twice")
}

fn all_columns(scope: &Scope, tables: &[usize]) -> Vec<(usize, usize)> {
    let of_table = |&table: &usize| {
        let first = scope.tables[table].first;
        (0..scope.tables[table].columns.len()).map(move |column| (column, first + column))
    };
    tables.iter().flat_map(of_table).collect()
}

fn step_tables(step: &JoinStep, scope: &Scope) -> Vec<usize> {
    let mut tables: Vec<usize> = step
        .columns
        .iter()
        .filter_map(|&(_, position)| scope.at_position(position))
        .map(|found| found.table)
        .collect();
    tables.sort_unstable();
    tables.dedup();
    tables
}

/// Gives the columns that are read positions from zero on, and leaves out the others.
fn pack(block: &mut Block, subquery_places: &[(bool, usize)]) {
    let mut used: Vec<usize> = Vec::new();
    visit_row_expressions(block, &mut |expression| used.extend(expression.columns_used()));
    used.retain(|&position| position < SUBQUERY_BASE);
    used.sort_unstable();
    used.dedup();
    let subqueries_from = used.len();
    let place = |position: usize| match position.checked_sub(SUBQUERY_BASE) {
        Some(registered) => subqueries_from + subquery_places.get(registered).map_or(0, |place| place.1),
        None => used.binary_search(&position).unwrap_or(usize::MAX),
    };
    visit_row_expressions(block, &mut |expression| {
        let present = std::mem::replace(expression, Expr::null());
        *expression = present.map_columns(&mut |position| place(position));
    });
    for step in &mut block.steps {
        let read = step.condition.iter().flat_map(Expr::columns_used);
        step.condition_subqueries = read.filter_map(|position| position.checked_sub(subqueries_from)).collect();
        let kept: Vec<bool> =
            step.columns.iter().map(|&(_, position)| used.binary_search(&position).is_ok()).collect();
        let mut places = Vec::with_capacity(kept.len());
        let mut next = 0;
        for &keep in &kept {
            places.push(next);
            next += usize::from(keep || hash_reads(step, places.len() - 1));
        }
        let hash_kept: Vec<bool> =
            (0..kept.len()).map(|position| kept[position] || hash_reads(step, position)).collect();
        for (_, inner) in &mut step.hash_keys {
            let present = std::mem::replace(inner, Expr::null());
            *inner = present.map_columns(&mut |position| places.get(position).copied().unwrap_or(usize::MAX));
        }
        // A column that only a hash key reads still needs a place in the row; it shares a scratch position at the end.
        let scratch = subqueries_from + block.subqueries.len();
        let columns = std::mem::take(&mut step.columns);
        step.columns = columns
            .into_iter()
            .zip(hash_kept)
            .filter(|(_, keep)| *keep)
            .map(|((column, position), _)| (column, used.binary_search(&position).unwrap_or(scratch)))
            .collect();
    }
    for (index, subquery) in block.subqueries.iter_mut().enumerate() {
        subquery.position = subqueries_from + index;
    }
    block.width = subqueries_from + block.subqueries.len() + 1;
    note_spent(block);
}

/// Finds what lateral inputs alone read of the rows before them: a document need not be in every row that is made of it.
fn note_spent(block: &mut Block) {
    if !block.steps.iter().any(JoinStep::is_lateral) {
        return;
    }
    let mut left = vec![0usize; block.width];
    visit_row_expressions(block, &mut |expression| count(expression, &mut left));
    for step in &mut block.steps {
        let mut own = vec![0usize; left.len()];
        step.input.visit_row_expressions(&mut |expression| count(expression, &mut own));
        left.iter_mut().zip(&own).for_each(|(left, own)| *left = left.saturating_sub(*own));
        if step.is_lateral() {
            step.spent = (0..own.len()).filter(|&position| own[position] > 0 && left[position] == 0).collect();
        }
        if let Input::Table(input) = &mut step.input {
            visit_access(&mut input.access, &mut |expression| uncount(expression, &mut left));
        }
        step.hash_keys.iter().for_each(|(outer, _)| uncount(outer, &mut left));
        step.condition.iter().chain(&step.filter).for_each(|expression| uncount(expression, &mut left));
    }
}

fn count(expression: &Expr, uses: &mut [usize]) {
    for position in expression.columns_used() {
        if let Some(uses) = uses.get_mut(position) {
            *uses += 1;
        }
    }
}

fn uncount(expression: &Expr, uses: &mut [usize]) {
    for position in expression.columns_used() {
        if let Some(uses) = uses.get_mut(position) {
            *uses = uses.saturating_sub(1);
        }
    }
}

fn hash_reads(step: &JoinStep, position: usize) -> bool {
    step.hash_keys.iter().any(|(_, inner)| inner.columns_used().contains(&position))
}

/// Every expression over the joined row (not those over a table's own columns or over groups).
fn visit_row_expressions(block: &mut Block, visit: &mut dyn FnMut(&mut Expr)) {
    for step in &mut block.steps {
        match &mut step.input {
            Input::Table(input) => visit_access(&mut input.access, visit),
            other => other.visit_row_expressions(visit),
        }
        for (outer, _) in &mut step.hash_keys {
            visit(outer);
        }
        step.condition.iter_mut().chain(&mut step.filter).for_each(&mut *visit);
    }
    block.filter.iter_mut().chain(&mut block.late_filter).for_each(&mut *visit);
    for subquery in &mut block.subqueries {
        subquery.visit_row_expressions(visit);
    }
    match &mut block.aggregation {
        Some(aggregation) => {
            aggregation.keys.iter_mut().for_each(&mut *visit);
            for aggregate in &mut aggregation.aggregates {
                aggregate.arguments.iter_mut().for_each(&mut *visit);
                aggregate.order_by.iter_mut().for_each(|(expression, _)| visit(expression));
            }
        }
        None => {
            let windowed = block.windowing.as_mut().map(|windowing| &mut windowing.inputs);
            windowed.unwrap_or(&mut block.projection).iter_mut().for_each(&mut *visit);
        }
    }
}

fn visit_access(access: &mut AccessPath, visit: &mut dyn FnMut(&mut Expr)) {
    for part in &mut access.parts {
        match part {
            super::PartAccess::Equal { alternatives, .. } => alternatives.iter_mut().for_each(&mut *visit),
            super::PartAccess::Range { low, high } => {
                low.iter_mut().chain(high).for_each(|bound| visit(&mut bound.value));
            }
            super::PartAccess::Ranges(ranges) => {
                let bounds = ranges.iter_mut().flat_map(|range| range.low.iter_mut().chain(&mut range.high));
                bounds.for_each(|bound| visit(&mut bound.value));
            }
            super::PartAccess::Prefix(pattern) => visit(pattern),
            super::PartAccess::Null | super::PartAccess::NotNull => {}
        }
    }
    if let Some(pruning) = &mut access.pruning {
        pruning.iter_mut().for_each(visit);
    }
}
