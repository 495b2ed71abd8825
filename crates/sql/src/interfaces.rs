//! What interfaces without sessions of their own ask the SQL layer for: settings, rights, defaults that are expressions.

use std::sync::{Arc, PoisonError};

use shoal_cluster::Table;
use shoal_expr::EvalContext;
use shoal_txn::new_row::AutoIncrementSettings;
use shoal_types::{Result, TimeZone, Value};

use crate::account::{self, Privileges};
use crate::ddl::defaults;
use crate::dml::DefaultValue;
use crate::dml::row::RowBuilder;
use crate::frontend::{ConnectInfo, Frontend};
use crate::read_only;
use crate::server::{InterfaceStatus, Server};
use crate::session::Session;
use crate::shared_server::SharedServer;

impl Server {
    /// The text of a global variable; empty if there is none of this name.
    pub fn global_text(&self, name: &str) -> String {
        let globals = self.globals.read().unwrap_or_else(PoisonError::into_inner);
        globals.named_text(name)
    }

    /// The time zone that sessions begin with.
    pub fn time_zone(&self) -> TimeZone {
        TimeZone::parse(&self.global_text("time_zone")).unwrap_or(TimeZone::UTC)
    }

    /// Adds to SHOW STATUS. Once.
    pub fn set_interface_status(&self, status: InterfaceStatus) {
        let _ = self.interface_status.set(status);
    }

    pub(crate) fn status_of_interfaces(&self) -> Vec<(&'static str, u64)> {
        self.interface_status.get().map(|status| status()).unwrap_or_default()
    }

    /// What an account (user, host) may do with a table: nothing if it is locked, or has a password and `is_trusted` is false.
    pub fn rights(&self, key: &(String, String), is_trusted: bool, database: &str, table: &str) -> Privileges {
        account::of_account(&self.node.catalog(), key, is_trusted, database, table)
    }

    /// Whether writes of an account (user, host) are refused.
    pub fn refuses_writes_of(&self, key: impl FnOnce() -> (String, String)) -> bool {
        self.read_only.refuses(|| account::global_of(&self.node.catalog(), &key()).intersects(read_only::EXEMPT))
    }

    /// # Errors
    /// 1290: writes of the account are refused.
    pub fn check_writes_of(&self, key: &(String, String)) -> Result<()> {
        if self.refuses_writes_of(|| key.clone()) { Err(self.read_only.refusal()) } else { Ok(()) }
    }
}

/// The value of a column's DEFAULT (expression) for a new row, as the column holds it.
pub fn expression_default(server: &Arc<Server>, table: &Arc<Table>, column: usize) -> Result<Value> {
    let id = SharedServer(Arc::clone(server)).next_connection_id();
    let info = ConnectInfo::internal(id, String::new(), String::new(), Some(table.schema.database.clone()));
    let session = Session::open(Arc::clone(server), info)?;
    let zone = server.time_zone();
    let mut eval = EvalContext::new(&[], &zone, server.clock_micros(), session.variables.settings);
    let builder = RowBuilder::new(table, false, AutoIncrementSettings::default(), &eval);
    let no_row: &[Value] = &[];
    match defaults::resolve(&session, table)?.0.get(column) {
        Some(DefaultValue::Expression(expression)) => {
            let value = expression.eval(no_row, &mut eval)?;
            builder.convert(column, value, expression.sql_type().collation, 1, &mut eval)
        }
        _ => builder.missing(column, &mut eval),
    }
}
