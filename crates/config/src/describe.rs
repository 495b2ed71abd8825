//! The configuration as a page of text: what `shoal config check` prints.

use std::fmt::Write;

use shoal_types::NodeId;

use crate::check::{NO_EFFECT, size};
use crate::cluster::{ClusterConfig, Durability, NodeConfig};

impl ClusterConfig {
    /// Figures of the cluster, a table of its nodes, who holds what, and all notes. Ends with a line break.
    pub fn describe(&self) -> String {
        let mut text = self.headline();
        text.push_str(&table(&self.node_rows()));
        text.push('\n');
        for group in self.node_groups() {
            for node in group {
                let _ = writeln!(text, "{}", self.share_of(node));
            }
        }
        let mgm: Vec<String> = self.mgm_nodes().map(|node| node.id.to_string()).collect();
        let noun = if mgm.len() == 1 { "node" } else { "nodes" };
        let _ = writeln!(text, "the dictionary is kept by {noun} {}", mgm.join(", "));
        self.describe_notes(&mut text);
        text
    }

    /// Notes as they are, except that parameters without effect stand together when they share the reason.
    fn describe_notes(&self, text: &mut String) {
        let mut without_effect: Vec<(&str, Vec<String>)> = Vec::new();
        for note in &self.notes {
            let Some((name, reason)) = note.message.split_once(NO_EFFECT) else {
                let _ = writeln!(text, "note: {note}");
                continue;
            };
            let named = format!("{name} (line {})", note.line);
            match without_effect.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(named),
                None => without_effect.push((reason, vec![named])),
            }
        }
        for (reason, names) in without_effect {
            let _ = writeln!(text, "no effect: {}: {reason}", names.join(", "));
        }
    }

    fn headline(&self) -> String {
        let durability = match self.durability {
            Durability::Disk => "disk".to_owned(),
            Durability::Replicated => {
                format!("replicated, on disk every {} ms", self.global_checkpoint_interval_ms)
            }
        };
        let lock_wait =
            self.lock_wait_timeout_ms.map_or("as the session says".to_owned(), |ms| format!("{ms} ms"));
        format!(
            "cluster {}: {}, {}, {}, {} between nodes{}\n\
             commit durability {durability}; heartbeat {} ms, election timeout {} ms, lock wait {lock_wait}\n\n",
            self.name,
            plural(self.data_nodes().count(), "data node"),
            plural(self.replicas as usize, "replica"),
            plural(self.partitions as usize, "partition"),
            plural(self.connection_pool as usize, "connection"),
            self.tls(),
            self.heartbeat_ms,
            self.election_timeout_ms,
        )
    }

    /// Which connections between nodes have TLS for sure.
    fn tls(&self) -> String {
        let requiring = self.nodes.iter().filter(|node| node.node_tls.is_required);
        let requiring: Vec<String> = requiring.map(|node| node.id.to_string()).collect();
        match requiring.len() {
            0 => String::new(),
            count if count == self.nodes.len() => ", over TLS".to_owned(),
            1 => format!(", over TLS with node {}", requiring[0]),
            _ => format!(", over TLS with nodes {}", requiring.join(", ")),
        }
    }

    fn node_rows(&self) -> Vec<Vec<String>> {
        let headings = ["node", "roles", "host", "server", "mysql", "memory", "threads", "directory"];
        let mut rows: Vec<Vec<String>> = vec![headings.map(str::to_owned).to_vec()];
        rows.extend(self.nodes.iter().map(node_row));
        rows
    }

    /// `node 3 leads 1 3 and follows 0 2`.
    fn share_of(&self, node: NodeId) -> String {
        let map = self.partition_map();
        let numbers = |leads: bool| {
            let mine = map.iter().filter(|placement| {
                placement.voters.contains(&node) && (placement.voters.first() == Some(&node)) == leads
            });
            mine.map(|placement| placement.partition.to_string()).collect::<Vec<_>>().join(" ")
        };
        match (numbers(true), numbers(false)) {
            (leads, follows) if leads.is_empty() && follows.is_empty() => {
                format!("node {node} holds no partition")
            }
            (leads, follows) if follows.is_empty() => format!("node {node} leads {leads}"),
            (leads, follows) if leads.is_empty() => format!("node {node} follows {follows}"),
            (leads, follows) => format!("node {node} leads {leads} and follows {follows}"),
        }
    }
}

fn node_row(node: &NodeConfig) -> Vec<String> {
    let port = |port: Option<u16>| port.map_or("-".to_owned(), |port| port.to_string());
    let mysql = match (&node.mysql_address, node.mysql_port) {
        (Some(address), Some(port)) => format!("{address}:{port}"),
        (_, number) => port(number),
    };
    let cpus: Vec<String> = node.cpus.iter().map(u32::to_string).collect();
    let mut threads = node.execution_threads.map_or("by host".to_owned(), |threads| threads.to_string());
    if !cpus.is_empty() {
        let _ = write!(threads, " on {}", cpus.join(","));
    }
    let mut memory = match (node.roles.data, node.data_memory) {
        (true, Some(bytes)) => size(bytes),
        (true, None) => "by host".to_owned(),
        (false, _) => "-".to_owned(),
    };
    if node.lock_pages {
        memory.push_str(" locked");
    }
    vec![
        node.id.to_string(),
        node.roles.to_string(),
        node.host.clone().unwrap_or_else(|| "(any)".to_owned()),
        node.server_port.to_string(),
        mysql,
        memory,
        threads,
        node.data_dir.display().to_string(),
    ]
}

/// Columns as wide as their widest cell, two blanks between them.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
