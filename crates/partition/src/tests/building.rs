//! Indexes that are built beside those who write.

use super::*;
use crate::fragment::{Fragment, NewRow};

/// The table with the index of `k` as a definition that builds it has it, or as one that has it.
fn with_index(version: u32, building: bool) -> Arc<TableSchema> {
    let mut schema = TableSchema { version, ..schema(IndexMethod::BTree) };
    let added = Index { building, invisible: building, ..index(IndexId(7), &[1], false, IndexMethod::BTree) };
    schema.indexes.push(added);
    Arc::new(schema)
}

struct Table {
    fragment: Fragment,
    codec: Codec,
    clock: u64,
    /// Rows with versions that are to be dropped.
    garbage: Vec<u32>,
}

impl Table {
    fn put(&mut self, row: &TestRow) {
        self.clock += 1;
        let bytes = self.codec.encode(row);
        let mut key = Vec::new();
        self.fragment.primary_key_into(&bytes, &mut key);
        // Every other version is needed by a snapshot.
        let horizon = if self.clock.is_multiple_of(2) { self.clock } else { 0 };
        let (now, horizon) = (Timestamp(self.clock), Timestamp(horizon));
        let applied = self.fragment.put(NewRow::Borrowed(&bytes), (key_hash(&key), &key), None, now, horizon);
        self.garbage.extend(applied.revisit);
    }

    fn delete(&mut self, id: i32) {
        self.clock += 1;
        let bytes = self.codec.encode(&row(id, 0));
        let mut key = Vec::new();
        self.fragment.primary_key_into(&bytes, &mut key);
        if let Some(found) = self.fragment.find(key_hash(&key), &key, &mut Vec::new()) {
            let applied = self.fragment.delete(found, Timestamp(self.clock), Timestamp(0));
            self.garbage.extend(applied.revisit);
        }
    }

    fn collect(&mut self) {
        let horizon = Timestamp(self.clock);
        for row in std::mem::take(&mut self.garbage) {
            self.fragment.prune(row, horizon);
        }
    }
}

#[test]
fn an_index_that_is_built_beside_writers_is_the_index_of_all_rows() {
    for seed in 0..60_u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let base = schema(IndexMethod::BTree);
        let mut table = Table {
            fragment: Fragment::new(Arc::new(base.clone())),
            codec: Codec::new(&base),
            clock: 1,
            garbage: Vec::new(),
        };
        for id in 0..random(400) as i32 {
            table.put(&row(id, id % 7));
        }
        table.fragment.alter(with_index(2, true)).unwrap();
        let is_finished_by_definition = seed % 3 == 0;
        let mut slices = 0;
        while table.fragment.is_building() && !(is_finished_by_definition && slices > 5) {
            for _ in 0..random(20) {
                match random(5) {
                    0 => table.delete(random(500) as i32),
                    1 => table.collect(),
                    _ => table.put(&row(random(500) as i32, random(9) as i32)),
                }
            }
            table.fragment.build_some(1 + random(30) as u32);
            slices += 1;
        }
        table.fragment.alter(with_index(3, false)).unwrap();
        table.fragment.check_indexes();
        table.put(&row(1000, 5));
        table.delete(3);
        table.collect();
        table.fragment.check_indexes();
    }
}

#[test]
fn an_index_that_is_given_up_leaves_nothing() {
    let base = schema(IndexMethod::BTree);
    let filled = || {
        let codec = Codec::new(&base);
        let fragment = Fragment::new(Arc::new(base.clone()));
        let mut table = Table { fragment, codec, clock: 1, garbage: Vec::new() };
        (0..100).for_each(|id| table.put(&row(id, id)));
        table
    };
    let mut table = filled();
    table.fragment.alter(with_index(2, true)).unwrap();
    table.fragment.build_some(10);
    table.put(&row(5, 6));
    table.fragment.alter(Arc::new(TableSchema { version: 3, ..base.clone() })).unwrap();
    table.collect();
    assert!(!table.fragment.is_building());
    table.fragment.check_indexes();
    let mut never_built = filled();
    never_built.put(&row(5, 6));
    never_built.collect();
    assert_eq!(table.fragment.bytes(), never_built.fragment.bytes());
}
