//! What a reader of virtual tables may see: the rules of SHOW DATABASES and SHOW TABLES.

use std::sync::Arc;

use shoal_cluster::{Catalog, Database, Table, User};
use shoal_types::Collation;

use crate::account::access::Access;
use crate::account::{Level, Privileges};

/// The dictionary through the eyes of one account and its active roles.
pub(crate) struct Viewer {
    pub catalog: Arc<Catalog>,
    account: Option<Arc<User>>,
    global: Privileges,
}

impl Viewer {
    pub fn new(catalog: Arc<Catalog>, access: &Access) -> Viewer {
        let account = access.user(&catalog);
        let grants = account.iter().flat_map(|account| account.grants.iter());
        let global = grants
            .filter(|(database, ..)| database.is_empty())
            .fold(Privileges::NONE, |set, (.., bits)| set.with(Privileges(*bits)));
        Viewer { catalog, account, global }
    }

    pub fn is_global(&self, one_of: Privileges) -> bool {
        self.global.intersects(one_of)
    }

    /// Some privilege of the account's for the database as a whole.
    fn on_database(&self, name: &str) -> Privileges {
        let matches = |pattern: &str| {
            pattern == name || Collation::UTF8MB4_BIN.like(name.as_bytes(), pattern.as_bytes(), Some('\\'))
        };
        let grants = self.account.iter().flat_map(|account| account.grants.iter());
        grants
            .filter(|(database, table, _)| !database.is_empty() && table.is_empty() && matches(database))
            .fold(self.global, |set, (.., bits)| set.with(Privileges(*bits)))
    }

    pub fn sees_database(&self, name: &str) -> bool {
        let shows = Privileges::all_at(Level::Database).with(Privileges::SHOW_DATABASES);
        let on_tables = || {
            let mut grants = self.account.iter().flat_map(|account| account.grants.iter());
            grants.any(|(database, _, bits)| database == name && *bits != 0)
        };
        self.on_database(name).intersects(shows) || on_tables()
    }

    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        let mut grants = self.account.iter().flat_map(|account| account.grants.iter());
        self.on_database(database).intersects(Privileges::all_at(Level::Table))
            || grants.any(|(known, name, bits)| known == database && name == table && *bits != 0)
    }

    /// Databases in sight, in the order of their names.
    pub fn databases(&self) -> impl Iterator<Item = &Arc<Database>> {
        self.catalog.databases.values().filter(|database| self.sees_database(&database.name))
    }

    /// Base tables in sight, databases together.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.catalog.databases.values().flat_map(|database| database.tables.values()).filter(|table| {
            let schema = &table.schema;
            self.sees_table(&schema.database, &schema.name)
        })
    }
}
