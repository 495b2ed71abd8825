//! The SQL node: resolve, plan, optimise, execute; sessions, system variables, information_schema.
//!
//! - `frontend`: the contract with protocols.
//! - `server`, `session`: what is shared by a process, what belongs to one client; the walk of a statement.
//! - `resolve`: names and types; `plan`: access paths and join order; `execute`: batches of rows; `dml`: changing rows.
//! - `query_log`: the slow query log and the general log.
//! - `statement_times`: how long statements took.
//! - `read_only`: whose writes are refused; `databases`: names that there are or are not.
//! - `ddl`, `account`, `variables`, `show`, `explain`, `information_schema`: everything else a client may ask.

pub mod account;
pub mod client_text;
pub mod convert;
pub mod counters;
mod databases;
pub mod ddl;
pub mod dml;
pub mod execute;
pub mod explain;
pub mod frontend;
pub mod information_schema;
pub mod interfaces;
pub mod plan;
pub mod query_log;
pub mod read_only;
pub mod resolve;
pub mod server;
pub mod session;
pub mod shared_server;
pub mod show;
pub mod statement_times;
pub mod user_locks;
pub mod variables;
