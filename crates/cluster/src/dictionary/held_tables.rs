//! Keeping everybody out of tables that the dictionary says are held (`holds`).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use shoal_types::TableId;

use crate::base::wait::lock;
use crate::dictionary::catalog::Catalog;
use crate::dictionary::metadata_lock::{ExclusiveTables, MetadataLocks};

/// What a node keeps for the holds of the dictionary.
#[derive(Default)]
pub(crate) struct HeldTables {
    kept: Mutex<HashMap<TableId, ExclusiveTables>>,
    /// Whose node did not answer when the leader looked last.
    pub(super) unanswered: Mutex<HashSet<(TableId, u64)>>,
}

impl HeldTables {
    /// Keeps out of the held tables whoever begins to use them, before the catalog is seen by anybody.
    pub(crate) fn follow(&self, catalog: &Catalog, locks: &Arc<MetadataLocks>) {
        let mut kept = lock(&self.kept);
        kept.retain(|table, _| catalog.held.contains_key(table));
        for id in catalog.held.keys() {
            if let Some(table) = catalog.tables_by_id.get(id) {
                kept.entry(*id).or_insert_with(|| locks.hold(table));
            }
        }
    }
}
