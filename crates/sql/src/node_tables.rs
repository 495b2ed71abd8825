//! What this node tells others that are asked for the tables of `ndbinfo`.

use std::sync::Arc;

use crate::information_schema::NodeTables;
use crate::server::Server;

/// From now on other nodes get this node's rows.
pub fn tell_nodes(server: &Arc<Server>) {
    server.node.set_node_rows(Arc::new(NodeTables(Arc::downgrade(server))));
}
