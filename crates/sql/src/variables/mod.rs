//! System variables: what they are called, what they may be set to, and their values in a session and in the server.

use std::collections::BTreeMap;

use shoal_expr::{Settings, SqlMode};
use shoal_txn::Isolation;
use shoal_types::{Charset, Collation, TimeZone};

/// A session's values. Variables that the server looks at have fields; the others are kept as text.
#[derive(Clone, Debug)]
pub struct SessionVariables {
    pub autocommit: bool,
    /// What evaluation reads: the effective parts of sql_mode, div_precision_increment, collation_connection ...
    pub settings: Settings,
    /// All words of sql_mode, in MySQL's order.
    pub sql_mode: Vec<&'static str>,
    pub parser_mode: shoal_parser::SqlMode,
    pub only_full_group_by: bool,
    pub no_auto_value_on_zero: bool,
    pub time_zone: TimeZone,
    pub time_zone_name: String,
    pub isolation: Isolation,
    pub transaction_read_only: bool,
    pub character_set_client: Charset,
    /// `None`: results are not converted (character_set_results = NULL).
    pub character_set_results: Option<Charset>,
    pub collation_database: Collation,
    pub collation_server: Collation,
    pub lock_wait_timeout_s: u64,
    pub innodb_lock_wait_timeout_s: u64,
    pub max_execution_time_ms: u64,
    pub sql_select_limit: u64,
    pub max_error_count: usize,
    pub wait_timeout_s: u64,
    pub sql_safe_updates: bool,
    pub auto_increment_increment: u64,
    pub auto_increment_offset: u64,
    /// SET timestamp: the clock of the session stands still, microseconds since 1970 UTC.
    pub timestamp_micros: Option<i64>,
    /// SET insert_id: the next AUTO_INCREMENT value.
    pub transaction_allow_batching: bool,
    /// Others, by lower-case name.
    pub other: BTreeMap<&'static str, String>,
}

impl Default for SessionVariables {
    fn default() -> SessionVariables {
        SessionVariables {
            autocommit: true,
            settings: Settings { sql_mode: SqlMode::default(), ..Settings::default() },
            sql_mode: vec![
                "ONLY_FULL_GROUP_BY",
                "STRICT_TRANS_TABLES",
                "NO_ZERO_IN_DATE",
                "NO_ZERO_DATE",
                "ERROR_FOR_DIVISION_BY_ZERO",
                "NO_ENGINE_SUBSTITUTION",
            ],
            parser_mode: shoal_parser::SqlMode::NONE,
            only_full_group_by: true,
            no_auto_value_on_zero: false,
            time_zone: TimeZone::UTC,
            time_zone_name: "SYSTEM".to_owned(),
            isolation: Isolation::RepeatableRead,
            transaction_read_only: false,
            character_set_client: Charset::Utf8mb4,
            character_set_results: Some(Charset::Utf8mb4),
            collation_database: Collation::UTF8MB4_0900_AI_CI,
            collation_server: Collation::UTF8MB4_0900_AI_CI,
            lock_wait_timeout_s: 31_536_000,
            innodb_lock_wait_timeout_s: 50,
            max_execution_time_ms: 0,
            sql_select_limit: u64::MAX,
            max_error_count: 1024,
            wait_timeout_s: 28_800,
            sql_safe_updates: false,
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            timestamp_micros: None,
            transaction_allow_batching: false,
            other: BTreeMap::new(),
        }
    }
}

pub mod set;

/// Values of SET GLOBAL.
#[derive(Clone, Debug, Default)]
pub struct Globals;

impl Globals {
    /// `--set` of the command line. Errors: unknown name, unfit value.
    pub fn set_at_start(&mut self, name: &str, _value: &str) -> shoal_types::Result<()> {
        let message = format!("Unknown system variable '{name}'");
        Err(shoal_types::Error::new(shoal_types::ErrorCode::UnknownSystemVariable, message))
    }

    pub fn max_connections(&self) -> u64 {
        151
    }

    pub fn max_allowed_packet(&self) -> usize {
        64 << 20
    }

    pub fn connect_timeout_s(&self) -> u64 {
        10
    }
}

impl SessionVariables {
    pub fn for_connection(_globals: &Globals, _info: &crate::frontend::ConnectInfo) -> SessionVariables {
        SessionVariables::default()
    }
}

/// Reads variables for the resolver.
pub struct VariableReader<'a>(pub &'a crate::session::Session);

impl crate::resolve::SystemVariables for VariableReader<'_> {
    fn system_variable(
        &self,
        variable: &shoal_parser::ast::SystemVariable,
    ) -> shoal_types::Result<shoal_expr::Expr> {
        let message = format!("Unknown system variable '{}'", variable.name.value);
        Err(shoal_types::Error::new(shoal_types::ErrorCode::UnknownSystemVariable, message))
    }

    fn user_variable_type(&self, name: &str) -> Option<shoal_types::SqlType> {
        use shoal_expr::SessionValues;
        self.0.state.user_variable(name).map(|(_, sql_type)| sql_type)
    }
}

impl crate::session::Session {
    pub fn variable_reader(&self) -> VariableReader<'_> {
        VariableReader(self)
    }
}
