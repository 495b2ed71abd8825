//! The tests that run in every mode.

mod bank;
mod basics;
mod blobs;
mod contention;
mod crashes;
mod locking;
mod recovery;
mod scans;
pub mod support;
mod temporary;
mod unique;
