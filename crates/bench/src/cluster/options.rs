//! The command line of the cluster benchmark and the plan that it means.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use shoal_testkit::server::find_program;

/// Something that can be measured alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Updates and inserts beside Galera.
    Galera,
    /// One row that all add to, beside Galera with the same durability.
    HotRow,
    /// Reads and mixed work beside an unreplicated MariaDB.
    Mariadb,
    /// An SQL node in a process of its own, beside NDB's figures.
    SqlNode,
    /// Nodes killed with SIGKILL.
    Kill,
    /// Nodes paused with SIGSTOP.
    Pause,
    /// Nodes that come back, with their directory and without.
    Rejoin,
}

pub const ALL: [Part; 7] =
    [Part::Galera, Part::HotRow, Part::Mariadb, Part::SqlNode, Part::Kill, Part::Pause, Part::Rejoin];

#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Measure these parts only; all of them when absent.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Client threads of the rows beside Galera.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 32])]
    threads: Vec<u32>,
    /// Runs of each server in each row; the median counts [default: 3].
    #[arg(long)]
    runs: Option<u32>,
    /// Seconds a run [default: 5].
    #[arg(long)]
    time: Option<u64>,
    /// Rows of sysbench's table [default: 1000000].
    #[arg(long)]
    rows: Option<u64>,
    /// Nodes that are killed, and nodes that are paused [default: 20].
    #[arg(long)]
    trials: Option<u32>,
    /// Megabytes of rows that a node has to get back [default: 1000].
    #[arg(long)]
    rejoin_megabytes: Option<u64>,
    /// At most five minutes: 100,000 rows, one run of two seconds, 4 trials, 50 MB.
    #[arg(long)]
    quick: bool,
    /// The server under test.
    #[arg(long, default_value = "target/dist/shoal")]
    shoal_binary: PathBuf,
    /// Where the servers' temporary folders are made; the disk that the logs are written to counts.
    #[arg(long)]
    work_dir: Option<PathBuf>,
    /// Results go to OUT.md and OUT.json [default: bench/results/cluster, or .../cluster-quick].
    #[arg(long)]
    out: Option<PathBuf>,
}

/// What will be run.
#[derive(Debug)]
pub struct Plan {
    pub parts: Vec<Part>,
    pub threads: Vec<u32>,
    pub runs: u32,
    pub time: Duration,
    pub rows: u64,
    pub trials: u32,
    pub rejoin_bytes: u64,
    pub shoal_binary: PathBuf,
    pub work_dir: PathBuf,
    pub out: PathBuf,
}

impl Options {
    pub fn plan(&self) -> io::Result<Plan> {
        for program in ["sysbench"] {
            if find_program(program).is_none() {
                let error = format!("{program} is not installed; `make bench-cluster` installs it");
                return Err(io::Error::other(error));
            }
        }
        if !self.shoal_binary.is_file() {
            let error =
                format!("there is no {}; build it, or name it with --shoal-binary", self.shoal_binary.display());
            return Err(io::Error::other(error));
        }
        let or =
            |given: Option<u64>, full: u64, quick: u64| given.unwrap_or(if self.quick { quick } else { full });
        let results = if self.quick { "bench/results/cluster-quick" } else { "bench/results/cluster" };
        Ok(Plan {
            parts: if self.only.is_empty() { ALL.to_vec() } else { self.only.clone() },
            threads: self.threads.clone(),
            runs: or(self.runs.map(u64::from), 3, 1).max(1) as u32,
            time: Duration::from_secs(or(self.time, 5, 2).max(1)),
            rows: or(self.rows, 1_000_000, 100_000),
            trials: or(self.trials.map(u64::from), 20, 4).max(1) as u32,
            rejoin_bytes: or(self.rejoin_megabytes, 1000, 50).max(1) * 1_000_000,
            shoal_binary: self.shoal_binary.clone(),
            work_dir: self.work_dir.clone().unwrap_or_else(std::env::temp_dir),
            out: self.out.clone().unwrap_or_else(|| PathBuf::from(results)),
        })
    }
}

impl Plan {
    pub fn takes_part(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}
