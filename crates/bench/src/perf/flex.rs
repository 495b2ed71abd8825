//! `shoal bench flex`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::measure::latency::{Latencies, QUANTILES};
use crate::measure::page::{Bar, Curve, Page};
use crate::measure::progress::Progress;
use crate::measure::results;
use clap::Args;
use serde_json::json;
use shoal_client::{Client, Error, Result, Session, Table, Update, Value};

use crate::perf::outputs::Outputs;
use crate::perf::{Where, define, told};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Where,

    #[command(flatten)]
    outputs: Outputs,

    /// Threads of the client
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    threads: u64,

    /// Transactions that each thread has under way at a time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=4096))]
    parallel: u64,

    /// Rows of a transaction
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=4096))]
    batch: u64,

    /// How long each kind of work is measured; deletes may end earlier
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Insert,
    Update,
    Read,
    Delete,
}

const WORKS: [(Work, &str); 4] =
    [(Work::Insert, "insert"), (Work::Update, "update"), (Work::Read, "read"), (Work::Delete, "delete")];
const TABLE: [&str; 3] = [
    "CREATE DATABASE IF NOT EXISTS shoal_bench",
    "DROP TABLE IF EXISTS shoal_bench.flex",
    "CREATE TABLE shoal_bench.flex (id BIGINT NOT NULL, v INT NOT NULL, \
     w INT NOT NULL, PRIMARY KEY (id) USING HASH)",
];

/// What all transactions of one kind of work share.
struct Shared {
    table: Table,
    work: Work,
    batch: u64,
    until: Instant,
    /// Batches that were begun.
    begun: AtomicU64,
    /// Batches that are in the table, once inserts are over.
    inserted: u64,
    rows: AtomicU64,
    /// Transactions that were rolled back for reasons that pass: a deadlock, another leader.
    again: AtomicU64,
    /// Of transactions that ended well, by thread: a histogram for every job would drive everything else out of the caches.
    latencies: Vec<Mutex<Latencies>>,
}

/// What one kind of work came to.
struct Figure {
    name: &'static str,
    rows_per_second: f64,
    latencies: Latencies,
}

/// What Shoal is held to with 4 threads x 64 transactions of one row: rows a second.
const GOALS: [(&str, f64); 3] = [("insert", 200_000.0), ("update", 200_000.0), ("read", 600_000.0)];

/// Commits as MySQL Cluster makes them: in the memory of all replicas. Settings that are given win.
const DURABILITY: &str = "CommitDurability=replicated";

/// Deadlock, and "got temporary error".
const PASSING: [u16; 2] = [1213, 1297];

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let measured = options.place.find_or_start(&[DURABILITY])?;
    define(&measured.mysql, &TABLE)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let figures = runtime.block_on(measure(options, &measured.address)).map_err(told)?;
    let how = format!(
        "{} threads x {} transactions of {} row(s): rows a second, and microseconds of a transaction",
        options.threads, options.parallel, options.batch
    );
    println!("{how}");
    for row in table(&figures) {
        println!("{:<8}{}", row[0], row[1..].iter().map(|cell| format!("{cell:>12}")).collect::<String>());
    }
    for row in goals(options, &figures) {
        println!("{:<8}{:>12}{:>12}  {}", row[0], row[1], row[2], row[3]);
    }
    let list = figures.iter().map(|figure| {
        json!({
            "op": figure.name,
            "rows_per_second": figure.rows_per_second.round(),
            "transaction_us": figure.latencies.json(),
        })
    });
    options.outputs.write(&list.collect(), || page(&how, &figures, &goals(options, &figures)))
}

/// What is held against the goals, under a head; nothing for other loads than theirs.
fn goals(options: &Options, figures: &[Figure]) -> Vec<Vec<String>> {
    if (options.threads, options.parallel, options.batch) != (4, 64, 1) {
        return Vec::new();
    }
    let head = ["goal", "rows/s", "reached", ""].map(str::to_owned).to_vec();
    let line = |(name, goal): (&str, f64)| {
        let reached = figures.iter().find(|figure| figure.name == name)?.rows_per_second;
        let verdict = results::verdict(reached >= goal);
        Some(vec![name.into(), format!(">= {goal:.0}"), format!("{reached:.0}"), verdict.into()])
    };
    std::iter::once(head).chain(GOALS.into_iter().filter_map(line)).collect()
}

/// The head, and a line for every kind of work.
fn table(figures: &[Figure]) -> Vec<Vec<String>> {
    let head = ["", "rows/s"].into_iter().chain(QUANTILES.map(|(name, _)| name)).map(str::to_owned).collect();
    let line = |figure: &Figure| {
        let micros = figure.latencies.quantiles().into_iter().map(|(_, micros)| format!("{micros:.0}"));
        [figure.name.to_owned(), format!("{:.0}", figure.rows_per_second)].into_iter().chain(micros).collect()
    };
    std::iter::once(head).chain(figures.iter().map(line)).collect()
}

fn page(how: &str, figures: &[Figure], goals: &[Vec<String>]) -> String {
    let mut page = Page::new("Many parallel transactions", how);
    let rows = table(figures);
    page.table(&rows[0], &rows[1..]);
    if let [head, lines @ ..] = goals {
        page.table(head, lines);
    }
    let bar = |figure: &Figure| Bar {
        name: figure.name.into(),
        length: figure.rows_per_second,
        text: format!("{:.0} rows/s", figure.rows_per_second),
        is_own: true,
    };
    page.bars(&figures.iter().map(bar).collect::<Vec<_>>());
    let curve = |figure: &Figure| Curve {
        name: figure.name.into(),
        figures: figure.latencies.quantiles().into_iter().map(|(_, micros)| micros).collect(),
    };
    page.curves(&QUANTILES.map(|(name, _)| name), "us", &figures.iter().map(curve).collect::<Vec<_>>());
    page.into_html()
}

async fn measure(options: &Options, address: &str) -> Result<Vec<Figure>> {
    let client_options = shoal_client::Options {
        workers: options.threads as usize,
        jobs_max: options.parallel as usize,
        ..shoal_client::Options::default()
    };
    let client = Client::connect(address, client_options).await?;
    let table = client.table("shoal_bench", "flex")?;
    let progress = Progress::new(WORKS.len() as u64);
    let (mut figures, mut inserted) = (Vec::new(), 0);
    for (work, name) in WORKS {
        progress.doing(name);
        let shared = Arc::new(Shared {
            table: table.clone(),
            work,
            batch: options.batch,
            until: Instant::now() + Duration::from_secs_f64(options.seconds.max(0.01)),
            begun: AtomicU64::new(0),
            inserted,
            rows: AtomicU64::new(0),
            again: AtomicU64::new(0),
            latencies: (0..options.threads).map(|_| Mutex::default()).collect(),
        });
        let start = Instant::now();
        let mut jobs = tokio::task::JoinSet::new();
        for number in 0..options.threads * options.parallel {
            let (client, shared) = (client.clone(), Arc::clone(&shared));
            let worker = (number % options.threads) as usize;
            jobs.spawn(async move {
                client.run_on(worker, move |session| transactions(session, shared, worker)).await
            });
        }
        while let Some(ended) = jobs.join_next().await {
            ended.map_err(|error| Error::unknown(format!("a job has failed: {error}")))??;
        }
        figures.push(Figure {
            name,
            rows_per_second: shared.rows.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64(),
            latencies: shared.latencies.iter().fold(Latencies::default(), |mut all, one| {
                all.add(&one.lock().unwrap_or_else(PoisonError::into_inner));
                all
            }),
        });
        let again = shared.again.load(Ordering::Relaxed);
        if again > 0 {
            progress.say(&format!("{name}: {again} transaction(s) were rolled back and not counted"));
        }
        if work == Work::Insert {
            inserted = shared.begun.load(Ordering::Relaxed);
        }
        progress.step();
    }
    progress.end();
    Ok(figures)
}

/// One transaction after the other, in the thread with that number.
async fn transactions(session: Session, shared: Arc<Shared>, worker: usize) -> Result<()> {
    let count_up = Update::new().add("v", 1);
    loop {
        let start = Instant::now();
        if start >= shared.until {
            return Ok(());
        }
        let number = shared.begun.fetch_add(1, Ordering::Relaxed);
        if shared.work == Work::Delete && number >= shared.inserted {
            return Ok(());
        }
        let batch = if shared.inserted == 0 { number } else { number % shared.inserted };
        let ids = (batch * shared.batch..(batch + 1) * shared.batch).map(|id| Value::Int(id as i64));
        let keys = |ids: &mut dyn Iterator<Item = Value>| ids.map(|id| vec![id]).collect::<Vec<_>>();
        let mut ids = ids;
        let done = match shared.work {
            Work::Insert => {
                let rows: Vec<Vec<Value>> = ids.map(|id| vec![id, Value::Int(0), Value::Int(1)]).collect();
                session.insert_many(&shared.table, &[], &rows).await.map(|_| shared.batch)
            }
            Work::Update => session.update_many(&shared.table, &keys(&mut ids), &count_up).await,
            Work::Read => {
                let found = session.get_many(&shared.table, &keys(&mut ids)).await;
                found.map(|rows| rows.iter().flatten().count() as u64)
            }
            Work::Delete => session.delete_many(&shared.table, &keys(&mut ids)).await,
        };
        match done {
            Ok(rows) => {
                let mut latencies = shared.latencies[worker].lock().unwrap_or_else(PoisonError::into_inner);
                latencies.record(start.elapsed());
                shared.rows.fetch_add(rows, Ordering::Relaxed)
            }
            Err(error) if PASSING.contains(&error.errno()) => shared.again.fetch_add(1, Ordering::Relaxed),
            Err(error) => return Err(error),
        };
    }
}
