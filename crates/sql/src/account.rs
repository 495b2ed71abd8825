//! Accounts.

use shoal_cluster::Catalog;
use shoal_parser::ast::Statement;
use shoal_types::Result;

use crate::frontend::Account;
use crate::session::plans::Plan;
use crate::session::{Session, SessionShared};

pub fn find(_catalog: &Catalog, _user: &str, _host: &str) -> Option<Account> {
    None
}

pub fn matching(_catalog: &Catalog, user: &str, host: &str) -> (String, String) {
    (user.to_owned(), host.to_owned())
}

pub fn check_plan(_session: &Session, _plan: &Plan) -> Result<()> {
    Ok(())
}

pub fn check_database(_session: &Session, _name: &str) -> Result<()> {
    Ok(())
}

pub fn check_kill(_session: &Session, _target: &SessionShared) -> Result<()> {
    Ok(())
}

pub async fn run(_session: &mut Session, _statement: &Statement) -> Result<()> {
    Ok(())
}
