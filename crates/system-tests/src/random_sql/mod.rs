//! Random SQL: schemas and statements by a grammar, oracles that judge the answers, and failing cases made small.
//!
//! A seed chooses everything: [`Generator`] makes a schema and then step after step, each a [`Step`]: a statement to run, or a check
//! of one server against itself. Statements are [`Tree`]s, not texts, so that a failing one can be made smaller clause by clause
//! and can be written for either server, or with its literals as parameters.
//!
//! - [`tree`], [`chance`]: statements as trees; what a seed chooses.
//! - [`kind`], [`value_kind`], [`templates`], [`expression`], [`schema`], [`definitions`], [`query`], [`change`]: the grammar.
//! - [`check`]: oracles that need one server: query partitioning (TLP), the predicate counted without an index (NoREC), a row that must be
//!   found (PQS), and plans that must not matter.
//! - [`answer`], [`beside`], [`explained`]: what a server answers, MariaDB beside it, and where MariaDB is not MySQL.
//! - [`world`], [`shrink`], [`report`]: the servers, the search for a smaller case, what is printed.
//!
//! Not made: statements whose answer depends on chance or the clock, rows in an order that nobody asked for.

pub mod answer;
pub mod beside;
pub mod chance;
pub mod change;
pub mod check;
pub mod definitions;
pub mod explained;
pub mod expression;
pub mod generator;
pub mod kind;
pub mod query;
pub mod report;
pub mod schema;
pub mod shrink;
pub mod step;
pub mod templates;
pub mod tree;
pub mod value_kind;
pub mod world;

pub use generator::{Generator, Oracles};
pub use report::{Report, run_seed};
pub use step::Step;
pub use tree::Tree;
pub use world::World;
