//! What locks are called, and what they are on.
//!
//! A unique index over all partitions is kept by a hidden table; a lock of a row of that is shown as one of the index. Its key cannot
//! be turned back into values, so these are taken from the row that has the key.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use shoal_cluster::{Catalog, LockKind, Node, ObservedKey, ObservedLock, Table};
use shoal_txn::LockMode;
use shoal_types::{TableId, Value};

/// What a lock is on.
pub(crate) struct LockPlace {
    pub table: Arc<Table>,
    /// Position in the schema's indexes.
    index: usize,
    /// The hidden table's row: the key's bytes and the primary key's.
    hidden: bool,
}

impl LockPlace {
    pub fn database(&self) -> &str {
        &self.table.schema.database
    }

    pub fn index_name(&self) -> &str {
        match self.index == 0 && self.table.schema.has_hidden_key() {
            true => "GEN_CLUST_INDEX",
            false => self.table.schema.indexes.get(self.index).map_or("PRIMARY", |index| index.name.as_str()),
        }
    }
}

/// Names of a node's tables.
pub(crate) struct LockNames<'a> {
    node: &'a Node,
    catalog: Arc<Catalog>,
    /// Hidden tables: whose they are, and for which index.
    hidden: OnceCell<HashMap<TableId, (Arc<Table>, usize)>>,
}

impl<'a> LockNames<'a> {
    pub fn new(node: &'a Node) -> LockNames<'a> {
        LockNames { node, catalog: node.catalog(), hidden: OnceCell::new() }
    }

    /// A table that users know.
    pub fn table(&self, id: TableId) -> Option<&Arc<Table>> {
        self.catalog.table_by_id(id).filter(|table| !table.schema.database.is_empty())
    }

    /// `None`: the table is none of a user's, or is gone.
    pub fn place(&self, lock: &ObservedLock) -> Option<LockPlace> {
        if let Some(table) = self.table(lock.table) {
            let index = table.schema.indexes.iter().position(|index| index.id == lock.index).unwrap_or(0);
            return Some(LockPlace { table: Arc::clone(table), index, hidden: false });
        }
        let (table, index) = self.hidden.get_or_init(|| self.hidden_tables()).get(&lock.table)?;
        Some(LockPlace { table: Arc::clone(table), index: *index, hidden: true })
    }

    fn hidden_tables(&self) -> HashMap<TableId, (Arc<Table>, usize)> {
        let tables = self.catalog.databases.values().flat_map(|database| database.tables.values());
        let of_table = |table: &Arc<Table>| {
            let indexes = table.schema.indexes.iter().enumerate();
            let hidden = indexes.filter_map(|(place, index)| Some((index.unique_table?, place)));
            hidden.map(|(id, place)| (id, (Arc::clone(table), place))).collect::<Vec<_>>()
        };
        tables.flat_map(of_table).collect()
    }

    /// LOCK_DATA.
    pub fn data(&self, lock: &ObservedLock, place: &LockPlace) -> Option<String> {
        let values = match &lock.key {
            ObservedKey::Unknown => return None,
            ObservedKey::Supremum => return Some("supremum pseudo-record".to_owned()),
            ObservedKey::Values(values) => values,
        };
        if place.hidden {
            let [Value::Str(key), Value::Str(primary_key)] = values.as_slice() else { return None };
            return Some(match self.values_of_unique_key(place, key, primary_key) {
                Some(values) => shown_key(&values, false),
                None => hex(key),
            });
        }
        Some(shown_key(values, place.table.schema.has_hidden_key()))
    }

    fn values_of_unique_key(&self, place: &LockPlace, key: &[u8], primary_key: &[u8]) -> Option<Vec<Value>> {
        let mut buffer = Vec::new();
        let partition_key = place.table.partition_key_of(primary_key, &mut buffer)?;
        let partition = self.node.router().partition_of(partition_key);
        let index = place.table.schema.indexes.get(place.index)?.id;
        self.node.leader(partition).ok()?.observed_key(place.table.id(), index, key, primary_key)
    }
}

/// As InnoDB prints records: numbers as they are, texts in quotes, row ids in hexadecimal digits.
fn shown_key(values: &[Value], ends_with_row_id: bool) -> String {
    let last = values.len().saturating_sub(1);
    let show = |(place, value): (usize, &Value)| match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(id) if ends_with_row_id && place == last => format!("0x{id:012X}"),
        Value::UInt(id) if ends_with_row_id && place == last => format!("0x{id:012X}"),
        Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Year(_) => String::from_utf8_lossy(&value.as_text()).into_owned(),
        other => match String::from_utf8(other.to_text()) {
            Ok(text) => format!("'{}'", text.replace('\'', "''")),
            Err(bytes) => hex(bytes.as_bytes()),
        },
    };
    values.iter().enumerate().map(show).collect::<Vec<_>>().join(", ")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02X}"))
}

/// ENGINE_LOCK_ID: the transaction, the partition, the table and its index, and the lock in that.
pub(crate) fn lock_id(partition: u32, lock: &ObservedLock) -> String {
    let kind = match lock.kind {
        LockKind::Record | LockKind::NextKey => 'r',
        LockKind::Gap => 'g',
        LockKind::InsertIntention => 'i',
    };
    let waits = if lock.is_waiting { "w" } else { "" };
    let ObservedLock { transaction, table, index, number, .. } = lock;
    format!("{}:{partition}:{}:{}:{kind}{number:x}{waits}", transaction.0, table.0, index.0)
}

/// LOCK_MODE.
pub(crate) fn lock_mode(lock: &ObservedLock) -> String {
    let mode = if lock.mode == LockMode::Exclusive { "X" } else { "S" };
    let is_last = lock.key == ObservedKey::Supremum;
    let what = match lock.kind {
        LockKind::Record => ",REC_NOT_GAP",
        LockKind::NextKey => "",
        LockKind::Gap if is_last => "",
        LockKind::Gap => ",GAP",
        LockKind::InsertIntention if is_last => ",INSERT_INTENTION",
        LockKind::InsertIntention => ",GAP,INSERT_INTENTION",
    };
    format!("{mode}{what}")
}

/// LOCK_STATUS.
pub(crate) fn lock_status(lock: &ObservedLock) -> &'static str {
    if lock.is_waiting { "WAITING" } else { "GRANTED" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_shown_as_innodb_shows_records() {
        let values = [Value::Int(-7), Value::str("o'clock"), Value::Null, Value::Str(vec![0xff, 0])];
        assert_eq!(shown_key(&values, false), "-7, 'o''clock', NULL, 0xFF00");
        assert_eq!(shown_key(&[Value::str("a"), Value::Int(255)], true), "'a', 0x0000000000FF");
    }
}
