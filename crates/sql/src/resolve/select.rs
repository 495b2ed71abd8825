//! Queries and SELECT blocks.

use std::sync::Arc;

use shoal_expr::analysis::join_conjunction;
use shoal_expr::{Expr, build};
use shoal_parser::ast::{self, SelectItem};
use shoal_types::{Error, ErrorCode, Result};

use super::from::From;
use super::names::reads_aggregate;
use super::scope::{ColumnPath, Dependence, Found, NamedItem, Scope};
use super::windowing::gives_order;
use super::written::plain_select;
use super::{BlockState, Clause, CommonTable, ResolvedQuery, Resolver};
use crate::frontend::{ColumnFlags, ResultColumn};
use crate::plan::{self, Block, QueryBody, QueryPlan, SortKey};

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
        self.with_tables(query.with.as_ref(), |resolver| resolver.query_body(&query.body, Some(query)))
    }

    /// Resolves something with the tables of a WITH clause in sight.
    pub fn with_tables<T>(
        &mut self,
        with: Option<&ast::With>,
        resolve: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let common = self.common_tables.len();
        if let Some(with) = with {
            self.add_common_tables(with)?;
        }
        let resolved = resolve(self);
        self.common_tables.truncate(common);
        resolved
    }

    fn add_common_tables(&mut self, with: &ast::With) -> Result<()> {
        for (place, table) in with.tables.iter().enumerate() {
            if with.tables[..place].iter().any(|other| other.name.value == table.name.value) {
                let message = format!("Not unique table/alias: '{}'", table.name.value);
                return Err(Error::new(ErrorCode::NonUniqTable, message));
            }
            let common = CommonTable {
                name: table.name.value.clone(),
                columns: table.columns.iter().map(|column| column.value.clone()).collect(),
                query: (*table.query).clone(),
                depth: self.common_tables.len(),
                scopes: self.scopes.len(),
                recursive: with.recursive,
            };
            self.common_tables.push(Arc::new(common));
        }
        Ok(())
    }

    pub(super) fn query_body(
        &mut self,
        body: &ast::QueryBody,
        tail: Option<&ast::Query>,
    ) -> Result<ResolvedQuery> {
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

    pub fn limit(&mut self, limit: Option<&ast::Limit>) -> Result<Option<plan::Limit>> {
        let Some(limit) = limit else { return Ok(None) };
        let count = self.expression(&limit.count)?;
        let offset = limit.offset.as_ref().map(|offset| self.expression(offset)).transpose()?;
        Ok(Some(plan::Limit { count, offset }))
    }

    pub(super) fn select(&mut self, select: &ast::Select, tail: Option<&ast::Query>) -> Result<ResolvedQuery> {
        self.scopes.push(self.new_scope());
        let no_aggregates = std::mem::take(&mut self.no_aggregates);
        self.blocks.push(BlockState { no_aggregates, is_select: true, ..BlockState::default() });
        let resolved = self.select_in_scope(select, tail);
        self.blocks.pop();
        self.scopes.pop();
        resolved
    }

    fn select_in_scope(&mut self, select: &ast::Select, tail: Option<&ast::Query>) -> Result<ResolvedQuery> {
        let mut from = self.resolve_from(&select.from)?;
        self.named_windows(&select.windows)?;
        self.block().clause = Clause::FieldList;
        let items = self.select_items(select, &from)?;
        self.block().clause = Clause::Where;
        let selection = select.selection.as_ref().map(|selection| self.expression(selection)).transpose()?;
        let selection = match std::mem::take(&mut from.conditions) {
            none if none.is_empty() => selection,
            conditions => join_conjunction(conditions.into_iter().chain(selection).collect(), self.build())?,
        };
        let keys = self.group_keys(select)?;
        self.block().clause = Clause::Having;
        let having = select.having.as_ref().map(|having| self.expression(having)).transpose()?;
        self.block().clause = Clause::OrderBy;
        let order_items = tail.map_or(&[][..], |tail| &tail.order_by);
        let order = self.order_targets(order_items, &items, select)?;
        let limit = self.limit(tail.and_then(|tail| tail.limit.as_ref()))?;
        let locking = tail.map_or(&[][..], |tail| &tail.locking);
        let locks = self.table_locks(locking)?;
        let state = std::mem::take(self.block());
        let dependences = Vec::new();
        let parts =
            BlockParts { select, from, selection, items, keys, having, order, limit, locks, state, dependences };
        self.finish_block(parts)
    }

    /// The items as written, `*` as the columns it stands for.
    fn written_items<'s>(&mut self, select: &'s ast::Select, from: &From) -> Result<Vec<WrittenItem<'s>>> {
        let mut written = Vec::with_capacity(select.items.len());
        let scope = self.scope();
        for item in &select.items {
            match item {
                SelectItem::Wildcard => {
                    if scope.tables.is_empty() {
                        return Err(Error::new(ErrorCode::NoTablesUsed, "No tables used"));
                    }
                    let shown = from.row.iter().filter(|found| !scope.column(**found).hidden);
                    written.extend(shown.map(|found| WrittenItem::Column(*found)));
                }
                SelectItem::QualifiedWildcard(name) => {
                    let matches = |table: &super::scope::ScopeTable| {
                        table.name == name.name.value
                            && name.schema.as_ref().is_none_or(|schema| schema.value == table.database)
                    };
                    let Some(table) = scope.tables.iter().position(matches) else {
                        let message = format!("Unknown table '{}'", name.name.value);
                        return Err(Error::new(ErrorCode::BadTable, message));
                    };
                    written.extend(visible_columns(scope, table).map(WrittenItem::Column));
                }
                SelectItem::Expression { expr, alias, text } => {
                    written.push(WrittenItem::Expression { expr, name: item_name(expr, alias.as_deref(), text) });
                }
            }
        }
        Ok(written)
    }

    /// Resolves the select list. Subqueries in it may name the items before them.
    fn select_items(&mut self, select: &ast::Select, from: &From) -> Result<Vec<Item>> {
        let written = self.written_items(select, from)?;
        let scope = self.scope();
        scope.items = written.iter().map(|item| item.named(scope)).collect();
        let mut items = Vec::with_capacity(written.len());
        for (position, item) in written.into_iter().enumerate() {
            let item = match item {
                WrittenItem::Column(found) => column_item(self.scope(), found),
                WrittenItem::Expression { expr, name } => {
                    let expression = self.expression(expr)?;
                    let is_column = matches!(expr, ast::Expr::Column(_));
                    let scope = self.scope();
                    if is_column && let Some(path) = scope.path_of(&expression) {
                        scope.items[position].column = Some(path);
                    }
                    Item { column: item_column(scope, &expression, is_column, name), expression }
                }
            };
            self.scope().items[position].expression = Some(item.expression.clone());
            items.push(item);
        }
        Ok(items)
    }

    fn order_targets(
        &mut self,
        order_by: &[ast::OrderItem],
        items: &[Item],
        select: &ast::Select,
    ) -> Result<Vec<(OrderTarget, bool)>> {
        let is_aggregated = select.group_by.is_some() || !self.block().aggregates.is_empty();
        let mut order = Vec::with_capacity(order_by.len());
        for (number, item) in order_by.iter().enumerate() {
            let selected = match self.position_of(&item.expr) {
                Some(position) => match (position as usize).checked_sub(1) {
                    Some(index) if index < items.len() => Some(index),
                    _ => return Err(unknown_position(position, Clause::OrderBy)),
                },
                None => self.item_of_bare_name(&item.expr)?,
            };
            let target = match selected {
                Some(index) => OrderTarget::Item(index),
                None => {
                    let expression = self.expression(&item.expr)?;
                    match items.iter().position(|item| item.expression == expression) {
                        Some(index) => OrderTarget::Item(index),
                        None => OrderTarget::Expression(expression),
                    }
                }
            };
            if !is_aggregated && !self.block().aggregates.is_empty() {
                let message = format!(
                    "Expression #{} of ORDER BY contains aggregate function and applies to the result of a \
                     non-aggregated query",
                    number + 1
                );
                return Err(Error::new(ErrorCode::AggregateOrderNonAggQuery, message));
            }
            if let OrderTarget::Expression(expression) = &target
                && select.options.distinct
                && self.environment.only_full_group_by
            {
                self.check_selected(expression, items, number + 1)?;
            }
            order.push((target, item.descending));
        }
        // Without GROUP BY there is one group, which has no order.
        let is_one_row = is_aggregated && select.group_by.is_none();
        Ok(if is_one_row { Vec::new() } else { order })
    }

    /// Of rows that DISTINCT makes one, only what the select list has is the same.
    ///
    /// # Errors
    /// 3065, 3066.
    fn check_selected(&mut self, expression: &Expr, items: &[Item], number: usize) -> Result<()> {
        if items.iter().any(|item| item.expression == *expression) {
            return Ok(());
        }
        if reads_aggregate(expression) && expression.as_column().is_some() {
            let message = format!(
                "Expression #{number} of ORDER BY is not in SELECT list, contains aggregate function; this is \
                 incompatible with DISTINCT"
            );
            return Err(Error::new(ErrorCode::AggregateInOrderNotSelect, message));
        }
        if let Some(path) = self.scope().path_of(expression) {
            let name: Vec<&str> =
                [&path.database, &path.table, &path.column].into_iter().map(String::as_str).collect();
            let name = name.join(".");
            let message = format!(
                "Expression #{number} of ORDER BY clause is not in SELECT list, references column '{}' which is not in \
                 SELECT list; this is incompatible with DISTINCT",
                name.trim_start_matches('.')
            );
            return Err(Error::new(ErrorCode::FieldInOrderNotSelect, message));
        }
        expression.arguments().iter().try_for_each(|argument| self.check_selected(argument, items, number))
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
        let computes_groups = !parts.state.aggregates.is_empty() || !parts.state.groupings.is_empty();
        let aggregated = parts.select.group_by.is_some() || computes_groups;
        parts.dependences = self.dependences_of_rows(&parts, aggregated);
        let dependences = self.dependences_of_result(&parts, &projection[..visible], aggregated);
        let calls = std::mem::take(&mut parts.state.windows);
        let mut windowing = match calls.is_empty() {
            true => None,
            false => {
                let subqueries = std::mem::take(&mut parts.state.window_subqueries);
                Some(self.windowing((calls, subqueries), &mut projection, visible, &order)?)
            }
        };
        let aggregation = if aggregated {
            Some(match &mut windowing {
                Some((_, inputs)) => {
                    let inputs = inputs.iter_mut().map(|input| (&mut input.expression, input.clause, input.item));
                    self.aggregation(&mut parts, &mut inputs.collect::<Vec<_>>())?
                }
                None => self.aggregation(&mut parts, &mut written_places(&mut projection, visible))?,
            })
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
        let indexed = self.indexed_expressions();
        if !indexed.is_empty() {
            self.use_indexes_of_expressions(
                &indexed,
                &mut parts,
                (&mut projection, &order),
                aggregation.is_some() || windowing.is_some(),
            );
        }
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
        let mut order = if parts.select.options.distinct { order } else { dedup_order(order) };
        let windowing = windowing.map(|(mut windowing, inputs)| {
            windowing.inputs = inputs.into_iter().map(|input| input.expression).collect();
            Box::new(windowing)
        });
        if let Some(last) = windowing.as_ref().and_then(|windowing| windowing.stages.last())
            && gives_order(last, &projection, &order)
        {
            order.clear();
            projection.truncate(visible);
        }
        let block = Block {
            steps: Vec::new(),
            width: 0,
            filter: None,
            subqueries: std::mem::take(&mut state.subqueries),
            late_filter: None,
            aggregation,
            windowing,
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
            locks: parts.locks,
            straight: parts.select.options.straight_join,
            uses_invisible_indexes: self.environment.uses_invisible_indexes,
            subquery_places: state.subquery_places,
        };
        let outer = scope.outer.clone();
        let block =
            crate::plan::joins::plan_block(block, request, &scope, self.build(), self.environment.statistics)?;
        let plan = QueryPlan { columns, body: QueryBody::Block(Box::new(block)), constants: state.constants };
        Ok(ResolvedQuery { plan, outer, dependences })
    }
}

impl Resolver<'_> {
    fn use_indexes_of_expressions(
        &mut self,
        indexed: &[super::functional::Indexed],
        parts: &mut BlockParts<'_>,
        (projection, order): (&mut [Expr], &[SortKey]),
        moves_columns: bool,
    ) {
        if let Some(selection) = &mut parts.selection {
            self.use_indexed(indexed, selection);
        }
        if let Some(tree) = &mut parts.from.tree {
            self.use_indexed_in_joins(indexed, tree);
        }
        // Behind groups and windows there are other positions.
        for key in order.iter().filter(|_| !moves_columns) {
            self.use_indexed(indexed, &mut projection[key.position]);
        }
    }
}

/// An item of the select list as written.
enum WrittenItem<'s> {
    Column(Found),
    Expression { expr: &'s ast::Expr, name: String },
}

impl WrittenItem<'_> {
    /// What names may mean it before it is resolved.
    fn named(&self, scope: &Scope) -> NamedItem {
        match self {
            WrittenItem::Column(found) => {
                let expression = scope.named_column(*found);
                let name = scope.column(*found).name.clone();
                NamedItem { name, column: scope.path_of(&expression), expression: Some(expression) }
            }
            WrittenItem::Expression { expr, name } => {
                let column = match expr {
                    ast::Expr::Column(column) => Some(ColumnPath {
                        database: String::new(),
                        table: column.table.as_ref().map_or_else(String::new, |table| table.value.clone()),
                        column: column.column.value.clone(),
                    }),
                    _ => None,
                };
                NamedItem { name: name.clone(), column, expression: None }
            }
        }
    }
}

/// The name of an item: its alias, its column, or its text.
fn item_name(source: &ast::Expr, alias: Option<&str>, text: &[u8]) -> String {
    match (alias, source) {
        (Some(alias), _) => alias.to_owned(),
        (None, ast::Expr::Column(name)) => name.column.value.clone(),
        // A string names its column by its value.
        (None, ast::Expr::Literal(ast::Literal { value: ast::LiteralValue::String(text), .. })) => {
            String::from_utf8_lossy(&text.bytes).into_owned()
        }
        _ => String::from_utf8_lossy(text).into_owned(),
    }
}

fn item_column(scope: &Scope, expression: &Expr, is_column: bool, name: String) -> ResultColumn {
    let found = expression.as_column().and_then(|position| scope.at_position(position));
    match found {
        Some(found) if is_column => ResultColumn { name, ..result_column(scope, found) },
        _ => ResultColumn {
            name,
            sql_type: expression.sql_type().clone(),
            flags: ColumnFlags { not_null: !expression.nullable(), ..ColumnFlags::default() },
            ..ResultColumn::default()
        },
    }
}

/// The items of GROUP BY.
#[derive(Default)]
pub struct GroupKeys {
    /// As the select list and HAVING say them.
    pub named: Vec<Expr>,
    /// As they are evaluated, for each row.
    pub evaluated: Vec<Expr>,
}

/// A block whose clauses are resolved.
pub(super) struct BlockParts<'a> {
    pub(super) select: &'a ast::Select,
    pub(super) from: From,
    pub(super) selection: Option<Expr>,
    items: Vec<Item>,
    pub(super) keys: GroupKeys,
    pub(super) having: Option<Expr>,
    order: Vec<(OrderTarget, bool)>,
    limit: Option<plan::Limit>,
    locks: super::locking::TableLocks,
    pub(super) state: BlockState,
    /// What determines what in the joined row; empty where nobody asks.
    pub(super) dependences: Vec<Dependence>,
}

fn has_tail(query: &ast::Query) -> bool {
    !query.order_by.is_empty() || query.limit.is_some()
}

/// The expressions of a projection, and where they were written.
fn written_places(projection: &mut [Expr], visible: usize) -> Vec<(&mut Expr, Clause, usize)> {
    let place = |(position, expression)| match position < visible {
        true => (expression, Clause::FieldList, position + 1),
        false => (expression, Clause::OrderBy, position + 1 - visible),
    };
    projection.iter_mut().enumerate().map(place).collect()
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

fn visible_columns(scope: &Scope, table: usize) -> impl Iterator<Item = Found> + use<> {
    let hidden: Vec<bool> = scope.tables[table].columns.iter().map(|column| column.hidden).collect();
    hidden.into_iter().enumerate().filter(|(_, hidden)| !hidden).map(move |(column, _)| Found { table, column })
}

fn column_item(scope: &Scope, found: Found) -> Item {
    Item { expression: scope.column_expr(found), column: result_column(scope, found) }
}

fn result_column(scope: &Scope, found: Found) -> ResultColumn {
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

pub(super) fn unknown_position(position: u64, clause: Clause) -> Error {
    Error::new(ErrorCode::BadField, format!("Unknown column '{position}' in '{}'", clause.text()))
}

fn select_star(name: ast::ObjectName) -> ast::Select {
    let base = ast::TableFactor::Table { name, partitions: Vec::new(), alias: None, hints: Vec::new() };
    plain_select(vec![SelectItem::Wildcard], vec![ast::TableReference { base, joins: Vec::new() }])
}
