//! Nodes: partitions, the log, the dictionary and the router between them.

pub mod dictionary;
pub mod node;
pub mod options;
pub mod table;

pub use dictionary::{Catalog, Change, Database, User};
pub use node::Node;
pub use options::{Durability, NodeOptions, RecoveryProgress, RecoveryStage};
pub use table::Table;
