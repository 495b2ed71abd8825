//! A server under test with its clients.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use shoal_testkit::program::{self, Output};
use shoal_testkit::server::{Server, tail};
use shoal_testkit::{Client, Kind, Setup};

/// No client command of a test takes longer than this.
const CLIENT_DEADLINE: Duration = Duration::from_secs(120);
/// The database that every server under test has.
pub const DATABASE: &str = "test";

/// MySQL 8.4's default, without NO_ENGINE_SUBSTITUTION as MariaDB knows no `ENGINE=NDB`, and with MySQL's rounding.
const MARIADB_SQL_MODE: &str = "TIME_ROUND_FRACTIONAL,ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,\
NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO";

/// Whether the tests run against MariaDB.
pub fn target_is_mariadb() -> bool {
    env::var("SHOAL_TEST_SERVER").is_ok_and(|name| name.eq_ignore_ascii_case("mariadb"))
}

/// Says why a test ends early; for `return skip("...")`.
pub fn skip(reason: &str) {
    let test = thread::current().name().unwrap_or("?").to_string();
    eprintln!("skipped {test}: {reason}");
}

/// Waits until `condition` holds; panics with `what` after a minute.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Of the wall clock, to find what was done in the logs of nodes.
pub fn second_of_hour() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0.0, |elapsed| elapsed.as_secs_f64() % 3600.0)
}

/// A running server with an empty database `test`.
pub struct TestServer {
    server: Server,
}

impl TestServer {
    pub fn start() -> TestServer {
        TestServer::start_with(&[])
    }

    /// Starts the server with more arguments, which must suit the server under test.
    pub fn start_with(arguments: &[&str]) -> TestServer {
        TestServer::from_setup(setup(arguments))
    }

    /// Starts the server with its folder inside `parent`.
    pub fn start_in(parent: &Path, arguments: &[&str]) -> TestServer {
        TestServer::from_setup(setup(arguments).parent(parent))
    }

    fn from_setup(setup: Setup) -> TestServer {
        let server = setup.start().unwrap_or_else(|error| panic!("{error}"));
        let server = TestServer { server };
        let create = format!("CREATE DATABASE IF NOT EXISTS {DATABASE}");
        server.client_in("").execute(&create).unwrap();
        server
    }

    pub fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// Where operators reach it over HTTP.
    pub fn http(&self) -> String {
        let lines = self.server.printed();
        let word = lines.iter().rev().find_map(|line| {
            line.split_once(" is ready: ")?.1.split_whitespace().skip_while(|&word| word != "http").nth(1)
        });
        word.expect("the ready line tells of HTTP").to_owned()
    }

    pub fn process(&self) -> u32 {
        self.server.process().expect("the server runs")
    }

    pub fn data_dir(&self) -> PathBuf {
        self.server.data_dir()
    }

    pub fn kill(&mut self) {
        self.server.kill().unwrap();
    }

    pub fn stop(&mut self) {
        let status = self.server.stop().unwrap();
        assert!(status.success(), "the server ended with {status}");
    }

    pub fn restart(&mut self) {
        self.server.restart().unwrap_or_else(|error| panic!("{error}"));
    }

    /// A connection of the test kit's client in the database `test`.
    pub fn client(&self) -> Client {
        self.client_in(DATABASE)
    }

    pub fn client_in(&self, database: &str) -> Client {
        let login = shoal_testkit::client::Login { database: database.into(), ..Default::default() };
        Client::log_in(self.port(), &login).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A client program with the options to reach this server as root.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.args(["--no-defaults", "--host=127.0.0.1", "--user=root"]).arg(format!("--port={}", self.port()));
        command
    }

    /// What mariadb-dump writes of a database.
    pub fn dump(&self, options: &[&str], database: &str) -> Vec<u8> {
        let mut command = self.program("mariadb-dump");
        command.args(["--skip-comments", "--default-character-set=utf8mb4"]).args(options).arg(database);
        let output = self.finish(command, b"");
        assert!(output.status.success(), "mariadb-dump: {}", output.errors());
        output.stdout
    }

    /// Runs a dump in another database, comments inside definitions included.
    pub fn restore(&self, database: &str, dump: &[u8]) {
        let mut command = self.program("mariadb");
        command.args(["--comments", "--default-character-set=utf8mb4", database]);
        let output = self.finish(command, dump);
        assert!(output.status.success(), "{}", output.errors());
    }

    /// sysbench on one table in the database `test`.
    pub fn sysbench(&self, script: &str, action: &str, options: &[&str]) -> String {
        let mut command = Command::new("sysbench");
        command
            .args(["--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=root"])
            .arg(format!("--mysql-port={}", self.port()))
            .arg(format!("--mysql-db={DATABASE}"))
            .args(options)
            .args([script, action]);
        let output = finish(command, b"");
        let text = output.text() + &output.errors();
        assert!(output.status.success(), "sysbench {script} {action}:\n{text}");
        text
    }

    /// Runs SQL text through the mariadb client; rows come tab-separated without a heading.
    pub fn sql(&self, sql: &str) -> String {
        let output = self.mariadb(&["--batch", "--skip-column-names"], sql.as_bytes());
        let errors = output.errors();
        assert!(output.status.success(), "{sql}\nfailed: {errors}");
        output.text()
    }

    /// Runs SQL text that must fail and returns what the mariadb client says about it.
    pub fn sql_error(&self, sql: &str) -> String {
        let output = self.mariadb(&["--batch"], sql.as_bytes());
        let text = output.text();
        assert!(!output.status.success(), "{sql}\ndid not fail:\n{text}");
        output.errors()
    }

    /// Runs the mariadb client in the database `test` with these options and this input.
    pub fn mariadb(&self, options: &[&str], input: &[u8]) -> Output {
        let mut command = self.program("mariadb");
        command.args(["--default-character-set=utf8mb4", "--database", DATABASE]).args(options);
        finish(command, input)
    }

    /// Runs any client program to its end.
    pub fn finish(&self, command: Command, input: &[u8]) -> Output {
        finish(command, input)
    }

    /// A status counter of one session, by the session itself.
    pub fn counter(client: &mut Client, name: &str) -> i64 {
        let rows = client.query(&format!("SHOW STATUS LIKE '{name}'")).unwrap();
        assert_eq!(rows.rows.len(), 1, "no status variable {name}");
        rows.rows[0][1].to_string().parse().unwrap()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if thread::panicking() {
            let log = self.server.log();
            eprintln!("--- the server's log ends:\n{}\n---", tail(&log, 60));
        }
    }
}

fn finish(command: Command, input: &[u8]) -> Output {
    program::run(command, input, CLIENT_DEADLINE, || false).unwrap_or_else(|error| panic!("{error}"))
}

/// How the server under test is started.
pub fn setup(arguments: &[&str]) -> Setup {
    let mut setup = if target_is_mariadb() {
        Setup::mariadb()
            .argument("--innodb-buffer-pool-size=64M")
            .argument("--innodb-flush-log-at-trx-commit=1")
            .argument("--character-set-server=utf8mb4")
            .argument("--max-allowed-packet=64M")
            .argument("--local-infile=1")
            .argument(format!("--sql-mode={MARIADB_SQL_MODE}"))
    } else {
        Setup::new(Kind::Shoal, shoal_binary())
    };
    setup.arguments.extend(arguments.iter().map(ToString::to_string));
    let more = env::var("SHOAL_TEST_ARGUMENTS").unwrap_or_default();
    setup.arguments.extend(more.split_whitespace().map(ToString::to_string));
    setup
}

/// The binary under test.
pub fn shoal_binary() -> PathBuf {
    if let Some(path) = env::var_os("SHOAL_BINARY") {
        return PathBuf::from(path);
    }
    let target = target_folder();
    ["release", "debug"]
        .iter()
        .map(|profile| target.join(profile).join("shoal"))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("no shoal binary in {}: build it first", target.display()))
}

/// Where cargo builds.
fn target_folder() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Where `scripts/client-packages` puts the libraries of clients.
pub fn clients_folder() -> PathBuf {
    target_folder().join("clients")
}
