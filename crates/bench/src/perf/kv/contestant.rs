//! The servers that take part, each with the same rows, and the ports of their doors.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use shoal_testkit::process::{self, Signal};
use shoal_testkit::{Client, Kind, Server, Setup};

use super::door::{self, DATABASE, Door, FIRST_KEY, TABLE};
use crate::perf::started::StartedCluster;

const READY_WITHIN: Duration = Duration::from_secs(30);
const SECRET: &str = "kv";
/// Between two looks whether a port accepts.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Rows, or pipelined commands, of one request while loading.
const LOAD_BATCH: u32 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Echo,
    Memcached,
    Redis,
    Mariadb,
    Shoal,
    /// A data node, a management node, and clients that are nodes themselves.
    ShoalCluster,
}

impl Who {
    pub const ALL: [Who; 6] = [Who::Echo, Who::Memcached, Who::Redis, Who::Mariadb, Who::ShoalCluster, Who::Shoal];

    pub fn is_own(self) -> bool {
        matches!(self, Who::Shoal | Who::ShoalCluster)
    }

    pub fn name(self) -> &'static str {
        match self {
            Who::Echo => "echo",
            Who::Memcached => "memcached",
            Who::Redis => "Redis",
            Who::Mariadb => "MariaDB",
            Who::Shoal => "Shoal",
            Who::ShoalCluster => "a cluster of Shoal",
        }
    }
}

/// A program that is no MySQL server; killed when it is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

enum Running {
    Server(Server),
    Cluster(StartedCluster),
    Program(Program),
}

pub struct Contestant {
    pub who: Who,
    running: Running,
    ports: Ports,
    paused: bool,
}

/// Where the doors of a server are; 0: it has none of that kind.
#[derive(Clone, Copy, Debug, Default)]
struct Ports {
    main: u16,
    read: u16,
    write: u16,
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn failed(what: impl std::fmt::Display) -> io::Error {
    io::Error::other(what.to_string())
}

impl Contestant {
    /// Starts a server and loads the rows into it.
    pub fn start(who: Who, shoal: &Path, work_dir: &Path, rows: u32) -> io::Result<Contestant> {
        let mut ports = Ports { main: 0, read: free_port()?, write: free_port()? };
        let server = |setup: Setup, ports: &mut Ports| -> io::Result<Running> {
            let mut setup = setup.parent(work_dir);
            setup.own_process_group = true;
            let server = setup.start()?;
            ports.main = server.port();
            Ok(Running::Server(server))
        };
        let running = match who {
            Who::Echo => server(Setup::new(Kind::Other, shoal).argument("bench").argument("echo"), &mut ports)?,
            Who::Mariadb => server(mariadb(ports), &mut ports)?,
            Who::Shoal => server(self::shoal(shoal, ports), &mut ports)?,
            Who::ShoalCluster => {
                let settings = ["CommitDurability=replicated".to_owned()];
                let cluster = StartedCluster::start(1, &settings, work_dir).map_err(failed)?;
                ports.main = cluster.mysql_port();
                Running::Cluster(cluster)
            }
            Who::Memcached | Who::Redis => {
                ports.main = free_port()?;
                Running::Program(start_program(who, ports.main, work_dir)?)
            }
        };
        let contestant = Contestant { who, running, ports, paused: false };
        contestant.load(rows)?;
        Ok(contestant)
    }

    /// MariaDB's plugin does nothing without one.
    pub fn secret(&self) -> Option<&'static str> {
        (self.who == Who::Mariadb).then_some(SECRET)
    }

    pub fn port(&self, door: Door) -> u16 {
        match door {
            Door::HandlerSocket => self.ports.read,
            Door::HandlerSocketUpdate | Door::HandlerSocketInsert => self.ports.write,
            _ => self.ports.main,
        }
    }

    /// Of those that native clients join.
    pub fn management_address(&self) -> Option<&str> {
        match &self.running {
            Running::Cluster(cluster) => Some(&cluster.address),
            Running::Server(_) | Running::Program(_) => None,
        }
    }

    fn load(&self, rows: u32) -> io::Result<()> {
        match self.who {
            Who::Echo => Ok(()),
            Who::Mariadb | Who::Shoal | Who::ShoalCluster => load_sql(self.ports.main, rows),
            Who::Memcached => load_lines(self.ports.main, rows, "STORED", |key, value, out| {
                let _ = write!(out, "set {key} 0 0 {}\r\n", value.len());
                out.extend_from_slice(value);
                out.extend_from_slice(b"\r\n");
            }),
            Who::Redis => load_lines(self.ports.main, rows, "+OK", |key, value, out| {
                let _ = write!(out, "*3\r\n$3\r\nSET\r\n$7\r\n{key}\r\n${}\r\n", value.len());
                out.extend_from_slice(value);
                out.extend_from_slice(b"\r\n");
            }),
        }
    }

    /// Stops it while others are measured.
    pub fn set_paused(&mut self, paused: bool) -> io::Result<()> {
        if self.paused == paused {
            return Ok(());
        }
        self.paused = paused;
        let signal = if paused { Signal::Pause } else { Signal::Continue };
        match &self.running {
            Running::Server(server) => server.signal(signal),
            Running::Cluster(cluster) => cluster.signal(signal),
            Running::Program(program) => process::signal(program.0.id(), signal),
        }
    }
}

/// The plugin as its documentation has it for two cores, with as little syncing as the server knows.
fn mariadb(ports: Ports) -> Setup {
    Setup::mariadb()
        .argument("--innodb-buffer-pool-size=1G")
        .argument("--innodb-flush-log-at-trx-commit=0")
        .argument("--max-connections=200")
        .argument("--plugin-maturity=beta")
        .argument("--plugin-load-add=handlersocket")
        .argument("--handlersocket-address=127.0.0.1")
        .argument(format!("--handlersocket-plain-secret={SECRET}"))
        .argument(format!("--handlersocket-plain-secret-wr={SECRET}"))
        .argument(format!("--handlersocket-port={}", ports.read))
        .argument(format!("--handlersocket-port-wr={}", ports.write))
        .argument("--handlersocket-threads=2")
        .argument("--handlersocket-threads-wr=1")
}

fn shoal(binary: &Path, ports: Ports) -> Setup {
    Setup::new(Kind::Shoal, binary)
        .argument(format!("--hs-port={}", ports.read))
        .argument(format!("--hs-port-wr={}", ports.write))
        .argument("--set=CommitDurability=replicated")
}

fn start_program(who: Who, port: u16, work_dir: &Path) -> io::Result<Program> {
    let port_text = port.to_string();
    let mut command = match who {
        Who::Memcached => {
            let mut command = Command::new("memcached");
            command.args(["-l", "127.0.0.1", "-p", &port_text, "-U", "0", "-t", "2", "-m", "1024", "-u", "root"]);
            command
        }
        _ => {
            let mut command = Command::new("redis-server");
            command.args(["--port", &port_text, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
            command
        }
    };
    let null = || Stdio::null();
    let child = command.current_dir(work_dir).stdin(null()).stdout(null()).stderr(null()).spawn();
    let mut program =
        Program(child.map_err(|error| failed(format!("{} cannot be started: {error}", who.name())))?);
    let deadline = Instant::now() + READY_WITHIN;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if let Some(status) = program.0.try_wait()? {
            return Err(failed(format!("{} ended with {status}", who.name())));
        }
        if Instant::now() > deadline {
            return Err(failed(format!("{} does not listen within {READY_WITHIN:?}", who.name())));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(program)
}

fn load_sql(port: u16, rows: u32) -> io::Result<()> {
    let mut client = Client::connect(port).map_err(failed)?;
    for statement in [
        format!("CREATE DATABASE {DATABASE}"),
        format!(
            "CREATE TABLE {DATABASE}.{TABLE} (id INT UNSIGNED PRIMARY KEY, v VARCHAR(64) NOT NULL) ENGINE=InnoDB"
        ),
    ] {
        client.execute(&statement).map_err(failed)?;
    }
    let mut value = Vec::new();
    for start in (0..rows).step_by(LOAD_BATCH as usize) {
        let mut statement = format!("INSERT INTO {DATABASE}.{TABLE} VALUES ");
        for key in (start..rows.min(start + LOAD_BATCH)).map(|row| FIRST_KEY + row) {
            value.clear();
            door::append_value(key, 0, &mut value);
            let comma = if key == FIRST_KEY + start { "" } else { "," };
            statement.push_str(&format!("{comma}({key},'{}')", String::from_utf8_lossy(&value)));
        }
        client.execute(&statement).map_err(failed)?;
    }
    Ok(())
}

/// Loads a server that answers every command with one line.
fn load_lines(port: u16, rows: u32, right: &str, append: impl Fn(u32, &[u8], &mut Vec<u8>)) -> io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    let mut answers = BufReader::new(stream.try_clone()?);
    let (mut commands, mut value, mut line) = (Vec::new(), Vec::new(), String::new());
    for start in (0..rows).step_by(LOAD_BATCH as usize) {
        let end = rows.min(start + LOAD_BATCH);
        commands.clear();
        for key in (start..end).map(|row| FIRST_KEY + row) {
            value.clear();
            door::append_value(key, 0, &mut value);
            append(key, &value, &mut commands);
        }
        stream.write_all(&commands)?;
        for _ in start..end {
            line.clear();
            answers.read_line(&mut line)?;
            if line.trim_end() != right {
                return Err(failed(format!("loading was answered with {line:?}")));
            }
        }
    }
    Ok(())
}
