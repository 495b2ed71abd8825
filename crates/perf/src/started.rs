//! A cluster of this machine for one measurement, made by the very program that measures.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct StartedCluster {
    supervisor: Child,
    directory: PathBuf,
    /// Of the management node.
    pub address: String,
    /// Where it takes MySQL clients.
    pub mysql: String,
}

impl StartedCluster {
    pub fn start(settings: &[String]) -> Result<StartedCluster, String> {
        let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let directory = std::env::temp_dir().join(format!("shoal-bench-{}", std::process::id()));
        let mut command = Command::new(program);
        command.args(["dev", "--data-nodes", "2", "--mysql-port", "0", "--data-dir"]).arg(&directory);
        for setting in settings {
            command.args(["--set", setting]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let supervisor = command.spawn().map_err(|error| format!("cannot start a cluster: {error}"))?;
        let mut cluster = StartedCluster { supervisor, directory, address: String::new(), mysql: String::new() };
        let out = cluster.supervisor.stdout.take().ok_or("internal: the cluster's output is not read")?;
        let ready = BufReader::new(out).lines().map_while(Result::ok);
        let mut ready = ready.filter_map(|line| line.strip_prefix("shoal is ready: mysql ").map(str::to_owned));
        cluster.mysql = ready.next().ok_or_else(|| {
            format!("the cluster did not start; see the logs in {}", cluster.directory.display())
        })?;
        cluster.address = cluster.management_address()?;
        Ok(cluster)
    }

    /// From the configuration that `shoal dev` has written.
    fn management_address(&self) -> Result<String, String> {
        let path = self.directory.join("config.ini");
        let text =
            std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let port = text.lines().find_map(|line| line.strip_prefix("PortNumber="));
        port.map(|port| format!("127.0.0.1:{port}")).ok_or_else(|| format!("{} names no port", path.display()))
    }
}

impl Drop for StartedCluster {
    fn drop(&mut self) {
        // The supervisor stops its nodes in an orderly way when it is asked to.
        let _ = Command::new("kill").args(["-TERM", &self.supervisor.id().to_string()]).status();
        let deadline = Instant::now() + STOP_PATIENCE;
        while let Ok(None) = self.supervisor.try_wait() {
            if Instant::now() > deadline {
                let _ = self.supervisor.kill();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
