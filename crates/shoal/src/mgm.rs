//! `shoal mgm`: the management client. It sends lines to a management node and prints what that answers.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use shoal_cluster::management::client::{CommandError, ManagementClient};
use shoal_cluster::management::command::Command;
use shoal_config::ClusterConfig;
use shoal_tls::NodeTls;

use crate::node_tls;

/// NDB's port of management nodes.
const ADDRESS: &str = "127.0.0.1:1186";
const PORT: u16 = 1186;
/// Where `shoal dev` keeps its cluster by default.
const DATA_DIR: &str = "shoal-data";
const PROMPT: &str = "shoal> ";
/// How long a management node that was there a moment ago may be away.
const RECONNECT_PATIENCE: Duration = Duration::from_secs(30);
const RECONNECT_EVERY: Duration = Duration::from_millis(50);
const HISTORY_FILE: &str = ".shoal_mgm_history";

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    shoal mgm                                type commands; HELP lists them\n  \
    shoal mgm -e show -e 'all status'        carry out two and end\n  \
    shoal mgm --config config.ini -e 'all restart'    node by node, without an interruption\n  \
    shoal mgm --json -e show                 for programs")]
pub struct MgmArguments {
    /// Management nodes, separated by commas; the first that answers is used
    #[arg(short = 'c', long = "connect", value_name = "HOST[:PORT],..", value_delimiter = ',')]
    connect: Vec<String>,

    /// The cluster's config.ini, which names the management nodes
    #[arg(long, value_name = "FILE", conflicts_with = "connect")]
    config: Option<PathBuf>,

    /// The data directory of `shoal dev --data-nodes`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["connect", "config"])]
    data_dir: Option<PathBuf>,

    /// Directories with the client's certificate, for clusters that require TLS, separated by colons [default: TlsSearchPath of the
    /// management nodes in the configuration, then $HOME/ndb-tls]
    #[arg(long, value_name = "DIR[:DIR]")]
    ndb_tls_search_path: Option<String>,

    /// Carry out a command and end; may be given several times. The exit status is 1 when one fails
    #[arg(short = 'e', long = "execute", value_name = "COMMAND")]
    execute: Vec<String>,

    /// Answers as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &MgmArguments) -> Result<(), String> {
    let (addresses, config) = addresses(arguments)?;
    let tls = node_tls::of_client(config.as_ref(), arguments.ndb_tls_search_path.as_deref())?;
    let mut session = Session { addresses, tls, client: None, has_connected: false, json: arguments.json };
    if !arguments.execute.is_empty() {
        return session.execute_all(&arguments.execute);
    }
    if !std::io::stdin().is_terminal() {
        let lines: Result<Vec<String>, _> = std::io::stdin().lock().lines().collect();
        return session.execute_all(&lines.map_err(|error| format!("cannot read commands: {error}"))?);
    }
    session.converse()
}

/// Where management nodes may be, the likeliest first, and the configuration that says so.
fn addresses(arguments: &MgmArguments) -> Result<(Vec<String>, Option<ClusterConfig>), String> {
    if !arguments.connect.is_empty() {
        return Ok((arguments.connect.iter().map(|address| with_port(address)).collect(), None));
    }
    if let Some(config) = &arguments.config {
        return management_nodes(config);
    }
    let default = Path::new(DATA_DIR).join("config.ini");
    match &arguments.data_dir {
        Some(directory) => management_nodes(&directory.join("config.ini")),
        None if default.exists() => management_nodes(&default),
        None => Ok((vec![ADDRESS.to_owned()], None)),
    }
}

fn with_port(address: &str) -> String {
    let address = address.trim();
    // An IPv6 address in brackets may have colons and no port.
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { address.to_owned() } else { format!("{address}:{PORT}") }
}

fn management_nodes(config: &Path) -> Result<(Vec<String>, Option<ClusterConfig>), String> {
    let read = ClusterConfig::read(config).map_err(|error| format!("{}:\n{error}", config.display()))?;
    let addresses: Vec<String> = read.mgm_nodes().filter_map(|node| node.server_address()).collect();
    match addresses.is_empty() {
        true => Err(format!("{} names no host of a management node; use -c HOST:PORT", config.display())),
        false => Ok((addresses, Some(read))),
    }
}

struct Session {
    addresses: Vec<String>,
    tls: Option<Arc<NodeTls>>,
    client: Option<ManagementClient>,
    has_connected: bool,
    json: bool,
}

enum Done {
    GoOn,
    Quit,
}

impl Session {
    fn execute_all(&mut self, commands: &[String]) -> Result<(), String> {
        let lines = commands.iter().flat_map(|command| command.split(';'));
        for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
            match self.execute(line) {
                Ok(Done::GoOn) => {}
                Ok(Done::Quit) => return Ok(()),
                Err(reason) => {
                    if self.json {
                        print(&format!("{:#}\n", serde_json::json!({ "error": reason })))?;
                    }
                    return Err(reason);
                }
            }
        }
        Ok(())
    }

    fn converse(&mut self) -> Result<(), String> {
        let mut editor = DefaultEditor::new().map_err(|error| format!("cannot use the terminal: {error}"))?;
        let history = std::env::var_os("HOME").map(|home| Path::new(&home).join(HISTORY_FILE));
        if let Some(history) = &history {
            // There is none yet at the first start.
            let _ = editor.load_history(history);
        }
        eprintln!("-- Shoal management client; HELP lists the commands --");
        if let Err(reason) = self.connect() {
            eprintln!("{reason}");
        }
        loop {
            let line = match editor.readline(PROMPT) {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => continue,
                Err(ReadlineError::Eof) => break,
                Err(error) => return Err(format!("cannot read from the terminal: {error}")),
            };
            if line.trim().is_empty() {
                continue;
            }
            let _ = editor.add_history_entry(line.trim());
            let mut quit = false;
            for command in line.split(';').map(str::trim).filter(|command| !command.is_empty()) {
                match self.execute(command) {
                    Ok(Done::GoOn) => {}
                    Ok(Done::Quit) => quit = true,
                    Err(reason) => eprintln!("{reason}"),
                }
            }
            if quit {
                break;
            }
        }
        if let Some(history) = &history {
            let _ = editor.save_history(history);
        }
        Ok(())
    }

    fn execute(&mut self, line: &str) -> Result<Done, String> {
        let command = Command::parse(line)?;
        match &command {
            Command::Quit => return Ok(Done::Quit),
            Command::Help(topic) => {
                print(&Command::help(topic.as_deref())?)?;
                return Ok(Done::GoOn);
            }
            Command::Connect(address) => {
                if let Some(address) = address {
                    self.addresses = vec![with_port(address)];
                }
                self.client = None;
                self.has_connected = false;
                self.connect()?;
                return Ok(Done::GoOn);
            }
            _ => {}
        }
        // A node that was restarted, or has died, has closed a connection that was idle: only what is harmless is sent again.
        let again = self.client.is_some() && command.only_looks();
        match self.send(line) {
            Err(CommandError::Broken(_)) if again => self.send(line),
            sent => sent,
        }
        .map_err(|error| error.to_string())
        .and_then(|answer| print(&answer).map(|()| Done::GoOn))
    }

    fn send(&mut self, line: &str) -> Result<String, CommandError> {
        if self.client.is_none() {
            self.connect().map_err(CommandError::Refused)?;
        }
        let Some(client) = &mut self.client else {
            return Err(CommandError::Refused("not connected; use CONNECT".into()));
        };
        let answer = client.execute(line, self.json);
        if matches!(answer, Err(CommandError::Broken(_))) {
            self.client = None;
        }
        answer
    }

    /// Once connected, a node that is just being restarted is waited for.
    fn connect(&mut self) -> Result<(), String> {
        let patience = if self.has_connected { RECONNECT_PATIENCE } else { Duration::ZERO };
        let deadline = Instant::now() + patience;
        let client = loop {
            match ManagementClient::connect(&self.addresses, self.tls.as_ref()) {
                Ok(client) => break client,
                Err(_) if Instant::now() < deadline => std::thread::sleep(RECONNECT_EVERY),
                Err(reason) => {
                    return Err(format!(
                        "{reason}\nno management node answers; see that one runs, or name it with -c HOST:PORT"
                    ));
                }
            }
        };
        self.has_connected = true;
        if std::io::stderr().is_terminal() {
            let (name, node) = client.cluster();
            eprintln!("connected to node {node} of cluster '{name}' at {}", client.address());
        }
        self.client = Some(client);
        Ok(())
    }
}

/// A reader that stops early, such as `head`, is no mistake.
fn print(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("cannot write: {error}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_gets_ndb_s() {
        assert_eq!(with_port("reef"), "reef:1186");
        assert_eq!(with_port(" reef:7 "), "reef:7");
        assert_eq!(with_port("[::1]"), "[::1]:1186");
        assert_eq!(with_port("[::1]:7"), "[::1]:7");
    }
}
