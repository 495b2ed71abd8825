//! Logins of accounts whose clients are treated as another account.
//!
//! The proxy user proves who it is with its own password, its own REQUIRE and its own locks; what it may do then is what the proxied account may,
//! whose limits count as well. `USER()` tells the one, `CURRENT_USER()` the other, `@@proxy_user` that there are two. Whether logins are mapped at
//! all is said by `check_proxy_users`, and for accounts of which plugin by two more variables.

use shoal_cluster::Catalog;
use shoal_types::password::{CACHING_SHA2_PASSWORD, NATIVE_PASSWORD};

use super::key::AccountKey;
use crate::server::Server;

/// Whose session a client of `account` gets, and the proxy user if that is another account.
pub fn of_login(server: &Server, catalog: &Catalog, account: AccountKey) -> (AccountKey, Option<AccountKey>) {
    match proxied(server, catalog, &account) {
        Some(proxied) => (proxied, Some(account)),
        None => (account, None),
    }
}

/// The first account that there is of those that clients of `account` may be treated as: never the anonymous one.
fn proxied(server: &Server, catalog: &Catalog, account: &AccountKey) -> Option<AccountKey> {
    let user = catalog.users.get(account).filter(|user| !user.proxies.is_empty())?;
    let is_on = |name: &str| server.global_text(name) == "ON";
    let maps_plugin = match user.plugin.as_str() {
        NATIVE_PASSWORD => is_on("mysql_native_password_proxy_users"),
        CACHING_SHA2_PASSWORD => is_on("sha256_password_proxy_users"),
        _ => false,
    };
    if !maps_plugin || !is_on("check_proxy_users") {
        return None;
    }
    let is_account = |key: &&AccountKey| !key.0.is_empty() && catalog.users.contains_key(*key);
    let found = user.proxies.iter().map(|grant| &grant.proxied).find(is_account);
    found.filter(|proxied| *proxied != account).cloned()
}
