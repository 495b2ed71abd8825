//! Status variables: what the counters of sessions and of the node come to.

use std::sync::atomic::Ordering;

use super::Rows;
use crate::counters::COUNTER_NAMES;

/// (name, value) of every status variable, in the order of their names. Variables that no session counts for itself have
/// the server's value in both scopes.
pub(crate) fn list(rows: &Rows<'_>, global: bool) -> Vec<(String, String)> {
    let counts = if global { rows.server.totals() } else { rows.shared.counters.values().collect() };
    let counted = COUNTER_NAMES.iter().zip(counts).map(|(name, count)| ((*name).to_owned(), count.to_string()));
    let mut found: Vec<(String, String)> = counted.collect();
    found.extend(of_server(rows).into_iter().map(|(name, value)| (name.to_owned(), value)));
    found.extend(of_nodes(rows));
    found.extend(
        rows.server.status_of_interfaces().into_iter().map(|(name, value)| (name.to_owned(), value.to_string())),
    );
    found.sort_by_cached_key(|(name, _)| name.to_lowercase());
    found
}

fn of_server(rows: &Rows<'_>) -> Vec<(&'static str, String)> {
    let server = rows.server;
    let sessions = server.all_sessions();
    let running = sessions.iter().filter(|session| session.is_running()).count();
    let uptime = server.uptime_s().to_string();
    let read = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed).to_string();
    let tables = server.node.catalog().databases.values().map(|database| database.tables.len()).sum::<usize>();
    let (tls_version, cipher) = rows.shared.cipher.clone().unwrap_or_default();
    vec![
        ("Aborted_connects", read(&server.aborted_connects)),
        ("Bytes_received", read(&server.traffic_received)),
        ("Bytes_sent", read(&server.traffic_sent)),
        ("Compression", "OFF".to_owned()),
        ("Connections", read(&server.connections)),
        ("Max_used_connections", server.max_used_connections.load(Ordering::Relaxed).to_string()),
        ("Open_tables", tables.to_string()),
        ("Shoal_query_log_lost", server.query_logs.lost().to_string()),
        ("Ssl_accepts", read(&server.encrypted_connects)),
        ("Ssl_cipher", cipher),
        ("Ssl_finished_accepts", read(&server.encrypted_connects)),
        ("Ssl_version", tls_version.to_owned()),
        ("Threads_connected", sessions.len().to_string()),
        ("Threads_created", read(&server.connections)),
        ("Threads_running", running.to_string()),
        ("Uptime", uptime.clone()),
        ("Uptime_since_flush_status", uptime),
    ]
}

/// What the cluster stores, and where. Without a cluster the SQL layer lives inside the one data node.
fn of_nodes(rows: &Rows<'_>) -> Vec<(String, String)> {
    let node = &rows.server.node;
    let memory = node.memory_usage();
    let (me, data_nodes, ready) = match node.cluster() {
        Some(cluster) => {
            let me = cluster.options.me;
            let data = || cluster.options.nodes.iter().filter(|node| node.roles.data);
            let is_ready = |id| if id == me { !node.is_stopped() } else { cluster.is_up(id) };
            (me.0, data().count(), data().filter(|node| is_ready(node.id)).count())
        }
        None => (1, 1, usize::from(!node.is_stopped())),
    };
    let items = [
        ("Ndb_number_of_data_nodes", data_nodes.to_string()),
        ("Ndb_number_of_ready_data_nodes", ready.to_string()),
        ("Ndb_cluster_node_id", me.to_string()),
        ("Shoal_memory_indexes_bytes", memory.tables.index_bytes.to_string()),
        ("Shoal_memory_limit_bytes", memory.limit_bytes.to_string()),
        ("Shoal_memory_old_versions_bytes", memory.tables.old_bytes.to_string()),
        ("Shoal_memory_plans_bytes", memory.plans_bytes.to_string()),
        ("Shoal_memory_rows_bytes", memory.tables.row_bytes.to_string()),
        ("Shoal_memory_rows_free_bytes", memory.tables.free_bytes.to_string()),
        ("Shoal_memory_statements_bytes", memory.statements_bytes.to_string()),
        ("Shoal_memory_transactions_bytes", memory.transactions_bytes.to_string()),
        ("Shoal_memory_used_bytes", memory.used_bytes.to_string()),
        ("Shoal_node_1_memory_limit_bytes", memory.limit_bytes.to_string()),
        ("Shoal_node_1_memory_used_bytes", memory.used_bytes.to_string()),
        ("Shoal_partitions", node.partition_count().to_string()),
    ];
    items.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
