//! A cluster of one node, whose dictionary is compacted step by step.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shoal_types::schema::TableOptions;
use shoal_types::{
    BaseType, Collation, Column, Index, IndexId, IndexMethod, NodeId, SqlType, TableId, TableSchema,
};
use tempfile::TempDir;

use super::*;
use crate::base::options::NodeOptions;
use crate::base::topology::{ClusterOptions, NodeEntry, Placement, Roles};
use crate::dictionary::catalog::{Catalog, Change, User};
use crate::membership::messages::SnapshotPiece;
use crate::node::Node;

const ME: NodeId = NodeId(3);
/// Small, so that a snapshot has many.
const PIECE_BYTES: usize = 150;

pub(in crate::dictionary) struct Bed {
    directory: TempDir,
    pub(in crate::dictionary) node: Arc<Node>,
    made: u64,
}

fn cluster_options() -> ClusterOptions {
    let roles = Roles { management: true, data: true, sql: true };
    ClusterOptions {
        name: "reef".into(),
        me: ME,
        nodes: vec![NodeEntry { id: ME, roles, address: None }],
        placements: vec![Placement { replicas: vec![ME], witness: None }; 2],
        config_hash: 7,
        timing: shoal_partition::Timing::default(),
        heartbeat: Duration::from_millis(100),
        lanes: 1,
        unsent_bytes_max: None,
        transporter: shoal_transport::Transporter::default(),
        tls: Default::default(),
    }
}

pub(in crate::dictionary) fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

async fn started(directory: &TempDir) -> Arc<Node> {
    let options = NodeOptions {
        cluster: Some(cluster_options()),
        data_memory: Some(1 << 28),
        background_work: false,
        lock_timeout: Duration::from_secs(30),
        on_fatal: Arc::new(|reason| panic!("the node stopped: {reason}")),
        ..NodeOptions::new(directory.path())
    };
    let node = Node::open(options).unwrap();
    node.start_cluster_thread().unwrap();
    node.wait_until_ready(|_| ()).await.unwrap();
    node
}

pub(in crate::dictionary) fn table(id: TableId, name: &str) -> TableSchema {
    TableSchema {
        id,
        version: 1,
        database: "d".into(),
        name: name.into(),
        columns: vec![Column::new("id", SqlType::new(BaseType::Int))],
        indexes: vec![Index::new(IndexId(0), "PRIMARY", &[0], true, IndexMethod::BTree)],
        partition_columns: vec![0],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        past_rows: Vec::new(),
        options: TableOptions::new("ndbcluster", Collation::default()),
    }
}

/// Everything that counts of a catalog.
fn describe(catalog: &Catalog) -> String {
    let databases = catalog.databases.iter().map(|(name, database)| {
        let tables: Vec<_> = database.tables.values().map(|table| (table.name(), table.id())).collect();
        format!("{name} {:?} {tables:?}", database.collation.name())
    });
    let databases: Vec<_> = databases.collect();
    let mut tables: Vec<_> = catalog.tables_by_id.values().map(|table| table.schema.clone()).collect();
    tables.sort_unstable_by_key(|schema| schema.id);
    let (users, variables) = (&catalog.users, &catalog.variables);
    format!("{} {databases:?} {tables:?} {users:?} {variables:?}", catalog.version)
}

impl Bed {
    pub(in crate::dictionary) async fn new() -> Bed {
        let directory = tempfile::tempdir().unwrap();
        let node = started(&directory).await;
        let database = Change::PutDatabase { name: "d".into(), collation: Collation::default() };
        node.change(vec![database]).await.unwrap();
        Bed { directory, node, made: 0 }
    }

    /// Some kind of change after the other.
    async fn change(&mut self) {
        self.made += 1;
        let (made, node) = (self.made, &self.node);
        let name = |number: u64| format!("t{number}");
        let change = match made % 5 {
            0 => Change::PutVariable { name: format!("v{}", made % 7), value: Some(made.to_string()) },
            1 => Change::PutTable(table(node.next_table_id(), &name(made))),
            2 => Change::PutUser(User { user: format!("u{}", made % 9), host: "%".into(), ..User::default() }),
            // The table of two changes ago comes to be the one of always, whose place it takes.
            3 => {
                let mut schema = node.catalog().table("d", &name(made - 2)).unwrap().schema.clone();
                schema.version += 1;
                schema.options.auto_increment = made;
                Change::PutTable(schema)
            }
            _ if made % 10 == 4 => Change::DropTable(node.catalog().table("d", &name(made - 3)).unwrap().id()),
            _ => Change::DropUser { user: format!("u{}", (made - 2) % 9), host: "%".into() },
        };
        self.node.change(vec![change]).await.unwrap();
    }

    async fn changes(&mut self, count: u64) {
        for _ in 0..count {
            self.change().await;
        }
    }

    /// The oldest and the newest change that are kept.
    fn kept(&self) -> (u64, u64) {
        let mut guard = self.node.leader(2).unwrap();
        (oldest_change(&mut guard).unwrap(), newest_change(&mut guard).unwrap())
    }

    fn head(&self) -> Option<SnapshotHead> {
        snapshot_head(&mut self.node.leader(2).unwrap()).unwrap()
    }

    fn strays(&self) -> usize {
        let head = self.head().map_or(0, |head| head.version);
        stray_pieces(&mut self.node.leader(2).unwrap(), head, usize::MAX).unwrap().len()
    }

    async fn restart(self) -> Bed {
        let Bed { directory, node, made } = self;
        node.close().unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while Arc::strong_count(&node) > 1 {
            assert!(Instant::now() < deadline, "somebody still uses the node");
            tokio::task::yield_now().await;
        }
        drop(node);
        let node = started(&directory).await;
        Bed { directory, node, made }
    }

    /// The node as it was, and what it was behind.
    async fn rewound(&self, to: &Arc<Catalog>) {
        self.node.publish_catalog(Arc::clone(to), to.version);
        self.node.fetch_catalog(self.kept().1).await.unwrap();
    }
}

#[test]
fn a_compaction_may_stop_after_any_commit_and_whoever_begins_again_ends_it() {
    run(async {
        let mut bed = Bed::new().await;
        // Too few for a compaction by itself, now and at the end.
        bed.changes(CHANGES_KEPT + 80).await;
        let mut stops_after = 0;
        let mut is_done = false;
        while !is_done {
            bed.change().await;
            let expected = describe(&bed.node.catalog());
            let behind = bed.node.catalog();
            let mut compaction = bed.node.begin_compaction(PIECE_BYTES).await.unwrap();
            for _ in 0..stops_after {
                is_done = !bed.node.step_compaction(&mut compaction).await.unwrap();
            }
            // Whoever has nothing, whoever is a little behind.
            bed = bed.restart().await;
            assert_eq!(describe(&bed.node.catalog()), expected, "stopped after {stops_after}");
            bed.change().await;
            let expected = describe(&bed.node.catalog());
            bed.rewound(&behind).await;
            assert_eq!(describe(&bed.node.catalog()), expected, "stopped after {stops_after}");
            stops_after += 1;
        }
        assert!(stops_after > 12, "{stops_after} stops: a snapshot has many pieces");
        bed.node.compact_dictionary().await.unwrap();
        let (oldest, newest) = bed.kept();
        assert!(newest < CHANGES_MAX, "{newest} changes");
        assert!(newest - oldest < CHANGES_KEPT + 10, "changes {oldest} to {newest}");
        assert_eq!(bed.strays(), 0);
        assert!(bed.head().unwrap().version + CHANGES_KEPT > newest);
    });
}

#[test]
fn a_node_behind_the_oldest_change_takes_the_snapshot_and_its_tables_keep_their_locks() {
    run(async {
        let mut bed = Bed::new().await;
        let ids = [0; 3].map(|_| bed.node.next_table_id());
        for (id, name) in ids.into_iter().zip(["same", "altered", "dropped"]) {
            bed.node.change(vec![Change::PutTable(table(id, name))]).await.unwrap();
        }
        let before = bed.node.catalog();
        let old = ["same", "altered", "dropped"].map(|name| Arc::clone(before.table("d", name).unwrap()));
        let mut altered = table(ids[1], "renamed");
        altered.version = 2;
        bed.node.change(vec![Change::PutTable(altered), Change::DropTable(ids[2])]).await.unwrap();
        bed.changes(CHANGES_KEPT + 5).await;
        bed.node.compact_dictionary().await.unwrap();
        assert!(bed.kept().0 > before.version + 1, "it is behind the oldest change");
        let expected = describe(&bed.node.catalog());
        bed.rewound(&before).await;
        let now = bed.node.catalog();
        assert_eq!(describe(&now), expected);
        assert!(Arc::ptr_eq(now.table("d", "same").unwrap(), &old[0]) && !old[0].is_stale());
        let renamed = now.table("d", "renamed").unwrap();
        assert!(Arc::ptr_eq(&renamed.metadata_lock, &old[1].metadata_lock));
        assert!(Arc::ptr_eq(&renamed.next_auto_increment, &old[1].next_auto_increment));
        assert!(old[1].is_stale() && old[2].is_stale());
    });
}

#[test]
fn a_snapshot_whose_place_another_has_taken_is_not_pieced_together() {
    run(async {
        let mut bed = Bed::new().await;
        bed.changes(60).await;
        let mut compaction = bed.node.begin_compaction(PIECE_BYTES).await.unwrap();
        while bed.node.step_compaction(&mut compaction).await.unwrap() {}
        let first = bed.head().unwrap();
        assert!(first.pieces > 3, "{first:?}");
        let wanted = SnapshotPiece { version: first.version, number: 1 };
        assert_eq!(bed.node.snapshot_pieces(&wanted).unwrap().pieces.len() as u32, first.pieces - 1);
        bed.changes(CHANGES_KEPT + 1).await;
        bed.node.compact_dictionary().await.unwrap();
        assert!(bed.node.snapshot_pieces(&wanted).unwrap().pieces.is_empty());
        let newest = bed.node.catalog();
        let nothing = Arc::new(Catalog::default());
        bed.node.publish_catalog(Arc::clone(&nothing), 0);
        bed.node.fetch_snapshot(&first).await.unwrap();
        assert_eq!(bed.node.catalog_version(), 0, "there is nothing of it any more");
        bed.rewound(&nothing).await;
        assert_eq!(describe(&bed.node.catalog()), describe(&newest));
    });
}

#[test]
fn a_compaction_goes_on_in_its_own_term_alone() {
    run(async {
        let mut bed = Bed::new().await;
        bed.changes(CHANGES_KEPT + 20).await;
        for steps in [0, 2, usize::MAX] {
            let mut compaction = bed.node.begin_compaction(PIECE_BYTES).await.unwrap();
            for _ in 0..steps.min(compaction.pieces.len() + 1) {
                bed.node.step_compaction(&mut compaction).await.unwrap();
            }
            let before = (bed.head(), bed.strays(), bed.kept());
            compaction.term += 1;
            bed.node.step_compaction(&mut compaction).await.unwrap_err();
            assert_eq!((bed.head(), bed.strays(), bed.kept()), before);
        }
    });
}

#[test]
fn many_changes_are_compacted_by_themselves_and_ids_of_tables_that_are_gone_are_not_used_again() {
    run(async {
        let mut bed = Bed::new().await;
        let gone = bed.node.next_table_id();
        bed.node.change(vec![Change::PutTable(table(gone, "gone"))]).await.unwrap();
        bed.node.change(vec![Change::DropTable(gone)]).await.unwrap();
        for number in 0..CHANGES_MAX {
            let value = Some(number.to_string());
            bed.node.change(vec![Change::PutVariable { name: "v".into(), value }]).await.unwrap();
        }
        let deadline = Instant::now() + Duration::from_secs(30);
        while bed.kept().0 <= gone_by(CHANGES_MAX) {
            assert!(Instant::now() < deadline, "kept: {:?}", bed.kept());
            tokio::task::yield_now().await;
        }
        bed = bed.restart().await;
        assert!(bed.node.next_table_id() > gone);
        assert_eq!(bed.node.catalog().variables["v"], (CHANGES_MAX - 1).to_string());
    });
}

/// The last change that is surely gone when so many have been made and compacted.
fn gone_by(made: u64) -> u64 {
    made - CHANGES_KEPT - 1
}

#[test]
fn a_fragment_of_a_table_that_the_dictionary_does_not_have_is_dropped() {
    run(async {
        let mut bed = Bed::new().await;
        bed.changes(1).await;
        let known = bed.node.catalog().table("d", "t1").unwrap().id();
        let stranger = table(bed.node.next_table_id(), "stranger");
        let create = [crate::dictionary::fragments::FragmentChange::Create(Arc::new(stranger.clone()))];
        bed.node.propose_fragments(1, &create).await.unwrap();
        assert!(bed.node.leader(1).unwrap().schema(stranger.id).is_some());
        bed.node.have_catalog(bed.node.catalog_version()).await.unwrap();
        assert!(bed.node.leader(1).unwrap().schema(stranger.id).is_none());
        assert!(bed.node.leader(1).unwrap().schema(known).is_some());
    });
}
