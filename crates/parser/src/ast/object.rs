//! Schemas, views, tablespaces, servers, spatial reference systems, resource groups.

use super::{AccountName, CharsetChoice, DropBehavior, Ident, ObjectName, OptionValue, Query};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct DatabaseOptions {
    pub charset: Option<CharsetChoice>,
    pub collation: Option<String>,
    /// ENCRYPTION 'Y' or 'N'.
    pub encryption: Option<Vec<u8>>,
    /// READ ONLY = DEFAULT | 0 | 1; DEFAULT is false.
    pub read_only: Option<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateDatabase {
    pub name: Ident,
    pub if_not_exists: bool,
    pub options: DatabaseOptions,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterDatabase {
    /// None: the current schema.
    pub name: Option<Ident>,
    pub options: DatabaseOptions,
}

/// CREATE VIEW and ALTER VIEW.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewDefinition {
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub algorithm: Option<ViewAlgorithm>,
    pub definer: Option<AccountName>,
    pub security: Option<SqlSecurity>,
    pub name: ObjectName,
    pub columns: Vec<Ident>,
    pub query: Box<Query>,
    /// The source of the query.
    pub query_text: Vec<u8>,
    pub check_option: Option<CheckOption>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewAlgorithm {
    Undefined,
    Merge,
    TempTable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlSecurity {
    Definer,
    Invoker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOption {
    Cascaded,
    Local,
}

/// DROP of objects that have a schema: views, routines, triggers, events.
#[derive(Debug, Clone, PartialEq)]
pub struct DropObjects {
    pub if_exists: bool,
    pub names: Vec<ObjectName>,
    pub behavior: Option<DropBehavior>,
}

/// CREATE, ALTER and DROP of tablespaces, undo tablespaces and logfile groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Tablespace {
    pub action: DefinitionAction,
    pub kind: TablespaceKind,
    pub name: Ident,
    /// ADD/DROP DATAFILE or UNDOFILE, RENAME TO, SET ACTIVE ..
    pub change: Option<TablespaceChange>,
    /// USE LOGFILE GROUP.
    pub logfile_group: Option<Ident>,
    /// INITIAL_SIZE, EXTENT_SIZE, UNDO_BUFFER_SIZE, ENGINE, WAIT, COMMENT, .. by upper-case name.
    pub options: Vec<(String, OptionValue)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionAction {
    Create,
    Alter,
    Drop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TablespaceKind {
    Tablespace,
    UndoTablespace,
    LogfileGroup,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TablespaceChange {
    AddDatafile(Vec<u8>),
    DropDatafile(Vec<u8>),
    AddUndofile(Vec<u8>),
    RenameTo(Ident),
    SetActive,
    SetInactive,
}

/// CREATE SERVER and ALTER SERVER.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerDefinition {
    pub name: Ident,
    /// FOREIGN DATA WRAPPER; absent in ALTER SERVER.
    pub wrapper: Option<Ident>,
    /// HOST, DATABASE, USER, PASSWORD, SOCKET, OWNER, PORT by upper-case name.
    pub options: Vec<(String, OptionValue)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SpatialReferenceSystem {
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub srid: u64,
    /// NAME, DEFINITION, ORGANIZATION, DESCRIPTION by upper-case name.
    pub attributes: Vec<(String, OptionValue)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ResourceGroup {
    Create { name: Ident, system: bool, cpus: Vec<(u64, u64)>, priority: Option<i64>, enabled: Option<bool> },
    Alter { name: Ident, cpus: Vec<(u64, u64)>, priority: Option<i64>, enabled: Option<bool>, force: bool },
    Drop { name: Ident, force: bool },
    Set { name: Ident, threads: Vec<u64> },
}
