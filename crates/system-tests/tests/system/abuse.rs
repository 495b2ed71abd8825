//! Clients that misbehave: garbage, broken packets, half handshakes, floods of connections. The server stays up, its
//! memory flat, and answers the next honest client.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::Duration;

use shoal_system_tests::client::{COM_QUERY, COM_STMT_EXECUTE, COM_STMT_FETCH, COM_STMT_SEND_LONG_DATA};
use shoal_system_tests::{Client, TestServer, Value, process, wait_until};

const MEMORY_GROWTH_MAX: u64 = 24 << 20;

/// A small deterministic generator; the seed is in every failure message.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

fn connect(server: &TestServer) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn greeted(server: &TestServer) -> TcpStream {
    let mut stream = connect(server);
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    stream.read_exact(&mut vec![0; length as usize]).unwrap();
    stream
}

/// Sends bytes and lets the server say or do what it likes, as long as it comes to an end.
fn send_and_hang_up(mut stream: TcpStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        let kind = error.kind();
        assert_ne!(kind, std::io::ErrorKind::WouldBlock, "the server holds on to a closed connection");
    }
}

fn assert_serves(server: &TestServer) {
    assert_eq!(server.client().text("SELECT 40+2").unwrap(), ["42"]);
}

#[test]
fn random_bytes_before_and_after_the_greeting_are_survived() {
    let server = TestServer::start();
    let mut random = Random(0x5eed);
    for round in 0..200 {
        let length = (random.next() % 2000) as usize;
        let bytes = random.bytes(length);
        let stream = if round % 2 == 0 { connect(&server) } else { greeted(&server) };
        send_and_hang_up(stream, &bytes);
    }
    assert_serves(&server);
}

#[test]
fn broken_handshake_answers_are_survived() {
    let server = TestServer::start();
    let mut random = Random(0xface);
    let whole = handshake_answer();
    for cut in 0..whole.len() {
        send_and_hang_up(greeted(&server), &packet(1, &whole[..cut]));
        send_and_hang_up(greeted(&server), &packet(1, &whole)[..cut]);
    }
    for _ in 0..200 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.next() % 6 {
            let place = random.next() as usize % bytes.len();
            bytes[place] = random.next() as u8;
        }
        send_and_hang_up(greeted(&server), &packet(1, &bytes));
    }
    // A header that promises much and keeps nothing.
    send_and_hang_up(greeted(&server), &[0xff, 0xff, 0xff, 1]);
    assert_serves(&server);
}

fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes[3] = sequence;
    bytes.extend_from_slice(body);
    bytes
}

fn handshake_answer() -> Vec<u8> {
    let mut body = Vec::new();
    body.extend_from_slice(&0x000f_a68du32.to_le_bytes());
    body.extend_from_slice(&(1u32 << 24).to_le_bytes());
    body.push(45);
    body.extend_from_slice(&[0; 23]);
    body.extend_from_slice(b"root\0\0test\0mysql_native_password\0");
    body
}

#[test]
fn broken_commands_are_errors_or_the_end_of_their_own_connection_only() {
    let server = TestServer::start();
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(50))");
    let mut random = Random(0xbad);
    for round in 0..400u32 {
        let mut client = server.client();
        let statement = client.prepare("INSERT INTO t VALUES (?,?)").unwrap();
        let mut body = statement.id.to_le_bytes().to_vec();
        let command = match round % 5 {
            0 => {
                // Parameter bitmap, types and values cut short or scrambled.
                body.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1, 3, 0, 253, 0, 1, 0, 0, 0, 200]);
                COM_STMT_EXECUTE
            }
            1 => COM_STMT_FETCH,
            2 => COM_STMT_SEND_LONG_DATA,
            3 => {
                let length = (random.next() % 300) as usize;
                body = random.bytes(length);
                COM_QUERY
            }
            _ => (random.next() % 0x21) as u8,
        };
        // COM_SHUTDOWN is an order, not garbage.
        if command == 0x08 {
            continue;
        }
        for _ in 0..random.next() % 4 {
            let place = random.next() as usize % body.len().max(1);
            match body.get_mut(place) {
                Some(byte) => *byte = random.next() as u8,
                None => break,
            }
        }
        body.truncate((random.next() % 24 + 1) as usize);
        let stream = client.channel().stream().try_clone().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut bytes = vec![command];
        bytes.extend_from_slice(&body);
        send_and_hang_up(stream, &packet(0, &bytes));
    }
    assert_serves(&server);
    assert_eq!(server.sql("SELECT COUNT(*) FROM t WHERE id IS NULL"), "0\n");
}

#[test]
fn a_wrong_sequence_number_and_an_empty_packet_are_survived() {
    let server = TestServer::start();
    for bytes in [packet(7, b"\x03SELECT 1"), packet(0, b""), vec![0, 0, 0, 0, 0, 0, 0, 1]] {
        let mut client = server.client();
        let stream = client.channel().stream().try_clone().unwrap();
        send_and_hang_up(stream, &bytes);
    }
    assert_serves(&server);
}

#[test]
fn deep_nesting_and_long_lists_are_refused_or_answered() {
    let server = TestServer::start();
    let mut client = server.client();
    let deep = [
        format!("SELECT {}1{}", "(".repeat(50_000), ")".repeat(50_000)),
        format!("SELECT {}1", "NOT ".repeat(100_000)),
        format!("SELECT {}1", "-".repeat(100_001).replace("--", "- -")),
        format!("SELECT {}1{}", "ABS(".repeat(30_000), ")".repeat(30_000)),
        format!("SELECT 1{}", " + 1".repeat(50_000)),
        format!("SELECT 1 {}", "UNION SELECT 1 ".repeat(5_000)),
        format!("SELECT * FROM {}(SELECT 1) a{}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("SELECT 1 IN ({}1)", "1,".repeat(200_000)),
        format!("SELECT CASE {} END", "WHEN 0 THEN 1 ".repeat(20_000)),
    ];
    for sql in deep {
        if client.run(&sql).is_err_and(|error| error.errno() == 0) {
            panic!("the connection broke on {sql:.40}");
        }
    }
    assert_serves(&server);
}

fn open_files(server: &TestServer) -> usize {
    fs::read_dir(format!("/proc/{}/fd", server.process())).unwrap().count()
}

/// Opens and drops `count` connections, in several ways.
fn flood(server: &TestServer, count: u64) {
    thread::scope(|scope| {
        for worker in 0..8 {
            scope.spawn(move || {
                for number in 0..count / 8 {
                    match (number + worker) % 4 {
                        // Gone before or after the greeting, in the middle of the answer, or after the login.
                        0 => drop(connect(server)),
                        1 => drop(greeted(server)),
                        2 => {
                            let answer = packet(1, &handshake_answer());
                            let mut stream = greeted(server);
                            let _ = stream.write_all(&answer[..answer.len() / 2]);
                        }
                        _ => drop(Client::connect(server.port()).unwrap()),
                    }
                }
            });
        }
    });
}

#[test]
fn ten_thousand_dropped_connections_leave_memory_and_files_flat() {
    let server = TestServer::start();
    server.sql("SET GLOBAL max_connections=500");
    flood(&server, 1_000);
    assert_serves(&server);
    let files = open_files(&server);
    let before = process::resident_bytes(server.process()).unwrap();
    flood(&server, 10_000);
    assert_serves(&server);
    wait_until("the connections are closed", || open_files(&server) <= files + 5);
    let after = process::resident_bytes(server.process()).unwrap();
    assert!(after < before + MEMORY_GROWTH_MAX, "{} MiB, then {} MiB", before >> 20, after >> 20);
    wait_until("no session is left", || {
        let connected = server.sql("SHOW GLOBAL STATUS LIKE 'Threads_connected'");
        connected.trim() == "Threads_connected\t1"
    });
}

#[test]
fn sessions_that_prepare_without_end_do_not_fill_the_memory() {
    let server = TestServer::start();
    let work = |rounds: u32| {
        for _ in 0..rounds {
            let mut client = server.client();
            for number in 0..100 {
                let statement = client.prepare(&format!("SELECT ?, {number}")).unwrap();
                client.run_statement(&statement, &[Value::Int(1)]).unwrap();
            }
            // Dropped without closing the statements.
        }
    };
    work(30);
    let before = process::resident_bytes(server.process()).unwrap();
    work(150);
    let after = process::resident_bytes(server.process()).unwrap();
    assert!(after < before + MEMORY_GROWTH_MAX, "{} MiB, then {} MiB", before >> 20, after >> 20);
}
