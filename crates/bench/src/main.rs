//! `shoal-bench`: the command line of the benchmark.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use shoal_bench::{canned, cluster, compare, net, rough, wire};

/// Measures Shoal side by side with other servers.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the MySQL protocol with fixed replies and no database: the ceiling that a client allows.
    Canned {
        /// Port on the loopback interface; 0 means any free one.
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
    /// Run sysbench against MariaDB and Shoal in turn and write the table of ratios.
    Compare(Box<compare::Options>),
    /// Measure a cluster: throughput beside Galera and MariaDB, outages when nodes die, nodes that come back.
    Cluster(Box<cluster::Options>),
    /// Measure TLS, compression, connections, many clients, statistics and allocators, beside MariaDB.
    Net(Box<net::Options>),
    /// Run the loads that friendly benchmarks do not have, beside MariaDB: one hot row, millions of rows, vanishing clients.
    Rough(Box<rough::Options>),
    /// Load a server with clients that speak TLS, zlib and zstd, and print what they reached.
    Wire(Box<wire::Options>),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Canned { port } => canned::serve(port),
        Command::Compare(options) => compare::run(&options),
        Command::Cluster(options) => cluster::run(&options),
        Command::Net(options) => net::run(&options),
        Command::Rough(options) => rough::run(&options),
        Command::Wire(options) => wire::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shoal-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
