//! The same requests to Shoal and to MariaDB's HandlerSocket plugin: what is answered, and what is in the tables afterwards.
//!
//! Requests are made at random from a seed, within what both answer alike: docs/handlersocket.md lists the differences.

use std::path::Path;

use shoal_system_tests::handlersocket::{HandlerSocket, HandlerSocketPorts};
use shoal_system_tests::server::{Server, find_program};
use shoal_system_tests::{Client, harness_setup, skip, target_is_mariadb};
use shoal_testkit::Setup;

const PLUGIN: &str = "/usr/lib/mysql/plugin/handlersocket.so";
/// The plugin of MariaDB does nothing without one.
const SECRET: &str = "reef";
const REQUESTS: usize = 4000;
const SEEDS: [u64; 3] = [1, 2, 3];

const TABLES: &str = "CREATE DATABASE IF NOT EXISTS test; USE test; DROP TABLE IF EXISTS t, n; \
    CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, c VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, d BIGINT, \
      e INT, PRIMARY KEY (a, b), UNIQUE KEY u (d)) ENGINE=InnoDB; \
    CREATE TABLE n (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(10) CHARACTER SET latin1) ENGINE=InnoDB";

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len() as u64) as usize]
    }

    fn text(&mut self) -> String {
        match self.below(6) {
            0 => "~".to_owned(),
            1 => String::new(),
            // A tab and a line feed, escaped.
            2 => "\u{1}I\u{1}J".to_owned(),
            _ => format!("{}{}", self.one(&["reef", "Reef", "kelp", "fish"]), self.below(5)),
        }
    }

    /// A unique number, or NULL.
    fn number(&mut self) -> String {
        if self.below(4) == 0 { "~".to_owned() } else { (self.below(2000) as i64 - 1000).to_string() }
    }

    fn key(&mut self) -> String {
        let (a, b) = (self.below(6), self.below(6));
        if self.below(3) == 0 { format!("1|{a}") } else { format!("2|{a}|{b}") }
    }

    fn limits(&mut self) -> String {
        format!("{}|{}", self.below(6), self.below(3))
    }

    fn filter(&mut self) -> String {
        let kind = self.one(&["F", "F", "W"]);
        let comparison = self.one(&["=", "!=", ">", ">=", "<", "<="]);
        match self.below(2) {
            0 => format!("|{kind}|{comparison}|0|{}", self.number()),
            _ => format!("|{kind}|{comparison}|1|{}", self.text()),
        }
    }

    fn request(&mut self) -> String {
        let (comparison, key, limits) = (self.one(&["=", ">", ">=", "<", "<="]), self.key(), self.limits());
        let filters: String = (0..self.below(3)).map(|_| self.filter()).collect();
        match self.below(14) {
            0..=4 => {
                let (a, b) = (self.below(6), self.below(6));
                let (c, d) = (self.text(), self.number());
                format!("0|+|5|{a}|{b}|{c}|{d}|{}", self.below(100))
            }
            5 | 6 => format!("0|{comparison}|{key}|{limits}{filters}"),
            7 => format!("0|=|2|{}||9|0|@|1|3|1|4|{}", self.below(6), self.below(6)),
            8 => format!("2|=|1|{}|1|0{filters}", self.below(1000)),
            9 => format!("1|{comparison}|{key}|{limits}{filters}|U{}|{}", self.one(&["", "?"]), self.text()),
            10 => format!("0|=|2|{}|{}|1|0|D{}", self.below(6), self.below(6), self.one(&["", "?"])),
            11 => format!("3|=|{key}|{limits}|{}|{}", self.one(&["+", "-", "+?", "-?"]), self.below(40)),
            12 => format!("4|+|1|{}", self.one(&["plain", "~", ""])),
            _ => self.wrong(),
        }
    }

    fn wrong(&mut self) -> String {
        self.one(&[
            "",
            "X",
            "0",
            "0|=",
            "0|~|1|1",
            "0|=|0",
            "0|=|3|1|2|3",
            "77|=|1|1",
            "P|6|test|t|none|a",
            "P|6|test|none||a",
        ])
        .to_owned()
    }
}

fn start_mariadb_at(ports: HandlerSocketPorts) -> Server {
    let set = |name: &str, value: String| format!("--handlersocket-{name}={value}");
    Setup::mariadb()
        .argument("--plugin-maturity=beta")
        .argument("--plugin-load-add=handlersocket")
        .argument("--innodb-buffer-pool-size=64M")
        .argument("--innodb-flush-log-at-trx-commit=0")
        .argument(set("address", "127.0.0.1".into()))
        .argument(set("port", ports.reading.to_string()))
        .argument(set("port-wr", ports.writing.to_string()))
        .argument(set("plain-secret", SECRET.into()))
        .argument(set("plain-secret-wr", SECRET.into()))
        .argument(set("threads", "1".into()))
        .start()
        .unwrap()
}

/// MariaDB with its plugin on ports that nobody else has got hold of in the meantime.
fn start_mariadb() -> (Server, HandlerSocketPorts) {
    for _ in 0..10 {
        let ports = HandlerSocketPorts::free();
        let server = start_mariadb_at(ports);
        let is_theirs = |mut client: HandlerSocket| {
            let greeting = [format!("A|1|{SECRET}"), "P|0|mysql|db||Host".to_owned()];
            greeting.iter().all(|request| client.ask(request) == "0|1")
        };
        if is_theirs(ports.reader()) && is_theirs(ports.writer()) {
            return (server, ports);
        }
    }
    panic!("MariaDB's plugin does not listen");
}

fn open(writer: &mut HandlerSocket) {
    writer.follow(&[
        (&format!("A|1|{SECRET}"), "0|1"),
        ("P|0|test|t||a,b,c,d,e|d,c", "0|1"),
        ("P|1|test|t||c|d,c", "0|1"),
        ("P|2|test|t|u|a,b|d,c", "0|1"),
        ("P|3|test|t||e|d,c", "0|1"),
        ("P|4|test|n||v", "0|1"),
    ]);
}

fn contents(client: &mut Client) -> Vec<String> {
    let mut rows = client.text("SELECT a, b, HEX(c), d, e FROM test.t ORDER BY a, b").unwrap();
    rows.extend(client.text("SELECT id, HEX(v) FROM test.n ORDER BY id").unwrap());
    rows
}

#[test]
fn the_plugin_answers_the_same_requests_alike() {
    if target_is_mariadb() || !Path::new(PLUGIN).is_file() || find_program("mariadbd").is_none() {
        return skip("MariaDB's handlersocket plugin is not installed");
    }
    let (mariadb, theirs) = start_mariadb();
    let secret = format!("handlersocket_plain_secret_wr={SECRET}");
    let shoal = harness_setup(&["--hs-port", "0", "--hs-port-wr", "0", "--set", &secret]).start().unwrap();
    let mut clients = [Client::connect(mariadb.port()).unwrap(), Client::connect(shoal.port()).unwrap()];
    for seed in SEEDS {
        for client in &mut clients {
            client.run(TABLES).unwrap();
        }
        let ours = HandlerSocketPorts::of(&mut clients[1]);
        let mut writers = [theirs.writer(), ours.writer()];
        writers.iter_mut().for_each(open);
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for number in 0..REQUESTS {
            let request = random.request();
            let [expected, found] = [0, 1].map(|side| writers[side].ask(&request));
            assert_eq!(found, expected, "seed {seed}, request {number}: {request}");
        }
        let [expected, found] = [0, 1].map(|side| contents(&mut clients[side]));
        assert_eq!(found, expected, "seed {seed}");
        // Definitions on the plugin's side wait for its open tables.
        drop(writers);
    }
}
