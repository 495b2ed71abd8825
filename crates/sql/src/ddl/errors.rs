//! What definitions of tables are refused with: numbers, states and texts of MySQL 8.4.

use shoal_types::{Error, ErrorCode};

pub fn table_exists(name: &str) -> Error {
    Error::new(ErrorCode::TableExists, format!("Table '{name}' already exists"))
}

pub fn not_unique(name: &str) -> Error {
    Error::new(ErrorCode::NonUniqTable, format!("Not unique table/alias: '{name}'"))
}

/// `names` are qualified: `db.t,db.u`.
pub fn unknown_tables(names: &str) -> Error {
    Error::new(ErrorCode::BadTable, format!("Unknown table '{names}'"))
}

/// A column that ALTER TABLE names and the table does not have.
pub fn no_such_column(column: &str, table: &str) -> Error {
    Error::new(ErrorCode::BadField, format!("Unknown column '{column}' in '{table}'"))
}

pub fn duplicate_column(name: &str) -> Error {
    Error::new(ErrorCode::DupFieldName, format!("Duplicate column name '{name}'"))
}

pub fn duplicate_key(name: &str) -> Error {
    Error::new(ErrorCode::DupKeyName, format!("Duplicate key name '{name}'"))
}

pub fn cannot_drop(name: &str) -> Error {
    Error::new(ErrorCode::CantDropFieldOrKey, format!("Can't DROP '{name}'; check that column/key exists"))
}

pub fn no_such_key(name: &str, table: &str) -> Error {
    Error::new(ErrorCode::KeyDoesNotExist, format!("Key '{name}' doesn't exist in table '{table}'"))
}

pub fn invalid_default(column: &str) -> Error {
    Error::new(ErrorCode::InvalidDefault, format!("Invalid default value for '{column}'"))
}

pub fn wrong_specifier(column: &str) -> Error {
    Error::new(ErrorCode::WrongFieldSpec, format!("Incorrect column specifier for column '{column}'"))
}

pub fn key_too_long(bytes: u64) -> Error {
    Error::new(ErrorCode::TooLongKey, format!("Specified key was too long; max key length is {bytes} bytes"))
}

pub fn too_long_identifier(name: &str) -> Error {
    Error::new(ErrorCode::TooLongIdent, format!("Identifier name '{name}' is too long"))
}

pub fn syntax(near: &str) -> Error {
    let message = format!(
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the \
         right syntax to use near '{near}'"
    );
    Error::new(ErrorCode::Parse, message)
}

/// 3750.
pub fn primary_key_required() -> Error {
    let message = "Unable to create or change a table without a primary key, when the system variable \
                   'sql_require_primary_key' is set. Add a primary key to the table or unset this variable to avoid \
                   this message. Note that tables without a primary key can cause performance problems in row-based \
                   replication, so please consult your DBA before changing this setting.";
    Error::new(ErrorCode::TableWithoutPk, message)
}
