//! A load client that speaks what sysbench's library does not speak everywhere: TLS that is resumed, zlib, and zstd.
//!
//! One thread a session, as in sysbench. `shoal-bench wire` runs it as a process of its own, so that it can be put into a network namespace,
//! and prints its figures as one line of JSON. Statements are of the text protocol.
//!
//! - `transport`: sockets, TLS, compressed packets. `connection`: logins and statements. `load`: what sessions do.

mod connection;
mod load;
mod transport;

pub use load::Kind;
pub use transport::Compression;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use connection::{Connection, Target};

#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Where the server is.
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    #[arg(long)]
    port: u16,
    /// An account without a password.
    #[arg(long, default_value = "root")]
    user: String,
    #[arg(long, default_value = "sbtest")]
    database: String,
    /// What the sessions do.
    #[arg(long, value_enum, default_value = "read-only")]
    load: Kind,
    /// Sessions, each with a thread.
    #[arg(long, default_value_t = 8)]
    threads: usize,
    /// Seconds.
    #[arg(long, default_value_t = 5.0)]
    time: f64,
    /// Rows of `sbtest1`, as sysbench made it.
    #[arg(long, default_value_t = 100_000)]
    rows: u64,
    #[arg(long, value_enum, default_value = "none")]
    compression: Compression,
    /// TLS, with a server whose certificate this authority has signed (its `ca.pem`).
    #[arg(long, value_name = "FILE")]
    tls_authority: Option<PathBuf>,
    /// New connections go on with TLS sessions of earlier ones.
    #[arg(long)]
    resume: bool,
    /// Instead of a load: open so many connections, say so, and hold them until the standard input ends.
    #[arg(long, value_name = "CONNECTIONS")]
    hold: Option<usize>,
}

/// Runs the load and prints its figures.
pub fn run(options: &Options) -> io::Result<()> {
    let address = (options.host.as_str(), options.port);
    let authority = options.tls_authority.as_ref();
    let account = (options.user.as_str(), options.database.as_str());
    let target = Target::new(address, account, options.compression, authority, options.resume)?;
    if let Some(count) = options.hold {
        return hold(&target, count);
    }
    let time = Duration::try_from_secs_f64(options.time).map_err(io::Error::other)?;
    let figures = load::run(&target, options.load, options.threads, options.rows, time)?;
    let line = json!({
        "events": figures.events,
        "refused": figures.refused,
        "resumed": figures.resumed,
        "received_bytes": figures.received_bytes,
        "seconds": figures.seconds,
        "latency_us": figures.latencies.json(),
    });
    writeln!(io::stdout(), "{line}")
}

fn hold(target: &Target, count: usize) -> io::Result<()> {
    let held = (0..count).map(|_| Connection::open(target)).collect::<io::Result<Vec<_>>>()?;
    writeln!(io::stdout(), "{} connections are open", held.len())?;
    // Nothing is said there; it ends.
    io::stdin().lock().lines().try_for_each(|line| line.map(drop))
}

#[cfg(test)]
mod tests;
