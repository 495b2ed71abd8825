//! Transactions: the coordinator's side, where the client is connected, and the leader's side of those on other nodes.
//!
//! A [`Transaction`] talks to partitions through the node's router. Reads without a lock see a snapshot (or the newest
//! committed version), writes are staged in the partitions' workspaces, commit makes one log batch of them.
//! Every call may wait (locks, fsync, other nodes); none of them holds a partition while it waits.
//!
//! - `transaction`, `participants`: a session's transaction.
//! - `at_partition`: an operation on one partition, wherever that is led.
//! - `read`, `scan` and `partition_scan`, `merge_source` and `merge`, `staging`, `write`, `write_one` and `write_remote`: its operations.
//! - `temporary`: its part in temporary tables.
//! - `slice`: parts of long values. `new_row` and `numbering`: what all interfaces that insert rows share.
//! - `write_many`: batches of writes of any kind; `interpret`: what is evaluated where rows lie.
//! - `wait`, `deadlock`: waiting for others.
//! - `commit`, `commit_remote`, `commit_driver`: its end: here, on one other node, over partitions that several nodes lead (with the
//!   coordinator of the crate `two-phase`).
//! - `protocol`, `remote`, `gather`: operations as frames for leaders on other nodes. `serve`: the leaders' answers.
//! - `cluster_service`: how all this is joined to a node's links.
//! - `follow`: committed changes of tables, from all partitions' leaders.
//! - `pulse`: snapshots and horizons over all nodes.

#![warn(missing_docs)]

mod api;
mod at_partition;
mod cluster_service;
mod commit;
mod commit_driver;
mod commit_remote;
mod deadlock;
mod fan_out;
mod follow;
pub mod foreign_keys;
mod gather;
mod interpret;
mod leader_wait;
mod locking_scan;
mod merge;
mod merge_source;
pub mod new_row;
mod numbering;
mod participants;
mod partition_scan;
mod protocol;
mod pulse;
mod read;
mod remote;
mod scan;
mod serve;
mod shown;
mod slice;
mod staging;
mod temporary;
mod transaction;
mod visitor;
mod wait;
mod write;
mod write_many;
mod write_one;
mod write_remote;

#[cfg(test)]
mod tests;

pub use api::*;
pub use cluster_service::serve_cluster;
pub use follow::{FollowOptions, Followed, Follower};
pub use interpret::{
    Assignment, BytesChange, Operand, Predicate, PushedFilter, ROW_BYTES_MAX, RowChange, value_bytes_max,
};
pub use protocol::{ColumnSlice, SLICE_BYTES_MAX, Sliced};
pub use pulse::exchange_pulses;
pub use scan::TableScan;
pub use serve::Server;
pub use shoal_partition::{ChangeKind, Gap};
pub use shoal_two_phase as two_phase;
pub use shown::{ShownTransaction, TABLES_SHOWN_MAX};
pub use transaction::Transaction;
pub use write_many::{BatchEnd, RowWrite};
