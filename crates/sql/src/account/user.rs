//! CREATE USER, ALTER USER, DROP USER, RENAME USER, SET PASSWORD.

use shoal_cluster::{Catalog, Change, PasswordRules, TlsRequirement, User};
use shoal_parser::ast::{
    AccountName, Authentication, AuthenticationSecret, DropAccounts, PasswordOption, SetPassword,
    TlsRequirement as Require, UserComment, UserDefinition, UserSpecification,
};
use shoal_types::json::JsonValue;
use shoal_types::password::{DEFAULT_PLUGIN, check_plugin, is_well_formed};
use shoal_types::{Error, ErrorCode, Json, Result};

use super::messages::{failed, note_missing, note_present};
use super::password_policy::Policy;
use super::{AccountKey, Privileges, account_key, expiry, password, require_global, role};
use crate::session::Session;

/// Of PASSWORD EXPIRE INTERVAL.
const LIFETIME_DAYS_MAX: u64 = 65_535;

pub fn create(session: &mut Session, catalog: &Catalog, definition: &UserDefinition) -> Result<Vec<Change>> {
    require_global(session, Privileges::CREATE_USER)?;
    let mut changes = Vec::new();
    let mut present = Vec::new();
    let mut named: Vec<AccountKey> = Vec::new();
    for specification in &definition.users {
        let key = account_key(session, &specification.account)?;
        if catalog.users.contains_key(&key) || named.contains(&key) {
            present.push(key);
            continue;
        }
        let mut user = User {
            user: key.0.clone(),
            host: key.1.clone(),
            plugin: DEFAULT_PLUGIN.to_owned(),
            password: PasswordRules { changed_s: expiry::now_s(&session.server), ..PasswordRules::default() },
            ..User::default()
        };
        apply(session, specification, definition, &mut user)?;
        if names_no_password(specification) && !user.locked {
            check_policy(session, catalog, b"")?;
        }
        if let Some(roles) = &definition.default_roles {
            role::give_defaults(session, catalog, &mut user, roles)?;
        }
        changes.push(Change::PutUser(user));
        named.push(key);
    }
    if present.is_empty() {
        return Ok(changes);
    }
    if !definition.if_clause {
        return Err(failed("CREATE USER", &present));
    }
    note_present(session, present);
    Ok(changes)
}

pub fn alter(session: &mut Session, catalog: &Catalog, definition: &UserDefinition) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    let mut missing = Vec::new();
    for specification in &definition.users {
        let key = account_key(session, &specification.account)?;
        if key != session.state.access.account && session.must_change_password {
            return Err(expiry::must_change());
        }
        if key != session.state.access.account || !changes_password_alone(definition) {
            require_global(session, Privileges::CREATE_USER)?;
        }
        let Some(user) = catalog.users.get(&key) else {
            missing.push(key);
            continue;
        };
        let mut user = User::clone(user);
        if let Some(authentication) = &specification.authentication {
            password::check_current(session, &user, authentication.replace.as_deref())?;
        } else if session.must_change_password {
            return Err(expiry::must_change());
        }
        apply(session, specification, definition, &mut user)?;
        if specification.authentication.is_some() && names_no_password(specification) && !user.locked {
            check_policy(session, catalog, b"")?;
        }
        if let Some(roles) = &definition.default_roles {
            user.default_roles = role::default_roles(session, &user, roles)?;
        }
        changes.push(Change::PutUser(user));
    }
    if missing.is_empty() {
        return Ok(changes);
    }
    if !definition.if_clause {
        return Err(failed("ALTER USER", &missing));
    }
    note_missing(session, missing);
    Ok(changes)
}

/// What everybody may change of their own account.
fn changes_password_alone(definition: &UserDefinition) -> bool {
    definition.require.is_none()
        && definition.locked.is_none()
        && definition.limits.is_empty()
        && definition.password_options.is_empty()
        && definition.comment.is_none()
}

fn names_no_password(specification: &UserSpecification) -> bool {
    specification.authentication.as_ref().is_none_or(|authentication| authentication.secret.is_none())
}

/// Errors: 1819, where the component that looks at passwords is installed.
fn check_policy(session: &Session, catalog: &Catalog, password: &[u8]) -> Result<()> {
    let names = [session.state.user.as_str(), session.state.access.account.0.as_str()];
    Policy::of(&session.server, catalog).map_or(Ok(()), |policy| policy.check(&names, password))
}

/// COMMENT and ATTRIBUTE change members of the JSON object that an account carries; NULL takes a member away. Errors: 3140.
fn attribute_with(attribute: &str, comment: &UserComment) -> Result<String> {
    let invalid = || Error::new(ErrorCode::InvalidJsonText, "The user attribute must be a valid JSON object");
    let parsed = |text: &[u8]| Json::parse(text).map(|json| json.to_tree()).map_err(|_| invalid());
    let change = match comment {
        UserComment::Comment(text) => {
            JsonValue::object(vec![(b"comment".to_vec(), JsonValue::String(text.clone()))])
        }
        UserComment::Attribute(text) => parsed(text)?,
    };
    if !matches!(change, JsonValue::Object(_)) {
        return Err(invalid());
    }
    let before = if attribute.is_empty() { JsonValue::Null } else { parsed(attribute.as_bytes())? };
    let mut text = Vec::new();
    Json::from_tree(&before.merge_patch(change)).append_text(&mut text);
    String::from_utf8(text).map_err(|_| invalid())
}

/// Puts what is written into the account. Errors: 1235 for what does not exist here, 1524, 1827, 1470, 3140.
fn apply(
    session: &Session,
    specification: &UserSpecification,
    definition: &UserDefinition,
    user: &mut User,
) -> Result<()> {
    if !specification.more_factors.is_empty() {
        return Err(Error::unsupported("multi-factor authentication"));
    }
    if let Some(comment) = &definition.comment {
        user.attribute = attribute_with(&user.attribute, comment)?;
    }
    for (name, limit) in &definition.limits {
        let limit = u32::try_from(*limit).unwrap_or(u32::MAX);
        match name.as_str() {
            "MAX_CONNECTIONS_PER_HOUR" => user.connects_per_hour_max = limit,
            "MAX_USER_CONNECTIONS" => user.connections_max = limit,
            "MAX_QUERIES_PER_HOUR" => user.statements_per_hour_max = limit,
            "MAX_UPDATES_PER_HOUR" => user.updates_per_hour_max = limit,
            name => return Err(Error::unsupported(name)),
        }
    }
    let expires = |option: &&PasswordOption| **option == PasswordOption::ExpireNow;
    for option in definition.password_options.iter().filter(|option| !expires(option)) {
        apply_password_option(option, user)?;
    }
    if specification.discard_old_password {
        user.old_authentication_string.clear();
    }
    if let Some(authentication) = &specification.authentication {
        authenticate(session, authentication, user)?;
    }
    // A password that is given here expires, too.
    for option in definition.password_options.iter().filter(expires) {
        apply_password_option(option, user)?;
    }
    if let Some(require) = &definition.require {
        user.tls = tls_requirement(require);
    }
    if let Some(locked) = definition.locked {
        user.locked = locked;
        user.lockout.unlocks = user.lockout.unlocks.wrapping_add(u32::from(!locked));
    }
    Ok(())
}

fn tls_requirement(require: &Require) -> TlsRequirement {
    let text =
        |bytes: &Option<Vec<u8>>| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
    match require {
        Require::None => TlsRequirement::None,
        Require::Ssl => TlsRequirement::Any,
        Require::X509 => TlsRequirement::X509,
        Require::Specified { subject, issuer, cipher } => {
            match (text(subject), text(issuer), text(cipher)) {
                // Names that are empty ask for nothing but a certificate.
                (subject, issuer, cipher) if [&subject, &issuer, &cipher].iter().all(|part| part.is_empty()) => {
                    TlsRequirement::X509
                }
                (subject, issuer, cipher) => TlsRequirement::Specified { subject, issuer, cipher },
            }
        }
    }
}

/// Errors: 1064 and 1525 for figures that MySQL does not take.
fn apply_password_option(option: &PasswordOption, user: &mut User) -> Result<()> {
    let (lockout, rules) = (&mut user.lockout, &mut user.password);
    match option {
        PasswordOption::FailedLoginAttempts(attempts) => {
            lockout.attempts = figure("FAILED_LOGIN_ATTEMPTS", *attempts)?;
            lockout.unlocks = lockout.unlocks.wrapping_add(1);
        }
        PasswordOption::LockTimeDays(days) => {
            lockout.days = days.map(|days| figure("PASSWORD_LOCK_TIME", days)).transpose()?;
            lockout.unlocks = lockout.unlocks.wrapping_add(1);
        }
        PasswordOption::ExpireNow => rules.is_expired = true,
        PasswordOption::ExpireDefault => rules.lifetime_days = None,
        PasswordOption::ExpireNever => rules.lifetime_days = Some(0),
        PasswordOption::ExpireIntervalDays(days @ 1..=LIFETIME_DAYS_MAX) => {
            rules.lifetime_days = Some(u32::try_from(*days).unwrap_or(u32::MAX));
        }
        PasswordOption::ExpireIntervalDays(days) => {
            return Err(Error::new(ErrorCode::WrongValue, format!("Incorrect DAY value: '{days}'")));
        }
        PasswordOption::History(count) => {
            rules.history = count.map(|count| figure("PASSWORD HISTORY", count)).transpose()?;
        }
        PasswordOption::ReuseIntervalDays(days) => {
            rules.reuse_days = days.map(|days| figure("PASSWORD REUSE INTERVAL", days)).transpose()?;
        }
        PasswordOption::RequireCurrent(required) => rules.requires_current = *required,
    }
    Ok(())
}

/// Errors: 1064 beyond what MySQL takes.
fn figure(name: &str, figure: u64) -> Result<u32> {
    const GREATEST: u64 = 32_767;
    match u32::try_from(figure) {
        Ok(figure) if u64::from(figure) <= GREATEST => Ok(figure),
        _ => Err(crate::ddl::errors::syntax(&format!("{name} {figure}"))),
    }
}

/// RETAIN CURRENT PASSWORD, before the password changes. Errors: 3894, 3895.
fn retain_password(user: &mut User, changes_plugin: bool) -> Result<()> {
    let account = format!("{}'@'{}", user.user, user.host);
    if user.authentication_string.is_empty() {
        return Err(Error::new(
            ErrorCode::SecondPasswordCannotBeEmpty,
            format!("Empty password can not be retained as second password for user '{account}'."),
        ));
    }
    if changes_plugin {
        return Err(Error::new(
            ErrorCode::PasswordCannotBeRetainedOnPluginChange,
            format!(
                "Current password can not be retained for user '{account}' because authentication plugin is being changed."
            ),
        ));
    }
    user.old_authentication_string = user.authentication_string.clone();
    Ok(())
}

/// Of two passwords the old one is not kept when the new one is none.
fn check_retained(user: &User) -> Result<()> {
    if user.old_authentication_string.is_empty() || !user.authentication_string.is_empty() {
        return Ok(());
    }
    let account = format!("{}'@'{}", user.user, user.host);
    Err(Error::new(
        ErrorCode::CurrentPasswordCannotBeRetained,
        format!("Current password can not be retained for user '{account}' because new password is empty."),
    ))
}

fn authenticate(session: &Session, authentication: &Authentication, user: &mut User) -> Result<()> {
    let changes_plugin = authentication.plugin.as_ref().is_some_and(|plugin| *plugin != user.plugin);
    if authentication.retain_current {
        retain_password(user, changes_plugin)?;
    }
    if let Some(plugin) = &authentication.plugin {
        check_plugin(plugin)?;
        if changes_plugin {
            user.plugin = plugin.clone();
            user.authentication_string.clear();
            user.old_authentication_string.clear();
        }
    }
    match &authentication.secret {
        None => password::set_hash(session, user, Vec::new(), Some(b""))?,
        Some(AuthenticationSecret::Password(new)) => {
            check_policy(session, &session.server.node.catalog(), new)?;
            password::set(session, user, new)?;
        }
        Some(AuthenticationSecret::Hash(hash)) => {
            if !is_well_formed(&user.plugin, hash) {
                return Err(Error::new(
                    ErrorCode::PasswordFormat,
                    "The password hash doesn't have the expected format.",
                ));
            }
            password::set_hash(session, user, hash.clone(), None)?;
        }
        Some(AuthenticationSecret::Random) => return Err(no_password_chosen()),
    }
    if authentication.retain_current { check_retained(user) } else { Ok(()) }
}

/// `random_password` has taken the place of those that are to be chosen before it comes to that.
fn no_password_chosen() -> Error {
    Error::unknown("no password was chosen")
}

pub fn drop(session: &mut Session, catalog: &Catalog, accounts: &DropAccounts) -> Result<Vec<Change>> {
    require_global(session, Privileges::CREATE_USER)?;
    role::drop_accounts(session, catalog, accounts, "DROP USER")
}

pub fn rename(
    session: &mut Session,
    catalog: &Catalog,
    pairs: &[(AccountName, AccountName)],
) -> Result<Vec<Change>> {
    require_global(session, Privileges::CREATE_USER)?;
    let mut users = catalog.users.clone();
    let mut changes = Vec::new();
    let mut wrong = Vec::new();
    for (from, to) in pairs {
        let (from, to) = (account_key(session, from)?, account_key(session, to)?);
        if users.contains_key(&to) {
            wrong.push(from);
            continue;
        }
        role::check_renamed(session, catalog, &from)?;
        let Some(user) = users.remove(&from) else {
            wrong.push(from);
            continue;
        };
        let mut user = User::clone(&user);
        user.user = to.0.clone();
        user.host = to.1.clone();
        users.insert(to, std::sync::Arc::new(user.clone()));
        changes.push(Change::DropUser { user: from.0, host: from.1 });
        changes.push(Change::PutUser(user));
    }
    if wrong.is_empty() { Ok(changes) } else { Err(failed("RENAME USER", &wrong)) }
}

pub fn set_password(session: &mut Session, catalog: &Catalog, set: &SetPassword) -> Result<Vec<Change>> {
    let Some(new) = &set.password else { return Err(no_password_chosen()) };
    let key = account_key(session, set.account.as_ref().unwrap_or(&AccountName::CurrentUser))?;
    if key != session.state.access.account {
        if session.must_change_password {
            return Err(expiry::must_change());
        }
        require_global(session, Privileges::CREATE_USER)?;
    }
    let Some(user) = catalog.users.get(&key) else {
        return Err(Error::new(ErrorCode::PasswordNoMatch, "Can't find any matching row in the user table"));
    };
    let mut user = User::clone(user);
    password::check_current(session, &user, set.replace.as_deref())?;
    check_policy(session, catalog, new)?;
    if set.retain_current {
        retain_password(&mut user, false)?;
    }
    password::set(session, &mut user, new)?;
    if set.retain_current {
        check_retained(&user)?;
    }
    Ok(vec![Change::PutUser(user)])
}
