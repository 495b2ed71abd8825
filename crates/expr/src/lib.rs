//! Typed expressions: what the SQL layer resolves its syntax trees into, and evaluates row by row.
//!
//! - [`Expr`]: the tree. [`build`]: the only way to make calls; MySQL's rules for types, collations and comparison.
//! - [`EvalContext`], [`RowSource`]: what evaluation needs besides the tree.
//! - [`Aggregate`], [`Accumulator`]: COUNT, SUM, GROUP_CONCAT and their kin.
//! - [`append_group_key`], [`compare`]: equality and order of values of a type.
//! - [`analysis`]: conjunctions and comparisons with columns, for the planner.
//!
//! This crate does not know the syntax tree, tables, transactions or sockets.

#![warn(missing_docs)]

mod aggregate;
pub mod analysis;
mod arithmetic;
mod array_element;
mod at_once;
pub mod build;
mod build_context;
mod cast;
mod characters;
mod coercibility;
mod collate;
mod compare;
mod context;
mod convert;
mod display;
mod eval;
mod expr;
pub mod functions;
mod group_key;
mod interval;
mod json_value;
mod like;
mod membership;
mod operator;
mod regexp;
mod row_source;
#[cfg(test)]
mod tests;
mod traversal;
mod window;

pub use aggregate::{Accumulator, Aggregate, AggregateKind};
pub use array_element::{Unfit, array_element};
pub use build_context::BuildContext;
pub use cast::convert_to;
pub use coercibility::Coercibility;
pub use compare::compare;
pub use context::{
    BlockEncryption, EvalContext, LockCalls, LockRequest, RandomState, SessionValues, Settings, SqlMode,
    UserLocks, Warnings, printable,
};
pub use expr::{Call, ColumnRef, Expr, Literal, MAX_DEPTH, Operation, Parameter};
pub use group_key::{append_exact_key, append_group_key};
pub use json_value::parse as parse_json;
pub use like::LikePattern;
pub use operator::{ArithmeticOperator, BitOperator, Comparator, CompareOperator, Dependence, NumberClass};
pub use row_source::{JoinedRow, NoRow, RowSource};
pub use window::{WindowFunction, WindowKind, wrong_arguments};
