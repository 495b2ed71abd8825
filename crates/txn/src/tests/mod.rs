//! Tests of transactions on real nodes in temporary directories.

mod bank;
mod basics;
mod crashes;
mod locking;
mod recovery;
mod scans;
mod support;
mod unique;
