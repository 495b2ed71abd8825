//! SHOW, DESCRIBE, EXPLAIN.

use super::Statement;
use crate::ast::{AccountName, Expr, Ident, Limit, ObjectName, VariableScope};

/// `LIKE 'pattern'` or `WHERE condition` of a SHOW statement. Without one, everything is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    /// LIKE, on the first column of the result.
    Like(Vec<u8>),
    /// WHERE, with the result's columns by name.
    Where(Expr),
}

/// SHOW.
#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    /// `SHOW DATABASES | SCHEMAS [filter]`.
    Databases {
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW [EXTENDED] [FULL] TABLES [FROM schema] [filter]`.
    Tables {
        /// FULL: with their kinds.
        full: bool,
        /// EXTENDED: also what an ALTER TABLE that failed has left.
        extended: bool,
        /// `None`: the current schema.
        schema: Option<Ident>,
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW TABLE STATUS [FROM schema] [filter]`.
    TableStatus {
        /// `None`: the current schema.
        schema: Option<Ident>,
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW OPEN TABLES [FROM schema] [filter]`.
    OpenTables {
        /// `None`: all schemas.
        schema: Option<Ident>,
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW [FULL] TRIGGERS [FROM schema] [filter]`.
    Triggers {
        /// FULL.
        full: bool,
        /// `None`: the current schema.
        schema: Option<Ident>,
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW EVENTS [FROM schema] [filter]`.
    Events {
        /// `None`: the current schema.
        schema: Option<Ident>,
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW [EXTENDED] [FULL] COLUMNS | FIELDS FROM table [FROM schema] [filter]`.
    Columns {
        /// FULL: with collations, privileges and comments.
        full: bool,
        /// EXTENDED: with hidden columns.
        extended: bool,
        /// The second FROM is in its schema.
        table: ObjectName,
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW [EXTENDED] INDEX | KEYS FROM table [FROM schema] [WHERE selection]`.
    Index {
        /// EXTENDED: with hidden indexes.
        extended: bool,
        /// The second FROM is in its schema.
        table: ObjectName,
        /// WHERE.
        selection: Option<Expr>,
    },
    /// `SHOW [GLOBAL | SESSION] VARIABLES [filter]`.
    Variables {
        /// `None`: the session's.
        scope: Option<VariableScope>,
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW [GLOBAL | SESSION] STATUS [filter]`.
    Status {
        /// `None`: the session's.
        scope: Option<VariableScope>,
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW CHARACTER SET [filter]`.
    Charset {
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW COLLATION [filter]`.
    Collation {
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW CREATE ..`.
    Create(ShowCreate),
    /// `SHOW [STORAGE] ENGINES`.
    Engines,
    /// `SHOW ENGINE engine what`.
    Engine {
        /// `None`: ALL.
        engine: Option<String>,
        /// Which report.
        what: EngineReport,
    },
    /// `SHOW PLUGINS`.
    Plugins,
    /// `SHOW PRIVILEGES`.
    Privileges,
    /// `SHOW [FULL] PROCESSLIST`.
    ProcessList {
        /// FULL: statements are not cut off after 100 characters.
        full: bool,
    },
    /// `SHOW WARNINGS [LIMIT ..]`.
    Warnings {
        /// `None`: all.
        limit: Option<Limit>,
    },
    /// `SHOW ERRORS [LIMIT ..]`.
    Errors {
        /// `None`: all.
        limit: Option<Limit>,
    },
    /// `SHOW COUNT(*) WARNINGS`.
    WarningCount,
    /// `SHOW COUNT(*) ERRORS`.
    ErrorCount,
    /// `SHOW GRANTS [FOR account] [USING roles]`.
    Grants {
        /// `None`: the current user.
        account: Option<AccountName>,
        /// With the privileges of these roles.
        using: Vec<AccountName>,
    },
    /// `SHOW BINARY LOGS`.
    BinaryLogs,
    /// `SHOW BINARY LOG STATUS`.
    BinaryLogStatus,
    /// `SHOW BINLOG EVENTS [IN 'file'] [FROM position] [LIMIT ..]`.
    BinlogEvents {
        /// `None`: the first.
        file: Option<Vec<u8>>,
        /// In bytes; `None`: the start.
        position: Option<u64>,
        /// `None`: all.
        limit: Option<Limit>,
    },
    /// `SHOW RELAYLOG EVENTS [IN 'file'] [FROM position] [LIMIT ..] [FOR CHANNEL 'channel']`.
    RelaylogEvents {
        /// `None`: the first.
        file: Option<Vec<u8>>,
        /// In bytes; `None`: the start.
        position: Option<u64>,
        /// `None`: all.
        limit: Option<Limit>,
        /// `None`: the default channel.
        channel: Option<Vec<u8>>,
    },
    /// `SHOW REPLICAS`.
    Replicas,
    /// `SHOW REPLICA STATUS [FOR CHANNEL 'channel']`.
    ReplicaStatus {
        /// `None`: all channels.
        channel: Option<Vec<u8>>,
    },
    /// `SHOW PROCEDURE STATUS [filter]`.
    ProcedureStatus {
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW FUNCTION STATUS [filter]`.
    FunctionStatus {
        /// Which of them.
        filter: Option<ShowFilter>,
    },
    /// `SHOW PROCEDURE CODE name`.
    ProcedureCode(ObjectName),
    /// `SHOW FUNCTION CODE name`.
    FunctionCode(ObjectName),
    /// `SHOW PROFILE [kinds] [FOR QUERY n] [LIMIT ..]`.
    Profile {
        /// ALL, BLOCK IO, CONTEXT SWITCHES, CPU and so on, in upper case.
        kinds: Vec<String>,
        /// `None`: the last statement.
        query: Option<u64>,
        /// `None`: all.
        limit: Option<Limit>,
    },
    /// `SHOW PROFILES`.
    Profiles,
    /// `SHOW PARSE_TREE statement`.
    ParseTree(Box<Statement>),
}

/// What follows SHOW CREATE.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowCreate {
    /// `DATABASE | SCHEMA [IF NOT EXISTS] name`.
    Database {
        /// The schema.
        name: Ident,
        /// The statement shown has IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// `TABLE name`.
    Table(ObjectName),
    /// `VIEW name`.
    View(ObjectName),
    /// `PROCEDURE name`.
    Procedure(ObjectName),
    /// `FUNCTION name`.
    Function(ObjectName),
    /// `TRIGGER name`.
    Trigger(ObjectName),
    /// `EVENT name`.
    Event(ObjectName),
    /// `USER account`.
    User(AccountName),
}

/// The report of SHOW ENGINE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineReport {
    /// STATUS.
    Status,
    /// MUTEX.
    Mutex,
    /// LOGS.
    Logs,
}

/// `DESCRIBE | DESC | EXPLAIN table [column | 'pattern']`.
#[derive(Debug, Clone, PartialEq)]
pub struct Describe {
    /// The table.
    pub table: ObjectName,
    /// `None`: all columns.
    pub column: Option<DescribeColumn>,
}

/// The columns that DESCRIBE shows.
#[derive(Debug, Clone, PartialEq)]
pub enum DescribeColumn {
    /// One column.
    Name(Ident),
    /// A pattern as of LIKE.
    Pattern(Vec<u8>),
}

/// `EXPLAIN [ANALYZE] [FORMAT = format] [INTO @variable] [FOR SCHEMA schema] target`.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// ANALYZE: the statement runs.
    pub analyze: bool,
    /// EXTENDED: accepted for old clients; the output has its column anyway.
    pub extended: bool,
    /// PARTITIONS: accepted for old clients; the output has its column anyway.
    pub partitions: bool,
    /// FORMAT = name, in upper case: TRADITIONAL, JSON, TREE.
    pub format: Option<String>,
    /// `INTO @variable`, without the `@`.
    pub into: Option<String>,
    /// `FOR SCHEMA name`: as if this were the current schema.
    pub schema: Option<Ident>,
    /// What is explained.
    pub target: ExplainTarget,
}

/// What EXPLAIN explains.
#[derive(Debug, Clone, PartialEq)]
pub enum ExplainTarget {
    /// A statement.
    Statement(Box<Statement>),
    /// `FOR CONNECTION id`: what another session is running.
    Connection(u64),
}
