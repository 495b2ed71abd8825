//! The children of rows that are about to be deleted, or to get other keys.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use shoal_planted::{Bug, is_planted};
use shoal_types::key::successor;
use shoal_types::row::RowRef;
use shoal_types::{Error, ErrorCode, ReferentialAction, Result, TableId, TimeZone, Value};

use crate::errors::has_children;
use crate::links::{ChildLink, ForeignKeys};
use crate::{Host, LockMode, ScanLock, Tables, primary_key};

/// InnoDB's limit of cascades within cascades.
const DEPTH_MAX: usize = 15;
/// Children that are looked at and changed at a time.
const ROWS_PER_BATCH: usize = 1024;

/// What a statement has deleted so far, with its cascades: nothing of it is looked at again.
#[derive(Debug, Default)]
pub struct Gone {
    rows: HashSet<(TableId, Vec<u8>)>,
}

impl Gone {
    /// Whether the row with this primary key was deleted by a cascade of an earlier row.
    pub fn has_key(&self, table: TableId, primary_key: impl FnOnce() -> Vec<u8>) -> bool {
        !self.rows.is_empty() && self.rows.contains(&(table, primary_key()))
    }
}

/// Sees to the children of rows that are about to be deleted and are locked exclusively: refuses (1451), deletes them too, or sets
/// them to NULL.
pub async fn delete_children<T: Tables>(
    host: &mut impl Host<T>,
    keys: &ForeignKeys<T>,
    table: &Arc<T::Table>,
    rows: &[Vec<u8>],
    gone: &mut Gone,
) -> Result<()> {
    delete_children_at(host, keys, table, rows, (gone, 0)).await
}

/// Sees to the children of rows whose keys are about to change, in pairs of old and new, locked exclusively.
pub async fn update_children<T: Tables>(
    host: &mut impl Host<T>,
    keys: &ForeignKeys<T>,
    table: &Arc<T::Table>,
    rows: &[(Vec<u8>, Vec<u8>)],
) -> Result<()> {
    update_children_at(host, keys, table, rows, 0).await
}

async fn delete_children_at<T: Tables, H: Host<T>>(
    host: &mut H,
    keys: &ForeignKeys<T>,
    table: &Arc<T::Table>,
    rows: &[Vec<u8>],
    (gone, depth): (&mut Gone, usize),
) -> Result<()> {
    let Some(links) = keys.of_table(table).filter(|links| !links.children.is_empty()) else { return Ok(()) };
    check_depth(depth)?;
    // In the order in which they go: a child that goes before its parent stands in nobody's way.
    let order: HashMap<Vec<u8>, usize> =
        rows.iter().enumerate().map(|(position, row)| (primary_key::<T>(table, row), position)).collect();
    gone.rows.extend(order.keys().map(|key| (T::id(table), key.clone())));
    for link in &links.children {
        let mut parents: HashMap<Vec<u8>, usize> = HashMap::new();
        for (position, row) in rows.iter().enumerate() {
            if let Some(prefix) = link.prefix(table, row) {
                parents.entry(prefix).or_insert(position);
            }
        }
        let is_self = T::id(&link.child) == T::id(table);
        let mut search = ChildSearch::open(host, link, &parents, link.key.on_delete);
        while let Some(found) = search.next(host).await? {
            let mut left = Vec::with_capacity(found.len());
            for (child, parent) in found {
                let key = primary_key::<T>(&link.child, &child);
                let goes_before = is_self && order.get(&key).is_some_and(|place| *place <= parent);
                if goes_before {
                    continue;
                }
                let is_gone = gone.rows.contains(&(T::id(&link.child), key));
                match link.key.on_delete {
                    ReferentialAction::NoAction | ReferentialAction::Restrict if is_gone && !is_self => {}
                    ReferentialAction::NoAction | ReferentialAction::Restrict => {
                        return Err(has_children(T::schema(&link.child), &link.key));
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
                    Box::pin(delete_children_at(host, keys, &link.child, &left, (gone, depth + 1))).await?;
                    let changes: Vec<_> = left.into_iter().map(|row| (row, None)).collect();
                    let deleted = changes.iter().map(|(row, _)| primary_key::<T>(&link.child, row));
                    gone.rows.extend(deleted.map(|key| (T::id(&link.child), key)));
                    host.replace(&link.child, &changes).await?;
                }
                _ => set_children(host, keys, link, left, (None, depth)).await?,
            }
        }
    }
    Ok(())
}

async fn update_children_at<T: Tables, H: Host<T>>(
    host: &mut H,
    keys: &ForeignKeys<T>,
    table: &Arc<T::Table>,
    rows: &[(Vec<u8>, Vec<u8>)],
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
        let is_self = T::id(&link.child) == T::id(table);
        let action = if is_self { ReferentialAction::Restrict } else { link.key.on_update };
        let mut search = ChildSearch::open(host, link, &parents, action);
        while let Some(found) = search.next(host).await? {
            if found.is_empty() {
                continue;
            }
            if matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict) {
                return Err(has_children(T::schema(&link.child), &link.key));
            }
            let new_keys = (action == ReferentialAction::Cascade).then(|| {
                let value = |row: &[u8]| {
                    let row = T::layout(table).row(row);
                    link.columns.iter().map(|(_, column)| row.value(*column, &TimeZone::UTC)).collect::<Vec<_>>()
                };
                found.iter().map(|(_, parent)| value(&rows[*parent].1)).collect::<Vec<_>>()
            });
            let children = found.into_iter().map(|(child, _)| child).collect();
            set_children(host, keys, link, children, (new_keys, depth)).await?;
        }
    }
    Ok(())
}

/// Gives children other keys, or NULL.
async fn set_children<T: Tables, H: Host<T>>(
    host: &mut H,
    keys: &ForeignKeys<T>,
    link: &ChildLink<T>,
    rows: Vec<Vec<u8>>,
    (new_keys, depth): (Option<Vec<Vec<Value>>>, usize),
) -> Result<()> {
    let child = &link.child;
    let layout = T::layout(child);
    let mut changes = Vec::with_capacity(rows.len());
    for (position, old) in rows.into_iter().enumerate() {
        let value = |place: usize| match &new_keys {
            Some(values) => values[position][place].clone(),
            None => Value::Null,
        };
        let changed: Vec<(usize, Value)> =
            link.columns.iter().enumerate().map(|(place, (column, _))| (*column, value(place))).collect();
        let mut new = Vec::with_capacity(old.len() + 8);
        layout.encode_changed(layout.row(&old), &changed, &TimeZone::UTC, &mut new)?;
        changes.push((old, new));
    }
    Box::pin(update_children_at(host, keys, child, &changes, depth + 1)).await?;
    let changes: Vec<_> = changes.into_iter().map(|(old, new)| (old, Some(new))).collect();
    host.replace(child, &changes).await
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
struct ChildSearch<'a, T: Tables, H: Host<T>> {
    link: &'a ChildLink<T>,
    parents: &'a HashMap<Vec<u8>, usize>,
    scan: Option<H::Scan>,
}

impl<'a, T: Tables, H: Host<T>> ChildSearch<'a, T, H> {
    fn open(
        host: &mut H,
        link: &'a ChildLink<T>,
        parents: &'a HashMap<Vec<u8>, usize>,
        action: ReferentialAction,
    ) -> ChildSearch<'a, T, H> {
        let mode = match action {
            ReferentialAction::NoAction | ReferentialAction::Restrict => LockMode::Shared,
            ReferentialAction::Cascade | ReferentialAction::SetNull => LockMode::Exclusive,
        };
        let lock = ScanLock { mode, closes_gaps: !is_planted(Bug::LookPastStagedChildren) };
        let mut starts: Vec<&Vec<u8>> = parents.keys().collect();
        starts.sort_unstable();
        let range = |start: &Vec<u8>| (start.clone(), successor(start).unwrap_or_default());
        let ranges = starts.into_iter().map(range).collect();
        let scan = (!parents.is_empty()).then(|| host.scan(&link.child, link.index, ranges, lock));
        ChildSearch { link, parents, scan }
    }

    /// Rows of the child, each with the position of its parent. `None`: there are no more.
    async fn next(&mut self, host: &mut H) -> Result<Option<Vec<(Vec<u8>, usize)>>> {
        let Some(scan) = &mut self.scan else { return Ok(None) };
        let mut found = Vec::new();
        let mut has_more = true;
        while has_more && found.len() < ROWS_PER_BATCH {
            let (link, parents) = (self.link, self.parents);
            let mut take = |row: RowRef<'_>| {
                let mut key = Vec::new();
                link.own_spec.append_from_row(row, &mut key);
                if let Some(parent) = parents.get(&key) {
                    found.push((row.bytes().to_vec(), *parent));
                }
            };
            has_more = host.next(scan, &mut take).await?;
        }
        if !has_more {
            self.scan = None;
        }
        Ok(Some(found))
    }
}
