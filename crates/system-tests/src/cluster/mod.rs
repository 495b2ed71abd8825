//! Clusters of real processes under test.
//!
//! [`DevCluster`] is `shoal dev --data-nodes N` with its supervisor; [`StartedCluster`] is a config.ini and nodes that the test
//! starts one by one with `shoal start`. Both keep a [`Nodes`]: who runs where, clients for each, signals to each, and
//! waiting until a node is back. Whatever is waited for has a deadline; a test that fails prints the end of every node's log.

mod dev;
mod started;

pub use dev::DevCluster;
pub use started::{Layout, StartedCluster};

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use shoal_testkit::process::{self, Signal};
use shoal_testkit::server::tail;

use crate::{Client, DATABASE, Error, Login};

/// Becoming ready takes seconds; more on a busy machine.
pub const READY_WITHIN: Duration = Duration::from_secs(90);
/// A client that hears nothing for so long counts the connection as lost.
const CLIENT_PATIENCE: Duration = Duration::from_secs(30);

/// A node's process, as its ready line describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeProcess {
    pub id: u32,
    pub roles: String,
    pub process: u32,
    /// Where MySQL clients reach it.
    pub mysql: Option<(String, u16)>,
    /// Where operators reach it over HTTP.
    pub http: Option<String>,
    /// How often the node has become ready.
    pub starts: u32,
}

impl NodeProcess {
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.split(',').any(|one| one == role)
    }

    /// `node 1 roles=data,sql pid=17 mysql=127.0.0.1:3306 http=127.0.0.1:8186`
    fn parse(line: &str) -> Option<NodeProcess> {
        let (id, rest) = line.strip_prefix("node ")?.split_once(' ')?;
        let value = |name: &str| {
            let mut words = rest.split_ascii_whitespace();
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        let mysql = match value("mysql")? {
            "-" => None,
            address => {
                let (host, port) = address.rsplit_once(':')?;
                Some((host.to_owned(), port.parse().ok()?))
            }
        };
        Some(NodeProcess {
            id: id.parse().ok()?,
            roles: value("roles")?.to_owned(),
            process: value("pid").unwrap_or("0").parse().ok()?,
            mysql,
            http: value("http").filter(|&address| address != "-").map(str::to_owned),
            starts: 1,
        })
    }
}

#[derive(Default)]
struct Registry {
    nodes: BTreeMap<u32, NodeProcess>,
    /// The whole cluster has said that it is ready.
    is_ready: bool,
    /// The program's output has ended.
    has_ended: bool,
}

/// The nodes of a cluster. Clones are the same nodes.
#[derive(Clone)]
pub struct Nodes {
    folder: PathBuf,
    shared: Arc<(Mutex<Registry>, Condvar)>,
}

impl Nodes {
    fn new(folder: &Path) -> Nodes {
        Nodes { folder: folder.to_owned(), shared: Arc::default() }
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Registry)) {
        change(&mut self.registry());
        self.shared.1.notify_all();
    }

    /// A node has become ready, perhaps again.
    fn note_ready(&self, mut node: NodeProcess) {
        self.change(|registry| {
            if let Some(known) = registry.nodes.get(&node.id) {
                node.starts = known.starts + 1;
                // Where it is does not change, as a node that listens everywhere would have it.
                node.mysql = known.mysql.clone();
            }
            registry.nodes.insert(node.id, node);
        });
    }

    /// Waits until the registry is as wanted; panics with `what` if that takes too long.
    fn wait_for<T>(&self, what: &str, patience: Duration, mut wanted: impl FnMut(&Registry) -> Option<T>) -> T {
        let deadline = Instant::now() + patience;
        let mut registry = self.registry();
        loop {
            if let Some(found) = wanted(&registry) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || registry.has_ended {
                drop(registry);
                let why = if left.is_zero() { "too long" } else { "in vain: the program has ended" };
                panic!("waited {why}: {what}\n{}", self.logs());
            }
            registry = self.shared.1.wait_timeout(registry, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes in the lines that a supervisor prints.
    fn follow(&self, output: impl Read + Send + 'static) {
        let nodes = self.clone();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some(node) = NodeProcess::parse(&line) {
                    nodes.note_ready(node);
                } else if line.starts_with("shoal is ready: mysql ") {
                    nodes.change(|registry| registry.is_ready = true);
                }
            }
            nodes.change(|registry| registry.has_ended = true);
        });
    }

    pub fn all(&self) -> Vec<NodeProcess> {
        self.registry().nodes.values().cloned().collect()
    }

    pub fn node(&self, id: u32) -> NodeProcess {
        let known = self.registry().nodes.get(&id).cloned();
        known.unwrap_or_else(|| panic!("there is no node {id}"))
    }

    /// Where a node is reached over HTTP.
    pub fn http(&self, id: u32) -> String {
        self.node(id).http.unwrap_or_else(|| panic!("node {id} has no HTTP"))
    }

    fn ids_of(&self, role: &str) -> Vec<u32> {
        let registry = self.registry();
        registry.nodes.values().filter(|node| node.has_role(role)).map(|node| node.id).collect()
    }

    pub fn data_nodes(&self) -> Vec<u32> {
        self.ids_of("data")
    }

    pub fn management_nodes(&self) -> Vec<u32> {
        self.ids_of("mgm")
    }

    /// The nodes that clients can connect to.
    pub fn sql_nodes(&self) -> Vec<u32> {
        self.ids_of("sql")
    }

    /// A connection in the database `test`.
    pub fn try_client(&self, id: u32) -> Result<Client, Error> {
        self.try_client_in(id, DATABASE, CLIENT_PATIENCE)
    }

    pub fn try_client_in(&self, id: u32, database: &str, patience: Duration) -> Result<Client, Error> {
        let (host, port) = self.node(id).mysql.unwrap_or_else(|| panic!("node {id} takes no clients"));
        let login = Login { host, database: database.into(), patience, ..Login::default() };
        Client::log_in(port, &login)
    }

    pub fn client(&self, id: u32) -> Client {
        self.try_client(id).unwrap_or_else(|error| panic!("node {id}: {error}\n{}", self.logs()))
    }

    fn signal(&self, id: u32, signal: Signal) {
        let process = self.node(id).process;
        process::signal(process, signal).unwrap_or_else(|error| panic!("node {id} (process {process}): {error}"));
    }

    /// As a power cut of the process would.
    pub fn kill(&self, id: u32) {
        self.signal(id, Signal::Kill);
    }

    /// The process gets no time any more, until it is resumed.
    pub fn pause(&self, id: u32) {
        self.signal(id, Signal::Pause);
    }

    pub fn resume(&self, id: u32) {
        self.signal(id, Signal::Continue);
    }

    /// Waits until a node has become ready once more than it had `before`.
    pub fn wait_until_back(&self, before: &NodeProcess) -> NodeProcess {
        let what = format!("node {} to be back", before.id);
        self.wait_for(&what, READY_WITHIN, |registry| {
            registry.nodes.get(&before.id).filter(|now| now.starts > before.starts).cloned()
        })
    }

    pub fn log(&self, id: u32) -> String {
        let bytes = std::fs::read(self.folder.join(format!("node-{id}.log"))).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The ends of all nodes' logs, and of the cluster logs of management nodes.
    pub fn logs(&self) -> String {
        let entries =
            |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|one| one.path());
        let mut paths: Vec<PathBuf> = entries(&self.folder).collect();
        paths.extend(paths.clone().iter().flat_map(|folder| entries(folder)));
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        paths.sort();
        let mut out = String::new();
        for path in paths {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            out += &format!("--- {name} ends:\n{}\n", tail(&text, 25));
        }
        out
    }

    /// What the sessions of all nodes do just now, as far as the nodes answer.
    pub fn doings(&self) -> String {
        let list = |id: u32| {
            let rows = self
                .try_client_in(id, "", Duration::from_secs(5))
                .and_then(|mut client| client.text("SHOW FULL PROCESSLIST"));
            match rows {
                Ok(rows) => rows.join("\n"),
                Err(error) => error.to_string(),
            }
        };
        let all = self.sql_nodes().into_iter().map(|id| format!("--- sessions of node {id}:\n{}\n", list(id)));
        all.collect()
    }

    /// Has the database of the tests on all nodes.
    fn create_database(&self) {
        let first = self.sql_nodes()[0];
        let mut client = self.try_client_in(first, "", CLIENT_PATIENCE).unwrap_or_else(|error| panic!("{error}"));
        let created = client.execute(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"));
        created.unwrap_or_else(|error| panic!("{error}\n{}", self.logs()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_read_from_its_line() {
        let node = NodeProcess::parse("node 2 roles=data,sql pid=17 mysql=127.0.0.1:3307 http=-").unwrap();
        assert_eq!((node.id, node.process, node.mysql.as_ref().unwrap().1), (2, 17, 3307));
        assert!(node.has_role("sql") && !node.has_role("mgm"));
        let management = NodeProcess::parse("node 3 roles=mgm pid=18 mysql=- http=-").unwrap();
        assert_eq!((management.mysql, management.http), (None, None));
        let seen = NodeProcess::parse("node 3 roles=mgm pid=18 mysql=- http=127.0.0.1:8186").unwrap();
        assert_eq!(seen.http.as_deref(), Some("127.0.0.1:8186"));
        assert_eq!(NodeProcess::parse("shoal is ready: mysql 127.0.0.1:1"), None);
    }

    #[test]
    fn a_node_is_back_when_it_was_ready_once_more() {
        let nodes = Nodes::new(Path::new("/nowhere"));
        let line = "node 1 roles=data pid=5 mysql=- http=-";
        nodes.note_ready(NodeProcess::parse(line).unwrap());
        let before = nodes.node(1);
        let again = nodes.clone();
        let thread = thread::spawn(move || again.note_ready(NodeProcess::parse(line).unwrap()));
        assert_eq!(nodes.wait_until_back(&before).starts, 2);
        thread.join().unwrap();
    }
}
