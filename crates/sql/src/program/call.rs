//! Programs are called: arguments, results, and what becomes of both.

use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::{Program, ProgramKind};
use shoal_parser::ast::ParameterDirection;
use shoal_types::{Collation, Error, ErrorCode, Result, SqlType, Value};

use super::assign::assign;
use super::cache::Row;
use super::caller::Caller;
use super::code::{Argument, CallStep, Compiled};
use super::computed::Typed;
use super::evaluate;
use super::frame::{Frame, Invocation, Pending};
use super::invoke;
use super::place::Target;

/// CALL, if that takes no waiting. `None`: it does; a procedure that has begun is pending in the frame. `caller`: what the
/// arguments are evaluated in, and what OUT parameters are given to.
pub fn procedure_now<H: Caller>(
    call: &CallStep,
    (caller, frame): (&Rc<Compiled>, &mut Frame),
    host: &mut H,
) -> Option<Result<()>> {
    let program = known(call, host)?;
    let compiled = match callee(&program, &call.arguments, host) {
        Ok(compiled) => compiled,
        Err(error) => return Some(Err(error)),
    };
    let mut values = Vec::with_capacity(call.arguments.len());
    for (parameter, argument) in compiled.parameters.iter().zip(&call.arguments) {
        // What waits is computed again, with all arguments before it: none of them does anything.
        values.push(match parameter.direction {
            ParameterDirection::Out => (Value::Null, Collation::BINARY),
            _ => match argument.value.plain_value(&frame.slots, host)? {
                Ok(value) => value,
                Err(error) => return Some(Err(error)),
            },
        });
    }
    let mut invocation = match begin(&compiled, values, host) {
        Ok(invocation) => invocation,
        Err(error) => return Some(Err(error)),
    };
    invocation.frame.steps_left = frame.steps_left;
    match host.advance(&mut invocation) {
        Ok(false) => {
            frame.pending = Some(Box::new(Pending::Procedure(invocation)));
            None
        }
        ran => Some(end(ran.map(|_| ()), invocation, &call.arguments, (caller, frame), host)),
    }
}

/// The same, whatever it takes.
///
/// Errors: 1305, there is no such procedure; 1318, 1414; 1370, 1424, 1436, 1456; whatever the program's body raises.
pub async fn procedure<H: Caller>(
    call: &CallStep,
    (caller, frame): (&Rc<Compiled>, &mut Frame),
    host: &mut H,
) -> Result<()> {
    let begun = match frame.pending.take().map(|pending| *pending) {
        Some(Pending::Procedure(invocation)) => Some(invocation),
        pending => {
            frame.pending = pending.map(Box::new);
            None
        }
    };
    let mut invocation = match begun {
        Some(invocation) => invocation,
        None => {
            let program = find(call, host).await?;
            let compiled = callee(&program, &call.arguments, host)?;
            let mut values = Vec::with_capacity(call.arguments.len());
            for (parameter, argument) in compiled.parameters.iter().zip(&call.arguments) {
                values.push(match parameter.direction {
                    ParameterDirection::Out => (Value::Null, Collation::BINARY),
                    _ => evaluate::value(&argument.value, caller, frame, host).await?,
                });
            }
            begin(&compiled, values, host)?
        }
    };
    let ran = host.finish(&mut invocation).await;
    end(ran, invocation, &call.arguments, (caller, frame), host)
}

/// A procedure, compiled. Errors: 1318, 1370, 1414.
fn callee<H: Caller>(program: &Arc<Program>, arguments: &[Argument], host: &mut H) -> Result<Rc<Compiled>> {
    host.check_may_execute(program)?;
    let compiled = host.programs().get(program)?;
    let shown = || format!("{}.{}", program.database, program.name);
    if compiled.parameters.len() != arguments.len() {
        let message = format!(
            "Incorrect number of arguments for PROCEDURE {}; expected {}, got {}",
            shown(),
            compiled.parameters.len(),
            arguments.len()
        );
        return Err(Error::new(ErrorCode::SpWrongNoOfArgs, message));
    }
    let is_lost = |(parameter, argument): (&super::code::Parameter, &Argument)| {
        parameter.direction != ParameterDirection::In && argument.target.is_none()
    };
    if let Some(number) = compiled.parameters.iter().zip(arguments).position(is_lost) {
        let message = format!(
            "OUT or INOUT argument {} for routine {} is not a variable or NEW pseudo-variable in BEFORE trigger",
            number + 1,
            shown()
        );
        return Err(Error::new(ErrorCode::SpNotVarArg, message));
    }
    Ok(compiled)
}

/// A routine begins with these arguments.
fn begin<H: Caller>(compiled: &Rc<Compiled>, mut arguments: Vec<Typed>, host: &mut H) -> Result<Invocation> {
    let frame = with_arguments(compiled, &mut arguments);
    invoke::begin(compiled, frame, arguments.iter().map(|(_, collation)| *collation), host)
}

/// Moves the arguments' values to their parameters.
fn with_arguments(compiled: &Compiled, arguments: &mut [Typed]) -> Frame {
    let mut frame = Frame::new(compiled);
    for (parameter, (value, _)) in compiled.parameters.iter().zip(arguments) {
        frame.slots[parameter.slot] = std::mem::take(value);
    }
    frame
}

/// A procedure has ended: variables get what its OUT parameters have.
fn end<H: Caller>(
    ran: Result<()>,
    invocation: Invocation,
    arguments: &[Argument],
    (caller, frame): (&Rc<Compiled>, &mut Frame),
    host: &mut H,
) -> Result<()> {
    let compiled = Rc::clone(&invocation.compiled);
    frame.steps_left = invocation.frame.steps_left;
    let mut inner = invoke::end(invocation, host);
    ran?;
    for (parameter, argument) in compiled.parameters.iter().zip(arguments) {
        if let (ParameterDirection::Out | ParameterDirection::InOut, Some(target)) =
            (parameter.direction, &argument.target)
        {
            let sql_type = compiled.slots.types.borrow()[parameter.slot].clone();
            let value = (std::mem::take(&mut inner.slots[parameter.slot]), sql_type.collation);
            if let Target::Parameter(number) = target {
                host.note_out(*number, &parameter.name, &value.0, &sql_type);
            }
            assign(target, value, Some(&sql_type), caller, frame, host)?;
        }
    }
    Ok(())
}

/// The procedure of a step, if that has called it since the dictionary changed last.
fn known<H: Caller>(call: &CallStep, host: &mut H) -> Option<Arc<Program>> {
    let version = host.version().catalog;
    let known = call.known.borrow();
    known.as_ref().filter(|(seen, _)| *seen == version).map(|(_, program)| Arc::clone(program))
}

/// The procedure of a step. Errors: 1046, 1305.
async fn find<H: Caller>(call: &CallStep, host: &mut H) -> Result<Arc<Program>> {
    let (kind, name) = (ProgramKind::Procedure, call.procedure.name.value.as_str());
    let no_database = || Error::new(ErrorCode::NoDb, "No database selected");
    let database = match &call.procedure.schema {
        Some(schema) => schema.value.clone(),
        None => host.state().database.clone().ok_or_else(no_database)?,
    };
    let mut used = host.version().catalog;
    loop {
        let catalog = host.catalog();
        if let Some(program) = catalog.program(&database, kind, name) {
            *call.known.borrow_mut() = Some((catalog.version, Arc::clone(program)));
            return Ok(Arc::clone(program));
        }
        host.begin_with_news(&mut used, does_not_exist(kind, &database, name)).await?;
    }
}

/// Errors: 1305.
pub fn does_not_exist(kind: ProgramKind, database: &str, name: &str) -> Error {
    let message = format!("{} {database}.{name} does not exist", kind.word());
    Error::new(ErrorCode::SpDoesNotExist, message)
}

/// Calls a function: it has begun.
pub fn function<H: Caller>(program: &Arc<Program>, mut arguments: Vec<Typed>, host: &mut H) -> Result<Invocation> {
    host.check_may_execute(program)?;
    let compiled = host.programs().get(program)?;
    let frame = with_arguments(&compiled, &mut arguments);
    invoke::begin_inside(&compiled, frame, arguments.iter().map(|(_, collation)| *collation), host)
}

/// Runs an event.
pub async fn event<H: Caller>(program: &Arc<Program>, host: &mut H) -> Result<()> {
    let compiled = host.programs().get(program)?;
    let mut invocation = begin(&compiled, Vec::new(), host)?;
    let ran = host.finish(&mut invocation).await;
    invoke::end(invocation, host);
    ran
}

/// Runs a trigger for a row whose values are in the slots of NEW and OLD: it has begun.
pub fn trigger<H: Caller>(
    program: &Arc<Program>,
    row: &Row,
    values: Vec<Value>,
    host: &mut H,
) -> Result<Invocation> {
    let compiled = host.programs().trigger(program, row)?;
    let frame = Frame::with_values(&compiled, values);
    invoke::begin_inside(&compiled, frame, std::iter::empty(), host)
}

/// A program that there is none of: for statements that stand in no program, but have parameters of these types.
pub fn outside(types: Vec<SqlType>) -> Rc<Compiled> {
    let source = Program {
        database: String::new(),
        name: String::new(),
        kind: ProgramKind::Procedure,
        definer: Default::default(),
        is_invokers: true,
        parameters: String::new(),
        returns: String::new(),
        body: String::new(),
        is_deterministic: false,
        data_access: String::new(),
        comment: String::new(),
        sql_mode: String::new(),
        character_set_client: String::new(),
        collation_connection: Collation::UTF8MB4_0900_AI_CI,
        database_collation: Collation::UTF8MB4_0900_AI_CI,
        created_us: 0,
        altered_us: 0,
        trigger: None,
        schedule: None,
    };
    Rc::new(Compiled::empty(Arc::new(source), types))
}
