//! `shoal mgm` against a cluster of real processes: what it shows, and what it commands.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use shoal_system_tests::cluster::{Layout, StartedCluster};
use shoal_system_tests::server::Server;
use shoal_system_tests::transfer::{Plan, Workload, check};
use shoal_system_tests::{
    Client, Login, harness_setup, program, shoal_binary, skip, target_is_mariadb, wait_until,
};

const COMMAND_DEADLINE: Duration = Duration::from_secs(180);

/// `shoal dev --data-nodes 2`: nodes 1 and 2 with rows and sessions, node 3 for management.
struct TestCluster {
    server: Server,
}

impl TestCluster {
    fn start() -> TestCluster {
        let setup = harness_setup(&["--data-nodes", "2"]);
        TestCluster { server: setup.start().unwrap_or_else(|error| panic!("{error}")) }
    }

    fn run(&self, options: &[&str]) -> program::Output {
        let mut command = Command::new(shoal_binary());
        command.arg("mgm").arg("--data-dir").arg(self.server.data_dir()).args(options);
        program::run(command, b"", COMMAND_DEADLINE, || false).unwrap()
    }

    fn text(&self, command: &str) -> String {
        let output = self.run(&["-e", command]);
        assert!(output.status.success(), "{command}: {}", output.errors());
        output.text()
    }

    fn json(&self, command: &str) -> Value {
        let output = self.run(&["--json", "-e", command]);
        assert!(output.status.success(), "{command}: {}", output.errors());
        serde_json::from_str(&output.text()).unwrap_or_else(|error| panic!("{error}: {}", output.text()))
    }

    fn refusal(&self, command: &str) -> String {
        let output = self.run(&["-e", command]);
        assert_eq!(output.status.code(), Some(1), "{command} was not refused: {}", output.text());
        output.errors()
    }

    fn node(&self, id: u64) -> Value {
        self.try_node(id).unwrap()
    }

    /// `None`: no management node answers just now.
    fn try_node(&self, id: u64) -> Option<Value> {
        let output = self.run(&["--json", "-e", "show"]);
        let shown: Value = serde_json::from_str(&output.text()).ok()?;
        shown["nodes"].as_array()?.iter().find(|node| node["id"] == id).cloned()
    }

    /// Empty while the management node is being restarted.
    fn states(&self) -> Vec<String> {
        let output = self.run(&["--json", "-e", "show"]);
        if !output.status.success() {
            return Vec::new();
        }
        let shown: Value = serde_json::from_str(&output.text()).unwrap();
        // Places for native clients are nodes as well.
        let nodes = shown["nodes"].as_array().unwrap().iter().filter(|node| node["roles"] != json!([]));
        nodes.map(|node| node["state"].as_str().unwrap().to_owned()).collect()
    }

    fn has_leaders(&self) -> bool {
        let shown = self.json("show");
        shown["partitions_without_leader"] == json!([]) && shown["dictionary_has_leader"] == true
    }
}

#[test]
fn a_cluster_is_shown_restarted_stopped_and_shut_down() {
    if target_is_mariadb() {
        return skip("it is Shoal's management client");
    }
    let mut cluster = TestCluster::start();
    shows_nodes(&cluster);
    refuses_what_it_cannot_do(&cluster);
    keeps_a_log(&cluster);
    gives_the_cluster_to_one_node(&cluster);
    restarts_node_by_node(&cluster);
    restarts_the_management_node(&cluster);
    answers_at_any_node(&cluster);
    stops_a_node(&cluster);
    shuts_down(&mut cluster);
}

fn shows_nodes(cluster: &TestCluster) {
    wait_until("all partitions have leaders", || cluster.has_leaders());
    let text = cluster.text("SHOW");
    for expected in ["[ndbd(NDB)]\t2 node(s)", "[ndb_mgmd(MGM)]\t1 node(s)", "id=1\t@127.0.0.1:", "all "] {
        assert!(text.contains(expected), "{expected} is missing in:\n{text}");
    }
    let manager = text.lines().find(|line| line.starts_with("id=3")).unwrap();
    assert!(manager.contains("STARTED") && manager.contains("*"), "{manager}");
    let shown = cluster.json("show");
    let led = |node: &Value| node["leads"].as_array().unwrap().len() as u64;
    let nodes = shown["nodes"].as_array().unwrap();
    assert_eq!(nodes.iter().map(led).sum::<u64>(), shown["partitions"].as_u64().unwrap(), "{shown:#}");
    assert_eq!(nodes[0]["roles"], json!(["data", "sql"]));
    assert_eq!(nodes[2]["leads_dictionary"], true);
    assert!(nodes[0]["mysql"].as_str().unwrap().starts_with("127.0.0.1:"));
    let status = cluster.text("2 STATUS");
    assert!(status.starts_with("Node 2: STARTED (shoal-") && status.lines().count() == 1, "{status}");
    assert_eq!(cluster.text("ALL STATUS").lines().count(), 3);
    let memory = cluster.text("all report memory");
    assert!(memory.contains("Node 1: Data usage is ") && memory.contains("of total"), "{memory}");
    let two = cluster.text("show; 1 status");
    assert!(two.contains("[ndbd(NDB)]") && two.contains("Node 1: STARTED"), "{two}");
}

fn refuses_what_it_cannot_do(cluster: &TestCluster) {
    for (command, expected) in [
        ("shwo", "did you mean SHOW"),
        ("9 status", "there is no node 9"),
        ("3 stop", "management nodes have no majority"),
        ("1 2 stop", "without node 1 and 2"),
        ("enter single user mode 3", "serves no statements"),
    ] {
        let error = cluster.refusal(command);
        assert!(error.contains(expected), "{command}: {error}");
    }
    let output = cluster.run(&["--json", "-e", "9 status"]);
    let error: Value = serde_json::from_str(&output.text()).unwrap();
    assert!(error["error"].as_str().unwrap().contains("no node 9"), "{error}");
    wait_until("nobody to have stopped", || cluster.states() == ["STARTED"; 3]);
}

fn keeps_a_log(cluster: &TestCluster) {
    let path = cluster.server.data_dir().join("node-3").join("shoal_3_cluster.log");
    for event in ["Node 1: Started", "Node 2: Started", "Node 3: Node 1 Connected", "Leads "] {
        wait_until(event, || cluster.text("CLUSTERLOG 500").contains(event));
        wait_until(event, || fs::read_to_string(&path).unwrap_or_default().contains(event));
    }
    let log = fs::read_to_string(&path).unwrap();
    assert!(log.lines().all(|line| line.contains(" [MgmtSrvr] ") && line.contains(" -- Node ")), "{log}");
    assert_eq!(cluster.text("clusterlog 1").lines().count(), 1);
    assert_eq!(cluster.text("clusterlog off info"), "Severities enabled: WARNING ERROR CRITICAL ALERT\n");
    let all = cluster.json("clusterlog on");
    assert_eq!(all["severities"].as_array().unwrap().len(), 6);
    assert!(cluster.text("CLUSTERLOG INFO").contains("INFO"));
}

fn gives_the_cluster_to_one_node(cluster: &TestCluster) {
    cluster.text("ENTER SINGLE USER MODE 1");
    assert_eq!(cluster.json("show")["single_user_node"], 1);
    let client = |id: u64| {
        let address = cluster.node(id)["mysql"].as_str().unwrap().to_owned();
        let port = address.rsplit(':').next().unwrap().parse().unwrap();
        Client::log_in(port, &Login::default()).unwrap_or_else(|error| panic!("node {id}: {error}"))
    };
    let mut refused = client(2);
    let error = refused.execute("CREATE DATABASE reef").unwrap_err().to_string();
    assert!(error.contains("single user mode") && error.contains("1296"), "{error}");
    client(1).execute("CREATE DATABASE reef").unwrap();
    cluster.text("exit single user mode");
    assert_eq!(cluster.json("show")["single_user_node"], Value::Null);
    refused.execute("CREATE DATABASE atoll").unwrap();
}

fn restarts_node_by_node(cluster: &TestCluster) {
    let before: Vec<Value> = (1..=3).map(|id| cluster.node(id)).collect();
    let restarted = cluster.json("ALL RESTART");
    assert_eq!(restarted["restarted"], json!([1, 2]));
    wait_until("all serve again", || cluster.states() == ["STARTED"; 3] && cluster.has_leaders());
    for (before, id) in before.iter().zip(1..=3) {
        let after = cluster.node(id);
        assert_eq!(after["incarnation"] != before["incarnation"], id != 3, "node {id}: {before:#} {after:#}");
        assert_eq!(after["process"], before["process"], "it starts again in its own place");
    }
    let log = cluster.text("CLUSTERLOG 500");
    assert!(
        log.contains("Node 1: Restart initiated") && log.contains("Node 3: Node 2 is being restarted"),
        "{log}"
    );
}

fn restarts_the_management_node(cluster: &TestCluster) {
    let before = cluster.node(3);
    assert!(cluster.text("3 restart").starts_with("Node 3 restarts"));
    wait_until("the management node to start again", || {
        cluster.try_node(3).is_some_and(|node| node["incarnation"] != before["incarnation"])
    });
    wait_until("all have started again", || cluster.states() == ["STARTED"; 3] && cluster.has_leaders());
    // It reads its own log back, and is told again by nobody.
    let log = cluster.text("CLUSTERLOG 1000");
    assert_eq!(log.matches("Node 3: Node 2 is being restarted").count(), 1, "{log}");
}

fn answers_at_any_node(cluster: &TestCluster) {
    let address = |id: u64| cluster.node(id)["address"].as_str().unwrap().to_owned();
    let shown = |addresses: &str| {
        let mut command = Command::new(shoal_binary());
        command.args(["mgm", "-c", addresses, "-e", "show"]);
        program::run(command, b"", COMMAND_DEADLINE, || false).unwrap().text()
    };
    assert!(shown(&format!("127.0.0.1:1,{}", address(3))).contains("id=3"), "the next one is tried");
    assert!(shown(&address(1)).contains("id=3\t@"), "a data node passes it on");
}

fn stops_a_node(cluster: &TestCluster) {
    wait_until("node 1 to lack nothing", || cluster.node(1)["behind"] == json!([]) && cluster.has_leaders());
    assert_eq!(cluster.text("2 STOP"), "Node 2 has shut down.\n");
    wait_until("node 2 to be gone", || cluster.states() == ["STARTED", "NO_CONTACT", "STARTED"]);
    wait_until("node 1 leads everything", || {
        cluster.has_leaders()
            && cluster.node(1)["leads"].as_array().unwrap().len() as u64 == cluster.json("show")["partitions"]
    });
    let error = cluster.refusal("1 STOP");
    assert!(error.contains("no majority with a whole replica"), "{error}");
    assert!(cluster.refusal("2 STOP").contains("not connected"));
    assert!(cluster.refusal("2 RESTART").contains("shoal start --node-id 2"));
    assert!(cluster.text("2 START").contains("shoal start --config"));
    assert!(cluster.text("show").contains("id=2 (NO_CONTACT, accepting connect from 127.0.0.1:"));
}

fn shuts_down(cluster: &mut TestCluster) {
    let output = cluster.run(&["-e", "shutdown"]);
    assert!(output.status.success(), "{}", output.errors());
    assert!(output.text().starts_with("2 node(s) have shut down"), "{}", output.text());
    let status = cluster.server.wait(Duration::from_secs(60)).unwrap();
    assert!(status.success(), "{status}");
    assert!(cluster.refusal("show").contains("no management node answers"));
}

/// Carries a command out at whichever management node of the configuration answers.
fn command(config: &Path, line: &str) -> String {
    let mut command = Command::new(shoal_binary());
    command.arg("mgm").arg("--config").arg(config).args(["-e", line]);
    let output = program::run(command, b"", COMMAND_DEADLINE, || false).unwrap();
    assert!(output.status.success(), "{line}: {}", output.errors());
    output.text()
}

#[test]
fn all_nodes_are_restarted_under_load_and_nothing_is_lost() {
    if target_is_mariadb() {
        return skip("it is Shoal's management client");
    }
    let cluster = StartedCluster::start(&Layout { sql_nodes: 1, ..Layout::default() });
    let workload = Workload::start(&cluster, Plan::new());
    workload.wait_for_commits_everywhere(20);
    let text = command(&cluster.config_file(), "ALL RESTART");
    for node in [1, 2, 4] {
        assert!(text.contains(&format!("Node {node} was restarted and has caught up.")), "{text}");
    }
    workload.wait_for_commits_everywhere(20);
    check(&cluster, &workload.finish());
}

#[test]
fn any_of_three_management_nodes_commands_and_knows_what_has_happened() {
    if target_is_mariadb() {
        return skip("it is Shoal's management client");
    }
    let mut cluster = StartedCluster::start(&Layout { management_nodes: 3, sql_nodes: 1, ..Layout::default() });
    let config = cluster.config_file();
    cluster.kill_node(3);
    let shows = |expected: &str| wait_until(expected, || command(&config, "SHOW").contains(expected));
    shows("id=3 (NO_CONTACT");
    shows("roles mgm, *");
    // Two of three are a majority; one is not.
    assert!(command(&config, "1 status").contains("STARTED"));
    let mut refused = Command::new(shoal_binary());
    refused.arg("mgm").arg("--config").arg(&config).args(["-e", "4 stop"]);
    let refused = program::run(refused, b"", COMMAND_DEADLINE, || false).unwrap();
    assert!(refused.errors().contains("management nodes have no majority"), "{}", refused.errors());
    // A node that may not take part is in the log of both, and so is what happened to the third.
    cluster.stop_node(6);
    let other =
        cluster.changed_config(|text| text.replace("[ndbd default]", "[ndbd default]\nHeartbeatIntervalDbDb=77"));
    cluster.refused(6, &other, &[]);
    for node in [4, 5] {
        let path = cluster.data_dir(node).join(format!("shoal_{node}_cluster.log"));
        for event in ["Node 3 is dead: its process is gone", "Node 6 Disconnected", "was refused: "] {
            wait_until(event, || fs::read_to_string(&path).unwrap_or_default().contains(event));
        }
    }
    // One that was away is told what it has missed.
    cluster.start_again(3);
    let path = cluster.data_dir(3).join("shoal_3_cluster.log");
    wait_until("the log of node 3", || {
        fs::read_to_string(&path).unwrap_or_default().contains("Node 1: Node 6 Disconnected")
    });
    assert!(command(&config, "4 stop").contains("Node 4 has shut down"));
    assert!(cluster.wait_until_ended(4).success());
}

#[test]
fn the_management_client_says_when_nobody_answers() {
    if target_is_mariadb() {
        return skip("it is Shoal's management client");
    }
    let folder = tempfile::tempdir().unwrap();
    let mgm = |options: &[&str], input: &[u8]| {
        let mut command = Command::new(shoal_binary());
        command.arg("mgm").args(options).current_dir(folder.path());
        program::run(command, input, COMMAND_DEADLINE, || false).unwrap()
    };
    // Nobody can listen on port 1 here but root, and nobody does.
    let output = mgm(&["-c", "127.0.0.1:1", "-e", "show"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.errors().contains("127.0.0.1:1") && output.errors().contains("no management node answers"));
    let output = mgm(&["--data-dir", "nowhere", "-e", "show"], b"");
    assert!(output.errors().contains("nowhere"), "{}", output.errors());
    // Help needs nobody, and commands may come from a file.
    let output = mgm(&[], b"help\nhelp restart\nquit\nshow\n");
    assert!(output.status.success(), "{}", output.errors());
    assert!(output.text().contains("CLUSTERLOG") && output.text().contains("one after the other"));
}
