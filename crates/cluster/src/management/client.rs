//! The other end of management commands: a connection that sends lines and gets text or JSON back.

use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use shoal_tls::NodeTls;
use shoal_transport::{CLIENT, Client, ClientError, Hello};

use super::command::Command;
use crate::membership::frames::FRAME_SERVICE;
use crate::membership::messages::{Ask, CommandLine, Service, ServiceReply};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);
/// Commands that wait until nodes have stopped, started and caught up.
const LONG_REPLY_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// What was asked for is refused, or has failed.
    #[error("{0}")]
    Refused(String),
    /// The connection is of no more use; whether the command was carried out is not known.
    #[error("{0}")]
    Broken(String),
}

/// A connection to a node that answers management commands.
pub struct ManagementClient {
    client: Client,
    address: String,
}

impl ManagementClient {
    /// Connects to the first of these addresses that answers: through TLS if `tls` is given, or not at all.
    ///
    /// # Errors
    /// A sentence for each of them.
    pub fn connect(addresses: &[String], tls: Option<&Arc<NodeTls>>) -> Result<ManagementClient, String> {
        // The name of the cluster is for nodes to check.
        let me = Hello { node: CLIENT, lanes: 1, ..Hello::default() };
        let mut failures = Vec::new();
        for address in addresses {
            match Client::connect_with(address, &me, CONNECT_TIMEOUT, tls.map(Arc::as_ref)) {
                Ok(client) => return Ok(ManagementClient { client, address: address.clone() }),
                Err(error) => failures.push(error.to_string()),
            }
        }
        Err(match failures.is_empty() {
            true => "no address of a management node is known".into(),
            false => failures.join("\n"),
        })
    }

    /// Of the management node that is connected, `HOST:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The cluster's name, and the node that answers.
    pub fn cluster(&self) -> (&str, shoal_types::NodeId) {
        (&self.client.node().cluster, self.client.node().node)
    }

    /// Has a command carried out. The answer ends with a line end.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub fn execute(&mut self, line: &str, json: bool) -> Result<String, CommandError> {
        let command = Command::parse(line).map_err(CommandError::Refused)?;
        let timeout = if command.takes_long() { LONG_REPLY_TIMEOUT } else { REPLY_TIMEOUT };
        let service = Service { ask: Some(Ask::Command(CommandLine { line: line.to_owned(), json })) };
        let reply = match self.client.call(FRAME_SERVICE, &service.encode_to_vec(), timeout) {
            Ok(reply) => reply,
            Err(ClientError::Call(error)) => return Err(CommandError::Refused(error.to_string())),
            Err(error) => return Err(CommandError::Broken(error.to_string())),
        };
        let reply = ServiceReply::decode(reply.payload.as_slice())
            .map_err(|_| CommandError::Broken("the node answers in a way this version does not know".into()))?;
        let reply = reply.into_result().map_err(|error| CommandError::Refused(error.message().to_owned()))?;
        Ok(reply.text)
    }
}
