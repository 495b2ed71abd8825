//! The harness of the system tests: the real server, driven by real clients.
//!
//! Every test starts a server of its own on a free port with a data directory of its own, so tests run side by
//! side. The binary under test is `$SHOAL_BINARY`, else `shoal` in the release or debug folder of the target directory.
//! `SHOAL_TEST_SERVER=mariadb` runs the same tests against MariaDB, to check the tests themselves; what
//! only Shoal has is skipped there with a printed reason. `SHOAL_TEST_ARGUMENTS` are added to every server's command line.
//!
//! - [`TestServer`]: start, stop, kill, restart, and the clients. A failing test prints the server's log.
//! - [`wait_until`]: a condition with a deadline, instead of a sleep.
//! - [`golden`]: the SQL scripts with their expected output.
//! - [`SmallDisk`], [`DyingDisk`] and [`network`]: disks that are full or broken, a network that can be cut.
//! - [`handlersocket`]: a client of that protocol; [`http`] and [`page`]: clients of operators' HTTP and of the page for people.
//! - [`browser`]: a headless Chromium. [`terminal`]: programs that somebody types to.
//! - [`applications`]: programs that people write against MySQL.
//! - [`cluster`]: clusters of real processes, and [`transfer`]: the work they do while they are broken, with its judge.

pub mod applications;
pub mod browser;
pub mod cluster;
mod disk;
pub mod golden;
pub mod handlersocket;
mod harness;
pub mod http;
pub mod network;
pub mod page;
pub mod random_sql;
pub mod rest;
pub mod tap;
pub mod terminal;
pub mod transfer;

pub use disk::{DyingDisk, SmallDisk};

pub use harness::{
    DATABASE, TestServer, clients_folder, second_of_hour, setup as harness_setup, shoal_binary, skip,
    target_is_mariadb, wait_until,
};
pub use shoal_testkit::client::{self, Client, Error, Login, Reply, Rows, Value};
pub use shoal_testkit::{process, program, server};
