//! Changing the dictionary: one definition at a time, and tables that are filled before anybody sees them.
//!
//! A table that must have rows when it appears (ALTER TABLE by copy, CREATE TABLE ... SELECT) is made *hidden*: without a database
//! it is known by its id alone. The change that gives it its name is what others see. Hidden tables that a statement left
//! behind are dropped by the next definition, or at the next start of any node, unless a statement anywhere is still filling them.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use shoal_cluster::{BeingFilled, Catalog, Change, Node, Table, unique_table_schema};
use shoal_types::row::{PAST_ROWS_MAX, fixed_width};
use shoal_types::{Column, Error, ErrorCode, Index, IndexId, PastColumn, PastRows, Result, TableId, TableSchema};

/// Definitions are checked and changed under this: what was checked still holds when the change is made.
static DEFINITIONS: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Hidden tables whose statement ended without naming or dropping them, and the node (by its address) that has them.
static ABANDONED: Mutex<Vec<(usize, TableId)>> = Mutex::new(Vec::new());

/// Indexes that were being built when their statement ended: whose they are.
static ABANDONED_INDEXES: Mutex<Vec<(usize, TableId, Vec<IndexId>)>> = Mutex::new(Vec::new());

/// Makes changes out of the dictionary as it is and carries them out. `plan` sees what no other definition can change until
/// the changes are durable.
pub async fn change<T>(node: &Arc<Node>, plan: impl FnOnce(&Catalog) -> Result<(Vec<Change>, T)>) -> Result<T> {
    let _one_at_a_time = DEFINITIONS.lock().await;
    let _in_the_cluster = node.definition_lock().await?;
    let catalog = node.catalog();
    let (mut changes, result) = plan(&catalog)?;
    for id in take_abandoned(node) {
        if catalog.tables_by_id.get(&id).is_some_and(|table| table.schema.database.is_empty()) {
            changes.push(Change::DropTable(id));
        }
    }
    let given_up = take_abandoned_indexes(node);
    for (table, ids) in &given_up {
        let put = changes.iter_mut().find_map(|change| match change {
            Change::PutTable(schema) if schema.id == *table => Some(schema),
            _ => None,
        });
        let is_given_up = |index: &Index| ids.contains(&index.id);
        match put {
            Some(schema) => schema.indexes.retain(|index| !(index.building && is_given_up(index))),
            None => changes.extend(without_building(&catalog, *table, is_given_up)),
        }
    }
    if !changes.is_empty()
        && let Err(error) = node.change(changes).await
    {
        given_up.into_iter().for_each(|(table, ids)| abandon_indexes(node, table, ids));
        return Err(error);
    }
    Ok(result)
}

/// Drops what earlier statements of this node have left half built, if there is any of that.
pub async fn drop_abandoned_indexes(node: &Arc<Node>) {
    let is_own = |(owner, ..): &(usize, TableId, Vec<IndexId>)| *owner == address(node);
    let any = ABANDONED_INDEXES.lock().unwrap_or_else(PoisonError::into_inner).iter().any(is_own);
    if any {
        // What cannot be dropped now stays abandoned.
        let _ = change(node, |_| Ok((Vec::new(), ()))).await;
    }
}

/// The change that drops indexes that were being built, if they are there.
pub fn without_building(catalog: &Catalog, table: TableId, is_dropped: impl Fn(&Index) -> bool) -> Vec<Change> {
    let Some(present) = catalog.tables_by_id.get(&table) else { return Vec::new() };
    let mut schema = present.schema.clone();
    schema.indexes.retain(|index| !(index.building && is_dropped(index)));
    if schema.indexes.len() == present.schema.indexes.len() {
        return Vec::new();
    }
    drop_computed(&mut schema);
    schema.version += 1;
    vec![Change::PutTable(schema)]
}

/// Drops the columns of functional key parts, behind all others, that no index has any more. Where rows have had as many shapes as they may
/// have, they stay until the rows are written anew.
fn drop_computed(schema: &mut TableSchema) {
    let is_used =
        |column: usize| schema.indexes.iter().any(|index| index.columns.iter().any(|part| part.column == column));
    let is_kept = |&column: &usize| !schema.columns[column].is_functional() || is_used(column);
    let kept = (0..schema.columns.len()).rev().find(is_kept).map_or(0, |last| last + 1);
    if kept == schema.columns.len() || schema.past_rows.len() >= PAST_ROWS_MAX {
        return;
    }
    let width = |column: &Column| fixed_width(&column.sql_type).map(|width| width as u8);
    let widths = schema.columns.iter().map(width).collect();
    let columns = (0..schema.columns.len()).map(PastColumn::At).collect();
    schema.past_rows.push(PastRows { widths, columns });
    schema.past_rows.iter_mut().for_each(|rows| rows.columns.truncate(kept));
    schema.columns.truncate(kept);
}

/// The next definition drops these.
pub fn abandon_indexes(node: &Arc<Node>, table: TableId, ids: Vec<IndexId>) {
    ABANDONED_INDEXES.lock().unwrap_or_else(PoisonError::into_inner).push((address(node), table, ids));
}

fn take_abandoned_indexes(node: &Arc<Node>) -> Vec<(TableId, Vec<IndexId>)> {
    let mut abandoned = ABANDONED_INDEXES.lock().unwrap_or_else(PoisonError::into_inner);
    let mine = abandoned.extract_if(.., |(owner, ..)| *owner == address(node));
    mine.map(|(_, table, ids)| (table, ids)).collect()
}

/// The changes that make a table with the hidden tables of its unique indexes.
pub fn put_new_table(schema: TableSchema) -> Vec<Change> {
    let mut changes = Vec::with_capacity(1);
    for index in &schema.indexes {
        if let Some(id) = index.unique_table {
            changes.push(Change::PutTable(unique_table_schema(&schema, index, id)));
        }
    }
    changes.push(Change::PutTable(schema));
    changes
}

/// The change that gives a hidden table its name. The schema is the one it was made with.
pub fn rename_hidden(table: &Table, mut schema: TableSchema) -> Change {
    schema.version = table.schema.version + 1;
    Change::PutTable(schema)
}

/// A table that nobody sees yet. Dropped without `take`, it is gone.
pub struct HiddenTable {
    pub table: Arc<Table>,
    node: Arc<Node>,
    owned: bool,
    _filling: BeingFilled,
}

impl HiddenTable {
    /// Makes the table of `schema`, without its database.
    pub async fn create(node: &Arc<Node>, schema: &TableSchema) -> Result<HiddenTable> {
        let mut hidden = schema.clone();
        hidden.database = String::new();
        let id = hidden.id;
        // From here on it is dropped by somebody whatever becomes of this statement.
        let unclaimed = Unclaimed(node, id);
        let unique = schema.indexes.iter().filter_map(|index| index.unique_table);
        let filling = node.begin_to_fill(unique.chain([id]).collect());
        change(node, |_| Ok((put_new_table(hidden), ()))).await?;
        let catalog = node.catalog();
        let table = catalog.tables_by_id.get(&id).cloned();
        let table = table.ok_or_else(|| Error::unknown("internal: a new table is not in the dictionary"))?;
        std::mem::forget(unclaimed);
        Ok(HiddenTable { table, node: Arc::clone(node), owned: true, _filling: filling })
    }

    /// The table is what it was made as: nobody has dropped it meanwhile.
    ///
    /// # Errors
    /// 1297: its rows are gone, and a table of its id would be made anew and empty.
    pub fn check_is_whole(&self, catalog: &Catalog) -> Result<()> {
        let id = self.table.id();
        if catalog.tables_by_id.contains_key(&id) {
            return Ok(());
        }
        let text = format!(
            "Got temporary error: the table that was being filled (id {id}) was dropped meanwhile; try again"
        );
        Err(Error::new(ErrorCode::GetTemporaryErrmsg, text))
    }

    /// The table was given its name.
    pub fn taken(mut self) {
        self.owned = false;
    }

    /// Drops the table now. Its memory is free when this returns.
    pub async fn discard(mut self) {
        let id = self.table.id();
        let dropped = change(&self.node, |_| Ok((vec![Change::DropTable(id)], ()))).await;
        self.owned = dropped.is_err();
    }
}

struct Unclaimed<'a>(&'a Arc<Node>, TableId);

impl Drop for Unclaimed<'_> {
    fn drop(&mut self) {
        abandon(self.0, self.1);
    }
}

impl Drop for HiddenTable {
    fn drop(&mut self) {
        if self.owned {
            abandon(&self.node, self.table.id());
        }
    }
}

fn address(node: &Arc<Node>) -> usize {
    Arc::as_ptr(node) as usize
}

fn abandon(node: &Arc<Node>, id: TableId) {
    ABANDONED.lock().unwrap_or_else(PoisonError::into_inner).push((address(node), id));
}

fn take_abandoned(node: &Arc<Node>) -> Vec<TableId> {
    let mut abandoned = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
    let (mine, others) = abandoned.drain(..).partition(|(owner, _)| *owner == address(node));
    *abandoned = others;
    let mine: Vec<(usize, TableId)> = mine;
    mine.into_iter().map(|(_, id)| id).collect()
}

/// Hidden tables that belong to no table with a name and that no statement is filling: what a crash in the middle of a statement has left
/// behind. None while a node does not say what it is filling.
pub async fn left_behind(node: &Arc<Node>) -> Vec<TableId> {
    let hidden = nameless(&node.catalog());
    if hidden.is_empty() {
        return hidden;
    }
    // Asked later: whoever is filling one of these began before.
    match node.being_filled().await {
        Ok(filled) => hidden.into_iter().filter(|table| !filled.contains(table)).collect(),
        Err(_) => Vec::new(),
    }
}

/// Tables with indexes that no statement is building any more. None while a node does not say what it is building.
pub async fn left_building(node: &Arc<Node>) -> Vec<TableId> {
    let builds = |table: &&Arc<Table>| table.schema.indexes.iter().any(|index| index.building);
    let building: Vec<TableId> =
        node.catalog().tables_by_id.values().filter(builds).map(|table| table.id()).collect();
    if building.is_empty() {
        return building;
    }
    match node.being_filled().await {
        Ok(filled) => building.into_iter().filter(|table| !filled.contains(table)).collect(),
        Err(_) => Vec::new(),
    }
}

/// Drops these tables if they are hidden still.
pub fn drop_hidden(catalog: &Catalog, tables: &[TableId]) -> Vec<Change> {
    let mut hidden = nameless(catalog);
    hidden.retain(|table| tables.contains(table));
    hidden.into_iter().map(Change::DropTable).collect()
}

/// Hidden tables that belong to no table with a name.
fn nameless(catalog: &Catalog) -> Vec<TableId> {
    let named = catalog.tables_by_id.values().filter(|table| !table.schema.database.is_empty());
    let used: HashSet<TableId> =
        named.flat_map(|table| table.schema.indexes.iter().filter_map(|index| index.unique_table)).collect();
    let hidden = catalog.tables_by_id.values().filter(|table| table.schema.database.is_empty());
    hidden.map(|table| table.id()).filter(|id| !used.contains(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddl::tests::schema;
    use crate::server::started_server;

    /// They were dropped once, and the ALTER TABLE that filled one gave its name to an empty table.
    #[test]
    fn a_start_drops_what_was_left_behind_and_not_what_is_being_filled() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (_directory, server) = started_server().await;
            let node = Arc::clone(&server.node);
            let mut schema = schema("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
            schema.id = node.next_table_id();
            let filling = HiddenTable::create(&node, &schema).await.unwrap();
            schema.id = node.next_table_id();
            let left = HiddenTable::create(&node, &schema).await.unwrap().table.id();
            take_abandoned(&node);
            // As on another node that starts: no statement there knows of either.
            server.bootstrap().await.unwrap();
            assert!(!node.catalog().tables_by_id.contains_key(&left));
            filling.check_is_whole(&node.catalog()).unwrap();
            let id = filling.table.id();
            change(&node, |_| Ok((vec![Change::DropTable(id)], ()))).await.unwrap();
            assert!(filling.check_is_whole(&node.catalog()).is_err());
        });
    }
}
