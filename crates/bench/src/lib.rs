//! The benchmark of Shoal against MariaDB with sysbench, and the canned-answer responder.
//!
//! - [`canned`]: the MySQL protocol with fixed replies: the ceiling that the client itself allows.

pub mod canned;
