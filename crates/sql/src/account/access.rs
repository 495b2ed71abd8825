//! Who a session is and what its active roles add to that.
//!
//! Roles are accounts whose privileges others may have, as long as they are active: those of the roles that these have been given,
//! too, and so on. What an account may do with its active roles is resolved when these or the dictionary have changed, and kept until
//! they change again. Without active roles the dictionary's own account is looked at, and nothing is kept.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use shoal_cluster::{Catalog, GrantedRole, User};

use super::key::{AccountKey, quoted};
use super::password_policy::Policy;
use crate::server::Server;

/// A session's account and roles.
pub struct Access {
    server: Arc<Server>,
    /// The account that matched: its host may be a pattern.
    pub account: AccountKey,
    /// In the order of their names. Some of them may have been revoked or dropped since.
    active: RefCell<Vec<AccountKey>>,
    resolved: RefCell<Option<Resolved>>,
}

/// The account with its active roles, as of versions of the dictionary and of the mandatory roles.
struct Resolved {
    versions: (u64, u64),
    user: Option<Arc<User>>,
}

impl Access {
    /// Of a session that begins. Its default roles are active, or all if `activate_all_roles_on_login` is on.
    pub fn at_login(server: &Arc<Server>, account: AccountKey) -> Access {
        let access = Access {
            server: Arc::clone(server),
            account,
            active: RefCell::default(),
            resolved: RefCell::default(),
        };
        access.activate(access.roles_at_login(&server.node.catalog()));
        access
    }

    /// The roles that sessions of the account begin with.
    fn roles_at_login(&self, catalog: &Catalog) -> Vec<AccountKey> {
        let Some(user) = catalog.users.get(&self.account) else { return Vec::new() };
        match self.server.global_text("activate_all_roles_on_login") == "ON" {
            true => self.granted(catalog),
            false => self.default_roles(user),
        }
    }

    /// The default roles of the account, but for those that have been revoked.
    pub fn default_roles(&self, user: &User) -> Vec<AccountKey> {
        let mandatory = self.server.mandatory_roles.list();
        user.default_roles.iter().filter(|role| is_granted(user, role, &mandatory)).cloned().collect()
    }

    /// The roles that the account has been given, and the mandatory ones.
    pub fn granted(&self, catalog: &Catalog) -> Vec<AccountKey> {
        let given = catalog.users.get(&self.account).into_iter().flat_map(|user| &user.roles);
        let mandatory = self.server.mandatory_roles.list();
        let all: BTreeSet<&AccountKey> = given.map(|granted| &granted.role).chain(mandatory.iter()).collect();
        all.into_iter().filter(|role| catalog.users.contains_key(*role)).cloned().collect()
    }

    pub fn activate(&self, mut roles: Vec<AccountKey>) {
        roles.sort();
        roles.dedup();
        *self.active.borrow_mut() = roles;
        *self.resolved.borrow_mut() = None;
    }

    /// The active roles that the account still has.
    pub fn active(&self, catalog: &Catalog) -> Vec<AccountKey> {
        let active = self.active.borrow();
        let Some(user) = catalog.users.get(&self.account).filter(|_| !active.is_empty()) else {
            return Vec::new();
        };
        let mandatory = self.server.mandatory_roles.list();
        let stays = |role: &&AccountKey| is_granted(user, role, &mandatory) && catalog.users.contains_key(*role);
        active.iter().filter(stays).cloned().collect()
    }

    /// CURRENT_ROLE().
    pub fn current_role(&self) -> String {
        let names: Vec<String> = self.active(&self.server.node.catalog()).iter().map(quoted).collect();
        if names.is_empty() { "NONE".to_owned() } else { names.join(",") }
    }

    /// VALIDATE_PASSWORD_STRENGTH().
    pub fn password_strength(&self, user_names: &[&str], password: &[u8]) -> u32 {
        let policy = Policy::of(&self.server, &self.server.node.catalog());
        policy.map_or(0, |policy| policy.strength(user_names, password))
    }

    /// Looks at the account with what its active roles add; `None`: it has been dropped.
    #[inline]
    pub fn look<T>(&self, catalog: &Catalog, look: impl FnOnce(Option<&User>) -> T) -> T {
        if self.active.borrow().is_empty() {
            return look(catalog.users.get(&self.account).map(|user| &**user));
        }
        look(self.resolve(catalog).as_deref())
    }

    /// The same, to keep.
    pub fn user(&self, catalog: &Catalog) -> Option<Arc<User>> {
        match self.active.borrow().is_empty() {
            true => catalog.users.get(&self.account).cloned(),
            false => self.resolve(catalog),
        }
    }

    fn resolve(&self, catalog: &Catalog) -> Option<Arc<User>> {
        let versions = (catalog.version, self.server.mandatory_roles.version());
        let mut resolved = self.resolved.borrow_mut();
        if let Some(known) = resolved.as_ref().filter(|known| known.versions == versions) {
            return known.user.clone();
        }
        let user = catalog.users.get(&self.account);
        let user = user.map(|user| Arc::new(with_roles(catalog, user, &self.active(catalog))));
        resolved.insert(Resolved { versions, user }).user.clone()
    }
}

/// Whether an account has a role itself, not by another one.
pub fn is_granted(user: &User, role: &AccountKey, mandatory: &[AccountKey]) -> bool {
    mandatory.binary_search(role).is_ok() || user.roles.iter().any(|granted| granted.role == *role)
}

/// The roles that an account has been given, and that these have been given, each with whom it was given to.
pub fn edges_from<'c>(catalog: &'c Catalog, start: &'c User) -> Vec<(AccountKey, &'c GrantedRole)> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut next = vec![start];
    while let Some(user) = next.pop() {
        for granted in &user.roles {
            found.push(((user.user.clone(), user.host.clone()), granted));
            if seen.insert(&granted.role)
                && let Some(role) = catalog.users.get(&granted.role)
            {
                next.push(role);
            }
        }
    }
    found
}

/// These roles, and all that they have been given.
pub fn closure(catalog: &Catalog, roles: &[AccountKey]) -> BTreeSet<AccountKey> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&AccountKey> = roles.iter().collect();
    while let Some(role) = next.pop() {
        let Some(user) = catalog.users.get(role) else { continue };
        if found.insert(role.clone()) {
            next.extend(user.roles.iter().map(|granted| &granted.role));
        }
    }
    found
}

/// An account with the privileges of these roles.
pub fn with_roles(catalog: &Catalog, user: &User, roles: &[AccountKey]) -> User {
    let mut user = user.clone();
    for role in closure(catalog, roles) {
        let Some(role) = catalog.users.get(&role) else { continue };
        for (database, table, bits) in &role.grants {
            match user.grants.iter_mut().find(|(known, name, _)| known == database && name == table) {
                Some((.., present)) => *present |= bits,
                None => user.grants.push((database.clone(), table.clone(), *bits)),
            }
        }
        user.column_grants.extend(role.column_grants.iter().cloned());
        user.routine_grants.extend(role.routine_grants.iter().cloned());
    }
    user
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Privileges;
    use crate::account::check::on_table;
    use crate::account::tests::{catalog, key};

    #[test]
    fn roles_add_what_they_have_and_what_their_roles_have() {
        let (select, insert, delete) = (Privileges::SELECT, Privileges::INSERT, Privileges::DELETE);
        let catalog = catalog(&[
            ("ann", 0, &["writer", "gone"]),
            ("writer", insert.0, &["reader"]),
            ("reader", select.0, &["writer"]),
            ("other", delete.0, &[]),
        ]);
        let ann = &catalog.users[&key("ann")];
        let with = |roles: &[&str]| {
            let roles: Vec<AccountKey> = roles.iter().map(|role| key(role)).collect();
            on_table(&with_roles(&catalog, ann, &roles), "d", "t")
        };
        assert_eq!(with(&[]), Privileges::NONE);
        assert_eq!(with(&["writer"]), select.with(insert));
        assert_eq!(with(&["gone", "other"]), delete);
        let edges: Vec<(String, String)> = edges_from(&catalog, ann)
            .into_iter()
            .map(|(grantee, granted)| (grantee.0, granted.role.0.clone()))
            .collect();
        let expected = [("ann", "writer"), ("ann", "gone"), ("writer", "reader"), ("reader", "writer")];
        assert_eq!(edges, expected.map(|(left, right)| (left.to_owned(), right.to_owned())));
    }
}
