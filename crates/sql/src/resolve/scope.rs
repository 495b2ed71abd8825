//! Names in sight: the tables of a FROM clause, their columns, and the queries around them.
//!
//! Every column in sight has a *virtual position*: the tables of a block one after the other, hidden columns included.
//! Positions from `SUBQUERY_BASE` on stand for results of subqueries, from `AGGREGATE_BASE` on for aggregates. Planning
//! packs the used ones into the joined row.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::Table;
use shoal_expr::{Coercibility, Expr};
use shoal_types::schema::{FUNCTIONAL_COLUMN_PREFIX, HIDDEN_KEY_COLUMN};
use shoal_types::{Error, ErrorCode, Result, SqlType, TableId};

/// Virtual positions of subquery results begin here.
pub const SUBQUERY_BASE: usize = 1 << 24;
/// Virtual positions of aggregates begin here.
pub const AGGREGATE_BASE: usize = 2 << 24;
/// Virtual positions of what GROUPING() tells begin here.
pub const GROUPING_BASE: usize = 5 << 24;
/// Virtual positions of window functions begin here, and of what is computed behind them.
pub const WINDOW_BASE: usize = 6 << 24;
/// Virtual positions of results of subqueries that read window functions begin here.
pub const WINDOW_SUBQUERY_BASE: usize = 7 << 24;

/// A table in sight.
#[derive(Clone, Debug)]
pub struct ScopeTable {
    /// Alias, or name.
    pub name: String,
    /// Empty for derived tables and aliases of them.
    pub database: String,
    /// The real name, for result metadata; empty for derived tables.
    pub original: String,
    pub columns: Vec<ScopeColumn>,
    /// Virtual position of the first column.
    pub first: usize,
    pub base: Option<Arc<Table>>,
    /// On the inner side of an outer join: its columns may be NULL whatever they were declared.
    pub nullable: bool,
    /// Of a derived table: what determines what in it, by the numbers of its columns and those behind them.
    pub dependences: Vec<Dependence>,
}

#[derive(Clone, Debug)]
pub struct ScopeColumn {
    pub name: String,
    /// The name in the base table.
    pub original: String,
    pub sql_type: SqlType,
    pub nullable: bool,
    /// Not part of `*`.
    pub hidden: bool,
    /// Hidden by NATURAL or USING: `*` and unqualified names mean the other side's column.
    pub merged: bool,
    pub flags: crate::frontend::ColumnFlags,
}

/// The columns of base tables that a statement reads, for privileges.
pub type ColumnsRead = Rc<RefCell<BTreeSet<(TableId, usize)>>>;

/// If all of `needs` have one value, so have `columns`.
#[derive(Clone, Debug)]
pub struct Dependence {
    pub columns: Vec<usize>,
    pub needs: Vec<usize>,
}

/// An item of the select list or of GROUP BY, as names may mean it.
#[derive(Clone, Debug)]
pub struct NamedItem {
    /// Its alias, or what it is called without one.
    pub name: String,
    /// The column that it is, if it is nothing else.
    pub column: Option<ColumnPath>,
    /// None: a later item of the select list that is being resolved.
    pub expression: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct ColumnPath {
    pub database: String,
    pub table: String,
    pub column: String,
}

/// One level of name resolution.
#[derive(Debug, Default)]
pub struct Scope {
    pub tables: Vec<ScopeTable>,
    /// The select list, for names in GROUP BY, HAVING, ORDER BY and subqueries.
    pub items: Vec<NamedItem>,
    /// GROUP BY, for names in HAVING.
    pub group_items: Vec<NamedItem>,
    /// Columns of this query's surroundings that it reads: parameter slot and the expression there.
    pub outer: Vec<(usize, Expr)>,
    /// ON DUPLICATE KEY UPDATE's new row is looked at only when named.
    pub qualified_only: std::ops::Range<usize>,
    /// Tables before this one are not in sight: those in front of a join whose ON condition is being resolved.
    pub first_in_sight: usize,
    /// A derived table of this FROM clause is being resolved: it sees what is around this query, but nothing of it.
    pub hidden: bool,
    /// Of the whole statement.
    pub columns_read: ColumnsRead,
}

/// Where a column was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub table: usize,
    pub column: usize,
}

impl Scope {
    /// Positions that the next table's columns begin at.
    pub fn next_position(&self) -> usize {
        self.tables.last().map_or(0, |table| table.first + table.columns.len())
    }

    /// Errors: 1066, the name is taken.
    pub fn add_table(&mut self, mut table: ScopeTable) -> Result<usize> {
        let taken = self.tables.iter().any(|other| other.name == table.name && other.database == table.database);
        if taken {
            let message = format!("Not unique table/alias: '{}'", table.name);
            return Err(Error::new(ErrorCode::NonUniqTable, message));
        }
        table.first = self.next_position();
        self.tables.push(table);
        Ok(self.tables.len() - 1)
    }

    /// Finds a column. `Ok(None)`: not here. Errors: 1052, ambiguous.
    pub fn find(
        &self,
        database: Option<&str>,
        table: Option<&str>,
        column: &str,
        clause: &str,
    ) -> Result<Option<Found>> {
        let mut found = None;
        if self.hidden {
            return Ok(None);
        }
        for (table_position, candidate) in self.tables.iter().enumerate().skip(self.first_in_sight) {
            if table.is_some_and(|name| name != candidate.name)
                || database.is_some_and(|name| name != candidate.database)
                || (table.is_none() && self.qualified_only.contains(&table_position))
            {
                continue;
            }
            let named = |scoped: &ScopeColumn| {
                let is_hidden =
                    scoped.name == HIDDEN_KEY_COLUMN || scoped.name.starts_with(FUNCTIONAL_COLUMN_PREFIX);
                (table.is_some() || !scoped.merged && !is_hidden) && scoped.name.eq_ignore_ascii_case(column)
            };
            for column_position in (0..candidate.columns.len()).filter(|&at| named(&candidate.columns[at])) {
                if found.is_some() {
                    let name = qualified(table, column);
                    let message = format!("Column '{name}' in {clause} is ambiguous");
                    return Err(Error::new(ErrorCode::NonUniq, message));
                }
                found = Some(Found { table: table_position, column: column_position });
            }
        }
        Ok(found)
    }

    pub fn column(&self, found: Found) -> &ScopeColumn {
        &self.tables[found.table].columns[found.column]
    }

    /// The column as an expression over virtual positions. The statement reads it.
    pub fn column_expr(&self, found: Found) -> Expr {
        let table = &self.tables[found.table];
        // The row of VALUES() is no table.
        if let Some(base) = table.base.as_ref().filter(|_| !table.database.is_empty()) {
            self.columns_read.borrow_mut().insert((base.id(), found.column));
        }
        self.named_column(found)
    }

    /// The same of a column that may not be read.
    pub fn named_column(&self, found: Found) -> Expr {
        let table = &self.tables[found.table];
        let column = &table.columns[found.column];
        let name = if table.database.is_empty() {
            format!("`{}`.`{}`", table.name, column.name)
        } else {
            format!("`{}`.`{}`.`{}`", table.database, table.name, column.name)
        };
        Expr::column(table.first + found.column, column.sql_type.clone(), column.nullable || table.nullable, &name)
    }

    /// The table and column of a virtual position.
    pub fn at_position(&self, position: usize) -> Option<Found> {
        let table = self.tables.iter().rposition(|table| table.first <= position)?;
        let column = position - self.tables[table].first;
        (column < self.tables[table].columns.len()).then_some(Found { table, column })
    }

    /// An expression of the surrounding query as a parameter of this one.
    pub fn import(&mut self, expression: Expr, next_slot: &mut usize) -> Expr {
        if matches!(expression, Expr::Parameter(_) | Expr::Literal(_)) {
            return expression;
        }
        if let Some((slot, known)) = self.outer.iter().find(|(_, known)| *known == expression) {
            return parameter_for(*slot, known);
        }
        let slot = *next_slot;
        *next_slot += 1;
        let parameter = parameter_for(slot, &expression);
        self.outer.push((slot, expression));
        parameter
    }
}

fn parameter_for(slot: usize, expression: &Expr) -> Expr {
    let coercibility =
        if expression.sql_type().is_string() { Coercibility::Implicit } else { expression.coercibility() };
    Expr::parameter(slot, expression.sql_type().clone(), true, coercibility)
}

fn qualified(table: Option<&str>, column: &str) -> String {
    match table {
        Some(table) => format!("{table}.{column}"),
        None => column.to_owned(),
    }
}

impl ScopeTable {
    /// A base table under a name.
    pub fn of_base(table: &Arc<Table>, name: &str) -> ScopeTable {
        let schema = &table.schema;
        let columns = schema.columns.iter().enumerate().map(|(position, column)| ScopeColumn {
            name: column.name.clone(),
            original: column.name.clone(),
            sql_type: column.sql_type.clone(),
            nullable: column.nullable,
            hidden: column.hidden || column.invisible,
            merged: false,
            flags: column_flags(schema, position),
        });
        ScopeTable {
            name: name.to_owned(),
            database: schema.database.clone(),
            original: schema.name.clone(),
            columns: columns.collect(),
            first: 0,
            base: Some(Arc::clone(table)),
            nullable: false,
            dependences: Vec::new(),
        }
    }

    /// The result of a query under a name.
    pub fn of_columns(name: &str, columns: &[crate::frontend::ResultColumn]) -> ScopeTable {
        let columns = columns.iter().map(|column| ScopeColumn {
            name: column.name.clone(),
            original: column.original_name.clone(),
            sql_type: column.sql_type.clone(),
            nullable: !column.flags.not_null,
            hidden: false,
            merged: false,
            flags: crate::frontend::ColumnFlags { not_null: column.flags.not_null, ..Default::default() },
        });
        ScopeTable {
            name: name.to_owned(),
            database: String::new(),
            original: String::new(),
            columns: columns.collect(),
            first: 0,
            base: None,
            nullable: false,
            dependences: Vec::new(),
        }
    }
}

/// The protocol flags of a base table's column.
pub fn column_flags(schema: &shoal_types::TableSchema, position: usize) -> crate::frontend::ColumnFlags {
    let column = &schema.columns[position];
    let in_primary =
        !schema.has_hidden_key() && schema.primary_key().columns.iter().any(|part| part.column == position);
    let secondary = || schema.indexes.iter().skip(1);
    let leads = |index: &shoal_types::Index| index.columns.first().is_some_and(|part| part.column == position);
    let unique_key = secondary().any(|index| index.unique && index.columns.len() == 1 && leads(index));
    crate::frontend::ColumnFlags {
        not_null: !column.nullable,
        primary_key: in_primary,
        unique_key,
        multiple_key: !unique_key && secondary().any(leads),
        auto_increment: column.auto_increment,
        no_default: !column.nullable
            && column.default == shoal_types::ColumnDefault::None
            && !column.auto_increment,
        on_update_now: column.on_update_now,
    }
}
