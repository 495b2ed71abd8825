//! Shoal's parser for the MySQL dialect: lexer, syntax tree, statement digest.
//!
//! It works over bytes, knows MySQL 8.4's grammar and nothing about what a statement means: no dictionary, no types, no evaluation. Client bytes
//! may be anything; every answer is a tree or an error with a position, within bounded stack.
//!
//! - `lexer`: bytes to tokens, by the SQL mode and the server's version.
//! - `parser`: tokens to `ast`, by recursive descent; `parse`, `parse_first`, `parse_parameterised`.
//! - `digest`: the key of the plan cache and a statement's literals, in one pass of the lexer, without the parser.
//! - `normalise`, `display`, `quote`: text for people and for SHOW CREATE TABLE.

#![warn(missing_docs)]

pub mod ast;
mod digest;
mod display;
mod error;
mod lexer;
mod mode;
mod normalise;
mod parser;
mod quote;
mod reserved;

pub use digest::{Digest, Digester, LiteralText, LiteralToken};
pub use error::{NEAR_BYTES_MAX, ParseError, ParseErrorKind};
pub use lexer::SERVER_VERSION;
pub use mode::ParserMode;
pub use normalise::normalised_text;
pub use parser::{
    EXPRESSION_HEIGHT_MAX, NESTING_MAX, Parameterised, Parsed, parse, parse_expression, parse_first,
    parse_parameterised,
};
pub use quote::{quote_identifier, quote_string};
pub use reserved::is_reserved;
