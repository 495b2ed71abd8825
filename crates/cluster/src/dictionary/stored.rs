//! The meta group's records in the log, and the dictionary's checkpoint: messages and their meaning.
//!
//! The meta group is a plain record group, not yet a Raft group: the partition crate keeps its Raft driving to itself,
//! and in a cluster of one node the log's order is all the agreement there is. Records have an index that rises by one,
//! as a Raft log's, so that replicating them changes none of what is written here.
//!
//! | kind | payload | meaning |
//! |---|---|---|
//! | 1 | [`StoredMap`] | the map of hash buckets; the first record of a log |
//! | 2 | [`StoredChanges`] | one change of the dictionary |
//! | 3 | table id u32, value u64, little-endian | no value of the table's sequence lies at or above this |

use shoal_types::{Collation, Error, NodeId, Result, TableId, TableSchema};

use crate::base::router::Router;
use crate::dictionary::catalog::{
    Catalog, Change, ColumnGrant, GrantedRole, Hold, Lockout, PasswordRules, ProxyGrant, RoutineGrant,
    TlsRequirement, User, View,
};
use crate::dictionary::program::{Program, ProgramKind};
use crate::dictionary::stored_program::{StoredProgram, StoredProgramName};

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StoredMap {
    #[prost(uint32, repeated, tag = "1")]
    partition_of_bucket: Vec<u32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StoredChanges {
    #[prost(message, repeated, tag = "1")]
    changes: Vec<StoredChange>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredChange {
    #[prost(oneof = "ChangeKind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13")]
    kind: Option<ChangeKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum ChangeKind {
    #[prost(message, tag = "1")]
    PutDatabase(StoredDatabase),
    #[prost(string, tag = "2")]
    DropDatabase(String),
    /// A schema in the schema's own format.
    #[prost(bytes, tag = "3")]
    PutTable(Vec<u8>),
    #[prost(uint32, tag = "4")]
    DropTable(u32),
    #[prost(message, boxed, tag = "5")]
    PutUser(Box<StoredUser>),
    #[prost(message, tag = "6")]
    DropUser(StoredUserName),
    #[prost(message, tag = "7")]
    PutVariable(StoredVariable),
    #[prost(message, tag = "8")]
    HoldTable(StoredHold),
    #[prost(uint32, tag = "9")]
    FreeTable(u32),
    #[prost(message, boxed, tag = "10")]
    PutView(Box<StoredView>),
    #[prost(message, tag = "11")]
    DropView(StoredViewName),
    #[prost(message, boxed, tag = "12")]
    PutProgram(Box<StoredProgram>),
    #[prost(message, tag = "13")]
    DropProgram(StoredProgramName),
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredViewName {
    #[prost(string, tag = "1")]
    database: String,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredView {
    #[prost(string, tag = "1")]
    database: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, repeated, tag = "3")]
    names: Vec<String>,
    #[prost(string, tag = "4")]
    query: String,
    #[prost(string, tag = "5")]
    context: String,
    #[prost(message, optional, tag = "6")]
    definer: Option<StoredUserName>,
    #[prost(bool, tag = "7")]
    is_invokers: bool,
    #[prost(string, tag = "8")]
    algorithm: String,
    #[prost(string, tag = "9")]
    check_option: String,
    #[prost(uint32, tag = "10")]
    collation: u32,
    /// Columns, in the format of a table's schema that has one column more.
    #[prost(bytes, tag = "11")]
    columns: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredHold {
    #[prost(uint32, tag = "1")]
    table: u32,
    #[prost(uint32, tag = "2")]
    node: u32,
    #[prost(uint64, tag = "3")]
    token: u64,
    #[prost(bool, tag = "4")]
    lets_read: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredDatabase {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    collation: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredUserName {
    #[prost(string, tag = "1")]
    user: String,
    #[prost(string, tag = "2")]
    host: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredUser {
    #[prost(string, tag = "1")]
    user: String,
    #[prost(string, tag = "2")]
    host: String,
    #[prost(string, tag = "3")]
    plugin: String,
    #[prost(bytes, tag = "4")]
    authentication_string: Vec<u8>,
    #[prost(bool, tag = "5")]
    locked: bool,
    #[prost(bool, tag = "6")]
    require_tls: bool,
    #[prost(message, repeated, tag = "7")]
    grants: Vec<StoredGrant>,
    #[prost(message, optional, tag = "8")]
    certificate: Option<StoredCertificateRequirement>,
    #[prost(bytes, tag = "9")]
    old_authentication_string: Vec<u8>,
    #[prost(message, optional, tag = "10")]
    lockout: Option<StoredLockout>,
    #[prost(uint32, tag = "11")]
    connections_max: u32,
    #[prost(uint32, tag = "12")]
    connects_per_hour_max: u32,
    #[prost(message, repeated, tag = "13")]
    roles: Vec<StoredRole>,
    #[prost(message, repeated, tag = "14")]
    default_roles: Vec<StoredUserName>,
    #[prost(message, optional, tag = "15")]
    password: Option<StoredPasswordRules>,
    #[prost(uint32, tag = "16")]
    statements_per_hour_max: u32,
    #[prost(uint32, tag = "17")]
    updates_per_hour_max: u32,
    #[prost(message, repeated, tag = "18")]
    column_grants: Vec<StoredColumnGrant>,
    #[prost(string, tag = "19")]
    attribute: String,
    #[prost(message, repeated, tag = "20")]
    proxies: Vec<StoredProxyGrant>,
    #[prost(message, repeated, tag = "21")]
    routine_grants: Vec<StoredRoutineGrant>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredRoutineGrant {
    #[prost(string, tag = "1")]
    database: String,
    #[prost(uint32, tag = "2")]
    kind: u32,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(uint64, tag = "4")]
    privileges: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredProxyGrant {
    #[prost(string, tag = "1")]
    user: String,
    #[prost(string, tag = "2")]
    host: String,
    #[prost(bool, tag = "3")]
    with_grant: bool,
    #[prost(string, tag = "4")]
    grantor: String,
    #[prost(uint64, tag = "5")]
    granted_s: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredColumnGrant {
    #[prost(string, tag = "1")]
    database: String,
    #[prost(string, tag = "2")]
    table: String,
    #[prost(string, tag = "3")]
    column: String,
    #[prost(uint64, tag = "4")]
    privileges: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredPasswordRules {
    #[prost(bool, tag = "1")]
    is_expired: bool,
    #[prost(uint64, tag = "2")]
    changed_s: u64,
    #[prost(uint32, optional, tag = "3")]
    lifetime_days: Option<u32>,
    #[prost(uint32, optional, tag = "4")]
    history: Option<u32>,
    #[prost(uint32, optional, tag = "5")]
    reuse_days: Option<u32>,
    #[prost(bool, optional, tag = "6")]
    requires_current: Option<bool>,
    #[prost(message, repeated, tag = "7")]
    former: Vec<StoredFormerPassword>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredFormerPassword {
    #[prost(uint64, tag = "1")]
    given_s: u64,
    #[prost(bytes, tag = "2")]
    authentication_string: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredRole {
    #[prost(string, tag = "1")]
    user: String,
    #[prost(string, tag = "2")]
    host: String,
    #[prost(bool, tag = "3")]
    with_admin: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredLockout {
    #[prost(uint32, tag = "1")]
    attempts: u32,
    #[prost(uint32, optional, tag = "2")]
    days: Option<u32>,
    #[prost(uint32, tag = "3")]
    unlocks: u32,
}

/// What the client's certificate must be; all empty: any that the authority has signed.
#[derive(Clone, PartialEq, prost::Message)]
struct StoredCertificateRequirement {
    #[prost(string, tag = "1")]
    subject: String,
    #[prost(string, tag = "2")]
    issuer: String,
    #[prost(string, tag = "3")]
    cipher: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredGrant {
    #[prost(string, tag = "1")]
    database: String,
    #[prost(string, tag = "2")]
    table: String,
    #[prost(uint64, tag = "3")]
    privileges: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredVariable {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

/// The whole dictionary: the changes that make it from nothing, and what changes do not tell.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StoredDictionary {
    #[prost(message, optional, tag = "1")]
    map: Option<StoredMap>,
    #[prost(message, optional, tag = "2")]
    changes: Option<StoredChanges>,
    #[prost(uint64, tag = "3")]
    pub(crate) version: u64,
    #[prost(uint32, tag = "4")]
    pub(crate) next_table_id: u32,
    /// The last record of the meta group that is in here.
    #[prost(uint64, tag = "5")]
    pub(crate) index: u64,
    #[prost(message, repeated, tag = "6")]
    sequences: Vec<StoredSequence>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StoredSequence {
    #[prost(uint32, tag = "1")]
    table: u32,
    #[prost(uint64, tag = "2")]
    value: u64,
}

fn damaged() -> Error {
    Error::unknown("a record of the dictionary is damaged or of a newer version")
}

impl StoredMap {
    pub(crate) fn of(router: &Router) -> StoredMap {
        StoredMap { partition_of_bucket: router.stored() }
    }

    pub(crate) fn router(&self) -> Result<Router> {
        Router::from_stored(&self.partition_of_bucket)
    }
}

impl StoredChanges {
    pub(crate) fn of(changes: &[Change]) -> StoredChanges {
        StoredChanges { changes: changes.iter().map(store_change).collect() }
    }

    pub(crate) fn changes(self) -> Result<Vec<Change>> {
        self.changes.into_iter().map(|change| read_change(change.kind.ok_or_else(damaged)?)).collect()
    }
}

fn store_change(change: &Change) -> StoredChange {
    let kind = match change {
        Change::PutDatabase { name, collation } => {
            let collation = collation.name().to_string();
            ChangeKind::PutDatabase(StoredDatabase { name: name.clone(), collation })
        }
        Change::DropDatabase { name } => ChangeKind::DropDatabase(name.clone()),
        Change::PutTable(schema) => ChangeKind::PutTable(schema.encode()),
        Change::DropTable(id) => ChangeKind::DropTable(id.0),
        Change::PutView(view) => ChangeKind::PutView(Box::new(store_view(view))),
        Change::DropView { database, name } => {
            ChangeKind::DropView(StoredViewName { database: database.clone(), name: name.clone() })
        }
        Change::PutProgram(program) => ChangeKind::PutProgram(Box::new(StoredProgram::of(program))),
        Change::DropProgram { database, kind, name } => ChangeKind::DropProgram(StoredProgramName {
            database: database.clone(),
            kind: *kind as u32,
            name: name.clone(),
        }),
        Change::HoldTable(id, hold) => {
            let Hold { node, token, lets_read } = *hold;
            ChangeKind::HoldTable(StoredHold { table: id.0, node: node.0, token, lets_read })
        }
        Change::FreeTable(id) => ChangeKind::FreeTable(id.0),
        Change::PutUser(user) => ChangeKind::PutUser(Box::new(store_user(user))),
        Change::DropUser { user, host } => {
            ChangeKind::DropUser(StoredUserName { user: user.clone(), host: host.clone() })
        }
        Change::PutVariable { name, value } => {
            ChangeKind::PutVariable(StoredVariable { name: name.clone(), value: value.clone() })
        }
    };
    StoredChange { kind: Some(kind) }
}

fn read_change(kind: ChangeKind) -> Result<Change> {
    Ok(match kind {
        ChangeKind::PutDatabase(database) => {
            let collation = Collation::by_name(&database.collation).ok_or_else(damaged)?;
            Change::PutDatabase { name: database.name, collation }
        }
        ChangeKind::DropDatabase(name) => Change::DropDatabase { name },
        ChangeKind::PutTable(schema) => Change::PutTable(TableSchema::decode(&schema)?),
        ChangeKind::DropTable(id) => Change::DropTable(TableId(id)),
        ChangeKind::PutView(view) => Change::PutView(Box::new(read_view(*view)?)),
        ChangeKind::DropView(StoredViewName { database, name }) => Change::DropView { database, name },
        ChangeKind::PutProgram(program) => Change::PutProgram(Box::new(program.read()?)),
        ChangeKind::DropProgram(StoredProgramName { database, kind, name }) => {
            Change::DropProgram { database, kind: ProgramKind::of(kind).ok_or_else(damaged)?, name }
        }
        ChangeKind::HoldTable(held) => {
            let StoredHold { table, node, token, lets_read } = held;
            Change::HoldTable(TableId(table), Hold { node: NodeId(node), token, lets_read })
        }
        ChangeKind::FreeTable(id) => Change::FreeTable(TableId(id)),
        ChangeKind::PutUser(user) => Change::PutUser(read_user(*user)),
        ChangeKind::DropUser(name) => Change::DropUser { user: name.user, host: name.host },
        ChangeKind::PutVariable(variable) => Change::PutVariable { name: variable.name, value: variable.value },
    })
}

fn store_view(view: &View) -> StoredView {
    let (user, host) = view.definer.clone();
    StoredView {
        database: view.database.clone(),
        name: view.name.clone(),
        names: view.names.clone(),
        query: view.query.clone(),
        context: view.context.clone(),
        definer: Some(StoredUserName { user, host }),
        is_invokers: view.is_invokers,
        algorithm: view.algorithm.clone(),
        check_option: view.check_option.clone(),
        collation: u32::from(view.collation.0),
        columns: view.schema().encode(),
    }
}

fn read_view(stored: StoredView) -> Result<View> {
    let mut columns = TableSchema::decode(&stored.columns)?.columns;
    columns.pop();
    let definer = stored.definer.unwrap_or_default();
    Ok(View {
        database: stored.database,
        name: stored.name,
        names: stored.names,
        query: stored.query,
        context: stored.context,
        definer: (definer.user, definer.host),
        is_invokers: stored.is_invokers,
        algorithm: stored.algorithm,
        check_option: stored.check_option,
        collation: Collation(stored.collation as u16),
        columns,
    })
}

fn store_user(user: &User) -> StoredUser {
    let grants = user.grants.iter().map(|(database, table, privileges)| StoredGrant {
        database: database.clone(),
        table: table.clone(),
        privileges: *privileges,
    });
    StoredUser {
        user: user.user.clone(),
        host: user.host.clone(),
        plugin: user.plugin.clone(),
        authentication_string: user.authentication_string.clone(),
        locked: user.locked,
        require_tls: user.tls != TlsRequirement::None,
        grants: grants.collect(),
        old_authentication_string: user.old_authentication_string.clone(),
        lockout: (user.lockout != Lockout::default()).then(|| {
            let Lockout { attempts, days, unlocks } = user.lockout;
            StoredLockout { attempts, days, unlocks }
        }),
        connections_max: user.connections_max,
        connects_per_hour_max: user.connects_per_hour_max,
        statements_per_hour_max: user.statements_per_hour_max,
        updates_per_hour_max: user.updates_per_hour_max,
        roles: user.roles.iter().map(store_role).collect(),
        column_grants: user.column_grants.iter().map(store_column_grant).collect(),
        default_roles: user.default_roles.iter().map(store_user_name).collect(),
        password: (user.password != PasswordRules::default()).then(|| store_password_rules(&user.password)),
        attribute: user.attribute.clone(),
        proxies: user.proxies.iter().map(store_proxy_grant).collect(),
        routine_grants: user.routine_grants.iter().map(store_routine_grant).collect(),
        certificate: match &user.tls {
            TlsRequirement::None | TlsRequirement::Any => None,
            TlsRequirement::X509 => Some(StoredCertificateRequirement::default()),
            TlsRequirement::Specified { subject, issuer, cipher } => Some(StoredCertificateRequirement {
                subject: subject.clone(),
                issuer: issuer.clone(),
                cipher: cipher.clone(),
            }),
        },
    }
}

fn store_routine_grant(grant: &RoutineGrant) -> StoredRoutineGrant {
    StoredRoutineGrant {
        database: grant.database.clone(),
        kind: grant.kind as u32,
        name: grant.name.clone(),
        privileges: grant.privileges,
    }
}

fn read_routine_grant(stored: StoredRoutineGrant) -> Option<RoutineGrant> {
    let StoredRoutineGrant { database, kind, name, privileges } = stored;
    Some(RoutineGrant { database, kind: ProgramKind::of(kind)?, name, privileges })
}

fn store_proxy_grant(grant: &ProxyGrant) -> StoredProxyGrant {
    let ProxyGrant { proxied: (user, host), with_grant, grantor, granted_s } = grant.clone();
    StoredProxyGrant { user, host, with_grant, grantor, granted_s }
}

fn read_proxy_grant(stored: StoredProxyGrant) -> ProxyGrant {
    let StoredProxyGrant { user, host, with_grant, grantor, granted_s } = stored;
    ProxyGrant { proxied: (user, host), with_grant, grantor, granted_s }
}

fn store_role(granted: &GrantedRole) -> StoredRole {
    let (user, host) = granted.role.clone();
    StoredRole { user, host, with_admin: granted.with_admin }
}

fn store_password_rules(rules: &PasswordRules) -> StoredPasswordRules {
    let PasswordRules { is_expired, changed_s, lifetime_days, history, reuse_days, requires_current, former } =
        rules;
    let store = |(given_s, hash): &(u64, Vec<u8>)| StoredFormerPassword {
        given_s: *given_s,
        authentication_string: hash.clone(),
    };
    StoredPasswordRules {
        is_expired: *is_expired,
        changed_s: *changed_s,
        lifetime_days: *lifetime_days,
        history: *history,
        reuse_days: *reuse_days,
        requires_current: *requires_current,
        former: former.iter().map(store).collect(),
    }
}

fn read_password_rules(stored: StoredPasswordRules) -> PasswordRules {
    let StoredPasswordRules {
        is_expired,
        changed_s,
        lifetime_days,
        history,
        reuse_days,
        requires_current,
        former,
    } = stored;
    let former = former.into_iter().map(|one| (one.given_s, one.authentication_string)).collect();
    PasswordRules { is_expired, changed_s, lifetime_days, history, reuse_days, requires_current, former }
}

fn store_column_grant(grant: &ColumnGrant) -> StoredColumnGrant {
    let ColumnGrant { database, table, column, privileges } = grant.clone();
    StoredColumnGrant { database, table, column, privileges }
}

fn read_column_grant(stored: StoredColumnGrant) -> ColumnGrant {
    let StoredColumnGrant { database, table, column, privileges } = stored;
    ColumnGrant { database, table, column, privileges }
}

fn read_role(stored: StoredRole) -> GrantedRole {
    GrantedRole { role: (stored.user, stored.host), with_admin: stored.with_admin }
}

fn store_user_name((user, host): &(String, String)) -> StoredUserName {
    StoredUserName { user: user.clone(), host: host.clone() }
}

fn read_user(user: StoredUser) -> User {
    User {
        user: user.user,
        host: user.host,
        plugin: user.plugin,
        authentication_string: user.authentication_string,
        locked: user.locked,
        tls: match user.certificate {
            None if user.require_tls => TlsRequirement::Any,
            None => TlsRequirement::None,
            Some(certificate) if certificate == StoredCertificateRequirement::default() => TlsRequirement::X509,
            Some(StoredCertificateRequirement { subject, issuer, cipher }) => {
                TlsRequirement::Specified { subject, issuer, cipher }
            }
        },
        old_authentication_string: user.old_authentication_string,
        lockout: user.lockout.map_or(Lockout::default(), |StoredLockout { attempts, days, unlocks }| Lockout {
            attempts,
            days,
            unlocks,
        }),
        connections_max: user.connections_max,
        connects_per_hour_max: user.connects_per_hour_max,
        statements_per_hour_max: user.statements_per_hour_max,
        updates_per_hour_max: user.updates_per_hour_max,
        grants: user.grants.into_iter().map(|grant| (grant.database, grant.table, grant.privileges)).collect(),
        roles: user.roles.into_iter().map(read_role).collect(),
        column_grants: user.column_grants.into_iter().map(read_column_grant).collect(),
        default_roles: user.default_roles.into_iter().map(|name| (name.user, name.host)).collect(),
        password: user.password.map(read_password_rules).unwrap_or_default(),
        attribute: user.attribute,
        proxies: user.proxies.into_iter().map(read_proxy_grant).collect(),
        routine_grants: user.routine_grants.into_iter().filter_map(read_routine_grant).collect(),
    }
}

impl StoredDictionary {
    /// `index`: the last record whose change is in the catalog.
    pub(crate) fn of(catalog: &Catalog, router: &Router, next_table_id: u32, index: u64) -> StoredDictionary {
        let counted = catalog.tables_by_id.values().filter(|table| table.uses_sequence);
        let sequence_of = |table: &std::sync::Arc<crate::dictionary::table::Table>| StoredSequence {
            table: table.id().0,
            value: table.next_auto_increment.bound(),
        };
        StoredDictionary {
            map: Some(StoredMap::of(router)),
            index,
            sequences: counted.map(sequence_of).collect(),
            ..StoredDictionary::snapshot(catalog, next_table_id)
        }
    }

    /// The definitions alone, as a cluster's nodes tell them each other: its sequences are rows.
    pub(crate) fn snapshot(catalog: &Catalog, next_table_id: u32) -> StoredDictionary {
        let databases = catalog
            .databases
            .values()
            .map(|database| Change::PutDatabase { name: database.name.clone(), collation: database.collation });
        let mut tables: Vec<_> = catalog.tables_by_id.values().collect();
        tables.sort_unstable_by_key(|table| table.id());
        let tables = tables.iter().map(|table| Change::PutTable(table.schema.clone()));
        let held = catalog.held.iter().map(|(&table, &hold)| Change::HoldTable(table, hold));
        let users = catalog.users.values().map(|user| Change::PutUser(user.as_ref().clone()));
        let variables = catalog
            .variables
            .iter()
            .map(|(name, value)| Change::PutVariable { name: name.clone(), value: Some(value.clone()) });
        let views = catalog.databases.values().flat_map(|database| database.views.values());
        let views = views.map(|view| Change::PutView(Box::new(View::clone(view))));
        let programs = catalog.databases.values().flat_map(|database| database.programs.all());
        let programs = programs.map(|program| Change::PutProgram(Box::new(Program::clone(program))));
        let databases = databases.chain(views).chain(programs);
        let changes: Vec<Change> = databases.chain(tables).chain(held).chain(users).chain(variables).collect();
        StoredDictionary {
            changes: Some(StoredChanges::of(&changes)),
            version: catalog.version,
            next_table_id,
            ..StoredDictionary::default()
        }
    }

    /// The changes that make the definitions out of nothing.
    pub(crate) fn take_changes(&mut self) -> Result<Vec<Change>> {
        self.changes.take().unwrap_or_default().changes()
    }

    pub(crate) fn router(&self) -> Result<Router> {
        self.map.as_ref().ok_or_else(damaged)?.router()
    }

    pub(crate) fn catalog(&mut self) -> Result<Catalog> {
        let mut catalog = Catalog { version: self.version, ..Catalog::default() };
        for change in self.take_changes()? {
            catalog.apply(&change)?;
        }
        for sequence in &self.sequences {
            restore_sequence(&catalog, TableId(sequence.table), sequence.value);
        }
        Ok(catalog)
    }
}

/// The log's bound may be older than the counter that a definition has set.
fn restore_sequence(catalog: &Catalog, table: TableId, value: u64) {
    if let Some(table) = catalog.tables_by_id.get(&table)
        && value > 0
    {
        table.next_auto_increment.restore(value.max(table.schema.options.auto_increment));
    }
}

/// Takes a sequence's record in. Records of tables that are gone are void.
pub(crate) fn apply_sequence_record(catalog: &Catalog, payload: &[u8]) -> Result<()> {
    let (table, rest) = payload.split_first_chunk::<4>().ok_or_else(damaged)?;
    let value = rest.first_chunk::<8>().ok_or_else(damaged)?;
    restore_sequence(catalog, TableId(u32::from_le_bytes(*table)), u64::from_le_bytes(*value));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn changes_come_back_as_they_were_stored() {
        let user = User {
            user: "u".into(),
            host: "%".into(),
            plugin: "caching_sha2_password".into(),
            authentication_string: vec![0, 255],
            grants: vec![("d".into(), String::new(), 7)],
            ..User::default()
        };
        let changes = [
            Change::PutDatabase { name: "d".into(), collation: Collation::UTF8MB4_0900_AI_CI },
            Change::DropDatabase { name: "e".into() },
            Change::DropTable(TableId(9)),
            Change::HoldTable(TableId(9), Hold { node: NodeId(2), token: u64::MAX, lets_read: true }),
            Change::FreeTable(TableId(9)),
            Change::PutUser(User {
                old_authentication_string: vec![7],
                lockout: Lockout { attempts: 3, days: None, unlocks: 2 },
                connections_max: 5,
                connects_per_hour_max: 6,
                statements_per_hour_max: 7,
                updates_per_hour_max: 8,
                column_grants: vec![ColumnGrant {
                    database: "d".into(),
                    table: "t".into(),
                    column: "c".into(),
                    privileges: 5,
                }],
                roles: vec![GrantedRole { role: ("r".into(), "h".into()), with_admin: true }],
                default_roles: vec![("r".into(), "h".into())],
                password: PasswordRules {
                    is_expired: true,
                    changed_s: 7,
                    lifetime_days: Some(0),
                    history: Some(2),
                    reuse_days: None,
                    requires_current: Some(false),
                    former: vec![(7, vec![1]), (6, vec![2])],
                },
                attribute: r#"{"comment": "of the shop"}"#.into(),
                routine_grants: vec![RoutineGrant {
                    database: "d".into(),
                    kind: ProgramKind::Function,
                    name: "f".into(),
                    privileges: 1 << 18,
                }],
                proxies: vec![ProxyGrant {
                    proxied: ("p".into(), "h".into()),
                    with_grant: true,
                    grantor: "g@h".into(),
                    granted_s: 9,
                }],
                ..user.clone()
            }),
            Change::PutUser(User { tls: TlsRequirement::Any, ..user.clone() }),
            Change::PutUser(User { tls: TlsRequirement::X509, ..user.clone() }),
            Change::PutUser(User {
                tls: TlsRequirement::Specified { subject: "s".into(), issuer: "i".into(), cipher: "c".into() },
                ..user.clone()
            }),
            Change::PutUser(user),
            Change::DropUser { user: "u".into(), host: "h".into() },
            Change::PutVariable { name: "v".into(), value: None },
        ];
        let bytes = StoredChanges::of(&changes).encode_to_vec();
        let read = StoredChanges::decode(bytes.as_slice()).unwrap().changes().unwrap();
        assert_eq!(format!("{read:?}"), format!("{changes:?}"));
    }
}
