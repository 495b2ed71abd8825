//! The benchmark of Shoal against MariaDB with sysbench, and the canned-answer responder.
//!
//! - [`canned`]: the MySQL protocol with fixed replies: the ceiling that the client itself allows.
//! - [`compare`]: starts the servers, lets sysbench alternate between them, writes the table of ratios.

pub mod canned;
pub mod compare;
