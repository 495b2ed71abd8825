//! What must hold between the nodes of a cluster.

use std::collections::BTreeMap;

use super::{Sections, Setting};
use crate::cluster::{ClusterConfig, host_key, is_localhost};
use crate::defect::Findings;
use crate::parameters::SectionKind;
use crate::placement::NO_NODE_GROUP;

pub(super) fn check(sections: &Sections, config: &ClusterConfig, findings: &mut Findings) {
    management(config, findings);
    data(sections, config, findings);
    if config.sql_nodes().next().is_none() {
        findings.note(
            0,
            "no node has the role sql, so MySQL clients have nowhere to connect; add a section [mysqld], or \
             Roles=data,sql to [ndbd default]",
        );
    }
    shared_hosts(config, findings);
    groups(config, findings);
    hosts(sections, config, findings);
    ports(config, findings);
    connections(sections, config, findings);
}

fn management(config: &ClusterConfig, findings: &mut Findings) {
    let lines: Vec<usize> = config.mgm_nodes().map(|node| node.line).collect();
    match lines.as_slice() {
        [] => findings.defect(0, "there is no management node; add a section [ndb_mgmd] with its HostName"),
        [_] | [_, _, _] => {}
        [_, second] => findings.note(
            *second,
            "two management nodes: tables cannot be created or changed while one of them is down; one does as well, \
             three survive a failure",
        ),
        [_, _, _, fourth, ..] => {
            let message = format!("{} management nodes; a cluster has 1 or 3 of them", lines.len());
            findings.defect(*fourth, message);
        }
    }
}

fn data(sections: &Sections, config: &ClusterConfig, findings: &mut Findings) {
    let count = config.data_nodes().count();
    let replicas = config.replicas as usize;
    let replicas_line = sections
        .default_setting(SectionKind::Data, "NoOfReplicas")
        .or_else(|| sections.of(SectionKind::Data).find_map(|section| section.get("NoOfReplicas")))
        .map_or(0, |setting| setting.line);
    if count == 0 {
        findings.defect(0, "there is no data node; add a section [ndbd] with its HostName for each");
    } else if config.replicas > 3 {
        findings.defect(
            replicas_line,
            "NoOfReplicas=4 is not supported; 3 replicas survive any one failure, and most of two",
        );
    } else if !count.is_multiple_of(replicas) {
        let message = format!(
            "{count} data node{} cannot be grouped by NoOfReplicas={replicas}; add [ndbd] sections up to {}, or set \
             NoOfReplicas to {}",
            if count == 1 { "" } else { "s" },
            count.next_multiple_of(replicas),
            if count.is_multiple_of(2) { "1 or 2" } else { "1" },
        );
        findings.defect(replicas_line, message);
    }
    for setting in sections.all.iter().filter_map(|section| section.get_if_known("IndexMemory")) {
        findings.note(setting.line, "IndexMemory is added to DataMemory, where indexes live as well");
    }
    let no_third_vote =
        config.partition_map().iter().any(|placement| placement.voters.len() == 2 && placement.witness.is_none());
    if no_third_vote && config.mgm_nodes().next().is_some() {
        findings.note(
            0,
            "no management node runs apart from the data nodes, so nobody has the third vote: the loss of one data node \
             stops its partitions; add a [ndb_mgmd] with an id of its own",
        );
    }
}

/// The loss of a host should take one vote of three, not two.
fn shared_hosts(config: &ClusterConfig, findings: &mut Findings) {
    let host = |id| config.node(id).map(|node| host_key(node.host.as_deref())).unwrap_or_default();
    for placement in config.partition_map() {
        let Some(witness) = placement.witness else { continue };
        let shared = host(witness);
        let beside = placement.voters.iter().copied().find(|voter| host(*voter) == shared);
        if let Some(voter) = beside.filter(|_| !is_localhost(&shared)) {
            let message = format!(
                "management node {witness} is on the host of data node {voter}: the loss of {shared} takes two votes \
                 of three and stops partitions; put it on a host of its own, however small"
            );
            return findings.note(config.node(witness).map_or(0, |node| node.line), message);
        }
    }
}

/// NodeGroup, where it is given, must make groups of NoOfReplicas.
fn groups(config: &ClusterConfig, findings: &mut Findings) {
    let mut sizes: BTreeMap<u32, (u32, usize)> = BTreeMap::new();
    for node in config.data_nodes() {
        match node.node_group {
            None => {}
            Some(NO_NODE_GROUP) => {
                let message = format!(
                    "node {} is in no node group (NodeGroup={NO_NODE_GROUP}) and holds no partitions",
                    node.id
                );
                findings.note(node.line, message);
            }
            Some(group) => {
                let (size, _) = sizes.entry(group).or_insert((0, node.line));
                *size += 1;
            }
        }
    }
    for (group, (size, line)) in sizes {
        if size != config.replicas {
            let message = format!(
                "NodeGroup={group} has {size} of the data nodes; with NoOfReplicas={0} it needs {0}",
                config.replicas
            );
            findings.defect(line, message);
        }
    }
}

fn hosts(sections: &Sections, config: &ClusterConfig, findings: &mut Findings) {
    for computer in sections.of(SectionKind::Computer) {
        if computer.get("HostName").and_then(Setting::text).is_none() {
            findings.defect(computer.line, "[computer] needs a HostName");
        }
        if computer.get("Id").and_then(Setting::text).is_none() {
            findings.defect(computer.line, "[computer] needs an Id, which ExecuteOnComputer names");
        }
    }
    let with_host = config.nodes.iter().filter(|node| node.roles.mgm || node.roles.data);
    let (local, remote): (Vec<_>, Vec<_>) =
        with_host.partition(|node| node.host.as_deref().is_none_or(is_localhost));
    if let (Some(local), Some(remote)) = (local.first(), remote.first()) {
        let message = format!(
            "node {} is on localhost (the default HostName), where node {} on {} cannot reach it; write the name or \
             address that the other hosts know",
            local.id,
            remote.id,
            remote.host.as_deref().unwrap_or_default(),
        );
        findings.defect(local.line, message);
    }
}

/// Two listeners of one host cannot have one port.
fn ports(config: &ClusterConfig, findings: &mut Findings) {
    let mut listeners: BTreeMap<(String, u16), (u32, &str)> = BTreeMap::new();
    for node in &config.nodes {
        // Two free slots may well be filled from two hosts.
        if node.host.is_none() {
            continue;
        }
        let server = if node.roles.mgm { "PortNumber" } else { "ServerPort" };
        let of_node = [
            (server, Some(node.server_port)),
            ("MySQLPort", node.mysql_port),
            ("HandlerSocketPort", node.handlersocket.port),
            ("HandlerSocketPortWr", node.handlersocket.port_wr),
        ];
        for (name, port) in of_node {
            let Some(port) = port else { continue };
            let key = (host_key(node.host.as_deref()), port);
            if let Some((other, other_name)) = listeners.get(&key) {
                let message = format!(
                    "{name} {port} of node {} is also {other_name} of node {other} on the same host; choose another",
                    node.id
                );
                findings.defect(node.line, message);
            } else {
                listeners.insert(key, (node.id.0, name));
            }
        }
    }
}

/// `[tcp]` and `[shm]` sections name two nodes that exist.
fn connections(sections: &Sections, config: &ClusterConfig, findings: &mut Findings) {
    let kinds = [SectionKind::Tcp, SectionKind::SharedMemory, SectionKind::Sci];
    for section in kinds.into_iter().flat_map(|kind| sections.of(kind)) {
        for name in ["NodeId1", "NodeId2"] {
            let Some(setting) = section.get(name) else {
                findings.defect(section.line, format!("[{}] needs {name}", section.word));
                continue;
            };
            // An older form puts the system's name in front: `prod.3`.
            let id: Option<u32> = setting.text().and_then(|text| text.rsplit('.').next()?.trim().parse().ok());
            let known = id.is_some_and(|id| config.nodes.iter().any(|node| node.id.0 == id));
            if !known {
                let message = format!("{name}={} is no node of this file", setting.text().unwrap_or_default());
                findings.defect(setting.line, message);
            }
        }
    }
}
