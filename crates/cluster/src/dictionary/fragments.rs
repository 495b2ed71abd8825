//! What a change of the dictionary means for the fragments of its tables in the partitions.

use std::sync::Arc;

use shoal_partition::{CommitToken, Partition};
use shoal_types::{Result, TableId, TableSchema};

use crate::dictionary::catalog::Catalog;
use crate::storage::partitions::PartitionGuard;

/// What an entry of a fragment takes in the log besides the definition.
const FRAGMENT_ENTRY_BYTES: usize = 64;

/// What partitions have to do about a change.
pub(crate) enum FragmentChange {
    Create(Arc<TableSchema>),
    Alter(Arc<TableSchema>),
    Drop(TableId),
}

impl FragmentChange {
    /// What its entry takes in the log, about.
    pub(crate) fn entry_bytes(&self) -> usize {
        FRAGMENT_ENTRY_BYTES
            + match self {
                FragmentChange::Create(schema) | FragmentChange::Alter(schema) => schema.encode().len(),
                FragmentChange::Drop(_) => 0,
            }
    }
}

pub(crate) fn propose(guard: &mut PartitionGuard<'_>, change: &FragmentChange, token: u64) -> Result<()> {
    match change {
        FragmentChange::Create(schema) => guard.create_fragment(Arc::clone(schema), CommitToken(token)),
        FragmentChange::Alter(schema) => guard.alter_fragment(Arc::clone(schema), CommitToken(token)),
        FragmentChange::Drop(table) => guard.drop_fragment(*table, CommitToken(token)),
    }
}

/// What leads from the fragments of one dictionary to those of another. Alterations come first: they alone can be
/// refused, and then nothing has been proposed.
pub(crate) fn fragment_changes(old: &Catalog, new: &Catalog) -> Vec<FragmentChange> {
    let mut alterations = Vec::new();
    let mut others = Vec::new();
    for id in new.touched_since(old) {
        match (old.tables_by_id.get(&id), new.tables_by_id.get(&id)) {
            (Some(known), Some(table)) if known.schema == table.schema => {}
            (Some(_), Some(table)) => alterations.push(FragmentChange::Alter(Arc::new(table.schema.clone()))),
            (None, Some(table)) => others.push(FragmentChange::Create(Arc::new(table.schema.clone()))),
            (Some(_), None) => others.push(FragmentChange::Drop(id)),
            (None, None) => {}
        }
    }
    alterations.extend(others);
    alterations
}

/// What brings a partition's fragments in line with the dictionary: tables that it lacks, definitions that are older. `own` is a table that every partition has.
pub(crate) fn fragment_differences(
    partition: &Partition,
    catalog: &Catalog,
    own: &TableSchema,
) -> Vec<FragmentChange> {
    let mut differences = Vec::new();
    let wanted = catalog.tables_by_id.values().map(|table| &table.schema).chain([own]);
    for schema in wanted {
        match partition.schema(schema.id) {
            None => differences.push(FragmentChange::Create(Arc::new(schema.clone()))),
            Some(present) if present.version < schema.version && **present != *schema => {
                differences.push(FragmentChange::Alter(Arc::new(schema.clone())));
            }
            Some(_) => {}
        }
    }
    differences
}

/// Fragments of tables that this catalog does not have: it is too old, or they were dropped.
pub(crate) fn unknown_fragments(partition: &Partition, catalog: &Catalog, own: &TableSchema) -> Vec<TableId> {
    let mut tables = partition.tables();
    tables.retain(|id| *id != own.id && !catalog.tables_by_id.contains_key(id));
    tables
}
