//! Transfers between few accounts in both directions: real deadlocks, which must end one transaction at once and leave the sum.

use std::io;
use std::time::Duration;

use crate::rough::Session;
use crate::rough::driver::{Answer, Driver, Next, Script, Until};
use crate::rough::rounds::{alternate, start};
use crate::rough::row::{Cell, Row};
use crate::rough::target::{DATABASE, Target, Who};

const SESSIONS: u64 = 32;
const ACCOUNTS: u64 = 2;
const BALANCE: u64 = 1_000_000;
const DEADLOCK: u16 = 1213;
/// A deadlock is found within 100 ms, says the design; nobody waits longer than that beside his turn.
const P99_MAX: Duration = Duration::from_secs(1);

pub fn run(session: &mut Session) -> io::Result<()> {
    let mut targets = start(session, &[Who::Mariadb, Who::Shoal], &[])?;
    let mut row = Row::new(format!("transfers between {ACCOUNTS} rows, {SESSIONS} sessions"), "/s");
    let time = session.plan.time;
    let rounds = session.plan.rounds;
    alternate(session, &mut row, &mut targets, rounds, |target, cell| measure(target, cell, time));
    let own = row.cell(Who::Shoal);
    let others = own.map(|cell| cell.errors.keys().all(|&errno| errno == DEADLOCK));
    let p99 = own.map(|cell| cell.latencies.micros(0.99) <= P99_MAX.as_micros() as f64);
    row.goal("no error but 1213", others);
    row.goal(format!("p99 <= {} s", P99_MAX.as_secs()), p99);
    row.goal_ratio(Who::Shoal, Who::Mariadb, 1.0);
    session.push(row);
    Ok(())
}

fn measure(target: &mut Target, cell: &mut Cell, time: Duration) -> io::Result<()> {
    let values: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id},{BALANCE})")).collect();
    target.execute(&[
        "CREATE TABLE IF NOT EXISTS account (id INT PRIMARY KEY, balance BIGINT NOT NULL)",
        &format!("REPLACE INTO account VALUES {}", values.join(",")),
    ])?;
    let scripts = (0..SESSIONS).map(transfer);
    let driver = Driver::connect(target.port()?, DATABASE, scripts.collect())?;
    let tally = driver.run(&Until::time(Duration::from_millis(200), time))?;
    cell.add(&tally);
    cell.figures.push(tally.per_second());
    let sum = target.number("SELECT SUM(balance) FROM account")?;
    cell.check(sum == (ACCOUNTS * BALANCE) as i64, || format!("the accounts hold {sum} together"));
    Ok(())
}

/// Half of the sessions take the rows in the one order, half in the other.
fn transfer(session: u64) -> Box<dyn Script> {
    let mut stage = 0;
    let (from, to) = (session % ACCOUNTS, (session + 1) % ACCOUNTS);
    Box::new(move |last: Option<&Answer>, statement: &mut String| {
        // A deadlock has rolled the transaction back.
        if last.is_some_and(|answer| answer.errno != 0) {
            let was_rolled_back = last.is_some_and(|answer| answer.errno == DEADLOCK);
            stage = 0;
            if !was_rolled_back {
                statement.push_str("ROLLBACK");
                return Next::Apart;
            }
        }
        let (text, kind) = match stage {
            0 => ("BEGIN".to_string(), Next::Begin),
            1 => (format!("UPDATE account SET balance = balance - 1 WHERE id = {from}"), Next::Middle),
            2 => (format!("UPDATE account SET balance = balance + 1 WHERE id = {to}"), Next::Middle),
            _ => ("COMMIT".to_string(), Next::End),
        };
        stage = (stage + 1) % 4;
        statement.push_str(&text);
        kind
    })
}
