//! Transactions: the coordinator's side, where the client is connected.
//!
//! A [`Transaction`] talks to partitions through the node's router. Reads without a lock see a snapshot (or the newest
//! committed version), writes are staged in the partitions' workspaces, commit makes one log batch of them.
//! Every call may wait (locks, fsync); none of them holds a partition while it waits. `two_phase` is the commit over
//! partitions that different nodes lead.

mod api;
mod merge;
mod participants;
mod protocol;
mod read;
mod scan;
mod transaction;
pub mod two_phase;
mod wait;
mod write;

#[cfg(test)]
mod tests;

pub use api::*;
pub use scan::TableScan;
pub use transaction::Transaction;
