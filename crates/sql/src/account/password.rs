//! What a password may change to, and by whom: history, the current password.

use shoal_cluster::User;
use shoal_parser::ast::{AccountName, AuthenticationSecret, Statement, UserSpecification};
use shoal_types::password::hash_password;
use shoal_types::{Error, ErrorCode, Result};

use super::check::on_database;
use super::compared::Compared;
use super::expiry::{DAY_S, now_s, number};
use super::{Privileges, account_key, has_global};
use crate::session::Session;

/// Compares what a statement that changes passwords will ask for: the new ones with those of before, and the current ones.
pub async fn compare_ahead(session: &Session, statement: &Statement) -> Compared {
    let catalog = session.server.node.catalog();
    let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for (account, new, current) in changes_of(statement) {
        let Some(user) = account_key(session, account).ok().and_then(|key| catalog.users.get(&key)) else {
            continue;
        };
        let hash = &user.authentication_string;
        pairs.extend(current.map(|current| (hash.clone(), current.clone())));
        if kept(session, user).is_any() {
            let former = user.password.former.iter().map(|(_, hash)| hash).chain([hash]);
            pairs.extend(former.map(|hash| (hash.clone(), new.clone())));
        }
    }
    Compared::of(pairs).await
}

/// Whose password, to what, and from what, if the statement says so.
type PasswordChange<'s> = (&'s AccountName, &'s Vec<u8>, Option<&'s Vec<u8>>);

fn changes_of(statement: &Statement) -> Vec<PasswordChange<'_>> {
    match statement {
        Statement::AlterUser(definition) => definition.users.iter().filter_map(change_of).collect(),
        Statement::SetPassword(set) => {
            let account = set.account.as_ref().unwrap_or(&AccountName::CurrentUser);
            set.password.iter().map(|new| (account, new, set.replace.as_ref())).collect()
        }
        _ => Vec::new(),
    }
}

fn change_of(user: &UserSpecification) -> Option<PasswordChange<'_>> {
    let authentication = user.authentication.as_ref()?;
    match &authentication.secret {
        Some(AuthenticationSecret::Password(new)) => Some((&user.account, new, authentication.replace.as_ref())),
        _ => None,
    }
}

/// Checks what a statement that changes a password says of the one before. Errors: 3891, 3892, 3893.
pub fn check_current(session: &Session, user: &User, current: Option<&[u8]>) -> Result<()> {
    let account = &session.state.access.account;
    let is_own = (user.user.as_str(), user.host.as_str()) == (account.0.as_str(), account.1.as_str());
    let (code, message) = match current {
        Some(_) if !is_own => (
            ErrorCode::CurrentPasswordNotRequired,
            "Do not specify the current password while changing it for other users.",
        ),
        Some(current) if !session.compared_passwords.is_password(&user.authentication_string, current) => (
            ErrorCode::IncorrectCurrentPassword,
            "Incorrect current password. Specify the correct password which has to be replaced.",
        ),
        None if is_own && !user.authentication_string.is_empty() && requires_current(session, user) => (
            ErrorCode::MissingCurrentPassword,
            "Current password needs to be specified in the REPLACE clause in order to change it.",
        ),
        _ => return Ok(()),
    };
    Err(Error::new(code, message))
}

/// Not of those who may change everybody's.
fn requires_current(session: &Session, user: &User) -> bool {
    let default = || session.server.global_text("password_require_current") == "ON";
    let changes_all = || {
        let catalog = session.server.node.catalog();
        let look =
            |user: Option<&User>| user.is_some_and(|user| on_database(user, "mysql").contains(Privileges::UPDATE));
        has_global(session, Privileges::CREATE_USER) || session.state.access.look(&catalog, look)
    };
    user.password.requires_current.unwrap_or_else(default) && !changes_all()
}

/// Gives the account a password in clear. Errors: 1470, 3638.
pub fn set(session: &Session, user: &mut User, password: &[u8]) -> Result<()> {
    let hash = hash_password(&user.plugin, password)?;
    set_hash(session, user, hash, Some(password))
}

/// Gives the account a password as its plugin keeps it; `clear`: what it is, if that is known. Errors: 3638.
pub fn set_hash(session: &Session, user: &mut User, hash: Vec<u8>, clear: Option<&[u8]>) -> Result<()> {
    if !kept(session, user).replace(user, hash, clear, &session.compared_passwords) {
        let message = format!(
            "Cannot use these credentials for '{}@{}' because they contradict the password history policy",
            user.user, user.host
        );
        return Err(Error::new(ErrorCode::CredentialsContradictToHistory, message));
    }
    Ok(())
}

fn kept(session: &Session, user: &User) -> Kept {
    let server = &session.server;
    Kept {
        count: user.password.history.unwrap_or_else(|| number(server, "password_history")) as usize,
        days: user.password.reuse_days.unwrap_or_else(|| number(server, "password_reuse_interval")),
        now_s: now_s(server),
    }
}

/// Which passwords before are not good any more.
struct Kept {
    count: usize,
    days: u32,
    now_s: u64,
}

impl Kept {
    /// Of those before, newest first.
    fn covers(&self, position: usize, given_s: u64) -> bool {
        position < self.count || self.now_s.saturating_sub(given_s) < u64::from(self.days) * DAY_S
    }

    fn is_any(&self) -> bool {
        self.count > 0 || self.days > 0
    }

    /// `false`: the password was this before.
    fn replace(&self, user: &mut User, hash: Vec<u8>, clear: Option<&[u8]>, compared: &Compared) -> bool {
        let is_kept = self.is_any();
        let rules = &mut user.password;
        if is_kept && rules.former.is_empty() && !user.authentication_string.is_empty() {
            // Given before there was a rule.
            rules.former.push((rules.changed_s, user.authentication_string.clone()));
        }
        let is_this = |former: &[u8]| match clear {
            Some(password) => compared.is_password(former, password),
            None => former == hash,
        };
        let mut covered =
            rules.former.iter().enumerate().filter(|(position, (at, _))| self.covers(*position, *at));
        if !hash.is_empty() && covered.any(|(_, (_, former))| is_this(former)) {
            return false;
        }
        if !is_kept {
            rules.former.clear();
        } else if !hash.is_empty() {
            rules.former.insert(0, (self.now_s, hash.clone()));
        }
        let mut position = 0;
        rules.former.retain(|(at, _)| {
            position += 1;
            self.covers(position - 1, *at)
        });
        (rules.is_expired, rules.changed_s) = (false, self.now_s);
        user.authentication_string = hash;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(user: &mut User, count: usize, days: u32, at_day: u64, password: &str) -> bool {
        let kept = Kept { count, days, now_s: at_day * DAY_S };
        let hash = hash_password(&user.plugin, password.as_bytes()).unwrap();
        kept.replace(user, hash, Some(password.as_bytes()), &Compared::default())
    }

    fn nina(plugin: &str) -> User {
        User { user: "nina".into(), host: "%".into(), plugin: plugin.into(), ..User::default() }
    }

    #[test]
    fn passwords_before_are_good_again_after_so_many_others_or_so_many_days() {
        for plugin in ["mysql_native_password", "caching_sha2_password"] {
            let mut user = nina(plugin);
            assert!(set(&mut user, 2, 0, 1, "a"));
            assert!(!set(&mut user, 2, 0, 1, "a"));
            assert!(set(&mut user, 2, 0, 1, "b"));
            assert!(!set(&mut user, 2, 0, 1, "a"));
            assert!(set(&mut user, 2, 0, 1, ""), "none is no password that was");
            assert!(set(&mut user, 2, 0, 1, "c"));
            assert!(set(&mut user, 2, 0, 1, "a"));
            assert_eq!(user.password.former.len(), 2);
            assert!(!set(&mut user, 0, 5, 5, "a"));
            assert!(set(&mut user, 0, 5, 6, "a"));
            assert!(set(&mut user, 0, 0, 6, "a"));
            assert!(user.password.former.is_empty());
            // A rule that comes later knows the password of then.
            assert!(!set(&mut user, 1, 0, 7, "a"));
        }
    }
}
