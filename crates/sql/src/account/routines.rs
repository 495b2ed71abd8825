//! Privileges on procedures and functions.

use shoal_cluster::{Catalog, Change, Program, ProgramKind, RoutineGrant, User};
use shoal_parser::ast::{ObjectType, Privilege};
use shoal_parser::quote_identifier;
use shoal_types::{Error, ErrorCode, Result};

use super::Privileges;
use super::check::on_routine;
use crate::program::call::does_not_exist;
use crate::session::Session;

/// What can be granted on a routine.
const ON_ROUTINES: Privileges = Privileges::EXECUTE.with(Privileges::ALTER_ROUTINE);

/// A routine that a statement names.
pub struct Routine {
    pub database: String,
    pub kind: ProgramKind,
    /// In lower case.
    pub name: String,
}

/// The kind of an object of GRANT; `None`: a table.
pub fn kind_of(object: ObjectType) -> Option<ProgramKind> {
    match object {
        ObjectType::Table => None,
        ObjectType::Procedure => Some(ProgramKind::Procedure),
        ObjectType::Function => Some(ProgramKind::Function),
    }
}

/// The privileges of a statement about a routine. Errors: 1144.
pub fn bits_of(privileges: &[Privilege]) -> Result<Privileges> {
    let mut bits = Privileges::NONE;
    for privilege in privileges {
        bits = bits.with(match privilege.name.as_str() {
            "ALL PRIVILEGES" => ON_ROUTINES,
            "EXECUTE" => Privileges::EXECUTE,
            "ALTER ROUTINE" => Privileges::ALTER_ROUTINE,
            "GRANT OPTION" => Privileges::GRANT_OPTION,
            "USAGE" => Privileges::NONE,
            _ => {
                let message =
                    "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
                return Err(Error::new(ErrorCode::IllegalGrantForTable, message));
            }
        });
    }
    Ok(bits)
}

/// Before privileges on a routine are given or taken: it is there, and the grantor has them. Errors: 1305, 1370.
pub fn check_grantor(session: &Session, catalog: &Catalog, routine: &Routine, bits: Privileges) -> Result<()> {
    let Routine { database, kind, name } = routine;
    let program = catalog.program(database, *kind, name);
    let program = program.ok_or_else(|| does_not_exist(*kind, database, name))?;
    let access = &session.state.access;
    let present = access.look(catalog, |user| user.map_or(Privileges::NONE, |user| on_routine(user, program)));
    let present = if access.account == program.definer { present.with(ON_ROUTINES) } else { present };
    if present.contains(bits.with(Privileges::GRANT_OPTION)) {
        return Ok(());
    }
    let (user, host) = (&access.account.0, &session.shared.host);
    let message = format!("grant command denied to user '{user}'@'{host}' for routine '{database}.{name}'");
    Err(Error::new(ErrorCode::ProcAccessDenied, message))
}

fn position(user: &User, routine: &Routine) -> Option<usize> {
    user.routine_grants.iter().position(|grant| {
        grant.database == routine.database && grant.kind == routine.kind && grant.name == routine.name
    })
}

pub fn add(user: &mut User, routine: &Routine, bits: Privileges) {
    match position(user, routine) {
        Some(position) => user.routine_grants[position].privileges |= bits.0,
        None if bits.is_empty() => {}
        None => user.routine_grants.push(RoutineGrant {
            database: routine.database.clone(),
            kind: routine.kind,
            name: routine.name.clone(),
            privileges: bits.0,
        }),
    }
}

/// `false`: there is nothing granted there.
pub fn remove(user: &mut User, routine: &Routine, bits: Privileges) -> bool {
    let Some(position) = position(user, routine) else { return false };
    let left = Privileges(user.routine_grants[position].privileges).without(bits);
    match left.is_empty() {
        true => drop(user.routine_grants.remove(position)),
        false => user.routine_grants[position].privileges = left.0,
    }
    true
}

/// Errors: 1403.
pub fn no_such_grant((user, host): &(String, String), routine: &Routine) -> Error {
    let message =
        format!("There is no such grant defined for user '{user}' on host '{host}' on routine '{}'", routine.name);
    Error::new(ErrorCode::NonexistingProcGrant, message)
}

/// The lines of SHOW GRANTS.
pub fn grants_text(user: &User, to: &str) -> Vec<String> {
    let mut grants: Vec<&RoutineGrant> = user.routine_grants.iter().collect();
    grants.sort_by_key(|grant| (grant.kind, &grant.database, &grant.name));
    let line = |grant: &&RoutineGrant| {
        let bits = Privileges(grant.privileges);
        let names = bits.names(false);
        let names = if names.is_empty() { "USAGE".to_owned() } else { names.join(", ") };
        let object = format!("{}.{}", quote_identifier(&grant.database), quote_identifier(&grant.name));
        let option = if bits.contains(Privileges::GRANT_OPTION) { " WITH GRANT OPTION" } else { "" };
        format!("GRANT {names} ON {} {object} TO {to}{option}", grant.kind.word())
    };
    grants.iter().map(line).collect()
}

/// The changes that take the grants on a dropped routine along.
pub fn dropped_with(catalog: &Catalog, program: &Program) -> Vec<Change> {
    let name = program.name.to_lowercase();
    let is_it = |grant: &RoutineGrant| {
        grant.database == program.database && grant.kind == program.kind && grant.name == name
    };
    let concerned = catalog.users.values().filter(|user| user.routine_grants.iter().any(is_it));
    let without = concerned.map(|user| {
        let mut user = User::clone(user);
        user.routine_grants.retain(|grant| !is_it(grant));
        Change::PutUser(user)
    });
    without.collect()
}
