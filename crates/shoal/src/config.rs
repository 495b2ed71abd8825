//! `shoal config`: check a `config.ini` before nodes are started with it, or make one.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use shoal_config::ClusterConfig;
use shoal_config::generate::{Plan, generate};

use crate::{node_tls, settings};

/// How long certificates of nodes are valid.
const DAYS: u32 = 825;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    shoal config generate --hosts a,b --memory 8G > config.ini\n  \
    shoal config check config.ini            also one that was written for NDB")]
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
    /// Make what TLS between the nodes of a file needs: an authority, and a certificate and key for each node and for clients
    ///
    /// Each host gets ca.pem and the two files of its nodes; ca-key.pem stays with you. Nodes take files that are replaced without a
    /// restart.
    Certificates {
        /// The cluster's config.ini
        file: PathBuf,
        /// Where the authority is, or will be
        directory: PathBuf,
        /// Also for those that have one
        #[arg(long)]
        renew: bool,
        /// How long certificates are valid
        #[arg(long, value_name = "N", default_value_t = DAYS, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
    },
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

    /// Have nodes talk over TLS alone, and make their certificates in this directory
    #[arg(long, value_name = "DIR")]
    tls: Option<PathBuf>,

    /// Where nodes keep their files
    #[arg(long, value_name = "DIR", default_value = "/var/lib/shoal")]
    data_dir: String,
}

pub fn run(arguments: &ConfigArguments) -> Result<(), String> {
    match &arguments.command {
        ConfigCommand::Check { file } => check(file),
        ConfigCommand::Generate(arguments) => {
            let text = generate(&plan(arguments)?)?;
            if let Some(directory) = &arguments.tls {
                let config = ClusterConfig::parse(&text).map_err(|error| error.to_string())?;
                make_certificates(&config, directory, false, DAYS)?;
            }
            print(&text)
        }
        ConfigCommand::Certificates { file, directory, renew, days } => {
            let config = ClusterConfig::read(file).map_err(|error| format!("{}:\n{error}", file.display()))?;
            make_certificates(&config, directory, *renew, *days)
        }
    }
}

/// Tells of it on stderr: the configuration may be on its way to a file.
fn make_certificates(config: &ClusterConfig, directory: &Path, renew: bool, days: u32) -> Result<(), String> {
    for line in node_tls::make(config, directory, renew, days)? {
        eprintln!("{}: {line}", directory.display());
    }
    Ok(())
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
        tls_directory: arguments.tls.as_deref().map(absolute).transpose()?,
    })
}

fn absolute(directory: &Path) -> Result<String, String> {
    let absolute = std::path::absolute(directory);
    let absolute =
        absolute.map_err(|error| format!("{}: it has no absolute path: {error}", directory.display()))?;
    Ok(absolute.display().to_string())
}

/// A reader that stops early, such as `head`, is no mistake.
fn print(text: &str) -> Result<(), String> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("cannot write: {error}")),
        _ => Ok(()),
    }
}
