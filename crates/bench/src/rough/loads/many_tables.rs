//! Ten thousand tables: made one after the other, the last as quickly as the first; then memory, information_schema, start-up.

use std::io;
use std::time::{Duration, Instant};

use crate::rough::Session;
use crate::rough::rounds::{alternate, start};
use crate::rough::row::{Cell, Row};
use crate::rough::target::{Target, Who, execute, number};

const TABLES: u64 = 10_000;
const TABLES_QUICK: u64 = 500;
const TABLES_A_SECOND_MIN: f64 = 250.0;
const RESIDENT_A_TABLE_MAX: f64 = 40.0;
const START_SECONDS_MAX: f64 = 3.0;
const SCHEMA_SECONDS_MAX: f64 = 1.0;
/// The last ones may take this much longer than the first ones.
const SLOWDOWN_MAX: f64 = 1.25;

const FIRST: &str = "tables/s, the first tenth";
const LAST: &str = "tables/s, the last tenth";
const RESIDENT: &str = "resident KiB a table";
const START: &str = "start-up s";
const SCHEMA: &str = "slowest of information_schema s";
const DROP: &str = "drops/s";

const SCHEMA_QUERIES: [&str; 5] = [
    "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'many'",
    "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'many'",
    "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = 'many'",
    "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'many' AND table_name = 't77'",
    "SHOW TABLE STATUS FROM many LIKE 't77'",
];

pub fn run(session: &mut Session) -> io::Result<()> {
    let tables = session.plan.size(TABLES, TABLES_QUICK);
    let mut targets = start(session, &[Who::Mariadb, Who::Shoal], &[])?;
    let mut row = Row::new(format!("{tables} tables"), "tables/s");
    alternate(session, &mut row, &mut targets, 1, |target, cell| measure(target, cell, tables));
    judge(&mut row);
    session.push(row);
    Ok(())
}

fn judge(row: &mut Row) {
    let own = |name: &str| row.note(Who::Shoal, name);
    let last = own(LAST);
    let is_even = own(FIRST).zip(last).map(|(first, last)| last * SLOWDOWN_MAX >= first);
    let goals = [
        (format!(">= {TABLES_A_SECOND_MIN}/s at the end"), last.map(|last| last >= TABLES_A_SECOND_MIN)),
        ("as quick at the end as at the beginning".into(), is_even),
        (format!("<= {RESIDENT_A_TABLE_MAX} KiB a table"), own(RESIDENT).map(|kib| kib <= RESIDENT_A_TABLE_MAX)),
        (format!("start <= {START_SECONDS_MAX} s"), own(START).map(|seconds| seconds <= START_SECONDS_MAX)),
        (
            format!("information_schema <= {SCHEMA_SECONDS_MAX} s"),
            own(SCHEMA).map(|seconds| seconds <= SCHEMA_SECONDS_MAX),
        ),
    ];
    row.goal_no_errors(Who::Shoal);
    row.goal_ratio(Who::Shoal, Who::Mariadb, 2.0);
    goals.into_iter().for_each(|(text, is_met)| row.goal(text, is_met));
}

fn measure(target: &mut Target, cell: &mut Cell, tables: u64) -> io::Result<()> {
    let mut client = target.client()?;
    execute(&mut client, "CREATE DATABASE many")?;
    let before = target.resident();
    let started = Instant::now();
    let mut tenths = Vec::new();
    for table in 0..tables {
        if table % (tables / 10) == 0 {
            tenths.push(started.elapsed());
        }
        let columns = "id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, c VARCHAR(100), KEY k_1 (k)";
        let asked = Instant::now();
        execute(&mut client, &format!("CREATE TABLE many.t{table} ({columns})"))?;
        cell.latencies.record(asked.elapsed());
    }
    let took = started.elapsed();
    tenths.push(took);
    let rate = |tenth: usize| tables as f64 / 10.0 / (tenths[tenth + 1] - tenths[tenth]).as_secs_f64();
    cell.figures.push(tables as f64 / took.as_secs_f64());
    cell.note(FIRST, rate(0));
    cell.note(LAST, rate(9));
    cell.note(RESIDENT, target.resident().saturating_sub(before) as f64 / 1024.0 / tables as f64);
    let slowest = schema_queries(&mut client)?;
    cell.note(SCHEMA, slowest.as_secs_f64());
    drop(client);
    cell.note(START, target.restart()?.as_secs_f64());
    let found = target.number(SCHEMA_QUERIES[0])?;
    cell.check(found == tables as i64, || format!("{found} tables after the start instead of {tables}"));
    target.execute(&["INSERT INTO many.t77 (k) VALUES (1)"])?;
    let started = Instant::now();
    target.execute(&["DROP DATABASE many"])?;
    cell.note(DROP, tables as f64 / started.elapsed().as_secs_f64());
    Ok(())
}

fn schema_queries(client: &mut shoal_testkit::Client) -> io::Result<Duration> {
    let mut slowest = Duration::ZERO;
    for sql in SCHEMA_QUERIES {
        let started = Instant::now();
        match sql.starts_with("SHOW") {
            true => execute(client, sql)?,
            false => number(client, sql).map(drop)?,
        }
        slowest = slowest.max(started.elapsed());
    }
    Ok(slowest)
}
