//! What nodes ask each other for besides operations on rows: the dictionary, definitions, sequences, states.
//!
//! Control messages are rare, so they are plain prost messages in one request kind.

use std::time::Duration;

use prost::Message;
use shoal_transport::{CLIENT, Responder};
use shoal_types::{Error, ErrorCode, NodeId, Outcome, Result, TableId};

use crate::management::{NodeState, Stop};
use crate::membership::join::Membership;
use crate::membership::links::FRAME_SERVICE;
use crate::node::Node;

/// A request.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Service {
    #[prost(oneof = "Ask", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 20")]
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
    /// A place in the cluster, for a native client.
    #[prost(bool, tag = "20")]
    Join(bool),
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
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SnapshotPiece {
    #[prost(uint64, tag = "1")]
    pub version: u64,
    #[prost(uint32, tag = "2")]
    pub number: u32,
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
    #[prost(bool, tag = "2")]
    pub first: bool,
    #[prost(bool, tag = "3")]
    pub last: bool,
    #[prost(bytes, tag = "4")]
    pub block: Vec<u8>,
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
    #[prost(message, optional, tag = "20")]
    pub membership: Option<Membership>,
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

    fn error(error: &Error) -> ServiceReply {
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

/// Error 1297: it passes.
pub(crate) fn temporary(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::GetTemporaryErrmsg, format!("Got temporary error: {}", message.into()))
}

impl Node {
    /// Asks a node, this one included.
    pub(crate) async fn ask(&self, to: NodeId, ask: Ask) -> Result<ServiceReply> {
        let Some(cluster) = &self.cluster else { return Err(temporary("this node is alone")) };
        if to == cluster.options.me {
            // Some answers ask others in turn.
            return Box::pin(self.answer(to, ask)).await;
        }
        let service = Service { ask: Some(ask) };
        let call = cluster.call(to, FRAME_SERVICE, |buffer| {
            // A vector grows as needed: encoding into it cannot fail.
            let _ = service.encode(buffer);
        });
        let call = call.ok_or_else(|| temporary("the links are not up yet"))?;
        match call.await {
            Ok(reply) => {
                let reply = ServiceReply::decode(reply.payload.as_slice());
                reply
                    .map_err(|_| Error::unknown(format!("node {to} answers in a way this version does not know")))?
                    .into_result()
            }
            Err(error) if error.was_sent() => {
                Err(temporary(format!("node {to}: {error}")).with_outcome(Outcome::Unknown))
            }
            Err(error) => Err(temporary(format!("node {to}: {error}"))),
        }
    }

    /// The same with a limit to the patience.
    pub(crate) async fn ask_within(&self, to: NodeId, ask: Ask, patience: Duration) -> Result<ServiceReply> {
        match tokio::time::timeout(patience, self.ask(to, ask)).await {
            Ok(reply) => reply,
            Err(_) => {
                Err(temporary(format!("node {to} did not answer within {patience:?}"))
                    .with_outcome(Outcome::Unknown))
            }
        }
    }

    /// On a link's thread.
    pub(crate) fn serve_request(
        self: std::sync::Arc<Self>,
        from: NodeId,
        payload: &[u8],
        mut responder: Responder,
    ) {
        let Ok(Service { ask: Some(ask) }) = Service::decode(payload) else {
            return responder.refuse("the request is damaged or of a newer version");
        };
        if from == CLIENT && !matches!(ask, Ask::Command(_) | Ask::Join(_)) {
            return responder
                .refuse("clients of this port may send management commands, or join, and nothing else");
        }
        tokio::task::spawn_local(async move {
            let answered = tokio::select! {
                reply = self.answer(from, ask) => Some(reply),
                () = responder.cancelled() => None,
            };
            if let Some(reply) = answered {
                let reply = reply.unwrap_or_else(|error| ServiceReply::error(&error));
                responder.reply(0, |buffer| {
                    let _ = reply.encode(buffer);
                });
            }
            self.stop_if_asked();
        });
    }

    async fn answer(&self, from: NodeId, ask: Ask) -> Result<ServiceReply> {
        match ask {
            Ask::FetchCatalog(since) => self.changes_since(since),
            Ask::ChangeCatalog(change) => {
                self.change_as_leader(change.base, &change.changes).await.map(ServiceReply::value)
            }
            Ask::LockDefinitions(token) => self.lock_definitions_for(from, token).await.map(ServiceReply::value),
            Ask::UnlockDefinitions(token) => {
                self.unlock_definitions_of(from, token);
                Ok(ServiceReply::default())
            }
            Ask::ExclusiveTables(wanted) => {
                let tables: Vec<TableId> = wanted.tables.iter().map(|&id| TableId(id)).collect();
                let timeout = Duration::from_millis(wanted.timeout_ms);
                self.exclusive_tables_for(from, wanted.token, &tables, timeout).await?;
                Ok(ServiceReply::default())
            }
            Ask::ReleaseTables(token) => {
                self.release_tables_of(from, token);
                Ok(ServiceReply::default())
            }
            Ask::AwaitCatalog(version) => {
                let partitions = self.have_catalog(version).await?;
                Ok(ServiceReply { partitions, ..ServiceReply::default() })
            }
            Ask::Sequence(block) => self.sequence_block(&block).await.map(ServiceReply::value),
            Ask::Checkpoint(piece) => self.take_checkpoint_piece(from, piece).await,
            Ask::Command(command) => self.management_command(command).await.map(ServiceReply::text),
            Ask::State(_) => {
                let state = self.cluster.as_ref().map(|cluster| self.state(cluster));
                Ok(ServiceReply { state, ..ServiceReply::default() })
            }
            Ask::Stop(how) => {
                let how = Stop::try_from(how).map_err(|_| Error::unknown("this way to stop is not known here"))?;
                if let Some(cluster) = &self.cluster {
                    cluster.management.stop_soon(how)?;
                }
                Ok(ServiceReply::default())
            }
            Ask::FetchSnapshot(wanted) => self.snapshot_pieces(&wanted),
            Ask::SettleTables(wanted) => {
                let tables: Vec<TableId> = wanted.tables.iter().map(|&id| TableId(id)).collect();
                let deadline = tokio::time::Instant::now() + Duration::from_millis(wanted.timeout_ms);
                let settled = self.settle_here(&tables, deadline).await;
                Ok(ServiceReply { value: settled.open, partitions: settled.settled, ..ServiceReply::default() })
            }
            Ask::Join(_) => self.hand_out_membership(),
            Ask::LogFilter(bits) => {
                if let Some(cluster) = &self.cluster {
                    cluster.events.set_filter(bits);
                }
                Ok(ServiceReply::default())
            }
        }
    }
}
