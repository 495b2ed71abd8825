//! The dictionary: databases, tables, users. Immutable snapshots; every change makes the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use shoal_types::schema::{HIDDEN_KEY_COLUMN, TableOptions};
use shoal_types::{
    Collation, Column, Error, ErrorCode, Index, IndexId, IndexMethod, NodeId, Result, SqlType, TableId,
    TableSchema,
};

use crate::dictionary::program::{Program, ProgramKind, Programs};
use crate::dictionary::sequence::Sequence;
use crate::dictionary::table::Table;
use crate::dictionary::table_map::{ById, ByName, TableMap};

/// One version of the whole dictionary.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Raised by every change.
    pub version: u64,
    /// By name.
    pub databases: BTreeMap<String, Arc<Database>>,
    /// Hidden tables too.
    pub tables_by_id: TableMap<ById>,
    /// By (user, host).
    pub users: BTreeMap<(String, String), Arc<User>>,
    /// Global system variables that were set with SET PERSIST.
    pub variables: BTreeMap<String, String>,
    /// Tables that nobody uses but the definition that has them; see `holds`.
    pub held: BTreeMap<TableId, Hold>,
    /// For each parent of a foreign key, by database and name, its children.
    pub(crate) references: Arc<BTreeMap<(String, String), BTreeSet<TableId>>>,
    /// The version that this one was made from, if it was not made out of nothing.
    pub(crate) based_on: Option<u64>,
    /// What is shared, if this is that with the temporary tables of a session over it; see `temporary`.
    pub(crate) beneath: Option<Arc<Catalog>>,
    /// Tables that came, went or changed since then; some of them more than once.
    pub(crate) touched: Vec<TableId>,
}

/// A database (schema) and its tables.
#[derive(Clone, Debug)]
pub struct Database {
    /// Names of databases are case-sensitive.
    pub name: String,
    /// The default of tables that name none.
    pub collation: Collation,
    /// Hidden tables of unique indexes are not in here, only in `tables_by_id`.
    pub tables: TableMap<ByName>,
    /// By name; no table has the name of one.
    pub views: BTreeMap<String, Arc<View>>,
    /// Stored programs.
    pub programs: Programs,
}

/// A query with a name, which is resolved where it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Of the view, by its name.
    pub database: String,
    /// Without the database.
    pub name: String,
    /// Names of its columns; empty: those of the query.
    pub names: Vec<String>,
    /// The text of the query.
    pub query: String,
    /// The database that its unqualified names mean; empty: there was none.
    pub context: String,
    /// The account whose privileges count.
    pub definer: (String, String),
    /// SQL SECURITY INVOKER: the privileges of whoever uses it count instead.
    pub is_invokers: bool,
    /// ALGORITHM.
    pub algorithm: String,
    /// WITH CHECK OPTION: CASCADED or LOCAL; empty: without.
    pub check_option: String,
    /// Of the session that made it, for tools.
    pub collation: Collation,
    /// Its columns as they were when it was made.
    pub columns: Vec<Column>,
}

/// An account with its privileges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct User {
    /// Empty: the anonymous account.
    pub user: String,
    /// A pattern with `%` and `_`, or an address.
    pub host: String,
    /// `caching_sha2_password` or `mysql_native_password`.
    pub plugin: String,
    /// As the plugin keeps passwords; empty: no password.
    pub authentication_string: Vec<u8>,
    /// ACCOUNT LOCK: nobody gets in.
    pub locked: bool,
    /// REQUIRE.
    pub tls: TlsRequirement,
    /// The password before this one, which is good as well (RETAIN CURRENT PASSWORD); empty: there is none.
    pub old_authentication_string: Vec<u8>,
    /// What too many wrong passwords do.
    pub lockout: Lockout,
    /// Connections at a time, and connects in an hour, at each node; 0: no limit of the account's own.
    pub connections_max: u32,
    /// MAX_CONNECTIONS_PER_HOUR.
    pub connects_per_hour_max: u32,
    /// MAX_QUERIES_PER_HOUR.
    pub statements_per_hour_max: u32,
    /// MAX_UPDATES_PER_HOUR.
    pub updates_per_hour_max: u32,
    /// (database or empty for all, table or empty for all, privilege bits), see the SQL layer.
    pub grants: Vec<(String, String, u64)>,
    /// Privileges on columns, beside those on their tables.
    pub column_grants: Vec<ColumnGrant>,
    /// In the order of their names.
    pub roles: Vec<GrantedRole>,
    /// Roles (user, host) that sessions begin with, in the order of their names.
    pub default_roles: Vec<(String, String)>,
    /// When the password must change, and to what.
    pub password: PasswordRules,
    /// COMMENT and ATTRIBUTE: a JSON object's text; empty: there is none.
    pub attribute: String,
    /// Accounts that its clients may be treated as, in the order in which they were granted.
    pub proxies: Vec<ProxyGrant>,
    /// Privileges on routines, beside those on their databases.
    pub routine_grants: Vec<RoutineGrant>,
}

/// GRANT PROXY: that clients of an account may be treated as another account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyGrant {
    /// User and host of that other account, which need not be there; both empty: any account.
    pub proxied: (String, String),
    /// WITH GRANT OPTION.
    pub with_grant: bool,
    /// Who has granted it; empty: nobody, it came with the data directory.
    pub grantor: String,
    /// Seconds since 1970; 0: at the beginning.
    pub granted_s: u64,
}

/// When an account's password must change, and to what. `None`: as the variable of the same name says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasswordRules {
    /// PASSWORD EXPIRE: it must be changed before anything else is done.
    pub is_expired: bool,
    /// Seconds since 1970 when it was given; 0: before that was kept.
    pub changed_s: u64,
    /// PASSWORD EXPIRE INTERVAL; 0: NEVER.
    pub lifetime_days: Option<u32>,
    /// PASSWORD HISTORY: how many passwords before are not good any more.
    pub history: Option<u32>,
    /// PASSWORD REUSE INTERVAL: how long passwords before are not.
    pub reuse_days: Option<u32>,
    /// PASSWORD REQUIRE CURRENT: whoever changes it names the one before.
    pub requires_current: Option<bool>,
    /// Passwords that may not come again, with this one, newest first: when they were given (as `changed_s`), and as the plugin keeps them.
    pub former: Vec<(u64, Vec<u8>)>,
}

/// What an account may do with a column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnGrant {
    /// Without patterns.
    pub database: String,
    /// Without patterns.
    pub table: String,
    /// In the case in which it was granted.
    pub column: String,
    /// Privilege bits, see the SQL layer.
    pub privileges: u64,
}

/// What an account may do with a procedure or function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutineGrant {
    /// Without patterns.
    pub database: String,
    /// `Procedure` or `Function`.
    pub kind: ProgramKind,
    /// Compared without case.
    pub name: String,
    /// Privilege bits, see the SQL layer.
    pub privileges: u64,
}

/// A role that an account has been given. Roles are accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedRole {
    /// Name and host.
    pub role: (String, String),
    /// WITH ADMIN OPTION: the account may grant it to others.
    pub with_admin: bool,
}

/// What an account insists on before its clients are let in: REQUIRE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TlsRequirement {
    /// REQUIRE NONE: TLS is not needed.
    #[default]
    None,
    /// REQUIRE SSL.
    Any,
    /// A certificate of the client's that the server's authority has signed.
    X509,
    /// Such a certificate with these names, in OpenSSL's form, and this cipher; what is empty is not asked for.
    Specified {
        /// Whose certificate it is.
        subject: String,
        /// Who has signed it.
        issuer: String,
        /// Name of the cipher suite.
        cipher: String,
    },
}

/// When wrong passwords lock an account: FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME. Both must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lockout {
    /// Wrong passwords in a row; 0: they lock nothing.
    pub attempts: u32,
    /// For how long; `None`: until somebody unlocks it.
    pub days: Option<u32>,
    /// Rises with every statement that unlocks the account.
    pub unlocks: u32,
}

impl Default for Lockout {
    fn default() -> Lockout {
        Lockout { attempts: 0, days: Some(0), unlocks: 0 }
    }
}

impl Lockout {
    /// Wrong passwords can lock the account.
    pub fn is_on(self) -> bool {
        self.attempts > 0 && self.days != Some(0)
    }
}

/// Which definition has a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    pub node: NodeId,
    /// No other definition of that node has had it.
    pub token: u64,
    /// Others may read the table meanwhile.
    pub lets_read: bool,
}

/// One step of a dictionary change; a DDL statement is a list of them that takes effect as one.
#[derive(Clone, Debug)]
pub enum Change {
    /// Creates the database, or changes its defaults.
    PutDatabase {
        /// Without quotes.
        name: String,
        /// The default of its tables.
        collation: Collation,
    },
    /// Creates the view, or puts this in its place.
    PutView(Box<View>),
    /// Drops the view.
    DropView {
        /// Of the view.
        database: String,
        /// Without the database.
        name: String,
    },
    /// Creates the stored program, or puts this in its place.
    PutProgram(Box<Program>),
    /// Drops the stored program.
    DropProgram {
        /// Of the program.
        database: String,
        /// Programs of different kinds may have one name.
        kind: ProgramKind,
        /// Without the database, in any case.
        name: String,
    },
    /// Drops the database with its tables, views and stored programs.
    DropDatabase {
        /// Without quotes.
        name: String,
    },
    /// Creates the table and its fragments, or replaces the definition of the table with this id. What the fragments must do for
    /// that, as building or dropping indexes, follows from the difference between the two definitions.
    PutTable(TableSchema),
    /// Drops the table with its rows.
    DropTable(TableId),
    /// Nobody uses the table but this definition, until the table is put anew, dropped or freed.
    HoldTable(TableId, Hold),
    /// The reverse of `HoldTable`.
    FreeTable(TableId),
    /// Creates the account, or puts this in its place.
    PutUser(User),
    /// Drops the account.
    DropUser {
        /// As in [`User`].
        user: String,
        /// As in [`User`].
        host: String,
    },
    /// Global system variables that were set with SET PERSIST.
    PutVariable {
        /// In lower case.
        name: String,
        /// `None`: not set any more.
        value: Option<String>,
    },
}

impl View {
    /// Its columns as those of a table, with a hidden key behind them.
    pub fn schema(&self) -> TableSchema {
        let mut columns = self.columns.clone();
        let key = columns.len();
        columns.push(Column { hidden: true, ..Column::new(HIDDEN_KEY_COLUMN, SqlType::bigint(true)) });
        TableSchema {
            id: TableId(0),
            version: 0,
            database: self.database.clone(),
            name: self.name.clone(),
            columns,
            indexes: vec![Index::new(IndexId(0), "PRIMARY", &[key], true, IndexMethod::BTree)],
            partition_columns: vec![key],
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            past_rows: Vec::new(),
            options: TableOptions::new("", self.collation),
        }
    }
}

impl Catalog {
    /// By its name, in the case in which it was created.
    pub fn database(&self, name: &str) -> Option<&Arc<Database>> {
        self.databases.get(name)
    }

    /// By names. Hidden tables are not found.
    pub fn table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        self.databases.get(database)?.tables.get(name)
    }

    /// By names.
    pub fn view(&self, database: &str, name: &str) -> Option<&Arc<View>> {
        self.databases.get(database)?.views.get(name)
    }

    /// By names; those of programs are compared without case.
    pub fn program(&self, database: &str, kind: ProgramKind, name: &str) -> Option<&Arc<Program>> {
        self.databases.get(database)?.programs.get(kind, name)
    }

    /// The triggers of a table, in the order in which they run.
    pub fn triggers(&self, database: &str, table: &str) -> &[Arc<Program>] {
        self.databases.get(database).map_or(&[], |database| database.programs.of_table(table))
    }

    /// The tables with foreign keys to this one, which need not be there.
    pub fn children_of(&self, database: &str, name: &str) -> Vec<&Arc<Table>> {
        if self.references.is_empty() {
            return Vec::new();
        }
        let children = self.references.get(&(database.to_owned(), name.to_owned()));
        children.into_iter().flatten().filter_map(|id| self.tables_by_id.get(id)).collect()
    }

    /// Hidden tables too.
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<Table>> {
        self.tables_by_id.get(&id)
    }

    /// The same definitions, for the changes that make another version of them.
    pub(crate) fn successor(&self) -> Catalog {
        let mut next = self.clone();
        next.based_on = Some(self.version);
        next.touched.clear();
        next
    }

    /// The tables that may not be the same in `old`: all, unless this version was made from that one.
    pub(crate) fn touched_since(&self, old: &Catalog) -> Vec<TableId> {
        let mut touched = match self.based_on == Some(old.version) {
            true => self.touched.clone(),
            false => self.tables_by_id.keys().chain(old.tables_by_id.keys()).copied().collect(),
        };
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// Makes one change of the definitions. Errors: a database that is not there.
    pub(crate) fn apply(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::PutDatabase { name, collation } => self.put_database(name, *collation),
            Change::DropDatabase { name } => {
                let tables = self.databases.get(name).map(|old| old.tables.clone()).unwrap_or_default();
                for table in tables.values() {
                    self.drop_table(table.id());
                }
                self.databases.remove(name);
            }
            Change::PutTable(schema) => self.put_table(schema.clone())?,
            Change::PutView(view) => {
                let database =
                    self.databases.get_mut(&view.database).ok_or_else(|| no_database(&view.database))?;
                Arc::make_mut(database).views.insert(view.name.clone(), Arc::new(View::clone(view)));
            }
            Change::DropView { database, name } => {
                if let Some(database) = self.databases.get_mut(database) {
                    Arc::make_mut(database).views.remove(name);
                }
            }
            Change::PutProgram(program) => {
                let database =
                    self.databases.get_mut(&program.database).ok_or_else(|| no_database(&program.database))?;
                Arc::make_mut(database).programs.put(Arc::new(Program::clone(program)));
            }
            Change::DropProgram { database, kind, name } => {
                if let Some(database) = self.databases.get_mut(database) {
                    Arc::make_mut(database).programs.remove(*kind, name);
                }
            }
            Change::DropTable(id) => self.drop_table(*id),
            Change::HoldTable(id, hold) => {
                self.held.insert(*id, *hold);
            }
            Change::FreeTable(id) => {
                self.held.remove(id);
            }
            Change::PutUser(user) => {
                self.users.insert((user.user.clone(), user.host.clone()), Arc::new(user.clone()));
            }
            Change::DropUser { user, host } => {
                self.users.remove(&(user.clone(), host.clone()));
            }
            Change::PutVariable { name, value: Some(value) } => {
                self.variables.insert(name.clone(), value.clone());
            }
            Change::PutVariable { name, value: None } => {
                self.variables.remove(name);
            }
        }
        Ok(())
    }

    fn put_database(&mut self, name: &str, collation: Collation) {
        let old = self.databases.get(name);
        let tables = old.map(|old| old.tables.clone()).unwrap_or_default();
        let views = old.map(|old| old.views.clone()).unwrap_or_default();
        let programs = old.map(|old| old.programs.clone()).unwrap_or_default();
        let database = Database { name: name.to_string(), collation, tables, views, programs };
        self.databases.insert(name.to_string(), Arc::new(database));
    }

    /// The catalog of a later version, which these changes make out of nothing. Tables that are in both keep their counters and
    /// locks, and those that are the same stay what they are.
    pub(crate) fn succeeded_by(&self, version: u64, changes: &[Change]) -> Result<Catalog> {
        let mut next = Catalog { version, ..Catalog::default() };
        for change in changes {
            match change {
                Change::PutTable(schema) => {
                    let old = self.tables_by_id.get(&schema.id).cloned();
                    next.put_table_after(schema.clone(), old)?;
                }
                other => next.apply(other)?,
            }
        }
        Ok(next)
    }

    fn put_table(&mut self, schema: TableSchema) -> Result<()> {
        let old = self.tables_by_id.get(&schema.id).cloned();
        self.put_table_after(schema, old)
    }

    /// Triggers come and go with a new version of their table, before it.
    fn has_triggers(&self, schema: &TableSchema) -> bool {
        !self.triggers(&schema.database, &schema.name).is_empty()
    }

    /// `old`: the version before it.
    fn put_table_after(&mut self, schema: TableSchema, old: Option<Arc<Table>>) -> Result<()> {
        let kept = |id: &TableId| schema.indexes.iter().any(|index| index.unique_table == Some(*id));
        for id in old.iter().flat_map(|old| hidden_tables(old)).filter(|id| !kept(id)) {
            self.remove_table(id);
        }
        self.remove_table(schema.id);
        let table = match old {
            Some(old) if old.schema == schema => old,
            Some(old) => {
                let mut next = old.next_version(schema);
                next.has_row_rules |= self.has_triggers(&next.schema);
                next.next_auto_increment.fetch_max(next.schema.options.auto_increment, Ordering::Relaxed);
                Arc::new(next)
            }
            None => {
                let first = schema.options.auto_increment.max(1);
                let mut next = Table::new(schema, Arc::new(Sequence::new(first)));
                next.has_row_rules |= self.has_triggers(&next.schema);
                Arc::new(next)
            }
        };
        let schema = &table.schema;
        if !schema.database.is_empty() {
            let database =
                self.databases.get_mut(&schema.database).ok_or_else(|| no_database(&schema.database))?;
            Arc::make_mut(database).tables.insert(Arc::clone(&table));
        }
        self.touch(table.id());
        if !schema.database.is_empty() && !schema.foreign_keys.is_empty() {
            let references = Arc::make_mut(&mut self.references);
            for key in &schema.foreign_keys {
                references.entry(key.parent.clone()).or_default().insert(schema.id);
            }
        }
        self.tables_by_id.insert(table);
        Ok(())
    }

    /// Removes a table and the hidden tables of its unique indexes.
    fn drop_table(&mut self, id: TableId) {
        let hidden: Vec<TableId> =
            self.tables_by_id.get(&id).map(|table| hidden_tables(table).collect()).unwrap_or_default();
        for id in hidden.into_iter().chain([id]) {
            self.remove_table(id);
        }
    }

    fn touch(&mut self, id: TableId) {
        if self.based_on.is_some() {
            self.touched.push(id);
        }
    }

    fn remove_table(&mut self, id: TableId) {
        self.held.remove(&id);
        let Some(table) = self.tables_by_id.remove(&id) else { return };
        self.touch(id);
        self.forget_references(&table.schema);
        if let Some(database) = self.databases.get_mut(&table.schema.database)
            && database.tables.get(table.name()).is_some_and(|named| named.id() == id)
        {
            Arc::make_mut(database).tables.remove(table.name());
        }
    }

    fn forget_references(&mut self, child: &TableSchema) {
        if child.foreign_keys.is_empty() {
            return;
        }
        let references = Arc::make_mut(&mut self.references);
        for key in &child.foreign_keys {
            if let Some(children) = references.get_mut(&key.parent) {
                children.remove(&child.id);
                if children.is_empty() {
                    references.remove(&key.parent);
                }
            }
        }
    }
}

fn no_database(name: &str) -> Error {
    Error::new(ErrorCode::BadDb, format!("Unknown database '{name}'"))
}

fn hidden_tables(table: &Table) -> impl Iterator<Item = TableId> + '_ {
    table.schema.indexes.iter().filter_map(|index| index.unique_table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::meta_rows::changes_schema;

    fn put(id: u32, database: &str) -> Change {
        let mut schema = changes_schema();
        (schema.id, schema.name, schema.database) = (TableId(id), format!("t{id}"), database.into());
        Change::PutTable(schema)
    }

    #[test]
    fn a_version_tells_which_tables_it_has_changed_and_of_another_one_all() {
        let mut first = Catalog { version: 7, ..Catalog::default() };
        first.apply(&Change::PutDatabase { name: "d".into(), collation: Collation::UTF8MB4_0900_AI_CI }).unwrap();
        (1..=1000).for_each(|id| first.apply(&put(id, "d")).unwrap());
        let mut next = first.successor();
        next.version = 8;
        next.apply(&Change::DropTable(TableId(5))).unwrap();
        next.apply(&put(6, "d")).unwrap();
        next.apply(&put(2000, "d")).unwrap();
        assert_eq!(next.touched_since(&first), [5, 6, 2000].map(TableId));
        assert_eq!(next.successor().touched_since(&next), []);
        assert_eq!(next.touched_since(&Catalog::default()).len(), 1000);
        assert!(first.table("d", "t5").is_some() && next.table("d", "t5").is_none());
        assert!(first.table_by_id(TableId(2000)).is_none() && next.table("d", "t2000").is_some());
    }
}
