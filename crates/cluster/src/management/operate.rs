//! Commands that change something: stopping, restarting, single user mode, the filter of the log.
//!
//! A node is stopped by asking it; its process does the rest in order. Before that the management node looks whether every
//! partition keeps a majority of voters and a whole replica without it. Restarts go node by node, the next one when
//! the one before it has started and its replicas lack nothing.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use shoal_types::{Error, NodeId, Result};
use tokio::time::Instant;

use super::Stop;
use super::command::{LogFilter, Targets};
use super::commands::Answer;
use super::view::{ClusterView, NodeView, State};
use crate::base::cluster_log::Severity;
use crate::base::errors::temporary;
use crate::base::topology::{ClusterOptions, Roles};
use crate::dictionary::catalog::Change;
use crate::dictionary::single_user;
use crate::management::Management;
use crate::membership::messages::Ask;
use crate::membership::peers::Membership;

const ASK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a node may take to end, to be started again, and to catch up.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
const START_TIMEOUT: Duration = Duration::from_secs(300);
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(3600);
/// How long a restart waits until the others can do without the node.
const SPARE_TIMEOUT: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);

fn failed(message: impl Into<String>) -> Error {
    Error::unknown(message)
}

/// Whether the cluster can do without these nodes. The error is a sentence.
pub(super) fn can_spare(
    options: &ClusterOptions,
    view: &ClusterView,
    without: &[NodeId],
    restart: bool,
) -> std::result::Result<(), String> {
    let whose = || without.iter().map(|node| node.to_string()).collect::<Vec<_>>().join(" and ");
    let usable = |node: &NodeView, partition: u32| {
        let replica = node.told.iter().flat_map(|told| &told.partitions).find(|one| one.partition == partition);
        node.state == State::Started && replica.is_some_and(|one| !one.amnesiac)
    };
    let meta = options.meta_partition().0;
    for partition in 0..=meta {
        let placement = options.placement(partition);
        if !without.iter().any(|&node| placement.has(node)) {
            continue;
        }
        if partition == meta && restart && placement.replicas.len() == 1 {
            // Definitions wait for a moment.
            continue;
        }
        let left =
            |node: &&NodeView| placement.has(node.id) && !without.contains(&node.id) && usable(node, partition);
        let voters: Vec<NodeId> = view.nodes.iter().filter(left).map(|node| node.id).collect();
        let behind = |node: &NodeId| view.node(*node).is_some_and(|node| node.behind.contains(&partition));
        let whole = voters.iter().any(|node| placement.replicas.contains(node) && !behind(node));
        if voters.len() > placement.voters().len() / 2 && whole {
            continue;
        }
        return Err(match partition == meta {
            true => format!(
                "without node {} the management nodes have no majority: definitions could not be changed and no other \
                 node could start; start the other management nodes first, or add -f",
                whose()
            ),
            false => format!(
                "without node {} partition {partition} has no majority with a whole replica and would stop; start the \
                 other nodes that keep it ({}) and let them catch up first, or add -f",
                whose(),
                placement
                    .replicas
                    .iter()
                    .filter(|node| !without.contains(node))
                    .map(|node| node.to_string())
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        });
    }
    Ok(())
}

impl Management {
    pub(super) async fn view(&self, cluster: &Arc<Membership>) -> ClusterView {
        ClusterView::of(&cluster.options, self.collect_states(cluster).await)
    }

    /// The ids of targets; an error names the first that does not exist.
    pub(super) fn ids_of(
        cluster: &Membership,
        targets: &Targets,
        all: impl Fn(NodeId) -> bool,
    ) -> Result<Vec<NodeId>> {
        let nodes = cluster.options.nodes.iter().map(|node| node.id);
        match targets {
            Targets::All => {
                // Places for native clients are not commanded.
                let is_server =
                    |node: &NodeId| cluster.options.node(*node).is_some_and(|node| node.roles.bits() != 0);
                Ok(nodes.filter(is_server).filter(|&node| all(node)).collect())
            }
            Targets::Nodes(ids) => match ids.iter().find(|id| cluster.options.node(**id).is_none()) {
                None => Ok(ids.clone()),
                Some(id) => {
                    let known = nodes.map(|node| node.to_string()).collect::<Vec<_>>().join(", ");
                    Err(failed(format!("there is no node {id}; the nodes are {known}")))
                }
            },
        }
    }

    pub(super) async fn stop_nodes(
        &self,
        cluster: &Arc<Membership>,
        targets: &Targets,
        force: bool,
    ) -> Result<Answer> {
        let ids = Self::ids_of(cluster, targets, |node| is_no_manager(cluster, node))?;
        let me = cluster.options.me;
        let absent = |id: &NodeId| *id != me && !cluster.is_up(*id);
        if let (Targets::Nodes(_), Some(id)) = (targets, ids.iter().find(|id| absent(id))) {
            return Err(failed(format!("node {id} is not connected: there is nothing to stop")));
        }
        if !force && *targets != Targets::All {
            let view = self.view(cluster).await;
            can_spare(&cluster.options, &view, &ids, false).map_err(failed)?;
        }
        let how = if *targets == Targets::All { Stop::WithAll } else { Stop::Alone };
        let others: Vec<NodeId> = ids.iter().copied().filter(|&id| id != me && cluster.is_up(id)).collect();
        self.stop_others(cluster, &others, how).await?;
        let mut text: String = others.iter().map(|id| format!("Node {id} has shut down.\n")).collect();
        if ids.contains(&me) {
            self.stop_soon(how)?;
            text.push_str(&format!("Node {me} shuts down; this client is connected to it.\n"));
        }
        Ok(Answer { json: json!({ "stopped": ids.iter().map(|id| id.0).collect::<Vec<_>>() }), text })
    }

    /// Tells nodes to stop and waits until they are gone.
    async fn stop_others(&self, cluster: &Membership, ids: &[NodeId], how: Stop) -> Result<()> {
        let before: Vec<(NodeId, u64)> = ids.iter().map(|&id| (id, incarnation(cluster, id))).collect();
        for &id in ids {
            self.tell_to_stop(cluster, id, how).await?;
        }
        let deadline = Instant::now() + STOP_TIMEOUT;
        for (id, incarnation_before) in before {
            while cluster.is_up(id) && incarnation(cluster, id) == incarnation_before {
                if Instant::now() > deadline {
                    return Err(failed(format!(
                        "node {id} was told to stop and has not within {} seconds; look at its log, or end its process",
                        STOP_TIMEOUT.as_secs()
                    )));
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        Ok(())
    }

    async fn tell_to_stop(&self, cluster: &Membership, id: NodeId, how: Stop) -> Result<()> {
        match cluster.ask_within(id, Ask::Stop(how as i32), ASK_TIMEOUT).await {
            // One that is gone before it has answered has stopped too.
            Err(_) if !cluster.is_up(id) => Ok(()),
            told => told.map(|_| ()),
        }
    }

    pub(super) async fn restart_nodes(
        &self,
        cluster: &Arc<Membership>,
        targets: &Targets,
        force: bool,
    ) -> Result<Answer> {
        let ids = Self::ids_of(cluster, targets, |node| is_no_manager(cluster, node))?;
        let me = cluster.options.me;
        let mut text = String::new();
        let mut restarted = Vec::new();
        for &id in ids.iter().filter(|&&id| id != me) {
            if !cluster.is_up(id) {
                if *targets == Targets::All {
                    text.push_str(&format!("Node {id} is not connected and was left out.\n"));
                    continue;
                }
                return Err(failed(format!(
                    "{text}node {id} is not connected; start it on its host with `shoal start --node-id {id}`"
                )));
            }
            let done = self.restart_one(cluster, id, force).await;
            done.map_err(|error| failed(format!("{text}{}", error.message())))?;
            text.push_str(&format!("Node {id} was restarted and has caught up.\n"));
            restarted.push(id.0);
        }
        if ids.contains(&me) {
            if !force {
                self.wait_until_spare(cluster, me).await.map_err(|why| failed(format!("{text}{why}")))?;
            }
            self.stop_soon(Stop::Restart)?;
            text.push_str(&format!("Node {me} restarts; this client is connected to it.\n"));
            restarted.push(me.0);
        }
        Ok(Answer { json: json!({ "restarted": restarted }), text })
    }

    async fn restart_one(&self, cluster: &Arc<Membership>, id: NodeId, force: bool) -> Result<()> {
        if !force {
            self.wait_until_spare(cluster, id).await?;
        }
        self.log_event("restart", &format!("Node {id} is being restarted"));
        let before = incarnation(cluster, id);
        self.tell_to_stop(cluster, id, Stop::Restart).await?;
        let deadline = Instant::now() + START_TIMEOUT;
        while incarnation(cluster, id) == before || !cluster.is_started(id) {
            if Instant::now() > deadline {
                return Err(failed(format!(
                    "node {id} was told to restart and has not started within {} seconds; look at its log and its \
                     STATUS; the restart goes no further",
                    START_TIMEOUT.as_secs()
                )));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let deadline = Instant::now() + CATCH_UP_TIMEOUT;
        loop {
            let view = self.view(cluster).await;
            if has_caught_up(&cluster.options, &view, id) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(failed(format!(
                    "node {id} has restarted but not caught up within {} minutes; the restart goes no further",
                    CATCH_UP_TIMEOUT.as_secs() / 60
                )));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn wait_until_spare(&self, cluster: &Arc<Membership>, id: NodeId) -> Result<()> {
        let deadline = Instant::now() + SPARE_TIMEOUT;
        loop {
            let view = self.view(cluster).await;
            match can_spare(&cluster.options, &view, &[id], true) {
                Ok(()) => return Ok(()),
                Err(why) if Instant::now() > deadline => return Err(failed(why)),
                // With one replica waiting does not help.
                Err(why) if !could_ever_spare(&cluster.options, id) => return Err(failed(why)),
                Err(_) => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }

    pub(super) async fn shut_down(&self, cluster: &Arc<Membership>) -> Result<Answer> {
        let me = cluster.options.me;
        self.log_event("shutdown", "Cluster shutdown initiated");
        let up = cluster.peers_up();
        let first: Vec<NodeId> = up.iter().copied().filter(|&id| is_no_manager(cluster, id)).collect();
        let managers: Vec<NodeId> = up.into_iter().filter(|&id| is_manager(cluster, id)).collect();
        self.stop_others(cluster, &first, Stop::WithAll).await?;
        self.stop_others(cluster, &managers, Stop::WithAll).await?;
        self.stop_soon(Stop::WithAll)?;
        let stopped: Vec<u32> = first.iter().chain(&managers).map(|id| id.0).chain([me.0]).collect();
        let text = format!("{} node(s) have shut down, the last of them this management node.\n", stopped.len());
        Ok(Answer { json: json!({ "stopped": stopped }), text })
    }

    pub(super) async fn enter_single_user(&self, cluster: &Arc<Membership>, id: NodeId) -> Result<Answer> {
        let Some(entry) = cluster.options.node(id) else {
            return Err(failed(format!("there is no node {id}; SHOW lists the nodes")));
        };
        if !entry.roles.sql {
            return Err(failed(format!(
                "node {id} serves no statements (its roles are {}); choose an SQL node",
                entry.roles
            )));
        }
        // The node itself knows it before its gossip has come.
        let is_started = id == cluster.options.me
            || cluster.is_started(id)
            || self.view(cluster).await.node(id).is_some_and(|node| node.state == State::Started);
        if !is_started {
            return Err(failed(format!("node {id} is not started; start it first, or choose another SQL node")));
        }
        self.put_single_user(Some(id)).await?;
        self.log_event_as(
            Severity::Warning,
            "singleuser",
            &format!("Single user mode: node {id} alone serves statements"),
        );
        let text = format!("Single user mode entered: node {id} alone serves statements on tables.\n");
        Ok(Answer { json: json!({ "single_user_node": id.0 }), text })
    }

    pub(super) async fn exit_single_user(&self) -> Result<Answer> {
        self.put_single_user(None).await?;
        self.log_event("singleuser", "Single user mode has ended");
        let text = "Single user mode has ended: all nodes serve statements.\n".into();
        Ok(Answer { json: json!({ "single_user_node": null }), text })
    }

    async fn put_single_user(&self, id: Option<NodeId>) -> Result<()> {
        let _others_wait = self.definition_lock().await?;
        let value = id.map(|id| id.to_string());
        self.change(vec![Change::PutVariable { name: single_user::VARIABLE.into(), value }]).await
    }

    pub(super) async fn filter_log(&self, cluster: &Membership, filter: &LogFilter) -> Result<Answer> {
        let set = |severities: &[Severity]| match severities.is_empty() {
            true => Severity::ALL.into_iter().map(Severity::bit).sum::<u32>(),
            false => severities.iter().fold(0, |bits, severity| bits | severity.bit()),
        };
        let present = self.events().filter();
        let wanted = match filter {
            LogFilter::On(severities) => present | set(severities),
            LogFilter::Off(severities) => present & !set(severities),
            LogFilter::Toggle(severities) => present ^ set(severities),
            LogFilter::Info => present,
        };
        if *filter != LogFilter::Info {
            for node in cluster.options.management_nodes() {
                let told = cluster.ask_within(node, Ask::LogFilter(wanted), ASK_TIMEOUT).await;
                if let Err(error) = told
                    && (node == cluster.options.me || cluster.is_up(node))
                {
                    return Err(temporary(format!("node {node} was not told of the filter: {}", error.message())));
                }
            }
        }
        let enabled: Vec<&str> = Severity::ALL
            .into_iter()
            .filter(|severity| severity.bit() & wanted != 0)
            .map(Severity::name)
            .collect();
        let text = match enabled.is_empty() {
            true => "Cluster logging is disabled.\n".to_owned(),
            false => format!("Severities enabled: {}\n", enabled.join(" ")),
        };
        Ok(Answer { json: json!({ "severities": enabled }), text })
    }
}

/// A node that is there to serve, and can be told to stop. Native clients cannot: they end by themselves.
fn is_no_manager(cluster: &Membership, id: NodeId) -> bool {
    let serves = |roles: Roles| !roles.management && roles != Roles::default();
    cluster.options.node(id).is_some_and(|node| serves(node.roles))
}

fn is_manager(cluster: &Membership, id: NodeId) -> bool {
    cluster.options.node(id).is_some_and(|node| node.roles.management)
}

fn incarnation(cluster: &Membership, id: NodeId) -> u64 {
    cluster.peers().into_iter().find(|(node, _)| *node == id).map_or(0, |(_, peer)| peer.incarnation)
}

/// All its groups go on without a node when everything else runs.
fn could_ever_spare(options: &ClusterOptions, id: NodeId) -> bool {
    let placements = (0..options.partition_count()).map(|partition| options.placement(partition));
    placements.filter(|placement| placement.has(id)).all(|placement| placement.voters().len() > 1)
}

/// Its replicas take part and lack nothing, as far as their leaders can tell.
fn has_caught_up(options: &ClusterOptions, view: &ClusterView, id: NodeId) -> bool {
    let Some(node) = view.node(id) else { return false };
    let Some(told) = node.told.as_ref().filter(|_| node.state == State::Started) else { return false };
    let without = view.without_leader();
    let has_leader = |partition: u32| !without.contains(&partition);
    node.behind.is_empty()
        && node.catch_up.is_none()
        && told.partitions.iter().all(|one| !one.amnesiac && has_leader(one.partition))
        && (0..options.partition_count()).filter(|&one| options.placement(one).has(id)).all(has_leader)
}

#[cfg(test)]
mod tests {
    use super::super::view_tests::{all_started, options};
    use super::*;

    fn spare(
        without: &[u32],
        restart: bool,
        change: impl Fn(&mut Vec<super::super::view::Known>),
    ) -> std::result::Result<(), String> {
        let mut known = all_started();
        change(&mut known);
        let without: Vec<NodeId> = without.iter().map(|&id| NodeId(id)).collect();
        let options = options();
        can_spare(&options, &ClusterView::of(&options, known), &without, restart)
    }

    fn goes_away(id: usize) -> impl Fn(&mut Vec<super::super::view::Known>) {
        move |known| {
            known[id - 1].peer.is_up = false;
            known[id - 1].state = None;
        }
    }

    #[test]
    fn one_of_two_replicas_can_be_spared_but_not_the_last_whole_one() {
        assert_eq!(spare(&[1], false, |_| {}), Ok(()));
        assert_eq!(spare(&[4], false, |_| {}), Ok(()));
        assert!(spare(&[1, 2], false, |_| {}).unwrap_err().contains("node 1 and 2"));
        let error = spare(&[1], false, goes_away(2)).unwrap_err();
        assert!(error.contains("partition 0") && error.contains("(2)"), "{error}");
        // Without the witness two replicas are a majority, one is none.
        assert!(spare(&[1], false, goes_away(3)).is_err());
        let behind = |known: &mut Vec<super::super::view::Known>| {
            known[0].state.as_mut().unwrap().partitions[2].behind = vec![2];
        };
        assert!(spare(&[1], false, behind).unwrap_err().contains("partition 2"));
        assert_eq!(spare(&[2], false, behind), Ok(()));
        let amnesiac = |known: &mut Vec<super::super::view::Known>| {
            known[1].state.as_mut().unwrap().partitions[0].amnesiac = true;
        };
        assert!(spare(&[1], false, amnesiac).is_err());
    }

    #[test]
    fn the_only_management_node_can_be_restarted_but_not_stopped() {
        let error = spare(&[3], false, |_| {}).unwrap_err();
        assert!(error.contains("management nodes have no majority"), "{error}");
        assert_eq!(spare(&[3], true, |_| {}), Ok(()));
        assert!(spare(&[3], true, goes_away(1)).is_err(), "it is the witness that the partitions need");
    }

    #[test]
    fn a_node_has_caught_up_when_its_leaders_say_so() {
        let caught_up = |change: &dyn Fn(&mut Vec<super::super::view::Known>)| {
            let mut known = all_started();
            change(&mut known);
            let options = options();
            has_caught_up(&options, &ClusterView::of(&options, known), NodeId(2))
        };
        assert!(caught_up(&|_| {}));
        assert!(!caught_up(&|known| known[0].state.as_mut().unwrap().partitions[0].behind = vec![2]));
        assert!(!caught_up(&|known| known[1].state.as_mut().unwrap().started = false));
        assert!(!caught_up(&|known| known[1].state.as_mut().unwrap().partitions[1].amnesiac = true));
        assert!(!caught_up(&|known| known[0].state.as_mut().unwrap().partitions[0].serves = false));
    }
}
