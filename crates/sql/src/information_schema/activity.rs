//! Sessions, status and system variables, accounts.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use shoal_cluster::{ColumnGrant, ProxyGrant, RoutineGrant, TlsRequirement, User};
use shoal_types::Value;

use super::CATALOG;
use super::cell::{row, yes_no};
use super::{Rows, status};
use crate::account::{Privileges, password_policy};
use crate::hosts::HostErrors;
use crate::query_log::secrets::without_secrets;
use crate::session::SessionShared;
use crate::variables::registry::{self, Scope};

/// A session as SHOW PROCESSLIST lists it.
pub(crate) struct Process {
    pub id: u32,
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    pub command: &'static str,
    pub seconds: u64,
    pub state: &'static str,
    pub text: Option<Vec<u8>>,
}

/// Sessions in sight: one's own account's, or all with the PROCESS privilege.
pub(crate) fn processes(rows: &Rows<'_>) -> Vec<Process> {
    let all = rows.viewer().is_global(Privileges::PROCESS);
    let sessions = rows.server.all_sessions();
    sessions.iter().filter(|session| all || session.user == rows.shared.user).map(process).collect()
}

fn process(session: &Arc<SessionShared>) -> Process {
    let activity = session.activity.lock().unwrap_or_else(PoisonError::into_inner);
    Process {
        id: session.id,
        user: session.user.clone(),
        host: session.host.clone(),
        database: session.database.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        command: activity.command,
        seconds: activity.since.elapsed().as_secs(),
        state: activity.state,
        text: (!activity.text.is_empty()).then(|| without_secrets(&activity.text, true).into_owned()),
    }
}

pub fn processlist(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let make = |process: Process| {
        row![
            process.id,
            process.user,
            process.host,
            process.database,
            process.command,
            process.seconds as i64,
            process.state,
            process.text.map(Value::Str),
        ]
    };
    processes(rows).into_iter().map(make).collect()
}

/// The same, with what executes statements.
pub fn performance_processlist(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = processlist(rows);
    found.iter_mut().for_each(|row| row.push(Value::str("PRIMARY")));
    found
}

fn pairs(list: Vec<(String, String)>) -> Vec<Vec<Value>> {
    list.into_iter().map(|(name, value)| row![name, value]).collect()
}

pub fn global_status(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    pairs(status::list(rows, true))
}

pub fn session_status(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    pairs(status::list(rows, false))
}

pub fn global_variables(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    variables(rows, true)
}

pub fn session_variables(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    variables(rows, false)
}

/// System variables but for those that count what the session does (last_insert_id and the like).
fn variables(rows: &Rows<'_>, global: bool) -> Vec<Vec<Value>> {
    let globals = rows.server.globals.read().unwrap_or_else(PoisonError::into_inner);
    let mut found = Vec::new();
    for definition in registry::ALL {
        if global && definition.scope == Scope::Session {
            continue;
        }
        let text = match definition.name {
            "port" => rows.server.listening().map(|(port, _)| port.to_string()),
            "datadir" => rows.server.listening().map(|(_, directory)| directory.clone()),
            "data_memory" => Some(rows.server.node.memory_usage().limit_bytes.to_string()),
            "character_set_database" if !global => {
                Some(rows.variables.collation_database.charset().name().to_owned())
            }
            "collation_database" if !global => Some(rows.variables.collation_database.name().to_owned()),
            _ => None,
        };
        let text = text.unwrap_or_else(|| match !global && definition.in_session() {
            true => rows.variables.text(definition),
            false => globals.text(definition),
        });
        found.push(row![definition.name, if text == "NULL" { String::new() } else { text }]);
    }
    found
}

pub fn persisted_variables(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let catalog = rows.server.node.catalog();
    let is_variable = |(name, _): &(&String, &String)| registry::find(name).is_some();
    catalog.variables.iter().filter(is_variable).map(|(name, value)| row![name, value]).collect()
}

/// Accounts in sight: all for those who manage them, else one's own.
pub(super) fn accounts(rows: &Rows<'_>) -> Vec<Arc<User>> {
    let viewer = rows.viewer();
    let all = viewer.is_global(Privileges::CREATE_USER.with(Privileges::SELECT));
    let (user, host) = &rows.access.account;
    let own = |account: &&Arc<User>| all || account.user == *user && account.host == *host;
    viewer.catalog.users.values().filter(own).cloned().collect()
}

fn grantee(user: &User) -> String {
    format!("'{}'@'{}'", user.user, user.host)
}

/// Privileges as the SET columns of `mysql.tables_priv` show them.
pub(super) fn as_set(privileges: Privileges) -> String {
    let words = |name: &str| {
        let word = |word: &str| word[..1].to_owned() + &word[1..].to_lowercase();
        let name: Vec<String> = name.split(' ').map(word).collect();
        match name.join(" ").as_str() {
            "Create View" => "Create View".to_owned(),
            "Show View" => "Show view".to_owned(),
            other => other.to_owned(),
        }
    };
    let mut names: Vec<String> = privileges.names(false).into_iter().map(words).collect();
    if privileges.contains(Privileges::GRANT_OPTION) {
        names.push("Grant".to_owned());
    }
    names.join(",")
}

/// Rows for each privilege of grants that `wanted` chooses; `place` are the columns between grantee and privilege.
fn privileges(
    rows: &Rows<'_>,
    wanted: impl Fn(&str, &str) -> bool,
    place: impl Fn(&str, &str) -> Vec<Value>,
) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for user in accounts(rows) {
        let grants = user.grants.iter().filter(|(database, table, _)| wanted(database, table));
        for (database, table, bits) in grants {
            let set = Privileges(*bits);
            let mut names = [set.names(false), set.names(true)].concat();
            if names.is_empty() {
                names.push("USAGE");
            }
            for name in names {
                let mut row = row![grantee(&user), CATALOG];
                row.extend(place(database, table));
                row.push(Value::str(name));
                row.push(Value::str(yes_no(set.contains(Privileges::GRANT_OPTION))));
                found.push(row);
            }
        }
    }
    found
}

pub fn user_privileges(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    privileges(rows, |database, _| database.is_empty(), |_, _| Vec::new())
}

pub fn schema_privileges(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    privileges(rows, |database, table| !database.is_empty() && table.is_empty(), |database, _| row![database])
}

pub fn table_privileges(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    privileges(rows, |_, table| !table.is_empty(), |database, table| row![database, table])
}

pub fn column_privileges(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for user in accounts(rows) {
        for grant in &user.column_grants {
            let of_table = user
                .grants
                .iter()
                .find(|(database, table, _)| *database == grant.database && *table == grant.table);
            let grantable =
                of_table.is_some_and(|(.., bits)| Privileges(*bits).contains(Privileges::GRANT_OPTION));
            for name in Privileges(grant.privileges).names(false) {
                found.push(row![
                    grantee(&user),
                    CATALOG,
                    &grant.database,
                    &grant.table,
                    &grant.column,
                    name,
                    yes_no(grantable)
                ]);
            }
        }
    }
    found
}

pub fn user_attributes(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let attribute = |user: &User| (!user.attribute.is_empty()).then(|| user.attribute.clone());
    accounts(rows).iter().map(|user| row![&user.user, &user.host, attribute(user)]).collect()
}

/// The privileges that `mysql.user` has columns for, in their order.
const USER_COLUMNS: &[Privileges] = &[
    Privileges::SELECT,
    Privileges::INSERT,
    Privileges::UPDATE,
    Privileges::DELETE,
    Privileges::CREATE,
    Privileges::DROP,
    Privileges::RELOAD,
    Privileges::SHUTDOWN,
    Privileges::PROCESS,
    Privileges::FILE,
    Privileges::GRANT_OPTION,
    Privileges::REFERENCES,
    Privileges::INDEX,
    Privileges::ALTER,
    Privileges::SHOW_DATABASES,
    Privileges::SUPER,
    Privileges::CREATE_TEMPORARY_TABLES,
    Privileges::LOCK_TABLES,
    Privileges::EXECUTE,
    Privileges::REPLICATION_SLAVE,
    Privileges::REPLICATION_CLIENT,
    Privileges::CREATE_VIEW,
    Privileges::SHOW_VIEW,
    Privileges::CREATE_ROUTINE,
    Privileges::ALTER_ROUTINE,
    Privileges::CREATE_USER,
    Privileges::EVENT,
    Privileges::TRIGGER,
    Privileges::CREATE_TABLESPACE,
];

/// Accounts without what they prove themselves with.
pub fn mysql_user(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let letter = |truth: bool| if truth { "Y" } else { "N" };
    let make = |user: &Arc<User>| {
        let global = user
            .grants
            .iter()
            .filter(|(database, ..)| database.is_empty())
            .fold(Privileges::NONE, |set, (.., bits)| set.with(Privileges(*bits)));
        let mut row = row![&user.host, &user.user];
        row.extend(USER_COLUMNS.iter().map(|privilege| Value::str(letter(global.contains(*privilege)))));
        let (ssl_type, subject, issuer, cipher) = match &user.tls {
            TlsRequirement::None => ("", "", "", ""),
            TlsRequirement::Any => ("ANY", "", "", ""),
            TlsRequirement::X509 => ("X509", "", "", ""),
            TlsRequirement::Specified { subject, issuer, cipher } => {
                ("SPECIFIED", subject.as_str(), issuer.as_str(), cipher.as_str())
            }
        };
        row.extend(row![ssl_type, cipher, issuer, subject]);
        row.extend(row![user.statements_per_hour_max, user.updates_per_hour_max]);
        row.extend(row![user.connects_per_hour_max, user.connections_max]);
        row.extend(row![
            &user.plugin,
            Value::str(if user.authentication_string.is_empty() { "" } else { "<secret>" }),
            letter(user.password.is_expired),
            rows.moment(user.password.changed_s),
            user.password.lifetime_days,
            letter(user.locked),
            letter(global.contains(Privileges::CREATE_ROLE)),
            letter(global.contains(Privileges::DROP_ROLE)),
            user.password.history,
            user.password.reuse_days,
            user.password.requires_current.map(letter),
            (!user.attribute.is_empty()).then(|| format!(r#"{{"metadata": {}}}"#, user.attribute)),
        ]);
        row
    };
    accounts(rows).iter().map(make).collect()
}

pub fn mysql_tables_priv(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for user in accounts(rows) {
        let mut tables = BTreeMap::new();
        for (database, table, bits) in user.grants.iter().filter(|(_, table, _)| !table.is_empty()) {
            tables.insert((database, table), (*bits, 0));
        }
        for grant in &user.column_grants {
            tables.entry((&grant.database, &grant.table)).or_insert((0, 0)).1 |= grant.privileges;
        }
        for ((database, table), (of_table, of_columns)) in tables {
            let (of_table, of_columns) = (as_set(Privileges(of_table)), as_set(Privileges(of_columns)));
            found.push(row![&user.host, database, &user.user, table, "", Value::Null, of_table, of_columns]);
        }
    }
    found
}

pub fn mysql_columns_priv(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let of = |user: &Arc<User>| -> Vec<Vec<Value>> {
        let make = |grant: &ColumnGrant| {
            let privileges = as_set(Privileges(grant.privileges));
            row![&user.host, &grant.database, &user.user, &grant.table, &grant.column, Value::Null, privileges]
        };
        user.column_grants.iter().map(make).collect()
    };
    accounts(rows).iter().flat_map(of).collect()
}

/// Nobody has kept who has granted them, and when.
pub fn mysql_procs_priv(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    const WORDS: [(Privileges, &str); 3] = [
        (Privileges::EXECUTE, "Execute"),
        (Privileges::ALTER_ROUTINE, "Alter Routine"),
        (Privileges::GRANT_OPTION, "Grant"),
    ];
    let of = |user: &Arc<User>| -> Vec<Vec<Value>> {
        let make = |grant: &RoutineGrant| {
            let has = |privilege: Privileges| Privileges(grant.privileges).contains(privilege);
            let words: Vec<&str> = WORDS.iter().filter(|(one, _)| has(*one)).map(|(_, word)| *word).collect();
            let (kind, words) = (grant.kind.word(), words.join(","));
            row![&user.host, &grant.database, &user.user, &grant.name, kind, "", words, Value::Null]
        };
        user.routine_grants.iter().map(make).collect()
    };
    accounts(rows).iter().flat_map(of).collect()
}

pub fn mysql_proxies_priv(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let of = |user: &Arc<User>| -> Vec<Vec<Value>> {
        let make = |grant: &ProxyGrant| {
            let ((proxied, proxied_host), with_grant) = (&grant.proxied, u64::from(grant.with_grant));
            let at = rows.moment(grant.granted_s);
            row![&user.host, &user.user, proxied_host, proxied, with_grant, &grant.grantor, at]
        };
        user.proxies.iter().map(make).collect()
    };
    accounts(rows).iter().flat_map(of).collect()
}

/// Dynamic privileges, which are on everything.
pub fn mysql_global_grants(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let of = |user: &Arc<User>| -> Vec<Vec<Value>> {
        let global = user.grants.iter().filter(|(database, ..)| database.is_empty());
        let global = global.fold(Privileges::NONE, |set, (.., bits)| set.with(Privileges(*bits)));
        let option = if global.contains(Privileges::GRANT_OPTION) { "Y" } else { "N" };
        global.names(true).into_iter().map(|name| row![&user.user, &user.host, name, option]).collect()
    };
    accounts(rows).iter().flat_map(of).collect()
}

/// Passwords that may not come again, without what they are.
pub fn password_history(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let of = |user: &Arc<User>| -> Vec<Vec<Value>> {
        let make = |(at, _): &(u64, Vec<u8>)| row![&user.host, &user.user, rows.moment(*at), "<secret>"];
        user.password.former.iter().map(make).collect()
    };
    accounts(rows).iter().flat_map(of).collect()
}

/// Hosts with errors. Names of hosts are not looked up.
pub fn host_cache(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let moment = |micros: i64| rows.moment(u64::try_from(micros / 1_000_000).unwrap_or(0));
    let count = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    let none = |columns: usize| std::iter::repeat_n(Value::Int(0), columns);
    let make = |(host, known): (String, HostErrors)| {
        let mut row = row![host, Value::Null, "NO", count(known.broken_off), count(known.blocked)];
        // Of names, formats and plugins.
        row.extend(none(9));
        row.push(count(known.handshake_errors));
        row.extend(none(2));
        row.push(count(known.authentication_errors));
        row.extend(none(7));
        row.extend([known.first_seen, known.last_seen, known.first_error, known.last_error].map(moment));
        row
    };
    rows.server.hosts.list().into_iter().map(make).collect()
}

/// The components that are installed.
pub fn components(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    match password_policy::is_installed(&rows.server.node.catalog()) {
        true => vec![row![1u32, 1u32, password_policy::COMPONENT]],
        false => Vec::new(),
    }
}

pub fn mysql_db(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    for user in accounts(rows) {
        for (database, table, bits) in user.grants.iter().filter(|(database, ..)| !database.is_empty()) {
            if table.is_empty() {
                found.push(row![&user.host, database, &user.user, Privileges(*bits).names(false).join(", ")]);
            }
        }
    }
    found
}
