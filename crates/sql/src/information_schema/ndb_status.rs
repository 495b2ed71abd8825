//! Status variables of NDB, as far as there is what they count.
//!
//! `Ndb_api_*` are counted by sessions (`counters`); each is there again with `_session` behind it, which is this session's in both
//! scopes. A process that is the whole database is a cluster of one data node.

use super::Rows;
use crate::counters::{COUNTER_NAMES, Counter, Counters};
use crate::session::SessionShared;

/// What follows from counters of a session, or of all of them, in which so many transactions are open.
fn derived(counts: &[u64], open: u64) -> [(&'static str, u64); 3] {
    let of = |counter: Counter| counts.get(counter as usize).copied().unwrap_or(0);
    let ended = of(Counter::TransactionCommits) + of(Counter::TransactionAborts);
    [
        ("Ndb_api_trans_start_count", ended + open),
        ("Ndb_api_trans_close_count", ended),
        ("Ndb_api_pruned_scan_count", of(Counter::PrunedScanCount)),
    ]
}

/// (name, value) in no order. `counts` are those of the scope that is asked for.
pub(super) fn list(rows: &Rows<'_>, global: bool, counts: &[u64]) -> Vec<(String, String)> {
    let open = |session: &SessionShared| u64::from(session.transaction.id().is_some());
    let own_open = open(rows.shared);
    let scope_open = match global {
        false => own_open,
        true => {
            let sessions = rows.server.all_sessions();
            sessions.iter().map(|session| open(session)).sum()
        }
    };
    let own: Vec<u64> = session_counts(&rows.shared.counters);
    let mut found: Vec<(String, String)> = derived(counts, scope_open).map(told).into();
    let counted = COUNTER_NAMES.iter().zip(&own).filter(|(name, _)| name.starts_with("Ndb_api_"));
    let counted = counted.map(|(name, count)| (*name, *count)).chain(derived(&own, own_open));
    found.extend(counted.map(|(name, count)| (format!("{name}_session"), count.to_string())));
    found.extend(of_cluster(rows));
    found
}

fn session_counts(counters: &Counters) -> Vec<u64> {
    counters.values().collect()
}

fn told((name, count): (&'static str, u64)) -> (String, String) {
    (name.to_owned(), count.to_string())
}

/// Joins are never pushed down: what NDB counts of that is 0.
const NEVER: [&str; 4] = [
    "Ndb_pushed_queries_defined",
    "Ndb_pushed_queries_dropped",
    "Ndb_pushed_queries_executed",
    "Ndb_pushed_reads",
];

fn of_cluster(rows: &Rows<'_>) -> Vec<(String, String)> {
    let node = &rows.server.node;
    let mut found: Vec<(String, String)> = NEVER.map(|name| (name, 0)).map(told).into();
    let mut tell = |name: &str, value: String| found.push((name.to_owned(), value));
    let Some(cluster) = node.cluster() else {
        tell("Ndb_cluster_node_id", "1".to_owned());
        tell("Ndb_number_of_data_nodes", "1".to_owned());
        tell("Ndb_number_of_ready_data_nodes", u8::from(!node.is_stopped()).to_string());
        tell("Ndb_connect_count", "0".to_owned());
        tell("Ndb_api_bytes_sent_count", "0".to_owned());
        tell("Ndb_api_bytes_received_count", "0".to_owned());
        tell("Ndb_config_from_host", String::new());
        tell("Ndb_config_from_port", "0".to_owned());
        tell("Ndb_system_name", String::new());
        return found;
    };
    let options = &cluster.options;
    let data = || options.nodes.iter().filter(|entry| entry.roles.data);
    let is_ready = |id| if id == options.me { !node.is_stopped() } else { cluster.is_up(id) };
    let peers = cluster.transport().map(|transport| transport.peer_states()).unwrap_or_default();
    let sum = |of: fn(&shoal_cluster::PeerState) -> u64| peers.iter().map(of).sum::<u64>().to_string();
    tell("Ndb_cluster_node_id", options.me.0.to_string());
    tell("Ndb_number_of_data_nodes", data().count().to_string());
    tell("Ndb_number_of_ready_data_nodes", data().filter(|entry| is_ready(entry.id)).count().to_string());
    tell("Ndb_connect_count", sum(|peer| peer.links as u64 + peer.links_lost));
    tell("Ndb_api_bytes_sent_count", sum(|peer| peer.bytes_sent));
    tell("Ndb_api_bytes_received_count", sum(|peer| peer.bytes_received));
    // Every node reads the same file; the first management node that is up speaks for it.
    let managers = options.management_nodes();
    let manager = managers.iter().find(|&&id| is_ready(id)).or(managers.first());
    let address = manager.and_then(|&id| options.node(id)?.address.as_deref()).unwrap_or_default();
    let (host, port) = address.rsplit_once(':').unwrap_or((address, "0"));
    tell("Ndb_config_from_host", host.trim_matches(['[', ']']).to_owned());
    tell("Ndb_config_from_port", port.to_owned());
    tell("Ndb_system_name", options.name.clone());
    found
}
