//! Tables and their partitions: the dictionary's, where they lie, and what was done with them.

use std::sync::Arc;

use shoal_cluster::{Catalog, ObservedPlacement};
use shoal_types::{NodeId, TableId, Value};

use super::super::Rows;
use super::super::cell::row;
use super::this_node::me;
use crate::server::Server;

/// Names of NDB's kinds of objects, by their numbers.
const OBJECT_TYPES: [(u64, &str); 20] = [
    (1, "System table"),
    (USER_TABLE, "User table"),
    (UNIQUE_INDEX, "Unique hash index"),
    (4, "Hash index"),
    (5, "Unique ordered index"),
    (6, "Ordered index"),
    (7, "Hash index trigger"),
    (8, "Subscription trigger"),
    (9, "Read only constraint"),
    (10, "Index trigger"),
    (11, "Reorganize trigger"),
    (20, "Tablespace"),
    (21, "Log file group"),
    (22, "Data file"),
    (23, "Undo file"),
    (24, "Hash map"),
    (25, "Foreign key definition"),
    (26, "Foreign key parent trigger"),
    (27, "Foreign key child trigger"),
    (30, "Schema transaction"),
];
const USER_TABLE: u64 = 2;
const UNIQUE_INDEX: u64 = 3;
/// Of an object that can be used.
const ONLINE: u64 = 4;

/// A table that fragments are of: one that users see, or what keeps an index unique.
pub(super) struct Kept {
    pub(super) id: TableId,
    version: u32,
    name: String,
    /// The table whose index it keeps.
    parent: Option<(TableId, String)>,
}

impl Kept {
    fn kind(&self) -> u64 {
        if self.parent.is_some() { UNIQUE_INDEX } else { USER_TABLE }
    }

    /// The columns with which tables about fragments begin.
    pub(super) fn named(&self, node: u32, partition: u32) -> Vec<Value> {
        let kind = OBJECT_TYPES.iter().find(|(number, _)| *number == self.kind()).map(|(_, name)| *name);
        let parent = self.parent.as_ref().map(|(_, name)| name);
        row![&self.name, parent, kind, u64::from(self.id.0), node, 1_u64, partition]
    }
}

/// As NDB writes names of tables.
fn full_name(database: &str, table: &str) -> String {
    format!("{database}/def/{table}")
}

/// All tables of the dictionary, by their ids.
pub(super) fn kept_tables(server: &Server) -> Vec<Kept> {
    let catalog: Arc<Catalog> = server.node.catalog();
    let mut kept = Vec::new();
    for table in catalog.databases.values().flat_map(|database| database.tables.values()) {
        let schema = &table.schema;
        let name = full_name(&schema.database, &schema.name);
        for &position in &table.global_unique {
            let Some(index) = schema.indexes.get(position) else { continue };
            let Some(id) = index.unique_table else { continue };
            let parent = Some((schema.id, name.clone()));
            // NDB's name of what keeps an index unique.
            let name = format!("sys/def/{}/{}$unique", schema.id.0, index.name);
            kept.push(Kept { id, version: schema.version, name, parent });
        }
        kept.push(Kept { id: schema.id, version: schema.version, name, parent: None });
    }
    kept.sort_unstable_by_key(|table| table.id);
    kept
}

/// Rows for the fragments of these tables whose rows are here.
pub(super) fn for_each_fragment(
    server: &Server,
    tables: &[Kept],
    make: impl Fn(&Kept, u32) -> Vec<Value>,
) -> Vec<Vec<Value>> {
    let partitions = server.node.observed_data_partitions();
    tables.iter().flat_map(|table| partitions.iter().map(|&partition| make(table, partition))).collect()
}

/// Operations are counted where they are done: reads and writes at the leader, committed changes at every replica. What NDB counts in
/// bytes and instructions is not counted.
pub(super) fn operations_per_fragment(server: &Server) -> Vec<Vec<Value>> {
    let node = me(server);
    let make = |kept: &Kept, partition: u32| {
        let done = server.node.partition(partition).operations(kept.id);
        let mut row = kept.named(node, partition);
        row.extend(row![done.key_reads, done.key_inserts, done.key_updates, 0_u64, done.key_deletes]);
        row.extend(std::iter::repeat_n(Value::Null, 6));
        row.extend(row![done.scans, done.scan_rows_examined, done.scan_rows_returned]);
        row.extend(std::iter::repeat_n(Value::Null, 7));
        row.push(Value::UInt(done.commits));
        row
    };
    for_each_fragment(server, &kept_tables(server), make)
}

pub(crate) fn object_types(_: &Rows<'_>) -> Vec<Vec<Value>> {
    OBJECT_TYPES.iter().map(|(number, name)| row![*number, *name]).collect()
}

pub(crate) fn objects(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let make = |kept: &Kept| {
        let (parent_kind, parent) = match &kept.parent {
            Some((id, _)) => (USER_TABLE, u64::from(id.0)),
            None => (0, 0),
        };
        row![kept.kind(), u64::from(kept.id.0), kept.version, ONLINE, parent_kind, parent, &kept.name]
    };
    kept_tables(rows.server).iter().map(make).collect()
}

/// Rows carry the time of their commit, are logged, in memory, and read at the leader.
pub(crate) fn table_info(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let make = |kept: &Kept| {
        row![
            u64::from(kept.id.0),
            1_u64,
            1_u64,
            0_u64,
            0_u64,
            0_u64,
            "MEMORY",
            Value::Null,
            "SPECIFIC",
            Value::Null
        ]
    };
    kept_tables(rows.server).iter().map(make).collect()
}

/// All tables share the copies of their partitions. Nothing is reorganised.
pub(crate) fn distribution_status(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let server = rows.server;
    let (node, partitions) = (me(server), u64::from(server.node.partition_count()));
    let copying = if server.node.transfers().is_empty() { "IDLE" } else { "COPY_TAB_REQ" };
    let make = |kept: &Kept| {
        row![
            node,
            u64::from(kept.id.0),
            copying,
            "IDLE",
            "COMPLETED",
            "ACTIVE",
            "NORMAL",
            partitions,
            partitions,
            Value::Null,
            Value::Null,
            0_u64
        ]
    };
    kept_tables(server).iter().map(make).collect()
}

fn is_up(server: &Server, node: u32) -> bool {
    server.node.cluster().is_none_or(|cluster| cluster.options.me.0 == node || cluster.is_up(NodeId(node)))
}

/// Where fragments lie, as this node knows it.
pub(crate) fn table_fragments(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let server = rows.server;
    let (node, placements) = (me(server), server.node.observed_placements());
    let make = |kept: &Kept, placed: &ObservedPlacement| {
        let alive = placed.replicas.iter().filter(|&&replica| is_up(server, replica)).count();
        let mut backups = placed.replicas.iter().copied().filter(|&replica| Some(replica) != placed.leader);
        row![
            node,
            u64::from(kept.id.0),
            placed.partition,
            placed.partition,
            0_u64,
            0_u64,
            placed.replicas.len(),
            placed.leader,
            placed.replicas.first().copied(),
            backups.next(),
            backups.next(),
            backups.next(),
            alive,
            placed.replicas.len() - alive,
            Value::Null
        ]
    };
    let tables = kept_tables(server);
    tables.iter().flat_map(|kept| placements.iter().map(move |placed| make(kept, placed))).collect()
}

pub(crate) fn table_replicas(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let server = rows.server;
    let (node, placements) = (me(server), server.node.observed_placements());
    let make = |kept: &Kept, placed: &ObservedPlacement, replica: u32| {
        let mut row = row![node, u64::from(kept.id.0), placed.partition, Value::Null, replica];
        row.extend(std::iter::repeat_n(Value::Null, 10));
        row.push(Value::UInt(u64::from(is_up(server, replica))));
        row
    };
    let mut found = Vec::new();
    for kept in &kept_tables(server) {
        for placed in &placements {
            found.extend(placed.replicas.iter().map(|&replica| make(kept, placed, replica)));
        }
    }
    found
}
