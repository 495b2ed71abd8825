//! Carrying out the commands that only tell something; [`operate`](super::operate) has those that change something.

use std::sync::Arc;

use serde_json::{Value, json};
use shoal_transport::{CLIENT, Transporter};
use shoal_types::{Error, NodeId, Result};

use super::command::{Command, Targets};
use crate::base::cluster_log::Event;
use crate::base::errors::temporary;
use crate::base::topology::Roles;
use crate::management::Management;
use crate::membership::messages::{Ask, CommandLine};
use crate::membership::peers::Membership;

/// What a command answers, both ways.
pub(crate) struct Answer {
    pub(super) json: Value,
    pub(super) text: String,
}

impl Management {
    /// Carries a line of the management client out. Management nodes do; others pass it on to one of them if they can.
    pub(crate) async fn management_command(&self, command: CommandLine) -> Result<String> {
        let cluster = self.cluster().ok_or_else(|| temporary("this process is no cluster"))?;
        let parsed = Command::parse(&command.line).map_err(Error::unknown)?;
        if !cluster.options.roles().management {
            let managers = cluster.options.management_nodes();
            if let Some(manager) = managers.into_iter().find(|&manager| cluster.is_up(manager)) {
                return Ok(cluster.ask(manager, Ask::Command(command)).await?.text);
            }
        }
        let answer = self.carry_out(cluster, parsed).await?;
        Ok(match command.json {
            true => format!("{:#}\n", answer.json),
            false => answer.text,
        })
    }

    async fn carry_out(&self, cluster: &Arc<Membership>, command: Command) -> Result<Answer> {
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
            Command::Log(lines) => Ok(self.show_log(lines)),
            Command::TlsInfo => Ok(tls_info(cluster)),
            Command::LogFilter(filter) => self.filter_log(cluster, &filter).await,
            Command::Help(topic) => {
                let text = Command::help(topic.as_deref()).map_err(Error::unknown)?;
                Ok(Answer { json: json!({ "help": text }), text })
            }
            Command::Connect(_) | Command::Quit => Err(Error::unknown("this command is for the client itself")),
        }
    }

    fn how_to_start(&self, cluster: &Membership, targets: &Targets) -> Result<Answer> {
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

    fn show_log(&self, lines: usize) -> Answer {
        let events = self.events().newest(lines);
        let text = events.iter().map(|event| event.line() + "\n").collect();
        let event_json = |event: &Event| {
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

/// What this node's links to others go through.
fn tls_info(cluster: &Membership) -> Answer {
    let own = cluster.options.tls.own.as_ref();
    let certificate = own.map(|tls| tls.certificate_file().display().to_string());
    let mut text = match &certificate {
        Some(file) => format!("Certificate of node {}: {file}\n", cluster.options.me),
        None => format!("Node {} has no certificate\n", cluster.options.me),
    };
    let states = cluster.transport().map_or(Vec::new(), |transport| transport.peer_states());
    let mut links = Vec::new();
    for state in states.iter().filter(|state| state.node != CLIENT) {
        let through = match state.transporter {
            None => "not connected",
            Some(Transporter::Tcp) if state.is_encrypted => "TLS 1.3",
            Some(Transporter::Tcp) => "TCP, in clear",
            Some(Transporter::Unix | Transporter::SharedMemory) => "within the host, in clear",
        };
        text.push_str(&format!("Node {}: {through}\n", state.node));
        links.push(json!({ "node": state.node.0, "through": through, "tls": state.is_encrypted }));
    }
    Answer { json: json!({ "certificate": certificate, "links": links }), text }
}

/// A native client's place that nobody has taken: no node that `ALL` means.
fn is_free_slot(cluster: &Membership, id: NodeId) -> bool {
    let is_slot = cluster.options.node(id).is_some_and(|node| node.roles == Roles::default());
    is_slot && !cluster.is_up(id)
}
