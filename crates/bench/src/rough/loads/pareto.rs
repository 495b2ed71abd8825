//! sysbench on few rows with skewed keys: a fifth of the rows has four fifths of the work, and so on within that fifth.

use std::io;
use std::time::Duration;

use crate::rough::Session;
use crate::rough::rounds::{alternate, start};
use crate::rough::row::{Cell, Row};
use crate::rough::target::{DATABASE, Target, Who};
use crate::sysbench::Job;

const THREADS: [u32; 3] = [16, 64, 256];
const ROWS: u64 = 500;
const GRACE: Duration = Duration::from_secs(60);
/// Deadlocks, lock waits, and changed rows are counted, not fatal.
const OPTIONS: [&str; 2] = ["--rand-type=pareto", "--mysql-ignore-errors=1213,1205,1020,1180"];
const ERRORS_A_TRANSACTION: &str = "errors a transaction";
const P95: &str = "p95 ms";

pub fn run(session: &mut Session) -> io::Result<()> {
    let mut targets = start(session, &[Who::Mariadb, Who::Shoal], &[])?;
    for target in &targets {
        job(target, "oltp_read_write", 1)?.manage("prepare")?;
    }
    for (script, ratio_min) in [("oltp_update_index", 2.0), ("oltp_read_write", 1.5)] {
        for threads in THREADS {
            let mut row = Row::new(format!("pareto {script}, {threads} threads"), "q/s");
            let time = session.plan.time;
            alternate(session, &mut row, &mut targets, session.plan.rounds, |target, cell| {
                measure(target, cell, script, threads, time)
            });
            judge(&mut row, script == "oltp_update_index", ratio_min);
            session.push(row);
        }
    }
    Ok(())
}

fn judge(row: &mut Row, is_single_row: bool, ratio_min: f64) {
    match is_single_row {
        true => row.goal_no_errors(Who::Shoal),
        false => {
            let errors = |who| row.note(who, ERRORS_A_TRANSACTION);
            let is_met = errors(Who::Shoal).zip(errors(Who::Mariadb)).map(|(own, other)| own <= other);
            row.goal("errors a transaction <= MariaDB's", is_met);
        }
    }
    row.goal_ratio(Who::Shoal, Who::Mariadb, ratio_min);
}

fn job<'a>(target: &Target, script: &'a str, threads: u32) -> io::Result<Job<'a>> {
    let port = target.port()?;
    Ok(Job { port, database: DATABASE, script, threads, rows: ROWS, extra: &OPTIONS, grace: GRACE })
}

fn measure(target: &mut Target, cell: &mut Cell, script: &str, threads: u32, time: Duration) -> io::Result<()> {
    let figures = job(target, script, threads)?.run(time)?;
    cell.figures.push(figures.queries as f64 / figures.seconds);
    cell.events += figures.events;
    if figures.ignored_errors > 0 {
        // sysbench does not tell which; nearly all are deadlocks.
        *cell.errors.entry(1213).or_default() += figures.ignored_errors;
    }
    cell.note(ERRORS_A_TRANSACTION, figures.ignored_errors as f64 / figures.events.max(1) as f64);
    cell.note(P95, figures.p95_ms);
    Ok(())
}
