//! Shoal's log: one write-ahead log per data directory with group commit, and checkpoint files.
//!
//! It knows nothing of SQL, rows or Raft: a record is a group id, a kind, an index, a term and bytes.
//! Plain threads and files; no async runtime.
//!
//! - [`mod@log`]: the public face: append, flush, durability, low water; [`options`]: its settings and hooks.
//! - [`batch`]: what is appended, and records as recovery shows them.
//! - [`mod@format`]: the file format to the byte, and why a torn tail can be told from damage.
//! - [`recovery`]: opening a directory.
//! - [`checkpoint`]: checkpoint files: framed, checksummed, optionally compressed.
//! - `sync`: threads and time, which the simulator replaces (`schedule`, feature `simulated`).
//! - [`file_system`]: the file operations behind a trait; [`volatile`]: the same in memory; [`testing`]: a disk that fails on
//!   request.
//!
//! ```no_run
//! # use shoal_log::{AppendClass, Log, LogBatch, LogHooks, LogOptions, RecordHeader};
//! # fn main() -> Result<(), shoal_log::LogError> {
//! let recovery = Log::open("data".as_ref(), LogOptions::new(0x5eed))?;
//! let (log, report) = recovery.replay(LogHooks::none(), |record| {
//!     println!("{} {}: {} bytes", record.group, record.index, record.payload.len());
//! })?;
//! let mut batch = LogBatch::new();
//! batch.push(RecordHeader { group: 1, kind: 0, index: 1, term: 1 }, b"payload");
//! let end = log.append(&batch, AppendClass::User)?;
//! log.wait_durable(end)?;
//! # drop(report);
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod active_segment;
mod aligned;
pub mod batch;
mod catalog;
pub mod checkpoint;
mod core;
pub mod error;
pub mod file_system;
pub mod format;
mod frame_reader;
mod keeper;
pub mod log;
mod manifest;
pub mod options;
mod pending;
pub mod recovery;
mod room;
#[cfg(feature = "simulated")]
pub mod schedule;
mod segment_file;
mod sync;
pub mod testing;
pub mod volatile;
mod writer;

pub use batch::{LogBatch, RecordHeader, RecordRef};
pub use error::{LogError, PoisonReason};
pub use format::{BATCH_LIMIT_BYTES, Lsn, RECORD_HEADER_BYTES};
pub use log::Log;
pub use options::{AppendClass, Durability, DurableHook, FatalHook, InlineFlush, LogHooks, LogOptions};
pub use recovery::{Recovery, RecoveryReport, TornTail};
