//! Schemas, views, tablespaces, servers, spatial reference systems, resource groups.

use super::{AccountName, CharsetChoice, DropBehavior, Ident, ObjectName, OptionValue, Query};

/// Options of CREATE DATABASE and ALTER DATABASE; `None`: not written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DatabaseOptions {
    /// `[DEFAULT] CHARACTER SET`.
    pub charset: Option<CharsetChoice>,
    /// `[DEFAULT] COLLATE`, in lower case.
    pub collation: Option<String>,
    /// ENCRYPTION 'Y' or 'N'.
    pub encryption: Option<Vec<u8>>,
    /// READ ONLY = DEFAULT | 0 | 1; DEFAULT is false.
    pub read_only: Option<bool>,
}

/// `CREATE DATABASE | SCHEMA [IF NOT EXISTS] name options`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateDatabase {
    /// The schema.
    pub name: Ident,
    /// IF NOT EXISTS: a schema that is there already gives a note, not an error.
    pub if_not_exists: bool,
    /// What it is to have.
    pub options: DatabaseOptions,
}

/// `ALTER DATABASE | SCHEMA [name] options`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterDatabase {
    /// None: the current schema.
    pub name: Option<Ident>,
    /// What changes.
    pub options: DatabaseOptions,
}

/// `CREATE | ALTER VIEW name [(columns)] AS query`.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewDefinition {
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// ALGORITHM.
    pub algorithm: Option<ViewAlgorithm>,
    /// DEFINER; `None`: the current user.
    pub definer: Option<AccountName>,
    /// SQL SECURITY; `None`: DEFINER.
    pub security: Option<SqlSecurity>,
    /// The view.
    pub name: ObjectName,
    /// Names for the query's columns; empty: its own.
    pub columns: Vec<Ident>,
    /// What the view shows.
    pub query: Box<Query>,
    /// The source of the query.
    pub query_text: Vec<u8>,
    /// WITH CHECK OPTION.
    pub check_option: Option<CheckOption>,
}

/// ALGORITHM of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewAlgorithm {
    /// UNDEFINED: the server chooses.
    Undefined,
    /// MERGE: the view's query becomes part of the statement's.
    Merge,
    /// TEMPTABLE: the view's query runs by itself.
    TempTable,
}

/// SQL SECURITY: whose privileges a view or routine needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlSecurity {
    /// DEFINER.
    Definer,
    /// INVOKER.
    Invoker,
}

/// WITH CHECK OPTION of a view: rows that it would not show cannot be written through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOption {
    /// CASCADED, the default: nor those that the views below would not show.
    Cascaded,
    /// LOCAL.
    Local,
}

/// DROP of objects that have a schema: views, routines, triggers, events.
#[derive(Debug, Clone, PartialEq)]
pub struct DropObjects {
    /// IF EXISTS: what is not there gives a note, not an error.
    pub if_exists: bool,
    /// At least one; of anything but views, one.
    pub names: Vec<ObjectName>,
    /// RESTRICT or CASCADE, of views.
    pub behavior: Option<DropBehavior>,
}

/// CREATE, ALTER and DROP of tablespaces, undo tablespaces and logfile groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Tablespace {
    /// The first word.
    pub action: DefinitionAction,
    /// What it is about.
    pub kind: TablespaceKind,
    /// Its name.
    pub name: Ident,
    /// ADD/DROP DATAFILE or UNDOFILE, RENAME TO, SET ACTIVE ..
    pub change: Option<TablespaceChange>,
    /// USE LOGFILE GROUP.
    pub logfile_group: Option<Ident>,
    /// INITIAL_SIZE, EXTENT_SIZE, UNDO_BUFFER_SIZE, ENGINE, WAIT, COMMENT, .. by upper-case name.
    pub options: Vec<(String, OptionValue)>,
}

/// The first word of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionAction {
    /// CREATE.
    Create,
    /// ALTER.
    Alter,
    /// DROP.
    Drop,
}

/// What is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TablespaceKind {
    /// TABLESPACE.
    Tablespace,
    /// UNDO TABLESPACE.
    UndoTablespace,
    /// LOGFILE GROUP.
    LogfileGroup,
}

/// The change to a tablespace.
#[derive(Debug, Clone, PartialEq)]
pub enum TablespaceChange {
    /// `ADD DATAFILE 'path'`.
    AddDatafile(Vec<u8>),
    /// `DROP DATAFILE 'path'`.
    DropDatafile(Vec<u8>),
    /// `ADD UNDOFILE 'path'` and `ADD REDOFILE 'path'`.
    AddUndofile(Vec<u8>),
    /// `RENAME TO name`.
    RenameTo(Ident),
    /// SET ACTIVE.
    SetActive,
    /// SET INACTIVE.
    SetInactive,
}

/// `CREATE | ALTER SERVER name [FOREIGN DATA WRAPPER wrapper] OPTIONS (..)`.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerDefinition {
    /// The server.
    pub name: Ident,
    /// FOREIGN DATA WRAPPER; absent in ALTER SERVER.
    pub wrapper: Option<Ident>,
    /// HOST, DATABASE, USER, PASSWORD, SOCKET, OWNER, PORT by upper-case name.
    pub options: Vec<(String, OptionValue)>,
}

/// `CREATE [OR REPLACE] SPATIAL REFERENCE SYSTEM [IF NOT EXISTS] srid attributes`.
#[derive(Debug, Clone, PartialEq)]
pub struct SpatialReferenceSystem {
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The number of the spatial reference system.
    pub srid: u64,
    /// NAME, DEFINITION, ORGANIZATION, IDENTIFIED BY, DESCRIPTION by upper-case name.
    pub attributes: Vec<(String, OptionValue)>,
}

/// Statements about resource groups.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceGroup {
    /// `CREATE RESOURCE GROUP name TYPE = SYSTEM | USER ..`.
    Create {
        /// The resource group.
        name: Ident,
        /// TYPE = SYSTEM.
        system: bool,
        /// VCPU, as (first, last) pairs; empty: all.
        cpus: Vec<(u64, u64)>,
        /// THREAD_PRIORITY; `None`: 0.
        priority: Option<i64>,
        /// ENABLE: `Some(true)`; DISABLE: `Some(false)`.
        enabled: Option<bool>,
    },
    /// `ALTER RESOURCE GROUP name ..`.
    Alter {
        /// The resource group.
        name: Ident,
        /// VCPU, as (first, last) pairs; empty: no change.
        cpus: Vec<(u64, u64)>,
        /// THREAD_PRIORITY; `None`: no change.
        priority: Option<i64>,
        /// ENABLE: `Some(true)`; DISABLE: `Some(false)`.
        enabled: Option<bool>,
        /// FORCE, with DISABLE: its threads go to the default group.
        force: bool,
    },
    /// `DROP RESOURCE GROUP name [FORCE]`.
    Drop {
        /// The resource group.
        name: Ident,
        /// FORCE: its threads go to the default group.
        force: bool,
    },
    /// `SET RESOURCE GROUP name [FOR threads]`.
    Set {
        /// The resource group.
        name: Ident,
        /// Empty: this session's.
        threads: Vec<u64>,
    },
}
