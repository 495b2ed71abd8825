//! Tables at the limits: 1,000 columns, 64 indexes with the primary key; and values of 50 MB and more beside sessions with small rows.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::large_statement::{beside, beside_table};
use crate::rough::Session;
use crate::rough::driver::Until;
use crate::rough::rounds::{alternate, start};
use crate::rough::row::{Cell, Row};
use crate::rough::target::{Target, Who, execute, number};

const COLUMNS: u64 = 1000;
/// MariaDB's limit with the primary key.
const INDEXES: u64 = 63;
const ROWS: u64 = 2000;
const ROWS_QUICK: u64 = 100;
const ROWS_PER_INSERT: u64 = 20;
const VALUE_BYTES: u64 = 50 << 20;
const VALUE_BYTES_QUICK: u64 = 4 << 20;
const VALUES: u64 = 5;
const P99_RATIO_MAX: f64 = 5.0;
const P99_RATIO: &str = "p99 beside to idle";

pub fn columns(session: &mut Session) -> io::Result<()> {
    let names = (1..COLUMNS).map(|column| format!("c{column} INT")).collect::<Vec<_>>().join(", ");
    let table = format!("CREATE TABLE wide (id INT PRIMARY KEY, {names})");
    rows_of(session, &format!("{COLUMNS} columns"), &table, COLUMNS, "SUM(c999)")
}

pub fn indexes(session: &mut Session) -> io::Result<()> {
    let names: Vec<String> = (1..=INDEXES).map(|column| format!("c{column} INT")).collect();
    let keys: Vec<String> = (1..=INDEXES).map(|column| format!("KEY k{column} (c{column})")).collect();
    let table = format!("CREATE TABLE wide (id INT PRIMARY KEY, {}, {})", names.join(", "), keys.join(", "));
    rows_of(session, &format!("{INDEXES} indexes and the primary key"), &table, INDEXES + 1, "SUM(c63)")
}

fn rows_of(session: &mut Session, name: &str, table: &str, columns: u64, sum: &str) -> io::Result<()> {
    let rows = session.plan.size(ROWS, ROWS_QUICK);
    let mut targets = start(session, &[Who::Mariadb, Who::Shoal], &[])?;
    let mut row = Row::new(format!("{name}, {rows} rows"), "rows/s");
    alternate(session, &mut row, &mut targets, session.plan.rounds, |target, cell| {
        let mut client = target.client()?;
        execute(&mut client, "DROP TABLE IF EXISTS wide")?;
        execute(&mut client, table)?;
        let started = Instant::now();
        for first in (0..rows).step_by(ROWS_PER_INSERT as usize) {
            let last = (first + ROWS_PER_INSERT).min(rows);
            let values: Vec<String> = (first..last).map(|id| wide_row(id, columns)).collect();
            execute(&mut client, &format!("INSERT INTO wide VALUES {}", values.join(",")))?;
        }
        execute(&mut client, "UPDATE wide SET c1 = c1 + 1")?;
        cell.figures.push(2.0 * rows as f64 / started.elapsed().as_secs_f64());
        let found = number(&mut client, &format!("SELECT {sum} FROM wide WHERE c1 > 0"))?;
        let expected = (0..rows).sum::<u64>() as i64;
        cell.check(found == expected, || format!("{sum} is {found} instead of {expected}"));
        Ok(())
    });
    row.goal_no_errors(Who::Shoal);
    row.goal_ratio(Who::Shoal, Who::Mariadb, 1.0);
    session.push(row);
    Ok(())
}

fn wide_row(id: u64, columns: u64) -> String {
    let values: Vec<String> = (0..columns).map(|_| id.to_string()).collect();
    format!("({})", values.join(","))
}

pub fn values(session: &mut Session) -> io::Result<()> {
    let bytes = session.plan.size(VALUE_BYTES, VALUE_BYTES_QUICK);
    let mut targets = start(session, &[Who::Mariadb, Who::Shoal], &["--set=max_allowed_packet=1G"])?;
    let mut row = Row::new(format!("values of {} MiB, in and out", bytes >> 20), "MiB/s");
    let idle = session.plan.time;
    alternate(session, &mut row, &mut targets, 1, |target, cell| measure_values(target, cell, bytes, idle));
    row.goal_no_errors(Who::Shoal);
    row.goal_ratio(Who::Shoal, Who::Mariadb, 1.0);
    let ratio = row.note(Who::Shoal, P99_RATIO);
    row.goal(format!("p99 beside <= {P99_RATIO_MAX}x of idle"), ratio.map(|ratio| ratio <= P99_RATIO_MAX));
    session.push(row);
    Ok(())
}

fn measure_values(target: &mut Target, cell: &mut Cell, bytes: u64, idle: Duration) -> io::Result<()> {
    beside_table(target)?;
    target.execute(&["CREATE TABLE long_value (id INT PRIMARY KEY, v LONGBLOB)"])?;
    let quiet = beside(target, Until::time(Duration::from_millis(200), idle))?;
    let stop = Arc::new(AtomicBool::new(false));
    let (took, busy) = thread::scope(|scope| {
        let until = Until::stopped(&stop);
        let target = &*target;
        let sessions = scope.spawn(move || beside(target, until));
        let started = Instant::now();
        let result = write_and_read(target, bytes);
        let took = started.elapsed();
        stop.store(true, Ordering::Relaxed);
        let busy = sessions.join().map_err(|_| io::Error::other("the sessions beside panicked"))?;
        result?;
        io::Result::Ok((took, busy?))
    })?;
    cell.add(&busy);
    cell.figures.push((2 * VALUES * bytes) as f64 / f64::from(1 << 20) / took.as_secs_f64());
    cell.note(P99_RATIO, busy.latencies.micros(0.99) / quiet.latencies.micros(0.99).max(1.0));
    Ok(())
}

fn write_and_read(target: &Target, bytes: u64) -> io::Result<()> {
    let mut client = target.client()?;
    for id in 0..VALUES {
        let value = char::from(b'a' + id as u8).to_string().repeat(bytes as usize);
        execute(&mut client, &format!("INSERT INTO long_value VALUES ({id}, '{value}')"))?;
        let lines = client.text(&format!("SELECT v FROM long_value WHERE id = {id}")).map_err(io::Error::other)?;
        if lines != [value] {
            return Err(io::Error::other("a long value came back changed"));
        }
    }
    Ok(())
}
