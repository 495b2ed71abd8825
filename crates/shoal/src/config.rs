//! `shoal config`: check a `config.ini` before nodes are started with it, or make one.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use shoal_config::ClusterConfig;
use shoal_config::generate::{Plan, generate};

use crate::settings;

#[derive(Args)]
pub struct ConfigArguments {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Say what a file means: nodes, ports, who holds what, and every mistake with its line
    ///
    /// The exit status is 1 when there are mistakes; notes do not count.
    Check {
        /// The file; NDB's are read as they are
        file: PathBuf,
    },
    /// Print a commented file for these hosts
    Generate(GenerateArguments),
}

#[derive(Args)]
struct GenerateArguments {
    /// A data node for each, separated by commas; a host may be named more than once
    #[arg(long, value_name = "HOST,..", value_delimiter = ',', required = true)]
    hosts: Vec<String>,

    /// Memory for rows and indexes on every data node, such as 8G
    #[arg(long, value_name = "SIZE")]
    memory: String,

    /// Copies of every row: 1, 2 or 3; by default 2, or 3 where that fits the number of hosts better
    #[arg(long, value_name = "N")]
    replicas: Option<u32>,

    /// Hosts of the management nodes, one or three; by default three of the data hosts, or the first
    #[arg(long, value_name = "HOST,..", value_delimiter = ',')]
    mgm_hosts: Vec<String>,

    /// Hosts of nodes for MySQL clients alone; by default the data nodes serve them
    #[arg(long, value_name = "HOST,..", value_delimiter = ',')]
    sql_hosts: Vec<String>,

    /// The cluster's name
    #[arg(long, default_value = "shoal")]
    name: String,

    /// Where nodes keep their files
    #[arg(long, value_name = "DIR", default_value = "/var/lib/shoal")]
    data_dir: String,
}

pub fn run(arguments: &ConfigArguments) -> Result<(), String> {
    match &arguments.command {
        ConfigCommand::Check { file } => check(file),
        ConfigCommand::Generate(arguments) => print(&generate(&plan(arguments)?)?),
    }
}

fn check(file: &Path) -> Result<(), String> {
    match ClusterConfig::read(file) {
        Ok(config) => print(&config.describe()),
        Err(error) => {
            let count = error.defects.len();
            let mistakes = if count == 1 { "1 mistake".to_owned() } else { format!("{count} mistakes") };
            Err(format!("{} has {mistakes}:\n{error}", file.display()))
        }
    }
}

fn plan(arguments: &GenerateArguments) -> Result<Plan, String> {
    let named = |hosts: &[String]| -> Vec<String> {
        hosts.iter().map(|host| host.trim().to_owned()).filter(|host| !host.is_empty()).collect()
    };
    Ok(Plan {
        name: arguments.name.clone(),
        data_hosts: named(&arguments.hosts),
        mgm_hosts: named(&arguments.mgm_hosts),
        sql_hosts: named(&arguments.sql_hosts),
        data_memory: settings::bytes("--memory", &arguments.memory)?,
        replicas: arguments.replicas,
        data_dir: arguments.data_dir.clone(),
    })
}

/// A reader that stops early, such as `head`, is no mistake.
fn print(text: &str) -> Result<(), String> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("cannot write: {error}")),
        _ => Ok(()),
    }
}
