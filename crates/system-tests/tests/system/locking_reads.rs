//! What locking reads lock: the rows that they return, what the isolation level has them examine on the way, and nothing behind it.

use std::collections::BTreeSet;
use std::time::Duration;

use shoal_system_tests::{Client, Error, TestServer, skip, target_is_mariadb, wait_until};

/// Long enough for an answer that is on its way; a statement without one by then is taken to wait for a lock.
const BLOCKED: Duration = Duration::from_millis(150);
const LEVELS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

fn session(server: &TestServer, level: &str) -> Client {
    let mut client = server.client();
    client.execute(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")).unwrap();
    client.execute("SET SESSION innodb_lock_wait_timeout = 1").unwrap();
    client
}

fn run(client: &mut Client, statements: &[&str]) {
    for sql in statements {
        client.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

fn text(client: &mut Client, sql: &str) -> String {
    client.text(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).join(" ")
}

/// The rows of `l` that others cannot lock now, by probing each; `l` has the ids 1 to `last`.
fn locked_rows(probe: &mut Client, last: usize) -> BTreeSet<usize> {
    let free: BTreeSet<usize> = (1..=last)
        .filter(|id| {
            let sql = format!("SELECT n FROM l WHERE n = {id} FOR UPDATE NOWAIT");
            match probe.text(&sql) {
                Ok(_) => true,
                Err(Error::Server { errno: 3572 | 1205, .. }) => false,
                Err(error) => panic!("{sql}: {error}"),
            }
        })
        .collect();
    (1..=last).filter(|id| !free.contains(id)).collect()
}

/// `l(n, g, p, s)`: 40 rows, g = n MOD 4 without an index, p = n DIV 10 with one, s = 'new' but for the first three.
fn forty_rows(server: &TestServer) {
    let mut setup = server.client();
    setup
        .execute("CREATE TABLE l (n INT PRIMARY KEY, g INT, p INT, s VARCHAR(9), KEY by_p (p)) ENGINE=InnoDB")
        .unwrap();
    let rows: Vec<String> =
        (1..=40).map(|n| format!("({n},{},{},'{}')", n % 4, n / 10, if n <= 3 { "old" } else { "new" })).collect();
    setup.execute(&format!("INSERT INTO l VALUES {}", rows.join(","))).unwrap();
}

#[test]
fn an_ordered_locking_read_with_a_limit_locks_what_it_returns() {
    let server = TestServer::start();
    forty_rows(&server);
    // The statement, what it returns (empty: any row), and the rows that it may lock besides: those that it has examined.
    let cases: [(&str, &str, &[usize]); 12] = [
        ("SELECT n FROM l ORDER BY n LIMIT 1 FOR UPDATE", "1", &[]),
        ("SELECT n FROM l ORDER BY n DESC LIMIT 2 FOR UPDATE", "40 39", &[]),
        ("SELECT n FROM l WHERE n > 10 ORDER BY n LIMIT 3 FOR UPDATE", "11 12 13", &[]),
        ("SELECT n FROM l ORDER BY n LIMIT 2, 1 FOR UPDATE", "3", &[1, 2]),
        ("SELECT n FROM l WHERE s = 'new' ORDER BY n LIMIT 1 FOR UPDATE", "4", &[1, 2, 3]),
        ("SELECT n FROM l WHERE g = 0 ORDER BY n DESC LIMIT 1 FOR UPDATE", "40", &[]),
        // A condition that is not evaluated where the rows lie.
        ("SELECT n FROM l WHERE n > IFNULL(@never, 5) ORDER BY n LIMIT 1 FOR UPDATE", "6", &[1, 2, 3, 4, 5]),
        ("SELECT p FROM l FORCE INDEX (by_p) WHERE p = 4 ORDER BY p LIMIT 1 FOR UPDATE", "4", &[40]),
        ("SELECT n FROM l WHERE n IN (9, 7, 8) ORDER BY n LIMIT 1 FOR UPDATE", "7", &[]),
        ("SELECT n FROM l WHERE n IN (9, 7, 8) ORDER BY n DESC LIMIT 2 FOR UPDATE", "9 8", &[]),
        ("SELECT n FROM l WHERE n IN (9, 7, 99, 8) AND g < 2 ORDER BY n LIMIT 1 FOR UPDATE", "8", &[7]),
        ("SELECT a.n FROM l a JOIN l b ON b.n = a.n LIMIT 1 FOR UPDATE", "", &[]),
    ];
    for level in LEVELS {
        let (mut a, mut b) = (session(&server, level), session(&server, level));
        for (sql, returned, examined) in cases {
            run(&mut a, &["BEGIN"]);
            let got = text(&mut a, sql);
            assert!(returned.is_empty() || got == returned, "{level}: {sql} has returned {got}");
            let locked = locked_rows(&mut b, 40);
            let needed: BTreeSet<usize> = match sql.starts_with("SELECT p") {
                true => BTreeSet::from([40]),
                false => got.split(' ').map(|id| id.parse().unwrap()).collect(),
            };
            let allowed: BTreeSet<usize> = needed.iter().copied().chain(examined.iter().copied()).collect();
            assert!(locked.is_superset(&needed), "{level}: {sql} has locked {locked:?}");
            assert!(locked.is_subset(&allowed), "{level}: {sql} has locked {locked:?}");
            run(&mut a, &["ROLLBACK"]);
        }
    }
}

/// InnoDB locks the whole list: it reads all of it before it sorts. Workers would find nothing free.
#[test]
fn workers_that_share_a_list_of_keys_get_one_each() {
    if target_is_mariadb() {
        return skip("InnoDB locks the whole list");
    }
    let server = TestServer::start();
    forty_rows(&server);
    run(
        &mut server.client(),
        &["ALTER TABLE l ADD COLUMN u INT, ADD UNIQUE KEY by_u (u)", "UPDATE l SET u = n + 100"],
    );
    for (list, order) in [
        ("n IN (12, 9, 7, 3)", "g DESC, n"),
        ("n IN (12, 9, 7, 3) AND s <> 'none'", "g DESC, n"),
        ("u IN (112, 109, 107, 103)", "g DESC, n"),
    ] {
        for level in LEVELS {
            let mut workers: Vec<Client> = (0..5).map(|_| session(&server, level)).collect();
            let sql = format!("SELECT n FROM l WHERE {list} ORDER BY {order} LIMIT 1 FOR UPDATE SKIP LOCKED");
            for (worker, expected) in workers.iter_mut().zip(["3", "7", "9", "12", ""]) {
                run(worker, &["BEGIN"]);
                assert_eq!(text(worker, &sql), expected, "{level}: {sql}");
            }
        }
    }
    let (mut a, mut b) = (session(&server, "READ COMMITTED"), session(&server, "READ COMMITTED"));
    run(&mut a, &["BEGIN"]);
    assert_eq!(text(&mut a, "SELECT n FROM l WHERE n IN (12, 9, 7, 3) ORDER BY g LIMIT 2 FOR UPDATE"), "12 9");
    assert_eq!(locked_rows(&mut b, 40), BTreeSet::from([9, 12]));
    run(&mut a, &["ROLLBACK", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "BEGIN"]);
    assert_eq!(text(&mut a, "SELECT n FROM l WHERE n IN (12, 9, 7, 3) ORDER BY g LIMIT 2 FOR UPDATE"), "12 9");
    assert_eq!(locked_rows(&mut b, 40), BTreeSet::from([3, 7, 9, 12]));
}

#[test]
fn equal_keys_are_locked_one_by_one_as_well() {
    let server = TestServer::start();
    forty_rows(&server);
    let (mut a, mut b) = (session(&server, "READ COMMITTED"), session(&server, "READ COMMITTED"));
    run(&mut a, &["BEGIN"]);
    assert_eq!(
        text(&mut a, "SELECT p FROM l FORCE INDEX (by_p) WHERE p = 2 ORDER BY p LIMIT 3 FOR UPDATE"),
        "2 2 2"
    );
    assert_eq!(locked_rows(&mut b, 40).len(), 3);
    let rest = "SELECT p FROM l FORCE INDEX (by_p) WHERE p = 2 ORDER BY p LIMIT 100 FOR UPDATE SKIP LOCKED";
    run(&mut b, &["BEGIN"]);
    assert_eq!(b.text(rest).unwrap().len(), 7);
}

#[test]
fn other_sessions_change_rows_that_are_not_returned() {
    let server = TestServer::start();
    forty_rows(&server);
    for level in LEVELS {
        let (mut a, mut b) = (session(&server, level), session(&server, level));
        run(&mut a, &["BEGIN"]);
        assert_eq!(text(&mut a, "SELECT n FROM l ORDER BY n LIMIT 1 FOR UPDATE"), "1");
        let updates: Vec<String> = (2..=40).map(|n| format!("UPDATE l SET s = s WHERE n = {n}")).collect();
        run(&mut b, &updates.iter().map(String::as_str).collect::<Vec<_>>());
        run(&mut b, &["INSERT INTO l VALUES (100, 0, 0, 'x')", "DELETE FROM l WHERE n = 100"]);
        run(&mut a, &["ROLLBACK"]);
    }
}

#[test]
fn updates_and_deletes_with_order_and_limit_lock_what_they_change() {
    let server = TestServer::start();
    forty_rows(&server);
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        let (mut a, mut b) = (session(&server, level), session(&server, level));
        for (sql, changed) in [
            ("UPDATE l SET g = g + 1 ORDER BY n LIMIT 2", vec![1, 2]),
            ("UPDATE l SET g = g + 1 WHERE s = 'new' AND n > 9 ORDER BY n LIMIT 1", vec![10]),
            ("DELETE FROM l ORDER BY n DESC LIMIT 1", vec![40]),
            ("DELETE FROM l WHERE n >= 20 ORDER BY n LIMIT 2", vec![20, 21]),
        ] {
            run(&mut a, &["BEGIN"]);
            assert_eq!(a.execute(sql).unwrap().affected_rows, changed.len() as u64, "{sql}");
            let locked = locked_rows(&mut b, 40);
            assert_eq!(locked, changed.into_iter().collect(), "{level}: {sql}");
            run(&mut a, &["ROLLBACK"]);
        }
    }
}

#[test]
fn the_gap_in_front_of_the_returned_row_is_closed_in_every_partition() {
    let server = TestServer::start();
    let mut setup = server.client();
    setup.execute("CREATE TABLE g (n INT PRIMARY KEY) ENGINE=InnoDB").unwrap();
    setup.execute("INSERT INTO g VALUES (100), (200)").unwrap();
    let (mut a, mut b) = (session(&server, "REPEATABLE READ"), session(&server, "REPEATABLE READ"));
    run(&mut a, &["BEGIN"]);
    assert_eq!(text(&mut a, "SELECT n FROM g ORDER BY n LIMIT 1 FOR UPDATE"), "100");
    for n in 1..=12 {
        let error = b.execute(&format!("INSERT INTO g VALUES ({n})")).unwrap_err();
        assert!(matches!(error, Error::Server { errno: 1205, .. }), "{n}: {error}");
    }
    run(&mut b, &["INSERT INTO g VALUES (300), (301), (302), (303)"]);
    assert_eq!(text(&mut a, "SELECT n FROM g ORDER BY n LIMIT 1 FOR UPDATE"), "100");
    run(&mut a, &["COMMIT"]);
    run(&mut b, &["INSERT INTO g VALUES (1)"]);
}

#[test]
fn nowait_fails_for_rows_that_would_be_returned_alone() {
    let server = TestServer::start();
    forty_rows(&server);
    for level in LEVELS {
        let (mut a, mut b) = (session(&server, level), session(&server, level));
        run(&mut a, &["BEGIN", "UPDATE l SET s = s, g = g + 10 WHERE n IN (3, 4, 5, 20, 40)"]);
        assert_eq!(text(&mut b, "SELECT n FROM l ORDER BY n LIMIT 2 FOR UPDATE NOWAIT"), "1 2", "{level}");
        let error = b.text("SELECT n FROM l ORDER BY n LIMIT 3 FOR UPDATE NOWAIT").unwrap_err();
        let expected = if target_is_mariadb() { 1205 } else { 3572 };
        assert!(matches!(error, Error::Server { errno, .. } if errno == expected), "{level}: {error}");
        assert_eq!(
            text(&mut b, "SELECT n FROM l ORDER BY n LIMIT 4 FOR UPDATE SKIP LOCKED"),
            "1 2 6 7",
            "{level}"
        );
        let last = "SELECT n FROM l ORDER BY n DESC LIMIT 2 FOR SHARE SKIP LOCKED";
        assert_eq!(text(&mut b, last), "39 38", "{level}");
        run(&mut a, &["ROLLBACK"]);
    }
}

#[test]
fn a_read_that_has_waited_for_its_row_looks_again() {
    let server = TestServer::start();
    forty_rows(&server);
    for level in LEVELS {
        let (mut a, mut b) = (session(&server, level), session(&server, level));
        run(&mut a, &["BEGIN", "DELETE FROM l WHERE n = 1", "UPDATE l SET n = 50 WHERE n = 2"]);
        run(&mut b, &["SET SESSION innodb_lock_wait_timeout = 50", "BEGIN"]);
        b.send_query("SELECT n FROM l ORDER BY n LIMIT 1 FOR UPDATE").unwrap();
        assert!(!b.answers_within(BLOCKED).unwrap(), "{level}: it did not wait");
        run(&mut a, &["COMMIT"]);
        assert_eq!(b.receive_reply().unwrap().rows().unwrap().text(), ["3"], "{level}");
        run(&mut b, &["ROLLBACK"]);
        run(&mut a, &["UPDATE l SET n = 2 WHERE n = 50", "INSERT INTO l VALUES (1, 1, 0, 'old')"]);
    }
}

#[test]
fn workers_of_a_queue_get_every_job_once_and_find_every_free_one() {
    const WORKERS: usize = 16;
    const JOBS: usize = 800;
    let server = TestServer::start();
    let mut setup = server.client();
    setup
        .execute(
            "CREATE TABLE jobs (id INT PRIMARY KEY, state VARCHAR(9), worker INT, KEY by_state (state)) ENGINE=InnoDB",
        )
        .unwrap();
    let rows: Vec<String> = (0..JOBS).map(|id| format!("({id}, 'new', NULL)")).collect();
    setup.execute(&format!("INSERT INTO jobs VALUES {}", rows.join(","))).unwrap();
    let taken: Vec<Vec<usize>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let server = &server;
                scope.spawn(move || work_until_nothing_is_left(server, worker, JOBS / WORKERS))
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let mut all: Vec<usize> = taken.into_iter().flatten().collect();
    all.sort_unstable();
    assert_eq!(all, (0..JOBS).collect::<Vec<_>>());
    assert_eq!(text(&mut setup, "SELECT COUNT(*) FROM jobs WHERE state = 'done' AND worker IS NOT NULL"), "800");
}

/// Takes its share of the jobs. There are always free ones while it does, so a read that finds none has missed one.
fn work_until_nothing_is_left(server: &TestServer, worker: usize, share: usize) -> Vec<usize> {
    let level = LEVELS[worker % 2];
    let mut client = session(server, level);
    let mut taken = Vec::new();
    while taken.len() < share {
        run(&mut client, &["BEGIN"]);
        let next = "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
        let found = client.text(next).unwrap();
        let id: usize = found.first().expect("a job is free").parse().unwrap();
        run(
            &mut client,
            &[&format!("UPDATE jobs SET state = 'done', worker = {worker} WHERE id = {id}"), "COMMIT"],
        );
        taken.push(id);
    }
    taken
}

#[test]
fn a_waiter_that_is_killed_or_whose_client_goes_leaves_the_queue() {
    let server = TestServer::start();
    forty_rows(&server);
    for way in ["KILL QUERY", "KILL", "close"] {
        let (mut a, mut b, mut c) =
            (session(&server, LEVELS[0]), session(&server, LEVELS[0]), session(&server, LEVELS[0]));
        run(&mut a, &["BEGIN", "SELECT n FROM l WHERE n = 1 FOR SHARE"]);
        run(&mut b, &["SET SESSION innodb_lock_wait_timeout = 50"]);
        b.send_query("UPDATE l SET g = 9 WHERE n = 1").unwrap();
        assert!(!b.answers_within(BLOCKED).unwrap(), "it did not wait");
        let id = b.connection_id();
        let mut waiting = (way != "close").then_some(b);
        if waiting.is_some() {
            c.execute(&format!("{way} {id}")).unwrap();
        }
        // Behind an exclusive waiter nobody gets a shared lock.
        wait_until("the waiter to be gone", || c.text("SELECT n FROM l WHERE n = 1 FOR SHARE NOWAIT").is_ok());
        if let Some(b) = waiting.as_mut().filter(|_| way == "KILL QUERY") {
            assert!(matches!(b.receive_reply(), Err(Error::Server { errno: 1317, .. })));
        }
        run(&mut a, &["ROLLBACK"]);
    }
}
