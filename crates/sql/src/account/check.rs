//! May they? Checks before statements run, against the dictionary as it is now.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use shoal_cluster::{Catalog, Node, Program, RoutineGrant, Table, User};
use shoal_types::{Error, ErrorCode, Result};

use super::access::{Access, is_granted, with_roles};
use super::expiry;
use super::key::AccountKey;
use super::matching::wildcard;
use super::privilege::{Level, Privileges};
use crate::dml::{DeletePlan, RowFinder, UpdatePlan};
use crate::information_schema;
use crate::plan::{WrittenView, invalid_view};
use crate::server::Server;
use crate::session::plans::{Plan, PlanKind};
use crate::session::{Session, SessionShared};

/// Databases that everybody may look into; what they show there depends on their privileges.
const OPEN_DATABASES: &[&str] = &["information_schema", "performance_schema"];
/// One of these ends sessions of others.
const KILL: Privileges = Privileges::SUPER.with(Privileges::CONNECTION_ADMIN);

/// Whose privileges are asked for.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    pub node: &'a Arc<Node>,
    pub access: &'a Access,
    /// Where the client is.
    pub host: &'a str,
}

impl Session {
    pub fn asking(&self) -> Asking<'_> {
        Asking { node: &self.server.node, access: &self.state.access, host: &self.shared.host }
    }
}

/// Whether an account writes where others may only read.
pub fn is_exempt_from_read_only(asking: &Asking<'_>) -> bool {
    with_catalog(asking.node, |catalog| {
        asking
            .access
            .look(catalog, |user| user.is_some_and(|user| global(user).intersects(crate::read_only::EXEMPT)))
    })
}

/// Before a routine runs. Whoever has made it may always run it. Errors: 1370.
pub fn check_execute(asking: &Asking<'_>, program: &Program) -> Result<()> {
    check_routine(asking, program, Privileges::EXECUTE, "execute")
}

/// Before a routine is changed or dropped. Errors: 1370.
pub fn check_alter_routine(asking: &Asking<'_>, program: &Program) -> Result<()> {
    check_routine(asking, program, Privileges::ALTER_ROUTINE, "alter routine")
}

fn check_routine(asking: &Asking<'_>, program: &Program, needed: Privileges, word: &str) -> Result<()> {
    let is_granted = || {
        with_catalog(asking.node, |catalog| {
            let has = |user: Option<&User>| user.is_some_and(|user| on_routine(user, program).contains(needed));
            asking.access.look(catalog, has)
        })
    };
    if asking.access.account == program.definer || is_granted() {
        return Ok(());
    }
    let (user, host) = (&asking.access.account.0, asking.host);
    let name = format!("{}.{}", program.database, program.name);
    let message = format!("{word} command denied to user '{user}'@'{host}' for routine '{name}'");
    Err(Error::new(ErrorCode::ProcAccessDenied, message))
}

/// Looks at the session's account with its active roles; `None`: it has been dropped.
fn look<T>(session: &Session, catalog: &Catalog, look: impl FnOnce(Option<&User>) -> T) -> T {
    session.state.access.look(catalog, look)
}

fn global(user: &User) -> Privileges {
    let grants = user.grants.iter().filter(|(database, ..)| database.is_empty());
    grants.fold(Privileges::NONE, |set, (.., bits)| set.with(Privileges(*bits)))
}

/// What an account may do in a database: globally, and by its grants for databases like this one.
pub fn on_database(user: &User, database: &str) -> Privileges {
    let matches = |pattern: &str| pattern == database || wildcard(database, pattern);
    let grants = user
        .grants
        .iter()
        .filter(|(pattern, table, _)| !pattern.is_empty() && table.is_empty() && matches(pattern));
    grants.fold(global(user), |set, (.., bits)| set.with(Privileges(*bits)))
}

/// What an account may do with a table.
pub fn on_table(user: &User, database: &str, table: &str) -> Privileges {
    let grants = user.grants.iter().filter(|(known, name, _)| known == database && name == table);
    grants.fold(on_database(user, database), |set, (.., bits)| set.with(Privileges(*bits)))
}

/// What an account may do with a routine.
pub fn on_routine(user: &User, program: &Program) -> Privileges {
    let is_it = |grant: &&RoutineGrant| {
        grant.database == program.database
            && grant.kind == program.kind
            && grant.name == program.name.to_lowercase()
    };
    let own = user.routine_grants.iter().filter(is_it);
    own.fold(on_database(user, &program.database), |set, grant| set.with(Privileges(grant.privileges)))
}

/// What an account may do with a column, beside what it may with all of its table.
pub fn on_column(user: &User, database: &str, table: &str, column: &str) -> Privileges {
    let grants = user.column_grants.iter().filter(|grant| {
        grant.database == database && grant.table == table && grant.column.eq_ignore_ascii_case(column)
    });
    grants.fold(Privileges::NONE, |set, grant| set.with(Privileges(grant.privileges)))
}

/// What an account may do with some columns of a table or other.
fn on_some_column(user: &User, database: &str, table: &str) -> Privileges {
    let grants = user.column_grants.iter().filter(|grant| grant.database == database && grant.table == table);
    grants.fold(Privileges::NONE, |set, grant| set.with(Privileges(grant.privileges)))
}

/// What an account may do with a table, for interfaces that have no sessions. One that is locked may nothing; one that has a
/// password may nothing for whoever has not proven to be trusted.
pub fn of_account(
    catalog: &Catalog,
    key: &(String, String),
    is_trusted: bool,
    database: &str,
    table: &str,
) -> Privileges {
    match catalog.users.get(key) {
        Some(user) if !user.locked && (is_trusted || user.authentication_string.is_empty()) => {
            with_default_roles(catalog, user, |user| on_table(user, database, table))
        }
        _ => Privileges::NONE,
    }
}

/// An account as its sessions begin, for interfaces that have none.
fn with_default_roles<T>(catalog: &Catalog, user: &User, look: impl FnOnce(&User) -> T) -> T {
    if user.default_roles.is_empty() {
        return look(user);
    }
    let granted = |role: &&AccountKey| is_granted(user, role, &[]);
    let roles: Vec<AccountKey> = user.default_roles.iter().filter(granted).cloned().collect();
    look(&with_roles(catalog, user, &roles))
}

/// What an account may do with everything; of one that has been dropped, nothing.
pub fn global_of(catalog: &Catalog, key: &(String, String)) -> Privileges {
    catalog.users.get(key).map_or(Privileges::NONE, |user| with_default_roles(catalog, user, global))
}

/// What pages for operators ask of an account.
pub struct OperatorRights {
    pub process: bool,
    pub kill: bool,
    pub password_expired: bool,
}

/// Those of a session of the account that would begin now; `None`: none would.
pub fn operator_rights(server: &Arc<Server>, key: &AccountKey) -> Option<OperatorRights> {
    let catalog = server.node.catalog();
    let password_expired = expiry::has_expired(server, catalog.users.get(key).filter(|user| !user.locked)?);
    let global = Access::at_login(server, key.clone()).look(&catalog, |user| user.map(global))?;
    Some(OperatorRights {
        process: global.intersects(Privileges::PROCESS),
        kill: global.intersects(KILL),
        password_expired,
    })
}

thread_local! {
    /// The dictionary that this thread saw last. The weak reference keeps the node's address from being used again.
    static LAST_SEEN: RefCell<Option<(Weak<Node>, Arc<Catalog>)>> = const { RefCell::new(None) };
}

/// Looks at the newest dictionary. Every statement does, so it is kept by the thread until its version changes: no counter that
/// other threads use is touched.
fn with_catalog<T>(node: &Arc<Node>, look: impl FnOnce(&Catalog) -> T) -> T {
    LAST_SEEN.with_borrow_mut(|seen| {
        let version = node.catalog_version();
        if let Some((known, catalog)) = seen
            && std::ptr::eq(known.as_ptr(), Arc::as_ptr(node))
            && catalog.version == version
        {
            return look(catalog);
        }
        let (_, catalog) = seen.insert((Arc::downgrade(node), node.catalog()));
        look(catalog)
    })
}

/// Before a plan runs: SELECT, INSERT, UPDATE and DELETE on its tables. Errors: 1142.
pub fn check_plan(asking: &Asking<'_>, plan: &Plan) -> Result<()> {
    if plan.tables.is_empty() && plan.system_tables.is_empty() && plan.views.is_empty() {
        return Ok(());
    }
    with_catalog(asking.node, |catalog| check_plan_in(catalog, asking, plan))
}

fn check_plan_in(catalog: &Catalog, asking: &Asking<'_>, plan: &Plan) -> Result<()> {
    asking.access.look(catalog, |user| check_plan_of(user, asking, plan, catalog))
}

fn check_plan_of(user: Option<&User>, asking: &Asking<'_>, plan: &Plan, catalog: &Catalog) -> Result<()> {
    let has_process = || user.is_some_and(|user| global(user).contains(Privileges::PROCESS));
    if plan.system_tables.iter().any(|&table| information_schema::needs_process(table)) && !has_process() {
        return Err(global_denied("PROCESS"));
    }
    let may_all = user.is_some_and(|user| global(user).contains(Privileges::DATA));
    if may_all && plan.written_through.is_empty() {
        return Ok(());
    }
    let reads_what_it_writes = match &plan.kind {
        PlanKind::Update(UpdatePlan { finder, .. }) | PlanKind::Delete(DeletePlan { finder, .. }) => reads(finder),
        _ => false,
    };
    let only_written = if reads_what_it_writes { 0 } else { plan.views_written };
    for view in plan.views.iter().skip(only_written) {
        check_named(who(asking), user, (&view.database, &view.name), Privileges::SELECT)?;
    }
    for &table in plan.system_tables.iter().filter(|&&table| !information_schema::needs_process(table)) {
        let (database, name) = (information_schema::database_name(table), information_schema::table_name(table));
        check_named(who(asking), user, (database, name), Privileges::SELECT)?;
        if information_schema::reads_performance_schema(table) {
            check_named(who(asking), user, ("performance_schema", name), Privileges::SELECT)?;
        }
    }
    match &plan.kind {
        PlanKind::PointSelect { .. } | PlanKind::Select { .. } => check_reads(asking, user, plan, None),
        PlanKind::Insert(insert) => {
            let table = &insert.table;
            let shown = insert.targets.iter().copied().filter(|&column| !table.schema.columns[column].hidden);
            let written = Written { catalog, asking, user, plan, table };
            written.check(Privileges::INSERT, Some(shown.collect()))?;
            if insert.replace {
                written.check(Privileges::DELETE, None)?;
            }
            if !insert.on_duplicate.is_empty() {
                let assigned = insert.on_duplicate.iter().map(|(column, _)| *column);
                written.check(Privileges::UPDATE, Some(assigned.collect()))?;
            }
            check_reads(asking, user, plan, Some(table))
        }
        PlanKind::Update(UpdatePlan { finder, assignments, .. }) => {
            let assigned = assignments.iter().map(|(column, _)| *column);
            let written = Written { catalog, asking, user, plan, table: &finder.input.table };
            written.check(Privileges::UPDATE, Some(assigned.collect()))?;
            check_finder(asking, user, plan, finder)
        }
        PlanKind::Delete(DeletePlan { finder, .. }) => {
            let written = Written { catalog, asking, user, plan, table: &finder.input.table };
            written.check(Privileges::DELETE, None)?;
            check_finder(asking, user, plan, finder)
        }
        PlanKind::Multi(multi) => {
            for target in &multi.targets {
                let assigned = target.assignments.iter().map(|(column, _)| *column);
                match multi.delete {
                    true => check_table(asking, user, &target.table, Privileges::DELETE)?,
                    false => check_columns(asking, user, &target.table, Privileges::UPDATE, assigned)?,
                }
            }
            check_reads(asking, user, plan, None)
        }
    }
}

/// Finding rows by their contents is reading them.
fn check_finder(asking: &Asking<'_>, user: Option<&User>, plan: &Plan, finder: &RowFinder) -> Result<()> {
    let table = &finder.input.table;
    check_reads(asking, user, plan, if reads(finder) { None } else { Some(table) })
}

fn reads(finder: &RowFinder) -> bool {
    finder.input.filter.is_some() || !finder.input.access.parts.is_empty() || !finder.order.is_empty()
}

/// A table that is written, or a view on the way there.
#[derive(Clone, Copy)]
enum Place<'a> {
    View(&'a WrittenView),
    Table(&'a Table),
}

impl<'a> Place<'a> {
    fn named(self) -> (&'a str, &'a str) {
        match self {
            Place::View(through) => (&through.view.database, &through.view.name),
            Place::Table(table) => (&table.schema.database, &table.schema.name),
        }
    }

    /// What columns of the table are called here.
    fn names(self, columns: Option<&[usize]>) -> Option<Vec<&'a str>> {
        let name = |column: &usize| match self {
            Place::View(through) => {
                let found = through.columns.iter().find(|(_, position)| position == column);
                found.map_or("", |(name, _)| name.as_str())
            }
            Place::Table(table) => table.schema.columns[*column].name.as_str(),
        };
        Some(columns?.iter().map(name).collect())
    }
}

/// A table that a plan writes.
#[derive(Clone, Copy)]
struct Written<'a> {
    catalog: &'a Catalog,
    asking: &'a Asking<'a>,
    user: Option<&'a User>,
    plan: &'a Plan,
    table: &'a Table,
}

impl Written<'_> {
    /// A privilege on the table, or on these of its columns. Through a view it takes the privilege on the view, and on what is in the view that of
    /// whoever has defined it, or of whoever uses it, as the view says. Errors: 1142, 1143; 1356, somebody who has defined a view lacks it.
    fn check(self, needed: Privileges, columns: Option<Vec<usize>>) -> Result<()> {
        let Written { catalog, asking, user, plan, table } = self;
        let columns = columns.as_deref();
        let check = |user: Option<&User>, place: Place<'_>| match place.names(columns) {
            Some(names) => check_columns_of(who(asking), user, place.named(), needed, names.into_iter()),
            None => check_named(who(asking), user, place.named(), needed),
        };
        if table.is_temporary {
            // Whoever has made it may do anything with it.
            return Ok(());
        }
        let views = &plan.written_through;
        let places: Vec<Place<'_>> =
            views.iter().map(Place::View).chain(std::iter::once(Place::Table(table))).collect();
        check(user, places[0])?;
        let mut definer: Option<&AccountKey> = None;
        for (WrittenView { view, .. }, &inside) in views.iter().zip(&places[1..]) {
            if !view.is_invokers {
                definer = Some(&view.definer);
            }
            let Some(definer) = definer else {
                check(user, inside)?;
                continue;
            };
            let may = catalog.users.get(definer).is_some_and(|definer| {
                with_default_roles(catalog, definer, |definer| check(Some(definer), inside).is_ok())
            });
            if !may {
                return Err(invalid_view(view));
            }
        }
        Ok(())
    }
}

/// SELECT on every table but `except`.
fn check_reads(asking: &Asking<'_>, user: Option<&User>, plan: &Plan, except: Option<&Arc<Table>>) -> Result<()> {
    // What is written is named first; the same table may be read behind it.
    let written = except.and_then(|except| plan.tables.iter().position(|table| Arc::ptr_eq(except, table)));
    for (position, table) in plan.tables.iter().enumerate() {
        if Some(position) == written || plan.tables_of_definers.contains(&position) {
            continue;
        }
        let read = plan.columns_read.iter().filter(|(id, _)| *id == table.id()).map(|(_, column)| *column);
        check_columns(asking, user, table, Privileges::SELECT, read)?;
    }
    Ok(())
}

/// A privilege on a table, or on these of its columns; if there are none of them, on some other. Errors: 1142, 1143.
fn check_columns(
    asking: &Asking<'_>,
    user: Option<&User>,
    table: &Table,
    needed: Privileges,
    columns: impl Iterator<Item = usize>,
) -> Result<()> {
    if table.is_temporary {
        // Whoever has made it may do anything with it.
        return Ok(());
    }
    let names = columns.map(|column| table.schema.columns[column].name.as_str());
    let named = (table.schema.database.as_str(), table.schema.name.as_str());
    check_columns_of(who(asking), user, named, needed, names)
}

/// The account of an error's text, and where its client is.
#[derive(Clone, Copy)]
struct Who<'a> {
    user: &'a str,
    host: &'a str,
}

fn who<'a>(asking: &Asking<'a>) -> Who<'a> {
    Who { user: &asking.access.account.0, host: asking.host }
}

fn check_columns_of<'c>(
    who: Who<'_>,
    user: Option<&User>,
    (database, name): (&str, &str),
    needed: Privileges,
    columns: impl Iterator<Item = &'c str>,
) -> Result<()> {
    let Some(user) = user else { return Err(table_denied(who, needed, name)) };
    if on_table(user, database, name).contains(needed) {
        return Ok(());
    }
    if !on_some_column(user, database, name).intersects(needed) {
        return Err(table_denied(who, needed, name));
    }
    for column in columns {
        if !on_column(user, database, name, column).contains(needed) {
            let message = format!(
                "{} command denied to user '{}'@'{}' for column '{column}' in table '{name}'",
                needed.first_name(),
                who.user,
                who.host
            );
            return Err(Error::new(ErrorCode::ColumnAccessDenied, message));
        }
    }
    Ok(())
}

/// What a request may do that belongs to no session, as a session of the account that begins now might.
pub struct RequestAccess {
    server: Arc<Server>,
    access: Access,
    /// The client's.
    host: String,
}

impl RequestAccess {
    /// For one request of an account from `host`.
    pub fn new(server: &Arc<Server>, account: &AccountKey, host: &str) -> RequestAccess {
        let access = Access::at_login(server, account.clone());
        RequestAccess { server: Arc::clone(server), access, host: host.to_owned() }
    }

    /// A privilege on a table, or on all of these columns of it, whether they exist or not.
    ///
    /// # Errors
    /// 1142, 1143: it is not there.
    pub fn check<'c>(
        &self,
        table: (&str, &str),
        needed: Privileges,
        columns: impl Iterator<Item = &'c str>,
    ) -> Result<()> {
        let who = Who { user: &self.access.account.0, host: &self.host };
        let catalog = self.server.node.catalog();
        self.access.look(&catalog, |user| check_columns_of(who, user, table, needed, columns))
    }

    /// A privilege on all of a table.
    ///
    /// # Errors
    /// 1142: it is not there.
    pub fn check_table(&self, (database, table): (&str, &str), needed: Privileges) -> Result<()> {
        let who = Who { user: &self.access.account.0, host: &self.host };
        let catalog = self.server.node.catalog();
        self.access.look(&catalog, |user| check_named(who, user, (database, table), needed))
    }
}

fn check_table(asking: &Asking<'_>, user: Option<&User>, table: &Table, needed: Privileges) -> Result<()> {
    if table.is_temporary {
        return Ok(());
    }
    check_named(who(asking), user, (&table.schema.database, &table.schema.name), needed)
}

fn check_named(
    who: Who<'_>,
    user: Option<&User>,
    (database, table): (&str, &str),
    needed: Privileges,
) -> Result<()> {
    let present = user.map_or(Privileges::NONE, |user| on_table(user, database, table));
    if present.contains(needed) {
        return Ok(());
    }
    Err(table_denied(who, needed.without(present), table))
}

fn table_denied(who: Who<'_>, missing: Privileges, table: &str) -> Error {
    let message = format!(
        "{} command denied to user '{}'@'{}' for table '{table}'",
        missing.first_name(),
        who.user,
        who.host
    );
    Error::new(ErrorCode::TableAccessDenied, message)
}

fn database_denied(session: &Session, database: &str) -> Error {
    let (user, host) = &session.state.access.account;
    let message = format!("Access denied for user '{user}'@'{host}' to database '{database}'");
    Error::new(ErrorCode::DbAccessDenied, message)
}

/// What DDL needs: on a table (1142), or on a database when no table is named (1044).
pub fn require(session: &Session, database: &str, table: Option<&str>, needed: Privileges) -> Result<()> {
    let catalog = session.server.node.catalog();
    let present = look(session, &catalog, |user| match (user, table) {
        (None, _) => Privileges::NONE,
        (Some(user), Some(table)) => on_table(user, database, table),
        (Some(user), None) => on_database(user, database),
    });
    if present.contains(needed) {
        return Ok(());
    }
    Err(match table {
        Some(table) => table_denied(who(&session.asking()), needed.without(present), table),
        None => database_denied(session, database),
    })
}

fn global_denied(names: &str) -> Error {
    let message = format!("Access denied; you need (at least one of) the {names} privilege(s) for this operation");
    Error::new(ErrorCode::SpecificAccessDenied, message)
}

/// One of these privileges on everything. Errors: 1227.
pub fn require_global(session: &Session, one_of: Privileges) -> Result<()> {
    let names = || [one_of.names(false), one_of.names(true)].concat().join(", ");
    if has_global(session, one_of) { Ok(()) } else { require_global_named(session, one_of, &names()) }
}

/// The same, where MySQL calls it otherwise.
pub fn require_global_named(session: &Session, one_of: Privileges, names: &str) -> Result<()> {
    if has_global(session, one_of) {
        return Ok(());
    }
    Err(global_denied(names))
}

/// The administrative privilege of this name, or SUPER. Errors: 1227.
pub fn check_admin(session: &Session, privilege: &str) -> Result<()> {
    require_global(session, Privileges::by_name(privilege, Level::Global)?.with(Privileges::SUPER))
}

/// Whether the session's account has one of these privileges on everything.
pub fn has_global(session: &Session, one_of: Privileges) -> bool {
    let catalog = session.server.node.catalog();
    look(session, &catalog, |user| user.is_some_and(|user| global(user).intersects(one_of)))
}

/// USE: some privilege in the database or on a table of it. Errors: 1044.
pub fn check_database(session: &Session, name: &str) -> Result<()> {
    if may_see_database(session, name) { Ok(()) } else { Err(database_denied(session, name)) }
}

/// Whether SHOW DATABASES lists it.
pub fn may_see_database(session: &Session, name: &str) -> bool {
    if OPEN_DATABASES.iter().any(|open| open.eq_ignore_ascii_case(name)) {
        return true;
    }
    let catalog = session.server.node.catalog();
    look(session, &catalog, |user| user.is_some_and(|user| sees_database(user, name)))
}

/// Whether an account may know of a database.
fn sees_database(user: &User, name: &str) -> bool {
    let shows = Privileges::all_at(Level::Database).with(Privileges::SHOW_DATABASES);
    on_database(user, name).intersects(shows)
        || user.grants.iter().any(|(database, _, bits)| database == name && *bits != 0)
        || user.column_grants.iter().any(|grant| grant.database == name)
}

/// Whether an account may know of a table.
fn sees_table(user: &User, database: &str, table: &str) -> bool {
    let present = on_table(user, database, table).with(on_some_column(user, database, table));
    present.intersects(Privileges::all_at(Level::Table))
}

/// Whether SHOW TABLES lists it.
pub fn may_see_table(session: &Session, database: &str, table: &str) -> bool {
    let catalog = session.server.node.catalog();
    look(session, &catalog, |user| user.is_some_and(|user| sees_table(user, database, table)))
}

/// KILL: one's own threads, or anybody's with the right privilege. Errors: 1095.
pub fn check_kill(session: &Session, target: &SessionShared) -> Result<()> {
    if target.user == session.shared.user || has_global(session, KILL) {
        return Ok(());
    }
    Err(Error::new(ErrorCode::KillDenied, format!("You are not owner of thread {}", target.id)))
}
