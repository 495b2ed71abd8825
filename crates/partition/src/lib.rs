//! One partition of the database as a deterministic state machine: rows, indexes, locks, transactions, Raft.
//!
//! A [`Partition`] has no clock, thread, socket, file or randomness inside. Callers put it behind one mutex, run one
//! operation to completion, and then do what its [`Outputs`] ask for: append entries to the log, send messages, wake
//! sleepers. See `partition` for the walk through a transaction.

mod api;
mod budget;
mod outputs;
mod partition;
mod scan;

pub use api::*;
pub use budget::MemoryBudget;
pub use outputs::{HardState, LogEntry, Outputs, ReadState};
pub use partition::{CheckpointCursor, Partition};
pub use scan::Cursor;
