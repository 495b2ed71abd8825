//! When a password must change.

use shoal_cluster::{Catalog, PasswordRules, User};
use shoal_types::{Error, ErrorCode, Result};

use super::key::AccountKey;
use crate::frontend::ConnectInfo;
use crate::server::Server;

pub const DAY_S: u64 = 86_400;

/// Seconds since 1970.
pub fn now_s(server: &Server) -> u64 {
    u64::try_from(server.clock_micros()).unwrap_or(0) / 1_000_000
}

/// Whether the account's password has expired.
pub fn has_expired(server: &Server, user: &User) -> bool {
    let default = || number(server, "default_password_lifetime");
    user.password.is_expired || is_too_old(&user.password, default, now_s(server))
}

fn is_too_old(rules: &PasswordRules, default_days: impl FnOnce() -> u32, now_s: u64) -> bool {
    let days = rules.lifetime_days.unwrap_or_else(default_days);
    days > 0 && rules.changed_s > 0 && now_s.saturating_sub(rules.changed_s) >= u64::from(days) * DAY_S
}

/// A variable that counts.
pub fn number(server: &Server, variable: &str) -> u32 {
    server.global_text(variable).parse().unwrap_or(0)
}

/// Whether a client of the account `key` must change its password before anything else. Errors: 1862, it cannot.
pub fn check_login(server: &Server, catalog: &Catalog, key: &AccountKey, info: &ConnectInfo) -> Result<bool> {
    if !catalog.users.get(key).is_some_and(|user| has_expired(server, user)) {
        return Ok(false);
    }
    if info.handles_expired_password || server.global_text("disconnect_on_expired_password") != "ON" {
        return Ok(true);
    }
    let message =
        "Your password has expired. To log in you must change it using a client that supports expired passwords.";
    Err(Error::new(ErrorCode::MustChangePasswordLogin, message))
}

/// 1820: what a session whose password has expired is told.
pub fn must_change() -> Error {
    let message = "You must reset your password using ALTER USER statement before executing this statement.";
    Error::new(ErrorCode::MustChangePassword, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_expires_by_its_own_lifetime_or_by_that_of_all() {
        let rules = |changed_day: u64, lifetime_days| PasswordRules {
            changed_s: changed_day * DAY_S,
            lifetime_days,
            ..PasswordRules::default()
        };
        for (rules, default, day, expected) in [
            (rules(10, None), 0, 1000, false),
            (rules(10, None), 5, 14, false),
            (rules(10, None), 5, 15, true),
            (rules(10, Some(0)), 5, 15, false),
            (rules(10, Some(3)), 0, 13, true),
            // Nobody knows how old it is.
            (rules(0, Some(3)), 0, 13, false),
        ] {
            assert_eq!(is_too_old(&rules, || default, day * DAY_S), expected, "{rules:?} {default} {day}");
        }
    }
}
