//! The dictionary: databases, tables, users. Immutable snapshots; every change makes the next one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use shoal_types::{Collation, TableId, TableSchema};

use crate::table::Table;

/// One version of the whole dictionary.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Raised by every change.
    pub version: u64,
    pub databases: BTreeMap<String, Arc<Database>>,
    pub tables_by_id: HashMap<TableId, Arc<Table>>,
    /// By (user, host).
    pub users: BTreeMap<(String, String), Arc<User>>,
}

#[derive(Clone, Debug)]
pub struct Database {
    pub name: String,
    pub collation: Collation,
    /// Hidden tables of unique indexes are not in here, only in `tables_by_id`.
    pub tables: BTreeMap<String, Arc<Table>>,
}

/// An account with its privileges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct User {
    pub user: String,
    pub host: String,
    pub plugin: String,
    pub authentication_string: Vec<u8>,
    pub locked: bool,
    pub require_tls: bool,
    /// (database or empty for all, table or empty for all, privilege bits), see the SQL layer.
    pub grants: Vec<(String, String, u64)>,
}

/// One step of a dictionary change; a DDL statement is a list of them that takes effect as one.
#[derive(Clone, Debug)]
pub enum Change {
    PutDatabase {
        name: String,
        collation: Collation,
    },
    DropDatabase {
        name: String,
    },
    /// Creates the table and its fragments, or replaces the definition of the table with this id. `rewrite` tells
    /// what the fragments must do besides taking the schema (indexes added or dropped are derived from the change).
    PutTable(TableSchema),
    DropTable(TableId),
    PutUser(User),
    DropUser {
        user: String,
        host: String,
    },
    /// Global system variables that were set with SET PERSIST.
    PutVariable {
        name: String,
        value: Option<String>,
    },
}

impl Catalog {
    pub fn database(&self, name: &str) -> Option<&Arc<Database>> {
        self.databases.get(name)
    }

    pub fn table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        self.databases.get(database)?.tables.get(name)
    }
}
