//! SHOW and its kin.

use shoal_parser::ast;
use shoal_types::{Error, Result};

use crate::frontend::{ResultColumn, ResultSink};
use crate::session::Session;

pub async fn run<S: ResultSink>(
    _session: &mut Session,
    _show: &ast::Show,
    _more: bool,
    _sink: &mut S,
) -> Result<()> {
    Err(Error::unsupported("SHOW"))
}

pub async fn describe<S: ResultSink>(
    _session: &mut Session,
    _describe: &ast::Describe,
    _more: bool,
    _sink: &mut S,
) -> Result<()> {
    Err(Error::unsupported("DESCRIBE"))
}

pub async fn maintenance<S: ResultSink>(
    _session: &mut Session,
    _maintenance: &ast::TableMaintenance,
    _more: bool,
    _sink: &mut S,
) -> Result<()> {
    Err(Error::unsupported("table maintenance"))
}

pub fn flush(_session: &mut Session, _statement: &ast::Statement) -> Result<()> {
    Ok(())
}

pub fn result_columns(_session: &mut Session, _statement: &ast::Statement) -> Result<Vec<ResultColumn>> {
    Ok(Vec::new())
}

pub fn field_list(_session: &mut Session, _table: &str, _pattern: &str) -> Result<Vec<ResultColumn>> {
    Err(Error::unsupported("COM_FIELD_LIST"))
}
