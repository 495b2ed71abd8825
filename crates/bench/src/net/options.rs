//! The command line of the network benchmark and the plan that it means.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use shoal_testkit::server::find_program;

/// Something that can be measured alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// oltp_read_only on 8 threads, TLS against plain: at least 0.9x.
    Tls,
    /// oltp_point_select on 1 to 2,048 threads: flat from 8 on, 1.5x MariaDB.
    Threads,
    /// Connect, one query, quit on 8 clients, plain, in TLS, and with sessions that are resumed: 2x MariaDB.
    Connects,
    /// zlib and zstd against none over 0.1, 1 and 10 Gb/s and on loopback, 64 threads.
    Compression,
    /// Bandwidth, compression and TLS against threads, for reads, ranges and writes: for the pictures, without goals.
    Pictures,
    /// 20,000 idle connections: bytes of each, and busy clients beside them.
    Idle,
    /// Digests, slow query log and metrics, on against off: at most 3 %.
    Observed,
    /// mimalloc, jemalloc and the system's allocator: the best is the default.
    Allocators,
}

/// Writes come last of those that share tables.
pub const ALL: [Part; 8] = [
    Part::Tls,
    Part::Threads,
    Part::Connects,
    Part::Compression,
    Part::Pictures,
    Part::Idle,
    Part::Observed,
    Part::Allocators,
];

/// Builds of Shoal with other allocators lie beside the one under test, under these names.
pub const ALLOCATORS: [&str; 2] = ["jemalloc", "system"];

#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  shoal-bench net --quick                       every part, small: about five minutes
  shoal-bench net --only tls,connects --runs 5  two parts, more runs
  shoal-bench net --only pictures               the pictures alone, into bench/results/net.html

Narrow lines are made of a network namespace, which takes root, iproute2 and nftables; where they cannot be had, a relay in user space stands \
in, and the report says so. The part `allocators` wants builds of Shoal beside the one under test, `shoal-jemalloc` and `shoal-system`: \
`make bench-net` makes them.")]
pub struct Options {
    /// Measure these parts only; all of them when absent.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Runs of each configuration; they take turns, and the median counts [default: 3].
    #[arg(long)]
    runs: Option<u32>,
    /// Seconds a run [default: 4].
    #[arg(long)]
    time: Option<u64>,
    /// Rows of sysbench's table [default: 1000000].
    #[arg(long)]
    rows: Option<u64>,
    /// Idle connections [default: 20000; as many as the limit of open files allows].
    #[arg(long, default_value_t = 20_000)]
    idle: u64,
    /// At most six minutes: 100,000 rows, one run of one second, fewer points in the pictures.
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
    /// Results go to OUT.md, OUT.json and OUT.html [default: bench/results/net, or .../net-quick].
    #[arg(long)]
    out: Option<PathBuf>,
    /// List the parts and end.
    #[arg(long)]
    list: bool,
}

/// What will be run.
#[derive(Debug)]
pub struct Plan {
    pub parts: Vec<Part>,
    pub runs: u32,
    pub time: Duration,
    /// Of a point in a picture.
    pub picture_time: Duration,
    pub rows: u64,
    pub idle: u64,
    pub quick: bool,
    pub shoal_binary: PathBuf,
    pub shoal_arguments: Vec<String>,
    pub work_dir: PathBuf,
    pub out: PathBuf,
}

impl Options {
    /// `None`: the parts were to be listed.
    pub fn plan(&self) -> io::Result<Option<Plan>> {
        if self.list {
            for part in ALL.iter().filter_map(ValueEnum::to_possible_value) {
                println!(
                    "{:<12} {}",
                    part.get_name(),
                    part.get_help().map(ToString::to_string).unwrap_or_default()
                );
            }
            return Ok(None);
        }
        if !self.shoal_binary.is_file() {
            let error =
                format!("there is no {}; build it, or name it with --shoal-binary", self.shoal_binary.display());
            return Err(io::Error::other(error));
        }
        for program in ["sysbench", "mariadbd"] {
            if find_program(program).is_none() {
                return Err(io::Error::other(format!("{program} is not installed; `make bench-net` installs it")));
            }
        }
        let results = if self.quick { "bench/results/net-quick" } else { "bench/results/net" };
        Ok(Some(Plan {
            parts: ALL.iter().copied().filter(|part| self.only.is_empty() || self.only.contains(part)).collect(),
            runs: self.runs.unwrap_or(if self.quick { 1 } else { 3 }).max(1),
            time: Duration::from_secs(self.time.unwrap_or(if self.quick { 1 } else { 4 }).max(1)),
            picture_time: Duration::from_millis(if self.quick { 600 } else { 1500 }),
            rows: self.rows.unwrap_or(if self.quick { 100_000 } else { 1_000_000 }),
            idle: self.idle,
            quick: self.quick,
            shoal_binary: self.shoal_binary.clone(),
            shoal_arguments: self.shoal_arguments.clone(),
            work_dir: self.work_dir.clone().unwrap_or_else(std::env::temp_dir),
            out: self.out.clone().unwrap_or_else(|| PathBuf::from(results)),
        }))
    }
}

impl Plan {
    /// The build with another allocator, if it is there.
    pub fn build_with(&self, allocator: &str) -> Option<PathBuf> {
        let name = self.shoal_binary.file_name()?.to_str()?;
        let path = self.shoal_binary.with_file_name(format!("{name}-{allocator}"));
        Path::is_file(&path).then_some(path)
    }
}
