//! The ways into a cluster that `read_perf` sets side by side: the native client, SQL, HandlerSocket.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use shoal_client::{Filter, LocalClient, Scan, Table, Value};
use shoal_testkit::client::{self, Statement};

use crate::perf::{log_in, told};

pub(crate) const DATABASE: &str = "shoal_bench";
pub(crate) const TABLE: &str = "read_perf";
/// Of the filtered scan: one row in so many passes.
const ROWS_PER_MATCH: u64 = 100;
const PATIENCE: Duration = Duration::from_secs(60);

/// A way to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    SerialPrimary,
    BatchPrimary,
    SerialUnique,
    BatchUnique,
    IndexEqual,
    IndexRange,
    OrderedRange,
    FilteredScan,
}

/// Where in the table a step reads.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub first: u64,
    /// Of the table.
    pub rows: u64,
    /// Keys of a batch, rows of a range.
    pub batch: u64,
}

impl Place {
    fn keys(self) -> impl Iterator<Item = u64> {
        (0..self.batch).map(move |step| (self.first + step * 31) % self.rows)
    }

    fn last(self) -> u64 {
        (self.first + self.batch).min(self.rows) - 1
    }

    fn filtered_below(self) -> u64 {
        self.rows / ROWS_PER_MATCH
    }
}

pub(crate) trait Way {
    /// Reads once, and counts the rows: those that were looked at, if they are filtered.
    fn read(&mut self, operation: Operation, place: Place) -> Result<u64, String>;
}

// ---- The native client ----

pub(crate) struct Native {
    client: LocalClient,
    table: Table,
}

impl Native {
    pub fn connect(address: &str, options: shoal_client::Options) -> Result<Native, String> {
        let client = LocalClient::connect(address, options).map_err(told)?;
        let table = client.table(DATABASE, TABLE).map_err(told)?;
        Ok(Native { client, table })
    }

    pub fn fill(&self, rows: u64, rows_per_insert: u64) -> Result<(), String> {
        let number = |value: u64| Value::Int(value as i64);
        let row = |id: u64| vec![number(id), number(id), number(id), Value::str(format!("row number {id}"))];
        for start in (0..rows).step_by(rows_per_insert as usize) {
            let rows: Vec<Vec<Value>> = (start..rows.min(start + rows_per_insert)).map(row).collect();
            self.client.block_on(self.client.insert_many(&self.table, &[], &rows)).map_err(told)?;
        }
        Ok(())
    }
}

impl Way for Native {
    fn read(&mut self, operation: Operation, place: Place) -> Result<u64, String> {
        let (client, table) = (&self.client, &self.table);
        let one = |key: u64| vec![Value::Int(key as i64)];
        let many = || place.keys().map(one).collect::<Vec<_>>();
        let range = || Scan::new().index("k").from(one(place.first)).up_to(one(place.last()));
        let read = async {
            let found = match operation {
                Operation::SerialPrimary => usize::from(client.get(table, &one(place.first)).await?.is_some()),
                Operation::BatchPrimary => client.get_many(table, &many()).await?.iter().flatten().count(),
                Operation::SerialUnique => {
                    usize::from(client.get_unique(table, "u", &one(place.first)).await?.is_some())
                }
                Operation::BatchUnique => {
                    client.get_unique_many(table, "u", &many()).await?.iter().flatten().count()
                }
                Operation::IndexEqual => {
                    client.scan(table, &Scan::new().index("k").equal(one(place.first))).await?.len()
                }
                Operation::IndexRange => client.scan(table, &range()).await?.len(),
                Operation::OrderedRange => client.scan(table, &range().ordered()).await?.len(),
                Operation::FilteredScan => {
                    let filter = Filter::less("k", place.filtered_below() as i64);
                    client.scan(table, &Scan::new().filter(filter).columns(&["id"])).await?;
                    place.rows as usize
                }
            };
            Ok(found as u64)
        };
        client.block_on(read).map_err(|error: shoal_client::Error| told(error))
    }
}

// ---- SQL ----

/// Prepared statements over one connection.
pub(crate) struct Sql {
    client: shoal_testkit::Client,
    primary: Statement,
    primary_batch: Statement,
    unique: Statement,
    unique_batch: Statement,
    equal: Statement,
    range: Statement,
    ordered: Statement,
    filtered: Statement,
}

impl Sql {
    pub fn connect(address: &str, batch: u64) -> Result<Sql, String> {
        let mut client = log_in(address)?;
        let marks = vec!["?"; batch as usize].join(",");
        let mut prepare = |condition: &str| {
            client.prepare(&format!("SELECT * FROM {DATABASE}.{TABLE} WHERE {condition}")).map_err(told)
        };
        let (primary, primary_batch) = (prepare("id = ?")?, prepare(&format!("id IN ({marks})"))?);
        let (unique, unique_batch) = (prepare("u = ?")?, prepare(&format!("u IN ({marks})"))?);
        let (equal, range) = (prepare("k = ?")?, prepare("k BETWEEN ? AND ?")?);
        let ordered = prepare("k BETWEEN ? AND ? ORDER BY k")?;
        // An expression, so that no index is asked.
        let filtered =
            client.prepare(&format!("SELECT id FROM {DATABASE}.{TABLE} WHERE k + 0 < ?")).map_err(told)?;
        Ok(Sql { client, primary, primary_batch, unique, unique_batch, equal, range, ordered, filtered })
    }
}

impl Way for Sql {
    fn read(&mut self, operation: Operation, place: Place) -> Result<u64, String> {
        let int = |number: u64| client::Value::Int(number as i64);
        let keys = || place.keys().map(int).collect::<Vec<_>>();
        let ends = || vec![int(place.first), int(place.last())];
        let (statement, values) = match operation {
            Operation::SerialPrimary => (&self.primary, vec![int(place.first)]),
            Operation::BatchPrimary => (&self.primary_batch, keys()),
            Operation::SerialUnique => (&self.unique, vec![int(place.first)]),
            Operation::BatchUnique => (&self.unique_batch, keys()),
            Operation::IndexEqual => (&self.equal, vec![int(place.first)]),
            Operation::IndexRange => (&self.range, ends()),
            Operation::OrderedRange => (&self.ordered, ends()),
            Operation::FilteredScan => (&self.filtered, vec![int(place.filtered_below())]),
        };
        let reply = self.client.run_statement(statement, &values).and_then(|reply| reply.rows()).map_err(told)?;
        Ok(if operation == Operation::FilteredScan { place.rows } else { reply.rows.len() as u64 })
    }
}

// ---- HandlerSocket ----

/// The open indexes.
const PRIMARY: u8 = 1;
const UNIQUE: u8 = 2;
const ORDINARY: u8 = 3;
const FILTERED: u8 = 4;
/// Of rows of the indexes that are read whole.
const COLUMNS: u64 = 4;

/// Lines over one connection; batches are sent at once.
pub(crate) struct HandlerSocket {
    stream: TcpStream,
    answers: BufReader<TcpStream>,
    requests: String,
    line: String,
}

impl HandlerSocket {
    pub fn connect(address: SocketAddr) -> Result<HandlerSocket, String> {
        let connected = TcpStream::connect(address).and_then(|stream| {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok((stream.try_clone()?, stream))
        });
        let (reading, stream) = connected.map_err(|error| format!("{address}: {error}"))?;
        let mut way = HandlerSocket {
            stream,
            answers: BufReader::new(reading),
            requests: String::new(),
            line: String::new(),
        };
        for (number, index, columns) in [
            (PRIMARY, "PRIMARY", "id,u,k,pad"),
            (UNIQUE, "u", "id,u,k,pad"),
            (ORDINARY, "k", "id,u,k,pad"),
            (FILTERED, "PRIMARY", "id\tk"),
        ] {
            // Writing into a string cannot fail.
            let _ = writeln!(way.requests, "P\t{number}\t{DATABASE}\t{TABLE}\t{index}\t{columns}");
            way.ask(1)?;
        }
        Ok(way)
    }

    /// Sends the requests and counts the values in their answers.
    fn ask(&mut self, requests: u64) -> Result<u64, String> {
        self.stream.write_all(self.requests.as_bytes()).map_err(told)?;
        self.requests.clear();
        let mut values = 0;
        for _ in 0..requests {
            self.line.clear();
            self.answers.read_line(&mut self.line).map_err(told)?;
            if !self.line.starts_with("0\t") || !self.line.ends_with('\n') {
                return Err(format!("HandlerSocket has answered {:?}", self.line));
            }
            // The code and the number of columns come first.
            values += self.line.bytes().filter(|&byte| byte == b'\t').count() as u64 - 1;
        }
        Ok(values)
    }
}

impl Way for HandlerSocket {
    fn read(&mut self, operation: Operation, place: Place) -> Result<u64, String> {
        let (index, keys): (u8, Vec<u64>) = match operation {
            Operation::SerialPrimary => (PRIMARY, vec![place.first]),
            Operation::BatchPrimary => (PRIMARY, place.keys().collect()),
            Operation::SerialUnique => (UNIQUE, vec![place.first]),
            Operation::BatchUnique => (UNIQUE, place.keys().collect()),
            Operation::IndexEqual => (ORDINARY, vec![place.first]),
            // There is one kind of range here, and it is ordered.
            Operation::IndexRange | Operation::OrderedRange => {
                let count = place.last() - place.first + 1;
                let _ = writeln!(self.requests, "{ORDINARY}\t>=\t1\t{}\t{count}\t0", place.first);
                return Ok(self.ask(1)? / COLUMNS);
            }
            Operation::FilteredScan => {
                let below = place.filtered_below();
                let _ = writeln!(self.requests, "{FILTERED}\t>=\t1\t0\t{}\t0\tF\t<\t0\t{below}", place.rows);
                self.ask(1)?;
                return Ok(place.rows);
            }
        };
        for key in &keys {
            let _ = writeln!(self.requests, "{index}\t=\t1\t{key}");
        }
        Ok(self.ask(keys.len() as u64)? / COLUMNS)
    }
}
