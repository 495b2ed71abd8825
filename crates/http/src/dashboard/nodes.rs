//! What a viewer asks, of all nodes: this one knows by itself, the others are asked over their links, all at once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use shoal_sql::server::Server;
use shoal_types::{Error, NodeId, Result};
use tokio::task::JoinSet;

use super::AccountKey;
use super::questions::{Question, answer};
use super::warnings;
use crate::watched::Watched;

/// Events of the cluster that are shown.
const LOG_LINES: usize = 200;

/// For the plan of a sample.
const EXPLAIN_PATIENCE: Duration = Duration::from_secs(10);

/// Asks one node, this one included.
///
/// # Errors
/// The node's, or it does not answer.
pub async fn ask(watched: &Watched, server: &Arc<Server>, node: u32, question: &Question) -> Result<Value> {
    if server.node.cluster().is_none_or(|cluster| cluster.options.me.0 == node) {
        return answer(watched, server, question);
    }
    let text = server.node.ask_operators_of(NodeId(node), question.encode()).await?;
    serde_json::from_str(&text)
        .map_err(|_| Error::unknown(format!("node {node} answers in a way this version does not know")))
}

/// SHOW of the cluster, or the same of a process that is all of it.
async fn show(watched: &Watched, server: &Arc<Server>) -> Result<Value> {
    if server.node.cluster().is_some() {
        let text = server.node.look_by_command("SHOW").await?;
        return serde_json::from_str(&text).map_err(|_| Error::unknown("SHOW is not understood"));
    }
    let observed = server.node.observed();
    let leads: Vec<u32> = observed.partitions.iter().map(|one| one.partition).collect();
    Ok(json!({
        "cluster": null,
        "partitions": observed.partition_count,
        "partitions_without_leader": [],
        "dictionary_has_leader": true,
        "single_user_node": null,
        "nodes": [{
            "id": observed.id,
            "roles": ["data", "sql"],
            "state": if watched.stage() == crate::Stage::Stopping { "SHUTTING_DOWN" } else { "STARTED" },
            "version": env!("CARGO_PKG_VERSION"),
            "uptime_ms": (watched.uptime_s() * 1000.0) as u64,
            "leads": leads,
            "leads_dictionary": true,
            "behind": [],
        }],
    }))
}

/// The nodes that can be asked: without a cluster this one.
fn reachable(server: &Arc<Server>) -> Vec<u32> {
    match server.node.cluster() {
        None => vec![server.node.observed().id],
        Some(cluster) => {
            let is_member = |id: &NodeId| cluster.options.node(*id).is_some_and(|entry| entry.roles.bits() != 0);
            let up = cluster.peers().into_iter().filter(|(id, peer)| peer.is_up && is_member(id));
            let mut nodes: Vec<u32> = up.map(|(id, _)| id.0).chain([cluster.options.me.0]).collect();
            nodes.sort_unstable();
            nodes
        }
    }
}

/// Asks all nodes that can be; by their ids, with an `error` where there is no answer.
pub async fn ask_all(watched: &Arc<Watched>, server: &Arc<Server>, question: &Question) -> Value {
    let mut asked = JoinSet::new();
    for node in reachable(server) {
        let (watched, server, question) = (Arc::clone(watched), Arc::clone(server), question.clone());
        asked.spawn_local(async move { (node, ask(&watched, &server, node, &question).await) });
    }
    let mut answers = serde_json::Map::new();
    while let Some(answered) = asked.join_next().await {
        let Ok((node, answer)) = answered else { continue };
        let answer = answer.unwrap_or_else(|error| json!({ "error": error.message() }));
        answers.insert(node.to_string(), answer);
    }
    Value::Object(answers)
}

/// The cluster, what its nodes tell of themselves, and what is to be done.
///
/// # Errors
/// Nobody knows how the cluster is.
pub async fn overview(watched: &Arc<Watched>, server: &Arc<Server>, account: &AccountKey) -> Result<Value> {
    let question = Question::Figures(account.clone());
    let (show, figures) = tokio::join!(show(watched, server), ask_all(watched, server, &question));
    let mut show = show?;
    let mut warned = warnings::of_cluster(&show);
    for (node, told) in figures.as_object().into_iter().flatten() {
        for warning in told["warnings"].as_array().into_iter().flatten() {
            let mut warning = warning.clone();
            warning["node"] = json!(node.parse::<u32>().ok());
            // What all nodes would say of accounts is said once.
            let is_known =
                |known: &Value| warning["severity"] == json!("info") && known["text"] == warning["text"];
            if !warned.iter().any(is_known) {
                warned.push(warning);
            }
        }
    }
    let rank = |warning: &Value| ["critical", "warning"].iter().position(|name| warning["severity"] == **name);
    warned.sort_by_key(|warning| rank(warning).unwrap_or(2));
    for node in show["nodes"].as_array_mut().into_iter().flatten() {
        let id = node["id"].to_string();
        node["figures"] = figures.get(&id).cloned().unwrap_or(Value::Null);
    }
    show["warnings"] = json!(warned);
    show["asked_node"] = json!(server.node.cluster().map_or(1, |cluster| cluster.options.me.0));
    Ok(show)
}

/// A sample of a digest, whichever node has one, and how it would be executed here.
///
/// # Errors
/// No node knows the digest.
pub async fn sample(
    watched: &Arc<Watched>,
    server: &Arc<Server>,
    account: &AccountKey,
    host: &str,
    (database, digest): (&str, &str),
) -> Result<Value> {
    let question = Question::Sample(account.clone(), database.to_owned(), digest.to_owned());
    let told = ask_all(watched, server, &question).await;
    let mut samples = told.as_object().into_iter().flatten().filter_map(|(_, told)| told["sample"].as_str());
    let sample = samples.next().ok_or_else(|| Error::unknown("no node knows such a digest any more"))?;
    let explained = server.explain_sample(account, host, database, sample);
    let plan = match tokio::time::timeout(EXPLAIN_PATIENCE, explained).await {
        Ok(explained) => explained,
        Err(_) => Err(Error::unknown(format!("EXPLAIN was not done within {EXPLAIN_PATIENCE:?}"))),
    };
    Ok(match plan {
        Ok(plan) => json!({ "sample": sample, "plan": plan }),
        Err(error) => json!({ "sample": sample, "no_plan": error.message() }),
    })
}

/// The newest events of the cluster.
///
/// # Errors
/// No management node answers; or this is no cluster, and there are none.
pub async fn log(server: &Arc<Server>) -> Result<Value> {
    if server.node.cluster().is_none() {
        return Ok(json!({ "events": null }));
    }
    let text = server.node.look_by_command(&format!("CLUSTERLOG {LOG_LINES}")).await?;
    serde_json::from_str(&text).map_err(|_| Error::unknown("CLUSTERLOG is not understood"))
}
