//! Random SQL with oracles: MariaDB beside the server, the server against itself, a cluster beside one process.
//!
//! `make differential SEEDS=20 STATEMENTS=500` runs all of them; `cargo run -p shoal-system-tests --example differential -- --help` tells
//! the options. Every failing case is made small and printed as a script, with the seed that made it. Ends with an error if there is one.

use shoal_system_tests::TestServer;
use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::random_sql::{Oracles, Report, World, run_seed};
use shoal_system_tests::server::{Server, Setup};

const HELP: &str = "\
Runs random statements and judges the answers.

  --seed N        the first seed (1)
  --seeds N       how many seeds (10)
  --statements N  how many statements a seed, beside those that make its tables (300)
  --only WORD     mariadb: with MariaDB beside the server; own: the server against itself; cluster: a cluster against itself, and
                  beside one process; by default all of them
  --failures N    ends after so many failing cases (20)";

struct Wanted {
    seed: u64,
    seeds: u64,
    statements: usize,
    only: Option<String>,
    failures: usize,
}

fn wanted() -> Result<Wanted, String> {
    let mut wanted = Wanted { seed: 1, seeds: 10, statements: 300, only: None, failures: 20 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--help" {
            println!("{HELP}");
            std::process::exit(0);
        }
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let bad = |_| format!("{name} {value}: a number is wanted");
        match name.as_str() {
            "--seed" => wanted.seed = value.parse().map_err(bad)?,
            "--seeds" => wanted.seeds = value.parse().map_err(bad)?,
            "--statements" => wanted.statements = value.parse().map_err(bad)?,
            "--failures" => wanted.failures = value.parse().map_err(bad)?,
            "--only" => wanted.only = Some(value),
            _ => return Err(format!("{name} is unknown; --help lists what there is")),
        }
    }
    Ok(wanted)
}

impl Wanted {
    fn wants(&self, word: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == word)
    }

    /// Runs the seeds and returns how many cases failed.
    fn run(&self, name: &str, world: &mut World, oracles: Oracles) -> usize {
        let mut report = Report::default();
        let mut printed = 0;
        for seed in self.seed..self.seed + self.seeds {
            run_seed(world, oracles, seed, self.statements, &mut report);
            for failure in &report.failures[printed..] {
                println!("--- {name}, {failure}");
            }
            printed = report.failures.len();
            if printed >= self.failures {
                break;
            }
        }
        println!("{name}: {}", report.summary());
        report.failures.len()
    }
}

fn mariadb() -> Result<Server, String> {
    let setup = Setup::mariadb()
        .argument("--innodb-flush-log-at-trx-commit=0")
        .argument("--skip-innodb-doublewrite")
        .argument("--innodb-buffer-pool-size=64M")
        .argument("--skip-log-bin");
    setup.start().map_err(|error| error.to_string())
}

fn main() -> Result<(), String> {
    let wanted = wanted()?;
    let server = TestServer::start();
    let mut failures = 0;
    if wanted.wants("own") {
        failures += wanted.run("own", &mut World::alone(server.port()), Oracles::Own);
    }
    if wanted.wants("mariadb") {
        let mariadb = mariadb()?;
        let mut world = World::beside_mariadb(server.port(), mariadb.port());
        failures += wanted.run("mariadb", &mut world, Oracles::MariaDb);
    }
    if wanted.wants("cluster") {
        let cluster = DevCluster::start(&["--data-nodes", "2", "--sql-nodes", "1"]);
        let node = *cluster.sql_nodes().last().ok_or("no node takes clients")?;
        let (_, port) = cluster.node(node).mysql.ok_or("the node has no port")?;
        failures += wanted.run("cluster", &mut World::alone(port), Oracles::Own);
        failures +=
            wanted.run("cluster beside", &mut World::beside_its_like(port, server.port()), Oracles::MariaDb);
    }
    match failures {
        0 => Ok(()),
        count => Err(format!("{count} cases failed")),
    }
}
