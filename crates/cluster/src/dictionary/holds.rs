//! Tables that a definition has to itself by the dictionary's own word.
//!
//! Metadata locks are asked of the nodes that are there when a definition begins. A node that starts later, that was cut off from the
//! definition's node, or a native client knows nothing of them, follows the dictionary, and would write to a table whose rows
//! are being copied. So a definition that depends on what rows there are has its table held in the dictionary: every node that
//! follows keeps its users out ([`MetadataLocks::hold`](crate::dictionary::metadata_lock::MetadataLocks::hold)), and partitions refuse what was planned on the version before.
//!
//! A hold ends with the change that the definition was for, or when the table is freed: by the definition that failed, or by
//! the management nodes' leader, once the definition's node says that it does not want it any more, or is not there. All of these
//! are changes of the dictionary, which come one after the other: a definition that was freed looks for its hold in the version that
//! its change is planned on, and fails.

use std::collections::HashSet;

use prost::Message;
use shoal_types::{NodeId, Result, TableId};

use crate::base::errors::temporary;
use crate::base::wait::lock;
use crate::dictionary::Dictionary;
use crate::dictionary::catalog::{Catalog, Change, Hold};
use crate::dictionary::meta_state::WantedToken;
use crate::dictionary::stored::StoredChanges;
use crate::membership::messages::{Ask, LockTokens};
use crate::membership::requests::REQUEST_TIMEOUT;

/// How often the leader tries to free a table beside other changes of the dictionary, before it looks again.
const TRIES: u32 = 10;

/// A definition's hold of a table, from when its change is made on. Wanted until this is dropped.
pub struct TableHold {
    table: TableId,
    token: WantedToken,
    node: NodeId,
    lets_read: bool,
}

impl TableHold {
    fn hold(&self) -> Hold {
        Hold { node: self.node, token: self.token.get(), lets_read: self.lets_read }
    }

    /// The change that makes it, to come after all others of the same table.
    pub fn change(&self) -> Change {
        Change::HoldTable(self.table, self.hold())
    }

    /// The definition has the table still.
    ///
    /// # Errors
    /// 1297: others may have changed its rows.
    pub fn check(&self, catalog: &Catalog) -> Result<()> {
        match catalog.held.get(&self.table) == Some(&self.hold()) {
            true => Ok(()),
            false => Err(temporary(
                "the management nodes lost sight of this node while it changed the table, and let others use it; try again",
            )),
        }
    }

    /// The changes that end it without another definition of the table.
    pub fn free(&self, catalog: &Catalog) -> Vec<Change> {
        match self.check(catalog) {
            Ok(()) => vec![Change::FreeTable(self.table)],
            Err(_) => Vec::new(),
        }
    }
}

impl Dictionary {
    /// A definition of this node is about to hold the table; `lets_read`: others may go on to read it. `None` in a process that is the whole database, whose metadata locks
    /// are all there are.
    pub fn table_hold(&self, table: TableId, lets_read: bool) -> Option<TableHold> {
        let cluster = self.cluster()?;
        let token = self.meta.new_token(cluster.incarnation);
        Some(TableHold { table, token, node: cluster.options.me, lets_read })
    }

    /// At the leader of the dictionary: frees what nobody wants any more. One look; a node that does not answer has until the next.
    pub(crate) async fn free_unwanted_tables(&self) {
        let Some(cluster) = self.cluster() else { return };
        let mut unanswered = HashSet::new();
        for (table, hold) in self.catalog().held.clone() {
            let asked = Ask::UnwantedLocks(LockTokens { tokens: vec![hold.token] });
            let is_unwanted = match cluster.ask_within(hold.node, asked, REQUEST_TIMEOUT).await {
                Ok(reply) => reply.tokens.contains(&hold.token),
                Err(_) if cluster.is_up(hold.node) => false,
                Err(_) => {
                    unanswered.insert((table, hold.token));
                    lock(&self.holds.unanswered).contains(&(table, hold.token))
                }
            };
            if is_unwanted {
                self.free_table(table, hold).await;
            }
        }
        *lock(&self.holds.unanswered) = unanswered;
    }

    /// The same at once for all that a node has whose links have ended.
    pub(crate) fn free_tables_of(&self, node: NodeId) {
        let Ok((cluster, _, meta)) = self.meta_state() else { return };
        let mut held = self.catalog().held.clone();
        held.retain(|_, hold| hold.node == node);
        if held.is_empty() || self.leader(meta).is_err() {
            return;
        }
        let handle = self.handle.clone();
        cluster.spawn(move || async move {
            let Some(dictionary) = handle.upgrade() else { return };
            for (table, hold) in held {
                dictionary.free_table(table, hold).await;
            }
        });
    }

    async fn free_table(&self, table: TableId, hold: Hold) {
        let freed = StoredChanges::of(&[Change::FreeTable(table)]).encode_to_vec();
        for _ in 0..TRIES {
            let Ok(base) = self.newest_change() else { return };
            if self.fetch_catalog(base).await.is_err() || self.catalog().held.get(&table) != Some(&hold) {
                return;
            }
            // Whatever came of it shows in the next version.
            if self.catalog_version() == base && self.change_as_leader(base, &freed).await.is_ok() {
                tracing::info!(node = %hold.node, table = table.0, "a table that a definition had left held is free");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dictionary::compaction::tests::{Bed, run, table};
    use crate::dictionary::table::Table;

    fn held(bed: &Bed, id: TableId) -> Option<Hold> {
        bed.node.catalog().held.get(&id).copied()
    }

    async fn made(bed: &Bed) -> (Arc<Table>, TableHold) {
        let id = bed.node.next_table_id();
        let database = Change::PutDatabase { name: "d".into(), collation: shoal_types::Collation::default() };
        bed.node.change(vec![database, Change::PutTable(table(id, "t"))]).await.unwrap();
        let hold = bed.node.table_hold(id, false).unwrap();
        let next = shoal_types::TableSchema { version: 2, ..table(id, "t") };
        bed.node.change(vec![Change::PutTable(next), hold.change()]).await.unwrap();
        let table = Arc::clone(bed.node.catalog().tables_by_id.get(&id).unwrap());
        (table, hold)
    }

    #[test]
    fn a_held_table_is_used_by_nobody_until_the_change_that_it_was_for() {
        run(async {
            let bed = Bed::new().await;
            let (one, hold) = made(&bed).await;
            assert!(!bed.node.metadata_locks().try_share(&one, true));
            // It is wanted still.
            bed.node.free_unwanted_tables().await;
            hold.check(&bed.node.catalog()).unwrap();
            let next = shoal_types::TableSchema { version: 3, ..one.schema.clone() };
            bed.node.change(vec![Change::PutTable(next)]).await.unwrap();
            assert!(bed.node.metadata_locks().try_share(&one, false));
            assert!(hold.check(&bed.node.catalog()).is_err());
            assert!(hold.free(&bed.node.catalog()).is_empty());
        });
    }

    #[test]
    fn a_table_is_freed_that_its_definition_does_not_want_any_more() {
        run(async {
            let bed = Bed::new().await;
            let (one, hold) = made(&bed).await;
            drop(hold);
            bed.node.free_unwanted_tables().await;
            assert_eq!(held(&bed, one.id()), None);
            assert!(bed.node.metadata_locks().try_share(&one, false));
        });
    }

    #[test]
    fn a_definition_whose_table_was_freed_fails() {
        run(async {
            let bed = Bed::new().await;
            let (one, hold) = made(&bed).await;
            bed.node.free_table(one.id(), hold.hold()).await;
            assert_eq!(held(&bed, one.id()), None);
            assert!(hold.check(&bed.node.catalog()).is_err());
        });
    }

    #[test]
    fn a_snapshot_of_the_dictionary_has_what_is_held() {
        run(async {
            let bed = Bed::new().await;
            let (one, hold) = made(&bed).await;
            let catalog = bed.node.catalog();
            let mut stored = crate::dictionary::stored::StoredDictionary::snapshot(&catalog, 9);
            assert_eq!(stored.catalog().unwrap().held.get(&one.id()), Some(&hold.hold()));
        });
    }
}
