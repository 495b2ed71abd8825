//! Conditions and what is told of them: SIGNAL, RESIGNAL, GET DIAGNOSTICS (MySQL 8.4 manual, 15.6.7).

use shoal_types::{Error, ErrorCode, Result, Signalled, Value, Warning, WarningLevel};

use crate::session::state::SessionState;

/// Characters that MESSAGE_TEXT takes.
const MESSAGE_CHARS_MAX: usize = 128;
/// Characters that the other texts take.
const ITEM_CHARS_MAX: usize = 64;
/// What a condition says in texts, beside its message and its state.
const TEXT_ITEMS: [&str; 10] = [
    "CLASS_ORIGIN",
    "SUBCLASS_ORIGIN",
    "CONSTRAINT_CATALOG",
    "CONSTRAINT_SCHEMA",
    "CONSTRAINT_NAME",
    "CATALOG_NAME",
    "SCHEMA_NAME",
    "TABLE_NAME",
    "COLUMN_NAME",
    "CURSOR_NAME",
];

/// Errors: 1645.
pub fn resignal_without_handler() -> Error {
    Error::new(ErrorCode::ResignalWithoutActiveHandler, "RESIGNAL when handler not active")
}

/// Errors: 1887.
pub fn stacked_without_handler() -> Error {
    let message = "GET STACKED DIAGNOSTICS when handler not active";
    Error::new(ErrorCode::GetStackedDaWithoutActiveHandler, message)
}

/// The error is the only condition.
pub fn set_error(state: &mut SessionState, error: &Error) {
    state.row_count = -1;
    let warning = Warning {
        level: WarningLevel::Error,
        code: ErrorCode::from_errno(error.errno()).unwrap_or(ErrorCode::UnknownError),
        message: error.message().to_owned(),
    };
    state.warnings.clear();
    state.warnings.push(warning);
    state.signalled = error.as_signalled().cloned();
    state.warning_count = 1;
}

/// The condition of SIGNAL, or of RESIGNAL with the one that is handled as `base`. Errors: 1231, 1648.
pub fn signalled(
    sqlstate: Option<[u8; 5]>,
    base: Option<Signalled>,
    items: &[(String, Value)],
    strict: bool,
) -> Result<Signalled> {
    let mut signalled = match (base, sqlstate) {
        (Some(base), Some(sqlstate)) => Signalled { sqlstate, ..base },
        (Some(base), None) => base,
        (None, sqlstate) => {
            let sqlstate = sqlstate.unwrap_or(*b"45000");
            let (code, message) = match &sqlstate[..2] {
                b"01" => (ErrorCode::SignalWarn, "Unhandled user-defined warning condition"),
                b"02" => (ErrorCode::SignalNotFound, "Unhandled user-defined not found condition"),
                _ => (ErrorCode::SignalException, "Unhandled user-defined exception condition"),
            };
            Signalled { errno: code.errno(), sqlstate, message: message.to_owned(), items: Vec::new() }
        }
    };
    for (name, value) in items {
        set_item(&mut signalled, name, value, strict)?;
    }
    Ok(signalled)
}

fn set_item(signalled: &mut Signalled, name: &str, value: &Value, strict: bool) -> Result<()> {
    let text = String::from_utf8_lossy(&value.to_text()).into_owned();
    let unfit = |shown: &str| {
        let message = format!("Variable '{name}' can't be set to the value of '{shown}'");
        Error::new(ErrorCode::WrongValueForVar, message)
    };
    if value.is_null() {
        return Err(unfit("NULL"));
    }
    match name {
        "MYSQL_ERRNO" => {
            let errno = text.parse::<u16>().ok().filter(|errno| *errno > 0);
            signalled.errno = errno.ok_or_else(|| unfit(&text))?;
        }
        "MESSAGE_TEXT" => signalled.message = fitting(name, text, MESSAGE_CHARS_MAX, strict)?,
        _ => {
            let text = fitting(name, text, ITEM_CHARS_MAX, strict)?;
            signalled.items.retain(|(known, _)| known != name);
            signalled.items.push((name.to_owned(), text));
        }
    }
    Ok(())
}

/// Strict mode refuses a text that is too long; else it is cut.
fn fitting(name: &str, mut text: String, chars_max: usize, strict: bool) -> Result<String> {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return Ok(text) };
    if strict {
        let message = format!("Data too long for condition item '{name}'");
        return Err(Error::new(ErrorCode::CondItemTooLong, message));
    }
    text.truncate(end);
    Ok(text)
}

/// What GET DIAGNOSTICS tells of the statement.
pub fn statement_item(list: &[Warning], row_count: i64, name: &str) -> Result<Value> {
    match name {
        "NUMBER" => Ok(Value::Int(list.len() as i64)),
        "ROW_COUNT" => Ok(Value::Int(row_count)),
        _ => Err(unknown_item(name)),
    }
}

/// An item of the condition at `place`, counted from 1. `signalled`: what SIGNAL said of the first.
pub fn condition_item(list: &[Warning], signalled: Option<&Signalled>, place: usize, name: &str) -> Result<Value> {
    let index = place.wrapping_sub(1);
    let Some(warning) = list.get(index) else {
        return Err(Error::new(ErrorCode::DaInvalidConditionNumber, "Invalid condition number"));
    };
    let signalled = signalled.filter(|_| index == 0);
    let sqlstate = signalled.map_or_else(|| state_of_warning(warning), |signalled| signalled.sqlstate);
    let text = match name {
        "MYSQL_ERRNO" => {
            let errno = signalled.map_or_else(|| warning.code.errno(), |signalled| signalled.errno);
            return Ok(Value::Int(i64::from(errno)));
        }
        "RETURNED_SQLSTATE" => &*String::from_utf8_lossy(&sqlstate),
        "MESSAGE_TEXT" => &warning.message,
        _ if !TEXT_ITEMS.contains(&name) => return Err(unknown_item(name)),
        _ => match signalled.and_then(|signalled| signalled.item(name)) {
            Some(text) => text,
            None => origin(name, &sqlstate),
        },
    };
    Ok(Value::str(text))
}

/// SQL's standard knows the classes that begin with 0 to 4 or A to H; states of the others are MySQL's.
fn origin(name: &str, sqlstate: &[u8; 5]) -> &'static str {
    let is_standard = |byte: u8| matches!(byte, b'0'..=b'4' | b'A'..=b'H');
    match name {
        "CLASS_ORIGIN" | "SUBCLASS_ORIGIN" if !is_standard(sqlstate[0]) => "MySQL",
        "SUBCLASS_ORIGIN" if sqlstate[2] == b'S' => "ODBC 3.0",
        "CLASS_ORIGIN" | "SUBCLASS_ORIGIN" => "ISO 9075",
        _ => "",
    }
}

/// Warnings and notes without a state of their own are of class 01.
fn state_of_warning(warning: &Warning) -> [u8; 5] {
    match *warning.code.sqlstate() {
        state if warning.level != WarningLevel::Error && &state == b"HY000" => *b"01000",
        state => state,
    }
}

/// A condition's state as written. Errors: 1407.
pub fn sqlstate(text: &[u8]) -> Result<[u8; 5]> {
    let state = <[u8; 5]>::try_from(text).ok();
    let is_state = |state: &[u8; 5]| {
        !state.starts_with(b"00") && state.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
    };
    state.filter(is_state).ok_or_else(|| {
        let message = format!("Bad SQLSTATE: '{}'", String::from_utf8_lossy(text));
        Error::new(ErrorCode::SpBadSqlstate, message)
    })
}

pub fn check_items<T>(items: &[(String, T)]) -> Result<()> {
    for (place, (name, _)) in items.iter().enumerate() {
        if !TEXT_ITEMS.contains(&name.as_str()) && name != "MYSQL_ERRNO" && name != "MESSAGE_TEXT" {
            return Err(unknown_item(name));
        }
        if items[..place].iter().any(|(other, _)| other == name) {
            let message = format!("Duplicate condition information item '{name}'");
            return Err(Error::new(ErrorCode::DupSignalSet, message));
        }
    }
    Ok(())
}

fn unknown_item(name: &str) -> Error {
    Error::new(ErrorCode::Parse, format!("'{name}' is no condition information item that fits here"))
}
