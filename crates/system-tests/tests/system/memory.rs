//! Resident memory: what was promised while tables fill, shrink and go and statements sort and join, and what is given back
//! afterwards.
//!
//! The bound on a process is 1.25 times `DataMemory` and 256 MiB. With little `DataMemory` the fixed part would hide most
//! faults, so these tests look at what the process takes beyond what it took when it was empty.

use shoal_system_tests::{Client, TestServer, process, skip, target_is_mariadb, wait_until};

const MIB: u64 = 1 << 20;
const DATA_MEMORY: u64 = 64 * MIB;
/// What an empty process grows by with its first clients: buffers of the log, of sessions, of worker threads.
const BUFFERS: u64 = 72 * MIB;

const SMALL_ROWS: u64 = 600_000;

/// A server, and what it took before anything was in it.
struct Watched {
    server: TestServer,
    client: Client,
    empty: u64,
}

impl Watched {
    fn start() -> Watched {
        let server = TestServer::start_with(&["--set", "DataMemory=64M", "--set", "NoOfPartitions=2"]);
        let client = server.client();
        let empty = process::resident_bytes(server.process()).unwrap();
        Watched { server, client, empty }
    }

    /// Resident bytes beyond those of the empty process.
    fn grown(&self) -> u64 {
        process::resident_bytes(self.server.process()).unwrap().saturating_sub(self.empty)
    }

    fn used(&mut self) -> u64 {
        TestServer::counter(&mut self.client, "Shoal_memory_used_bytes") as u64
    }

    /// Waits until old versions of what was deleted are gone; what is used then.
    fn used_falls_to(&mut self, bytes: u64) -> u64 {
        wait_until(&format!("at most {} MiB are used", bytes / MIB), || self.used() <= bytes);
        self.used()
    }

    fn create(&mut self, table: &str) {
        let create = format!("CREATE TABLE {table} (id INT PRIMARY KEY, k INT, pad VARCHAR(400), KEY (k))");
        self.client.execute(&create).unwrap();
    }

    /// Inserts rows until memory is full; how many.
    fn fill(&mut self, table: &str, pad: usize) -> u64 {
        for batch in 0..1_000u64 {
            let rows: Vec<String> = (batch * 500..batch * 500 + 500)
                .map(|id| format!("({id},{},REPEAT('x',{pad}))", id * 7919 % 1_000_003))
                .collect();
            if let Err(error) = self.client.execute(&format!("INSERT INTO {table} VALUES {}", rows.join(","))) {
                assert_eq!(error.errno(), 1114, "{error}");
                return batch * 500;
            }
            assert!(self.grown() <= DATA_MEMORY * 5 / 4 + BUFFERS, "{} MiB while filling", self.grown() / MIB);
        }
        panic!("{} MiB never filled up", DATA_MEMORY / MIB);
    }

    /// Waits until no more than this is left of what was used.
    fn expect_freed_to(&self, what: &str, bytes: u64) {
        let (mut least, started) = (u64::MAX, std::time::Instant::now());
        wait_until(&format!("{what}: at most {} MiB resident", bytes / MIB), || {
            least = least.min(self.grown());
            assert!(started.elapsed().as_secs() < 30, "{what}: {} MiB stay, not {}", least / MIB, bytes / MIB);
            least <= bytes
        });
    }
}

#[test]
fn memory_of_rows_that_were_deleted_or_dropped_goes_back_and_any_table_can_use_it() {
    if target_is_mariadb() {
        return skip("DataMemory is Shoal's");
    }
    let mut watched = Watched::start();
    watched.create("a");
    let rows = watched.fill("a", 300);
    assert!(rows * 300 > DATA_MEMORY / 2, "only {rows} rows");
    let full = watched.used();
    watched.client.execute("DELETE FROM a WHERE id % 10 <> 0").unwrap();
    assert!(
        watched.grown() <= DATA_MEMORY * 5 / 4 + 96 * MIB + BUFFERS,
        "{} MiB after the deletion",
        watched.grown() / MIB
    );
    let used = watched.used_falls_to(full / 9);
    watched.expect_freed_to("nine rows of ten are deleted", used * 5 / 4 + BUFFERS);
    watched.create("b");
    let others = watched.fill("b", 150);
    assert!(others * 150 > DATA_MEMORY / 3, "only {others} rows of another size fit where {rows} were deleted");
    let left = watched.client.text("SELECT COUNT(*), SUM(LENGTH(pad)) FROM a").unwrap();
    assert_eq!(left, [format!("{},{}", rows.div_ceil(10), rows.div_ceil(10) * 300)]);
    watched.client.execute("DROP TABLE a, b").unwrap();
    watched.expect_freed_to("everything is dropped", BUFFERS);
    assert_eq!(watched.used(), 0);
}

/// Of small rows most is what leads to them: slots and places in the hash index, which kept their size until the table was empty.
#[test]
fn what_leads_to_small_rows_goes_back_when_they_are_deleted() {
    if target_is_mariadb() {
        return skip("DataMemory is Shoal's");
    }
    let mut watched = Watched::start();
    watched.client.execute("CREATE TABLE s (id INT PRIMARY KEY)").unwrap();
    for first in (0..SMALL_ROWS).step_by(5000) {
        let values: Vec<String> = (first..first + 5000).map(|id| format!("({id})")).collect();
        watched.client.execute(&format!("INSERT INTO s VALUES {}", values.join(","))).unwrap();
    }
    let full = watched.used();
    let delete = "DELETE FROM s WHERE id % 10 <> 0 LIMIT 50000";
    while watched.client.execute(delete).unwrap().affected_rows > 0 {}
    let used = watched.used_falls_to(full / 9);
    watched.expect_freed_to("nine small rows of ten are deleted", used * 5 / 4 + BUFFERS);
    let sum = watched.client.text("SELECT COUNT(*), SUM(id) FROM s").unwrap();
    assert_eq!(sum, [format!("{},{}", SMALL_ROWS / 10, SMALL_ROWS / 10 * (SMALL_ROWS - 10) / 2)]);
    for first in (0..SMALL_ROWS).step_by(5000) {
        let values: Vec<String> =
            (first..first + 5000).filter(|id| id % 10 != 0).map(|id| format!("({id})")).collect();
        watched.client.execute(&format!("INSERT INTO s VALUES {}", values.join(","))).unwrap();
    }
    let sum = watched.client.text("SELECT COUNT(*), SUM(id) FROM s").unwrap();
    assert_eq!(sum, [format!("{SMALL_ROWS},{}", SMALL_ROWS * (SMALL_ROWS - 1) / 2)]);
}

#[test]
fn a_transaction_that_is_too_large_for_memory_ends_in_an_error_with_figures_and_smaller_ones_go_on() {
    if target_is_mariadb() {
        return skip("DataMemory is Shoal's");
    }
    let mut watched = Watched::start();
    watched.client.execute("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    let mut rows = 0;
    let error = loop {
        let values: Vec<String> = (rows..rows + 5000).map(|id| format!("({id})")).collect();
        match watched.client.execute(&format!("INSERT INTO t VALUES {}", values.join(","))) {
            Ok(_) => rows += 5000,
            Err(error) => break error,
        }
    };
    assert_eq!(error.errno(), 1114, "{error}");
    // Short rows: what their deletion keeps in lists and locks is many times what they take. Shared locks are kept one by one.
    watched.client.execute("BEGIN").unwrap();
    let locked = watched.client.text("SELECT COUNT(*) FROM t LOCK IN SHARE MODE");
    let error = locked.and_then(|_| watched.client.execute("DELETE FROM t")).unwrap_err();
    watched.client.execute("ROLLBACK").unwrap();
    assert_eq!(error.errno(), 1206, "{error}");
    assert!(error.to_string().contains("DataMemory 64M"), "{error}");
    assert!(watched.grown() <= DATA_MEMORY * 5 / 4 + 216 * MIB, "{} MiB", watched.grown() / MIB);
    wait_until("the deletion is undone", || {
        TestServer::counter(&mut watched.client, "Shoal_memory_transactions_bytes") == 0
    });
    let deleted = watched.client.execute("DELETE FROM t LIMIT 50000").unwrap();
    assert_eq!(deleted.affected_rows, 50_000);
    assert_eq!(watched.client.text("SELECT COUNT(*) FROM t").unwrap(), [(rows - 50_000).to_string()]);
}

#[test]
fn old_versions_that_a_snapshot_needs_end_in_1114_and_go_when_it_ends() {
    if target_is_mariadb() {
        return skip("DataMemory is Shoal's");
    }
    let mut watched = Watched::start();
    watched.client.execute("CREATE TABLE t (id INT PRIMARY KEY, k INT, pad VARCHAR(400))").unwrap();
    for id in 0..2000 {
        watched.client.execute(&format!("INSERT INTO t VALUES ({id},0,REPEAT('x',400))")).unwrap();
    }
    let used = watched.used();
    let mut reader = watched.server.client();
    reader.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT").unwrap();
    assert_eq!(reader.text("SELECT SUM(k) FROM t").unwrap(), ["0"]);
    let error = loop {
        if let Err(error) = watched.client.execute("UPDATE t SET k=k+1") {
            break error;
        }
        assert!(watched.grown() <= DATA_MEMORY * 5 / 4 + BUFFERS + 32 * MIB, "{} MiB", watched.grown() / MIB);
    };
    assert_eq!(error.errno(), 1114, "{error}");
    assert!(error.to_string().contains("are old versions that open snapshots need"), "{error}");
    assert_eq!(reader.text("SELECT SUM(k) FROM t").unwrap(), ["0"], "the snapshot is still whole");
    reader.execute("COMMIT").unwrap();
    wait_until("old versions are gone", || watched.used() == used);
    watched.expect_freed_to("the snapshot has ended", used + DATA_MEMORY / 4 + BUFFERS);
}

#[test]
fn statements_that_need_more_memory_than_there_is_end_in_an_error_that_says_so_and_others_go_on() {
    if target_is_mariadb() {
        return skip("DataMemory is Shoal's");
    }
    let mut watched = Watched::start();
    watched.client.execute("CREATE TABLE t (id INT PRIMARY KEY, k INT, pad VARCHAR(400), KEY (k))").unwrap();
    let rows: Vec<String> = (0..2000).map(|id| format!("({id},{},REPEAT('x',300))", id % 50)).collect();
    watched.client.execute(&format!("INSERT INTO t VALUES {}", rows.join(","))).unwrap();
    watched.client.execute("SET group_concat_max_len = 4000000000, max_execution_time = 120000").unwrap();
    let pairs = "(SELECT a.id AS one, b.id AS other, CONCAT(a.pad,b.id) AS pad FROM t a, t b)";
    for statement in [
        "SELECT a.id, b.id, a.pad FROM t a, t b ORDER BY b.k, a.k",
        "SELECT a.id, b.id, a.pad FROM t a, t b ORDER BY a.pad",
        "SELECT DISTINCT a.id, b.id, a.pad FROM t a, t b",
        "SELECT a.id, b.id, COUNT(*) FROM t a, t b GROUP BY a.id, b.id, a.pad",
        "SELECT COUNT(DISTINCT a.pad, a.id, b.id) FROM t a, t b",
        "SELECT LENGTH(GROUP_CONCAT(a.pad)) FROM t a, t b",
        "SELECT JSON_LENGTH(JSON_ARRAYAGG(a.pad)) FROM t a, t b",
        "SELECT a.id, a.pad FROM t a, t b UNION ALL SELECT id, pad FROM t",
        "SELECT a.id, b.id, a.pad FROM t a, t b UNION SELECT id, k, pad FROM t",
        &format!("SELECT COUNT(*) FROM t JOIN {pairs} p ON p.one = t.id AND p.pad <> t.pad"),
        &format!("WITH p AS {pairs} SELECT COUNT(*) FROM p x, p y WHERE x.one < y.other"),
        &format!("SELECT COUNT(*) FROM t WHERE pad NOT IN (SELECT p.pad FROM {pairs} p)"),
        &format!("DELETE t FROM t JOIN {pairs} p ON p.one = t.id"),
    ] {
        let error = watched.client.run(statement).and_then(|mut replies| replies.remove(0).rows()).err();
        let error = error.unwrap_or_else(|| panic!("{statement} had room"));
        assert_eq!(error.errno(), 1041, "{statement}: {error}");
        assert!(error.to_string().contains("DataMemory 64M"), "{statement}: {error}");
        assert!(watched.grown() <= DATA_MEMORY * 5 / 4 + 216 * MIB, "{statement}: {} MiB", watched.grown() / MIB);
        assert_eq!(TestServer::counter(&mut watched.client, "Shoal_memory_statements_bytes"), 0, "{statement}");
    }
    let top = watched.client.text("SELECT a.id, b.id FROM t a, t b ORDER BY a.pad, a.id, b.id LIMIT 1").unwrap();
    assert_eq!(top, ["0,0"], "what a LIMIT does not want is not kept");
    assert_eq!(watched.client.text("SELECT COUNT(*) FROM t").unwrap(), ["2000"]);
}

#[test]
fn what_a_cursor_keeps_is_counted_until_it_is_closed() {
    if target_is_mariadb() {
        return skip("DataMemory is Shoal's");
    }
    let mut watched = Watched::start();
    watched.create("t");
    let rows: Vec<String> = (0..5000).map(|id| format!("({id},{id},REPEAT('x',300))")).collect();
    watched.client.execute(&format!("INSERT INTO t VALUES {}", rows.join(","))).unwrap();
    let mut client = watched.server.client();
    let statement = client.prepare("SELECT * FROM t").unwrap();
    client.open_cursor(&statement, &[]).unwrap();
    let counted =
        |watched: &mut Watched| TestServer::counter(&mut watched.client, "Shoal_memory_statements_bytes");
    assert!(counted(&mut watched) > 5000 * 300);
    drop(client);
    wait_until("the cursor has gone with its session", || counted(&mut watched) == 0);
}

#[test]
fn packets_that_do_not_fit_memory_are_refused_before_they_are_there() {
    if target_is_mariadb() {
        return skip("DataMemory is Shoal's");
    }
    let mut watched = Watched::start();
    watched.client.execute("SET GLOBAL max_allowed_packet = 1073741824").unwrap();
    watched.client.execute("CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)").unwrap();
    let mut client = watched.server.client();
    for mib in [20, 300] {
        let insert = format!("INSERT INTO t VALUES ({mib},'{}')", "x".repeat(mib << 20));
        match client.execute(&insert) {
            Ok(_) => assert_eq!(mib, 20),
            Err(error) => assert!(mib == 300 && !matches!(error.errno(), 1114 | 1206), "{mib} MiB: {error}"),
        }
        assert!(
            watched.grown() <= DATA_MEMORY * 5 / 4 + BUFFERS + 96 * MIB,
            "{mib} MiB: {} MiB",
            watched.grown() / MIB
        );
    }
    let counted =
        |watched: &mut Watched| TestServer::counter(&mut watched.client, "Shoal_memory_statements_bytes");
    wait_until("the packet is not counted any more", || counted(&mut watched) == 0);
    assert_eq!(watched.client.text("SELECT id, LENGTH(v) FROM t").unwrap(), [format!("20,{}", 20 << 20)]);
}
