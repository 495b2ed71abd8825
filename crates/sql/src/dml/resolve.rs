//! INSERT, UPDATE and DELETE: from syntax to plans.

use std::sync::Arc;

use shoal_cluster::Table;
use shoal_expr::Expr;
use shoal_expr::analysis::{join_conjunction, split_conjunction};
use shoal_parser::ast::{self, DeleteTarget};
use shoal_txn::foreign_keys::foreign_keys_of;
use shoal_types::{BaseType, ColumnDefault, Error, ErrorCode, Result, Value};

use super::row::on_update_columns;
use super::rules::{Check, CheckKind, RowRules, refuse_value};
use super::update::is_changed_as_found;
use super::{DefaultValue, DeletePlan, InsertPlan, InsertSource, MultiPlan, MultiTarget, RowFinder, UpdatePlan};
use crate::plan::choose::{Bound, ChooseRequest, choose, find_bounds};
use crate::plan::{AccessPath, SortKey, TableInput};
use crate::resolve::scope::{SUBQUERY_BASE, ScopeColumn, ScopeTable};
use crate::resolve::values::NEW_ROW;
use crate::resolve::view::WritableTarget;
use crate::resolve::{BlockState, Clause, Resolver};
use crate::session::Interrupt;
use crate::session::plans::PlanKind;

/// Rows of VALUES that are resolved between two looks at the interrupt.
const ROWS_PER_TURN: usize = 500;

/// How an UPDATE of one table is done.
enum SingleUpdate {
    Plan(Box<UpdatePlan>),
    /// A query finds the rows. The assignments, if they can be made on a row alone: then each sees those before it.
    General {
        in_turn: Vec<(usize, Expr)>,
    },
}

/// Nothing but columns of the row, and constants of the statement, are read: no results of subqueries.
fn is_of_row(value: &Expr) -> bool {
    let mut is_of_row = value.columns_used().iter().all(|&position| position < SUBQUERY_BASE);
    value.walk(&mut |inside| {
        is_of_row &= !matches!(inside, Expr::Parameter(parameter) if !parameter.is_constant);
    });
    is_of_row
}

impl Resolver<'_> {
    pub fn insert(&mut self, statement: &ast::Insert) -> Result<InsertPlan> {
        let (target, targets) = self.insert_target(statement)?;
        let table = Arc::clone(&target.table);
        let mut source_columns = Vec::new();
        let source = match &statement.source {
            ast::InsertSource::Values(rows) => {
                self.open_values(&target, rows.len())?;
                let mut resolved = Vec::with_capacity(rows.len());
                self.insert_rows(&table, rows, &targets, statement.columns.is_none(), &mut resolved)?;
                InsertSource::Values(resolved)
            }
            ast::InsertSource::Query(query) => {
                let outside = (self.scopes.pop(), self.blocks.pop());
                let with_source =
                    (!statement.on_duplicate.is_empty()).then(|| with_source_columns(query)).flatten();
                let resolved = self.query(with_source.as_ref().unwrap_or(query));
                self.scopes.extend(outside.0);
                self.blocks.extend(outside.1);
                let plan = resolved?.plan;
                targets.iter().try_for_each(|&column| refuse_value(&table.schema, column))?;
                let extra = plan.columns.len().checked_sub(targets.len());
                if extra.is_none_or(|extra| extra > 0 && with_source.is_none()) {
                    return Err(super::insert::wrong_value_count(1));
                }
                source_columns = plan.columns[targets.len()..].to_vec();
                self.scope().add_table(target.scope.clone())?;
                InsertSource::Query(Arc::new(plan))
            }
        };
        self.insert_plan(statement, &target, targets, source, &source_columns)
    }

    /// The same for VALUES of many rows; other sessions have their turns in between.
    pub async fn insert_in_turns(
        &mut self,
        statement: &ast::Insert,
        rows: &[Vec<ast::Expr>],
        interrupt: &Interrupt,
    ) -> Result<InsertPlan> {
        let (target, targets) = self.insert_target(statement)?;
        let table = Arc::clone(&target.table);
        self.open_values(&target, rows.len())?;
        let mut resolved = Vec::with_capacity(rows.len());
        for part in rows.chunks(ROWS_PER_TURN) {
            self.insert_rows(&table, part, &targets, statement.columns.is_none(), &mut resolved)?;
            interrupt.check_between_batches().await?;
        }
        self.insert_plan(statement, &target, targets, InsertSource::Values(resolved), &[])
    }

    /// The table and the columns that get values; their block is open then.
    fn insert_target(&mut self, statement: &ast::Insert) -> Result<(WritableTarget, Vec<usize>)> {
        let target = self.writable(&statement.table, &statement.table.name.value, "INSERT")?;
        self.open_block();
        self.block().calls_once = true;
        let targets = insert_targets(&target, statement.columns.as_deref())?;
        Ok((target, targets))
    }

    fn open_values(&mut self, target: &WritableTarget, rows: usize) -> Result<()> {
        self.scope().add_table(target.scope.clone())?;
        self.changed = vec![(target.table.id(), target.scope.name.clone())];
        // Later rows would have to see the earlier ones.
        self.other_names_may_be_read = rows == 1;
        Ok(())
    }

    fn insert_plan(
        &mut self,
        statement: &ast::Insert,
        target: &WritableTarget,
        targets: Vec<usize>,
        source: InsertSource,
        source_columns: &[crate::frontend::ResultColumn],
    ) -> Result<InsertPlan> {
        let table = Arc::clone(&target.table);
        let mut rules = self.row_rules(&table)?;
        rules.checks.extend(check_option(target));
        rules.checks.extend(self.partition_check(&table, &statement.partitions)?);
        let defaults = self.defaults(&table, &rules)?;
        let on_duplicate = self.on_duplicate(statement, target, source_columns)?;
        let mut state = self.close_block();
        Ok(InsertPlan {
            usage: self.environment.statistics.usage(&table),
            table,
            targets,
            source,
            defaults,
            rules,
            replace: statement.replace,
            ignore: statement.ignore,
            on_duplicate,
            subqueries: state.subqueries_by_number(),
            constants: state.constants,
        })
    }

    /// What PARTITION (...) asks of rows that are written.
    fn partition_check(&self, table: &Table, partitions: &[ast::Ident]) -> Result<Option<Check>> {
        let condition = self.partition_set(table, partitions)?;
        let check =
            |condition| Check { name: String::new(), condition, enforced: true, kind: CheckKind::PartitionSet };
        Ok(condition.map(check))
    }

    /// What rows must meet to be in sight of a statement that changes them.
    fn in_partitions(&self, target: &WritableTarget, partitions: &[ast::Ident]) -> Result<Option<Expr>> {
        let set = self.partition_set(&target.table, partitions)?;
        join_conjunction(target.condition.iter().cloned().chain(set).collect(), self.build())
    }

    /// Opens a scope and a block for a statement that is no query.
    pub fn open_block(&mut self) {
        self.scopes.push(self.new_scope());
        self.blocks.push(BlockState { no_aggregates: true, ..BlockState::default() });
    }

    pub fn close_block(&mut self) -> BlockState {
        self.scopes.pop();
        self.blocks.pop().unwrap_or_default()
    }

    /// An expression whose value goes into a column: a hexadecimal literal is a number among numbers.
    fn expression_for(&mut self, table: &Table, column: usize, value: &ast::Expr) -> Result<Expr> {
        let mut expression = self.expression(value)?;
        let sql_type = &table.schema.columns[column].sql_type;
        let fits =
            expression.as_literal().is_some_and(|value| matches!(value, Value::Str(bytes) if bytes.len() <= 8));
        if fits && (sql_type.is_numeric() || sql_type.base == BaseType::Year) {
            expression.hexadecimal_as_number();
        }
        Ok(expression)
    }

    /// Adds rows of VALUES to those before them.
    fn insert_rows(
        &mut self,
        table: &Table,
        rows: &[Vec<ast::Expr>],
        targets: &[usize],
        all_columns: bool,
        resolved: &mut Vec<Vec<Option<Expr>>>,
    ) -> Result<()> {
        for row in rows {
            if row.len() != targets.len() && !(row.is_empty() && all_columns) {
                return Err(super::insert::wrong_value_count(resolved.len() + 1));
            }
            let values = row.iter().zip(targets).map(|(value, &column)| match value {
                ast::Expr::Default(None) => Ok(None),
                value => {
                    refuse_value(&table.schema, column)?;
                    self.expression_for(table, column, value).map(Some)
                }
            });
            let mut values = values.collect::<Result<Vec<_>>>()?;
            values.resize_with(targets.len(), || None);
            resolved.push(values);
        }
        Ok(())
    }

    /// What the columns of a table take when nothing is said.
    pub fn defaults(&mut self, table: &Table, rules: &RowRules) -> Result<Vec<DefaultValue>> {
        let reads = |position: usize| rules.reading_defaults.iter().any(|(column, _)| *column == position);
        let mut defaults = Vec::with_capacity(table.schema.columns.len());
        for (position, column) in table.schema.columns.iter().enumerate() {
            defaults.push(if column.auto_increment || (column.hidden && !column.is_functional()) {
                DefaultValue::AutoIncrement
            } else if column.generated.is_some() || reads(position) {
                DefaultValue::Later
            } else if column.default == ColumnDefault::None && !column.nullable {
                DefaultValue::Missing
            } else {
                DefaultValue::Expression(self.column_default(&table.schema, position)?)
            });
        }
        Ok(defaults)
    }

    /// Assignments over the existing row and, behind it, the new one.
    /// `source` are the columns of the tables that INSERT ... SELECT reads; they come behind both.
    fn on_duplicate(
        &mut self,
        statement: &ast::Insert,
        target: &WritableTarget,
        source: &[crate::frontend::ResultColumn],
    ) -> Result<Vec<(usize, Expr)>> {
        if statement.on_duplicate.is_empty() {
            return Ok(Vec::new());
        }
        let table = &target.table;
        let mut new_row = ScopeTable { name: NEW_ROW.to_owned(), database: String::new(), ..target.scope.clone() };
        if let Some(alias) = &statement.row_alias {
            let mut named = ScopeTable { name: alias.value.clone(), ..new_row.clone() };
            rename(&mut named, &statement.row_alias_columns, table)?;
            new_row = named;
        }
        let scope = self.scope();
        let named_only = scope.tables.len();
        let first = scope.next_position();
        scope.add_table(new_row)?;
        let has_alias = statement.row_alias.is_some();
        if has_alias {
            // VALUES() keeps working beside an alias; both name the same positions.
            let hidden = ScopeTable { name: NEW_ROW.to_owned(), database: String::new(), ..target.scope.clone() };
            scope.add_table(hidden)?;
        }
        scope.qualified_only = named_only..scope.tables.len();
        for columns in source.chunk_by(|left, right| left.table == right.table && left.database == right.database)
        {
            let mut scoped = ScopeTable::of_columns(&columns[0].table, columns);
            scoped.database = columns[0].database.clone();
            // A source that is the target itself cannot be told from it by name.
            let _ = scope.add_table(scoped);
        }
        let columns = table.schema.columns.len();
        let subqueries_before = self.block().all_subqueries().count();
        // Both names of the new row mean the same columns.
        let mut of_new_row = |position: usize| match position {
            position if has_alias && (first + columns..SUBQUERY_BASE).contains(&position) => position - columns,
            position => position,
        };
        let mut assignments = Vec::with_capacity(statement.on_duplicate.len());
        for assignment in &statement.on_duplicate {
            let column = target.column(&assignment.column)?;
            if is_generated_default(table, column, &assignment.value)? {
                continue;
            }
            let value = match &assignment.value {
                ast::Expr::Default(None) => self.column_default(&table.schema, column)?,
                value => self.expression_for(table, column, value)?,
            };
            assignments.push((column, value.map_columns(&mut of_new_row)));
        }
        for subquery in self.block().all_subqueries().skip(subqueries_before) {
            subquery.visit_row_expressions(&mut |expression| {
                let present = std::mem::replace(expression, Expr::null());
                *expression = present.map_columns(&mut of_new_row);
            });
        }
        Ok(assignments)
    }

    /// The plan of an UPDATE, in the form that fits it.
    pub fn update(&mut self, statement: &ast::Update) -> Result<PlanKind> {
        self.with_tables(statement.with.as_ref(), |resolver| resolver.update_in_sight(statement))
    }

    /// The same with the tables of its WITH clause in sight.
    fn update_in_sight(&mut self, statement: &ast::Update) -> Result<PlanKind> {
        if let [reference] = &statement.tables[..]
            && reference.joins.is_empty()
            && let ast::TableFactor::Table { name, alias, hints, partitions } = &reference.base
        {
            return match self.update_single(statement, name, alias.as_ref(), hints, partitions)? {
                SingleUpdate::Plan(plan) => Ok(PlanKind::Update(*plan)),
                SingleUpdate::General { in_turn } => {
                    let mut plan = self.update_multi(statement)?;
                    plan.targets.iter_mut().for_each(|target| target.in_turn.clone_from(&in_turn));
                    Ok(PlanKind::Multi(plan))
                }
            };
        } else if !statement.order_by.is_empty() || statement.limit.is_some() {
            let clause = if statement.limit.is_some() { "LIMIT" } else { "ORDER BY" };
            return Err(Error::new(ErrorCode::WrongUsage, format!("Incorrect usage of UPDATE and {clause}")));
        }
        self.update_multi(statement).map(PlanKind::Multi)
    }

    fn update_single(
        &mut self,
        statement: &ast::Update,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        hints: &[ast::IndexHint],
        partitions: &[ast::Ident],
    ) -> Result<SingleUpdate> {
        let shown = alias.unwrap_or(&name.name).value.clone();
        let target = self.writable(name, &shown, "UPDATE")?;
        let table = Arc::clone(&target.table);
        self.open_block();
        self.scope().add_table(target.scope.clone())?;
        self.changed = vec![(table.id(), shown.clone())];
        let finder = self.finder(
            &table,
            hints,
            (statement.selection.as_ref(), self.in_partitions(&target, partitions)?),
            &statement.order_by,
            statement.limit.as_ref(),
        )?;
        self.block().clause = Clause::FieldList;
        let mut assignments = Vec::with_capacity(statement.assignments.len());
        for assignment in &statement.assignments {
            let column = target.column(&assignment.column)?;
            if is_generated_default(&table, column, &assignment.value)? {
                continue;
            }
            let value = match &assignment.value {
                ast::Expr::Default(None) => self.column_default(&table.schema, column)?,
                value => self.expression_for(&table, column, value)?,
            };
            assignments.push((column, value));
        }
        let state = self.close_block();
        let has_subqueries = !state.subqueries.is_empty() || !state.late_subqueries.is_empty();
        let Some(mut finder) = finder.filter(|_| !has_subqueries) else {
            let reads_row_alone = assignments.iter().all(|(_, value)| is_of_row(value));
            return Ok(SingleUpdate::General { in_turn: if reads_row_alone { assignments } else { Vec::new() } });
        };
        finder.constants = state.constants;
        let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
        let in_key = |column: &usize| table.schema.primary_key().columns.iter().any(|part| part.column == *column);
        let mut rules = self.row_rules(&table)?;
        rules.checks.extend(check_option(&target));
        rules.checks.extend(self.partition_check(&table, partitions)?);
        let changed: Vec<usize> =
            assigned.iter().copied().chain(rules.generated.iter().map(|(column, _)| *column)).collect();
        rules.foreign = rules.foreign.take().filter(|keys| keys.concern(&table, &changed));
        let mut plan = UpdatePlan {
            moves_rows: assigned.iter().chain(rules.generated.iter().map(|(column, _)| column)).any(in_key),
            rules,
            on_update_now: on_update_columns(&table, &assigned),
            finder,
            assignments,
            ignore: statement.ignore,
        };
        if plan.finder.order.is_empty() && !is_changed_as_found(&plan) {
            // Which row meets a duplicate, and what variables count, depends on what was changed before.
            plan.finder.input.access.keep_order(&table, true);
        }
        Ok(SingleUpdate::Plan(Box::new(plan)))
    }

    /// The rows that a single-table statement works on. `None`: a condition holds a subquery that depends on the row.
    fn finder(
        &mut self,
        table: &Arc<Table>,
        hints: &[ast::IndexHint],
        (selection, of_view): (Option<&ast::Expr>, Option<Expr>),
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
    ) -> Result<Option<RowFinder>> {
        self.block().clause = Clause::Where;
        let mut selection = selection.map(|selection| self.expression(selection)).transpose()?;
        let indexed = self.indexed_expressions();
        selection.iter_mut().for_each(|selection| self.use_indexed(&indexed, selection));
        self.block().clause = Clause::OrderBy;
        let mut order = Vec::new();
        let mut order_expressions = Vec::new();
        for item in order_by {
            let mut expression = self.expression(&item.expr)?;
            self.use_indexed(&indexed, &mut expression);
            order.push(SortKey {
                position: order_expressions.len(),
                descending: item.descending,
                sql_type: expression.sql_type().clone(),
            });
            order_expressions.push(expression);
        }
        let limit = self.limit(limit)?;
        let mut conjuncts: Vec<Expr> = of_view.into_iter().flat_map(split_conjunction).collect();
        if let Some(selection) = selection {
            conjuncts.extend(split_conjunction(selection));
        }
        let reads_subquery =
            |conjunct: &Expr| conjunct.columns_used().iter().any(|&position| position >= SUBQUERY_BASE);
        if conjuncts.iter().chain(&order_expressions).any(reads_subquery) {
            return Ok(None);
        }
        let impossible = conjuncts.iter().any(is_false);
        let mut bounds: Vec<Bound> = Vec::new();
        for conjunct in &conjuncts {
            find_bounds(conjunct, table, 0, &|_| false, &mut bounds);
        }
        let wanted_order: Option<Vec<(usize, bool)>> =
            order.iter().map(|key| Some((order_expressions[key.position].as_column()?, key.descending))).collect();
        let request = ChooseRequest {
            table,
            bounds: &bounds,
            hints,
            rows: self.environment.statistics.row_count(table),
            wanted_order: wanted_order.as_deref().unwrap_or(&[]),
            has_limit: limit.is_some(),
            uses_invisible: self.environment.uses_invisible_indexes,
        };
        let mut access: AccessPath = choose(&request);
        // Which rows a LIMIT takes can be seen.
        access.keep_order(table, order.is_empty() && limit.is_some());
        if access.ordered {
            order.clear();
            order_expressions.clear();
        }
        let filter = join_conjunction(conjuncts, self.build())?;
        let input = TableInput {
            table: Arc::clone(table),
            access,
            filter,
            lock: Some(shoal_txn::LockMode::Exclusive),
            wait: shoal_txn::LockWait::Wait,
            usage: self.environment.statistics.usage(table),
        };
        Ok(Some(RowFinder { input, order_expressions, order, limit, constants: Vec::new(), impossible }))
    }

    pub fn delete(&mut self, statement: &ast::Delete) -> Result<PlanKind> {
        self.with_tables(statement.with.as_ref(), |resolver| resolver.delete_in_sight(statement))
    }

    /// The same with the tables of its WITH clause in sight.
    fn delete_in_sight(&mut self, statement: &ast::Delete) -> Result<PlanKind> {
        if let DeleteTarget::Single { table: name, alias, partitions } = &statement.target {
            let shown = alias.as_ref().unwrap_or(&name.name).value.clone();
            let target = self.writable(name, &shown, "DELETE")?;
            let condition = self.in_partitions(&target, partitions)?;
            let table = target.table;
            self.open_block();
            self.scope().add_table(target.scope)?;
            self.changed = vec![(table.id(), shown)];
            let finder = self.finder(
                &table,
                &[],
                (statement.selection.as_ref(), condition),
                &statement.order_by,
                statement.limit.as_ref(),
            )?;
            let state = self.close_block();
            if let Some(mut finder) = finder {
                finder.constants = state.constants;
                let foreign =
                    foreign_keys_of(self.environment.catalog, &table).filter(|keys| keys.has_children(&table));
                let triggers = self.triggers(&table);
                return Ok(PlanKind::Delete(DeletePlan { finder, foreign, triggers, ignore: statement.ignore }));
            }
        }
        self.delete_multi(statement).map(PlanKind::Multi)
    }

    fn update_multi(&mut self, statement: &ast::Update) -> Result<MultiPlan> {
        let mut items = Vec::new();
        let mut places: Vec<(Arc<Table>, String, Vec<usize>)> = Vec::new();
        let tables = self.tables_of(&statement.tables)?;
        for assignment in &statement.assignments {
            let position = table_of_assignment(&tables, &assignment.column)?;
            let (table, name) = &tables[position];
            let column = assigned_column(table, &assignment.column)?;
            refuse_value(&table.schema, column)?;
            match places.iter_mut().find(|(_, known, _)| known == name) {
                Some((_, _, columns)) => columns.push(column),
                None => places.push((Arc::clone(table), name.clone(), vec![column])),
            }
        }
        let mut targets = Vec::with_capacity(places.len());
        for (table, name, _) in &places {
            let first = items.len();
            items.extend(all_columns(table, name));
            targets.push(MultiTarget {
                table: Arc::clone(table),
                first,
                assignments: Vec::new(),
                in_turn: Vec::new(),
                on_update_now: Vec::new(),
                rules: RowRules::default(),
                usage: self.environment.statistics.usage(table),
            });
        }
        for assignment in &statement.assignments {
            let position = table_of_assignment(&tables, &assignment.column)?;
            let (table, name) = &tables[position];
            let column = assigned_column(table, &assignment.column)?;
            let expr = match &assignment.value {
                ast::Expr::Default(None) => {
                    ast::Expr::Default(Some(Box::new(qualified(name, &table.schema.columns[column].name))))
                }
                value => value.clone(),
            };
            if let Some(target) = places.iter().position(|(_, known, _)| known == name) {
                targets[target].assignments.push((column, items.len()));
            }
            items.push(ast::SelectItem::Expression { expr, alias: None, text: Vec::new() });
        }
        for (target, (table, name, assigned)) in targets.iter_mut().zip(&places) {
            target.on_update_now = on_update_columns(table, assigned);
            target.rules = self.row_rules(table)?;
            let partitions = partitions_of(&statement.tables, name);
            target.rules.checks.extend(self.partition_check(table, partitions)?);
        }
        self.changed = places.into_iter().map(|(table, name, _)| (table.id(), name)).collect();
        let single_table = statement.tables.len() == 1 && statement.tables[0].joins.is_empty();
        let query = self.locking_query(
            items,
            statement.tables.clone(),
            statement.selection.clone(),
            (statement.order_by.clone(), statement.limit.clone()),
        )?;
        Ok(MultiPlan { query: Arc::new(query), targets, ignore: statement.ignore, delete: false, single_table })
    }

    fn delete_multi(&mut self, statement: &ast::Delete) -> Result<MultiPlan> {
        let (names, from) = match &statement.target {
            DeleteTarget::Multiple { tables, from } => (tables.clone(), from.clone()),
            DeleteTarget::Single { table, alias, partitions } => {
                let base = ast::TableFactor::Table {
                    name: table.clone(),
                    partitions: partitions.clone(),
                    alias: alias.clone(),
                    hints: Vec::new(),
                };
                let name = alias.clone().unwrap_or_else(|| table.name.clone());
                let target = ast::ObjectName { schema: None, name };
                (vec![target], vec![ast::TableReference { base, joins: Vec::new() }])
            }
        };
        let tables = self.tables_of(&from)?;
        let mut items = Vec::new();
        let mut targets = Vec::new();
        for name in &names {
            let Some((table, shown)) = tables.iter().find(|(_, shown)| *shown == name.name.value) else {
                let message = format!("Unknown table '{}' in MULTI DELETE", name.name.value);
                return Err(Error::new(ErrorCode::UnknownTable, message));
            };
            let first = items.len();
            items.extend(all_columns(table, shown));
            targets.push(MultiTarget {
                table: Arc::clone(table),
                first,
                assignments: Vec::new(),
                in_turn: Vec::new(),
                on_update_now: Vec::new(),
                rules: RowRules::default(),
                usage: self.environment.statistics.usage(table),
            });
        }
        for target in &mut targets {
            target.rules.foreign = foreign_keys_of(self.environment.catalog, &target.table);
            target.rules.triggers = self.triggers(&target.table);
        }
        let changed =
            names.iter().zip(&targets).map(|(name, target)| (target.table.id(), name.name.value.clone()));
        self.changed = changed.collect();
        let tail = (statement.order_by.clone(), statement.limit.clone());
        let query = self.locking_query(items, from, statement.selection.clone(), tail)?;
        Ok(MultiPlan {
            query: Arc::new(query),
            targets,
            ignore: statement.ignore,
            delete: true,
            single_table: false,
        })
    }

    /// The tables of the FROM clause of a statement that changes some of them. The clause is resolved once more with the query that finds
    /// the rows.
    fn tables_of(&mut self, references: &[ast::TableReference]) -> Result<Vec<(Arc<Table>, String)>> {
        self.forget_temporary_uses();
        let tables = self.named_tables(references)?;
        self.forget_temporary_uses();
        Ok(tables)
    }

    /// The base tables of a FROM clause with the names they go by.
    fn named_tables(&mut self, references: &[ast::TableReference]) -> Result<Vec<(Arc<Table>, String)>> {
        let mut tables = Vec::new();
        for reference in references {
            self.add_named(&reference.base, &mut tables)?;
            for join in &reference.joins {
                tables.extend(self.named_tables(std::slice::from_ref(&join.right))?);
            }
        }
        Ok(tables)
    }

    fn add_named(&mut self, factor: &ast::TableFactor, tables: &mut Vec<(Arc<Table>, String)>) -> Result<()> {
        match factor {
            ast::TableFactor::Table { name, alias, .. } => {
                if let crate::resolve::TableTarget::Base(table) = self.table_target(name)? {
                    tables.push((table, alias.as_ref().unwrap_or(&name.name).value.clone()));
                }
                Ok(())
            }
            ast::TableFactor::Nested(references) => {
                tables.extend(self.named_tables(references)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn locking_query(
        &mut self,
        items: Vec<ast::SelectItem>,
        from: Vec<ast::TableReference>,
        selection: Option<ast::Expr>,
        (order_by, limit): (Vec<ast::OrderItem>, Option<ast::Limit>),
    ) -> Result<crate::plan::QueryPlan> {
        let select = ast::Select {
            hints: None,
            options: Default::default(),
            items,
            from,
            from_dual: false,
            selection,
            group_by: None,
            having: None,
            windows: Vec::new(),
        };
        let locking =
            ast::LockingClause { strength: ast::LockStrength::Update, of: Vec::new(), wait: ast::LockWait::Wait };
        let query = ast::Query {
            with: None,
            body: ast::QueryBody::Select(Box::new(select)),
            order_by,
            limit,
            locking: vec![locking],
            into: None,
        };
        self.no_aggregates = true;
        Ok(self.query(&query)?.plan)
    }
}

/// The query with all columns of its tables behind its own; `None` where rows of the result are no rows of those tables.
fn with_source_columns(query: &ast::Query) -> Option<ast::Query> {
    let ast::QueryBody::Select(select) = &query.body else { return None };
    if select.from.is_empty() || select.group_by.is_some() || select.options.distinct || select.having.is_some() {
        return None;
    }
    let mut extended = query.clone();
    if let ast::QueryBody::Select(select) = &mut extended.body {
        select.items.push(ast::SelectItem::Wildcard);
    }
    Some(extended)
}

fn is_false(conjunct: &Expr) -> bool {
    matches!(conjunct.as_literal(), Some(Value::Null | Value::Int(0) | Value::UInt(0)))
}

/// PARTITION (...) behind the table that goes by this name.
fn partitions_of<'a>(references: &'a [ast::TableReference], shown: &str) -> &'a [ast::Ident] {
    let of_factor = |factor: &'a ast::TableFactor| match factor {
        ast::TableFactor::Table { name, partitions, alias, .. }
            if alias.as_ref().unwrap_or(&name.name).value == shown =>
        {
            &partitions[..]
        }
        ast::TableFactor::Nested(references) => partitions_of(references, shown),
        _ => &[],
    };
    let of_reference = |reference: &'a ast::TableReference| {
        let joined = reference.joins.iter().map(|join| partitions_of(std::slice::from_ref(&join.right), shown));
        std::iter::once(of_factor(&reference.base)).chain(joined).find(|found| !found.is_empty()).unwrap_or(&[])
    };
    references.iter().map(of_reference).find(|found| !found.is_empty()).unwrap_or(&[])
}

fn insert_targets(target: &WritableTarget, columns: Option<&[ast::ColumnName]>) -> Result<Vec<usize>> {
    let Some(columns) = columns else {
        let shown = target.columns.iter().filter(|(_, position)| !target.scope.columns[*position].hidden);
        return Ok(shown.map(|(_, position)| *position).collect());
    };
    let mut targets = Vec::with_capacity(columns.len());
    for name in columns {
        let column = target.column(name)?;
        if targets.contains(&column) {
            let message = format!("Column '{}' specified twice", name.column.value);
            return Err(Error::new(ErrorCode::FieldSpecifiedTwice, message));
        }
        targets.push(column);
    }
    Ok(targets)
}

/// What WITH CHECK OPTION asks of rows that are written through a view.
fn check_option(target: &WritableTarget) -> Option<Check> {
    let (name, condition) = target.check.clone()?;
    Some(Check { name, condition, enforced: true, kind: CheckKind::ViewOption })
}

/// A generated column is given DEFAULT, which is what it has. Errors: 3105, it is given something else.
fn is_generated_default(table: &Table, column: usize, value: &ast::Expr) -> Result<bool> {
    match value {
        ast::Expr::Default(None) => Ok(table.schema.columns[column].generated.is_some()),
        _ => refuse_value(&table.schema, column).map(|()| false),
    }
}

fn assigned_column(table: &Table, name: &ast::ColumnName) -> Result<usize> {
    table.schema.column_position(&name.column.value).ok_or_else(|| unknown_assigned(name))
}

fn unknown_assigned(name: &ast::ColumnName) -> Error {
    let table = name.table.as_ref().map(|table| format!("{}.", table.value)).unwrap_or_default();
    let message = format!("Unknown column '{table}{}' in 'field list'", name.column.value);
    Error::new(ErrorCode::BadField, message)
}

fn rename(scoped: &mut ScopeTable, names: &[ast::Ident], table: &Table) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let visible: Vec<usize> = table.schema.visible_columns().collect();
    if names.len() != visible.len() {
        return Err(super::insert::wrong_value_count(1));
    }
    for (name, column) in names.iter().zip(visible) {
        let renamed: &mut ScopeColumn = &mut scoped.columns[column];
        renamed.name = name.value.clone();
    }
    Ok(())
}

fn table_of_assignment(tables: &[(Arc<Table>, String)], name: &ast::ColumnName) -> Result<usize> {
    let found: Vec<usize> = match &name.table {
        Some(table) => (0..tables.len()).filter(|&position| tables[position].1 == table.value).collect(),
        None => {
            let has = |position: &usize| tables[*position].0.schema.column_position(&name.column.value).is_some();
            (0..tables.len()).filter(has).collect()
        }
    };
    match found[..] {
        [position] => Ok(position),
        [] => Err(unknown_assigned(name)),
        _ => {
            let message = format!("Column '{}' in field list is ambiguous", name.column.value);
            Err(Error::new(ErrorCode::NonUniq, message))
        }
    }
}

fn qualified(table: &str, column: &str) -> ast::ColumnName {
    ast::ColumnName { schema: None, table: Some(ast::Ident::new(table)), column: ast::Ident::new(column) }
}

fn all_columns(table: &Table, name: &str) -> Vec<ast::SelectItem> {
    let item = |column: &shoal_types::Column| ast::SelectItem::Expression {
        expr: ast::Expr::Column(Box::new(qualified(name, &column.name))),
        alias: None,
        text: Vec::new(),
    };
    table.schema.columns.iter().map(item).collect()
}
