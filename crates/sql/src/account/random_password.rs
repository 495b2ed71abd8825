//! Passwords that the server chooses: IDENTIFIED BY RANDOM PASSWORD, SET PASSWORD ... TO RANDOM.
//!
//! A chosen password takes its place in the statement before that is carried out, so all rules about passwords hold for it as for any
//! other. The statement's result shows it, once; it is kept nowhere and stands in no log.

use shoal_parser::ast::{AccountName, AuthenticationSecret, SetPassword, Statement, UserDefinition};
use shoal_types::password::random_password;
use shoal_types::{Result, Value};

use super::{AccountKey, account_key};
use crate::frontend::ResultColumn;
use crate::information_schema::{row, types_of};
use crate::session::Session;
use crate::variables::registry::find;

/// Characters, as generated_random_password_length says by default.
const LENGTH: usize = 20;

/// A password that was chosen, and the account that it is for.
pub struct ChosenPassword {
    account: AccountKey,
    password: String,
}

/// The statement with passwords in the places of those that are to be chosen; `None` if it asks for none. Errors: no random numbers.
pub fn chosen(session: &Session, statement: &Statement) -> Result<Option<(Statement, Vec<ChosenPassword>)>> {
    match statement {
        Statement::CreateUser(definition) if asks(definition) => {
            let (definition, passwords) = choose(session, definition)?;
            Ok(Some((Statement::CreateUser(Box::new(definition)), passwords)))
        }
        Statement::AlterUser(definition) if asks(definition) => {
            let (definition, passwords) = choose(session, definition)?;
            Ok(Some((Statement::AlterUser(Box::new(definition)), passwords)))
        }
        Statement::SetPassword(set) if set.password.is_none() => {
            let account = set.account.as_ref().unwrap_or(&AccountName::CurrentUser);
            let password = new_password(session)?;
            let passwords =
                vec![ChosenPassword { account: account_key(session, account)?, password: password.clone() }];
            let set = SetPassword { password: Some(password.into_bytes()), ..set.clone() };
            Ok(Some((Statement::SetPassword(set), passwords)))
        }
        _ => Ok(None),
    }
}

fn asks(definition: &UserDefinition) -> bool {
    let secrets = definition.users.iter().filter_map(|user| user.authentication.as_ref()?.secret.as_ref());
    secrets.into_iter().any(|secret| *secret == AuthenticationSecret::Random)
}

fn choose(session: &Session, definition: &UserDefinition) -> Result<(UserDefinition, Vec<ChosenPassword>)> {
    let mut definition = definition.clone();
    let mut passwords = Vec::new();
    for user in &mut definition.users {
        let Some(secret) = user.authentication.as_mut().and_then(|authentication| authentication.secret.as_mut())
        else {
            continue;
        };
        if *secret == AuthenticationSecret::Random {
            let password = new_password(session)?;
            *secret = AuthenticationSecret::Password(password.clone().into_bytes());
            passwords.push(ChosenPassword { account: account_key(session, &user.account)?, password });
        }
    }
    Ok((definition, passwords))
}

fn new_password(session: &Session) -> Result<String> {
    let length = find("generated_random_password_length").map(|variable| session.variables.text(variable));
    random_password(length.and_then(|length| length.parse().ok()).unwrap_or(LENGTH))
}

/// The columns of the result.
pub fn columns() -> Vec<ResultColumn> {
    types_of("user v32!, host v255!, generated password v255!, auth_factor u!")
}

/// The rows of the result: accounts that the statement has changed.
pub fn rows(passwords: &[ChosenPassword], changed: &[AccountKey]) -> Vec<Vec<Value>> {
    let is_changed = |chosen: &&ChosenPassword| changed.contains(&chosen.account);
    let shown = |chosen: &ChosenPassword| row![&chosen.account.0, &chosen.account.1, &chosen.password, 1u64];
    passwords.iter().filter(is_changed).map(shown).collect()
}
