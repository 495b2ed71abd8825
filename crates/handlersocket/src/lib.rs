//! The HandlerSocket protocol: keys in, rows out, without SQL.
//!
//! A line is a request on an index that was opened before. All lines that have come run as one batch, straight on the
//! transaction layer: a read copies its row from the partition into the answer, all writes of a batch are one commit. The same
//! rows, locks and privileges as in SQL; `docs/handlersocket.md` describes the protocol.
//!
//! - `line`, `token`, `request`, `refusal`: lines.
//! - `open_index`, `convert`, `search`: names, values and keys.
//! - `find`, `filter`, `modify`, `insert`, `reply`: what requests do, and the answers.
//! - `run`, `read_run`, `write_run`: lines that go to the partitions together.
//! - `session`, `connection`, `worker`, [`server`]: batches, sockets, threads.
//! - [`host`], [`settings`]: what the process around it provides.
//!
//! It knows neither SQL nor who the accounts are: [`host::Host`] answers for them.

mod clock;
mod connection;
mod convert;
mod counters;
mod filter;
mod find;
pub mod host;
mod insert;
mod line;
mod modify;
mod open_index;
mod read_run;
mod refusal;
mod reply;
mod request;
mod run;
mod search;
pub mod server;
mod session;
pub mod settings;
mod stream;
mod token;
mod worker;
mod write_run;

pub use host::{Account, Host, Rights, Surroundings};
pub use server::{Listeners, Server};
pub use settings::Settings;
