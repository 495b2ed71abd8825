//! What nodes ask each other for besides operations on rows, and the answers: the dictionary, definitions, sequences, states.
//!
//! Control messages are rare, so they are plain prost messages in one request kind.

use shoal_types::{Error, ErrorCode, Outcome, Result};

/// A request.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Service {
    #[prost(oneof = "Ask", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22")]
    pub ask: Option<Ask>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Ask {
    /// Changes of the dictionary behind this version.
    #[prost(uint64, tag = "1")]
    FetchCatalog(u64),
    #[prost(message, tag = "2")]
    ChangeCatalog(ChangeCatalog),
    /// The right to change the dictionary, under a token of the asker's.
    #[prost(uint64, tag = "3")]
    LockDefinitions(u64),
    #[prost(uint64, tag = "4")]
    UnlockDefinitions(u64),
    #[prost(message, tag = "5")]
    ExclusiveTables(ExclusiveTablesOf),
    #[prost(uint64, tag = "6")]
    ReleaseTables(u64),
    /// To have this version of the dictionary, and the fragments that it wants in the partitions led here.
    #[prost(uint64, tag = "7")]
    AwaitCatalog(u64),
    #[prost(message, tag = "8")]
    Sequence(SequenceBlock),
    #[prost(message, tag = "9")]
    Checkpoint(CheckpointPiece),
    /// A line of the management client.
    #[prost(message, tag = "10")]
    Command(CommandLine),
    /// What `SHOW` and `STATUS` tell, for the node that collects it.
    #[prost(bool, tag = "11")]
    State(bool),
    /// To end the process.
    #[prost(enumeration = "Stop", tag = "12")]
    Stop(i32),
    /// Bits of the severities that the cluster log takes from now on.
    #[prost(uint32, tag = "13")]
    LogFilter(u32),
    /// In which of the partitions led here tables are settled; the value is the number of the others.
    #[prost(message, tag = "14")]
    SettleTables(SettleTables),
    /// Pieces of the dictionary's snapshot, from this one on.
    #[prost(message, tag = "15")]
    FetchSnapshot(SnapshotPiece),
    /// Which of the locks that the asker keeps for this node are not wanted any more.
    #[prost(message, tag = "16")]
    UnwantedLocks(LockTokens),
    /// Tables that statements of the node are filling and nobody else sees yet; in the reply's tokens.
    #[prost(bool, tag = "17")]
    TablesBeingFilled(bool),
    /// To see to it that nodes which the asker does not reach have a version of the dictionary, if they are reached here.
    #[prost(message, tag = "18")]
    AwaitCatalogAt(CatalogAt),
    /// A place in the cluster, for a native client.
    #[prost(bool, tag = "20")]
    Join(bool),
    /// What another node's page for operators wants to know of this one, or to have done.
    #[prost(string, tag = "21")]
    Operators(String),
    /// This node's rows of a table that tells of all nodes.
    #[prost(string, tag = "22")]
    NodeRows(String),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CatalogAt {
    #[prost(uint64, tag = "1")]
    pub version: u64,
    #[prost(uint32, repeated, tag = "2")]
    pub nodes: Vec<u32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CommandLine {
    #[prost(string, tag = "1")]
    pub line: String,
    /// The answer is wanted as JSON.
    #[prost(bool, tag = "2")]
    pub json: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ChangeCatalog {
    #[prost(uint64, tag = "1")]
    pub base: u64,
    #[prost(bytes, tag = "2")]
    pub changes: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ExclusiveTablesOf {
    #[prost(uint32, repeated, tag = "1")]
    pub tables: Vec<u32>,
    #[prost(uint64, tag = "2")]
    pub timeout_ms: u64,
    #[prost(uint64, tag = "3")]
    pub token: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SettleTables {
    #[prost(uint32, repeated, tag = "1")]
    pub tables: Vec<u32>,
    #[prost(uint64, tag = "2")]
    pub timeout_ms: u64,
    /// Not the outcome of transactions is asked for but whether the tables' indexes are built.
    #[prost(bool, tag = "3")]
    pub indexes: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SnapshotPiece {
    #[prost(uint64, tag = "1")]
    pub version: u64,
    #[prost(uint32, tag = "2")]
    pub number: u32,
}

/// Locks for definitions, under the tokens of the node that has asked for them.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct LockTokens {
    #[prost(uint64, repeated, tag = "1")]
    pub tokens: Vec<u64>,
}

/// Which version of the dictionary a snapshot is of, and of how many pieces.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SnapshotHead {
    #[prost(uint64, tag = "1")]
    pub version: u64,
    #[prost(uint32, tag = "2")]
    pub pieces: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SequenceBlock {
    #[prost(uint32, tag = "1")]
    pub table: u32,
    #[prost(uint64, tag = "2")]
    pub count: u64,
    /// No value below this.
    #[prost(uint64, tag = "3")]
    pub at_least: u64,
}

/// A piece of a checkpoint on its way to a replica that is too far behind.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CheckpointPiece {
    #[prost(uint32, tag = "1")]
    pub partition: u32,
    #[prost(bool, tag = "3")]
    pub last: bool,
    #[prost(bytes, tag = "4")]
    pub block: Vec<u8>,
    #[prost(uint64, tag = "5")]
    pub attempt: u64,
    #[prost(uint64, tag = "6")]
    pub number: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ServiceReply {
    #[prost(uint64, tag = "1")]
    pub value: u64,
    #[prost(message, repeated, tag = "2")]
    pub changes: Vec<CatalogChange>,
    #[prost(uint32, repeated, tag = "3")]
    pub partitions: Vec<u32>,
    #[prost(string, tag = "4")]
    pub text: String,
    #[prost(message, optional, tag = "5")]
    pub error: Option<ServiceError>,
    #[prost(message, optional, tag = "6")]
    pub state: Option<NodeState>,
    /// The asker is too far behind for changes.
    #[prost(message, optional, tag = "7")]
    pub snapshot: Option<SnapshotHead>,
    #[prost(bytes, repeated, tag = "8")]
    pub pieces: Vec<Vec<u8>>,
    #[prost(uint64, repeated, tag = "9")]
    pub tokens: Vec<u64>,
    #[prost(message, optional, tag = "20")]
    pub membership: Option<ClusterDescription>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CatalogChange {
    #[prost(uint64, tag = "1")]
    pub version: u64,
    #[prost(bytes, tag = "2")]
    pub changes: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ServiceError {
    #[prost(uint32, tag = "1")]
    code: u32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(bool, tag = "3")]
    unknown_outcome: bool,
}

impl ServiceReply {
    pub(crate) fn value(value: u64) -> ServiceReply {
        ServiceReply { value, ..ServiceReply::default() }
    }

    pub(crate) fn text(text: String) -> ServiceReply {
        ServiceReply { text, ..ServiceReply::default() }
    }

    pub(crate) fn error(error: &Error) -> ServiceReply {
        let error = ServiceError {
            code: u32::from(error.errno()),
            message: error.message().to_owned(),
            unknown_outcome: error.outcome() == Outcome::Unknown,
        };
        ServiceReply { error: Some(error), ..ServiceReply::default() }
    }

    pub(crate) fn into_result(self) -> Result<ServiceReply> {
        match self.error {
            None => Ok(self),
            Some(error) => {
                let code = ErrorCode::from_errno(error.code as u16).unwrap_or(ErrorCode::UnknownError);
                let outcome = if error.unknown_outcome { Outcome::Unknown } else { Outcome::NotCommitted };
                Err(Error::new(code, error.message).with_outcome(outcome))
            }
        }
    }
}

/// How the process of a node is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Stop {
    /// Others take over what it leads.
    Alone = 0,
    /// The same, and it starts again.
    Restart = 1,
    /// The others stop as well: there is nobody to take over.
    WithAll = 2,
}

/// What a node knows of itself, as it travels to the management node that was asked.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct NodeState {
    #[prost(bool, tag = "1")]
    pub started: bool,
    #[prost(bool, tag = "2")]
    pub stopping: bool,
    #[prost(bool, tag = "3")]
    pub restarting: bool,
    #[prost(string, tag = "4")]
    pub version: String,
    /// Where MySQL clients reach it.
    #[prost(string, tag = "5")]
    pub mysql: String,
    #[prost(uint64, tag = "6")]
    pub uptime_ms: u64,
    #[prost(uint32, tag = "7")]
    pub process: u32,
    #[prost(uint64, tag = "8")]
    pub memory_used_bytes: u64,
    #[prost(uint64, tag = "9")]
    pub memory_limit_bytes: u64,
    #[prost(uint64, tag = "10")]
    pub catalog_version: u64,
    /// What it waits for before it is started.
    #[prost(string, tag = "11")]
    pub waits_for: String,
    /// The only node that serves statements; 0: all do.
    #[prost(uint32, tag = "12")]
    pub single_user: u32,
    #[prost(message, repeated, tag = "13")]
    pub partitions: Vec<PartitionState>,
    #[prost(message, repeated, tag = "14")]
    pub transfers: Vec<TransferState>,
    /// What tables were found to take, and what of it is free; nodes of earlier versions do not say.
    #[prost(uint64, tag = "15")]
    pub memory_rows_bytes: u64,
    #[prost(uint64, tag = "16")]
    pub memory_free_bytes: u64,
    #[prost(uint64, tag = "17")]
    pub memory_indexes_bytes: u64,
    #[prost(uint64, tag = "18")]
    pub memory_transactions_bytes: u64,
    /// Plans that are kept included.
    #[prost(uint64, tag = "19")]
    pub memory_statements_bytes: u64,
    /// Of the pages of rows and of the indexes: old versions.
    #[prost(uint64, tag = "20")]
    pub memory_old_versions_bytes: u64,
}

/// A replica, or a witness, of a partition; the meta partition is one more than the last.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PartitionState {
    #[prost(uint32, tag = "1")]
    pub partition: u32,
    /// Its leader, and its lease holds.
    #[prost(bool, tag = "2")]
    pub serves: bool,
    #[prost(uint64, tag = "3")]
    pub term: u64,
    #[prost(uint64, tag = "4")]
    pub applied: u64,
    #[prost(uint64, tag = "5")]
    pub last: u64,
    #[prost(bool, tag = "6")]
    pub amnesiac: bool,
    #[prost(bool, tag = "7")]
    pub witness: bool,
    /// From the leader: the nodes whose replicas lack something that is committed.
    #[prost(uint32, repeated, tag = "8")]
    pub behind: Vec<u32>,
}

/// A copy that is on its way from this node.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TransferState {
    #[prost(uint32, tag = "1")]
    pub partition: u32,
    #[prost(uint32, tag = "2")]
    pub to: u32,
    #[prost(uint64, tag = "3")]
    pub sent_bytes: u64,
    #[prost(uint64, tag = "4")]
    pub total_bytes: u64,
    #[prost(uint64, tag = "5")]
    pub elapsed_ms: u64,
}

/// The cluster as a node of it has to know it.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ClusterDescription {
    /// The id for the process that has asked.
    #[prost(uint32, tag = "1")]
    pub node: u32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(message, repeated, tag = "3")]
    pub nodes: Vec<Member>,
    #[prost(message, repeated, tag = "4")]
    pub placements: Vec<PlacedPartition>,
    #[prost(uint64, tag = "5")]
    pub config_hash: u64,
    #[prost(uint64, tag = "6")]
    pub heartbeat_ms: u64,
    #[prost(uint64, tag = "7")]
    pub election_ms: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Member {
    #[prost(uint32, tag = "1")]
    pub node: u32,
    /// As in `Roles::bits`.
    #[prost(uint32, tag = "2")]
    pub roles: u32,
    #[prost(string, optional, tag = "3")]
    pub address: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PlacedPartition {
    #[prost(uint32, repeated, tag = "1")]
    pub replicas: Vec<u32>,
    #[prost(uint32, optional, tag = "2")]
    pub witness: Option<u32>,
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    /// The list of tags lacked a new one: whoever sent it was cut off.
    #[test]
    fn the_newest_requests_can_be_read() {
        let at = CatalogAt { version: 7, nodes: vec![4, 5] };
        let operators = Ask::Operators("figures".into());
        let rows = Ask::NodeRows("nodes".into());
        for ask in [Ask::AwaitCatalogAt(at), Ask::TablesBeingFilled(true), Ask::Join(true), operators, rows] {
            let service = Service { ask: Some(ask) };
            assert_eq!(Service::decode(service.encode_to_vec().as_slice()).unwrap(), service);
        }
    }
}
