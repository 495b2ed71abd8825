//! SHOW CREATE and SHOW GRANTS: objects and accounts as the statements that make them.

use std::sync::Arc;

use shoal_cluster::{ProgramKind, TlsRequirement, User, View};
use shoal_parser::ast::{AccountName, ObjectName, ShowCreate};
use shoal_parser::{quote_identifier, quote_string};
use shoal_types::{Collation, Error, ErrorCode, Result, Value};

use super::Listing;
use super::objects::{Found, find_named};
use crate::account::access::with_roles;
use crate::account::{self, Privileges, role};
use crate::ddl::generated_key;
use crate::ddl::show_create::{create_database_text, create_table_text, type_text, with_plain_names};
use crate::ddl::view::create_view_text;
use crate::information_schema::{self, row};
use crate::session::Session;

pub fn show_create(session: &Session, create: &ShowCreate) -> Result<Listing> {
    match create {
        ShowCreate::Database { name, if_not_exists } => database(session, &name.value, *if_not_exists),
        ShowCreate::Table(name) => table(session, name),
        ShowCreate::View(name) => {
            if let Found::View(view) = find_named(session, name)? {
                return Ok(view_listing(&view));
            }
            let message = format!("'{}' is not VIEW", qualified(session, name));
            Err(Error::new(ErrorCode::WrongObject, message))
        }
        ShowCreate::Procedure(name) => program(session, ProgramKind::Procedure, name),
        ShowCreate::Function(name) => program(session, ProgramKind::Function, name),
        ShowCreate::Trigger(name) => program(session, ProgramKind::Trigger, name),
        ShowCreate::Event(name) => program(session, ProgramKind::Event, name),
        ShowCreate::User(name) => user(session, name),
    }
}

/// A stored program. Whoever may run it but not change it does not see its body.
fn program(session: &Session, kind: ProgramKind, name: &ObjectName) -> Result<Listing> {
    let missing = || match kind {
        ProgramKind::Trigger => Error::new(ErrorCode::TrgDoesNotExist, "Trigger does not exist"),
        ProgramKind::Event => {
            Error::new(ErrorCode::EventDoesNotExist, format!("Unknown event '{}'", name.name.value))
        }
        _ => {
            let message = format!("{} {} does not exist", kind.word(), name.name.value);
            Error::new(ErrorCode::SpDoesNotExist, message)
        }
    };
    let no_database = || Error::new(ErrorCode::NoDb, "No database selected");
    let database = match &name.schema {
        Some(schema) => schema.value.clone(),
        None => session.state.database.clone().ok_or_else(no_database)?,
    };
    let catalog = session.server.node.catalog();
    let program = catalog.program(&database, kind, &name.name.value).ok_or_else(missing)?;
    let text = crate::program::text::create(program);
    let (charset, collation) = (&program.character_set_client, program.collation_connection.name());
    let database_collation = program.database_collation.name();
    let ends = "character_set_client v64!, collation_connection v64!, Database Collation v64!";
    Ok(match kind {
        ProgramKind::Procedure | ProgramKind::Function => {
            let may_see = account::check_alter_routine(&session.asking(), program).is_ok()
                || account::check_execute(&session.asking(), program).is_ok();
            if !may_see {
                return Err(missing());
            }
            let text = account::check_alter_routine(&session.asking(), program).is_ok().then_some(text);
            let word = if kind == ProgramKind::Procedure { "Procedure" } else { "Function" };
            let columns = format!("{word} v64!, sql_mode v520!, Create {word} l, {ends}");
            let row = row![&program.name, &program.sql_mode, text, charset, collation, database_collation];
            Listing::new(&columns, vec![row])
        }
        ProgramKind::Trigger => {
            let table = program.trigger.as_ref().map_or("", |place| place.table.as_str());
            account::require(session, &database, Some(table), Privileges::TRIGGER)?;
            let columns = format!("Trigger v64!, sql_mode v520!, SQL Original Statement l!, {ends}, Created S!");
            let created = session.variables.time_zone.from_utc_micros(program.created_us, 2);
            let created = Value::DateTime(created);
            let row =
                row![&program.name, &program.sql_mode, text, charset, collation, database_collation, created];
            Listing::new(&columns, vec![row])
        }
        ProgramKind::Event => {
            account::require(session, &database, None, Privileges::EVENT)?;
            let columns = format!("Event v64!, sql_mode v520!, time_zone v64!, Create Event l!, {ends}");
            let zone = program.schedule.as_ref().map_or("", |schedule| schedule.zone.as_str());
            let row = row![&program.name, &program.sql_mode, zone, text, charset, collation, database_collation];
            Listing::new(&columns, vec![row])
        }
    })
}

fn qualified(session: &Session, name: &ObjectName) -> String {
    let database =
        name.schema.as_ref().map(|schema| schema.value.clone()).or_else(|| session.state.database.clone());
    format!("{}.{}", database.unwrap_or_default(), name.name.value)
}

fn database(session: &Session, name: &str, if_not_exists: bool) -> Result<Listing> {
    let catalog = session.server.node.catalog();
    let (name, collation) = match information_schema::virtual_database(name) {
        Some(fixed) => (fixed, Collation::UTF8MB3_GENERAL_CI),
        None => {
            crate::databases::check_exists(&catalog, name)?;
            account::check_database(session, name)?;
            (name, catalog.database(name).map_or(Collation::UTF8MB4_0900_AI_CI, |database| database.collation))
        }
    };
    let text = as_quoted(session, create_database_text(name, collation, if_not_exists));
    Ok(Listing::new("Database v64!, Create Database v1024!", vec![row![name, text]]))
}

fn table(session: &Session, name: &ObjectName) -> Result<Listing> {
    let (name, text) = match find_named(session, name)? {
        Found::Base(table) => {
            let mut schema = table.schema.clone();
            schema.options.auto_increment = information_schema::next_auto_increment(&table).unwrap_or(1);
            let shown =
                generated_key::shown(&schema, information_schema::shows_generated_keys(&session.variables));
            let text = create_table_text(&shown);
            let text = if table.is_temporary { text.replacen("CREATE", "CREATE TEMPORARY", 1) } else { text };
            (schema.name.clone(), text)
        }
        Found::View(view) => return Ok(view_listing(&view)),
        Found::Virtual(table) => (information_schema::table_name(table).to_owned(), virtual_table_text(table)),
    };
    Ok(Listing::new("Table v64!, Create Table v1024!", vec![row![name, as_quoted(session, text)]]))
}

/// `sql_quote_show_create=OFF`: names have quotes only where they need them.
fn as_quoted(session: &Session, text: String) -> String {
    match session.variables.texts.get("sql_quote_show_create").is_some_and(|value| value == "OFF") {
        true => with_plain_names(&text),
        false => text,
    }
}

fn view_listing(view: &View) -> Listing {
    let columns = "View v64!, Create View v1024!, character_set_client v32!, collation_connection v32!";
    let charset = view.collation.charset().name();
    Listing::new(columns, vec![row![&view.name, create_view_text(view), charset, view.collation.name()]])
}

fn virtual_table_text(table: information_schema::VirtualTable) -> String {
    let line = |column: &crate::frontend::ResultColumn| {
        let end = if column.flags.not_null { " NOT NULL" } else { "" };
        format!("  {} {}{end}", quote_identifier(&column.name), type_text(&column.sql_type))
    };
    let lines: Vec<String> = information_schema::columns(table).iter().map(line).collect();
    let name = quote_identifier(information_schema::table_name(table));
    format!("CREATE TEMPORARY TABLE {name} (\n{}\n) ENGINE=MEMORY DEFAULT CHARSET=utf8mb3", lines.join(",\n"))
}

/// The account of SHOW GRANTS and SHOW CREATE USER. Errors: 1044 for others' accounts, 1141.
fn account_of(session: &Session, name: Option<&AccountName>) -> Result<User> {
    let own = &session.state.access.account;
    let (user, host) = match name {
        None | Some(AccountName::CurrentUser) => own.clone(),
        Some(AccountName::Named { user, host }) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (text(user), host.as_deref().map_or_else(|| "%".to_owned(), text).to_lowercase())
        }
    };
    if (&user, &host) != (&own.0, &own.1)
        && !account::has_global(session, Privileges::SELECT.with(Privileges::CREATE_USER))
    {
        let message = format!("Access denied for user '{}'@'{}' to database 'mysql'", own.0, own.1);
        return Err(Error::new(ErrorCode::DbAccessDenied, message));
    }
    let catalog = session.server.node.catalog();
    match catalog.users.get(&(user.clone(), host.clone())) {
        Some(found) => Ok(User::clone(found)),
        None => {
            let message = format!("There is no such grant defined for user '{user}' on host '{host}'");
            Err(Error::new(ErrorCode::NonexistingGrant, message))
        }
    }
}

pub fn grants(session: &Session, name: Option<&AccountName>, using: &[AccountName]) -> Result<Listing> {
    let user = account_of(session, name)?;
    let catalog = session.server.node.catalog();
    let is_own = matches!(name, None | Some(AccountName::CurrentUser));
    let roles = match using.is_empty() {
        true if is_own => session.state.access.active(&catalog),
        _ => role::used(session, &user, using)?,
    };
    // The mandatory roles are not the account's own.
    let mandatory = if is_own { session.server.mandatory_roles.list() } else { Arc::default() };
    let mut lines = account::grants_text(&with_roles(&catalog, &user, &roles));
    lines.extend(account::proxy::grants_text(&user));
    lines.extend(role::grants_text(&user, &mandatory));
    let rows = lines.into_iter().map(|line| row![line]).collect();
    let mut listing = Listing::new("grants v1024!", rows);
    if let Some(first) = listing.columns.first_mut() {
        first.name = format!("Grants for {}@{}", user.user, user.host);
    }
    Ok(listing)
}

fn user(session: &Session, name: &AccountName) -> Result<Listing> {
    let user = account_of(session, Some(name))?;
    let mut listing = Listing::new("user t!", vec![row![create_user_text(&user)]]);
    if let Some(first) = listing.columns.first_mut() {
        first.name = format!("CREATE USER for {}@{}", user.user, user.host);
    }
    Ok(listing)
}

fn require_text(tls: &TlsRequirement) -> String {
    match tls {
        TlsRequirement::None => "NONE".to_owned(),
        TlsRequirement::Any => "SSL".to_owned(),
        TlsRequirement::X509 => "X509".to_owned(),
        TlsRequirement::Specified { subject, issuer, cipher } => {
            let parts = [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)];
            let given = parts.iter().filter(|(_, text)| !text.is_empty());
            let quoted = |text: &str| String::from_utf8_lossy(&quote_string(text.as_bytes())).into_owned();
            given.map(|(word, text)| format!("{word} {}", quoted(text))).collect::<Vec<_>>().join(" ")
        }
    }
}

fn create_user_text(user: &User) -> String {
    let secret = match &user.authentication_string[..] {
        b"" => String::new(),
        text if std::str::from_utf8(text).is_ok_and(|text| !text.contains(char::is_control)) => {
            format!(" AS {}", String::from_utf8_lossy(&quote_string(text)))
        }
        bytes => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!(" AS 0x{digits}")
        }
    };
    let limits = [
        (" MAX_QUERIES_PER_HOUR", user.statements_per_hour_max),
        (" MAX_UPDATES_PER_HOUR", user.updates_per_hour_max),
        (" MAX_CONNECTIONS_PER_HOUR", user.connects_per_hour_max),
        (" MAX_USER_CONNECTIONS", user.connections_max),
    ];
    let given = limits.iter().filter(|(_, limit)| *limit > 0);
    let mut limits: String = given.map(|(name, limit)| format!("{name} {limit}")).collect();
    if !limits.is_empty() {
        limits.insert_str(0, " WITH");
    }
    let mut lockout = String::new();
    if user.lockout.attempts > 0 {
        lockout.push_str(&format!(" FAILED_LOGIN_ATTEMPTS {}", user.lockout.attempts));
    }
    match user.lockout.days {
        Some(0) => {}
        Some(days) => lockout.push_str(&format!(" PASSWORD_LOCK_TIME {days}")),
        None => lockout.push_str(" PASSWORD_LOCK_TIME UNBOUNDED"),
    }
    let rules = &user.password;
    let days = |days: u32| format!("{days} DAY");
    let or_default = |text: Option<String>| text.unwrap_or_else(|| "DEFAULT".to_owned());
    let expires = match rules.lifetime_days {
        _ if rules.is_expired => String::new(),
        None => " DEFAULT".to_owned(),
        Some(0) => " NEVER".to_owned(),
        Some(lifetime) => format!(" INTERVAL {}", days(lifetime)),
    };
    let (history, reuse) =
        (or_default(rules.history.map(|count| count.to_string())), or_default(rules.reuse_days.map(days)));
    let current = match rules.requires_current {
        None => " DEFAULT",
        Some(true) => "",
        Some(false) => " OPTIONAL",
    };
    let default_roles: Vec<String> = user.default_roles.iter().map(account::quoted).collect();
    let default_roles = match default_roles.is_empty() {
        true => String::new(),
        false => format!(" DEFAULT ROLE {}", default_roles.join(",")),
    };
    let attribute = match user.attribute.as_bytes() {
        b"" => String::new(),
        attribute => format!(" ATTRIBUTE {}", String::from_utf8_lossy(&quote_string(attribute))),
    };
    format!(
        "CREATE USER {}@{} IDENTIFIED WITH '{}'{secret}{default_roles} REQUIRE {}{limits} PASSWORD EXPIRE{expires} ACCOUNT {} PASSWORD \
         HISTORY {history} PASSWORD REUSE INTERVAL {reuse} PASSWORD REQUIRE CURRENT{current}{lockout}{attribute}",
        quote_identifier(&user.user),
        quote_identifier(&user.host),
        user.plugin,
        require_text(&user.tls),
        if user.locked { "LOCK" } else { "UNLOCK" },
    )
}
