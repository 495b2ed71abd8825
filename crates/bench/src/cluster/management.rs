//! What the management node tells of the cluster: `shoal mgm --json -e SHOW`.

use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use shoal_testkit::program::{self, Output};

use crate::measure::interrupt;

const ANSWERED_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A node as SHOW tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub id: u32,
    pub is_data: bool,
    pub is_started: bool,
    /// Partitions that it leads.
    pub leads: usize,
    /// Its replicas have everything that is committed.
    pub has_all: bool,
}

/// Who leads, and what happened last, for people.
pub fn story(shoal: &Path, data_dir: &Path) -> String {
    match ask(shoal, data_dir, &["-e", "SHOW", "-e", "CLUSTERLOG 30"]) {
        Ok(output) => output.text() + &output.errors(),
        Err(error) => format!("`shoal mgm` does not answer: {error}"),
    }
}

/// Asks the cluster whose supervisor keeps its files in `data_dir`.
fn ask(shoal: &Path, data_dir: &Path, what: &[&str]) -> io::Result<Output> {
    let mut command = Command::new(shoal);
    command.arg("mgm").args(what).arg("--data-dir").arg(data_dir);
    program::run(command, b"", ANSWERED_WITHIN, interrupt::requested)
}

/// What every node does just now.
pub fn show(shoal: &Path, data_dir: &Path) -> io::Result<Vec<Shown>> {
    let output = ask(shoal, data_dir, &["--json", "-e", "SHOW"])?;
    let not_understood =
        || io::Error::other(format!("`shoal mgm -e SHOW` says: {}{}", output.text(), output.errors()));
    let answer: Value = serde_json::from_str(&output.text()).map_err(|_| not_understood())?;
    shown(&answer).ok_or_else(not_understood)
}

/// Waits until the nodes are as wanted.
pub fn wait_until(
    shoal: &Path,
    data_dir: &Path,
    patience: Duration,
    wanted: fn(&[Shown]) -> bool,
) -> io::Result<()> {
    let started = Instant::now();
    loop {
        let nodes = show(shoal, data_dir);
        if let Ok(nodes) = &nodes
            && wanted(nodes)
        {
            return Ok(());
        }
        if interrupt::requested() {
            return Err(io::Error::other("interrupted"));
        }
        if started.elapsed() > patience {
            let error =
                format!("the nodes have not caught up and shared the leading within {patience:?}: {nodes:?}");
            return Err(io::Error::other(error));
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Every data node has all that is committed and leads something: then any of them is a fair victim.
pub fn is_balanced(nodes: &[Shown]) -> bool {
    is_caught_up(nodes) && nodes.iter().all(|node| node.leads > 0 || !node.is_data)
}

pub fn is_caught_up(nodes: &[Shown]) -> bool {
    !nodes.is_empty() && nodes.iter().all(|node| node.is_started && node.has_all)
}

fn shown(answer: &Value) -> Option<Vec<Shown>> {
    let node = |node: &Value| {
        let roles = node["roles"].as_array()?;
        Some(Shown {
            id: node["id"].as_u64()?.try_into().ok()?,
            is_data: roles.iter().any(|role| role == "data"),
            is_started: node["state"] == "STARTED",
            leads: node["leads"].as_array()?.len(),
            has_all: node["behind"].as_array()?.is_empty() && node["catch_up"].is_null(),
        })
    };
    answer["nodes"].as_array()?.iter().map(node).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(leads: &[u32], behind: &[u32], catch_up: Value) -> Value {
        json!({"nodes": [
            {"id": 1, "roles": ["data", "sql"], "state": "STARTED", "leads": [0], "behind": [], "catch_up": null},
            {"id": 2, "roles": ["data", "sql"], "state": "STARTED", "leads": leads, "behind": behind,
             "catch_up": catch_up},
            {"id": 3, "roles": ["mgm"], "state": "STARTED", "leads": [], "behind": [], "catch_up": null},
        ]})
    }

    #[test]
    fn a_cluster_is_balanced_when_each_data_node_has_everything_and_leads() {
        let balanced = |answer| is_balanced(&shown(&answer).unwrap());
        assert!(balanced(answer(&[1], &[], Value::Null)));
        assert!(!balanced(answer(&[], &[], Value::Null)));
        assert!(!balanced(answer(&[1], &[1], Value::Null)));
        assert!(!balanced(answer(&[1], &[], json!({"sent_bytes": 5}))));
    }

    #[test]
    fn an_answer_of_another_shape_is_refused() {
        assert_eq!(shown(&json!({"nodes": [{"id": 1}]})), None);
        assert_eq!(shown(&json!({})), None);
    }
}
