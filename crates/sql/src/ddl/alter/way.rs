//! How a table gets from one definition to another: by the dictionary alone, with indexes built where the rows lie, or by a copy.

use shoal_parser::ast::{AlterAlgorithm, AlterLock};
use shoal_types::{
    BaseType, CheckConstraint, Column, ColumnDefault, Error, ErrorCode, Result, SqlType, TableSchema, row,
};

use crate::ddl::build::BuiltTable;
use crate::ddl::draft::PRIMARY;

/// From the cheapest to the dearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// The dictionary alone changes; columns may come, go and move.
    Instant,
    /// Indexes come or go; rows stay.
    InPlace,
    /// All rows are written anew. InnoDB does this in place as well.
    Rebuild,
    /// All rows are converted.
    Copy,
}

/// The cheapest way, and what is said to whoever asks for a cheaper one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Least {
    pub way: Way,
    /// In MySQL's words: why it is not INPLACE; empty: it is, or MySQL does not say.
    pub reason: &'static str,
    /// A table may have only so many versions of rows.
    pub too_many_versions: bool,
    /// Nothing is asked of the rows but what functional key parts compute, which can be had beside writers.
    pub computes: bool,
}

impl Least {
    /// Rows can be copied while others read them. The parents of foreign keys that come are not to be used meanwhile.
    pub fn lets_read(&self) -> bool {
        self.reason != ADDS_FOREIGN_KEY
    }
}

const CHANGES_TYPE: &str = "Cannot change column type INPLACE";
const ADDS_FOREIGN_KEY: &str = "Adding foreign keys needs foreign_key_checks=OFF";
const DROPS_KEY: &str = "Dropping a primary key is not allowed without also adding a new primary key";

/// What a statement asks of the rows that are there, whatever becomes of columns and indexes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demands {
    /// They are rewritten in any case.
    pub force: bool,
    /// They must have parents.
    pub parents: bool,
}

/// The least that must be done.
pub fn least(old: &TableSchema, built: &BuiltTable, demands: Demands) -> Least {
    let new = &built.schema;
    let copy = |reason| Least { way: Way::Copy, reason, too_many_versions: false, computes: false };
    let uncopied = |way| Least { way, reason: "", too_many_versions: false, computes: false };
    if converts_values(old, built) {
        return copy(CHANGES_TYPE);
    }
    if demands.parents {
        return copy(ADDS_FOREIGN_KEY);
    }
    if old.primary_key().name == PRIMARY && !old.has_hidden_key() && new.has_hidden_key() {
        return copy(DROPS_KEY);
    }
    if repartitions(old, built) || asks_more_of_rows(old, built) {
        return copy("");
    }
    // A column that is added is numbered as the rows are written anew.
    let numbers_old_column =
        new.auto_increment_column().is_some_and(|column| built.column_origins[column].is_some());
    if numbers_old_column && !keeps_sequence(old, new, &built.column_origins) {
        return copy(CHANGES_TYPE);
    }
    let same_nulls = built.column_origins.iter().zip(&new.columns).all(|(origin, column)| {
        let Some(origin) = *origin else { return true };
        old.columns[origin].nullable == column.nullable || (column.nullable && !is_key_part(old, origin))
    });
    if demands.force || !same_nulls || primary_key_changes(old, built) || adds_values(built, false) {
        return uncopied(Way::Rebuild);
    }
    let moves = !keeps_places(old, built);
    if moves && old.past_rows.len() >= row::PAST_ROWS_MAX {
        return Least { too_many_versions: true, ..uncopied(Way::Rebuild) };
    }
    if adds_values(built, true) {
        return Least { computes: true, ..uncopied(Way::InPlace) };
    }
    let all_kept = built.index_origins.iter().all(Option::is_some);
    uncopied(if all_kept && built.index_origins.len() == old.indexes.len() { Way::Instant } else { Way::InPlace })
}

/// No column comes, goes or moves.
pub fn keeps_places(old: &TableSchema, built: &BuiltTable) -> bool {
    built.column_origins.len() == old.columns.len()
        && built.column_origins.iter().enumerate().all(|(place, origin)| *origin == Some(place))
}

/// Some column comes that has not one value in all rows: one of a functional key part, or any other.
fn adds_values(built: &BuiltTable, functional: bool) -> bool {
    let differs = |column: &Column| {
        column.auto_increment
            || column.hidden
            || column.generated.is_some()
            || matches!(column.default, ColumnDefault::Expression(_))
            // Without a default, rows that are there decide whether there may be a zero.
            || (column.default == ColumnDefault::None && !column.nullable && column.sql_type.is_temporal())
    };
    built
        .column_origins
        .iter()
        .zip(&built.schema.columns)
        .any(|(origin, column)| origin.is_none() && column.is_functional() == functional && differs(column))
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

/// What ALGORITHM and LOCK leave of the choice. Errors: 1221, 1845, 1846, 4092.
pub fn choose(least: Least, (database, table): (&str, &str), asked: Asked) -> Result<Way> {
    let refused = |what: &str, reason: &str, instead: &str| {
        let (code, why) = match reason {
            "" => (ErrorCode::AlterOperationNotSupported, " for this operation".to_owned()),
            reason => (ErrorCode::AlterOperationNotSupportedReason, format!(". Reason: {reason}")),
        };
        Err(Error::new(code, format!("{what} is not supported{why}. Try {instead}.")))
    };
    let algorithm = asked.algorithm.unwrap_or(AlterAlgorithm::Default);
    let lock = match asked.lock {
        None | Some(AlterLock::Default) => "",
        Some(AlterLock::None) => "LOCK=NONE",
        Some(AlterLock::Shared) => "LOCK=SHARED",
        Some(AlterLock::Exclusive) => "LOCK=EXCLUSIVE",
    };
    let way = match (algorithm, least.way) {
        (AlterAlgorithm::Instant, _) if !lock.is_empty() => {
            let message = format!("Incorrect usage of ALGORITHM=INSTANT and {lock}");
            return Err(Error::new(ErrorCode::WrongUsage, message));
        }
        (AlterAlgorithm::Instant, Way::Instant) => Way::Instant,
        (AlterAlgorithm::Instant, _) if least.too_many_versions => {
            let message = format!(
                "Maximum row versions reached for table {database}/{table}. No more columns can be added or dropped \
                 instantly. Please use COPY/INPLACE."
            );
            return Err(Error::new(ErrorCode::MaxRowVersions, message));
        }
        (AlterAlgorithm::Instant, Way::Copy) => {
            return refused("ALGORITHM=INSTANT", least.reason, "ALGORITHM=COPY");
        }
        (AlterAlgorithm::Instant, _) => return refused("ALGORITHM=INSTANT", "", "ALGORITHM=COPY/INPLACE"),
        (AlterAlgorithm::InPlace, Way::Copy) => {
            return refused("ALGORITHM=INPLACE", least.reason, "ALGORITHM=COPY");
        }
        (AlterAlgorithm::Copy, _) => Way::Copy,
        (AlterAlgorithm::InPlace | AlterAlgorithm::Default, way) => way,
    };
    let least_lock = if least.lets_read() { "LOCK=SHARED" } else { "LOCK=EXCLUSIVE" };
    match (way, asked.lock) {
        (Way::Copy, Some(AlterLock::None)) if algorithm == AlterAlgorithm::Copy || least.reason.is_empty() => {
            refused(lock, "COPY algorithm requires a lock", least_lock)
        }
        (Way::Copy, Some(AlterLock::None)) => refused(lock, least.reason, least_lock),
        (Way::Rebuild, Some(AlterLock::None)) => {
            refused(lock, "the rows are copied while nobody writes to the table", least_lock)
        }
        (Way::Copy, Some(AlterLock::Shared)) if !least.lets_read() => refused(lock, least.reason, least_lock),
        _ => Ok(way),
    }
}

/// What the statement says about how.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    pub algorithm: Option<AlterAlgorithm>,
    pub lock: Option<AlterLock>,
}
