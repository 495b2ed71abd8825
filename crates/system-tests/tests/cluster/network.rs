//! Nodes that cannot reach each other: no two leaders are believed, nothing stale is read, and what is healed goes on.

use shoal_system_tests::cluster::{Layout, StartedCluster};
use shoal_system_tests::network::{Network, Verdict};
use shoal_system_tests::skip;
use shoal_system_tests::transfer::{Definitions, Plan, Workload, check};

const NO_SUCH_TABLE: u16 = 1146;
const GET_TEMPORARY_ERRMSG: u16 = 1297;

/// Two data nodes, a management node, and a node with sessions that reaches all of them whatever is cut.
fn start() -> Option<(Network, StartedCluster)> {
    let mut layout = Layout { sql_nodes: 1, ..Layout::default() };
    let network = match Network::new(layout.node_count()) {
        Ok(network) => network,
        Err(reason) => {
            skip(&reason);
            return None;
        }
    };
    layout.hosts = (1..=layout.node_count()).map(|node| network.address(node)).collect();
    let mut cluster = StartedCluster::new(&layout);
    for node in 1..=layout.node_count() {
        let wrapper = network.wrapper(node);
        cluster.wrap(node, &wrapper.iter().map(String::as_str).collect::<Vec<_>>());
    }
    cluster.start_all(&layout);
    Some((network, cluster))
}

/// Cuts, has everybody at work meanwhile, heals, and judges.
fn survives(cut: impl Fn(&Network)) {
    let Some((network, cluster)) = start() else { return };
    let workload = Workload::start(&cluster, Plan::new());
    workload.wait_for_commits_everywhere(10);
    for _ in 0..2 {
        cut(&network);
        workload.wait_for_commits_at(4, 60);
        network.heal();
        workload.wait_for_commits_everywhere(20);
    }
    check(&cluster, &workload.finish());
}

#[test]
fn data_nodes_that_do_not_reach_each_other_are_survived() {
    survives(|network| network.cut(1, 2));
}

#[test]
fn a_path_that_is_cut_one_way_is_survived() {
    survives(|network| network.cut_one_way(1, 2));
}

#[test]
fn a_data_node_without_the_management_node_goes_on() {
    let Some((network, cluster)) = start() else { return };
    let workload = Workload::start(&cluster, Plan::new());
    workload.wait_for_commits_everywhere(10);
    network.cut(1, 3);
    workload.wait_for_commits_everywhere(60);
    network.heal();
    workload.wait_for_commits_everywhere(20);
    check(&cluster, &workload.finish());
}

#[test]
fn a_data_node_on_an_island_reads_nothing_stale_and_comes_back() {
    survives(|network| {
        for other in [2, 3, 4] {
            network.cut(1, other);
        }
    });
}

#[test]
fn a_firewall_that_rejects_what_a_data_node_sends_is_survived() {
    survives(|network| {
        for other in [2, 3, 4] {
            network.spoil(1, other, Verdict::Reject);
        }
    });
}

#[test]
fn a_line_that_loses_packets_is_survived() {
    survives(|network| network.spoil(1, 2, Verdict::Lose(10)));
}

/// Whose links end at one side only has not heard that they did: locks for definitions once stayed there.
#[test]
fn connections_that_are_reset_under_load_and_definitions_are_survived() {
    let Some((network, cluster)) = start() else { return };
    let plan = Plan::new();
    let seed = plan.seed;
    let workload = Workload::start(&cluster, plan);
    let definitions = Definitions::start(&cluster, seed);
    for round in 0..8 {
        workload.wait_for_commits_everywhere(10);
        let node = 1 + round % 3;
        (1..=4).filter(|&other| other != node).for_each(|other| network.reset(node, other));
    }
    workload.wait_for_commits_everywhere(20);
    definitions.finish();
    check(&cluster, &workload.finish());
}

/// Whom the node of a definition had just lost sight of went on without the new table.
#[test]
fn definitions_are_awaited_at_nodes_that_only_others_reach() {
    let Some((network, cluster)) = start() else { return };
    let (mut definer, mut reader) = (cluster.client(1), cluster.client(4));
    for round in 0..10 {
        for (from, to) in [(1, 4), (4, 1)] {
            network.spoil(from, to, Verdict::Reject);
        }
        network.reset(1, 4);
        for number in 0..10 {
            let table = format!("seen_{round}_{number}");
            definer.execute(&format!("CREATE TABLE {table} (id INT PRIMARY KEY)")).unwrap();
            let columns = reader.text(&format!("SHOW COLUMNS FROM {table}")).unwrap();
            assert_eq!(columns.len(), 1, "{columns:?}");
        }
        network.heal();
    }
}

/// Such a node once said that a table was missing, and an index, that had been made while nobody reached it.
#[test]
fn a_node_that_nobody_reaches_says_of_nothing_that_it_is_missing() {
    let Some((network, cluster)) = start() else { return };
    let (mut definer, mut apart) = (cluster.client(1), cluster.client(4));
    definer.execute("CREATE TABLE parts (id INT PRIMARY KEY, weight INT)").unwrap();
    (1..=3).for_each(|other| network.cut(4, other));
    definer.execute("CREATE TABLE made (id INT PRIMARY KEY)").unwrap();
    definer.execute("ALTER TABLE parts ADD INDEX by_weight (weight)").unwrap();
    let statements = ["SELECT COUNT(*) FROM made", "ALTER TABLE parts DROP INDEX by_weight"];
    for sql in statements {
        let error = apart.run(sql).unwrap_err();
        assert_eq!(error.errno(), GET_TEMPORARY_ERRMSG, "{error}");
    }
    assert_eq!(apart.prepare(statements[0]).unwrap_err().errno(), GET_TEMPORARY_ERRMSG);
    network.heal();
    for sql in statements {
        loop {
            match apart.run(sql) {
                Ok(_) => break,
                Err(error) => assert_eq!(error.errno(), GET_TEMPORARY_ERRMSG, "{error}"),
            }
        }
    }
    // What is not there is said to be so at once.
    assert_eq!(apart.run("SELECT * FROM nothing").unwrap_err().errno(), NO_SUCH_TABLE);
}
