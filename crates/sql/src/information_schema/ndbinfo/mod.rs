//! The database `ndbinfo`: what the nodes of the cluster tell of themselves, in NDB's tables.
//!
//! Most tables have rows of every node. Each node makes its own (`NodeTable`); the node that is asked collects them over the links,
//! all at once and with a time limit (`gather`), and warns of nodes that did not answer. A process that is the whole database is node 1.
//! What NDB has a column for and is not counted here is NULL.
//!
//! - `definitions`: the tables and their columns.
//! - `nodes`: nodes and their processes; `links`: those between them; `threads`: theirs.
//! - `memory`: memory and the log; `fragments`: tables, their partitions, and what was done with them.
//! - `this_node`: which one this is. `activity`: transactions, and counters; `locks`: locks and who waits for them; `config`: the configuration.

pub(super) mod activity;
pub(super) mod config;
pub(super) mod definitions;
pub(super) mod fragments;
pub(super) mod gather;
pub(super) mod links;
pub(super) mod locks;
pub(super) mod memory;
pub(super) mod nodes;
mod this_node;
pub(super) mod threads;
