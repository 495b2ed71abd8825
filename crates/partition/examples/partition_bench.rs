//! What the partition's operations cost on this machine, without sockets, SQL or a disk.
//!
//! Figures are CPU time of the thread, so that other work on the machine disturbs them little.
//! sysbench's table (id INT key, k INT with an index, c CHAR(120), pad CHAR(60)), rows spread over four partitions.
//! `cargo run --release -p shoal-partition --example partition_bench [rows]`

#![expect(clippy::disallowed_methods, reason = "it reads what it has used from the system")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use shoal_partition::*;
use shoal_types::row::RowLayout;
use shoal_types::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TABLE: TableId = TableId(1);
const PARTITIONS: u32 = 4;
const TOKEN: WaitToken = WaitToken(0);

fn index(id: u32, column: usize, unique: bool) -> Index {
    Index::new(IndexId(id), format!("index{id}"), &[column], unique, IndexMethod::BTree)
}

fn schema() -> TableSchema {
    let text =
        |length| SqlType { length, collation: Collation::UTF8MB4_0900_AI_CI, ..SqlType::new(BaseType::Char) };
    TableSchema {
        id: TABLE,
        version: 1,
        database: "sbtest".into(),
        name: "sbtest1".into(),
        columns: vec![
            Column::new("id", SqlType::new(BaseType::Int)),
            Column::new("k", SqlType::new(BaseType::Int)),
            Column::new("c", text(120)),
            Column::new("pad", text(60)),
        ],
        indexes: vec![index(0, 0, true), index(1, 1, false)],
        partition_columns: vec![0],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        past_rows: Vec::new(),
        options: schema::TableOptions::new("NDB", Collation::UTF8MB4_0900_AI_CI),
    }
}

/// A small generator, so that runs are alike.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

struct Bench {
    layout: RowLayout,
    partitions: Vec<Partition>,
    numbers: Numbers,
    clock: u64,
    transactions: u64,
    rows: u64,
    row: Vec<u8>,
    group: String,
    pad: String,
}

fn int_key(number: i32) -> [u8; 4] {
    ((number as u32) ^ 0x8000_0000).to_be_bytes()
}

/// 2^12 buckets in contiguous shares.
fn home(key: &[u8]) -> usize {
    (hash_bucket(key) * PARTITIONS / HASH_BUCKETS) as usize
}

impl Bench {
    fn new(rows: u64) -> Bench {
        let budget = Arc::new(MemoryBudget::new(8 << 30));
        let schema = Arc::new(schema());
        let partitions = (0..PARTITIONS).map(|id| {
            let mut partition = Partition::new(PartitionConfig::single(PartitionId(id), budget.clone()));
            partition.start().unwrap();
            persist(&mut partition);
            partition.create_fragment(schema.clone(), CommitToken(0)).unwrap();
            persist(&mut partition);
            partition
        });
        Bench {
            layout: RowLayout::new(schema.columns.iter().map(|column| column.sql_type.clone()).collect()),
            partitions: partitions.collect(),
            numbers: Numbers(0x2545_f491_4f6c_dd1d),
            clock: 1,
            transactions: 0,
            rows,
            row: Vec::new(),
            group: (0..10).map(|_| "01234567890-").collect::<String>()[..119].into(),
            pad: "01234567890-".repeat(5)[..59].into(),
        }
    }

    fn encode(&mut self, id: i32, k: i32) {
        self.row.clear();
        let values = [
            Value::Int(id.into()),
            Value::Int(k.into()),
            Value::str(self.group.as_str()),
            Value::str(self.pad.as_str()),
        ];
        self.layout.encode(&values, &TimeZone::UTC, &mut self.row).unwrap();
    }

    fn begin(&mut self) -> TransactionId {
        self.transactions += 1;
        TransactionId(self.transactions)
    }

    fn commit(&mut self, home: usize, transaction: TransactionId) {
        self.clock += 1;
        let partition = &mut self.partitions[home];
        partition.propose_commit(transaction, Timestamp(self.clock), CommitToken(1)).unwrap();
        partition.set_gc_horizon(Timestamp(self.clock));
        persist(partition);
    }

    fn insert(&mut self, id: i32, k: i32) {
        self.encode(id, k);
        let home = home(&int_key(id));
        let transaction = self.begin();
        let row = std::mem::take(&mut self.row);
        match self.partitions[home].insert(transaction, TABLE, &row, TOKEN).unwrap() {
            Step::Ready(WriteOutcome::Done) => {}
            _ => panic!("row {id} could not be inserted"),
        }
        self.row = row;
        self.commit(home, transaction);
    }
}

/// What a log would do, without the log.
fn persist(partition: &mut Partition) {
    let outputs = partition.outputs();
    outputs.append.clear();
    outputs.hard_state = None;
    let number = outputs.number;
    partition.persisted(number).unwrap();
    let outputs = partition.outputs();
    black_box(outputs.committed.len());
    outputs.committed.clear();
    outputs.append.clear();
}

/// CPU time that this thread has used (Linux).
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split_whitespace().next().and_then(|run| run.parse().ok()).unwrap_or(0))
}

fn report(work: &str, count: u64, took: Duration) {
    println!("{work:<58} {:>9.0} ns", took.as_nanos() as f64 / count as f64);
}

fn time(work: &str, count: u64, mut operation: impl FnMut(u64)) {
    for number in 0..count / 20 {
        operation(number);
    }
    let start = cpu_time();
    for number in 0..count {
        operation(number);
    }
    report(work, count, cpu_time() - start);
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn load(bench: &mut Bench) {
    let before = resident_bytes();
    let start = cpu_time();
    for id in 1..=bench.rows as i32 {
        let k = bench.numbers.below(bench.rows) as i32;
        bench.insert(id, k);
    }
    report("insert, one index, one commit each (ascending keys)", bench.rows, cpu_time() - start);
    let usage: u64 = bench.partitions.iter().map(|p| p.usage(TABLE).unwrap().bytes).sum();
    let measured: u64 = bench.partitions.iter().map(|p| p.measured_memory(TABLE).bytes()).sum();
    let rows = bench.rows as f64;
    println!(
        "bytes a row: charged {:.0}, measured {:.0}, resident set {:.0}",
        usage as f64 / rows,
        measured as f64 / rows,
        (resident_bytes() - before) as f64 / rows
    );
}

fn reads(bench: &mut Bench) {
    let rows = bench.rows;
    let Bench { partitions, numbers, .. } = bench;
    let newest = ReadView::newest(None, TOKEN);
    time("get, newest version, no lock, random keys", 2_000_000, |_| {
        let key = int_key(1 + numbers.below(rows) as i32);
        match partitions[home(&key)].get(&newest, TABLE, &key, None).unwrap() {
            Step::Ready(Some(row)) => {
                black_box(row.raw(2));
            }
            _ => panic!("no row"),
        }
    });
    time("get, newest version, no lock, 1000 hot keys", 5_000_000, |_| {
        let key = int_key(1 + numbers.below(1000) as i32);
        match partitions[home(&key)].get(&newest, TABLE, &key, None).unwrap() {
            Step::Ready(Some(row)) => {
                black_box(row.raw(2));
            }
            _ => panic!("no row"),
        }
    });
    for (work, index, size) in [
        ("scan of 100 rows by the primary key, one partition", 0, 400),
        ("scan of 100 rows by the secondary index, one partition", 1, 400),
    ] {
        time(work, 50_000, |_| {
            let from = numbers.below(rows - size) as i32;
            let range = KeyBounds {
                start: std::ops::Bound::Included(int_key(from).to_vec()),
                end: std::ops::Bound::Included(int_key(from + size as i32).to_vec()),
            };
            let mut cursor = Cursor::new(TABLE, IndexId(index), range, Direction::Forward);
            let mut seen = 0;
            partitions[1]
                .scan(&newest, &mut cursor, None, 100, &mut |row| {
                    black_box(row.raw(2));
                    seen += 1;
                    VisitAnswer::Continue
                })
                .unwrap();
            black_box(seen);
        });
    }
}

fn writes(bench: &mut Bench) {
    let rows = bench.rows;
    for (work, change_k) in [
        ("update of a column without index: lock, read, stage, commit", false),
        ("update of the indexed column", true),
    ] {
        let mut row = Vec::new();
        time(work, 500_000, |_| {
            let key = int_key(1 + bench.numbers.below(rows) as i32);
            let home = home(&key);
            let transaction = bench.begin();
            let view = ReadView::newest(Some(transaction), TOKEN);
            let lock = LockRequest { mode: LockMode::Exclusive, policy: LockPolicy::Wait, lock_gaps: true };
            let partition = &mut bench.partitions[home];
            match partition.get(&view, TABLE, &key, Some(lock)).unwrap() {
                Step::Ready(Some(found)) => {
                    row.clear();
                    row.extend_from_slice(found.bytes());
                }
                _ => panic!("no row"),
            }
            let at = if change_k { 6 } else { row.len() - 10 };
            row[at] = row[at].wrapping_add(1);
            if !matches!(partition.update(transaction, TABLE, &row, TOKEN), Ok(Step::Ready(WriteOutcome::Done))) {
                panic!("no update");
            }
            bench.commit(home, transaction);
        });
    }
    let mut id = rows as i32;
    time("insert, one index, into the full table", 300_000, |_| {
        id += 1;
        let k = bench.numbers.below(rows) as i32;
        bench.insert(id, k);
    });
    time("rollback of one insert", 500_000, |_| {
        bench.encode(i32::MAX, 1);
        let transaction = bench.begin();
        let row = std::mem::take(&mut bench.row);
        assert!(bench.partitions[0].insert(transaction, TABLE, &row, TOKEN).is_ok());
        bench.row = row;
        bench.partitions[0].rollback(transaction);
    });
}

fn checkpoint(bench: &mut Bench) {
    let rows: u64 = bench.partitions.iter().map(|partition| partition.row_count(TABLE)).sum();
    let start = cpu_time();
    let mut blocks = Vec::new();
    let partition = &mut bench.partitions[0];
    let part = partition.row_count(TABLE);
    let mut cursor = partition.begin_checkpoint();
    loop {
        let mut block = Vec::new();
        if !partition.next_checkpoint_block(&mut cursor, 1 << 20, &mut block).unwrap() {
            break;
        }
        blocks.push(block);
    }
    partition.end_checkpoint(cursor);
    report("checkpoint, a row", part, cpu_time() - start);
    let start = cpu_time();
    let mut copy = Partition::new(PartitionConfig::single(PartitionId(0), Arc::new(MemoryBudget::new(8 << 30))));
    for block in &blocks {
        copy.install_checkpoint_block(block).unwrap();
    }
    report("installing a checkpoint, a row", part, cpu_time() - start);
    assert_eq!(copy.row_count(TABLE), part);
    println!("{rows} rows at the end");
}

fn main() {
    let rows = std::env::args().nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(1_000_000);
    let mut bench = Bench::new(rows);
    load(&mut bench);
    reads(&mut bench);
    writes(&mut bench);
    checkpoint(&mut bench);
}
