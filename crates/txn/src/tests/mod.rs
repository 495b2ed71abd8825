//! Tests of transactions on real nodes in temporary directories.
//!
//! The suite runs three times: with all partitions in the process, with all of them behind frames on "another node" (which is
//! the same one, reached through a loopback), and with some here and some there. What a suite's nodes are like follows
//! from the name of its module.

mod cluster;
mod definition;
mod follow;
mod loopback;

#[allow(clippy::duplicate_mod)]
#[path = "suite.rs"]
mod all_elsewhere;
#[path = "suite.rs"]
mod all_here;
#[allow(clippy::duplicate_mod)]
#[path = "suite.rs"]
mod mixed;
