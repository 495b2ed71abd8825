//! Operators' HTTP in a cluster: every node tells of itself, also when others are gone.

use std::collections::BTreeSet;
use std::path::Path;

use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::http::{get, samples};
use shoal_system_tests::wait_until;

fn metric(cluster: &DevCluster, node: u32, name: &str) -> Option<f64> {
    samples(&get(&cluster.http(node), "/metrics").body).get(name).copied()
}

#[test]
fn every_node_tells_of_its_partitions_and_replicas() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let mut client = cluster.client(1);
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)").unwrap();
    for id in 0..100 {
        client.execute(&format!("INSERT INTO t VALUES ({id}, 1)")).unwrap();
    }
    for node in cluster.all() {
        let address = cluster.http(node.id);
        let ready = get(&address, "/readyz");
        assert_eq!(ready.status, 200, "node {}: {}", node.id, ready.body);
        let found = samples(&get(&address, "/metrics").body);
        assert_eq!(found["shoal_partitions_without_leader"], 0.0, "node {}", node.id);
        let peers = found.iter().filter(|(name, _)| name.starts_with("shoal_peer_up{"));
        assert_eq!(peers.map(|(_, up)| up).sum::<f64>(), 3.0, "node {}", node.id);
        assert_eq!(found.contains_key("shoal_questions_total"), node.has_role("sql"), "node {}", node.id);
    }
    let led = |node| metric(&cluster, node, "shoal_partition_replicas{role=\"leader\"}").unwrap();
    let partitions = metric(&cluster, 1, "shoal_partitions").unwrap();
    assert_eq!(led(1) + led(2), partitions);
    assert_eq!(led(3), 1.0, "the management node leads the dictionary");
    // What node 2 misses while it stands still is seen at node 1.
    let behind = |name: &str| -> Vec<f64> {
        let scrape = get(&cluster.http(1), "/metrics").body;
        let of_node = |key: &str| key.starts_with(name) && key.contains("replica=\"2\"");
        samples(&scrape).into_iter().filter(|(key, _)| of_node(key)).map(|(_, value)| value).collect()
    };
    cluster.pause(2);
    let mut id = 1000;
    wait_until("node 1 leads everything, and node 2 lacks entries", || {
        id += 1;
        let _ = client.execute(&format!("INSERT INTO t VALUES ({id}, 1)"));
        led(1) == partitions && behind("shoal_replica_lag_entries").iter().any(|&lag| lag > 0.0)
    });
    wait_until("node 2 counts as silent", || behind("shoal_replica_active").contains(&0.0));
    cluster.resume(2);
    wait_until("node 2 lacks nothing", || behind("shoal_replica_lag_entries").iter().all(|&lag| lag == 0.0));
}

#[test]
fn a_node_without_a_majority_is_not_ready_and_says_why() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--no-restart"]);
    let address = cluster.http(1);
    assert_eq!(get(&address, "/readyz").status, 200);
    cluster.kill(3);
    cluster.kill(2);
    wait_until("node 1 is not ready", || get(&address, "/readyz").status == 503);
    let body = get(&address, "/readyz").body;
    assert!(body.contains("\"ready\":false") && body.contains("waits for"), "{body}");
    assert_eq!(get(&address, "/healthz").status, 200);
    wait_until("it knows of no leaders", || metric(&cluster, 1, "shoal_ready") == Some(0.0));
}

/// Names of metrics in a text of any kind.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let is_of_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.split(|character| !is_of_name(character)).filter(|word| word.starts_with("shoal_")).collect()
}

#[test]
fn every_metric_of_the_alarms_and_the_dashboard_is_scraped_and_every_alarm_is_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
    let (alerts, dashboard, manual) =
        (read("monitoring/alerts.yml"), read("monitoring/grafana.json"), read("docs/operating.md"));
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let scrapes: String = cluster.all().iter().map(|node| get(&cluster.http(node.id), "/metrics").body).collect();
    // What has HELP and no sample would be there in vain.
    let samples = scrapes.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let scraped = metrics_in(&samples);
    let wanted: BTreeSet<&str> = metrics_in(&alerts).into_iter().chain(metrics_in(&dashboard)).collect();
    assert!(wanted.len() > 30, "{wanted:?}");
    let missing: Vec<_> = wanted.difference(&scraped).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let names: Vec<&str> = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(names.len() >= 10);
    assert!(serde_json::from_str::<serde_json::Value>(&dashboard).is_ok());
    for name in names {
        assert!(manual.contains(name), "docs/operating.md does not tell what to do about {name}");
    }
}
