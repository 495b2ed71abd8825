//! Nodes stopped and started again one by one, in an orderly way: clients of the other nodes notice nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use shoal_system_tests::cluster::{Layout, Nodes, StartedCluster};
use shoal_system_tests::transfer::{Plan, Workload, check};
use shoal_system_tests::wait_until;

/// Single statements on one node, without a transaction around them.
struct Statements {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    thread: JoinHandle<Vec<String>>,
}

impl Statements {
    fn start(nodes: &Nodes, node: u32) -> Statements {
        let mut client = nodes.client(node);
        client.execute("CREATE TABLE ticks (id INT PRIMARY KEY, n BIGINT NOT NULL)").unwrap();
        client.execute("INSERT INTO ticks VALUES (1,0),(2,0),(3,0),(4,0),(5,0),(6,0),(7,0),(8,0)").unwrap();
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&done));
        let thread = thread::spawn(move || {
            let mut failures = Vec::new();
            for number in 0u64.. {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                let sql = match number % 3 {
                    0 => format!("UPDATE ticks SET n=n+1 WHERE id={}", 1 + number % 8),
                    1 => format!("SELECT n FROM ticks WHERE id={}", 1 + number % 8),
                    _ => "SELECT COUNT(*), SUM(n) FROM ticks".into(),
                };
                match client.run(&sql) {
                    Ok(_) => {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => failures.push(format!("statement {number}, {sql}: {error}")),
                }
            }
            failures
        });
        Statements { stop, done, thread }
    }

    fn wait_for(&self, more: u64) {
        let goal = self.done.load(Ordering::Relaxed) + more;
        wait_until("single statements to go on", || self.done.load(Ordering::Relaxed) >= goal);
    }

    fn finish(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

#[test]
fn a_rolling_restart_fails_no_statement_that_can_be_repeated() {
    let layout = Layout { sql_nodes: 1, ..Layout::default() };
    let mut cluster = StartedCluster::start(&layout);
    let sql_only = *cluster.sql_nodes().last().unwrap();
    let statements = Statements::start(&cluster, sql_only);
    let workload = Workload::start(&cluster, Plan::new());
    for node in [1, 2, 3, 1] {
        workload.wait_for_commits(20);
        statements.wait_for(20);
        cluster.stop_node(node);
        statements.wait_for(20);
        cluster.start_again(node);
        workload.wait_for_commits_everywhere(10);
    }
    statements.wait_for(50);
    let failures = statements.finish();
    assert!(failures.is_empty(), "{} failures: {failures:#?}\n{}", failures.len(), cluster.logs());
    check(&cluster, &workload.finish());
}

#[test]
fn a_node_killed_while_it_starts_comes_back_all_the_same() {
    let mut cluster = StartedCluster::start(&Layout::default());
    let plan = Plan { nodes: vec![1], ..Plan::new() };
    let workload = Workload::start(&cluster, plan);
    for round in 0..6u64 {
        workload.wait_for_commits(20);
        cluster.kill_node(2);
        cluster.spawn(2);
        // Killed again after a while that is different each time, long before it is ready in most rounds.
        workload.wait_for_commits(1 + round * 5);
        cluster.kill_node(2);
        cluster.start_again(2);
    }
    workload.wait_for_commits(20);
    check(&cluster, &workload.finish());
}
