//! A server that takes part: started with TLS, loaded, paused, and measured by sysbench or by our own client.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use shoal_testkit::process::{self, Signal};
use shoal_testkit::{Client, Kind, Server, Setup, program};

use super::link::Link;
use super::options::Plan;
use crate::measure::interrupt;
use crate::sysbench::{Figures, Job};
use crate::wire::{self, Compression};

pub const DATABASE: &str = "sbtest";
/// Of clients that come over a line: root comes from the same machine only.
const USER: &str = "wire";
/// What a client may need at its start and end.
const GRACE: Duration = Duration::from_secs(120);
/// Threads of sysbench that two cores have warm in a second.
const THREADS_WARM_PER_S: u64 = 128;
/// More than any part needs.
const CONNECTIONS_MAX: u64 = 30_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Shoal,
    Mariadb,
}

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Who::Shoal => "Shoal",
            Who::Mariadb => "MariaDB",
        }
    }
}

/// What our own client is to do.
#[derive(Clone, Copy)]
pub struct WireJob<'a> {
    pub kind: wire::Kind,
    pub threads: u32,
    pub time: Duration,
    pub compression: Compression,
    pub tls: bool,
    pub resume: bool,
    /// Over this line instead of loopback.
    pub link: Option<&'a Link>,
}

/// What it reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct WireFigures {
    pub per_second: f64,
    pub resumed: u64,
    /// Over the line, compressed as they are there.
    pub bytes_per_event: f64,
}

pub struct Contestant {
    server: Server,
    /// Where `ca.pem` and its kin are; those of Shoal's directory, for both.
    certificates: PathBuf,
    rows: u64,
    is_paused: bool,
}

impl Contestant {
    /// Shoal as `binary` has it; `arguments` are for `shoal dev`.
    pub fn shoal(binary: &Path, arguments: &[&str], plan: &Plan) -> io::Result<Contestant> {
        let mut setup = Setup::new(Kind::Shoal, binary)
            .argument(format!("--set=max_connections={CONNECTIONS_MAX}"))
            .parent(plan.work_dir.clone());
        setup.arguments.extend(plan.shoal_arguments.iter().cloned());
        setup.arguments.extend(arguments.iter().map(ToString::to_string));
        setup.own_process_group = true;
        let server = setup.start()?;
        let certificates = server.data_dir();
        Ok(Contestant { server, certificates, rows: plan.rows, is_paused: false })
    }

    /// MariaDB with the certificate of a running Shoal: it makes none for itself.
    pub fn mariadb(shoal: &Contestant, plan: &Plan) -> io::Result<Contestant> {
        let certificates = shoal.certificates.clone();
        let file = |name: &str| certificates.join(name).display().to_string();
        let mut setup = Setup::mariadb()
            .argument("--innodb-buffer-pool-size=4G")
            .argument("--innodb-flush-log-at-trx-commit=1")
            .argument("--max-connections=5000")
            .argument(format!("--ssl-ca={}", file("ca.pem")))
            .argument(format!("--ssl-cert={}", file("server-cert.pem")))
            .argument(format!("--ssl-key={}", file("server-key.pem")))
            .parent(plan.work_dir.clone());
        setup.own_process_group = true;
        let server = setup.start()?;
        Ok(Contestant { server, certificates, rows: plan.rows, is_paused: false })
    }

    /// Makes sysbench's table, and the account of our own client.
    pub fn load(&self) -> io::Result<()> {
        self.execute(&[
            &format!("CREATE DATABASE {DATABASE}"),
            &format!("CREATE USER {USER}@'%'"),
            &format!("GRANT ALL ON {DATABASE}.* TO {USER}@'%'"),
        ])?;
        self.job("oltp_read_write", 1, &[]).manage("prepare")
    }

    pub fn pause(&mut self) -> io::Result<()> {
        if !self.is_paused {
            self.server.signal(Signal::Pause)?;
            self.is_paused = true;
        }
        Ok(())
    }

    pub fn resume(&mut self) -> io::Result<()> {
        if self.is_paused {
            self.server.signal(Signal::Continue)?;
            self.is_paused = false;
        }
        Ok(())
    }

    pub fn resident(&self) -> io::Result<u64> {
        process::resident_bytes(self.server.process().unwrap_or_default())
    }

    pub fn execute(&self, statements: &[&str]) -> io::Result<()> {
        let mut client = Client::connect(self.server.port()).map_err(io::Error::other)?;
        statements.iter().try_for_each(|sql| client.execute(sql).map(drop).map_err(io::Error::other))
    }

    /// A global status variable.
    pub fn status(&self, name: &str) -> io::Result<f64> {
        let mut client = Client::connect(self.server.port()).map_err(io::Error::other)?;
        let lines = client.text(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).map_err(io::Error::other)?;
        let value = lines.first().and_then(|line| line.split_once(',')?.1.parse().ok());
        value.ok_or_else(|| io::Error::other(format!("no figure for {name}: {lines:?}")))
    }

    /// Where Shoal is looked at by HTTP.
    pub fn http(&self) -> Option<SocketAddr> {
        let printed = self.server.printed();
        let (_, address) = printed.iter().find_map(|line| line.split_once(" http "))?;
        address.split_ascii_whitespace().next()?.parse().ok()
    }

    fn job<'a>(&self, script: &'a str, threads: u32, extra: &'a [&'a str]) -> Job<'a> {
        Job { port: self.server.port(), database: DATABASE, script, threads, rows: self.rows, extra, grace: GRACE }
    }

    /// Queries a second of one of sysbench's scripts.
    pub fn sysbench(&self, script: &str, threads: u32, time: Duration) -> io::Result<f64> {
        // Writers of the same rows.
        let extra = ["--mysql-ignore-errors=1213,1205,1020,1180,1062"];
        self.job(script, threads, &extra).run_warm(warm_up(threads), time).map(per_second)
    }

    /// The same in TLS.
    pub fn sysbench_in_tls(&self, script: &str, threads: u32, time: Duration) -> io::Result<f64> {
        // sysbench takes the files from where it runs; it has this one under a name of its own.
        std::fs::copy(self.certificates.join("ca.pem"), self.certificates.join("cacert.pem"))?;
        self.job(script, threads, &["--mysql-ssl=on"])
            .run_in(Some(&self.certificates), Duration::ZERO, time)
            .map(per_second)
    }

    /// Our own client, at the other end of a line or on this machine.
    pub fn wire(&self, job: WireJob) -> io::Result<WireFigures> {
        let time = job.time.as_secs_f64();
        let mut command = self.wire_command(job.link, job.tls)?;
        command
            .args(["--load", job.kind.name(), "--compression", job.compression.name()])
            .args(["--threads", &job.threads.to_string(), "--time", &time.to_string()])
            .args(["--rows", &self.rows.to_string()]);
        if job.resume {
            command.arg("--resume");
        }
        let output = program::run(command, b"", job.time + GRACE, interrupt::requested)?;
        if !output.status.success() {
            return Err(io::Error::other(output.errors().trim().to_string()));
        }
        let figures: Value = serde_json::from_slice(&output.stdout).map_err(io::Error::other)?;
        let number = |name: &str| figures[name].as_f64().unwrap_or_default();
        let events = number("events");
        Ok(WireFigures {
            per_second: events / number("seconds").max(1e-9),
            resumed: number("resumed") as u64,
            bytes_per_event: number("received_bytes") / events.max(1.0),
        })
    }

    /// This program as a client of this server.
    pub fn wire_command(&self, link: Option<&Link>, tls: bool) -> io::Result<Command> {
        let program = std::env::current_exe()?;
        let port = self.server.port();
        let (mut command, (host, port)) = match link {
            Some(link) => (link.command(&program), link.address_of(port)?),
            None => (Command::new(program), ("127.0.0.1".into(), port)),
        };
        command.args(["wire", "--host", &host, "--port", &port.to_string()]);
        command.args(["--user", USER, "--database", DATABASE]);
        if tls {
            command.arg("--tls-authority").arg(self.certificates.join("ca.pem"));
        }
        Ok(command)
    }
}

impl Drop for Contestant {
    /// A paused process would keep its signals waiting.
    fn drop(&mut self) {
        let _ = self.resume();
    }
}

fn warm_up(threads: u32) -> Duration {
    Duration::from_secs(u64::from(threads) / THREADS_WARM_PER_S)
}

fn per_second(figures: Figures) -> f64 {
    figures.queries as f64 / figures.seconds
}
