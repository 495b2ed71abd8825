//! Databases and tables by their names: which databases are the system's own, and what is said of names that nothing has.

use shoal_cluster::Catalog;
use shoal_types::{Error, ErrorCode, Result};

/// Databases that exist without being in the dictionary.
const SYSTEM_DATABASES: &[&str] = &["information_schema", "performance_schema", "mysql", "ndbinfo", "sys"];

/// Whether the database is one of the system's own, which statements cannot change.
pub fn is_system(name: &str) -> bool {
    SYSTEM_DATABASES.iter().any(|system| system.eq_ignore_ascii_case(name))
}

/// Errors: 1049.
pub fn check_exists(catalog: &Catalog, name: &str) -> Result<()> {
    if is_system(name) || catalog.database(name).is_some() {
        return Ok(());
    }
    Err(no_such_database(name))
}

pub fn no_such_database(name: &str) -> Error {
    Error::new(ErrorCode::BadDb, format!("Unknown database '{name}'"))
}

pub fn no_such_table(database: &str, name: &str) -> Error {
    Error::new(ErrorCode::NoSuchTable, format!("Table '{database}.{name}' doesn't exist"))
}
