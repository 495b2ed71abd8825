//! Tables without storage: information_schema, performance_schema and mysql tables that clients look at.
//!
//! A virtual table has columns of fixed types; its rows are made when a statement reads it.

use shoal_types::{Result, Value};

use crate::execute::LocalFuture;
use crate::frontend::ResultColumn;

/// A virtual table: its position in the list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VirtualTable(pub u16);

/// Makes the rows of virtual tables.
pub trait VirtualSource {
    fn rows(&self, table: VirtualTable) -> LocalFuture<'_, Result<Vec<Vec<Value>>>>;
}

/// The virtual table of this name. `Ok(None)`: the database is no virtual one. Errors: 1109, a virtual database has no such
/// table.
pub fn virtual_table(_database: &str, _name: &str) -> Result<Option<VirtualTable>> {
    Ok(None)
}

pub fn columns(_table: VirtualTable) -> Vec<ResultColumn> {
    Vec::new()
}

pub fn database_name(_table: VirtualTable) -> &'static str {
    "information_schema"
}

pub fn table_name(_table: VirtualTable) -> &'static str {
    ""
}

/// What rows of virtual tables are made from.
pub struct Rows<'a> {
    _server: &'a std::sync::Arc<crate::server::Server>,
}

impl<'a> Rows<'a> {
    pub fn new(
        server: &'a std::sync::Arc<crate::server::Server>,
        _shared: &'a std::sync::Arc<crate::session::SessionShared>,
        _variables: &'a crate::variables::SessionVariables,
    ) -> Rows<'a> {
        Rows { _server: server }
    }
}

impl VirtualSource for Rows<'_> {
    fn rows(&self, _table: VirtualTable) -> LocalFuture<'_, Result<Vec<Vec<Value>>>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}
