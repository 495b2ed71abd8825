//! Nodes that a test starts itself, one by one, from a config.ini that it may spoil.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use shoal_testkit::port::ReservedPort;
use shoal_testkit::process::{Signal, signal};
use tempfile::TempDir;

use super::{NodeProcess, Nodes, READY_WITHIN};
use crate::shoal_binary;

/// An orderly end, or a refusal, takes less.
const ENDED_WITHIN: Duration = Duration::from_secs(40);

/// What a cluster is made of. Data nodes have the sql role too; ids are given in the order data, management, sql.
#[derive(Clone, Debug)]
pub struct Layout {
    pub name: String,
    pub data_nodes: u32,
    pub management_nodes: u32,
    pub sql_nodes: u32,
    pub replicas: u32,
    /// Lines for the `[ndbd default]` section.
    pub settings: Vec<String>,
    /// Lines for the sections of all nodes.
    pub everywhere: Vec<String>,
    /// The host of each node, in the order of the ids; loopback and free ports where it ends.
    pub hosts: Vec<String>,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout {
            name: "reef".into(),
            data_nodes: 2,
            management_nodes: 1,
            sql_nodes: 0,
            replicas: 2,
            settings: Vec::new(),
            everywhere: Vec::new(),
            hosts: Vec::new(),
        }
    }
}

impl Layout {
    pub fn node_count(&self) -> u32 {
        self.data_nodes + self.management_nodes + self.sql_nodes
    }

    /// The text of config.ini, with data directories below `folder`.
    fn config(&self, folder: &Path, ports: &[ReservedPort]) -> String {
        let mut ports = ports.iter().map(ReservedPort::number);
        let mut text = format!("[system]\nName={}\n\n[ndbd default]\nNoOfReplicas={}\n", self.name, self.replicas);
        for setting in &self.settings {
            text += &format!("{setting}\n");
        }
        for id in 1..=self.node_count() {
            let is_data = id <= self.data_nodes;
            let is_management = !is_data && id <= self.data_nodes + self.management_nodes;
            let (section, port_name) = match (is_data, is_management) {
                (true, _) => ("ndbd", "ServerPort"),
                (_, true) => ("ndb_mgmd", "PortNumber"),
                _ => ("mysqld", "ServerPort"),
            };
            let host = self.hosts.get(id as usize - 1).map_or("127.0.0.1", String::as_str);
            let (server_port, mysql_port) = (ports.next().unwrap(), ports.next().unwrap());
            let directory = folder.join(format!("node-{id}"));
            text += &format!("\n[{section}]\nNodeId={id}\nHostName={host}\n{port_name}={server_port}\n");
            text += &format!("DataDir={}\n", directory.display());
            for line in &self.everywhere {
                text += &format!("{line}\n");
            }
            if is_data {
                text += "Roles=data,sql\n";
            }
            if !is_management {
                // In a namespace of its own a node also listens where it counts clients as local ones.
                let address = if self.hosts.is_empty() { host } else { "0.0.0.0" };
                text += &format!("MySQLPort={mysql_port}\nMySQLAddress={address}\n");
            }
        }
        text
    }
}

/// Nodes without a supervisor. Dropping it kills them.
pub struct StartedCluster {
    nodes: Nodes,
    children: Vec<(u32, Child)>,
    /// What stands before the program's name on the command line of a node, such as `ip netns exec x`.
    wrappers: Vec<(u32, Vec<String>)>,
    _ports: Vec<ReservedPort>,
    folder: TempDir,
}

impl Deref for StartedCluster {
    type Target = Nodes;

    fn deref(&self) -> &Nodes {
        &self.nodes
    }
}

impl StartedCluster {
    /// Writes the configuration; nothing runs yet.
    pub fn new(layout: &Layout) -> StartedCluster {
        let folder = tempfile::Builder::new().prefix("shoal-cluster-").tempdir().unwrap();
        let ports: Vec<_> = (0..2 * layout.node_count()).map(|_| ReservedPort::any().unwrap()).collect();
        fs::write(folder.path().join("config.ini"), layout.config(folder.path(), &ports)).unwrap();
        let (children, wrappers) = (Vec::new(), Vec::new());
        StartedCluster { nodes: Nodes::new(folder.path()), children, wrappers, _ports: ports, folder }
    }

    /// All nodes of the layout, ready, with an empty database `test`.
    pub fn start(layout: &Layout) -> StartedCluster {
        let mut cluster = StartedCluster::new(layout);
        cluster.start_all(layout);
        cluster
    }

    /// Starts all nodes of the layout and waits until they are ready.
    pub fn start_all(&mut self, layout: &Layout) {
        self.start_some(layout, 1..=layout.node_count());
    }

    /// Starts these nodes alone, and waits until they are ready.
    pub fn start_some(&mut self, layout: &Layout, ids: impl Iterator<Item = u32> + Clone) {
        for id in ids.clone() {
            self.spawn(id);
        }
        self.wait_until_some_started(layout, ids);
    }

    /// Waits until all nodes of the layout are ready, which have been spawned.
    pub fn wait_until_started(&mut self, layout: &Layout) {
        self.wait_until_some_started(layout, 1..=layout.node_count());
    }

    fn wait_until_some_started(&mut self, layout: &Layout, ids: impl Iterator<Item = u32>) {
        for id in ids {
            self.wait_for(&format!("node {id} to start"), READY_WITHIN, |registry| {
                registry.nodes.get(&id).map(|_| ())
            });
        }
        self.take_in_remote_clients(layout);
        self.create_database();
    }

    /// Accounts for clients that come from other hosts, if nodes have such.
    fn take_in_remote_clients(&self, layout: &Layout) {
        let Some((wrapper, host)) = self.wrapper_of(1).zip(layout.hosts.first()) else { return };
        self.nodes.change(|registry| {
            for node in registry.nodes.values_mut() {
                let host = &layout.hosts[node.id as usize - 1];
                node.mysql = node.mysql.take().map(|(_, port)| (host.clone(), port));
            }
        });
        let Some((_, port)) = self.node(1).mysql else { panic!("node 1 of {host} takes no clients") };
        let mut command = Command::new(&wrapper[0]);
        command.args(&wrapper[1..]).args(["mariadb", "--no-defaults", "--host=127.0.0.1", "--user=root"]);
        command.arg(format!("--port={port}"));
        command.args(["--execute", "CREATE USER 'root'@'%'; GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION"]);
        let output = shoal_testkit::program::run(command, b"", ENDED_WITHIN, || false).unwrap();
        assert!(output.status.success(), "{}\n{}", output.errors(), self.logs());
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn config_file(&self) -> PathBuf {
        self.folder.path().join("config.ini")
    }

    pub fn data_dir(&self, id: u32) -> PathBuf {
        self.folder.path().join(format!("node-{id}"))
    }

    /// A copy of the configuration, changed.
    pub fn changed_config(&self, change: impl FnOnce(String) -> String) -> PathBuf {
        let text = fs::read_to_string(self.config_file()).unwrap();
        let changed = change(text.clone());
        assert_ne!(text, changed, "the change of config.ini changes nothing");
        let path = self.folder.path().join("changed.ini");
        fs::write(&path, changed).unwrap();
        path
    }

    /// From now on the node's process is started by this program.
    pub fn wrap(&mut self, id: u32, wrapper: &[&str]) {
        self.wrappers.retain(|(node, _)| *node != id);
        self.wrappers.push((id, wrapper.iter().map(ToString::to_string).collect()));
    }

    fn wrapper_of(&self, id: u32) -> Option<&[String]> {
        self.wrappers.iter().find(|(node, _)| *node == id).map(|(_, words)| words.as_slice())
    }

    fn command(&self, id: u32, config: &Path) -> Command {
        let mut command = match self.wrapper_of(id) {
            Some([program, words @ ..]) => {
                let mut command = Command::new(program);
                command.args(words).arg(shoal_binary());
                command
            }
            _ => Command::new(shoal_binary()),
        };
        command.args(["start", "--config"]).arg(config).args(["--node-id", &id.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    fn open_log(&self, id: u32) -> File {
        let path = self.folder.path().join(format!("node-{id}.log"));
        OpenOptions::new().create(true).append(true).open(path).unwrap()
    }

    /// Starts a node without waiting for it.
    pub fn spawn(&mut self, id: u32) {
        self.spawn_with(id, &self.config_file());
    }

    /// The same with another configuration.
    pub fn spawn_with(&mut self, id: u32, config: &Path) {
        let mut command = self.command(id, config);
        let mut child = command.stderr(self.open_log(id)).spawn().unwrap();
        let (output, process, nodes) = (child.stdout.take().unwrap(), child.id(), self.nodes.clone());
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let node = line.strip_prefix("shoal is ready: ").and_then(NodeProcess::parse);
                if let Some(node) = node {
                    nodes.note_ready(NodeProcess { process, ..node });
                }
            }
        });
        self.children.push((id, child));
    }

    /// Starts a node that has run before and waits until it is ready.
    pub fn start_again(&mut self, id: u32) {
        let before = self.node(id);
        self.spawn(id);
        self.wait_until_back(&before);
    }

    /// Kills a node and waits until its process is gone.
    pub fn kill_node(&mut self, id: u32) {
        let mut child = self.take_child(id);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn take_child(&mut self, id: u32) -> Child {
        let place = self.children.iter().position(|(node, _)| *node == id);
        self.children.swap_remove(place.unwrap_or_else(|| panic!("node {id} does not run"))).1
    }

    /// Ends a node as an operator would.
    pub fn stop_node(&mut self, id: u32) {
        let child = self.take_child(id);
        signal(child.id(), Signal::Terminate).unwrap();
        let status = self.wait_for_end(child, id);
        assert!(status.success(), "node {id} ended with {status}\n{}", self.logs());
    }

    /// Waits until a node ends by itself.
    pub fn wait_until_ended(&mut self, id: u32) -> ExitStatus {
        let child = self.take_child(id);
        self.wait_for_end(child, id)
    }

    fn wait_for_end(&self, mut child: Child, id: u32) -> ExitStatus {
        let deadline = Instant::now() + ENDED_WITHIN;
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            if Instant::now() > deadline {
                let _ = child.kill();
                let _ = child.wait();
                panic!("node {id} does not end\n{}", self.logs());
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn is_running(&mut self, id: u32) -> bool {
        let child = self.children.iter_mut().find(|(node, _)| *node == id);
        child.is_some_and(|(_, child)| matches!(child.try_wait(), Ok(None)))
    }

    /// A node that has ended by itself is not counted among those that run any more.
    pub fn forget_ended(&mut self, id: u32) {
        self.children.retain_mut(|(node, child)| *node != id || matches!(child.try_wait(), Ok(None)));
    }

    /// Starts a node that must refuse, and returns what it says. It must not say that it is ready.
    pub fn refused(&self, id: u32, config: &Path, environment: &[(&str, &str)]) -> String {
        let mut command = self.command(id, config);
        command.envs(environment.iter().copied());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let (said, output) = (child.stderr.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        let (errors, ready) = (sender.clone(), sender);
        let listen = |pipe: Box<dyn std::io::Read + Send>, to: std::sync::mpsc::Sender<String>| {
            thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    let _ = to.send(line);
                }
            })
        };
        listen(Box::new(said), errors);
        listen(Box::new(output), ready);
        let status = self.wait_for_end(child, id);
        let text = lines.iter().collect::<Vec<_>>().join("\n");
        assert!(!status.success(), "the node was not refused:\n{text}");
        assert!(!text.contains("shoal is ready"), "the node said that it is ready:\n{text}");
        text
    }
}

impl Drop for StartedCluster {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.logs());
        }
        for (_, child) in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
