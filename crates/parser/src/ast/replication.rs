//! Replication statements. Shoal replicates by its own means; these are parsed so that they can be refused by name.

use super::{Ident, ObjectName, OptionValue};

#[derive(Debug, Clone, PartialEq)]
pub enum Replication {
    /// CHANGE REPLICATION SOURCE TO.
    ChangeSource {
        options: Vec<(String, SourceOption)>,
        channel: Option<Vec<u8>>,
    },
    /// CHANGE REPLICATION FILTER.
    ChangeFilter {
        rules: Vec<ReplicationFilter>,
        channel: Option<Vec<u8>>,
    },
    StartReplica {
        threads: Vec<ReplicaThread>,
        until: Vec<(String, OptionValue)>,
        connection: Vec<(String, Vec<u8>)>,
        channel: Option<Vec<u8>>,
    },
    StopReplica {
        threads: Vec<ReplicaThread>,
        channel: Option<Vec<u8>>,
    },
    StartGroup {
        options: Vec<(String, Vec<u8>)>,
    },
    StopGroup,
    /// BINLOG 'base64'.
    Binlog(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum SourceOption {
    Value(OptionValue),
    /// IGNORE_SERVER_IDS.
    List(Vec<u64>),
    Null,
    Account(super::AccountName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaThread {
    Io,
    Sql,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ReplicationFilter {
    /// REPLICATE_DO_DB and so on, in upper case.
    pub name: String,
    pub values: Vec<ReplicationFilterValue>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ReplicationFilterValue {
    Schema(Ident),
    Table(ObjectName),
    Pattern(Vec<u8>),
    Rewrite(Ident, Ident),
}
