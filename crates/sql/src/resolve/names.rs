//! What a column name means: a column of FROM, a GROUP BY item, an item of the select list, or a name of the queries around.
//!
//! The order depends on the clause, as MySQL's does (manual, "Problems with Column Aliases" and "MySQL Handling of GROUP BY"):
//! - select list, WHERE, ON: columns alone;
//! - GROUP BY: columns, then the select list. A name that is both means the column, with warning 1052;
//! - HAVING: GROUP BY items and the select list, not columns besides; where both have the name and differ, the GROUP BY item
//!   is meant, with warning 1052. Inside an aggregate's arguments it is as in GROUP BY;
//! - ORDER BY: a bare name means an item of the select list first; inside an expression, columns come first;
//! - a name that a subquery does not know is looked for around it, innermost first: among the columns, then in the select
//!   list unless the subquery stands in WHERE or ON.

use shoal_expr::Expr;
use shoal_parser::ast;
use shoal_types::{Error, ErrorCode, Result};

use super::scope::{AGGREGATE_BASE, ColumnPath, NamedItem, Scope, WINDOW_BASE};
use super::windowing::reads_window;
use super::{Clause, Resolver};

/// A column name as written.
#[derive(Clone, Copy)]
pub struct Wanted<'n> {
    pub database: Option<&'n str>,
    pub table: Option<&'n str>,
    pub column: &'n str,
}

impl<'n> Wanted<'n> {
    pub fn of(name: &'n ast::ColumnName) -> Wanted<'n> {
        Wanted {
            database: name.schema.as_ref().map(|ident| ident.value.as_str()),
            table: name.table.as_ref().map(|ident| ident.value.as_str()),
            column: name.column.value.as_str(),
        }
    }

    fn text(&self) -> String {
        [self.database, self.table, Some(self.column)].into_iter().flatten().collect::<Vec<_>>().join(".")
    }

    fn ambiguous(&self, clause: Clause) -> Error {
        Error::new(ErrorCode::NonUniq, self.ambiguity(clause))
    }

    fn ambiguity(&self, clause: Clause) -> String {
        format!("Column '{}' in {} is ambiguous", self.text(), clause.text())
    }

    fn unknown(&self, clause: Clause) -> Error {
        Error::new(ErrorCode::BadField, format!("Unknown column '{}' in '{}'", self.text(), clause.text()))
    }
}

impl NamedItem {
    fn is_column(&self, wanted: &Wanted<'_>) -> bool {
        self.column.as_ref().is_some_and(|path| {
            path.column.eq_ignore_ascii_case(wanted.column)
                && wanted.table.is_none_or(|table| table == path.table)
                && wanted.database.is_none_or(|database| database == path.database)
        })
    }

    fn is_called(&self, wanted: &Wanted<'_>) -> bool {
        wanted.table.is_none() && self.name.eq_ignore_ascii_case(wanted.column)
    }
}

/// The item that a name means: by its alias, else by the column behind the alias. Only columns can be ambiguous: an item of
/// another kind is meant at once, whatever else has its name.
fn find_item(items: &[NamedItem], wanted: &Wanted<'_>, clause: Clause) -> Result<Option<usize>> {
    let mut called = None;
    let mut behind = None;
    let mut behind_is_ambiguous = false;
    let differ = |left: usize, right: usize| items[left].expression != items[right].expression;
    for (position, item) in items.iter().enumerate() {
        if item.column.is_none() {
            if item.is_called(wanted) {
                return Ok(Some(position));
            }
        } else if item.is_called(wanted) {
            if called.is_some_and(|other| differ(other, position)) {
                return Err(wanted.ambiguous(clause));
            }
            called = called.or(Some(position));
        } else if item.is_column(wanted) {
            behind_is_ambiguous |= behind.is_some_and(|other| differ(other, position));
            behind = behind.or(Some(position));
        }
    }
    match called {
        None if behind_is_ambiguous => Err(wanted.ambiguous(clause)),
        None => Ok(behind),
        found => Ok(found),
    }
}

/// The GROUP BY item that a name in HAVING means.
fn find_group(items: &[NamedItem], wanted: &Wanted<'_>, clause: Clause) -> Result<Option<usize>> {
    let mut found: Option<usize> = None;
    for (position, item) in items.iter().enumerate() {
        if !item.is_called(wanted) && !item.is_column(wanted) {
            continue;
        }
        if found.is_some_and(|other| items[other].expression != item.expression) {
            return Err(wanted.ambiguous(clause));
        }
        found = found.or(Some(position));
    }
    Ok(found)
}

impl Resolver<'_> {
    /// Resolves a column name of the present block in its present clause.
    pub fn column(&mut self, name: &ast::ColumnName) -> Result<Expr> {
        let wanted = Wanted::of(name);
        if let Some(locals) = self.environment.locals.filter(|_| self.views_inside.is_empty())
            && let Some(found) = locals.find(&wanted)?
        {
            return Ok(found);
        }
        let block = self.block();
        let (clause, grouped) = (block.clause, block.inside_aggregate);
        let names_items = clause == Clause::Having && !grouped;
        let depth = self.scopes.len().saturating_sub(1);
        if names_items && let Some(found) = self.item(depth, &wanted, clause)? {
            return Ok(found);
        }
        if !names_items {
            let scope = self.scope();
            if let Some(found) = scope.find(wanted.database, wanted.table, wanted.column, clause.text())? {
                return Ok(scope.column_expr(found));
            }
            let after_columns = matches!(clause, Clause::GroupBy | Clause::Having | Clause::OrderBy);
            if after_columns && let Some(found) = self.item(depth, &wanted, clause)? {
                return Ok(found);
            }
        }
        if let Some(found) = self.outer_column(depth, &wanted, names_items, clause)? {
            return Ok(found);
        }
        let is_innermost = self.scopes[..depth].iter().all(|scope| scope.hidden);
        match wanted.table {
            // Without any table in sight it is the table that is unknown.
            Some(table) if is_innermost && self.scope().tables.is_empty() => {
                let message = format!("Unknown table '{table}' in {}", clause.text());
                Err(Error::new(ErrorCode::UnknownTable, message))
            }
            _ => Err(wanted.unknown(clause)),
        }
    }

    /// An item of GROUP BY or ORDER BY that is a bare name: the item of the select list that it means, if it means one.
    pub fn item_of_bare_name(&mut self, expression: &ast::Expr) -> Result<Option<usize>> {
        let ast::Expr::Column(name) = expression else { return Ok(None) };
        let wanted = Wanted::of(name);
        let clause = self.block().clause;
        let scope = self.scope();
        let Some(position) = find_item(&scope.items, &wanted, clause)? else { return Ok(None) };
        let column = scope.find(wanted.database, wanted.table, wanted.column, clause.text());
        if !scope.items[position].is_called(&wanted) {
            // Named by the column behind its alias: then that name must be clear among the columns as well.
            column.as_ref().map_err(Clone::clone)?;
        }
        let column = column.ok().flatten().map(|found| scope.named_column(found));
        if clause == Clause::GroupBy && column.is_some() && column != scope.items[position].expression {
            self.warnings.push((ErrorCode::NonUniq, wanted.ambiguity(clause)));
            return Ok(None);
        }
        Ok(Some(position))
    }

    /// What a name means among the items of the block at `depth`: those of the select list, in HAVING first those of GROUP BY.
    ///
    /// # Errors
    /// 1052; 1247, the item is not resolved yet, or is an aggregate where none may be.
    fn item(&mut self, depth: usize, wanted: &Wanted<'_>, clause: Clause) -> Result<Option<Expr>> {
        let (Some(scope), Some(block)) = (self.scopes.get(depth), self.blocks.get(depth)) else { return Ok(None) };
        let is_own = depth + 1 == self.scopes.len();
        let in_having = block.clause == Clause::Having && !(is_own && block.inside_aggregate);
        let selected = find_item(&scope.items, wanted, clause)?.map(|position| scope.items[position].clone());
        let group = if in_having { find_group(&scope.group_items, wanted, clause)? } else { None };
        let group = group.map(|position| scope.group_items[position].clone());
        let item = match (selected, group) {
            (Some(selected), Some(group)) if selected.expression != group.expression => {
                self.warnings.push((ErrorCode::NonUniq, wanted.ambiguity(clause)));
                group
            }
            (Some(item), _) | (None, Some(item)) => item,
            (None, None) => return Ok(None),
        };
        let Some(expression) = item.expression else {
            return Err(illegal_reference(&item.name, "forward reference in item list"));
        };
        if reads_window(&expression) && !(is_own && self.blocks[depth].takes_windows()) {
            let name = &item.name;
            let message = format!(
                "You cannot use the alias '{name}' of an expression containing a window function in this context.'"
            );
            return Err(Error::new(ErrorCode::WindowInvalidWindowFuncAliasUse, message));
        }
        let before_groups = self.blocks[depth].inside_aggregate || self.blocks[depth].clause == Clause::GroupBy;
        if (before_groups || !is_own) && reads_aggregate(&expression) {
            return Err(illegal_reference(&item.name, "reference to group function"));
        }
        let expression = if before_groups { self.blocks[depth].before_groups(expression) } else { expression };
        Ok(Some(expression))
    }

    /// Looks for a name in the scopes around scope `depth`, and brings it in as a parameter slot of each scope on the way.
    /// Names of a HAVING clause mean items before columns there as well.
    fn outer_column(
        &mut self,
        depth: usize,
        wanted: &Wanted<'_>,
        items_first: bool,
        clause: Clause,
    ) -> Result<Option<Expr>> {
        let Some(around) = depth.checked_sub(1) else { return Ok(None) };
        let place = self.blocks.get(around).map_or(Clause::Where, |block| block.clause);
        let has_items = !matches!(place, Clause::Where | Clause::On);
        let mut found = None;
        if items_first && has_items {
            found = self.item(around, wanted, clause)?;
        }
        let scope = &self.scopes[around];
        let groups_alone = items_first && place == Clause::Having && !scope.group_items.is_empty();
        if found.is_none() && !groups_alone {
            let column = scope.find(wanted.database, wanted.table, wanted.column, clause.text())?;
            found = column.map(|column| scope.column_expr(column));
        }
        if found.is_none() && !items_first && has_items {
            found = self.item(around, wanted, clause)?;
        }
        if found.is_none() {
            found = self.outer_column(around, wanted, items_first, clause)?;
        }
        let Some(found) = found else { return Ok(None) };
        Ok(Some(self.scopes[depth].import(found, &mut self.next_slot)))
    }
}

impl Scope {
    /// Where a column is, as names of items give it.
    pub fn path_of(&self, expression: &Expr) -> Option<ColumnPath> {
        let found = self.at_position(expression.as_column()?)?;
        let table = &self.tables[found.table];
        Some(ColumnPath {
            database: table.database.clone(),
            table: table.name.clone(),
            column: table.columns[found.column].name.clone(),
        })
    }
}

pub fn reads_aggregate(expression: &Expr) -> bool {
    let used = expression.columns_used();
    used.iter().any(|position| (AGGREGATE_BASE..WINDOW_BASE).contains(position))
}

fn illegal_reference(name: &str, why: &str) -> Error {
    Error::new(ErrorCode::IllegalReference, format!("Reference '{name}' not supported ({why})"))
}
