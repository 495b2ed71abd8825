//! Definitions beside those who read and write: columns that come and go at once, indexes that are built while others write.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use shoal_system_tests::{Client, TestServer, skip, target_is_mariadb, wait_until};

use crate::big_table::{big_table, state_of};

const DOUBLINGS: u32 = 17;
/// For what is done row by row.
const FEWER_DOUBLINGS: u32 = 14;

#[test]
fn columns_come_and_go_at_once_and_outlive_crashes() {
    if target_is_mariadb() {
        return skip("row versions are counted as in MySQL");
    }
    let mut server = TestServer::start();
    server.sql(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, v VARCHAR(10), KEY by_a (a)); \
         INSERT INTO t VALUES (1,10,'x'),(2,20,'y'),(3,NULL,NULL)",
    );
    let mut client = server.client();
    for (sql, row) in [
        ("ADD COLUMN c INT NOT NULL DEFAULT 7", "1 10 x 7"),
        ("ADD COLUMN d VARCHAR(9) DEFAULT 'dd' AFTER id", "1 dd 10 x 7"),
        ("MODIFY v VARCHAR(10) FIRST", "x 1 dd 10 7"),
        ("DROP COLUMN d, RENAME COLUMN c TO cc", "x 1 10 7"),
        ("ADD COLUMN e ENUM('p','q') NOT NULL, ADD COLUMN n TEXT", "x 1 10 7 p NULL"),
    ] {
        let reply = client.execute(&format!("ALTER TABLE t {sql}, ALGORITHM=INSTANT")).unwrap();
        assert_eq!(reply.affected_rows, 0, "{sql}");
        assert_eq!(server.sql("SELECT * FROM t WHERE id=1").trim().replace('\t', " "), row, "{sql}");
    }
    client.execute("INSERT INTO t VALUES ('z',4,40,70,'q','new')").unwrap();
    client.execute("UPDATE t SET a=21 WHERE id=2").unwrap();
    let unchanged = client.execute("UPDATE t SET cc=7 WHERE id IN (1,3)").unwrap();
    assert_eq!(unchanged.affected_rows, 0);
    client.execute("ALTER TABLE t ADD KEY by_c (cc), ADD UNIQUE KEY by_n (n(5))").unwrap();
    let expected = "x\t1\t10\t7\tp\tNULL\ny\t2\t21\t7\tp\tNULL\nNULL\t3\tNULL\t7\tp\tNULL\nz\t4\t40\t70\tq\tnew\n";
    let check = |server: &TestServer| {
        assert_eq!(server.sql("SELECT * FROM t ORDER BY id"), expected);
        assert_eq!(server.sql("SELECT id FROM t FORCE INDEX (by_c) WHERE cc=7 ORDER BY id"), "1\n2\n3\n");
        assert_eq!(server.sql("SELECT id FROM t FORCE INDEX (by_a) WHERE a>10 ORDER BY a"), "2\n4\n");
        assert!(server.sql("CHECK TABLE t").contains("OK"));
    };
    check(&server);
    server.kill();
    server.restart();
    check(&server);
    server.stop();
    server.restart();
    check(&server);
    let mut client = server.client();
    let versions = "SELECT TOTAL_ROW_VERSIONS FROM information_schema.INNODB_TABLES WHERE NAME='test/t'";
    assert_eq!(server.sql(versions), "5\n");
    let mut versions = 5;
    loop {
        let error = match client.execute("ALTER TABLE t ADD COLUMN more INT DEFAULT 1, ALGORITHM=INSTANT") {
            Ok(_) => client.execute("ALTER TABLE t DROP COLUMN more, ALGORITHM=INSTANT").err(),
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            assert_eq!(error.errno(), 4092, "{error}");
            break;
        }
        versions += 2;
        assert!(versions <= 64);
    }
    // The rows are written anew, and there is room for as many again.
    client.execute("ALTER TABLE t DROP COLUMN more").or_else(|_| client.execute("ALTER TABLE t FORCE")).unwrap();
    check(&server);
    client.execute("ALTER TABLE t ADD COLUMN more INT, ALGORITHM=INSTANT").unwrap();
}

#[test]
fn an_index_is_built_while_others_write() {
    let server = TestServer::start();
    big_table(&server, DOUBLINGS);
    let done = AtomicBool::new(false);
    let longest_ms = AtomicU64::new(0);
    let write = |writer: u64| {
        let mut client = server.client();
        let mut written = 0_u64;
        while !done.load(Ordering::Relaxed) {
            let began = Instant::now();
            let id = 1 + (written * 7919 + writer * 13) % (1 << DOUBLINGS);
            for sql in [
                format!("UPDATE big SET k=k+1000000, v=CONCAT(v,'!') WHERE id={id}"),
                format!("INSERT INTO big (id,k,v) VALUES ({},5,'new')", 10_000_000 * (writer + 1) + written),
                format!("DELETE FROM big WHERE id={}", id + 3),
            ] {
                client.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
            longest_ms.fetch_max(began.elapsed().as_millis() as u64, Ordering::Relaxed);
            written += 1;
        }
        written
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2).map(|writer| scope.spawn(move || write(writer))).collect();
        let mut client = server.client();
        for sql in [
            "CREATE INDEX by_v ON big (v, k)",
            "ALTER TABLE big ADD KEY by_k (k), ADD KEY by_k_v (k DESC, v(3)), ADD COLUMN c INT DEFAULT 3",
            "ALTER TABLE big DROP KEY by_v, ADD KEY by_c (c)",
        ] {
            client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        done.store(true, Ordering::Relaxed);
        assert!(writers.into_iter().map(|writer| writer.join().unwrap()).sum::<u64>() > 0);
    });
    // A build that keeps writers out takes about as long as it takes.
    println!("the longest round of a writer took {} ms", longest_ms.load(Ordering::Relaxed));
    let count = server.sql("SELECT COUNT(*), SUM(k) FROM big");
    for index in ["by_k", "by_k_v", "by_c"] {
        let condition = if index == "by_c" { "c=3" } else { "k>-1" };
        let sql = format!("SELECT COUNT(*), SUM(k) FROM big FORCE INDEX ({index}) WHERE {condition}");
        assert_eq!(server.sql(&sql), count, "{index}");
    }
    assert!(server.sql("CHECK TABLE big").contains("OK"));
}

/// Rows of `big` with a value of `k` that no other has, whatever writers there are: id for the first ones, beyond them its own.
fn write_unique_rows(server: &TestServer, writer: u64, done: &AtomicBool) -> u64 {
    let mut client = server.client();
    let mut written = 0_u64;
    while !done.load(Ordering::Relaxed) {
        let id = 1 + (written * 7919 + writer * 13) % (1 << DOUBLINGS);
        let fresh = 10_000_000 * (writer + 1) + written * 4;
        for sql in [
            // Swapped values: for a moment, within the transaction, both rows have given theirs up.
            format!("UPDATE big SET k=-{fresh} WHERE id={id}"),
            format!("INSERT INTO big (id,k,v) VALUES ({fresh},{fresh},'new')"),
            format!("UPDATE big SET id={}, k={} WHERE id={fresh}", fresh + 1, fresh + 1),
            format!("DELETE FROM big WHERE id={}", id + 3),
            format!("REPLACE INTO big (id,k,v) VALUES ({},{},'again')", fresh + 1, fresh + 2),
        ] {
            client.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        written += 1;
    }
    written
}

#[test]
fn a_unique_index_is_built_while_others_write_and_has_every_row() {
    let server = TestServer::start();
    big_table(&server, DOUBLINGS);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (server, done) = (&server, &done);
        let writers: Vec<_> =
            (0..2).map(|writer| scope.spawn(move || write_unique_rows(server, writer, done))).collect();
        let mut client = server.client();
        for sql in [
            "CREATE UNIQUE INDEX by_k ON big (k)",
            "ALTER TABLE big ADD UNIQUE KEY by_k_v (k, v(3)), ADD KEY by_v (v), ADD COLUMN c INT DEFAULT 3",
        ] {
            client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        done.store(true, Ordering::Relaxed);
        assert!(writers.into_iter().map(|writer| writer.join().unwrap()).sum::<u64>() > 0);
    });
    let count = server.sql("SELECT COUNT(*), SUM(k) FROM big");
    for index in ["by_k", "by_k_v"] {
        let sql = format!("SELECT COUNT(*), SUM(k) FROM big FORCE INDEX ({index}) WHERE k>-1000000000");
        assert_eq!(server.sql(&sql), count, "{index}");
    }
    // Every row is found by its key's entry, and no key can be taken twice.
    let found =
        "SELECT COUNT(*) FROM big a JOIN big b FORCE INDEX (by_k) ON b.k=a.k AND b.id=a.id WHERE a.id % 9 = 1";
    assert_eq!(server.sql(found), server.sql("SELECT COUNT(*) FROM big WHERE id % 9 = 1"));
    let mut client = server.client();
    for k in client.text("SELECT k FROM big WHERE k<0 OR k>10000000 OR k<50").unwrap() {
        let error = client.execute(&format!("INSERT INTO big (k) VALUES ({k})")).unwrap_err();
        assert_eq!(error.errno(), 1062, "{k}: {error}");
    }
    assert!(server.sql("CHECK TABLE big").contains("OK"));
}

#[test]
fn a_duplicate_ends_the_build_of_a_unique_index_and_leaves_nothing() {
    if target_is_mariadb() {
        return skip("the states are Shoal's");
    }
    let mut server = TestServer::start();
    big_table(&server, DOUBLINGS);
    let mut client = server.client();
    let last = 1 << DOUBLINGS;
    client.execute(&format!("UPDATE big SET k=1 WHERE k={last}")).unwrap();
    let error = client.execute("CREATE UNIQUE INDEX by_k ON big (k)").unwrap_err();
    assert_eq!(error.errno(), 1062, "{error}");
    assert!(error.to_string().contains("Duplicate entry '1' for key 'big.by_k'"), "{error}");
    let is_gone = |server: &TestServer| {
        assert!(!server.sql("SHOW CREATE TABLE big").contains("by_k"));
        // Nobody is kept from the value.
        server.sql("INSERT INTO big (k) VALUES (1); DELETE FROM big WHERE k=1 AND id>1");
    };
    is_gone(&server);
    let mut control = server.client();
    let id = client.connection_id();
    for kills_server in [false, true] {
        client.send_query("ALTER TABLE big ADD UNIQUE KEY by_k (k), ADD UNIQUE KEY by_v (v, k)").unwrap();
        wait_until("the indexes are being built", || state_of(&mut control, id).starts_with("altering table"));
        if kills_server {
            server.kill();
            server.restart();
        } else {
            control.execute(&format!("KILL QUERY {id}")).unwrap();
            assert_eq!(client.receive_reply().unwrap_err().errno(), 1317);
        }
        is_gone(&server);
    }
    let mut client = server.client();
    client.execute("CREATE UNIQUE INDEX by_k ON big (k)").unwrap();
    assert_eq!(client.execute("INSERT INTO big (k) VALUES (5)").unwrap_err().errno(), 1062);
}

#[test]
fn an_index_whose_statement_is_killed_is_not_there() {
    if target_is_mariadb() {
        return skip("the states are Shoal's");
    }
    let mut server = TestServer::start();
    big_table(&server, DOUBLINGS);
    let mut control = server.client();
    let mut definer = server.client();
    let id = definer.connection_id();
    let keys =
        ["by_k (k)", "by_v (v, k)", "by_vd (v DESC, k)", "by_kv (k, v)", "by_4 (v(4), k DESC)", "by_5 (v(5))"];
    let statement = format!("ALTER TABLE big ADD KEY {}", keys.join(", ADD KEY "));
    definer.send_query(&statement).unwrap();
    wait_until("the indexes are being built", || state_of(&mut control, id).starts_with("altering table"));
    control.execute(&format!("KILL QUERY {id}")).unwrap();
    assert_eq!(definer.receive_reply().unwrap_err().errno(), 1317);
    let definition = server.sql("SHOW CREATE TABLE big");
    assert!(!definition.contains("by_"), "{definition}");
    let history = "SELECT EVENT_NAME FROM performance_schema.events_stages_history WHERE THREAD_ID=";
    let stage = "stage/innodb/alter table (read PK and internal sort)";
    assert_eq!(control.text(&format!("{history}{id}")).unwrap(), [stage]);
    definer.send_query(&statement).unwrap();
    wait_until("the indexes are being built", || state_of(&mut control, id).starts_with("altering table"));
    // Nobody sees them, and others go on.
    let shown = control.text("SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_NAME='big'").unwrap();
    let used = control.query("SELECT * FROM big FORCE INDEX (by_k) WHERE k=1").map(|_| ());
    control.execute("UPDATE big SET v='during' WHERE id=1").unwrap();
    let current =
        "SELECT WORK_COMPLETED <= WORK_ESTIMATED FROM performance_schema.events_stages_current WHERE THREAD_ID=";
    let progress = control.text(&format!("{current}{id}")).unwrap();
    assert!(
        state_of(&mut control, id).starts_with("altering table"),
        "the indexes were built too soon for this test"
    );
    assert_eq!((shown, used.unwrap_err().errno(), progress), (vec!["1".to_owned()], 1176, vec!["1".to_owned()]));
    server.kill();
    server.restart();
    assert!(!server.sql("SHOW CREATE TABLE big").contains("by_"));
    let mut client = server.client();
    client.execute(&statement).unwrap();
    assert_eq!(client.text("SELECT id FROM big FORCE INDEX (by_v) WHERE v='during'").unwrap(), ["1"]);
    let rows = format!("{}\n", 1 << DOUBLINGS);
    assert_eq!(server.sql("SELECT COUNT(*) FROM big FORCE INDEX (by_k) WHERE k>0"), rows);
    assert!(server.sql("CHECK TABLE big").contains("OK"));
}

#[test]
fn definitions_of_one_table_beside_each_other_all_take_effect() {
    let server = TestServer::start();
    big_table(&server, DOUBLINGS);
    std::thread::scope(|scope| {
        for sql in [
            "CREATE INDEX one ON big (k)",
            "CREATE INDEX two ON big (v)",
            "ALTER TABLE big ADD COLUMN c INT DEFAULT 5, ADD COLUMN d INT DEFAULT 6",
            "ALTER TABLE big MODIFY k BIGINT",
        ] {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.client();
                let deadline = Instant::now() + Duration::from_secs(60);
                while let Err(error) = client.execute(sql) {
                    assert!(error.errno() == 1412 && Instant::now() < deadline, "{sql}: {error}");
                }
            });
        }
    });
    let rows = format!("{}\n", 1 << DOUBLINGS);
    assert_eq!(server.sql("SELECT COUNT(*) FROM big FORCE INDEX (one) WHERE k>0 AND c=5"), rows);
    assert_eq!(server.sql("SELECT COUNT(*) FROM big FORCE INDEX (two) WHERE v>'' AND d=6"), rows);
    assert!(server.sql("SHOW CREATE TABLE big").contains("`k` bigint"));
}

#[test]
fn a_table_whose_rows_are_copied_is_read_meanwhile_and_written_afterwards() {
    if target_is_mariadb() {
        return skip("the states are Shoal's");
    }
    let server = TestServer::start();
    big_table(&server, DOUBLINGS);
    let rows = 1_u64 << DOUBLINGS;
    let mut control = server.client();
    for (sql, errno) in [
        ("MODIFY k BIGINT, LOCK=NONE", 1846),
        ("FORCE, LOCK=NONE", 1846),
        ("MODIFY k BIGINT, LOCK=SHARED, ALGORITHM=INPLACE", 1846),
    ] {
        assert_eq!(control.execute(&format!("ALTER TABLE big {sql}")).unwrap_err().errno(), errno, "{sql}");
    }
    let (mut definer, mut old_reader) = (server.client(), server.client());
    let id = definer.connection_id();
    for (sql, lets_read) in [
        ("MODIFY k BIGINT, LOCK=SHARED", true),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (id, k)", true),
        ("MODIFY k DECIMAL(20,0), LOCK=EXCLUSIVE", false),
    ] {
        definer.send_query(&format!("ALTER TABLE big {sql}")).unwrap();
        wait_until("the rows are being copied", || state_of(&mut control, id).starts_with("copy to tmp table"));
        if !lets_read {
            control.execute("SET lock_wait_timeout=1, innodb_lock_wait_timeout=1").unwrap();
            let refused = control.query("SELECT v FROM big WHERE id=1").map(|_| ());
            assert!(refused.is_err() || !state_of(&mut control, id).starts_with("copy to tmp table"), "{sql}");
            definer.receive_reply().unwrap();
            continue;
        }
        // Reads see the table as it is, and one that has begun keeps the definition waiting.
        let still_copies = |control: &mut Client| state_of(control, id).starts_with("copy to tmp table");
        old_reader.execute("BEGIN").unwrap();
        assert_eq!(old_reader.text("SELECT v FROM big WHERE id=1 LOCK IN SHARE MODE").unwrap(), ["a"]);
        assert!(still_copies(&mut control), "{sql}: reads waited for the copy");
        // Who writes waits, and writes to the new table; who has read before is the deadlock's victim.
        std::thread::scope(|scope| {
            let server = &server;
            let writer = scope.spawn(move || server.client().execute("UPDATE big SET v='b' WHERE id=2").unwrap());
            let error = old_reader.execute("UPDATE big SET v='c' WHERE id=1").unwrap_err();
            assert_eq!(error.errno(), 1213, "{sql}: {error}");
            definer.receive_reply().unwrap();
            writer.join().unwrap();
        });
        assert_eq!(server.sql("SELECT COUNT(*), MIN(v), MAX(id) FROM big WHERE v<'c'"), format!("2\ta\t2\n"));
        assert_eq!(server.sql("SELECT COUNT(*) FROM big"), format!("{rows}\n"));
        server.sql("UPDATE big SET v='row 2' WHERE id=2");
    }
    assert!(server.sql("CHECK TABLE big").contains("OK"));
}

#[test]
fn no_write_is_lost_while_copies_follow_each_other() {
    let server = TestServer::start();
    big_table(&server, 12);
    let done = AtomicBool::new(false);
    let reads = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (server, done, reads) = (&server, &done, &reads);
        let write = move |writer: u64| {
            let mut client = server.client();
            let mut written = 0_u64;
            while !done.load(Ordering::Relaxed) {
                let id = 1_000_000 * (writer + 1) + written;
                for sql in [
                    format!("INSERT INTO big (id,k,v) VALUES ({id},1,'new')"),
                    format!("UPDATE big SET k=k+1 WHERE id={id}"),
                ] {
                    client.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
                }
                written += 1;
            }
            written
        };
        let writers: Vec<_> = (0..2).map(|writer| scope.spawn(move || write(writer))).collect();
        scope.spawn(move || {
            let mut client = server.client();
            while !done.load(Ordering::Relaxed) {
                assert_eq!(client.text("SELECT COUNT(*) FROM big WHERE id<=4096").unwrap(), ["4096"]);
                reads.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut client = server.client();
        for round in 0..12 {
            let kind = if round % 2 == 0 { "BIGINT" } else { "INT" };
            client.execute(&format!("ALTER TABLE big MODIFY k {kind}")).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        let written: u64 = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        let expected = format!("{written}\t2\t2\n");
        assert_eq!(server.sql("SELECT COUNT(*), MIN(k), MAX(k) FROM big WHERE v='new'"), expected);
    });
    assert!(reads.load(Ordering::Relaxed) > 0);
}

#[test]
fn functional_indexes_are_built_while_others_write() {
    if target_is_mariadb() {
        return skip("MariaDB has no functional key parts");
    }
    let mut server = TestServer::start();
    big_table(&server, FEWER_DOUBLINGS);
    server.sql(
        "ALTER TABLE big ADD COLUMN doc JSON; UPDATE big SET doc=JSON_OBJECT('tags', JSON_ARRAY(k % 1000, id))",
    );
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (server, done) = (&server, &done);
        let write = move |writer: u64| {
            let mut client = server.client();
            let mut written = 0_u64;
            while !done.load(Ordering::Relaxed) {
                let id = 1 + (written * 7919 + writer * 13) % (1 << FEWER_DOUBLINGS);
                let fresh = 10_000_000 * (writer + 1) + written;
                for sql in [
                    format!("UPDATE big SET k=-{fresh}, v=CONCAT(v,'!') WHERE id={id}"),
                    format!("UPDATE big SET v='x' WHERE id={}", id + 1),
                    format!("INSERT INTO big (id,k,doc) VALUES ({fresh},{fresh},'{{\"tags\":[1,{fresh}]}}')"),
                    format!("UPDATE big SET doc=JSON_OBJECT('tags', JSON_ARRAY(5,id)) WHERE id={}", id + 5),
                    format!("DELETE FROM big WHERE id={}", id + 3),
                ] {
                    client.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
                }
                written += 1;
            }
            written
        };
        let writers: Vec<_> = (0..2).map(|writer| scope.spawn(move || write(writer))).collect();
        let mut client = server.client();
        for sql in [
            "ALTER TABLE big ADD INDEX sum ((k+7)), LOCK=NONE",
            "CREATE UNIQUE INDEX twice ON big ((k*2))",
            "ALTER TABLE big ADD INDEX tags ((CAST(doc->'$.tags' AS UNSIGNED ARRAY))), ADD KEY by_v (v)",
        ] {
            client.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        done.store(true, Ordering::Relaxed);
        assert!(writers.into_iter().map(|writer| writer.join().unwrap()).sum::<u64>() > 0);
    });
    let check = |server: &TestServer| {
        for (index, condition) in [
            ("sum", "k+7 BETWEEN 500 AND 900"),
            ("sum", "k+7 < 0"),
            ("twice", "k*2 BETWEEN -30000000 AND 100000"),
            ("tags", "JSON_OVERLAPS(doc->'$.tags','[1,5,999]')"),
            ("tags", "77 MEMBER OF (doc->'$.tags')"),
        ] {
            let sql =
                |hint: &str| format!("SELECT COUNT(*), SUM(id) FROM big {hint} INDEX ({index}) WHERE {condition}");
            assert_eq!(server.sql(&sql("FORCE")), server.sql(&sql("IGNORE")), "{condition}");
            let plan = server.sql(&format!("EXPLAIN {}", sql("FORCE")));
            assert!(plan.contains(&format!("\t{index}\t")), "{plan}");
        }
        assert!(server.sql("CHECK TABLE big").contains("OK"));
    };
    check(&server);
    server.kill();
    server.restart();
    check(&server);
    // What fails leaves neither index nor column.
    let mut client = server.client();
    let error = client.execute("ALTER TABLE big ADD UNIQUE INDEX u ((k % 100))").unwrap_err();
    assert_eq!(error.errno(), 1062, "{error}");
    client.execute("INSERT INTO big (id,k,doc) VALUES (5000001,50000001,'[\"no number\"]')").unwrap();
    let error = client.execute("ALTER TABLE big ADD INDEX n ((CAST(doc AS UNSIGNED ARRAY)))").unwrap_err();
    assert_eq!(error.errno(), 1235, "{error}");
    client.execute("DELETE FROM big WHERE JSON_TYPE(doc)='OBJECT' OR doc IS NULL").unwrap();
    let definition = server.sql("SHOW CREATE TABLE big");
    assert!(!definition.contains("`n`") && !definition.contains("`u`"), "{definition}");
    client.execute("INSERT INTO big (k,doc) VALUES (60000001,'{\"a\":1}')").unwrap();
    check(&server);
}
