//! SET.

use std::sync::{Arc, PoisonError};

use shoal_expr::SessionValues;
use shoal_parser::ast::{self, SetAssignment, SetValue, VariableScope};
use shoal_txn::Isolation;
use shoal_types::{Charset, Collation, Error, ErrorCode, Result, TimeZone, Value};

use super::registry::{self, Definition, Scope};
use super::sql_mode::SqlModes;
use super::{SessionVariables, SetBy};
use crate::account::Privileges;
use crate::execute::memory::Held;
use crate::session::Session;
use crate::session::tracking::SETTINGS_PREFIX;
use crate::{error_log, query_log};

/// Limits of a connection's memory, which not everybody raises for himself.
const MEMORY_VARIABLES: [&str; 3] =
    ["connection_memory_limit", "connection_memory_chunk_size", "global_connection_memory_tracking"];

/// Runs the assignments of a SET statement in order.
pub async fn run(session: &mut Session, assignments: &[SetAssignment]) -> Result<()> {
    for assignment in assignments {
        match assignment {
            SetAssignment::UserVariable { name, value } => {
                for (value, sql_type) in session.evaluate(std::slice::from_ref(value)).await? {
                    // It may be refused here; what expressions assign is counted and refuses what comes after it.
                    Held::new(&session.memory).add(value.heap_bytes())?;
                    session.state.set_user_variable(name, value, sql_type);
                    session.tracker.note_change();
                }
            }
            SetAssignment::Variable { variable, value } => set_variable(session, variable, value).await?,
            SetAssignment::Names { charset, collation } => {
                names(session, charset.as_deref(), collation.as_deref())?
            }
            SetAssignment::CharacterSet(charset) => character_set(session, charset.as_deref())?,
            SetAssignment::NewColumn { .. } => return Err(Error::unsupported("SET NEW.column outside triggers")),
        }
    }
    Ok(())
}

/// SET [SESSION | GLOBAL] TRANSACTION ...
pub fn transaction(session: &mut Session, set: &ast::SetTransaction) -> Result<()> {
    let isolation = set.isolation.map(|level| match level {
        ast::IsolationLevel::ReadUncommitted => "READ-UNCOMMITTED",
        ast::IsolationLevel::ReadCommitted => "READ-COMMITTED",
        ast::IsolationLevel::RepeatableRead => "REPEATABLE-READ",
        ast::IsolationLevel::Serializable => "SERIALIZABLE",
    });
    match set.scope {
        Some(VariableScope::Session) => {
            if let Some(isolation) = isolation {
                assign_session(session, registry::require("transaction_isolation")?, isolation)?;
            }
            if let Some(read_only) = set.read_only {
                let text = if read_only { "ON" } else { "OFF" };
                assign_session(session, registry::require("transaction_read_only")?, text)?;
            }
        }
        Some(_) => {
            let mut globals = session.server.globals.write().unwrap_or_else(PoisonError::into_inner);
            if let Some(isolation) = isolation {
                globals.assign(registry::require("transaction_isolation")?, isolation)?;
            }
            if let Some(read_only) = set.read_only {
                let text = if read_only { "ON" } else { "OFF" };
                globals.assign(registry::require("transaction_read_only")?, text)?;
            }
        }
        None => {
            if session.in_transaction() {
                let message = "Transaction characteristics can't be changed while a transaction is in progress";
                return Err(Error::new(ErrorCode::CantChangeTxCharacteristics, message));
            }
            session.next_transaction.isolation =
                isolation.map(isolation_level).or(session.next_transaction.isolation);
            session.next_transaction.read_only = set.read_only.or(session.next_transaction.read_only);
        }
    }
    Ok(())
}

/// A variable that may be set as a statement says, and whether globally. Errors: 1193, 1238, 1228, 1229; 1235.
pub fn settable(variable: &ast::SystemVariable) -> Result<(&'static Definition, bool)> {
    let name = &*registry::full_name(variable);
    let definition = registry::find(name).ok_or_else(|| registry::unknown(name))?;
    let global = match variable.scope {
        Some(VariableScope::Global) => true,
        Some(VariableScope::Persist | VariableScope::PersistOnly) => {
            return Err(Error::unsupported("SET PERSIST"));
        }
        Some(VariableScope::Session) | None => false,
    };
    if definition.scope == Scope::ReadOnly {
        let message = format!("Variable '{name}' is a read only variable");
        return Err(Error::new(ErrorCode::IncorrectGlobalLocalVar, message));
    }
    if global && !definition.is_global() {
        let message = format!("Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL");
        return Err(Error::new(ErrorCode::LocalVariable, message));
    }
    if !global && !definition.in_session() {
        let message = format!("Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL");
        return Err(Error::new(ErrorCode::GlobalVariable, message));
    }
    Ok((definition, global))
}

/// A bare word, which is a text where a variable is given a value.
pub fn word(expression: &ast::Expr) -> Option<&str> {
    match expression {
        ast::Expr::Column(word) if word.table.is_none() => Some(&word.column.value),
        _ => None,
    }
}

/// Not everybody may set it in his own session.
pub fn needs_privileges(name: &str) -> bool {
    name == "sql_log_off" || MEMORY_VARIABLES.contains(&name)
}

/// Gives the session what programs in a statement have set. It was checked then.
pub fn keep(session: &mut Session, set: Vec<(&'static Definition, String)>) {
    for (definition, text) in set {
        let _ = assign_session(session, definition, &text);
    }
}

async fn set_variable(session: &mut Session, variable: &ast::SystemVariable, value: &SetValue) -> Result<()> {
    let (definition, global) = settable(variable)?;
    let text = match value {
        SetValue::Default => default_text(session, definition, global),
        SetValue::Expr(expression) if word(expression).is_some_and(|word| !session.has_local(word)) => {
            word(expression).unwrap_or_default().to_owned()
        }
        SetValue::Expr(expression) => {
            let values = session.evaluate(std::slice::from_ref(expression)).await?;
            match values.into_iter().next() {
                Some((Value::Null, _)) | None => "NULL".to_owned(),
                Some((value, _)) => String::from_utf8_lossy(&value.to_text()).into_owned(),
            }
        }
    };
    if global {
        crate::account::check_admin(session, "SYSTEM_VARIABLES_ADMIN")?;
        check_no_transaction(session, definition.name)?;
        if definition.name.starts_with("audit_log") {
            session.audit_change_of_log(definition.name, &text);
        }
        if query_log::settings::concerns(definition.name) {
            query_log_variable(session, definition, &text).await?;
            note_set(session, definition.name);
            return Ok(());
        }
        if error_log::concerns(definition.name) {
            error_log::change(&session.server, definition, &text).await?;
            note_set(session, definition.name);
            return Ok(());
        }
        if definition.name == "mandatory_roles" {
            crate::account::mandatory::check(session, &text)?;
        }
        session.server.globals.write().unwrap_or_else(PoisonError::into_inner).assign(definition, &text)?;
        note_set(session, definition.name);
        return global_effect(session, definition.name, &text);
    }
    if definition.name == "sql_log_off" {
        crate::account::check_admin(session, "SYSTEM_VARIABLES_ADMIN")?;
    }
    if MEMORY_VARIABLES.contains(&definition.name) {
        let needed = Privileges::SYSTEM_VARIABLES_ADMIN.with(Privileges::SESSION_VARIABLES_ADMIN);
        crate::account::require_global(session, needed.with(Privileges::SUPER))?;
    }
    let committed = definition.name == "autocommit" && !session.variables.autocommit;
    assign_session(session, definition, &text)?;
    if committed && session.variables.autocommit {
        session.commit().await?;
    }
    Ok(())
}

/// Who has set a global variable, for `variables_info`.
fn note_set(session: &Session, name: &'static str) {
    let set = SetBy {
        micros: session.server.clock_micros(),
        user: session.state.user.clone(),
        host: session.state.host.clone(),
    };
    session.server.globals.write().unwrap_or_else(PoisonError::into_inner).note_set(name, set);
}

/// SET GLOBAL of what the query logs follow: their files are open before the variable has its value.
///
/// # Errors
/// 1231: the value is none, or the file cannot be written; the error log says why.
async fn query_log_variable(session: &Session, definition: &'static Definition, text: &str) -> Result<()> {
    let logs = &session.server.query_logs;
    let _one_after_another = logs.changing.lock().await;
    let is_configuration = |text: &str| text.ends_with(".cnf") || text.ends_with(".ini");
    if definition.name.ends_with("_file") && is_configuration(&text.to_ascii_lowercase()) {
        return Err(definition.wrong_value(text));
    }
    let old = session.server.globals.read().unwrap_or_else(PoisonError::into_inner).clone();
    let mut new = old.clone();
    new.assign(definition, text)?;
    if let Err(error) = logs.change(&old, &new).await {
        let refused = definition.wrong_value(text);
        return Err(Error::new(ErrorCode::WrongValueForVar, format!("{} ({error})", refused.message())));
    }
    session.server.globals.write().unwrap_or_else(PoisonError::into_inner).assign(definition, text)
}

fn default_text(session: &Session, definition: &'static Definition, global: bool) -> String {
    if global {
        return definition.default.to_owned();
    }
    session.server.globals.read().unwrap_or_else(PoisonError::into_inner).text(definition)
}

fn assign_session(session: &mut Session, definition: &'static Definition, text: &str) -> Result<()> {
    match definition.name {
        "last_insert_id" | "identity" => {
            session.state.last_insert_id = text.parse().map_err(|_| definition.wrong_value(text))?;
            return Ok(());
        }
        "transaction_isolation" | "tx_isolation" | "transaction_read_only" | "tx_read_only" => {
            let twin = match definition.name {
                "transaction_isolation" => "tx_isolation",
                "tx_isolation" => "transaction_isolation",
                "transaction_read_only" => "tx_read_only",
                _ => "transaction_read_only",
            };
            session.variables.assign(registry::require(twin)?, text)?;
        }
        "insert_id" => {
            session.variables.insert_id = Some(text.parse().map_err(|_| definition.wrong_value(text))?);
            return Ok(());
        }
        "rand_seed1" | "rand_seed2" => {
            let seed = text.parse().map_err(|_| definition.wrong_value(text))?;
            session.state.random = shoal_expr::RandomState::new(seed, seed);
        }
        _ => {}
    }
    session.variables.assign(definition, text)?;
    if definition.name.starts_with(SETTINGS_PREFIX) {
        session.tracker.configure(&session.variables);
    }
    session.tracker.note_variable(definition.name);
    session.settings_changed();
    if MEMORY_VARIABLES.contains(&definition.name) { session.limit_memory() } else { Ok(()) }
}

/// Who has written, or might, is not to refuse his own commit. Errors: 1192.
fn check_no_transaction(session: &Session, name: &str) -> Result<()> {
    if !matches!(name, "read_only" | "super_read_only") || !(session.in_transaction() || session.tables_locked) {
        return Ok(());
    }
    let message = "Can't execute the given command because you have active locked tables or an active transaction";
    Err(Error::new(ErrorCode::LockOrActiveTransaction, message))
}

/// What SET GLOBAL changes at once in the running server.
fn global_effect(session: &Session, name: &str, text: &str) -> Result<()> {
    if name == "commit_durability" {
        let durability = match text.to_ascii_lowercase().as_str() {
            "replicated" => shoal_cluster::Durability::Replicated,
            _ => shoal_cluster::Durability::Disk,
        };
        session.server.node.set_durability(durability)?;
    }
    if name == "global_connection_memory_limit" {
        let limit =
            session.server.globals.read().unwrap_or_else(PoisonError::into_inner).global_connection_memory_limit();
        session.server.connections_memory.set_limit_bytes(limit);
    }
    if name == "mandatory_roles" {
        session.server.mandatory_roles.set(crate::account::mandatory_list::parse(text).unwrap_or_default());
    }
    if matches!(name, "read_only" | "super_read_only") {
        session.server.read_only.follow(&session.server.globals.read().unwrap_or_else(PoisonError::into_inner));
    }
    Ok(())
}

fn names(session: &mut Session, charset: Option<&str>, collation: Option<&str>) -> Result<()> {
    let charset = match charset {
        Some(name) => Charset::resolve(name)?,
        None => Charset::Utf8mb4,
    };
    let collation = match collation {
        Some(name) => {
            let collation = Collation::resolve(name)?;
            collation.check_charset(charset)?;
            collation
        }
        None => charset.default_collation(),
    };
    session.variables.set_names(collation);
    note_character_sets(session);
    session.settings_changed();
    Ok(())
}

fn note_character_sets(session: &mut Session) {
    for name in ["character_set_client", "character_set_connection", "character_set_results"] {
        session.tracker.note_variable(name);
    }
}

fn character_set(session: &mut Session, charset: Option<&str>) -> Result<()> {
    let charset = match charset {
        Some(name) => Charset::resolve(name)?,
        None => Charset::Utf8mb4,
    };
    let connection = session.variables.collation_database;
    session.variables.set_names(charset.default_collation());
    session.variables.settings.collation_connection = connection;
    let texts = Arc::make_mut(&mut session.variables.texts);
    texts.insert("collation_connection", connection.name().to_owned());
    texts.insert("character_set_connection", connection.charset().name().to_owned());
    note_character_sets(session);
    session.settings_changed();
    Ok(())
}

fn isolation_level(text: &str) -> Isolation {
    match text {
        "READ-UNCOMMITTED" | "READ-COMMITTED" => Isolation::ReadCommitted,
        "SERIALIZABLE" => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

/// A checked text as the variable shows it: an offset of a time zone has four digits.
pub fn as_shown(definition: &Definition, text: String) -> String {
    if definition.name != "time_zone" || !text.starts_with(['+', '-']) {
        return text;
    }
    TimeZone::parse(&text).map_or(text, |zone| zone.name().to_owned())
}

/// Carries a checked text into the typed field that the server looks at. Errors: 1231 and what names of character sets,
/// collations and time zones get.
pub fn apply(variables: &mut SessionVariables, name: &str, text: &str) -> Result<()> {
    let number = || text.parse::<u64>().unwrap_or(0);
    let on = text == "ON";
    let settings = &mut variables.settings;
    match name {
        "autocommit" => variables.autocommit = on,
        "sql_mode" => {
            let modes = SqlModes::parse(text)?;
            variables.sql_mode = modes;
            settings.sql_mode = modes.for_evaluation();
            variables.parser_mode = modes.for_parser();
            variables.only_full_group_by = modes.has("ONLY_FULL_GROUP_BY");
            variables.no_auto_value_on_zero = modes.has("NO_AUTO_VALUE_ON_ZERO");
        }
        "time_zone" => {
            variables.time_zone = TimeZone::parse(text).ok_or_else(|| {
                Error::new(ErrorCode::UnknownTimeZone, format!("Unknown or incorrect time zone: '{text}'"))
            })?;
        }
        "transaction_isolation" | "tx_isolation" => variables.isolation = isolation_level(text),
        "transaction_read_only" | "tx_read_only" => variables.transaction_read_only = on,
        "character_set_client" => settings.character_set_client = Charset::resolve(text)?,
        "character_set_results" => {
            variables.character_set_results =
                if text.is_empty() || text == "NULL" { None } else { Some(Charset::resolve(text)?) };
        }
        "character_set_connection" => settings.collation_connection = Charset::resolve(text)?.default_collation(),
        "collation_connection" => settings.collation_connection = Collation::resolve(text)?,
        "collation_server" => variables.collation_server = Collation::resolve(text)?,
        "character_set_server" => variables.collation_server = Charset::resolve(text)?.default_collation(),
        "collation_database" => variables.collation_database = Collation::resolve(text)?,
        "lock_wait_timeout" => variables.lock_wait_timeout_s = number(),
        "innodb_lock_wait_timeout" => variables.innodb_lock_wait_timeout_s = number(),
        "max_execution_time" => variables.max_execution_time_ms = number(),
        "sql_select_limit" => variables.sql_select_limit = number(),
        "max_error_count" => variables.max_error_count = number() as usize,
        "wait_timeout" => variables.wait_timeout_s = number(),
        "sql_safe_updates" => variables.sql_safe_updates = on,
        "foreign_key_checks" => variables.foreign_key_checks = on,
        "optimizer_switch" => {
            variables.uses_invisible_indexes = super::optimizer_switch::is_on(text, "use_invisible_indexes");
        }
        "long_query_time" => {
            let seconds: f64 = text.parse().unwrap_or(0.0);
            variables.long_query_time_micros = (seconds * 1e6).round() as u64;
        }
        "min_examined_row_limit" => variables.min_examined_row_limit = number(),
        "sql_log_off" => variables.sql_log_off = on,
        "profiling" => variables.profiling = on,
        "profiling_history_size" => variables.profiling_history_size = number() as usize,
        "connection_memory_limit" => variables.connection_memory_limit = number(),
        "connection_memory_chunk_size" => variables.connection_memory_chunk_size = number(),
        "global_connection_memory_tracking" => variables.global_connection_memory_tracking = on,
        "auto_increment_increment" => variables.auto_increment_increment = number(),
        "auto_increment_offset" => variables.auto_increment_offset = number(),
        "div_precision_increment" => settings.div_precision_increment = number() as u8,
        "group_concat_max_len" => settings.group_concat_max_len = number() as usize,
        "max_allowed_packet" => settings.max_allowed_packet = number() as usize,
        "block_encryption_mode" => {
            settings.block_encryption = shoal_expr::BlockEncryption::named(text).unwrap_or_default();
        }
        "windowing_use_high_precision" => settings.windowing_use_high_precision = on,
        "default_week_format" => settings.default_week_format = number() as u8,
        "timestamp" => {
            let seconds: f64 = text.parse().unwrap_or(0.0);
            variables.timestamp_micros = (seconds != 0.0).then_some((seconds * 1e6) as i64);
        }
        _ => {}
    }
    Ok(())
}
