//! LOAD DATA.

use shoal_parser::ast;
use shoal_types::{Error, Result};

use super::Affected;
use crate::frontend::ResultSink;
use crate::session::Session;

pub async fn run<S: ResultSink>(_session: &mut Session, _load: &ast::LoadData, _sink: &mut S) -> Result<Affected> {
    Err(Error::unsupported("LOAD DATA"))
}
