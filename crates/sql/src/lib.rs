//! The SQL node: resolve, plan, optimise, execute; sessions, system variables, information_schema.
//!
//! - `frontend`: the contract with protocols.
//! - `server`, `session`: what is shared by a process, what belongs to one client; the walk of a statement.
//! - `resolve`: names and types; `plan`: access paths and join order; `execute`: batches of rows; `dml`: changing rows.
//! - `query_log`: the slow query log and the general log.
//! - `statement_events`: what sessions have run; `table_usage`: how often rows of tables were used.
//! - `statement_times`: how long statements took; `figures`: what monitoring is shown.
//! - `statement_text`: statements as operators are shown them.
//! - `past_sessions`: what sessions that have ended had counted; `error_counts`: errors by number; `profile`: the stages of statements.
//! - `operators`: sessions as pages for operators show and end them.
//! - `locks`: open transactions, their locks and deadlocks, as tables and reports tell them.
//! - `hosts`: whose connections break off; `read_only`: whose writes are refused; `databases`: names that there are or are not.
//! - `handler`: HANDLER.
//! - `ddl`, `account`, `variables`, `show`, `explain`, `information_schema`: everything else a client may ask.

#![warn(missing_docs)]
// Of the compiler: a statement is one future, of many that await each other.
#![recursion_limit = "256"]

mod account;
mod client_text;
mod convert;
mod counters;
mod databases;
mod ddl;
mod definition_stages;
mod diagnostics;
mod digests;
mod dml;
mod error_counts;
mod error_log;
pub mod event_scheduler;
mod execute;
mod explain;
pub mod figures;
mod files;
pub mod frontend;
mod handler;
mod hosts;
mod information_schema;
pub mod interfaces;
mod locks;
mod node_tables;
pub mod operator_digests;
pub mod operators;
mod past_sessions;
mod plan;
mod profile;
mod program;
mod query_log;
mod read_only;
mod resolve;
pub mod server;
mod session;
pub mod shared_server;
mod show;
mod statement_events;
mod statement_text;
pub mod statement_times;
mod syntax_error;
mod table_usage;
mod temporary;
mod user_locks;
mod variables;

pub use account::{Privileges, RequestAccess};
pub use node_tables::tell_nodes;
pub use program::stack::note_stack;
pub use variables::Globals;
