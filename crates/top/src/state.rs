//! From answers to what is shown: numbers made readable, rows in an order, texts without control characters.

use serde_json::Value;

use crate::client::Answers;
use crate::digests::{DigestRow, digest_rows};
use crate::readable::{bytes, duration, micros, plain, text};

/// What is known of the cluster.
#[derive(Default)]
pub struct State {
    pub title: String,
    pub warnings: Vec<Warning>,
    pub nodes: Vec<NodeRow>,
    pub sessions: Vec<SessionRow>,
    pub waits: Vec<String>,
    /// Statements a second of all nodes, the oldest first.
    pub rates: Vec<u64>,
    /// The costliest kinds of statements, while they are looked at.
    pub digests: Vec<DigestRow>,
    /// Why there are none of them.
    pub digests_failure: Option<String>,
    /// Why this is not new.
    pub failure: Option<String>,
}

pub struct Warning {
    /// `critical`, `warning`, `info`.
    pub severity: String,
    pub text: String,
    pub advice: String,
}

#[derive(Default)]
pub struct NodeRow {
    pub is_well: bool,
    /// In the order of [`NODE_COLUMNS`].
    pub cells: Vec<String>,
}

pub const NODE_COLUMNS: [&str; 10] =
    ["NODE", "ROLES", "STATE", "LEADS", "MEMORY", "READS/S", "WRITES/S", "READ P99", "WRITE P99", "CLIENTS"];

#[derive(Clone, Default)]
pub struct SessionRow {
    pub node: u32,
    pub id: u32,
    pub user: String,
    pub state: String,
    pub millis: u64,
    pub text: String,
    pub is_running: bool,
    pub transaction: Option<String>,
}

impl SessionRow {
    pub fn time(&self) -> String {
        duration(self.millis)
    }
}

pub const SESSION_COLUMNS: [&str; 6] = ["NODE", "ID", "USER", "STATE", "TIME", "STATEMENT"];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

impl State {
    pub fn of(answers: &Answers) -> State {
        let overview = &answers.overview;
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let name = match overview["cluster"].as_str() {
            Some(name) => format!("cluster {}", plain(name)),
            None => "one node".to_owned(),
        };
        let without = list(&overview["partitions_without_leader"]).len();
        let leaders = match without {
            0 => format!("all {} partitions have leaders", overview["partitions"]),
            _ => format!("{without} of {} partitions have no leader", overview["partitions"]),
        };
        let warnings = list(&overview["warnings"]).into_iter().map(|one| Warning {
            severity: text(&one["severity"]),
            text: match one["node"].as_u64().filter(|_| overview["cluster"].is_string()) {
                Some(node) => format!("node {node}: {}", text(&one["text"])),
                None => text(&one["text"]),
            },
            advice: text(&one["advice"]),
        });
        let (sessions, waits) = sessions(&answers.statements["nodes"]);
        State {
            title: format!("Shoal, {name}: {leaders}"),
            warnings: warnings.collect(),
            nodes: list(&overview["nodes"]).iter().map(node_row).collect(),
            sessions,
            waits,
            rates: rates(&answers.history["nodes"]),
            digests: digest_rows(&answers.digests),
            digests_failure: answers.digests["error"].as_str().map(plain),
            failure: None,
        }
    }
}

fn node_row(node: &Value) -> NodeRow {
    let told = &node["figures"];
    let latest = &told["latest"];
    let roles: Vec<String> = node["roles"].as_array().into_iter().flatten().map(text).collect();
    let has = |role: &str| roles.iter().any(|known| known == role);
    let state = text(&node["state"]);
    let catches_up = match number(&node["catch_up"]["total_bytes"]) {
        total if total > 0.0 => format!(" {:.0}%", 100.0 * number(&node["catch_up"]["sent_bytes"]) / total),
        _ => String::new(),
    };
    let of_sql = |field: &str, shown: fn(f64) -> String| match has("sql") && latest.is_object() {
        true => shown(number(&latest[field])),
        false => "-".to_owned(),
    };
    let memory = match has("data") && told["memory"].is_object() {
        true => {
            let (used, limit) = (number(&told["memory"]["used_bytes"]), number(&told["memory"]["limit_bytes"]));
            format!("{}/{}", bytes(used), bytes(limit))
        }
        false => "-".to_owned(),
    };
    let clients = match has("sql") && told["activity"].is_object() {
        true => format!("{} ({} at work)", told["activity"]["connections"], told["activity"]["running"]),
        false => "-".to_owned(),
    };
    let rate = |value: f64| format!("{value:.0}");
    NodeRow {
        is_well: state == "STARTED" && node["catch_up"].is_null() && told["reason"].is_null(),
        cells: vec![
            node["id"].to_string(),
            roles.join(","),
            state + &catches_up,
            node["leads"].as_array().map_or(0, Vec::len).to_string(),
            memory,
            of_sql("reads", rate),
            of_sql("writes", rate),
            of_sql("read_p99_us", micros),
            of_sql("write_p99_us", micros),
            clients,
        ],
    }
}

fn sessions(nodes: &Value) -> (Vec<SessionRow>, Vec<String>) {
    let mut found = Vec::new();
    let mut waits = Vec::new();
    for (node, told) in nodes.as_object().into_iter().flatten() {
        waits.extend(told["waits"].as_array().into_iter().flatten().cloned());
        for session in told["sessions"].as_array().into_iter().flatten() {
            let database =
                session["database"].as_str().map_or_else(String::new, |name| format!("/{}", plain(name)));
            found.push(SessionRow {
                node: node.parse().unwrap_or(0),
                id: session["id"].as_u64().and_then(|id| u32::try_from(id).ok()).unwrap_or(0),
                user: format!("{}@{}{database}", text(&session["user"]), text(&session["host"])),
                state: text(&session["state"]),
                millis: session["millis"].as_u64().unwrap_or(0),
                text: text(&session["text"]),
                is_running: session["running"] == Value::Bool(true),
                transaction: session["transaction"].as_str().map(str::to_owned),
            });
        }
    }
    let is_waiting = |transaction: &str| waits.iter().any(|wait| wait["waiter"].as_str() == Some(transaction));
    for session in &mut found {
        session.state = match (&session.transaction, session.is_running) {
            (Some(transaction), _) if is_waiting(transaction) => "waits for lock".into(),
            (Some(_), false) => "idle, holds locks".into(),
            (None, false) => "idle".into(),
            (_, true) => std::mem::take(&mut session.state),
        };
    }
    let who = |transaction: &Value| {
        let number = transaction.as_str().unwrap_or_default();
        match found.iter().find(|session| session.transaction.as_deref() == Some(number)) {
            Some(session) => format!("{}:{} ({}, {})", session.node, session.id, session.user, session.state),
            None => format!("transaction {}", plain(number)),
        }
    };
    let sentences = waits.iter().map(|wait| {
        let blockers: Vec<String> = wait["blockers"].as_array().into_iter().flatten().map(who).collect();
        let since = duration(wait["millis"].as_u64().unwrap_or(0));
        format!("{} has waited {since} for {}", who(&wait["waiter"]), blockers.join(" and "))
    });
    let sentences = sentences.collect();
    (found, sentences)
}

/// Samples of different nodes are of one moment if they are of one interval.
fn rates(nodes: &Value) -> Vec<u64> {
    let mut sums = std::collections::BTreeMap::<u64, f64>::new();
    for told in nodes.as_object().into_iter().flatten().map(|(_, told)| told) {
        let every = number(&told["every_s"]).max(1.0);
        let fields: Vec<usize> = told["fields"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
            .filter(|(_, name)| matches!(name.as_str(), Some("reads" | "writes" | "others")))
            .map(|(place, _)| place + 1)
            .collect();
        for row in told["rows"].as_array().into_iter().flatten() {
            let moment = (number(&row[0]) / every).round() as u64;
            *sums.entry(moment).or_default() += fields.iter().map(|&field| number(&row[field])).sum::<f64>();
        }
    }
    sums.into_values().map(|sum| sum.round() as u64).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn state() -> State {
        let session = |id: u32, running: bool, millis: u64, transaction: Value| {
            json!({ "id": id, "user": "ann", "host": "h", "database": "d", "state": if running { "executing" } else { "" },
                "running": running, "millis": millis, "text": "SELECT '\u{1b}[2J\u{202e}'", "transaction": transaction })
        };
        let answers = Answers {
            overview: json!({
                "cluster": "dev", "partitions": 4, "partitions_without_leader": [2],
                "warnings": [{ "severity": "critical", "text": "Bad \u{1b}[0m", "advice": "Mend it", "node": 2 }],
                "nodes": [
                    { "id": 1, "roles": ["data", "sql"], "state": "STARTED", "leads": [0, 1], "figures": {
                        "memory": { "used_bytes": 1 << 20, "limit_bytes": 1 << 30 },
                        "activity": { "connections": 3, "running": 1 },
                        "latest": { "reads": 812.4, "writes": 3, "read_p99_us": 96, "write_p99_us": 2500 } } },
                    { "id": 2, "roles": ["data"], "state": "STARTING", "leads": [],
                        "catch_up": { "sent_bytes": 50, "total_bytes": 200 }, "figures": null },
                ],
            }),
            history: json!({ "nodes": { "1": { "every_s": 5, "fields": ["reads", "errors", "writes"], "rows": [[100, 1, 9, 2], [105, 3, 9, 4]] } } }),
            statements: json!({ "nodes": { "1": {
                "sessions": [session(7, true, 61_000, json!("70")), session(8, false, 1500, json!("80")), session(9, false, 2, Value::Null)],
                "waits": [{ "waiter": "70", "blockers": ["80", "99"], "millis": 60_000 }] },
                "2": { "error": "gone" } } }),
            digests: json!({ "digests": [{ "database": "d", "text": "SELECT ?", "count": 12, "sum_us": 3400, "trend": [1, 2] }] }),
        };
        State::of(&answers)
    }

    #[test]
    fn answers_become_rows_that_cannot_harm_a_terminal() {
        let state = state();
        assert_eq!(state.title, "Shoal, cluster dev: 1 of 4 partitions have no leader");
        assert_eq!(state.warnings[0].text, "node 2: Bad  [0m");
        assert_eq!(state.sessions[0].text, "SELECT ' [2J '");
        assert_eq!(
            state.sessions.iter().map(|one| one.state.as_str()).collect::<Vec<_>>(),
            ["waits for lock", "idle, holds locks", "idle"]
        );
        assert_eq!(
            state.waits,
            [
                "1:7 (ann@h/d, waits for lock) has waited 1m00s for 1:8 (ann@h/d, idle, holds locks) and transaction 99"
            ]
        );
        assert_eq!(
            state.nodes[0].cells,
            ["1", "data,sql", "STARTED", "2", "1.0M/1.0G", "812", "3", "96us", "2.5ms", "3 (1 at work)"]
        );
        assert_eq!(state.nodes[1].cells[2..5], ["STARTING 25%", "0", "-"]);
        assert_eq!((state.nodes[0].is_well, state.nodes[1].is_well), (true, false));
        assert_eq!(state.rates, [3, 7]);
    }

    #[test]
    fn an_answer_without_anything_is_no_reason_to_fail() {
        let empty = || Value::Null;
        let state =
            State::of(&Answers { overview: empty(), history: empty(), statements: empty(), digests: empty() });
        assert!(state.nodes.is_empty() && state.sessions.is_empty() && state.rates.is_empty());
    }
}
