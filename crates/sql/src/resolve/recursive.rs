//! WITH RECURSIVE: tables whose queries name themselves.
//!
//! Such a query is a UNION. Its parts are resolved in order, and what names the table decides which of them are recursive: those
//! before the first one give the table its columns, with their types (manual, "Recursive Common Table Expressions").

use std::sync::Arc;

use shoal_expr::build;
use shoal_parser::ast::{self, SetOperationTerm};
use shoal_types::{BaseType, Collation, Error, ErrorCode, Result, SqlType};

use super::scope::ScopeTable;
use super::{CommonTable, ResolvedQuery, Resolver};
use crate::frontend::{ColumnFlags, ResultColumn};
use crate::plan::{Input, QueryBody, QueryPlan, Recursion, RecursionPart};

/// A table whose query is being resolved.
pub struct Unfinished {
    common: Arc<CommonTable>,
    /// The parts of its UNION behind the first one, to know it by.
    parts: *const SetOperationTerm,
    is_union: bool,
    /// The scopes around its parts.
    scopes: usize,
    /// What it shows, once a part is resolved.
    columns: Vec<ResultColumn>,
    /// Uses of it in the present part.
    references: usize,
}

impl Resolver<'_> {
    /// The query of a table of WITH RECURSIVE, which may name the table.
    pub(super) fn recursive_query(
        &mut self,
        common: &Arc<CommonTable>,
        resolve: impl FnOnce(&mut Self) -> Result<ResolvedQuery>,
    ) -> Result<ResolvedQuery> {
        let parts = match &common.query.body {
            ast::QueryBody::SetOperations(operations) => Some(operations.rest.as_ptr()),
            _ => None,
        };
        self.recursions.push(Unfinished {
            common: Arc::clone(common),
            parts: parts.unwrap_or(std::ptr::null()),
            is_union: parts.is_some(),
            scopes: self.scopes.len(),
            columns: Vec::new(),
            references: 0,
        });
        let resolved = resolve(self);
        self.recursions.pop();
        resolved
    }

    /// A use of a WITH table within its own query; `None`: it is no such use.
    ///
    /// # Errors
    /// 3573, it is no UNION; 3574, in the first part; 3577, in a subquery.
    pub(super) fn own_reference(&mut self, common: &Arc<CommonTable>, shown: &str) -> Result<Option<ScopeTable>> {
        let Some(place) = self.recursions.iter().rposition(|one| Arc::ptr_eq(&one.common, common)) else {
            return Ok(None);
        };
        let (depth, is_innermost) = (self.scopes.len(), place + 1 == self.recursions.len());
        let table = &mut self.recursions[place];
        if !table.is_union {
            return Err(table.refused(ErrorCode::CteRecursiveRequiresUnion, "should contain a UNION"));
        }
        if table.columns.is_empty() {
            return Err(table.no_seed());
        }
        table.references += 1;
        if !is_innermost || depth != table.scopes + 1 || table.references > 1 {
            let name = &common.name;
            let message = format!(
                "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must be referenced \
                 only once, and not in any subquery"
            );
            return Err(Error::new(ErrorCode::CteRecursiveRequiresSingleReference, message));
        }
        Ok(Some(ScopeTable::of_columns(shown, &table.columns)))
    }

    /// Whether these are the parts of a recursive table's UNION.
    pub(super) fn is_recursive_union(&self, parts: &[SetOperationTerm]) -> bool {
        self.recursions.last().is_some_and(|table| table.is_union && std::ptr::eq(table.parts, parts.as_ptr()))
    }

    /// Such a UNION; it may turn out not to be recursive.
    pub(super) fn recursive_union(
        &mut self,
        first: &ast::QueryBody,
        rest: &[SetOperationTerm],
        tail: &ast::Query,
    ) -> Result<ResolvedQuery> {
        let mut outer = Vec::new();
        let mut seeds = vec![self.set_part(first, &mut outer)?];
        let mut members = Vec::new();
        for term in rest {
            if members.is_empty() {
                self.show_columns(&seeds)?;
            }
            let query = self.set_part(&term.body, &mut outer)?;
            let Some(table) = self.recursions.last_mut() else { break };
            let is_recursive = std::mem::take(&mut table.references) > 0;
            if query.columns.len() != seeds[0].columns.len() {
                return Err(super::set_operation::other_column_count());
            }
            match is_recursive {
                true => {
                    table.check_member(&query, term)?;
                    members.push(query);
                }
                false if members.is_empty() => seeds.push(query),
                false => return Err(table.no_seed()),
            }
        }
        if members.is_empty() {
            let first = seeds.remove(0);
            return self.combined(first, seeds, rest, outer, tail);
        }
        self.recursion(seeds, members, rest, outer, tail)
    }

    fn recursion(
        &mut self,
        seeds: Vec<QueryPlan>,
        members: Vec<QueryPlan>,
        rest: &[SetOperationTerm],
        outer: Vec<(usize, shoal_expr::Expr)>,
        tail: &ast::Query,
    ) -> Result<ResolvedQuery> {
        if !tail.order_by.is_empty() {
            return Err(Error::unsupported("ORDER BY over UNION in recursive Common Table Expression"));
        }
        if rest.iter().any(|term| term.operator != ast::SetOperator::Union) {
            return Err(Error::unsupported("INTERSECT or EXCEPT in recursive Common Table Expression"));
        }
        let last_distinct = rest.iter().rposition(|term| !term.all).map(|place| place + 1);
        if last_distinct.is_some_and(|place| place >= seeds.len() && place < rest.len()) {
            let what =
                "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression";
            return Err(Error::unsupported(what));
        }
        let limit = self.limit(tail.limit.as_ref())?;
        let Some(table) = self.recursions.last_mut() else { return Err(Error::unsupported("this recursion")) };
        let columns = std::mem::take(&mut table.columns);
        let seed_count = seeds.len();
        let mut parts: Vec<RecursionPart> = seeds
            .into_iter()
            .chain(members)
            .enumerate()
            .map(|(place, query)| RecursionPart {
                query,
                distinct: last_distinct.is_some_and(|last| place <= last),
            })
            .collect();
        let members = parts.split_off(seed_count);
        let recursion = Recursion {
            name: table.common.name.clone(),
            seeds: parts,
            members,
            columns: columns.iter().map(|column| (column.name.clone(), column.sql_type.clone())).collect(),
            limit,
        };
        let plan = QueryPlan { columns, body: QueryBody::Recursion(Box::new(recursion)), constants: Vec::new() };
        Ok(ResolvedQuery { plan, outer, dependences: Vec::new() })
    }

    /// What the table shows, from the parts before those that name it: all of its columns may be NULL.
    fn show_columns(&mut self, seeds: &[QueryPlan]) -> Result<()> {
        let mut columns = Vec::with_capacity(seeds[0].columns.len());
        let names = self.recursions.last().map(|table| table.common.columns.clone()).unwrap_or_default();
        if !names.is_empty() && names.len() != seeds[0].columns.len() {
            return Err(super::from::other_column_list());
        }
        for (position, first) in seeds[0].columns.iter().enumerate() {
            let mut column = (first.sql_type.clone(), seeds[0].coercibility(position));
            for other in &seeds[1..] {
                let right = (&other.columns[position].sql_type, other.coercibility(position));
                column = build::union_type(self.build(), (&column.0, column.1), right)?;
            }
            let mut sql_type = column.0;
            if sql_type.base == BaseType::Null {
                sql_type = SqlType::varchar(0, Collation::BINARY);
            }
            let name = names.get(position).unwrap_or(&first.name).clone();
            columns.push(ResultColumn {
                name,
                sql_type,
                flags: ColumnFlags::default(),
                ..ResultColumn::default()
            });
        }
        if let Some(table) = self.recursions.last_mut() {
            table.columns = columns;
        }
        Ok(())
    }
}

impl Unfinished {
    fn refused(&self, code: ErrorCode, why: &str) -> Error {
        Error::new(code, format!("Recursive Common Table Expression '{}' {why}", self.common.name))
    }

    fn no_seed(&self) -> Error {
        self.refused(
            ErrorCode::CteRecursiveRequiresNonrecursiveFirst,
            "should have one or more non-recursive query blocks followed by one or more recursive ones",
        )
    }

    /// What a part that names its table may not be.
    ///
    /// # Errors
    /// 1235; 3575, it has groups; 3576, the table does not come first.
    fn check_member(&self, query: &QueryPlan, term: &SetOperationTerm) -> Result<()> {
        let mut body = &term.body;
        while let ast::QueryBody::Parenthesised(inner) = body {
            if !inner.order_by.is_empty() || inner.limit.is_some() {
                return Err(one_after_the_other());
            }
            body = &inner.body;
        }
        match body {
            ast::QueryBody::Select(select) if select.options.distinct => return Err(one_after_the_other()),
            ast::QueryBody::Select(select) if !select.windows.is_empty() => return Err(self.no_groups()),
            ast::QueryBody::SetOperations(_) => {
                return Err(Error::unsupported(
                    "a recursive reference in a set operation within a recursive query block",
                ));
            }
            _ => {}
        }
        let QueryBody::Block(block) = &query.body else { return Ok(()) };
        if block.aggregation.is_some() || block.windowing.is_some() {
            return Err(self.no_groups());
        }
        if !block.steps.first().is_some_and(|step| matches!(step.input, Input::Working)) {
            let name = &self.common.name;
            let message = format!(
                "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must neither be \
                 in the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints"
            );
            return Err(Error::new(ErrorCode::CteRecursiveForbiddenJoinOrder, message));
        }
        Ok(())
    }

    fn no_groups(&self) -> Error {
        self.refused(
            ErrorCode::CteRecursiveForbidsAggregation,
            "can contain neither aggregation nor window functions in recursive query block",
        )
    }
}

/// Rows of a recursive part come one after the other: there is no whole of them.
fn one_after_the_other() -> Error {
    Error::unsupported("ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression")
}
