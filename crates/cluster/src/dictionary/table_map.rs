//! Tables in order of a key, in a map of which many versions share most of their parts.
//!
//! Every definition makes the next version of the dictionary out of the last one, which sessions still read. A copy of this map
//! costs a pointer for some hundred tables, a change one chunk. So a definition costs the same whether there are ten tables
//! or ten thousand.
//!
//! Chunks are never empty, and their tables ascend within and between them.

use std::marker::PhantomData;
use std::sync::Arc;

use shoal_types::TableId;

use crate::dictionary::table::Table;

/// A full chunk is split, or followed by a new one if the table comes behind all others.
const TABLES_PER_CHUNK: usize = 128;

/// What a map's tables are found by.
pub trait TableKey {
    /// What a table is looked up by.
    type Key: Ord + ?Sized;

    /// A table's key.
    fn of(table: &Table) -> &Self::Key;
}

/// The key is the table's id.
#[derive(Clone, Debug, Default)]
pub struct ById;

/// The key is the table's name; for the tables of one database.
#[derive(Clone, Debug, Default)]
pub struct ByName;

impl TableKey for ById {
    type Key = TableId;

    fn of(table: &Table) -> &TableId {
        &table.schema.id
    }
}

impl TableKey for ByName {
    type Key = str;

    fn of(table: &Table) -> &str {
        &table.schema.name
    }
}

/// Tables in the order of a key. Copies share what has not changed, so a new version of the dictionary is cheap.
#[derive(Clone, Debug, Default)]
pub struct TableMap<K> {
    chunks: Vec<Arc<Vec<Arc<Table>>>>,
    len: usize,
    key: PhantomData<K>,
}

impl<K: TableKey> TableMap<K> {
    /// How many tables there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// There are no tables.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The table with this key.
    pub fn get(&self, key: &K::Key) -> Option<&Arc<Table>> {
        let chunk = self.chunks.get(self.chunk_of(key))?;
        let place = search::<K>(chunk, key).ok()?;
        chunk.get(place)
    }

    /// There is a table with this key.
    pub fn contains_key(&self, key: &K::Key) -> bool {
        self.get(key).is_some()
    }

    /// All tables, ascending by their keys.
    pub fn values(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// All keys, ascending.
    pub fn keys(&self) -> impl Iterator<Item = &K::Key> {
        self.values().map(|table| K::of(table))
    }

    /// Takes the place of the table with the same key.
    pub(crate) fn insert(&mut self, table: Arc<Table>) {
        let position = self.chunk_of(K::of(&table));
        let Some(shared) = self.chunks.get_mut(position) else {
            self.chunks.push(Arc::new(vec![table]));
            self.len += 1;
            return;
        };
        let chunk = Arc::make_mut(shared);
        match search::<K>(chunk, K::of(&table)) {
            Ok(place) => chunk[place] = table,
            Err(place) => {
                self.len += 1;
                if chunk.len() < TABLES_PER_CHUNK {
                    return chunk.insert(place, table);
                }
                let rest = chunk.split_off(if place == chunk.len() { place } else { TABLES_PER_CHUNK / 2 });
                match place.checked_sub(chunk.len()) {
                    Some(place_in_rest) => {
                        let mut rest = rest;
                        rest.insert(place_in_rest, table);
                        self.chunks.insert(position + 1, Arc::new(rest));
                    }
                    None => {
                        chunk.insert(place, table);
                        self.chunks.insert(position + 1, Arc::new(rest));
                    }
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &K::Key) -> Option<Arc<Table>> {
        let position = self.chunk_of(key);
        let place = search::<K>(self.chunks.get(position)?, key).ok()?;
        let chunk = Arc::make_mut(self.chunks.get_mut(position)?);
        let table = chunk.remove(place);
        if chunk.is_empty() {
            self.chunks.remove(position);
        }
        self.len -= 1;
        Some(table)
    }

    /// The last chunk that does not begin behind the key; the first one if all do.
    fn chunk_of(&self, key: &K::Key) -> usize {
        let behind = self.chunks.partition_point(|chunk| chunk.first().is_some_and(|first| K::of(first) <= key));
        behind.saturating_sub(1)
    }
}

fn search<K: TableKey>(chunk: &[Arc<Table>], key: &K::Key) -> Result<usize, usize> {
    chunk.binary_search_by(|table| K::of(table).cmp(key))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::dictionary::meta_rows::changes_schema;
    use crate::dictionary::sequence::Sequence;

    fn table(id: u32) -> Arc<Table> {
        let mut schema = changes_schema();
        schema.id = TableId(id);
        schema.name = format!("t{id}");
        Arc::new(Table::new(schema, Arc::new(Sequence::new(1))))
    }

    /// The same work on both, in an order without rhyme.
    #[test]
    fn a_map_holds_what_a_tree_of_the_same_tables_holds() {
        let (mut map, mut model) = (TableMap::<ById>::default(), BTreeMap::new());
        let mut number = 1u32;
        for step in 0..4000 {
            number = number.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            let id = (number >> 16) % 700;
            if step % 3 == 2 {
                assert_eq!(map.remove(&TableId(id)).is_some(), model.remove(&id).is_some());
            } else {
                map.insert(table(id));
                model.insert(id, ());
            }
            assert_eq!(map.len(), model.len());
            assert_eq!(map.contains_key(&TableId(id)), model.contains_key(&id));
        }
        let ids: Vec<u32> = map.keys().map(|id| id.0).collect();
        assert_eq!(ids, model.keys().copied().collect::<Vec<_>>());
        assert!(map.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= TABLES_PER_CHUNK));
    }

    #[test]
    fn a_copy_is_not_changed_with_the_map_and_shares_all_but_one_chunk() {
        let mut map = TableMap::<ByName>::default();
        (0..1000).for_each(|id| map.insert(table(id)));
        let copy = map.clone();
        map.remove("t77");
        assert_eq!((map.len(), copy.len()), (999, 1000));
        assert!(copy.get("t77").is_some() && map.get("t77").is_none() && map.get("t78").is_some());
        let shared = |chunk: &Arc<Vec<Arc<Table>>>| map.chunks.iter().any(|other| Arc::ptr_eq(chunk, other));
        assert_eq!(copy.chunks.iter().filter(|chunk| !shared(chunk)).count(), 1);
    }

    #[test]
    fn tables_that_come_in_order_fill_their_chunks() {
        let mut map = TableMap::<ById>::default();
        (0..1280).for_each(|id| map.insert(table(id)));
        assert_eq!(map.chunks.len(), 10);
    }
}
