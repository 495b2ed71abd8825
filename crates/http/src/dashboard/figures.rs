//! What a node tells of itself as it is now.

use std::time::Duration;

use serde_json::{Value, json};
use shoal_cluster::ObservedPartition;

use super::history::{FIELDS, number};
use super::warnings;
use crate::health;
use crate::metrics::process;
use crate::watched::{Stage, Watched};

/// `with_private`: for a viewer with PROCESS.
pub fn figures(watched: &Watched, with_private: bool) -> Value {
    let reason = health::reason(watched);
    let (done, total) = watched.recovery();
    let mut told = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_s": watched.uptime_s() as u64,
        "stage": watched.stage().name(),
        "reason": reason,
        "recovery": { "done_bytes": done, "total_bytes": total, "is_over": watched.stage() > Stage::Opening },
    });
    let Some(server) = watched.server() else { return told };
    let (observed, sql) = (server.node.observed(), server.figures());
    let memory = server.node.memory_usage();
    let (free, size) = process::disk(&server.node.log().directory());
    told["node"] = json!(observed.id);
    told["roles"] = json!(observed.roles);
    told["memory"] = json!({
        "limit_bytes": memory.limit_bytes,
        "used_bytes": memory.used_bytes,
        "rows_bytes": memory.tables.row_bytes,
        "free_bytes": memory.tables.free_bytes,
        "indexes_bytes": memory.tables.index_bytes,
        "old_versions_bytes": memory.tables.old_bytes,
        "transactions_bytes": memory.transactions_bytes,
        "statements_bytes": memory.statements_bytes + memory.plans_bytes,
    });
    told["disk"] = json!({
        "free_bytes": free,
        "size_bytes": size,
        "log_bytes": observed.log_disk_bytes,
        "since_checkpoint_bytes": observed.log_since_checkpoint_bytes,
        "is_full": observed.disk_is_full,
    });
    let sum = |figure: fn(&ObservedPartition) -> usize| observed.partitions.iter().map(figure).sum::<usize>();
    told["activity"] = json!({
        "connections": sql.sessions,
        "connections_limit": sql.sessions_limit,
        "running": sql.sessions_running,
        "transactions": sum(|one| one.activity.transactions),
        "prepared": sum(|one| one.activity.prepared),
        "row_locks": sum(|one| one.activity.row_locks),
        "lock_waits": observed.lock_waits,
        "copies_sent": observed.transfers,
    });
    told["partitions"] = observed.partitions.iter().map(partition).collect();
    let latest = watched.dashboard.history.latest();
    told["latest"] = latest.map_or(Value::Null, |sample| {
        FIELDS.iter().map(|field| ((*field).to_owned(), number(sample.value(field)))).collect()
    });
    let recent_login_failures = watched.dashboard.history.mean("login_failures", Duration::from_secs(300));
    told["warnings"] =
        warnings::of_node(server, &observed, &sql, (free, size), recent_login_failures, with_private);
    told
}

fn partition(one: &ObservedPartition) -> Value {
    let replicas = one.replicas.iter().map(|replica| {
        json!({
            "node": replica.node,
            "lag_entries": replica.lag_entries,
            "is_active": replica.is_active,
            "is_witness": replica.is_witness,
        })
    });
    json!({
        "partition": one.partition,
        "is_dictionary": one.is_meta,
        "serves": one.serves,
        "is_witness": one.is_witness,
        "leader": one.leader,
        "term": one.term,
        "unapplied_entries": one.last_index.saturating_sub(one.applied_index),
        "replicas": replicas.collect::<Vec<_>>(),
    })
}
