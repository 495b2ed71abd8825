//! One server process on a free port, with a data directory that goes away with it.
//!
//! Shoal is started as `shoal dev --mysql-port 0 --http-port 0 --data-dir DIR` and is ready when it prints its ready line.
//! MariaDB gets a data directory initialised with a password-less root and is ready when its port accepts.
//! A server that is dropped is killed; its temporary directory is removed with the last owner.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::process::{self, Signal};
use crate::program;

const READY_WITHIN: Duration = Duration::from_secs(60);
const STOPPED_WITHIN: Duration = Duration::from_secs(60);
const READY_LINE: &str = " is ready: mysql ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Shoal,
    MariaDb,
    /// Any program that prints the ready line, with the arguments of [`Setup::arguments`] alone.
    Other,
}

/// What to start and where.
#[derive(Clone, Debug)]
pub struct Setup {
    pub kind: Kind,
    pub binary: PathBuf,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// Where the server's folder is made; the system's temporary folder when absent.
    pub parent: Option<PathBuf>,
    /// A data directory that outlives the server, instead of one of its own.
    pub data_dir: Option<PathBuf>,
    pub ready_within: Duration,
    /// The port to listen on; any free one when absent.
    pub port: Option<u16>,
    /// Keeps terminal signals away from the server, for owners that end it themselves.
    pub own_process_group: bool,
}

impl Setup {
    pub fn new(kind: Kind, binary: impl Into<PathBuf>) -> Setup {
        Setup {
            kind,
            binary: binary.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            parent: None,
            data_dir: None,
            ready_within: READY_WITHIN,
            port: None,
            own_process_group: false,
        }
    }

    pub fn mariadb() -> Setup {
        Setup::new(Kind::MariaDb, "mariadbd")
    }

    pub fn argument(mut self, argument: impl Into<String>) -> Setup {
        self.arguments.push(argument.into());
        self
    }

    pub fn parent(mut self, parent: impl Into<PathBuf>) -> Setup {
        self.parent = Some(parent.into());
        self
    }

    pub fn data_dir(mut self, data_dir: impl Into<PathBuf>) -> Setup {
        self.data_dir = Some(data_dir.into());
        self
    }

    pub fn start(&self) -> io::Result<Server> {
        Server::start(self)
    }
}

/// A running (or stopped, restartable) server.
pub struct Server {
    setup: Setup,
    folder: TempDir,
    child: Option<Child>,
    port: u16,
    started_in: Duration,
    printed: Printed,
}

/// Lines of the standard output, apart from the log, into which the server writes its messages at any time.
type Printed = Arc<Mutex<Vec<String>>>;

impl Server {
    pub fn start(setup: &Setup) -> io::Result<Server> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("shoal-server-");
        let folder = match &setup.parent {
            Some(parent) => builder.tempdir_in(parent)?,
            None => builder.tempdir()?,
        };
        let mut server = Server {
            setup: setup.clone(),
            folder,
            child: None,
            port: 0,
            started_in: Duration::ZERO,
            printed: Printed::default(),
        };
        if setup.kind == Kind::MariaDb && !server.data_dir().exists() {
            server.initialise_mariadb()?;
        }
        server.launch()?;
        Ok(server)
    }

    pub fn kind(&self) -> Kind {
        self.setup.kind
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// How long the last start took until the server accepted connections.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    pub fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    pub fn data_dir(&self) -> PathBuf {
        match &self.setup.data_dir {
            Some(folder) => folder.clone(),
            None => self.in_folder("data"),
        }
    }

    /// Everything that the server has printed, over all its starts.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Every line of the server's standard output, over all its starts.
    pub fn printed(&self) -> Vec<String> {
        self.printed.lock().map_or_else(|_| Vec::new(), |lines| lines.clone())
    }

    pub fn setup_mut(&mut self) -> &mut Setup {
        &mut self.setup
    }

    pub fn is_running(&mut self) -> bool {
        match &mut self.child {
            Some(child) => matches!(child.try_wait(), Ok(None)),
            None => false,
        }
    }

    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match self.process() {
            Some(process) => process::signal(process, signal),
            None => Err(io::Error::other("the server does not run")),
        }
    }

    /// Ends the server as an operator would and waits for it.
    pub fn stop(&mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::Terminate)?;
        let status = self.wait(STOPPED_WITHIN)?;
        self.child = None;
        Ok(status)
    }

    /// Ends the server as a power cut of the process would: no warning.
    pub fn kill(&mut self) -> io::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Starts a stopped or killed server again on the same data directory.
    pub fn restart(&mut self) -> io::Result<()> {
        self.kill()?;
        self.launch()
    }

    /// Waits until the server ends by itself.
    pub fn wait(&mut self, deadline: Duration) -> io::Result<ExitStatus> {
        let started = Instant::now();
        loop {
            let Some(child) = &mut self.child else {
                return Err(io::Error::other("the server does not run"));
            };
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if started.elapsed() > deadline {
                return Err(self.failure(&format!("still runs after {deadline:?}")));
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    fn open_log(&self) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).open(self.log_path())
    }

    fn initialise_mariadb(&self) -> io::Result<()> {
        let mut command = Command::new("mariadb-install-db");
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", self.data_dir().display()))
            .args(["--user=root", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .env("TMPDIR", self.folder.path());
        let output = program::run(command, b"", self.setup.ready_within, || false)?;
        if output.status.success() {
            return Ok(());
        }
        let text = output.text() + &output.errors();
        Err(io::Error::other(format!("mariadb-install-db: {text}")))
    }

    fn launch(&mut self) -> io::Result<()> {
        let (mut command, port) = self.command()?;
        command
            .args(&self.setup.arguments)
            .envs(self.setup.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(self.open_log()?);
        if self.setup.own_process_group {
            command.process_group(0);
        }
        let started = Instant::now();
        let mut child = command.spawn().map_err(|error| {
            let binary = self.setup.binary.display();
            io::Error::new(error.kind(), format!("cannot start {binary}: {error}"))
        })?;
        let output = child.stdout.take();
        self.child = Some(child);
        let ready = follow_output(output, self.open_log()?, Arc::clone(&self.printed));
        self.port = match port {
            Some(port) => {
                self.wait_for_port(port, started)?;
                port
            }
            None => self.wait_for_ready_line(&ready)?,
        };
        self.started_in = started.elapsed();
        Ok(())
    }

    /// The command line, and the port if we choose it.
    fn command(&self) -> io::Result<(Command, Option<u16>)> {
        let mut command = Command::new(&self.setup.binary);
        match self.setup.kind {
            Kind::Shoal => {
                let port = self.setup.port.unwrap_or(0).to_string();
                command.args(["dev", "--mysql-port", &port, "--http-port", "0", "--data-dir"]);
                command.arg(self.data_dir());
                Ok((command, None))
            }
            Kind::Other => Ok((command, None)),
            Kind::MariaDb => {
                let port = match self.setup.port {
                    Some(port) => port,
                    None => free_port()?,
                };
                command
                    .args(["--no-defaults", "--user=root", "--bind-address=127.0.0.1"])
                    .arg(format!("--datadir={}", self.data_dir().display()))
                    .arg(format!("--socket={}", self.in_folder("socket").display()))
                    .arg(format!("--pid-file={}", self.in_folder("pid").display()))
                    .arg(format!("--port={port}"))
                    // A second server that starts would clean up the temporary tables of a common folder.
                    .env("TMPDIR", self.folder.path());
                Ok((command, Some(port)))
            }
        }
    }

    fn in_folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn wait_for_port(&mut self, port: u16, started: Instant) -> io::Result<()> {
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if !self.is_running() {
                return Err(self.failure("ended before it was ready"));
            }
            if started.elapsed() > self.setup.ready_within {
                return Err(self.failure("was not ready in time"));
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn wait_for_ready_line(&mut self, ready: &Receiver<u16>) -> io::Result<u16> {
        match ready.recv_timeout(self.setup.ready_within) {
            Ok(port) => Ok(port),
            Err(RecvTimeoutError::Timeout) => Err(self.failure("was not ready in time")),
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.wait(Duration::from_secs(5));
                let status = status.map_or_else(|_| "no status".into(), |status| status.to_string());
                Err(self.failure(&format!("ended before it was ready ({status})")))
            }
        }
    }

    fn failure(&self, what: &str) -> io::Error {
        let binary = self.setup.binary.display();
        let log = self.log();
        io::Error::other(format!("{binary} {what}; its log:\n{}", tail(&log, 60)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// The last `lines` lines of a text.
pub fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Copies the server's output to its log and sends the port of the ready line.
fn follow_output(
    output: Option<impl io::Read + Send + 'static>,
    mut log: File,
    printed: Printed,
) -> Receiver<u16> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let Some(output) = output else { return };
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // In one piece: the server's own messages go to the same file.
            let _ = log.write_all(format!("{line}\n").as_bytes());
            let port = port_of_ready_line(&line);
            if let Ok(mut printed) = printed.lock() {
                printed.push(line);
            }
            if let Some(port) = port {
                let _ = sender.send(port);
            }
        }
    });
    receiver
}

fn port_of_ready_line(line: &str) -> Option<u16> {
    let (_, address) = line.split_once(READY_LINE)?;
    let port = address.split_whitespace().next()?.rsplit(':').next()?;
    port.parse().ok()
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Looks for a program as the shell would.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join(name))
        .find(|candidate| Path::is_file(candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_the_ready_line() {
        let line = "shoal is ready: mysql 127.0.0.1:41234";
        assert_eq!(port_of_ready_line(line), Some(41234));
        let longer = "shoal is ready: mysql 127.0.0.1:3306 and more";
        assert_eq!(port_of_ready_line(longer), Some(3306));
        assert_eq!(port_of_ready_line("shoal starts"), None);
    }

    #[test]
    fn a_server_that_ends_early_is_reported_with_its_output() {
        let setup = Setup::new(Kind::Other, "sh").argument("-c").argument("echo no such luck; exit 3");
        let error = setup.start().err().unwrap().to_string();
        assert!(error.contains("no such luck"), "{error}");
        assert!(error.contains("exit status: 3"), "{error}");
    }

    #[test]
    fn what_a_server_prints_is_kept_apart_from_its_messages() {
        let script = "printf half >&2; echo first; echo x is ready: mysql 127.0.0.1:9; exec sleep 60";
        let server = Setup::new(Kind::Other, "sh").argument("-c").argument(script).start().unwrap();
        assert_eq!(server.printed(), ["first", "x is ready: mysql 127.0.0.1:9"]);
    }

    #[test]
    fn a_server_is_stopped_by_the_terminate_signal() {
        let script = "echo x is ready: mysql 127.0.0.1:9; exec sleep 60";
        let setup = Setup::new(Kind::Other, "sh").argument("-c").argument(script);
        let mut server = setup.start().unwrap();
        assert_eq!(server.port(), 9);
        assert!(server.is_running());
        server.stop().unwrap();
        assert!(!server.is_running());
    }
}
