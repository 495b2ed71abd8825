//! Reading system variables: `@@name` and SHOW VARIABLES.

use std::sync::PoisonError;

use shoal_expr::{Expr, SessionValues};
use shoal_parser::ast::{SystemVariable, VariableScope};
use shoal_types::{Error, ErrorCode, Result, SqlType, Value};

use super::SessionVariables;
use super::registry::{self, Definition, Kind, Scope};
use crate::query_log::Log;
use crate::resolve::SystemVariables;
use crate::resolve::expression::string_literal;
use crate::server::Server;
use crate::session::Session;
use crate::session::state::SessionState;

/// Reads variables of a session.
#[derive(Clone, Copy)]
pub struct VariableReader<'a> {
    pub server: &'a Server,
    pub variables: &'a SessionVariables,
    pub state: &'a SessionState,
}

impl Session {
    pub fn variable_text(&self, definition: &'static Definition, global: bool) -> String {
        let reader = VariableReader { server: &self.server, variables: &self.variables, state: &self.state };
        reader.variable_text(definition, global)
    }
}

impl VariableReader<'_> {
    /// A variable's text in a scope.
    pub fn variable_text(&self, definition: &'static Definition, global: bool) -> String {
        if let Some(text) = self.live_text(definition.name, global) {
            return text;
        }
        if !global && definition.in_session() {
            return self.variables.text(definition);
        }
        self.server.globals.read().unwrap_or_else(PoisonError::into_inner).text(definition)
    }

    fn log_path(&self, log: Log) -> Option<String> {
        let globals = self.server.globals.read().unwrap_or_else(PoisonError::into_inner);
        self.server.query_logs.path(log, &globals).map(|path| path.display().to_string())
    }

    /// Variables whose value is kept elsewhere.
    fn live_text(&self, name: &str, global: bool) -> Option<String> {
        Some(match name {
            "port" => self.server.listening()?.0.to_string(),
            "datadir" => self.server.listening()?.1.clone(),
            "slow_query_log_file" => self.log_path(Log::Slow)?,
            "general_log_file" => self.log_path(Log::General)?,
            "audit_log_file" => self.log_path(Log::Audit)?,
            "warning_count" => self.state.warning_count.to_string(),
            "error_count" => {
                let is_error = |warning: &&shoal_types::Warning| warning.level == shoal_types::WarningLevel::Error;
                self.state.warnings.iter().filter(is_error).count().to_string()
            }
            "proxy_user" => {
                let (user, host) = self.state.proxy_user.as_ref()?;
                format!("'{user}'@'{host}'")
            }
            "last_insert_id" | "identity" => self.state.last_insert_id.to_string(),
            "timestamp" => {
                let micros = self.variables.timestamp_micros.unwrap_or_else(|| self.server.clock_micros());
                format!("{}.{:06}", micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000))
            }
            "handlersocket_plain_secret" | "handlersocket_plain_secret_wr" => {
                // That there is one may be known.
                if self.server.global_text(name).is_empty() { String::new() } else { "********".to_owned() }
            }
            "data_memory" => self.server.node.memory_usage().limit_bytes.to_string(),
            "character_set_database" if !global => self.variables.collation_database.charset().name().to_owned(),
            "collation_database" if !global => self.variables.collation_database.name().to_owned(),
            _ => return None,
        })
    }
}

impl SystemVariables for VariableReader<'_> {
    fn system_variable(&self, variable: &SystemVariable) -> Result<Expr> {
        let name = &*registry::full_name(variable);
        let definition = registry::find(name).ok_or_else(|| registry::unknown(name))?;
        let global = match variable.scope {
            Some(VariableScope::Global | VariableScope::Persist | VariableScope::PersistOnly) => {
                if !definition.is_global() {
                    return Err(wrong_scope(name, "SESSION"));
                }
                true
            }
            Some(VariableScope::Session) => {
                if !definition.in_session() && definition.scope != Scope::ReadOnly {
                    return Err(wrong_scope(name, "GLOBAL"));
                }
                false
            }
            None => false,
        };
        let collation = self.variables.settings.collation_connection;
        Ok(as_expression(definition, &self.variable_text(definition, global), collation))
    }

    fn user_variable_type(&self, name: &str) -> Option<SqlType> {
        self.state.user_variable(name).map(|(_, sql_type)| sql_type)
    }
}

fn wrong_scope(name: &str, scope: &str) -> Error {
    let message = format!("Variable '{name}' is a {scope} variable");
    Error::new(ErrorCode::IncorrectGlobalLocalVar, message)
}

/// The value as a literal of the variable's type: switches are 1 and 0.
fn as_expression(definition: &Definition, text: &str, collation: shoal_types::Collation) -> Expr {
    match definition.kind {
        Kind::Switch => {
            Expr::literal(Value::Int(i64::from(text == "ON")), SqlType { length: 1, ..SqlType::bigint(false) })
        }
        Kind::Integer(..) => Expr::literal(Value::UInt(text.parse().unwrap_or(0)), SqlType::bigint(true)),
        Kind::Real => Expr::literal(Value::Double(text.parse().unwrap_or(0.0)), SqlType::double()),
        Kind::Text if text == "NULL" => Expr::null(),
        Kind::Word(_) | Kind::Words(_) | Kind::Text | Kind::Engine => {
            string_literal(text.as_bytes().to_vec(), collation)
        }
    }
}

/// (name, value) of every variable, for SHOW VARIABLES and its tables.
pub fn list(session: &Session, global: bool) -> Vec<(String, String)> {
    let shown = |definition: &&Definition| {
        if global { definition.is_global() } else { definition.scope != Scope::Session || definition.in_session() }
    };
    let text = |definition: &'static Definition| {
        let text = session.variable_text(definition, global);
        (definition.name.to_owned(), if text == "NULL" { String::new() } else { text })
    };
    registry::ALL.iter().filter(shown).map(text).collect()
}
