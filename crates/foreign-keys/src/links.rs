//! The foreign keys of tables, resolved to positions of columns and indexes.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use shoal_types::key::{KeyPart, KeySpec};
use shoal_types::{ForeignKey, Index, IndexMethod, ReferentialAction, TableId, TableSchema};

use crate::{Lookup, Tables};

/// The foreign keys that changes of one table can concern, through all cascades. Resolved once a plan.
pub struct ForeignKeys<T: Tables> {
    tables: HashMap<TableId, Links<T>>,
}

/// The foreign keys of one table.
pub(crate) struct Links<T: Tables> {
    /// Those that it is the child in.
    pub parents: Vec<ParentLink<T>>,
    /// Those that it is the parent in.
    pub children: Vec<ChildLink<T>>,
}

pub(crate) struct ParentLink<T: Tables> {
    pub key: ForeignKey,
    /// `None`: the table is missing, or has no such key.
    pub parent: Option<(Arc<T::Table>, usize)>,
    /// The parent's key, of a row of the child.
    pub spec: KeySpec,
}

pub(crate) struct ChildLink<T: Tables> {
    pub key: ForeignKey,
    pub child: Arc<T::Table>,
    /// The child's index that begins with the foreign key's columns.
    pub index: usize,
    /// The beginning of that index's keys, of a row of the parent.
    spec: KeySpec,
    /// The same, of a row of the child.
    pub own_spec: KeySpec,
    /// Positions in the child, and in the parent.
    pub columns: Vec<(usize, usize)>,
}

impl<T: Tables> fmt::Debug for ForeignKeys<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.tables.values().flat_map(|links| &links.children).map(|link| &link.key);
        f.debug_list().entries(keys).finish()
    }
}

impl<T: Tables> ForeignKeys<T> {
    /// Of a table that is about to be written. `None`: it has to do with no foreign key.
    pub fn of(catalog: &impl Lookup<T>, table: &Arc<T::Table>) -> Option<ForeignKeys<T>> {
        let schema = T::schema(table);
        if schema.foreign_keys.is_empty() && catalog.children_of(&schema.database, &schema.name).is_empty() {
            return None;
        }
        let mut found = ForeignKeys { tables: HashMap::new() };
        found.add(catalog, table);
        let concerns = found.tables.values().any(|links| !links.parents.is_empty() || !links.children.is_empty());
        concerns.then_some(found)
    }

    fn add(&mut self, catalog: &impl Lookup<T>, table: &Arc<T::Table>) {
        if self.tables.contains_key(&T::id(table)) {
            return;
        }
        let schema = T::schema(table);
        let parents = schema.foreign_keys.iter().filter_map(|key| ParentLink::new(catalog, table, key)).collect();
        let mut children = Vec::new();
        for child in catalog.children_of(&schema.database, &schema.name) {
            let is_of_this = |key: &&ForeignKey| key.parent.0 == schema.database && key.parent.1 == schema.name;
            let keys = T::schema(child).foreign_keys.iter().filter(is_of_this);
            children.extend(keys.filter_map(|key| ChildLink::new(table, child, key)));
        }
        let next: Vec<Arc<T::Table>> = children
            .iter()
            .filter(|link: &&ChildLink<T>| link.writes())
            .map(|link| Arc::clone(&link.child))
            .collect();
        self.tables.insert(T::id(table), Links { parents, children });
        for child in next {
            self.add(catalog, &child);
        }
    }

    pub(crate) fn of_table(&self, table: &T::Table) -> Option<&Links<T>> {
        self.tables.get(&T::id(table))
    }

    /// The table is a child of some other, or of itself.
    pub fn has_parents(&self, table: &T::Table) -> bool {
        self.of_table(table).is_some_and(|links| !links.parents.is_empty())
    }

    /// A change of these columns of the table concerns some of them.
    pub fn concern(&self, table: &T::Table, columns: &[usize]) -> bool {
        let Some(links) = self.of_table(table) else { return false };
        let is_own = |link: &ParentLink<T>| link.spec.parts.iter().any(|part| columns.contains(&part.column));
        let is_referenced = |link: &ChildLink<T>| link.columns.iter().any(|(_, column)| columns.contains(column));
        links.parents.iter().any(is_own) || links.children.iter().any(is_referenced)
    }

    /// Some of its rows are parents of others.
    pub fn refers_to_itself(&self, table: &T::Table) -> bool {
        let is_self =
            |link: &ParentLink<T>| link.parent.as_ref().is_some_and(|(parent, _)| T::id(parent) == T::id(table));
        self.of_table(table).is_some_and(|links| links.parents.iter().any(is_self))
    }

    /// The table is a parent.
    pub fn has_children(&self, table: &T::Table) -> bool {
        self.of_table(table).is_some_and(|links| !links.children.is_empty())
    }
}

/// Positions of columns by their names.
fn positions(schema: &TableSchema, names: &[String]) -> Option<Vec<usize>> {
    names.iter().map(|name| schema.column_position(name)).collect()
}

/// Position of the unique key that consists of these columns, in whatever order.
pub fn unique_key_over(schema: &TableSchema, columns: &[usize]) -> Option<usize> {
    let consists = |index: &Index| {
        index.columns.len() == columns.len()
            && index.columns.iter().all(|part| part.prefix_length == 0 && columns.contains(&part.column))
    };
    let mut indexes = schema.indexes.iter().enumerate();
    let found = indexes.find(|(_, index)| index.unique && !index.building && consists(index));
    found.map(|(position, _)| position)
}

/// Position of the index that begins with these columns, in this order.
pub fn index_beginning_with(schema: &TableSchema, columns: &[usize]) -> Option<usize> {
    let begins = |index: &Index| {
        index.columns.len() >= columns.len()
            && index
                .columns
                .iter()
                .zip(columns)
                .all(|(part, column)| part.column == *column && part.prefix_length == 0)
    };
    let is_sorted = |index: &Index| index.method == IndexMethod::BTree;
    schema.indexes.iter().position(|index| !index.building && is_sorted(index) && begins(index))
}

impl<T: Tables> ParentLink<T> {
    fn new(catalog: &impl Lookup<T>, child: &Arc<T::Table>, key: &ForeignKey) -> Option<ParentLink<T>> {
        let schema = T::schema(child);
        let columns = positions(schema, &key.columns)?;
        let is_self = key.parent.0 == schema.database && key.parent.1 == schema.name;
        let parent = if is_self { Some(child) } else { catalog.table(&key.parent.0, &key.parent.1) };
        let missing = || ParentLink { key: key.clone(), parent: None, spec: spec_over(schema, &columns) };
        let Some(parent) = parent else { return Some(missing()) };
        let resolved = positions(T::schema(parent), &key.parent_columns)
            .and_then(|referenced| Some((unique_key_over(T::schema(parent), &referenced)?, referenced)));
        let Some((index, referenced)) = resolved else { return Some(missing()) };
        let mut spec = T::keys(parent)[index].clone();
        for part in &mut spec.parts {
            let place = referenced.iter().position(|column| *column == part.column)?;
            part.column = *columns.get(place)?;
        }
        Some(ParentLink { key: key.clone(), parent: Some((Arc::clone(parent), index)), spec })
    }
}

/// A key over columns of a table, which tells NULL.
fn spec_over(schema: &TableSchema, columns: &[usize]) -> KeySpec {
    let part = |&column: &usize| KeyPart {
        column,
        sql_type: schema.columns[column].sql_type.clone(),
        nullable: true,
        prefix_length: 0,
        descending: false,
        multi_valued: false,
    };
    KeySpec { parts: columns.iter().map(part).collect() }
}

impl<T: Tables> ChildLink<T> {
    fn new(parent: &Arc<T::Table>, child: &Arc<T::Table>, key: &ForeignKey) -> Option<ChildLink<T>> {
        let columns = positions(T::schema(child), &key.columns)?;
        let referenced = positions(T::schema(parent), &key.parent_columns)?;
        let index = index_beginning_with(T::schema(child), &columns)?;
        let own_spec = KeySpec { parts: T::keys(child)[index].parts[..columns.len()].to_vec() };
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
    pub fn prefix(&self, parent: &T::Table, row: &[u8]) -> Option<Vec<u8>> {
        let row = T::layout(parent).row(row);
        if self.columns.iter().any(|(_, column)| row.is_null(*column)) {
            return None;
        }
        let mut prefix = Vec::new();
        self.spec.append_from_row(row, &mut prefix);
        Some(prefix)
    }
}
