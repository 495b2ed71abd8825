//! `shoal bench flex`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use shoal_client::{Client, Error, Result, Session, Table, Update, Value};

use crate::{Where, definitions, told};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Where,

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
}

/// Deadlock, and "got temporary error".
const PASSING: [u16; 2] = [1213, 1297];

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let measured = options.place.find()?;
    definitions::execute(&measured.mysql, &TABLE)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let rates = runtime.block_on(measure(options, &measured.address)).map_err(told)?;
    println!(
        "{} threads x {} transactions of {} row(s), rows a second:",
        options.threads, options.parallel, options.batch
    );
    for (name, rate) in &rates {
        println!("{name:<10}{rate:>12.0}");
    }
    let list = rates.iter().map(|(name, rate)| json!({ "op": name, "rows_per_second": rate.round() }));
    options.place.write_json(&list.collect())
}

async fn measure(options: &Options, address: &str) -> Result<Vec<(&'static str, f64)>> {
    let client_options = shoal_client::Options {
        workers: options.threads as usize,
        jobs_max: options.parallel as usize,
        ..shoal_client::Options::default()
    };
    let client = Client::connect(address, client_options).await?;
    let table = client.table("shoal_bench", "flex")?;
    let style = ProgressStyle::with_template("{bar:30} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(WORKS.len() as u64).with_style(style);
    let (mut rates, mut inserted) = (Vec::new(), 0);
    for (work, name) in WORKS {
        bar.set_message(name);
        let shared = Arc::new(Shared {
            table: table.clone(),
            work,
            batch: options.batch,
            until: Instant::now() + Duration::from_secs_f64(options.seconds.max(0.01)),
            begun: AtomicU64::new(0),
            inserted,
            rows: AtomicU64::new(0),
            again: AtomicU64::new(0),
        });
        let start = Instant::now();
        let mut jobs = tokio::task::JoinSet::new();
        for number in 0..options.threads * options.parallel {
            let (client, shared) = (client.clone(), Arc::clone(&shared));
            let worker = (number % options.threads) as usize;
            jobs.spawn(async move { client.run_on(worker, move |session| transactions(session, shared)).await });
        }
        while let Some(ended) = jobs.join_next().await {
            ended.map_err(|error| Error::unknown(format!("a job has failed: {error}")))??;
        }
        rates.push((name, shared.rows.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()));
        let again = shared.again.load(Ordering::Relaxed);
        if again > 0 {
            eprintln!("{name}: {again} transaction(s) were rolled back and not counted");
        }
        if work == Work::Insert {
            inserted = shared.begun.load(Ordering::Relaxed);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(rates)
}

/// One transaction after the other.
async fn transactions(session: Session, shared: Arc<Shared>) -> Result<()> {
    let count_up = Update::new().add("v", 1);
    while Instant::now() < shared.until {
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
            Ok(rows) => shared.rows.fetch_add(rows, Ordering::Relaxed),
            Err(error) if PASSING.contains(&error.errno()) => shared.again.fetch_add(1, Ordering::Relaxed),
            Err(error) => return Err(error),
        };
    }
    Ok(())
}
