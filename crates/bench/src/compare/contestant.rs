//! A server that takes part in the comparison: started, prepared, paused, measured.

use std::io;
use std::time::{Duration, Instant};

use shoal_testkit::process::{self, Signal};
use shoal_testkit::{Client, Kind, Server, Setup};

use super::options::{Plan, Who};
use super::workload::{Tables, Workload};
use crate::sysbench::{Figures, Job};

const DATABASE: &str = "sbtest";
/// bulk_insert makes `sbtest1` ... of its own.
const BULK_DATABASE: &str = "sbbulk";

/// What sysbench may need at its start and end: a server that is flushing its backlog answers late.
const GRACE: Duration = Duration::from_secs(120);

pub struct Contestant {
    pub who: Who,
    server: Server,
    paused: bool,
    prepared: bool,
}

/// One run of one server.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub figures: Figures,
    /// CPU time of the server's process during the run.
    pub server_cpu: Duration,
}

/// What the table costs in memory and in time to start.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    pub start_empty: Duration,
    pub start_loaded: Option<Duration>,
    pub resident_empty: u64,
    pub resident_loaded: u64,
    pub resident_restarted: u64,
    pub prepare: Duration,
    /// `SHOW STATUS LIKE 'Shoal_memory%'`, where the server has it.
    pub memory_status: Vec<(String, String)>,
}

impl Contestant {
    pub fn start(who: Who, plan: &Plan) -> io::Result<Contestant> {
        let mut setup = match who {
            Who::Mariadb => Setup::mariadb()
                .argument("--innodb-buffer-pool-size=4G")
                .argument("--innodb-flush-log-at-trx-commit=1")
                .argument("--max-connections=2000"),
            Who::Shoal => Setup::new(Kind::Shoal, plan.shoal_binary.clone()),
            Who::Canned => Setup::new(Kind::Other, std::env::current_exe()?).argument("canned"),
        };
        if who == Who::Shoal {
            setup.arguments.extend(plan.shoal_arguments.iter().cloned());
        }
        setup.own_process_group = true;
        let server = setup.parent(plan.work_dir.clone()).start()?;
        Ok(Contestant { who, server, paused: false, prepared: false })
    }

    pub fn pause(&mut self) -> io::Result<()> {
        if !self.paused && self.server.is_running() {
            self.server.signal(Signal::Pause)?;
            self.paused = true;
        }
        Ok(())
    }

    pub fn resume(&mut self) -> io::Result<()> {
        if self.paused {
            self.server.signal(Signal::Continue)?;
            self.paused = false;
        }
        Ok(())
    }

    /// Why the server cannot be measured now, after one attempt to bring it back.
    pub fn revive(&mut self, plan: &Plan) -> io::Result<()> {
        if self.server.is_running() {
            return Ok(());
        }
        self.paused = false;
        if self.server.restart().is_err() {
            *self = Contestant::start(self.who, plan)?;
        }
        self.prepared = false;
        Ok(())
    }

    pub fn is_running(&mut self) -> bool {
        self.server.is_running()
    }

    pub fn log(&self) -> String {
        self.server.log()
    }

    /// Fills the table for the first time and takes the footprint on the way.
    pub fn load(&mut self, plan: &Plan) -> io::Result<Footprint> {
        let mut footprint = Footprint {
            start_empty: self.server.started_in(),
            resident_empty: self.resident()?,
            ..Footprint::default()
        };
        if self.who == Who::Canned {
            self.prepared = true;
            return Ok(footprint);
        }
        footprint.prepare = self.prepare(plan)?;
        footprint.resident_loaded = self.resident()?;
        footprint.memory_status = self.memory_status().unwrap_or_default();
        self.server.stop()?;
        self.server.restart()?;
        footprint.start_loaded = Some(self.server.started_in());
        footprint.resident_restarted = self.resident()?;
        Ok(footprint)
    }

    /// Makes the session's table anew.
    pub fn prepare(&mut self, plan: &Plan) -> io::Result<Duration> {
        let mut client = self.client()?;
        for database in [DATABASE, BULK_DATABASE] {
            execute(&mut client, &format!("CREATE DATABASE IF NOT EXISTS {database}"))?;
        }
        execute(&mut client, &format!("DROP TABLE IF EXISTS {DATABASE}.sbtest1"))?;
        let started = Instant::now();
        self.job("oltp_read_write", DATABASE, 1, plan.rows, &[]).manage("prepare")?;
        self.prepared = true;
        Ok(started.elapsed())
    }

    /// One run, with whatever the workload needs around it.
    pub fn measure(&mut self, workload: &Workload, threads: u32, plan: &Plan) -> io::Result<Run> {
        let fresh = workload.tables == Tables::FreshPerRun;
        if self.who != Who::Canned && (fresh || !self.prepared) {
            self.prepare(plan)?;
        }
        let own_tables = workload.tables == Tables::OwnPerThread;
        let database = if own_tables { BULK_DATABASE } else { DATABASE };
        let job = self.job(workload.script, database, threads, plan.rows, workload.extra);
        if own_tables {
            job.manage("prepare")?;
        }
        let process = self.server.process().unwrap_or_default();
        let before = process::cpu_time(process)?;
        let figures = job.run(plan.time);
        let after = process::cpu_time(process);
        if own_tables {
            job.manage("cleanup")?;
        }
        Ok(Run { figures: figures?, server_cpu: after?.saturating_sub(before) })
    }

    fn job<'a>(
        &self,
        script: &'a str,
        database: &'a str,
        threads: u32,
        rows: u64,
        extra: &'a [&'a str],
    ) -> Job<'a> {
        Job { port: self.server.port(), database, script, threads, rows, extra, grace: GRACE }
    }

    fn client(&self) -> io::Result<Client> {
        Client::connect(self.server.port()).map_err(io::Error::other)
    }

    fn resident(&self) -> io::Result<u64> {
        process::resident_bytes(self.server.process().unwrap_or_default())
    }

    fn memory_status(&self) -> io::Result<Vec<(String, String)>> {
        let rows = self.client()?.query("SHOW STATUS LIKE 'Shoal_memory%'").map_err(io::Error::other)?;
        let pair = |row: &Vec<_>| match row.as_slice() {
            [name, value, ..] => Some((ToString::to_string(name), ToString::to_string(value))),
            _ => None,
        };
        Ok(rows.rows.iter().filter_map(pair).collect())
    }
}

impl Drop for Contestant {
    /// A paused process would keep its signals waiting.
    fn drop(&mut self) {
        let _ = self.resume();
    }
}

fn execute(client: &mut Client, sql: &str) -> io::Result<()> {
    client.execute(sql).map(|_| ()).map_err(io::Error::other)
}
