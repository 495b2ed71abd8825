//! The one table of the simulated database, and what its rows mean by the ranges of their ids.
//!
//! `t (id INT PRIMARY KEY, k INT, KEY (k))`. A row lives in the partition that its id chooses; marks live in every
//! partition that their transaction has written to.

use shoal_partition::{ChangeKind, OwnedWrite};
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
/// How many requests have been carried out, by kind of request.
pub const TALLIES: i32 = 6000;
/// Requests that clients carry out exactly once: `k` is the tally that each counts in.
pub const REQUESTS: i32 = 6100;
/// Rows that are locked in any order: `k` counts.
pub const HOT: i32 = 7000;
pub const HOT_END: i32 = 7100;
/// Sequences: `k` is the next number that nobody has been given. They are counters as well.
pub const SEQUENCES: i32 = 7050;
/// Lists, so many rows each: `k` is an element, and the rows of a list follow each other. All of a list is in one partition.
pub const LISTS: i32 = 8000;
pub const LIST_ROWS: i32 = 500;
pub const LISTS_THERE: i32 = 3;
/// The id and `k` tell which transaction has committed here.
pub const MARKS: i32 = 10_000;

pub const VALUES: i32 = 5;
pub const OPENING_BALANCE: i32 = 3;

/// What transactions add to is checked at the end.
pub fn is_counter(id: i32) -> bool {
    (COUNTERS..OWNERS).contains(&id) || (HOT..HOT_END).contains(&id)
}

/// The rows that a list can have, the first before them not one.
pub fn list_range(list: i32) -> (i32, i32) {
    (LISTS + list * LIST_ROWS, LISTS + (list + 1) * LIST_ROWS)
}

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
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        past_rows: Vec::new(),
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

impl Codec {
    /// A changed row, or the name of one that is gone: its id, and `k` if it is there.
    pub fn changed(&self, write: &OwnedWrite) -> (i32, Option<i32>) {
        match write.kind {
            ChangeKind::Insert | ChangeKind::Update => {
                let (id, k) = decode(self.0.row(&write.row));
                (id, Some(k))
            }
            ChangeKind::Delete => {
                let names = RowLayout::new(vec![SqlType::new(BaseType::Int)]);
                (names.row(&write.row).word(0) as i32, None)
            }
        }
    }
}

pub fn decode(row: RowRef<'_>) -> Row {
    (row.word(0) as i32, row.word(1) as i32)
}
