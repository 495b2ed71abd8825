//! The cluster's configuration: NDB's `config.ini`, checked and made into [`ClusterConfig`].
//!
//! A file goes through four steps, and every step finds as many mistakes as it can before it gives up:
//!
//! 1. [`text`]: lines to sections with named values; knows the grammar only;
//! 2. [`parameters`]: the table of every parameter of NDB's sections and of our own additions, with type, range and
//!    what we do with it; [`check`] holds a section against it;
//! 3. [`build`]: sections to nodes: ids, hosts, ports, roles, and the rules that hold between them;
//! 4. [`placement`]: which partition lives where. It follows from the file alone, so every node works it out by
//!    itself and [`ClusterConfig::hash`] tells whether two of them agree.
//!
//! [`generate`] goes the other way: a few figures to a commented file that passes all of this. [`ClusterConfig::describe`]
//! tells a person what was understood.
//! The crate reads no clock and no environment, and the only file it opens is the one it is asked to.

#![warn(missing_docs)]

mod build;
mod check;
mod cluster;
mod defect;
mod describe;
pub mod generate;
pub mod parameters;
mod placement;
mod text;

pub use cluster::{ClusterConfig, Durability, HandlerSocketConfig, NodeConfig, NodeTlsConfig, Roles};
pub use defect::{ConfigError, Defect, Note};
pub use parameters::{NEVER_SLEEPS, SPIN_METHODS};
pub use placement::PartitionPlacement;
