//! Programs begin and end: arguments, results, and what is put back.

use std::rc::Rc;
use std::sync::Arc;

use shoal_cluster::{Program, ProgramKind};
use shoal_parser::ast::ParameterDirection;
use shoal_types::{Collation, Error, ErrorCode, Result, SqlType, Value};

use super::assign::assign;
use super::caller::Caller;
use super::code::{Argument, Compiled};
use super::frame::Frame;

use super::machine;
use super::place::Target;

/// CALL. `caller`: what the arguments are evaluated in, and what OUT parameters are given to.
///
/// Errors: 1305, there is no such procedure; 1318, 1414; 1370, 1424, 1436, 1456; whatever the program's body raises.
pub async fn procedure<H: Caller>(
    (database, name): (Option<&str>, &str),
    arguments: &[Argument],
    (caller, frame): (&Rc<Compiled>, &mut Frame),
    host: &mut H,
) -> Result<()> {
    let program = find(ProgramKind::Procedure, database, name, host).await?;
    host.check_may_execute(&program)?;
    let compiled = host.programs().get(&program, &[])?;
    let shown = format!("{}.{}", program.database, program.name);
    if compiled.parameters.len() != arguments.len() {
        let (expected, got) = (compiled.parameters.len(), arguments.len());
        let message =
            format!("Incorrect number of arguments for PROCEDURE {shown}; expected {expected}, got {got}");
        return Err(Error::new(ErrorCode::SpWrongNoOfArgs, message));
    }
    let mut values = Vec::with_capacity(arguments.len());
    for (number, (parameter, argument)) in compiled.parameters.iter().zip(arguments).enumerate() {
        if parameter.direction != ParameterDirection::In && argument.target.is_none() {
            let message = format!(
                "OUT or INOUT argument {} for routine {shown} is not a variable or NEW pseudo-variable in BEFORE trigger",
                number + 1
            );
            return Err(Error::new(ErrorCode::SpNotVarArg, message));
        }
        values.push(match parameter.direction {
            ParameterDirection::Out => (Value::Null, Collation::BINARY),
            _ => argument.value.value(&caller.slots, &frame.slots, host).await?,
        });
    }
    let inner = invoke(&compiled, values, host).await?;
    for (parameter, argument) in compiled.parameters.iter().zip(arguments) {
        if let (ParameterDirection::Out | ParameterDirection::InOut, Some(target)) =
            (parameter.direction, &argument.target)
        {
            let sql_type = compiled.slots.types.borrow()[parameter.slot].clone();
            let value = (inner.slots[parameter.slot].clone(), sql_type.collation);
            if let Target::Parameter(number) = target {
                host.note_out(*number, &parameter.name, &value.0, &sql_type);
            }
            assign(target, value, Some(&sql_type), caller, frame, host)?;
        }
    }
    Ok(())
}

/// A routine by its name. Errors: 1046, 1305.
async fn find<H: Caller>(
    kind: ProgramKind,
    database: Option<&str>,
    name: &str,
    host: &mut H,
) -> Result<Arc<Program>> {
    let no_database = || Error::new(ErrorCode::NoDb, "No database selected");
    let database = match database {
        Some(database) => database.to_owned(),
        None => host.state().database.clone().ok_or_else(no_database)?,
    };
    let mut used = host.version().catalog;
    loop {
        if let Some(program) = host.catalog().program(&database, kind, name) {
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

/// Calls a function.
pub async fn function<H: Caller>(
    program: &Arc<Program>,
    arguments: Vec<(Value, Collation)>,
    host: &mut H,
) -> Result<Value> {
    host.check_may_execute(program)?;
    let compiled = host.programs().get(program, &[])?;
    let (last_insert_id, row_count) = (host.state().last_insert_id, host.state().row_count);
    let frame = invoke(&compiled, arguments, host).await;
    let state = host.state();
    (state.last_insert_id, state.row_count) = (last_insert_id, row_count);
    let mut frame = frame?;
    Ok(compiled.result.map_or(Value::Null, |slot| std::mem::take(&mut frame.slots[slot])))
}

/// Runs an event.
pub async fn event<H: Caller>(program: &Arc<Program>, host: &mut H) -> Result<()> {
    let compiled = host.programs().get(program, &[])?;
    invoke(&compiled, Vec::new(), host).await.map(|_| ())
}

/// Runs a trigger for a row whose values are in the slots of NEW and OLD; what it makes of them comes back.
pub async fn trigger<H: Caller>(
    program: &Arc<Program>,
    row: &[(String, SqlType)],
    values: Vec<Value>,
    host: &mut H,
) -> Result<Vec<Value>> {
    let compiled = host.programs().get(program, row)?;
    let (last_insert_id, row_count) = (host.state().last_insert_id, host.state().row_count);
    let begin = |frame: &mut Frame| {
        frame.slots.splice(..values.len(), values);
    };
    let frame = run(&compiled, host, |frame, _| {
        begin(frame);
        Ok(())
    })
    .await;
    let state = host.state();
    (state.last_insert_id, state.row_count) = (last_insert_id, row_count);
    Ok(frame?.slots)
}

/// Runs a routine with these values of its parameters; `frame` of its end.
async fn invoke<H: Caller>(
    compiled: &Rc<Compiled>,
    arguments: Vec<(Value, Collation)>,
    host: &mut H,
) -> Result<Frame> {
    run(compiled, host, |frame, host| {
        for (parameter, value) in compiled.parameters.iter().zip(arguments) {
            if let Some(warning) = frame.assign(compiled, parameter.slot, value)? {
                host.warn(warning.level, warning.code, &warning.message);
            }
        }
        Ok(())
    })
    .await
}

async fn run<H: Caller>(
    compiled: &Rc<Compiled>,
    host: &mut H,
    begin: impl FnOnce(&mut Frame, &mut H) -> Result<()>,
) -> Result<Frame> {
    let recursion_max = host.recursion_max();
    let cache = Rc::clone(host.programs());
    let _running = cache.begin(&compiled.source, recursion_max)?;
    let entered = host.enter(&compiled.source, compiled.settings)?;
    let mut frame = Frame::new(compiled, host.store_options());
    let outcome = match begin(&mut frame, host) {
        Ok(()) => machine::run(compiled, &mut frame, host).await,
        Err(error) => Err(error),
    };
    host.leave(entered);
    outcome.map(|()| frame)
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
