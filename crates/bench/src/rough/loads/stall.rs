//! sysbench's oltp_write_only for minutes, over checkpoints: how long nothing is committed.

use std::io;
use std::time::Duration;

use crate::rough::Session;
use crate::rough::driver::{Answer, Driver, Next, Script, Until};
use crate::rough::rounds::{alternate, start};
use crate::rough::row::{Cell, Row};
use crate::rough::target::{DATABASE, Target, Who};
use crate::sysbench::Job;

const SESSIONS: u64 = 8;
const ROWS: u64 = 1_000_000;
const ROWS_QUICK: u64 = 50_000;
const TIME: Duration = Duration::from_secs(300);
const TIME_QUICK: Duration = Duration::from_secs(10);
/// MariaDB is there to compare with, not to be judged.
const TIME_OF_PEER: Duration = Duration::from_secs(60);
const TAIL_RATIO_MAX: f64 = 10.0;
const EMPTY_WINDOWS: &str = "windows of 100 ms without a commit";

pub fn run(session: &mut Session) -> io::Result<()> {
    let rows = session.plan.size(ROWS, ROWS_QUICK);
    let mut targets = start(session, &[Who::Mariadb, Who::Shoal], &[])?;
    let mut row = Row::new(format!("oltp_write_only, {SESSIONS} sessions"), "transactions/s");
    let quick = session.plan.quick;
    alternate(session, &mut row, &mut targets, 1, |target, cell| {
        let time = match (quick, target.who) {
            (true, _) => TIME_QUICK,
            (false, Who::Mariadb) => TIME_OF_PEER,
            (false, _) => TIME,
        };
        measure(target, cell, rows, time)
    });
    let own = row.cell(Who::Shoal);
    let is_steady = own.map(|cell| cell.empty_windows == 0);
    let tail = own.map(|cell| cell.latencies.micros(0.999) <= TAIL_RATIO_MAX * cell.latencies.micros(0.5));
    row.goal_no_errors(Who::Shoal);
    row.goal("no 100 ms without a commit", is_steady);
    row.goal(format!("p99.9 <= {TAIL_RATIO_MAX}x p50"), tail);
    session.push(row);
    Ok(())
}

fn measure(target: &mut Target, cell: &mut Cell, rows: u64, time: Duration) -> io::Result<()> {
    let grace = Duration::from_secs(60);
    let script = "oltp_write_only";
    let job = Job { port: target.port()?, database: DATABASE, script, threads: 1, rows, extra: &[], grace };
    job.manage("prepare")?;
    let scripts = (0..SESSIONS).map(|session| write_only(session, rows));
    let driver = Driver::connect(target.port()?, DATABASE, scripts.collect())?;
    let tally = driver.run(&Until::time(Duration::from_secs(1), time))?;
    cell.add(&tally);
    cell.figures.push(tally.per_second());
    cell.note(EMPTY_WINDOWS, tally.empty_windows as f64);
    let found = target.number("SELECT COUNT(*) FROM sbtest1")?;
    cell.check(found == rows as i64, || format!("{found} rows instead of {rows}"));
    Ok(())
}

/// The statements of sysbench's script; ids are spread over the whole table, each session has its own, so that none waits for another.
fn write_only(session: u64, rows: u64) -> Box<dyn Script> {
    let own = rows / SESSIONS;
    let mut number = session.wrapping_mul(0x9e37_79b9);
    let mut stage = 0;
    let mut deleted = 0;
    Box::new(move |last: Option<&Answer>, statement: &mut String| {
        if last.is_some_and(|answer| answer.errno != 0) {
            stage = 0;
        }
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let id = ((number >> 33) % own) * SESSIONS + session + 1;
        let value = number >> 40;
        let (text, kind) = match stage {
            0 => ("BEGIN".to_string(), Next::Begin),
            1 => (format!("UPDATE sbtest1 SET k = k + 1 WHERE id = {id}"), Next::Middle),
            2 => (format!("UPDATE sbtest1 SET c = 'c{value}-{value}-{value}' WHERE id = {id}"), Next::Middle),
            3 => {
                deleted = id;
                (format!("DELETE FROM sbtest1 WHERE id = {id}"), Next::Middle)
            }
            4 => {
                let row = format!("({deleted}, {value}, 'c{value}-{value}', 'pad{value}')");
                (format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES {row}"), Next::Middle)
            }
            _ => ("COMMIT".to_string(), Next::End),
        };
        stage = if stage == 5 { 0 } else { stage + 1 };
        statement.push_str(&text);
        kind
    })
}
