//! A server, or several that act as one, which a load runs against.

use std::io;
use std::time::Duration;

use shoal_testkit::process::{self, Signal};
use shoal_testkit::server::tail;
use shoal_testkit::{Client, Kind, Server, Setup};

use super::options::Plan;
use crate::cluster::galera::{self, Flush};
use crate::cluster::nodes::{Cluster, Durability};

/// Where every load keeps its tables.
pub const DATABASE: &str = "rough";
/// After a start every node of a cluster leads what it should soon.
const BALANCED_WITHIN: Duration = Duration::from_secs(30);
const CLIENT_PATIENCE: Duration = Duration::from_secs(900);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Mariadb,
    Shoal,
    /// Two nodes that flush every commit.
    GaleraDisk,
    /// Two nodes that keep commits in memory.
    GaleraMemory,
    /// Two data nodes, commits on the disks of a majority.
    ClusterDisk,
    /// Two data nodes, commits in the memory of a majority.
    ClusterReplicated,
}

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Who::Mariadb => "MariaDB",
            Who::Shoal => "Shoal",
            Who::GaleraDisk => "Galera, flush 1",
            Who::GaleraMemory => "Galera, flush 0",
            Who::ClusterDisk => "Shoal x2, disk",
            Who::ClusterReplicated => "Shoal x2, replicated",
        }
    }

    pub fn is_shoal(self) -> bool {
        matches!(self, Who::Shoal | Who::ClusterDisk | Who::ClusterReplicated)
    }
}

enum Processes {
    Servers(Vec<Server>),
    Cluster(Box<Cluster>),
}

pub struct Target {
    pub who: Who,
    processes: Processes,
    is_paused: bool,
}

impl Target {
    /// `arguments`: for the one process of [`Who::Shoal`] or [`Who::Mariadb`].
    pub fn start_with(who: Who, plan: &Plan, arguments: &[&str]) -> io::Result<Target> {
        let cluster = |durability| {
            let cluster = Cluster::start(&plan.shoal_binary, &plan.work_dir, durability, 0)?;
            cluster.wait_until_balanced(BALANCED_WITHIN)?;
            io::Result::Ok(Processes::Cluster(Box::new(cluster)))
        };
        let processes = match who {
            Who::Mariadb | Who::Shoal => Processes::Servers(vec![single(who, plan, arguments)?]),
            Who::GaleraDisk => Processes::Servers(galera::start(&plan.work_dir, Flush::EveryCommit)?),
            Who::GaleraMemory => Processes::Servers(galera::start(&plan.work_dir, Flush::EverySecond)?),
            Who::ClusterDisk => cluster(Durability::Disk)?,
            Who::ClusterReplicated => cluster(Durability::Replicated)?,
        };
        let target = Target { who, processes, is_paused: false };
        let mut client = target.client_in("")?;
        execute(&mut client, &format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
        Ok(target)
    }

    pub fn port(&self) -> io::Result<u16> {
        match &self.processes {
            Processes::Servers(servers) => Ok(servers[0].port()),
            Processes::Cluster(cluster) => cluster.port(),
        }
    }

    pub fn client(&self) -> io::Result<Client> {
        self.client_in(DATABASE)
    }

    fn client_in(&self, database: &str) -> io::Result<Client> {
        let login = shoal_testkit::client::Login {
            database: database.into(),
            patience: CLIENT_PATIENCE,
            ..Default::default()
        };
        Client::log_in(self.port()?, &login).map_err(io::Error::other)
    }

    /// Runs statements one after the other on a connection of their own.
    pub fn execute(&self, statements: &[&str]) -> io::Result<()> {
        let mut client = self.client()?;
        statements.iter().try_for_each(|sql| execute(&mut client, sql))
    }

    /// The first value of the first row, as a number.
    pub fn number(&self, sql: &str) -> io::Result<i64> {
        number(&mut self.client()?, sql)
    }

    /// Ends the server in good order and starts it again; how long the start took.
    pub fn restart(&mut self) -> io::Result<Duration> {
        match &mut self.processes {
            Processes::Servers(servers) => {
                servers[0].stop()?;
                servers[0].restart()?;
                Ok(servers[0].started_in())
            }
            Processes::Cluster(_) => Err(io::Error::other("clusters are not restarted here")),
        }
    }

    pub fn processes(&self) -> Vec<u32> {
        match &self.processes {
            Processes::Servers(servers) => servers.iter().filter_map(Server::process).collect(),
            Processes::Cluster(cluster) => cluster.nodes().iter().map(|node| node.process).collect(),
        }
    }

    /// Resident memory of all processes.
    pub fn resident(&self) -> u64 {
        self.processes().into_iter().filter_map(|id| process::resident_bytes(id).ok()).sum()
    }

    /// Clusters of Shoal are left alone: a pause would cost them their leaders.
    pub fn pause(&mut self) {
        if let (Processes::Servers(servers), false) = (&self.processes, self.is_paused) {
            servers.iter().for_each(|server| drop(server.signal(Signal::Pause)));
            self.is_paused = true;
        }
    }

    pub fn resume(&mut self) {
        if let (Processes::Servers(servers), true) = (&self.processes, self.is_paused) {
            servers.iter().for_each(|server| drop(server.signal(Signal::Continue)));
            self.is_paused = false;
        }
    }

    /// A failure with the end of the log, if the server has died.
    pub fn explain(&mut self, error: &io::Error) -> String {
        match &mut self.processes {
            Processes::Servers(servers) => match servers.iter_mut().all(Server::is_running) {
                true => error.to_string(),
                false => format!("{error}; the server died: {}", tail(&servers[0].log(), 5)),
            },
            Processes::Cluster(cluster) => format!("{error}; {}", cluster.log_ends()),
        }
    }
}

impl Drop for Target {
    /// A paused process would keep its signals waiting.
    fn drop(&mut self) {
        self.resume();
    }
}

fn single(who: Who, plan: &Plan, arguments: &[&str]) -> io::Result<Server> {
    let mut setup = match who {
        Who::Mariadb => Setup::mariadb()
            .argument("--innodb-buffer-pool-size=4G")
            .argument("--innodb-flush-log-at-trx-commit=1")
            .argument("--max-allowed-packet=1G")
            .argument("--max-connections=4000"),
        _ => Setup::new(Kind::Shoal, plan.shoal_binary.clone()),
    };
    if who == Who::Shoal {
        setup.arguments.extend(plan.shoal_arguments.iter().cloned());
    }
    setup.arguments.extend(arguments.iter().map(ToString::to_string));
    setup.own_process_group = true;
    setup.parent(plan.work_dir.clone()).start()
}

pub fn execute(client: &mut Client, sql: &str) -> io::Result<()> {
    let shown = || sql.chars().take(80).collect::<String>();
    client.run(sql).map(drop).map_err(|error| io::Error::other(format!("{error} ({})", shown())))
}

pub fn number(client: &mut Client, sql: &str) -> io::Result<i64> {
    let lines = client.text(sql).map_err(|error| io::Error::other(format!("{error} ({sql})")))?;
    let value = lines.first().and_then(|line| line.split(',').next()?.parse().ok());
    value.ok_or_else(|| io::Error::other(format!("no number from {sql}: {lines:?}")))
}
