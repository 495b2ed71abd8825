//! The one table of the simulated database, and what its rows mean by the ranges of their ids.
//!
//! `t (id INT PRIMARY KEY, k INT, KEY (k))`. A row lives in the partition that its id chooses; marks live in every
//! partition that their transaction has written to.

use shoal_types::row::{RowLayout, RowRef};
use shoal_types::schema::TableOptions;
use shoal_types::*;

pub const TABLE: TableId = TableId(7);
pub const PRIMARY: IndexId = IndexId(0);

/// Accounts: `k` is the balance; one without money has no row.
pub const ACCOUNTS: i32 = 0;
/// Registers that are read without locks: `k` is a value that is written once.
pub const REGISTERS: i32 = 1000;
pub const COUNTERS: i32 = 2000;
/// Rows with a unique value in `k`.
pub const OWNERS: i32 = 3000;
/// The unique index: the id is the value, `k` its owner.
pub const INDEX: i32 = 4000;
/// Versions of the dictionary, in the meta partition: `k` is the transaction that made it.
pub const VERSIONS: i32 = 5000;
/// The id and `k` tell which transaction has committed here.
pub const MARKS: i32 = 10_000;

pub const VALUES: i32 = 5;
pub const OPENING_BALANCE: i32 = 3;

/// (id, k).
pub type Row = (i32, i32);

pub fn schema() -> TableSchema {
    let column = |name: &str| Column::new(name, SqlType::new(BaseType::Int));
    let index = |id: u32, position: usize| {
        Index::new(IndexId(id), format!("i{id}"), &[position], id == 0, IndexMethod::BTree)
    };
    TableSchema {
        id: TABLE,
        version: 1,
        database: "test".into(),
        name: "t".into(),
        columns: vec![column("id"), column("k")],
        indexes: vec![index(0, 0), index(1, 1)],
        partition_columns: vec![0],
        options: TableOptions::new("NDB", Collation::UTF8MB4_0900_AI_CI),
    }
}

pub fn key(id: i32) -> [u8; 4] {
    ((id as u32) ^ 0x8000_0000).to_be_bytes()
}

pub struct Codec(RowLayout);

impl Default for Codec {
    fn default() -> Codec {
        Codec(RowLayout::new(schema().columns.iter().map(|column| column.sql_type.clone()).collect()))
    }
}

impl Codec {
    pub fn encode(&self, (id, k): Row) -> Vec<u8> {
        let mut bytes = Vec::new();
        let values = [Value::Int(id.into()), Value::Int(k.into())];
        self.0.encode(&values, &TimeZone::UTC, &mut bytes).expect("two integers make a row");
        bytes
    }
}

pub fn decode(row: RowRef<'_>) -> Row {
    (row.word(0) as i32, row.word(1) as i32)
}
