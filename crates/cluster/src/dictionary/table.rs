//! A table as sessions use it: its schema with everything that is derived from it once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use shoal_types::key::{KeyPart, KeySpec};
use shoal_types::row::{RowLayout, RowRef, fixed_width};
use shoal_types::{BaseType, Collation, TableId, TableSchema};

use crate::dictionary::sequence::Sequence;
use crate::dictionary::table_lock::MetadataLock;
use crate::storage::sequencer::LoggedSequence;

/// One version of a table's definition. A change of the definition makes another `Table`; plans that hold an older
/// one notice by the catalog's version.
#[derive(Debug)]
pub struct Table {
    /// As it is in the dictionary.
    pub schema: TableSchema,
    /// Of the schema's columns, hidden ones included.
    pub layout: RowLayout,
    /// The key of every index in `schema.indexes`, the primary key first.
    pub keys: Vec<KeySpec>,
    /// The key of every index with what keeps rows apart whose columns are equal: scans order rows by it, those of a multi-valued
    /// index as far as they have found them by one element.
    pub entry_keys: Vec<KeySpec>,
    /// The primary key's parts of the partition columns, in key order.
    pub partition_key: KeySpec,
    /// The primary key's leading parts are exactly the partition key, in order, so that the partition key's bytes
    /// are a prefix of the primary key's bytes.
    pub partition_key_is_prefix: bool,
    /// The next AUTO_INCREMENT value; shared by all versions of the table.
    pub next_auto_increment: Arc<Sequence>,
    /// Positions in `schema.indexes` of the unique secondary indexes that a hidden table keeps.
    pub global_unique: Vec<usize>,
    /// Rows take values from the sequence.
    pub uses_sequence: bool,
    /// Rows are computed or checked by expressions, or have parents: only SQL sees to that.
    pub has_row_rules: bool,
    /// Its rows are in the node of temporary tables, and one session alone knows of it.
    pub is_temporary: bool,
    /// What statements hold while they use the table; shared by all versions of it.
    pub metadata_lock: Arc<MetadataLock>,
    /// There is a newer version of the definition, or the table is gone.
    stale: AtomicBool,
    /// The version of the dictionary that this node first saw the table in.
    since: AtomicU64,
    shape: PartitionKeyShape,
}

/// How the partition key is found in the bytes of a primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PartitionKeyShape {
    /// It is the primary key.
    Whole,
    /// It is so many parts: for each part of the primary key its length, and whether it belongs.
    Parts(Vec<(PartLength, bool)>),
    /// Some part before its last does not show where it ends.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartLength {
    Fixed(usize),
    /// Bytes with 0x00 escaped as 00 FF, up to 00 00.
    Escaped,
    /// Only bearable as the last part.
    Unknown,
}

impl Table {
    /// Derives from the schema what statements would compute over and over.
    pub fn new(schema: TableSchema, next_auto_increment: Arc<Sequence>) -> Table {
        let layout = RowLayout::of_table(&schema);
        let keys: Vec<KeySpec> = schema.indexes.iter().map(|index| KeySpec::of_index(&schema, index)).collect();
        let entry_key = |index| KeySpec::of_entries(&schema, index).without_elements();
        let entry_keys = schema.indexes.iter().map(entry_key).collect();
        let belongs = |part: &&KeyPart| schema.partition_columns.contains(&part.column);
        let partition_key = KeySpec { parts: keys[0].parts.iter().filter(belongs).cloned().collect() };
        let leading = keys[0].parts.iter().take(partition_key.parts.len()).all(|part| belongs(&part));
        let shape = PartitionKeyShape::of(&keys[0], &schema.partition_columns);
        let indexes = schema.indexes.iter().enumerate().skip(1);
        let global_unique = indexes.filter(|(_, index)| index.unique && index.unique_table.is_some());
        Table {
            global_unique: global_unique.map(|(position, _)| position).collect(),
            has_row_rules: !schema.foreign_keys.is_empty()
                || schema.checks.iter().any(|check| check.enforced)
                || schema.columns.iter().any(|column| column.generated.is_some()),
            uses_sequence: schema.auto_increment_column().is_some(),
            layout,
            keys,
            entry_keys,
            partition_key,
            partition_key_is_prefix: leading,
            next_auto_increment,
            is_temporary: false,
            metadata_lock: Arc::default(),
            stale: AtomicBool::new(false),
            since: AtomicU64::new(0),
            shape,
            schema,
        }
    }

    /// The next version of `self`'s definition.
    pub(crate) fn next_version(&self, schema: TableSchema) -> Table {
        let mut next = Table::new(schema, Arc::clone(&self.next_auto_increment));
        next.metadata_lock = Arc::clone(&self.metadata_lock);
        next.set_since(self.since());
        next
    }

    /// The version of the dictionary that this node first saw the table in; 0 if that was before it started. A copy that an ALTER
    /// TABLE has made is a table of its own: its rows are later than any snapshot from before it.
    #[inline]
    pub fn since(&self) -> u64 {
        self.since.load(Ordering::Acquire)
    }

    pub(crate) fn set_since(&self, version: u64) {
        self.since.store(version, Ordering::Release);
    }

    /// This version of the definition is not the newest any more.
    #[inline]
    pub fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire)
    }

    pub(crate) fn set_stale(&self) {
        self.stale.store(true, Ordering::Release);
    }

    /// The same for all versions of the table.
    pub fn id(&self) -> TableId {
        self.schema.id
    }

    /// Without the database.
    pub fn name(&self) -> &str {
        &self.schema.name
    }

    /// Appends the partition key of a row.
    pub fn append_partition_key(&self, row: RowRef<'_>, out: &mut Vec<u8>) {
        self.partition_key.append_from_row(row, out);
    }

    /// The partition key within the bytes of a primary key; `buffer` is for keys that are not one piece of it.
    /// `None` if the bytes do not tell.
    #[inline]
    pub fn partition_key_of<'k>(&self, primary_key: &'k [u8], buffer: &'k mut Vec<u8>) -> Option<&'k [u8]> {
        match &self.shape {
            PartitionKeyShape::Whole => Some(primary_key),
            PartitionKeyShape::Parts(parts) => gather_parts(parts, primary_key, buffer),
            PartitionKeyShape::Unknown => None,
        }
    }
}

impl LoggedSequence for Table {
    #[inline]
    fn raise_bound(&self) -> Option<(TableId, u64)> {
        let sequence = &self.next_auto_increment;
        sequence.needs_bound().then(|| (self.id(), sequence.raise_bound()))
    }
}

impl PartitionKeyShape {
    fn of(primary: &KeySpec, partition_columns: &[usize]) -> PartitionKeyShape {
        let parts =
            primary.parts.iter().map(|part| (PartLength::of(part), partition_columns.contains(&part.column)));
        let mut parts: Vec<(PartLength, bool)> = parts.collect();
        if parts.iter().all(|&(_, belongs)| belongs) {
            return PartitionKeyShape::Whole;
        }
        while parts.last().is_some_and(|&(_, belongs)| !belongs) {
            parts.pop();
        }
        // The key's very last part may end where the key ends.
        let tail = if parts.len() == primary.parts.len() { 1 } else { 0 };
        let inner = &parts[..parts.len() - tail];
        match inner.iter().any(|&(length, _)| length == PartLength::Unknown) {
            true => PartitionKeyShape::Unknown,
            false => PartitionKeyShape::Parts(parts),
        }
    }
}

impl PartLength {
    fn of(part: &KeyPart) -> PartLength {
        if part.nullable {
            return PartLength::Unknown;
        }
        match (part.sql_type.base, fixed_width(&part.sql_type)) {
            (BaseType::Float, _) => PartLength::Fixed(8),
            (_, Some(width)) => PartLength::Fixed(width),
            (_, None) if part.sql_type.collation == Collation::BINARY && !part.descending => PartLength::Escaped,
            (_, None) => PartLength::Unknown,
        }
    }

    /// The length of the part that `bytes` begin with.
    fn measure(self, bytes: &[u8]) -> usize {
        match self {
            PartLength::Fixed(width) => width.min(bytes.len()),
            PartLength::Unknown => bytes.len(),
            PartLength::Escaped => {
                let mut at = 0;
                while at + 1 < bytes.len() {
                    match (bytes[at], bytes[at + 1]) {
                        (0, 0) => return at + 2,
                        (0, _) => at += 2,
                        _ => at += 1,
                    }
                }
                bytes.len()
            }
        }
    }
}

fn gather_parts<'k>(
    parts: &[(PartLength, bool)],
    primary_key: &'k [u8],
    buffer: &'k mut Vec<u8>,
) -> Option<&'k [u8]> {
    let mut at = 0;
    let one_piece = parts.iter().all(|&(_, belongs)| belongs);
    buffer.clear();
    for &(length, belongs) in parts {
        let rest = primary_key.get(at..)?;
        let measured = length.measure(rest);
        if belongs && !one_piece {
            buffer.extend_from_slice(&rest[..measured]);
        }
        at += measured;
    }
    if one_piece { primary_key.get(..at) } else { Some(buffer) }
}
