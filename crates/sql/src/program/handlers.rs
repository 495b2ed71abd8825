//! Conditions that steps raise, and the handlers that a program declares for them.

use shoal_types::Error;
use shoal_types::{Result, WarningLevel};

use super::code::{Compiled, HandlerCode};
use super::condition::{Condition, Handled, is_beyond_handlers};
use super::frame::{Frame, Handling};
use super::host::Host;
use crate::diagnostics;

/// What follows a step.
pub enum Next {
    Step,
    To(usize),
    /// Whatever has been returned is in the result's slot.
    End,
}

/// A statement that can raise conditions begins: those of the last one are forgotten.
#[inline]
pub fn clear_conditions<H: Host>(host: &mut H) {
    let state = host.state();
    if state.warning_count > 0 {
        state.warnings.clear();
        state.warning_count = 0;
        state.signalled = None;
    }
}

/// After a statement that has not failed: the last of its warnings that has a handler is handled.
pub fn warned<H: Host>(compiled: &Compiled, frame: &mut Frame, host: &mut H) -> Next {
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
        Some((depth, handler)) => {
            Next::To(begin_handler(depth, handler, compiled.resume[frame.at], None, frame, host))
        }
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
pub fn handle<H: Host>(
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

pub fn end_handler<H: Host>(compiled: &Compiled, frame: &mut Frame, host: &mut H) -> Next {
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
