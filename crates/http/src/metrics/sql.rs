//! Statements and connections.

use shoal_sql::figures::Figures;
use shoal_sql::statement_times::{POWERS, bound_us};

use super::text::{Kind, Text};

/// Status variables that become a family of their own: name, help, variable.
const COUNTERS: &[(&str, &str, &str)] = &[
    ("shoal_questions_total", "Statements that clients have sent.", "Questions"),
    ("shoal_slow_statements_total", "Statements that took longer than long_query_time.", "Slow_queries"),
    ("shoal_plan_cache_hits_total", "Statements whose plan was there.", "Shoal_plan_cache_hits"),
    ("shoal_plan_cache_misses_total", "Statements whose plan had to be made.", "Shoal_plan_cache_misses"),
    ("shoal_transactions_committed_total", "Transactions that were committed.", "Ndb_api_trans_commit_count"),
    ("shoal_transactions_rolled_back_total", "Transactions that were rolled back.", "Ndb_api_trans_abort_count"),
    ("shoal_full_scans_total", "Scans of whole tables by SELECT.", "Select_scan"),
    ("shoal_partition_requests_total", "Round trips to partitions, here or elsewhere.", "Ndb_execute_count"),
    ("shoal_rows_read_total", "Rows that partitions have returned.", "Ndb_api_read_row_count"),
];

pub fn write(text: &mut Text, figures: &Figures) {
    for &(name, help, variable) in COUNTERS {
        text.one(name, Kind::Counter, help, figures.counter(variable));
    }
    for (name, help, label, prefix) in [
        ("shoal_commands_total", "Statements by kind: the Com_ variables.", "command", "Com_"),
        ("shoal_row_operations_total", "The Handler_ variables.", "operation", "Handler_"),
    ] {
        let mut family = text.family(name, Kind::Counter, help);
        for (variable, count) in &figures.counters {
            if let Some(what) = variable.strip_prefix(prefix) {
                family.labelled(&[(label, what)], count);
            }
        }
    }
    times(text, figures);
    connections(text, figures);
    let help = "Entries of query logs that never reached their file.";
    text.one("shoal_query_log_lost_total", Kind::Counter, help, figures.query_log_lost);
    if !figures.interfaces.is_empty() {
        let help = "What other interfaces, such as HandlerSocket, add to SHOW STATUS.";
        let mut family = text.family("shoal_interface_total", Kind::Counter, help);
        for (name, value) in &figures.interfaces {
            family.labelled(&[("name", &name.to_lowercase())], value);
        }
    }
}

/// A bound for every power of two from 16 us on: what lies between two of them is summed up.
const FIRST_POWER: u32 = 4;

fn times(text: &mut Text, figures: &Figures) {
    let mut family = text.family(
        "shoal_statement_duration_seconds",
        Kind::Histogram,
        "From a statement's arrival to the end of its answer, by kind.",
    );
    for (kind, times) in &figures.times {
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
    for (kind, times) in &figures.times {
        family.labelled(&[("kind", kind)], times.errors);
    }
}

fn connections(text: &mut Text, figures: &Figures) {
    text.gauge("shoal_connections", "Sessions of MySQL clients.", figures.sessions);
    text.gauge("shoal_connections_running", "Sessions that are at work on a statement.", figures.sessions_running);
    text.gauge("shoal_connections_limit", "max_connections.", figures.sessions_limit);
    text.gauge("shoal_connections_most", "The most sessions there have been at once.", figures.sessions_most);
    for (name, help, count) in [
        ("shoal_connections_total", "Sessions that were begun.", figures.sessions_begun),
        (
            "shoal_login_failures_total",
            "Connections that ended before a session: wrong passwords, and clients that gave up.",
            figures.login_failures,
        ),
        ("shoal_tls_connections_total", "Connections with TLS.", figures.tls_connections),
        ("shoal_received_bytes_total", "From MySQL clients.", figures.received_bytes),
        ("shoal_sent_bytes_total", "To MySQL clients.", figures.sent_bytes),
    ] {
        text.one(name, Kind::Counter, help, count);
    }
    if let Some(end) = figures.certificate_end_s {
        text.gauge("shoal_tls_certificate_expiry_timestamp_seconds", "When the server's certificate ends.", end);
    }
}
