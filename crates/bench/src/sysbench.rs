//! Runs sysbench and reads its report.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use shoal_testkit::program;

use crate::measure::interrupt;

/// One sysbench command against one server.
pub struct Job<'a> {
    pub port: u16,
    pub database: &'a str,
    pub script: &'a str,
    pub threads: u32,
    pub rows: u64,
    pub extra: &'a [&'a str],
    /// This much on top of the time of the run, and sysbench is taken for hung.
    pub grace: Duration,
}

/// The figures of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    pub queries: u64,
    pub events: u64,
    pub ignored_errors: u64,
    /// The time that sysbench counted.
    pub seconds: f64,
    /// The time until sysbench had ended, last buffers flushed.
    pub wall_seconds: f64,
    /// Latency of an event that 95 % stayed below.
    pub p95_ms: f64,
}

impl Job<'_> {
    /// `prepare` or `cleanup`.
    pub fn manage(&self, what: &str) -> io::Result<()> {
        self.sysbench(&[], what, None, Duration::from_secs(900)).map(|_| ())
    }

    pub fn run(&self, time: Duration) -> io::Result<Figures> {
        self.run_in(None, Duration::ZERO, time)
    }

    /// Counts from so many whole seconds after the start on: each thread of sysbench compiles its script first, which takes many of them a while.
    pub fn run_warm(&self, warm_up: Duration, time: Duration) -> io::Result<Figures> {
        self.run_in(None, warm_up, time)
    }

    /// `folder`: where sysbench runs; it looks for the files of TLS there.
    pub fn run_in(&self, folder: Option<&Path>, warm_up: Duration, time: Duration) -> io::Result<Figures> {
        let all = warm_up + time;
        let mut options = vec![format!("--time={}", all.as_secs()), "--events=0".to_owned()];
        if !warm_up.is_zero() {
            options.push(format!("--report-checkpoints={}", warm_up.as_secs()));
        }
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let started = Instant::now();
        let output = self.sysbench(&options, "run", folder, all + self.grace)?;
        let mut figures =
            parse(&output).ok_or_else(|| io::Error::other(format!("sysbench printed no figures:\n{output}")))?;
        figures.seconds -= warm_up.as_secs_f64();
        figures.wall_seconds = started.elapsed().as_secs_f64();
        Ok(figures)
    }

    fn sysbench(
        &self,
        more: &[&str],
        what: &str,
        folder: Option<&Path>,
        deadline: Duration,
    ) -> io::Result<String> {
        let mut command = Command::new("sysbench");
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        command
            .args(["--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=root"])
            .arg(format!("--mysql-port={}", self.port))
            .arg(format!("--mysql-db={}", self.database))
            .arg(format!("--threads={}", self.threads))
            .arg(self.script);
        // bulk_insert takes no options of the oltp scripts.
        if self.script != "bulk_insert" {
            command.args(["--tables=1", &format!("--table-size={}", self.rows)]);
        }
        command.args(self.extra).args(more).arg(what);
        run_to_end(command, deadline)
            .map_err(|error| io::Error::other(format!("sysbench {} {what}: {error}", self.script)))
    }
}

fn run_to_end(command: Command, deadline: Duration) -> io::Result<String> {
    let output = program::run(command, b"", deadline, interrupt::requested)?;
    let text = output.text() + &output.errors();
    match output.status.success() {
        true => Ok(text),
        false => Err(io::Error::other(first_complaint(&text))),
    }
}

fn first_complaint(output: &str) -> String {
    output
        .lines()
        .find(|line| line.contains("FATAL") || line.contains("error"))
        .or(output.lines().last())
        .unwrap_or("no output")
        .trim()
        .to_string()
}

/// The figures of a run, or of its part behind the last checkpoint.
fn parse(output: &str) -> Option<Figures> {
    let output = &output[output.rfind("SQL statistics:")?..];
    let field = |name: &str| {
        output.lines().find_map(|line| {
            let value = line.trim().strip_prefix(name)?.trim();
            value.split_whitespace().next().map(str::to_string)
        })
    };
    Some(Figures {
        queries: field("queries:")?.parse().ok()?,
        events: field("total number of events:")?.parse().ok()?,
        ignored_errors: field("ignored errors:")?.parse().ok()?,
        seconds: field("total time:")?.trim_end_matches('s').parse().ok()?,
        wall_seconds: 0.0,
        p95_ms: field("95th percentile:")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
SQL statistics:
    queries performed:
        read:                            147890
        total:                           147890
    transactions:                        147890 (29574.63 per sec.)
    queries:                             147890 (29574.63 per sec.)
    ignored errors:                      2      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          5.0003s
    total number of events:              147890

Latency (ms):
         min:                                    0.02
         95th percentile:                        0.04
         sum:                                 4968.33
";

    #[test]
    fn a_report_is_read() {
        let figures = parse(REPORT).unwrap();
        assert_eq!(figures.queries, 147_890);
        assert_eq!(figures.ignored_errors, 2);
        assert_eq!(figures.seconds, 5.0003);
        assert_eq!(figures.p95_ms, 0.04);
        assert_eq!(parse("sysbench 1.0.20"), None);
        let warm_up = REPORT.replace("147890", "17");
        assert_eq!(parse(&format!("[ 2s ] Checkpoint report:\n{warm_up}{REPORT}")), Some(figures));
    }

    #[test]
    fn the_first_complaint_is_reported() {
        let output = "sysbench 1.0.20\nFATAL: unable to connect\nFATAL: thread#0 failed\n";
        assert_eq!(first_complaint(output), "FATAL: unable to connect");
    }
}
