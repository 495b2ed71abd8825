//! A table as sessions use it: its schema with everything that is derived from it once.

use std::sync::atomic::AtomicU64;

use shoal_types::key::KeySpec;
use shoal_types::row::RowLayout;
use shoal_types::{TableId, TableSchema};

/// One version of a table's definition. A change of the definition makes another `Table`; plans that hold an older
/// one notice by the catalog's version.
#[derive(Debug)]
pub struct Table {
    pub schema: TableSchema,
    pub layout: RowLayout,
    /// One a `schema.indexes`, the primary key first.
    pub keys: Vec<KeySpec>,
    pub partition_key: KeySpec,
    /// The primary key's leading parts are exactly the partition key, in order, so that the partition key's bytes
    /// are a prefix of the primary key's bytes.
    pub partition_key_is_prefix: bool,
    /// The next AUTO_INCREMENT (or hidden key) value; shared by all versions of the table.
    pub next_auto_increment: std::sync::Arc<AtomicU64>,
}

impl Table {
    pub fn new(schema: TableSchema, next_auto_increment: std::sync::Arc<AtomicU64>) -> Table {
        let layout = RowLayout::new(schema.columns.iter().map(|column| column.sql_type.clone()).collect());
        let keys: Vec<KeySpec> = schema.indexes.iter().map(|index| KeySpec::of_index(&schema, index)).collect();
        let partition_key = KeySpec::of_partitioning(&schema);
        let leading: Vec<usize> = schema
            .primary_key()
            .columns
            .iter()
            .take(schema.partition_columns.len())
            .map(|part| part.column)
            .collect();
        let partition_key_is_prefix = leading == schema.partition_columns
            && schema
                .primary_key()
                .columns
                .iter()
                .take(leading.len())
                .all(|part| !part.descending && part.prefix_length == 0);
        Table { schema, layout, keys, partition_key, partition_key_is_prefix, next_auto_increment }
    }

    pub fn id(&self) -> TableId {
        self.schema.id
    }

    pub fn name(&self) -> &str {
        &self.schema.name
    }
}
