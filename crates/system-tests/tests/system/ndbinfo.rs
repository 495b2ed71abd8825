//! ndbinfo in a process that is the whole database: node 1. `cluster/ndbinfo.rs` has the same of several nodes.

use shoal_system_tests::{Client, Login, TestServer, skip, target_is_mariadb, wait_until};

/// The value of one column in the only row of a query.
fn number(client: &mut Client, sql: &str) -> u64 {
    let text = client.text(sql).unwrap();
    assert_eq!(text.len(), 1, "{sql}: {text:?}");
    text[0].parse().unwrap_or_else(|_| panic!("{sql}: {}", text[0]))
}

#[test]
fn fragments_tell_of_rows_memory_and_operations() {
    if target_is_mariadb() {
        return skip("MariaDB has no ndbinfo");
    }
    let server = TestServer::start_with(&["--set", "NoOfPartitions=2"]);
    let mut client = server.client();
    client.execute("CREATE TABLE fish (id INT PRIMARY KEY, name VARCHAR(30), UNIQUE KEY (name))").unwrap();
    let of_fish = |what: &str, table: &str| {
        format!("SELECT {what} FROM ndbinfo.{table} WHERE fq_name='test/def/fish' AND type='User table'")
    };
    let sums = |client: &mut Client| -> Vec<u64> {
        let columns = [
            "tot_key_reads",
            "tot_key_inserts",
            "tot_key_updates",
            "tot_key_deletes",
            "tot_commits",
            "tot_frag_scans",
            "tot_scan_rows_returned",
        ];
        columns
            .map(|column| number(client, &of_fish(&format!("SUM({column})"), "operations_per_fragment")))
            .to_vec()
    };
    let before = sums(&mut client);
    client.execute("INSERT INTO fish VALUES (1,'perch'),(2,'pike'),(3,'roach'),(4,'bream')").unwrap();
    client.execute("UPDATE fish SET name='zander' WHERE id=1").unwrap();
    client.execute("DELETE FROM fish WHERE id=4").unwrap();
    for id in 1..=7 {
        client.query(&format!("SELECT name FROM fish WHERE id={id}")).unwrap();
    }
    assert_eq!(client.query("SELECT id, name FROM fish").unwrap().rows.len(), 3);
    let after = sums(&mut client);
    let grown: Vec<u64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    assert!(grown[0] >= 7, "{grown:?}");
    assert_eq!(grown[1..5], [4, 1, 1, 6], "{grown:?}");
    // A scan dives into each of the partitions.
    assert!(grown[5] >= 2 && grown[6] >= 3, "{grown:?}");
    assert_eq!(client.text(&of_fish("COUNT(*), SUM(fixed_elem_count)", "memory_per_fragment")).unwrap(), ["2,3"]);
    assert!(number(&mut client, &of_fish("SUM(var_elem_alloc_bytes)", "memory_per_fragment")) > 0);
    let unique = "SELECT parent_fq_name, SUM(var_elem_count) FROM ndbinfo.memory_per_fragment \
                  WHERE type='Unique hash index' GROUP BY parent_fq_name";
    assert_eq!(client.text(unique).unwrap(), ["test/def/fish,3"]);
    let placed = "SELECT f.no_of_replicas, f.current_primary, f.num_alive_replicas FROM ndbinfo.table_fragments f \
                  JOIN ndbinfo.dict_obj_info d ON d.id=f.table_id AND d.type=2 WHERE d.fq_name='test/def/fish'";
    assert_eq!(client.text(placed).unwrap(), ["1,1,1", "1,1,1"]);
}

#[test]
fn one_process_is_node_1() {
    if target_is_mariadb() {
        return skip("MariaDB has no ndbinfo");
    }
    let server = TestServer::start_with(&["--set", "DataMemory=128M"]);
    let mut client = server.client();
    assert_eq!(client.text("SELECT node_id, status FROM ndbinfo.nodes").unwrap(), ["1,STARTED"]);
    let process = format!("1,NDB,{},shoal", server.process());
    let processes = "SELECT node_id, node_type, process_id, process_name FROM ndbinfo.processes";
    assert_eq!(client.text(processes).unwrap(), [process]);
    let memory = "SELECT total, total_pages FROM ndbinfo.memoryusage WHERE memory_type='Data memory'";
    assert_eq!(client.text(memory).unwrap(), [format!("{},{}", 128 << 20, (128 << 20) / 32768)]);
    let configured = "SELECT v.config_value FROM ndbinfo.config_values v JOIN ndbinfo.config_params p \
                      ON p.param_number=v.config_param WHERE p.param_name='DataMemory'";
    assert_eq!(client.text(configured).unwrap(), [(128 << 20).to_string()]);
    assert!(client.text("SELECT * FROM ndbinfo.transporters").unwrap().is_empty());
    let named = "SELECT COUNT(*) FROM ndbinfo.threads t JOIN ndbinfo.threadstat s USING (node_id, thr_no) \
                 WHERE t.thread_name=s.thr_nm AND t.thread_name LIKE 'mysql-%' AND s.os_tid > 0";
    assert!(number(&mut client, named) > 0);
    assert_eq!(client.text("SELECT arb_state FROM ndbinfo.arbitrator_validity_detail").unwrap(), ["ARBIT_NULL"]);
    let commits = "SELECT val FROM ndbinfo.counters WHERE counter_name='COMMITS'";
    let before = number(&mut client, commits);
    client.run("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    client.run("INSERT INTO t VALUES (1)").unwrap();
    assert!(number(&mut client, commits) > before);
}

#[test]
fn an_open_transaction_is_shown_with_its_connection() {
    if target_is_mariadb() {
        return skip("MariaDB has no ndbinfo");
    }
    let server = TestServer::start();
    let (mut client, mut other) = (server.client(), server.client());
    client.run("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    let open = "SELECT mysql_connection_id, client_node_id, state FROM ndbinfo.server_transactions";
    assert!(client.text(open).unwrap().is_empty());
    other.run("BEGIN").unwrap();
    other.run("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(client.text(open).unwrap(), [format!("{},1,Started", other.connection_id())]);
    other.run("COMMIT").unwrap();
    assert!(client.text(open).unwrap().is_empty());
}

#[test]
fn a_lock_its_waiter_and_their_connections_are_shown() {
    if target_is_mariadb() {
        return skip("MariaDB has no ndbinfo");
    }
    let server = TestServer::start();
    let (mut client, mut holder, mut waiter) = (server.client(), server.client(), server.client());
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)").unwrap();
    client.run("INSERT INTO t VALUES (1, 1)").unwrap();
    let requests = "SELECT SUM(ex_req), SUM(ex_wait_ok), SUM(ex_wait_fail) FROM ndbinfo.locks_per_fragment \
                    WHERE fq_name='test/def/t'";
    let sums = |client: &mut Client| -> Vec<u64> {
        client.text(requests).unwrap()[0].split(',').map(|sum| sum.parse().unwrap()).collect()
    };
    let before = sums(&mut client);
    holder.run("BEGIN").unwrap();
    holder.run("UPDATE t SET v=2 WHERE id=1").unwrap();
    waiter.send_query("UPDATE t SET v=3 WHERE id=1").unwrap();
    let waits = "SELECT w.mysql_connection_id, w.mode, h.mysql_connection_id, h.state FROM ndbinfo.server_locks w \
                 JOIN ndbinfo.server_locks h ON h.node_id=w.node_id AND h.lock_num=w.waiting_for WHERE w.state='W'";
    let expected = format!("{},X,{},H", waiter.connection_id(), holder.connection_id());
    wait_until("the wait is shown", || client.text(waits).unwrap() == [expected.clone()]);
    let operations =
        "SELECT mysql_connection_id, operation_type, state, client_node_id FROM ndbinfo.server_operations";
    let waiting = format!("{},READ-EX,In lock queue,1", waiter.connection_id());
    assert_eq!(client.text(operations).unwrap(), [waiting]);
    holder.run("COMMIT").unwrap();
    waiter.receive_reply().unwrap();
    let after = sums(&mut client);
    assert!(after[0] >= before[0] + 2, "{before:?} {after:?}");
    assert_eq!((after[1] - before[1], after[2] - before[2]), (1, 0));
    assert!(client.text("SELECT * FROM ndbinfo.cluster_locks").unwrap().is_empty());
}

#[test]
fn every_table_can_be_read_and_needs_the_privilege() {
    if target_is_mariadb() {
        return skip("MariaDB has no ndbinfo");
    }
    let server = TestServer::start();
    let mut client = server.client();
    client.run("CREATE USER u").unwrap();
    let mut user = Client::log_in(server.port(), &Login::user("u", "")).unwrap();
    let tables = client.text("SHOW TABLES FROM ndbinfo").unwrap();
    assert!(tables.len() > 25, "{tables:?}");
    for table in &tables {
        let sql = format!("SELECT * FROM ndbinfo.{table}");
        let rows = client.query(&sql).unwrap_or_else(|error| panic!("{table}: {error}"));
        assert_eq!(rows.warnings, 0, "{table}");
        assert_eq!(user.query(&sql).unwrap_err().errno(), 1142, "{table}");
    }
    assert_eq!(client.run("CREATE TABLE ndbinfo.mine (id INT)").unwrap_err().errno(), 1044);
    client.run("GRANT SELECT ON ndbinfo.* TO u").unwrap();
    assert_eq!(user.text("SELECT node_id FROM ndbinfo.nodes").unwrap(), ["1"]);
    assert_eq!(user.query("SELECT * FROM ndbinfo.nothing").unwrap_err().errno(), 1146);
}
