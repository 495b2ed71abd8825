//! The page for operators in a cluster: any node shows all of them, and ends statements anywhere.

use std::thread;

use serde_json::{Value, json};
use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::page::Page;
use shoal_system_tests::wait_until;

fn node(overview: &Value, id: u32) -> Value {
    let nodes = overview["nodes"].as_array().unwrap();
    nodes.iter().find(|node| node["id"] == json!(id)).cloned().unwrap_or(Value::Null)
}

#[test]
fn a_management_node_shows_and_ends_what_runs_elsewhere() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--no-restart"]);
    let mut first = cluster.client(1);
    first.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)").unwrap();
    first.execute("INSERT INTO t VALUES (1, 1)").unwrap();
    first.execute("CREATE USER ann IDENTIFIED BY 'x'").unwrap();
    let page = Page::log_in(&cluster.http(3), "root", "");
    wait_until("all nodes are shown, and what they tell of themselves", || {
        let overview = page.json("overview");
        (1..=3).all(|id| {
            let node = node(&overview, id);
            node["state"] == json!("STARTED") && node["figures"]["partitions"].is_array()
        })
    });
    let overview = page.json("overview");
    assert_eq!(overview["asked_node"], json!(3));
    assert_eq!(overview["partitions_without_leader"], json!([]));
    assert_eq!(node(&overview, 3)["leads_dictionary"], json!(true));
    let led = |id| node(&overview, id)["leads"].as_array().unwrap().len() as u64;
    assert_eq!(led(1) + led(2), overview["partitions"].as_u64().unwrap());
    wait_until("samples of all nodes", || {
        let history = page.json("history");
        (1..=3).all(|id: u32| {
            history["nodes"][id.to_string()]["rows"].as_array().is_some_and(|rows| !rows.is_empty())
        })
    });
    let log = page.json("log");
    assert!(
        log["events"].as_array().unwrap().iter().any(|event| event["text"].as_str().unwrap().contains("Started")),
        "{log}"
    );

    // One at node 1 holds a row, one at node 2 waits for it: the two are named alike everywhere.
    first.execute("BEGIN").unwrap();
    first.execute("UPDATE t SET v = 2 WHERE id = 1").unwrap();
    let mut second = cluster.client(2);
    let (holding, waiting) = (first.connection_id(), second.connection_id());
    let blocked = thread::spawn(move || second.execute("UPDATE t SET v = 3 WHERE id = 1").map(|_| ()));
    wait_until("the wait is shown", || {
        let told = page.json("statements");
        let transaction = |node: &str, id: u32| {
            let sessions = told["nodes"][node]["sessions"].as_array().unwrap();
            let session = sessions.iter().find(|session| session["id"] == json!(id));
            session.map_or(Value::Null, |session| session["transaction"].clone())
        };
        let (holder, waiter) = (transaction("1", holding), transaction("2", waiting));
        let waits = ["1", "2"].iter().flat_map(|node| told["nodes"][*node]["waits"].as_array().unwrap().clone());
        waits
            .into_iter()
            .any(|wait| !waiter.is_null() && wait["waiter"] == waiter && wait["blockers"] == json!([holder]))
    });
    // The node where it runs judges the account, wherever that has logged in.
    let kill = json!({ "node": 2, "id": waiting, "query_only": true });
    let ann = Page::log_in(&cluster.http(3), "ann", "x");
    assert_eq!(ann.post("kill", &kill).status, 404);
    assert_eq!(ann.json("statements")["nodes"]["2"]["sessions"], json!([]));
    let answer = page.post("kill", &kill);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(blocked.join().unwrap().unwrap_err().errno(), 1317);
    first.execute("ROLLBACK").unwrap();

    cluster.kill(2);
    wait_until("the dead node is shown as one, with what to do", || {
        let overview = page.json("overview");
        let warned = overview["warnings"].to_string();
        node(&overview, 2)["state"] == json!("NO_CONTACT")
            && warned.contains("Node 2 is not connected")
            && warned.contains("Start it")
    });
    assert_eq!(page.post("kill", &kill).status, 503);
    // A data node's page shows the same.
    let other = Page::log_in(&cluster.http(1), "root", "");
    assert_eq!(node(&other.json("overview"), 2)["state"], json!("NO_CONTACT"));
}

#[test]
fn digests_of_all_nodes_are_added_up() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--no-restart"]);
    let mut clients = [cluster.client(1), cluster.client(2)];
    clients[0].execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)").unwrap();
    clients[0].execute("INSERT INTO t VALUES (1, 1)").unwrap();
    for (client, times) in clients.iter_mut().zip([3, 4]) {
        for id in 0..times {
            client.query(&format!("SELECT v FROM t WHERE id = {id}")).unwrap();
        }
    }
    let page = Page::log_in(&cluster.http(3), "root", "");
    let told = page.json("digests");
    let one = told["digests"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["text"] == json!("SELECT `v` FROM `t` WHERE `id` = ?"));
    let one = one.unwrap_or_else(|| panic!("{told}"));
    assert_eq!((&one["count"], &told["failures"]), (&json!(7), &json!({})));
    let body = json!({ "database": one["database"], "digest": one["digest"] });
    let answer = page.post("digest", &body);
    assert!(
        answer.status == 200
            && answer.body.contains("SELECT v FROM t WHERE id = 0")
            && answer.body.contains("\"plan\""),
        "{}",
        answer.body
    );
}
