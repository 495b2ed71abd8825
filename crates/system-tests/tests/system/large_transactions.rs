//! Transactions that are logged in parts and applied in slices: there as a whole or not at all, for whoever looks and whenever the
//! process is killed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use shoal_system_tests::{Client, TestServer, wait_until};

/// Some MiB in the log.
const ROWS: u64 = 40_000;

fn fill(server: &TestServer) {
    let mut setup = server.client();
    for sql in [
        "CREATE TABLE d (n INT PRIMARY KEY)",
        "INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
        "CREATE TABLE big (id INT PRIMARY KEY, n INT NOT NULL, text VARCHAR(200), KEY by_n (n))",
        "CREATE TABLE beside (id INT PRIMARY KEY, n INT NOT NULL)",
        "INSERT INTO beside VALUES (1, 0)",
    ] {
        setup.execute(sql).unwrap();
    }
    let digits = "d a, d b, d c, d e, (SELECT n FROM d WHERE n < 4) f";
    setup
        .execute(&format!(
            "INSERT INTO big SELECT a.n + 10*b.n + 100*c.n + 1000*e.n + 10000*f.n, 0, REPEAT('t', 100) FROM {digits}"
        ))
        .unwrap();
}

fn state(client: &mut Client) -> (u64, u64, u64) {
    let row = client.text("SELECT MIN(n), MAX(n), COUNT(*) FROM big").unwrap();
    let numbers: Vec<u64> = row[0].split(',').map(|number| number.parse().unwrap()).collect();
    (numbers[0], numbers[1], numbers[2])
}

#[test]
fn readers_see_a_large_change_at_once() {
    let server = TestServer::start();
    fill(&server);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let scans = scope.spawn(|| {
            let mut client = server.client();
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                let (least, most, count) = state(&mut client);
                assert!(
                    least == most && count == ROWS && least >= last,
                    "{least} to {most} in {count} rows after {last}"
                );
                last = least;
            }
        });
        let points = scope.spawn(|| {
            let mut client = server.client();
            let mut last = 0;
            for number in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let id = number * 7919 % ROWS;
                let n: u64 =
                    client.text(&format!("SELECT n FROM big WHERE id = {id}")).unwrap()[0].parse().unwrap();
                assert!(n >= last, "row {id} is {n}, one before was {last}");
                last = n;
            }
        });
        let beside = scope.spawn(|| {
            let mut client = server.client();
            let mut count = 0;
            while !done.load(Ordering::Relaxed) {
                client.execute("UPDATE beside SET n = n + 1 WHERE id = 1").unwrap();
                count += 1;
            }
            assert_eq!(client.text("SELECT n FROM beside").unwrap(), [count.to_string()]);
        });
        let mut client = server.client();
        for round in 1..=3 {
            assert_eq!(client.execute("UPDATE big SET n = n + 1").unwrap().affected_rows, ROWS);
            assert_eq!(state(&mut client), (round, round, ROWS), "what was told is there");
        }
        client.execute("BEGIN").unwrap();
        client.execute("UPDATE big SET n = n + 1").unwrap();
        client.execute("ROLLBACK").unwrap();
        assert_eq!(
            client.execute("UPDATE big SET text = 'x' WHERE id < 10").unwrap().affected_rows,
            10,
            "nothing is locked for long"
        );
        done.store(true, Ordering::Relaxed);
        for reader in [scans, points, beside] {
            reader.join().unwrap();
        }
    });
}

#[test]
fn a_process_that_is_killed_amid_large_changes_has_each_whole_or_not_at_all() {
    let mut server = TestServer::start_with(&["--set", "FragmentLogFileSize=4M"]);
    fill(&server);
    let acknowledged = AtomicU64::new(0);
    for round in 0..6 {
        let port = server.port();
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut client = Client::connect(port).unwrap();
                client.use_database("test").unwrap();
                while client.execute("UPDATE big SET n = n + 1").is_ok() {
                    acknowledged.fetch_add(1, Ordering::SeqCst);
                }
            });
            let mut clock = server.client();
            let running = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'UPDATE big%'";
            wait_until("the change to begin", || clock.text(running).unwrap() == ["1"]);
            // At another moment in each round.
            for _ in 0..round * 400 {
                clock.execute("UPDATE beside SET n = n + 1 WHERE id = 1").unwrap();
            }
            server.kill();
            writer.join().unwrap();
        });
        server.restart();
        let (least, most, count) = state(&mut server.client());
        assert_eq!((least, count), (most, ROWS), "half a change, round {round}");
        let promised = acknowledged.load(Ordering::SeqCst);
        assert!(least >= promised, "{promised} changes were acknowledged, {least} are there");
        acknowledged.store(least, Ordering::SeqCst);
    }
    assert!(acknowledged.load(Ordering::SeqCst) > 0, "no change has ever ended");
}
