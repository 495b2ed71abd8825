//! The functions that are called by name and get all their arguments evaluated.
//!
//! Each file holds one group as a table of [`Function`]s: name, number of arguments, how the result type follows from
//! the arguments, and the code. The registry is the concatenation of the tables.

use std::collections::HashMap;
use std::sync::OnceLock;

mod aes;
mod argument;
mod choice;
mod date;
mod date_format;
mod date_parse;
pub(crate) mod derive;
mod gtid;
mod hash;
mod information;
mod json;
mod json_change;
pub mod json_scalar;
mod json_schema;
mod json_search;
mod network;
mod numeric;
mod partition;
mod regular;
mod text;
mod text_format;
mod text_search;
mod time;

pub use crate::expr::Function;
pub(crate) use crate::expr::{Derivation, ResultType};
pub(crate) use json::WANTED_ELEMENT;

/// Any number of arguments from the least on.
pub(crate) const MANY: usize = usize::MAX;

const TABLES: &[&[Function]] = &[
    numeric::TABLE,
    text::TABLE,
    text_format::TABLE,
    text_search::TABLE,
    regular::TABLE,
    choice::TABLE,
    hash::TABLE,
    aes::TABLE,
    gtid::TABLE,
    network::TABLE,
    information::TABLE,
    date::TABLE,
    date_format::TABLE,
    date_parse::TABLE,
    time::TABLE,
    json::TABLE,
    json_change::TABLE,
    json_scalar::TABLE,
    json_schema::TABLE,
    json_search::TABLE,
    partition::TABLE,
];

/// Every function of the registry.
pub fn all() -> impl Iterator<Item = &'static Function> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The function of this name (any case), if there is one.
pub fn find(name: &str) -> Option<&'static Function> {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static Function>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| all().map(|function| (function.name, function)).collect());
    by_name.get(name.to_ascii_uppercase().as_str()).copied()
}
