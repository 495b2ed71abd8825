//! Data definition: databases, tables, indexes.
//!
//! A definition is written as a draft (`draft`, `column`, `key`, `options`), checked and made a schema (`build`), and given to the
//! dictionary in one durable change (`publish`). Tables whose rows must be rewritten are copied while nobody can change them.
//! `show_create` goes the other way.

mod alter;
pub mod build;
mod checks;
pub mod column;
pub mod column_type;
mod create;
pub mod database;
pub(crate) mod defaults;
pub mod draft;
mod drop;
pub mod engine;
pub mod errors;
mod event;
mod foreign_keys;
mod forget;
mod functional;
pub mod generated_key;
pub mod key;
mod lock;
mod multi_valued;
pub mod options;
mod program;
pub mod publish;
mod running_stage;
mod select;
pub mod show_create;
mod supported;
mod temporary;
#[cfg(test)]
pub(crate) mod tests;
mod trigger;
pub mod view;

pub use supported::check_supported;
pub use temporary::{concerns_temporary_alone, is_about_temporary};

use shoal_cluster::ProgramKind;
use shoal_parser::ast::{ObjectName, Statement};
use shoal_types::{Collation, DateTime, Error, ErrorCode, Result, Warning};

use crate::dml::Affected;
use crate::session::Session;
use draft::DraftContext;

/// Runs a statement that defines something. The running transaction has ended, unless it is about temporary tables by its own words.
pub async fn run(session: &mut Session, statement: &Statement) -> Result<Affected> {
    match statement {
        Statement::CreateDatabase(create) => database::create(session, create).await,
        Statement::AlterDatabase(alter) => database::alter(session, alter).await,
        Statement::DropDatabase { name, if_exists } => database::drop(session, name, *if_exists).await,
        Statement::CreateTable(create) if create.temporary => temporary::create(session, create).await,
        Statement::CreateTable(create) => create::create_table(session, create).await,
        Statement::AlterTable(alter) => alter::run(session, alter).await,
        Statement::CreateIndex(create) => alter::create_index(session, create).await,
        Statement::DropIndex(drop) => alter::drop_index(session, drop).await,
        Statement::CreateView(view) => view::put(session, view, view::Put::Create).await,
        Statement::AlterView(view) => view::put(session, view, view::Put::Alter).await,
        Statement::DropView(drop) => view::drop(session, drop).await,
        Statement::CreateProcedure(create) => {
            program::create_routine(session, ProgramKind::Procedure, create).await
        }
        Statement::CreateFunction(create) => program::create_routine(session, ProgramKind::Function, create).await,
        Statement::AlterRoutine(alter) => program::alter_routine(session, alter).await,
        Statement::DropProcedure(drop) => program::drop_routine(session, ProgramKind::Procedure, drop).await,
        Statement::DropFunction(drop) => program::drop_routine(session, ProgramKind::Function, drop).await,
        Statement::CreateTrigger(create) => trigger::create(session, create).await,
        Statement::DropTrigger(drop) => trigger::drop(session, drop).await,
        Statement::CreateEvent(create) => event::create(session, create).await,
        Statement::AlterEvent(alter) => event::alter(session, alter).await,
        Statement::DropEvent(drop) => event::drop(session, drop).await,
        Statement::DropTable(drop) => drop::drop_tables(session, drop).await,
        Statement::RenameTables(pairs) => drop::rename(session, pairs).await,
        Statement::TruncateTable(name) => match temporary::named(session, name) {
            Some(table) => temporary::truncate(session, &table).await,
            None => drop::truncate(session, name).await,
        },
        _ => Err(Error::unsupported("this statement")),
    }
}

/// The database and name that an object name means. Errors: 1046.
fn qualified(session: &Session, name: &ObjectName) -> Result<(String, String)> {
    let database = match (&name.schema, &session.state.database) {
        (Some(schema), _) => schema.value.clone(),
        (None, Some(current)) => current.clone(),
        (None, None) => return Err(Error::new(ErrorCode::NoDb, "No database selected")),
    };
    Ok((database, name.name.value.clone()))
}

/// What a definition in a database with this collation depends on.
fn context(session: &Session, database_collation: Collation) -> DraftContext {
    let variables = &session.variables;
    let micros = variables.timestamp_micros.unwrap_or_else(|| session.server.clock_micros());
    let today: DateTime = variables.time_zone.from_utc_micros(micros, 0);
    DraftContext {
        settings: variables.settings,
        zone: variables.time_zone.clone(),
        today: today.date(),
        now_s: u64::try_from(micros / 1_000_000).unwrap_or(0),
        default_engine: variables.default_engine(),
        substitute_engine: !variables.sql_mode.has("NO_ENGINE_SUBSTITUTION"),
        database_collation,
    }
}

fn add_notes(session: &mut Session, notes: Vec<Warning>) {
    for note in notes {
        session.warn(note.level, note.code, note.message);
    }
}
