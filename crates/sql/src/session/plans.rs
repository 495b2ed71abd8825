//! Statements ready to run, and the cache of them.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::{MemoryBudget, Table, View};
use shoal_expr::Expr;
use shoal_parser::ast::{self, Statement};
use shoal_types::{Result, SqlType, TableId};

use super::Interrupt;
use crate::counters::Counter;
use crate::dml::{DeletePlan, InsertPlan, InsertSource, MultiPlan, MultiTarget, UpdatePlan};
use crate::information_schema::VirtualTable;
use crate::plan::{Block, Input, PartAccess, QueryBody, QueryPlan, WrittenView};
use crate::resolve::written::{plain_query, plain_select};
use crate::resolve::{ResolveEnvironment, Resolver};
use crate::table_usage::TableCounts;

/// A resolved statement.
#[derive(Debug)]
pub struct Plan {
    pub kind: PlanKind,
    /// The dictionary's version it was made for.
    pub catalog_version: u64,
    /// Tables it reads or writes.
    pub tables: Vec<Arc<Table>>,
    /// Places of those that somebody else may read for whoever runs it: the definer of a view.
    pub tables_of_definers: Vec<usize>,
    /// Views that it reads or writes, but for those inside views of other definers.
    pub views: Vec<Arc<View>>,
    /// Those that it writes through, the outermost first.
    pub written_through: Vec<WrittenView>,
    /// So many of `views`, the first ones, are there because of that.
    pub views_written: usize,
    /// User or system variables are named in it.
    pub names_variables: bool,
    /// It calls stored functions, or its changes run triggers.
    pub calls_programs: bool,
    /// Virtual tables that it reads and that need SELECT.
    pub system_tables: Vec<VirtualTable>,
    /// Columns of these that it reads: table and position.
    pub columns_read: Vec<(TableId, usize)>,
    pub reusable: bool,
    /// User variables that it reads, in lower case, and their types: as long as they have these, a program may run it again even if
    /// it is not reusable otherwise.
    pub user_variables: Vec<(String, Option<SqlType>)>,
    /// It depends on nothing else that changes.
    pub reusable_inside: bool,
    /// Made with parameters for literals it misses an index.
    pub wants_literals: bool,
    /// Parameters that must be dates if they are texts.
    pub temporal_parameters: Vec<usize>,
    /// What the MAX_EXECUTION_TIME hint of a SELECT says.
    pub limit_ms: Option<u64>,
    /// Conditions that every execution raises.
    pub warnings: Vec<(shoal_types::ErrorCode, String)>,
}

#[derive(Debug)]
pub enum PlanKind {
    /// `SELECT columns FROM table WHERE primary key = constants`, nothing else.
    PointSelect {
        query: QueryPlan,
        point: PointSelect,
    },
    Select {
        query: QueryPlan,
        into: Option<ast::SelectInto>,
    },
    Insert(InsertPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    Multi(MultiPlan),
}

/// The shortest way from a key to a row.
#[derive(Debug)]
pub struct PointSelect {
    pub table: Arc<Table>,
    /// One a part of the primary key.
    pub key: Vec<Expr>,
    /// Columns of the table that are sent.
    pub projection: Vec<usize>,
    /// As that of the plan.
    pub limit_ms: Option<u64>,
    pub usage: Arc<TableCounts>,
}

impl Plan {
    pub fn writes(&self) -> bool {
        !matches!(self.kind, PlanKind::PointSelect { .. } | PlanKind::Select { .. })
    }

    /// It changes a table that others may see.
    pub fn writes_shared(&self) -> bool {
        match &self.kind {
            PlanKind::PointSelect { .. } | PlanKind::Select { .. } => false,
            PlanKind::Insert(insert) => !insert.table.is_temporary,
            PlanKind::Update(update) => !update.finder.input.table.is_temporary,
            PlanKind::Delete(delete) => !delete.finder.input.table.is_temporary,
            PlanKind::Multi(multi) => multi.targets.iter().any(|target| !target.table.is_temporary),
        }
    }

    /// Tables whose AUTO_INCREMENT column gets values that the statement computes.
    pub fn tables_numbered_by_hand(&self) -> impl Iterator<Item = &Arc<Table>> {
        let is_assigned = |table: &Table, column: usize| table.schema.auto_increment_column() == Some(column);
        let (one, many): (Option<(&Arc<Table>, bool)>, &[MultiTarget]) = match &self.kind {
            PlanKind::Update(update) => {
                let table = &update.finder.input.table;
                (Some((table, update.assignments.iter().any(|&(column, _)| is_assigned(table, column)))), &[])
            }
            PlanKind::Insert(insert) => {
                let table = &insert.table;
                (Some((table, insert.on_duplicate.iter().any(|&(column, _)| is_assigned(table, column)))), &[])
            }
            PlanKind::Multi(multi) => (None, &multi.targets),
            _ => (None, &[]),
        };
        let many = many.iter().filter(move |target| {
            target.assignments.iter().any(|&(column, _)| is_assigned(&target.table, column))
        });
        let one = one.into_iter().filter(|&(_, assigned)| assigned).map(|(table, _)| table);
        one.chain(many.map(|one| &one.table)).filter(|table| !table.is_temporary)
    }

    /// Tables whose rows it changes.
    pub fn changed_tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        let (one, many): (Option<&Arc<Table>>, &[MultiTarget]) = match &self.kind {
            PlanKind::Insert(insert) => (Some(&insert.table), &[]),
            PlanKind::Update(update) => (Some(&update.finder.input.table), &[]),
            PlanKind::Delete(delete) => (Some(&delete.finder.input.table), &[]),
            PlanKind::Multi(multi) => (None, &multi.targets),
            PlanKind::PointSelect { .. } | PlanKind::Select { .. } => (None, &[]),
        };
        one.into_iter().chain(many.iter().map(|target| &target.table))
    }

    /// It changes rows of this table, or locks some for that.
    pub fn changes(&self, table: &Table) -> bool {
        self.changed_tables().any(|written| written.id() == table.id()) || self.locks_exclusively()
    }

    /// SELECT ... FOR UPDATE.
    pub fn locks_exclusively(&self) -> bool {
        match &self.kind {
            PlanKind::PointSelect { query, .. } | PlanKind::Select { query, .. } => query_locks_exclusively(query),
            _ => false,
        }
    }

    pub fn counter(&self) -> Counter {
        match &self.kind {
            PlanKind::PointSelect { .. } | PlanKind::Select { .. } => Counter::ComSelect,
            PlanKind::Insert(plan) => match (&plan.source, plan.replace) {
                (InsertSource::Values(_), false) => Counter::ComInsert,
                (InsertSource::Values(_), true) => Counter::ComReplace,
                (InsertSource::Query(_), false) => Counter::ComInsertSelect,
                (InsertSource::Query(_), true) => Counter::ComReplaceSelect,
            },
            PlanKind::Update(_) => Counter::ComUpdate,
            PlanKind::Delete(_) => Counter::ComDelete,
            PlanKind::Multi(plan) if plan.delete => Counter::ComDeleteMulti,
            PlanKind::Multi(_) => Counter::ComUpdateMulti,
        }
    }

    /// The columns of its result; empty if it has none.
    pub fn columns(&self) -> &[crate::frontend::ResultColumn] {
        match &self.kind {
            PlanKind::PointSelect { query, .. } => &query.columns,
            PlanKind::Select { query, into: None } => &query.columns,
            _ => &[],
        }
    }
}

/// Whether `make` knows the statement.
pub fn is_planned(statement: &Statement) -> bool {
    matches!(statement, Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_))
}

/// Resolves a statement that reads or changes rows, or the expressions of one that does neither (DO).
pub fn make(statement: &Statement, parameter_count: usize, environment: &ResolveEnvironment<'_>) -> Result<Plan> {
    let mut resolver = Resolver::new(environment, parameter_count);
    let limit_ms = time_limit_of(statement);
    let kind = match statement {
        Statement::Query(query) => {
            let into = into_of(query).cloned();
            let plan = resolver.query(query)?.plan;
            match point_select(&plan) {
                Some(point) if into.is_none() => {
                    PlanKind::PointSelect { query: plan, point: PointSelect { limit_ms, ..point } }
                }
                _ => PlanKind::Select { query: plan, into },
            }
        }
        Statement::Do(expressions) => {
            resolver.no_aggregates = true;
            PlanKind::Select { query: resolver.query(&select_list(expressions))?.plan, into: None }
        }
        Statement::Insert(insert) => PlanKind::Insert(resolver.insert(insert)?),
        Statement::Update(update) => resolver.update(update)?,
        Statement::Delete(delete) => resolver.delete(delete)?,
        _ => return Err(shoal_types::Error::unsupported("this statement here")),
    };
    Ok(finish(resolver, kind, limit_ms))
}

/// The same for an INSERT of many rows of VALUES; other sessions have their turns in between.
pub async fn make_bulk_insert(
    insert: &ast::Insert,
    rows: &[Vec<ast::Expr>],
    environment: &ResolveEnvironment<'_>,
    interrupt: &Interrupt,
) -> Result<Plan> {
    let mut resolver = Resolver::new(environment, 0);
    let kind = PlanKind::Insert(resolver.insert_in_turns(insert, rows, interrupt).await?);
    Ok(finish(resolver, kind, None))
}

fn finish(mut resolver: Resolver<'_>, kind: PlanKind, limit_ms: Option<u64>) -> Plan {
    Plan {
        kind,
        catalog_version: resolver.environment.catalog.version,
        reusable: !resolver.uncacheable && resolver.user_variables.is_empty(),
        reusable_inside: !resolver.uncacheable,
        user_variables: std::mem::take(&mut resolver.user_variables),
        wants_literals: resolver.wants_literals,
        temporal_parameters: std::mem::take(&mut resolver.temporal_parameters),
        warnings: std::mem::take(&mut resolver.warnings),
        columns_read: resolver.columns_read.take().into_iter().collect(),
        tables: resolver.tables_used,
        tables_of_definers: resolver.tables_of_definers,
        views: resolver.views_used,
        written_through: resolver.written_through,
        views_written: resolver.views_written,
        names_variables: resolver.names_variables,
        calls_programs: resolver.calls_programs,
        system_tables: resolver.system_tables_used,
        limit_ms,
    }
}

/// Expressions that stand alone, as a SELECT without tables.
fn select_list(expressions: &[ast::Expr]) -> ast::Query {
    let item =
        |expr: &ast::Expr| ast::SelectItem::Expression { expr: expr.clone(), alias: None, text: Vec::new() };
    plain_query(plain_select(expressions.iter().map(item).collect(), Vec::new()))
}

/// The MAX_EXECUTION_TIME hint of a SELECT, milliseconds.
fn time_limit_of(statement: &Statement) -> Option<u64> {
    let Statement::Query(query) = statement else { return None };
    let ast::QueryBody::Select(select) = &query.body else { return None };
    let hints = String::from_utf8_lossy(select.hints.as_deref()?).to_ascii_uppercase();
    let (_, argument) = hints.split_once("MAX_EXECUTION_TIME")?;
    let (number, _) = argument.trim_start().strip_prefix('(')?.split_once(')')?;
    number.trim().parse().ok()
}

fn into_of(query: &ast::Query) -> Option<&ast::SelectInto> {
    query.into.as_ref()
}

fn point_select(query: &QueryPlan) -> Option<PointSelect> {
    let QueryBody::Block(block) = &query.body else { return None };
    let Block {
        steps, aggregation: None, windowing: None, distinct: false, limit: None, impossible: false, ..
    } = &**block
    else {
        return None;
    };
    let [step] = &steps[..] else { return None };
    let Input::Table(input) = &step.input else { return None };
    let simple = query.constants.is_empty()
        && block.filter.is_none()
        && block.late_filter.is_none()
        && block.subqueries.is_empty()
        && step.filter.is_none()
        && input.filter.is_none()
        && input.lock.is_none()
        && input.access.unique
        && input.access.index == 0
        && !block.count_all_rows
        && block.projection.len() == block.visible;
    if !simple {
        return None;
    }
    let key: Option<Vec<Expr>> = input
        .access
        .parts
        .iter()
        .map(|part| match part {
            PartAccess::Equal { alternatives, .. } if alternatives.len() == 1 => Some(alternatives[0].clone()),
            _ => None,
        })
        .collect();
    let column = |expression: &Expr| {
        let position = expression.as_column()?;
        step.columns.iter().find(|(_, place)| *place == position).map(|(column, _)| *column)
    };
    let projection: Option<Vec<usize>> = block.projection.iter().map(column).collect();
    Some(PointSelect {
        table: Arc::clone(&input.table),
        key: key?,
        projection: projection?,
        limit_ms: None,
        usage: Arc::clone(&input.usage),
    })
}

/// What a text statement's plan depends on besides the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlanKey {
    pub digest: u128,
    pub settings: u64,
}

/// The settings of a key, from the session's, those of the stored program that runs, and whether plain SELECTs lock.
pub fn settings_key(version: u64, inside: u64, lock_reads: bool) -> u64 {
    (version ^ inside) << 1 | u64::from(lock_reads)
}

/// Plans of text statements, for one session. All sessions' share what the memory budget has for plans; who finds no more there
/// forgets his.
pub struct PlanCache {
    plans: HashMap<PlanKey, Rc<Plan>, foldhash::fast::RandomState>,
    /// Parameters of all plans: what bulk loads fill memory with.
    parameters: usize,
    budget: Arc<MemoryBudget>,
    /// Reserved for the plans.
    bytes: u64,
}

/// What a plan takes, about: so much, and so much for a byte of its text.
const PLAN_BYTES: usize = 4 << 10;
pub const TREE_BYTES_PER_BYTE: usize = 8;

/// What a plan of a text takes, about, with its syntax tree.
pub fn plan_bytes(text_bytes: usize) -> usize {
    PLAN_BYTES + TREE_BYTES_PER_BYTE * text_bytes
}

/// Plans that one session keeps.
const PLANS_MAX: usize = 256;
/// Parameters of all the plans that one session keeps.
const PARAMETERS_MAX: usize = 1 << 17;

impl PlanCache {
    pub fn new(budget: Arc<MemoryBudget>) -> PlanCache {
        PlanCache { plans: HashMap::default(), parameters: 0, budget, bytes: 0 }
    }

    pub fn get(&self, key: &PlanKey, catalog_version: u64) -> Option<&Rc<Plan>> {
        self.plans.get(key).filter(|plan| plan.catalog_version == catalog_version)
    }

    /// Keeps the plan of a text with so many parameters, if there is memory for it.
    pub fn put(&mut self, key: PlanKey, plan: Rc<Plan>, parameters: usize, text_bytes: usize) {
        if self.plans.len() >= PLANS_MAX || self.parameters + parameters > PARAMETERS_MAX {
            self.clear();
        }
        let bytes = plan_bytes(text_bytes) as u64;
        if !self.budget.try_reserve_plan(bytes) {
            self.clear();
            if !self.budget.try_reserve_plan(bytes) {
                return;
            }
        }
        self.bytes += bytes;
        self.parameters += parameters;
        self.plans.insert(key, plan);
    }

    pub fn clear(&mut self) {
        self.plans.clear();
        self.parameters = 0;
        self.budget.release_plans(std::mem::take(&mut self.bytes));
    }
}

impl Drop for PlanCache {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A statement of COM_STMT_PREPARE or PREPARE.
pub struct PreparedStatement {
    pub statement: Rc<Statement>,
    pub text: Arc<[u8]>,
    /// Of its tokens (`shoal_parser::Digest`).
    pub hash: u128,
    pub parameter_count: usize,
    /// The last plan with the parameter types and the session settings that it was made for.
    pub plan: Option<(Vec<SqlType>, u64, Rc<Plan>)>,
    /// Rows of an open cursor that were not fetched yet.
    pub cursor: Option<Cursor>,
    /// What the statement takes.
    pub held: crate::execute::memory::Held,
}

/// The result of a statement that is fetched in pieces.
pub struct Cursor {
    pub columns: Vec<crate::frontend::ResultColumn>,
    pub rows: std::collections::VecDeque<Vec<shoal_types::Value>>,
    /// What the rows take.
    pub held: crate::execute::memory::Held,
}

fn query_locks_exclusively(query: &QueryPlan) -> bool {
    let exclusive = Some(shoal_txn::LockMode::Exclusive);
    match &query.body {
        QueryBody::Block(block) => block.steps.iter().any(|step| match &step.input {
            Input::Table(input) => input.lock == exclusive,
            Input::Derived(query) => query_locks_exclusively(query),
            Input::Lateral(lateral) => query_locks_exclusively(&lateral.plan),
            Input::Virtual(_) | Input::Working | Input::JsonTable(_) | Input::Rows(_) => false,
        }),
        QueryBody::Recursion(recursion) => {
            recursion.seeds.iter().chain(&recursion.members).any(|part| query_locks_exclusively(&part.query))
        }
        QueryBody::Call(_) => false,
        QueryBody::SetOperation(operation) => {
            query_locks_exclusively(&operation.first)
                || operation.rest.iter().any(|term| query_locks_exclusively(&term.query))
        }
    }
}
