//! Rows over REST in a cluster: any node with sessions answers, for rows on any node.

use serde_json::{Value, json};
use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::rest::{Rest, key, operation};

#[test]
fn batches_over_several_nodes_are_done_wherever_they_are_sent() {
    let cluster =
        DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1", "--no-restart", "--set", "http_rest=ON"]);
    cluster.client(1).execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)").unwrap();
    cluster.client(1).execute("CREATE USER ann IDENTIFIED BY 'right'").unwrap();
    cluster.client(1).execute("GRANT SELECT, INSERT, UPDATE ON test.t TO ann").unwrap();
    let rests = cluster
        .sql_nodes()
        .into_iter()
        .map(|node| Rest::of(&cluster.http(node), "ann", "right"))
        .collect::<Vec<_>>();
    assert_eq!(rests.len(), 3);
    let ids = 0..30_i64;
    let inserts: Vec<Value> =
        ids.clone().map(|id| operation("test/t/pk-insert", json!({ "data": { "id": id, "v": 100 } }))).collect();
    rests[0].done("batch", &json!({ "operations": inserts }));
    for (turn, rest) in rests.iter().enumerate() {
        let reads: Vec<Value> =
            ids.clone().map(|id| operation("test/t/pk-read", json!({ "filters": key("id", id) }))).collect();
        let rows = rest.done("batch", &json!({ "operations": reads }));
        let sum: i64 = rows.as_array().unwrap().iter().map(|row| row["body"]["data"]["v"].as_i64().unwrap()).sum();
        assert_eq!(sum, 3000, "node {}: {rows}", turn + 1);
        let moved = |id: i64, v: i64| {
            operation("test/t/pk-update", json!({ "filters": key("id", id), "data": { "v": v } }))
        };
        let (less, more) = (100 - turn as i64 - 1, 100 + turn as i64 + 1);
        rest.done("batch", &json!({ "operations": [moved(3, less), moved(17, more), moved(29, 100)] }));
        // One that fails at its end leaves nothing at any node.
        let last = operation("test/t/pk-insert", json!({ "data": { "id": 5, "v": 1 } }));
        assert_eq!(
            rest.refused("batch", &json!({ "operations": [moved(1, 0), moved(2, 0), moved(4, 0), last] })),
            (409, 1062)
        );
        assert_eq!(rest.refused("test/t/pk-delete", &json!({ "filters": key("id", 5) })), (403, 1142));
    }
    let seen = cluster.client(2).text("SELECT SUM(v), COUNT(*) FROM t").unwrap();
    assert_eq!(seen.concat(), "3000,30");
    // The management node has no sessions, and says where to go.
    let management = Rest::of(&cluster.http(cluster.management_nodes()[0]), "ann", "right");
    let answer = management.post("test/t/pk-read", &json!({ "filters": key("id", 1) }));
    assert!(answer.status == 404 && answer.body.contains("sql role"), "{}", answer.body);
}
