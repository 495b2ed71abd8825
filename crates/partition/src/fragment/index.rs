//! One index of a fragment: its definition, how keys are made from rows, and its tree.

use shoal_types::key::KeySpec;
use shoal_types::row::{RowLayout, RowRef, fixed_width};
use shoal_types::{Collation, Index, TableSchema, array_elements};

use crate::btree::Tree;

/// A pair in a tree that is three quarters full.
const PAIR_BYTES: usize = 22;
const INLINE_KEY_BYTES: usize = 8;

pub(crate) struct OrderedIndex {
    pub(crate) definition: Index,
    /// The columns that the definition names.
    pub(crate) spec: KeySpec,
    /// What the tree's keys are made of: equal keys of a secondary index lie in the order of their primary keys.
    pub(crate) entry: KeySpec,
    pub(crate) tree: Tree,
    /// Unique, and this partition answers for it: no hidden table does.
    pub(crate) locally_unique: bool,
    /// Rows before this one have their entries, as have all that are written among them; [`BUILT`]: all have.
    pub(super) built_to: u32,
    /// While a definition builds it: what its entries will be charged.
    pub(super) uncharged: Option<u64>,
    shape: KeyShape,
}

/// An index of all rows.
pub(super) const BUILT: u32 = u32::MAX;

/// What is known of a key's length before it is made.
struct KeyShape {
    fixed_bytes: usize,
    /// Variable-size columns and how many key bytes one of their bytes makes.
    variable: Vec<(usize, usize)>,
    /// Its elements make an entry each.
    array: Option<usize>,
}

impl KeyShape {
    fn of(spec: &KeySpec) -> KeyShape {
        let mut shape = KeyShape { fixed_bytes: 0, variable: Vec::new(), array: None };
        for part in &spec.parts {
            shape.fixed_bytes += usize::from(part.nullable);
            if part.multi_valued {
                shape.array = Some(part.column);
                continue;
            }
            match fixed_width(&part.sql_type) {
                Some(width) => shape.fixed_bytes += width,
                None => {
                    let factor = if part.sql_type.collation == Collation::BINARY { 1 } else { 2 };
                    shape.variable.push((part.column, factor));
                }
            }
        }
        shape
    }

    fn key_bytes(&self, row: RowRef<'_>) -> usize {
        let variable: usize = self.variable.iter().map(|&(column, factor)| row.raw(column).len() * factor).sum();
        self.fixed_bytes + variable
    }
}

impl OrderedIndex {
    pub(crate) fn new(schema: &TableSchema, definition: &Index) -> OrderedIndex {
        let spec = KeySpec::of_index(schema, definition);
        let entry = KeySpec::of_entries(schema, definition);
        let shape = KeyShape::of(&entry);
        OrderedIndex {
            definition: definition.clone(),
            spec,
            entry,
            tree: Tree::default(),
            locally_unique: definition.unique && definition.unique_table.is_none() && definition.id.0 != 0,
            built_to: BUILT,
            uncharged: definition.building.then_some(0),
            shape,
        }
    }

    pub(super) fn is_built(&self) -> bool {
        self.built_to == BUILT
    }

    /// Has to have an entry for this row.
    #[inline]
    pub(super) fn covers(&self, row: u32) -> bool {
        row < self.built_to
    }

    /// A version of a row that it covers has come.
    pub(super) fn note_added(&mut self, row: RowRef<'_>) {
        let charge = if self.uncharged.is_some() { self.charge(row) } else { 0 };
        self.uncharged = self.uncharged.map(|sum| sum + charge);
    }

    /// A version of a row that it covers has gone.
    pub(super) fn note_gone(&mut self, row: RowRef<'_>) {
        let charge = if self.uncharged.is_some() { self.charge(row) } else { 0 };
        self.uncharged = self.uncharged.map(|sum| sum.saturating_sub(charge));
    }

    /// What a version's entries in this index are charged: a function of the row alone.
    pub(crate) fn charge(&self, row: RowRef<'_>) -> u64 {
        let entry = |element_bytes: usize| {
            let key_bytes = self.shape.key_bytes(row) + element_bytes;
            (PAIR_BYTES + key_bytes.saturating_sub(INLINE_KEY_BYTES)) as u64
        };
        match self.shape.array {
            Some(column) if !row.is_null(column) => {
                array_elements::iter(row.raw(column)).map(|element| entry(element.len())).sum()
            }
            _ => entry(0),
        }
    }

    /// The row's only key, of an index that is not multi-valued.
    pub(crate) fn key_into<'k>(&self, layout: &RowLayout, row: &[u8], key: &'k mut Vec<u8>) -> &'k [u8] {
        key.clear();
        self.entry.append_from_row(layout.row(row), key);
        key
    }

    pub(super) fn insert_entries(&mut self, layout: &RowLayout, row: &[u8], row_id: u32, key: &mut Vec<u8>) {
        let tree = &mut self.tree;
        self.entry.each_key(layout.row(row), key, |key| {
            tree.insert(key, row_id);
        });
    }

    pub(super) fn remove_entries(&mut self, layout: &RowLayout, row: &[u8], row_id: u32, key: &mut Vec<u8>) {
        let tree = &mut self.tree;
        self.entry.each_key(layout.row(row), key, |key| {
            tree.remove(key, row_id);
        });
    }

    /// The indexed columns have the same bytes in both rows (so the keys are equal; the converse need not hold).
    pub(crate) fn same_columns(&self, one: RowRef<'_>, other: RowRef<'_>) -> bool {
        self.spec.has_same_columns(one, other)
    }
}
