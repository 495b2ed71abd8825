//! What is wrong, or soon will be, and what to do about it. The limits are those of `monitoring/alerts.yml`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use shoal_cluster::ObservedNode;
use shoal_sql::figures::Figures;
use shoal_sql::server::Server;

const LONG_WAIT: Duration = Duration::from_secs(10);
const DAY_S: i64 = 86_400;

fn warning(severity: &str, text: String, advice: &str) -> Value {
    json!({ "severity": severity, "text": text, "advice": advice })
}

fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100).checked_div(whole).unwrap_or(0)
}

/// Of one node. `with_private`: for a viewer with PROCESS, who may know of accounts.
pub fn of_node(
    server: &Server,
    observed: &ObservedNode,
    sql: &Figures,
    (free, size): (u64, u64),
    login_failures_per_s: f64,
    with_private: bool,
) -> Value {
    let mut found = Vec::new();
    let mut warn = |severity, text, advice| found.push(warning(severity, text, advice));
    let memory = server.node.memory_usage();
    let used = percent(memory.used_bytes, memory.limit_bytes);
    if used > 85 {
        let severity = if used > 95 { "critical" } else { "warning" };
        let advice = "Raise DataMemory and restart node by node, or delete rows. When it is full, statements that write get error 1114.";
        warn(severity, format!("{used} % of DataMemory is used"), advice);
    }
    let old = percent(memory.tables.old_bytes, memory.limit_bytes);
    if old > 20 {
        let advice = "End transactions that have been open for long (Statements, below).";
        warn("warning", format!("Old versions of rows that snapshots keep take {old} % of DataMemory"), advice);
    }
    if observed.disk_is_full {
        let advice = "Make room on the disk, or take a larger one. Writes go on by themselves.";
        warn("critical", "The disk is full: writes get error 1021".into(), advice);
    } else if size > 0 && percent(free, size) < 10 {
        let advice = "Make room on the disk before writes get error 1021.";
        warn("warning", format!("{} % of the disk is free", percent(free, size)), advice);
    }
    let log = observed.log_since_checkpoint_bytes;
    if log > 4_000_000_000 && log > memory.used_bytes.saturating_mul(4) {
        let advice = "The cluster log says why checkpoints fail; MaxDiskWriteSpeed may be too low. A restart would take long.";
        warn("warning", "Checkpoints fall behind the log".into(), advice);
    }
    if percent(sql.sessions as u64, sql.sessions_limit) > 90 {
        let text = format!("{} of {} connections are in use", sql.sessions, sql.sessions_limit);
        warn(
            "warning",
            text,
            "See below who has them; SET GLOBAL max_connections. New clients will get error 1040.",
        );
    }
    let longest = server.node.wait_for_graph().list(1).into_iter().next();
    if let Some(wait) = longest.filter(|wait| wait.since >= LONG_WAIT) {
        let text = format!("A transaction has been waiting for a lock for {} s", wait.since.as_secs());
        warn("warning", text, "Statements, below, tell who is in its way.");
    }
    if login_failures_per_s > 1.0 {
        let advice =
            "The general log (SET GLOBAL general_log = ON) tells who; lock accounts with FAILED_LOGIN_ATTEMPTS.";
        warn("warning", format!("{login_failures_per_s:.0} logins a second fail"), advice);
    }
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    if let Some(left_s) = sql.certificate_end_s.map(|end| end - now_s).filter(|&left| left < 30 * DAY_S) {
        let (severity, text) = match left_s {
            ..=0 => ("critical", "The certificate for clients has expired".to_owned()),
            _ => ("warning", format!("The certificate for clients ends in {} days", left_s / DAY_S)),
        };
        warn(severity, text, "Replace the files, then ALTER INSTANCE RELOAD TLS.");
    }
    if sql.query_log_lost > 0 {
        let text = format!("Query logs have lost {} entries since the start", sql.query_log_lost);
        warn(
            "warning",
            text,
            "Look at the disk of the files; raise long_query_time, or turn the general log off.",
        );
    }
    for one in observed.partitions.iter().filter(|one| one.serves) {
        for replica in &one.replicas {
            let whose = format!("replica of partition {} on node {}", one.partition, replica.node);
            if !replica.is_active {
                let advice = "Start that node, or look what holds it up. Do not stop another node meanwhile.";
                warn("warning", format!("The {whose} is silent"), advice);
            } else if replica.lag_entries > 10_000 && !replica.is_witness {
                let advice = "Look at its disk and processor, and at the network to it.";
                warn("warning", format!("The {whose} lacks {} entries", replica.lag_entries), advice);
            }
        }
    }
    if with_private {
        let catalog = server.node.catalog();
        let is_open =
            |user: &&std::sync::Arc<shoal_cluster::User>| !user.locked && user.authentication_string.is_empty();
        let open: Vec<String> = catalog
            .users
            .values()
            .filter(is_open)
            .map(|user| format!("'{}'@'{}'", user.user, user.host))
            .collect();
        if !open.is_empty() {
            let advice =
                "ALTER USER ... IDENTIFIED BY '...' gives it one; roles should be locked (CREATE ROLE does so).";
            warn("info", format!("Accounts without a password: {}", open.join(", ")), advice);
        }
    }
    json!(found)
}

/// Of the cluster, from what SHOW tells as JSON.
pub fn of_cluster(show: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    let mut warn = |severity, text, advice| found.push(warning(severity, text, advice));
    let numbers =
        |list: &Value| -> Vec<String> { list.as_array().into_iter().flatten().map(Value::to_string).collect() };
    let without = numbers(&show["partitions_without_leader"]);
    if !without.is_empty() {
        let advice = "Too few replicas reach each other, and their rows cannot be used: start the nodes that hold them, or mend the network.";
        warn("critical", format!("Partitions without a leader: {}", without.join(", ")), advice);
    }
    if show["dictionary_has_leader"] == json!(false) {
        let advice = "Definitions cannot be changed: start management nodes until a majority of them runs.";
        warn("critical", "The dictionary has no leader".into(), advice);
    }
    if let Some(node) = show["single_user_node"].as_u64() {
        let advice = "`EXIT SINGLE USER MODE` in `shoal mgm` lets the others serve again.";
        warn("warning", format!("Single user mode: node {node} alone serves statements"), advice);
    }
    for node in show["nodes"].as_array().into_iter().flatten() {
        let id = &node["id"];
        match node["state"].as_str().unwrap_or_default() {
            "NO_CONTACT" => match node["refused"].as_str() {
                Some(reason) => {
                    let advice =
                        "The reason says what does not fit; see \"When something breaks\" in docs/operating.md.";
                    warn("critical", format!("Node {id} is refused: {reason}"), advice);
                }
                None => {
                    let advice = "Start it on its host (shoal start --config config.ini --node-id N); if it runs, mend the network.";
                    warn("critical", format!("Node {id} is not connected"), advice);
                }
            },
            "UNKNOWN" => {
                let advice = "Its process stands still, or its host lacks processor or disk: look there.";
                warn("critical", format!("Node {id} is connected and does not answer"), advice);
            }
            "STARTING" => {
                let waits =
                    node["waits_for"].as_str().map_or_else(String::new, |what| format!(": it waits for {what}"));
                warn(
                    "info",
                    format!("Node {id} is starting{waits}"),
                    "Start the nodes that it waits for; else it needs time.",
                );
            }
            _ => {}
        }
        if !node["catch_up"].is_null() {
            warn(
                "info",
                format!("Node {id} gets copies of partitions"),
                "Do not stop another node before it has them.",
            );
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_cluster_comes_with_what_to_do() {
        let node = |id: u32, state: &str| json!({ "id": id, "state": state, "refused": null, "waits_for": null, "catch_up": null });
        let fine = json!({
            "partitions_without_leader": [], "dictionary_has_leader": true, "single_user_node": null,
            "nodes": [node(1, "STARTED"), node(2, "STARTED")],
        });
        assert_eq!(of_cluster(&fine), Vec::<Value>::new());
        let mut bad = json!({
            "partitions_without_leader": [0, 3], "dictionary_has_leader": false, "single_user_node": 2,
            "nodes": [node(1, "NO_CONTACT"), node(2, "UNKNOWN"), node(3, "STARTING"), node(4, "NO_CONTACT"), node(5, "STARTED")],
        });
        bad["nodes"][3]["refused"] = json!("other cluster");
        bad["nodes"][4]["catch_up"] = json!({});
        let found = of_cluster(&bad);
        let texts: Vec<&str> = found.iter().map(|one| one["text"].as_str().unwrap()).collect();
        for (expected, text) in [
            "Partitions without a leader: 0, 3",
            "The dictionary has no leader",
            "Single user mode: node 2",
            "Node 1 is not connected",
            "Node 2 is connected and does not answer",
            "Node 3 is starting",
            "Node 4 is refused: other cluster",
            "Node 5 gets copies",
        ]
        .iter()
        .zip(&texts)
        {
            assert!(text.starts_with(expected), "{text}");
        }
        assert_eq!(texts.len(), 8);
        assert!(found.iter().all(|one| !one["advice"].as_str().unwrap().is_empty()));
    }
}
