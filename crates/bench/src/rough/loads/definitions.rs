//! Definitions in a loop beside writes: no row lost, no error but MySQL's own, no session that waits for long.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::rough::Session;
use crate::rough::driver::{Answer, Driver, Next, Script, Until};
use crate::rough::rounds::{alternate, start};
use crate::rough::row::{Cell, Row};
use crate::rough::target::{DATABASE, Target, Who, execute};

const SESSIONS: u64 = 8;
const TIME: Duration = Duration::from_secs(30);
const TIME_QUICK: Duration = Duration::from_secs(3);
const STALL_MAX: Duration = Duration::from_secs(1);
const ROWS: u64 = 20_000;

const ROUND: [&str; 6] = [
    "ALTER TABLE target ADD COLUMN extra INT DEFAULT 7",
    "CREATE INDEX by_n ON target (n)",
    "ALTER TABLE target DROP COLUMN extra",
    "DROP INDEX by_n ON target",
    "TRUNCATE TABLE other",
    "ALTER TABLE target COMMENT 'again'",
];

pub fn run(session: &mut Session) -> io::Result<()> {
    let mut targets = start(session, &[Who::Mariadb, Who::Shoal], &[])?;
    let time = if session.plan.quick { TIME_QUICK } else { TIME };
    let mut row = Row::new(format!("definitions beside {SESSIONS} writers"), "definitions/s");
    alternate(session, &mut row, &mut targets, 1, |target, cell| measure(target, cell, time));
    row.goal_no_errors(Who::Shoal);
    let stall = row.cell(Who::Shoal).and_then(|cell| cell.stall);
    row.goal(format!("stall <= {} s", STALL_MAX.as_secs()), stall.map(|stall| stall <= STALL_MAX));
    session.push(row);
    Ok(())
}

fn measure(target: &mut Target, cell: &mut Cell, time: Duration) -> io::Result<()> {
    prepare(target)?;
    let stop = Arc::new(AtomicBool::new(false));
    let until = Until::stopped(&stop);
    let scripts = (0..SESSIONS).map(writer);
    let driver = Driver::connect(target.port()?, DATABASE, scripts.collect())?;
    let writers = thread::spawn(move || driver.run(&until));
    let mut client = target.client()?;
    let started = Instant::now();
    let mut made = 0;
    while started.elapsed() < time && !writers.is_finished() {
        for sql in ROUND {
            if let Err(error) = client.execute(sql) {
                cell.error(&error);
            }
            made += 1;
        }
    }
    let took = started.elapsed();
    stop.store(true, Ordering::Relaxed);
    let tally = writers.join().map_err(|_| io::Error::other("the writers panicked"))??;
    cell.figures.push(f64::from(made) / took.as_secs_f64());
    cell.note("writes/s beside", tally.per_second());
    cell.add(&tally);
    // Every session adds to its counter and inserts a row in one transaction.
    let sum = target.number("SELECT SUM(n) FROM target WHERE id < 1000")?;
    let rows = target.number("SELECT COUNT(*) FROM target WHERE id >= 1000000")?;
    let acknowledged = tally.events_of_all_time as i64;
    cell.check(sum == acknowledged, || format!("additions: {sum} of {acknowledged} are there"));
    cell.check(rows == acknowledged, || format!("rows: {rows} of {acknowledged} are there"));
    Ok(())
}

fn prepare(target: &Target) -> io::Result<()> {
    let mut client = target.client()?;
    execute(&mut client, "CREATE TABLE target (id BIGINT PRIMARY KEY, n INT NOT NULL)")?;
    execute(&mut client, "CREATE TABLE other (id BIGINT AUTO_INCREMENT PRIMARY KEY, n INT)")?;
    let values: Vec<String> = (0..SESSIONS).chain(1000..1000 + ROWS).map(|id| format!("({id},0)")).collect();
    execute(&mut client, &format!("INSERT INTO target VALUES {}", values.join(",")))
}

fn writer(session: u64) -> Box<dyn Script> {
    let (mut stage, mut number) = (0, 0);
    Box::new(move |last: Option<&Answer>, statement: &mut String| {
        if last.is_some_and(|answer| answer.errno != 0) {
            stage = 0;
            statement.push_str("ROLLBACK");
            return Next::Apart;
        }
        let (text, kind) = match stage {
            0 => ("BEGIN".to_string(), Next::Begin),
            1 => (format!("UPDATE target SET n = n + 1 WHERE id = {session}"), Next::Middle),
            2 => {
                number += 1;
                let id = (number * SESSIONS + session) + 1_000_000;
                (format!("INSERT INTO target (id, n) VALUES ({id}, 1)"), Next::Middle)
            }
            3 => (format!("INSERT INTO other (n) VALUES ({session})"), Next::Middle),
            _ => ("COMMIT".to_string(), Next::End),
        };
        stage = (stage + 1) % 5;
        statement.push_str(&text);
        kind
    })
}
