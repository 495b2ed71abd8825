//! Foreign keys: every row whose foreign key has no NULL has a parent, at every commit.
//!
//! A child's row is written only while its transaction holds its parent's row (or the entry of the parent's unique key) with a shared
//! lock; a parent's row is deleted, or gets another key, only while its transaction holds it exclusively. So between the look for
//! children and the commit no new one can come: whoever writes one waits for the parent, and then finds none. Children are looked for
//! with locking reads, which see whatever was committed before the lock was had. No gaps need to be locked, at any isolation level.
//!
//! All of it happens in the transaction of the statement, before the statement's own rows are written, a batch of rows at a time: one
//! round trip for the parents of a batch, one scan for its children (InnoDB: `row0ins.cc`, `row0upd.cc`, row by row). A cascade goes on
//! through the children's children, 15 levels deep.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use shoal_cluster::{Catalog, Table};
use shoal_types::key::{KeySpec, successor};
use shoal_types::{Error, ErrorCode, ForeignKey, ReferentialAction, Result, TableId, TimeZone, Value};

use crate::api::{Inserted, KeyRange, LockMode, LockWait, ReadMode, ScanRequest, Visit};
use crate::new_row::duplicate_entry;
use crate::transaction::Transaction;

/// InnoDB's limit of cascades within cascades.
const DEPTH_MAX: usize = 15;
/// Children that are looked at and changed at a time.
const ROWS_PER_BATCH: usize = 1024;

/// The foreign keys that changes of one table can concern, through all cascades. Resolved once a plan.
#[derive(Debug, Default)]
pub struct ForeignKeys {
    tables: HashMap<TableId, Links>,
}

/// The foreign keys of one table.
#[derive(Debug, Default)]
struct Links {
    /// Those that it is the child in.
    parents: Vec<ParentLink>,
    /// Those that it is the parent in.
    children: Vec<ChildLink>,
}

#[derive(Debug)]
struct ParentLink {
    key: ForeignKey,
    /// `None`: the table is missing, or has no such key.
    parent: Option<(Arc<Table>, usize)>,
    /// The parent's key, of a row of the child.
    spec: KeySpec,
}

#[derive(Debug)]
struct ChildLink {
    key: ForeignKey,
    child: Arc<Table>,
    /// The child's index that begins with the foreign key's columns.
    index: usize,
    /// The beginning of that index's keys, of a row of the parent.
    spec: KeySpec,
    /// The same, of a row of the child.
    own_spec: KeySpec,
    /// Positions in the child, and in the parent.
    columns: Vec<(usize, usize)>,
}

/// What a statement has deleted so far, with its cascades: nothing of it is looked at again.
#[derive(Debug, Default)]
pub struct Gone {
    rows: HashSet<(TableId, Vec<u8>)>,
}

impl Gone {
    /// Whether a row of the statement's table was deleted by a cascade of an earlier row.
    pub fn has(&self, table: &Table, row: &[u8]) -> bool {
        !self.rows.is_empty() && self.rows.contains(&(table.id(), primary_key(table, row)))
    }
}

impl ForeignKeys {
    /// Of a table that is about to be written. `None`: it has to do with no foreign key.
    pub fn of(catalog: &Catalog, table: &Arc<Table>) -> Option<ForeignKeys> {
        let (schema, catalog) = (&table.schema, catalog.shared());
        if table.is_temporary
            || schema.foreign_keys.is_empty() && catalog.children_of(&schema.database, &schema.name).is_empty()
        {
            return None;
        }
        let mut found = ForeignKeys::default();
        found.add(catalog, table);
        let concerns = found.tables.values().any(|links| !links.parents.is_empty() || !links.children.is_empty());
        concerns.then_some(found)
    }

    fn add(&mut self, catalog: &Catalog, table: &Arc<Table>) {
        if self.tables.contains_key(&table.id()) {
            return;
        }
        let schema = &table.schema;
        let parents = schema.foreign_keys.iter().filter_map(|key| ParentLink::new(catalog, table, key)).collect();
        let mut children = Vec::new();
        for child in catalog.children_of(&schema.database, &schema.name) {
            let is_of_this = |key: &&ForeignKey| key.parent.0 == schema.database && key.parent.1 == schema.name;
            let keys = child.schema.foreign_keys.iter().filter(is_of_this);
            children.extend(keys.filter_map(|key| ChildLink::new(table, child, key)));
        }
        let next: Vec<Arc<Table>> = children
            .iter()
            .filter(|link: &&ChildLink| link.writes())
            .map(|link| Arc::clone(&link.child))
            .collect();
        self.tables.insert(table.id(), Links { parents, children });
        for child in next {
            self.add(catalog, &child);
        }
    }

    fn of_table(&self, table: &Table) -> Option<&Links> {
        self.tables.get(&table.id())
    }

    /// The table is a child of some other, or of itself.
    pub fn has_parents(&self, table: &Table) -> bool {
        self.of_table(table).is_some_and(|links| !links.parents.is_empty())
    }

    /// A change of these columns of the table concerns some of them.
    pub fn concern(&self, table: &Table, columns: &[usize]) -> bool {
        let Some(links) = self.of_table(table) else { return false };
        let is_own = |link: &ParentLink| link.spec.parts.iter().any(|part| columns.contains(&part.column));
        let is_referenced = |link: &ChildLink| link.columns.iter().any(|(_, column)| columns.contains(column));
        links.parents.iter().any(is_own) || links.children.iter().any(is_referenced)
    }

    /// Some of its rows are parents of others.
    pub fn refers_to_itself(&self, table: &Table) -> bool {
        let is_self =
            |link: &ParentLink| link.parent.as_ref().is_some_and(|(parent, _)| parent.id() == table.id());
        self.of_table(table).is_some_and(|links| links.parents.iter().any(is_self))
    }

    /// The table is a parent.
    pub fn has_children(&self, table: &Table) -> bool {
        self.of_table(table).is_some_and(|links| !links.children.is_empty())
    }
}

/// Positions of columns by their names.
fn positions(table: &Table, names: &[String]) -> Option<Vec<usize>> {
    names.iter().map(|name| table.schema.column_position(name)).collect()
}

/// Position of the unique key that consists of these columns, in whatever order.
pub fn unique_key_over(table: &Table, columns: &[usize]) -> Option<usize> {
    let consists = |index: &shoal_types::Index| {
        index.columns.len() == columns.len()
            && index.columns.iter().all(|part| part.prefix_length == 0 && columns.contains(&part.column))
    };
    let mut indexes = table.schema.indexes.iter().enumerate();
    let found = indexes.find(|(_, index)| index.unique && !index.building && consists(index));
    found.map(|(position, _)| position)
}

/// Position of the index that begins with these columns, in this order.
pub fn index_beginning_with(table: &Table, columns: &[usize]) -> Option<usize> {
    let begins = |index: &shoal_types::Index| {
        index.columns.len() >= columns.len()
            && index
                .columns
                .iter()
                .zip(columns)
                .all(|(part, column)| part.column == *column && part.prefix_length == 0)
    };
    let is_sorted = |index: &shoal_types::Index| index.method == shoal_types::IndexMethod::BTree;
    table.schema.indexes.iter().position(|index| !index.building && is_sorted(index) && begins(index))
}

impl ParentLink {
    fn new(catalog: &Catalog, child: &Arc<Table>, key: &ForeignKey) -> Option<ParentLink> {
        let columns = positions(child, &key.columns)?;
        let is_self = key.parent == (child.schema.database.clone(), child.schema.name.clone());
        let parent = if is_self { Some(child) } else { catalog.table(&key.parent.0, &key.parent.1) };
        let missing = || ParentLink { key: key.clone(), parent: None, spec: spec_over(child, &columns) };
        let Some(parent) = parent else { return Some(missing()) };
        let resolved = positions(parent, &key.parent_columns)
            .and_then(|referenced| Some((unique_key_over(parent, &referenced)?, referenced)));
        let Some((index, referenced)) = resolved else { return Some(missing()) };
        let mut spec = parent.keys[index].clone();
        for part in &mut spec.parts {
            let place = referenced.iter().position(|column| *column == part.column)?;
            part.column = *columns.get(place)?;
        }
        Some(ParentLink { key: key.clone(), parent: Some((Arc::clone(parent), index)), spec })
    }
}

/// A key over columns of a table, which tells NULL.
fn spec_over(table: &Table, columns: &[usize]) -> KeySpec {
    let part = |&column: &usize| shoal_types::key::KeyPart {
        column,
        sql_type: table.schema.columns[column].sql_type.clone(),
        nullable: true,
        prefix_length: 0,
        descending: false,
        multi_valued: false,
    };
    KeySpec { parts: columns.iter().map(part).collect() }
}

impl ChildLink {
    fn new(parent: &Arc<Table>, child: &Arc<Table>, key: &ForeignKey) -> Option<ChildLink> {
        let columns = positions(child, &key.columns)?;
        let referenced = positions(parent, &key.parent_columns)?;
        let index = index_beginning_with(child, &columns)?;
        let own_spec = KeySpec { parts: child.keys[index].parts[..columns.len()].to_vec() };
        let mut spec = own_spec.clone();
        for (part, column) in spec.parts.iter_mut().zip(&referenced) {
            part.column = *column;
        }
        let columns = columns.into_iter().zip(referenced).collect();
        Some(ChildLink { key: key.clone(), child: Arc::clone(child), index, spec, own_spec, columns })
    }

    /// Some change of the parent changes the child.
    fn writes(&self) -> bool {
        let is_write = |action| matches!(action, ReferentialAction::Cascade | ReferentialAction::SetNull);
        is_write(self.key.on_delete) || is_write(self.key.on_update)
    }

    /// The keys of rows that refer to a row of the parent; `None`: its key has a NULL, to which nothing refers.
    fn prefix(&self, parent: &Table, row: &[u8]) -> Option<Vec<u8>> {
        let row = parent.layout.row(row);
        if self.columns.iter().any(|(_, column)| row.is_null(*column)) {
            return None;
        }
        let mut prefix = Vec::new();
        self.spec.append_from_row(row, &mut prefix);
        Some(prefix)
    }
}

fn primary_key(table: &Table, row: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    table.keys[0].append_from_row(table.layout.row(row), &mut key);
    key
}

/// As MySQL shows it in SHOW CREATE TABLE and in errors; `database` is the child's.
pub fn constraint_text(key: &ForeignKey, database: &str) -> String {
    let quoted = |names: &[String]| names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ");
    let parent = match key.parent.0 == database {
        true => quote(&key.parent.1),
        false => format!("{}.{}", quote(&key.parent.0), quote(&key.parent.1)),
    };
    let mut text = format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {parent} ({})",
        quote(&key.name),
        quoted(&key.columns),
        quoted(&key.parent_columns)
    );
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        if action != ReferentialAction::NoAction {
            text += &format!(" ON {event} {}", action.text());
        }
    }
    text
}

fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Error 1452.
fn no_parent(child: &Table, key: &ForeignKey) -> Error {
    let (database, name) = (&child.schema.database, &child.schema.name);
    let message = format!(
        "Cannot add or update a child row: a foreign key constraint fails ({}.{}, {})",
        quote(database),
        quote(name),
        constraint_text(key, database)
    );
    Error::new(ErrorCode::NoReferencedRow, message)
}

/// Error 1451.
fn has_children(link: &ChildLink) -> Error {
    let (database, name) = (&link.child.schema.database, &link.child.schema.name);
    let message = format!(
        "Cannot delete or update a parent row: a foreign key constraint fails ({}.{}, {})",
        quote(database),
        quote(name),
        constraint_text(&link.key, database)
    );
    Error::new(ErrorCode::RowIsReferenced, message)
}

/// A row that is written: as it is, and as it was if it was there.
pub struct WrittenRow<'a> {
    /// The new row.
    pub new: &'a [u8],
    /// `None`: it is inserted.
    pub old: Option<&'a [u8]>,
}

impl Transaction {
    /// For interfaces that see to no children: refuses changes and deletes of rows that others may refer to. Errors: 1235.
    pub fn check_has_no_children(&self, table: &Table) -> Result<()> {
        let schema = &table.schema;
        match self.node().catalog().children_of(&schema.database, &schema.name).first() {
            None => Ok(()),
            Some(child) => Err(Error::unsupported(format!(
                "changing table '{}' other than by SQL (a foreign key of table '{}' refers to it)",
                schema.name, child.schema.name
            ))),
        }
    }

    /// Locks the parents of rows that are about to be written, in one round trip for each foreign key. For each row what is wrong with
    /// it: error 1452.
    pub async fn lock_parents(
        &mut self,
        keys: &ForeignKeys,
        table: &Arc<Table>,
        rows: &[WrittenRow<'_>],
    ) -> Result<Vec<Option<Error>>> {
        let mut outcomes: Vec<Option<Error>> = rows.iter().map(|_| None).collect();
        let Some(links) = keys.of_table(table) else { return Ok(outcomes) };
        for link in &links.parents {
            let wanted = wanted_parents(link, table, rows);
            if wanted.is_empty() {
                continue;
            }
            let Some((parent, index)) = &link.parent else {
                for (_, row) in wanted {
                    outcomes[row].get_or_insert_with(|| no_parent(table, &link.key));
                }
                continue;
            };
            let mut distinct: Vec<Vec<u8>> = wanted.iter().map(|(key, _)| key.clone()).collect();
            distinct.sort_unstable();
            distinct.dedup();
            let mut present = vec![false; distinct.len()];
            let mode = ReadMode { lock: Some(LockMode::Shared), wait: LockWait::Wait };
            if *index == 0 {
                let mut see = |position: usize, _: shoal_types::row::RowRef<'_>| {
                    present[position] = true;
                    Ok(())
                };
                self.get_many(parent, &distinct, mode, &mut see).await?;
            } else {
                let found = self.get_unique(parent, *index, &distinct, mode).await?;
                for (place, found) in present.iter_mut().zip(found) {
                    *place = found.is_some();
                }
            }
            for (key, row) in wanted {
                let is_there = distinct.binary_search(&key).is_ok_and(|place| present[place]);
                if !is_there {
                    outcomes[row].get_or_insert_with(|| no_parent(table, &link.key));
                }
            }
        }
        Ok(outcomes)
    }

    /// Sees to the children of rows that are about to be deleted and are locked exclusively: refuses (1451), deletes them too, or sets
    /// them to NULL.
    pub async fn delete_children(
        &mut self,
        keys: &ForeignKeys,
        table: &Arc<Table>,
        rows: &[Vec<u8>],
        gone: &mut Gone,
    ) -> Result<()> {
        self.delete_children_at(keys, table, rows, gone, 0).await
    }

    /// Sees to the children of rows whose keys are about to change, in pairs of old and new, locked exclusively.
    pub async fn update_children(
        &mut self,
        keys: &ForeignKeys,
        table: &Arc<Table>,
        rows: &[(Vec<u8>, Vec<u8>)],
        gone: &mut Gone,
    ) -> Result<()> {
        self.update_children_at(keys, table, rows, gone, 0).await
    }

    async fn delete_children_at(
        &mut self,
        keys: &ForeignKeys,
        table: &Arc<Table>,
        rows: &[Vec<u8>],
        gone: &mut Gone,
        depth: usize,
    ) -> Result<()> {
        let Some(links) = keys.of_table(table).filter(|links| !links.children.is_empty()) else { return Ok(()) };
        check_depth(depth)?;
        // In the order in which they go: a child that goes before its parent stands in nobody's way.
        let order: HashMap<Vec<u8>, usize> =
            rows.iter().enumerate().map(|(position, row)| (primary_key(table, row), position)).collect();
        gone.rows.extend(order.keys().map(|key| (table.id(), key.clone())));
        for link in &links.children {
            let mut parents: HashMap<Vec<u8>, usize> = HashMap::new();
            for (position, row) in rows.iter().enumerate() {
                if let Some(prefix) = link.prefix(table, row) {
                    parents.entry(prefix).or_insert(position);
                }
            }
            let is_self = link.child.id() == table.id();
            let mut search = ChildSearch::open(self, link, &parents, link.key.on_delete);
            while let Some(found) = search.next(self).await? {
                let mut left = Vec::with_capacity(found.len());
                for (child, parent) in found {
                    let key = primary_key(&link.child, &child);
                    let goes_before = is_self && order.get(&key).is_some_and(|place| *place <= parent);
                    if goes_before {
                        continue;
                    }
                    let is_gone = gone.rows.contains(&(link.child.id(), key));
                    match link.key.on_delete {
                        ReferentialAction::NoAction | ReferentialAction::Restrict if is_gone && !is_self => {}
                        ReferentialAction::NoAction | ReferentialAction::Restrict => {
                            return Err(has_children(link));
                        }
                        _ if is_gone => {}
                        _ => left.push(child),
                    }
                }
                if left.is_empty() {
                    continue;
                }
                match link.key.on_delete {
                    ReferentialAction::Cascade => {
                        Box::pin(self.delete_children_at(keys, &link.child, &left, gone, depth + 1)).await?;
                        let changes: Vec<_> = left.into_iter().map(|row| (row, None)).collect();
                        gone.rows.extend(
                            changes.iter().map(|(row, _)| (link.child.id(), primary_key(&link.child, row))),
                        );
                        self.replace_many(&link.child, &changes).await?;
                    }
                    _ => self.set_children(keys, link, left, None, gone, depth).await?,
                }
            }
        }
        Ok(())
    }

    async fn update_children_at(
        &mut self,
        keys: &ForeignKeys,
        table: &Arc<Table>,
        rows: &[(Vec<u8>, Vec<u8>)],
        gone: &mut Gone,
        depth: usize,
    ) -> Result<()> {
        let Some(links) = keys.of_table(table).filter(|links| !links.children.is_empty()) else { return Ok(()) };
        check_depth(depth)?;
        for link in &links.children {
            let mut parents: HashMap<Vec<u8>, usize> = HashMap::new();
            for (position, (old, new)) in rows.iter().enumerate() {
                if let Some(prefix) = link.prefix(table, old)
                    && link.prefix(table, new).as_ref() != Some(&prefix)
                {
                    parents.entry(prefix).or_insert(position);
                }
            }
            // As InnoDB, which would meet rows that it has changed already.
            let is_self = link.child.id() == table.id();
            let action = if is_self { ReferentialAction::Restrict } else { link.key.on_update };
            let mut search = ChildSearch::open(self, link, &parents, action);
            while let Some(found) = search.next(self).await? {
                if found.is_empty() {
                    continue;
                }
                if matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict) {
                    return Err(has_children(link));
                }
                let new_keys = (action == ReferentialAction::Cascade).then(|| {
                    let value = |row: &[u8]| {
                        let row = table.layout.row(row);
                        link.columns
                            .iter()
                            .map(|(_, column)| row.value(*column, &TimeZone::UTC))
                            .collect::<Vec<_>>()
                    };
                    found.iter().map(|(_, parent)| value(&rows[*parent].1)).collect::<Vec<_>>()
                });
                let children = found.into_iter().map(|(child, _)| child).collect();
                self.set_children(keys, link, children, new_keys, gone, depth).await?;
            }
        }
        Ok(())
    }

    /// Gives children other keys, or NULL.
    async fn set_children(
        &mut self,
        keys: &ForeignKeys,
        link: &ChildLink,
        rows: Vec<Vec<u8>>,
        new_keys: Option<Vec<Vec<Value>>>,
        gone: &mut Gone,
        depth: usize,
    ) -> Result<()> {
        let child = &link.child;
        let mut changes = Vec::with_capacity(rows.len());
        for (position, old) in rows.into_iter().enumerate() {
            let value = |place: usize| match &new_keys {
                Some(values) => values[position][place].clone(),
                None => Value::Null,
            };
            let changed: Vec<(usize, Value)> =
                link.columns.iter().enumerate().map(|(place, (column, _))| (*column, value(place))).collect();
            let mut new = Vec::with_capacity(old.len() + 8);
            child.layout.encode_changed(child.layout.row(&old), &changed, &TimeZone::UTC, &mut new)?;
            changes.push((old, new));
        }
        Box::pin(self.update_children_at(keys, child, &changes, gone, depth + 1)).await?;
        let moves = |(old, new): &(Vec<u8>, Vec<u8>)| primary_key(child, old) != primary_key(child, new);
        if changes.iter().any(moves) {
            for (old, new) in &changes {
                if let Inserted::Duplicate { index, .. } = self.replace_row(child, old, new).await? {
                    return Err(duplicate_entry(child, index, new));
                }
            }
            return Ok(());
        }
        let changes: Vec<_> = changes.into_iter().map(|(old, new)| (old, Some(new))).collect();
        let end = self.replace_many(child, &changes).await?;
        if let Some((position, Inserted::Duplicate { index, .. })) = end.duplicate {
            let new = changes[position].1.as_deref().unwrap_or_default();
            return Err(duplicate_entry(child, index, new));
        }
        Ok(())
    }
}

/// The parents' keys that must be there, each with the position of its row: those that are new, have no NULL, and are none of the rows'
/// own or of rows before them.
fn wanted_parents(link: &ParentLink, table: &Arc<Table>, rows: &[WrittenRow<'_>]) -> Vec<(Vec<u8>, usize)> {
    let own = link.parent.as_ref().filter(|(parent, _)| parent.id() == table.id()).map(|(_, index)| *index);
    let columns: Vec<usize> = link.spec.parts.iter().map(|part| part.column).collect();
    let mut written: HashSet<Vec<u8>> = HashSet::new();
    let mut wanted = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        let new = table.layout.row(row.new);
        if let Some(index) = own {
            let mut key = Vec::new();
            table.keys[index].append_from_row(new, &mut key);
            written.insert(key);
        }
        if columns.iter().any(|column| new.is_null(*column)) {
            continue;
        }
        let mut key = Vec::new();
        link.spec.append_from_row(new, &mut key);
        let is_kept = row.old.is_some_and(|old| {
            let old = table.layout.row(old);
            columns.iter().all(|column| !old.is_null(*column) && old.raw(*column) == new.raw(*column))
        });
        if !is_kept && !written.contains(&key) {
            wanted.push((key, position));
        }
    }
    wanted
}

/// Errors: 3008.
fn check_depth(depth: usize) -> Result<()> {
    if depth < DEPTH_MAX {
        return Ok(());
    }
    let message = format!("Foreign key cascade delete/update exceeds max depth of {DEPTH_MAX}.");
    Err(Error::new(ErrorCode::FkDepthExceeded, message))
}

/// The rows that refer to some of the parents, a batch at a time, locked.
struct ChildSearch<'a> {
    link: &'a ChildLink,
    parents: &'a HashMap<Vec<u8>, usize>,
    scan: Option<crate::TableScan>,
}

impl<'a> ChildSearch<'a> {
    fn open(
        transaction: &mut Transaction,
        link: &'a ChildLink,
        parents: &'a HashMap<Vec<u8>, usize>,
        action: ReferentialAction,
    ) -> ChildSearch<'a> {
        let lock = match action {
            ReferentialAction::NoAction | ReferentialAction::Restrict => LockMode::Shared,
            ReferentialAction::Cascade | ReferentialAction::SetNull => LockMode::Exclusive,
        };
        let mut starts: Vec<&Vec<u8>> = parents.keys().collect();
        starts.sort_unstable();
        let range = |start: &Vec<u8>| KeyRange { start: start.clone(), end: successor(start).unwrap_or_default() };
        let request = ScanRequest {
            table: Arc::clone(&link.child),
            index: link.index,
            ranges: starts.into_iter().map(range).collect(),
            descending: false,
            ordered: false,
            partition_key: None,
            mode: ReadMode { lock: Some(lock), wait: LockWait::Wait },
            row_limit: None,
        };
        let scan = (!parents.is_empty()).then(|| transaction.scan(request));
        ChildSearch { link, parents, scan }
    }

    /// Rows of the child, each with the position of its parent. `None`: there are no more.
    async fn next(&mut self, transaction: &mut Transaction) -> Result<Option<Vec<(Vec<u8>, usize)>>> {
        let Some(scan) = &mut self.scan else { return Ok(None) };
        let mut found = Vec::new();
        let mut has_more = true;
        while has_more && found.len() < ROWS_PER_BATCH {
            let (link, parents) = (self.link, self.parents);
            let mut take = |row: shoal_types::row::RowRef<'_>| {
                let mut key = Vec::new();
                link.own_spec.append_from_row(row, &mut key);
                if let Some(parent) = parents.get(&key) {
                    found.push((row.bytes().to_vec(), *parent));
                }
                Ok(Visit::Take)
            };
            has_more = scan.next(transaction, &mut take).await?;
        }
        if !has_more {
            self.scan = None;
        }
        Ok(Some(found))
    }
}
