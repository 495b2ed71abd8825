//! The benchmarks of Shoal against other servers with sysbench, and the canned-answer responder.
//!
//! - [`canned`]: the MySQL protocol with fixed replies: the ceiling that the client itself allows.
//! - [`compare`]: one Shoal process beside MariaDB; sysbench alternates between them; writes the table of ratios.
//! - [`kv`]: reads and writes of single rows by key through every door, beside key-value servers and an echo server.
//! - [`cluster`]: a Shoal cluster beside Galera, nodes that are killed and paused while clients count what they were
//!   promised, and a node that comes back.

pub mod canned;
pub mod cluster;
pub mod compare;
mod facts;
mod interrupt;
pub mod kv;
mod poll;
mod progress;
mod results;
mod sysbench;
