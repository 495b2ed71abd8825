//! `shoal bench read-perf`.

use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use shoal_client::{Filter, LocalClient, Result, Scan, Table, Transporter, Value};

use crate::{Where, definitions, told};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Where,

    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    rows: u64,

    /// Keys of a batch, and rows of a range
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=4096))]
    batch: u64,

    /// How long each way to read is measured
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,

    /// Transporters to measure
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "tcp,unix,shm")]
    transport: Vec<Transport>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Transport {
    Tcp,
    Unix,
    Shm,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Unix => "unix",
            Transport::Shm => "shm",
        }
    }

    fn transporter(self) -> Transporter {
        match self {
            Transport::Tcp => Transporter::Tcp,
            Transport::Unix => Transporter::Unix,
            Transport::Shm => Transporter::SharedMemory,
        }
    }
}

/// A way to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    SerialPrimary,
    BatchPrimary,
    SerialUnique,
    BatchUnique,
    IndexEqual,
    IndexRange,
    OrderedRange,
    FilteredScan,
}

const OPERATIONS: [(Operation, &str); 8] = [
    (Operation::SerialPrimary, "serial pk"),
    (Operation::BatchPrimary, "batch pk"),
    (Operation::SerialUnique, "serial unique"),
    (Operation::BatchUnique, "batch unique"),
    (Operation::IndexEqual, "index eq-bound"),
    (Operation::IndexRange, "index range"),
    (Operation::OrderedRange, "ordered index range"),
    (Operation::FilteredScan, "filtered scan"),
];

const TABLE: [&str; 3] = [
    "CREATE DATABASE IF NOT EXISTS shoal_bench",
    "DROP TABLE IF EXISTS shoal_bench.read_perf",
    "CREATE TABLE shoal_bench.read_perf (id INT NOT NULL PRIMARY KEY, u INT NOT NULL, k INT NOT NULL, \
     pad CHAR(40) NOT NULL, UNIQUE KEY u (u), KEY k (k))",
];
const ROWS_PER_INSERT: u64 = 1000;

struct Bench<'a> {
    client: &'a LocalClient,
    table: Table,
    rows: u64,
    batch: u64,
    /// Where in the table the next reads are.
    next: u64,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let measured = options.place.find()?;
    definitions::execute(&measured.mysql, &TABLE)?;
    let steps = (options.transport.len() * OPERATIONS.len()) as u64 + 1;
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(steps).with_style(style);
    let mut figures = Vec::new();
    for (number, &transport) in options.transport.iter().enumerate() {
        let client_options =
            shoal_client::Options { transporter: transport.transporter(), ..shoal_client::Options::default() };
        let client = LocalClient::connect(&measured.address, client_options).map_err(told)?;
        let table = client.table("shoal_bench", "read_perf").map_err(told)?;
        let mut bench = Bench { client: &client, table, rows: options.rows, batch: options.batch, next: 0 };
        if number == 0 {
            bar.set_message("rows");
            bench.fill().map_err(told)?;
            bar.inc(1);
        }
        for (operation, name) in OPERATIONS {
            bar.set_message(format!("{name}, {}", transport.name()));
            let micros = bench.measure(operation, Duration::from_secs_f64(options.seconds.max(0.01)));
            figures.push((name, transport, micros.map_err(told)?));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    print!("{}", report(options, &figures));
    let list = figures.iter().map(|(name, transport, micros)| {
        json!({ "op": name, "transport": transport.name(), "us_per_row": (micros * 1000.0).round() / 1000.0 })
    });
    options.place.write_json(&list.collect())
}

fn report(options: &Options, figures: &[(&str, Transport, f64)]) -> String {
    let mut text = format!("{:<22}", "us a row");
    for transport in &options.transport {
        text += &format!("{:>10}", transport.name());
    }
    text.push('\n');
    for (_, name) in OPERATIONS {
        text += &format!("{name:<22}");
        for transport in &options.transport {
            let of = |(one, way, _): &&(&str, Transport, f64)| *one == name && way == transport;
            match figures.iter().find(of) {
                Some((_, _, micros)) => text += &format!("{micros:>10.2}"),
                None => text += &format!("{:>10}", "-"),
            }
        }
        text.push('\n');
    }
    text
}

impl Bench<'_> {
    fn fill(&self) -> Result<()> {
        let number = |value: u64| Value::Int(value as i64);
        self.client.block_on(async {
            let mut start = 0;
            while start < self.rows {
                let end = self.rows.min(start + ROWS_PER_INSERT);
                let row =
                    |id: u64| vec![number(id), number(id), number(id), Value::str(format!("row number {id}"))];
                let rows: Vec<Vec<Value>> = (start..end).map(row).collect();
                self.client.insert_many(&self.table, &[], &rows).await?;
                start = end;
            }
            Ok(())
        })
    }

    /// Microseconds a row.
    fn measure(&mut self, operation: Operation, time: Duration) -> Result<f64> {
        // What the first read has to fetch or to set up is not measured.
        self.client.block_on(self.step(operation))?;
        let (start, mut rows) = (Instant::now(), 0);
        while start.elapsed() < time {
            rows += self.client.block_on(self.step(operation))?;
        }
        Ok(start.elapsed().as_secs_f64() * 1e6 / rows.max(1) as f64)
    }

    /// Reads once, and counts the rows.
    async fn step(&mut self, operation: Operation) -> Result<u64> {
        // A step that has no factor in common with the row counts that people choose.
        self.next = (self.next + 7919) % self.rows;
        let (client, table) = (self.client, &self.table);
        let one = |place: u64| vec![Value::Int((place % self.rows) as i64)];
        let many = || (0..self.batch).map(|step| one(self.next + step * 31)).collect::<Vec<_>>();
        let last = (self.next + self.batch).min(self.rows) - 1;
        let range = || Scan::new().index("k").from(one(self.next)).up_to(one(last));
        let found = match operation {
            Operation::SerialPrimary => usize::from(client.get(table, &one(self.next)).await?.is_some()),
            Operation::BatchPrimary => client.get_many(table, &many()).await?.iter().flatten().count(),
            Operation::SerialUnique => {
                usize::from(client.get_unique(table, "u", &one(self.next)).await?.is_some())
            }
            Operation::BatchUnique => client.get_unique_many(table, "u", &many()).await?.iter().flatten().count(),
            Operation::IndexEqual => {
                client.scan(table, &Scan::new().index("k").equal(one(self.next))).await?.len()
            }
            Operation::IndexRange => client.scan(table, &range()).await?.len(),
            Operation::OrderedRange => client.scan(table, &range().ordered()).await?.len(),
            Operation::FilteredScan => {
                // A row in a hundred passes; what is measured are the rows that are looked at.
                let filter = Filter::less("k", (self.rows / 100) as i64);
                client.scan(table, &Scan::new().filter(filter).columns(&["id"])).await?;
                self.rows as usize
            }
        };
        Ok(found as u64)
    }
}
