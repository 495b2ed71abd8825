//! One partition of the database as a deterministic state machine: rows, indexes, locks, transactions, Raft.
//!
//! A [`Partition`] has no clock, thread, socket, file or randomness inside. Callers put it behind one mutex, run one
//! operation to completion, and then do what its [`Outputs`] ask for: append entries to the log, send messages, wake
//! sleepers. `partition` tells the way of a write through the crate.
//!
//! - storage: `fragment` (rows and versions of one table) on `slab`, `hash_index` and `btree`; `budget` pays for it
//! - concurrency: `locks` (rows), `wait_for` (deadlocks), `early` (locks that pass on before a flush), `large` (what goes on bit by bit), `ranges` (no phantoms), `workspace` (what a transaction has staged)
//! - operations: `read`, `scan`, `write`, `transaction`, `commit`, `two_phase`, `prepared`, `definition`,
//!   `checkpoint`
//! - `observe`: what operators are shown of transactions and locks
//! - what these keep between two calls: `proposal`, `decision` (two-phase commit), `pin` (checkpoints), `installing`
//! - `changes`: what the log tells of committed changes, for those that follow it from outside
//! - replication: `group` (Raft) over `tail`, `time`, `lease`, `leadership`, `install`; `entry` (the log's format), `message`,
//!   `outputs`

#![warn(missing_docs)]

mod agreement;
mod api;
mod btree;
mod budget;
mod building;
mod changes;
mod checkpoint;
mod commit;
mod decision;
mod definition;
mod early;
mod entry;
mod fragment;
mod group;
mod hash_index;
mod install;
mod installing;
mod key_bytes;
mod large;
mod leadership;
mod lease;
mod lock_counts;
mod locks;
mod map;
mod message;
mod numbers;
mod observe;
mod outputs;
mod partition;
mod pin;
mod prepared;
mod proposal;
mod ranges;
mod read;
mod scan;
mod segments;
mod shards;
mod slab;
mod sparse_slab;
mod splice;
mod tail;
mod time;
mod transaction;
mod two_phase;
mod wait_for;
mod workspace;
mod write;

#[cfg(test)]
mod tests;

pub use agreement::{Agreement, Incarnation, LogEnd, Memory, ReplicaReport};
pub use api::*;
pub use budget::MemoryBudget;
pub use changes::{ChangeKind, Followed, Gap, LoggedChange, LoggedWrite, OwnedWrite, Undecided};
pub use checkpoint::{CheckpointCursor, CheckpointHead};
pub use decision::{Confirmation, Decision, DecisionStart, HomeOutcome, Unconfirmed};
pub use fragment::{FragmentMemory, FragmentOperations};
pub use large::CommitPart;
pub use lock_counts::{LockRequests, TableLockRequests};
pub use message::{decode_message, encode_message};
pub use observe::{LockKind, ObservedKey, ObservedLock, ObservedStretch, ObservedTransaction, ObservedWaits};
pub use outputs::{HardState, Leadership, LogEntry, LogStart, Outputs, ReadState};
pub use partition::{Activity, Partition};
pub use raft::eraftpb::Message;
pub use scan::Cursor;
pub use splice::ColumnSplice;
pub use time::{Millis, Timing};
pub use wait_for::{WaitEdge, cycle_through, is_deadlocked, victims, victims_of_both, waits_for_itself};
