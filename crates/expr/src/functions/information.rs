//! Information functions: what the session and an expression are; SLEEP, locks and other odds and ends.

use std::time::Duration;

use shoal_types::{Collation, Error, ErrorCode, Result, Value};

use super::argument::{double, integer, text};
use super::{Derivation, Function, ResultType};
use crate::collate;
use crate::context::{EvalContext, LockRequest, UserLocks, printable};
use crate::convert;
use crate::expr::Call;

pub(super) const TABLE: &[Function] = &[
    Function::new("DATABASE", 0, 0, |d| Ok(d.ascii_text(64)?.nullable().system_constant()), database)
        .of_statement()
        .of_session(),
    Function::new("SCHEMA", 0, 0, |d| Ok(d.ascii_text(64)?.nullable().system_constant()), database)
        .of_statement()
        .of_session(),
    Function::new("USER", 0, 0, user_type, user).of_statement().of_session(),
    Function::new("SESSION_USER", 0, 0, user_type, user).of_statement().of_session(),
    Function::new("SYSTEM_USER", 0, 0, user_type, user).of_statement().of_session(),
    Function::new("CURRENT_USER", 0, 0, user_type, |_, _, ctx| Ok(Value::str(ctx.session()?.current_user())))
        .of_statement()
        .of_session(),
    Function::new("CURRENT_ROLE", 0, 0, role_type, |_, _, ctx| Ok(Value::str(ctx.session()?.current_role())))
        .of_statement()
        .of_session(),
    Function::new(
        "VALIDATE_PASSWORD_STRENGTH",
        1,
        1,
        |d| d.integer(10),
        |call, values, ctx| {
            let password = text(call, values, 0).into_owned();
            Ok(Value::Int(i64::from(ctx.session()?.password_strength(&password))))
        },
    )
    .of_session(),
    Function::new(
        "VERSION",
        0,
        0,
        |d| Ok(d.ascii_text(60)?.system_constant()),
        |_, _, ctx| Ok(Value::str(ctx.session()?.version())),
    )
    .of_statement()
    .of_session(),
    Function::new(
        "CONNECTION_ID",
        0,
        0,
        |d| d.unsigned(21),
        |_, _, ctx| Ok(Value::UInt(u64::from(ctx.session()?.connection_id()))),
    )
    .of_statement()
    .of_session(),
    // Sessions have the same numbers as threads of performance_schema and as what KILL takes.
    Function::new(
        "PS_CURRENT_THREAD_ID",
        0,
        0,
        |d| d.unsigned(21),
        |_, _, ctx| Ok(Value::UInt(u64::from(ctx.session()?.connection_id()))),
    )
    .of_statement()
    .of_session(),
    Function::new("LAST_INSERT_ID", 0, 1, |d| d.unsigned(21), last_insert_id)
        .takes_nulls()
        .volatile()
        .of_session(),
    Function::new("ROW_COUNT", 0, 0, |d| d.integer(21), |_, _, ctx| Ok(Value::Int(ctx.session()?.row_count())))
        .of_statement()
        .of_session(),
    Function::new(
        "FOUND_ROWS",
        0,
        0,
        |d| d.integer(21),
        |_, _, ctx| Ok(Value::Int(i64::try_from(ctx.session()?.found_rows()).unwrap_or(i64::MAX))),
    )
    .of_statement()
    .of_session(),
    Function::new("CHARSET", 1, 1, of_argument, |call, _, ctx| {
        Ok(Value::str(argument_collation(call, ctx).charset().name()))
    })
    .takes_nulls(),
    Function::new("COLLATION", 1, 1, of_argument, |call, _, ctx| {
        Ok(Value::str(argument_collation(call, ctx).name()))
    })
    .takes_nulls(),
    Function::new("COERCIBILITY", 1, 1, |d| Ok(d.integer(10)?.not_null()), coercibility).takes_nulls(),
    Function::new("BENCHMARK", 2, 2, |d| Ok(d.integer(1)?.nullable()), benchmark).takes_nulls().volatile(),
    Function::new("SLEEP", 1, 1, |d| Ok(d.integer(21)?.not_null()), sleep).takes_nulls().volatile().of_session(),
    Function::new("GET_LOCK", 2, 2, |d| Ok(d.integer(1)?.nullable()), get_lock)
        .takes_nulls()
        .volatile()
        .of_session(),
    Function::new("RELEASE_LOCK", 1, 1, |d| Ok(d.integer(1)?.nullable()), release_lock)
        .takes_nulls()
        .volatile()
        .of_session(),
    Function::new("RELEASE_ALL_LOCKS", 0, 0, |d| d.unsigned(21), release_all_locks).volatile().of_session(),
    Function::new("IS_FREE_LOCK", 1, 1, |d| Ok(d.integer(1)?.nullable()), is_free_lock)
        .takes_nulls()
        .volatile()
        .of_session(),
    Function::new("IS_USED_LOCK", 1, 1, |d| Ok(d.unsigned(21)?.nullable()), is_used_lock)
        .takes_nulls()
        .volatile()
        .of_session(),
];

fn user_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    Ok(derivation.ascii_text(288)?.system_constant())
}

fn role_type(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    Ok(derivation.ascii_text(16_383)?.system_constant())
}

fn of_argument(derivation: &mut Derivation<'_>) -> Result<ResultType> {
    Ok(derivation.ascii_text(64)?.not_null().system_constant())
}

fn database(_call: &Call, _values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    Ok(ctx.session()?.database().map_or(Value::Null, Value::str))
}

fn user(_call: &Call, _values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    Ok(Value::str(ctx.session()?.session_user()))
}

fn last_insert_id(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    match values.first() {
        None => Ok(Value::UInt(ctx.session()?.last_insert_id())),
        Some(Value::Null) => {
            ctx.session()?.set_last_insert_id(0);
            Ok(Value::Null)
        }
        Some(value) => {
            let id = convert::to_bits(value, ctx)?;
            ctx.session()?.set_last_insert_id(id);
            Ok(Value::UInt(id))
        }
    }
}

fn argument_collation(call: &Call, ctx: &EvalContext<'_>) -> Collation {
    match call.arguments.first() {
        Some(argument) if argument.sql_type().base == shoal_types::BaseType::Null => Collation::BINARY,
        Some(argument) if argument.sql_type().is_numeric() || argument.sql_type().is_temporal() => {
            Collation::BINARY
        }
        Some(argument) => collate::collation_of(argument.sql_type(), ctx.settings.collation_connection),
        None => Collation::BINARY,
    }
}

fn coercibility(call: &Call, _values: &mut [Value], _ctx: &mut EvalContext<'_>) -> Result<Value> {
    let level = call.arguments.first().map_or(0, |argument| argument.coercibility() as i64);
    Ok(Value::Int(level))
}

/// The expression was evaluated with the arguments; repeating it would hold the worker thread and yield nothing.
fn benchmark(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    if values[0].is_null() || integer(values, 0, ctx)? < 0 {
        return Ok(Value::Null);
    }
    Ok(Value::Int(0))
}

/// Asks the executor for the pause. Errors: NULL or a negative number (1210).
fn sleep(_call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let seconds = double(values, 0, ctx)?;
    if values[0].is_null() || seconds < 0.0 {
        return Err(Error::new(ErrorCode::WrongArguments, "Incorrect arguments to sleep."));
    }
    if ctx.is_sleep_interrupted {
        return Ok(Value::Int(1));
    }
    let pause = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    ctx.pending_sleep = Some(ctx.pending_sleep.unwrap_or_default().saturating_add(pause));
    Ok(Value::Int(0))
}

const LOCK_NAME_CHARACTERS: usize = 64;

/// The name of a lock in lower case. Errors: NULL, empty or too long (3057).
fn lock_name(call: &Call, values: &[Value]) -> Result<String> {
    let text = text(call, values, 0);
    let name = String::from_utf8_lossy(&text).to_lowercase();
    let is_valid = !values[0].is_null() && !name.is_empty() && name.chars().count() <= LOCK_NAME_CHARACTERS;
    if is_valid {
        return Ok(name);
    }
    let shown = if values[0].is_null() { "NULL".to_owned() } else { printable(&text) };
    Err(Error::new(ErrorCode::UserLockWrongName, format!("Incorrect user-level lock name '{shown}'.")))
}

fn locks<'c>(ctx: &'c mut EvalContext<'_>) -> Result<&'c mut dyn UserLocks> {
    ctx.session()?.locks().ok_or_else(|| Error::unsupported("user-level locks"))
}

fn get_lock(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let name = lock_name(call, values)?;
    let seconds = double(values, 1, ctx)?;
    // A negative timeout waits for ever.
    let timeout =
        if seconds < 0.0 { Duration::MAX } else { Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX) };
    once(ctx, |ctx| match locks(ctx)?.get(&name, timeout) {
        Some(taken) => Ok(Value::from(taken)),
        None => {
            ctx.pending_lock = Some(LockRequest { name, timeout });
            Err(Error::unsupported("waiting for GET_LOCK() outside the select list"))
        }
    })
}

/// A call that acts, but not again when its expression is.
fn once<'a>(ctx: &mut EvalContext<'a>, act: impl FnOnce(&mut EvalContext<'a>) -> Result<Value>) -> Result<Value> {
    if let Some(outcome) = ctx.lock_calls.replay() {
        return Ok(outcome);
    }
    let outcome = act(ctx)?;
    ctx.lock_calls.push(outcome.clone());
    Ok(outcome)
}

fn release_lock(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let name = lock_name(call, values)?;
    once(ctx, |ctx| Ok(locks(ctx)?.release(&name).map_or(Value::Null, Value::from)))
}

fn release_all_locks(_call: &Call, _values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    once(ctx, |ctx| Ok(Value::UInt(locks(ctx)?.release_all())))
}

fn is_free_lock(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let name = lock_name(call, values)?;
    once(ctx, |ctx| Ok(Value::from(locks(ctx)?.holder(&name).is_none())))
}

fn is_used_lock(call: &Call, values: &mut [Value], ctx: &mut EvalContext<'_>) -> Result<Value> {
    let name = lock_name(call, values)?;
    let id = |holder: u32| Value::UInt(u64::from(holder));
    once(ctx, |ctx| Ok(locks(ctx)?.holder(&name).map_or(Value::Null, id)))
}
