//! Requests of other nodes, of clients of the port, and of this node itself: each goes to the layer that answers it.

use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use shoal_transport::{CLIENT, Responder};
use shoal_types::{Error, NodeId, Result, TableId};

use crate::dictionary::settled_tables::AwaitedOf;
use crate::management::Stop;
use crate::membership::answers::{Answering, Answers};
use crate::membership::messages::{Ask, LockTokens, Service, ServiceReply};
use crate::node::Node;

impl Answers for Node {
    fn answer(self: Arc<Self>, from: NodeId, ask: Ask) -> Answering {
        Box::pin(async move { self.answer_here(from, ask).await })
    }
}

impl Node {
    /// On a link's thread.
    pub(crate) fn serve_request(self: Arc<Self>, from: NodeId, payload: &[u8], mut responder: Responder) {
        let Ok(Service { ask: Some(ask) }) = Service::decode(payload) else {
            responder.refuse("the request is damaged or of a newer version");
            return self.cut_off(from, &Error::unknown("a request cannot be read").as_spoilt());
        };
        if from == CLIENT && !matches!(ask, Ask::Command(_) | Ask::Join(_)) {
            return responder
                .refuse("clients of this port may send management commands, or join, and nothing else");
        }
        tokio::task::spawn_local(async move {
            let answered = tokio::select! {
                reply = self.answer_here(from, ask) => Some(reply),
                () = responder.cancelled() => None,
            };
            if let Some(reply) = answered {
                if let Err(error) = &reply {
                    self.cut_off(from, error);
                }
                let reply = reply.unwrap_or_else(|error| ServiceReply::error(&error));
                responder.reply(0, |buffer| {
                    let _ = reply.encode(buffer);
                });
            }
            self.stop_if_asked();
        });
    }

    async fn answer_here(&self, from: NodeId, ask: Ask) -> Result<ServiceReply> {
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
            Ask::UnwantedLocks(LockTokens { mut tokens }) => {
                tokens.retain(|&token| !self.wants_lock(token));
                Ok(ServiceReply { tokens, ..ServiceReply::default() })
            }
            Ask::TablesBeingFilled(_) => {
                let tokens = self.being_filled_here().into_iter().map(|table| u64::from(table.0)).collect();
                Ok(ServiceReply { tokens, ..ServiceReply::default() })
            }
            Ask::AwaitCatalog(version) => {
                let partitions = self.have_catalog(version).await?;
                Ok(ServiceReply { partitions, ..ServiceReply::default() })
            }
            Ask::AwaitCatalogAt(wanted) => {
                let nodes: Vec<NodeId> = wanted.nodes.into_iter().map(NodeId).collect();
                self.have_catalog_at(wanted.version, &nodes).await.map(|()| ServiceReply::default())
            }
            Ask::Sequence(block) => self.sequence_block(&block).await.map(ServiceReply::value),
            Ask::Checkpoint(piece) => self.take_checkpoint_piece(from, piece).await,
            Ask::Command(command) => self.management_command(command).await.map(ServiceReply::text),
            Ask::State(_) => {
                let state = self.cluster().map(|cluster| self.state(cluster));
                Ok(ServiceReply { state, ..ServiceReply::default() })
            }
            Ask::Stop(how) => {
                let how = Stop::try_from(how).map_err(|_| Error::unknown("this way to stop is not known here"))?;
                self.stop_soon(how)?;
                Ok(ServiceReply::default())
            }
            Ask::FetchSnapshot(wanted) => self.snapshot_pieces(&wanted),
            Ask::SettleTables(wanted) => {
                let tables: Vec<TableId> = wanted.tables.iter().map(|&id| TableId(id)).collect();
                let deadline = tokio::time::Instant::now() + Duration::from_millis(wanted.timeout_ms);
                let what = if wanted.indexes { AwaitedOf::Indexes } else { AwaitedOf::Transactions };
                let settled = self.settle_here(&tables, what, deadline).await;
                Ok(ServiceReply { value: settled.open, partitions: settled.settled, ..ServiceReply::default() })
            }
            Ask::Join(_) => match self.cluster() {
                Some(cluster) => cluster.hand_out_membership(),
                None => Err(Error::unknown("this process is a database of its own and takes no nodes")),
            },
            Ask::Operators(question) => self.answer_operators(question).await.map(ServiceReply::text),
            Ask::NodeRows(table) => self.answer_node_rows(table).await.map(ServiceReply::text),
            Ask::LogFilter(bits) => {
                self.events().set_filter(bits);
                Ok(ServiceReply::default())
            }
        }
    }
}
