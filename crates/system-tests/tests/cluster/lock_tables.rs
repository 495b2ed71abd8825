//! Locks and waits as the nodes of a cluster tell them: each those of the partitions that it leads.

use shoal_system_tests::cluster::DevCluster;
use shoal_system_tests::{Client, wait_until};

fn one(client: &mut Client, sql: &str) -> String {
    client.text(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).join(" ")
}

fn sum(observers: &mut [Client], sql: &str) -> u64 {
    observers.iter_mut().map(|observer| one(observer, sql).parse::<u64>().unwrap()).sum()
}

#[test]
fn every_lock_and_wait_is_told_by_the_node_that_leads_its_partition() {
    let cluster = DevCluster::start(&["--data-nodes", "2"]);
    let (mut holder, mut waiter) = (cluster.client(1), cluster.client(2));
    let mut observers = [cluster.client(1), cluster.client(2)];
    holder.execute("CREATE TABLE t (a INT PRIMARY KEY, b INT)").unwrap();
    let rows: Vec<String> = (0..40).map(|a| format!("({a},0)")).collect();
    holder.execute(&format!("INSERT INTO t VALUES {}", rows.join(","))).unwrap();
    let records = "SELECT COUNT(*) FROM performance_schema.data_locks WHERE LOCK_TYPE = 'RECORD'";
    wait_until("each of the nodes leads some partitions", || {
        holder.execute("BEGIN").unwrap();
        holder.text("SELECT * FROM t FOR UPDATE").unwrap();
        let shared_out = observers.iter_mut().all(|observer| one(observer, records) != "0");
        holder.execute("ROLLBACK").unwrap();
        shared_out
    });
    holder.execute("BEGIN").unwrap();
    holder.execute("UPDATE t SET b = 1 WHERE a < 20").unwrap();
    let locks = "SELECT COUNT(*) FROM performance_schema.data_locks WHERE LOCK_MODE NOT LIKE '%GAP%' \
                 AND LOCK_DATA NOT LIKE 'supremum%' OR LOCK_MODE LIKE '%REC_NOT_GAP'";
    assert_eq!(sum(&mut observers, locks), 20);
    // The session is known at its own node alone.
    let thread = holder.connection_id().to_string();
    let owner = "SELECT DISTINCT THREAD_ID FROM performance_schema.data_locks";
    assert_eq!(one(&mut observers[0], owner), thread);
    assert_eq!(one(&mut observers[1], owner), "NULL");
    let open = "SELECT COUNT(*), MAX(trx_mysql_thread_id) FROM information_schema.INNODB_TRX";
    assert_eq!(one(&mut observers[0], open), format!("1,{thread}"));
    assert_eq!(one(&mut observers[1], open), "1,0");
    // A wait is told by one node, with the lock that it is for.
    waiter.execute("BEGIN").unwrap();
    waiter.execute("UPDATE t SET b = 2 WHERE a = 30").unwrap();
    waiter.send_query("UPDATE t SET b = 2 WHERE a = 7").unwrap();
    let waits = "SELECT COUNT(*) FROM performance_schema.data_lock_waits JOIN performance_schema.data_locks \
                 ON ENGINE_LOCK_ID = REQUESTING_ENGINE_LOCK_ID WHERE LOCK_DATA = '7' AND LOCK_STATUS = 'WAITING'";
    wait_until("the wait is told", || sum(&mut observers, waits) == 1);
    assert_eq!(sum(&mut observers, "SELECT COUNT(*) FROM sys.innodb_lock_waits"), 1);
    // The other one closes a cycle; whoever gives way, some node tells of it.
    holder.send_query("UPDATE t SET b = 1 WHERE a = 30").unwrap();
    let ends = [holder.receive_reply().map(drop), waiter.receive_reply().map(drop)];
    let refused: Vec<u16> = ends.iter().filter_map(|end| end.as_ref().err()).map(|error| error.errno()).collect();
    let told = observers.each_mut().map(|observer| one(observer, "SHOW ENGINE INNODB STATUS"));
    assert_eq!(refused, [1213], "{}", told.join("\n"));
    let found = "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'";
    assert_eq!(sum(&mut observers, found), 1);
    let told = observers.each_mut().map(|observer| one(observer, "SHOW ENGINE INNODB STATUS"));
    let told: Vec<&String> = told.iter().filter(|text| text.contains("LATEST DETECTED DEADLOCK")).collect();
    assert_eq!(told.len(), 1);
    let statements = ["UPDATE t SET b = 1 WHERE a = 30", "UPDATE t SET b = 2 WHERE a = 7"];
    assert!(statements.iter().any(|statement| told[0].contains(statement)), "{}", told[0]);
    assert!(told[0].contains("*** (2) TRANSACTION:"), "{}", told[0]);
}
