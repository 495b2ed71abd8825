//! What management commands can know and do: `command` reads them, `state` and `view` tell how things are, `operate` changes
//! them, `client` is the other end.

pub mod client;
pub mod command;
mod operate;
mod ready;
mod state;
pub(crate) mod view;
#[cfg(test)]
mod view_tests;

use std::sync::{Arc, Mutex, OnceLock, Weak};

use serde_json::{Value, json};
use shoal_types::{Error, NodeId, Result};

use self::command::{Command, Targets};
pub(crate) use self::state::NodeState;
use crate::base::topology::Roles;
use crate::base::wait::lock;
use crate::membership::peers::Cluster;
use crate::membership::requests::{Ask, CommandLine, temporary};
use crate::node::Node;

/// How the process of a node is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Stop {
    /// Others take over what it leads.
    Alone = 0,
    /// The same, and it starts again.
    Restart = 1,
    /// The others stop as well: there is nobody to take over.
    WithAll = 2,
}

/// What a management command may want of the process; the command line sets it.
pub trait Process: Send + Sync + 'static {
    /// Begins to end the process in an orderly way, with exit status 0.
    fn stop(&self, how: Stop);
}

/// What management commands have set in motion on this node.
#[derive(Default)]
pub(crate) struct ManagementState {
    process: OnceLock<Arc<dyn Process>>,
    /// The node stops when the answer that says so has been sent.
    soon: Mutex<Option<Stop>>,
    stopping: Mutex<Option<Stop>>,
}

impl ManagementState {
    pub(crate) fn stop_soon(&self, how: Stop) -> Result<()> {
        if self.process.get().is_none() {
            return Err(Error::unknown("this process cannot be stopped from here; end it as it was started"));
        }
        *lock(&self.soon) = Some(how);
        Ok(())
    }

    /// The node is stopping, because of a command.
    pub(crate) fn stopping(&self) -> Option<Stop> {
        *lock(&self.stopping)
    }
}

/// What a command answers, both ways.
pub(crate) struct Answer {
    json: Value,
    text: String,
}

impl Node {
    /// Another node does not want this one: a node that nobody knows yet ends with that reason.
    pub(crate) fn refused_by(&self, _peer: NodeId, reason: &str) {
        let Some(cluster) = &self.cluster else { return };
        if !self.is_started() && cluster.peers_up().is_empty() {
            self.stop(reason);
        }
    }

    /// How management commands end the process. Once.
    pub fn set_process(&self, process: Arc<dyn Process>) {
        if let Some(cluster) = &self.cluster {
            let _ = cluster.management.process.set(process);
        }
    }

    /// Stops if a command has asked for it; after its answer has left.
    pub(crate) fn stop_if_asked(&self) {
        let Some(cluster) = &self.cluster else { return };
        let Some(how) = lock(&cluster.management.soon).take() else { return };
        *lock(&cluster.management.stopping) = Some(how);
        let what = if how == Stop::Restart { "Restart initiated" } else { "Node shutdown initiated" };
        self.log_event("shutdown", what);
        self.forward_events();
        if let Some(transport) = cluster.transport() {
            transport.flush();
        }
        if let Some(process) = cluster.management.process.get() {
            process.stop(how);
        }
    }

    /// Carries a line of the management client out. Management nodes do; others pass it on to one of them if they can.
    pub(crate) async fn management_command(&self, command: CommandLine) -> Result<String> {
        let cluster = self.cluster.as_ref().ok_or_else(|| temporary("this process is no cluster"))?;
        let node = cluster.node.get().and_then(Weak::upgrade).ok_or_else(|| temporary("the node is stopping"))?;
        let parsed = Command::parse(&command.line).map_err(Error::unknown)?;
        if !cluster.options.roles().management {
            let managers = cluster.options.management_nodes();
            if let Some(manager) = managers.into_iter().find(|&manager| cluster.is_up(manager)) {
                return Ok(node.ask(manager, Ask::Command(command)).await?.text);
            }
        }
        let answer = node.carry_out(cluster, parsed).await?;
        Ok(match command.json {
            true => format!("{:#}\n", answer.json),
            false => answer.text,
        })
    }

    async fn carry_out(self: &Arc<Self>, cluster: &Cluster, command: Command) -> Result<Answer> {
        match command {
            Command::Show => {
                let view = self.view(cluster).await;
                Ok(Answer { json: view.show_json(), text: view.show_text() })
            }
            Command::Status(targets) => {
                let ids = Self::ids_of(cluster, &targets, |node| !is_free_slot(cluster, node))?;
                let view = self.view(cluster).await;
                Ok(Answer { json: view.status_json(&ids), text: view.status_text(&ids) })
            }
            Command::ReportMemory(targets) => {
                let ids = Self::ids_of(cluster, &targets, |node| !is_free_slot(cluster, node))?;
                let view = self.view(cluster).await;
                Ok(Answer { json: view.memory_json(&ids), text: view.memory_text(&ids) })
            }
            Command::Start(targets) => self.how_to_start(cluster, &targets),
            Command::Stop { targets, force } => self.stop_nodes(cluster, &targets, force).await,
            Command::Restart { targets, force } => self.restart_nodes(cluster, &targets, force).await,
            Command::Shutdown => self.shut_down(cluster).await,
            Command::EnterSingleUser(id) => self.enter_single_user(cluster, id).await,
            Command::ExitSingleUser => self.exit_single_user().await,
            Command::Log(lines) => Ok(self.show_log(cluster, lines)),
            Command::LogFilter(filter) => self.filter_log(cluster, &filter).await,
            Command::Help(topic) => {
                let text = Command::help(topic.as_deref()).map_err(Error::unknown)?;
                Ok(Answer { json: json!({ "help": text }), text })
            }
            Command::Connect(_) | Command::Quit => Err(Error::unknown("this command is for the client itself")),
        }
    }

    fn how_to_start(&self, cluster: &Cluster, targets: &Targets) -> Result<Answer> {
        let ids = Self::ids_of(cluster, targets, |_| true)?;
        let is_there = |id: NodeId| id == cluster.options.me || cluster.is_up(id);
        let mut text = String::new();
        for &id in &ids {
            text.push_str(&match is_there(id) {
                true => format!("Node {id} runs already.\n"),
                false => format!(
                    "Node {id} does not run. A stopped process has to be started on its host: \
                     shoal start --config config.ini --node-id {id}\n"
                ),
            });
        }
        let absent: Vec<u32> = ids.into_iter().filter(|&id| !is_there(id)).map(|id| id.0).collect();
        Ok(Answer { json: json!({ "to_be_started": absent }), text })
    }

    fn show_log(&self, cluster: &Cluster, lines: usize) -> Answer {
        let events = cluster.events.newest(lines, cluster.options.roles().management);
        let text = events.iter().map(|event| event.line() + "\n").collect();
        let event_json = |event: &crate::base::cluster_log::Event| {
            json!({
                "time": event.time(),
                "at_us": event.at_us,
                "node": event.node,
                "severity": event.severity().name(),
                "category": event.category,
                "text": event.text,
            })
        };
        Answer { json: json!({ "events": events.iter().map(event_json).collect::<Vec<_>>() }), text }
    }
}

/// A native client's place that nobody has taken: no node that `ALL` means.
fn is_free_slot(cluster: &Cluster, id: NodeId) -> bool {
    let is_slot = cluster.options.node(id).is_some_and(|node| node.roles == Roles::default());
    is_slot && !cluster.is_up(id)
}
