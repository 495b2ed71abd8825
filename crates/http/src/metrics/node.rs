//! Memory, the log, partitions and links.

use shoal_cluster::{Node, ObservedNode, ObservedPartition};

use super::process;
use super::text::{Kind, Text};

pub fn write(text: &mut Text, node: &Node, observed: &ObservedNode) {
    let id = observed.id.to_string();
    text.family("shoal_node_info", Kind::Gauge, "Always 1; who this node is, is in the labels.")
        .labelled(&[("node", &id), ("roles", &observed.roles), ("cluster", &observed.cluster)], 1);
    memory(text, node);
    log(text, node, observed);
    partitions(text, observed);
    replicas(text, observed);
    links(text, observed);
    let catalog = node.catalog();
    text.gauge("shoal_tables", "Tables of the dictionary.", catalog.tables_by_id.len());
    text.gauge("shoal_databases", "Databases of the dictionary.", catalog.databases.len());
    text.gauge("shoal_dictionary_version", "Raised by every definition.", catalog.version);
}

fn memory(text: &mut Text, node: &Node) {
    let memory = node.memory_usage();
    text.gauge("shoal_memory_limit_bytes", "DataMemory.", memory.limit_bytes);
    text.gauge(
        "shoal_memory_used_bytes",
        "Charged to DataMemory: rows, old versions, indexes.",
        memory.used_bytes,
    );
    let mut family = text.family(
        "shoal_memory_bytes",
        Kind::Gauge,
        "By what takes it; tables are measured about once a second.",
    );
    for (part, bytes) in [
        ("rows", memory.tables.row_bytes),
        ("rows_free", memory.tables.free_bytes),
        ("indexes", memory.tables.index_bytes),
        ("old_versions", memory.tables.old_bytes),
        ("transactions", memory.transactions_bytes),
        ("statements", memory.statements_bytes),
        ("plans", memory.plans_bytes),
    ] {
        family.labelled(&[("part", part)], bytes);
    }
}

fn log(text: &mut Text, node: &Node, observed: &ObservedNode) {
    text.one(
        "shoal_log_appended_bytes_total",
        Kind::Counter,
        "Appended to the write-ahead log since the directory was made.",
        observed.log_end_bytes,
    );
    let waiting = observed.log_end_bytes.saturating_sub(observed.log_durable_bytes);
    text.gauge("shoal_log_unsynced_bytes", "Appended and not yet on disk.", waiting);
    text.gauge(
        "shoal_log_since_checkpoint_bytes",
        "Log that a restart reads behind the newest checkpoint.",
        observed.log_since_checkpoint_bytes,
    );
    text.gauge("shoal_log_disk_bytes", "Files of the log.", observed.log_disk_bytes);
    text.gauge(
        "shoal_disk_full",
        "1 while writes are refused with error 1021, as the log has no room to grow.",
        u8::from(observed.disk_is_full),
    );
    let (free, size) = process::disk(&node.log().directory());
    if size > 0 {
        text.gauge("shoal_disk_free_bytes", "Of the log's file system, for this process.", free);
        text.gauge("shoal_disk_size_bytes", "Of the log's file system.", size);
    }
}

fn partitions(text: &mut Text, observed: &ObservedNode) {
    text.gauge("shoal_partitions", "Partitions of the database.", observed.partition_count);
    text.gauge(
        "shoal_partitions_without_leader",
        "Partitions, that of the dictionary among them, of which no leader is known here.",
        observed.without_leader,
    );
    let role = |one: &ObservedPartition| match (one.serves, one.is_witness, one.leader) {
        (true, ..) => "leader",
        (_, true, _) => "witness",
        (.., Some(_)) => "follower",
        (.., None) => "leaderless",
    };
    let mut family =
        text.family("shoal_partition_replicas", Kind::Gauge, "Replicas on this node, by what they are now.");
    for name in ["leader", "follower", "witness", "leaderless"] {
        let count = observed.partitions.iter().filter(|one| role(one) == name).count();
        family.labelled(&[("role", name)], count);
    }
    type Figure = fn(&ObservedPartition) -> u64;
    let figures: [(&'static str, Kind, &str, Figure); 4] = [
        ("shoal_partition_serves", Kind::Gauge, "1 where this node leads and may serve.", |one| {
            u64::from(one.serves)
        }),
        (
            "shoal_partition_leader_node",
            Kind::Gauge,
            "The node that leads, as this replica knows; 0: none.",
            |one| u64::from(one.leader.unwrap_or(0)),
        ),
        ("shoal_partition_term", Kind::Gauge, "Raised by every election.", |one| one.term),
        ("shoal_partition_unapplied_entries", Kind::Gauge, "Entries of the log that are not rows yet.", |one| {
            one.last_index.saturating_sub(one.applied_index)
        }),
    ];
    for (name, kind, help, figure) in figures {
        let mut family = text.family(name, kind, help);
        for one in &observed.partitions {
            family.labelled(&[("partition", &partition_label(one))], figure(one));
        }
    }
    let activity = |figure: fn(&ObservedPartition) -> usize| observed.partitions.iter().map(figure).sum::<usize>();
    text.gauge(
        "shoal_transactions_open",
        "Transactions with locks or writes, counted in every partition where they have any.",
        activity(|one| one.activity.transactions),
    );
    text.gauge(
        "shoal_transactions_prepared",
        "Prepared transactions whose decision is not applied, by partition.",
        activity(|one| one.activity.prepared),
    );
    text.gauge("shoal_row_locks", "Locks of rows that are held.", activity(|one| one.activity.row_locks));
    text.gauge("shoal_lock_waits", "Transactions that wait for a lock.", observed.lock_waits);
    text.gauge("shoal_snapshots", "Snapshots that keep old versions of rows.", observed.snapshots);
}

/// The number, or `dictionary`.
fn partition_label(one: &ObservedPartition) -> String {
    if one.is_meta { "dictionary".into() } else { one.partition.to_string() }
}

/// What leaders know of followers. In a process that is the whole database there is none.
fn replicas(text: &mut Text, observed: &ObservedNode) {
    let mut lag = text.family(
        "shoal_replica_lag_entries",
        Kind::Gauge,
        "Entries of a led partition's log that another replica is not known to have.",
    );
    for one in &observed.partitions {
        for replica in &one.replicas {
            let labels = [("partition", &*partition_label(one)), ("replica", &replica.node.to_string())];
            lag.labelled(&labels, replica.lag_entries);
        }
    }
    let mut active = text.family(
        "shoal_replica_active",
        Kind::Gauge,
        "1 for a replica of a led partition that was heard within an election timeout.",
    );
    for one in &observed.partitions {
        for replica in &one.replicas {
            let labels = [("partition", &*partition_label(one)), ("replica", &replica.node.to_string())];
            active.labelled(&labels, u8::from(replica.is_active));
        }
    }
    text.gauge(
        "shoal_replica_copies_sent",
        "Copies of whole partitions that are on their way to other nodes.",
        observed.transfers,
    );
}

fn links(text: &mut Text, observed: &ObservedNode) {
    let mut family =
        text.family("shoal_peer_up", Kind::Gauge, "1 for another node of the configuration that is connected.");
    for peer in &observed.peers {
        family.labelled(&[("peer", &peer.node.to_string())], u8::from(peer.is_up));
    }
    text.one(
        "shoal_links_lost_total",
        Kind::Counter,
        "Links to other nodes that have ended.",
        observed.links_lost,
    );
}
