//! What a password must be like: the component `validate_password`.
//!
//! It is off until it is installed, which is kept in the dictionary and so holds at every node; its variables are each node's own.

use std::sync::PoisonError;

use shoal_cluster::Catalog;
use shoal_types::{Error, ErrorCode, Result};

use crate::server::Server;
use crate::variables::Globals;

pub const COMPONENT: &str = "file://component_validate_password";
/// Where the dictionary keeps that it is installed.
pub const INSTALLED: &str = "component.validate_password";

const LEVEL_LOW: u32 = 25;
const LEVEL_MEDIUM: u32 = 50;
const LEVEL_STRONG: u32 = 75;
/// Bytes below which a password is worth nothing.
const LENGTH_WORTHLESS: usize = 4;

/// The component's variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    level: Level,
    length: usize,
    mixed_case_count: usize,
    number_count: usize,
    special_char_count: usize,
    checks_user_name: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Low,
    /// Medium, and strong: that one looks into a dictionary file as well, of which there is none here.
    Medium,
}

pub fn is_installed(catalog: &Catalog) -> bool {
    catalog.variables.contains_key(INSTALLED)
}

impl Policy {
    /// `None`: the component is not installed.
    pub fn of(server: &Server, catalog: &Catalog) -> Option<Policy> {
        let globals = server.globals.read().unwrap_or_else(PoisonError::into_inner);
        is_installed(catalog).then(|| Policy::in_words(&globals))
    }

    fn in_words(globals: &Globals) -> Policy {
        let count = |name: &str| globals.named_text(name).parse().unwrap_or(0);
        Policy {
            level: match globals.named_text("validate_password.policy").as_str() {
                "LOW" => Level::Low,
                _ => Level::Medium,
            },
            length: count("validate_password.length"),
            mixed_case_count: count("validate_password.mixed_case_count"),
            number_count: count("validate_password.number_count"),
            special_char_count: count("validate_password.special_char_count"),
            checks_user_name: globals.is_on("validate_password.check_user_name"),
        }
    }

    /// A password is at least as long as all that must be in it.
    fn length(&self) -> usize {
        self.length.max(self.number_count + self.special_char_count + 2 * self.mixed_case_count)
    }

    /// Errors: 1819, the password is not good enough for a user of these names.
    pub fn check(&self, user_names: &[&str], password: &[u8]) -> Result<()> {
        let needed = if self.level == Level::Low { LEVEL_MEDIUM } else { LEVEL_STRONG };
        if self.strength(user_names, password) >= needed {
            return Ok(());
        }
        let message = "Your password does not satisfy the current policy requirements";
        Err(Error::new(ErrorCode::NotValidPassword, message))
    }

    /// VALIDATE_PASSWORD_STRENGTH().
    pub fn strength(&self, user_names: &[&str], password: &[u8]) -> u32 {
        let text = String::from_utf8_lossy(password);
        let count = |is: fn(char) -> bool| text.chars().filter(|&character| is(character)).count();
        if text.chars().count() < LENGTH_WORTHLESS || self.checks_user_name && is_name(user_names, &text) {
            return 0;
        }
        if text.chars().count() < self.length() {
            return LEVEL_LOW;
        }
        let is_special = |character: char| {
            !character.is_ascii_digit() && !character.is_lowercase() && !character.is_uppercase()
        };
        let has_all = count(|character| character.is_ascii_digit()) >= self.number_count
            && count(char::is_lowercase) >= self.mixed_case_count
            && count(char::is_uppercase) >= self.mixed_case_count
            && count(is_special) >= self.special_char_count;
        // Nothing more is asked for without a dictionary file.
        if has_all { 100 } else { LEVEL_MEDIUM }
    }
}

/// Whether the password is a user's name, forwards or backwards.
fn is_name(names: &[&str], password: &str) -> bool {
    names
        .iter()
        .filter(|name| !name.is_empty())
        .any(|name| *name == password || name.chars().rev().eq(password.chars()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        Policy::in_words(&Globals::default())
    }

    #[test]
    fn passwords_are_weighed_as_mysql_weighs_them() {
        for (password, strength) in [
            ("", 0),
            ("abc", 0),
            ("abcd", 25),
            ("abcdefg", 25),
            ("abcdefgh", 50),
            ("Abcdefg1", 50),
            ("Abcdefg!", 50),
            ("Abcdef1!", 100),
            ("Äbcdef1ß!", 100),
            ("Nina_1234", 0),
            ("4321_aniN", 0),
        ] {
            assert_eq!(policy().strength(&["root", "Nina_1234"], password.as_bytes()), strength, "{password}");
        }
    }

    #[test]
    fn a_password_is_as_long_as_all_that_must_be_in_it() {
        let long = Policy { mixed_case_count: 4, number_count: 3, ..policy() };
        assert_eq!(long.length(), 12);
        assert_eq!(long.strength(&[], b"ABCDabcd12!"), 25);
        assert_eq!(long.strength(&[], b"ABCDabcd123!"), 100);
    }
}
