//! performance_schema of threads, statements, tables and variables, with MySQL's names and columns.
//!
//! - `tables`: the tables that have rows, `empty`: those that never do.
//! - `threads`: sessions and the process's other threads; `sessions`: their variables, status and attributes; `prepared`: their prepared
//!   statements; `accounts`: whom they belong to.
//! - `events`: single statements; `stages`: how far definitions are; `summaries`: sums of them by account and kind; `histograms`: how long they took; `errors`.
//! - `table_io`: how often rows were read and written; `setup`: what is collected.
//! - `format`: what the tables share.
//!
//! What is counted, is; columns for what is not (waits for tables, sorts, temporary tables, memory, CPU) are 0.

pub(super) mod accounts;
pub(super) mod empty;
mod errors;
mod events;
pub(super) mod format;
mod histograms;
mod prepared;
mod sessions;
mod setup;
mod stages;
mod summaries;
pub(super) mod table_io;
pub(super) mod tables;
mod threads;
