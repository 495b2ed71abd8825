//! From a checked draft to a schema: columns in their places, the primary key, partitioning.
//!
//! A table is stored by its primary key; without one by its first unique key over NOT NULL columns, as InnoDB does it; without
//! that by a hidden column. Ids are given out afterwards (`assign`), because tables that stay in place keep theirs.

use shoal_types::schema::HIDDEN_KEY_COLUMN;
use shoal_types::{
    BaseType, Column, Error, ErrorCode, Index, IndexColumn, IndexId, Result, SqlType, TableId, TableSchema,
    Warning,
};

use super::draft::{DraftKeyKind, NAME_LENGTH_MAX, PRIMARY, TableDraft};
use super::errors;
use super::key::{self, BuiltKey};

const COLUMNS_MAX: usize = 4096;
/// Bytes of a row, texts and blobs not counted.
const ROW_SIZE_MAX: u64 = 65_535;

/// A schema without ids, and where its parts come from.
#[derive(Debug)]
pub struct BuiltTable {
    /// `id` and the ids of indexes and of their hidden tables are not set.
    pub schema: TableSchema,
    /// Position of each column in the table that was altered.
    pub column_origins: Vec<Option<usize>>,
    /// Position of each index in the table that was altered.
    pub index_origins: Vec<Option<usize>>,
}

/// Checks a draft and makes its schema. Errors: 1060, 1061, 1068 to 1075, 1089, 1113, 1117, 1118, 1170, 1171, 1503, 4028.
pub fn build(mut draft: TableDraft, notes: &mut Vec<Warning>) -> Result<BuiltTable> {
    check_columns(&draft)?;
    require_primary_key_values(&mut draft)?;
    check_virtual_key(&draft)?;
    let mut keys = key::build_keys(&draft, notes)?;
    key::sort(&mut keys);
    check_auto_increment(&draft, &keys)?;
    check_row_size(&draft)?;
    let mut columns: Vec<Column> = draft.columns.iter().map(|draft| draft.column.clone()).collect();
    let mut column_origins: Vec<Option<usize>> = draft.columns.iter().map(|draft| draft.origin).collect();
    if !keys.first().is_some_and(BuiltKey::can_store_rows) {
        column_origins.push(None);
        keys.insert(0, key::hidden_key(columns.len()));
        columns.push(hidden_column());
    }
    let partition_columns = partition_columns(&draft, &columns, &keys[0].index)?;
    draft.options.partitioned_by_key = draft.partition_by.is_some();
    if draft.partition_by.is_none() {
        draft.options.partitions = 0;
    }
    let index_origins = keys.iter().map(|key| key.origin).collect();
    let schema = TableSchema {
        id: TableId(0),
        version: 1,
        database: draft.database,
        name: draft.name,
        columns,
        indexes: keys.into_iter().map(|key| key.index).collect(),
        partition_columns,
        checks: draft.checks.into_iter().map(|check| check.constraint).collect(),
        foreign_keys: draft.foreign_keys,
        past_rows: Vec::new(),
        options: draft.options,
    };
    Ok(BuiltTable { schema, column_origins, index_origins })
}

fn check_columns(draft: &TableDraft) -> Result<()> {
    if draft.columns.is_empty() {
        return Err(Error::new(ErrorCode::TableMustHaveColumns, "A table must have at least 1 column"));
    }
    if draft.columns.len() > COLUMNS_MAX {
        return Err(Error::new(ErrorCode::TooManyFields, "Too many columns"));
    }
    let mut seen = std::collections::HashSet::new();
    for column in draft.columns.iter().map(|draft| &draft.column) {
        if column.name.chars().count() > NAME_LENGTH_MAX {
            return Err(errors::too_long_identifier(&column.name));
        }
        if column.name.is_empty() || column.name.ends_with(' ') || column.name.contains('\0') {
            let message = format!("Incorrect column name '{}'", column.name);
            return Err(Error::new(ErrorCode::WrongColumnName, message));
        }
        if !seen.insert(column.name.to_lowercase()) {
            return Err(errors::duplicate_column(&column.name));
        }
    }
    if draft.columns.iter().all(|draft| draft.column.invisible) {
        let message = "A table must have at least one visible column.";
        return Err(Error::new(ErrorCode::InvisibleAllColumns, message));
    }
    Ok(())
}

/// Columns of the primary key are NOT NULL, said or not. Errors: 1068, 1171.
fn require_primary_key_values(draft: &mut TableDraft) -> Result<()> {
    let primary: Vec<usize> =
        (0..draft.keys.len()).filter(|&position| draft.keys[position].kind == DraftKeyKind::Primary).collect();
    let [position] = primary[..] else {
        let none = primary.is_empty();
        return if none {
            Ok(())
        } else {
            Err(Error::new(ErrorCode::MultiplePriKey, "Multiple primary key defined"))
        };
    };
    let names: Vec<String> = draft.keys[position].parts.iter().map(|part| part.column.clone()).collect();
    for name in names {
        let Some(column) = draft.column_position(&name) else { continue };
        let column = &mut draft.columns[column];
        if column.null_written {
            let message =
                "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
            return Err(Error::new(ErrorCode::PrimaryCantHaveNull, message));
        }
        column.column.nullable = false;
    }
    Ok(())
}

/// Errors: 3106, the primary key is over a virtual column.
fn check_virtual_key(draft: &TableDraft) -> Result<()> {
    let is_virtual = |name: &str| {
        let column = draft.column_position(name).map(|position| &draft.columns[position].column);
        column.is_some_and(|column| matches!(column.generated, Some((_, false))))
    };
    let mut primary = draft.keys.iter().filter(|key| key.kind == DraftKeyKind::Primary);
    if primary.any(|key| key.parts.iter().any(|part| is_virtual(&part.column))) {
        let message =
            "'Defining a virtual generated column as primary key' is not supported for generated columns.";
        return Err(Error::new(ErrorCode::UnsupportedActionOnGeneratedColumn, message));
    }
    Ok(())
}

/// There is at most one, and it leads a key. Errors: 1075.
fn check_auto_increment(draft: &TableDraft, keys: &[BuiltKey]) -> Result<()> {
    let automatic: Vec<usize> =
        (0..draft.columns.len()).filter(|&position| draft.columns[position].column.auto_increment).collect();
    let leads = |column: usize| {
        keys.iter().any(|key| key.index.columns[0].column == column && key.index.columns[0].prefix_length == 0)
    };
    match automatic[..] {
        [] => Ok(()),
        [column] if leads(column) => Ok(()),
        _ => {
            let message =
                "Incorrect table definition; there can be only one auto column and it must be defined as a key";
            Err(Error::new(ErrorCode::WrongAutoKey, message))
        }
    }
}

/// Errors: 1118.
fn check_row_size(draft: &TableDraft) -> Result<()> {
    let nulls = draft.columns.iter().filter(|draft| draft.column.nullable).count() as u64;
    let sizes = draft.columns.iter().map(|draft| inline_size(&draft.column.sql_type));
    if sizes.sum::<u64>() + nulls.div_ceil(8) <= ROW_SIZE_MAX {
        return Ok(());
    }
    let message = format!(
        "Row size too large. The maximum row size for the used table type, not counting BLOBs, is {ROW_SIZE_MAX}. This \
         includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs"
    );
    Err(Error::new(ErrorCode::TooBigRowsize, message))
}

/// Bytes of a column as MySQL counts them for the limit of a row.
fn inline_size(sql_type: &SqlType) -> u64 {
    let characters = u64::from(sql_type.length) * sql_type.collation.charset().char_bytes_max() as u64;
    match sql_type.base {
        BaseType::Char => characters,
        BaseType::VarChar => characters + if characters > 255 { 2 } else { 1 },
        // A pointer and the length.
        BaseType::Text | BaseType::Json | BaseType::Geometry => 8 + text_length_bytes(sql_type.length),
        _ => shoal_types::row::fixed_width(sql_type).unwrap_or(0) as u64,
    }
}

fn text_length_bytes(length: u32) -> u64 {
    match length {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFF_FFFF => 3,
        _ => 4,
    }
}

fn hidden_column() -> Column {
    Column {
        invisible: true,
        hidden: true,
        ..Column::new(HIDDEN_KEY_COLUMN, SqlType { length: 20, ..SqlType::bigint(true) })
    }
}

/// The columns that choose the partition: those of PARTITION BY KEY, else all whole columns of the primary key, in the key's
/// order; of a key of prefixes alone, these. Errors: 1488, 1503.
fn partition_columns(draft: &TableDraft, columns: &[Column], primary: &Index) -> Result<Vec<usize>> {
    let whole = |part: &&IndexColumn| part.prefix_length == 0;
    let mut of_key: Vec<usize> = primary.columns.iter().filter(whole).map(|part| part.column).collect();
    let Some(names) = draft.partition_by.as_ref().filter(|names| !names.is_empty()) else {
        if draft.partition_by.is_some() && columns.last().is_some_and(|column| column.hidden) {
            return Err(unknown_partition_column());
        }
        if of_key.is_empty() {
            // Rows whose prefixes are equal belong together, as they are duplicates.
            of_key.extend(primary.columns.iter().map(|part| part.column));
        }
        return Ok(of_key);
    };
    let mut chosen = Vec::with_capacity(names.len());
    for name in names {
        let found = columns.iter().position(|column| !column.hidden && column.name.eq_ignore_ascii_case(name));
        chosen.push(found.ok_or_else(unknown_partition_column)?);
    }
    if chosen.iter().any(|column| !of_key.contains(column)) {
        let kind = if primary.name == PRIMARY { "A PRIMARY KEY" } else { "A UNIQUE INDEX" };
        let message = format!(
            "{kind} must include all columns in the table's partitioning function (prefixed columns are not considered)."
        );
        return Err(Error::new(ErrorCode::UniqueKeyNeedAllFieldsInPf, message));
    }
    Ok(of_key.into_iter().filter(|column| chosen.contains(column)).collect())
}

fn unknown_partition_column() -> Error {
    let message = "Field in list of fields for partition function not found in table";
    Error::new(ErrorCode::FieldNotFoundPart, message)
}

/// Gives ids to a table that is made anew: its own, those of its indexes, and those of the hidden tables of its unique
/// indexes.
pub fn assign_new_ids(schema: &mut TableSchema, mut next_table_id: impl FnMut() -> TableId) {
    schema.id = next_table_id();
    schema.version = 1;
    schema.indexes.retain(|index| !index.building);
    schema.past_rows.clear();
    for (position, index) in schema.indexes.iter_mut().enumerate() {
        index.id = IndexId(position as u32);
        index.unique_table = (position > 0 && index.unique).then(&mut next_table_id);
    }
}

/// Gives ids to a table that stays where it is: present indexes keep theirs, new ones get ids that none has.
pub fn keep_ids(built: &mut BuiltTable, present: &TableSchema, mut next_table_id: impl FnMut() -> TableId) {
    built.schema.id = present.id;
    built.schema.version = present.version + 1;
    let mut next_index = present.indexes.iter().map(|index| index.id.0).max().unwrap_or(0) + 1;
    for (position, index) in built.schema.indexes.iter_mut().enumerate() {
        match built.index_origins[position] {
            Some(origin) => {
                index.id = present.indexes[origin].id;
                index.unique_table = present.indexes[origin].unique_table;
            }
            // The hidden key of a table that keeps it has no draft.
            None if position == 0 => index.id = IndexId(0),
            None => {
                index.id = IndexId(next_index);
                next_index += 1;
                index.unique_table = index.unique.then(&mut next_table_id);
            }
        }
    }
}
