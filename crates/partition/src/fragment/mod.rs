//! The rows of one table in this partition: slots, versions, indexes. Knows nothing of locks or transactions.
//!
//! A slot holds the newest committed version of a row (no bytes when it is deleted) and leads to older versions,
//! newest first, as far as the horizon lets snapshots need them. Every index has an entry for each distinct key among
//! a row's versions, so a reader who finds a row through an index checks the key of the version that it sees, unless
//! the row has but one version. A slot lives until no snapshot can see any version of it.
//!
//! [`Fragment::charge_of`] says what a version costs. The caller reserves that before it stages; the fragment gives
//! it back to the budget when the version is forgotten.
//!
//! The bytes of versions lie in pages of the fragment's own ([`rows`]), which [`Fragment::compact`] gives back when rows have gone.
//! Slots keep their numbers, by which cursors, workspaces and indexes know rows; where few of them are left they lie packed
//! ([`crate::sparse_slab`]).

mod building;
mod change;
mod index;
mod operations;
mod rows;

use std::sync::Arc;

use shoal_types::key::KeySpec;
use shoal_types::row::{RowLayout, RowRef};
use shoal_types::{BaseType, IndexId, IndexMethod, Result, TableSchema, Timestamp, key_hash};

pub(crate) use change::{Applied, NewRow};
pub(crate) use index::OrderedIndex;
use operations::Counted;
pub use operations::FragmentOperations;
use rows::{RowPlace, RowStore, paged_bytes};

use crate::api::FragmentUsage;
use crate::hash_index::HashIndex;
use crate::sparse_slab::SparseSlab;

const NO_UNDO: u32 = u32::MAX;
/// Slots come in chunks of 1,024; in tests of 64, so that few rows make several.
const CHUNK_WORDS: usize = if cfg!(test) { 1 } else { 16 };
/// A slot (for an old version: its place in the chain and in the list of garbage), and a place in the hash index at an average
/// load.
const ROW_BYTES: u64 = 32 + 14;

const CACHE_LINE: usize = 64;
/// Lines of a row that are worth fetching before it is known whether all of it is wanted.
const WARM_LINES: usize = 4;

#[derive(Clone, Copy)]
pub(crate) struct Slot {
    /// None: deleted at `timestamp` (or the slot is free).
    row: RowPlace,
    undo: u32,
    timestamp: Timestamp,
    short_hash: u32,
}

/// A version that has been superseded.
#[derive(Clone, Copy)]
struct Undo {
    row: RowPlace,
    next: u32,
    timestamp: Timestamp,
}

const VACANT_SLOT: Slot = Slot { row: RowPlace::NONE, undo: NO_UNDO, timestamp: Timestamp::ZERO, short_hash: 0 };
const VACANT_UNDO: Undo = Undo { row: RowPlace::NONE, next: NO_UNDO, timestamp: Timestamp::ZERO };

/// What an old version takes, its keys in indexes apart.
fn old_version_bytes(row: RowPlace) -> u64 {
    ROW_BYTES + if row.is_none() { 0 } else { paged_bytes(row.length()) }
}

/// How a stored row is compared with a primary key.
#[derive(Clone, Copy)]
enum PrimaryShape {
    /// One ascending integer column: the key is the number, big-endian, its sign bit turned if `signed`.
    Integer {
        column: usize,
        signed: bool,
        width: usize,
    },
    General,
}

/// What a fragment takes of the process's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FragmentMemory {
    /// Pages of rows and old versions.
    pub row_bytes: u64,
    /// What of these pages is free.
    pub free_bytes: u64,
    /// Indexes, and what leads to rows.
    pub index_bytes: u64,
    /// Old versions that snapshots need, of the first and the third.
    pub old_bytes: u64,
}

impl FragmentMemory {
    /// The sum of both.
    pub fn plus(self, other: FragmentMemory) -> FragmentMemory {
        FragmentMemory {
            row_bytes: self.row_bytes + other.row_bytes,
            free_bytes: self.free_bytes + other.free_bytes,
            index_bytes: self.index_bytes + other.index_bytes,
            old_bytes: self.old_bytes + other.old_bytes,
        }
    }

    /// All that the table takes.
    pub fn bytes(self) -> u64 {
        self.row_bytes + self.index_bytes
    }
}

pub(crate) struct Fragment {
    pub(crate) schema: Arc<TableSchema>,
    pub(crate) layout: RowLayout,
    pub(crate) primary: KeySpec,
    shape: PrimaryShape,
    /// The primary key's columns, and rows of these alone.
    names: (Vec<usize>, RowLayout),
    store: RowStore,
    slots: SparseSlab<Slot, CHUNK_WORDS>,
    undo: SparseSlab<Undo, CHUNK_WORDS>,
    /// The next slot, or old version behind all slots, whose bytes a compaction looks at.
    compacted: u32,
    hash: HashIndex,
    /// `ordered[0]` is the primary key's tree, unless that is a hash index only (`primary_ordered`).
    pub(crate) ordered: Vec<OrderedIndex>,
    pub(crate) primary_ordered: bool,
    rows: u64,
    bytes: u64,
    /// Of old versions.
    old_bytes: u64,
    pub(crate) counted: Counted,
    /// Buffers for index keys in the making.
    key_buffers: (Vec<u8>, Vec<u8>),
}

/// The layout of a table's rows.
pub(crate) fn layout_of(schema: &TableSchema) -> RowLayout {
    RowLayout::of_table(schema)
}

/// The columns that name a row, and the layout of rows of these alone.
pub(crate) fn names_of(schema: &TableSchema) -> (Vec<usize>, RowLayout) {
    let columns: Vec<usize> = schema.primary_key().columns.iter().map(|part| part.column).collect();
    let types = columns.iter().map(|&column| schema.columns[column].sql_type.clone()).collect();
    (columns, RowLayout::new(types))
}

impl PrimaryShape {
    fn of(spec: &KeySpec) -> PrimaryShape {
        let [part] = spec.parts.as_slice() else {
            return PrimaryShape::General;
        };
        let width = match part.sql_type.base {
            BaseType::TinyInt => 1,
            BaseType::SmallInt => 2,
            BaseType::MediumInt => 3,
            BaseType::Int => 4,
            BaseType::BigInt => 8,
            _ => return PrimaryShape::General,
        };
        if part.nullable || part.descending {
            return PrimaryShape::General;
        }
        PrimaryShape::Integer { column: part.column, signed: !part.sql_type.unsigned, width }
    }
}

/// The little-endian word that a row holds for an integer key.
#[inline]
fn key_word(key: &[u8], signed: bool) -> u64 {
    let mut bytes = [0u8; 8];
    bytes[8 - key.len()..].copy_from_slice(key);
    let word = u64::from_be_bytes(bytes);
    if signed { word ^ 1 << (8 * key.len() - 1) } else { word }
}

impl Fragment {
    pub(crate) fn new(schema: Arc<TableSchema>) -> Fragment {
        let layout = layout_of(&schema);
        let primary = KeySpec::of_index(&schema, schema.primary_key());
        let primary_ordered = schema.primary_key().method == IndexMethod::BTree;
        let ordered_indexes = schema.indexes.iter().filter(|index| index.id.0 != 0 || primary_ordered);
        let ordered = ordered_indexes.map(|index| OrderedIndex::new(&schema, index)).collect();
        Fragment {
            layout,
            shape: PrimaryShape::of(&primary),
            primary,
            names: names_of(&schema),
            store: RowStore::default(),
            slots: SparseSlab::new(VACANT_SLOT),
            undo: SparseSlab::new(VACANT_UNDO),
            compacted: 0,
            hash: HashIndex::default(),
            ordered,
            primary_ordered,
            rows: 0,
            bytes: 0,
            old_bytes: 0,
            counted: Counted::default(),
            key_buffers: Default::default(),
            schema,
        }
    }

    /// The primary key's columns of a row as a row of their own.
    pub(crate) fn name_of(&self, row: &[u8]) -> Result<Box<[u8]>> {
        let (columns, layout) = &self.names;
        let mut name = Vec::with_capacity(16);
        layout.encode_projected(self.row(row), columns, &mut name)?;
        Ok(name.into())
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn usage(&self) -> FragmentUsage {
        FragmentUsage {
            table: self.schema.id,
            rows: self.rows,
            bytes: self.bytes,
            old_versions: self.undo.len() as u64,
        }
    }

    /// Bytes that rows and old versions take, and those that lead to them. Walks over the lists of pages.
    pub(crate) fn memory(&self) -> FragmentMemory {
        let trees: usize = self.ordered.iter().map(|index| index.tree.memory_bytes()).sum();
        let lists = self.store.list_bytes() + self.slots.memory_bytes() + self.undo.memory_bytes();
        FragmentMemory {
            row_bytes: self.store.page_bytes(),
            free_bytes: self.store.page_bytes() - self.store.live_bytes(),
            index_bytes: (trees + lists + self.hash.memory_bytes()) as u64,
            old_bytes: self.memory_of_old_versions(),
        }
    }

    /// Keys of old versions in indexes are not in it.
    pub(crate) fn memory_of_old_versions(&self) -> u64 {
        self.old_bytes
    }

    /// What one version costs: a function of its bytes and the table's indexes alone.
    pub(crate) fn charge_of(&self, row: &[u8]) -> u64 {
        self.charge_with(row, row.len())
    }

    /// The same of a version of another length that differs from `row` in no column of an index.
    pub(crate) fn charge_with(&self, row: &[u8], row_bytes: usize) -> u64 {
        let row_ref = self.layout.row(row);
        let charged = self.ordered.iter().filter(|index| index.uncharged.is_none());
        let indexes: u64 = charged.map(|index| index.charge(row_ref)).sum();
        paged_bytes(row_bytes) + ROW_BYTES + indexes
    }

    /// The column is part of a key.
    pub(crate) fn has_indexed(&self, column: usize) -> bool {
        let keys = self.ordered.iter().map(|index| &index.spec);
        std::iter::once(&self.primary).chain(keys).any(|key| key.parts.iter().any(|part| part.column == column))
    }

    pub(crate) fn index(&self, id: IndexId) -> Option<&OrderedIndex> {
        self.ordered.iter().find(|index| index.definition.id == id)
    }

    pub(crate) fn primary_key_into<'k>(&self, row: &[u8], key: &'k mut Vec<u8>) -> &'k [u8] {
        key.clear();
        self.primary.append_from_row(self.layout.row(row), key);
        key
    }

    /// The slot of a primary key, whether its row is alive or deleted.
    #[inline]
    pub(crate) fn find(&self, hash: u64, key: &[u8], scratch: &mut Vec<u8>) -> Option<u32> {
        match self.shape {
            PrimaryShape::Integer { column, signed, width } => {
                if key.len() != width {
                    return None;
                }
                let word = key_word(key, signed);
                self.hash.find(hash, |row| {
                    self.any_version(row).is_some_and(|bytes| self.layout.row(bytes).word(column) == word)
                })
            }
            PrimaryShape::General => self.hash.find(hash, |row| {
                self.any_version(row).is_some_and(|bytes| self.primary_key_into(bytes, scratch) == key)
            }),
        }
    }

    /// A row, alive or deleted, whose primary key has this hash.
    pub(crate) fn with_key_hash(&self, hash: u64) -> Option<&[u8]> {
        let mut key = Vec::new();
        let has_hash = |row: u32| {
            self.any_version(row).is_some_and(|bytes| key_hash(self.primary_key_into(bytes, &mut key)) == hash)
        };
        let row = self.hash.find(hash, has_hash)?;
        self.any_version(row)
    }

    /// Some version's bytes: all versions of a slot have the same primary key.
    #[inline]
    pub(crate) fn any_version(&self, row: u32) -> Option<&[u8]> {
        let slot = &self.slots[row];
        match self.store.get(slot.row) {
            Some(bytes) => Some(bytes),
            None => self.old_versions(row).find_map(|undo| self.store.get(undo.row)),
        }
    }

    fn old_versions(&self, row: u32) -> impl Iterator<Item = &Undo> {
        let mut next = self.slots[row].undo;
        std::iter::from_fn(move || {
            if next == NO_UNDO {
                return None;
            }
            let undo = &self.undo[next];
            next = undo.next;
            Some(undo)
        })
    }

    /// The version of a row that a snapshot sees.
    #[inline]
    pub(crate) fn visible(&self, row: u32, snapshot: Timestamp) -> Option<&[u8]> {
        let slot = &self.slots[row];
        if slot.timestamp <= snapshot {
            return self.store.get(slot.row);
        }
        self.old_versions(row).find(|undo| undo.timestamp <= snapshot).and_then(|undo| self.store.get(undo.row))
    }

    /// The version that a snapshot sees, with the timestamp of its commit.
    pub(crate) fn visible_version(&self, row: u32, snapshot: Timestamp) -> Option<(Timestamp, &[u8])> {
        let slot = &self.slots[row];
        if slot.timestamp <= snapshot {
            return self.store.get(slot.row).map(|bytes| (slot.timestamp, bytes));
        }
        let undo = self.old_versions(row).find(|undo| undo.timestamp <= snapshot)?;
        self.store.get(undo.row).map(|bytes| (undo.timestamp, bytes))
    }

    /// The newest committed version.
    #[inline]
    pub(crate) fn newest(&self, row: u32) -> Option<&[u8]> {
        self.store.get(self.slots[row].row)
    }

    /// Brings the newest versions of rows that are about to be read into the processor's caches. Their misses, which
    /// one after another would cost more than all the rest of a scan, overlap here.
    #[inline]
    pub(crate) fn warm(&self, rows: &[u32]) {
        let mut sum = 0u8;
        for &row in rows {
            if let Some(bytes) = self.store.get(self.slots[row].row) {
                sum ^= bytes.iter().step_by(CACHE_LINE).take(WARM_LINES).fold(0, |sum, byte| sum ^ byte);
            }
        }
        std::hint::black_box(sum);
    }

    /// Looks up keys by their hashes alone, for [`Fragment::warm`].
    pub(crate) fn guess(&self, hash: u64) -> Option<u32> {
        self.hash.guess(hash)
    }

    /// Index entries of the row need no check against the version seen.
    #[inline]
    pub(crate) fn has_one_version(&self, row: u32) -> bool {
        self.slots[row].undo == NO_UNDO
    }

    /// The version seen at `snapshot` is the newest one.
    #[inline]
    pub(crate) fn newest_is_visible(&self, row: u32, snapshot: Timestamp) -> bool {
        self.slots[row].timestamp <= snapshot
    }

    pub(crate) fn row<'a>(&'a self, bytes: &'a [u8]) -> RowRef<'a> {
        self.layout.row(bytes)
    }

    /// Slots with their hashes, of the next stretch of the hash index: see [`HashIndex::after`].
    pub(crate) fn slots_after(&self, after: Option<(u32, u32)>) -> Option<Vec<(u32, u32)>> {
        self.hash.after(after)
    }
}
