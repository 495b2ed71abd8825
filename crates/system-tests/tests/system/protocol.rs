//! The MySQL protocol, byte by byte where it matters: prepared statements with all types, cursors, long data, large
//! packets, multi-statements, session reset, KILL.

use std::time::{Duration, Instant};

use shoal_system_tests::client::{
    COM_STMT_EXECUTE, SERVER_STATUS_CURSOR_EXISTS, SERVER_STATUS_IN_TRANS, SERVER_STATUS_LAST_ROW_SENT,
};
use shoal_system_tests::{Client, Login, Reply, TestServer, Value, skip, target_is_mariadb};

const ALL_TYPES: &str = "CREATE TABLE types (
  id INT PRIMARY KEY, tiny TINYINT, utiny TINYINT UNSIGNED, small SMALLINT, usmall SMALLINT UNSIGNED,
  medium MEDIUMINT, umedium MEDIUMINT UNSIGNED, plain INT, uplain INT UNSIGNED, big BIGINT, ubig BIGINT UNSIGNED,
  price DECIMAL(20,4), rough FLOAT, ratio DOUBLE, flags BIT(16), born DATE, at TIME(6), seen DATETIME(6),
  stamp TIMESTAMP(6) NULL, vintage YEAR, fixed CHAR(8), name VARCHAR(100), bin BINARY(3), vbin VARBINARY(100),
  body TEXT, picture BLOB, mood ENUM('glad','sad'), colours SET('red','green','blue')
) DEFAULT CHARSET=utf8mb4";

fn all_types(server: &TestServer) -> Client {
    let mut client = server.client();
    client.execute(ALL_TYPES).unwrap();
    client
        .execute(
            "INSERT INTO types VALUES
             (1,-128,255,-32768,65535,-8388608,16777215,-2147483648,4294967295,-9223372036854775808,
              18446744073709551615,-1234567890123456.7891,-0.25,1.5e100,b'1000000000000001','2024-02-29',
              '-838:59:58.000001','2024-02-29 23:59:59.999999','2024-02-29 12:00:00.000001',1999,'ab','Grüße 🐟',
              x'0001ff',x'00ff',REPEAT('body',100),REPEAT(x'00ff',200),'sad','red,blue'),
             (2,127,0,32767,0,8388607,0,2147483647,0,9223372036854775807,0,0.0001,16777216,-2.5e-10,b'0',
              '1000-01-01','838:59:58.999999','1000-01-01 00:00:00.000001','1971-01-01 00:00:00.000001',2155,'','',
              x'000000','','','','glad',''),
             (3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,
              NULL,NULL,NULL,NULL,NULL,NULL,NULL)",
        )
        .unwrap();
    client
}

#[test]
fn both_protocols_return_the_same_values_of_every_type() {
    let server = TestServer::start();
    let mut client = all_types(&server);
    let sql = "SELECT * FROM types ORDER BY id";
    let text = client.query(sql).unwrap();
    let statement = client.prepare(sql).unwrap();
    let binary = client.run_statement(&statement, &[]).unwrap().rows().unwrap();
    assert_eq!(binary.rows.len(), 3);
    for (text_row, binary_row) in text.rows.iter().zip(&binary.rows) {
        for (number, (left, right)) in text_row.iter().zip(binary_row).enumerate() {
            let name = &text.columns[number].name;
            match (left, right) {
                // Text has the shortest or a rounded form of floating-point numbers.
                (Value::Bytes(left), Value::Double(right)) => {
                    let left: f64 = String::from_utf8_lossy(left).parse().unwrap();
                    assert!((left - right).abs() <= right.abs() * 1e-14, "{name}: {left} {right}");
                }
                (Value::Bytes(left), Value::Float(right)) => {
                    let left: f32 = String::from_utf8_lossy(left).parse().unwrap();
                    assert!((left - right).abs() <= right.abs() * 1e-4, "{name}: {left} {right}");
                }
                _ => assert_eq!(left.to_string(), right.to_string(), "{name}"),
            }
        }
    }
    for (text, binary) in text.columns.iter().zip(&binary.columns) {
        let facts = |column: &shoal_system_tests::client::Column| {
            (column.name.clone(), column.kind, column.flags, column.collation, column.decimals)
        };
        assert_eq!(facts(text), facts(binary));
    }
}

#[test]
fn parameters_of_every_type_arrive() {
    let server = TestServer::start();
    let mut client = all_types(&server);
    let insert = client
        .prepare(
            "INSERT INTO types (id,tiny,ubig,price,rough,ratio,born,at,seen,name,picture,body) \
             VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        )
        .unwrap();
    let values = [
        Value::Int(10),
        Value::Int(-5),
        Value::UInt(u64::MAX),
        Value::text("12345.6789"),
        Value::Float(0.5),
        Value::Double(-1.25e10),
        Value::Date(2023, 12, 31),
        Value::Time(true, 30, 1, 2, 500_000),
        Value::DateTime([2023, 12, 31, 23, 59, 58, 123_456]),
        Value::text("naïve"),
        Value::Bytes(vec![0, 255, 39, 92]),
        Value::Null,
    ];
    let done = client.run_statement(&insert, &values).unwrap().done().unwrap();
    assert_eq!(done.affected_rows, 1);
    let row = client
        .text(
            "SELECT tiny,ubig,price,rough,ratio,born,at,seen,name,HEX(picture),body IS NULL \
             FROM types WHERE id=10",
        )
        .unwrap();
    assert_eq!(
        row,
        ["-5,18446744073709551615,12345.6789,0.5,-12500000000,2023-12-31,-30:01:02.500000,\
          2023-12-31 23:59:58.123456,naïve,00FF275C,1"]
    );
    // The same statement again with other types for the same places.
    let mut values = values.to_vec();
    values[0] = Value::text("11");
    values[1] = Value::Null;
    values[2] = Value::Int(7);
    values[6] = Value::text("2020-01-02");
    client.run_statement(&insert, &values).unwrap();
    let row = client.text("SELECT tiny,ubig,born FROM types WHERE id=11").unwrap();
    assert_eq!(row, ["NULL,7,2020-01-02"]);
}

#[test]
fn parameters_filter_and_are_counted() {
    let server = TestServer::start();
    let mut client = all_types(&server);
    let select = client.prepare("SELECT id FROM types WHERE tiny < ? OR name = ? ORDER BY id").unwrap();
    assert_eq!((select.parameters, select.columns.len()), (2, 1));
    let mut ids = |values: &[Value]| client.run_statement(&select, values).unwrap().rows().unwrap().text();
    assert_eq!(ids(&[Value::Int(0), Value::text("")]), ["1", "2"]);
    assert_eq!(ids(&[Value::Int(-1), Value::text("x")]), ["1"]);
    assert_eq!(ids(&[Value::Null, Value::Null]), [] as [&str; 0]);
}

#[test]
fn an_unknown_statement_and_a_closed_one_are_errors_that_leave_the_session_usable() {
    let server = TestServer::start();
    let mut client = server.client();
    let statement = client.prepare("SELECT 1").unwrap();
    client.close_statement(&statement).unwrap();
    let error = client.run_statement(&statement, &[]).unwrap_err();
    assert_eq!(error.errno(), 1243, "{error}");
    client.command(COM_STMT_EXECUTE, &[9, 9, 9, 9, 0, 1, 0, 0, 0]).unwrap();
    assert_eq!(client.receive_reply().unwrap_err().errno(), 1243);
    assert_eq!(client.prepare("SELECT FROM WHERE").unwrap_err().errno(), 1064);
    assert_eq!(client.text("SELECT 2").unwrap(), ["2"]);
}

#[test]
fn a_cursor_gives_its_rows_in_portions() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))").unwrap();
    let values: Vec<String> = (0..1000).map(|id| format!("({id},'v{id}')")).collect();
    client.execute(&format!("INSERT INTO t VALUES {}", values.join(","))).unwrap();
    let statement = client.prepare("SELECT id, v FROM t WHERE id >= ? ORDER BY id").unwrap();
    let opened = client.open_cursor(&statement, &[Value::Int(100)]).unwrap();
    assert_ne!(opened.status & SERVER_STATUS_CURSOR_EXISTS, 0, "no cursor was opened");
    assert!(opened.rows.is_empty());
    let mut all = Vec::new();
    loop {
        let portion = client.fetch(&statement, &opened.columns, 70).unwrap();
        assert!(portion.rows.len() <= 70);
        all.extend(portion.text());
        if portion.status & SERVER_STATUS_LAST_ROW_SENT != 0 {
            break;
        }
        // Another statement may run in between.
        assert_eq!(client.text("SELECT 1").unwrap(), ["1"]);
    }
    let expected: Vec<String> = (100..1000).map(|id| format!("{id},v{id}")).collect();
    assert_eq!(all, expected);
    assert!(client.fetch(&statement, &opened.columns, 1).is_err(), "nothing is left to fetch");
    assert_eq!(client.text("SELECT 1").unwrap(), ["1"]);
}

#[test]
fn a_statement_can_be_run_again_while_its_cursor_is_open() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    client.execute("INSERT INTO t VALUES (1),(2),(3)").unwrap();
    let statement = client.prepare("SELECT id FROM t ORDER BY id").unwrap();
    let opened = client.open_cursor(&statement, &[]).unwrap();
    assert_eq!(client.fetch(&statement, &opened.columns, 1).unwrap().text(), ["1"]);
    let opened = client.open_cursor(&statement, &[]).unwrap();
    assert_eq!(client.fetch(&statement, &opened.columns, 2).unwrap().text(), ["1", "2"]);
    client.reset_statement(&statement).unwrap();
    assert!(client.fetch(&statement, &opened.columns, 1).is_err(), "a reset closes the cursor");
}

#[test]
fn long_data_is_put_together_from_its_pieces() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v LONGBLOB)").unwrap();
    let statement = client.prepare("INSERT INTO t VALUES (?,?)").unwrap();
    for piece in 0..20u8 {
        client.send_long_data(&statement, 1, &vec![piece; 100_000]).unwrap();
    }
    let values = [Value::Int(1), Value::Null];
    client.run_with_long_data(&statement, &values, &[1]).unwrap();
    let rows = client.query("SELECT v FROM t WHERE id=1").unwrap();
    let Value::Bytes(bytes) = &rows.rows[0][0] else { panic!("{:?}", rows.rows[0][0]) };
    assert_eq!(bytes.len(), 2_000_000);
    assert!(bytes.chunks(100_000).zip(0..).all(|(chunk, piece)| chunk.iter().all(|byte| *byte == piece)));
    // After the run the long data is used up.
    client.run_statement(&statement, &[Value::Int(2), Value::text("short")]).unwrap();
    assert_eq!(client.text("SELECT v FROM t WHERE id=2").unwrap(), ["short"]);
}

#[test]
fn a_reset_forgets_long_data() {
    let server = TestServer::start();
    let mut client = server.client();
    let statement = client.prepare("SELECT ?").unwrap();
    client.send_long_data(&statement, 0, b"forgotten").unwrap();
    client.reset_statement(&statement).unwrap();
    let rows = client.run_statement(&statement, &[Value::text("new")]).unwrap().rows().unwrap();
    assert_eq!(rows.text(), ["new"]);
}

#[test]
fn nulls_stand_in_their_places_among_many_columns() {
    let server = TestServer::start();
    let mut client = server.client();
    let columns: Vec<String> = (0..70).map(|number| format!("c{number} INT")).collect();
    client.execute(&format!("CREATE TABLE t (id INT PRIMARY KEY, {})", columns.join(", "))).unwrap();
    let insert = client.prepare(&format!("INSERT INTO t VALUES (?{})", ", ?".repeat(70))).unwrap();
    for row in 0..12 {
        let value = |column: i64| match (column * 7 + row) % 3 {
            0 => Value::Null,
            _ => Value::Int(column * row - 5),
        };
        let values: Vec<Value> = std::iter::once(Value::Int(row)).chain((0..70).map(value)).collect();
        client.run_statement(&insert, &values).unwrap();
        let text = values.iter().map(Value::to_string).collect::<Vec<_>>().join(",");
        let sql = format!("SELECT * FROM t WHERE id = {row}");
        assert_eq!(client.text(&sql).unwrap(), [text.as_str()]);
        let select = client.prepare(&sql).unwrap();
        assert_eq!(client.run_statement(&select, &[]).unwrap().rows().unwrap().text(), [text]);
    }
}

#[test]
fn rows_that_just_fill_a_packet_are_followed_by_an_empty_one() {
    let server = TestServer::start();
    let mut client = server.client();
    // A length of four bytes stands before the text, and two bytes more before that in a binary row.
    for length in ((1 << 24) - 8)..((1 << 24) - 1) {
        let sql = format!("SELECT REPEAT('a', {length})");
        let expected = Value::Bytes(vec![b'a'; length]);
        assert!(client.query(&sql).unwrap().rows == [[expected.clone()]], "{length}");
        let statement = client.prepare(&sql).unwrap();
        let rows = client.run_statement(&statement, &[]).unwrap().rows().unwrap();
        assert!(rows.rows == [[expected]], "{length}");
        assert_eq!(client.text("SELECT 1").unwrap(), ["1"]);
    }
}

#[test]
fn packets_over_16_mib_travel_both_ways() {
    let server = TestServer::start();
    let mut client = server.client();
    // At the border a packet of length zero follows.
    for length in [(1 << 24) - 30, (1 << 24) - 1, 1 << 24, 20 << 20] {
        let head = "SELECT LENGTH('";
        let body = "x".repeat(length - head.len() - 3);
        let sql = format!("{head}{body}')");
        assert_eq!(client.text(&sql).unwrap(), [body.len().to_string()], "{length}");
    }
    let rows = client.query("SELECT REPEAT('ab', 12000000)").unwrap();
    let Value::Bytes(bytes) = &rows.rows[0][0] else { panic!("no bytes") };
    assert_eq!(bytes.len(), 24_000_000);
    assert!(bytes.chunks(2).all(|pair| pair == b"ab"));
    let statement = client.prepare("SELECT LENGTH(?), ?").unwrap();
    let long = Value::Bytes(vec![b'y'; 17 << 20]);
    let rows = client.run_statement(&statement, &[long.clone(), long.clone()]).unwrap();
    let rows = rows.rows().unwrap();
    assert_eq!(rows.rows[0][0].to_string(), (17 << 20).to_string());
    assert_eq!(rows.rows[0][1], long);
}

#[test]
fn a_packet_above_max_allowed_packet_is_refused_and_the_server_stays_up() {
    let server = TestServer::start();
    let mut client = server.client();
    let limit: usize = client.text("SELECT @@max_allowed_packet").unwrap()[0].parse().unwrap();
    let sql = format!("SELECT LENGTH('{}')", "x".repeat(limit + 1));
    match client.text(&sql) {
        Err(error) => assert!([0, 1153].contains(&error.errno()), "{error}"),
        Ok(rows) => panic!("{rows:?}"),
    }
    assert_eq!(server.client().text("SELECT 1").unwrap(), ["1"]);
}

#[test]
fn several_statements_of_one_text_give_several_results() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    let replies =
        client.run("SELECT 'a;b'; INSERT INTO t VALUES (1),(2); SELECT id FROM t ORDER BY id; DO 0;").unwrap();
    let shown: Vec<String> = replies
        .iter()
        .map(|reply| match reply {
            Reply::Done(done) => format!("done {}", done.affected_rows),
            Reply::Rows(rows) => rows.text().join(" "),
        })
        .collect();
    assert_eq!(shown, ["a;b", "done 2", "1 2", "done 0"]);
    // EXECUTE ends with the flag that more results follow.
    let replies =
        client.run("PREPARE p FROM 'SELECT 7'; EXECUTE p; PREPARE p FROM 'DO 1'; EXECUTE p; SELECT 8").unwrap();
    assert_eq!(replies.len(), 5);
    // The first error ends the text; what ran before stays.
    client.send_query("INSERT INTO t VALUES (3); INSERT INTO t VALUES (3); INSERT INTO t VALUES (4)").unwrap();
    assert_eq!(client.receive_reply().unwrap().done().unwrap().affected_rows, 1);
    assert_eq!(client.receive_reply().unwrap_err().errno(), 1062);
    assert_eq!(client.text("SELECT id FROM t ORDER BY id").unwrap(), ["1", "2", "3"]);
}

#[test]
fn affected_rows_insert_ids_and_status_are_told() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT, UNIQUE KEY (v))").unwrap();
    let done = client.execute("INSERT INTO t (v) VALUES (10),(20),(30)").unwrap();
    assert_eq!((done.affected_rows, done.last_insert_id), (3, 1));
    assert!(done.info.contains("Records: 3  Duplicates: 0  Warnings: 0"), "{}", done.info);
    let update = "UPDATE t SET v=40 WHERE id=3";
    let done = client.execute(update).unwrap();
    assert_eq!(done.affected_rows, 1);
    assert!(done.info.contains("Rows matched: 1  Changed: 1  Warnings: 0"), "{}", done.info);
    assert_eq!(client.execute(update).unwrap().affected_rows, 0, "unchanged rows do not count");
    let upsert = "INSERT INTO t (v) VALUES (40) ON DUPLICATE KEY UPDATE v=41";
    assert_eq!(client.execute(upsert).unwrap().affected_rows, 2);
    assert_eq!(client.execute("REPLACE INTO t VALUES (9,90)").unwrap().affected_rows, 1);
    assert_eq!(client.execute("REPLACE INTO t VALUES (1,11)").unwrap().affected_rows, 2);
    assert_eq!(client.execute("BEGIN").unwrap().status & SERVER_STATUS_IN_TRANS, SERVER_STATUS_IN_TRANS);
    assert_eq!(client.execute("COMMIT").unwrap().status & SERVER_STATUS_IN_TRANS, 0);
    let login = Login {
        database: "test".into(),
        extra_capabilities: shoal_system_tests::client::CLIENT_FOUND_ROWS,
        ..Login::default()
    };
    let mut found = Client::log_in(server.port(), &login).unwrap();
    assert_eq!(found.execute("UPDATE t SET v=41 WHERE id=3").unwrap().affected_rows, 1, "found rows count");
}

#[test]
fn a_syntax_error_is_1064_with_the_place() {
    let server = TestServer::start();
    let mut client = server.client();
    let error = client.query("SELECT 1,\n  2 FORM t WHERE x = 1").unwrap_err();
    assert_eq!(error.errno(), 1064);
    let text = error.to_string();
    assert!(text.contains("(42000)"), "{text}");
    assert!(text.contains("near 't WHERE x = 1' at line 2"), "{text}");
    let error = client.query("SELECT (1").unwrap_err();
    assert!(error.to_string().contains("near '' at line 1"), "{error}");
    let error = server.sql_error("DELETE EVERYTHING PLEASE");
    assert!(error.contains("ERROR 1064 (42000)"), "{error}");
    let unknown: [(&str, u16); 5] = [
        ("SELECT * FROM nowhere", 1146),
        ("SELECT nothing", 1054),
        ("SELECT NO_SUCH_FUNCTION(1)", 1305),
        ("USE nowhere", 1049),
        ("INSERT INTO t VALUES (1,2)", 1136),
    ];
    client.execute("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    for (sql, errno) in unknown {
        let error = client.run(sql).unwrap_err();
        assert_eq!(error.errno(), errno, "{sql}: {error}");
    }
}

#[test]
fn resetting_a_connection_forgets_the_session() {
    let server = TestServer::start();
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    let statement = client.prepare("SELECT 1").unwrap();
    client.run("SET @mine=1; SET autocommit=0; SET sql_mode='ANSI_QUOTES'").unwrap();
    client.execute("INSERT INTO t VALUES (1)").unwrap();
    client.reset_connection().unwrap();
    assert_eq!(client.text("SELECT @mine, COUNT(*) FROM t").unwrap(), ["NULL,0"]);
    assert_eq!(client.text("SELECT @@autocommit").unwrap(), ["1"]);
    assert_eq!(client.text("SELECT \"text\"").unwrap(), ["text"]);
    assert_eq!(client.run_statement(&statement, &[]).unwrap_err().errno(), 1243);
    assert_eq!(client.text("SELECT DATABASE()").unwrap(), ["test"]);
}

#[test]
fn a_killed_query_stops_and_its_session_goes_on() {
    let server = TestServer::start();
    let (mut a, mut b) = (server.client(), server.client());
    a.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1,1); BEGIN; UPDATE t SET v=2")
        .unwrap();
    b.send_query("UPDATE t SET v=3").unwrap();
    assert!(!b.answers_within(Duration::from_millis(100)).unwrap());
    let started = Instant::now();
    a.execute(&format!("KILL QUERY {}", b.connection_id())).unwrap();
    let error = b.receive_reply().unwrap_err();
    assert_eq!(error.errno(), 1317, "{error}");
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(b.text("SELECT v FROM t").unwrap(), ["1"]);
    assert_eq!(a.execute("KILL 999999999").unwrap_err().errno(), 1094);
}

/// Statements that would run for hours: the interrupt was looked at only when a new batch of the first table came, and other
/// sessions of the worker, the killer's among them, had to wait for the end.
const ENDLESS: &[&str] = &[
    "SELECT COUNT(*) FROM n a, n b, n c, n d",
    "SELECT a.id+b.id+c.id AS s, COUNT(*) FROM n a, n b, n c, n d GROUP BY s ORDER BY 2 DESC LIMIT 1",
    "SELECT a.id FROM n a, n b, n c, n d WHERE a.id+b.id+c.id+d.id < 0 ORDER BY 1",
    "SELECT a.id FROM n a LEFT JOIN n b ON b.id+a.id < 0, n c, n d, n e WHERE a.id+c.id+d.id+e.id < 0",
    "SELECT COUNT(*) FROM n a JOIN n b ON b.g=a.g JOIN n c ON c.g=b.g JOIN n d ON d.g=c.g JOIN n e ON e.g=d.g",
    "SELECT SUM((SELECT COUNT(*) FROM n b, n c, n d WHERE b.id+c.id+d.id < a.id)) FROM n a",
];

fn numbers(client: &mut Client) {
    client
        .run(
            "CREATE TABLE n (id INT PRIMARY KEY AUTO_INCREMENT, g INT, KEY (g)); INSERT INTO n (g) VALUES (1),(1),(1),(1);
             INSERT INTO n (g) SELECT g FROM n; INSERT INTO n (g) SELECT g FROM n; INSERT INTO n (g) SELECT g FROM n;
             INSERT INTO n (g) SELECT g FROM n; INSERT INTO n (g) SELECT g FROM n; INSERT INTO n (g) SELECT g FROM n;
             INSERT INTO n (g) SELECT g FROM n; INSERT INTO n (g) SELECT g FROM n",
        )
        .unwrap();
}

#[test]
fn a_long_join_ends_when_its_time_is_over() {
    if target_is_mariadb() {
        return skip("MariaDB's variable is max_statement_time");
    }
    let server = TestServer::start();
    let mut client = server.client();
    numbers(&mut client);
    client.execute("SET max_execution_time=100").unwrap();
    for sql in ENDLESS {
        let started = Instant::now();
        assert_eq!(client.query(sql).unwrap_err().errno(), 3024, "{sql}");
        assert!(started.elapsed() < Duration::from_secs(5), "{sql}: {:?}", started.elapsed());
    }
}

#[test]
fn a_long_join_makes_way_for_others_and_for_its_kill() {
    let server = TestServer::start();
    let mut killer = server.client();
    numbers(&mut killer);
    for sql in ENDLESS {
        // Workers have several sessions each: some of these share the worker of the long statement.
        let (mut busy, mut others) = (server.client(), [(); 4].map(|()| server.client()));
        busy.send_query(sql).unwrap();
        assert!(!busy.answers_within(Duration::from_millis(50)).unwrap(), "{sql}");
        let started = Instant::now();
        for other in &mut others {
            assert_eq!(other.text("SELECT COUNT(*) FROM n").unwrap(), ["1024"]);
        }
        others[3].execute(&format!("KILL QUERY {}", busy.connection_id())).unwrap();
        assert_eq!(busy.receive_reply().unwrap_err().errno(), 1317, "{sql}");
        assert!(started.elapsed() < Duration::from_secs(5), "{sql}: {:?}", started.elapsed());
        assert_eq!(busy.text("SELECT 1").unwrap(), ["1"]);
    }
}

#[test]
fn a_killed_connection_is_gone_with_its_locks() {
    let server = TestServer::start();
    let (mut a, mut b) = (server.client(), server.client());
    a.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1,1)").unwrap();
    b.run("BEGIN; UPDATE t SET v=2").unwrap();
    a.execute(&format!("KILL {}", b.connection_id())).unwrap();
    assert_eq!(a.execute("UPDATE t SET v=v+10").unwrap().affected_rows, 1);
    assert!(b.text("SELECT 1").is_err());
    assert_eq!(a.text("SELECT v FROM t").unwrap(), ["11"]);
}

#[test]
fn simple_commands_are_answered() {
    let server = TestServer::start();
    let mut client = server.client_in("");
    client.ping().unwrap();
    assert_eq!(client.text("SELECT DATABASE()").unwrap(), ["NULL"]);
    client.use_database("test").unwrap();
    assert_eq!(client.text("SELECT DATABASE()").unwrap(), ["test"]);
    assert_eq!(client.use_database("nowhere").unwrap_err().errno(), 1049);
    client.command(shoal_system_tests::client::COM_STATISTICS, &[]).unwrap();
    let text = String::from_utf8(client.channel().receive().unwrap()).unwrap();
    assert!(text.starts_with("Uptime:"), "{text}");
    client.command(0x70, &[]).unwrap();
    assert_eq!(client.receive_reply().unwrap_err().errno(), 1047);
    client.ping().unwrap();
}

/// A client that is not told escapes with backslashes what it then sends as two literals.
#[test]
fn the_status_flags_say_how_literals_are_escaped() {
    const NO_BACKSLASH_ESCAPES: u16 = 1 << 9;
    let server = TestServer::start();
    let mut client = server.client();
    let mut flags = |sql: &str| client.run(sql).unwrap()[0].status() & NO_BACKSLASH_ESCAPES;
    assert_eq!(flags("SELECT 1"), 0);
    for sql in ["SET sql_mode='NO_BACKSLASH_ESCAPES'", "SELECT 1", "DO 1", r"SELECT '\\'"] {
        assert_eq!(flags(sql), NO_BACKSLASH_ESCAPES, "{sql}");
    }
    for sql in ["SET sql_mode=''", "SELECT 1", "DO 1"] {
        assert_eq!(flags(sql), 0, "{sql}");
    }
}
