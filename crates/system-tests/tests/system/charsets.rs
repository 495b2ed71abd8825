//! Texts between the client's character set and the column's: SET NAMES and its three variables, both protocols.
//!
//! The strings of a statement used to keep the client's bytes under the connection's character set.

use shoal_system_tests::client::COM_QUERY;
use shoal_system_tests::{Client, Reply, TestServer, Value};

/// `Gr€ñ` as a client may send it.
const LATIN1: &[u8] = b"Gr\x80\xf1";
const UTF8: &[u8] = "Gr€ñ".as_bytes();
/// What a column of utf8mb4 and one of latin1 hold then.
const STORED: &str = "4772E282ACC3B1,477280F1";

struct Case {
    set: &'static str,
    sent: &'static [u8],
    received: &'static [u8],
    stored: &'static str,
}

const CASES: &[Case] = &[
    Case { set: "SET NAMES utf8mb4", sent: UTF8, received: UTF8, stored: STORED },
    Case { set: "SET NAMES utf8mb3", sent: UTF8, received: UTF8, stored: STORED },
    Case { set: "SET NAMES latin1", sent: LATIN1, received: LATIN1, stored: STORED },
    Case { set: "SET character_set_client=latin1", sent: LATIN1, received: UTF8, stored: STORED },
    Case { set: "SET character_set_results=latin1", sent: UTF8, received: LATIN1, stored: STORED },
    Case { set: "SET character_set_connection=latin1", sent: UTF8, received: UTF8, stored: STORED },
    Case {
        set: "SET character_set_client=latin1, collation_connection=latin1_bin",
        sent: LATIN1,
        received: UTF8,
        stored: STORED,
    },
    Case { set: "SET NAMES ascii", sent: b"Gr", received: b"Gr", stored: "4772,4772" },
    Case { set: "SET character_set_results=ascii", sent: UTF8, received: b"Gr??", stored: STORED },
    Case {
        set: "SET character_set_client=ascii",
        sent: b"Gr\x80\xf1",
        received: b"Gr??",
        stored: "47723F3F,47723F3F",
    },
    Case { set: "SET character_set_results=NULL", sent: UTF8, received: UTF8, stored: STORED },
];

fn run(client: &mut Client, sql: &[u8]) -> Reply {
    client.command(COM_QUERY, sql).unwrap();
    client.receive_reply().unwrap_or_else(|error| panic!("{}: {error}", sql.escape_ascii()))
}

fn statement(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn new_table(client: &mut Client) {
    client.execute("SET NAMES utf8mb4").unwrap();
    client.run("DROP TABLE IF EXISTS t; CREATE TABLE t (id INT KEY, u VARCHAR(9) CHARSET utf8mb4, l VARCHAR(9) CHARSET latin1, b VARBINARY(30))").unwrap();
}

#[test]
fn texts_reach_columns_and_come_back_in_every_character_set() {
    let server = TestServer::start();
    let mut client = server.client();
    for case in CASES {
        new_table(&mut client);
        client.execute(case.set).unwrap();
        let text = case.sent;
        run(&mut client, &statement(&[b"INSERT INTO t VALUES (1, '", text, b"', '", text, b"', '')"]));
        // The second time by the plan of the first.
        run(&mut client, &statement(&[b"INSERT INTO t VALUES (2, '", text, b"', '", text, b"', '')"]));
        let insert = client.prepare("INSERT INTO t VALUES (3, ?, ?, '')").unwrap();
        let values = [Value::Bytes(text.to_vec()), Value::Bytes(text.to_vec())];
        client.run_statement(&insert, &values).unwrap();
        let stored = client.text("SELECT HEX(u), HEX(l) FROM t ORDER BY id").unwrap();
        assert_eq!(stored, [case.stored; 3], "{}", case.set);
        let found =
            run(&mut client, &statement(&[b"SELECT COUNT(*) FROM t WHERE u='", text, b"' AND l='", text, b"'"]));
        assert_eq!(found.rows().unwrap().text(), ["3"], "{}", case.set);
        let back = run(&mut client, b"SELECT u, l FROM t WHERE id=1").rows().unwrap();
        let received = || Value::Bytes(case.received.to_vec());
        if !(case.set.ends_with("NULL")) {
            assert_eq!(back.rows[0], [received(), received()], "{}", case.set);
        }
        let select = client.prepare("SELECT u FROM t WHERE u=?").unwrap();
        let back = client.run_statement(&select, &values[..1]).unwrap().rows().unwrap();
        assert_eq!(back.rows[0], [received()], "{}", case.set);
    }
}

#[test]
fn bytes_stay_bytes_in_every_character_set() {
    let server = TestServer::start();
    let mut client = server.client();
    for set in ["SET NAMES latin1", "SET NAMES binary", "SET NAMES utf8mb4", "SET character_set_client=latin1"] {
        new_table(&mut client);
        client.execute(set).unwrap();
        let bytes = b"\xff\xc3\xa9\x80";
        run(&mut client, &statement(&[b"INSERT INTO t VALUES (1, '', '', _binary'", bytes, b"')"]));
        let insert = client.prepare("INSERT INTO t VALUES (2, '', '', ?)").unwrap();
        client.send_long_data(&insert, 0, bytes).unwrap();
        client.run_with_long_data(&insert, &[Value::Null], &[0]).unwrap();
        assert_eq!(client.text("SELECT HEX(b) FROM t ORDER BY id").unwrap(), ["FFC3A980"; 2], "{set}");
        let back = client.query("SELECT b FROM t WHERE id=1").unwrap();
        assert_eq!(back.rows[0], [Value::Bytes(bytes.to_vec())], "{set}");
    }
}

#[test]
fn an_introducer_says_what_the_bytes_are_in_a_cached_plan_too() {
    let server = TestServer::start();
    let mut client = server.client();
    for _ in 0..2 {
        let sql = "SELECT HEX(CONVERT(_latin1'é' USING utf8mb4)), COLLATION(_latin1'é'), COLLATION(_binary'x'), LENGTH(_binary'é')";
        assert_eq!(client.text(sql).unwrap(), ["C383C2A9,latin1_swedish_ci,binary,2"]);
    }
}

#[test]
fn a_latin1_client_names_things_and_labels_them() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("SET NAMES latin1").unwrap();
    run(
        &mut client,
        b"CREATE TABLE n (`gr\xf6\xdfe` ENUM('\xe4','\xf6') DEFAULT '\xf6') CHARSET utf8mb4 COMMENT '\xfc'",
    );
    run(&mut client, b"INSERT INTO n VALUES (DEFAULT), ('\xe4')");
    run(&mut client, b"PREPARE p FROM 'SELECT `gr\xf6\xdfe`, HEX(`gr\xf6\xdfe`) FROM n ORDER BY 1'");
    let rows = run(&mut client, b"EXECUTE p").rows().unwrap();
    let text = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    assert_eq!(rows.rows, [[text(b"\xe4"), text(b"C3A4")], [text(b"\xf6"), text(b"C3B6")]]);
    client.execute("SET NAMES utf8mb4").unwrap();
    let shown = client.text("SHOW CREATE TABLE n").unwrap().join("");
    assert!(shown.contains("`größe` enum('ä','ö') DEFAULT 'ö'") && shown.contains("COMMENT='ü'"), "{shown}");
}
