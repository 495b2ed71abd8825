//! SIGNAL, RESIGNAL and GET DIAGNOSTICS of a program.

use std::sync::Arc;

use shoal_types::{Collation, Error, ErrorCode, Result, Value, WarningLevel};

use super::assign::assign;
use super::caller::Caller;
use super::code::{Compiled, DiagnosticsCode, SignalCode};
use super::condition::Handled;
use super::evaluate;
use super::frame::Frame;
use super::handlers::{Next, clear_conditions, warned};
use crate::diagnostics;

/// SIGNAL and RESIGNAL, if that takes no waiting.
pub fn signal_now<H: Caller>(
    signal: &SignalCode,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Option<Result<Next>> {
    let mut items = Vec::with_capacity(signal.items.len());
    for (name, value) in &signal.items {
        match value.plain_value(&frame.slots, host)? {
            Ok((value, _)) => items.push((name.clone(), value)),
            Err(error) => return Some(Err(error)),
        }
    }
    Some(raise(signal, &items, compiled, frame, host))
}

pub async fn run_signal<H: Caller>(
    signal: &SignalCode,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Result<Next> {
    let mut items = Vec::with_capacity(signal.items.len());
    for (name, value) in &signal.items {
        items.push((name.clone(), evaluate::value(value, compiled, frame, host).await?.0));
    }
    raise(signal, &items, compiled, frame, host)
}

fn raise<H: Caller>(
    signal: &SignalCode,
    items: &[(String, Value)],
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Result<Next> {
    let strict = frame.options(host).strict;
    let handled = frame.handling.last().map(|handling| &handling.handled);
    if signal.resignal && handled.is_none() {
        return Err(diagnostics::resignal_without_handler());
    }
    let base = handled.filter(|_| signal.resignal).and_then(Handled::again);
    let signalled = Arc::new(diagnostics::signalled(signal.state, base, items, strict)?);
    if !signalled.sqlstate.starts_with(b"01") {
        return Err(Error::signalled(signalled));
    }
    clear_conditions(host);
    let code = ErrorCode::from_errno(signalled.errno).unwrap_or(ErrorCode::SignalWarn);
    host.warn(WarningLevel::Warning, code, &signalled.message);
    host.state().signalled = Some(signalled);
    Ok(warned(compiled, frame, host))
}

/// GET DIAGNOSTICS, if that takes no waiting.
pub fn diagnostics_now<H: Caller>(
    get: &DiagnosticsCode,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Option<Result<()>> {
    let number = match &get.number {
        None => None,
        Some(number) => Some(number.plain_value(&frame.slots, host)?.map(|(number, _)| number)),
    };
    Some(number.transpose().and_then(|number| get_diagnostics(get, number, compiled, frame, host)))
}

/// `number`: of the condition.
pub fn get_diagnostics<H: Caller>(
    get: &DiagnosticsCode,
    number: Option<Value>,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Result<()> {
    let stacked = match (get.stacked, frame.handling.last()) {
        (false, _) => None,
        (true, Some(handling)) => Some(handling.handled.clone()),
        (true, None) => return Err(diagnostics::stacked_without_handler()),
    };
    let number = number.map(|number| usize::try_from(number.to_i64().value).unwrap_or(0));
    let mut found = Vec::with_capacity(get.items.len());
    for (target, name) in &get.items {
        let state = host.state();
        let (list, signalled) = match &stacked {
            Some(handled) => (&handled.conditions, handled.signalled.as_deref()),
            None => (&state.warnings, state.signalled.as_deref()),
        };
        let item = match number {
            None => diagnostics::statement_item(list, state.row_count, name),
            Some(number) => diagnostics::condition_item(list, signalled, number, name),
        };
        match item {
            Err(error) if error.is(ErrorCode::DaInvalidConditionNumber) => {
                host.warn(WarningLevel::Error, ErrorCode::DaInvalidConditionNumber, error.message());
                return Ok(());
            }
            item => found.push((target, item?)),
        }
    }
    for (target, value) in found {
        assign(target, (value, Collation::UTF8MB4_0900_AI_CI), None, compiled, frame, host)?;
    }
    Ok(())
}
