//! Status variables: what the counters of sessions and of the node come to.

use std::sync::atomic::Ordering;

use super::{Rows, error_log, ndb_status};
use crate::counters::COUNTER_NAMES;

/// (name, value) of every status variable, in the order of their names. Variables that no session counts for itself have
/// the server's value in both scopes.
pub(crate) fn list(rows: &Rows<'_>, global: bool) -> Vec<(String, String)> {
    let counts: Vec<u64> = if global { rows.server.totals() } else { rows.shared.counters.values().collect() };
    let counted = COUNTER_NAMES.iter().zip(&counts).map(|(name, count)| ((*name).to_owned(), count.to_string()));
    let mut found: Vec<(String, String)> = counted.collect();
    found.extend(of_server(rows).into_iter().map(|(name, value)| (name.to_owned(), value)));
    found.extend(of_memory(rows));
    found.extend(ndb_status::list(rows, global, &counts));
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
    let (compression, level) = rows.shared.compression.unwrap_or_default();
    let mut found = vec![
        ("Aborted_connects", read(&server.aborted_connects)),
        ("Bytes_received", read(&server.traffic_received)),
        ("Bytes_sent", read(&server.traffic_sent)),
        ("Caching_sha2_password_rsa_public_key", server.public_password_key()),
        ("Compression", if rows.shared.compression.is_some() { "ON" } else { "OFF" }.to_owned()),
        ("Compression_algorithm", compression.to_owned()),
        ("Compression_level", level.to_string()),
        ("Connections", read(&server.connections)),
        ("Global_connection_memory", server.connections_memory.held_bytes().to_string()),
        ("Max_used_connections", server.max_used_connections.load(Ordering::Relaxed).to_string()),
        ("Open_tables", tables.to_string()),
        ("Performance_schema_digest_lost", server.digests.lost().to_string()),
        ("Shoal_query_log_lost", server.query_logs.lost().to_string()),
        ("Threads_connected", sessions.len().to_string()),
        ("Threads_created", read(&server.connections)),
        ("Threads_running", running.to_string()),
        ("Uptime", uptime.clone()),
        ("Uptime_since_flush_status", uptime),
    ];
    found.extend(of_tls(rows));
    found.extend(error_log::status());
    found
}

/// What rustls does not have (renegotiation, a cache of sessions: clients keep their tickets themselves) is zero.
fn of_tls(rows: &Rows<'_>) -> Vec<(&'static str, String)> {
    let server = rows.server;
    let session = rows.shared.tls.as_ref();
    let accepts = server.encrypted_connects.load(Ordering::Relaxed);
    let resumed = server.resumed_connects.load(Ordering::Relaxed);
    let facts = server.tls_facts().unwrap_or_default();
    let (depth, mode) = if facts.checks_clients { ("18446744073709551615", "5") } else { ("0", "0") };
    let of_session = |value: &str| if session.is_some() { value.to_owned() } else { "0".to_owned() };
    let variable = |name| server.global_text(name);
    let zero = || "0".to_owned();
    vec![
        ("Current_tls_ca", variable("ssl_ca")),
        ("Current_tls_cert", variable("ssl_cert")),
        ("Current_tls_key", variable("ssl_key")),
        ("Current_tls_version", variable("tls_version")),
        ("Ssl_accept_renegotiates", zero()),
        ("Ssl_accepts", accepts.to_string()),
        ("Ssl_cipher", session.map(|tls| tls.cipher.clone()).unwrap_or_default()),
        ("Ssl_cipher_list", if session.is_some() { facts.ciphers } else { String::new() }),
        ("Ssl_client_connects", zero()),
        ("Ssl_connect_renegotiates", zero()),
        ("Ssl_ctx_verify_depth", depth.to_owned()),
        ("Ssl_ctx_verify_mode", mode.to_owned()),
        ("Ssl_finished_accepts", accepts.to_string()),
        ("Ssl_finished_connects", zero()),
        ("Ssl_server_not_after", facts.not_after),
        ("Ssl_server_not_before", facts.not_before),
        ("Ssl_session_cache_hits", resumed.to_string()),
        ("Ssl_session_cache_misses", (accepts - resumed.min(accepts)).to_string()),
        ("Ssl_session_cache_mode", "SERVER".to_owned()),
        ("Ssl_sessions_reused", u8::from(session.is_some_and(|tls| tls.is_resumed)).to_string()),
        ("Ssl_verify_depth", of_session(depth)),
        ("Ssl_verify_mode", of_session(mode)),
        ("Ssl_version", session.map(|tls| tls.version).unwrap_or_default().to_owned()),
    ]
}

/// What the node keeps in memory.
fn of_memory(rows: &Rows<'_>) -> Vec<(String, String)> {
    let node = &rows.server.node;
    let memory = node.memory_usage();
    let (waiting, waits) = (node.wait_for_graph().len() as u64, node.wait_for_graph().counts());
    let waits_over = waits.begun.saturating_sub(waiting).max(1);
    let (temporary_tables, temporary_bytes) = rows.server.temporary.figures();
    let items = [
        ("Innodb_row_lock_current_waits", waiting.to_string()),
        ("Innodb_row_lock_time", waits.time.as_millis().to_string()),
        ("Innodb_row_lock_time_avg", (waits.time.as_millis() / u128::from(waits_over)).to_string()),
        ("Innodb_row_lock_time_max", waits.longest.as_millis().to_string()),
        ("Innodb_row_lock_waits", waits.begun.to_string()),
        ("Shoal_memory_indexes_bytes", memory.tables.index_bytes.to_string()),
        ("Shoal_memory_limit_bytes", memory.limit_bytes.to_string()),
        ("Shoal_memory_old_versions_bytes", memory.tables.old_bytes.to_string()),
        ("Shoal_memory_plans_bytes", memory.plans_bytes.to_string()),
        ("Shoal_memory_rows_bytes", memory.tables.row_bytes.to_string()),
        ("Shoal_memory_rows_free_bytes", memory.tables.free_bytes.to_string()),
        ("Shoal_memory_statements_bytes", memory.statements_bytes.to_string()),
        ("Shoal_memory_temporary_tables_bytes", temporary_bytes.to_string()),
        ("Shoal_memory_transactions_bytes", memory.transactions_bytes.to_string()),
        ("Shoal_memory_used_bytes", memory.used_bytes.to_string()),
        ("Shoal_node_1_memory_limit_bytes", memory.limit_bytes.to_string()),
        ("Shoal_node_1_memory_used_bytes", memory.used_bytes.to_string()),
        ("Shoal_partitions", node.partition_count().to_string()),
        ("Shoal_temporary_tables", temporary_tables.to_string()),
    ];
    items.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
