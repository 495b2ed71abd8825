//! The cluster, simulated: the real partitions with the product's code around them on simulated processes, disks, clocks and
//! links, in one thread, from one seed.
//!
//! - a run: `run` (filled, rough, healed, checked), `world` (the loop), `context` (events, chance), `knobs` (what a seed
//!   decides beforehand), `faults`
//! - a node: `process`, `driver` (what partitions want done), `background` (time, links, news), `keeper` (checkpoints),
//!   `transfer` (copies for replicas that fell behind), `under_way` (what these have begun), `disk`, `network`, `message`
//! - transactions: `server`, `operations` and `resolve` at the leaders, `client`, `reader`, `session` and `script` at the clients
//! - applications: `requests` (exactly once), `follower` and `following` (change events)
//! - foreign keys: `tables` (who refers to whom; no row is without its parent), `statements` at the clients, `table_rows` at the leaders
//! - waiting: `deadlocks` at the leaders, `stuck` looks at all of them from outside
//! - judgement: `history`, `linear`, `cycles`, and `sights`, the situations that runs must have been in
//!
//! - the log, without a cluster: `log`
//!
//! The same seed gives the same run, to the last message.

mod background;
mod client;
mod context;
mod cycles;
mod deadlocks;
mod disk;
mod driver;
mod faults;
mod follower;
mod following;
mod history;
mod keeper;
mod knobs;
mod linear;
mod log;
mod many;
mod message;
mod network;
mod operations;
#[cfg(feature = "planted-bugs")]
mod planted;
mod process;
mod random;
mod reader;
mod requests;
mod resolve;
mod rows;
mod run;
mod script;
mod server;
mod session;
mod sights;
mod statements;
mod stuck;
mod table_rows;
mod tables;
mod transfer;
mod under_way;
mod world;

pub use context::Trace;
pub use many::{Part, Summary, run_caught, run_many};
#[cfg(feature = "planted-bugs")]
pub use planted::{find_planted, print_planted};
pub use run::Report;
pub use sights::{Sight, Sights};
