//! Statements by chance, on temporary tables in one session and on tables of the same names in another: both answer the same.
//!
//! `SHOAL_TEST_SEED` runs one seed again.

use shoal_system_tests::transfer::Random;
use shoal_system_tests::{Client, Reply, TestServer};

const SEEDS: u64 = 6;
const STATEMENTS: usize = 500;
const TABLES: [&str; 3] = ["t1", "t2", "t3"];
/// A temporary table is named once a statement (1137), where the other one is not changed while it is read (1093).
const NAMED_TWICE: [u16; 2] = [1093, 1137];

/// What a seed chooses.
struct Chance(Random);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn value(&mut self) -> String {
        match self.below(4) {
            0 => "NULL".to_owned(),
            1 => format!("'{}'", self.one_of(&["x", "y", "zz", "10"])),
            _ => self.below(20).to_string(),
        }
    }

    fn condition(&mut self) -> String {
        match self.below(6) {
            0 => format!("a={}", self.below(15)),
            1 => format!("b>{}", self.below(10)),
            2 => format!("c BETWEEN {} AND {}", self.below(5), 3 + self.below(9)),
            3 => format!("s='{}'", self.one_of(&["x", "y", "zz"])),
            4 => format!("a IN (1,2,{})", self.below(20)),
            _ => "b IS NULL".to_owned(),
        }
    }

    fn insert(&mut self, table: &str) -> String {
        let mut rows = Vec::new();
        for _ in 0..=self.below(3) {
            rows.push(format!("({},{},{},{})", 1 + self.below(30), self.value(), self.below(15), self.value()));
        }
        let verb = self.one_of(&["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"]);
        let tail = match verb {
            "INSERT" => self.one_of(&["", " ON DUPLICATE KEY UPDATE b=7, c=c+1"]),
            _ => "",
        };
        format!("{verb} INTO {table} (a,b,c,s) VALUES {}{tail}", rows.join(","))
    }

    fn alteration(&mut self, table: &str) -> String {
        let action = self.one_of(&[
            "ADD COLUMN d INT DEFAULT 3",
            "DROP COLUMN d",
            "ADD UNIQUE KEY us (s)",
            "DROP INDEX us",
            "MODIFY s VARCHAR(1)",
            "MODIFY s VARCHAR(20)",
            "ADD INDEX ib (b)",
            "AUTO_INCREMENT=40",
        ]);
        format!("ALTER TABLE {table} {action}")
    }

    /// `{T}` stands for TEMPORARY or nothing.
    fn statement(&mut self) -> String {
        let table = self.one_of(&TABLES);
        let other = TABLES[(TABLES.iter().position(|&one| one == table).unwrap_or(0) + 1) % TABLES.len()];
        let condition = self.condition();
        match self.below(40) {
            0..=1 => "BEGIN".to_owned(),
            2 => "COMMIT".to_owned(),
            3 => "ROLLBACK".to_owned(),
            4 => format!("SAVEPOINT s{}", self.below(2)),
            5 => format!("ROLLBACK TO s{}", self.below(2)),
            6..=14 => self.insert(table),
            15..=18 => {
                let change = self.one_of(&["b=c+1", "c=c+1", "s=b", "a=a+1", "b=NULL", "s='y'"]);
                format!("UPDATE {table} SET {change} WHERE {condition} ORDER BY a LIMIT 4")
            }
            19..=20 => format!("DELETE FROM {table} WHERE {condition} ORDER BY a LIMIT 3"),
            21..=22 => {
                format!(
                    "INSERT IGNORE INTO {table} (a,b,c,s) SELECT a+2,b,c+3,s FROM {other} WHERE {condition} ORDER BY a"
                )
            }
            23 => format!("UPDATE {table} x JOIN {other} y ON x.a=y.a SET x.b=y.b, y.c=y.c+100 WHERE x.b > 3"),
            24 => format!("DELETE x FROM {table} x JOIN {other} y ON x.a=y.a WHERE y.b>5"),
            25 => format!("UPDATE {table} SET b=1 WHERE a IN (SELECT a FROM {table})"),
            26 => format!("TRUNCATE TABLE {table}"),
            27..=28 => self.alteration(table),
            29 => format!("DROP {{T}} TABLE {table}"),
            30..=32 => format!(
                "CREATE {{T}} TABLE IF NOT EXISTS {table} (a INT AUTO_INCREMENT PRIMARY KEY, b INT, c INT NOT NULL, s VARCHAR(5), \
                 UNIQUE (c), KEY (s))"
            ),
            33 => format!("CREATE {{T}} TABLE {table} (PRIMARY KEY (a)) SELECT a, b, c, s FROM {other}"),
            34 => format!("CREATE {{T}} TABLE {table} LIKE {other}"),
            35 => {
                format!("SELECT x.a, y.b FROM {table} x LEFT JOIN {other} y ON x.c=y.c WHERE x.c<9 ORDER BY 1, 2")
            }
            36 => format!("SELECT s, COUNT(*), SUM(b), MAX(c) FROM {table} GROUP BY s ORDER BY s"),
            _ => format!("SELECT a, b, c, s FROM {table} WHERE {condition} OR a>20 ORDER BY a"),
        }
    }
}

/// What a statement comes to: rows, how many were changed, or the error's number.
fn answer(client: &mut Client, sql: &str) -> Result<(Vec<String>, u64), u16> {
    match client.run(sql) {
        Ok(replies) => Ok(match replies.into_iter().next() {
            Some(Reply::Rows(rows)) => (rows.text(), 0),
            // What is copied is counted; not all tables are copied for the same.
            Some(Reply::Done(done)) if !sql.starts_with("ALTER") => (Vec::new(), done.affected_rows),
            _ => (Vec::new(), 0),
        }),
        Err(error) => Err(error.errno()),
    }
}

fn compare(server: &TestServer, seed: u64) {
    server
        .sql("DROP DATABASE IF EXISTS one; CREATE DATABASE one; DROP DATABASE IF EXISTS two; CREATE DATABASE two");
    let (mut lasting, mut temporary) = (server.client_in("one"), server.client_in("two"));
    let mut chance = Chance(Random::new(seed, 0));
    let mut log = Vec::new();
    for _ in 0..STATEMENTS {
        let statement = chance.statement();
        if statement.contains("{T}") {
            // A definition of the other tables ends the transaction.
            temporary.execute("COMMIT").unwrap();
        }
        let expected = answer(&mut lasting, &statement.replace("{T} ", ""));
        let actual = answer(&mut temporary, &statement.replace("{T}", "TEMPORARY"));
        log.push(statement);
        let named_twice = |answer: &Result<_, u16>| matches!(answer, Err(errno) if NAMED_TWICE.contains(errno));
        let is_same = expected == actual || named_twice(&expected) && named_twice(&actual);
        assert!(is_same, "seed {seed}: {expected:?} and {actual:?} after\n{}", log.join(";\n"));
    }
}

#[test]
fn temporary_tables_answer_as_others_do() {
    let server = TestServer::start();
    match std::env::var("SHOAL_TEST_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => compare(&server, seed),
        None => (1..=SEEDS).for_each(|seed| compare(&server, seed)),
    }
}
