//! SHOW, DESCRIBE, EXPLAIN.

use super::Statement;
use crate::ast::{AccountName, Expr, Ident, Limit, ObjectName, VariableScope};

/// LIKE 'pattern' or WHERE condition of a SHOW statement.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    Like(Vec<u8>),
    Where(Expr),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    Databases {
        filter: Option<ShowFilter>,
    },
    Tables {
        full: bool,
        extended: bool,
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    TableStatus {
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    OpenTables {
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    Triggers {
        full: bool,
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    Events {
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    Columns {
        full: bool,
        extended: bool,
        table: ObjectName,
        filter: Option<ShowFilter>,
    },
    Index {
        extended: bool,
        table: ObjectName,
        selection: Option<Expr>,
    },
    Variables {
        scope: Option<VariableScope>,
        filter: Option<ShowFilter>,
    },
    Status {
        scope: Option<VariableScope>,
        filter: Option<ShowFilter>,
    },
    Charset {
        filter: Option<ShowFilter>,
    },
    Collation {
        filter: Option<ShowFilter>,
    },
    Create(ShowCreate),
    Engines,
    Engine {
        engine: Option<String>,
        what: EngineReport,
    },
    Plugins,
    Privileges,
    ProcessList {
        full: bool,
    },
    Warnings {
        limit: Option<Limit>,
    },
    Errors {
        limit: Option<Limit>,
    },
    /// SHOW COUNT(*) WARNINGS.
    WarningCount,
    ErrorCount,
    Grants {
        account: Option<AccountName>,
        using: Vec<AccountName>,
    },
    BinaryLogs,
    BinaryLogStatus,
    BinlogEvents {
        file: Option<Vec<u8>>,
        position: Option<u64>,
        limit: Option<Limit>,
    },
    RelaylogEvents {
        file: Option<Vec<u8>>,
        position: Option<u64>,
        limit: Option<Limit>,
        channel: Option<Vec<u8>>,
    },
    Replicas,
    ReplicaStatus {
        channel: Option<Vec<u8>>,
    },
    ProcedureStatus {
        filter: Option<ShowFilter>,
    },
    FunctionStatus {
        filter: Option<ShowFilter>,
    },
    ProcedureCode(ObjectName),
    FunctionCode(ObjectName),
    Profile {
        kinds: Vec<String>,
        query: Option<u64>,
        limit: Option<Limit>,
    },
    Profiles,
    ParseTree(Box<Statement>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum ShowCreate {
    Database { name: Ident, if_not_exists: bool },
    Table(ObjectName),
    View(ObjectName),
    Procedure(ObjectName),
    Function(ObjectName),
    Trigger(ObjectName),
    Event(ObjectName),
    User(AccountName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineReport {
    Status,
    Mutex,
    Logs,
}

/// DESCRIBE table [column | 'pattern'].
#[derive(Debug, Clone, PartialEq)]
pub struct Describe {
    pub table: ObjectName,
    pub column: Option<DescribeColumn>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DescribeColumn {
    Name(Ident),
    Pattern(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    pub analyze: bool,
    /// EXTENDED and PARTITIONS: accepted for old clients; the output has these columns anyway.
    pub extended: bool,
    pub partitions: bool,
    /// FORMAT = name, in upper case: TRADITIONAL, JSON, TREE.
    pub format: Option<String>,
    /// INTO @variable.
    pub into: Option<String>,
    /// FOR SCHEMA name.
    pub schema: Option<Ident>,
    pub target: ExplainTarget,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ExplainTarget {
    Statement(Box<Statement>),
    Connection(u64),
}
