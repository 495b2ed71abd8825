//! The same load through the native client: a connection is a job that does one batch after the other, and a batch is one operation.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use crate::measure::latency::Latencies;
use shoal_client::{Client, Error, Options, Session, Table, Value};

use super::door::{self, DATABASE, Door, TABLE};
use super::load::{Figures, Job, Keys, THREADS};

/// Runs a job on the cluster of this management node.
///
/// # Errors
/// An operation fails, or a row is not what it should be.
pub fn run(address: &str, job: &Job) -> io::Result<Figures> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(address, *job)).map_err(|error| io::Error::other(error.to_string()))
}

async fn measure(address: &str, job: Job) -> shoal_client::Result<Figures> {
    let threads = job.connections.min(THREADS);
    let client = Client::connect(address, Options { workers: threads, ..Options::default() }).await?;
    let table = client.table(DATABASE, TABLE)?;
    let all_are_here = Arc::new(tokio::sync::Barrier::new(job.connections));
    let mut connections = tokio::task::JoinSet::new();
    for number in 0..job.connections {
        let (client, table, barrier) = (client.clone(), table.clone(), Arc::clone(&all_are_here));
        let batches = move |session| async move {
            let mut batches =
                Batches { session, table, job, keys: Keys::new(&job, number), checks: job.door.tells_value() };
            while let Err(error) = batches.run().await {
                // As in `measure`: batches may wait for each other's rows.
                if !error.rolls_back_transaction() {
                    return Err(error);
                }
            }
            barrier.wait().await;
            batches.measure().await
        };
        connections.spawn(async move { client.run_on(number % threads, batches).await });
    }
    let mut all: Option<Figures> = None;
    while let Some(ended) = connections.join_next().await {
        let one = ended.map_err(|error| Error::unknown(format!("a connection has failed: {error}")))??;
        all = Some(match all {
            Some(all) => all.and(one),
            None => one,
        });
    }
    all.ok_or_else(|| Error::unknown("no connections"))
}

struct Batches {
    session: Session,
    table: Table,
    job: Job,
    keys: Keys,
    /// The next row is compared with what it should be.
    checks: bool,
}

impl Batches {
    async fn measure(&mut self) -> shoal_client::Result<Figures> {
        let (mut operations, mut latencies) = (0, Latencies::default());
        let start = Instant::now();
        let mut now = start;
        while now - start < self.job.time {
            let done = self.run().await;
            let end = Instant::now();
            match done {
                Ok(()) => {
                    latencies.record(end - now);
                    operations += self.job.depth as u64;
                }
                // Batches may wait for each other's rows; one of them is rolled back, and not counted.
                Err(error) if error.rolls_back_transaction() => {}
                Err(error) => return Err(error),
            }
            now = end;
        }
        Ok(Figures { operations, took: now - start, latencies })
    }

    /// One batch.
    async fn run(&mut self) -> shoal_client::Result<()> {
        let mut keys: Vec<u32> = (0..self.job.depth).map(|_| self.keys.next()).collect();
        // Rows are locked in one order by all.
        keys.sort_unstable();
        let id = |key: u32| Value::UInt(u64::from(key));
        let value = |key: u32| {
            let mut value = Vec::with_capacity(door::VALUE_BYTES);
            door::append_value(key, self.job.generation, &mut value);
            Value::str(value)
        };
        let ids = || keys.iter().map(|&key| vec![id(key)]).collect::<Vec<_>>();
        let found = match self.job.door {
            Door::NativeInsert => {
                let rows: Vec<_> = keys.iter().map(|&key| vec![id(key), value(key)]).collect();
                self.session.insert_many(&self.table, &[], &rows).await?;
                rows.len() as u64
            }
            Door::NativeUpdate => {
                // Whole rows, each with a value of its own.
                let rows: Vec<_> = keys.iter().map(|&key| vec![id(key), value(key)]).collect();
                self.session.put_many(&self.table, &[], &rows).await?;
                rows.len() as u64
            }
            _ if keys.len() == 1 => u64::from(
                self.session
                    .get(&self.table, &[id(keys[0])])
                    .await?
                    .is_some_and(|row| self.is_right(keys[0], &row)),
            ),
            _ => {
                let rows = self.session.get_many(&self.table, &ids()).await?;
                let right = keys
                    .iter()
                    .zip(&rows)
                    .filter(|(key, row)| row.as_ref().is_some_and(|row| self.is_right(**key, row)));
                right.count() as u64
            }
        };
        self.checks = false;
        match found == keys.len() as u64 {
            true => Ok(()),
            false => Err(Error::unknown(format!("{found} of {} rows are what they should be", keys.len()))),
        }
    }

    fn is_right(&self, key: u32, row: &shoal_client::Row) -> bool {
        if !self.checks {
            return true;
        }
        let Some(Value::Str(found)) = row.get("v") else { return false };
        super::load::is_value_of(key, &self.job, &found)
    }
}
