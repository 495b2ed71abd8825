//! Tests of transactions on real nodes in temporary directories.

mod basics;
mod locking;
mod support;
mod unique;
