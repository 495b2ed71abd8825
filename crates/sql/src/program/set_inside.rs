//! System variables that functions and triggers set: in force at once for what runs within the statement, and the session's when the statement has
//! ended. What a program brings along (sql_mode, character sets) is its own until it ends, as in procedures.

use std::rc::Rc;

use shoal_parser::ast::{SetAssignment, SetValue, Statement, SystemVariable};
use shoal_types::{Error, ErrorCode, Result, Value};

use super::computed::Computed;
use super::host::{Host, Inside};
use super::settings::ProgramSettings;
use crate::variables::inside::SetInside;
use crate::variables::registry::Definition;
use crate::variables::{SessionVariables, set};

/// Of the session that takes them, more than values: they take effect where it is.
const OF_SESSION: [&str; 12] = [
    "transaction_isolation",
    "tx_isolation",
    "transaction_read_only",
    "tx_read_only",
    "insert_id",
    "last_insert_id",
    "identity",
    "rand_seed1",
    "rand_seed2",
    "sql_log_off",
    "timestamp",
    "pseudo_thread_id",
];
/// What a program brings along.
const OF_PROGRAM: [&str; 4] =
    ["sql_mode", "character_set_client", "character_set_connection", "collation_connection"];

/// What an assignment comes to.
pub enum Effect {
    /// For the program itself.
    Program(ProgramSettings),
    /// For all that follows.
    Session(SetInside),
}

/// The variable of an assignment, and its value. Errors: 1193, 1238, 1229; 1445, it commits; 1235.
pub async fn evaluate<H: Host>(
    assignment: &SetAssignment,
    inside: &Inside,
    present: &SessionVariables,
    host: &mut H,
) -> Result<(&'static Definition, String)> {
    let SetAssignment::Variable { variable, value } = assignment else {
        return Err(Error::unsupported("SET NAMES and SET CHARACTER SET in a stored function or trigger"));
    };
    let (definition, global) = set::settable(variable)?;
    check(definition, global, variable)?;
    let is_local = |name: &str| inside.slots.with_locals(&inside.scope, |locals| locals.slot(name).is_some());
    let text = match value {
        SetValue::Default => host.global_text(definition),
        SetValue::Expr(expression) => match set::word(expression).filter(|word| !is_local(word)) {
            Some(word) => word.to_owned(),
            None => {
                let computed = Computed::new(expression.clone(), &inside.scope);
                let (value, _) = computed.queried(&inside.slots, &inside.values, host).await?;
                text_of(&value)
            }
        },
    };
    // Whatever is wrong with it is told before anything has changed.
    present.clone().assign(definition, &text)?;
    Ok((definition, text))
}

fn text_of(value: &Value) -> String {
    if value.is_null() { "NULL".to_owned() } else { String::from_utf8_lossy(&value.to_text()).into_owned() }
}

/// Error 1445.
pub fn no_autocommit() -> Error {
    let message = "Not allowed to set autocommit from a stored function or trigger";
    Error::new(ErrorCode::SpCantSetAutocommit, message)
}

fn check(definition: &Definition, global: bool, variable: &SystemVariable) -> Result<()> {
    if definition.name == "autocommit" {
        return Err(no_autocommit());
    }
    let is_of_session = OF_SESSION.contains(&definition.name) || set::needs_privileges(definition.name);
    match global || is_of_session {
        false => Ok(()),
        true => Err(Error::unsupported(format!(
            "SET {}{} in a stored function or trigger",
            if global { "GLOBAL " } else { "" },
            variable.name.value
        ))),
    }
}

/// Carries it out, over the variables as they are; `before`: what has been set already.
pub fn apply(
    (definition, text): (&'static Definition, String),
    present: &SessionVariables,
    before: Option<&SetInside>,
) -> Result<Effect> {
    let mut variables = present.clone();
    variables.assign(definition, &text)?;
    if OF_PROGRAM.contains(&definition.name) {
        let settings = &variables.settings;
        return Ok(Effect::Program(ProgramSettings {
            modes: variables.sql_mode,
            character_set_client: settings.character_set_client,
            collation_connection: settings.collation_connection,
        }));
    }
    let mut set = before.map(|before| before.set.clone()).unwrap_or_default();
    set.push((definition, text));
    // No two of one statement are alike; bits of the session's own key are rarely the same.
    let key = (set.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    Ok(Effect::Session(SetInside { variables: Rc::new(variables), key, set }))
}

/// The assignments of a statement, if it is SET. Errors: 1422, it commits.
pub fn assignments(statement: &Statement) -> Result<&[SetAssignment]> {
    match statement {
        Statement::Set(assignments) => Ok(assignments),
        _ => Err(super::condition::no_commit()),
    }
}
