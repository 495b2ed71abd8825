//! What information_schema and mysql say of roles.

use std::collections::BTreeSet;

use shoal_cluster::{Catalog, User};
use shoal_types::Value;

use super::activity::{accounts, as_set};
use super::cell::{row, yes_no};
use super::{CATALOG, Rows};
use crate::account::access::{closure, edges_from, is_granted};
use crate::account::{AccountKey, Privileges};

/// The roles that the session's account has, itself or by others.
pub fn applicable(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    edges(rows, |_| true)
}

/// Those of them that whoever has them may grant to others.
pub fn administrable(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    edges(rows, |with_admin| with_admin)
}

fn edges(rows: &Rows<'_>, wanted: impl Fn(bool) -> bool) -> Vec<Vec<Value>> {
    let catalog = rows.server.node.catalog();
    let account = &rows.access.account;
    let Some(user) = catalog.users.get(account) else { return Vec::new() };
    let mandatory = rows.server.mandatory_roles.list();
    let make = |grantee: &AccountKey, role: &AccountKey, with_admin: bool, is_mandatory: bool| {
        row![
            &account.0,
            &account.1,
            &grantee.0,
            &grantee.1,
            &role.0,
            &role.1,
            yes_no(with_admin),
            yes_no(user.default_roles.contains(role)),
            yes_no(is_mandatory),
        ]
    };
    let mut found: Vec<Vec<Value>> = edges_from(&catalog, user)
        .into_iter()
        .filter(|(_, granted)| wanted(granted.with_admin))
        .map(|(grantee, granted)| {
            make(&grantee, &granted.role, granted.with_admin, mandatory.contains(&granted.role))
        })
        .collect();
    let implied =
        mandatory.iter().filter(|role| catalog.users.contains_key(*role) && !is_granted(user, role, &[]));
    if wanted(false) {
        found.extend(implied.map(|role| make(account, role, false, true)));
    }
    found
}

/// The active roles and all that they have been given.
fn enabled_roles(rows: &Rows<'_>, catalog: &Catalog) -> BTreeSet<AccountKey> {
    closure(catalog, &rows.access.active(catalog))
}

pub fn enabled(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let catalog = rows.server.node.catalog();
    let user = catalog.users.get(&rows.access.account);
    let mandatory = rows.server.mandatory_roles.list();
    let make = |role: AccountKey| {
        let is_default = user.is_some_and(|user| user.default_roles.contains(&role));
        let is_mandatory = mandatory.contains(&role);
        row![role.0, role.1, yes_no(is_default), yes_no(is_mandatory)]
    };
    enabled_roles(rows, &catalog).into_iter().map(make).collect()
}

/// Privileges on tables of the enabled roles.
pub fn table_grants(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let catalog = rows.server.node.catalog();
    let mut found = Vec::new();
    for role in enabled_roles(rows, &catalog) {
        let grants = catalog.users.get(&role).into_iter().flat_map(|user| &user.grants);
        for (database, table, bits) in grants.filter(|(_, table, _)| !table.is_empty()) {
            let set = Privileges(*bits);
            found.push(row![
                Value::Null,
                Value::Null,
                &role.0,
                &role.1,
                CATALOG,
                database,
                table,
                as_set(set.without(Privileges::GRANT_OPTION)),
                yes_no(set.contains(Privileges::GRANT_OPTION)),
            ]);
        }
    }
    found
}

/// Privileges on columns of the enabled roles.
pub fn column_grants(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let catalog = rows.server.node.catalog();
    let mut found = Vec::new();
    for role in enabled_roles(rows, &catalog) {
        for grant in catalog.users.get(&role).into_iter().flat_map(|user| &user.column_grants) {
            let privileges = as_set(Privileges(grant.privileges));
            found.push(row![
                Value::Null,
                Value::Null,
                &role.0,
                &role.1,
                CATALOG,
                &grant.database,
                &grant.table,
                &grant.column,
                privileges,
                "NO",
            ]);
        }
    }
    found
}

pub fn role_edges(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let of = |user: &User| -> Vec<Vec<Value>> {
        let make = |granted: &shoal_cluster::GrantedRole| {
            let with_admin = if granted.with_admin { "Y" } else { "N" };
            row![&granted.role.1, &granted.role.0, &user.host, &user.user, with_admin]
        };
        user.roles.iter().map(make).collect()
    };
    accounts(rows).iter().flat_map(|user| of(user)).collect()
}

pub fn default_roles(rows: &Rows<'_>) -> Vec<Vec<Value>> {
    let of = |user: &User| -> Vec<Vec<Value>> {
        user.default_roles.iter().map(|role| row![&user.host, &user.user, &role.1, &role.0]).collect()
    };
    accounts(rows).iter().flat_map(|user| of(user)).collect()
}
