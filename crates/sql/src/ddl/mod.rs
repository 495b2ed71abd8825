//! Data definition: databases, tables, indexes.

pub mod build;
pub mod column;
pub mod column_type;
pub mod database;
pub mod draft;
pub mod engine;
pub mod errors;
pub mod key;
pub mod options;
pub mod show_create;

use shoal_parser::ast::Statement;
use shoal_types::{Error, Result};

use crate::dml::Affected;
use crate::session::Session;

pub fn check_supported(_statement: &Statement) -> Result<()> {
    Ok(())
}

pub async fn run(_session: &mut Session, _statement: &Statement) -> Result<Affected> {
    Err(Error::unsupported("DDL"))
}
