//! FROM clauses: tables into the scope, joins into a tree, join conditions resolved.

use std::ops::Range;
use std::sync::Arc;

use shoal_cluster::Table;
use shoal_expr::analysis::join_conjunction;
use shoal_expr::{Expr, build};
use shoal_parser::ast::{self, JoinCondition, TableFactor, TableReference};
use shoal_types::schema::HIDDEN_KEY_COLUMN;
use shoal_types::{Error, ErrorCode, Result};

use super::partition_set::not_partitioned;
use super::scope::{Found, Scope, ScopeTable};
use super::{Clause, ResolvedQuery, Resolver, TableTarget};
use crate::plan::{JsonTable, Lateral, QueryPlan};

/// Tables of one FROM clause (manual, "Join Clause").
const TABLES_MAX: usize = 61;

/// The shape of a FROM clause. Leaves are positions in `Scope::tables`.
#[derive(Debug)]
pub enum JoinTree {
    Leaf(usize),
    Join { outer: bool, straight: bool, left: Box<JoinTree>, right: Box<JoinTree>, condition: Option<Expr> },
}

/// A part of a FROM clause: how it is joined, and the columns that its rows have.
struct Joined {
    tree: JoinTree,
    row: Vec<Found>,
}

/// What a leaf of the join tree reads.
#[derive(Debug)]
pub enum Source {
    Base(Vec<ast::IndexHint>),
    Virtual(crate::information_schema::VirtualTable),
    Derived(Arc<QueryPlan>),
    /// The rows so far of the table of WITH RECURSIVE around it.
    Working,
    Lateral(Lateral),
    JsonTable(Box<JsonTable>),
}

impl Source {
    /// What it reads of the tables before it.
    pub fn reads(&self) -> Vec<&Expr> {
        match self {
            Source::Lateral(lateral) => lateral.outer.iter().map(|(_, expression)| expression).collect(),
            Source::JsonTable(table) => vec![&table.document],
            Source::Base(_) | Source::Virtual(_) | Source::Derived(_) | Source::Working => Vec::new(),
        }
    }
}

/// A resolved FROM clause.
#[derive(Debug, Default)]
pub struct From {
    /// None without tables.
    pub tree: Option<JoinTree>,
    /// One a table of the scope.
    pub sources: Vec<Source>,
    /// The columns of the joined row in the order of `*`, hidden ones included: those that NATURAL and USING merged once.
    pub row: Vec<Found>,
    /// What rows of views have to meet that are not on the inner side of an outer join.
    pub conditions: Vec<Expr>,
}

impl Resolver<'_> {
    /// Resolves table references into the present scope.
    pub fn resolve_from(&mut self, references: &[TableReference]) -> Result<From> {
        let mut from = From::default();
        if let Some(joined) = self.comma_list(references, &mut from)? {
            from.tree = Some(joined.tree);
            from.row = joined.row;
        }
        Ok(from)
    }

    fn comma_list(&mut self, references: &[TableReference], from: &mut From) -> Result<Option<Joined>> {
        let mut list: Option<Joined> = None;
        for reference in references {
            let next = self.table_reference(reference, from)?;
            list = Some(match list.take() {
                None => next,
                Some(left) => Joined {
                    row: [left.row, next.row].concat(),
                    tree: JoinTree::Join {
                        outer: false,
                        straight: false,
                        left: Box::new(left.tree),
                        right: Box::new(next.tree),
                        condition: None,
                    },
                },
            });
        }
        Ok(list)
    }

    fn table_reference(&mut self, reference: &TableReference, from: &mut From) -> Result<Joined> {
        let first = self.scope().tables.len();
        let conditions_before = from.conditions.len();
        let mut left = self.table_factor(&reference.base, from)?;
        for join in &reference.joins {
            let middle = self.scope().tables.len();
            let of_left = from.conditions.len();
            let right = self.table_reference(&join.right, from)?;
            let end = self.scope().tables.len();
            if join.kind == ast::JoinKind::Right {
                self.check_lateral_in_right_join(from, first..middle, middle..end)?;
            }
            let mut row = match join.kind {
                ast::JoinKind::Right
                    if join.natural || matches!(join.condition, Some(JoinCondition::Using(_))) =>
                {
                    [&right.row[..], &left.row].concat()
                }
                _ => [&left.row[..], &right.row].concat(),
            };
            let condition = match &join.condition {
                Some(JoinCondition::On(condition)) => Some(self.on_condition(condition, first)?),
                Some(JoinCondition::Using(names)) => {
                    let names: Vec<String> = names.iter().map(|name| name.value.clone()).collect();
                    self.merge_columns((&left.row, &right.row), names, join.kind, &mut row)?
                }
                None if join.natural => {
                    let names = self.common_names(&left.row, &right.row);
                    self.merge_columns((&left.row, &right.row), names, join.kind, &mut row)?
                }
                None => None,
            };
            // What the inner side of an outer join has to meet decides whether a row is joined, not whether there is one.
            let of_inner: Vec<Expr> = match join.kind {
                ast::JoinKind::Left => from.conditions.split_off(of_left),
                ast::JoinKind::Right => from.conditions.drain(conditions_before..of_left).collect(),
                _ => Vec::new(),
            };
            let condition = match of_inner.is_empty() {
                true => condition,
                false => join_conjunction(condition.into_iter().chain(of_inner).collect(), self.build())?,
            };
            let tree = self.join(left.tree, right.tree, join.kind, condition, (first..middle, middle..end));
            left = Joined { tree, row };
        }
        Ok(left)
    }

    fn join(
        &mut self,
        left: JoinTree,
        right: JoinTree,
        kind: ast::JoinKind,
        condition: Option<Expr>,
        (left_tables, right_tables): (std::ops::Range<usize>, std::ops::Range<usize>),
    ) -> JoinTree {
        let outer = matches!(kind, ast::JoinKind::Left | ast::JoinKind::Right);
        let nullable = match kind {
            ast::JoinKind::Left => right_tables,
            ast::JoinKind::Right => left_tables,
            _ => 0..0,
        };
        for table in &mut self.scope().tables[nullable] {
            table.nullable = true;
        }
        let (left, right) = if kind == ast::JoinKind::Right { (right, left) } else { (left, right) };
        JoinTree::Join {
            outer,
            straight: kind == ast::JoinKind::Straight,
            left: Box::new(left),
            right: Box::new(right),
            condition,
        }
    }

    /// An ON condition sees the tables of its join and, in a subquery, what is around; not what stands in front of the join.
    fn on_condition(&mut self, condition: &ast::Expr, first: usize) -> Result<Expr> {
        let clause = std::mem::replace(&mut self.block().clause, Clause::On);
        let in_sight = std::mem::replace(&mut self.scope().first_in_sight, first);
        let resolved = self.expression(condition);
        self.scope().first_in_sight = in_sight;
        self.block().clause = clause;
        resolved
    }

    /// Column names that both sides show, in the left side's order.
    fn common_names(&mut self, left: &[Found], right: &[Found]) -> Vec<String> {
        let scope = self.scope();
        let mut names: Vec<String> = Vec::new();
        let shown = |found: &&Found| !scope.column(**found).hidden;
        for found in left.iter().filter(shown) {
            let name = &scope.column(*found).name;
            let shared =
                right.iter().filter(shown).any(|other| scope.column(*other).name.eq_ignore_ascii_case(name));
            if shared && !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name.clone());
            }
        }
        names
    }

    /// NATURAL and USING: equality of the named columns, which then appear once, in front of the others. `row` comes as the
    /// columns of both sides, of that side first whose column is kept.
    fn merge_columns(
        &mut self,
        (left, right): (&[Found], &[Found]),
        names: Vec<String>,
        kind: ast::JoinKind,
        row: &mut Vec<Found>,
    ) -> Result<Option<Expr>> {
        let context = self.build();
        let mut kept_columns: Vec<Found> = Vec::new();
        let mut equalities = Vec::new();
        for name in &names {
            let scope = self.scope();
            let (Some(in_left), Some(in_right)) = (find_in(scope, left, name)?, find_in(scope, right, name)?)
            else {
                let message = format!("Unknown column '{name}' in 'from clause'");
                return Err(Error::new(ErrorCode::BadField, message));
            };
            let (kept, merged) =
                if kind == ast::JoinKind::Right { (in_right, in_left) } else { (in_left, in_right) };
            let equality = build::comparison(
                shoal_expr::CompareOperator::Equal,
                scope.column_expr(in_left),
                scope.column_expr(in_right),
                context,
            )?;
            equalities.push(equality);
            self.scope().tables[merged.table].columns[merged.column].merged = true;
            row.retain(|found| *found != merged);
            kept_columns.push(kept);
        }
        // In the order of the kept side, whatever the order of USING.
        let (mut columns, others): (Vec<Found>, Vec<Found>) =
            row.iter().copied().partition(|found| kept_columns.contains(found));
        columns.extend(others);
        *row = columns;
        Ok(match equalities.len() {
            0 => None,
            1 => equalities.pop(),
            _ => Some(build::and(equalities, context)?),
        })
    }

    fn table_factor(&mut self, factor: &TableFactor, from: &mut From) -> Result<Joined> {
        match factor {
            TableFactor::Table { name, partitions, alias, hints } => {
                let shown = alias.as_ref().unwrap_or(&name.name).value.clone();
                match self.table_target(name)? {
                    TableTarget::Base(table) => {
                        check_hints(&table, hints, self.environment.uses_invisible_indexes)?;
                        self.check_not_changed(&table, &shown)?;
                        let joined =
                            self.leaf(ScopeTable::of_base(&table, &shown), Source::Base(hints.clone()), from)?;
                        if let (false, JoinTree::Leaf(place)) = (partitions.is_empty(), &joined.tree) {
                            let first = self.scope().tables[*place].first;
                            from.conditions.extend(self.partition_set_at(&table, partitions, first)?);
                        }
                        Ok(joined)
                    }
                    _ if !partitions.is_empty() => Err(not_partitioned()),
                    TableTarget::Virtual(table) => {
                        let columns = crate::information_schema::columns(table);
                        let mut scoped = ScopeTable::of_columns(&shown, &columns);
                        scoped.database = crate::information_schema::database_name(table).to_owned();
                        scoped.original = crate::information_schema::table_name(table).to_owned();
                        self.leaf(scoped, Source::Virtual(table), from)
                    }
                    TableTarget::View(view) => {
                        if let Some(merged) = self.merged_view(view)? {
                            self.check_not_changed(&merged.table, &shown)?;
                            let joined = self.leaf(merged.scope(view, &shown), Source::Base(Vec::new()), from)?;
                            let JoinTree::Leaf(table) = joined.tree else { return Ok(joined) };
                            let first = self.scope().tables[table].first;
                            from.conditions.extend(merged.condition_at(first));
                            let row = merged.columns.iter().map(|(_, column)| Found { table, column: *column });
                            return Ok(Joined { row: row.collect(), ..joined });
                        }
                        let resolved = self.apart(|resolver| resolver.view_query(view))?;
                        let mut scoped = ScopeTable::of_columns(&shown, &resolved.plan.columns);
                        scoped.dependences = resolved.dependences;
                        scoped.database = view.database.clone();
                        scoped.original = view.name.clone();
                        self.leaf(scoped, Source::Derived(Arc::new(resolved.plan)), from)
                    }
                    TableTarget::Common(common) => {
                        if let Some(own) = self.own_reference(&common, &shown)? {
                            return self.leaf(own, Source::Working, from);
                        }
                        let resolved = self.apart(|resolver| resolver.common_table_query(&common))?;
                        self.derived_leaf(&shown, resolved, from)
                    }
                }
            }
            TableFactor::Derived { lateral, query, alias, columns } => {
                let Some(alias) = alias else {
                    let message = "Every derived table must have its own alias";
                    return Err(Error::new(ErrorCode::DerivedMustHaveAlias, message));
                };
                let mut resolved = self.apart(|resolver| match lateral {
                    true => resolver.nested(query),
                    false => resolver.derived_query(query),
                })?;
                rename_columns(&mut resolved.plan, columns.iter().map(|column| column.value.as_str()))?;
                check_unique_names(&resolved.plan)?;
                if !*lateral || resolved.outer.is_empty() {
                    return self.derived_leaf(&alias.value, resolved, from);
                }
                let table = ScopeTable::of_columns(&alias.value, &resolved.plan.columns);
                let lateral = Lateral { plan: Arc::new(resolved.plan), outer: resolved.outer };
                self.leaf(table, Source::Lateral(lateral), from)
            }
            TableFactor::JsonTable(written) => {
                let (table, columns) = self.json_table(written)?;
                let name = written.alias.as_ref().map_or("", |alias| alias.value.as_str());
                self.leaf(ScopeTable::of_columns(name, &columns), Source::JsonTable(Box::new(table)), from)
            }
            TableFactor::Nested(references) => {
                self.comma_list(references, from)?.ok_or_else(|| Error::unsupported("an empty table list"))
            }
        }
    }

    /// What stands on the inner side of a RIGHT JOIN comes before the other side, and cannot be read there.
    ///
    /// # Errors
    /// 3668.
    fn check_lateral_in_right_join(&mut self, from: &From, left: Range<usize>, right: Range<usize>) -> Result<()> {
        let scope = self.scope();
        for table in right {
            let mut read = from.sources[table].reads().into_iter().flat_map(Expr::columns_used);
            let reads_left =
                read.any(|position| scope.at_position(position).is_some_and(|found| left.contains(&found.table)));
            if reads_left {
                let message = format!(
                    "INNER or LEFT JOIN must be used for LATERAL references made by '{}'",
                    scope.tables[table].name
                );
                return Err(Error::new(ErrorCode::TfForbiddenJoinType, message));
            }
        }
        Ok(())
    }

    /// Errors: 1093, a subquery reads a table that its statement changes.
    fn check_not_changed(&self, table: &Table, shown: &str) -> Result<()> {
        let in_subquery = self.scopes.len() > 1;
        let is_refused = |name: &str| in_subquery && !(self.other_names_may_be_read && name != shown);
        match self.changed.iter().find(|(id, _)| *id == table.id()) {
            Some((_, name)) if is_refused(name) => {
                let message = format!("You can't specify target table '{name}' for update in FROM clause");
                Err(Error::new(ErrorCode::UpdateTableUsed, message))
            }
            _ => Ok(()),
        }
    }

    /// Resolves a table that is made before the statement changes anything.
    fn apart<T>(&mut self, resolve: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let changed = std::mem::take(&mut self.changed);
        let resolved = resolve(self);
        self.changed = changed;
        resolved
    }

    fn derived_leaf(&mut self, name: &str, resolved: ResolvedQuery, from: &mut From) -> Result<Joined> {
        let mut table = ScopeTable::of_columns(name, &resolved.plan.columns);
        table.dependences = resolved.dependences;
        self.leaf(table, Source::Derived(Arc::new(resolved.plan)), from)
    }

    fn leaf(&mut self, table: ScopeTable, source: Source, from: &mut From) -> Result<Joined> {
        if from.sources.len() >= TABLES_MAX {
            let message = format!("Too many tables; MySQL can only use {TABLES_MAX} tables in a join");
            return Err(Error::new(ErrorCode::TooManyTables, message));
        }
        let position = self.scope().add_table(table)?;
        from.sources.push(source);
        let columns = 0..self.scope().tables[position].columns.len();
        let row = columns.map(|column| Found { table: position, column }).collect();
        Ok(Joined { tree: JoinTree::Leaf(position), row })
    }
}

/// The only column of that name. Errors: 1052.
fn find_in(scope: &Scope, row: &[Found], name: &str) -> Result<Option<Found>> {
    let is_named = |found: &&Found| {
        let column = scope.column(**found);
        column.name != HIDDEN_KEY_COLUMN && column.name.eq_ignore_ascii_case(name)
    };
    let mut found = row.iter().filter(is_named);
    let first = found.next().copied();
    if found.next().is_some() {
        let message = format!("Column '{name}' in from clause is ambiguous");
        return Err(Error::new(ErrorCode::NonUniq, message));
    }
    Ok(first)
}

/// Errors: 1176, also for an index that is invisible and not to be used.
fn check_hints(
    table: &shoal_cluster::Table,
    hints: &[ast::IndexHint],
    uses_invisible_indexes: bool,
) -> Result<()> {
    for index in hints.iter().flat_map(|hint| &hint.indexes) {
        let is_primary = index.is("PRIMARY") && !table.schema.has_hidden_key();
        let known = table.schema.index_by_name(&index.value);
        if !is_primary && known.is_none_or(|known| known.invisible && !uses_invisible_indexes) {
            let message = format!("Key '{}' doesn't exist in table '{}'", index.value, table.schema.name);
            return Err(Error::new(ErrorCode::KeyDoesNotExist, message));
        }
    }
    Ok(())
}

/// Errno 1353.
pub(super) fn other_column_list() -> Error {
    let message = "In definition of view, derived table or common table expression, SELECT list and column names list \
                   have different column counts";
    Error::new(ErrorCode::ViewWrongList, message)
}

/// Gives a derived table the column names of its alias list.
pub fn rename_columns<'n>(plan: &mut QueryPlan, names: impl ExactSizeIterator<Item = &'n str>) -> Result<()> {
    if names.len() == 0 {
        return Ok(());
    }
    if names.len() != plan.columns.len() {
        return Err(other_column_list());
    }
    for (column, name) in plan.columns.iter_mut().zip(names) {
        column.name = name.to_owned();
    }
    Ok(())
}

fn check_unique_names(plan: &QueryPlan) -> Result<()> {
    for (position, column) in plan.columns.iter().enumerate() {
        if plan.columns[..position].iter().any(|other| other.name.eq_ignore_ascii_case(&column.name)) {
            let message = format!("Duplicate column name '{}'", column.name);
            return Err(Error::new(ErrorCode::DupFieldName, message));
        }
    }
    Ok(())
}
