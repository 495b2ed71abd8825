//! Replication statements. Shoal replicates by its own means; these are parsed so that they can be refused by name.

use super::{Ident, ObjectName, OptionValue};

/// A statement about MySQL's replication. `channel` is what FOR CHANNEL says.
#[derive(Debug, Clone, PartialEq)]
pub enum Replication {
    /// `CHANGE REPLICATION SOURCE TO option = value, ..`.
    ChangeSource {
        /// By upper-case name.
        options: Vec<(String, SourceOption)>,
        /// `None`: the default channel.
        channel: Option<Vec<u8>>,
    },
    /// `CHANGE REPLICATION FILTER rule = (..), ..`.
    ChangeFilter {
        /// At least one.
        rules: Vec<ReplicationFilter>,
        /// `None`: all channels.
        channel: Option<Vec<u8>>,
    },
    /// `START REPLICA [threads] [UNTIL ..] [USER = ..]`.
    StartReplica {
        /// Empty: both.
        threads: Vec<ReplicaThread>,
        /// (option in upper case, value); SQL_AFTER_MTS_GAPS has an empty word.
        until: Vec<(String, OptionValue)>,
        /// USER, PASSWORD, DEFAULT_AUTH, PLUGIN_DIR.
        connection: Vec<(String, Vec<u8>)>,
        /// `None`: all channels.
        channel: Option<Vec<u8>>,
    },
    /// `STOP REPLICA [threads]`.
    StopReplica {
        /// Empty: both.
        threads: Vec<ReplicaThread>,
        /// `None`: all channels.
        channel: Option<Vec<u8>>,
    },
    /// `START GROUP_REPLICATION [option = 'value', ..]`.
    StartGroup {
        /// By upper-case name.
        options: Vec<(String, Vec<u8>)>,
    },
    /// `STOP GROUP_REPLICATION`.
    StopGroup,
    /// `BINLOG 'base64'`.
    Binlog(Vec<u8>),
}

/// The value of an option of CHANGE REPLICATION SOURCE.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceOption {
    /// A number, a string or a word.
    Value(OptionValue),
    /// `(1, 2)`, of IGNORE_SERVER_IDS.
    List(Vec<u64>),
    /// NULL.
    Null,
    /// An account, of PRIVILEGE_CHECKS_USER.
    Account(super::AccountName),
}

/// A thread of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaThread {
    /// IO_THREAD and RELAY_THREAD.
    Io,
    /// SQL_THREAD.
    Sql,
}

/// `name = (values)`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicationFilter {
    /// REPLICATE_DO_DB and so on, in upper case.
    pub name: String,
    /// Empty: no filter of this name.
    pub values: Vec<ReplicationFilterValue>,
}

/// A value of a replication filter.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplicationFilterValue {
    /// A schema, of REPLICATE_DO_DB and REPLICATE_IGNORE_DB.
    Schema(Ident),
    /// A table, of REPLICATE_DO_TABLE and REPLICATE_IGNORE_TABLE.
    Table(ObjectName),
    /// A pattern, of REPLICATE_WILD_DO_TABLE and REPLICATE_WILD_IGNORE_TABLE.
    Pattern(Vec<u8>),
    /// `(from, to)`, of REPLICATE_REWRITE_DB.
    Rewrite(Ident, Ident),
}
