//! GROUP BY: its items, what they determine, and expressions over groups.

use std::collections::HashSet;

use shoal_expr::Expr;
use shoal_parser::ast;
use shoal_types::{Error, ErrorCode, Result};

use super::aggregate::GroupRewriter;
use super::dependence::{self, ResultRows};
use super::names::reads_aggregate;
use super::rollup::invalid_use;
use super::scope::{AGGREGATE_BASE, Dependence, NamedItem, SUBQUERY_BASE};
use super::select::{BlockParts, GroupKeys};
use super::windowing::reads_window;
use super::{BlockState, Clause, Resolver};
use crate::plan::{Aggregation, SubqueryColumn, SubqueryKind};

impl Resolver<'_> {
    /// Errors: 1056, an item is an aggregate; those of names.
    pub fn group_keys(&mut self, select: &ast::Select) -> Result<GroupKeys> {
        let mut keys = GroupKeys::default();
        let Some(group_by) = &select.group_by else { return Ok(keys) };
        self.block().clause = Clause::GroupBy;
        let mut named = Vec::with_capacity(group_by.items.len());
        for item in &group_by.items {
            let selected = match self.position_of(item) {
                Some(position) => {
                    let index = (position as usize).wrapping_sub(1);
                    if index >= self.scope().items.len() {
                        return Err(super::select::unknown_position(position, Clause::GroupBy));
                    }
                    Some(index)
                }
                None => self.item_of_bare_name(item)?,
            };
            let group_item = match selected {
                Some(index) => self.scope().items[index].clone(),
                None => {
                    let expression = self.expression(item)?;
                    let column = self.scope().path_of(&expression);
                    let name = column.as_ref().map_or_else(String::new, |path| path.column.clone());
                    NamedItem { name, column, expression: Some(expression) }
                }
            };
            let Some(expression) = group_item.expression.clone() else { continue };
            if reads_window(&expression) || self.block().aggregates_over_groups(&expression) {
                let message = format!("Can't group on '{}'", group_item.name);
                return Err(Error::new(ErrorCode::WrongGroupField, message));
            }
            keys.evaluated.push(self.block().before_groups(expression.clone()));
            keys.named.push(expression);
            named.push(group_item);
        }
        self.scope().group_items = named;
        Ok(keys)
    }

    /// Turns what is computed over groups into expressions over the row of a group.
    pub(super) fn aggregation(
        &mut self,
        parts: &mut BlockParts<'_>,
        written: &mut [(&mut Expr, Clause, usize)],
    ) -> Result<Aggregation> {
        let keys = std::mem::take(&mut parts.keys);
        let scope = &self.scopes[self.scopes.len() - 1];
        let mut rewriter = GroupRewriter {
            context: self.build(),
            determined: determined_columns(&parts.dependences, &keys.named),
            keys: keys.named,
            aggregates: std::mem::take(&mut parts.state.aggregates),
            scope,
            only_full_group_by: self.environment.only_full_group_by,
            grouped: parts.select.group_by.is_some(),
            subquery_positions: vec![None; parts.state.subquery_places.len()],
            groupings: std::mem::take(&mut parts.state.groupings),
            level: None,
        };
        let rollup = parts.select.group_by.as_ref().is_some_and(|group_by| group_by.with_rollup);
        if !rollup && !rewriter.groupings.is_empty() {
            return Err(invalid_use());
        }
        for (expression, clause, item) in written.iter_mut() {
            rewrite(expression, &mut rewriter, *clause, *item)?;
        }
        let mut having = parts.having.take();
        if let Some(having) = &mut having {
            rewrite(having, &mut rewriter, Clause::Having, 1)?;
        }
        let of_rows = written.iter().map(|(expression, ..)| &**expression);
        let read = of_rows.chain(&having).flat_map(Expr::columns_used).collect();
        let mut subqueries = late_subqueries(&mut parts.state, &mut rewriter, read)?;
        let mut first = rewriter.keys.len() + rewriter.aggregates.len();
        if !rewriter.groupings.is_empty() {
            rewriter.level = Some(first);
            first += 1;
        }
        rewriter.number_subqueries(first);
        for (index, subquery) in subqueries.iter_mut().enumerate() {
            subquery.position = first + index;
            subquery.visit_row_expressions(&mut |expression| rewriter.place_subqueries(expression));
        }
        let written = written.iter_mut().map(|(expression, ..)| &mut **expression);
        written.chain(&mut having).for_each(|expression| rewriter.place_subqueries(expression));
        Ok(Aggregation {
            width: first + subqueries.len(),
            keys: keys.evaluated,
            aggregates: rewriter.aggregates,
            grouped: parts.select.group_by.is_some(),
            rollup,
            level: rewriter.level,
            subqueries,
            having,
        })
    }
}

fn rewrite(expression: &mut Expr, rewriter: &mut GroupRewriter<'_>, clause: Clause, item: usize) -> Result<()> {
    *expression = rewriter.rewrite(std::mem::replace(expression, Expr::null()), clause, item)?;
    Ok(())
}

/// The subqueries that run over groups, of those at the positions `read` and whatever these read themselves. Others have
/// become GROUP BY items.
fn late_subqueries(
    state: &mut BlockState,
    rewriter: &mut GroupRewriter<'_>,
    mut read: HashSet<usize>,
) -> Result<Vec<SubqueryColumn>> {
    let late = std::mem::take(&mut state.late_subqueries);
    let mut registered = vec![0; late.len()];
    for (registration, &(is_late, index)) in state.subquery_places.iter().enumerate() {
        if is_late {
            registered[index] = registration;
        }
    }
    let mut kept = Vec::new();
    // A subquery can only read those before it.
    for (mut subquery, registration) in late.into_iter().zip(registered).rev() {
        if !read.contains(&(SUBQUERY_BASE + registration)) {
            continue;
        }
        let mut outcome = Ok(());
        subquery.visit_row_expressions(&mut |expression| {
            if outcome.is_ok() {
                outcome = rewrite(expression, rewriter, Clause::Having, 1);
                read.extend(expression.columns_used());
            }
        });
        outcome?;
        kept.push(subquery);
        rewriter.subquery_positions[registration] = Some(kept.len());
    }
    let count = kept.len();
    for position in rewriter.subquery_positions.iter_mut().flatten() {
        *position = count - *position;
    }
    kept.reverse();
    Ok(kept)
}

impl BlockState {
    /// The expression as it is for each row: a subquery in it that runs over groups gets a twin that runs over rows.
    pub fn before_groups(&mut self, expression: Expr) -> Expr {
        let mut twins = Vec::new();
        for position in expression.columns_used() {
            if let Some(twin) = self.twin(position) {
                twins.push((position, twin));
            }
        }
        expression.map_columns(&mut |position| {
            twins.iter().find(|(late, _)| *late == position).map_or(position, |(_, twin)| *twin)
        })
    }

    fn twin(&mut self, position: usize) -> Option<usize> {
        if let Some((_, twin)) = self.twins.iter().find(|(late, _)| *late == position) {
            return Some(*twin);
        }
        let (true, index) = self.place_of(position)? else { return None };
        let mut subquery = self.late_subqueries[index].clone();
        subquery.visit_row_expressions(&mut |expression| {
            let present = std::mem::replace(expression, Expr::null());
            *expression = self.before_groups(present);
        });
        self.subqueries.push(subquery);
        self.subquery_places.push((false, self.subqueries.len() - 1));
        let twin = SUBQUERY_BASE + self.subquery_places.len() - 1;
        self.twins.push((position, twin));
        Some(twin)
    }

    /// Where the subquery is whose result is at a virtual position: over groups or not, and its index there.
    fn place_of(&self, position: usize) -> Option<(bool, usize)> {
        let registered = position.checked_sub(SUBQUERY_BASE).filter(|_| position < AGGREGATE_BASE)?;
        self.subquery_places.get(registered).copied()
    }

    /// Aggregates are read, here or in a subquery's surroundings.
    fn aggregates_over_groups(&mut self, expression: &Expr) -> bool {
        if reads_aggregate(expression) {
            return true;
        }
        expression.columns_used().into_iter().any(|position| {
            let Some((true, index)) = self.place_of(position) else { return false };
            let mut read = Vec::new();
            self.late_subqueries[index].clone().visit_row_expressions(&mut |part| read.push(part.clone()));
            read.iter().any(|part| self.aggregates_over_groups(part))
        })
    }
}

impl SubqueryColumn {
    /// Every expression over the row for which the subquery runs.
    pub fn visit_row_expressions(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        for (_, expression) in &mut self.outer {
            visit(expression);
        }
        self.needed.iter_mut().for_each(&mut *visit);
        match &mut self.kind {
            SubqueryKind::In { left, .. } | SubqueryKind::Row { left, .. } => left.iter_mut().for_each(visit),
            SubqueryKind::Quantified { left, .. } => visit(left),
            SubqueryKind::Scalar | SubqueryKind::Exists => {}
        }
    }

    /// The same, to be read.
    pub fn row_expressions(&self) -> impl Iterator<Item = &Expr> {
        let left = match &self.kind {
            SubqueryKind::In { left, .. } | SubqueryKind::Row { left, .. } => &left[..],
            SubqueryKind::Quantified { left, .. } => std::slice::from_ref(left),
            SubqueryKind::Scalar | SubqueryKind::Exists => &[],
        };
        self.outer.iter().map(|(_, expression)| expression).chain(&self.needed).chain(left)
    }
}

impl Resolver<'_> {
    /// What holds of the rows of a block, where anybody asks for it.
    pub(super) fn dependences_of_rows(&mut self, parts: &BlockParts<'_>, is_aggregated: bool) -> Vec<Dependence> {
        let is_read = is_aggregated || self.is_in_derived_table();
        if !is_read || !self.environment.only_full_group_by {
            return Vec::new();
        }
        dependence::of_rows(self.scope(), parts.from.tree.as_ref(), parts.selection.as_ref())
    }

    /// What holds of the result of a block. With ROLLUP, the NULL of a super-aggregate row looks like that of a group.
    pub(super) fn dependences_of_result(
        &self,
        parts: &BlockParts<'_>,
        columns: &[Expr],
        is_aggregated: bool,
    ) -> Vec<Dependence> {
        let has_rollup = parts.select.group_by.as_ref().is_some_and(|group_by| group_by.with_rollup);
        if has_rollup || !self.is_in_derived_table() || !self.environment.only_full_group_by {
            return Vec::new();
        }
        let keys = is_aggregated.then_some(&parts.keys.named[..]);
        dependence::of_result(parts.dependences.clone(), &ResultRows { columns, keys })
    }

    /// The block is that of a derived table, or stands in one.
    fn is_in_derived_table(&self) -> bool {
        self.scopes.iter().any(|scope| scope.hidden)
    }
}

/// Columns that have one value in every group.
fn determined_columns(dependences: &[Dependence], keys: &[Expr]) -> HashSet<usize> {
    dependence::closure(keys.iter().filter_map(Expr::as_column).collect(), dependences)
}
