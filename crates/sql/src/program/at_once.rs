//! Functions that need no statement around them: they compute with variables alone.
//!
//! Whether a function is one of these depends on what its expressions are resolved to, and so on the dictionary: it is found out when a
//! call of it is resolved. All of the function's expressions are resolved for that, with its own settings.

use std::rc::Rc;

use shoal_types::{Collation, Result};

use super::caller::Caller;
use super::code::{Compiled, DiagnosticsCode, Step};
use super::computed::Computed;
use super::frame::Frame;
use super::invoke;

/// Outside statements: an expression that was resolved just now calls nothing but such functions. If it does call others, it is a query.
pub fn calls_are<H: Caller>(computed: &Computed, host: &mut H) -> bool {
    let Some(calls) = computed.resolved_calls() else { return false };
    let are = calls.list.iter().all(|call| {
        let compiled = host.programs().get(&call.function);
        compiled.and_then(|compiled| is_at_once(&compiled, host)).unwrap_or(false)
    });
    computed.set_calls_everywhere(are);
    are
}

fn is_at_once<H: Caller>(compiled: &Rc<Compiled>, host: &mut H) -> Result<bool> {
    // A function that calls itself, by whatever way, ends here.
    let begun = invoke::begin(compiled, Frame::new(compiled), std::iter::empty::<Collation>(), host)?;
    let mut is_so = true;
    for step in &compiled.steps {
        if !step_is(step, compiled, host) {
            is_so = false;
            break;
        }
    }
    invoke::end(begun, host);
    Ok(is_so)
}

fn step_is<H: Caller>(step: &Step, compiled: &Compiled, host: &mut H) -> bool {
    match step {
        Step::Assign { value, .. } | Step::Compute(value) | Step::Return(value) => is(value, compiled, host),
        Step::JumpUnless { condition, .. } => is(condition, compiled, host),
        Step::Keep { slot, value } => {
            let is_so = is(value, compiled, host);
            if let Some(sql_type) = value.sql_type().filter(|_| is_so) {
                // The branches of the CASE are resolved with it.
                compiled.slots.set_type(*slot, sql_type);
            }
            is_so
        }
        Step::Signal(signal) => signal.items.iter().all(|(_, value)| is(value, compiled, host)),
        Step::Diagnostics(get) => {
            let DiagnosticsCode { number, .. } = &**get;
            number.as_ref().is_none_or(|number| is(number, compiled, host))
        }
        Step::Jump(_)
        | Step::Enter(_)
        | Step::Leave(_)
        | Step::CaseNotFound
        | Step::EndHandler
        | Step::NoReturn => true,
        Step::Select { .. }
        | Step::Run(_)
        | Step::Call(_)
        | Step::Other { .. }
        | Step::Open(_)
        | Step::Fetch { .. }
        | Step::Close(_) => false,
    }
}

fn is<H: Caller>(value: &Computed, compiled: &Compiled, host: &mut H) -> bool {
    if value.is_plain(host) || value.calls(host).is_some() {
        return true;
    }
    if value.is_query(host) || value.resolve_now(&compiled.slots, host).is_err() {
        return false;
    }
    value.is_plain(host) || calls_are(value, host)
}
