//! Clients that are gone from one moment to the next.

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use shoal_system_tests::{TestServer, wait_until};
use shoal_testkit::Client;
use shoal_testkit::client::COM_QUERY;

use super::number;

const ROWS: i64 = 5000;

/// Each of these leaves a client in the middle of something, with a change that was never committed.
fn leave(server: &TestServer, way: usize) -> Client {
    let mut client = server.client();
    client.execute("BEGIN").unwrap();
    match way {
        // A transaction.
        0 => drop(client.execute("INSERT INTO t VALUES (100000, 1)").unwrap()),
        // A statement that goes on for long.
        1 => client.send_query("SELECT SLEEP(1000)").unwrap(),
        // A large statement.
        2 => client.send_query("UPDATE t SET n = n + 1000").unwrap(),
        // A result.
        3 => {
            client.send_query("SELECT * FROM t, (SELECT 1 UNION SELECT 2) AS more").unwrap();
            assert!(client.answers_within(Duration::from_secs(30)).unwrap());
        }
        // A wait for a row that somebody else holds.
        4 => client.send_query("UPDATE hot SET n = n + 100").unwrap(),
        // A packet.
        5 => {
            let bytes = [&[0, 0, 16, 0, COM_QUERY][..], b"INSERT INTO t VALUES (100001, "].concat();
            client.channel().stream().write_all(&bytes).unwrap();
        }
        // LOAD DATA, of which the server has asked for the file.
        _ => {
            client.send_query("LOAD DATA LOCAL INFILE 'rows' INTO TABLE t").unwrap();
            let packet = client.channel().receive().unwrap();
            assert_eq!(packet.first(), Some(&0xfb), "no file was asked for");
            client.channel().send(b"100002\t1\n100003\t1\n").unwrap();
        }
    }
    client
}

#[test]
fn clients_that_vanish_leave_no_session_no_lock_and_no_row() {
    let server = TestServer::start();
    let mut client = server.client();
    client.run("SET GLOBAL local_infile = 1; CREATE TABLE t (id INT PRIMARY KEY, n INT)").unwrap();
    client.run("CREATE TABLE hot (id INT PRIMARY KEY, n INT); INSERT INTO hot VALUES (1, 0)").unwrap();
    let rows: Vec<String> = (0..ROWS).map(|id| format!("({id}, 0)")).collect();
    client.execute(&format!("INSERT INTO t VALUES {}", rows.join(","))).unwrap();
    let mut holder = server.client();
    holder.execute("BEGIN").unwrap();
    holder.execute("UPDATE hot SET n = 7").unwrap();
    for round in 0..5 {
        let clients: Vec<Client> =
            (0..7).filter(|&way| way != 2 || round == 0).map(|way| leave(&server, way)).collect();
        for mut client in clients {
            client.channel().stream().shutdown(Shutdown::Both).unwrap();
        }
    }
    holder.execute("ROLLBACK").unwrap();
    drop(holder);
    let sessions = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'root'";
    wait_until("only one session is left", || number(&mut client, sessions) == 1);
    client.execute("SET innodb_lock_wait_timeout = 5").unwrap();
    assert_eq!(client.execute("UPDATE t SET n = n + 1").unwrap().affected_rows, ROWS as u64);
    assert_eq!(client.execute("UPDATE hot SET n = n + 1").unwrap().affected_rows, 1);
    assert_eq!(number(&mut client, "SELECT SUM(n) FROM t"), ROWS);
    assert_eq!(number(&mut client, "SELECT n FROM hot"), 1);
}

#[test]
fn a_thousand_connections_that_ask_once_leave_nothing() {
    let server = TestServer::start();
    for number in 0..1000 {
        let mut client = server.client();
        assert_eq!(client.text(&format!("SELECT {number}")).unwrap(), [number.to_string()]);
    }
    let mut client = server.client();
    let connected = || client.text("SHOW STATUS LIKE 'Threads_connected'").unwrap() == ["Threads_connected,1"];
    wait_until("only one connection is left", connected);
}
