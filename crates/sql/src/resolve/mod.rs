//! From syntax trees to plans: names become positions, types are derived, subqueries find their place.
//!
//! A [`Resolver`] serves one statement. It reads the dictionary and the session's settings and touches no data.

pub mod aggregate;
pub mod dependence;
pub mod expression;
pub mod from;
pub mod function;
pub mod functional;
pub mod grouping;
mod guard;
pub mod json_table;
pub mod locals;
pub mod locking;
mod multi_valued;
pub mod names;
pub mod partition_set;
pub mod recursive;
pub mod rollup;
pub mod row_rules;
pub mod row_subquery;
pub mod scope;
pub mod select;
pub mod set_operation;
pub mod subquery;
pub mod values;
pub mod view;
pub mod window;
pub mod windowing;
pub mod written;

use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::{Catalog, Table, View};
use shoal_expr::{BuildContext, Expr};
use shoal_parser::ast::{Ident, ObjectName};
use shoal_types::{Error, ErrorCode, Result, SqlType, TableId};

use crate::databases;
use crate::information_schema::{self, VirtualTable};
use crate::plan::{QueryPlan, WrittenView};
use crate::table_usage::TableCounts;
pub use locals::Locals;
use scope::{Dependence, Scope};

/// Limits the nesting of subqueries, so that planning and running them cannot exhaust the stack.
pub const SUBQUERY_DEPTH_MAX: usize = 63;

/// What resolution needs of the session.
pub struct ResolveEnvironment<'a> {
    pub catalog: &'a Arc<Catalog>,
    pub database: Option<&'a str>,
    pub build: BuildContext<'a>,
    /// Types of the statement's parameters as bound; `None`: not known yet (PREPARE).
    pub parameter_types: Option<&'a [SqlType]>,
    /// Values of system variables, for `@@name`.
    pub variables: &'a dyn SystemVariables,
    pub only_full_group_by: bool,
    /// Plans may use indexes that are invisible.
    pub uses_invisible_indexes: bool,
    /// Plain SELECTs take shared locks (SERIALIZABLE inside a transaction).
    pub lock_reads: bool,
    /// Row estimates for join order and access paths.
    pub statistics: &'a dyn Statistics,
    /// Names of the stored program that the statement stands in.
    pub locals: Option<&'a Locals<'a>>,
}

/// Reads system variables.
pub trait SystemVariables {
    /// The value as a literal. Errors: 1193 unknown, 1238 wrong scope.
    fn system_variable(&self, variable: &shoal_parser::ast::SystemVariable) -> Result<Expr>;
    /// The type of a user variable's present value; `None` if it was never set.
    fn user_variable_type(&self, name: &str) -> Option<SqlType>;
}

/// What the planner asks about stored rows.
pub trait Statistics {
    fn row_count(&self, table: &Arc<Table>) -> u64;
    /// Where a plan counts the rows that it reads and writes.
    fn usage(&self, table: &Table) -> Arc<TableCounts>;
}

/// What a table name in a query stands for.
pub enum TableTarget<'a> {
    Base(Arc<Table>),
    Virtual(crate::information_schema::VirtualTable),
    View(&'a Arc<View>),
    /// A WITH table, planned again at each use.
    Common(Arc<CommonTable>),
}

/// A table of a WITH clause.
pub struct CommonTable {
    pub name: String,
    pub columns: Vec<String>,
    pub query: shoal_parser::ast::Query,
    /// The WITH tables that were in sight where it was written.
    pub depth: usize,
    /// The scopes that were around it there.
    pub scopes: usize,
    /// Of WITH RECURSIVE: its query may name it.
    pub recursive: bool,
}

/// Resolves one statement.
pub struct Resolver<'a> {
    pub environment: &'a ResolveEnvironment<'a>,
    /// Scopes around the present one, outermost first; the last is the present one.
    pub scopes: Vec<Scope>,
    /// The next free parameter slot.
    pub next_slot: usize,
    /// Tables of WITH clauses in sight.
    pub common_tables: Vec<Arc<CommonTable>>,
    /// Tables of WITH RECURSIVE whose queries are being resolved, innermost last.
    pub(super) recursions: Vec<recursive::Unfinished>,
    /// State of the blocks being resolved, innermost last.
    pub blocks: Vec<BlockState>,
    /// Base tables that the statement reads or writes, for privileges and metadata locks.
    pub tables_used: Vec<Arc<Table>>,
    /// Places in `tables_used` of tables that the definer of a view may read, whoever else may.
    pub tables_of_definers: Vec<usize>,
    /// Views that it reads, and those within those.
    pub views_used: Vec<Arc<View>>,
    /// Those that the statement writes through, the outermost first.
    pub written_through: Vec<WrittenView>,
    /// So many of `views_used`, the first ones, are there because of that.
    pub views_written: usize,
    /// The views whose queries are being resolved, outermost first.
    pub views_inside: Vec<&'a Arc<View>>,
    /// User or system variables were read.
    pub names_variables: bool,
    /// It calls stored functions, or its changes run triggers.
    pub calls_programs: bool,
    /// Views of the dictionary among them, which show what not everybody may see.
    pub system_tables_used: Vec<VirtualTable>,
    /// Columns of base tables that it reads.
    pub columns_read: scope::ColumnsRead,
    /// Temporary tables that it names, and where: none may be named twice.
    temporary_used: Vec<(TableId, *const ObjectName)>,
    /// The tables that the statement changes, by the names they go by: its subqueries may not read them.
    pub changed: Vec<(TableId, String)>,
    /// They may read them by other names, as their rows are read before anything is changed: INSERT of one row.
    pub other_names_may_be_read: bool,
    /// The plan depends on things that change between executions (system variables).
    pub uncacheable: bool,
    /// It depends on the types of these user variables. Names are in lower case; `None`: it was never set.
    pub user_variables: Vec<(String, Option<SqlType>)>,
    /// The next query is that of an UPDATE or DELETE.
    pub no_aggregates: bool,
    /// Arguments of an aggregate are being resolved to see whose columns they read.
    pub is_trial: bool,
    /// An index can be used if the statement is resolved with its literals instead of parameters.
    pub wants_literals: bool,
    /// Conditions that every execution of the plan raises.
    pub warnings: Vec<(ErrorCode, String)>,
    /// Parameters that are compared as dates: a text among them that is no date is an error of its own.
    pub temporal_parameters: Vec<usize>,
}

/// What resolving a block's expressions gathers.
#[derive(Default)]
pub struct BlockState {
    pub clause: Clause,
    pub aggregates: Vec<shoal_expr::Aggregate>,
    /// Subqueries that are columns; those of `late` run after aggregation.
    pub subqueries: Vec<crate::plan::SubqueryColumn>,
    pub late_subqueries: Vec<crate::plan::SubqueryColumn>,
    /// For each subquery position (in order of registration): late or not, and its index there.
    pub subquery_places: Vec<(bool, usize)>,
    /// Positions of subqueries that run over groups, and of their twins that run over rows.
    pub twins: Vec<(usize, usize)>,
    pub constants: Vec<crate::plan::ConstantSubquery>,
    /// The WINDOW clause.
    pub named_windows: Vec<window::Window>,
    /// Calls with OVER.
    pub windows: Vec<window::WindowCall>,
    /// Subqueries that read window functions; they run behind the windows.
    pub window_subqueries: Vec<crate::plan::SubqueryColumn>,
    /// Arguments of GROUPING() calls.
    pub groupings: Vec<Vec<Expr>>,
    pub inside_window: Option<InsideWindow>,
    /// It is that of a SELECT: there are rows to compute windows over.
    pub is_select: bool,
    pub inside_aggregate: bool,
    /// What it calls is called once for each time that it is written: VALUES of INSERT.
    pub calls_once: bool,
    /// Operands around that are not always looked at.
    pub sometimes: u32,
    /// Of a statement that changes rows: there is nothing to compute aggregates over.
    pub no_aggregates: bool,
}

/// The part of a window that is being resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InsideWindow {
    /// The arguments of a function.
    Arguments,
    /// What stands behind OVER, of the window of this name.
    Specification(String),
}

/// The clause being resolved: for messages, and for what is allowed there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clause {
    #[default]
    FieldList,
    On,
    Where,
    GroupBy,
    Having,
    OrderBy,
    /// The document of a JSON_TABLE.
    TableFunction,
    WindowPartition,
    WindowOrder,
}

impl BlockState {
    /// Of every kind that there are so far.
    pub fn subquery_count(&self) -> usize {
        self.subqueries.len() + self.late_subqueries.len() + self.constants.len()
    }

    /// Those that are columns, in the order of registration.
    pub fn all_subqueries(&mut self) -> impl Iterator<Item = &mut crate::plan::SubqueryColumn> {
        let BlockState { subqueries, late_subqueries, subquery_places, .. } = self;
        let (mut subqueries, mut late) = (subqueries.iter_mut(), late_subqueries.iter_mut());
        // Each list is in that order.
        subquery_places
            .iter()
            .filter_map(move |(is_late, _)| if *is_late { late.next() } else { subqueries.next() })
    }

    /// The same for a statement that runs them for its own rows. What reads the results of others comes behind them.
    pub fn subqueries_by_number(&mut self) -> Vec<crate::plan::SubqueryColumn> {
        self.all_subqueries().map(|subquery| subquery.clone()).collect()
    }

    /// Whether an aggregate may stand where the block is being resolved.
    pub fn takes_aggregates(&self) -> bool {
        self.clause.allows_aggregates() && !self.inside_aggregate && !self.no_aggregates
    }

    /// Whether a window function may stand where the block is being resolved.
    pub fn takes_windows(&self) -> bool {
        self.is_select && self.takes_aggregates() && self.clause != Clause::Having && self.inside_window.is_none()
    }
}

impl Clause {
    /// As error messages call it.
    pub fn text(self) -> &'static str {
        match self {
            Clause::FieldList => "field list",
            Clause::On => "on clause",
            Clause::Where => "where clause",
            Clause::GroupBy => "group statement",
            Clause::Having => "having clause",
            Clause::OrderBy => "order clause",
            Clause::TableFunction => "a table function argument",
            Clause::WindowPartition => "window partition by",
            Clause::WindowOrder => "window order by",
        }
    }

    pub fn allows_aggregates(self) -> bool {
        match self {
            Clause::FieldList | Clause::Having | Clause::OrderBy => true,
            Clause::WindowPartition | Clause::WindowOrder => true,
            Clause::On | Clause::Where | Clause::GroupBy | Clause::TableFunction => false,
        }
    }
}

impl<'a> Resolver<'a> {
    pub fn new(environment: &'a ResolveEnvironment<'a>, parameter_count: usize) -> Resolver<'a> {
        Resolver {
            environment,
            scopes: Vec::new(),
            next_slot: parameter_count,
            common_tables: Vec::new(),
            recursions: Vec::new(),
            blocks: Vec::new(),
            tables_used: Vec::new(),
            tables_of_definers: Vec::new(),
            views_used: Vec::new(),
            written_through: Vec::new(),
            views_written: 0,
            views_inside: Vec::new(),
            names_variables: false,
            calls_programs: false,
            system_tables_used: Vec::new(),
            columns_read: Default::default(),
            temporary_used: Vec::new(),
            changed: Vec::new(),
            other_names_may_be_read: false,
            uncacheable: false,
            user_variables: Vec::new(),
            no_aggregates: false,
            is_trial: false,
            wants_literals: false,
            warnings: Vec::new(),
            temporal_parameters: Vec::new(),
        }
    }

    /// The database of an object name. Errors: 1046, none selected.
    pub fn database_of<'n>(&self, name: &'n ObjectName) -> Result<&'n str>
    where
        'a: 'n,
    {
        match &name.schema {
            Some(Ident { value, .. }) => Ok(value),
            None => match self.context() {
                Some(database) => Ok(database),
                None => Err(Error::new(ErrorCode::NoDb, "No database selected")),
            },
        }
    }

    /// The database of names that name none: a view's where its query is resolved.
    fn context(&self) -> Option<&'a str> {
        match self.views_inside.last() {
            Some(view) => Some(view.context.as_str()).filter(|name| !name.is_empty()),
            None => self.environment.database,
        }
    }

    /// A base table by name. Errors: 1046, 1146, 1288.
    pub fn base_table(&mut self, name: &ObjectName) -> Result<Arc<Table>> {
        let database = self.database_of(name)?;
        if information_schema::is_setup(database, &name.name.value) {
            let what = format!("changing performance_schema.{}: what is collected is fixed", name.name.value);
            return Err(Error::unsupported(&what));
        }
        let catalog = self.catalog();
        databases::check_exists(catalog, database)?;
        let Some(table) = catalog.table(database, &name.name.value) else {
            if catalog.view(database, &name.name.value).is_some() {
                let message = format!("The target table {} of the statement is not updatable", name.name.value);
                return Err(Error::new(ErrorCode::NonUpdatableTable, message));
            }
            return Err(databases::no_such_table(database, &name.name.value));
        };
        if table.is_temporary {
            self.use_temporary(table, name)?;
        }
        self.tables_used.push(Arc::clone(table));
        Ok(Arc::clone(table))
    }

    /// The dictionary in which names are looked up: views know nothing of the session's temporary tables.
    pub fn catalog(&self) -> &'a Catalog {
        match self.views_inside.is_empty() {
            true => self.environment.catalog,
            false => self.environment.catalog.shared(),
        }
    }

    /// A statement names a temporary table once; what a WITH table names is one name, however often that is used. Errors: 1137.
    fn use_temporary(&mut self, table: &Table, name: &ObjectName) -> Result<()> {
        let place = (table.id(), std::ptr::from_ref(name));
        if self.temporary_used.contains(&place) {
            return Ok(());
        }
        if self.temporary_used.iter().any(|(id, _)| *id == table.id()) {
            let message = format!("Can't reopen table: '{}'", table.name());
            return Err(Error::new(ErrorCode::CantReopenTable, message));
        }
        self.temporary_used.push(place);
        Ok(())
    }

    /// What follows names the same tables once more.
    pub fn forget_temporary_uses(&mut self) {
        self.temporary_used.clear();
    }

    pub fn table_target(&mut self, name: &ObjectName) -> Result<TableTarget<'a>> {
        if name.schema.is_none()
            && let Some(common) = self.common_tables.iter().rev().find(|table| table.name == name.name.value)
        {
            return Ok(TableTarget::Common(Arc::clone(common)));
        }
        let database = self.database_of(name)?;
        if let Some(table) = information_schema::virtual_table(database, &name.name.value)? {
            if information_schema::needs_select(table) || information_schema::needs_process(table) {
                self.system_tables_used.push(table);
            }
            return Ok(TableTarget::Virtual(table));
        }
        if let Some(view) = self.catalog().view(database, &name.name.value) {
            return Ok(TableTarget::View(view));
        }
        self.base_table(name).map(TableTarget::Base)
    }

    pub fn block(&mut self) -> &mut BlockState {
        if self.blocks.is_empty() {
            self.blocks.push(BlockState::default());
        }
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    pub fn new_scope(&self) -> Scope {
        Scope { columns_read: Rc::clone(&self.columns_read), ..Scope::default() }
    }

    pub fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(self.new_scope());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }
}

/// A resolved query and the outer columns that it reads.
pub struct ResolvedQuery {
    pub plan: QueryPlan,
    pub outer: Vec<(usize, Expr)>,
    /// What determines what in its result; empty where nobody asks.
    pub dependences: Vec<Dependence>,
}
