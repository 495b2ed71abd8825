//! Hidden tables: what keeps a unique secondary index unique over all partitions.
//!
//! A hidden table has one row for every row of its base table whose key in the index has no NULL. Its primary key is
//! that index key, and so it lies in the partition that the index key hashes to, whatever partition the base row is
//! in. Both columns hold memcomparable bytes: the index key and the base row's primary key, as lookups want them.

use shoal_types::row::{RowLayout, RowRef};
use shoal_types::schema::TableOptions;
use shoal_types::{
    BaseType, Collation, Column, Index, IndexId, IndexMethod, Result, SqlType, TableId, TableSchema, TimeZone,
    Value,
};

const KEY_COLUMN: usize = 0;
const PRIMARY_KEY_COLUMN: usize = 1;

fn bytes_column(name: &str) -> Column {
    let sql_type = SqlType { length: u32::MAX, ..SqlType::new(BaseType::Text) };
    Column::new(name, sql_type)
}

/// The hidden table `id` of an index of `base`.
pub fn unique_table_schema(base: &TableSchema, index: &Index, id: TableId) -> TableSchema {
    let name = format!("{}.{}.{}", base.database, base.name, index.name);
    bytes_table_schema(id, &name, &base.options.engine, IndexMethod::Hash, base.options.created_at_s)
}

/// A table without a database that keeps bytes under a key of bytes.
pub(crate) fn bytes_table_schema(
    id: TableId,
    name: &str,
    engine: &str,
    method: IndexMethod,
    created_at_s: u64,
) -> TableSchema {
    let primary = Index::new(IndexId(0), "PRIMARY", &[KEY_COLUMN], true, method);
    TableSchema {
        id,
        version: 1,
        database: String::new(),
        name: name.to_owned(),
        columns: vec![bytes_column("key"), bytes_column("primary key")],
        indexes: vec![primary],
        partition_columns: vec![KEY_COLUMN],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        past_rows: Vec::new(),
        options: TableOptions { created_at_s, ..TableOptions::new(engine, Collation::BINARY) },
    }
}

/// All hidden tables' rows look alike.
pub fn layout() -> &'static RowLayout {
    static LAYOUT: std::sync::OnceLock<RowLayout> = std::sync::OnceLock::new();
    LAYOUT.get_or_init(|| RowLayout::new(vec![bytes_column("").sql_type, bytes_column("").sql_type]))
}

/// A row of a hidden table.
pub fn unique_row(index_key: &[u8], primary_key: &[u8]) -> Result<Vec<u8>> {
    let mut row = Vec::with_capacity(index_key.len() + primary_key.len() + 16);
    layout().encode(&[Value::Str(index_key.into()), Value::Str(primary_key.into())], &TimeZone::UTC, &mut row)?;
    Ok(row)
}

/// The primary key of the base row that a row of a hidden table stands for.
pub fn base_primary_key<'a>(row: RowRef<'a>) -> &'a [u8] {
    row.raw(PRIMARY_KEY_COLUMN)
}

/// The same of a row's bytes, which another node may have sent.
pub fn primary_key_in(row: &[u8]) -> Result<Vec<u8>> {
    Ok(layout().checked_row(row)?.raw(PRIMARY_KEY_COLUMN).to_vec())
}

/// The primary key that a hidden table's row has in the hidden table.
pub fn hidden_primary_key(index_key: &[u8], out: &mut Vec<u8>) {
    Collation::BINARY.append_sort_key(index_key, None, out);
}
