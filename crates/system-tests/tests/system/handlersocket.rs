//! The HandlerSocket protocol: every command, every kind of value, every refusal.

use shoal_system_tests::handlersocket::HandlerSocketPorts;
use shoal_system_tests::{skip, target_is_mariadb};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), n INT, KEY by_n (n)); \
    INSERT INTO t VALUES (1,'one',10),(2,'two',20),(3,NULL,20),(4,'four',NULL)";

#[test]
fn rows_are_found_by_keys_and_ranges() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    server.client().run(TABLE).unwrap();
    ports.reader().follow(&[
        ("P|0|test|t||id,name,n|n,name", "0|1"),
        ("P|1|test|t|by_n|id|id,name", "0|1"),
        ("0|=|1|1", "0|3|1|one|10"),
        ("0|=|1|3", "0|3|3|~|20"),
        ("0|=|1|9", "0|3"),
        ("0|=|1|1|5|0", "0|3|1|one|10"),
        ("0|=|1|1|5|1", "0|3"),
        ("0|>|1|2|9|0", "0|3|3|~|20|4|four|~"),
        ("0|>=|1|2|2|0", "0|3|2|two|20|3|~|20"),
        ("0|<|1|3|9|0", "0|3|2|two|20|1|one|10"),
        ("0|<=|1|3|1|1", "0|3|2|two|20"),
        ("0|>=|1|0|2147483647|0", "0|3|1|one|10|2|two|20|3|~|20|4|four|~"),
        ("0|>=|1|0|2147483647|4294967295", "0|3"),
        ("1|=|1|10", "0|1|1"),
        ("1|=|1|~", "0|1|4"),
        ("1|<|1|20|9|0", "0|1|1|4"),
        ("1|>|1|10|9|0|F|>|0|2", "0|1|3"),
        ("0|=|1||9|0|@|0|3|4|7|1", "0|3|4|four|~|1|one|10"),
        ("0|=|1||1|1|@|0|3|4|7|1", "0|3|1|one|10"),
        ("0|>=|1|0|9|0|F|=|0|20", "0|3|2|two|20|3|~|20"),
        ("0|>=|1|0|9|0|F|!=|0|20", "0|3|1|one|10|4|four|~"),
        ("0|>=|1|0|9|0|F|<=|0|10|F|=|1|one", "0|3|1|one|10"),
        ("0|>=|1|0|9|0|W|<|0|20", "0|3|1|one|10"),
        ("0|>=|1|0|9|0|F|=|0|~", "0|3|4|four|~"),
        ("0|>=|1|0|9|0|F|=|1|ONE", "0|3|1|one|10"),
        ("0|>=|1|0|1|1|F|>=|0|20", "0|3|3|~|20"),
    ]);
}

/// Finds that come together are read together; nobody may notice but by the clock.
#[test]
fn finds_of_one_batch_are_answered_in_their_order_whatever_stands_between_them() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    client.run(TABLE).unwrap();
    client.run("CREATE TABLE pair (a VARCHAR(9), b INT, v INT, PRIMARY KEY (a, b)) PARTITION BY KEY (b)").unwrap();
    client.run("INSERT INTO pair VALUES ('x\ty',1,11),('',2,22)").unwrap();
    let mut door = ports.writer();
    door.follow(&[("P|0|test|t||id,name", "0|1"), ("P|1|test|pair||v", "0|1")]);
    let dialogue = [
        ("0|=|1|4", "0|2|4|four"),
        ("0|=|1|9", "0|2"),
        ("0|=|1|1", "0|2|1|one"),
        ("0|=|1|1|1|0", "0|2|1|one"),
        ("0|=|1|3|7", "0|2|3|~"),
        ("0|=|1|1|1|1", "0|2"),
        ("0|=|1|2", "0|2|2|two"),
        ("0|=|1|x", "1|1|1366"),
        ("0|=|1|2", "0|2|2|two"),
        ("0|=|1|2", "0|2|2|two"),
        ("0|=|1", "2|1|klen"),
        ("0|=|1", "2|1|klen"),
        ("0|=|2|1|2", "2|1|kpnum"),
        ("0|=|2|1|2", "2|1|kpnum"),
        ("0|=|1|2|1|0|D", "0|1|1"),
        ("0|=|1|2", "0|2"),
        ("0|=|1|1", "0|2|1|one"),
        ("0|+|2|5|five", "0|1"),
        ("0|=|1|5", "0|2|5|five"),
        ("0|=|1|2", "0|2"),
        ("1|=|2||2", "0|1|22"),
        ("1|=|2|x\u{1}Iy|1", "0|1|11"),
        ("1|=|2|~|1", "1|1|1048"),
        ("1|=|2|x|1", "0|1"),
        ("1|=|2|x|2", "0|1"),
        ("9|=|1|1", "2|1|stmtnum"),
        ("9|=|1|1", "2|1|stmtnum"),
    ];
    let (requests, answers): (Vec<&str>, Vec<&str>) = dialogue.into_iter().unzip();
    assert_eq!(door.ask_all(&requests), answers);
}

/// Writes that come together are written together: every line is still answered, and leaves behind, what it would alone.
#[test]
fn writes_of_one_batch_are_answered_as_they_would_be_one_by_one() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    for table in ["together", "alone"] {
        client
            .run(&format!(
                "CREATE TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY, u INT, n TINYINT UNSIGNED, s VARCHAR(3), UNIQUE (u))"
            ))
            .unwrap();
    }
    let (mut together, mut alone) = (ports.writer(), ports.writer());
    for (door, table) in [(&mut together, "together"), (&mut alone, "alone")] {
        let open = |id, columns| format!("P|{id}|test|{table}||{columns}");
        door.follow(&[
            (&open(0, "id,u,n,s"), "0|1"),
            (&open(1, "n,s"), "0|1"),
            (&open(2, "u,n"), "0|1"),
            (&open(3, "n"), "0|1"),
        ]);
    }
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |end: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) % end
    };
    for _ in 0..60 {
        let mut lines = Vec::new();
        // Lines of one kind come in rows, so that there are runs, and now and then another stands among them.
        while lines.len() < 40 {
            let kind = below(9);
            for _ in 0..below(12) {
                let (id, n) = (below(40), below(260));
                lines.push(match kind {
                    0 => format!("0|+|4|{id}|{}|{}|abc", below(90), below(250)),
                    1 => format!("0|+|4|~|{}|7|{}", below(90), ["x", "", "abcd"][below(3) as usize]),
                    2 => format!("2|+|2|{}|1", below(90)),
                    3 => format!("1|=|1|{id}|1|0|U|{n}|y"),
                    4 => format!("2|=|1|{id}|1|0|U|{}|1", below(90)),
                    5 => format!("3|=|1|{id}|1|0|+|{}", below(200)),
                    6 => format!("3|=|1|{id}|1|0|-|{}", below(200)),
                    7 => format!("0|=|1|{id}|1|0|D"),
                    _ => format!("0|=|1|{id}"),
                });
            }
            lines.extend((below(4) == 0).then(|| format!("1|=|1|{}|1|0|U?|3", below(40))));
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let expected: Vec<String> = lines.iter().map(|line| alone.ask(line)).collect();
        let answers = together.ask_all(&lines);
        for ((line, answer), expected) in lines.iter().zip(&answers).zip(&expected) {
            assert_eq!(answer, expected, "{line} in {lines:#?}");
        }
    }
    let mut left = |table| client.text(&format!("SELECT id, u, n, s FROM {table} ORDER BY id")).unwrap();
    let rows = left("together");
    assert!(rows.len() > 10, "{rows:?}");
    assert_eq!(rows, left("alone"));
}

#[test]
fn many_finds_and_large_rows_in_one_batch_are_all_answered() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    client.run("CREATE TABLE large (id INT PRIMARY KEY, v MEDIUMTEXT)").unwrap();
    client.run("INSERT INTO large VALUES (1, REPEAT('a', 90000)), (2, REPEAT('b', 90000)), (3, 'c')").unwrap();
    let mut door = ports.reader();
    door.follow(&[("P|0|test|large||id,v", "0|1")]);
    let requests: Vec<String> = (0..300).map(|number| format!("0|=|1|{}", number % 4)).collect();
    let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
    for (number, answer) in door.ask_all(&requests).into_iter().enumerate() {
        let expected = match number % 4 {
            0 => "0|2".to_owned(),
            1 => format!("0|2|1|{}", "a".repeat(90_000)),
            2 => format!("0|2|2|{}", "b".repeat(90_000)),
            _ => "0|2|3|c".to_owned(),
        };
        assert!(answer == expected, "answer {number} has {} bytes", answer.len());
    }
}

#[test]
fn an_index_is_opened_by_name_by_position_or_as_the_primary_key_and_opened_again() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    server.client().run(TABLE).unwrap();
    ports.reader().follow(&[
        ("P|3|test|t|PRIMARY|name", "0|1"),
        ("3|=|1|1", "0|1|one"),
        ("P|3|test|t|1|id,id,name", "0|1"),
        ("3|=|1|10", "0|3|1|1|one"),
        ("P|3|test|t|0|", "0|1"),
        ("3|=|1|1", "0|0"),
        ("P|3|test|t|2|id", "2|1|idxnum"),
        ("P|3|test|t|nothing|id", "2|1|idxnum"),
        ("P|3|test|t||id,nothing", "2|1|fld"),
        ("P|3|test|t||id|nothing", "2|1|fld"),
        ("P|3|test|nothing||id", "1|1|open_table"),
        ("P|3|nothing|t||id", "1|1|open_table"),
        ("P|4096|test|t||id", "2|1|stmtnum"),
        ("P|x|test|t||id", "2|1|stmtnum"),
        // What could not be opened has left the index as it was.
        ("3|=|1|1", "0|0"),
    ]);
}

#[test]
fn rows_are_changed_where_they_are_found() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    client.run(TABLE).unwrap();
    ports.writer().follow(&[
        ("P|0|test|t||id,name,n|n", "0|1"),
        ("P|1|test|t|by_n|n", "0|1"),
        ("P|2|test|t||name", "0|1"),
        ("2|=|1|1|1|0|U|uno", "0|1|1"),
        ("2|=|1|1|1|0|U?|eins", "0|1|uno"),
        ("2|=|1|9|1|0|U|none", "0|1|0"),
        ("2|=|1|9|1|0|U?|none", "0|1"),
        ("0|=|1|1|1|0|U|7|sette|~", "0|1|1"),
        ("0|=|1|7", "0|3|7|sette|~"),
        ("0|=|1|7|1|0|U|1|one|10", "0|1|1"),
        ("1|=|1|20|9|0|+|5", "0|1|2"),
        ("1|=|1|25|9|0|-?|5", "0|1|25|25"),
        ("1|=|1|20|9|0|-|21", "0|1|0"),
        ("0|=|1|4|1|0|+|0|~|5", "0|1|1"),
        ("0|>=|1|0|9|0|F|=|0|20|D?", "0|3|2|two|20|3|~|20"),
        ("0|>=|1|0|1|1|D", "0|1|1"),
        ("0|>=|1|0|9|0", "0|3|1|one|10"),
        ("0|+|3|5|five|50", "0|1"),
        ("0|=|1||9|0|@|0|2|1|5|U?|1", "1|1|121"),
        ("0|=|1||9|0|@|0|2|1|5|D", "0|1|2"),
    ]);
    assert_eq!(client.text("SELECT COUNT(*) FROM t").unwrap(), ["0"]);
}

#[test]
fn inserts_take_defaults_and_tell_the_number_that_was_generated() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    let table = "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT, b INT DEFAULT 7, c INT NOT NULL, \
        d VARCHAR(9) DEFAULT (CONCAT('x','y')), e DATETIME DEFAULT CURRENT_TIMESTAMP); \
        CREATE TABLE plain (a INT, KEY (a))";
    client.run(table).unwrap();
    ports.writer().follow(&[
        ("P|0|test|t||c", "0|1"),
        ("P|1|test|t||a", "0|1"),
        ("P|2|test|t||id,c,b", "0|1"),
        ("P|3|test|plain|a|a", "0|1"),
        ("P|4|test|plain||a", "2|1|idxnum"),
        ("0|+|1|5", "0|1|1"),
        ("0|+|1|6", "0|1|2"),
        ("1|+|1|6", "1|1|1364"),
        ("2|+|2|~|8", "0|1|3"),
        ("2|+|2|10|8", "0|1|0"),
        ("2|+|3|0|8|~", "0|1|11"),
        ("2|+|3|10|8|~", "1|1|121"),
        ("0|+|1|~", "1|1|1048"),
        ("3|+|1|1", "0|1"),
        ("3|+|1|1", "0|1"),
        ("3|=|1|1|9|0", "0|1|1|1"),
    ]);
    let rows = client.text("SELECT id,a,b,c,d,e IS NOT NULL FROM t ORDER BY id").unwrap();
    let rows: Vec<String> = rows.iter().map(|row| row.replace('\t', " ")).collect();
    assert_eq!(rows.len(), 5, "{rows:?}");
    assert!(rows[0].contains("NULL") && rows[0].contains('7') && rows[0].contains("xy"), "{rows:?}");
}

#[test]
fn what_is_asked_wrongly_is_refused_with_the_words_of_the_protocol() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    client.run(TABLE).unwrap();
    client.run("CREATE TABLE b (id INT PRIMARY KEY, x TEXT) ; INSERT INTO b VALUES (1,'x')").unwrap();
    let dialogue = [
        ("P|0|test|t||id|n", "0|1"),
        ("P|1|test|b||id|x", "0|1"),
        ("", "2|1|cmd"),
        ("nonsense", "2|1|cmd"),
        ("Q", "2|1|cmd"),
        ("/", "2|1|cmd"),
        ("9|=|1|1", "2|1|stmtnum"),
        ("0|~|1|1", "2|1|op"),
        ("0|=|0", "2|1|klen"),
        ("0|=|2|1", "2|1|klen"),
        ("0|=|2|1|1", "2|1|kpnum"),
        ("0|=|1|x", "1|1|1366"),
        ("0|=|1|99999999999", "1|1|1264"),
        ("0|=|1|~", "1|1|1048"),
        ("0|=|1|1|1|0|@|1|1|1", "2|1|kpnum"),
        ("0|=|1|1|1|0|@|0|0", "2|1|invalueslen"),
        ("0|=|1|1|1|0|@|0|2|1", "2|1|invalueslen"),
        ("0|=|1|1|1|0|@|0|2|1|~", "2|1|syntax"),
        ("0|=|1|1|1|0|FF|=|0|1", "2|1|filtertype"),
        ("0|=|1|1|1|0|F|=|1|1", "2|1|filterfld"),
        ("0|=|1|1|1|0|F|~|0|1", "2|1|op"),
        ("1|=|1|1|1|0|F|=|0|1", "2|1|filterblob"),
        ("0|S|1|1", "2|1|notimpl"),
        ("0|=|1|1|-1|0", "2|1|syntax"),
        ("A|1|", "0|1"),
        ("A|2|", "3|1|authtype"),
    ];
    let (mut reader, mut writer) = (ports.reader(), ports.writer());
    reader.follow(&dialogue);
    writer.follow(&dialogue);
    reader.follow(&[
        ("0|+|1|1", "2|1|readonly"),
        ("0|=|1|1|1|0|U|1", "2|1|readonly"),
        ("0|=|1|1|1|0|X", "2|1|readonly"),
    ]);
    writer.follow(&[
        ("0|=|1|1|1|0|X", "2|1|modop"),
        ("0|=|1|1|1|0|U|1|2", "2|1|fld"),
        ("0|+|2|1|2", "2|1|klen"),
        ("0|=|1|1|1|0|U|x", "1|1|1366"),
        ("0|=|1|1|1|0|+|x", "1|1|1366"),
        ("0|=|1|1|1|0|+|2147483647", "1|1|1264"),
    ]);
    assert_eq!(client.text("SELECT MIN(id), COUNT(*) FROM t").unwrap(), ["1,4"]);
}

#[test]
fn every_type_is_shown_as_sql_shows_it_and_taken_back() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    let columns = [
        ("TINYINT", "-128"),
        ("INT(6) UNSIGNED ZEROFILL", "000042"),
        ("BIGINT UNSIGNED", "18446744073709551615"),
        ("DECIMAL(12,3)", "-123456789.125"),
        ("FLOAT", "1.5"),
        ("DOUBLE", "0.1"),
        ("YEAR", "2024"),
        ("DATE", "2024-02-29"),
        ("TIME(2)", "-12:34:56.78"),
        ("DATETIME(6)", "2024-02-29 01:02:03.456789"),
        ("TIMESTAMP", "2024-02-29 01:02:03"),
        ("CHAR(8)", "reef"),
        ("VARCHAR(20) CHARACTER SET latin1", "Größe"),
        ("VARCHAR(20)", "Größe 🐟"),
        ("VARBINARY(20)", "bytes"),
        ("TEXT", "long"),
        ("ENUM('red','green')", "green"),
        ("SET('a','b','c')", "a,c"),
        ("JSON", "{\"a\": [1, 2]}"),
    ];
    for (number, (sql_type, text)) in columns.iter().enumerate() {
        let key = if sql_type.starts_with("TEXT") || sql_type.starts_with("JSON") { "" } else { ", KEY k (v)" };
        client.execute(&format!("CREATE TABLE v{number} (id INT PRIMARY KEY, v {sql_type}{key})")).unwrap();
        let mut writer = ports.writer();
        let row = format!("0|2|1|{text}");
        assert_eq!(writer.ask(&format!("P|0|test|v{number}||id,v")), "0|1");
        assert_eq!(writer.ask(&format!("0|+|2|1|{text}")), "0|1", "{sql_type}");
        assert_eq!(writer.ask("0|=|1|1"), row, "{sql_type}");
        assert_eq!(client.text(&format!("SELECT v FROM v{number}")).unwrap(), [*text], "{sql_type}");
        assert_eq!(writer.ask("0|+|2|2|~"), "0|1");
        assert_eq!(writer.ask("0|=|1|2"), "0|2|2|~", "{sql_type}");
        if !key.is_empty() {
            assert_eq!(writer.ask(&format!("P|1|test|v{number}|k|id,v")), "0|1");
            assert_eq!(writer.ask(&format!("1|=|1|{text}|9|0")), row, "{sql_type}");
            assert_eq!(writer.ask(&format!("1|>=|1|{text}|9|0")), row, "{sql_type}");
        }
    }
}

#[test]
fn small_bytes_are_escaped_both_ways_and_a_carriage_return_before_the_end_is_let_go() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    client.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARBINARY(300))").unwrap();
    let mut writer = ports.writer();
    assert_eq!(writer.ask("P|0|test|t||id,v\r"), "0|1");
    let bytes: Vec<u8> = (0..=255).collect();
    let mut request = b"0\t+\t2\t1\t".to_vec();
    let mut escaped = Vec::new();
    for &byte in &bytes {
        if byte < 0x10 {
            escaped.extend_from_slice(&[1, byte + 0x40]);
        } else {
            escaped.push(byte);
        }
    }
    request.extend_from_slice(&escaped);
    request.extend_from_slice(b"\r\n");
    writer.send(&request);
    assert_eq!(writer.answer(), "0|1");
    let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(client.text("SELECT HEX(v) FROM t").unwrap(), [hex]);
    writer.send(b"0\t=\t1\t1\r\n");
    assert_eq!(writer.receive().unwrap(), [b"0\t2\t1\t".to_vec(), escaped].concat());
    // The empty text is not NULL.
    writer.follow(&[("0|+|2|2|", "0|1"), ("0|=|1|2", "0|2|2|"), ("0|+|2|3|~", "0|1"), ("0|=|1|3", "0|2|3|~")]);
}

#[test]
fn requests_that_come_at_once_are_answered_in_order_and_see_what_came_before_them() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    server.client().run(TABLE).unwrap();
    let mut writer = ports.writer();
    let answers = writer.ask_all(&[
        "P|0|test|t||id,name,n",
        "0|+|3|10|ten|100",
        "0|=|1|10",
        "0|+|3|10|ten|100",
        "0|>=|1|10|9|0",
        "0|=|1|10|1|0|U|11|eleven|100",
        "0|=|1|10",
        "0|>=|1|10|9|0",
        "0|=|1|11|1|0|D",
        "0|=|1|11",
    ]);
    let expected = [
        "0|1",
        "0|1",
        "0|3|10|ten|100",
        "1|1|121",
        "0|3|10|ten|100",
        "0|1|1",
        "0|3",
        "0|3|11|eleven|100",
        "0|1|1",
        "0|3",
    ];
    assert_eq!(answers, expected);
    // One byte at a time is the same request.
    for byte in b"0\t=\t1\t1\n" {
        writer.send(&[*byte]);
    }
    assert_eq!(writer.answer(), "0|3|1|one|10");
    let many: Vec<String> = (0..3000).map(|number| format!("0|=|1|{}", number % 5)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let answers = writer.ask_all(&many);
    assert!(
        answers
            .iter()
            .enumerate()
            .all(|(number, answer)| answer.starts_with(&format!("0|3|{}", number % 5)) || number % 5 == 0)
    );
}
