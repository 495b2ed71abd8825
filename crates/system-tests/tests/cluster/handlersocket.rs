//! HandlerSocket at nodes of a cluster: rows are found and changed wherever their partitions are led.

use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::handlersocket::HandlerSocketPorts;

#[test]
fn every_node_with_sessions_serves_all_rows() {
    let cluster =
        DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1", "--hs-port", "0", "--hs-port-wr", "0"]);
    let sql_node = cluster.sql_nodes()[0];
    let nodes: Vec<u32> = cluster.data_nodes().into_iter().chain([sql_node]).collect();
    let table = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT, u INT UNIQUE)";
    cluster.client(sql_node).execute(table).unwrap();
    let mut writers = nodes.iter().map(|&node| {
        let mut writer = HandlerSocketPorts::of(&mut cluster.client(node)).writer();
        assert_eq!(writer.ask("P|0|test|t||v,u"), "0|1");
        assert_eq!(writer.ask("P|1|test|t||id,v"), "0|1");
        assert_eq!(writer.ask("P|2|test|t|u|v"), "0|1");
        writer
    });
    let mut writers: Vec<_> = writers.by_ref().collect();
    let mut ids = Vec::new();
    for number in 0..60 {
        let answer = writers[number % 3].ask(&format!("0|+|2|{number}|{number}"));
        ids.push(answer.strip_prefix("0|1|").unwrap_or_else(|| panic!("{answer}")).to_owned());
    }
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(writers[(number + 1) % 3].ask(&format!("1|=|1|{id}")), format!("0|2|{id}|{number}"));
        assert_eq!(writers[(number + 2) % 3].ask(&format!("2|=|1|{number}")), format!("0|1|{number}"));
        assert_eq!(writers[number % 3].ask(&format!("0|=|1|{id}|1|0|+|100")), "0|1|1");
    }
    assert_eq!(writers[2].ask("0|+|2|1|5"), "1|1|121");
    let requests: Vec<String> = ids.iter().map(|id| format!("1|=|1|{id}|1|0|D")).collect();
    let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
    assert!(writers[2].ask_all(&requests).iter().all(|answer| answer == "0|1|1"));
    assert_eq!(cluster.client(1).text("SELECT COUNT(*) FROM t").unwrap(), ["0"]);
}
