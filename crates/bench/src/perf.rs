//! `shoal bench`: how fast rows are had, through every door and over every transporter.
//!
//! - `read_perf`: microseconds a row of every way to read, as MySQL Cluster's testReadPerf measures them; `ways` reads so through SQL and
//!   HandlerSocket.
//! - `flex`: rows a second of many parallel transactions, as its flexAsynch does.
//! - `kv`: rows by key, beside MariaDB, memcached and Redis, with an echo server as the limit.
//! - `started`: a cluster of this machine to measure, if none is named. `outputs`: where figures go.

mod flex;
mod kv;
mod outputs;
mod read_perf;
mod started;
mod ways;

use clap::{Args, Subcommand};
use shoal_testkit::client::Login;

use started::StartedCluster;

#[derive(Args)]
pub struct BenchArguments {
    #[command(subcommand)]
    command: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// Microseconds a row of every way to read: by primary and unique keys, one by one and in batches, along indexes, filtered
    ///
    /// One client thread reads from two data nodes, over each transporter in turn, then through SQL and HandlerSocket. `shoal bench read-perf`
    /// starts a cluster of its own on this machine; with --connect it measures one that runs, in a table `read_perf` of the database
    /// `shoal_bench`.
    ReadPerf(read_perf::Options),
    /// Rows a second of many parallel transactions: inserts, updates, reads and deletes in turn
    ///
    /// Every thread has so many transactions under way at a time, each on a batch of rows of its own. A cluster that is started for it
    /// commits in the memory of both nodes, as MySQL Cluster does; `--set CommitDurability=disk` has commits on disk.
    Flex(flex::Options),
    /// Rows by key, through every door and beside other servers: HandlerSocket, SQL, the native client, MariaDB, memcached, Redis
    ///
    /// All servers are started on this machine, those that are installed; an echo server shows the limit of any that answers over
    /// sockets.
    Kv(kv::Options),
    /// Send back whatever comes, for `kv`
    #[command(hide = true)]
    Echo {
        /// Port on the loopback interface; 0 = any free port
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
}

#[derive(Args, Clone, Debug)]
struct Where {
    /// A management node of a running cluster; without it a cluster of two data nodes is started for the measurement
    #[arg(long, value_name = "HOST:PORT")]
    connect: Option<String>,

    /// Where the running cluster takes MySQL clients, to make the table
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3306", requires = "connect")]
    mysql: String,

    /// A setting of the cluster that is started, as in `shoal dev`. May be given several times
    #[arg(long = "set", value_name = "NAME=VALUE", conflicts_with = "connect")]
    settings: Vec<String>,
}

/// The cluster that is measured.
struct Measured {
    address: String,
    mysql: String,
    /// Ends when this is dropped.
    started: Option<StartedCluster>,
}

impl Where {
    fn find(&self) -> Result<Measured, String> {
        self.find_or_start(&[])
    }

    /// `defaults`: settings of a cluster that is started, unless others are given.
    fn find_or_start(&self, defaults: &[&str]) -> Result<Measured, String> {
        if let Some(address) = &self.connect {
            return Ok(Measured { address: address.clone(), mysql: self.mysql.clone(), started: None });
        }
        let name = |setting: &str| setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
        let is_given = |default: &str| self.settings.iter().any(|setting| name(setting) == name(default));
        let defaults = defaults.iter().filter(|default| !is_given(default)).map(|&setting| setting.to_owned());
        let settings: Vec<String> = defaults.chain(self.settings.iter().cloned()).collect();
        let started = StartedCluster::start(2, &settings, &std::env::temp_dir())?;
        Ok(Measured { address: started.address.clone(), mysql: started.mysql.clone(), started: Some(started) })
    }
}

pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    match &arguments.command {
        Bench::ReadPerf(options) => read_perf::run(options),
        Bench::Flex(options) => flex::run(options),
        Bench::Kv(options) => kv::run(options),
        Bench::Echo { port } => kv::echo::serve(*port).map_err(told),
    }
}

/// An error as the command line shows it.
fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Logs in as root without a password.
fn log_in(address: &str) -> Result<shoal_testkit::Client, String> {
    let wrong = || format!("{address} is not HOST:PORT");
    let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
    let login = Login { host: host.trim_matches(['[', ']']).to_owned(), ..Login::default() };
    let port = port.parse().map_err(|_| wrong())?;
    shoal_testkit::Client::log_in(port, &login).map_err(|error| format!("{address}: {error}"))
}

/// Definitions are made by SQL.
fn define(address: &str, statements: &[&str]) -> Result<(), String> {
    let mut client = log_in(address)?;
    statements.iter().try_for_each(|statement| client.execute(statement).map(drop).map_err(told))
}
