//! The parents of rows that are about to be written.

use std::collections::HashSet;
use std::sync::Arc;

use shoal_planted::{Bug, is_planted};
use shoal_types::{Error, Result};

use crate::errors::no_parent;
use crate::links::{ForeignKeys, ParentLink};
use crate::{Host, LockMode, Tables};

/// A row that is written: as it is, and as it was if it was there.
pub struct WrittenRow<'a> {
    /// The new row.
    pub new: &'a [u8],
    /// `None`: it is inserted.
    pub old: Option<&'a [u8]>,
}

/// Locks the parents of rows that are about to be written, in one round trip for each foreign key. For each row what is wrong with
/// it: error 1452.
pub async fn lock_parents<T: Tables>(
    host: &mut impl Host<T>,
    keys: &ForeignKeys<T>,
    table: &Arc<T::Table>,
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
                outcomes[row].get_or_insert_with(|| no_parent(T::schema(table), &link.key));
            }
            continue;
        };
        let mut distinct: Vec<Vec<u8>> = wanted.iter().map(|(key, _)| key.clone()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let lock = (!is_planted(Bug::ReadParentWithoutLock)).then_some(LockMode::Shared);
        let present = host.are_there(parent, *index, &distinct, lock).await?;
        for (key, row) in wanted {
            let is_there = distinct.binary_search(&key).is_ok_and(|place| present[place]);
            if !is_there {
                outcomes[row].get_or_insert_with(|| no_parent(T::schema(table), &link.key));
            }
        }
    }
    Ok(outcomes)
}

/// The parents' keys that must be there, each with the position of its row: those that are new, have no NULL, and are none of the rows'
/// own or of rows before them.
fn wanted_parents<T: Tables>(
    link: &ParentLink<T>,
    table: &Arc<T::Table>,
    rows: &[WrittenRow<'_>],
) -> Vec<(Vec<u8>, usize)> {
    let own = link.parent.as_ref().filter(|(parent, _)| T::id(parent) == T::id(table)).map(|(_, index)| *index);
    let columns: Vec<usize> = link.spec.parts.iter().map(|part| part.column).collect();
    let layout = T::layout(table);
    let mut written: HashSet<Vec<u8>> = HashSet::new();
    let mut wanted = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        let new = layout.row(row.new);
        if let Some(index) = own {
            let mut key = Vec::new();
            T::keys(table)[index].append_from_row(new, &mut key);
            written.insert(key);
        }
        if columns.iter().any(|column| new.is_null(*column)) {
            continue;
        }
        let mut key = Vec::new();
        link.spec.append_from_row(new, &mut key);
        let is_kept = row.old.is_some_and(|old| {
            let old = layout.row(old);
            columns.iter().all(|column| !old.is_null(*column) && old.raw(*column) == new.raw(*column))
        });
        if !is_kept && !written.contains(&key) {
            wanted.push((key, position));
        }
    }
    wanted
}
