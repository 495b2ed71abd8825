//! Administration: table maintenance, FLUSH, KILL, RESET, plugins, instance statements.

use super::{Expr, Ident, ObjectName, PartitionNames};

/// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE.
#[derive(Debug, Clone, PartialEq)]
pub struct TableMaintenance {
    pub kind: MaintenanceKind,
    /// NO_WRITE_TO_BINLOG or LOCAL.
    pub no_binlog: bool,
    pub tables: Vec<ObjectName>,
    /// QUICK, EXTENDED, FAST, MEDIUM, CHANGED, FOR UPGRADE, USE_FRM in upper case.
    pub options: Vec<String>,
    pub histogram: Option<Histogram>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaintenanceKind {
    Analyze,
    Check,
    Checksum,
    Optimize,
    Repair,
}

/// ANALYZE TABLE .. UPDATE | DROP HISTOGRAM ON columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    pub drop: bool,
    pub columns: Vec<Ident>,
    pub buckets: Option<u64>,
    pub using_data: Option<Vec<u8>>,
    /// AUTO UPDATE: Some(true); MANUAL UPDATE: Some(false).
    pub auto_update: Option<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Flush {
    pub no_binlog: bool,
    pub what: Vec<FlushOption>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FlushOption {
    Tables { names: Vec<ObjectName>, with_read_lock: bool, for_export: bool },
    Privileges,
    Logs,
    BinaryLogs,
    EngineLogs,
    ErrorLogs,
    GeneralLogs,
    SlowLogs,
    RelayLogs { channel: Option<Vec<u8>> },
    Status,
    OptimizerCosts,
    UserResources,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Kill {
    /// KILL QUERY: the statement alone, not the connection.
    pub query_only: bool,
    pub id: Expr,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reset {
    BinaryLogsAndGtids { to: Option<u64> },
    Replica { all: bool, channel: Option<Vec<u8>> },
    Persist { if_exists: bool, variable: Option<Ident>, component: Option<Ident> },
}

#[derive(Debug, Clone, PartialEq)]
pub enum PurgeTo {
    File(Vec<u8>),
    Before(Expr),
}

/// CACHE INDEX and LOAD INDEX INTO CACHE.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyCacheTable {
    pub table: ObjectName,
    pub partitions: Option<PartitionNames>,
    pub indexes: Vec<Ident>,
    pub ignore_leaves: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CloneInstance {
    /// CLONE LOCAL DATA DIRECTORY.
    Local { directory: Vec<u8> },
    /// CLONE INSTANCE FROM.
    Remote {
        user: super::AccountName,
        port: u64,
        password: Vec<u8>,
        directory: Option<Vec<u8>>,
        require_ssl: Option<bool>,
    },
}
