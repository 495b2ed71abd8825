//! Generated invisible primary keys: with sql_generate_invisible_primary_key a table that declares no primary key gets the column
//! `my_row_id` as its first one.
//!
//! Such a key is known by its looks, as in MySQL: nothing else in the dictionary tells it from one that was written.

use std::borrow::Cow;

use shoal_types::{BaseType, Column, Error, ErrorCode, Result, SqlType, TableSchema};

use super::draft::{DraftColumn, DraftKey, DraftKeyKind, PRIMARY, TableDraft};

const COLUMN: &str = "my_row_id";
/// The engine whose tables get such keys.
const ENGINE: &str = "InnoDB";

/// The table's primary key was generated, or looks as if it had been.
pub fn has_generated_key(schema: &TableSchema) -> bool {
    let is_alone = matches!(&schema.primary_key().columns[..], [part] if part.column == 0);
    let is_generated = |column: &Column| column.invisible && is_key_column(column);
    is_alone && is_for(schema) && declares_primary(schema) && is_generated(&schema.columns[0])
}

/// The definition has a primary key of its own.
pub fn declares_primary(schema: &TableSchema) -> bool {
    !schema.has_hidden_key() && schema.primary_key().name == PRIMARY
}

fn is_for(schema: &TableSchema) -> bool {
    schema.options.engine == ENGINE && !schema.options.partitioned_by_key
}

fn is_key_column(column: &Column) -> bool {
    let is_number = column.sql_type.base == BaseType::BigInt && column.sql_type.unsigned;
    column.name.eq_ignore_ascii_case(COLUMN) && is_number && column.auto_increment && !column.nullable
}

/// Gives a new table its key if it declares none. Errors: 4108, 4109, 1235.
pub fn add(draft: &mut TableDraft) -> Result<()> {
    if draft.options.engine != ENGINE || draft.keys.iter().any(|key| key.kind == DraftKeyKind::Primary) {
        return Ok(());
    }
    if draft.partition_by.is_some() {
        return Err(Error::unsupported("generating invisible primary key for the partitioned tables"));
    }
    let failed = |code: ErrorCode, reason: &str| {
        Err(Error::new(code, format!("Failed to generate invisible primary key. {reason} already exists.")))
    };
    if draft.column_position(COLUMN).is_some() {
        return failed(ErrorCode::GipkColumnExists, "Column 'my_row_id'");
    }
    if draft.columns.iter().any(|known| known.column.auto_increment) {
        return failed(ErrorCode::GipkFailedAutoincColumnExists, "Auto-increment column");
    }
    let column = Column {
        nullable: false,
        auto_increment: true,
        invisible: true,
        ..Column::new(COLUMN, SqlType { length: 20, ..SqlType::bigint(true) })
    };
    draft.columns.insert(0, DraftColumn { column, origin: None, null_written: false });
    draft.keys.insert(0, DraftKey::on_column(DraftKeyKind::Primary, COLUMN));
    Ok(())
}

/// Keeps a generated key's column in front of those that ALTER TABLE adds. Errors: 4110, it has become another.
pub fn keep_first(present: &TableSchema, draft: &mut TableDraft) -> Result<()> {
    if !has_generated_key(present) {
        return Ok(());
    }
    let Some(position) = draft.columns.iter().position(|column| column.origin == Some(0)) else { return Ok(()) };
    if draft.partition_by.is_some() {
        return Err(Error::unsupported("partitioning table with generated invisible primary key"));
    }
    if !is_key_column(&draft.columns[position].column) {
        let message = "Altering generated invisible primary key column 'my_row_id' is not allowed.";
        return Err(Error::new(ErrorCode::GipkColumnAlterNotAllowed, message));
    }
    let column = draft.columns.remove(position);
    draft.columns.insert(0, column);
    Ok(())
}

/// ALTER TABLE takes a generated key only together with its column, and while keys are generated none without another. Errors: 1235, 4111.
pub fn check_kept(present: &TableSchema, draft: &TableDraft, generates: bool) -> Result<()> {
    if present.options.engine != ENGINE || !declares_primary(present) {
        return Ok(());
    }
    let is_declared = draft.keys.iter().any(|key| key.kind == DraftKeyKind::Primary);
    if generates && !present.options.partitioned_by_key && !is_declared {
        return Err(Error::unsupported(
            "existing primary key drop without adding a new primary key. In \
             @@sql_generate_invisible_primary_key=ON mode table should have a primary key. Please add a new primary key \
             to be able to drop existing primary key.",
        ));
    }
    let is_kept = draft.keys.iter().any(|key| key.kind == DraftKeyKind::Primary && key.origin == Some(0));
    let keeps_column = draft.columns.iter().any(|column| column.origin == Some(0));
    if has_generated_key(present) && keeps_column && !is_kept {
        let message = "Please drop primary key column to be able to drop generated invisible primary key.";
        return Err(Error::new(ErrorCode::DropPkColumnToDropGipk, message));
    }
    Ok(())
}

/// The table as SHOW and information_schema have it: while they do not show generated keys, with one that is hidden as that of a table
/// without any is.
pub fn shown(schema: &TableSchema, shows_generated_keys: bool) -> Cow<'_, TableSchema> {
    if shows_generated_keys || !has_generated_key(schema) {
        return Cow::Borrowed(schema);
    }
    let mut shown = schema.clone();
    shown.columns.rotate_left(1);
    if let Some(column) = shown.columns.last_mut() {
        column.hidden = true;
        column.auto_increment = false;
    }
    let count = shown.columns.len();
    let moved = |column: usize| column.checked_sub(1).unwrap_or(count - 1);
    for part in shown.indexes.iter_mut().flat_map(|index| &mut index.columns) {
        part.column = moved(part.column);
    }
    for column in &mut shown.partition_columns {
        *column = moved(*column);
    }
    Cow::Owned(shown)
}
