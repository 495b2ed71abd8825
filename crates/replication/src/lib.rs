//! What a node does with its replicas, without I/O: the decisions of replication, each a small state machine that its caller drives.
//!
//! A node (`shoal-cluster`) has threads, a log, links and clocks around this; the simulator (`shoal-sim`) has events and chance. Both
//! run this very code, so that what the simulator finds, or does not find, holds for the product.
//!
//! - [`settle`]: does what a partition wants done after it was touched, in the one order that is safe; [`Unsent`]: messages that wait for
//!   the disk
//! - [`take_records`] and [`replay`]: what a partition wants logged, and the same read back; [`recovered`]: where clocks go on then
//! - [`OnDisk`]: what of a leader's log is on its disk
//! - [`InFlight`]: what the log has and the partitions have not got back; [`Durable`]: what each of them is told
//! - [`Promises`] and [`ReplicaPlan`]: what a replica may do after a start; [`Agreements`]: how groups go on that have lost too much
//! - [`begin_checkpoint`]; [`Sending`] and [`Receiving`]: copies for replicas that are too far behind
//! - [`Standing`]: who serves; [`HandOver`]: how another one comes to; [`Leaders`]: who leads what, as a node has heard; [`PeerHorizons`]: which snapshots others may read
//!
//! *Must not know* clocks, threads, files, links, randomness: moments and positions are arguments, actions are calls on a [`Host`].

#![warn(missing_docs)]

mod agreements;
mod checkpoint;
mod copies;
mod hand_over;
mod horizons;
mod in_flight;
mod leaders;
mod on_disk;
mod plan;
mod promises;
mod records;
mod settle;
mod standing;
mod unsent;

pub use agreements::{Agreements, agree, concerns, report};
pub use checkpoint::{Checkpoint, begin_checkpoint, may_finish};
pub use copies::{Copies, NotKept, Piece, Receiving, Sending, give_up};
pub use hand_over::{HandOver, HandedOver};
pub use horizons::PeerHorizons;
pub use in_flight::{Durable, EndedBatch, InFlight};
pub use leaders::Leaders;
pub use on_disk::OnDisk;
pub use plan::ReplicaPlan;
pub use promises::Promises;
pub use records::{Batch, LogRecord, Recovered, recovered, replay, take_records};
pub use settle::{Host, apply_durable, send_messages, settle, settle_durable};
pub use standing::{Standing, may_serve};
pub use unsent::Unsent;
