//! Statements and connections.

use std::sync::atomic::Ordering;

use shoal_sql::counters::{COUNTER_NAMES, Counter};
use shoal_sql::server::Server;
use shoal_sql::statement_times::{KIND_NAMES, POWERS, bound_us};

use super::text::{Kind, Text};

/// Status variables that become a family of their own: name, help, counter.
const COUNTERS: &[(&str, &str, Counter)] = &[
    ("shoal_questions_total", "Statements that clients have sent.", Counter::Questions),
    ("shoal_slow_statements_total", "Statements that took longer than long_query_time.", Counter::SlowQueries),
    ("shoal_plan_cache_hits_total", "Statements whose plan was there.", Counter::PlanCacheHits),
    ("shoal_plan_cache_misses_total", "Statements whose plan had to be made.", Counter::PlanCacheMisses),
    ("shoal_transactions_committed_total", "Transactions that were committed.", Counter::TransactionCommits),
    ("shoal_transactions_rolled_back_total", "Transactions that were rolled back.", Counter::TransactionAborts),
    ("shoal_full_scans_total", "Scans of whole tables by SELECT.", Counter::SelectScan),
    ("shoal_partition_requests_total", "Round trips to partitions, here or elsewhere.", Counter::ExecuteCount),
    ("shoal_rows_read_total", "Rows that partitions have returned.", Counter::ReadRowCount),
];

pub fn write(text: &mut Text, server: &Server) {
    let totals = server.totals();
    let total = |counter: Counter| totals.get(counter as usize).copied().unwrap_or(0);
    for &(name, help, counter) in COUNTERS {
        text.one(name, Kind::Counter, help, total(counter));
    }
    let commands =
        COUNTER_NAMES.iter().zip(&totals).filter_map(|(name, count)| Some((name.strip_prefix("Com_")?, count)));
    let mut family = text.family("shoal_commands_total", Kind::Counter, "Statements by kind: the Com_ variables.");
    for (command, count) in commands {
        family.labelled(&[("command", command)], count);
    }
    let handlers = COUNTER_NAMES.iter().zip(&totals);
    let handlers = handlers.filter_map(|(name, count)| Some((name.strip_prefix("Handler_")?, count)));
    let mut family = text.family("shoal_row_operations_total", Kind::Counter, "The Handler_ variables.");
    for (operation, count) in handlers {
        family.labelled(&[("operation", operation)], count);
    }
    times(text, server);
    connections(text, server);
    text.one(
        "shoal_query_log_lost_total",
        Kind::Counter,
        "Entries of query logs that never reached their file.",
        server.query_logs.lost(),
    );
    interfaces(text, server);
}

/// A bound for every power of two from 16 us on: what lies between two of them is summed up.
const FIRST_POWER: u32 = 4;

fn times(text: &mut Text, server: &Server) {
    let merged = server.statement_times.merged();
    let mut family = text.family(
        "shoal_statement_duration_seconds",
        Kind::Histogram,
        "From a statement's arrival to the end of its answer, by kind.",
    );
    for (kind, times) in KIND_NAMES.iter().zip(&merged) {
        let (mut below, mut bucket) = (0, 0);
        for power in FIRST_POWER..POWERS {
            while bound_us(bucket) <= 1 << power {
                below += times.buckets[bucket];
                bucket += 1;
            }
            let bound = (1u64 << power) as f64 / 1e6;
            family.sample("_bucket", &[("kind", kind), ("le", &bound.to_string())], below);
        }
        let count = times.count();
        family.sample("_bucket", &[("kind", kind), ("le", "+Inf")], count);
        family.sample("_sum", &[("kind", kind)], times.sum_us as f64 / 1e6);
        family.sample("_count", &[("kind", kind)], count);
    }
    let mut family =
        text.family("shoal_statement_errors_total", Kind::Counter, "Statements that failed, by kind.");
    for (kind, times) in KIND_NAMES.iter().zip(&merged) {
        family.labelled(&[("kind", kind)], times.errors);
    }
}

fn connections(text: &mut Text, server: &Server) {
    let sessions = server.all_sessions();
    let running = sessions.iter().filter(|session| session.is_running()).count();
    text.gauge("shoal_connections", "Sessions of MySQL clients.", sessions.len());
    text.gauge("shoal_connections_running", "Sessions that are at work on a statement.", running);
    let limit = server.global_text("max_connections").parse().unwrap_or(0u64);
    text.gauge("shoal_connections_limit", "max_connections.", limit);
    let most = server.max_used_connections.load(Ordering::Relaxed);
    text.gauge("shoal_connections_most", "The most sessions there have been at once.", most);
    text.count("shoal_connections_total", "Sessions that were begun.", &server.connections);
    text.count(
        "shoal_login_failures_total",
        "Connections that ended before a session: wrong passwords, and clients that gave up.",
        &server.aborted_connects,
    );
    text.count("shoal_tls_connections_total", "Connections with TLS.", &server.encrypted_connects);
    text.count("shoal_received_bytes_total", "From MySQL clients.", &server.traffic_received);
    text.count("shoal_sent_bytes_total", "To MySQL clients.", &server.traffic_sent);
    if let Some(expiry) = server.tls_facts().and_then(|facts| facts.not_after_s) {
        text.gauge(
            "shoal_tls_certificate_expiry_timestamp_seconds",
            "When the server's certificate ends.",
            expiry,
        );
    }
}

/// What other interfaces count, such as HandlerSocket, by the names of their status variables.
fn interfaces(text: &mut Text, server: &Server) {
    let counted = server.status_of_interfaces();
    if counted.is_empty() {
        return;
    }
    let mut family = text.family("shoal_interface_total", Kind::Counter, "Status variables of other interfaces.");
    for (name, value) in counted {
        family.labelled(&[("name", &name.to_lowercase())], value);
    }
}
