//! Functional dependence: which columns have one value wherever others have one (manual, "Detection of Functional Dependence").
//!
//! Columns are named by their virtual positions. A derived table brings along what holds inside it: its own columns are
//! those of its select list, and the columns behind them go by positions that nothing else has. So a key of a table in a
//! derived table determines there what it determines here.

use std::collections::{HashMap, HashSet};

use shoal_expr::Expr;
use shoal_expr::analysis::{as_column_equality, as_column_pair, conjuncts};

use super::from::JoinTree;
use super::scope::{AGGREGATE_BASE, Dependence, SUBQUERY_BASE, Scope, ScopeTable};

/// Positions of columns inside derived tables begin here.
const INSIDE_BASE: usize = 3 << 24;

/// What the result of a query is computed from.
pub struct ResultRows<'a> {
    /// Its columns, over the joined row and over groups.
    pub columns: &'a [Expr],
    /// The items of GROUP BY; `None` without groups, empty for one group of all rows.
    pub keys: Option<&'a [Expr]>,
}

/// What holds of the rows that FROM and WHERE leave.
pub fn of_rows(scope: &Scope, tree: Option<&JoinTree>, selection: Option<&Expr>) -> Vec<Dependence> {
    let mut found = Vec::new();
    if let Some(selection) = selection {
        equalities(selection, &|_| true, &[], &mut found);
    }
    if let Some(tree) = tree {
        join_equalities(scope, tree, &mut found);
    }
    let mut next_inside = INSIDE_BASE;
    for table in &scope.tables {
        keys_of(table, &mut found);
        inside(table, &mut next_inside, &mut found);
    }
    found
}

/// Everything that has one value where `columns` have.
pub fn closure(mut columns: HashSet<usize>, dependences: &[Dependence]) -> HashSet<usize> {
    loop {
        let before = columns.len();
        for dependence in dependences {
            if dependence.needs.iter().all(|need| columns.contains(need)) {
                columns.extend(&dependence.columns);
            }
        }
        if columns.len() == before {
            return columns;
        }
    }
}

/// What holds of a query's result: its columns are numbered as they stand there, whatever is behind them from their number on.
pub fn of_result(rows: Vec<Dependence>, result: &ResultRows<'_>) -> Vec<Dependence> {
    let mut found = Vec::new();
    let mut numbers = Numbers { known: HashMap::new(), next: result.columns.len() };
    for (place, column) in result.columns.iter().enumerate() {
        if let Some(position) = column.as_column().filter(|&position| position < SUBQUERY_BASE) {
            let behind = numbers.number(position);
            found.push(Dependence { columns: vec![place], needs: vec![behind] });
            found.push(Dependence { columns: vec![behind], needs: vec![place] });
        } else if let Some(needs) = read_by(column) {
            let needs = needs.into_iter().map(|position| numbers.number(position)).collect();
            found.push(Dependence { columns: vec![place], needs });
        }
    }
    if let Some(keys) = result.keys {
        let mut needs = Vec::with_capacity(keys.len());
        for key in keys {
            needs.push(match result.columns.iter().position(|column| column == key) {
                Some(place) => place,
                None => match key.as_column() {
                    Some(position) => numbers.number(position),
                    None => numbers.fresh(),
                },
            });
        }
        found.push(Dependence { columns: (0..result.columns.len()).collect(), needs });
    }
    found.extend(rows.into_iter().map(|dependence| dependence.renumbered(&mut |column| numbers.number(column))));
    found
}

/// Numbers behind the columns of a result for the columns of the joined row.
struct Numbers {
    known: HashMap<usize, usize>,
    next: usize,
}

impl Numbers {
    fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    fn number(&mut self, position: usize) -> usize {
        match self.known.get(&position) {
            Some(&number) => number,
            None => {
                let number = self.fresh();
                self.known.insert(position, number);
                number
            }
        }
    }
}

impl Dependence {
    fn renumbered(self, number: &mut dyn FnMut(usize) -> usize) -> Dependence {
        Dependence {
            columns: self.columns.into_iter().map(&mut *number).collect(),
            needs: self.needs.into_iter().map(number).collect(),
        }
    }
}

/// The columns that an expression's value follows from; `None` if there is more to it.
fn read_by(expression: &Expr) -> Option<Vec<usize>> {
    let columns = expression.columns_used();
    let is_plain = expression.is_deterministic() && columns.iter().all(|&position| position < SUBQUERY_BASE);
    is_plain.then(|| columns.into_iter().collect())
}

/// Unique keys without NULLs determine all columns of their table.
fn keys_of(table: &ScopeTable, found: &mut Vec<Dependence>) {
    let Some(base) = &table.base else { return };
    for index in base.schema.indexes.iter().filter(|index| index.unique && !index.building) {
        let mut parts = index.columns.iter();
        if parts.all(|part| part.prefix_length == 0 && !base.schema.columns[part.column].nullable) {
            found.push(Dependence {
                columns: (table.first..table.first + table.columns.len()).collect(),
                needs: index.columns.iter().map(|part| table.first + part.column).collect(),
            });
        }
    }
}

/// What holds inside a derived table. On the inner side of an outer join its columns may all be NULL instead: then it has to be
/// known which of the two is the case, and a column that is never NULL inside tells.
fn inside(table: &ScopeTable, next_inside: &mut usize, found: &mut Vec<Dependence>) {
    let Some(last) = table.dependences.iter().flat_map(|one| one.columns.iter().chain(&one.needs)).max() else {
        return;
    };
    let (first, own, base) = (table.first, table.columns.len(), *next_inside);
    *next_inside += (last + 1).saturating_sub(own) + 1;
    let is_there = *next_inside - 1;
    let mut place = |column: usize| if column < own { first + column } else { base + column - own };
    for dependence in &table.dependences {
        let mut dependence = dependence.clone().renumbered(&mut place);
        if table.nullable {
            dependence.needs.push(is_there);
        }
        found.push(dependence);
    }
    if table.nullable {
        let never_null = (0..own).filter(|&column| !table.columns[column].nullable);
        found.extend(never_null.map(|column| Dependence { columns: vec![is_there], needs: vec![first + column] }));
    }
}

/// Equalities among the conjuncts of a condition, for the columns that `may_follow` accepts; `needs` must be determined too.
fn equalities(condition: &Expr, may_follow: &dyn Fn(usize) -> bool, needs: &[usize], found: &mut Vec<Dependence>) {
    let mut add = |column: usize, from: Vec<usize>| {
        if may_follow(column) {
            found.push(Dependence { columns: vec![column], needs: [&from[..], needs].concat() });
        }
    };
    for conjunct in conjuncts(condition) {
        if let Some((left, right)) = as_column_pair(conjunct) {
            add(left, vec![right]);
            add(right, vec![left]);
            continue;
        }
        if let Some((column, value)) = as_column_equality(conjunct)
            && let Some(read) = read_by(value)
        {
            add(column, read);
        }
    }
}

/// Those of ON conditions. What an outer join's condition says holds for the columns that it may make NULL, as long as
/// everything that it reads of the other side is determined.
fn join_equalities(scope: &Scope, tree: &JoinTree, found: &mut Vec<Dependence>) {
    let JoinTree::Join { outer, left, right, condition, .. } = tree else { return };
    join_equalities(scope, left, found);
    join_equalities(scope, right, found);
    let Some(condition) = condition else { return };
    if !outer {
        return equalities(condition, &|_| true, &[], found);
    }
    let mut inner = Vec::new();
    leaves(right, &mut inner);
    let is_inner = |position: usize| scope.at_position(position).is_some_and(|found| inner.contains(&found.table));
    let needs: Vec<usize> = condition.columns_used().into_iter().filter(|&position| !is_inner(position)).collect();
    if needs.iter().all(|&position| position < SUBQUERY_BASE) && condition.is_deterministic() {
        equalities(condition, &is_inner, &needs, found);
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

const _: () = assert!(INSIDE_BASE > AGGREGATE_BASE && AGGREGATE_BASE > SUBQUERY_BASE);
