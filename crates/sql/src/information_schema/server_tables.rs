//! What the server is made of: character sets, collations, engines, plugins.

use shoal_types::{Charset, Collation, Value};

use super::Rows;
use super::cell::row;

/// Character sets that have collations, in the order of their names.
fn charsets() -> Vec<Charset> {
    let mut found: Vec<Charset> = Vec::new();
    for collation in Collation::all() {
        if !found.contains(&collation.charset()) {
            found.push(collation.charset());
        }
    }
    found.sort_by_key(|charset| charset.name());
    found
}

pub fn character_sets(_: &Rows<'_>) -> Vec<Vec<Value>> {
    let make = |charset: Charset| {
        row![charset.name(), charset.default_collation().name(), charset.description(), charset.char_bytes_max()]
    };
    charsets().into_iter().map(make).collect()
}

fn sorted_collations() -> Vec<Collation> {
    let mut found: Vec<Collation> = Collation::all().collect();
    found.sort_by_key(|collation| collation.name());
    found
}

pub fn collations(_: &Rows<'_>) -> Vec<Vec<Value>> {
    let make = |collation: Collation| {
        row![
            collation.name(),
            collation.charset().name(),
            u64::from(collation.id()),
            if collation.is_default() { "Yes" } else { "" },
            "Yes",
            u64::from(collation.sort_length()),
            if collation.pad_space() { "PAD SPACE" } else { "NO PAD" },
        ]
    };
    sorted_collations().into_iter().map(make).collect()
}

pub fn applicability(_: &Rows<'_>) -> Vec<Vec<Value>> {
    sorted_collations().into_iter().map(|collation| row![collation.name(), collation.charset().name()]).collect()
}

/// (name, support, comment): engine names that CREATE TABLE takes. One store serves them all; the session's default engine
/// is marked as such.
pub(crate) const ENGINES: &[(&str, &str, &str)] = &[
    ("ARCHIVE", "YES", "Name for Shoal's memory store; rows can be changed"),
    ("BLACKHOLE", "YES", "Name for Shoal's memory store; rows are kept"),
    ("CSV", "YES", "Name for Shoal's memory store; no CSV files"),
    ("FEDERATED", "NO", "No tables of other servers"),
    ("InnoDB", "YES", "Shoal's partitioned, logged memory store"),
    ("MEMORY", "YES", "Name for Shoal's memory store; survives restarts"),
    ("MRG_MYISAM", "YES", "Name for Shoal's memory store; no merged tables"),
    ("MyISAM", "YES", "Name for Shoal's memory store; transactional"),
    ("ndbcluster", "YES", "Shoal's partitioned, logged memory store"),
];

pub fn engines(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let default = rows.variables.default_engine();
    let make = |&(name, support, comment): &(&str, &str, &str)| match support {
        "NO" => row![name, support, comment, Value::Null, Value::Null, Value::Null],
        _ if name == default => row![name, "DEFAULT", comment, "YES", "NO", "YES"],
        _ => row![name, support, comment, "YES", "NO", "YES"],
    };
    ENGINES.iter().map(make).collect()
}

/// (name, type, description): the parts of the server that MySQL would call plugins.
pub(crate) const PLUGINS: &[(&str, &str, &str)] = &[
    ("mysql_native_password", "AUTHENTICATION", "Login by SHA-1 challenge"),
    ("caching_sha2_password", "AUTHENTICATION", "Login by SHA-256 challenge"),
    ("InnoDB", "STORAGE ENGINE", "Shoal's partitioned, logged memory store"),
    ("ndbcluster", "STORAGE ENGINE", "Shoal's partitioned, logged memory store"),
];

pub fn plugins(_: &Rows<'_>) -> Vec<Vec<Value>> {
    let version = env!("CARGO_PKG_VERSION");
    let make = |&(name, kind, description): &(&str, &str, &str)| {
        row![
            name,
            version,
            "ACTIVE",
            kind,
            version,
            Value::Null,
            Value::Null,
            "Shoal",
            description,
            Value::Null,
            "FORCE"
        ]
    };
    PLUGINS.iter().map(make).collect()
}
