//! HandlerSocket clients that mean no good: wrong secrets, endless lines, floods, and doors that must not be open.

use std::io::Read;
use std::time::Duration;

use shoal_system_tests::handlersocket::{HandlerSocketPorts, wire};
use shoal_system_tests::{Client, TestServer, process, skip, target_is_mariadb, wait_until};

fn status(client: &mut Client, name: &str) -> u64 {
    TestServer::counter(client, name) as u64
}

#[test]
fn nothing_is_done_before_the_secret_was_said_and_the_ports_have_one_each() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let secrets = ["--set", "handlersocket_plain_secret=reef", "--set", "handlersocket_plain_secret_wr=wr\te"];
    let (server, ports) = HandlerSocketPorts::start(&secrets);
    let mut client = server.client();
    client.run("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    for request in ["P|0|test|t||id", "0|=|1|1", "0|+|1|2"] {
        assert_eq!(ports.writer().ask(request), "3|1|unauth", "{request}");
    }
    assert_eq!(ports.writer().ask("Q"), "2|1|cmd");
    ports.reader().follow(&[
        ("A|1|wrong", "3|1|unauth"),
        ("P|0|test|t||id", "3|1|unauth"),
        ("A|1|reef", "0|1"),
        ("P|0|test|t||id", "0|1"),
        ("0|=|1|1", "0|1|1"),
        ("A|1|wrong", "3|1|unauth"),
        ("0|=|1|1", "3|1|unauth"),
    ]);
    ports.writer().follow(&[("A|1|reef", "3|1|unauth"), ("A|1|wr\u{1}Ie", "0|1"), ("P|0|test|t||id", "0|1")]);
    let shown = client.text("SHOW VARIABLES LIKE 'handlersocket_plain%'").unwrap().join(" ");
    assert!(!shown.contains("reef") && shown.contains("****"), "{shown}");
}

#[test]
fn a_thousand_wrong_secrets_are_counted_and_leave_nothing_behind() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&["--set", "handlersocket_plain_secret=reef"]);
    let mut client = server.client();
    let resident = || process::resident_bytes(server.process()).unwrap();
    let (mut tried, mut before) = (0, resident());
    while tried < 1000 {
        if tried == 150 {
            before = resident();
        }
        let mut reader = ports.reader();
        let answers = reader.ask_all(&["A|1|wrong"; 5]);
        assert_eq!(answers, ["3|1|unauth", "3|1|unauth", "3|1|unauth", "closed", "closed"]);
        tried += 3;
    }
    wait_until("all to be counted", || status(&mut client, "Hs_auth_failures") == tried);
    let grown = resident().saturating_sub(before);
    assert!(grown < 8 << 20, "grown by {grown} bytes");
    assert_eq!(ports.reader().ask("A|1|reef"), "0|1");
    assert!(server.client().ping().is_ok());
}

#[test]
fn a_line_without_end_is_refused_and_ends_the_connection() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut reader = ports.reader();
    reader.send(&vec![b'x'; 10 << 20]);
    assert_eq!(reader.answer(), "2|1|syntax");
    assert_eq!(reader.answer(), "closed");
    // One that is long and has an end is a request like others.
    let mut reader = ports.reader();
    assert_eq!(reader.ask(&format!("P|0|{}|t||id", "x".repeat(1 << 19))), "1|1|open_table");
    assert!(server.client().ping().is_ok());
}

#[test]
fn who_sends_without_reading_is_stopped_and_memory_stays_flat() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(8000))").unwrap();
    client.run(&format!("INSERT INTO t VALUES (1,'{}')", "x".repeat(8000))).unwrap();
    let before = process::resident_bytes(server.process()).unwrap();
    let mut reader = ports.reader();
    reader.stream().set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    assert_eq!(reader.ask("P|0|test|t||v"), "0|1");
    let flood = wire("0|=|1|1").repeat(10_000);
    // 40 GB of answers were asked for when the last of these is sent; most of them cannot be sent.
    let sent = (0..500).take_while(|_| reader.send(&flood)).count();
    assert!(sent < 500, "the server has taken everything");
    let grown = process::resident_bytes(server.process()).unwrap().saturating_sub(before);
    assert!(grown < 64 << 20, "grown by {grown} bytes");
    assert!(server.client().ping().is_ok());
}

/// How a client goes away in the middle of what it sends.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// It sends no more, and reads what it is answered.
    Half,
    /// It is gone, and whatever comes for it is refused.
    Reset,
}

#[test]
fn a_link_that_is_cut_at_any_byte_of_a_batch_leaves_whole_requests_each_done_once() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    let mut client = server.client();
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT, KEY (v))").unwrap();
    let batch = |id: usize| {
        let requests =
            [format!("0|+|3|{id}|0|0"), format!("0|=|1|{id}|1|0|+|0|1|1"), format!("0|=|1|{id}|1|0|+|0|10|10")];
        requests.iter().flat_map(|request| wire(request)).collect::<Vec<u8>>()
    };
    // What the row is when so many lines have been done.
    const STATES: [&str; 4] = ["", "0,0", "1,1", "11,11"];
    let mut id = 1000;
    for length in 0..=batch(id).len() {
        for cut in [Cut::Half, Cut::Reset] {
            id += 1;
            let sent = &batch(id)[..length];
            let lines = sent.iter().filter(|&&byte| byte == b'\n').count();
            let mut writer = ports.writer();
            writer.send(&wire("P|0|test|t||id,v,w"));
            if matches!(cut, Cut::Half) {
                assert_eq!(writer.answer(), "0|1");
            } else {
                // Bytes that were not read when a socket is closed make it reset the link.
                writer.stream().peek(&mut [0; 4]).unwrap();
            }
            assert!(writer.send(sent));
            if matches!(cut, Cut::Half) {
                writer.stream().shutdown(std::net::Shutdown::Write).unwrap();
                let answers: Vec<String> = std::iter::from_fn(|| Some(writer.answer())).take(lines + 1).collect();
                assert_eq!(answers, [&["0|1", "0|1|1", "0|1|1"][..lines], &["closed"]].concat(), "{length} bytes");
            }
            drop(writer);
            wait_until("the connection to end", || {
                status(&mut client, "Hs_table_close") == status(&mut client, "Hs_table_open")
            });
            let row = client.text(&format!("SELECT v, w FROM t WHERE id = {id}")).unwrap().concat();
            match cut {
                Cut::Half => assert_eq!(row, STATES[lines], "{length} bytes"),
                // What was on its way may be lost with the link; a batch is, or is not.
                Cut::Reset => assert!(STATES[..=lines].contains(&row.as_str()), "{length} bytes: {row}"),
            }
        }
    }
    // The index tells the same of all rows as the rows themselves.
    let rows = client.text("SELECT id, v FROM t IGNORE INDEX (v) ORDER BY id").unwrap();
    assert_eq!(client.text("SELECT id, v FROM t FORCE INDEX (v) WHERE v >= 0 ORDER BY id").unwrap(), rows);
    assert!(rows.len() > batch(id).len() - 20, "{} rows", rows.len());
}

#[test]
fn who_comes_when_there_are_as_many_as_there_may_be_is_told_so_and_counted() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&["--set", "handlersocket_max_connections=3"]);
    let mut client = server.client();
    client.run("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    let mut inside = [ports.reader(), ports.writer(), ports.reader()];
    for one in &mut inside {
        assert_eq!(one.ask("P|0|test|t||id"), "0|1");
    }
    for mut late in [ports.reader(), ports.writer()] {
        // One that sends before it reads may find the link closed, and no more.
        assert_eq!([late.answer(), late.answer()], ["1|1|1040", "closed"]);
    }
    assert_eq!(status(&mut client, "Hs_connections_refused"), 2);
    assert_eq!(status(&mut client, "Hs_connections"), 3);
    let [first, mut second, _third] = inside;
    drop(first);
    wait_until("the place of one that has gone", || ports.writer().ask("P|0|test|t||id") == "0|1");
    assert_eq!(second.ask("0|=|1|1"), "0|1");
    assert_eq!(client.text("SELECT @@handlersocket_max_connections").unwrap(), ["3"]);
}

#[test]
fn random_bytes_are_answered_or_refused_and_the_server_goes_on() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&[]);
    server.client().run("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))").unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let words: [&[u8]; 14] = [
        b"\t",
        b"\t",
        b"\n",
        b"0",
        b"=",
        b"1",
        b"+",
        b"@",
        b"F",
        b"U",
        b"\0",
        b"\x01",
        b"\xff",
        b"P\t0\ttest\tt\t\tid,v\n",
    ];
    for _ in 0..20 {
        let mut writer = ports.writer();
        let mut bytes = wire("P|0|test|t||id,v|v");
        for _ in 0..5000 {
            bytes.extend_from_slice(words[random() as usize % words.len()]);
        }
        bytes.push(b'\n');
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
        let mut sending = writer.stream().try_clone().unwrap();
        let sender = std::thread::spawn(move || std::io::Write::write_all(&mut sending, &bytes));
        let answers = (0..lines).map_while(|_| writer.receive()).count();
        assert_eq!(answers, lines);
        sender.join().unwrap().unwrap();
    }
    assert!(server.client().ping().is_ok());
}

#[test]
fn an_idle_connection_is_closed_after_its_time_and_a_busy_one_is_not() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let (server, ports) = HandlerSocketPorts::start(&["--set", "handlersocket_timeout=1"]);
    server.client().run("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    let (mut idle, mut busy) = (ports.reader(), ports.reader());
    assert_eq!(busy.ask("P|0|test|t||id"), "0|1");
    idle.stream().set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    wait_until("the idle one to be closed", || {
        assert_eq!(busy.ask("0|=|1|1"), "0|1");
        matches!(idle.stream().read(&mut [0; 16]), Ok(0))
    });
}

#[test]
fn a_door_that_others_can_reach_does_not_open_without_a_secret() {
    if target_is_mariadb() {
        return skip("the ports are named otherwise");
    }
    let folder = std::env::temp_dir().join(format!("shoal-hs-refused-{}", std::process::id()));
    let mut command = std::process::Command::new(shoal_system_tests::shoal_binary());
    command.args([
        "dev",
        "--mysql-port",
        "0",
        "--hs-port",
        "0",
        "--set",
        "handlersocket_address=0.0.0.0",
        "--data-dir",
    ]);
    let output = command.arg(&folder).output().unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("handlersocket_plain_secret"), "{told}");
}
