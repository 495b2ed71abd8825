//! What SHOW, STATUS and REPORT MEMORY say, as text and as JSON from the same figures.

use std::fmt::Write;

use serde_json::{Value, json};
use shoal_types::NodeId;

use crate::base::topology::{ClusterOptions, Roles};
use crate::membership::messages::NodeState;
use crate::membership::peers::Peer;

/// NDB's states, as far as they can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    NoContact,
    /// Connected, but it does not answer.
    Unknown,
    Starting,
    Started,
    ShuttingDown,
    Restarting,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::NoContact => "NO_CONTACT",
            State::Unknown => "UNKNOWN",
            State::Starting => "STARTING",
            State::Started => "STARTED",
            State::ShuttingDown => "SHUTTING_DOWN",
            State::Restarting => "RESTARTING",
        }
    }
}

/// A node that gets copies of partitions from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CatchUp {
    pub partitions: u32,
    pub sent_bytes: u64,
    pub total_bytes: u64,
    pub elapsed_ms: u64,
}

impl CatchUp {
    fn bytes_per_second(self) -> u64 {
        self.sent_bytes * 1000 / self.elapsed_ms.max(1)
    }

    /// `None` before there is a rate.
    fn seconds_left(self) -> Option<u64> {
        let left = self.total_bytes.saturating_sub(self.sent_bytes);
        left.checked_div(self.bytes_per_second())
    }
}

pub(crate) struct NodeView {
    pub id: NodeId,
    pub roles: Roles,
    pub address: Option<String>,
    pub state: State,
    /// Tells a process from the one before it.
    pub incarnation: u64,
    pub leads: Vec<u32>,
    pub leads_dictionary: bool,
    pub refused: Option<String>,
    pub told: Option<NodeState>,
    pub catch_up: Option<CatchUp>,
    /// Partitions of which this node's replica lacks something that is committed.
    pub behind: Vec<u32>,
}

/// What is known here of a node of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub id: NodeId,
    /// What links tell; of this node itself it is made up.
    pub peer: Peer,
    /// Its own answer; `None`: it is not connected, or does not answer in time.
    pub state: Option<NodeState>,
}

pub(crate) struct ClusterView {
    pub name: String,
    pub partition_count: u32,
    pub nodes: Vec<NodeView>,
    pub single_user: Option<NodeId>,
}

impl ClusterView {
    pub(crate) fn of(options: &ClusterOptions, known: Vec<Known>) -> ClusterView {
        let partition_count = options.partition_count();
        let states: Vec<&NodeState> = known.iter().filter_map(|one| one.state.as_ref()).collect();
        let single_user =
            states.iter().max_by_key(|state| state.catalog_version).map_or(0, |state| state.single_user);
        let catch_ups: Vec<(u32, CatchUp)> = states.iter().flat_map(|state| catch_ups(state)).collect();
        let lags: Vec<(u32, u32)> = states
            .iter()
            .flat_map(|state| &state.partitions)
            .flat_map(|one| one.behind.iter().map(|&node| (node, one.partition)))
            .collect();
        let nodes = known.into_iter().map(|one| {
            let served = |state: &NodeState| -> Vec<u32> {
                state.partitions.iter().filter(|one| one.serves).map(|one| one.partition).collect()
            };
            let served = one.state.as_ref().map_or_else(Vec::new, served);
            let mine = catch_ups.iter().filter(|(to, _)| *to == one.id.0).map(|(_, catch_up)| *catch_up);
            let entry = options.node(one.id);
            NodeView {
                id: one.id,
                roles: entry.map_or(one.peer.roles, |entry| entry.roles),
                address: entry.and_then(|entry| entry.address.clone()),
                state: state_of(&one),
                incarnation: one.peer.incarnation,
                leads_dictionary: served.contains(&partition_count),
                leads: served.into_iter().filter(|&partition| partition < partition_count).collect(),
                refused: one.peer.refused.filter(|_| !one.peer.is_up),
                catch_up: mine.reduce(|sum, one| CatchUp {
                    partitions: sum.partitions + one.partitions,
                    sent_bytes: sum.sent_bytes + one.sent_bytes,
                    total_bytes: sum.total_bytes + one.total_bytes,
                    elapsed_ms: sum.elapsed_ms.max(one.elapsed_ms),
                }),
                behind: lags
                    .iter()
                    .filter(|(node, _)| *node == one.id.0)
                    .map(|(_, partition)| *partition)
                    .collect(),
                told: one.state,
            }
        });
        // Places for native clients are shown while somebody has taken them.
        let nodes = nodes.filter(|node| node.roles.bits() != 0 || node.state != State::NoContact);
        ClusterView {
            name: options.name.clone(),
            partition_count,
            nodes: nodes.collect(),
            single_user: (single_user != 0).then_some(NodeId(single_user)),
        }
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&NodeView> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// The meta partition among them, as the last one.
    pub(crate) fn without_leader(&self) -> Vec<u32> {
        let led = |&partition: &u32| match partition == self.partition_count {
            true => self.nodes.iter().any(|node| node.leads_dictionary),
            false => self.nodes.iter().any(|node| node.leads.contains(&partition)),
        };
        (0..=self.partition_count).filter(|partition| !led(partition)).collect()
    }

    // ---- SHOW ----

    pub(crate) fn show_json(&self) -> Value {
        let without: Vec<u32> = self.without_leader();
        json!({
            "cluster": self.name,
            "partitions": self.partition_count,
            "partitions_without_leader": without.iter().filter(|&&one| one < self.partition_count).collect::<Vec<_>>(),
            "dictionary_has_leader": !without.contains(&self.partition_count),
            "single_user_node": self.single_user.map(|node| node.0),
            "nodes": self.nodes.iter().map(node_json).collect::<Vec<_>>(),
        })
    }

    pub(crate) fn show_text(&self) -> String {
        let mut text = String::from("Cluster Configuration\n---------------------\n");
        let is_data = |node: &NodeView| node.roles.data;
        let is_management = |node: &NodeView| node.roles.management && !node.roles.data;
        let is_sql = |node: &NodeView| !node.roles.data && !node.roles.management;
        type IsOf = fn(&NodeView) -> bool;
        let sections: [(&str, IsOf); 3] =
            [("[ndbd(NDB)]", is_data), ("[ndb_mgmd(MGM)]", is_management), ("[mysqld(API)]", is_sql)];
        for (title, belongs) in sections {
            let nodes: Vec<&NodeView> = self.nodes.iter().filter(|node| belongs(node)).collect();
            let _ = writeln!(text, "{title}\t{} node(s)", nodes.len());
            for node in nodes {
                let _ = writeln!(text, "{}", self.show_line(node));
            }
            text.push('\n');
        }
        let without = self.without_leader();
        let data: Vec<u32> = without.iter().copied().filter(|&one| one < self.partition_count).collect();
        match data.is_empty() {
            true => {
                let _ = writeln!(
                    text,
                    "Cluster '{}': all {} partitions have leaders",
                    self.name, self.partition_count
                );
            }
            false => {
                let _ = writeln!(
                    text,
                    "Cluster '{}': partitions without a leader: {} (of {})",
                    self.name,
                    ranges(&data),
                    self.partition_count
                );
            }
        }
        if without.contains(&self.partition_count) {
            text.push_str("The dictionary has no leader: definitions cannot be changed; start management nodes\n");
        }
        if let Some(node) = self.single_user {
            let _ = writeln!(text, "Single user mode: node {node} alone serves statements");
        }
        text
    }

    fn show_line(&self, node: &NodeView) -> String {
        let address = node.address.as_deref();
        if matches!(node.state, State::NoContact) {
            let from = address.map_or_else(|| "any host".to_owned(), str::to_owned);
            let refused = node.refused.as_ref().map_or_else(String::new, |reason| format!("; refused: {reason}"));
            return format!("id={} (NO_CONTACT, accepting connect from {from}{refused})", node.id);
        }
        let mut facts = Vec::new();
        if let Some(told) = &node.told {
            facts.push(format!("shoal-{}", told.version));
        }
        facts.push(node.state.name().to_owned());
        facts.push(format!("roles {}", node.roles));
        if !node.leads.is_empty() {
            facts.push(format!("leads {}", ranges(&node.leads)));
        }
        if let Some(told) = node.told.as_ref().filter(|told| !told.mysql.is_empty()) {
            facts.push(format!("mysql {}", told.mysql));
        }
        if self.single_user == Some(node.id) {
            facts.push("single user mode".to_owned());
        }
        if node.leads_dictionary {
            facts.push("*".to_owned());
        }
        format!("id={}\t@{}  ({})", node.id, address.unwrap_or("-"), facts.join(", "))
    }

    // ---- STATUS ----

    pub(crate) fn status_json(&self, wanted: &[NodeId]) -> Value {
        let nodes = self.nodes.iter().filter(|node| wanted.contains(&node.id)).map(node_json);
        json!({ "nodes": nodes.collect::<Vec<_>>() })
    }

    pub(crate) fn status_text(&self, wanted: &[NodeId]) -> String {
        let mut text = String::new();
        for node in self.nodes.iter().filter(|node| wanted.contains(&node.id)) {
            let _ = writeln!(text, "Node {}: {}", node.id, status_sentence(node));
        }
        text
    }

    // ---- REPORT MEMORY ----

    pub(crate) fn memory_json(&self, wanted: &[NodeId]) -> Value {
        let nodes = self.nodes.iter().filter(|node| wanted.contains(&node.id));
        let nodes =
            nodes.map(|node| json!({ "id": node.id.0, "state": node.state.name(), "memory": memory_json(node) }));
        json!({ "nodes": nodes.collect::<Vec<_>>() })
    }

    pub(crate) fn memory_text(&self, wanted: &[NodeId]) -> String {
        let mut text = String::new();
        for node in self.nodes.iter().filter(|node| wanted.contains(&node.id)) {
            let Some(told) = &node.told else {
                let _ = writeln!(text, "Node {}: {}", node.id, node.state.name());
                continue;
            };
            let (used, limit) = (told.memory_used_bytes, told.memory_limit_bytes);
            let percent = used * 100 / limit.max(1);
            let (used, limit) = (bytes_text(used), bytes_text(limit));
            let _ = writeln!(text, "Node {}: Data usage is {percent}% ({used} of total {limit})", node.id);
            let _ = writeln!(
                text,
                "Node {}: pages of rows {} ({} free), indexes {}, transactions {}, statements {}, old versions {} of it all",
                node.id,
                bytes_text(told.memory_rows_bytes),
                bytes_text(told.memory_free_bytes),
                bytes_text(told.memory_indexes_bytes),
                bytes_text(told.memory_transactions_bytes),
                bytes_text(told.memory_statements_bytes),
                bytes_text(told.memory_old_versions_bytes)
            );
        }
        text
    }
}

fn state_of(one: &Known) -> State {
    match &one.state {
        _ if !one.peer.is_up => State::NoContact,
        None => State::Unknown,
        Some(state) if state.restarting => State::Restarting,
        Some(state) if state.stopping => State::ShuttingDown,
        Some(state) if state.started => State::Started,
        Some(_) => State::Starting,
    }
}

fn catch_ups(state: &NodeState) -> impl Iterator<Item = (u32, CatchUp)> + '_ {
    state.transfers.iter().map(|transfer| {
        let catch_up = CatchUp {
            partitions: 1,
            sent_bytes: transfer.sent_bytes,
            total_bytes: transfer.total_bytes.max(transfer.sent_bytes),
            elapsed_ms: transfer.elapsed_ms,
        };
        (transfer.to, catch_up)
    })
}

fn status_sentence(node: &NodeView) -> String {
    let Some(told) = &node.told else {
        let refused = node.refused.as_ref().map_or_else(String::new, |reason| format!(", refused: {reason}"));
        return format!("{}{refused}", node.state.name());
    };
    let mut text =
        format!("{} (shoal-{}), up {}", node.state.name(), told.version, duration_text(told.uptime_ms / 1000));
    if node.roles.data {
        let _ = write!(text, ", leads {} partitions", node.leads.len());
    }
    if !told.waits_for.is_empty() {
        let _ = write!(text, ", waits for {}", told.waits_for);
    }
    if let Some(catch_up) = node.catch_up {
        let left = catch_up
            .seconds_left()
            .map_or_else(|| "soon more".to_owned(), |seconds| format!("{} left", duration_text(seconds)));
        let _ = write!(
            text,
            ", gets copies of {} partition(s): {} of about {}, {}/s, {left}",
            catch_up.partitions,
            bytes_text(catch_up.sent_bytes),
            bytes_text(catch_up.total_bytes),
            bytes_text(catch_up.bytes_per_second())
        );
    } else if !node.behind.is_empty() {
        let _ = write!(text, ", catches up in partitions {}", ranges(&node.behind));
    }
    text
}

fn memory_json(node: &NodeView) -> Value {
    node.told.as_ref().map_or(Value::Null, |told| {
        json!({
            "used_bytes": told.memory_used_bytes,
            "limit_bytes": told.memory_limit_bytes,
            "rows_bytes": told.memory_rows_bytes,
            "free_bytes": told.memory_free_bytes,
            "indexes_bytes": told.memory_indexes_bytes,
            "old_versions_bytes": told.memory_old_versions_bytes,
            "transactions_bytes": told.memory_transactions_bytes,
            "statements_bytes": told.memory_statements_bytes,
        })
    })
}

fn node_json(node: &NodeView) -> Value {
    let roles = [("mgm", node.roles.management), ("data", node.roles.data), ("sql", node.roles.sql)];
    let roles: Vec<&str> = roles.into_iter().filter_map(|(name, has)| has.then_some(name)).collect();
    let told = node.told.as_ref();
    let text = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
    json!({
        "id": node.id.0,
        "roles": roles,
        "address": node.address,
        "state": node.state.name(),
        "version": told.map(|told| &told.version),
        "mysql": told.map_or(Value::Null, |told| text(&told.mysql)),
        "process": told.map(|told| told.process),
        "incarnation": node.incarnation,
        "uptime_ms": told.map(|told| told.uptime_ms),
        "leads": node.leads,
        "leads_dictionary": node.leads_dictionary,
        "dictionary_version": told.map(|told| told.catalog_version),
        "waits_for": told.map_or(Value::Null, |told| text(&told.waits_for)),
        "refused": node.refused,
        "behind": node.behind,
        "catch_up": node.catch_up.map(|catch_up| json!({
            "partitions": catch_up.partitions,
            "sent_bytes": catch_up.sent_bytes,
            "total_bytes": catch_up.total_bytes,
            "bytes_per_second": catch_up.bytes_per_second(),
            "seconds_left": catch_up.seconds_left(),
        })),
        "memory": memory_json(node),
    })
}

/// Rising numbers as `0-3 5 7-8`.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => runs.push((number, number)),
        }
    }
    let text = |(start, end): (u32, u32)| if start == end { start.to_string() } else { format!("{start}-{end}") };
    runs.into_iter().map(text).collect::<Vec<_>>().join(" ")
}

pub(crate) fn bytes_text(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

fn duration_text(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}
