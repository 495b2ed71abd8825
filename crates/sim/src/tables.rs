//! Tables that refer to each other, beside the one that everything else is in: who refers to whom, how their rows lie, and whether one has lost its parent.
//!
//! Each is `(id INT PRIMARY KEY, k INT NULL, KEY (k))`, and `k` is the parent's `id`. A row lives in the partition that its id chooses.

use std::collections::BTreeSet;
use std::sync::Arc;

use shoal_foreign_keys::{Lookup, Tables};
use shoal_types::key::KeySpec;
use shoal_types::row::{RowLayout, RowRef};
use shoal_types::*;

use crate::rows::{OWNERS, Row, schema};

/// Refers to nobody.
pub const PARENT: TableId = TableId(20);
/// Its rows keep their parents from going, or from getting other keys.
pub const RESTRICTING: TableId = TableId(21);
/// Its rows go with their parents, and get their new keys.
pub const FOLLOWING: TableId = TableId(22);
/// Its rows forget parents that go.
pub const FORGETTING: TableId = TableId(23);
/// Its rows go with those of `FOLLOWING`.
pub const GRANDCHILD: TableId = TableId(24);
/// Counts the rows of `RESTRICTING`, as triggers after INSERT and DELETE would. It is one of the counters in the table of everything else.
pub const COUNTED: i32 = OWNERS - 1;
/// `k` of a row whose parent is NULL.
pub const NO_PARENT: i32 = i32::MIN;

/// A row and its table.
pub type TableRow = (TableId, Row);

/// Child, parent, what becomes of a child.
const REFERENCES: [(TableId, TableId, ReferentialAction); 4] = [
    (RESTRICTING, PARENT, ReferentialAction::Restrict),
    (FOLLOWING, PARENT, ReferentialAction::Cascade),
    (FORGETTING, PARENT, ReferentialAction::SetNull),
    (GRANDCHILD, FOLLOWING, ReferentialAction::Cascade),
];

/// The tables that refer to each other.
pub const TABLES: [TableId; 5] = [PARENT, RESTRICTING, FOLLOWING, FORGETTING, GRANDCHILD];

/// All tables of the database, in the order in which they are made.
pub fn schemas() -> impl Iterator<Item = TableSchema> {
    std::iter::once(schema()).chain(TABLES.map(schema_of))
}

fn name_of(table: TableId) -> String {
    format!("t{}", table.0)
}

fn schema_of(table: TableId) -> TableSchema {
    let mut definition = schema();
    (definition.id, definition.name) = (table, name_of(table));
    definition.columns[1].nullable = true;
    let own = REFERENCES.iter().filter(|(child, ..)| *child == table);
    definition.foreign_keys = own
        .map(|&(_, parent, action)| ForeignKey {
            name: format!("{}_parent", name_of(table)),
            columns: vec!["k".into()],
            parent: (definition.database.clone(), name_of(parent)),
            parent_columns: vec!["id".into()],
            on_delete: action,
            on_update: action,
        })
        .collect();
    definition
}

/// A table as the code for foreign keys sees it.
pub struct Definition {
    schema: TableSchema,
    pub layout: RowLayout,
    keys: Vec<KeySpec>,
}

/// All tables, by their names.
pub struct Database(Vec<Arc<Definition>>);

impl Default for Database {
    fn default() -> Database {
        let define = |schema: TableSchema| {
            let keys = schema.indexes.iter().map(|index| KeySpec::of_index(&schema, index)).collect();
            Arc::new(Definition { layout: RowLayout::of_table(&schema), keys, schema })
        };
        Database(TABLES.map(schema_of).map(define).into())
    }
}

impl Database {
    pub fn table(&self, id: TableId) -> &Arc<Definition> {
        let found = self.0.iter().find(|table| table.schema.id == id);
        found.expect("it is one of the database's tables")
    }
}

impl Definition {
    pub fn id(&self) -> TableId {
        self.schema.id
    }

    pub fn encode(&self, (id, k): Row) -> Vec<u8> {
        let parent = if k == NO_PARENT { Value::Null } else { Value::Int(k.into()) };
        let mut bytes = Vec::new();
        self.layout
            .encode(&[Value::Int(id.into()), parent], &TimeZone::UTC, &mut bytes)
            .expect("two integers make a row");
        bytes
    }

    pub fn decode(&self, bytes: &[u8]) -> Row {
        decode_row(self.layout.row(bytes))
    }
}

pub fn decode_row(row: RowRef<'_>) -> Row {
    let parent = if row.is_null(1) { NO_PARENT } else { row.word(1) as i32 };
    (row.word(0) as i32, parent)
}

impl Tables for Database {
    type Table = Definition;

    fn schema(table: &Definition) -> &TableSchema {
        &table.schema
    }

    fn layout(table: &Definition) -> &RowLayout {
        &table.layout
    }

    fn keys(table: &Definition) -> &[KeySpec] {
        &table.keys
    }
}

impl Lookup<Database> for Database {
    fn table(&self, _: &str, name: &str) -> Option<&Arc<Definition>> {
        self.0.iter().find(|table| table.schema.name == name)
    }

    fn children_of(&self, _: &str, name: &str) -> Vec<&Arc<Definition>> {
        let refers = |table: &&Arc<Definition>| table.schema.foreign_keys.iter().any(|key| key.parent.1 == name);
        self.0.iter().filter(refers).collect()
    }
}

/// At any moment every row whose `k` is not NULL has its parent, and `others` say how many rows there are that triggers count.
///
/// # Errors
/// One has not; there are more of them, or less.
pub fn check_tables<'r>(
    rows: &[TableRow],
    others: impl IntoIterator<Item = &'r Row>,
    whence: &str,
) -> Result<(), String> {
    let counted = others.into_iter().find(|(id, _)| *id == COUNTED).map_or(0, |&(_, count)| count);
    let present = rows.iter().filter(|(table, _)| *table == RESTRICTING).count();
    if counted as usize != present {
        return Err(format!("{whence}: triggers have counted {counted} rows, and {present} are there"));
    }
    let there: BTreeSet<(TableId, i32)> = rows.iter().map(|&(table, (id, _))| (table, id)).collect();
    for (child, parent, _) in REFERENCES {
        let own = rows.iter().filter(|&&(table, (_, k))| table == child && k != NO_PARENT);
        if let Some((_, (id, k))) = own.into_iter().find(|(_, (_, k))| !there.contains(&(parent, *k))) {
            return Err(format!(
                "{whence}: row {id} of table {} refers to row {k} of table {}, which is not there",
                name_of(child),
                name_of(parent)
            ));
        }
    }
    match there.len() == rows.len() {
        true => Ok(()),
        false => Err(format!("{whence}: a row is there twice: {rows:?}")),
    }
}
