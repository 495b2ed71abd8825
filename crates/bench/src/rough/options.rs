//! The command line of the rough loads and the plan that it means.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use shoal_testkit::server::find_program;

use super::loads::{self, Load};

#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Run these loads only (see `--list`).
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Rounds of each server in each row; the median counts [default: 3].
    #[arg(long)]
    rounds: Option<u32>,
    /// Seconds a round of the timed loads [default: 5].
    #[arg(long)]
    time: Option<u64>,
    /// Small sizes, one round of two seconds.
    #[arg(long)]
    quick: bool,
    /// Without MariaDB and Galera.
    #[arg(long)]
    alone: bool,
    /// The server under test.
    #[arg(long, default_value = "target/dist/shoal")]
    shoal_binary: PathBuf,
    /// An argument for `shoal dev`; may be given several times.
    #[arg(long = "shoal-arg", allow_hyphen_values = true)]
    shoal_arguments: Vec<String>,
    /// Where the servers' temporary folders are made; the disk that the log is written to counts.
    #[arg(long)]
    work_dir: Option<PathBuf>,
    /// Results go to OUT.md and OUT.json [default: bench/results/rough, or .../rough-quick].
    #[arg(long)]
    out: Option<PathBuf>,
    /// List the loads and end.
    #[arg(long)]
    list: bool,
}

/// What will be run.
#[derive(Debug)]
pub struct Plan {
    pub loads: Vec<&'static Load>,
    pub rounds: u32,
    pub time: Duration,
    pub quick: bool,
    pub alone: bool,
    pub shoal_binary: PathBuf,
    pub shoal_arguments: Vec<String>,
    pub work_dir: PathBuf,
    pub out: PathBuf,
}

impl Options {
    /// `None`: the loads were to be listed.
    pub fn plan(&self) -> io::Result<Option<Plan>> {
        if self.list {
            loads::ALL.iter().for_each(|load| println!("{:<18} {}", load.name, load.about));
            return Ok(None);
        }
        if !self.shoal_binary.is_file() {
            let error =
                format!("there is no {}; build it, or name it with --shoal-binary", self.shoal_binary.display());
            return Err(io::Error::other(error));
        }
        for program in ["sysbench", "mariadbd"] {
            if !self.alone && find_program(program).is_none() {
                let error =
                    format!("{program} is not installed; `make rough` installs it, --alone does without MariaDB");
                return Err(io::Error::other(error));
            }
        }
        let results = if self.quick { "bench/results/rough-quick" } else { "bench/results/rough" };
        Ok(Some(Plan {
            loads: self.loads()?,
            rounds: self.rounds.unwrap_or(if self.quick { 1 } else { 3 }).max(1),
            time: Duration::from_secs(self.time.unwrap_or(if self.quick { 2 } else { 5 }).max(1)),
            quick: self.quick,
            alone: self.alone,
            shoal_binary: self.shoal_binary.clone(),
            shoal_arguments: self.shoal_arguments.clone(),
            work_dir: self.work_dir.clone().unwrap_or_else(std::env::temp_dir),
            out: self.out.clone().unwrap_or_else(|| PathBuf::from(results)),
        }))
    }

    fn loads(&self) -> io::Result<Vec<&'static Load>> {
        let find = |name: &String| {
            let found = loads::ALL.iter().find(|load| load.name == name);
            found.ok_or_else(|| io::Error::other(format!("no load `{name}`; try --list")))
        };
        match self.only.is_empty() {
            true => Ok(loads::ALL.iter().collect()),
            false => self.only.iter().map(find).collect(),
        }
    }
}

impl Plan {
    /// The size of something: all of it, or what a quick run takes.
    pub fn size(&self, full: u64, quick: u64) -> u64 {
        if self.quick { quick } else { full }
    }
}
