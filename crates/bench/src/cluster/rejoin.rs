//! A node comes back under load: with its directory, so that the tail of the log is enough, and without, so that it gets
//! every row from the other node.
//!
//! sysbench updates rows all the time through the other node and reports every second. The pace of the copy counts from
//! when the supervisor starts the process again until the management node says that the replicas have everything.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use shoal_testkit::process::{self, Signal};
use shoal_testkit::{Client, program};

use super::Outcome;
use super::nodes::{Cluster, Durability, Node, connect_within};
use super::options::{Part, Plan};
use crate::measure::progress::Progress;
use crate::measure::{interrupt, results};

const DATABASE: &str = "sbtest";
/// sbtest: two INTs, and digits that fill 119 of CHAR(120) and 59 of CHAR(60).
const BYTES_PER_ROW: u64 = 4 + 4 + 119 + 59;
/// Tables are loaded side by side.
const TABLES: u64 = 4;
const THREADS: u32 = 8;
const LOAD_PATIENCE: Duration = Duration::from_secs(300);
/// `shoal dev` starts a node again after so long.
const RESTART_AFTER: Duration = Duration::from_secs(2);
const BACK_WITHIN: Duration = Duration::from_secs(240);
/// A leader for every partition, and reading every row.
const SUMS_WITHIN: Duration = Duration::from_secs(60);
/// Share of the throughput that must be left meanwhile.
pub const SHARE_MIN: f64 = 0.7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    WithDirectory,
    WithoutDirectory,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Way::WithDirectory => "with its directory (log tail)",
            Way::WithoutDirectory => "without its directory (all rows)",
        }
    }
}

/// How one node came back.
pub struct Rejoin {
    pub way: Way,
    pub bytes: u64,
    /// Queries a second before the node went, and from its start until it had caught up.
    pub before_per_second: f64,
    pub meanwhile_per_second: f64,
    /// From the start of the process until its replicas had everything.
    pub took: Duration,
    pub failure: Option<String>,
}

impl Rejoin {
    pub fn share(&self) -> Option<f64> {
        Some(self.meanwhile_per_second / self.before_per_second).filter(|share| share.is_finite())
    }

    /// Of a log tail there is nothing to say: its length is that of the absence.
    pub fn megabytes_per_second(&self) -> Option<f64> {
        let seconds = self.took.as_secs_f64();
        (self.way == Way::WithoutDirectory && seconds > 0.0).then(|| self.bytes as f64 / 1e6 / seconds)
    }

    pub fn verdict(&self) -> &'static str {
        match (&self.failure, self.share()) {
            (Some(_), _) => "FAILED",
            (None, Some(share)) => results::verdict(share >= SHARE_MIN),
            (None, None) => "incomplete",
        }
    }
}

/// Steps of the progress bar.
pub fn steps(plan: &Plan) -> u64 {
    if plan.takes_part(Part::Rejoin) { 3 } else { 0 }
}

pub fn measure(plan: &Plan, progress: &Progress, outcome: &mut Outcome) {
    progress.doing(format!("rejoin: loading {} MB", plan.rejoin_bytes / 1_000_000));
    let mut cluster = match loaded(plan) {
        Ok(cluster) => cluster,
        Err(error) => return outcome.failures.push(format!("no node could be made to rejoin: {error}")),
    };
    progress.step();
    for way in [Way::WithDirectory, Way::WithoutDirectory] {
        if interrupt::requested() {
            return;
        }
        progress.doing(format!("rejoin {}", way.name()));
        let mut rejoin = Rejoin {
            way,
            bytes: plan.rejoin_bytes,
            before_per_second: 0.0,
            meanwhile_per_second: 0.0,
            took: Duration::ZERO,
            failure: None,
        };
        if let Err(error) = come_back(&mut cluster, plan, &mut rejoin) {
            rejoin.failure = Some(format!("{error}; {}", cluster.log_ends()));
        }
        progress.step();
        progress.say(&summary(&rejoin));
        let failed = rejoin.failure.is_some();
        outcome.rejoins.push(rejoin);
        if failed {
            return;
        }
    }
    progress.doing("comparing what came back");
    if let Err(error) = copies_agree(&mut cluster) {
        outcome.failures.push(format!("the copy of the node that came back: {error}; {}", cluster.log_ends()));
        if let Some(rejoin) = outcome.rejoins.last_mut() {
            rejoin.failure = Some(error.to_string());
        }
    }
}

/// With the other node dead, the one that came back has the same rows.
fn copies_agree(cluster: &mut Cluster) -> io::Result<()> {
    let nodes = cluster.data_nodes();
    let [stays, goes] = nodes.as_slice() else {
        return Err(cluster.misses_a_node());
    };
    let expected = sums(goes)?;
    cluster.kill(stays.id)?;
    let found = sums(goes)?;
    match expected == found {
        true => Ok(()),
        false => Err(io::Error::other(format!("before the other node died {expected:?}, after that {found:?}"))),
    }
}

/// Count and checksums of every table, asked for until they are told.
fn sums(node: &Node) -> io::Result<Vec<String>> {
    let port = node.port.ok_or_else(|| io::Error::other(format!("node {} serves no MySQL clients", node.id)))?;
    let started = Instant::now();
    let sum = |client: &mut Client, table: u64| {
        client.text(&format!("SELECT COUNT(*), SUM(k), SUM(CRC32(c)) FROM {DATABASE}.sbtest{table}"))
    };
    loop {
        let mut client = connect_within(port, SUMS_WITHIN)?;
        let sums: Result<Vec<_>, _> = (1..=TABLES).map(|table| sum(&mut client, table)).collect();
        match sums {
            Ok(sums) => return Ok(sums.concat()),
            Err(error) if started.elapsed() > SUMS_WITHIN => return Err(io::Error::other(error)),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn loaded(plan: &Plan) -> io::Result<Cluster> {
    let cluster = Cluster::start(&plan.shoal_binary, &plan.work_dir, Durability::Disk, 1)?;
    cluster.wait_until_balanced(BACK_WITHIN)?;
    let port = cluster.port()?;
    let mut client = Client::connect(port).map_err(io::Error::other)?;
    client.execute(&format!("CREATE DATABASE {DATABASE}")).map_err(io::Error::other)?;
    let mut command = sysbench(port, plan);
    command.arg(format!("--threads={TABLES}")).arg("prepare");
    let output = program::run(command, b"", LOAD_PATIENCE, interrupt::requested)?;
    match output.status.success() {
        true => Ok(cluster),
        false => {
            let said = output.text() + &output.errors();
            Err(io::Error::other(format!("sysbench prepare: {said}; {}", cluster.log_ends())))
        }
    }
}

fn sysbench(port: u16, plan: &Plan) -> Command {
    let mut command = Command::new("sysbench");
    command
        .args(["--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=root", "--mysql-ignore-errors=all"])
        .arg(format!("--mysql-port={port}"))
        .arg(format!("--mysql-db={DATABASE}"))
        .arg("oltp_update_non_index")
        .arg(format!("--tables={TABLES}"))
        .arg(format!("--table-size={}", plan.rejoin_bytes / BYTES_PER_ROW / TABLES));
    command
}

fn come_back(cluster: &mut Cluster, plan: &Plan, rejoin: &mut Rejoin) -> io::Result<()> {
    let nodes = cluster.data_nodes();
    let [_, goes] = nodes.as_slice() else {
        return Err(cluster.misses_a_node());
    };
    cluster.wait_until_balanced(BACK_WITHIN)?;
    let load = Load::start(cluster.port()?, plan)?;
    let base = plan.time.max(Duration::from_secs(4));
    wait(base + Duration::from_secs(1))?;
    // The first second is for warming up.
    rejoin.before_per_second = load.per_second(load.started + Duration::from_secs(1), Instant::now());
    let killed = Instant::now();
    cluster.kill(goes.id)?;
    if rejoin.way == Way::WithoutDirectory {
        wait_until_gone(goes.process)?;
        fs::remove_dir_all(cluster.data_dir_of(goes.id))?;
    }
    let back = killed + RESTART_AFTER;
    cluster.wait_until_back(goes.id, goes.process, BACK_WITHIN)?;
    cluster.wait_until_caught_up(BACK_WITHIN)?;
    rejoin.took = back.elapsed();
    // A short return still gets a full second of the load's report.
    wait(Duration::from_secs(2).saturating_sub(rejoin.took))?;
    rejoin.meanwhile_per_second = load.per_second(back, Instant::now());
    Ok(())
}

fn wait(time: Duration) -> io::Result<()> {
    let deadline = Instant::now() + time;
    while Instant::now() < deadline {
        if interrupt::requested() {
            return Err(io::Error::other("interrupted"));
        }
        thread::sleep(Duration::from_millis(20).min(deadline.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

/// A killed process may go on writing until the kernel has taken it down.
fn wait_until_gone(process: u32) -> io::Result<()> {
    let deadline = Instant::now() + RESTART_AFTER;
    while process::resident_bytes(process).is_ok() {
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("process {process} does not go away")));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// sysbench in the background. Its report of each second is kept with the time when it came.
struct Load {
    child: Child,
    started: Instant,
    seconds: Arc<Mutex<Vec<(Instant, f64)>>>,
}

impl Load {
    fn start(port: u16, plan: &Plan) -> io::Result<Load> {
        let mut command = sysbench(port, plan);
        command.arg(format!("--threads={THREADS}")).args([
            "--time=3600",
            "--events=0",
            "--report-interval=1",
            "run",
        ]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let seconds: Arc<Mutex<Vec<(Instant, f64)>>> = Arc::default();
        if let Some(out) = child.stdout.take() {
            let seconds = Arc::clone(&seconds);
            thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    if let (Some(rate), Ok(mut seconds)) = (rate_of_line(&line), seconds.lock()) {
                        seconds.push((Instant::now(), rate));
                    }
                }
            });
        }
        Ok(Load { child, started: Instant::now(), seconds })
    }

    /// The mean of the seconds that lie in this time with their larger part.
    fn per_second(&self, from: Instant, to: Instant) -> f64 {
        let half = Duration::from_millis(500);
        let Ok(seconds) = self.seconds.lock() else { return 0.0 };
        let inside = seconds.iter().filter(|(end, _)| *end > from + half && *end <= to + half);
        let rates: Vec<f64> = inside.map(|(_, rate)| *rate).collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = process::signal(self.child.id(), Signal::Kill);
        let _ = self.child.wait();
    }
}

/// `[ 3s ] thds: 8 tps: 5150.11 qps: 5150.11 (r/w/o: ...) lat (ms,95%): 2.1 err/s: 0.00 reconn/s: 0.00`
fn rate_of_line(line: &str) -> Option<f64> {
    let (_, rest) = line.strip_prefix("[ ")?.split_once(" qps: ")?;
    rest.split_whitespace().next()?.parse().ok()
}

fn summary(rejoin: &Rejoin) -> String {
    match &rejoin.failure {
        Some(failure) => format!("rejoin {}: {failure}", rejoin.way.name()),
        None => format!(
            "rejoin {}: {:.1} s, {:.0} q/s before, {:.0} q/s meanwhile",
            rejoin.way.name(),
            rejoin.took.as_secs_f64(),
            rejoin.before_per_second,
            rejoin.meanwhile_per_second
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_read_from_a_line_of_the_report() {
        let line =
            "[ 3s ] thds: 8 tps: 515.11 qps: 5150.25 (r/w/o: 0.00/5150.25/0.00) lat (ms,95%): 2.10 err/s: 0.00";
        assert_eq!(rate_of_line(line), Some(5150.25));
        assert_eq!(rate_of_line("Threads started!"), None);
    }

    #[test]
    fn a_rejoin_that_costs_too_much_misses_its_goal() {
        let rejoin = |meanwhile| Rejoin {
            way: Way::WithoutDirectory,
            bytes: 100_000_000,
            before_per_second: 1000.0,
            meanwhile_per_second: meanwhile,
            took: Duration::from_secs(2),
            failure: None,
        };
        assert_eq!(rejoin(700.0).verdict(), "met");
        assert_eq!(rejoin(699.0).verdict(), "missed");
        assert_eq!(rejoin(700.0).megabytes_per_second(), Some(50.0));
    }
}
