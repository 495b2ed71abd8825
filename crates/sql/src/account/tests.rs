//! What tests of several files here use.

use std::sync::Arc;

use shoal_cluster::{Catalog, GrantedRole, User};

use super::AccountKey;

pub fn key(name: &str) -> AccountKey {
    (name.to_owned(), "%".to_owned())
}

/// Accounts, what they may do in the database named after them, and the roles that they have.
pub fn catalog(accounts: &[(&str, u64, &[&str])]) -> Catalog {
    let mut catalog = Catalog::default();
    for (name, bits, roles) in accounts {
        let user = User {
            user: (*name).to_owned(),
            host: "%".to_owned(),
            grants: vec![("d".to_owned(), String::new(), *bits)],
            roles: roles.iter().map(|role| GrantedRole { role: key(role), with_admin: false }).collect(),
            ..User::default()
        };
        catalog.users.insert(key(name), Arc::new(user));
    }
    catalog
}
