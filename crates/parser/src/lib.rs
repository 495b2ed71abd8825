//! Shoal's parser for the MySQL dialect: lexer, syntax tree, statement digest.
//!
//! It works over bytes, knows MySQL 8.4's grammar and nothing about what a statement means: no dictionary, no types, no evaluation. Client bytes
//! may be anything; every answer is a tree or an error with a position, within bounded stack.

pub mod ast;
mod error;
mod mode;

pub use error::{NEAR_BYTES_MAX, ParseError, ParseErrorKind};
pub use mode::SqlMode;
