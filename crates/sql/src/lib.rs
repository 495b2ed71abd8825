//! The SQL node: resolve, plan, optimise, execute; sessions, system variables, information_schema.
//!
//! - `frontend`: the contract with protocols.
//! - `server`, `session`: what is shared by a process, what belongs to one client; the walk of a statement.
//! - `resolve`: names and types; `plan`: access paths and join order; `execute`: batches of rows; `dml`: changing rows.
//! - `query_log`: the slow query log and the general log.
//! - `statement_times`: how long statements took; `figures`: what monitoring is shown.
//! - `operators`: sessions as pages for operators show and end them.
//! - `hosts`: whose connections break off; `read_only`: whose writes are refused; `databases`: names that there are or are not.
//! - `ddl`, `account`, `variables`, `show`, `explain`, `information_schema`: everything else a client may ask.

#![warn(missing_docs)]

mod account;
mod client_text;
mod convert;
mod counters;
mod databases;
mod ddl;
mod digests;
mod dml;
mod execute;
mod explain;
pub mod figures;
mod files;
pub mod frontend;
mod hosts;
mod information_schema;
pub mod interfaces;
pub mod operator_digests;
pub mod operators;
mod plan;
mod query_log;
mod read_only;
mod resolve;
pub mod server;
mod session;
pub mod shared_server;
mod show;
pub mod statement_times;
mod user_locks;
mod variables;

pub use account::{Privileges, RequestAccess};
pub use variables::Globals;
