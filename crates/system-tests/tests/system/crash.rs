//! kill -9 under writes, again and again: what was acknowledged is there, nothing is there by half.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use shoal_system_tests::{Client, TestServer, skip, target_is_mariadb, wait_until};

const WRITERS: u64 = 4;
const ROUNDS: u64 = 20;
/// Rows of one multi-row INSERT in its own transaction.
const BATCH: u64 = 5;

const SCHEMA: &str = "\
CREATE TABLE a (id BIGINT PRIMARY KEY, writer INT, n BIGINT, payload VARCHAR(2000), KEY by_writer (writer, n));
CREATE TABLE b (id BIGINT PRIMARY KEY, writer INT, n BIGINT, UNIQUE KEY by_writer (writer, n));
CREATE TABLE heads (writer INT PRIMARY KEY, n BIGINT);
CREATE TABLE batches (id BIGINT PRIMARY KEY, n BIGINT);
INSERT INTO heads VALUES (0,0),(1,0),(2,0),(3,0);
";

/// The highest number that each writer was told is committed; the last one counts batches.
type Acknowledged = Arc<Vec<AtomicU64>>;

/// Transactions numbered from `n` on, until the connection breaks.
fn write_transactions(port: u16, writer: u64, mut n: u64, acknowledged: &Acknowledged) {
    let Ok(mut client) = connect(port) else { return };
    loop {
        let id = n * WRITERS + writer;
        let payload = "p".repeat((n * 37 % 1500) as usize);
        let statements = [
            "BEGIN".to_string(),
            format!("INSERT INTO a VALUES ({id},{writer},{n},'{payload}')"),
            format!("INSERT INTO b VALUES ({id},{writer},{n})"),
            format!("UPDATE heads SET n={n} WHERE writer={writer}"),
            "COMMIT".to_string(),
        ];
        if statements.iter().any(|sql| fails(&mut client, sql)) {
            return;
        }
        acknowledged[writer as usize].store(n, Ordering::SeqCst);
        n += 1;
    }
}

/// Multi-row statements in autocommit, numbered from `n` on.
fn write_batches(port: u16, mut n: u64, acknowledged: &Acknowledged) {
    let Ok(mut client) = connect(port) else { return };
    loop {
        let rows: Vec<String> = (0..BATCH).map(|row| format!("({},{n})", n * BATCH + row)).collect();
        if fails(&mut client, &format!("INSERT INTO batches VALUES {}", rows.join(","))) {
            return;
        }
        acknowledged[WRITERS as usize].store(n, Ordering::SeqCst);
        n += 1;
    }
}

fn connect(port: u16) -> Result<Client, shoal_system_tests::Error> {
    let mut client = Client::connect(port)?;
    client.use_database("test")?;
    Ok(client)
}

/// A lost connection ends a writer; an error that the server reports is a finding.
fn fails(client: &mut Client, sql: &str) -> bool {
    match client.run(sql) {
        Ok(_) => false,
        Err(error) => {
            let shutting_down = [0, 1053, 1152, 1927, 4031].contains(&error.errno());
            assert!(shutting_down, "{sql:.60}: {error}");
            true
        }
    }
}

fn start_writers(server: &TestServer, acknowledged: &Acknowledged) -> Vec<JoinHandle<()>> {
    let port = server.port();
    let next = |writer: u64| acknowledged[writer as usize].load(Ordering::SeqCst) + 1;
    let mut threads = Vec::new();
    for writer in 0..WRITERS {
        let (acknowledged, n) = (Arc::clone(acknowledged), next(writer));
        threads.push(thread::spawn(move || write_transactions(port, writer, n, &acknowledged)));
    }
    let (acknowledged, n) = (Arc::clone(acknowledged), next(WRITERS));
    threads.push(thread::spawn(move || write_batches(port, n, &acknowledged)));
    threads
}

fn total(acknowledged: &Acknowledged) -> u64 {
    acknowledged.iter().map(|n| n.load(Ordering::SeqCst)).sum()
}

/// Compares the tables with what was acknowledged, and moves on to what is really there: the transaction in
/// flight at the crash may or may not have made it.
fn verify(server: &TestServer, acknowledged: &Acknowledged, round: u64) {
    let mut client = server.client();
    for writer in 0..WRITERS {
        let list = |client: &mut Client, from: &str| {
            let sql = format!("SELECT n FROM {from} WHERE writer={writer} ORDER BY n");
            client.text(&sql).unwrap()
        };
        let a = list(&mut client, "a");
        let context = format!("round {round}, writer {writer}");
        assert_eq!(a, list(&mut client, "b"), "a and b differ, {context}");
        assert_eq!(a, list(&mut client, "a IGNORE INDEX (by_writer)"), "index and rows differ, {context}");
        let expected: Vec<String> = (1..=a.len() as u64).map(|n| n.to_string()).collect();
        assert_eq!(a, expected, "a gap, {context}");
        let head = client.text(&format!("SELECT n FROM heads WHERE writer={writer}")).unwrap();
        assert_eq!(head, [a.len().to_string()], "the head differs, {context}");
        let promised = acknowledged[writer as usize].load(Ordering::SeqCst);
        let found = a.len() as u64;
        assert!(found >= promised, "{promised} was acknowledged, {found} is there, {context}");
        assert!(found <= promised + 1, "{found} appeared after {promised}, {context}");
        acknowledged[writer as usize].store(found, Ordering::SeqCst);
    }
    let batches = client.text("SELECT n, COUNT(*), MIN(id), MAX(id) FROM batches GROUP BY n ORDER BY n").unwrap();
    let whole = |n: u64| format!("{n},{BATCH},{},{}", n * BATCH, n * BATCH + BATCH - 1);
    let expected: Vec<String> = (1..=batches.len() as u64).map(whole).collect();
    assert_eq!(batches, expected, "a batch is missing or there by half, round {round}");
    let promised = acknowledged[WRITERS as usize].load(Ordering::SeqCst);
    assert!(batches.len() as u64 >= promised, "{promised} batches were acknowledged, round {round}");
    acknowledged[WRITERS as usize].store(batches.len() as u64, Ordering::SeqCst);
}

#[test]
fn twenty_kills_under_writes_lose_nothing_and_halve_nothing() {
    kill_under_writes(&[], ROUNDS);
}

#[test]
fn kills_between_short_log_segments_and_their_checkpoints_lose_nothing() {
    if target_is_mariadb() {
        return skip("the log's segments are Shoal's");
    }
    kill_under_writes(&["--set", "FragmentLogFileSize=1M"], 6);
}

fn kill_under_writes(arguments: &[&str], rounds: u64) {
    let mut server = TestServer::start_with(arguments);
    server.sql(SCHEMA);
    let acknowledged: Acknowledged = Arc::new((0..=WRITERS).map(|_| AtomicU64::new(0)).collect());
    for round in 0..rounds {
        let before = total(&acknowledged);
        let writers = start_writers(&server, &acknowledged);
        // A different moment each round, from the first commits to some hundreds.
        let moment = before + 3 + round * round * 7 % 400;
        wait_until("commits before the kill", || total(&acknowledged) > moment);
        server.kill();
        for writer in writers {
            writer.join().unwrap();
        }
        server.restart();
        if round % 5 == 4 {
            // Killed again right after recovery, before anything was written.
            server.kill();
            server.restart();
        }
        verify(&server, &acknowledged, round);
    }
    assert!(total(&acknowledged) > 50 * rounds, "{}", total(&acknowledged));
    server.stop();
    server.restart();
    verify(&server, &acknowledged, rounds);
}

#[test]
fn sysbench_writes_keep_the_number_of_rows_over_kills() {
    let mut server = TestServer::start();
    let options = ["--tables=1", "--table-size=2000", "--threads=4"];
    server.sysbench("oltp_write_only", "prepare", &options);
    for round in 0..3 {
        // The script deletes and inserts one id per transaction, so the number of rows never changes.
        let mut command = std::process::Command::new("sysbench");
        command
            .args(["--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=root"])
            .arg(format!("--mysql-port={}", server.port()))
            .arg("--mysql-db=test")
            .args(options)
            .args(["--time=60", "oltp_write_only", "run"]);
        let run = thread::spawn(move || {
            let deadline = std::time::Duration::from_secs(100);
            shoal_system_tests::program::run(command, b"", deadline, || false).unwrap()
        });
        let mut client = server.client();
        let mut commits = || {
            let rows = client.query("SHOW GLOBAL STATUS LIKE 'Com_commit'").unwrap();
            rows.rows[0][1].to_string().parse::<u64>().unwrap()
        };
        let before = commits();
        wait_until("sysbench commits", || commits() > before + 200);
        server.kill();
        assert!(!run.join().unwrap().status.success(), "sysbench lost its server");
        server.restart();
        let counts = server.sql(
            "SELECT COUNT(*), COUNT(DISTINCT id), SUM(id) FROM sbtest1 FORCE INDEX (PRIMARY);
             SELECT COUNT(*), SUM(id) FROM sbtest1 FORCE INDEX (k_1) WHERE k >= 0",
        );
        assert_eq!(counts, "2000\t2000\t2001000\n2000\t2001000\n", "round {round}");
    }
}

#[test]
fn definitions_survive_a_kill() {
    let mut server = TestServer::start();
    server.sql(
        "CREATE TABLE kept (id INT PRIMARY KEY AUTO_INCREMENT, v INT DEFAULT 7, KEY by_v (v)) AUTO_INCREMENT=100;
         INSERT INTO kept (v) VALUES (1),(2);
         CREATE TABLE gone (id INT PRIMARY KEY); DROP TABLE gone;
         CREATE TABLE emptied (id INT PRIMARY KEY); INSERT INTO emptied VALUES (1); TRUNCATE TABLE emptied;
         CREATE TABLE old_name (id INT PRIMARY KEY); INSERT INTO old_name VALUES (5); RENAME TABLE old_name TO new_name;
         ALTER TABLE kept ADD COLUMN extra VARCHAR(10) DEFAULT 'x';
         CREATE DATABASE other; CREATE TABLE other.t (id INT PRIMARY KEY); DROP DATABASE other;",
    );
    let definition = |server: &TestServer| {
        // What the counter has reached may jump forward over a crash, never back.
        let text = server.sql("SHOW CREATE TABLE kept");
        let words = text.split(' ').filter(|word| !word.starts_with("AUTO_INCREMENT="));
        words.collect::<Vec<_>>().join(" ")
    };
    let before = definition(&server);
    server.kill();
    server.restart();
    assert_eq!(server.sql("SHOW TABLES"), "emptied\nkept\nnew_name\n");
    assert_eq!(definition(&server), before);
    assert_eq!(server.sql("SELECT * FROM kept ORDER BY id"), "100\t1\tx\n101\t2\tx\n");
    assert_eq!(server.sql("SELECT COUNT(*) FROM emptied; SELECT id FROM new_name"), "0\n5\n");
    assert!(!server.sql("SHOW DATABASES").contains("other"));
    server.sql("INSERT INTO kept (v) VALUES (3)");
    let next = server.sql("SELECT id FROM kept WHERE v=3");
    assert!(next.trim().parse::<u64>().unwrap() >= 102, "{next}");
    if !target_is_mariadb() {
        assert_eq!(server.sql("SELECT @@version LIKE '8.4%'"), "1\n");
    }
}

/// ALTER TABLE's counter was only in memory: the definition that the log kept did not reach the recovered sequence.
#[test]
fn an_altered_auto_increment_survives_a_kill_and_a_stop() {
    let mut server = TestServer::start();
    let table = "(id BIGINT PRIMARY KEY AUTO_INCREMENT, v INT)";
    server.sql(&format!(
        "CREATE TABLE fresh {table}; ALTER TABLE fresh AUTO_INCREMENT=1000;
         CREATE TABLE used {table}; INSERT INTO used (v) VALUES (1),(2); ALTER TABLE used AUTO_INCREMENT=1000;
         CREATE TABLE beyond {table}; INSERT INTO beyond (v) VALUES (1); ALTER TABLE beyond AUTO_INCREMENT=1000;
         INSERT INTO beyond VALUES (5000, 1);"
    ));
    server.kill();
    server.restart();
    server.stop();
    server.restart();
    for (table, least) in [("fresh", 1000), ("used", 1000), ("beyond", 5001)] {
        server.sql(&format!("INSERT INTO {table} (v) VALUES (9)"));
        let next = server.sql(&format!("SELECT id FROM {table} WHERE v=9"));
        assert!(next.trim().parse::<u64>().unwrap() >= least, "{table}: {next}");
    }
}
