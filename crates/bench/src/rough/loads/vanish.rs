//! Clients that vanish in the middle of anything: of a statement, a transaction, a result, a LOAD DATA, a packet, a wait for
//! a lock. Afterwards no session, no lock and no row of theirs may be left, and no memory.

use std::io::{self, Write};
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use shoal_testkit::Client;
use shoal_testkit::client::COM_QUERY;

use super::large_statement::fill;
use crate::rough::Session;
use crate::rough::rounds::{alternate, start};
use crate::rough::row::{Cell, Row};
use crate::rough::target::{Target, Who, execute, number};

const CLIENTS: u64 = 2000;
const CLIENTS_QUICK: u64 = 120;
const ROWS: u64 = 200_000;
const ROWS_QUICK: u64 = 20_000;
const GONE_WITHIN: Duration = Duration::from_secs(10);
/// Memory that may be left: buffers that the process keeps.
const GROWTH_MAX: f64 = 64.0;
const GROWTH: &str = "MiB more than before";
const GONE: &str = "seconds until all sessions were gone";

type Vanish = fn(&mut Client, u64) -> io::Result<()>;

const WAYS: [Vanish; 7] =
    [in_statement, in_transaction, in_result, in_load_data, in_packet, while_it_waits, in_large_update];

pub fn run(session: &mut Session) -> io::Result<()> {
    let clients = session.plan.size(CLIENTS, CLIENTS_QUICK);
    let rows = session.plan.size(ROWS, ROWS_QUICK);
    let mut targets = start(session, &[Who::Shoal], &[])?;
    let mut row = Row::new(format!("{clients} clients that vanish"), "/s");
    alternate(session, &mut row, &mut targets, 1, |target, cell| measure(target, cell, clients, rows));
    row.goal_no_errors(Who::Shoal);
    let gone = row.note(Who::Shoal, GONE).map(|seconds| seconds <= GONE_WITHIN.as_secs_f64());
    row.goal(format!("gone within {} s", GONE_WITHIN.as_secs()), gone);
    let growth = row.note(Who::Shoal, GROWTH);
    row.goal(format!("<= {GROWTH_MAX} MiB left"), growth.map(|growth| growth <= GROWTH_MAX));
    session.push(row);
    Ok(())
}

fn measure(target: &mut Target, cell: &mut Cell, clients: u64, rows: u64) -> io::Result<()> {
    fill(target, rows)?;
    target.execute(&[
        "CREATE TABLE hot (id INT PRIMARY KEY, n INT)",
        "INSERT INTO hot VALUES (1, 0), (2, 0)",
        "SET GLOBAL local_infile = 1",
    ])?;
    // One of each kind first: what they make the server keep for good is not a leak.
    vanish(target, WAYS.len() as u64)?;
    sessions_gone(target)?;
    let before = target.resident();
    let mut holder = target.client()?;
    execute(&mut holder, "BEGIN")?;
    execute(&mut holder, "UPDATE hot SET n = 1 WHERE id = 1")?;
    let started = Instant::now();
    vanish(target, clients)?;
    cell.figures.push(clients as f64 / started.elapsed().as_secs_f64());
    execute(&mut holder, "ROLLBACK")?;
    drop(holder);
    cell.note(GONE, sessions_gone(target)?.as_secs_f64());
    cell.note(GROWTH, target.resident().saturating_sub(before) as f64 / f64::from(1 << 20));
    check(target, cell, rows)
}

fn vanish(target: &Target, clients: u64) -> io::Result<()> {
    for number in 0..clients {
        let mut client = target.client()?;
        WAYS[number as usize % WAYS.len()](&mut client, number)?;
        // Not a word of goodbye: what is unread makes the kernel reset the connection.
        let _ = client.channel().stream().shutdown(Shutdown::Both);
    }
    Ok(())
}

/// No lock, no row and no change is left of those who never committed.
fn check(target: &Target, cell: &mut Cell, rows: u64) -> io::Result<()> {
    let mut client = target.client()?;
    execute(&mut client, "SET innodb_lock_wait_timeout = 5")?;
    if let Err(error) = client.execute("UPDATE large SET n = n + 1") {
        cell.error(&error);
    }
    if let Err(error) = client.execute("UPDATE hot SET n = n + 1") {
        cell.error(&error);
    }
    let found = number(&mut client, "SELECT COUNT(*) FROM large")?;
    cell.check(found == rows as i64, || format!("{found} rows instead of {rows}"));
    // Statements in autocommit that were cut off took effect as a whole or not at all.
    let spread = number(&mut client, "SELECT COUNT(DISTINCT n) FROM large")?;
    cell.check(spread == 1, || format!("a statement took effect on some of its rows: {spread} values"));
    let sum = number(&mut client, "SELECT SUM(n) FROM hot WHERE id = 2")?;
    cell.check(sum == 1, || format!("an uncommitted change stayed: {sum} instead of 1"));
    Ok(())
}

/// How long it took until one session was left, this one.
fn sessions_gone(target: &Target) -> io::Result<Duration> {
    let started = Instant::now();
    let mut client = target.client()?;
    loop {
        let rows = client.query("SHOW PROCESSLIST").map_err(io::Error::other)?;
        let users =
            rows.rows.iter().filter(|row| row.get(1).is_none_or(|user| user.to_string() == "root")).count();
        if users <= 1 {
            return Ok(started.elapsed());
        }
        if started.elapsed() > GONE_WITHIN * 3 {
            return Err(io::Error::other(format!("{users} sessions are left: {:?}", rows.text())));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn send(client: &mut Client, sql: &str) -> io::Result<()> {
    client.send_query(sql).map_err(io::Error::other)
}

fn in_statement(client: &mut Client, _: u64) -> io::Result<()> {
    send(client, "SELECT SLEEP(1000)")
}

fn in_transaction(client: &mut Client, number: u64) -> io::Result<()> {
    execute(client, "BEGIN")?;
    execute(client, "UPDATE hot SET n = n + 100 WHERE id = 2")?;
    execute(client, &format!("INSERT INTO large VALUES ({}, 0, 'never')", 100_000_000 + number))
}

fn in_result(client: &mut Client, _: u64) -> io::Result<()> {
    send(client, "SELECT * FROM large")?;
    let is_there = client.answers_within(Duration::from_secs(10)).map_err(io::Error::other)?;
    if is_there { Ok(()) } else { Err(io::Error::other("no result began")) }
}

fn in_load_data(client: &mut Client, _: u64) -> io::Result<()> {
    execute(client, "BEGIN")?;
    send(client, "LOAD DATA LOCAL INFILE 'rows' INTO TABLE large")?;
    // A server that takes local files asks for it now; one that does not has answered with an error.
    let packet = client.channel().receive().map_err(io::Error::other)?;
    if packet.first() == Some(&0xfb) {
        let rows: String = (0..1000).map(|row| format!("{}\t0\tloaded\n", 200_000_000 + row)).collect();
        client.channel().send(rows.as_bytes())?;
    }
    Ok(())
}

fn in_packet(client: &mut Client, _: u64) -> io::Result<()> {
    let mut bytes = vec![0, 0, 16, 0, COM_QUERY];
    bytes.extend_from_slice(b"INSERT INTO large VALUES (300000000, 0, 'half");
    client.channel().stream().write_all(&bytes)
}

/// For the row that somebody else holds.
fn while_it_waits(client: &mut Client, _: u64) -> io::Result<()> {
    execute(client, "BEGIN")?;
    execute(client, "UPDATE hot SET n = n + 100 WHERE id = 2").or_else(|error| {
        // Another that vanished may be rolled back a moment later.
        if error.to_string().contains("1205") { Ok(()) } else { Err(error) }
    })?;
    send(client, "UPDATE hot SET n = n + 100 WHERE id = 1")
}

fn in_large_update(client: &mut Client, _: u64) -> io::Result<()> {
    execute(client, "BEGIN")?;
    send(client, "UPDATE large SET n = n + 1000")
}
