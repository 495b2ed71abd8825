//! Tables without storage: information_schema, performance_schema and mysql tables that clients look at.
//!
//! A virtual table has columns of fixed types; its rows are made when a statement reads it, from the dictionary and the
//! sessions as they are then. A row shows only what the reader's privileges let them see. SHOW takes its rows from here
//! as well, so both always agree.
//!
//! - `definitions`: which tables there are, their columns, and who makes their rows; `cell`: values of rows.
//! - `visibility`: what the reader may see.
//! - `column`: a column's metadata in words; `objects`: databases, tables and columns; `keys`: indexes and constraints.
//! - `ndbinfo`: what all nodes of a cluster tell.
//! - `error_log`: `performance_schema.error_log`. `query_logs`: `mysql.slow_log` and `mysql.general_log`.
//! - `profiles`: stages of statements.
//! - `roles`: what information_schema and mysql say of roles.
//! - `performance`: performance_schema of threads, statements, variables and tables; `sys`: the same for people.
//! - `statements`: what statements have cost, by their digests; sys tells the same for people.
//! - `data_locks`, `innodb_trx`, `metadata_locks`, `lock_waits`: transactions and locks; `innodb_tables`, `innodb_stats`: what else
//!   InnoDB tells.
//! - `server_tables`: character sets, engines, plugins; `activity`: sessions, status, system variables, accounts.

mod activity;
mod cell;
mod column;
mod data_locks;
mod definitions;
mod error_log;
mod innodb_stats;
mod innodb_tables;
pub(crate) mod innodb_trx;
mod keys;
mod lock_waits;
mod metadata_locks;
mod ndb_status;
mod ndbinfo;
mod objects;
mod performance;
mod profiles;
pub(crate) mod programs;
mod query_logs;
mod roles;
mod server_tables;
mod statements;
pub mod status;
mod sys;
mod visibility;

use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, OnceLock};

use shoal_types::value::EnumValue;
use shoal_types::{Error, ErrorCode, Result, Value};

use crate::account::access::Access;
use crate::frontend::ResultColumn;
use crate::server::Server;
use crate::session::SessionShared;
use crate::variables::SessionVariables;

pub(crate) use activity::{Process, processes};
pub(crate) use cell::{Cell, row};
use definitions::Definition;
use definitions::Maker;
pub(crate) use definitions::types_of;
pub(crate) use keys::statistics_of;
pub(crate) use ndbinfo::gather::NodeTables;
use ndbinfo::gather::{self, Gathered};
pub(crate) use objects::{
    columns_of, columns_of_view, columns_of_virtual, next_auto_increment, table_row, view_row, virtual_table_row,
};
pub(crate) use profiles::{show_profile, show_profiles};
pub(crate) use visibility::{Viewer, shows_generated_keys};

/// Databases whose tables are virtual, in the order of their names.
pub const DATABASES: &[&str] = &["information_schema", "mysql", "ndbinfo", "performance_schema", "sys"];
/// All virtual tables, databases together.
static DEFINITIONS: LazyLock<Vec<&'static Definition>> = LazyLock::new(|| {
    let parts = [
        definitions::DEFINITIONS,
        ndbinfo::definitions::DEFINITIONS,
        performance::tables::DEFINITIONS,
        performance::empty::DEFINITIONS,
        sys::tables::DEFINITIONS,
    ];
    let mut all: Vec<&'static Definition> = parts.into_iter().flatten().collect();
    all.sort_by_key(|definition| (definition.database, definition.name));
    all
});

/// Tables of performance_schema that everybody reads, as in MySQL; the others need SELECT.
const READ_BY_ALL: &[&str] = &[
    "global_status",
    "global_variables",
    "keyring_component_status",
    "keyring_keys",
    "performance_timers",
    "persisted_variables",
    "processlist",
    "session_account_connect_attrs",
    "session_status",
    "session_variables",
    "user_defined_functions",
    "variables_info",
];

/// The catalog of everything.
const CATALOG: &str = "def";

/// A virtual table: its position in the list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VirtualTable(pub u16);

/// Makes the rows of virtual tables.
pub trait VirtualSource {
    /// Other nodes may have to be asked. The warnings are about those that did not answer.
    fn rows(&self, table: VirtualTable) -> Gathering<'_>;
}

/// Rows, and warnings, in the making.
pub type Gathering<'a> = Pin<Box<dyn Future<Output = (Vec<Vec<Value>>, Vec<String>)> + 'a>>;

/// Only with a privilege for it are the tables of this database seen.
pub(crate) fn is_guarded(database: &str) -> bool {
    matches!(database, "mysql" | "ndbinfo")
}

/// The virtual database of this name in the case that it is shown in.
pub fn virtual_database(name: &str) -> Option<&'static str> {
    DATABASES.iter().find(|known| known.eq_ignore_ascii_case(name)).copied()
}

/// The virtual table of this name. `Ok(None)`: the database is no virtual one. Errors: 1109 or 1146, a virtual database
/// has no such table.
pub fn virtual_table(database: &str, name: &str) -> Result<Option<VirtualTable>> {
    let Some(database) = virtual_database(database) else { return Ok(None) };
    let named =
        |definition: &&Definition| definition.database == database && definition.name.eq_ignore_ascii_case(name);
    if let Some(position) = DEFINITIONS.iter().position(named) {
        return Ok(Some(VirtualTable(position as u16)));
    }
    if database == "information_schema" {
        let message = format!("Unknown table '{}' in information_schema", name.to_uppercase());
        return Err(Error::new(ErrorCode::UnknownTable, message));
    }
    Err(crate::databases::no_such_table(database, name))
}

fn definition(table: VirtualTable) -> &'static Definition {
    DEFINITIONS[usize::from(table.0).min(DEFINITIONS.len() - 1)]
}

pub fn columns(table: VirtualTable) -> Vec<ResultColumn> {
    static COLUMNS: OnceLock<Vec<Vec<ResultColumn>>> = OnceLock::new();
    let all = COLUMNS.get_or_init(|| DEFINITIONS.iter().map(|definition| definition.result_columns()).collect());
    all.get(usize::from(table.0)).cloned().unwrap_or_default()
}

pub fn database_name(table: VirtualTable) -> &'static str {
    definition(table).database
}

pub fn table_name(table: VirtualTable) -> &'static str {
    definition(table).name
}

/// What InnoDB tells of itself: only for those with the privilege PROCESS.
pub(crate) fn needs_process(table: VirtualTable) -> bool {
    let definition = definition(table);
    definition.database == "information_schema" && definition.name.starts_with("INNODB_")
}

/// Whoever reads the table needs SELECT on it. The rows of others show only what the reader may see.
pub fn needs_select(table: VirtualTable) -> bool {
    match database_name(table) {
        "performance_schema" => !READ_BY_ALL.contains(&table_name(table)),
        "sys" => table_name(table) != "version",
        database => is_guarded(database),
    }
}

/// A table that says what is collected.
pub fn is_setup(database: &str, name: &str) -> bool {
    database.eq_ignore_ascii_case("performance_schema") && name.to_lowercase().starts_with("setup_")
}

/// Views of sys that read no table of performance_schema.
const OF_DEFINITIONS: &[&str] = &[
    "schema_auto_increment_columns",
    "schema_object_overview",
    "schema_redundant_indexes",
    "sys_config",
    "version",
    "x$schema_flattened_keys",
];

/// A view of sys that shows nothing to whoever may not read performance_schema.
pub fn reads_performance_schema(table: VirtualTable) -> bool {
    database_name(table) == "sys" && !OF_DEFINITIONS.contains(&table_name(table))
}

/// Every virtual table, databases together.
pub(crate) fn all_tables() -> impl Iterator<Item = VirtualTable> {
    (0..DEFINITIONS.len() as u16).map(VirtualTable)
}

/// What rows of virtual tables are made from.
pub struct Rows<'a> {
    pub(crate) server: &'a Arc<Server>,
    pub(crate) shared: &'a Arc<SessionShared>,
    pub(crate) variables: &'a SessionVariables,
    pub(crate) access: Rc<Access>,
}

impl<'a> Rows<'a> {
    pub fn new(
        server: &'a Arc<Server>,
        shared: &'a Arc<SessionShared>,
        variables: &'a SessionVariables,
        access: &Rc<Access>,
    ) -> Rows<'a> {
        Rows { server, shared, variables, access: Rc::clone(access) }
    }

    /// The rows of a virtual table that this node makes by itself; none of others.
    pub(crate) fn make(&self, table: VirtualTable) -> Vec<Vec<Value>> {
        match definition(table).rows {
            Maker::Here(make) => with_labels(table, make(self)),
            Maker::Nodes(_) | Maker::Of(..) => Vec::new(),
        }
    }

    /// The rows of any virtual table.
    async fn gather(&self, table: VirtualTable) -> Gathered {
        let definition = definition(table);
        match definition.rows {
            Maker::Here(_) => Gathered { rows: self.make(table), warnings: Vec::new() },
            Maker::Nodes(make) => gather::rows_of_all(self.server, definition, make).await,
            Maker::Of(name, tell) => {
                let base = DEFINITIONS
                    .iter()
                    .copied()
                    .find(|base| base.database == definition.database && base.name == name);
                let Some((base, make)) = base.and_then(|base| Some((base, base.made_by_nodes()?))) else {
                    return Gathered { rows: Vec::new(), warnings: Vec::new() };
                };
                let mut gathered = gather::rows_of_all(self.server, base, make).await;
                gathered.rows = tell(self, gathered.rows);
                gathered
            }
        }
    }

    /// The rows of a table of information_schema by its name; none for a name it does not have.
    pub(crate) fn make_named(&self, name: &str) -> Vec<Vec<Value>> {
        match virtual_table("information_schema", name) {
            Ok(Some(table)) => self.make(table),
            _ => Vec::new(),
        }
    }

    pub(crate) fn viewer(&self) -> Viewer {
        Viewer::new(self.server.node.catalog(), &self.access)
    }

    /// Seconds since 1970 as a DATETIME of the session's time zone; NULL for 0.
    pub(crate) fn moment(&self, seconds: u64) -> Value {
        match i64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(1_000_000)) {
            Some(micros) if micros > 0 => Value::DateTime(self.variables.time_zone.from_utc_micros(micros, 0)),
            _ => Value::Null,
        }
    }
}

/// Rows with the labels of ENUM columns in the place of their texts.
fn with_labels(table: VirtualTable, mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    for (place, column) in definition(table).result_columns().iter().enumerate() {
        if let Some(labels) = &column.sql_type.labels {
            rows.iter_mut().for_each(|row| as_label(&mut row[place], labels));
        }
    }
    rows
}

/// A text in an ENUM column.
fn as_label(value: &mut Value, labels: &Arc<[Box<[u8]>]>) {
    if let Value::Str(text) = value {
        let index = labels.iter().position(|label| **label == **text).map_or(0, |position| position as u16 + 1);
        *value = Value::Enum(EnumValue { index, labels: Arc::clone(labels) });
    }
}

impl VirtualSource for Rows<'_> {
    fn rows(&self, table: VirtualTable) -> Gathering<'_> {
        Box::pin(async move {
            let Gathered { rows, warnings } = self.gather(table).await;
            (rows, warnings)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_in_any_case() {
        let table = virtual_table("INFORMATION_schema", "TABles").unwrap().unwrap();
        assert_eq!((database_name(table), table_name(table)), ("information_schema", "TABLES"));
        assert_eq!(virtual_table("shop", "tables").unwrap(), None);
        assert_eq!(virtual_table("information_schema", "nothing").unwrap_err().errno(), 1109);
        assert_eq!(virtual_table("mysql", "nothing").unwrap_err().errno(), 1146);
    }

    #[test]
    fn no_table_is_there_twice() {
        let name = |table| (database_name(table), table_name(table).to_lowercase());
        let mut names: Vec<_> = all_tables().map(name).collect();
        names.sort();
        for pair in names.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }

    #[test]
    fn every_table_has_columns_with_names_and_types() {
        for table in all_tables() {
            let columns = columns(table);
            assert!(!columns.is_empty(), "{}", table_name(table));
            for column in &columns {
                assert!(!column.name.is_empty());
                assert_ne!(column.sql_type.base, shoal_types::BaseType::Null, "{}", column.name);
            }
        }
    }
}
