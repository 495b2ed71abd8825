//! Whether clients are well served here: `/readyz`.

use hyper::StatusCode;
use serde_json::{Value, json};
use shoal_cluster::Readiness;

use crate::reply::{JSON, Reply, reply};
use crate::watched::{Stage, Watched};

/// Why this node is not to be sent clients; `None`: it is.
pub fn reason(watched: &Watched) -> Option<String> {
    let readiness = watched.server().map(|server| server.node.readiness()).unwrap_or_default();
    let (done, total) = watched.recovery();
    reason_of(watched.stage(), &readiness, done.saturating_mul(100).checked_div(total))
}

fn reason_of(stage: Stage, readiness: &Readiness, recovered_percent: Option<u64>) -> Option<String> {
    if readiness.is_stopped {
        return Some("something broke and the node is ending; its log says what".into());
    }
    if stage == Stage::Stopping || readiness.is_draining {
        return Some("the node is stopping: running statements may finish, others take over what it leads".into());
    }
    if stage == Stage::Opening {
        let percent = recovered_percent.map_or_else(String::new, |percent| format!(": {percent} %"));
        return Some(format!("the node reads back its data{percent}"));
    }
    if let Some(missing) = &readiness.waits_for {
        return Some(format!("the node waits for {missing}"));
    }
    (stage == Stage::Starting).then(|| "the node is starting".into())
}

/// 200 or 503, and in both cases what is known: stage, reason, and where this node stands with its partitions.
pub fn ready(watched: &Watched) -> Reply {
    let reason = reason(watched);
    let status = if reason.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut body = json!({ "ready": reason.is_none(), "stage": watched.stage().name(), "reason": reason });
    if let Some(server) = watched.server() {
        let observed = server.node.observed();
        let led = observed.partitions.iter().filter(|one| one.serves).count();
        let unled: Vec<u32> =
            observed.partitions.iter().filter(|one| one.leader.is_none()).map(|one| one.partition).collect();
        body["node"] = json!(observed.id);
        body["roles"] = json!(observed.roles);
        body["partitions"] = json!({
            "here": observed.partitions.len(),
            "led_here": led,
            "without_leader": unled,
        });
    } else {
        body["partitions"] = Value::Null;
    }
    reply(status, JSON, format!("{body}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_ready_only_while_it_serves_and_lacks_nothing() {
        let (fine, waits) = (
            Readiness::default(),
            Readiness { waits_for: Some("a leader of partition 3".into()), ..Readiness::default() },
        );
        let reason = |stage, readiness: &Readiness| reason_of(stage, readiness, Some(40)).unwrap_or_default();
        assert_eq!(reason(Stage::Opening, &fine), "the node reads back its data: 40 %");
        assert_eq!(reason(Stage::Starting, &fine), "the node is starting");
        assert_eq!(reason(Stage::Starting, &waits), "the node waits for a leader of partition 3");
        assert_eq!(reason(Stage::Serving, &waits), "the node waits for a leader of partition 3");
        assert_eq!(reason(Stage::Serving, &fine), "");
        assert!(reason(Stage::Stopping, &fine).contains("stopping"));
        let draining = Readiness { is_draining: true, ..Readiness::default() };
        assert!(reason(Stage::Serving, &draining).contains("stopping"));
        let stopped = Readiness { is_stopped: true, ..Readiness::default() };
        assert!(reason(Stage::Serving, &stopped).contains("broke"));
    }
}
