//! Asking other nodes, and this one, for what is not an operation on rows.

use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use shoal_types::{Error, NodeId, Outcome, Result};
use tokio::time::Instant;

use crate::base::errors::temporary;
use crate::base::topology::Roles;
use crate::membership::frames::FRAME_SERVICE;
use crate::membership::messages::{Ask, Service, ServiceReply};
use crate::membership::peers::Membership;
use crate::membership::remote::is_not_leader;

/// How long an answer, or a leader, is waited for.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a leader is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestTimeouts {
    pub(crate) total: Duration,
    /// The same while too few of the partition's nodes are up to choose one.
    pub(crate) without_majority: Duration,
}

impl RequestTimeouts {
    pub(crate) const REQUEST: RequestTimeouts =
        RequestTimeouts { total: REQUEST_TIMEOUT, without_majority: REQUEST_TIMEOUT };
}

pub(crate) const RETRY_AFTER: Duration = Duration::from_millis(20);

impl Membership {
    /// Asks a node, this one included.
    pub(crate) async fn ask(&self, to: NodeId, ask: Ask) -> Result<ServiceReply> {
        if to == self.options.me {
            let answers = self.answers().ok_or_else(|| temporary("the node is stopping"))?;
            return answers.answer(to, ask).await;
        }
        let service = Service { ask: Some(ask) };
        let call = self.call(to, FRAME_SERVICE, |buffer| {
            // A vector grows as needed: encoding into it cannot fail.
            let _ = service.encode(buffer);
        });
        let call = call.ok_or_else(|| temporary("the links are not up yet"))?;
        match call.await {
            Ok(reply) => {
                let Ok(reply) = ServiceReply::decode(reply.payload.as_slice()) else {
                    let reason = "an answer cannot be read";
                    if let Some(transport) = self.transport() {
                        transport.cut_off(to, reason);
                    }
                    return Err(Error::unknown(format!("node {to}: {reason}")).with_outcome(Outcome::Unknown));
                };
                reply.into_result()
            }
            Err(error) if error.was_sent() => {
                Err(temporary(format!("node {to}: {error}")).with_outcome(Outcome::Unknown))
            }
            Err(error) => Err(temporary(format!("node {to}: {error}"))),
        }
    }

    /// The same, but fails when there is no answer in time.
    pub(crate) async fn ask_within(&self, to: NodeId, ask: Ask, timeout: Duration) -> Result<ServiceReply> {
        match tokio::time::timeout(timeout, self.ask(to, ask)).await {
            Ok(reply) => reply,
            Err(_) => {
                Err(temporary(format!("node {to} did not answer within {timeout:?}"))
                    .with_outcome(Outcome::Unknown))
            }
        }
    }

    /// It has a role: it is no native client.
    pub(crate) fn is_member(&self, node: NodeId) -> bool {
        self.options.node(node).is_some_and(|entry| entry.roles != Roles::default())
    }

    /// The nodes with a role that are up, this one included.
    pub(crate) fn members_up(&self) -> impl Iterator<Item = NodeId> + use<> {
        let members: Vec<NodeId> = self.peers_up().into_iter().filter(|&node| self.is_member(node)).collect();
        members.into_iter().chain([self.options.me])
    }

    /// The nodes with a role that this one does not reach.
    pub(crate) fn members_down(&self) -> impl Iterator<Item = NodeId> {
        let nodes = self.options.nodes.iter().map(|node| node.id);
        nodes.filter(|&node| node != self.options.me && self.is_member(node) && !self.is_up(node))
    }

    /// Enough of the partition's nodes are up to choose a leader.
    pub(crate) fn majority_is_up(&self, partition: u32) -> bool {
        let voters = self.options.placement(partition).voters();
        let is_up = |node: &NodeId| *node == self.options.me || self.is_up(*node);
        voters.iter().map(|&voter| NodeId(voter as u32)).filter(is_up).count() > voters.len() / 2
    }

    /// Asks the leader of a partition, whoever that is by the time it answers.
    pub(crate) async fn ask_leader(
        &self,
        partition: u32,
        ask: Ask,
        timeouts: RequestTimeouts,
    ) -> Result<(NodeId, ServiceReply)> {
        let deadline = Instant::now() + timeouts.total;
        let mut without_majority_since = None;
        loop {
            let failure = match self.leaders.of(partition) {
                None if partition == self.options.partition_count() => {
                    temporary("no management node leads just now; see that a majority of them runs")
                }
                None => temporary(format!("partition {partition} has no leader just now")),
                Some(leader) => match self.ask_within(leader, ask.clone(), REQUEST_TIMEOUT).await {
                    Ok(reply) => return Ok((leader, reply)),
                    Err(error) if is_not_leader(&error) && error.outcome() == Outcome::NotCommitted => error,
                    Err(error) => return Err(error),
                },
            };
            let now = Instant::now();
            match self.majority_is_up(partition) {
                true => without_majority_since = None,
                false if now >= *without_majority_since.get_or_insert(now) + timeouts.without_majority => {
                    return Err(failure);
                }
                false => {}
            }
            if now >= deadline {
                return Err(failure);
            }
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }

    /// Sends a request whose reply nobody wants.
    pub(crate) fn tell(self: &Arc<Self>, to: NodeId, ask: Ask) {
        let cluster = Arc::clone(self);
        self.spawn(move || async move {
            let _ = cluster.ask(to, ask).await;
        });
    }
}
