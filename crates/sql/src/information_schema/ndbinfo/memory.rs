//! What takes memory, by kind and by fragment, and the log.

use shoal_types::Value;

use super::super::cell::row;
use super::fragments::{Kept, kept_tables};
use super::this_node::me;
use crate::server::Server;

/// NDB counts in these.
const PAGE_BYTES: u64 = 32 << 10;

/// Rows and indexes on data nodes; what transactions and statements need besides them on every node.
pub(super) fn memoryusage(server: &Server) -> Vec<Vec<Value>> {
    let (node, memory) = (me(server), server.node.memory_usage());
    let make = |kind: &str, used: u64, total: Option<u64>| {
        row![node, kind, used, used.div_ceil(PAGE_BYTES), total, total.map(|bytes| bytes / PAGE_BYTES)]
    };
    let mut rows = Vec::new();
    if !server.node.observed_data_partitions().is_empty() {
        rows.push(make("Data memory", memory.used_bytes, Some(memory.limit_bytes)));
    }
    rows.push(make("Transaction memory", memory.transactions_bytes, None));
    rows.push(make("Query memory", memory.statements_bytes + memory.plans_bytes, None));
    rows
}

/// Rows have no part of a fixed size; what leads to them and all indexes of the table count as its hash index.
pub(super) fn memory_per_fragment(server: &Server) -> Vec<Vec<Value>> {
    let node = me(server);
    let make = |kept: &Kept, partition: u32| {
        let guard = server.node.partition(partition);
        let (memory, count) = (guard.measured_memory(kept.id), guard.row_count(kept.id));
        drop(guard);
        let mut row = kept.named(node, partition);
        row.extend(row![
            0_u64,
            0_u64,
            0_u64,
            count,
            0_u64,
            memory.row_bytes,
            memory.free_bytes,
            count,
            0_u64,
            0_u64,
            memory.index_bytes
        ]);
        row
    };
    super::fragments::for_each_fragment(server, &kept_tables(server), make)
}

/// The files of the log, and what a start would have to read of them.
pub(super) fn logspaces(server: &Server) -> Vec<Vec<Value>> {
    let observed = server.node.observed();
    vec![row![observed.id, "REDO", 0_u64, 0_u64, observed.log_disk_bytes, observed.log_since_checkpoint_bytes]]
}

/// What is in the log's memory and not on disk yet; there is as much room as it takes.
pub(super) fn logbuffers(server: &Server) -> Vec<Vec<Value>> {
    let observed = server.node.observed();
    let used = observed.log_end_bytes.saturating_sub(observed.log_durable_bytes);
    vec![row![observed.id, "REDO", 0_u64, 0_u64, Value::Null, used]]
}
