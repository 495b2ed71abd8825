//! Which node this is, and which others there are.

use shoal_types::NodeId;

use crate::server::Server;

/// The id of this node; 1 in a process that is the whole database.
pub(super) fn me(server: &Server) -> u32 {
    server.node.cluster().map_or(1, |cluster| cluster.options.me.0)
}

/// The nodes of the configuration that have a role, this one included, by their ids.
pub(super) fn members(server: &Server) -> Vec<NodeId> {
    let Some(cluster) = server.node.cluster() else { return vec![NodeId(1)] };
    let members = cluster.options.nodes.iter().filter(|node| node.roles.bits() != 0);
    let mut ids: Vec<NodeId> = members.map(|node| node.id).collect();
    ids.sort_unstable();
    ids
}
