//! Resident memory beside what is used: fill, delete nine rows of ten, drop, one transaction of a million rows, a snapshot held
//! over updates, large values. With a limit of 1 GiB.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::large_statement;
use crate::rough::Session;
use crate::rough::rounds::{alternate, start};
use crate::rough::row::{Cell, Row};
use crate::rough::target::{Target, Who, execute, number};

const LIMIT_BYTES: f64 = (1 << 30) as f64;
/// What a process may have on top of a quarter of its limit.
const SLACK_BYTES: f64 = (256 << 20) as f64;
const LIMIT_FACTOR: f64 = 1.25;
const FREED_WITHIN: Duration = Duration::from_secs(30);
const FREED_FACTOR: f64 = 1.1;
const FREED: &str = "resident to used, 30 s after the end";
const LOOK_EVERY: Duration = Duration::from_millis(200);

const FILL_ROWS: u64 = 4_000_000;
const TRANSACTION_ROWS: u64 = 1_000_000;
const UPDATES: u64 = 3_000_000;
const VALUE_BYTES: usize = 50 << 20;
const VALUES: usize = 5;

type Step = fn(&Target, u64) -> io::Result<()>;

const STEPS: [(&str, Step); 5] = [
    ("fill and delete nine of ten", fill_and_delete),
    ("drop", drop_table),
    ("a transaction of a million rows", one_transaction),
    ("a snapshot over updates", held_snapshot),
    ("values of 50 MB", large_values),
];

pub fn run(session: &mut Session) -> io::Result<()> {
    // Sizes of a quick run are a fortieth.
    let divisor = session.plan.size(1, 40);
    let mut targets = start(session, &[Who::Shoal], &["--set=DataMemory=1G"])?;
    for (name, step) in STEPS {
        let mut row = Row::new(format!("memory: {name}"), "s");
        alternate(session, &mut row, &mut targets, 1, |target, cell| measure(target, cell, step, divisor));
        row.goal_no_errors(Who::Shoal);
        let peak = row.cell(Who::Shoal).map(|cell| cell.peak_resident as f64);
        let limit = LIMIT_FACTOR * LIMIT_BYTES + SLACK_BYTES;
        row.goal(format!("peak <= {:.0} MiB", limit / (1 << 20) as f64), peak.map(|peak| peak <= limit));
        let freed = row.note(Who::Shoal, FREED);
        row.goal("freed within 30 s", freed.map(|factor| factor <= FREED_FACTOR));
        session.push(row);
    }
    Ok(())
}

fn measure(target: &mut Target, cell: &mut Cell, step: Step, divisor: u64) -> io::Result<()> {
    let base = base_bytes(target)?;
    let started = Instant::now();
    step(target, divisor)?;
    cell.figures.push(started.elapsed().as_secs_f64());
    cell.note(FREED, wait_until_freed(target, base)?);
    Ok(())
}

fn used(target: &Target) -> io::Result<f64> {
    let mut client = target.client()?;
    let lines = client.text("SHOW STATUS LIKE 'Shoal_memory_used_bytes'").map_err(io::Error::other)?;
    let value = lines.first().and_then(|line| line.split_once(',')?.1.parse().ok());
    value.ok_or_else(|| io::Error::other("the server does not tell Shoal_memory_used_bytes"))
}

/// What the process is without rows: code, threads, buffers. An eighth of the slack at least.
fn base_bytes(target: &Target) -> io::Result<f64> {
    Ok((target.resident() as f64 - used(target)?).clamp(SLACK_BYTES / 8.0, SLACK_BYTES))
}

/// What is resident to what may be, at the best moment of 30 s.
fn wait_until_freed(target: &Target, base: f64) -> io::Result<f64> {
    let started = Instant::now();
    let mut best = f64::INFINITY;
    loop {
        best = best.min((target.resident() as f64) / (used(target)? + base));
        if best <= FREED_FACTOR || started.elapsed() > FREED_WITHIN {
            return Ok(best);
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn fill_and_delete(target: &Target, divisor: u64) -> io::Result<()> {
    large_statement::fill(target, FILL_ROWS / divisor)?;
    target.execute(&["DELETE FROM large WHERE id % 10 <> 0"])
}

fn drop_table(target: &Target, _: u64) -> io::Result<()> {
    target.execute(&["DROP TABLE large"])
}

fn one_transaction(target: &Target, divisor: u64) -> io::Result<()> {
    let rows = TRANSACTION_ROWS / divisor;
    let mut client = target.client()?;
    execute(&mut client, "CREATE TABLE million (id INT PRIMARY KEY, n INT NOT NULL)")?;
    execute(&mut client, "BEGIN")?;
    for first in (0..rows).step_by(1000) {
        let values: Vec<String> = (first..(first + 1000).min(rows)).map(|id| format!("({id},1)")).collect();
        execute(&mut client, &format!("INSERT INTO million VALUES {}", values.join(",")))?;
    }
    execute(&mut client, "COMMIT")?;
    match number(&mut client, "SELECT SUM(n) FROM million")? == rows as i64 {
        true => execute(&mut client, "DROP TABLE million"),
        false => Err(io::Error::other("the transaction's rows are not all there")),
    }
}

fn held_snapshot(target: &Target, divisor: u64) -> io::Result<()> {
    const ROWS: u64 = 10_000;
    large_statement::fill(target, ROWS)?;
    let mut reader = target.client()?;
    execute(&mut reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
    let before = number(&mut reader, "SELECT SUM(n) FROM large")?;
    let mut writer = target.client()?;
    for _ in 0..UPDATES / divisor / ROWS {
        execute(&mut writer, "UPDATE large SET n = n + 1")?;
    }
    let after = number(&mut reader, "SELECT SUM(n) FROM large")?;
    execute(&mut reader, "COMMIT")?;
    let expected = (UPDATES / divisor / ROWS * ROWS) as i64;
    let newest = number(&mut reader, "SELECT SUM(n) FROM large")?;
    match after == before && newest == expected {
        true => target.execute(&["DROP TABLE large"]),
        false => {
            Err(io::Error::other(format!("the snapshot read {before}, then {after}; then {newest} is there")))
        }
    }
}

fn large_values(target: &Target, divisor: u64) -> io::Result<()> {
    let bytes = VALUE_BYTES / divisor as usize;
    let mut client = target.client()?;
    execute(&mut client, "CREATE TABLE value (id INT PRIMARY KEY, v LONGBLOB)")?;
    let value = "x".repeat(bytes);
    for id in 0..VALUES {
        execute(&mut client, &format!("INSERT INTO value VALUES ({id}, '{value}')"))?;
    }
    match number(&mut client, "SELECT SUM(LENGTH(v)) FROM value")? == (bytes * VALUES) as i64 {
        true => execute(&mut client, "DROP TABLE value"),
        false => Err(io::Error::other("the values are not as long as they were")),
    }
}
