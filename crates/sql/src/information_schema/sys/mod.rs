//! sys: what performance_schema and information_schema tell, for people; the views whose names begin with `x$` have the same figures as
//! plain numbers.
//!
//! - `tables`: which views there are; `format`: times and sizes for people.
//! - `sessions`: what runs; `accounts`: by user and host; `statements`: by digest; `schema`: tables and indexes; `server`: the rest.

mod accounts;
pub(super) mod format;
mod schema;
mod server;
mod sessions;
mod statements;
pub(super) mod tables;
