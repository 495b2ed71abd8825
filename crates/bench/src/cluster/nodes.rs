//! A Shoal cluster of local processes: `shoal dev --data-nodes 2`, and signals to single nodes of it.
//!
//! Where a node is follows from the lines that the supervisor prints, at the start and whenever a node is back:
//! `node 1 roles=data,sql pid=4711 mysql=127.0.0.1:3306 http=-`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use shoal_testkit::process::{self, Signal};
use shoal_testkit::server::tail;
use shoal_testkit::{Client, Kind, Server, Setup};

use super::management;
use crate::measure::interrupt;

const READY_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// When a transaction is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// On the disks of a majority.
    Disk,
    /// In the memory of a majority.
    Replicated,
}

impl Durability {
    pub fn name(self) -> &'static str {
        match self {
            Durability::Disk => "disk",
            Durability::Replicated => "replicated",
        }
    }
}

/// One line of the supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub id: u32,
    pub roles: String,
    pub process: u32,
    pub port: Option<u16>,
}

impl Node {
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.split(',').any(|own| own == role)
    }
}

pub struct Cluster {
    supervisor: Server,
    shoal: PathBuf,
}

impl Cluster {
    /// Two data nodes with the sql role, a management node, and `sql_nodes` with the sql role alone.
    pub fn start(shoal: &Path, work_dir: &Path, durability: Durability, sql_nodes: u32) -> io::Result<Cluster> {
        let mut setup = Setup::new(Kind::Shoal, shoal)
            .parent(work_dir)
            .argument("--data-nodes=2")
            .argument(format!("--sql-nodes={sql_nodes}"))
            .argument(format!("--set=CommitDurability={}", durability.name()));
        setup.own_process_group = true;
        setup.ready_within = READY_WITHIN;
        Ok(Cluster { supervisor: setup.start()?, shoal: shoal.to_path_buf() })
    }

    /// The nodes as they were last announced, in the order of their ids.
    pub fn nodes(&self) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        for node in self.supervisor.printed().iter().filter_map(|line| node_of_line(line)) {
            match nodes.iter_mut().find(|known| known.id == node.id) {
                Some(known) => *known = node,
                None => nodes.push(node),
            }
        }
        nodes.sort_by_key(|node| node.id);
        nodes
    }

    pub fn data_nodes(&self) -> Vec<Node> {
        self.nodes().into_iter().filter(|node| node.has_role("data")).collect()
    }

    /// For those who need two data nodes and do not see them.
    pub fn misses_a_node(&self) -> io::Error {
        io::Error::other(format!("the supervisor did not announce two data nodes: {}", self.supervisor.log()))
    }

    pub fn node(&self, id: u32) -> io::Result<Node> {
        let found = self.nodes().into_iter().find(|node| node.id == id);
        found.ok_or_else(|| io::Error::other(format!("the cluster has no node {id}")))
    }

    /// The node that clients of the throughput rows connect to: one with the sql role alone where there is one.
    pub fn port(&self) -> io::Result<u16> {
        let nodes = self.nodes();
        let sql_only = nodes.iter().find(|node| node.has_role("sql") && !node.has_role("data"));
        let node = sql_only.or_else(|| nodes.iter().find(|node| node.port.is_some()));
        node.and_then(|node| node.port)
            .ok_or_else(|| io::Error::other("no node of the cluster serves MySQL clients"))
    }

    pub fn is_running(&mut self) -> bool {
        self.supervisor.is_running()
    }

    pub fn signal(&self, id: u32, signal: Signal) -> io::Result<()> {
        process::signal(self.node(id)?.process, signal)
    }

    /// Kills a node and waits until the process is gone, but not until it is started again.
    pub fn kill(&self, id: u32) -> io::Result<u32> {
        let process = self.node(id)?.process;
        process::signal(process, Signal::Kill)?;
        Ok(process)
    }

    pub fn data_dir_of(&self, id: u32) -> PathBuf {
        self.supervisor.data_dir().join(format!("node-{id}"))
    }

    /// Waits until the supervisor announces the node with another process than `old`.
    pub fn wait_until_back(&mut self, id: u32, old: u32, patience: Duration) -> io::Result<Node> {
        let started = Instant::now();
        loop {
            let node = self.node(id)?;
            if node.process != old {
                return Ok(node);
            }
            if !self.is_running() || interrupt::requested() || started.elapsed() > patience {
                return Err(io::Error::other(format!("node {id} was not back within {patience:?}")));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until every node has all that is committed, and leads what it should.
    pub fn wait_until_balanced(&self, patience: Duration) -> io::Result<()> {
        management::wait_until(&self.shoal, &self.supervisor.data_dir(), patience, management::is_balanced)
    }

    /// Waits until every node has all that is committed, whoever leads.
    pub fn wait_until_caught_up(&self, patience: Duration) -> io::Result<()> {
        management::wait_until(&self.shoal, &self.supervisor.data_dir(), patience, management::is_caught_up)
    }

    /// The last lines of every log and the management node's view, for the report of a failure.
    pub fn log_ends(&self) -> String {
        let mut text = format!("the supervisor's log ends: {}", tail(&self.supervisor.log(), 4));
        for node in self.nodes() {
            let path = self.supervisor.data_dir().join(format!("node-{}.log", node.id));
            let log = fs::read_to_string(path).unwrap_or_default();
            text.push_str(&format!("; node {}: {}", node.id, tail(&log, 3)));
        }
        text.push('\n');
        text.push_str(&management::story(&self.shoal, &self.supervisor.data_dir()));
        text
    }

    fn resume_all(&self) {
        for node in self.nodes() {
            let _ = process::signal(node.process, Signal::Continue);
        }
    }
}

impl Drop for Cluster {
    /// The nodes end with their supervisor; a paused one would keep it waiting.
    fn drop(&mut self) {
        self.resume_all();
        let _ = self.supervisor.stop();
    }
}

/// Connects as soon as somebody accepts.
pub fn connect_within(port: u16, patience: Duration) -> io::Result<Client> {
    let started = Instant::now();
    loop {
        match Client::connect(port) {
            Ok(client) => return Ok(client),
            Err(error) if started.elapsed() > patience => return Err(io::Error::other(error)),
            Err(_) => thread::sleep(LOOK_EVERY),
        }
    }
}

fn node_of_line(line: &str) -> Option<Node> {
    let mut words = line.strip_prefix("node ")?.split_ascii_whitespace();
    let id = words.next()?.parse().ok()?;
    let (mut roles, mut process, mut port) = (None, None, None);
    for word in words {
        match word.split_once('=')? {
            ("roles", value) => roles = Some(value.to_string()),
            ("pid", value) => process = value.parse().ok(),
            ("mysql", value) => port = value.rsplit_once(':').and_then(|(_, port)| port.parse().ok()),
            _ => {}
        }
    }
    Some(Node { id, roles: roles?, process: process?, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_read_from_its_line() {
        let node = node_of_line("node 2 roles=data,sql pid=4711 mysql=127.0.0.1:3307 http=-").unwrap();
        assert_eq!((node.id, node.process, node.port), (2, 4711, Some(3307)));
        assert!(node.has_role("sql") && !node.has_role("mgm"));
        let node = node_of_line("node 3 roles=mgm pid=9 mysql=- http=-").unwrap();
        assert_eq!(node.port, None);
    }

    #[test]
    fn other_lines_are_no_nodes() {
        for line in
            ["node 1 ended: signal: 9 (SIGKILL); it is started again", "shoal is ready: mysql 1.2.3.4:5", ""]
        {
            assert_eq!(node_of_line(line), None, "{line}");
        }
    }
}
