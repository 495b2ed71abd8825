//! Measures transactions without any SQL above them: key reads, and updates that are durable when they return, at 1, 8
//! and 64 sessions on two workers (single-threaded runtimes, as the server's).
//!
//! `cargo run --release -p shoal-txn --example txn_bench -- [directory] [seconds per line] [flush: worker|writer] [rows]
//! [only lines that contain this]`

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use shoal_cluster::{Change, FlushBy, Node, NodeOptions, Table};
use shoal_txn::{Inserted, Isolation, Modification, ReadMode, Transaction};
use shoal_types::schema::TableOptions;
use shoal_types::*;

const WORKERS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    GetNewest,
    GetSnapshot,
    Update,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "txn_bench.tmp".into());
    let seconds: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(2.0);
    let flush_by = match arguments.next().as_deref() {
        Some("writer") => FlushBy::Writer,
        Some("worker") => FlushBy::Worker,
        _ => FlushBy::default(),
    };
    let options = NodeOptions { flush_by, data_memory: Some(4 << 30), ..NodeOptions::new(&directory) };
    let node = Node::open(options.clone())?;
    let rows: i64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let only = arguments.next().unwrap_or_default();
    let table = load(&node, rows)?;
    println!("{} partitions, {rows} rows, {WORKERS} workers, flush by {flush_by:?}", node.partition_count());
    let duration = Duration::from_secs_f64(seconds);
    for (work, sessions) in
        [(Work::GetNewest, 1), (Work::GetSnapshot, 1), (Work::Update, 1), (Work::Update, 8), (Work::Update, 64)]
    {
        if format!("{work:?} x {sessions}").contains(&only) {
            measure(&node, &table, work, (sessions, rows), duration);
        }
    }
    node.close()?;
    drop(table);
    drop(node);
    let start = Instant::now();
    let node = Node::open(options)?;
    println!(
        "start with {} rows: {:.0?}",
        Transaction::new(Arc::clone(&node)).row_count(&node_table(&node)),
        start.elapsed()
    );
    drop(node);
    std::fs::remove_dir_all(Path::new(&directory)).map_err(|error| Error::unknown(error.to_string()))
}

fn node_table(node: &Node) -> Arc<Table> {
    Arc::clone(node.catalog().table("d", "sbtest").expect("the table is there"))
}

fn measure(node: &Arc<Node>, table: &Arc<Table>, work: Work, (sessions, rows): (usize, i64), duration: Duration) {
    let done = Arc::new(AtomicU64::new(0));
    let cpu_start = cpu_time();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for worker in 0..WORKERS.min(sessions) {
            let done = Arc::clone(&done);
            scope.spawn(move || {
                let runtime =
                    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
                let local = tokio::task::LocalSet::new();
                for session in (worker..sessions).step_by(WORKERS) {
                    let (node, table, done) = (Arc::clone(node), Arc::clone(table), Arc::clone(&done));
                    local.spawn_local(async move {
                        done.fetch_add(
                            session_work(node, table, work, (session, rows), start + duration).await,
                            Ordering::Relaxed,
                        );
                    });
                }
                runtime.block_on(local);
            });
        }
    });
    let elapsed = start.elapsed();
    let count = done.load(Ordering::Relaxed) as f64;
    println!(
        "{work:?} x {sessions}: {:.0}/s, {:.2} us each, {:.2} us of CPU",
        count / elapsed.as_secs_f64(),
        elapsed.as_secs_f64() * 1e6 * sessions as f64 / count,
        (cpu_time() - cpu_start).as_secs_f64() * 1e6 / count,
    );
}

async fn session_work(
    node: Arc<Node>,
    table: Arc<Table>,
    work: Work,
    (session, rows): (usize, i64),
    end: Instant,
) -> u64 {
    let mut transaction = Transaction::new(node);
    let mut random = session as u64 * 7919 + 1;
    let mut count = 0;
    let batch = if work == Work::Update { 1 } else { 1000 };
    while Instant::now() < end {
        for _ in 0..batch {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let key = key((random >> 33) as i64 % rows);
            match work {
                Work::GetNewest => {
                    let found = transaction.get_newest(&table, &key, |row| row.is_some()).await;
                    assert!(found.expect("a read"));
                }
                Work::GetSnapshot => {
                    transaction.start_statement();
                    let found = transaction.get(&table, &key, ReadMode::default(), |row| row.is_some()).await;
                    assert!(found.expect("a read"));
                    transaction.commit().await.expect("a commit");
                }
                Work::Update => update(&mut transaction, &table, &key, random).await.expect("an update"),
            }
            count += 1;
        }
        if work != Work::Update {
            tokio::task::yield_now().await;
        }
    }
    count
}

/// UPDATE sbtest SET c = ? WHERE id = ?
async fn update(transaction: &mut Transaction, table: &Arc<Table>, key: &[u8], random: u64) -> Result<()> {
    transaction.start_statement();
    let changed = transaction
        .modify(table, key, |row| {
            let mut new = row.bytes().to_vec();
            let at = new.len() - 8;
            new[at..].copy_from_slice(&random.to_le_bytes().map(|byte| b'a' + byte % 26));
            Ok((Modification::Update(new), ()))
        })
        .await?;
    assert!(matches!(changed, Some((Inserted::Done, ()))));
    transaction.commit().await
}

fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn key(id: i64) -> [u8; 4] {
    ((id as i32) as u32 ^ 0x8000_0000).to_be_bytes()
}

fn load(node: &Arc<Node>, rows: i64) -> Result<Arc<Table>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let database = Change::PutDatabase { name: "d".into(), collation: Collation::default() };
        node.change(vec![database, Change::PutTable(sbtest(node.next_table_id()))]).await?;
        let table = node_table(node);
        let mut transaction = Transaction::new(Arc::clone(node));
        for start in (0..rows).step_by(1000) {
            transaction.begin(Isolation::RepeatableRead);
            let mut encoded = Vec::with_capacity(1000);
            for id in start..start + 1000 {
                let values =
                    [Value::Int(id), Value::Int(id / 2), Value::Str(vec![b'c'; 119]), Value::Str(vec![b'p'; 59])];
                let mut row = Vec::new();
                table.layout.encode(&values, &TimeZone::UTC, &mut row)?;
                encoded.push(row);
            }
            transaction.insert_many(&table, &encoded, false).await?;
            transaction.commit().await?;
        }
        Ok(table)
    })
}

/// sysbench's table.
fn sbtest(id: TableId) -> TableSchema {
    let integer = SqlType { length: 11, ..SqlType::new(BaseType::Int) };
    let text = |length| SqlType { length, collation: Collation::default(), ..SqlType::new(BaseType::Char) };
    let columns = [("id", integer.clone()), ("k", integer), ("c", text(120)), ("pad", text(60))];
    let column = |(name, sql_type): (&str, SqlType)| Column::new(name, sql_type);
    let index = |id, name: &str, column| Index::new(IndexId(id), name, &[column], id == 0, IndexMethod::BTree);
    TableSchema {
        id,
        version: 1,
        database: "d".into(),
        name: "sbtest".into(),
        columns: columns.map(column).into(),
        indexes: vec![index(0, "PRIMARY", 0), index(1, "k_1", 1)],
        partition_columns: vec![0],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        past_rows: Vec::new(),
        options: TableOptions::new("NDB", Collation::default()),
    }
}
