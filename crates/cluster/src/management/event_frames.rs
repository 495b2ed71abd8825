//! Events on their way to the management nodes, which keep and write everybody's.

use prost::Message;
use shoal_types::{Error, NodeId, Result};

use super::leader_events::describe_changes;
use crate::base::cluster_log::Event;
use crate::base::wait::lock;
use crate::management::Management;
use crate::membership::frames::FRAME_EVENTS;
use crate::membership::peers::Membership;

#[derive(Clone, PartialEq, prost::Message)]
struct EventBatch {
    #[prost(message, repeated, tag = "1")]
    events: Vec<Event>,
}

impl Management {
    /// On a management node: begins to write the cluster's log, and knows again what is in it.
    pub(crate) fn open_cluster_log(&self) {
        let options = self.options();
        self.events().open_file(options.cluster_log_dir.as_ref().unwrap_or(&options.data_dir));
    }

    /// Tells the management nodes what they do not know. Takes no lock of the cluster's but the events' own.
    pub(crate) fn forward_events(&self) {
        let Some(cluster) = self.cluster() else { return };
        let others = cluster.options.nodes.iter().filter(|node| node.roles.management);
        for node in others.filter(|node| node.id != cluster.options.me) {
            self.events().tell(node.id, |events| {
                let batch = EventBatch { events: events.to_vec() };
                cluster.send(node.id, 0, FRAME_EVENTS, |buffer| {
                    // A vector grows as needed: encoding into it cannot fail.
                    let _ = batch.encode(buffer);
                })
            });
        }
    }

    /// Events of another node.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn receive_events(&self, from: NodeId, payload: &[u8]) -> Result<()> {
        let batch = EventBatch::decode(payload);
        let batch = batch.map_err(|_| Error::unknown("a frame with events cannot be read").as_spoilt())?;
        self.events().receive(from, batch.events);
        Ok(())
    }

    /// Tells of the partitions that this node has come to lead.
    pub(crate) fn watch_leaders(&self, cluster: &Membership) {
        let partitions = cluster.options.partition_count();
        let changes = lock(&self.leaders).look(self.now(), cluster.options.me, partitions + 1, &cluster.leaders);
        for (severity, text) in describe_changes(&changes, cluster.options.me, partitions) {
            self.log_event_as(severity, "leader", &text);
        }
    }
}
