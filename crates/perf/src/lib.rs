//! `shoal bench`: how fast the cluster is for native clients.
//!
//! - `read_perf`: microseconds a row of every way to read, as MySQL Cluster's testReadPerf measures them.
//! - `flex`: rows a second of many parallel transactions, as its flexAsynch does.
//! - `started`: a cluster of this machine to measure, if none is named. `definitions`: its tables, made by SQL, which is the only
//!   language for definitions.

mod definitions;
mod flex;
mod read_perf;
mod started;

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
    /// One client thread reads from two data nodes, over each transporter in turn. `shoal bench read-perf` starts a cluster of its
    /// own on this machine; with --connect it measures one that runs, in a table `read_perf` of the database `shoal_bench`.
    ReadPerf(read_perf::Options),
    /// Rows a second of many parallel transactions: inserts, updates, reads and deletes in turn
    ///
    /// Every thread has so many transactions under way at a time, each on a batch of rows of its own.
    Flex(flex::Options),
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

    /// Write the figures into this file too, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The cluster that is measured.
struct Measured {
    address: String,
    mysql: String,
    /// Ends when this is dropped.
    _started: Option<StartedCluster>,
}

impl Where {
    fn find(&self) -> Result<Measured, String> {
        if let Some(address) = &self.connect {
            return Ok(Measured { address: address.clone(), mysql: self.mysql.clone(), _started: None });
        }
        let started = StartedCluster::start(&self.settings)?;
        Ok(Measured { address: started.address.clone(), mysql: started.mysql.clone(), _started: Some(started) })
    }

    fn write_json(&self, figures: &serde_json::Value) -> Result<(), String> {
        let Some(path) = &self.json else { return Ok(()) };
        std::fs::write(path, format!("{figures:#}\n"))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

pub fn run(arguments: &BenchArguments) -> Result<(), String> {
    match &arguments.command {
        Bench::ReadPerf(options) => read_perf::run(options),
        Bench::Flex(options) => flex::run(options),
    }
}

/// An error as the command line shows it.
fn told(error: shoal_client::Error) -> String {
    error.to_string()
}
