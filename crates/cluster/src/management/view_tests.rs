//! A cluster of two data nodes, a management node and an SQL node, seen in several states.

use std::time::Duration;

use shoal_types::NodeId;

use super::view::{ClusterView, Known, State, bytes_text, ranges};
use crate::base::topology::{ClusterOptions, NodeEntry, Placement, Roles};
use crate::membership::messages::{NodeState, PartitionState, TransferState};
use crate::membership::peers::Peer;

const DATA: Roles = Roles { management: false, data: true, sql: true };
const MANAGEMENT: Roles = Roles { management: true, data: false, sql: false };
const SQL: Roles = Roles { management: false, data: false, sql: true };

pub(super) fn options() -> ClusterOptions {
    let node = |id, roles| NodeEntry { id: NodeId(id), roles, address: Some(format!("127.0.0.1:{}", 7000 + id)) };
    let placement =
        |first, second| Placement { replicas: vec![NodeId(first), NodeId(second)], witness: Some(NodeId(3)) };
    ClusterOptions {
        name: "reef".into(),
        me: NodeId(3),
        nodes: vec![node(1, DATA), node(2, DATA), node(3, MANAGEMENT), node(4, SQL)],
        placements: vec![placement(1, 2), placement(2, 1), placement(1, 2), placement(2, 1)],
        config_hash: 0,
        timing: shoal_partition::Timing::default(),
        heartbeat: Duration::from_millis(100),
        lanes: 1,
        unsent_bytes_max: None,
        transporter: shoal_transport::Transporter::default(),
        tls: Default::default(),
    }
}

fn partition(partition: u32, serves: bool) -> PartitionState {
    PartitionState { partition, serves, term: 3, applied: 10, last: 10, ..PartitionState::default() }
}

fn state(partitions: Vec<PartitionState>) -> NodeState {
    NodeState {
        started: true,
        version: "0.1.0".into(),
        mysql: "127.0.0.1:3306".into(),
        uptime_ms: 65_000,
        process: 77,
        memory_used_bytes: 3 << 20,
        memory_limit_bytes: 12 << 20,
        memory_rows_bytes: 2 << 20,
        memory_free_bytes: 1 << 19,
        memory_indexes_bytes: 1 << 20,
        memory_transactions_bytes: 1 << 18,
        memory_statements_bytes: 1 << 21,
        memory_old_versions_bytes: 1 << 22,
        catalog_version: 5,
        partitions,
        ..NodeState::default()
    }
}

pub(super) fn all_started() -> Vec<Known> {
    let known =
        |id, state| Known { id: NodeId(id), peer: Peer { is_up: true, ..Peer::default() }, state: Some(state) };
    let meta = PartitionState { partition: 4, serves: true, ..PartitionState::default() };
    let data = |led: [u32; 2]| state((0..4).map(|one| partition(one, led.contains(&one))).collect());
    let witness = |one| PartitionState { witness: true, ..partition(one, false) };
    let management = NodeState { mysql: String::new(), ..state((0..4).map(witness).chain([meta]).collect()) };
    vec![known(1, data([0, 2])), known(2, data([1, 3])), known(3, management), known(4, state(Vec::new()))]
}

fn view(known: Vec<Known>) -> ClusterView {
    ClusterView::of(&options(), known)
}

#[test]
fn show_lists_nodes_by_kind_with_what_they_lead() {
    let text = view(all_started()).show_text();
    let expected = "Cluster Configuration\n---------------------\n\
        [ndbd(NDB)]\t2 node(s)\n\
        id=1\t@127.0.0.1:7001  (shoal-0.1.0, STARTED, roles data,sql, leads 0 2, mysql 127.0.0.1:3306)\n\
        id=2\t@127.0.0.1:7002  (shoal-0.1.0, STARTED, roles data,sql, leads 1 3, mysql 127.0.0.1:3306)\n\n\
        [ndb_mgmd(MGM)]\t1 node(s)\n\
        id=3\t@127.0.0.1:7003  (shoal-0.1.0, STARTED, roles mgm, *)\n\n\
        [mysqld(API)]\t1 node(s)\n\
        id=4\t@127.0.0.1:7004  (shoal-0.1.0, STARTED, roles sql, mysql 127.0.0.1:3306)\n\n\
        Cluster 'reef': all 4 partitions have leaders\n";
    assert_eq!(text, expected);
}

#[test]
fn a_node_that_is_away_and_partitions_without_leader_are_named() {
    let mut known = all_started();
    known[1].peer.is_up = false;
    known[1].peer.refused = Some("its clock is wrong".into());
    known[1].state = None;
    let view = view(known);
    assert_eq!(view.without_leader(), [1, 3]);
    let text = view.show_text();
    assert!(
        text.contains("id=2 (NO_CONTACT, accepting connect from 127.0.0.1:7002; refused: its clock is wrong)"),
        "{text}"
    );
    assert!(text.contains("partitions without a leader: 1 3 (of 4)"), "{text}");
    let json = view.show_json();
    assert_eq!(json["nodes"][1]["state"], "NO_CONTACT");
    assert_eq!(json["partitions_without_leader"], serde_json::json!([1, 3]));
    assert_eq!(json["dictionary_has_leader"], true);
    assert!(view.status_text(&[NodeId(2)]).contains("NO_CONTACT, refused: its clock is wrong"));
}

#[test]
fn states_are_told_apart() {
    let state_of = |change: &dyn Fn(&mut Known)| {
        let mut known = all_started();
        change(&mut known[0]);
        view(known).nodes[0].state
    };
    let told = |known: &mut Known, change: &dyn Fn(&mut NodeState)| change(known.state.as_mut().unwrap());
    assert_eq!(state_of(&|_| {}), State::Started);
    assert_eq!(state_of(&|known| known.state = None), State::Unknown);
    assert_eq!(state_of(&|known| known.peer.is_up = false), State::NoContact);
    assert_eq!(state_of(&|known| told(known, &|state| state.started = false)), State::Starting);
    assert_eq!(state_of(&|known| told(known, &|state| state.stopping = true)), State::ShuttingDown);
    let restarting = |state: &mut NodeState| (state.stopping, state.restarting) = (true, true);
    assert_eq!(state_of(&|known| told(known, &restarting)), State::Restarting);
}

#[test]
fn status_tells_how_far_a_node_is_that_catches_up() {
    let mut known = all_started();
    let copy = |partition| TransferState {
        partition,
        to: 2,
        sent_bytes: 10 << 20,
        total_bytes: 40 << 20,
        elapsed_ms: 2000,
    };
    let first = known[0].state.as_mut().unwrap();
    first.transfers = vec![copy(0), copy(1)];
    first.partitions[0].behind = vec![2];
    let second = known[1].state.as_mut().unwrap();
    second.started = false;
    second.waits_for = "the dictionary".into();
    let view = view(known);
    assert_eq!(
        view.status_text(&[NodeId(2)]),
        "Node 2: STARTING (shoal-0.1.0), up 1 min 5 s, leads 2 partitions, waits for the dictionary, gets copies of 2 \
         partition(s): 20.0 MB of about 80.0 MB, 10.0 MB/s, 6 s left\n"
    );
    let json = view.status_json(&[NodeId(2)]);
    assert_eq!(json["nodes"].as_array().unwrap().len(), 1);
    assert_eq!(json["nodes"][0]["catch_up"]["seconds_left"], 6);
    assert_eq!(json["nodes"][0]["behind"], serde_json::json!([0]));
    assert!(view.status_text(&[NodeId(1)]).starts_with("Node 1: STARTED"));
}

#[test]
fn memory_is_told_in_figures_and_in_percent() {
    let view = view(all_started());
    let ids = [NodeId(1)];
    let text = view.memory_text(&ids);
    let (rows, others) = text.split_once('\n').unwrap();
    assert_eq!(rows, "Node 1: Data usage is 25% (3.0 MB of total 12.0 MB)");
    assert!(others.starts_with("Node 1: pages of rows 2.0 MB ("), "{others}");
    assert!(others.contains(" free), indexes 1.0 MB, transactions "), "{others}");
    assert!(others.contains(", statements 2.0 MB, old versions 4.0 MB"), "{others}");
    assert_eq!(view.memory_json(&ids)["nodes"][0]["memory"]["transactions_bytes"], 1 << 18);
    assert_eq!(view.memory_json(&ids)["nodes"][0]["memory"]["statements_bytes"], 1 << 21);
    assert_eq!(view.memory_json(&ids)["nodes"][0]["memory"]["old_versions_bytes"], 1 << 22);
    assert_eq!(view.memory_json(&ids)["nodes"][0]["memory"]["used_bytes"], 3 << 20);
}

#[test]
fn single_user_mode_shows_as_the_newest_dictionary_has_it() {
    let mut known = all_started();
    let newest = known[1].state.as_mut().unwrap();
    (newest.catalog_version, newest.single_user) = (6, 4);
    let view = view(known);
    assert_eq!(view.single_user, Some(NodeId(4)));
    let text = view.show_text();
    assert!(text.contains("Single user mode: node 4 alone serves statements"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("id=4") && line.contains("single user mode")), "{text}");
}

#[test]
fn numbers_and_sizes_read_well() {
    assert_eq!(ranges(&[]), "");
    assert_eq!(ranges(&[3]), "3");
    assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2 5 7-8");
    assert_eq!(bytes_text(12), "12 bytes");
    assert_eq!(bytes_text(1536), "1.5 KB");
    assert_eq!(bytes_text(5 << 40), "5.0 TB");
}

#[test]
fn a_place_for_a_native_client_is_shown_while_it_is_taken() {
    let mut options = options();
    options.nodes.push(NodeEntry { id: NodeId(5), roles: Roles::default(), address: None });
    for is_up in [false, true] {
        let mut known = all_started();
        known.push(Known { id: NodeId(5), peer: Peer { is_up, ..Peer::default() }, state: None });
        let shown = ClusterView::of(&options, known).show_json();
        assert_eq!(shown["nodes"].as_array().unwrap().len(), if is_up { 5 } else { 4 });
    }
}
