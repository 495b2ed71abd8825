//! `shoal dev --data-nodes N`: a whole cluster of local processes, for trying failover on a laptop.
//!
//! This process writes a config.ini into the data directory, starts every node as a process of its own, tells where each is,
//! and starts again what dies, until it is told to stop.

use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget};
use shoal_config::parameters::{SectionKind, find};
use shoal_mysql::server::ReservedAddress;
use shoal_sql::Globals;

use crate::error_log;
use crate::hints;
use crate::http::PORT_DEFAULT;
use crate::process::{StopSignals, tell_service_manager};

/// A node that died is started again after so long.
const RESTART_AFTER: Duration = Duration::from_secs(2);
/// Places for native clients.
const API_SLOTS: u32 = 5;
/// Of those that the system chooses: for other nodes, MySQL clients, HTTP.
const PORTS_PER_MEMBER: usize = 3;
/// How long the nodes may take to become ready, and to stop.
const START_PATIENCE: Duration = Duration::from_secs(120);
const STOP_PATIENCE: Duration = Duration::from_secs(20);
/// What takes less time needs no explanation.
const SHOWN_AFTER: Duration = Duration::from_secs(2);

/// What the cluster is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    pub data_dir: PathBuf,
    pub mysql_port: u16,
    pub hs_port: Option<u16>,
    pub hs_port_wr: Option<u16>,
    pub http_port: Option<u16>,
    pub data_nodes: u32,
    pub mgm_nodes: u32,
    pub sql_nodes: u32,
    pub replicas: u32,
    pub restart: bool,
    /// `NAME=VALUE`, for every node.
    pub settings: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Management,
    Data,
    Sql,
}

struct Member {
    id: u32,
    kind: Kind,
    process: Option<Child>,
    /// When it is started again.
    due: Option<Instant>,
    mysql: Option<String>,
    http: String,
    /// Its HandlerSocket ports as its ready line has them.
    hs_ports: String,
    ready: bool,
    /// Its process has ended because it was told to.
    stopped: bool,
}

/// What a node's process says.
enum Told {
    Ready { node: u32, mysql: Option<String>, http: String, hs_ports: String },
}

impl Member {
    fn roles(&self) -> &'static str {
        match self.kind {
            Kind::Management => "mgm",
            Kind::Data => "data,sql",
            Kind::Sql => "sql",
        }
    }

    fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, Child::id)
    }
}

/// Runs until SIGTERM or SIGINT, or until the management client has shut all nodes down.
pub fn run(plan: &Plan) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let mut signals = runtime.block_on(async { StopSignals::listen() })?;
    std::fs::create_dir_all(&plan.data_dir)
        .map_err(|error| format!("cannot make the directory {}: {error}", plan.data_dir.display()))?;
    begin_error_log(plan)?;
    let mut members = members(plan);
    let ports = reserve_ports(members.len() * PORTS_PER_MEMBER)?;
    let config = write_config(plan, &members, &ports)?;
    let (sender, told) = channel();
    let mut supervisor = Supervisor { plan: plan.clone(), config, _ports: ports, told, sender };
    for member in &mut members {
        supervisor.start(member)?;
    }
    let deadline = Instant::now() + START_PATIENCE;
    let mut announced = false;
    let waiting = Waiting::begin();
    loop {
        let stop = runtime.block_on(async {
            tokio::select! {
                () = signals.wait() => true,
                () = tokio::time::sleep(Duration::from_millis(20)) => false,
            }
        });
        if stop {
            break;
        }
        supervisor.look_after(&mut members, announced)?;
        if members.iter().all(|member| member.stopped) {
            tracing::info!(system = true, "all nodes have been shut down");
            return Ok(());
        }
        if !announced && members.iter().all(|member| member.ready) {
            announced = true;
            waiting.end();
            announce(&members);
            tell_service_manager("READY=1");
        }
        if !announced {
            waiting.show(&members);
        }
        if !announced && Instant::now() > deadline {
            stop_all(&mut members);
            return Err(format!(
                "the nodes were not ready within {} seconds; their logs are {}/node-*.log",
                START_PATIENCE.as_secs(),
                plan.data_dir.display()
            ));
        }
    }
    waiting.end();
    tell_service_manager("STOPPING=1");
    tracing::info!(system = true, "stopping the nodes");
    stop_all(&mut members);
    Ok(())
}

/// The settings of the nodes' error logs are this process's as well; a relative file of its own lies beside the nodes' directories.
fn begin_error_log(plan: &Plan) -> Result<(), String> {
    let mut globals = Globals::default();
    let settings = plan.settings.iter().filter_map(|setting| setting.split_once('='));
    for (name, value) in settings.filter(|(name, _)| name.trim().starts_with("log_error")) {
        globals.set_at_start(name.trim(), value.trim()).map_err(|error| error.message().to_owned())?;
    }
    error_log::begin(&mut globals, &plan.data_dir)
}

/// What somebody at a terminal sees while the nodes take longer than a moment to start.
struct Waiting {
    spinner: ProgressBar,
    begun: Instant,
}

impl Waiting {
    fn begin() -> Waiting {
        Waiting { spinner: ProgressBar::hidden(), begun: Instant::now() }
    }

    fn show(&self, members: &[Member]) {
        if self.begun.elapsed() < SHOWN_AFTER {
            return;
        }
        if self.spinner.is_hidden() && std::io::stderr().is_terminal() {
            self.spinner.set_draw_target(ProgressDrawTarget::stderr());
        }
        let ready = members.iter().filter(|member| member.ready).count();
        let missing: Vec<String> =
            members.iter().filter(|member| !member.ready).map(|member| member.id.to_string()).collect();
        let (all, missing) = (members.len(), missing.join(", "));
        self.spinner.set_message(format!("{ready} of {all} nodes are ready; waiting for node {missing}"));
        self.spinner.tick();
    }

    fn end(&self) {
        self.spinner.finish_and_clear();
    }
}

fn members(plan: &Plan) -> Vec<Member> {
    let kinds = std::iter::repeat_n(Kind::Data, plan.data_nodes as usize)
        .chain(std::iter::repeat_n(Kind::Management, plan.mgm_nodes as usize))
        .chain(std::iter::repeat_n(Kind::Sql, plan.sql_nodes as usize));
    let member = |(place, kind)| Member {
        id: place as u32 + 1,
        kind,
        process: None,
        due: None,
        mysql: None,
        http: String::new(),
        hs_ports: String::new(),
        ready: false,
        stopped: false,
    };
    kinds.enumerate().map(member).collect()
}

/// Free ports for the nodes. Kept as long as the nodes are looked after: else the port of a node that is down for a moment is a free one for
/// everybody, and its clients talk to a stranger.
fn reserve_ports(count: usize) -> Result<Vec<ReservedAddress>, String> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let reserved: Result<_, _> = (0..count).map(|_| ReservedAddress::bind(any)).collect();
    reserved.map_err(|error| format!("cannot find free ports: {error}"))
}

fn write_config(plan: &Plan, members: &[Member], ports: &[ReservedAddress]) -> Result<PathBuf, String> {
    let ports: Result<Vec<_>, _> = ports.iter().map(ReservedAddress::address).collect();
    let ports = ports.map_err(|error| format!("a port has no number: {error}"))?;
    let mut ports = ports.iter().map(SocketAddr::port);
    let mut next_port = || ports.next().ok_or("internal: too few ports were found");
    let mut text = format!(
        "# Made by `shoal dev --data-nodes {}`; written anew at every start.\n[system]\nName=dev\n\n\
         [ndbd default]\nNoOfReplicas={}\n",
        plan.data_nodes, plan.replicas
    );
    for setting in &plan.settings {
        if let Some((name, value)) = setting.split_once('=')
            && is_of_data_nodes(name)
        {
            text.push_str(&format!("{name}={value}\n"));
        }
    }
    let mut mysql_port = plan.mysql_port;
    for member in members {
        let section = match member.kind {
            Kind::Management => "ndb_mgmd",
            Kind::Data => "ndbd",
            Kind::Sql => "mysqld",
        };
        let port_name = if member.kind == Kind::Management { "PortNumber" } else { "ServerPort" };
        let directory = std::path::absolute(plan.data_dir.join(format!("node-{}", member.id)))
            .map_err(|error| format!("the data directory has no absolute path: {error}"))?;
        text.push_str(&format!(
            "\n[{section}]\nNodeId={}\nHostName=127.0.0.1\n{port_name}={}\nDataDir={}\n",
            member.id,
            next_port()?,
            directory.display()
        ));
        let (free, free_http) = (next_port()?, next_port()?);
        let http_port = http_port(plan, member).unwrap_or(free_http);
        text.push_str(&format!("HttpPort={http_port}\n"));
        if member.kind == Kind::Data {
            text.push_str("Roles=data,sql\n");
        }
        if member.kind != Kind::Management {
            let port = if mysql_port == 0 { free } else { mysql_port };
            mysql_port = mysql_port.saturating_add(u16::from(mysql_port != 0));
            text.push_str(&format!("MySQLPort={port}\nMySQLAddress=127.0.0.1\n"));
        }
    }
    let first_slot = members.len() as u32 + 1;
    for slot in first_slot..first_slot + API_SLOTS {
        text.push_str(&format!("\n[api]\nNodeId={slot}\n"));
    }
    let path = plan.data_dir.join("config.ini");
    std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}

/// The HTTP port that a node has for its place: management nodes come first, as they know the whole cluster. `None`: any.
fn http_port(plan: &Plan, member: &Member) -> Option<u16> {
    let is_first = member.kind == Kind::Management && member.id == plan.data_nodes + 1;
    let is_free = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    let Some(first) = plan.http_port else { return (is_first && is_free(PORT_DEFAULT)).then_some(PORT_DEFAULT) };
    let place = match member.kind {
        Kind::Management => member.id - plan.data_nodes - 1,
        Kind::Data => plan.mgm_nodes + member.id - 1,
        Kind::Sql => member.id - 1,
    };
    (first != 0).then(|| first.saturating_add(u16::try_from(place).unwrap_or(u16::MAX)))
}

/// Whether a setting belongs into config.ini. The others are system variables of the nodes with sessions.
fn is_of_data_nodes(name: &str) -> bool {
    crate::settings::is_node_setting(name) || find(SectionKind::Data, name).is_some()
}

struct Supervisor {
    plan: Plan,
    config: PathBuf,
    _ports: Vec<ReservedAddress>,
    told: Receiver<Told>,
    sender: Sender<Told>,
}

impl Supervisor {
    fn start(&self, member: &mut Member) -> Result<(), String> {
        let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let log = self.plan.data_dir.join(format!("node-{}.log", member.id));
        let log = open_log(&log)?;
        let mut command = Command::new(program);
        command.arg("start").arg("--config").arg(&self.config).arg("--node-id").arg(member.id.to_string());
        for setting in &self.plan.settings {
            let name = setting.split_once('=').map_or(setting.as_str(), |(name, _)| name);
            if !is_of_data_nodes(name) {
                command.arg("--set").arg(setting);
            }
        }
        if member.kind != Kind::Management {
            // Two ports a node, one node after the other.
            let place = u16::try_from(2 * (member.id - 1)).unwrap_or(u16::MAX);
            for (name, first) in
                [("handlersocket_port", self.plan.hs_port), ("handlersocket_port_wr", self.plan.hs_port_wr)]
            {
                let port = first.map(|first| if first == 0 { 0 } else { first.saturating_add(place) });
                if let Some(port) = port {
                    command.arg("--set").arg(format!("{name}={port}"));
                }
            }
        }
        // The node stops in an orderly way when its input ends: with this process, however that ends.
        command.arg("--until-input-ends").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(log));
        let mut process = command.spawn().map_err(|error| format!("cannot start node {}: {error}", member.id))?;
        if let Some(out) = process.stdout.take() {
            let (sender, node) = (self.sender.clone(), member.id);
            let listen = move || listen(node, BufReader::new(out), &sender);
            std::thread::Builder::new()
                .name(format!("node-{node}"))
                .spawn(listen)
                .map_err(|error| format!("cannot start a thread: {error}"))?;
        }
        member.process = Some(process);
        member.due = None;
        member.ready = false;
        member.stopped = false;
        Ok(())
    }

    fn look_after(&mut self, members: &mut [Member], announced: bool) -> Result<(), String> {
        while let Ok(Told::Ready { node, mysql, http, hs_ports }) = self.told.try_recv() {
            let Some(member) = members.iter_mut().find(|member| member.id == node) else { continue };
            member.ready = true;
            member.mysql = mysql;
            member.http = http;
            member.hs_ports = hs_ports;
            if announced {
                print(&node_line(member));
            }
        }
        for member in members {
            if let Some(process) = &mut member.process
                && let Ok(Some(status)) = process.try_wait()
            {
                member.process = None;
                let log = self.plan.data_dir.join(format!("node-{}.log", member.id));
                if !announced && !status.success() {
                    return Err(format!("node {} ended: {status}; {}", member.id, last_line(&log)));
                }
                // An orderly end was wanted by somebody: SHUTDOWN or STOP of the management client.
                member.stopped = status.success();
                let again = self.plan.restart && !status.success();
                member.due = again.then(|| Instant::now() + RESTART_AFTER);
                let next = if again { "; it is started again in 2 seconds" } else { "" };
                match status.success() {
                    true => tracing::info!(system = true, "node {} ended: {status}{next}", member.id),
                    false => tracing::warn!("node {} ended: {status}{next}", member.id),
                }
            }
            if member.due.is_some_and(|due| due <= Instant::now()) {
                self.start(member)?;
            }
        }
        Ok(())
    }
}

fn open_log(path: &Path) -> Result<std::fs::File, String> {
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn last_line(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().rev().find(|line| !line.is_empty()).unwrap_or("it said nothing").to_owned()
}

/// `shoal is ready: node 1 roles=data,sql mysql=127.0.0.1:3306 http=-`
fn listen(node: u32, out: impl BufRead, sender: &Sender<Told>) {
    for line in out.lines().map_while(Result::ok) {
        if line.starts_with("shoal is ready:") {
            let mysql = line.split_ascii_whitespace().find_map(|word| word.strip_prefix("mysql="));
            let mysql = mysql.filter(|&address| address != "-").map(str::to_owned);
            let http = line
                .split_ascii_whitespace()
                .find_map(|word| word.strip_prefix("http="))
                .unwrap_or("-")
                .to_owned();
            let hs_ports = line.split_ascii_whitespace().filter(|word| word.starts_with("hs"));
            let hs_ports = hs_ports.map(|word| format!(" {word}")).collect();
            if sender.send(Told::Ready { node, mysql, http, hs_ports }).is_err() {
                return;
            }
        }
    }
}

fn node_line(member: &Member) -> String {
    let mysql = member.mysql.as_deref().unwrap_or("-");
    let (http, hs_ports) = (&member.http, &member.hs_ports);
    format!("node {} roles={} pid={} mysql={mysql} http={http}{hs_ports}", member.id, member.roles(), member.pid())
}

fn print(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

fn announce(members: &[Member]) {
    for member in members {
        print(&node_line(member));
    }
    let first = members.iter().find_map(|member| member.mysql.as_deref()).unwrap_or("-");
    print(&format!("shoal is ready: mysql {first}"));
    // Any node's page shows them all; management nodes are the last to go.
    let page = members.iter().rev().map(|member| member.http.as_str()).find(|http| http.contains(':'));
    hints::tell(first, page);
}

fn stop_all(members: &mut [Member]) {
    for member in members.iter_mut() {
        if let Some(process) = &mut member.process {
            drop(process.stdin.take());
        }
    }
    let deadline = Instant::now() + STOP_PATIENCE;
    for member in members.iter_mut() {
        let Some(process) = &mut member.process else { continue };
        while let Ok(None) = process.try_wait() {
            if Instant::now() > deadline {
                let _ = process.kill();
                let _ = process.wait();
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
