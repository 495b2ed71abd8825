//! `shoal dev --data-nodes N`: the cluster with its supervisor, which starts again what dies.

use std::ops::Deref;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use shoal_testkit::process::{Signal, signal, signal_group};
use tempfile::TempDir;

use super::{Nodes, READY_WITHIN};
use crate::shoal_binary;

const STOPPED_WITHIN: Duration = Duration::from_secs(60);

/// A supervised cluster. Dropping it kills whatever is left of it.
pub struct DevCluster {
    nodes: Nodes,
    supervisor: Child,
    folder: TempDir,
}

impl Deref for DevCluster {
    type Target = Nodes;

    fn deref(&self) -> &Nodes {
        &self.nodes
    }
}

impl DevCluster {
    /// Starts a cluster with an empty database `test` and waits until it is ready.
    pub fn start(arguments: &[&str]) -> DevCluster {
        let folder = tempfile::Builder::new().prefix("shoal-cluster-").tempdir().unwrap();
        let log = std::fs::File::create(folder.path().join("supervisor.log")).unwrap();
        let mut command = Command::new(shoal_binary());
        command
            .args(["dev", "--mysql-port", "0", "--http-port", "0", "--data-dir"])
            .arg(folder.path())
            .args(arguments);
        // Of a group of its own, so that no node outlives the test.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).process_group(0);
        let mut supervisor = command.spawn().unwrap();
        let nodes = Nodes::new(folder.path());
        nodes.follow(supervisor.stdout.take().unwrap());
        let cluster = DevCluster { nodes, supervisor, folder };
        cluster.wait_for("the cluster to be ready", READY_WITHIN, |registry| registry.is_ready.then_some(()));
        cluster.create_database();
        cluster
    }

    /// Where config.ini and the nodes' logs are.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Kills a node and waits until its supervisor has it back.
    pub fn kill_and_wait(&self, id: u32) {
        let before = self.node(id);
        self.kill(id);
        self.wait_until_back(&before);
    }

    /// Kills all nodes in the same moment and waits until all are back.
    pub fn kill_all_and_wait(&self) {
        let before = self.all();
        for node in &before {
            self.kill(node.id);
        }
        for node in &before {
            self.wait_until_back(node);
        }
    }

    /// Ends the cluster as an operator would.
    pub fn stop(&mut self) -> ExitStatus {
        signal(self.supervisor.id(), Signal::Terminate).unwrap();
        let deadline = Instant::now() + STOPPED_WITHIN;
        loop {
            if let Some(status) = self.supervisor.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the cluster does not stop\n{}", self.logs());
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for DevCluster {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.logs());
        }
        let _ = signal_group(self.supervisor.id(), Signal::Kill);
        let _ = self.supervisor.wait();
    }
}
