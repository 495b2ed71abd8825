//! Keeping everybody, or writers, out of tables that the dictionary says are held (`holds`).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use shoal_types::TableId;

use crate::base::wait::lock;
use crate::dictionary::catalog::{Catalog, Hold};
use crate::dictionary::metadata_lock::{ExclusiveTables, FrozenTables, MetadataLocks};

/// What a node keeps for the holds of the dictionary.
#[derive(Default)]
pub(crate) struct HeldTables {
    kept: Mutex<HashMap<TableId, (Hold, KeptOut)>>,
    /// Whose node did not answer when the leader looked last.
    pub(super) unanswered: Mutex<HashSet<(TableId, u64)>>,
}

/// Who is kept out until this is dropped.
enum KeptOut {
    Everybody { _held: ExclusiveTables },
    Writers { _frozen: FrozenTables },
}

impl HeldTables {
    /// Keeps out of the held tables whoever begins to use them, or to write to them, before the catalog is seen by anybody.
    pub(crate) fn follow(&self, catalog: &Catalog, locks: &Arc<MetadataLocks>) {
        let mut kept = lock(&self.kept);
        kept.retain(|table, (hold, _)| catalog.held.get(table) == Some(hold));
        for (id, hold) in &catalog.held {
            let Some(table) = catalog.tables_by_id.get(id) else { continue };
            kept.entry(*id).or_insert_with(|| {
                let kept_out = match hold.lets_read {
                    true => KeptOut::Writers { _frozen: locks.freeze(std::slice::from_ref(table)) },
                    false => KeptOut::Everybody { _held: locks.hold(table) },
                };
                (*hold, kept_out)
            });
        }
    }
}
