//! What a reader of virtual tables may see: the rules of SHOW DATABASES and SHOW TABLES.

use std::sync::Arc;

use shoal_cluster::{Catalog, Database, Program, Table, User, View};
use shoal_types::Collation;

use crate::account::access::Access;
use crate::account::{Level, Privileges, on_column, on_routine, on_table};
use crate::variables::SessionVariables;

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

    /// One of these privileges in a database.
    pub fn may_use_database(&self, name: &str, one_of: Privileges) -> bool {
        self.on_database(name).intersects(one_of)
    }

    /// One of these privileges on a table.
    pub fn may_use_table(&self, database: &str, table: &str, one_of: Privileges) -> bool {
        let account = self.account.as_ref();
        self.may_use_database(database, one_of)
            || account.is_some_and(|account| on_table(account, database, table).intersects(one_of))
    }

    /// One of these privileges on a routine.
    pub fn may_use_routine(&self, program: &Program, one_of: Privileges) -> bool {
        self.account.as_ref().is_some_and(|account| on_routine(account, program).intersects(one_of))
    }

    /// It is the account of this name.
    pub fn is_account(&self, (user, host): &(String, String)) -> bool {
        self.account.as_ref().is_some_and(|account| account.user == *user && account.host == *host)
    }

    pub fn sees_database(&self, name: &str) -> bool {
        let shows = Privileges::all_at(Level::Database).with(Privileges::SHOW_DATABASES);
        let on_tables = || {
            let mut grants = self.account.iter().flat_map(|account| account.grants.iter());
            let mut columns = self.account.iter().flat_map(|account| account.column_grants.iter());
            grants.any(|(database, _, bits)| database == name && *bits != 0)
                || columns.any(|grant| grant.database == name)
        };
        self.on_database(name).intersects(shows) || on_tables()
    }

    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        let mut grants = self.account.iter().flat_map(|account| account.grants.iter());
        self.on_database(database).intersects(Privileges::all_at(Level::Table))
            || grants.any(|(known, name, bits)| known == database && name == table && *bits != 0)
            || self
                .account
                .iter()
                .flat_map(|account| account.column_grants.iter())
                .any(|grant| grant.database == database && grant.table == table)
    }

    /// What the account may do with each column of a table, in the words of `COLUMNS.PRIVILEGES`; `None`: it does not see that one.
    pub fn columns<'v>(&'v self, table: &'v Table) -> impl Fn(&str) -> Option<String> + 'v {
        let (database, name) = (table.schema.database.as_str(), table.schema.name.as_str());
        let grants = self.account.iter().flat_map(|account| account.grants.iter());
        let of_table = grants
            .filter(|(known, table, _)| known == database && table == name)
            .fold(self.on_database(database), |set, (.., bits)| set.with(Privileges(*bits)));
        // Whoever has made a temporary table may do anything with it.
        let of_table = if table.is_temporary { Privileges::all_at(Level::Table) } else { of_table };
        let sees_all = of_table.intersects(Privileges::all_at(Level::Table));
        move |column| {
            let own =
                self.account.as_ref().map_or(Privileges::NONE, |user| on_column(user, database, name, column));
            let names = of_table.with(own).names(false);
            let shown = names.into_iter().filter(|name| {
                Privileges::by_name(name, Level::Table).is_ok_and(|one| Privileges::ON_COLUMNS.contains(one))
            });
            (sees_all || !own.is_empty()).then(|| shown.collect::<Vec<_>>().join(",").to_lowercase())
        }
    }

    /// Databases in sight, in the order of their names.
    pub fn databases(&self) -> impl Iterator<Item = &Arc<Database>> {
        self.catalog.databases.values().filter(|database| self.sees_database(&database.name))
    }

    /// Views in sight, databases together.
    pub fn views(&self) -> impl Iterator<Item = &Arc<View>> {
        let views = self.catalog.databases.values().flat_map(|database| database.views.values());
        views.filter(|view| self.sees_table(&view.database, &view.name))
    }

    /// Base tables in sight, databases together.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.catalog.databases.values().flat_map(|database| database.tables.values()).filter(|table| {
            let schema = &table.schema;
            self.sees_table(&schema.database, &schema.name)
        })
    }
}

/// show_gipk_in_create_table_and_information_schema.
pub(crate) fn shows_generated_keys(variables: &SessionVariables) -> bool {
    variables.is_on("show_gipk_in_create_table_and_information_schema")
}
