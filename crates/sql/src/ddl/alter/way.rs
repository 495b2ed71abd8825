//! How a table gets from one definition to another: by the dictionary alone, with indexes built where the rows lie, or by a copy.

use shoal_parser::ast::{AlterAlgorithm, AlterLock};
use shoal_types::{BaseType, CheckConstraint, Error, ErrorCode, Result, SqlType, TableSchema, row};

use crate::ddl::build::BuiltTable;

/// From the cheapest to the dearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// The dictionary alone changes.
    Instant,
    /// Indexes come or go; rows stay.
    InPlace,
    /// All rows are written anew. InnoDB does this in place as well.
    Rebuild,
    /// All rows are converted.
    Copy,
}

/// The least that must be done. `force`: rows are rewritten in any case.
pub fn least(old: &TableSchema, built: &BuiltTable, force: bool) -> Way {
    let new = &built.schema;
    if converts_values(old, built) || repartitions(old, built) || asks_more_of_rows(old, built) {
        return Way::Copy;
    }
    if new.auto_increment_column().is_some() && !keeps_sequence(old, new, &built.column_origins) {
        return Way::Copy;
    }
    let same_places = built.column_origins.iter().enumerate().all(|(place, origin)| *origin == Some(place))
        && built.column_origins.len() == old.columns.len();
    let same_nulls = same_places
        && old.columns.iter().zip(&new.columns).enumerate().all(|(position, (old_column, new_column))| {
            old_column.nullable == new_column.nullable || (new_column.nullable && !is_key_part(old, position))
        });
    if force || !same_places || !same_nulls || primary_key_changes(old, built) {
        return Way::Rebuild;
    }
    let all_kept = built.index_origins.iter().all(Option::is_some);
    if all_kept && built.index_origins.len() == old.indexes.len() { Way::Instant } else { Way::InPlace }
}

/// Some column that stays has values that another type holds in another way.
fn converts_values(old: &TableSchema, built: &BuiltTable) -> bool {
    built.column_origins.iter().zip(&built.schema.columns).any(|(origin, column)| {
        origin.is_some_and(|origin| !holds_as_it_is(&old.columns[origin].sql_type, &column.sql_type))
    })
}

/// A generated column is computed in another way, or rows must meet a CHECK that they need not have met so far.
fn asks_more_of_rows(old: &TableSchema, built: &BuiltTable) -> bool {
    let regenerates =
        built.column_origins.iter().zip(&built.schema.columns).any(|(origin, column)| match origin {
            Some(origin) => old.columns[*origin].generated != column.generated,
            None => false,
        });
    let is_kept = |check: &CheckConstraint| {
        old.checks.iter().any(|known| known.enforced && known.expression == check.expression)
    };
    regenerates || built.schema.checks.iter().any(|check| check.enforced && !is_kept(check))
}

/// The AUTO_INCREMENT column is the one that there was before: not one that is added, or whose values nobody has counted.
pub fn keeps_sequence(old: &TableSchema, new: &TableSchema, origins: &[Option<usize>]) -> bool {
    let origin = new.auto_increment_column().and_then(|column| origins[column]);
    origin.is_some() && origin == old.auto_increment_column()
}

/// Whether stored values (and keys of them) of one type are valid for another as they are.
pub fn holds_as_it_is(old: &SqlType, new: &SqlType) -> bool {
    if old.base != new.base
        || old.unsigned != new.unsigned
        || old.decimals != new.decimals
        || old.collation != new.collation
    {
        return false;
    }
    match old.base {
        // Display widths mean nothing to values.
        BaseType::TinyInt | BaseType::SmallInt | BaseType::MediumInt | BaseType::Int | BaseType::BigInt => true,
        BaseType::VarChar | BaseType::Text => new.length >= old.length,
        BaseType::Char if !old.collation.is_binary() => new.length >= old.length,
        BaseType::Enum | BaseType::Set => {
            let (Some(before), Some(after)) = (&old.labels, &new.labels) else { return false };
            after.starts_with(before) && row::fixed_width(old) == row::fixed_width(new)
        }
        _ => old.length == new.length,
    }
}

fn is_key_part(schema: &TableSchema, column: usize) -> bool {
    schema.indexes.iter().any(|index| index.columns.iter().any(|part| part.column == column))
}

fn repartitions(old: &TableSchema, built: &BuiltTable) -> bool {
    let moved: Vec<Option<usize>> =
        built.schema.partition_columns.iter().map(|&column| built.column_origins[column]).collect();
    let asked = old.options.partitioned_by_key != built.schema.options.partitioned_by_key;
    asked && moved != old.partition_columns.iter().map(|&column| Some(column)).collect::<Vec<_>>()
}

fn primary_key_changes(old: &TableSchema, built: &BuiltTable) -> bool {
    let (before, after) = (old.primary_key(), built.schema.primary_key());
    let moved = |built: &BuiltTable| -> Vec<Option<usize>> {
        built.schema.partition_columns.iter().map(|&column| built.column_origins[column]).collect()
    };
    let same_parts = before.columns.len() == after.columns.len()
        && before.columns.iter().zip(&after.columns).all(|(old_part, new_part)| {
            built.column_origins[new_part.column] == Some(old_part.column)
                && old_part.prefix_length == new_part.prefix_length
                && old_part.descending == new_part.descending
        });
    let same_partitions =
        moved(built) == old.partition_columns.iter().map(|&column| Some(column)).collect::<Vec<_>>();
    !same_parts || !same_partitions || before.method != after.method || built.index_origins[0] != Some(0)
}

/// What ALGORITHM and LOCK leave of the choice. Errors: 1845, 1846.
pub fn choose(least: Way, algorithm: Option<AlterAlgorithm>, lock: Option<AlterLock>) -> Result<Way> {
    let refused = |what: &str, instead: &str| {
        let message = format!("{what} is not supported for this operation. Try {instead}.");
        Err(Error::new(ErrorCode::AlterOperationNotSupported, message))
    };
    let refused_because = |what: &str, reason: &str, instead: &str| {
        let message = format!("{what} is not supported. Reason: {reason}. Try {instead}.");
        Err(Error::new(ErrorCode::AlterOperationNotSupportedReason, message))
    };
    let way = match (algorithm, least) {
        (None | Some(AlterAlgorithm::Default), _) => least,
        (Some(AlterAlgorithm::Instant), Way::Instant) => Way::Instant,
        (Some(AlterAlgorithm::Instant), _) => return refused("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"),
        (Some(AlterAlgorithm::InPlace), Way::Copy) => {
            let reason = "Cannot change column type INPLACE";
            return refused_because("ALGORITHM=INPLACE", reason, "ALGORITHM=COPY");
        }
        (Some(AlterAlgorithm::InPlace), _) => least,
        (Some(AlterAlgorithm::Copy), _) => least.max(Way::Rebuild),
    };
    let shares = matches!(lock, Some(AlterLock::None | AlterLock::Shared));
    if way >= Way::Rebuild && shares {
        let what = if lock == Some(AlterLock::None) { "LOCK=NONE" } else { "LOCK=SHARED" };
        return refused_because(what, "the rows are copied while nobody uses the table", "LOCK=EXCLUSIVE");
    }
    Ok(way)
}
