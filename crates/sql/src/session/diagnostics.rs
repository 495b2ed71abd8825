//! SIGNAL, RESIGNAL and GET DIAGNOSTICS (MySQL 8.4 manual, 15.6.7).
//!
//! The diagnostics area is what SHOW WARNINGS lists. A condition of SIGNAL is the only one there; what it says beyond a
//! number and a text stands beside the list, in `SessionState::signalled`.

use std::sync::Arc;

use shoal_expr::SessionValues;
use shoal_parser::ast::{ConditionValue, GetDiagnostics, IntoTarget, Signal};
use shoal_types::{Error, ErrorCode, Result, SqlType, Value, WarningLevel};

use super::Session;
use crate::diagnostics::{
    check_items, condition_item, resignal_without_handler, signalled, sqlstate, stacked_without_handler,
    statement_item,
};

impl Session {
    /// SIGNAL and RESIGNAL. A condition of class 01 is a warning, any other ends the statement.
    ///
    /// Errors: the signalled condition; 1645, 1319, 1407, 1641, 1648, 1231.
    pub(super) async fn run_signal(&mut self, signal: &Signal) -> Result<()> {
        if signal.resignal {
            return Err(resignal_without_handler());
        }
        let sqlstate = state_of(signal.condition.as_ref())?;
        check_items(&signal.items)?;
        let mut items = Vec::with_capacity(signal.items.len());
        for (name, expression) in &signal.items {
            let value = self.evaluate(std::slice::from_ref(expression)).await?.pop();
            items.push((name.clone(), value.map_or(Value::Null, |(value, _)| value)));
        }
        let strict = self.variables.settings.sql_mode.strict;
        let signalled = Arc::new(signalled(Some(sqlstate), None, &items, strict)?);
        self.clear_conditions();
        if !signalled.sqlstate.starts_with(b"01") {
            return Err(Error::signalled(signalled));
        }
        let code = ErrorCode::from_errno(signalled.errno).unwrap_or(ErrorCode::SignalWarn);
        self.warn(WarningLevel::Warning, code, signalled.message.as_str());
        self.state.signalled = Some(signalled);
        Ok(())
    }

    /// GET DIAGNOSTICS. The conditions stay as they are; a condition that is not there (1758) is added to them and ends nothing.
    ///
    /// Errors: 1887 for STACKED, 1327 for a name without `@`.
    pub(super) async fn run_get_diagnostics(&mut self, get: &GetDiagnostics) -> Result<()> {
        if get.stacked {
            return Err(stacked_without_handler());
        }
        let place = match &get.condition {
            None => None,
            Some(expression) => {
                let kept = (self.state.warnings.clone(), self.state.warning_count, self.state.signalled.clone());
                let value = self.evaluate(std::slice::from_ref(expression)).await;
                (self.state.warnings, self.state.warning_count, self.state.signalled) = kept;
                let number = value?.pop().map_or(0, |(value, _)| value.to_i64().value);
                Some(usize::try_from(number).unwrap_or(0))
            }
        };
        let mut found = Vec::new();
        for (target, name) in &get.items {
            let variable = match target {
                IntoTarget::UserVariable(variable) => variable,
                IntoTarget::Local(local) => {
                    let message = format!("Undeclared variable: {}", local.value);
                    return Err(Error::new(ErrorCode::SpUndeclaredVar, message));
                }
            };
            let (list, signalled) = (&self.state.warnings, self.state.signalled.as_deref());
            let item = match place {
                None => statement_item(list, self.state.row_count, name)?,
                Some(place) => match condition_item(list, signalled, place, name) {
                    Err(error) if error.is(ErrorCode::DaInvalidConditionNumber) => {
                        self.warn(WarningLevel::Error, ErrorCode::DaInvalidConditionNumber, error.message());
                        return Ok(());
                    }
                    item => item?,
                },
            };
            found.push((variable, item));
        }
        let collation = self.variables.settings.collation_connection;
        for (variable, value) in found {
            let sql_type = match value {
                Value::Int(_) => SqlType::bigint(false),
                _ => SqlType::varchar(65_535, collation),
            };
            self.state.set_user_variable(variable, value, sql_type);
            self.tracker.note_change();
        }
        Ok(())
    }
}

fn state_of(condition: Option<&ConditionValue>) -> Result<[u8; 5]> {
    match condition {
        Some(ConditionValue::SqlState(text)) => sqlstate(text),
        Some(ConditionValue::Named(name)) => {
            Err(Error::new(ErrorCode::SpCondMismatch, format!("Undefined CONDITION: {}", name.value)))
        }
        _ => Err(Error::new(ErrorCode::Parse, "SIGNAL takes an SQLSTATE or the name of a condition")),
    }
}
