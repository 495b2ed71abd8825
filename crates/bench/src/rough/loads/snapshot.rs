//! A snapshot that is held while others update: it reads the same all the time, and the updates stay quick.

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

const TIME: Duration = Duration::from_secs(60);
const TIME_QUICK: Duration = Duration::from_secs(3);
const P99_RATIO_MAX: f64 = 5.0;
const SHARE_MIN: f64 = 0.8;
const P99_RATIO: &str = "p99 to that without a snapshot";
const SHARE: &str = "throughput to that without a snapshot";
const SUM: &str = "SELECT SUM(n) FROM beside";

pub fn run(session: &mut Session) -> io::Result<()> {
    let mut targets = start(session, &[Who::Mariadb, Who::Shoal], &[])?;
    let time = if session.plan.quick { TIME_QUICK } else { TIME };
    let idle = session.plan.time;
    let mut row = Row::new(format!("a snapshot of {} s beside updates", time.as_secs()), "/s");
    alternate(session, &mut row, &mut targets, 1, |target, cell| measure(target, cell, idle, time));
    row.goal_no_errors(Who::Shoal);
    let (ratio, share) = (row.note(Who::Shoal, P99_RATIO), row.note(Who::Shoal, SHARE));
    row.goal(format!("p99 <= {P99_RATIO_MAX}x"), ratio.map(|ratio| ratio <= P99_RATIO_MAX));
    row.goal(format!("throughput >= {SHARE_MIN}x"), share.map(|share| share >= SHARE_MIN));
    session.push(row);
    Ok(())
}

fn measure(target: &mut Target, cell: &mut Cell, idle: Duration, time: Duration) -> io::Result<()> {
    beside_table(target)?;
    let without = beside(target, Until::time(Duration::from_millis(200), idle))?;
    let mut reader = target.client()?;
    execute(&mut reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
    let first = number(&mut reader, SUM)?;
    let stop = Arc::new(AtomicBool::new(false));
    let with = thread::scope(|scope| {
        let until = Until::stopped(&stop);
        let target = &*target;
        let sessions = scope.spawn(move || beside(target, until));
        let started = Instant::now();
        let mut result = Ok(());
        while started.elapsed() < time && result.is_ok() {
            thread::sleep(time / 20);
            result = number(&mut reader, SUM).map(|sum| {
                cell.check(sum == first, || format!("the snapshot read {first}, then {sum}"));
            });
        }
        stop.store(true, Ordering::Relaxed);
        let with = sessions.join().map_err(|_| io::Error::other("the sessions panicked"))?;
        result.and(with)
    })?;
    cell.add(&with);
    cell.figures.push(with.per_second());
    cell.note(P99_RATIO, with.latencies.micros(0.99) / without.latencies.micros(0.99).max(1.0));
    cell.note(SHARE, with.per_second() / without.per_second().max(1.0));
    Ok(())
}
