//! UNION, INTERSECT, EXCEPT and VALUES: queries put together, and the order of the whole.

use shoal_expr::{Expr, build};
use shoal_parser::ast::{self, SelectItem};
use shoal_types::{Error, ErrorCode, Result, SqlType};

use super::names::reads_aggregate;
use super::scope::Scope;
use super::select::unknown_position;
use super::{BlockState, Clause, ResolvedQuery, Resolver};
use crate::frontend::{ColumnFlags, ResultColumn};
use crate::plan::row_order::forget_row_order;
use crate::plan::{self, QueryBody, QueryPlan, SetOperator, SortKey};

/// ORDER BY of a set operation, resolved.
#[derive(Default)]
struct SetOrder {
    keys: Vec<SortKey>,
    expressions: Vec<Expr>,
    constants: Vec<plan::ConstantSubquery>,
    /// What it reads of the queries around.
    outer: Vec<(usize, Expr)>,
}

impl Resolver<'_> {
    pub(super) fn set_operation(
        &mut self,
        first: &ast::QueryBody,
        rest: &[ast::SetOperationTerm],
        tail: &ast::Query,
    ) -> Result<ResolvedQuery> {
        if self.is_recursive_union(rest) {
            return self.recursive_union(first, rest, tail);
        }
        let mut outer = Vec::new();
        let first = self.set_part(first, &mut outer)?;
        let mut others = Vec::with_capacity(rest.len());
        for term in rest {
            let query = self.set_part(&term.body, &mut outer)?;
            if query.columns.len() != first.columns.len() {
                return Err(other_column_count());
            }
            others.push(query);
        }
        self.combined(first, others, rest, outer, tail)
    }

    /// One part, and what it reads of the queries around.
    pub(super) fn set_part(&mut self, body: &ast::QueryBody, outer: &mut Vec<(usize, Expr)>) -> Result<QueryPlan> {
        let resolved = match body {
            ast::QueryBody::Parenthesised(query) => self.query(query)?,
            other => self.query_body(other, None)?,
        };
        outer.extend(resolved.outer);
        Ok(resolved.plan)
    }

    /// The parts put together: the first one, and behind it those of `rest`.
    pub(super) fn combined(
        &mut self,
        mut first: QueryPlan,
        others: Vec<QueryPlan>,
        rest: &[ast::SetOperationTerm],
        mut outer: Vec<(usize, Expr)>,
        tail: &ast::Query,
    ) -> Result<ResolvedQuery> {
        let mut terms = Vec::with_capacity(rest.len());
        for (term, query) in rest.iter().zip(others) {
            let operator = match term.operator {
                ast::SetOperator::Union => SetOperator::Union,
                ast::SetOperator::Intersect => SetOperator::Intersect,
                ast::SetOperator::Except => SetOperator::Except,
            };
            terms.push(plan::SetTerm { operator, distinct: !term.all, query });
        }
        let mut columns = first.columns.clone();
        for (position, column) in columns.iter_mut().enumerate() {
            let mut coercibility = first.coercibility(position);
            for term in &terms {
                let other = &term.query.columns[position];
                let theirs = (&other.sql_type, term.query.coercibility(position));
                let united = build::union_type(self.build(), (&column.sql_type, coercibility), theirs)?;
                (column.sql_type, coercibility) = united;
                column.flags.not_null &= other.flags.not_null;
            }
            let not_null = column.flags.not_null;
            column.flags = ColumnFlags { not_null, ..ColumnFlags::default() };
            column.table.clear();
            column.original_table.clear();
            column.database.clear();
            column.original_name.clear();
        }
        let types: Vec<SqlType> = columns.iter().map(|column| column.sql_type.clone()).collect();
        let SetOrder { keys: order, expressions: order_expressions, constants, outer: read_by_order } =
            self.set_order(&columns, &tail.order_by)?;
        outer.extend(read_by_order);
        let limit = self.limit(tail.limit.as_ref())?;
        if !order.is_empty() {
            forget_row_order(&mut first);
            terms.iter_mut().for_each(|term| forget_row_order(&mut term.query));
        }
        let operation = plan::SetOperation { first, rest: terms, types, order, order_expressions, limit };
        let plan = QueryPlan { columns, body: QueryBody::SetOperation(Box::new(operation)), constants };
        Ok(ResolvedQuery { plan, outer, dependences: Vec::new() })
    }

    /// ORDER BY of a set operation: over the result's columns.
    fn set_order(&mut self, columns: &[ResultColumn], items: &[ast::OrderItem]) -> Result<SetOrder> {
        let mut order = SetOrder::default();
        if items.is_empty() {
            return Ok(order);
        }
        let mut scope = Scope::default();
        scope.add_table(super::scope::ScopeTable::of_columns("", columns))?;
        self.scopes.push(scope);
        self.blocks.push(BlockState { clause: Clause::OrderBy, ..BlockState::default() });
        let resolved: Result<Vec<Expr>> = items
            .iter()
            .enumerate()
            .map(|(number, item)| self.set_order_item(columns, item, number + 1))
            .collect();
        let state = self.blocks.pop().unwrap_or_default();
        let scope = self.scopes.pop().unwrap_or_default();
        if !state.subqueries.is_empty() || !state.late_subqueries.is_empty() {
            return Err(Error::unsupported("a subquery in ORDER BY of a UNION that reads its columns"));
        }
        (order.constants, order.outer) = (state.constants, scope.outer);
        for (expression, item) in resolved?.into_iter().zip(items) {
            let sql_type = expression.sql_type().clone();
            let position = match expression.as_column() {
                Some(position) => position,
                None => {
                    order.expressions.push(expression);
                    columns.len() + order.expressions.len() - 1
                }
            };
            order.keys.push(SortKey { position, descending: item.descending, sql_type });
        }
        Ok(order)
    }

    /// Errors: 1054 and 1052; 1250, the name of a table in one of the parts; 3028.
    fn set_order_item(&mut self, columns: &[ResultColumn], item: &ast::OrderItem, number: usize) -> Result<Expr> {
        if let Some(position) = self.position_of(&item.expr) {
            let column = columns.get((position as usize).wrapping_sub(1));
            let Some(column) = column else { return Err(unknown_position(position, Clause::OrderBy)) };
            return Ok(Expr::column(position as usize - 1, column.sql_type.clone(), true, &column.name));
        }
        if let ast::Expr::Column(name) = &item.expr
            && let Some(table) = &name.table
        {
            let table = &table.value;
            let message = format!("Table '{table}' from one of the SELECTs cannot be used in global ORDER clause");
            return Err(Error::new(ErrorCode::TablenameNotAllowedHere, message));
        }
        let expression = self.expression(&item.expr)?;
        if reads_aggregate(&expression) {
            let message =
                format!("Expression #{number} of ORDER BY contains aggregate function and applies to a UNION");
            return Err(Error::new(ErrorCode::AggregateOrderForUnion, message));
        }
        Ok(expression)
    }

    pub(super) fn values(&mut self, rows: &[Vec<ast::Expr>], tail: Option<&ast::Query>) -> Result<ResolvedQuery> {
        let select = |row: &Vec<ast::Expr>| {
            let items = row.iter().enumerate().map(|(position, expr)| SelectItem::Expression {
                expr: expr.clone(),
                alias: Some(format!("column_{position}")),
                text: Vec::new(),
            });
            ast::Select {
                hints: None,
                options: Default::default(),
                items: items.collect(),
                from: Vec::new(),
                from_dual: false,
                selection: None,
                group_by: None,
                having: None,
                windows: Vec::new(),
            }
        };
        let Some((first, rest)) = rows.split_first() else {
            return Err(Error::unsupported("VALUES without rows"));
        };
        let terms: Vec<ast::SetOperationTerm> = rest
            .iter()
            .map(|row| ast::SetOperationTerm {
                operator: ast::SetOperator::Union,
                all: true,
                body: ast::QueryBody::Select(Box::new(select(row))),
            })
            .collect();
        let first = select(first);
        match (terms.is_empty(), tail) {
            (true, tail) => self.select(&first, tail),
            (false, Some(tail)) => self.set_operation(&ast::QueryBody::Select(Box::new(first)), &terms, tail),
            (false, None) => {
                let operations =
                    ast::SetOperations { first: ast::QueryBody::Select(Box::new(first)), rest: terms };
                self.query_body(&ast::QueryBody::SetOperations(Box::new(operations)), None)
            }
        }
    }
}

/// Errno 1222.
pub(super) fn other_column_count() -> Error {
    let message = "The used SELECT statements have a different number of columns";
    Error::new(ErrorCode::WrongNumberOfColumnsInSelect, message)
}
