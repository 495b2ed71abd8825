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
    let mut tried = 0;
    while tried < 1000 {
        let mut reader = ports.reader();
        let answers = reader.ask_all(&["A|1|wrong"; 5]);
        assert_eq!(answers, ["3|1|unauth", "3|1|unauth", "3|1|unauth", "closed", "closed"]);
        tried += 3;
    }
    wait_until("all to be counted", || status(&mut client, "Hs_auth_failures") == tried);
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
