//! Expressions of a program that runs: most need nothing but its frame; those that call functions run these, in frames of their own;
//! the others are queries.

use std::rc::Rc;

use shoal_expr::{NoRow, Warnings};
use shoal_types::{Error, Result, Value};

use super::at_once;
use super::caller::Caller;
use super::code::Compiled;
use super::computed::{CallCode, Calls, Computed, ResultPlace, Typed};
use super::frame::{Evaluation, Frame, Invocation, Pending};
use super::invoke;

/// The value of an expression if that takes no waiting. `None`: it does; what has been begun is pending in the frame.
#[inline]
pub fn value_now<H: Caller>(
    computed: &Computed,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Option<Result<Typed>> {
    if let Some(value) = computed.plain_value(&frame.slots, host) {
        return Some(value);
    }
    begin_calls(computed.calls(host)?, compiled, frame, host)
}

/// The truth of an expression if that takes no waiting.
#[inline]
pub fn truth_now<H: Caller>(
    computed: &Computed,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Option<Result<bool>> {
    if let Some(truth) = computed.plain_truth(&frame.slots, host) {
        return Some(truth);
    }
    let value = begin_calls(computed.calls(host)?, compiled, frame, host)?;
    Some(value.map(|(value, _)| is_true(&value)))
}

fn is_true(value: &Value) -> bool {
    !value.is_null() && value.to_f64().value != 0.0
}

/// The value of an expression.
pub async fn value<H: Caller>(
    computed: &Computed,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Result<Typed> {
    if frame.pending.is_none() {
        if let Some(value) = value_now(computed, compiled, frame, host) {
            return value;
        }
        if frame.pending.is_none() && !computed.is_query(host) {
            resolve(computed, compiled, host).await?;
            if let Some(value) = value_now(computed, compiled, frame, host) {
                return value;
            }
        }
    }
    match frame.pending.take() {
        Some(pending) => finish_calls(*pending, compiled, frame, host).await,
        None => computed.queried(&compiled.slots, &frame.slots, host).await,
    }
}

/// The truth of an expression.
pub async fn truth<H: Caller>(
    computed: &Computed,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Result<bool> {
    if frame.pending.is_none() && !computed.is_query(host) {
        resolve(computed, compiled, host).await?;
        if let Some(truth) = truth_now(computed, compiled, frame, host) {
            return truth;
        }
    }
    let (value, _) = value(computed, compiled, frame, host).await?;
    Ok(is_true(&value))
}

/// Finds out what an expression is. Outside statements it calls only functions that need none.
async fn resolve<H: Caller>(computed: &Computed, compiled: &Compiled, host: &mut H) -> Result<()> {
    computed.resolve(&compiled.slots, host).await?;
    if !host.is_inside_statement() {
        at_once::calls_are(computed, host);
    }
    Ok(())
}

fn begin_calls<H: Caller>(
    calls: Rc<Calls>,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Option<Result<Typed>> {
    let collected = Warnings::with_limit(host.conditions_max());
    let around = host.raised().replace(collected);
    frame.slots.resize(calls.slots.max(frame.slots.len()), Value::Null);
    let row = vec![Value::Null; calls.width];
    proceed(Evaluation { calls, call: 0, row, around }, compiled, frame, host)
}

/// Runs calls until one waits.
fn proceed<H: Caller>(
    mut evaluation: Evaluation,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Option<Result<Typed>> {
    let calls = Rc::clone(&evaluation.calls);
    while let Some(call) = calls.list.get(evaluation.call) {
        let mut invocation = match begin_call(call, &evaluation.row, frame, host) {
            Ok(invocation) => invocation,
            Err(error) => return Some(end(Err(error), evaluation, compiled, frame, host)),
        };
        match host.advance(&mut invocation) {
            Ok(true) => keep_result(invocation, &mut evaluation, frame, host),
            Ok(false) => {
                frame.pending = Some(Box::new(Pending::Function(evaluation, invocation)));
                return None;
            }
            Err(error) => {
                invoke::end(invocation, host);
                return Some(end(Err(error), evaluation, compiled, frame, host));
            }
        }
    }
    let value = calls.value.value(&evaluation.row[..], &frame.slots, host);
    Some(end(value.map(|value| (value, calls.value.collation())), evaluation, compiled, frame, host))
}

/// Waits for a call, and for those behind it.
async fn finish_calls<H: Caller>(
    mut pending: Pending,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Result<Typed> {
    loop {
        let Pending::Function(mut evaluation, mut invocation) = pending else {
            // No step does two things: whoever has begun a procedure goes on with that.
            return Err(Error::unknown("internal: an expression waits for a procedure"));
        };
        if let Err(error) = host.finish(&mut invocation).await {
            invoke::end(invocation, host);
            return end(Err(error), evaluation, compiled, frame, host);
        }
        keep_result(invocation, &mut evaluation, frame, host);
        if let Some(value) = proceed(evaluation, compiled, frame, host) {
            return value;
        }
        let waits = frame.pending.take();
        pending = *waits.ok_or_else(|| Error::unknown("internal: an expression waits for nothing"))?;
    }
}

fn begin_call<H: Caller>(call: &CallCode, row: &[Value], frame: &mut Frame, host: &mut H) -> Result<Invocation> {
    host.check_may_execute(&call.function)?;
    let compiled = host.programs().get(&call.function)?;
    for (slot, value) in &call.outer {
        frame.slots[*slot] = value.value(row, &frame.slots, host)?;
    }
    let mut inner = Frame::new(&compiled);
    inner.steps_left = frame.steps_left;
    for (parameter, argument) in compiled.parameters.iter().zip(&call.arguments) {
        inner.slots[parameter.slot] = argument.value(&NoRow, &frame.slots, host)?;
    }
    let collations = call.arguments.iter().map(|argument| argument.collation());
    invoke::begin_inside(&compiled, inner, collations, host)
}

/// A call has returned.
fn keep_result<H: Caller>(invocation: Invocation, evaluation: &mut Evaluation, frame: &mut Frame, host: &mut H) {
    frame.steps_left = invocation.frame.steps_left;
    let value = invoke::end_function(invocation, host);
    match evaluation.calls.list[evaluation.call].result {
        ResultPlace::Parameter(slot) => frame.slots[slot] = value,
        ResultPlace::Column(column) => evaluation.row[column] = value,
    }
    evaluation.call += 1;
}

/// The expression is computed: what it has raised are the conditions of its statement.
fn end<H: Caller>(
    value: Result<Typed>,
    evaluation: Evaluation,
    compiled: &Compiled,
    frame: &mut Frame,
    host: &mut H,
) -> Result<Typed> {
    frame.slots.truncate(compiled.slots.types.borrow().len());
    let Some(raised) = std::mem::replace(host.raised(), evaluation.around) else { return value };
    let state = host.state();
    state.warnings.clear();
    state.warnings.extend_from_slice(raised.list());
    state.warning_count = raised.count();
    state.signalled = None;
    if let Some(around) = host.raised() {
        around.append(raised);
    }
    value
}
