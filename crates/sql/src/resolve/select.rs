//! Queries and SELECT blocks.

use std::sync::Arc;

use shoal_expr::{Expr, build};
use shoal_parser::ast::{self, SelectItem};
use shoal_types::{Error, ErrorCode, Result, SqlType};

use super::aggregate::GroupRewriter;
use super::from::From;
use super::scope::Scope;
use super::{BlockState, Clause, CommonTable, ResolvedQuery, Resolver};
use crate::frontend::{ColumnFlags, ResultColumn};
use crate::plan::{self, Aggregation, Block, QueryBody, QueryPlan, SetOperator, SortKey};

/// An item of the select list, resolved.
struct Item {
    expression: Expr,
    column: ResultColumn,
}

/// ORDER BY of a block, resolved: the select item it names, or an expression.
enum OrderTarget {
    Item(usize),
    Expression(Expr),
}

impl Resolver<'_> {
    /// Resolves a query in a scope of its own.
    pub fn query(&mut self, query: &ast::Query) -> Result<ResolvedQuery> {
        let common = self.common_tables.len();
        if let Some(with) = &query.with {
            self.add_common_tables(with)?;
        }
        let resolved = self.query_body(&query.body, Some(query));
        self.common_tables.truncate(common);
        resolved
    }

    fn add_common_tables(&mut self, with: &ast::With) -> Result<()> {
        if with.recursive {
            return Err(Error::unsupported("WITH RECURSIVE"));
        }
        for table in &with.tables {
            let common = CommonTable {
                name: table.name.value.clone(),
                columns: table.columns.iter().map(|column| column.value.clone()).collect(),
                query: (*table.query).clone(),
                depth: self.common_tables.len(),
            };
            self.common_tables.push(Arc::new(common));
        }
        Ok(())
    }

    fn query_body(&mut self, body: &ast::QueryBody, tail: Option<&ast::Query>) -> Result<ResolvedQuery> {
        match body {
            ast::QueryBody::Select(select) => self.select(select, tail),
            ast::QueryBody::Parenthesised(query) => match tail {
                Some(tail) if has_tail(tail) => self.set_operation(body, &[], tail),
                _ => self.query(query),
            },
            ast::QueryBody::SetOperations(operations) => {
                let no_tail = ast::Query {
                    with: None,
                    body: ast::QueryBody::Values(Vec::new()),
                    order_by: Vec::new(),
                    limit: None,
                    locking: Vec::new(),
                    into: None,
                };
                self.set_operation(&operations.first, &operations.rest, tail.unwrap_or(&no_tail))
            }
            ast::QueryBody::Table(name) => {
                let select = select_star(name.clone());
                self.select(&select, tail)
            }
            ast::QueryBody::Values(rows) => self.values(rows, tail),
        }
    }

    fn set_operation(
        &mut self,
        first: &ast::QueryBody,
        rest: &[ast::SetOperationTerm],
        tail: &ast::Query,
    ) -> Result<ResolvedQuery> {
        let mut outer = Vec::new();
        let mut resolve = |resolver: &mut Self, body: &ast::QueryBody| -> Result<QueryPlan> {
            let resolved = match body {
                ast::QueryBody::Parenthesised(query) => resolver.query(query)?,
                other => resolver.query_body(other, None)?,
            };
            outer.extend(resolved.outer);
            Ok(resolved.plan)
        };
        let first = resolve(self, first)?;
        let mut terms = Vec::with_capacity(rest.len());
        for term in rest {
            let query = resolve(self, &term.body)?;
            if query.columns.len() != first.columns.len() {
                let message = "The used SELECT statements have a different number of columns";
                return Err(Error::new(ErrorCode::WrongNumberOfColumnsInSelect, message));
            }
            let operator = match term.operator {
                ast::SetOperator::Union => SetOperator::Union,
                ast::SetOperator::Intersect => SetOperator::Intersect,
                ast::SetOperator::Except => SetOperator::Except,
            };
            terms.push(plan::SetTerm { operator, distinct: !term.all, query });
        }
        let mut columns = first.columns.clone();
        for (position, column) in columns.iter_mut().enumerate() {
            for term in &terms {
                let other = &term.query.columns[position];
                column.sql_type = build::union_type(self.build(), &column.sql_type, &other.sql_type)?;
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
        let (order, order_expressions) = self.set_order(&columns, &tail.order_by)?;
        let limit = self.limit(tail.limit.as_ref())?;
        let operation = plan::SetOperation { first, rest: terms, types, order, order_expressions, limit };
        let plan =
            QueryPlan { columns, body: QueryBody::SetOperation(Box::new(operation)), constants: Vec::new() };
        Ok(ResolvedQuery { plan, outer })
    }

    /// ORDER BY of a set operation: over the result's columns.
    fn set_order(
        &mut self,
        columns: &[ResultColumn],
        items: &[ast::OrderItem],
    ) -> Result<(Vec<SortKey>, Vec<Expr>)> {
        let mut keys = Vec::new();
        let mut expressions = Vec::new();
        if items.is_empty() {
            return Ok((keys, expressions));
        }
        let mut scope = Scope::default();
        scope.add_table(super::scope::ScopeTable::of_columns("", columns))?;
        self.scopes.push(scope);
        self.blocks.push(BlockState { clause: Clause::OrderBy, ..BlockState::default() });
        let resolved: Result<Vec<(Expr, bool)>> = items
            .iter()
            .map(|item| match self.position_of(&item.expr) {
                Some(position) => {
                    let column = columns.get((position as usize).wrapping_sub(1));
                    let Some(column) = column else { return Err(unknown_position(position, Clause::OrderBy)) };
                    let expr = Expr::column(position as usize - 1, column.sql_type.clone(), true, &column.name);
                    Ok((expr, item.descending))
                }
                None => Ok((self.expression(&item.expr)?, item.descending)),
            })
            .collect();
        self.blocks.pop();
        self.scopes.pop();
        for (expression, descending) in resolved? {
            let sql_type = expression.sql_type().clone();
            let position = match expression.as_column() {
                Some(position) => position,
                None => {
                    expressions.push(expression);
                    columns.len() + expressions.len() - 1
                }
            };
            keys.push(SortKey { position, descending, sql_type });
        }
        Ok((keys, expressions))
    }

    pub fn limit(&mut self, limit: Option<&ast::Limit>) -> Result<Option<plan::Limit>> {
        let Some(limit) = limit else { return Ok(None) };
        let count = self.expression(&limit.count)?;
        let offset = limit.offset.as_ref().map(|offset| self.expression(offset)).transpose()?;
        Ok(Some(plan::Limit { count, offset }))
    }

    fn values(&mut self, rows: &[Vec<ast::Expr>], tail: Option<&ast::Query>) -> Result<ResolvedQuery> {
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

    fn select(&mut self, select: &ast::Select, tail: Option<&ast::Query>) -> Result<ResolvedQuery> {
        self.scopes.push(Scope::default());
        self.blocks.push(BlockState::default());
        let resolved = self.select_in_scope(select, tail);
        self.blocks.pop();
        self.scopes.pop();
        resolved
    }

    fn select_in_scope(&mut self, select: &ast::Select, tail: Option<&ast::Query>) -> Result<ResolvedQuery> {
        if !select.windows.is_empty() {
            return Err(Error::unsupported("window functions"));
        }
        let from = self.from_clause(&select.from)?;
        self.block().clause = Clause::Where;
        let selection = select.selection.as_ref().map(|selection| self.expression(selection)).transpose()?;
        self.block().clause = Clause::FieldList;
        let items = self.select_items(select, &from)?;
        let aliases: Vec<(String, Expr)> =
            items.iter().map(|item| (item.column.name.clone(), item.expression.clone())).collect();
        self.scope().aliases = aliases;
        let keys = self.group_keys(select, &items)?;
        self.block().clause = Clause::Having;
        self.block().aliases_allowed = true;
        let having = select.having.as_ref().map(|having| self.expression(having)).transpose()?;
        self.block().clause = Clause::OrderBy;
        let order_items = tail.map_or(&[][..], |tail| &tail.order_by);
        let order = self.order_targets(order_items, &items)?;
        self.block().aliases_allowed = false;
        let limit = self.limit(tail.and_then(|tail| tail.limit.as_ref()))?;
        let locking = tail.map_or(&[][..], |tail| &tail.locking);
        let lock = self.lock_of(locking)?;
        let state = std::mem::take(self.block());
        let parts = BlockParts { select, from, selection, items, keys, having, order, limit, lock, state };
        self.finish_block(parts)
    }

    fn select_items(&mut self, select: &ast::Select, from: &From) -> Result<Vec<Item>> {
        let mut items = Vec::with_capacity(select.items.len());
        for item in &select.items {
            match item {
                SelectItem::Wildcard => {
                    if self.scope().tables.is_empty() {
                        return Err(Error::new(ErrorCode::NoTablesUsed, "No tables used"));
                    }
                    let scope = self.scope();
                    let found: Vec<_> = match &from.star {
                        Some(star) => star.clone(),
                        None => (0..scope.tables.len()).flat_map(|table| visible_columns(scope, table)).collect(),
                    };
                    items.extend(found.into_iter().map(|found| column_item(scope, found)));
                }
                SelectItem::QualifiedWildcard(name) => {
                    let scope = self.scope();
                    let matches = |table: &super::scope::ScopeTable| {
                        table.name == name.name.value
                            && name.schema.as_ref().is_none_or(|schema| schema.value == table.database)
                    };
                    let Some(table) = scope.tables.iter().position(matches) else {
                        let message = format!("Unknown table '{}'", name.name.value);
                        return Err(Error::new(ErrorCode::BadTable, message));
                    };
                    let columns: Vec<_> = visible_columns(scope, table).collect();
                    items.extend(columns.into_iter().map(|found| column_item(scope, found)));
                }
                SelectItem::Expression { expr, alias, text } => {
                    let expression = self.expression(expr)?;
                    let column = self.item_column(&expression, expr, alias.as_deref(), text);
                    items.push(Item { expression, column });
                }
            }
        }
        Ok(items)
    }

    fn item_column(
        &mut self,
        expression: &Expr,
        source: &ast::Expr,
        alias: Option<&str>,
        text: &[u8],
    ) -> ResultColumn {
        let named = match source {
            ast::Expr::Column(name) => Some(name.column.value.clone()),
            // A string names its column by its value.
            ast::Expr::Literal(ast::Literal { value: ast::LiteralValue::String(text), .. }) => {
                Some(String::from_utf8_lossy(&text.bytes).into_owned())
            }
            _ => None,
        };
        let scope = self.scope();
        let found = expression.as_column().and_then(|position| scope.at_position(position));
        let mut column = match (found, &named) {
            (Some(found), Some(_)) => result_column(scope, found),
            _ => ResultColumn {
                sql_type: expression.sql_type().clone(),
                flags: ColumnFlags { not_null: !expression.nullable(), ..ColumnFlags::default() },
                ..ResultColumn::default()
            },
        };
        column.name = match (alias, named) {
            (Some(alias), _) => alias.to_owned(),
            (None, Some(name)) => name,
            (None, None) => String::from_utf8_lossy(text).into_owned(),
        };
        column
    }

    fn group_keys(&mut self, select: &ast::Select, items: &[Item]) -> Result<Vec<Expr>> {
        let Some(group_by) = &select.group_by else { return Ok(Vec::new()) };
        self.block().clause = Clause::GroupBy;
        self.block().aliases_allowed = true;
        let mut keys = Vec::with_capacity(group_by.items.len());
        for item in &group_by.items {
            let key = match self.position_of(item) {
                Some(position) => match items.get((position as usize).wrapping_sub(1)) {
                    Some(item) => item.expression.clone(),
                    None => return Err(unknown_position(position, Clause::GroupBy)),
                },
                None => self.expression(item)?,
            };
            if reads_aggregate(&key) {
                let message = "Invalid use of group function";
                return Err(Error::new(ErrorCode::InvalidGroupFuncUse, message));
            }
            keys.push(key);
        }
        self.block().aliases_allowed = false;
        Ok(keys)
    }

    fn order_targets(&mut self, items: &[ast::OrderItem], select: &[Item]) -> Result<Vec<(OrderTarget, bool)>> {
        let mut order = Vec::with_capacity(items.len());
        for item in items {
            let target = match self.position_of(&item.expr) {
                Some(position) => match (position as usize).checked_sub(1) {
                    Some(index) if index < select.len() => OrderTarget::Item(index),
                    _ => return Err(unknown_position(position, Clause::OrderBy)),
                },
                None => {
                    self.block().aliases_first = matches!(item.expr, ast::Expr::Column(_));
                    let expression = self.expression(&item.expr);
                    self.block().aliases_first = false;
                    let expression = expression?;
                    match select.iter().position(|item| item.expression == expression) {
                        Some(index) => OrderTarget::Item(index),
                        None => OrderTarget::Expression(expression),
                    }
                }
            };
            order.push((target, item.descending));
        }
        Ok(order)
    }

    fn lock_of(
        &mut self,
        locking: &[ast::LockingClause],
    ) -> Result<Option<(shoal_txn::LockMode, shoal_txn::LockWait)>> {
        let Some(first) = locking.first() else {
            return Ok(self
                .environment
                .lock_reads
                .then_some((shoal_txn::LockMode::Shared, shoal_txn::LockWait::Wait)));
        };
        if locking.len() > 1 || !first.of.is_empty() && first.of.len() < self.scope().tables.len() {
            return Err(Error::unsupported("FOR UPDATE/SHARE OF some of the tables"));
        }
        let mode = match first.strength {
            ast::LockStrength::Update => shoal_txn::LockMode::Exclusive,
            ast::LockStrength::Share => shoal_txn::LockMode::Shared,
        };
        let wait = match first.wait {
            ast::LockWait::Wait => shoal_txn::LockWait::Wait,
            ast::LockWait::NoWait => shoal_txn::LockWait::NoWait,
            ast::LockWait::SkipLocked => shoal_txn::LockWait::SkipLocked,
        };
        Ok(Some((mode, wait)))
    }

    fn finish_block(&mut self, mut parts: BlockParts<'_>) -> Result<ResolvedQuery> {
        let columns: Vec<ResultColumn> = parts.items.iter().map(|item| item.column.clone()).collect();
        let visible = columns.len();
        let mut projection: Vec<Expr> = parts.items.drain(..).map(|item| item.expression).collect();
        let mut order = Vec::with_capacity(parts.order.len());
        for (target, descending) in parts.order.drain(..) {
            let position = match target {
                OrderTarget::Item(index) => index,
                OrderTarget::Expression(expression) => {
                    projection.push(expression);
                    projection.len() - 1
                }
            };
            if projection[position].is_constant() && !parts.select.options.distinct {
                continue;
            }
            order.push(SortKey { position, descending, sql_type: projection[position].sql_type().clone() });
        }
        let aggregated = parts.select.group_by.is_some() || !parts.state.aggregates.is_empty();
        let aggregation = if aggregated {
            Some(self.aggregation(&mut parts, &mut projection, visible)?)
        } else {
            if let Some(having) = parts.having.take() {
                // HAVING without groups filters like WHERE, with aliases already replaced.
                parts.selection = Some(match parts.selection.take() {
                    Some(selection) => build::and(vec![selection, having], self.build())?,
                    None => having,
                });
            }
            None
        };
        let mut state = std::mem::take(&mut parts.state);
        if aggregation.is_none() {
            // Subqueries of the select list run with the others, behind the filter.
            let first_late = state.subqueries.len();
            state.subqueries.append(&mut state.late_subqueries);
            for place in &mut state.subquery_places {
                if place.0 {
                    *place = (false, first_late + place.1);
                }
            }
        }
        let order = if parts.select.options.distinct { order } else { dedup_order(order) };
        let block = Block {
            steps: Vec::new(),
            width: 0,
            filter: None,
            subqueries: std::mem::take(&mut state.subqueries),
            late_filter: None,
            aggregation,
            projection,
            visible,
            distinct: parts.select.options.distinct,
            order,
            limit: parts.limit,
            count_all_rows: parts.select.options.calc_found_rows,
            impossible: false,
        };
        let scope = std::mem::take(self.scope());
        let request = crate::plan::joins::JoinRequest {
            from: parts.from,
            selection: parts.selection,
            lock: parts.lock,
            straight: parts.select.options.straight_join,
            subquery_places: state.subquery_places,
        };
        let outer = scope.outer.clone();
        let block =
            crate::plan::joins::plan_block(block, request, &scope, self.build(), self.environment.statistics)?;
        let plan = QueryPlan { columns, body: QueryBody::Block(Box::new(block)), constants: state.constants };
        Ok(ResolvedQuery { plan, outer })
    }

    fn aggregation(
        &mut self,
        parts: &mut BlockParts<'_>,
        projection: &mut [Expr],
        visible: usize,
    ) -> Result<Aggregation> {
        let rollup = parts.select.group_by.as_ref().is_some_and(|group_by| group_by.with_rollup);
        let keys = std::mem::take(&mut parts.keys);
        let only_full_group_by = self.environment.only_full_group_by;
        let context = self.build();
        let scope = &self.scopes[self.scopes.len() - 1];
        let mut rewriter = GroupRewriter {
            context,
            determined: determined_tables(scope, &keys),
            keys,
            aggregates: std::mem::take(&mut parts.state.aggregates),
            scope,
            only_full_group_by,
            grouped: parts.select.group_by.is_some(),
            subquery_places: parts.state.subquery_places.clone(),
        };
        for (position, expression) in projection.iter_mut().enumerate() {
            let (clause, item) = if position < visible {
                (Clause::FieldList, position + 1)
            } else {
                (Clause::OrderBy, position + 1 - visible)
            };
            *expression = rewriter.rewrite(std::mem::replace(expression, Expr::null()), clause, item)?;
        }
        let having = match parts.having.take() {
            Some(having) => Some(rewriter.rewrite(having, Clause::Having, 1)?),
            None => None,
        };
        let mut subqueries = std::mem::take(&mut parts.state.late_subqueries);
        for subquery in &mut subqueries {
            for (_, expression) in &mut subquery.outer {
                *expression = rewriter.rewrite(std::mem::replace(expression, Expr::null()), Clause::Having, 1)?;
            }
            match &mut subquery.kind {
                plan::SubqueryKind::In { left, .. } => {
                    for expression in left {
                        *expression =
                            rewriter.rewrite(std::mem::replace(expression, Expr::null()), Clause::Having, 1)?;
                    }
                }
                plan::SubqueryKind::Quantified { left, .. } => {
                    *left = rewriter.rewrite(std::mem::replace(left, Expr::null()), Clause::Having, 1)?;
                }
                _ => {}
            }
        }
        let first = rewriter.keys.len() + rewriter.aggregates.len();
        for (index, subquery) in subqueries.iter_mut().enumerate() {
            subquery.position = first + index;
        }
        for expression in projection.iter_mut() {
            *expression = rewriter.place_subqueries(std::mem::replace(expression, Expr::null()));
        }
        let having = having.map(|having| rewriter.place_subqueries(having));
        Ok(Aggregation {
            width: first + subqueries.len(),
            keys: rewriter.keys,
            aggregates: rewriter.aggregates,
            grouped: parts.select.group_by.is_some(),
            rollup,
            subqueries,
            having,
        })
    }
}

struct BlockParts<'a> {
    select: &'a ast::Select,
    from: From,
    selection: Option<Expr>,
    items: Vec<Item>,
    keys: Vec<Expr>,
    having: Option<Expr>,
    order: Vec<(OrderTarget, bool)>,
    limit: Option<plan::Limit>,
    lock: Option<(shoal_txn::LockMode, shoal_txn::LockWait)>,
    state: BlockState,
}

fn has_tail(query: &ast::Query) -> bool {
    !query.order_by.is_empty() || query.limit.is_some()
}

/// Sorting twice by one key changes nothing.
fn dedup_order(order: Vec<SortKey>) -> Vec<SortKey> {
    let mut kept: Vec<SortKey> = Vec::with_capacity(order.len());
    for key in order {
        if !kept.iter().any(|other| other.position == key.position) {
            kept.push(key);
        }
    }
    kept
}

/// For each table of the scope: whether the group keys fix its row.
fn determined_tables(scope: &Scope, keys: &[Expr]) -> Vec<bool> {
    let is_key = |position: usize| keys.iter().any(|key| key.as_column() == Some(position));
    let fixes = |table: &super::scope::ScopeTable| {
        table.base.as_ref().is_some_and(|base| {
            base.schema.indexes.iter().any(|index| {
                index.unique
                    && index.columns.iter().all(|part| {
                        part.prefix_length == 0
                            && !base.schema.columns[part.column].nullable
                            && is_key(table.first + part.column)
                    })
            })
        })
    };
    scope.tables.iter().map(fixes).collect()
}

fn reads_aggregate(expression: &Expr) -> bool {
    expression.columns_used().iter().any(|&position| position >= super::scope::AGGREGATE_BASE)
}

fn visible_columns(scope: &Scope, table: usize) -> impl Iterator<Item = super::scope::Found> + use<> {
    let hidden: Vec<bool> = scope.tables[table].columns.iter().map(|column| column.hidden).collect();
    hidden
        .into_iter()
        .enumerate()
        .filter(|(_, hidden)| !hidden)
        .map(move |(column, _)| super::scope::Found { table, column })
}

fn column_item(scope: &Scope, found: super::scope::Found) -> Item {
    Item { expression: scope.column_expr(found), column: result_column(scope, found) }
}

fn result_column(scope: &Scope, found: super::scope::Found) -> ResultColumn {
    let table = &scope.tables[found.table];
    let column = &table.columns[found.column];
    ResultColumn {
        database: table.database.clone(),
        table: table.name.clone(),
        original_table: table.original.clone(),
        name: column.name.clone(),
        original_name: column.original.clone(),
        sql_type: column.sql_type.clone(),
        flags: ColumnFlags { not_null: column.flags.not_null && !table.nullable, ..column.flags },
    }
}

fn unknown_position(position: u64, clause: Clause) -> Error {
    Error::new(ErrorCode::BadField, format!("Unknown column '{position}' in '{}'", clause.text()))
}

fn select_star(name: ast::ObjectName) -> ast::Select {
    let base = ast::TableFactor::Table { name, partitions: Vec::new(), alias: None, hints: Vec::new() };
    ast::Select {
        hints: None,
        options: Default::default(),
        items: vec![SelectItem::Wildcard],
        from: vec![ast::TableReference { base, joins: Vec::new() }],
        from_dual: false,
        selection: None,
        group_by: None,
        having: None,
        windows: Vec::new(),
    }
}
