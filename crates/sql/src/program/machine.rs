//! Runs the steps of a program.

use std::rc::Rc;
use std::sync::Arc;

use shoal_types::{Collation, Error, ErrorCode, Result, WarningLevel};

use super::assign::assign;
use super::caller::Caller;
use super::code::{Compiled, DiagnosticsCode, HandlerCode, SignalCode, Step};
use super::computed::Computed;
use super::condition::{Condition, Handled, is_beyond_handlers};
use super::frame::{Frame, Handling, OpenCursor};
use super::host::{Host, Inside};
use super::place::Target;
use crate::diagnostics;

/// Steps between two looks at the interrupt.
const STEPS_PER_CHECK: u32 = 256;

/// What follows a step.
enum Next {
    Step,
    To(usize),
    /// Whatever has been returned is in the result's slot.
    End,
}

/// Runs a program from its first step to its end. What it returns is in its result's slot.
///
/// # Errors
/// What no handler of the program's has handled.
pub async fn run<H: Caller>(compiled: &Rc<Compiled>, frame: &mut Frame, host: &mut H) -> Result<()> {
    let mut at = 0;
    let mut left = STEPS_PER_CHECK;
    while let Some(step) = compiled.steps.get(at) {
        left -= 1;
        if left == 0 {
            left = STEPS_PER_CHECK;
            host.interrupt().check_between_batches().await?;
        }
        let outcome = match at_once(step, compiled, frame, host) {
            Some(outcome) => outcome,
            None => perform((at, step), compiled, frame, host).await,
        };
        at = match outcome {
            Ok(Next::Step) => at + 1,
            Ok(Next::To(to)) => to,
            Ok(Next::End) => return Ok(()),
            Err(error) => handle(error, at, compiled, frame, host)?,
        };
    }
    Ok(())
}

/// Steps that compute with variables alone; `None`: it takes more.
#[inline]
fn at_once<H: Host>(
    step: &Step,
    compiled: &Rc<Compiled>,
    frame: &mut Frame,
    host: &mut H,
) -> Option<Result<Next>> {
    match step {
        Step::Assign { target: Target::Slot(slot), value } => {
            if let Some(number) = value.signed(&frame.slots, host)
                && frame.assign_signed(compiled, *slot, number)
            {
                return Some(Ok(Next::Step));
            }
            let value = match value.value_now(&frame.slots, host)? {
                Ok(value) => value,
                Err(error) => return Some(Err(error)),
            };
            Some(match frame.assign(compiled, *slot, value) {
                Ok(None) => Ok(Next::Step),
                Ok(Some(warning)) => {
                    host.warn(warning.level, warning.code, &warning.message);
                    Ok(Next::Step)
                }
                Err(error) => Err(error),
            })
        }
        Step::JumpUnless { condition, to } => Some(match condition.truth_now(&frame.slots, host)? {
            Ok(true) => Ok(Next::Step),
            Ok(false) => Ok(Next::To(*to)),
            Err(error) => Err(error),
        }),
        Step::Jump(to) => Some(Ok(Next::To(*to))),
        _ => None,
    }
}

async fn perform<H: Caller>(
    (at, step): (usize, &Step),
    compiled: &Rc<Compiled>,
    frame: &mut Frame,
    host: &mut H,
) -> Result<Next> {
    match step {
        Step::Assign { target, value } => {
            let value = value.value(&compiled.slots, &frame.slots, host).await?;
            assign(target, value, None, compiled, frame, host)?;
        }
        Step::JumpUnless { condition, to } => {
            if !condition.truth(&compiled.slots, &frame.slots, host).await? {
                return Ok(Next::To(*to));
            }
        }
        Step::Jump(to) => return Ok(Next::To(*to)),
        Step::Compute(value) => drop(value.value(&compiled.slots, &frame.slots, host).await?),
        Step::Keep { slot, value } => keep(*slot, value, compiled, frame, host).await?,
        Step::Enter(block) => frame.blocks.push(*block),
        Step::Leave(count) => frame.leave_to(frame.blocks.len() - count, compiled),
        Step::Return(value) => {
            let value = value.value(&compiled.slots, &frame.slots, host).await?;
            if let Some(slot) = compiled.result {
                assign(&Target::Slot(slot), value, None, compiled, frame, host)?;
            }
            return Ok(Next::End);
        }
        Step::EndHandler => return Ok(end_handler(compiled, frame, host)),
        Step::NoReturn => {
            let message = format!("FUNCTION {} ended without RETURN", compiled.source.name);
            return Err(Error::new(ErrorCode::SpNoReturnEnd, message));
        }
        Step::CaseNotFound => {
            return Err(Error::new(ErrorCode::SpCaseNotFound, "Case not found for CASE statement"));
        }
        Step::Open(cursor) => open(*cursor, compiled, frame, host).await?,
        Step::Fetch { cursor, into } => fetch(*cursor, into, compiled, frame, host)?,
        Step::Close(cursor) => {
            frame.cursors[*cursor].take().ok_or_else(not_open)?;
        }
        Step::Signal(signal) => {
            run_signal(signal, compiled, frame, host).await?;
            return Ok(warned(at, compiled, frame, host));
        }
        Step::Diagnostics(get) => {
            get_diagnostics(get, compiled, frame, host).await?;
        }
        Step::Select { .. } | Step::Run(_) | Step::Call { .. } | Step::Other { .. } => {
            statement(step, compiled, frame, host).await?;
            return Ok(warned(at, compiled, frame, host));
        }
    }
    Ok(Next::Step)
}

/// A statement that can raise conditions.
async fn statement<H: Caller>(
    step: &Step,
    compiled: &Rc<Compiled>,
    frame: &mut Frame,
    host: &mut H,
) -> Result<()> {
    host.interrupt().check_between_batches().await?;
    clear_conditions(host);
    match step {
        Step::Select { query, into } => {
            let (plan, mut found) = query.rows(&compiled.slots, &frame.slots, Some(2), host).await?;
            if plan.columns().len() != into.len() {
                let message = "The used SELECT statements have a different number of columns";
                return Err(Error::new(ErrorCode::WrongNumberOfColumnsInSelect, message));
            }
            if found.rows.len() > 1 {
                return Err(Error::new(ErrorCode::TooManyRows, "Result consisted of more than one row"));
            }
            let Some(row) = found.rows.pop() else {
                let message = "No data - zero rows fetched, selected, or processed";
                host.warn(WarningLevel::Warning, ErrorCode::SpFetchNoData, message);
                host.state().row_count = 0;
                return Ok(());
            };
            for ((target, value), column) in into.iter().zip(row).zip(plan.columns()) {
                let sql_type = &column.sql_type;
                assign(target, (value, sql_type.collation), Some(sql_type), compiled, frame, host)?;
            }
            host.state().row_count = 1;
            Ok(())
        }
        Step::Run(planned) => loop {
            let plan = planned.plan(&compiled.slots, host).await?;
            if host.run(&plan, &frame.slots).await? {
                return Ok(());
            }
            planned.forget();
        },
        Step::Call { procedure, arguments } => {
            let database = procedure.schema.as_ref().map(|schema| schema.value.as_str());
            let named = (database, procedure.name.value.as_str());
            host.call_procedure(named, arguments, compiled, frame).await
        }
        Step::Other { statement, scope } => {
            let inside = Inside {
                slots: Rc::clone(&compiled.slots),
                scope: Rc::clone(scope),
                values: std::mem::take(&mut frame.slots),
            };
            let (done, values) = host.other(statement, inside).await;
            frame.slots = values;
            done
        }
        _ => Ok(()),
    }
}

/// Keeps the operand of a CASE, whatever its type is.
async fn keep<H: Host>(
    slot: usize,
    operand: &Computed,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Result<()> {
    let (value, collation) = operand.value(&compiled.slots, &frame.slots, host).await?;
    let sql_type = operand.sql_type().unwrap_or_else(|| shoal_expr::build::parameter_type(&value, collation));
    if compiled.slots.types.borrow()[slot] != sql_type {
        let mut types = compiled.slots.types().to_vec();
        types[slot] = sql_type;
        *compiled.slots.types.borrow_mut() = types.into();
    }
    frame.slots[slot] = value;
    Ok(())
}

fn clear_conditions<H: Host>(host: &mut H) {
    let state = host.state();
    if state.warning_count > 0 {
        state.warnings.clear();
        state.warning_count = 0;
        state.signalled = None;
    }
}

async fn open<H: Host>(cursor: usize, compiled: &Rc<Compiled>, frame: &mut Frame, host: &mut H) -> Result<()> {
    if frame.cursors[cursor].is_some() {
        return Err(Error::new(ErrorCode::SpCursorAlreadyOpen, "Cursor is already open"));
    }
    let query = &compiled.cursors[cursor].query;
    let (plan, found) = query.rows(&compiled.slots, &frame.slots, None, host).await?;
    let collations = plan.columns().iter().map(|column| column.sql_type.collation).collect();
    frame.cursors[cursor] = Some(OpenCursor { rows: found.rows.into(), collations, _held: found.held });
    Ok(())
}

fn not_open() -> Error {
    Error::new(ErrorCode::SpCursorNotOpen, "Cursor is not open")
}

fn fetch<H: Host>(
    cursor: usize,
    into: &[Target],
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Result<()> {
    let open = frame.cursors[cursor].as_mut().ok_or_else(not_open)?;
    if open.collations.len() != into.len() {
        let message = "Incorrect number of FETCH variables";
        return Err(Error::new(ErrorCode::SpWrongNoOfFetchArgs, message));
    }
    let Some(row) = open.rows.pop_front() else {
        let message = "No data - zero rows fetched, selected, or processed";
        return Err(Error::new(ErrorCode::SpFetchNoData, message));
    };
    let collations = open.collations.clone();
    for ((target, value), collation) in into.iter().zip(row).zip(collations) {
        assign(target, (value, collation), None, compiled, frame, host)?;
    }
    Ok(())
}

async fn run_signal<H: Host>(
    signal: &SignalCode,
    compiled: &Rc<Compiled>,
    frame: &mut Frame,
    host: &mut H,
) -> Result<()> {
    let mut items = Vec::with_capacity(signal.items.len());
    for (name, value) in &signal.items {
        items.push((name.clone(), value.value(&compiled.slots, &frame.slots, host).await?.0));
    }
    let handled = frame.handling.last().map(|handling| &handling.handled);
    if signal.resignal && handled.is_none() {
        return Err(diagnostics::resignal_without_handler());
    }
    let base = handled.filter(|_| signal.resignal).and_then(Handled::again);
    let strict = frame.options.strict;
    let signalled = Arc::new(diagnostics::signalled(signal.state, base, &items, strict)?);
    if !signalled.sqlstate.starts_with(b"01") {
        return Err(Error::signalled(signalled));
    }
    clear_conditions(host);
    let code = ErrorCode::from_errno(signalled.errno).unwrap_or(ErrorCode::SignalWarn);
    host.warn(WarningLevel::Warning, code, &signalled.message);
    host.state().signalled = Some(signalled);
    Ok(())
}

async fn get_diagnostics<H: Host>(
    get: &DiagnosticsCode,
    compiled: &Rc<Compiled>,
    frame: &mut Frame,
    host: &mut H,
) -> Result<()> {
    let stacked = match (get.stacked, frame.handling.last()) {
        (false, _) => None,
        (true, Some(handling)) => Some(handling.handled.clone()),
        (true, None) => return Err(diagnostics::stacked_without_handler()),
    };
    let number = match &get.number {
        None => None,
        Some(number) => {
            let (value, _) = number.value(&compiled.slots, &frame.slots, host).await?;
            Some(usize::try_from(value.to_i64().value).unwrap_or(0))
        }
    };
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

/// After a statement that has not failed: the last of its warnings that has a handler is handled.
fn warned<H: Host>(at: usize, compiled: &Compiled, frame: &mut Frame, host: &mut H) -> Next {
    let state = host.state();
    if state.warnings.is_empty() || frame.blocks.is_empty() {
        return Next::Step;
    }
    let signalled = state.signalled.clone();
    let warnings = std::mem::take(&mut state.warnings);
    let found = warnings.iter().enumerate().rev().find_map(|(place, warning)| {
        let condition = Condition::of_warning(warning, signalled.as_deref().filter(|_| place == 0));
        (warning.level != WarningLevel::Error).then(|| handler_of(&condition, compiled, frame)).flatten()
    });
    host.state().warnings = warnings;
    match found {
        Some((depth, handler)) => Next::To(begin_handler(depth, handler, compiled.resume[at], None, frame, host)),
        None => Next::Step,
    }
}

/// The handler of a condition: the block (its place among those that were entered) and the handler.
fn handler_of<'c>(
    condition: &Condition,
    compiled: &'c Compiled,
    frame: &Frame,
) -> Option<(usize, &'c HandlerCode)> {
    for depth in (0..frame.blocks.len()).rev() {
        if frame.handling.iter().any(|handling| handling.hidden.contains(&depth)) {
            continue;
        }
        let handlers = &compiled.blocks[frame.blocks[depth]].handlers;
        let fit = |handler: &HandlerCode| {
            handler.conditions.iter().filter_map(|declared| condition.fits(declared)).max()
        };
        let best = handlers.iter().filter_map(|handler| fit(handler).map(|fit| (fit, handler)));
        if let Some((_, handler)) = best.max_by_key(|(fit, _)| *fit) {
            return Some((depth, handler));
        }
    }
    None
}

/// Where the program goes on after an error. Errors: the same one, nothing handles it.
fn handle<H: Host>(
    error: Error,
    at: usize,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Result<usize> {
    if is_beyond_handlers(&error) {
        return Err(error);
    }
    let Some((depth, handler)) = handler_of(&Condition::of_error(&error), compiled, frame) else {
        return Err(error);
    };
    diagnostics::set_error(host.state(), &error);
    Ok(begin_handler(depth, handler, compiled.resume[at], Some(error), frame, host))
}

fn begin_handler<H: Host>(
    depth: usize,
    handler: &HandlerCode,
    resume: usize,
    error: Option<Error>,
    frame: &mut Frame,
    host: &mut H,
) -> usize {
    let state = host.state();
    let handled = Handled { conditions: state.warnings.clone(), signalled: state.signalled.clone(), error };
    let hidden = depth..frame.blocks.len();
    frame.handling.push(Handling { hidden, resume, exits: handler.exits, handled });
    handler.start
}

fn end_handler<H: Host>(compiled: &Compiled, frame: &mut Frame, host: &mut H) -> Next {
    clear_conditions(host);
    let Some(handling) = frame.handling.pop() else { return Next::End };
    if !handling.exits {
        frame.leave_to(handling.hidden.end, compiled);
        return Next::To(handling.resume);
    }
    let block = frame.blocks[handling.hidden.start];
    frame.leave_to(handling.hidden.start, compiled);
    Next::To(compiled.blocks[block].end)
}
