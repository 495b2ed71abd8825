//! `shoal bench read-perf`.

use std::time::{Duration, Instant};

use crate::measure::latency::{Latencies, QUANTILES};
use crate::measure::page::{Bar, Curve, Page};
use crate::measure::progress::Progress;
use crate::measure::results;
use clap::Args;
use serde_json::json;
use shoal_client::Transporter;

use crate::perf::outputs::Outputs;
use crate::perf::ways::{HandlerSocket, Native, Operation, Place, Sql, Way};
use crate::perf::{Measured, Where, define};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Where,

    #[command(flatten)]
    outputs: Outputs,

    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    rows: u64,

    /// Keys of a batch, and rows of a range
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=4096))]
    batch: u64,

    /// Rounds over all ways in; the median counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,

    /// How long each way to read is measured in each round
    #[arg(long, value_name = "SECONDS", default_value_t = 0.7)]
    seconds: f64,

    /// Transporters of the native client, and other doors, to measure
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "tcp,unix,shm,sql,handlersocket")]
    transport: Vec<Transport>,

    /// Where the running cluster takes HandlerSocket clients; without it that door is left out
    #[arg(long, value_name = "HOST:PORT", requires = "connect")]
    handlersocket: Option<std::net::SocketAddr>,
}

/// A way in. The first three are the native client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Transport {
    Tcp,
    Unix,
    Shm,
    /// Prepared statements over TCP.
    Sql,
    Handlersocket,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Unix => "unix",
            Transport::Shm => "shm",
            Transport::Sql => "sql",
            Transport::Handlersocket => "handlersocket",
        }
    }
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

/// What Shoal is held to over TCP and shared memory, with 100 keys a batch: microseconds a row.
const GOALS: [(&str, Transport, f64); 9] = [
    ("serial pk", Transport::Tcp, 20.0),
    ("batch pk", Transport::Tcp, 1.5),
    ("serial unique", Transport::Tcp, 30.0),
    ("batch unique", Transport::Tcp, 3.0),
    ("index eq-bound", Transport::Tcp, 25.0),
    ("index range", Transport::Tcp, 0.5),
    ("ordered index range", Transport::Tcp, 0.5),
    ("filtered scan", Transport::Tcp, 1.0),
    ("serial pk", Transport::Shm, 8.0),
];

/// One way to read over one way in.
struct Figure {
    operation: &'static str,
    transport: Transport,
    /// Of each round.
    micros_per_row: Vec<f64>,
    /// Of calls, each for as many rows as it yields.
    latencies: Latencies,
}

impl Figure {
    fn micros(&self) -> f64 {
        results::median(self.micros_per_row.iter().copied()).unwrap_or(f64::NAN)
    }
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let measured = options.place.find()?;
    define(&measured.mysql, &TABLE)?;
    let progress =
        Progress::new(u64::from(options.runs) * (options.transport.len() * OPERATIONS.len()) as u64 + 1);
    progress.doing("rows");
    native(&measured, Transporter::default())?.fill(options.rows, ROWS_PER_INSERT)?;
    progress.step();
    let mut figures: Vec<Figure> = Vec::new();
    let mut next = 0;
    for round in 0..options.runs {
        for &transport in &options.transport {
            let Some(mut way) = way_in(options, &measured, transport)? else {
                if round == 0 {
                    progress.say(&format!("{} is left out: no address for it was given", transport.name()));
                }
                continue;
            };
            for (operation, name) in OPERATIONS {
                progress.doing(format!("{name}, {}", transport.name()));
                let (micros_per_row, latencies) = measure(options, way.as_mut(), operation, &mut next)?;
                match figures.iter_mut().find(|figure| (figure.operation, figure.transport) == (name, transport)) {
                    Some(figure) => {
                        figure.micros_per_row.push(micros_per_row);
                        figure.latencies.add(&latencies);
                    }
                    None => figures.push(Figure {
                        operation: name,
                        transport,
                        micros_per_row: vec![micros_per_row],
                        latencies,
                    }),
                }
                progress.step();
            }
        }
    }
    progress.end();
    let report = Report { options, figures: &figures };
    print!("{}", report.text());
    options.outputs.write(&report.json(), || report.page())
}

fn native(measured: &Measured, transporter: Transporter) -> Result<Native, String> {
    Native::connect(&measured.address, shoal_client::Options { transporter, ..shoal_client::Options::default() })
}

/// `None`: nobody knows where it is.
fn way_in(options: &Options, measured: &Measured, transport: Transport) -> Result<Option<Box<dyn Way>>, String> {
    let transporter = match transport {
        Transport::Tcp => Transporter::Tcp,
        Transport::Unix => Transporter::Unix,
        Transport::Shm => Transporter::SharedMemory,
        Transport::Sql => return Ok(Some(Box::new(Sql::connect(&measured.mysql, options.batch)?))),
        Transport::Handlersocket => {
            let started = measured.started.as_ref().and_then(|cluster| cluster.handlersocket());
            return match options.handlersocket.or(started) {
                Some(address) => Ok(Some(Box::new(HandlerSocket::connect(address)?))),
                None => Ok(None),
            };
        }
    };
    Ok(Some(Box::new(native(measured, transporter)?)))
}

/// Microseconds a row, and how long calls took.
fn measure(
    options: &Options,
    way: &mut dyn Way,
    operation: Operation,
    next: &mut u64,
) -> Result<(f64, Latencies), String> {
    let mut step = || {
        // A step that has no factor in common with the row counts that people choose.
        *next = (*next + 7919) % options.rows;
        way.read(operation, Place { first: *next, rows: options.rows, batch: options.batch })
    };
    // What the first read has to fetch or to set up is not measured.
    step()?;
    let time = Duration::from_secs_f64(options.seconds.max(0.01));
    let (mut latencies, mut rows) = (Latencies::default(), 0);
    let start = Instant::now();
    let mut now = start;
    while now - start < time {
        rows += step()?;
        let end = Instant::now();
        latencies.record(end - now);
        now = end;
    }
    Ok(((now - start).as_secs_f64() * 1e6 / rows.max(1) as f64, latencies))
}

struct Report<'a> {
    options: &'a Options,
    figures: &'a [Figure],
}

impl Report<'_> {
    fn figure(&self, operation: &str, transport: Transport) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.operation == operation && figure.transport == transport)
    }

    /// One line an operation, one column a way in.
    fn table(&self, show: impl Fn(&Figure) -> f64) -> Vec<Vec<String>> {
        let cell = |operation: &str, transport: Transport| {
            self.figure(operation, transport).map_or("-".into(), |figure| format!("{:.2}", show(figure)))
        };
        let line = |(_, name): &(Operation, &str)| {
            let cells = self.options.transport.iter().map(|&transport| cell(name, transport));
            std::iter::once((*name).to_owned()).chain(cells).collect()
        };
        OPERATIONS.iter().map(line).collect()
    }

    fn head(&self, unit: &str) -> Vec<String> {
        let names = self.options.transport.iter().map(|transport| transport.name().to_owned());
        std::iter::once(unit.to_owned()).chain(names).collect()
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (unit, rows) in [
            ("us a row", self.table(Figure::micros)),
            ("us a call, p50", self.table(|figure| figure.latencies.micros(0.5))),
            ("us a call, p99", self.table(|figure| figure.latencies.micros(0.99))),
        ] {
            for row in std::iter::once(self.head(unit)).chain(rows) {
                text += &format!("{:<22}", row[0]);
                row[1..].iter().for_each(|cell| text += &format!("{cell:>14}"));
                text.push('\n');
            }
            text.push('\n');
        }
        for row in self.goals() {
            text += &format!("{:<22}{:>14}{:>14}{:>14}{:>14}\n", row[0], row[1], row[2], row[3], row[4]);
        }
        text
    }

    /// What is held against the goals, under a head; nothing if none of it was measured.
    fn goals(&self) -> Vec<Vec<String>> {
        let head = ["goal", "transport", "us a row", "reached", ""].map(str::to_owned).to_vec();
        let line = |&(operation, transport, goal): &(&str, Transport, f64)| {
            let reached = self.figure(operation, transport)?.micros();
            let verdict = results::verdict(reached <= goal).to_owned();
            let name = transport.name().to_owned();
            Some(vec![operation.into(), name, format!("<= {goal}"), format!("{reached:.2}"), verdict])
        };
        let lines: Vec<Vec<String>> = GOALS.iter().filter_map(line).collect();
        if lines.is_empty() { lines } else { std::iter::once(head).chain(lines).collect() }
    }

    fn json(&self) -> serde_json::Value {
        let figure = |figure: &Figure| {
            json!({
                "op": figure.operation,
                "transport": figure.transport.name(),
                "us_per_row": (figure.micros() * 1000.0).round() / 1000.0,
                "call_us": figure.latencies.json(),
            })
        };
        self.figures.iter().map(figure).collect()
    }

    fn page(&self) -> String {
        let how = format!(
            "Microseconds a row, and percentiles of calls. {} rows, batches and ranges of {}, one client thread, medians of {} rounds of {} s each. tcp, unix and shm \
             are transporters of the native client, sql is prepared statements, in handlersocket batches are sent at once.",
            self.options.rows, self.options.batch, self.options.runs, self.options.seconds
        );
        let mut page = Page::new("Reads", &how);
        page.table(&self.head("us a row"), &self.table(Figure::micros));
        if let [head, lines @ ..] = self.goals().as_slice() {
            page.table(head, lines);
        }
        let places = QUANTILES.map(|(name, _)| name);
        for (_, operation) in OPERATIONS {
            let figures: Vec<&Figure> =
                self.options.transport.iter().filter_map(|&transport| self.figure(operation, transport)).collect();
            page.heading(operation);
            let bar = |figure: &&Figure| Bar {
                name: figure.transport.name().into(),
                length: figure.micros(),
                text: format!("{:.2} us a row", figure.micros()),
                is_own: true,
            };
            page.bars(&figures.iter().map(bar).collect::<Vec<_>>());
            let curve = |figure: &&Figure| Curve {
                name: figure.transport.name().into(),
                figures: figure.latencies.quantiles().into_iter().map(|(_, micros)| micros).collect(),
            };
            page.curves(&places, "us", &figures.iter().map(curve).collect::<Vec<_>>());
        }
        page.into_html()
    }
}
