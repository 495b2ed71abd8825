//! Runs the steps of a program.

use std::rc::Rc;

use shoal_types::{Error, ErrorCode, Result, Value, WarningLevel};

use super::assign::assign;
use super::call;
use super::caller::Caller;
use super::code::{Compiled, Step};
use super::computed::{Computed, Planned, Typed};
use super::evaluate;
use super::frame::{Frame, OpenCursor, STEPS_PER_CHECK};
use super::handlers::{Next, clear_conditions, end_handler, handle, warned};
use super::host::{Host, Inside};
use super::place::Target;
use super::signal::{diagnostics_now, get_diagnostics, run_signal, signal_now};

/// A statement counts as so many steps.
const STEPS_PER_STATEMENT: u32 = 16;

/// Runs a program on, as far as it comes without waiting. `false`: the step at `Frame::at` has to wait, or it is time for a look at
/// the interrupt. What it returns is in its result's slot.
///
/// # Errors
/// What no handler of the program's has handled.
pub fn advance<H: Caller>(compiled: &Rc<Compiled>, frame: &mut Frame, host: &mut H) -> Result<bool> {
    while let Some(step) = compiled.steps.get(frame.at) {
        if frame.steps_left == 0 {
            return Ok(false);
        }
        let Some(outcome) = at_once(step, compiled, frame, host) else { return Ok(false) };
        // A program that it has called has taken some of them.
        frame.steps_left = frame.steps_left.saturating_sub(1);
        if !follow(outcome, compiled, frame, host)? {
            return Ok(true);
        }
    }
    Ok(true)
}

/// Runs a program to its end.
///
/// # Errors
/// As those of `advance`.
pub async fn run<H: Caller>(compiled: &Rc<Compiled>, frame: &mut Frame, host: &mut H) -> Result<()> {
    loop {
        if frame.pending.is_none() && advance(compiled, frame, host)? {
            return Ok(());
        }
        let Some(step) = compiled.steps.get(frame.at) else { return Ok(()) };
        if frame.steps_left == 0 {
            frame.steps_left = STEPS_PER_CHECK;
            host.interrupt().check_between_batches().await?;
            continue;
        }
        let outcome = perform(step, compiled, frame, host).await;
        if !follow(outcome, compiled, frame, host)? {
            return Ok(());
        }
    }
}

/// Goes where the program goes on after a step. `false`: nowhere.
#[inline]
fn follow<H: Caller>(outcome: Result<Next>, compiled: &Compiled, frame: &mut Frame, host: &mut H) -> Result<bool> {
    frame.at = match outcome {
        Ok(Next::Step) => frame.at + 1,
        Ok(Next::To(to)) => to,
        Ok(Next::End) => return Ok(false),
        Err(error) => handle(error, frame.at, compiled, frame, host)?,
    };
    Ok(true)
}

/// Steps that wait for nothing; `None`: it takes more.
#[inline]
fn at_once<H: Caller>(
    step: &Step,
    compiled: &Rc<Compiled>,
    frame: &mut Frame,
    host: &mut H,
) -> Option<Result<Next>> {
    let done = match step {
        Step::Assign { target: Target::Slot(slot), value } => {
            if let Some(number) = value.signed(&frame.slots, host)
                && frame.assign_signed(compiled, *slot, number)
            {
                return Some(Ok(Next::Step));
            }
            let value = evaluate::value_now(value, compiled, frame, host)?;
            value.and_then(|value| frame.assign(compiled, *slot, value, host))
        }
        Step::JumpUnless { condition, to } => {
            let truth = evaluate::truth_now(condition, compiled, frame, host)?;
            return Some(truth.map(|holds| if holds { Next::Step } else { Next::To(*to) }));
        }
        Step::Jump(to) => return Some(Ok(Next::To(*to))),
        Step::Return(value) => {
            let value = evaluate::value_now(value, compiled, frame, host)?;
            let done = value.and_then(|value| give_back(value, compiled, frame, host));
            return Some(done.map(|()| Next::End));
        }
        _ => return at_once_too(step, compiled, frame, host),
    };
    Some(done.map(|()| Next::Step))
}

/// The same of the rarer ones.
fn at_once_too<H: Caller>(
    step: &Step,
    compiled: &Rc<Compiled>,
    frame: &mut Frame,
    host: &mut H,
) -> Option<Result<Next>> {
    let done = match step {
        Step::Assign { target, value } => {
            let value = evaluate::value_now(value, compiled, frame, host)?;
            value.and_then(|value| assign(target, value, None, compiled, frame, host))
        }
        Step::Compute(value) => evaluate::value_now(value, compiled, frame, host)?.map(drop),
        Step::Keep { slot, value: operand } => {
            let value = evaluate::value_now(operand, compiled, frame, host)?;
            value.map(|value| keep(*slot, operand, value, compiled, frame))
        }
        Step::Enter(block) => {
            frame.blocks.push(*block);
            Ok(())
        }
        Step::Leave(count) => {
            frame.leave_to(frame.blocks.len() - count, compiled);
            Ok(())
        }
        Step::EndHandler => return Some(Ok(end_handler(compiled, frame, host))),
        Step::NoReturn => {
            let message = format!("FUNCTION {} ended without RETURN", compiled.source.name);
            Err(Error::new(ErrorCode::SpNoReturnEnd, message))
        }
        Step::CaseNotFound => Err(Error::new(ErrorCode::SpCaseNotFound, "Case not found for CASE statement")),
        Step::Fetch { cursor, into } => fetch(*cursor, into, compiled, frame, host),
        Step::Close(cursor) => frame.cursors[*cursor].take().map(drop).ok_or_else(not_open),
        Step::Signal(signal) => return signal_now(signal, compiled, frame, host),
        Step::Diagnostics(get) => diagnostics_now(get, compiled, frame, host)?,
        Step::Call(call) => {
            if let Err(error) = host.interrupt().check() {
                return Some(Err(error));
            }
            clear_conditions(host);
            let done = call::procedure_now(call, (compiled, &mut *frame), host)?;
            return Some(done.map(|()| warned(compiled, frame, host)));
        }
        _ => return None,
    };
    Some(done.map(|()| Next::Step))
}

/// Steps that may have to wait.
async fn perform<H: Caller>(
    step: &Step,
    compiled: &Rc<Compiled>,
    frame: &mut Frame,
    host: &mut H,
) -> Result<Next> {
    match step {
        Step::Assign { target, value } => {
            let value = evaluate::value(value, compiled, frame, host).await?;
            assign(target, value, None, compiled, frame, host)?;
        }
        Step::JumpUnless { condition, to } => {
            if !evaluate::truth(condition, compiled, frame, host).await? {
                return Ok(Next::To(*to));
            }
        }
        Step::Compute(value) => drop(evaluate::value(value, compiled, frame, host).await?),
        Step::Keep { slot, value: operand } => {
            let value = evaluate::value(operand, compiled, frame, host).await?;
            keep(*slot, operand, value, compiled, frame);
        }
        Step::Return(value) => {
            let value = evaluate::value(value, compiled, frame, host).await?;
            give_back(value, compiled, frame, host)?;
            return Ok(Next::End);
        }
        Step::Open(cursor) => open(*cursor, compiled, frame, host).await?,
        Step::Signal(signal) => return run_signal(signal, compiled, frame, host).await,
        Step::Diagnostics(get) => {
            let number = match &get.number {
                None => None,
                Some(number) => Some(evaluate::value(number, compiled, frame, host).await?.0),
            };
            get_diagnostics(get, number, compiled, frame, host)?;
        }
        Step::Select { .. } | Step::Run(_) | Step::Call(_) | Step::Other { .. } => {
            statement(step, compiled, frame, host).await?;
            return Ok(warned(compiled, frame, host));
        }
        _ => return Err(Error::unknown("internal: a step of a program waits that has nothing to wait for")),
    }
    Ok(Next::Step)
}

/// RETURN.
fn give_back<H: Caller>(value: Typed, compiled: &Compiled, frame: &mut Frame, host: &mut H) -> Result<()> {
    compiled.result.map_or(Ok(()), |slot| frame.assign(compiled, slot, value, host))
}

/// A statement that can raise conditions.
async fn statement<H: Caller>(
    step: &Step,
    compiled: &Rc<Compiled>,
    frame: &mut Frame,
    host: &mut H,
) -> Result<()> {
    if frame.pending.is_none() {
        host.interrupt().check()?;
        frame.steps_left = frame.steps_left.saturating_sub(STEPS_PER_STATEMENT);
        clear_conditions(host);
    }
    match step {
        Step::Select { query, into } => select(query, into, compiled, frame, host).await,
        Step::Run(planned) => loop {
            let plan = planned.plan(&compiled.slots, host).await?;
            if host.run(&plan, &frame.slots).await? {
                return Ok(());
            }
            planned.forget();
        },
        Step::Call(call) => call::procedure(call, (compiled, frame), host).await,
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

/// SELECT ... INTO variables.
async fn select<H: Host>(
    query: &Planned,
    into: &[Target],
    compiled: &Rc<Compiled>,
    frame: &mut Frame,
    host: &mut H,
) -> Result<()> {
    let plan = query.plan(&compiled.slots, host).await?;
    let mut values = std::mem::take(&mut frame.row);
    values.clear();
    let found = if plan.columns().len() == into.len() {
        host.read_row(&plan, &frame.slots, &mut values).await?
    } else {
        None
    };
    let (plan, found) = match found {
        Some(found) => (plan, found),
        None => {
            let (plan, rows) = query.rows(&compiled.slots, &frame.slots, Some(2), host).await?;
            let found = single_row(rows.rows, plan.columns().len(), into.len())?;
            values.extend(found.into_iter().flatten());
            let found = !values.is_empty();
            (plan, found)
        }
    };
    host.state().row_count = i64::from(found);
    if !found {
        let message = "No data - zero rows fetched, selected, or processed";
        host.warn(WarningLevel::Warning, ErrorCode::SpFetchNoData, message);
    }
    for ((target, value), column) in into.iter().zip(values.drain(..)).zip(plan.columns()) {
        let sql_type = &column.sql_type;
        assign(target, (value, sql_type.collation), Some(sql_type), compiled, frame, host)?;
    }
    frame.row = values;
    Ok(())
}

/// The row of SELECT ... INTO, if there is one. Errors: 1172, 1222.
fn single_row(mut rows: Vec<Vec<Value>>, columns: usize, targets: usize) -> Result<Option<Vec<Value>>> {
    if columns != targets {
        let message = "The used SELECT statements have a different number of columns";
        return Err(Error::new(ErrorCode::WrongNumberOfColumnsInSelect, message));
    }
    if rows.len() > 1 {
        return Err(Error::new(ErrorCode::TooManyRows, "Result consisted of more than one row"));
    }
    Ok(rows.pop())
}

/// Keeps the operand of a CASE, whatever its type is.
fn keep(slot: usize, operand: &Computed, (value, collation): Typed, compiled: &Compiled, frame: &mut Frame) {
    let sql_type = operand.sql_type().unwrap_or_else(|| shoal_expr::build::parameter_type(&value, collation));
    compiled.slots.set_type(slot, sql_type);
    frame.slots[slot] = value;
}

async fn open<H: Host>(cursor: usize, compiled: &Compiled, frame: &mut Frame, host: &mut H) -> Result<()> {
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

fn fetch<H: Caller>(
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
    let collations = Rc::clone(&open.collations);
    for ((target, value), &collation) in into.iter().zip(row).zip(&*collations) {
        assign(target, (value, collation), None, compiled, frame, host)?;
    }
    Ok(())
}
