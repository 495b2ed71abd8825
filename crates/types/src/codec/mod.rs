//! Schemas and values as bytes, for the log, checkpoints and the dictionary.
//!
//! Schemas are protobuf messages: fields that a reader does not know are skipped, fields that a writer did not know
//! read as their defaults. Values have a compact form of their own that tells its class. Reading never panics:
//! damaged bytes are an error, and what is read keeps the invariants that the rest of the crate relies on.

mod schema;
mod value;

#[cfg(test)]
mod tests;

pub use value::{append_value, read_value};

use crate::error::Error;

fn damaged(what: &str) -> Error {
    Error::unknown(format!("damaged bytes: {what}"))
}
