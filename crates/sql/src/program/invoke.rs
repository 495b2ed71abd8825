//! Programs begin and end.

use std::rc::Rc;

use shoal_types::{Collation, Result, Value};

use super::caller::Caller;
use super::code::Compiled;
use super::frame::{Frame, Invocation};

/// A program begins with a frame whose parameters have their values, as the caller has computed them, and these collations.
///
/// Errors: 1424, 1436, 1449, 1456; 1264 and others, an argument does not fit its parameter.
pub fn begin<H: Caller>(
    compiled: &Rc<Compiled>,
    frame: Frame,
    collations: impl Iterator<Item = Collation>,
    host: &mut H,
) -> Result<Invocation> {
    let programs = Rc::clone(host.programs());
    let running = programs.begin(&compiled.source, || host.recursion_max())?;
    let entered = host.enter(&compiled.source, compiled.settings)?;
    let compiled = Rc::clone(compiled);
    let mut begun = Invocation { compiled, frame, entered, kept: None, _running: running };
    match convert_arguments(&mut begun, collations, host) {
        Ok(()) => Ok(begun),
        Err(error) => {
            end(begun, host);
            Err(error)
        }
    }
}

/// The same of a function or a trigger.
pub fn begin_inside<H: Caller>(
    compiled: &Rc<Compiled>,
    frame: Frame,
    collations: impl Iterator<Item = Collation>,
    host: &mut H,
) -> Result<Invocation> {
    let state = host.state();
    let kept = Some((state.last_insert_id, state.row_count));
    let begun = begin(compiled, frame, collations, host)?;
    Ok(Invocation { kept, ..begun })
}

fn convert_arguments<H: Caller>(
    begun: &mut Invocation,
    collations: impl Iterator<Item = Collation>,
    host: &mut H,
) -> Result<()> {
    let Invocation { compiled, frame, .. } = begun;
    for (parameter, collation) in compiled.parameters.iter().zip(collations) {
        let value = std::mem::take(&mut frame.slots[parameter.slot]);
        frame.assign(compiled, parameter.slot, (value, collation), host)?;
    }
    Ok(())
}

/// A program has ended, whether well or not; its variables.
pub fn end<H: Caller>(invocation: Invocation, host: &mut H) -> Frame {
    let Invocation { frame, entered, kept, .. } = invocation;
    host.leave(entered);
    if let Some((last_insert_id, row_count)) = kept {
        let state = host.state();
        (state.last_insert_id, state.row_count) = (last_insert_id, row_count);
    }
    frame
}

/// What a function that has ended returns.
pub fn end_function<H: Caller>(invocation: Invocation, host: &mut H) -> Value {
    let result = invocation.compiled.result;
    let mut frame = end(invocation, host);
    result.map_or(Value::Null, |slot| std::mem::take(&mut frame.slots[slot]))
}
