//! Workers that take jobs from a table with SKIP LOCKED: every job once, none left.

use std::io;
use std::time::Duration;

use crate::rough::Session;
use crate::rough::driver::{Answer, Driver, Next, Script, Until};
use crate::rough::rounds::{alternate, start};
use crate::rough::row::{Cell, Row};
use crate::rough::target::{DATABASE, Target, Who, execute};

const WORKERS: usize = 16;
const JOBS: u64 = 20_000;
const JOBS_QUICK: u64 = 1000;
/// A worker that has found nothing so often is through: others may still hold the last jobs.
const EMPTY_LOOKS_MAX: u32 = 20;

pub fn run(session: &mut Session) -> io::Result<()> {
    let jobs = session.plan.size(JOBS, JOBS_QUICK);
    let mut targets = start(session, &[Who::Mariadb, Who::Shoal], &[])?;
    let mut row = Row::new(format!("{WORKERS} workers of a queue, SKIP LOCKED"), "jobs/s");
    let rounds = session.plan.rounds;
    alternate(session, &mut row, &mut targets, rounds, |target, cell| measure(target, cell, jobs));
    row.goal_no_errors(Who::Shoal);
    row.goal_ratio(Who::Shoal, Who::Mariadb, 1.0);
    session.push(row);
    Ok(())
}

fn measure(target: &mut Target, cell: &mut Cell, jobs: u64) -> io::Result<()> {
    prepare(target, jobs)?;
    let scripts = (0..WORKERS).map(|_| worker());
    let driver = Driver::connect(target.port()?, DATABASE, scripts.collect())?;
    let tally = driver.run(&Until::time(Duration::ZERO, Duration::from_secs(600)))?;
    cell.add(&tally);
    let left = target.number("SELECT COUNT(*) FROM job")?;
    let done = target.number("SELECT COUNT(*) FROM done")?;
    let twice =
        target.number("SELECT COUNT(*) FROM (SELECT id FROM done GROUP BY id HAVING COUNT(*) > 1) AS more")?;
    cell.figures.push(done as f64 / tally.time().as_secs_f64());
    cell.check(left == 0 && done == jobs as i64 && twice == 0, || {
        format!("of {jobs} jobs {done} were done, {twice} twice, {left} are left")
    });
    Ok(())
}

fn prepare(target: &Target, jobs: u64) -> io::Result<()> {
    let mut client = target.client()?;
    for table in ["job", "done"] {
        execute(&mut client, &format!("DROP TABLE IF EXISTS {table}"))?;
    }
    execute(&mut client, "CREATE TABLE job (id INT PRIMARY KEY)")?;
    execute(&mut client, "CREATE TABLE done (number BIGINT AUTO_INCREMENT PRIMARY KEY, id INT, KEY (id))")?;
    let values: Vec<String> = (0..jobs).map(|id| format!("({id})")).collect();
    execute(&mut client, &format!("INSERT INTO job VALUES {}", values.join(",")))
}

fn worker() -> Box<dyn Script> {
    let (mut stage, mut empty_looks) = (0, 0);
    let mut id = String::new();
    Box::new(move |last: Option<&Answer>, statement: &mut String| {
        if last.is_some_and(|answer| answer.errno != 0) {
            stage = 0;
            statement.push_str("ROLLBACK");
            return Next::Apart;
        }
        if stage == 2 {
            match last.and_then(|answer| answer.first_value.clone()) {
                Some(value) => (id, empty_looks) = (value, 0),
                None if empty_looks == EMPTY_LOOKS_MAX => return Next::Done,
                None => {
                    (stage, empty_looks) = (0, empty_looks + 1);
                    statement.push_str("ROLLBACK");
                    return Next::Apart;
                }
            }
        }
        let (text, kind) = match stage {
            0 => ("BEGIN".to_string(), Next::Begin),
            1 => ("SELECT id FROM job ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED".to_string(), Next::Middle),
            2 => (format!("DELETE FROM job WHERE id = {id}"), Next::Middle),
            3 => (format!("INSERT INTO done (id) VALUES ({id})"), Next::Middle),
            _ => ("COMMIT".to_string(), Next::End),
        };
        stage = (stage + 1) % 5;
        statement.push_str(&text);
        kind
    })
}
