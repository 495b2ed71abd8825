//! Administration: table maintenance, FLUSH, KILL, RESET, plugins, instance statements.

use super::{Expr, Ident, ObjectName, PartitionNames};

/// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct TableMaintenance {
    /// The first word.
    pub kind: MaintenanceKind,
    /// NO_WRITE_TO_BINLOG or LOCAL.
    pub no_binlog: bool,
    /// At least one.
    pub tables: Vec<ObjectName>,
    /// QUICK, EXTENDED, FAST, MEDIUM, CHANGED, FOR UPGRADE, USE_FRM in upper case.
    pub options: Vec<String>,
    /// UPDATE or DROP HISTOGRAM, of ANALYZE TABLE alone.
    pub histogram: Option<Histogram>,
}

/// What is done with the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaintenanceKind {
    /// ANALYZE.
    Analyze,
    /// CHECK.
    Check,
    /// CHECKSUM.
    Checksum,
    /// OPTIMIZE.
    Optimize,
    /// REPAIR.
    Repair,
}

/// `ANALYZE TABLE .. UPDATE | DROP HISTOGRAM ON columns`.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// DROP HISTOGRAM.
    pub drop: bool,
    /// At least one.
    pub columns: Vec<Ident>,
    /// `WITH n BUCKETS`; `None`: 100.
    pub buckets: Option<u64>,
    /// `USING DATA 'json'`: the histogram itself.
    pub using_data: Option<Vec<u8>>,
    /// AUTO UPDATE: Some(true); MANUAL UPDATE: Some(false).
    pub auto_update: Option<bool>,
}

/// `FLUSH what, ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct Flush {
    /// NO_WRITE_TO_BINLOG or LOCAL.
    pub no_binlog: bool,
    /// At least one.
    pub what: Vec<FlushOption>,
}

/// What FLUSH flushes.
#[derive(Debug, Clone, PartialEq)]
pub enum FlushOption {
    /// `TABLES [names] [WITH READ LOCK | FOR EXPORT]`.
    Tables {
        /// Empty: all.
        names: Vec<ObjectName>,
        /// WITH READ LOCK.
        with_read_lock: bool,
        /// FOR EXPORT.
        for_export: bool,
    },
    /// PRIVILEGES.
    Privileges,
    /// LOGS.
    Logs,
    /// BINARY LOGS.
    BinaryLogs,
    /// ENGINE LOGS.
    EngineLogs,
    /// ERROR LOGS.
    ErrorLogs,
    /// GENERAL LOGS.
    GeneralLogs,
    /// SLOW LOGS.
    SlowLogs,
    /// `RELAY LOGS [FOR CHANNEL 'channel']`.
    RelayLogs {
        /// `None`: all channels.
        channel: Option<Vec<u8>>,
    },
    /// STATUS.
    Status,
    /// OPTIMIZER_COSTS.
    OptimizerCosts,
    /// USER_RESOURCES.
    UserResources,
}

/// `KILL [CONNECTION | QUERY] id`.
#[derive(Debug, Clone, PartialEq)]
pub struct Kill {
    /// KILL QUERY: the statement alone, not the connection.
    pub query_only: bool,
    /// The id of a session.
    pub id: Expr,
}

/// What RESET resets.
#[derive(Debug, Clone, PartialEq)]
pub enum Reset {
    /// `BINARY LOGS AND GTIDS [TO n]`.
    BinaryLogsAndGtids {
        /// The number of the first file then; `None`: 1.
        to: Option<u64>,
    },
    /// `REPLICA [ALL] [FOR CHANNEL 'channel']`.
    Replica {
        /// ALL: the connection's parameters as well.
        all: bool,
        /// `None`: all channels.
        channel: Option<Vec<u8>>,
    },
    /// `PERSIST [[IF EXISTS] [component.]variable]`.
    Persist {
        /// IF EXISTS: a variable that is not there gives a warning, not an error.
        if_exists: bool,
        /// `None`: all.
        variable: Option<Ident>,
        /// The part before the dot.
        component: Option<Ident>,
    },
}

/// Up to where PURGE BINARY LOGS deletes.
#[derive(Debug, Clone, PartialEq)]
pub enum PurgeTo {
    /// `TO 'file'`: those before this one.
    File(Vec<u8>),
    /// `BEFORE time`.
    Before(Expr),
}

/// One table of CACHE INDEX and LOAD INDEX INTO CACHE.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyCacheTable {
    /// The table.
    pub table: ObjectName,
    /// `PARTITION (..)`; `None`: all.
    pub partitions: Option<PartitionNames>,
    /// `INDEX | KEY (..)`; empty: all.
    pub indexes: Vec<Ident>,
    /// IGNORE LEAVES, of LOAD INDEX.
    pub ignore_leaves: bool,
}

/// CLONE: a copy of a server's data.
#[derive(Debug, Clone, PartialEq)]
pub enum CloneInstance {
    /// `CLONE LOCAL DATA DIRECTORY = 'directory'`.
    Local {
        /// Where the copy goes.
        directory: Vec<u8>,
    },
    /// `CLONE INSTANCE FROM user:port IDENTIFIED BY 'password' ..`.
    Remote {
        /// The account there, with the host.
        user: super::AccountName,
        /// The port there.
        port: u64,
        /// The account's password.
        password: Vec<u8>,
        /// DATA DIRECTORY; `None`: this server's data are replaced.
        directory: Option<Vec<u8>>,
        /// REQUIRE SSL: `Some(true)`; REQUIRE NO SSL: `Some(false)`.
        require_ssl: Option<bool>,
    },
}
