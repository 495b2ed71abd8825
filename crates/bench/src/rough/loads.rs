//! The loads, one module each.

mod bank;
mod churn;
mod definitions;
mod hot_row;
mod large_statement;
mod many_tables;
mod memory;
mod pareto;
mod queue;
mod snapshot;
mod stall;
mod vanish;
mod wide;

use std::io;

use super::Session;

#[derive(Debug)]
pub struct Load {
    /// The name in `--only`.
    pub name: &'static str,
    pub about: &'static str,
    pub run: fn(&mut Session) -> io::Result<()>,
}

const fn load(name: &'static str, about: &'static str, run: fn(&mut Session) -> io::Result<()>) -> Load {
    Load { name, about, run }
}

pub const ALL: &[Load] = &[
    load("hot-row", "8 to 1,024 sessions add 1 to one row", hot_row::run),
    load("hot-row-cluster", "the same on two data nodes, beside Galera's two", hot_row::run_on_clusters),
    load("pareto", "sysbench on 500 rows with skewed keys, 16 to 256 threads", pareto::run),
    load("delete", "5,000,000 rows deleted by one statement, sessions beside it", large_statement::delete),
    load("update", "5,000,000 rows updated by one statement, sessions beside it", large_statement::update),
    load("stall", "oltp_write_only for five minutes, over checkpoints", stall::run),
    load("tables", "10,000 tables: made, listed, started with, dropped", many_tables::run),
    load("memory", "resident memory of rows that come and go, with DataMemory=1G", memory::run),
    load("vanish", "clients that vanish in the middle of anything", vanish::run),
    load("definitions", "ALTER, CREATE INDEX and TRUNCATE in a loop beside writes", definitions::run),
    load("churn", "10,000 connections with one query each", churn::run),
    load("queue", "workers of a queue with SKIP LOCKED", queue::run),
    load("bank", "transfers between two rows: real deadlocks", bank::run),
    load("snapshot", "a snapshot that is held beside updates", snapshot::run),
    load("columns", "1,000 columns", wide::columns),
    load("indexes", "64 indexes", wide::indexes),
    load("values", "values of 50 MB beside small rows", wide::values),
];
