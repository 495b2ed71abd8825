//! Conditions and what handles them (manual, "DECLARE ... HANDLER Statement").

use std::sync::Arc;

use shoal_types::{Error, ErrorCode, Signalled, Warning, WarningLevel};

/// What a handler is declared for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandlerFor {
    Code(u16),
    State([u8; 5]),
    SqlWarning,
    NotFound,
    SqlException,
}

/// A condition that a statement has raised.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    pub errno: u16,
    pub sqlstate: [u8; 5],
    pub level: WarningLevel,
}

impl Condition {
    pub fn of_error(error: &Error) -> Condition {
        Condition { errno: error.errno(), sqlstate: *error.sqlstate(), level: WarningLevel::Error }
    }

    pub fn of_warning(warning: &Warning, signalled: Option<&Signalled>) -> Condition {
        match signalled {
            Some(signalled) => {
                Condition { errno: signalled.errno, sqlstate: signalled.sqlstate, level: warning.level }
            }
            None => {
                Condition { errno: warning.code.errno(), sqlstate: *warning.code.sqlstate(), level: warning.level }
            }
        }
    }

    /// How well a handler fits; `None`: it does not. Numbers fit better than states, states better than classes.
    pub fn fits(&self, handler: &HandlerFor) -> Option<u8> {
        let class = &self.sqlstate[..2];
        match handler {
            HandlerFor::Code(code) => (*code == self.errno).then_some(2),
            HandlerFor::State(state) => (*state == self.sqlstate).then_some(1),
            HandlerFor::SqlWarning => (class == b"01" || self.level == WarningLevel::Warning).then_some(0),
            HandlerFor::NotFound => (class == b"02").then_some(0),
            HandlerFor::SqlException => {
                let is_exception = !matches!(class, b"00" | b"01" | b"02");
                (is_exception && self.level == WarningLevel::Error).then_some(0)
            }
        }
    }
}

/// What GET STACKED DIAGNOSTICS and RESIGNAL see while a handler runs.
#[derive(Clone, Default)]
pub struct Handled {
    pub conditions: Vec<Warning>,
    pub signalled: Option<Arc<Signalled>>,
    /// The error; `None`: warnings were handled.
    pub error: Option<Error>,
}

impl Handled {
    /// The condition as RESIGNAL raises it.
    pub fn again(&self) -> Option<Signalled> {
        if let Some(signalled) = &self.signalled {
            return Some(Signalled::clone(signalled));
        }
        if let Some(error) = &self.error {
            return Some(Signalled {
                errno: error.errno(),
                sqlstate: *error.sqlstate(),
                message: error.message().to_owned(),
                items: Vec::new(),
            });
        }
        let warning = self.conditions.last()?;
        let sqlstate = match *warning.code.sqlstate() {
            state if &state == b"HY000" => *b"01000",
            state => state,
        };
        let message = warning.message.clone();
        Some(Signalled { errno: warning.code.errno(), sqlstate, message, items: Vec::new() })
    }
}

/// No handler may keep a statement that is to end from ending.
pub fn is_beyond_handlers(error: &Error) -> bool {
    let codes = [
        ErrorCode::QueryInterrupted,
        ErrorCode::QueryTimeout,
        ErrorCode::ConnLimit,
        ErrorCode::GlobalConnLimit,
        ErrorCode::OutOfResources,
    ];
    codes.into_iter().any(|code| error.is(code))
}

/// Errors: 1422.
pub fn no_commit() -> Error {
    let message = "Explicit or implicit commit is not allowed in stored function or trigger.";
    Error::new(ErrorCode::CommitNotAllowedInSfOrTrg, message)
}
