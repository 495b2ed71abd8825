//! The first account.

use shoal_cluster::{Catalog, Change, ProxyGrant, User};
use shoal_types::TableId;
use shoal_types::password::DEFAULT_PLUGIN;

use super::privilege::{Level, Privileges};

/// What a start changes in the dictionary: a new data directory gets `root` with all privileges and no password, from the
/// loopback interface alone; tables that a crash has left behind half made are dropped.
pub fn bootstrap(catalog: &Catalog, left_behind: &[TableId]) -> Vec<Change> {
    let mut changes = crate::ddl::publish::drop_hidden(catalog, left_behind);
    if catalog.users.is_empty() {
        let everything = Privileges::all_at(Level::Global).with(Privileges::GRANT_OPTION);
        changes.push(Change::PutUser(User {
            user: "root".to_owned(),
            host: "localhost".to_owned(),
            plugin: DEFAULT_PLUGIN.to_owned(),
            // It may let anybody be a proxy of anybody.
            proxies: vec![ProxyGrant { with_grant: true, ..ProxyGrant::default() }],
            grants: vec![(String::new(), String::new(), everything.0)],
            ..User::default()
        }));
    }
    changes
}
