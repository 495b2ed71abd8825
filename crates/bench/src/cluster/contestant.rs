//! A server, or several that act as one, which sysbench runs against.

use std::io;
use std::time::Duration;

use shoal_testkit::process::{self, Signal};
use shoal_testkit::{Client, Server, Setup};

use super::galera::{self, Flush};
use super::nodes::{Cluster, Durability};
use super::options::Plan;
use crate::sysbench::{Figures, Job};

const DATABASE: &str = "sbtest";
/// What every run begins with and nobody counts: caches fill, leaders follow the clients.
const WARM_UP: Duration = Duration::from_secs(2);
/// A run that takes longer than its time by this much is taken for hung.
const GRACE: Duration = Duration::from_secs(20);
/// After a start every node leads what it should soon.
const BALANCED_WITHIN: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Galera,
    /// Galera that flushes every commit at both nodes.
    GaleraDisk,
    /// One unreplicated server that flushes every commit.
    Mariadb,
    /// SQL in the data nodes, commits in the memory of a majority.
    Replicated,
    /// SQL in the data nodes, commits on the disks of a majority.
    Disk,
    /// SQL in a process of its own, commits in the memory of a majority.
    SqlNode,
}

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Who::Galera => "Galera",
            Who::GaleraDisk => "Galera, flush 1",
            Who::Mariadb => "MariaDB",
            Who::Replicated => "Shoal replicated",
            Who::Disk => "Shoal disk",
            Who::SqlNode => "Shoal SQL node",
        }
    }

    pub fn is_shoal(self) -> bool {
        matches!(self, Who::Replicated | Who::Disk | Who::SqlNode)
    }
}

enum Processes {
    Servers(Vec<Server>),
    Cluster(Box<Cluster>),
}

pub struct Contestant {
    pub who: Who,
    processes: Processes,
    paused: bool,
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub figures: Figures,
    /// CPU time of all processes of the contestant during the run.
    pub server_cpu: Duration,
}

impl Run {
    pub fn per_second(&self) -> f64 {
        self.figures.queries as f64 / self.figures.seconds
    }

    pub fn cpu_micros(&self) -> f64 {
        self.server_cpu.as_secs_f64() * 1e6 / self.figures.queries.max(1) as f64
    }
}

impl Contestant {
    /// Starts the servers and fills the table.
    pub fn start(who: Who, plan: &Plan) -> io::Result<Contestant> {
        let processes = match who {
            Who::Galera => Processes::Servers(galera::start(&plan.work_dir, Flush::EverySecond)?),
            Who::GaleraDisk => Processes::Servers(galera::start(&plan.work_dir, Flush::EveryCommit)?),
            Who::Mariadb => Processes::Servers(vec![mariadb(plan)?]),
            Who::Replicated => Processes::Cluster(Box::new(Cluster::start(
                &plan.shoal_binary,
                &plan.work_dir,
                Durability::Replicated,
                0,
            )?)),
            Who::Disk => Processes::Cluster(Box::new(Cluster::start(
                &plan.shoal_binary,
                &plan.work_dir,
                Durability::Disk,
                0,
            )?)),
            Who::SqlNode => Processes::Cluster(Box::new(Cluster::start(
                &plan.shoal_binary,
                &plan.work_dir,
                Durability::Replicated,
                1,
            )?)),
        };
        let mut contestant = Contestant { who, processes, paused: false };
        if let Err(error) = contestant.prepare(plan) {
            return Err(contestant.with_logs(error));
        }
        Ok(contestant)
    }

    fn prepare(&self, plan: &Plan) -> io::Result<()> {
        if let Processes::Cluster(cluster) = &self.processes {
            cluster.wait_until_balanced(BALANCED_WITHIN)?;
        }
        let mut client = Client::connect(self.port()?).map_err(io::Error::other)?;
        let made = client.execute(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"));
        made.map_err(io::Error::other)?;
        self.job(self.port()?, "oltp_read_write", &[], 1, plan.rows).manage("prepare")
    }

    /// `extra`: options of sysbench.
    pub fn run(&mut self, script: &str, extra: &[&str], threads: u32, plan: &Plan) -> io::Result<Run> {
        let port = self.port()?;
        if let Err(error) = self.job(port, script, extra, threads, plan.rows).run(WARM_UP) {
            return Err(self.with_logs(error));
        }
        let before = self.cpu_time();
        let figures = self.job(port, script, extra, threads, plan.rows).run(plan.time);
        let after = self.cpu_time();
        match figures {
            Ok(figures) => Ok(Run { figures, server_cpu: after.saturating_sub(before) }),
            Err(error) => Err(self.with_logs(error)),
        }
    }

    fn job<'a>(&self, port: u16, script: &'a str, extra: &'a [&'a str], threads: u32, rows: u64) -> Job<'a> {
        Job { port, database: DATABASE, script, threads, rows, extra, grace: GRACE }
    }

    /// Only peers can be paused: the pause would cost a cluster of Shoal its leaders.
    pub fn pause(&mut self) {
        if let (Processes::Servers(servers), false) = (&self.processes, self.paused) {
            for server in servers {
                let _ = server.signal(Signal::Pause);
            }
            self.paused = true;
        }
    }

    pub fn resume(&mut self) {
        if let (Processes::Servers(servers), true) = (&self.processes, self.paused) {
            for server in servers {
                let _ = server.signal(Signal::Continue);
            }
            self.paused = false;
        }
    }

    fn port(&self) -> io::Result<u16> {
        match &self.processes {
            Processes::Servers(servers) => Ok(servers[0].port()),
            Processes::Cluster(cluster) => cluster.port(),
        }
    }

    fn cpu_time(&self) -> Duration {
        let processes: Vec<u32> = match &self.processes {
            Processes::Servers(servers) => servers.iter().filter_map(Server::process).collect(),
            Processes::Cluster(cluster) => cluster.nodes().iter().map(|node| node.process).collect(),
        };
        processes.into_iter().filter_map(|id| process::cpu_time(id).ok()).sum()
    }

    /// A failure of the servers is explained by what they logged.
    fn with_logs(&mut self, error: io::Error) -> io::Error {
        match &mut self.processes {
            Processes::Cluster(cluster) => io::Error::other(format!("{error}; {}", cluster.log_ends())),
            Processes::Servers(servers) => match servers.iter_mut().all(Server::is_running) {
                true => error,
                false => io::Error::other(format!("a server died: {error}")),
            },
        }
    }
}

impl Drop for Contestant {
    /// A paused process would keep its signals waiting.
    fn drop(&mut self) {
        self.resume();
    }
}

fn mariadb(plan: &Plan) -> io::Result<Server> {
    let mut setup = Setup::mariadb()
        .parent(plan.work_dir.clone())
        .argument("--innodb-buffer-pool-size=4G")
        .argument("--innodb-flush-log-at-trx-commit=1")
        .argument("--max-connections=1000");
    setup.own_process_group = true;
    setup.start()
}
