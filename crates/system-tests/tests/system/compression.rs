//! The compressed protocol: zlib with the real clients, zstd and spoilt packets with a client of these tests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use flate2::read::ZlibDecoder;
use shoal_system_tests::{TestServer, skip, target_is_mariadb, wait_until};

fn mariadb(server: &TestServer, options: &[&str], sql: &str) -> String {
    let mut command = Command::new("mariadb");
    command
        .args(["--no-defaults", "--host=127.0.0.1", "--user=root", "--batch", "--skip-column-names"])
        .arg(format!("--port={}", server.port()))
        .args(options)
        .args(["-e", sql]);
    let output = server.finish(command, b"");
    assert!(output.status.success(), "{options:?}: {}", output.errors());
    output.text().trim().to_owned()
}

const STATUS: &str = "SHOW STATUS LIKE 'Compression%'";

#[test]
fn the_client_librarys_zlib_carries_large_packets_both_ways_also_within_tls() {
    if target_is_mariadb() {
        return skip("MariaDB has other status variables");
    }
    let server = TestServer::start();
    assert_eq!(mariadb(&server, &[], STATUS), "Compression\tOFF\nCompression_algorithm\t\nCompression_level\t0");
    let compressed = "Compression\tON\nCompression_algorithm\tzlib\nCompression_level\t6";
    for options in [&["--compress", "--skip-ssl"][..], &["--compress", "--ssl"]] {
        assert_eq!(mariadb(&server, options, STATUS), compressed);
        let options = [options, &["--max-allowed-packet=64M"]].concat();
        let sql = format!("SELECT LENGTH('{}'), REPEAT('abc', 8000000)", "xyz".repeat(40_000));
        let told = mariadb(&server, &options, &sql);
        assert_eq!(told.len(), "120000\t".len() + 24_000_000);
        assert!(told.ends_with("abcabc"));
        let random = "SELECT SHA2(GROUP_CONCAT(id ORDER BY id), 256), COUNT(*) FROM (VALUES ROW(1), ROW(2)) AS v(id); SELECT 1";
        assert_eq!(mariadb(&server, &options, random).lines().count(), 2);
    }
}

#[test]
fn loads_and_dumps_are_the_same_compressed() {
    let server = TestServer::start();
    server.sql("SET GLOBAL local_infile=1");
    server.sql("CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(100))");
    let lines: String = (0..60_000).map(|id| format!("{id}\tline {} of many\n", id * 7919)).collect();
    let file = std::env::temp_dir().join(format!("shoal-compressed-{}.tsv", server.port()));
    std::fs::write(&file, &lines).unwrap();
    let load =
        format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE test.t; SELECT COUNT(*) FROM test.t", file.display());
    let told = mariadb(&server, &["--compress", "--local-infile=1"], &load);
    let _ = std::fs::remove_file(&file);
    assert_eq!(told, "60000");
    let rows = "SELECT * FROM test.t ORDER BY id";
    let plain = mariadb(&server, &[], rows);
    assert!(plain == lines.trim_end() && mariadb(&server, &["--compress"], rows) == plain);
    let report = |more: &[&str]| {
        let options = [&["--tables=1", "--table-size=1000", "--threads=4"], more].concat();
        server.sysbench("oltp_read_write", if more.is_empty() { "prepare" } else { "run" }, &options)
    };
    report(&[]);
    let report = report(&["--mysql-compression=on", "--events=200", "--time=0"]);
    assert!(report.contains("total number of events:              200"), "{report}");
}

const PROTOCOL_41: u32 = 1 << 9;
const SECURE_CONNECTION: u32 = 1 << 15;
const PLUGIN_AUTH: u32 = 1 << 19;
const COMPRESS: u32 = 1 << 5;
const ZSTD: u32 = 1 << 26;

/// A client that sends compressed packets of its own making.
struct Raw {
    stream: TcpStream,
    algorithm: u32,
    sequence: u8,
    plain: Vec<u8>,
    /// Contents of packets that were sent compressed, and of those that were not.
    compressed_bytes: usize,
    uncompressed_bytes: usize,
}

impl Raw {
    /// Logged in as root. `Err`: the packet that says why not.
    fn log_in(server: &TestServer, algorithm: u32, level: u8) -> Result<Raw, Vec<u8>> {
        Raw::log_in_through(server, &[], algorithm, level)
    }

    /// The same behind a header of the PROXY protocol.
    fn log_in_through(server: &TestServer, header: &[u8], algorithm: u32, level: u8) -> Result<Raw, Vec<u8>> {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.write_all(header).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let greeting = plain_packet(&mut stream);
        let after_version = 1 + greeting[1..].iter().position(|byte| *byte == 0).unwrap() + 1;
        let low = &greeting[after_version + 13..][..2];
        let high = &greeting[after_version + 18..][..2];
        let offered = u32::from_le_bytes([low[0], low[1], high[0], high[1]]);
        let claimed = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | algorithm;
        let mut response = claimed.to_le_bytes().to_vec();
        response.extend_from_slice(&[0, 0, 0, 1, 45]);
        response.extend_from_slice(&[0; 23]);
        response.extend_from_slice(b"root\0\0caching_sha2_password\0");
        response.push(level);
        let header = [response.len() as u8, 0, 0, 1];
        stream.write_all(&[&header[..], &response].concat()).unwrap();
        let answer = plain_packet(&mut stream);
        assert_eq!(offered & algorithm, if answer[0] == 0 { algorithm } else { offered & algorithm });
        match answer[0] {
            0 => Ok(Raw {
                stream,
                algorithm,
                sequence: 0,
                plain: Vec::new(),
                compressed_bytes: 0,
                uncompressed_bytes: 0,
            }),
            _ => Err(answer),
        }
    }

    fn compress(&self, plain: &[u8]) -> Vec<u8> {
        if self.algorithm == ZSTD {
            return zstd::bulk::compress(plain, 3).unwrap();
        }
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        out.write_all(plain).unwrap();
        out.finish().unwrap()
    }

    fn send(&mut self, contents: &[u8], plain_size: usize) {
        let (size, plain) = ((contents.len() as u32).to_le_bytes(), (plain_size as u32).to_le_bytes());
        let packet = [&size[..3], &[self.sequence], &plain[..3], contents].concat();
        self.sequence = self.sequence.wrapping_add(1);
        // A server that has hung up is for the reading side to notice.
        let _ = self.stream.write_all(&packet);
    }

    /// A query in one packet, compressed.
    fn query(&mut self, sql: &str) {
        self.sequence = 0;
        let size = (sql.len() as u32 + 1).to_le_bytes();
        let plain = [&size[..3], &[0, 3], sql.as_bytes()].concat();
        let contents = self.compress(&plain);
        self.send(&contents, plain.len());
    }

    /// The next packet out of the compressed ones. `None`: the server has hung up.
    fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(header) = self.plain.first_chunk::<4>() {
                let size = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
                if self.plain.len() >= 4 + size {
                    let packet = self.plain[4..4 + size].to_vec();
                    self.plain.drain(..4 + size);
                    return Some(packet);
                }
            }
            let mut header = [0; 7];
            self.stream.read_exact(&mut header).ok()?;
            assert_eq!(header[3], self.sequence, "the number of a compressed packet");
            self.sequence = self.sequence.wrapping_add(1);
            let length = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], 0]) as usize;
            let mut contents = vec![0; length(0)];
            self.stream.read_exact(&mut contents).ok()?;
            match length(4) {
                0 => self.uncompressed_bytes += contents.len(),
                size => self.compressed_bytes += size,
            }
            match (length(4), self.algorithm) {
                (0, _) => self.plain.extend_from_slice(&contents),
                (size, ZSTD) => self.plain.extend(zstd::bulk::decompress(&contents, size).unwrap()),
                (size, _) => {
                    let start = self.plain.len();
                    ZlibDecoder::new(contents.as_slice()).read_to_end(&mut self.plain).unwrap();
                    assert_eq!(self.plain.len() - start, size);
                }
            }
        }
    }

    /// The value of a query's only row and column.
    fn value(&mut self, sql: &str) -> Vec<u8> {
        self.query(sql);
        let packets: Vec<Vec<u8>> = (0..5).map(|_| self.receive().unwrap()).collect();
        assert_eq!((packets[0].as_slice(), packets[4][0]), (&[1][..], 0xfe), "{packets:?}");
        let row = &packets[3];
        match row[0] {
            0xfd => row[4..].to_vec(),
            0xfc => row[3..].to_vec(),
            _ => row[1..].to_vec(),
        }
    }

    /// The number of the error that ends the connection.
    fn last_error(&mut self) -> u16 {
        let packet = self.receive().expect("an error before the end");
        assert_eq!(packet[0], 0xff, "{packet:?}");
        assert_eq!(self.receive(), None);
        u16::from_le_bytes([packet[1], packet[2]])
    }
}

fn plain_packet(stream: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut packet = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut packet).unwrap();
    packet
}

#[test]
fn zstd_and_zlib_carry_queries_and_results_of_every_size() {
    if target_is_mariadb() {
        return skip("MariaDB 10.11 has no zstd");
    }
    let server = TestServer::start();
    for (algorithm, name) in [(ZSTD, "zstd"), (COMPRESS, "zlib"), (COMPRESS | ZSTD, "zlib")] {
        let mut raw = Raw::log_in(&server, algorithm, 7).unwrap();
        raw.algorithm = if name == "zstd" { ZSTD } else { COMPRESS };
        let status = "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = ";
        assert_eq!(raw.value(&format!("{status}'Compression_algorithm'")), name.as_bytes());
        let level = if name == "zstd" { "7" } else { "6" };
        assert_eq!(raw.value(&format!("{status}'Compression_level'")), level.as_bytes());
        for size in [1, 100, 200, 5000, 100_000, 3_000_000] {
            let text = "abcdefg".repeat(size / 7 + 1);
            assert!(raw.value(&format!("SELECT '{text}'")) == text.as_bytes(), "{name} {size}");
        }
    }
}

#[test]
fn what_gains_nothing_is_sent_as_it_is() {
    if target_is_mariadb() {
        return skip("MariaDB compresses whatever there is");
    }
    let server = TestServer::start_with(&["--set", "proxy_protocol_networks=localhost"]);
    server.sql("CREATE USER root@'10.1.2.3'; GRANT ALL ON *.* TO root@'10.1.2.3'");
    let from_afar =
        [&b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"[..], &[10, 1, 2, 3, 10, 0, 0, 1, 0x30, 0x39, 0x0c, 0xea]].concat();
    let shrinks = "SELECT REPEAT('abcdefg', 10000)";
    for algorithm in [ZSTD, COMPRESS] {
        // On this machine nothing is faster than the bytes as they are.
        let mut near = Raw::log_in(&server, algorithm, 3).unwrap();
        assert_eq!(near.value(shrinks).len(), 70_000);
        assert_eq!(near.compressed_bytes, 0);
        let mut far = Raw::log_in_through(&server, &from_afar, algorithm, 3).unwrap();
        assert_eq!(far.value(shrinks).len(), 70_000);
        assert!(far.compressed_bytes > 60_000 && far.uncompressed_bytes < 10_000, "{}", far.uncompressed_bytes);
        // Bytes that do not shrink are tried now and then.
        let (tried, sent) = (far.compressed_bytes, far.uncompressed_bytes);
        far.value("SELECT RANDOM_BYTES(1024)");
        for _ in 0..300 {
            far.value("SELECT CONCAT(RANDOM_BYTES(1024), RANDOM_BYTES(1024), RANDOM_BYTES(1024))");
        }
        assert!(far.compressed_bytes == tried && far.uncompressed_bytes > sent + 900_000);
        assert_eq!(far.value(shrinks).len(), 70_000);
    }
    // A client that does not take what it is sent may be the near end of a tunnel.
    let mut slow = Raw::log_in(&server, ZSTD, 3).unwrap();
    slow.query("SELECT REPEAT('abcdefg', 2200000)");
    let mut client = server.client();
    let mut waiting = 0;
    wait_until("the socket is full", || {
        let running = client.query("SHOW PROCESSLIST").unwrap().text();
        waiting = if running.iter().any(|row| row.contains("abcdefg")) { waiting + 1 } else { 0 };
        waiting == 200
    });
    let packets: Vec<Vec<u8>> = (0..5).map(|_| slow.receive().unwrap()).collect();
    assert_eq!(packets[3].len() - 4, 15_400_000);
    assert!(slow.compressed_bytes >= 1_000_000, "{}", slow.compressed_bytes);
}

#[test]
fn what_the_server_does_not_permit_is_refused() {
    if target_is_mariadb() {
        return skip("MariaDB 10.11 has no such variable");
    }
    let server = TestServer::start();
    let errno = |packet: Vec<u8>| u16::from_le_bytes([packet[1], packet[2]]);
    let refused = |algorithm, level| errno(Raw::log_in(&server, algorithm, level).err().unwrap());
    assert_eq!((refused(ZSTD, 0), refused(ZSTD, 23)), (3923, 3923));
    server.sql("SET GLOBAL protocol_compression_algorithms = 'ZSTD'");
    assert_eq!((refused(COMPRESS, 3), refused(0, 3)), (3922, 3922));
    let mut raw = Raw::log_in(&server, ZSTD, 3).unwrap();
    raw.query("SET GLOBAL protocol_compression_algorithms = 'lz4'");
    let packet = raw.receive().unwrap();
    assert_eq!((packet[0], errno(packet)), (0xff, 1231));
    raw.query("SET GLOBAL protocol_compression_algorithms = 'zlib,uncompressed'");
    assert_eq!(raw.receive().unwrap()[0], 0);
    // A client that asks for what is not offered goes without.
    let mut plain = Raw::log_in(&server, 0, 3).unwrap();
    plain.stream.write_all(b"\x01\0\0\0\x0e").unwrap();
    assert_eq!(plain_packet(&mut plain.stream)[0], 0);
    assert_eq!(mariadb(&server, &["--compress"], "SELECT @@protocol_compression_algorithms"), "zlib,uncompressed");
}

#[test]
fn spoilt_and_lying_packets_end_their_connection_alone() {
    if target_is_mariadb() {
        return skip("MariaDB hangs up without a word");
    }
    let server = TestServer::start();
    let mut neighbour = Raw::log_in(&server, ZSTD, 3).unwrap();
    for algorithm in [ZSTD, COMPRESS] {
        let mut spoil = |errno: u16, spoil: &dyn Fn(&mut Raw)| {
            let mut raw = Raw::log_in(&server, algorithm, 3).unwrap();
            assert_eq!(raw.value("SELECT 1"), b"1");
            raw.sequence = 0;
            spoil(&mut raw);
            assert_eq!(raw.last_error(), errno);
            assert_eq!(neighbour.value("SELECT 'still here'"), b"still here");
        };
        let ping = [1, 0, 0, 0, 14];
        // Rubbish, a byte that is wrong, an end that is missing, a length that is a lie.
        spoil(1157, &|raw| raw.send(&[0xaa; 300], 1000));
        spoil(1157, &|raw| {
            let mut contents = raw.compress(&[b'x'; 1000]);
            contents[0] ^= 0xff;
            raw.send(&contents, 1000);
        });
        spoil(1157, &|raw| {
            let contents = raw.compress(&[b'x'; 1000]);
            raw.send(&contents[..contents.len() - 3], 1000);
        });
        spoil(1157, &|raw| {
            let contents = raw.compress(&ping);
            raw.send(&contents, 6);
        });
        // A bomb: a hundred megabytes that are said to be five bytes.
        spoil(1157, &|raw| {
            let contents = raw.compress(&vec![b'x'; 100 << 20]);
            raw.send(&contents, 5);
        });
        // A packet out of turn.
        spoil(1156, &|raw| {
            raw.sequence = 5;
            raw.send(&ping, 0);
        });
    }
    // Lengths beyond max_allowed_packet are refused by the header.
    server.sql("SET GLOBAL max_allowed_packet = 1048576");
    for header in [&[0xff, 0xff, 0x7f, 0, 0xff, 0xff, 0xff][..], &[10, 0, 0, 0, 0xff, 0xff, 0xff]] {
        let mut raw = Raw::log_in(&server, ZSTD, 3).unwrap();
        raw.stream.write_all(header).unwrap();
        raw.sequence = 1;
        assert_eq!(raw.last_error(), 1153);
    }
    // Half a packet, and gone.
    let mut raw = Raw::log_in(&server, COMPRESS, 3).unwrap();
    raw.stream.write_all(&[100, 0, 0, 0, 200, 0, 0, 1, 2, 3]).unwrap();
    drop(raw);
    assert_eq!(neighbour.value("SELECT 'still here'"), b"still here");
}
