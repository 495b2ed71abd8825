//! Whole-partition tests, and the table, rows and log that they share.

mod behaviour;
mod broken;
mod building;
mod catch_up;
mod compaction;
mod definition;
mod early;
mod follow;
mod large;
mod locking;
mod model;
mod network;
mod random;
mod recovery;
mod replicas;
mod splice;
mod spoilt;
mod two_phase;
mod undecided;
mod witness;

use std::ops::Bound;
use std::sync::Arc;

use shoal_types::key::KeySpec;
use shoal_types::row::{RowLayout, RowRef};
use shoal_types::schema::TableOptions;
use shoal_types::*;

use crate::fragment::layout_of;
use crate::*;

pub(crate) const TABLE: TableId = TableId(7);
pub(crate) const PRIMARY: IndexId = IndexId(0);
pub(crate) const BY_K: IndexId = IndexId(1);
pub(crate) const BY_NAME: IndexId = IndexId(2);

/// Names that differ in bytes alone, that share their first eight key bytes, and the empty one.
pub(crate) const NAMES: [&str; 6] = ["", "a", "A", "bcdefghijklm", "bcdefghijkln", "z"];

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TestRow {
    pub(crate) id: i32,
    pub(crate) k: Option<i32>,
    pub(crate) name: &'static str,
}

pub(crate) fn row(id: i32, k: i32) -> TestRow {
    TestRow { id, k: Some(k), name: NAMES[(k.unsigned_abs() as usize) % NAMES.len()] }
}

fn column(name: &str, sql_type: SqlType, nullable: bool) -> Column {
    Column { nullable, ..Column::new(name, sql_type) }
}

pub(crate) fn index(id: IndexId, columns: &[usize], unique: bool, method: IndexMethod) -> Index {
    Index::new(id, format!("i{id}"), columns, unique, method)
}

/// t (id INT PRIMARY KEY, k INT NULL, name VARCHAR(40), KEY (k), KEY (name, k))
pub(crate) fn schema(method: IndexMethod) -> TableSchema {
    TableSchema {
        id: TABLE,
        version: 1,
        database: "test".into(),
        name: "t".into(),
        columns: vec![
            column("id", SqlType::new(BaseType::Int), false),
            column("k", SqlType::new(BaseType::Int), true),
            column("name", SqlType::varchar(40, Collation::UTF8MB4_0900_AI_CI), false),
        ],
        indexes: vec![
            index(PRIMARY, &[0], true, method),
            index(BY_K, &[1], false, IndexMethod::BTree),
            index(BY_NAME, &[2, 1], false, IndexMethod::BTree),
        ],
        partition_columns: vec![0],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        past_rows: Vec::new(),
        options: TableOptions::new("NDB", Collation::UTF8MB4_0900_AI_CI),
    }
}

/// How the test table's rows and keys are written.
pub(crate) struct Codec {
    pub(crate) layout: RowLayout,
    schema: TableSchema,
}

impl Codec {
    pub(crate) fn new(schema: &TableSchema) -> Codec {
        Codec { layout: layout_of(schema), schema: schema.clone() }
    }

    pub(crate) fn encode(&self, row: &TestRow) -> Vec<u8> {
        let k = row.k.map_or(Value::Null, |k| Value::Int(k.into()));
        let values = [Value::Int(row.id.into()), k, Value::str(row.name)];
        let mut bytes = Vec::new();
        self.layout.encode(&values, &TimeZone::UTC, &mut bytes).unwrap();
        bytes
    }

    /// The columns of the index alone: what the entries of its rows begin with.
    pub(crate) fn index_key(&self, index: IndexId, row: &TestRow) -> Vec<u8> {
        self.key_of(index, row, KeySpec::of_index)
    }

    pub(crate) fn entry_key(&self, index: IndexId, row: &TestRow) -> Vec<u8> {
        self.key_of(index, row, KeySpec::of_entries)
    }

    fn key_of(&self, index: IndexId, row: &TestRow, spec: fn(&TableSchema, &Index) -> KeySpec) -> Vec<u8> {
        let definition = self.schema.indexes.iter().find(|other| other.id == index).unwrap();
        let mut key = Vec::new();
        let bytes = self.encode(row);
        spec(&self.schema, definition).append_from_row(self.layout.row(&bytes), &mut key);
        key
    }
}

pub(crate) fn decode(row: RowRef<'_>) -> TestRow {
    let k = (!row.is_null(1)).then(|| row.word(1) as i32);
    let name = std::str::from_utf8(row.raw(2)).unwrap();
    let name = NAMES.iter().find(|&&known| known == name).unwrap();
    TestRow { id: row.word(0) as i32, k, name }
}

pub(crate) fn key(id: i32) -> [u8; 4] {
    ((id as u32) ^ 0x8000_0000).to_be_bytes()
}

pub(crate) fn ids(from: i32, to: i32) -> KeyBounds {
    KeyBounds { start: Bound::Included(key(from).to_vec()), end: Bound::Included(key(to).to_vec()) }
}

/// A partition with the test table and a log that is durable when the test says so.
pub(crate) struct Bed {
    pub(crate) partition: Partition,
    pub(crate) codec: Codec,
    pub(crate) log: Vec<(u64, u64, Vec<u8>)>,
    pub(crate) clock: u64,
    pub(crate) woken: Vec<WaitToken>,
    pub(crate) committed: Vec<CommitToken>,
    /// Large transactions go on when the test says so.
    pub(crate) in_slices: bool,
    next_transaction: u64,
}

pub(crate) const TOKEN: WaitToken = WaitToken(1);

pub(crate) fn single(limit_bytes: u64) -> PartitionConfig {
    PartitionConfig::single(PartitionId(3), Arc::new(MemoryBudget::new(limit_bytes)))
}

impl Bed {
    pub(crate) fn new() -> Bed {
        Bed::with(schema(IndexMethod::BTree), 1 << 30)
    }

    pub(crate) fn with(schema: TableSchema, limit_bytes: u64) -> Bed {
        let mut bed = Bed {
            partition: Partition::new(single(limit_bytes)),
            codec: Codec::new(&schema),
            log: Vec::new(),
            clock: 1,
            woken: Vec::new(),
            committed: Vec::new(),
            in_slices: false,
            next_transaction: 0,
        };
        bed.partition.start().unwrap();
        bed.persist();
        bed.partition.create_fragment(Arc::new(schema), CommitToken(0)).unwrap();
        bed.persist();
        bed.committed.clear();
        bed
    }

    pub(crate) fn begin(&mut self) -> TransactionId {
        self.next_transaction += 1;
        TransactionId(self.next_transaction)
    }

    /// Takes the outputs into the bed.
    pub(crate) fn drain(&mut self) {
        let outputs = self.partition.outputs();
        self.woken.append(&mut outputs.woken);
        self.committed.append(&mut outputs.committed);
        assert!(outputs.lost.is_empty());
        outputs.hard_state = None;
        for entry in outputs.append.drain(..) {
            assert_eq!(entry.index(), self.log.len() as u64 + 1);
            self.log.push((entry.index(), entry.term(), entry.data().to_vec()));
        }
    }

    /// Everything handed out becomes durable.
    pub(crate) fn persist(&mut self) {
        self.drain();
        let number = self.partition.outputs().number;
        self.partition.persisted(number).unwrap();
        if !self.in_slices {
            self.partition.go_on_to_the_end();
        }
        self.drain();
    }

    pub(crate) fn propose(&mut self, transaction: TransactionId) -> CommitStart {
        self.clock += 1;
        let start = self.partition.propose_commit(transaction, Timestamp(self.clock), CommitToken(transaction.0));
        self.drain();
        start.unwrap()
    }

    pub(crate) fn commit(&mut self, transaction: TransactionId) {
        self.propose(transaction);
        self.persist();
    }

    /// The outcome of an insert: what it inserted, or the duplicate.
    pub(crate) fn insert(&mut self, transaction: TransactionId, row: &TestRow) -> Step<Option<TestRow>> {
        let bytes = self.codec.encode(row);
        let outcome = self.partition.insert(transaction, TABLE, &bytes, WaitToken(transaction.0)).unwrap();
        let outcome = outcome.map(|outcome| match outcome {
            WriteOutcome::Done => None,
            WriteOutcome::Duplicate { row, .. } => Some(decode(row)),
            WriteOutcome::NotFound => panic!("an insert found nothing"),
        });
        self.drain();
        outcome
    }

    /// True: updated. False: no such row.
    pub(crate) fn update(&mut self, transaction: TransactionId, row: &TestRow) -> Step<bool> {
        let bytes = self.codec.encode(row);
        let outcome = self.partition.update(transaction, TABLE, &bytes, WaitToken(transaction.0)).unwrap();
        let outcome = outcome.map(|outcome| matches!(outcome, WriteOutcome::Done));
        self.drain();
        outcome
    }

    pub(crate) fn delete(&mut self, transaction: TransactionId, id: i32) -> Step<bool> {
        let outcome = self.partition.delete(transaction, TABLE, &key(id), WaitToken(transaction.0)).unwrap();
        let outcome = outcome.map(|outcome| matches!(outcome, WriteOutcome::Done));
        self.drain();
        outcome
    }

    /// Inserts and commits.
    pub(crate) fn fill(&mut self, rows: impl IntoIterator<Item = TestRow>) {
        let transaction = self.begin();
        for row in rows {
            assert!(matches!(self.insert(transaction, &row), Step::Ready(None)));
        }
        self.commit(transaction);
    }

    pub(crate) fn get(&mut self, view: &ReadView, id: i32, lock: Option<LockRequest>) -> Step<Option<TestRow>> {
        let found = self.partition.get(view, TABLE, &key(id), lock).unwrap().map(|row| row.map(decode));
        self.drain();
        found
    }

    /// All rows that one cursor shows, `limit` a call.
    pub(crate) fn scan(
        &mut self,
        view: &ReadView,
        cursor: &mut Cursor,
        lock: Option<LockRequest>,
        limit: usize,
        rows: &mut Vec<TestRow>,
    ) -> Step<()> {
        loop {
            let state = self.partition.scan(view, cursor, lock, limit, &mut |row| {
                rows.push(decode(row));
                VisitAnswer::Continue
            });
            self.drain();
            match state.unwrap() {
                Step::Ready(ScanState::More) => {}
                Step::Ready(ScanState::Done) => return Step::Ready(()),
                Step::Wait(blocked) => return Step::Wait(blocked),
            }
        }
    }

    /// All rows of the newest committed state, by id.
    pub(crate) fn all(&mut self) -> Vec<TestRow> {
        all_rows(&mut self.partition)
    }
}

pub(crate) fn all_rows(partition: &mut Partition) -> Vec<TestRow> {
    let mut cursor = Cursor::new(TABLE, PRIMARY, KeyBounds::ALL, Direction::Forward);
    let mut rows = Vec::new();
    let view = ReadView::newest(None, TOKEN);
    while !cursor.is_finished() {
        let state = partition.scan(&view, &mut cursor, None, 100, &mut |row| {
            rows.push(decode(row));
            VisitAnswer::Continue
        });
        assert!(state.unwrap().is_ready());
    }
    rows.sort_unstable();
    rows
}

pub(crate) fn at(transaction: Option<TransactionId>, snapshot: u64) -> ReadView {
    ReadView { snapshot: Timestamp(snapshot), ..ReadView::newest(transaction, TOKEN) }
}

pub(crate) fn newest(transaction: TransactionId) -> ReadView {
    ReadView::newest(Some(transaction), WaitToken(transaction.0))
}

pub(crate) const EXCLUSIVE: LockRequest =
    LockRequest { mode: LockMode::Exclusive, policy: LockPolicy::Wait, lock_gaps: true };
