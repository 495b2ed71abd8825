//! Views where they are used.

use std::sync::Arc;

use shoal_cluster::{Table, View};
use shoal_expr::Expr;
use shoal_expr::analysis::join_conjunction;
use shoal_parser::ast;
use shoal_types::{Error, ErrorCode, Result};

use super::from::rename_columns;
use super::scope::ScopeTable;
use super::{Clause, ResolvedQuery, Resolver, TableTarget};
use crate::account::{self, Privileges};
use crate::plan::{WrittenView, invalid_view};

/// Views within views.
const DEPTH_MAX: usize = 60;

/// What a statement that changes rows names: a table, or a view that is one.
pub struct WritableTarget {
    pub table: Arc<Table>,
    /// The table as the statement may name it.
    pub scope: ScopeTable,
    /// The columns that it may name, in the order of a list that is left out.
    pub columns: Vec<(String, usize)>,
    /// What rows must meet to be in sight.
    pub condition: Option<Expr>,
    /// WITH CHECK OPTION: what rows that are written must meet, and the view that wants it.
    pub check: Option<(String, Expr)>,
}

impl WritableTarget {
    /// The column that goes by this name. Errors: 1054.
    pub fn column(&self, name: &ast::ColumnName) -> Result<usize> {
        let is_of_table = name.table.as_ref().is_none_or(|table| table.value == self.scope.name)
            && name.schema.as_ref().is_none_or(|database| database.value == self.scope.database);
        let found = self.columns.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name.column.value));
        match found.filter(|_| is_of_table) {
            Some((_, position)) => Ok(*position),
            None => {
                let table = name.table.as_ref().map(|table| format!("{}.", table.value)).unwrap_or_default();
                let message = format!("Unknown column '{table}{}' in 'field list'", name.column.value);
                Err(Error::new(ErrorCode::BadField, message))
            }
        }
    }
}

/// A view that shows columns of one table, as they are, of rows that meet a condition: a use of it is a use of that table (MySQL's
/// ALGORITHM=MERGE), and rows can be written through it.
pub struct MergedView {
    pub table: Arc<Table>,
    /// Its columns: their names, and their positions in the table.
    pub columns: Vec<(String, usize)>,
    /// Over the table's columns.
    pub condition: Option<Expr>,
    /// WITH CHECK OPTION: what rows that are written must meet, and the view that wants it.
    pub check: Option<(String, Expr)>,
    /// Itself, and the views that it is made of, the innermost last.
    pub through: Vec<WrittenView>,
}

impl MergedView {
    /// The table under the view's name, with the view's columns; the others have no names that could be written.
    pub fn scope(&self, view: &View, shown: &str) -> ScopeTable {
        let mut scoped = ScopeTable::of_base(&self.table, shown);
        scoped.database.clone_from(&view.database);
        for (position, column) in scoped.columns.iter_mut().enumerate() {
            match self.columns.iter().find(|(_, of_table)| *of_table == position) {
                Some((name, _)) => {
                    column.name.clone_from(name);
                    column.hidden = false;
                }
                None => {
                    column.name.insert(0, '\u{0}');
                    column.hidden = true;
                }
            }
        }
        scoped
    }

    /// Its condition where the table's first column has this position.
    pub fn condition_at(&self, first: usize) -> Option<Expr> {
        let condition = self.condition.clone()?;
        Some(condition.map_columns(&mut |position| position + first))
    }
}

impl<'a> Resolver<'a> {
    /// What `statement` (INSERT, UPDATE, DELETE) changes. Errors: 1146, 1288 and 1471 for views that are no use of one table.
    pub fn writable(&mut self, name: &ast::ObjectName, shown: &str, statement: &str) -> Result<WritableTarget> {
        if name.schema.is_none() && self.common_tables.iter().any(|table| table.name == name.name.value) {
            let message = format!("The target table {shown} of the {statement} is not updatable");
            return Err(Error::new(ErrorCode::NonUpdatableTable, message));
        }
        let database = self.database_of(name)?.to_owned();
        if let Some(view) = self.catalog().view(&database, &name.name.value) {
            let Some(merged) = self.merged_view(view)? else {
                let name = &view.name;
                return Err(match statement {
                    "INSERT" => Error::new(
                        ErrorCode::NonInsertableTable,
                        format!("The target table {name} of the INSERT is not insertable-into"),
                    ),
                    _ => Error::new(
                        ErrorCode::NonUpdatableTable,
                        format!("The target table {name} of the {statement} is not updatable"),
                    ),
                });
            };
            let scope = merged.scope(view, shown);
            let MergedView { table, columns, condition, check, through } = merged;
            self.written_through = through;
            self.views_written = self.views_used.len();
            return Ok(WritableTarget { table, scope, columns, condition, check });
        }
        let table = self.base_table(name)?;
        let scope = ScopeTable::of_base(&table, shown);
        let columns = table.schema.columns.iter().enumerate().filter(|(_, column)| !column.hidden);
        let columns = columns.map(|(position, column)| (column.name.clone(), position)).collect();
        Ok(WritableTarget { table, scope, columns, condition: None, check: None })
    }

    /// The view as a use of its table, if it is as simple as that. Errors: 1356.
    pub fn merged_view(&mut self, view: &'a Arc<View>) -> Result<Option<MergedView>> {
        if view.algorithm == "TEMPTABLE" || self.views_inside.iter().any(|outer| Arc::ptr_eq(outer, view)) {
            return Ok(None);
        }
        let Some(query) = parsed(&view.query) else { return Ok(None) };
        let Some((select, source, alias)) = simple_select(&query) else { return Ok(None) };
        let cacheable = !self.uncacheable;
        let common = std::mem::take(&mut self.common_tables);
        let (used_before, views_before) = (self.tables_used.len(), self.views_used.len());
        self.views_inside.push(view);
        let merged = self.isolated(|resolver| resolver.merged(view, select, source, alias));
        self.views_inside.pop();
        self.common_tables = common;
        if cacheable {
            self.uncacheable = false;
        }
        let Some(merged) = merged.map_err(|error| invalid(view, error))? else {
            self.tables_used.truncate(used_before);
            self.views_used.truncate(views_before);
            return Ok(None);
        };
        if !view.is_invokers {
            self.check_definer(view, used_before, views_before)?;
        }
        self.views_used.push(Arc::clone(view));
        Ok(Some(merged))
    }

    fn merged(
        &mut self,
        view: &'a Arc<View>,
        select: &ast::Select,
        source: &ast::ObjectName,
        alias: Option<&ast::Ident>,
    ) -> Result<Option<MergedView>> {
        let shown = alias.unwrap_or(&source.name).value.as_str();
        let (table, scoped, mut conditions, inner_check, inside) = match self.table_target(source)? {
            TableTarget::Base(table) => {
                let scoped = ScopeTable::of_base(&table, shown);
                (table, scoped, Vec::new(), None, Vec::new())
            }
            TableTarget::View(inner) => match self.merged_view(inner)? {
                Some(merged) => {
                    let scoped = merged.scope(inner, shown);
                    (merged.table, scoped, Vec::from_iter(merged.condition), merged.check, merged.through)
                }
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let Some(columns) = shown_columns(select, &scoped, view) else { return Ok(None) };
        let mut own = None;
        if let Some(selection) = &select.selection {
            self.open_block();
            self.block().clause = Clause::Where;
            let condition = self.scope().add_table(scoped).and_then(|_| self.expression(selection));
            let block = self.close_block();
            if block.subquery_count() > 0 {
                return Ok(None);
            }
            own = Some(condition?);
        }
        conditions.extend(own.clone());
        let condition = join_conjunction(conditions, self.build())?;
        let name = format!("{}.{}", view.database, view.name);
        // Without an option the views below are asked all the same; CASCADED gives it to all of them.
        let check = match view.check_option.as_str() {
            "" => inner_check,
            "LOCAL" => {
                let below = inner_check.map(|(_, condition)| condition);
                join_conjunction(own.into_iter().chain(below).collect(), self.build())?.map(|all| (name, all))
            }
            _ => condition.clone().map(|all| (name, all)),
        };
        let itself = WrittenView { view: Arc::clone(view), columns: columns.clone() };
        let through = std::iter::once(itself).chain(inside).collect();
        Ok(Some(MergedView { table, columns, condition, check, through }))
    }

    /// The query of a view, which sees nothing of the statement around it. Errors: 1356, 1462.
    pub fn view_query(&mut self, view: &'a Arc<View>) -> Result<ResolvedQuery> {
        self.views_used.push(Arc::clone(view));
        if self.views_inside.len() >= DEPTH_MAX || self.views_inside.iter().any(|outer| Arc::ptr_eq(outer, view)) {
            let message = format!("`{}`.`{}` contains view recursion", view.database, view.name);
            return Err(Error::new(ErrorCode::ViewRecursive, message));
        }
        let Some(query) = parsed(&view.query) else { return Err(invalid_view(view)) };
        let (common, cacheable) = (std::mem::take(&mut self.common_tables), !self.uncacheable);
        let (used_before, views_before) = (self.tables_used.len(), self.views_used.len());
        self.views_inside.push(view);
        let resolved = self.isolated(|resolver| resolver.query(&query));
        self.views_inside.pop();
        self.common_tables = common;
        if cacheable {
            self.uncacheable = false;
        }
        let mut resolved = resolved.map_err(|error| invalid(view, error))?;
        rename_columns(&mut resolved.plan, view.names.iter().map(String::as_str))
            .map_err(|error| invalid(view, error))?;
        if !view.is_invokers {
            self.check_definer(view, used_before, views_before)?;
        }
        Ok(resolved)
    }

    /// The definer may read what the view reads; then everybody may who may read the view. Errors: 1356.
    fn check_definer(&mut self, view: &View, used_before: usize, views_before: usize) -> Result<()> {
        let catalog = self.environment.catalog;
        for inside in self.views_used.drain(views_before..) {
            let rights = account::of_account(catalog, &view.definer, true, &inside.database, &inside.name);
            if !rights.contains(Privileges::SELECT) {
                return Err(invalid_view(view));
            }
        }
        for (position, table) in self.tables_used.iter().enumerate().skip(used_before) {
            if self.tables_of_definers.contains(&position) {
                continue;
            }
            let (database, name) = (&table.schema.database, &table.schema.name);
            let rights = account::of_account(catalog, &view.definer, true, database, name);
            if !rights.contains(Privileges::SELECT) {
                return Err(invalid_view(view));
            }
        }
        self.tables_of_definers.extend(used_before..self.tables_used.len());
        Ok(())
    }
}

/// Rows can be written through the view, as far as its own query tells.
pub fn is_updatable(view: &View) -> bool {
    let is_column = |item: &ast::SelectItem| {
        matches!(item, ast::SelectItem::Wildcard | ast::SelectItem::Expression { expr: ast::Expr::Column(_), .. })
    };
    let query = parsed(&view.query);
    let select = query.as_ref().and_then(simple_select);
    view.algorithm != "TEMPTABLE" && select.is_some_and(|(select, ..)| select.items.iter().all(is_column))
}

/// The parts of `SELECT ... FROM one table WHERE ...` and nothing else.
fn simple_select(query: &ast::Query) -> Option<(&ast::Select, &ast::ObjectName, Option<&ast::Ident>)> {
    let has_tail = query.with.is_some()
        || !query.order_by.is_empty()
        || query.limit.is_some()
        || !query.locking.is_empty()
        || query.into.is_some();
    let ast::QueryBody::Select(select) = &query.body else { return None };
    let is_plain = !has_tail
        && !select.options.distinct
        && select.group_by.is_none()
        && select.having.is_none()
        && select.windows.is_empty();
    let [reference] = &select.from[..] else { return None };
    let ast::TableFactor::Table { name, alias, partitions, .. } = &reference.base else { return None };
    let is_one_table = reference.joins.is_empty() && partitions.is_empty();
    (is_plain && is_one_table).then_some((select, name, alias.as_ref()))
}

/// The names of the view's columns, with the columns of the table that they are; `None`: one is an expression, or there twice.
fn shown_columns(select: &ast::Select, scoped: &ScopeTable, view: &View) -> Option<Vec<(String, usize)>> {
    let mut columns: Vec<(String, usize)> = Vec::new();
    for item in &select.items {
        match item {
            ast::SelectItem::Wildcard => {
                let shown = scoped.columns.iter().enumerate().filter(|(_, column)| !column.hidden);
                columns.extend(shown.map(|(position, column)| (column.name.clone(), position)));
            }
            ast::SelectItem::Expression { expr: ast::Expr::Column(name), alias, .. } => {
                if name.table.as_ref().is_some_and(|table| table.value != scoped.name) {
                    return None;
                }
                let is_it =
                    |column: &super::scope::ScopeColumn| column.name.eq_ignore_ascii_case(&name.column.value);
                let position = scoped.columns.iter().position(is_it)?;
                let shown = alias.as_ref().unwrap_or(&scoped.columns[position].name);
                columns.push((shown.clone(), position));
            }
            _ => return None,
        }
    }
    if !view.names.is_empty() {
        columns.iter_mut().zip(&view.names).for_each(|((name, _), given)| name.clone_from(given));
    }
    let is_there_twice = |place: usize| columns[..place].iter().any(|(_, position)| *position == columns[place].1);
    (columns.len() == view.columns.len() && !(0..columns.len()).any(is_there_twice)).then_some(columns)
}

fn parsed(text: &str) -> Option<ast::Query> {
    match shoal_parser::parse_first(text.as_bytes(), 0, Default::default()).ok()?.statement {
        ast::Statement::Query(query) => Some(*query),
        _ => None,
    }
}

/// What is wrong inside a view is told of the view.
fn invalid(view: &View, error: Error) -> Error {
    const OF_NAMES: [ErrorCode; 6] = [
        ErrorCode::NoSuchTable,
        ErrorCode::BadField,
        ErrorCode::BadDb,
        ErrorCode::SpDoesNotExist,
        ErrorCode::ViewWrongList,
        ErrorCode::NonUniq,
    ];
    if OF_NAMES.iter().any(|code| error.is(*code)) { invalid_view(view) } else { error }
}
