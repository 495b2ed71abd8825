//! Clusters of real processes under faults. Every test has a cluster of its own; they run after the tests of single servers.
//! `cargo test -p shoal-system-tests --test cluster NAME` runs some.

mod accounts;
mod applications;
mod bench;
mod client;
mod commands;
mod dashboard;
mod definitions;
mod disk;
mod encryption;
mod error_log;
mod handlersocket;
mod http;
mod kill;
mod lock_tables;
mod management;
mod ndbinfo;
mod network;
mod pause;
mod query_language;
mod random_sql;
mod refusal;
mod rest;
mod rolling;
mod rough;
mod spoilt;
mod sql;
mod steady;
mod stored_programs;
mod temporary_tables;
