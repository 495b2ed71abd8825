//! EXPLAIN.

use shoal_parser::ast;
use shoal_types::{Error, Result};

use crate::frontend::ResultSink;
use crate::session::Session;

pub async fn run<S: ResultSink>(
    _session: &mut Session,
    _explain: &ast::Explain,
    _more: bool,
    _sink: &mut S,
) -> Result<()> {
    Err(Error::unsupported("EXPLAIN"))
}

pub fn result_columns(_explain: &ast::Explain) -> Vec<crate::frontend::ResultColumn> {
    Vec::new()
}
