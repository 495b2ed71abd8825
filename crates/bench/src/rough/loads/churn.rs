//! Connections that are opened, ask once and are dropped.

use std::io;
use std::thread;
use std::time::Instant;

use crate::measure::latency::Latencies;
use shoal_testkit::Client;

use crate::rough::Session;
use crate::rough::rounds::{alternate, start};
use crate::rough::row::{Cell, Row};
use crate::rough::target::{Target, Who};

const CONNECTIONS: u64 = 10_000;
const CONNECTIONS_QUICK: u64 = 500;
const THREADS: u64 = 4;

pub fn run(session: &mut Session) -> io::Result<()> {
    let connections = session.plan.size(CONNECTIONS, CONNECTIONS_QUICK);
    let mut targets = start(session, &[Who::Mariadb, Who::Shoal], &[])?;
    let mut row = Row::new(format!("{connections} connections, one query each"), "/s");
    let rounds = session.plan.rounds;
    alternate(session, &mut row, &mut targets, rounds, |target, cell| measure(target, cell, connections));
    row.goal_no_errors(Who::Shoal);
    row.goal_ratio(Who::Shoal, Who::Mariadb, 1.0);
    session.push(row);
    Ok(())
}

fn measure(target: &mut Target, cell: &mut Cell, connections: u64) -> io::Result<()> {
    let port = target.port()?;
    let started = Instant::now();
    let all: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|_| scope.spawn(move || connect(port, connections / THREADS))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    cell.figures.push(connections as f64 / started.elapsed().as_secs_f64());
    cell.check(all.len() as u64 == THREADS, || "a client panicked".into());
    for (latencies, errors) in &all {
        cell.latencies.add(latencies);
        errors.iter().for_each(|error| cell.error(error));
    }
    Ok(())
}

fn connect(port: u16, connections: u64) -> (Latencies, Vec<shoal_testkit::Error>) {
    let (mut latencies, mut errors) = (Latencies::default(), Vec::new());
    for number in 0..connections {
        let started = Instant::now();
        let answer = Client::connect(port).and_then(|mut client| client.text(&format!("SELECT {number}")));
        match answer {
            Ok(lines) if lines == [number.to_string()] => latencies.record(started.elapsed()),
            Ok(lines) => errors.push(shoal_testkit::Error::Protocol(format!("{lines:?} instead of {number}"))),
            Err(error) => errors.push(error),
        }
    }
    (latencies, errors)
}
