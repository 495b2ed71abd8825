//! The command line of the comparison and the plan that it means.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use shoal_testkit::server::find_program;

use super::workload::{self, Workload};

/// A server that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Who {
    Mariadb,
    Shoal,
    Canned,
}

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Who::Mariadb => "MariaDB",
            Who::Shoal => "Shoal",
            Who::Canned => "canned",
        }
    }
}

#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Take part: may be given several times; all three when absent.
    #[arg(long = "server", value_enum, value_delimiter = ',')]
    servers: Vec<Who>,
    /// Run these workloads only (see `--list`).
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Client threads.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 64])]
    threads: Vec<u32>,
    /// Runs of each server in each row; the median counts [default: 3].
    #[arg(long)]
    runs: Option<u32>,
    /// Seconds a run [default: 5].
    #[arg(long)]
    time: Option<u64>,
    /// Rows of the table [default: 1000000].
    #[arg(long)]
    rows: Option<u64>,
    /// About four minutes: 100,000 rows, one run of two seconds.
    #[arg(long)]
    quick: bool,
    /// The server under test.
    #[arg(long, default_value = "target/dist/shoal")]
    shoal_binary: PathBuf,
    /// An argument for `shoal dev`; may be given several times.
    #[arg(long = "shoal-arg", allow_hyphen_values = true)]
    shoal_arguments: Vec<String>,
    /// Where the servers' temporary folders are made; the disk that the log is written to counts.
    #[arg(long)]
    work_dir: Option<PathBuf>,
    /// Results go to OUT.md and OUT.json [default: bench/results/compare, or .../quick].
    #[arg(long)]
    out: Option<PathBuf>,
    /// Let resting servers go on with their background work instead of pausing them.
    #[arg(long)]
    no_pause: bool,
    /// List the workloads and end.
    #[arg(long)]
    list: bool,
}

/// What will be run.
#[derive(Debug)]
pub struct Plan {
    pub servers: Vec<Who>,
    pub workloads: Vec<&'static Workload>,
    pub threads: Vec<u32>,
    pub runs: u32,
    pub time: Duration,
    pub rows: u64,
    pub quick: bool,
    pub shoal_binary: PathBuf,
    pub shoal_arguments: Vec<String>,
    pub work_dir: PathBuf,
    pub out: PathBuf,
    pub pause: bool,
    /// Why a server that belongs in the table does not take part.
    pub absent: Vec<(Who, String)>,
}

impl Options {
    pub fn plan(&self) -> io::Result<Plan> {
        if self.list {
            for workload in workload::ALL {
                println!("{:<22} sysbench {}", workload.name, workload.script);
            }
            std::process::exit(0);
        }
        let mut plan = Plan {
            servers: match self.servers.as_slice() {
                [] => vec![Who::Mariadb, Who::Shoal, Who::Canned],
                chosen => chosen.to_vec(),
            },
            workloads: self.workloads()?,
            threads: self.threads.clone(),
            runs: self.runs.unwrap_or(if self.quick { 1 } else { 3 }).max(1),
            time: Duration::from_secs(self.time.unwrap_or(if self.quick { 2 } else { 5 }).max(1)),
            rows: self.rows.unwrap_or(if self.quick { 100_000 } else { 1_000_000 }),
            quick: self.quick,
            shoal_binary: self.shoal_binary.clone(),
            shoal_arguments: self.shoal_arguments.clone(),
            work_dir: self.work_dir.clone().unwrap_or_else(std::env::temp_dir),
            out: self.out.clone().unwrap_or_else(|| {
                PathBuf::from("bench/results").join(if self.quick { "quick" } else { "compare" })
            }),
            pause: !self.no_pause,
            absent: Vec::new(),
        };
        plan.check_programs()?;
        Ok(plan)
    }

    fn workloads(&self) -> io::Result<Vec<&'static Workload>> {
        if self.only.is_empty() {
            return Ok(workload::ALL.iter().collect());
        }
        let find = |name: &String| {
            workload::find(name).ok_or_else(|| io::Error::other(format!("no workload `{name}`; try --list")))
        };
        self.only.iter().map(find).collect()
    }
}

impl Plan {
    pub fn takes_part(&self, who: Who) -> bool {
        self.servers.contains(&who)
    }

    fn check_programs(&mut self) -> io::Result<()> {
        if find_program("sysbench").is_none() {
            return Err(io::Error::other("sysbench is not installed; `make bench` installs it"));
        }
        for who in [Who::Mariadb, Who::Shoal, Who::Canned] {
            let missing = match who {
                _ if !self.takes_part(who) => Some("not asked for".to_string()),
                Who::Mariadb if find_program("mariadbd").is_none() => {
                    Some("mariadb-server is not installed".to_string())
                }
                Who::Shoal if !self.shoal_binary.is_file() => {
                    Some(format!("there is no {}", self.shoal_binary.display()))
                }
                _ => None,
            };
            if let Some(reason) = missing {
                self.servers.retain(|other| *other != who);
                self.absent.push((who, reason));
            }
        }
        match self.servers.is_empty() {
            true => Err(io::Error::other("no server is left to measure")),
            false => Ok(()),
        }
    }
}
