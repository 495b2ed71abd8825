//! SIGSTOP: a node that sleeps through its own replacement, and must not believe afterwards that it still leads.

use shoal_system_tests::Client;
use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::transfer::{Plan, Workload, check};

const READERS_PER_COUNTER: u64 = 2;

/// Sends reads to a sleeping node whose answers must show what others were told while it slept.
struct Question {
    client: Client,
    counter: u64,
    least: u64,
}

fn ask(cluster: &DevCluster, node: u32, counters: u64) -> Vec<Question> {
    let questions = (0..counters * READERS_PER_COUNTER).map(|place| {
        let counter = place % counters;
        Question { client: cluster.client(node), counter, least: 0 }
    });
    questions.collect()
}

/// A reply may be an error: the node may know that it must not answer. It may not be an old value.
fn judge(questions: Vec<Question>, node: u32) -> usize {
    let mut answered = 0;
    for mut question in questions {
        let Ok(reply) = question.client.receive_reply().and_then(|reply| reply.rows()) else { continue };
        let found: u64 = reply.text()[0].parse().unwrap();
        assert!(
            found >= question.least,
            "node {node} has slept and reads counter {} as {found}; {} increments were acknowledged before it was asked",
            question.counter,
            question.least
        );
        answered += 1;
    }
    answered
}

#[test]
fn a_leader_that_was_paused_answers_with_nothing_stale() {
    let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
    let nodes = cluster.data_nodes();
    let sql_only = *cluster.sql_nodes().last().unwrap();
    let mut answered = 0;
    for (round, &sleeper) in nodes.iter().chain(&nodes).enumerate() {
        let awake = *nodes.iter().find(|&&node| node != sleeper).unwrap();
        let plan = Plan { nodes: vec![awake, sql_only], ..Plan::new() };
        let counters = plan.counters;
        let workload = Workload::start(&cluster, plan);
        workload.wait_for_commits_everywhere(10);
        let mut questions = ask(&cluster, sleeper, counters);
        cluster.pause(sleeper);
        // The others have taken over: everything goes on without it.
        workload.wait_for_commits_everywhere(50);
        for question in &mut questions {
            question.least = workload.acknowledged(question.counter);
            // The sleeper's kernel takes it; the process finds it when it wakes up.
            question.client.send_query(&format!("SELECT n FROM counters WHERE id={}", question.counter)).unwrap();
        }
        cluster.resume(sleeper);
        answered += judge(questions, sleeper);
        workload.wait_for_commits_everywhere(20);
        let history = workload.finish();
        check(&cluster, &history);
        eprintln!("round {round}: node {sleeper} was paused");
    }
    assert!(answered > 0, "no question was ever answered");
}
