//! Sessions that add 1 to one row, each addition a commit of its own. Afterwards the row must hold as many as were acknowledged.

use std::io;
use std::time::Duration;

use crate::rough::Session;
use crate::rough::driver::{Driver, Repeat, Script, Until};
use crate::rough::rounds::{alternate, start};
use crate::rough::row::{Cell, Row};
use crate::rough::target::{DATABASE, Target, Who};

const SESSIONS: [usize; 4] = [8, 64, 512, 1024];
const CLUSTER_SESSIONS: usize = 64;
const WARM_UP: Duration = Duration::from_millis(500);
/// Of what 8 sessions reach, with any number of them.
const SHARE_MIN: f64 = 0.8;

pub fn run(session: &mut Session) -> io::Result<()> {
    let mut targets = start(session, &[Who::Mariadb, Who::Shoal], &[])?;
    targets.iter().try_for_each(prepare)?;
    let mut first = None;
    for sessions in SESSIONS {
        let mut row = Row::new(format!("hot row, {sessions} sessions"), "/s");
        let time = session.plan.time;
        alternate(session, &mut row, &mut targets, session.plan.rounds, |target, cell| {
            measure(target, cell, sessions, time)
        });
        row.goal_no_errors(Who::Shoal);
        let own = row.figure(Who::Shoal);
        first = first.or(own);
        let share = own.zip(first).map(|(own, first)| own >= SHARE_MIN * first);
        row.goal(format!(">= {SHARE_MIN}x of 8 sessions"), share);
        row.goal_ratio(Who::Shoal, Who::Mariadb, 2.0);
        session.push(row);
    }
    Ok(())
}

pub fn run_on_clusters(session: &mut Session) -> io::Result<()> {
    for (peer, own) in [(Who::GaleraDisk, Who::ClusterDisk), (Who::GaleraMemory, Who::ClusterReplicated)] {
        let mut targets = start(session, &[peer, own], &[])?;
        targets.iter().try_for_each(prepare)?;
        let mut row = Row::new(format!("hot row, two nodes, {CLUSTER_SESSIONS} sessions"), "/s");
        let time = session.plan.time;
        alternate(session, &mut row, &mut targets, session.plan.rounds, |target, cell| {
            measure(target, cell, CLUSTER_SESSIONS, time)
        });
        row.goal_no_errors(own);
        row.goal_ratio(own, peer, 3.0);
        session.push(row);
    }
    Ok(())
}

fn prepare(target: &Target) -> io::Result<()> {
    target.execute(&["CREATE TABLE hot (id INT PRIMARY KEY, n BIGINT NOT NULL)", "INSERT INTO hot VALUES (1, 0)"])
}

fn measure(target: &mut Target, cell: &mut Cell, sessions: usize, time: Duration) -> io::Result<()> {
    target.execute(&["UPDATE hot SET n = 0 WHERE id = 1"])?;
    let script = || Box::new(Repeat("UPDATE hot SET n = n + 1 WHERE id = 1".into())) as Box<dyn Script>;
    let driver = Driver::connect(target.port()?, DATABASE, (0..sessions).map(|_| script()).collect())?;
    let tally = driver.run(&Until::time(WARM_UP, time))?;
    cell.add(&tally);
    cell.figures.push(tally.per_second());
    let sum = target.number("SELECT n FROM hot WHERE id = 1")?;
    cell.check(sum == tally.events_of_all_time as i64, || {
        format!("the row holds {sum} after {} acknowledged additions", tally.events_of_all_time)
    });
    Ok(())
}
