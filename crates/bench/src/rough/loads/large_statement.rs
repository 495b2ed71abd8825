//! One statement that deletes or updates millions of rows, with sessions beside it that read and update rows of another table.
//!
//! The sessions' p99 while nothing else happens is what their p99 beside the statement is held against.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::rough::Session;
use crate::rough::driver::{Answer, Driver, Next, Script, Tally, Until};
use crate::rough::rounds::{alternate, start};
use crate::rough::row::{Cell, Row};
use crate::rough::target::{DATABASE, Target, Who, execute, number};

const ROWS: u64 = 5_000_000;
const ROWS_QUICK: u64 = 200_000;
const ROWS_PER_INSERT: u64 = 5000;
/// Rows of the table that the sessions beside use.
const ROWS_BESIDE: u64 = 10_000;
const SESSIONS_BESIDE: u64 = 4;
const P99_RATIO_MAX: f64 = 5.0;
const IDLE_P99: &str = "p99 ms of idle";
const P99_RATIO: &str = "p99 to idle";

/// What the one statement does.
struct Statement {
    name: &'static str,
    sql: &'static str,
    /// What must be true afterwards, of `rows`.
    check: &'static str,
    expected: fn(u64) -> u64,
    /// Of MariaDB's speed.
    ratio_min: Option<f64>,
}

const DELETE: Statement = Statement {
    name: "delete",
    sql: "DELETE FROM large",
    check: "SELECT COUNT(*) FROM large",
    expected: |_| 0,
    ratio_min: Some(1.0),
};
const UPDATE: Statement = Statement {
    name: "update",
    sql: "UPDATE large SET n = n + 1",
    check: "SELECT COUNT(*) FROM large WHERE n = 1",
    expected: |rows| rows,
    ratio_min: None,
};

pub fn delete(session: &mut Session) -> io::Result<()> {
    run(session, &DELETE)
}

pub fn update(session: &mut Session) -> io::Result<()> {
    run(session, &UPDATE)
}

fn run(session: &mut Session, statement: &Statement) -> io::Result<()> {
    let rows = session.plan.size(ROWS, ROWS_QUICK);
    let mut targets = start(session, &[Who::Mariadb, Who::Shoal], &[])?;
    let mut row = Row::new(format!("{} {rows} rows at once", statement.name), "rows/s");
    let idle = session.plan.time;
    alternate(session, &mut row, &mut targets, 1, |target, cell| measure(target, cell, statement, rows, idle));
    judge(&mut row, statement.ratio_min);
    session.push(row);
    Ok(())
}

fn judge(row: &mut Row, ratio_min: Option<f64>) {
    row.goal_no_errors(Who::Shoal);
    if let Some(ratio_min) = ratio_min {
        row.goal_ratio(Who::Shoal, Who::Mariadb, ratio_min);
    }
    let ratio = row.note(Who::Shoal, P99_RATIO);
    row.goal(format!("p99 beside <= {P99_RATIO_MAX}x of idle"), ratio.map(|ratio| ratio <= P99_RATIO_MAX));
}

fn measure(
    target: &mut Target,
    cell: &mut Cell,
    statement: &Statement,
    rows: u64,
    idle: Duration,
) -> io::Result<()> {
    fill(target, rows)?;
    beside_table(target)?;
    let quiet = beside(target, Until::time(Duration::from_millis(200), idle))?;
    let stop = Arc::new(AtomicBool::new(false));
    let until = Until::stopped(&stop);
    let mut client = target.client()?;
    let (took, busy) = thread::scope(|scope| {
        let sessions = scope.spawn(|| beside(target, until));
        let started = Instant::now();
        let result = execute(&mut client, statement.sql);
        let took = started.elapsed();
        stop.store(true, Ordering::Relaxed);
        let busy = sessions.join().map_err(|_| io::Error::other("the sessions beside panicked"))?;
        result?;
        io::Result::Ok((took, busy?))
    })?;
    cell.figures.push(rows as f64 / took.as_secs_f64());
    cell.add(&busy);
    for sessions in [&quiet, &busy] {
        cell.check(sessions.errors.is_empty(), || format!("errors beside: {:?}", sessions.messages));
    }
    cell.note(IDLE_P99, quiet.latencies.micros(0.99) / 1000.0);
    cell.note(P99_RATIO, busy.latencies.micros(0.99) / quiet.latencies.micros(0.99).max(1.0));
    let (found, expected) = (number(&mut client, statement.check)?, (statement.expected)(rows) as i64);
    cell.check(found == expected, || format!("{}: {found} instead of {expected}", statement.check));
    execute(&mut client, "DROP TABLE large")
}

/// A table of small rows with the ids 1 to `rows`.
pub fn fill(target: &Target, rows: u64) -> io::Result<()> {
    let mut client = target.client()?;
    execute(&mut client, "DROP TABLE IF EXISTS large")?;
    execute(&mut client, "CREATE TABLE large (id INT PRIMARY KEY, n INT NOT NULL, c CHAR(20) NOT NULL)")?;
    let mut first = 1;
    while first <= rows {
        let last = (first + ROWS_PER_INSERT - 1).min(rows);
        let values: Vec<String> = (first..=last).map(|id| format!("({id},0,'small row {id}')")).collect();
        execute(&mut client, &format!("INSERT INTO large VALUES {}", values.join(",")))?;
        first = last + 1;
    }
    Ok(())
}

/// The table of the sessions beside.
pub fn beside_table(target: &Target) -> io::Result<()> {
    let values: Vec<String> = (1..=ROWS_BESIDE).map(|id| format!("({id},0)")).collect();
    target.execute(&[
        "CREATE TABLE IF NOT EXISTS beside (id INT PRIMARY KEY, n INT NOT NULL)",
        &format!("REPLACE INTO beside VALUES {}", values.join(",")),
    ])
}

/// Sessions that read and update single rows, half and half.
pub fn beside(target: &Target, until: Until) -> io::Result<Tally> {
    let scripts = (0..SESSIONS_BESIDE).map(|session| {
        let mut number = session * 7919;
        let script = move |_: Option<&Answer>, statement: &mut String| {
            number += 1;
            let id = number.wrapping_mul(2_654_435_761) % ROWS_BESIDE + 1;
            statement.push_str(&match number % 2 {
                0 => format!("SELECT n FROM beside WHERE id = {id}"),
                _ => format!("UPDATE beside SET n = n + 1 WHERE id = {id}"),
            });
            Next::Event
        };
        Box::new(script) as Box<dyn Script>
    });
    Driver::connect(target.port()?, DATABASE, scripts.collect())?.run(&until)
}
