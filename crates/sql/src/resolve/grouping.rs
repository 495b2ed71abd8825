//! GROUP BY: its items, what they determine, and expressions over groups.

use std::collections::HashSet;

use shoal_expr::Expr;
use shoal_expr::analysis::{as_column_equality, as_column_pair, conjuncts};
use shoal_parser::ast;
use shoal_types::{Error, ErrorCode, Result};

use super::aggregate::GroupRewriter;
use super::from::JoinTree;
use super::names::{NamedItem, reads_aggregate};
use super::scope::{AGGREGATE_BASE, SUBQUERY_BASE, Scope};
use super::select::BlockParts;
use super::{BlockState, Clause, Resolver};
use crate::plan::{Aggregation, SubqueryColumn, SubqueryKind};

/// The items of GROUP BY.
#[derive(Default)]
pub struct GroupKeys {
    /// As the select list and HAVING say them.
    pub named: Vec<Expr>,
    /// As they are evaluated, for each row.
    pub evaluated: Vec<Expr>,
}

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
            if self.block().aggregates_over_groups(&expression) {
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
        projection: &mut [Expr],
        visible: usize,
    ) -> Result<Aggregation> {
        let keys = std::mem::take(&mut parts.keys);
        let scope = &self.scopes[self.scopes.len() - 1];
        let mut rewriter = GroupRewriter {
            context: self.build(),
            determined: determined_columns(scope, &keys.named, parts),
            keys: keys.named,
            aggregates: std::mem::take(&mut parts.state.aggregates),
            scope,
            only_full_group_by: self.environment.only_full_group_by,
            grouped: parts.select.group_by.is_some(),
            subquery_positions: vec![None; parts.state.subquery_places.len()],
        };
        for (position, expression) in projection.iter_mut().enumerate() {
            let (clause, item) = if position < visible {
                (Clause::FieldList, position + 1)
            } else {
                (Clause::OrderBy, position + 1 - visible)
            };
            rewrite(expression, &mut rewriter, clause, item)?;
        }
        let mut having = parts.having.take();
        if let Some(having) = &mut having {
            rewrite(having, &mut rewriter, Clause::Having, 1)?;
        }
        let read = projection.iter().chain(&having).flat_map(Expr::columns_used).collect();
        let mut subqueries = late_subqueries(&mut parts.state, &mut rewriter, read)?;
        let first = rewriter.keys.len() + rewriter.aggregates.len();
        rewriter.number_subqueries(first);
        for (index, subquery) in subqueries.iter_mut().enumerate() {
            subquery.position = first + index;
            subquery.visit_row_expressions(&mut |expression| rewriter.place_subqueries(expression));
        }
        projection.iter_mut().chain(&mut having).for_each(|expression| rewriter.place_subqueries(expression));
        Ok(Aggregation {
            width: first + subqueries.len(),
            keys: keys.evaluated,
            aggregates: rewriter.aggregates,
            grouped: parts.select.group_by.is_some(),
            rollup: parts.select.group_by.as_ref().is_some_and(|group_by| group_by.with_rollup),
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
        match &mut self.kind {
            SubqueryKind::In { left, .. } | SubqueryKind::Row { left, .. } => left.iter_mut().for_each(visit),
            SubqueryKind::Quantified { left, .. } => visit(left),
            SubqueryKind::Scalar | SubqueryKind::Exists => {}
        }
    }
}

/// What a condition says about columns: if all of `needs` have one value in a group, so has `column`.
struct Dependence {
    column: usize,
    needs: Vec<usize>,
}

/// Columns that have one value in every group: the keys, what conditions make equal to them, and all columns of a table whose
/// unique key is among them (manual, "Detection of Functional Dependence").
fn determined_columns(scope: &Scope, keys: &[Expr], parts: &BlockParts<'_>) -> HashSet<usize> {
    let mut dependences = Vec::new();
    if let Some(selection) = &parts.selection {
        equalities(selection, &|_| true, &[], &mut dependences);
    }
    if let Some(tree) = &parts.from.tree {
        join_equalities(scope, tree, &mut dependences);
    }
    let mut determined: HashSet<usize> = keys.iter().filter_map(Expr::as_column).collect();
    loop {
        let before = determined.len();
        for dependence in &dependences {
            if dependence.needs.iter().all(|need| determined.contains(need)) {
                determined.insert(dependence.column);
            }
        }
        for table in &scope.tables {
            if has_determined_key(table, &determined) {
                determined.extend(table.first..table.first + table.columns.len());
            }
        }
        if determined.len() == before {
            return determined;
        }
    }
}

fn has_determined_key(table: &super::scope::ScopeTable, determined: &HashSet<usize>) -> bool {
    let Some(base) = &table.base else { return false };
    base.schema.indexes.iter().any(|index| {
        index.unique
            && index.columns.iter().all(|part| {
                part.prefix_length == 0
                    && !base.schema.columns[part.column].nullable
                    && determined.contains(&(table.first + part.column))
            })
    })
}

/// Equalities among the conjuncts of a condition, for the columns that `may_follow` accepts; `needs` must be determined too.
fn equalities(
    condition: &Expr,
    may_follow: &dyn Fn(usize) -> bool,
    needs: &[usize],
    dependences: &mut Vec<Dependence>,
) {
    let mut add = |column: usize, from: Vec<usize>| {
        if may_follow(column) {
            dependences.push(Dependence { column, needs: [&from[..], needs].concat() });
        }
    };
    for conjunct in conjuncts(condition) {
        if let Some((left, right)) = as_column_pair(conjunct) {
            add(left, vec![right]);
            add(right, vec![left]);
            continue;
        }
        if let Some((column, value)) = as_column_equality(conjunct)
            && value.is_deterministic()
            && value.columns_used().iter().all(|&position| position < SUBQUERY_BASE)
        {
            add(column, value.columns_used());
        }
    }
}

/// Those of ON conditions. What an outer join's condition says holds for the columns that it may make NULL, as long as
/// everything that it reads of the other side is determined.
fn join_equalities(scope: &Scope, tree: &JoinTree, dependences: &mut Vec<Dependence>) {
    let JoinTree::Join { outer, left, right, condition, .. } = tree else { return };
    join_equalities(scope, left, dependences);
    join_equalities(scope, right, dependences);
    let Some(condition) = condition else { return };
    if !outer {
        return equalities(condition, &|_| true, &[], dependences);
    }
    let mut inner = Vec::new();
    leaves(right, &mut inner);
    let is_inner = |position: usize| scope.at_position(position).is_some_and(|found| inner.contains(&found.table));
    let needs: Vec<usize> = condition.columns_used().into_iter().filter(|&position| !is_inner(position)).collect();
    if needs.iter().all(|&position| position < SUBQUERY_BASE) && condition.is_deterministic() {
        equalities(condition, &is_inner, &needs, dependences);
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
