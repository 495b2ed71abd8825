//! Nodes, their processes, and who would decide if half of them were gone.

use shoal_types::{NodeId, Value};

use super::super::Rows;
use super::super::cell::row;
use super::this_node::{me, members};
use crate::server::Server;

/// Of NDB's states those that occur.
fn status(server: &Server) -> &'static str {
    let readiness = server.node.readiness();
    let process = server.node.observed_process();
    match () {
        () if readiness.is_stopped || readiness.is_draining => "STOPPING_1",
        () if !process.is_started || readiness.waits_for.is_some() => "STARTING",
        () if process.single_user.is_some() => "SINGLEUSER",
        () => "STARTED",
    }
}

/// A start has no numbered phases, and the configuration of a cluster has no later versions.
pub(super) fn nodes(server: &Server) -> Vec<Vec<Value>> {
    let uptime = server.node.observed_process().uptime_s;
    vec![row![me(server), uptime, status(server), 0_u64, 1_u64]]
}

/// NDB's kind of a node with these roles; one with several is of the first that fits.
fn node_type(server: &Server, node: NodeId) -> &'static str {
    let roles = server.node.cluster().and_then(|cluster| cluster.options.node(node).map(|entry| entry.roles));
    match roles {
        Some(roles) if !roles.data && roles.management => "MGM",
        Some(roles) if !roles.data => "API",
        _ => "NDB",
    }
}

fn address(server: &Server, node: NodeId) -> Option<String> {
    server.node.cluster()?.options.node(node)?.address.clone()
}

pub(super) fn processes(server: &Server) -> Vec<Vec<Value>> {
    let node = NodeId(me(server));
    let mysql = server.node.observed_process().mysql;
    let listening = server.listening().map(|(port, _)| format!("mysql://127.0.0.1:{port}"));
    let service = match mysql.is_empty() {
        false => Some(format!("mysql://{mysql}")),
        true => address(server, node).map(|address| format!("ndb://{address}")).or(listening),
    };
    let (version, process) = (env!("CARGO_PKG_VERSION"), std::process::id());
    vec![row![node.0, node_type(server, node), version, process, Value::Null, "shoal", service]]
}

/// Places for native clients too.
pub(crate) fn config_nodes(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let server = rows.server;
    let mut nodes = match server.node.cluster() {
        None => vec![NodeId(1)],
        Some(cluster) => cluster.options.nodes.iter().map(|node| node.id).collect(),
    };
    nodes.sort_unstable();
    let host = |node| match server.node.cluster() {
        None => "localhost".to_owned(),
        Some(_) => {
            let address = address(server, node).unwrap_or_default();
            address.rsplit_once(':').map(|(host, _)| host.trim_matches(['[', ']']).to_owned()).unwrap_or_default()
        }
    };
    nodes.into_iter().map(|node| row![node.0, node_type(server, node), host(node)]).collect()
}

/// What a start takes is not measured by phases; what it waits for is told instead.
pub(super) fn restart_info(server: &Server) -> Vec<Vec<Value>> {
    let missing = server.node.readiness().waits_for;
    let is_started = server.node.observed_process().is_started;
    let text = match missing {
        Some(missing) => format!("Waits for {missing}"),
        None if is_started => "Restart completed".to_owned(),
        None => "Starting".to_owned(),
    };
    let mut row = row![me(server), text];
    row.resize(22, Value::Null);
    vec![row]
}

/// The node groups: data nodes that keep the same partitions, in the order of their first ones.
fn node_group(server: &Server, node: u32) -> Option<usize> {
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for mut placed in server.node.observed_placements().into_iter().map(|placement| placement.replicas) {
        placed.sort_unstable();
        if !groups.contains(&placed) {
            groups.push(placed);
        }
    }
    groups.iter().position(|group| group.contains(&node))
}

/// The data nodes that are up, this one included, by their ids.
fn data_nodes_up(server: &Server) -> Vec<u32> {
    let Some(cluster) = server.node.cluster() else { return vec![1] };
    let is_up = |node: NodeId| node == cluster.options.me || cluster.is_up(node);
    let has_data = |node: NodeId| cluster.options.node(node).is_some_and(|entry| entry.roles.data);
    members(server).into_iter().filter(|&node| is_up(node) && has_data(node)).map(|node| node.0).collect()
}

/// Data nodes in a ring by their ids; the president is who leads the dictionary. The arbitrator is the witness of the node's partitions:
/// its vote decides between two replicas.
pub(super) fn membership(server: &Server) -> Vec<Vec<Value>> {
    let node = me(server);
    let up = data_nodes_up(server);
    let Some(place) = up.iter().position(|&other| other == node) else { return Vec::new() };
    let (left, right) = (up[(place + up.len() - 1) % up.len()], up[(place + 1) % up.len()]);
    let president = server.node.observed_process().dictionary_leader;
    let placements = server.node.observed_placements();
    let mut own = placements.iter().filter(|placement| placement.replicas.contains(&node));
    let arbitrator = own.find_map(|placement| placement.witness);
    let is_connected =
        |id: u32| id == node || server.node.cluster().is_some_and(|cluster| cluster.is_up(NodeId(id)));
    let (state, connected) = match arbitrator {
        None => ("ARBIT_NULL", "No"),
        Some(id) if is_connected(id) => ("ARBIT_RUN", "Yes"),
        Some(_) => ("ARBIT_FIND", "No"),
    };
    let managers = server.node.cluster().map(|cluster| cluster.options.management_nodes()).unwrap_or_default();
    let connected_managers: Vec<u32> = managers.iter().map(|id| id.0).filter(|&id| is_connected(id)).collect();
    let successor = connected_managers.iter().copied().find(|&id| Some(id) != president);
    let list = connected_managers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let ticket = server.node.cluster().map_or(0, |cluster| cluster.options.config_hash);
    vec![row![
        node,
        node_group(server, node),
        left,
        right,
        president,
        successor,
        place,
        Value::Null,
        arbitrator.unwrap_or(0),
        format!("{ticket:016x}"),
        state,
        connected,
        if list.is_empty() { "-".to_owned() } else { list },
        "-",
    ]]
}

/// Places of `membership`'s columns.
const ARBITRATOR: usize = 8;
const TICKET: usize = 9;
const STATE: usize = 10;
const CONNECTED: usize = 11;

pub(crate) fn arbitrator_detail(_: &Rows<'_>, membership: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let pick = |row: Vec<Value>| {
        [0, ARBITRATOR, TICKET, CONNECTED, STATE].map(|place| row.get(place).cloned().unwrap_or_default()).to_vec()
    };
    membership.into_iter().map(pick).collect()
}

/// How many nodes agree on an arbitrator.
pub(crate) fn arbitrator_summary(_: &Rows<'_>, membership: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let mut counts: Vec<(Vec<Value>, u64)> = Vec::new();
    for row in membership {
        let view =
            [ARBITRATOR, TICKET, CONNECTED].map(|place| row.get(place).cloned().unwrap_or_default()).to_vec();
        match counts.iter_mut().find(|(known, _)| *known == view) {
            Some((_, count)) => *count += 1,
            None => counts.push((view, 1)),
        }
    }
    counts.into_iter().map(|(view, count)| view.into_iter().chain([Value::UInt(count)]).collect()).collect()
}
