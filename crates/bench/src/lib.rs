//! The benchmarks: `shoal bench`, which is part of the server's binary, and the program `shoal-bench`.
//!
//! `shoal bench` is [`perf`]: how fast rows are had, over every interface and transporter. `shoal-bench` sets Shoal beside other servers, and is
//! the feature `beside-others`:
//!
//! - [`canned`]: the MySQL protocol with fixed replies: the ceiling that the client itself allows.
//! - [`compare`]: one Shoal process beside MariaDB; sysbench alternates between them; writes the table of ratios.
//! - [`cluster`]: a Shoal cluster beside Galera, nodes that are killed and paused while clients count what they were
//!   promised, and a node that comes back.
//! - [`net`]: TLS, compression, connections, many clients, statistics and allocators, beside MariaDB; [`wire`] is its load client.
//! - [`rough`]: loads that break databases: one hot row, huge statements, thousands of tables, clients that vanish.
//!
//! `measure` is what all of them share.

#[cfg(feature = "beside-others")]
pub mod canned;
#[cfg(feature = "beside-others")]
pub mod cluster;
#[cfg(feature = "beside-others")]
pub mod compare;
#[cfg(feature = "beside-others")]
mod machine;
pub mod measure;
#[cfg(feature = "beside-others")]
pub mod net;
pub mod perf;
#[cfg(feature = "beside-others")]
pub mod rough;
#[cfg(feature = "beside-others")]
mod sysbench;
#[cfg(feature = "beside-others")]
pub mod wire;
