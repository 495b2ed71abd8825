//! The syntax tree: what a statement says, before anything is looked up in the dictionary.
//!
//! Everything is owned, so a tree outlives the bytes it was read from (plan caches, stored programs). Positions (`offset`) point
//! into those bytes and do not take part in equality: two expressions are equal when they say the same thing, which is
//! what matching a select item against GROUP BY needs.
//!
//! The tree is as written, with synonyms folded where MySQL gives them one meaning (`SUBSTR`/`MID`/`SUBSTRING .. FROM`, `POSITION` and
//! `LOCATE`, `&&` and `AND`). Nothing is resolved, typed or evaluated here.
//!
//! - `statement`, with stored programs and SHOW: the kinds of statements.
//! - `query`, with expressions and table references; `name`, `literal`, `operator`, `interval`: what expressions are made of.
//! - `create_table`, `alter_table`, `partition`, `table_option`, `data_type`, `object`: definitions.
//! - `dml`, `into`: rows that change, and files with rows.
//! - `session`, `account`, `admin`, `replication`: the rest.

mod account;
mod admin;
mod alter_table;
mod create_table;
mod data_type;
mod dml;
mod interval;
mod into;
mod literal;
mod name;
mod object;
mod operator;
mod partition;
mod query;
mod replication;
mod session;
mod statement;
mod table_option;

pub use account::*;
pub use admin::*;
pub use alter_table::*;
pub use create_table::*;
pub use data_type::*;
pub use dml::*;
pub use interval::*;
pub use into::*;
pub use literal::*;
pub use name::*;
pub use object::*;
pub use operator::*;
pub use partition::*;
pub use query::*;
pub use replication::*;
pub use session::*;
pub use statement::*;
pub use table_option::*;
