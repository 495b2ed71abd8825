//! Links to other nodes.

use shoal_types::Value;

use super::super::cell::row;
use super::this_node::me;
use crate::server::Server;

/// One row for every other node of the configuration that has a role or was heard of. Links that take no more end, so overload is not
/// counted.
pub(super) fn transporters(server: &Server) -> Vec<Vec<Value>> {
    rows(server, |_| Vec::new(), |_| Vec::new())
}

/// The same with what waits to be sent, as far as it is known.
pub(super) fn details(server: &Server) -> Vec<Vec<Value>> {
    rows(server, |number| row![1_u64, number], |_| row![Value::Null, Value::Null, Value::Null, Value::Null])
}

fn rows(
    server: &Server,
    before_peer: impl Fn(usize) -> Vec<Value>,
    behind: impl Fn(usize) -> Vec<Value>,
) -> Vec<Vec<Value>> {
    let Some(transport) = server.node.cluster().and_then(|cluster| cluster.transport()) else { return Vec::new() };
    let node = me(server);
    let mut peers = transport.peer_states();
    peers.sort_by_key(|peer| peer.node);
    let make = |(number, peer): (usize, shoal_cluster::PeerState)| {
        let mut row = row![node];
        row.extend(before_peer(number + 1));
        row.extend(row![
            peer.node.0,
            if peer.is_up { "CONNECTED" } else { "CONNECTING" },
            peer.address.unwrap_or_else(|| "-".to_owned()),
            peer.bytes_sent,
            peer.bytes_received,
            peer.links as u64 + peer.links_lost,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            u64::from(peer.is_encrypted)
        ]);
        row.extend(behind(number));
        row
    };
    peers.into_iter().enumerate().map(make).collect()
}
