//! Clients that were not written here, on real work: they make a table, insert in batches and in prepared statements, roll back, read what
//! they have written and compare, and send a value of 17 MiB. Their programs are in `crates/system-tests/clients`; `make test` fetches
//! their libraries by `scripts/client-packages`.
//!
//! Each logs in with caching_sha2_password, first with the whole exchange, then from the server's cache. Of them only MySQL's own library knows
//! zstd; what is on the wire then is looked at in `compression.rs`.

use std::path::{Path, PathBuf};
use std::process::Command;

use shoal_system_tests::{TestServer, clients_folder, skip, target_is_mariadb};

const USER: &str = "quinn";
const PASSWORD: &str = "Ganz geheim";
/// What is in the table afterwards, whichever client has filled it.
const CONTENTS: &str = "SELECT COUNT(*), SUM(price), COUNT(note), SUM(serial), MIN(made), MAX(seen), SUM(JSON_EXTRACT(facts, '$.n')), \
     SUM(LENGTH(picture)) FROM goods";
const EXPECTED: &str =
    "301\t44851.544850\t200\t5534023222112865439650\t1999-12-31\t2024-02-29 23:59:58.000299\t44850\t17979392\n";

/// What a client can do on its connection, and what the session then says of itself.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    tls: bool,
    zlib: bool,
    zstd: bool,
}

const PLAIN: Way = Way { name: "plain", tls: false, zlib: false, zstd: false };
const TLS: Way = Way { name: "tls", tls: true, ..PLAIN };
const ZLIB: Way = Way { name: "zlib", zlib: true, ..PLAIN };
const TLS_ZLIB: Way = Way { name: "tls+zlib", zlib: true, ..TLS };
const ZSTD: Way = Way { name: "zstd", zstd: true, ..PLAIN };
const TLS_ZSTD: Way = Way { name: "tls+zstd", zstd: true, ..TLS };

/// Runs a client's program in every way, each on a database and with an account of its own. `program` gets the server's port, the
/// database, the way, and the file with the server's authority.
fn work(ways: &[Way], program: impl Fn(&Connection<'_>) -> Command) {
    let server = TestServer::start();
    let authority = server.client().text("SELECT @@ssl_ca").unwrap().remove(0);
    for way in ways {
        let database = format!("work_{}", way.name.replace('+', "_"));
        // A new account is in no cache.
        server.sql(&format!(
            "CREATE DATABASE {database}; DROP USER IF EXISTS {USER}; \
             CREATE USER {USER} IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'; GRANT ALL ON *.* TO {USER}"
        ));
        let connection = Connection { port: server.port(), database: &database, way, authority: &authority };
        let output = server.finish(program(&connection), b"");
        let text = output.text() + &output.errors();
        assert!(output.status.success(), "{}: {text}", way.name);
        // go-sql-driver tells of packets whose numbers are not MySQL's, and goes on.
        assert!(!text.contains("unexpected sequence"), "{}: {text}", way.name);
        let told = |name: &str| output.text().lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        assert_eq!(told("Ssl_cipher=").is_some_and(|cipher| !cipher.is_empty()), way.tls, "{}: {text}", way.name);
        for (algorithm, is_used) in [("zlib", way.zlib), ("zstd", way.zstd)] {
            let used = told("Compression_algorithm=");
            assert_eq!(used.as_deref() == Some(algorithm), is_used, "{}: {text}", way.name);
        }
        assert_eq!(server.sql(&format!("USE {database}; {CONTENTS}")), EXPECTED, "{}", way.name);
    }
}

struct Connection<'a> {
    port: u16,
    database: &'a str,
    way: &'a Way,
    authority: &'a str,
}

impl Connection<'_> {
    /// As arguments of most of the programs.
    fn arguments(&self) -> Vec<String> {
        let words = [USER, PASSWORD, self.database, self.way.name, self.authority];
        std::iter::once(self.port.to_string()).chain(words.map(str::to_owned)).collect()
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(name)
}

/// Something in the folder of clients' libraries, or the reason printed why there is none.
fn library(name: &str) -> Option<PathBuf> {
    if target_is_mariadb() {
        skip("the clients of MySQL 8 are Shoal's matter");
        return None;
    }
    let path = clients_folder().join(name);
    if !path.exists() {
        skip(&format!("needs {}: run `make test`, or scripts/client-packages", path.display()));
        return None;
    }
    Some(path)
}

#[test]
fn pymysql() {
    let Some(python) = library("python/bin/python") else { return };
    work(&[PLAIN, TLS], |connection| {
        let mut command = Command::new(&python);
        command.arg(source("workload.py")).args(connection.arguments());
        command
    });
}

#[test]
fn libmysqlclient() {
    let Some(python) = library("python/bin/python") else { return };
    let has_library = Command::new(&python).args(["-c", "import _mysql_connector"]).output();
    if !has_library.is_ok_and(|output| output.status.success()) {
        return skip("needs Connector/Python: run `make test`, or scripts/client-packages");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("work.sql");
    std::fs::write(&file, script()).unwrap();
    work(&[PLAIN, TLS, ZSTD, TLS_ZSTD, TLS_ZLIB], |connection| {
        let mut command = Command::new(&python);
        command.arg(source("libmysqlclient.py")).args(connection.arguments()).arg(&file);
        command
    });
}

#[test]
fn mysql2_of_node() {
    let Some(library) = library("node/node_modules") else { return };
    work(&[TLS, ZLIB, TLS_ZLIB], |connection| {
        let mut command = Command::new("node");
        command.env("NODE_PATH", &library).arg(source("workload.js")).args(connection.arguments());
        command
    });
}

#[test]
fn connector_j() {
    let Some(library) = library("java/mysql-connector-j.jar") else { return };
    let folder = tempfile::tempdir().unwrap();
    let compiled = Command::new("javac").arg("-d").arg(folder.path()).arg(source("Workload.java")).output();
    let compiled = compiled.expect("javac is there, as its package was asked for");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let classes = format!("{}:{}", library.display(), folder.path().display());
    work(&[TLS, TLS_ZLIB], |connection| {
        // By default it uses TLS where it is offered.
        let properties = match connection.way.zlib {
            false => "",
            true => "?useCompression=true&useServerPrepStmts=true&rewriteBatchedStatements=true",
        };
        let mut command = Command::new("java");
        let (port, database) = (connection.port.to_string(), connection.database);
        command.args(["-cp", &classes, "Workload", &port, USER, PASSWORD, database, properties]);
        command
    });
}

#[test]
fn go_sql_driver() {
    let Some(program) = library("go-workload") else { return };
    work(&[TLS, ZLIB, TLS_ZLIB], |connection| {
        let mut command = Command::new(&program);
        command.args(connection.arguments());
        command
    });
}

/// What the other programs do, as a script.
fn script() -> String {
    let mut script = String::from(
        "CREATE TABLE goods (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100) NOT NULL, price DECIMAL(20,6) NOT NULL, \
         made DATE, seen DATETIME(6), facts JSON, picture LONGBLOB, ratio DOUBLE, serial BIGINT UNSIGNED UNIQUE, note VARCHAR(20));\n\
         PREPARE add_good FROM 'INSERT INTO goods (name, price, made, seen, facts, picture, ratio, serial, note) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)';\nSTART TRANSACTION;\n",
    );
    for number in 0..300u64 {
        let made = if number % 2 == 0 { "2024-02-29" } else { "1999-12-31" };
        let note = if number % 3 == 0 { "NULL".to_owned() } else { format!("'note {number}'") };
        script += &format!(
            "SET @name = 'Größe 鯉 🐟 {number}', @price = {number}.{number:06}, @made = '{made}', \
             @seen = '2024-02-29 23:59:58.{number:06}', @facts = '{{\"n\": {number}}}', @picture = REPEAT(x'00ff', 256), \
             @ratio = {number} / 3, @serial = {}, @note = {note};\n\
             EXECUTE add_good USING @name, @price, @made, @seen, @facts, @picture, @ratio, @serial, @note;\n",
            u64::MAX - number
        );
    }
    script += "COMMIT;\nBEGIN; UPDATE goods SET price = price + 1000; ROLLBACK;\n\
               BEGIN; UPDATE goods SET price = price + 0.5 WHERE id = 1; SAVEPOINT here; DELETE FROM goods;\n\
               ROLLBACK TO SAVEPOINT here; COMMIT;\nINSERT INTO goods (name, price, picture) VALUES ('big', 1, x'";
    script += &"00ff".repeat((17 << 20) / 2);
    script += "');\nSELECT COUNT(*) FROM goods WHERE name = CONCAT('Größe 鯉 🐟 ', id - 1);\n\
               SHOW STATUS WHERE Variable_name IN ('Ssl_cipher', 'Compression_algorithm');\n";
    script
}

#[test]
fn the_mariadb_client() {
    if target_is_mariadb() {
        return skip("the clients of MySQL 8 are Shoal's matter");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("work.sql");
    std::fs::write(&file, script()).unwrap();
    work(&[TLS, TLS_ZLIB], |connection| {
        let mut command = Command::new("mariadb");
        command
            .args([
                "--no-defaults",
                "--host=127.0.0.1",
                "--batch",
                "--skip-column-names",
                "--ssl-verify-server-cert",
            ])
            .args(["--default-character-set=utf8mb4", "--max-allowed-packet=64M"])
            .args([format!("--port={}", connection.port), format!("--ssl-ca={}", connection.authority)])
            .args([format!("--user={USER}"), format!("--password={PASSWORD}"), connection.database.to_owned()])
            .args(connection.way.zlib.then_some("--compress"))
            // The statement that reads a file is the client's own; what is told of the session comes as NAME=VALUE.
            .arg(format!("--execute=source {}", file.display()));
        let mut shell = Command::new("sh");
        shell.args(["-c", "\"$@\" | sed 's/\\t/=/'", "sh"]).arg(command.get_program()).args(command.get_args());
        shell
    });
}
