//! The syntax tree: what a statement says, before anything is looked up in the dictionary.
//!
//! Everything is owned, so a tree outlives the bytes it was read from (plan caches, stored programs). Positions (`offset`) point
//! into those bytes and do not take part in equality: two expressions are equal when they say the same thing, which is
//! what matching a select item against GROUP BY needs.
//!
//! The tree is as written, with synonyms folded where MySQL gives them one meaning (`SUBSTR`/`MID`/`SUBSTRING .. FROM`, `POSITION` and
//! `LOCATE`, `&&` and `AND`). Nothing is resolved, typed or evaluated here.

mod account;
mod admin;
mod data_type;
mod ddl;
mod dml;
mod expr;
mod object;
mod replication;
mod routine;
mod select;
mod session;
mod show;
mod statement;
mod table;

pub use account::*;
pub use admin::*;
pub use data_type::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use object::*;
pub use replication::*;
pub use routine::*;
pub use select::*;
pub use session::*;
pub use show::*;
pub use statement::*;
pub use table::*;

/// A name with its case preserved. Equality looks at the exact text only.
#[derive(Clone)]
pub struct Ident {
    pub value: String,
    /// Byte offset of the name's first byte (or opening quote) in the source.
    pub offset: u32,
    /// Written in backticks, or in double quotes under ANSI_QUOTES.
    pub quoted: bool,
}

impl Ident {
    pub fn new(value: impl Into<String>) -> Ident {
        Ident { value: value.into(), offset: 0, quoted: false }
    }

    /// True when the name is `other` without regard to ASCII case.
    pub fn is(&self, other: &str) -> bool {
        self.value.eq_ignore_ascii_case(other)
    }
}

impl std::fmt::Debug for Ident {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Ident({})", crate::quote_identifier(&self.value))
    }
}

impl PartialEq for Ident {
    fn eq(&self, other: &Ident) -> bool {
        self.value == other.value
    }
}

impl Eq for Ident {}

/// The name of a table, view, routine, trigger or event, with its schema when the statement gave one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    pub schema: Option<Ident>,
    pub name: Ident,
}

/// `NAME` or `NAME = value` where the value's meaning belongs to the reader of the option.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    Integer(u64),
    Decimal(String),
    Text(Vec<u8>),
    Word(String),
}
