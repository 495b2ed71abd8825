//! What the system tests and the benchmarks share: real server processes, and the MySQL client of `shoal sql`.
//!
//! - [`server`]: starts Shoal or MariaDB on a free port with a data directory of its own, stops, kills and
//!   restarts it, and keeps its log.
//! - [`port`]: free ports that stay a test's own.
//! - [`process`]: CPU time and memory of another process, and signals.
//! - [`program`]: client programs run to their end under a deadline.
//! - [`client`]: the MySQL client, which shows what is on the wire: text and binary protocol, cursors, long data,
//!   multi-statements, raw packets.
//!
//! Of the product `shoal bench` alone uses it, for the servers that it measures.

pub mod port;
pub mod process;
pub mod program;
pub mod server;

pub use client::{Client, Error};
pub use server::{Kind, Server, Setup};
pub use shoal_mysql_client as client;
