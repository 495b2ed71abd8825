//! Many idle connections: the server's memory for each, and what busy clients notice of them.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::net::Session;
use crate::net::contestant::Contestant;
use crate::net::rounds::{Setting, alternate};
use crate::net::row::{Bound, Row, number};

use super::file_limit;

const SCRIPT: &str = "oltp_point_select";
const THREADS: u32 = 8;
/// Files that a process has open beside connections.
const FILES_BESIDE: u64 = 500;
/// Connections that one process of ours holds.
const HELD_BY_ONE: u64 = 5000;
const BYTES_EACH_MAX: f64 = (16 << 10) as f64;
const SHARE_MIN: f64 = 0.95;
/// With the buffers that the first connections of every worker bring.
const FIRST: u64 = 200;

/// Connections that are open until this is dropped, held by processes of their own.
struct Held(Vec<Child>);

impl Held {
    fn open(server: &Contestant, count: u64) -> io::Result<Held> {
        let mut held = Held(Vec::new());
        let mut left = count;
        while left > 0 {
            let some = left.min(HELD_BY_ONE);
            let mut command = server.wire_command(None, false)?;
            command.args(["--hold", &some.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
            held.0.push(command.spawn()?);
            left -= some;
        }
        for child in &mut held.0 {
            let mut line = String::new();
            let output = child.stdout.take().map(BufReader::new);
            output.map_or(Ok(0), |mut output| output.read_line(&mut line))?;
            if !line.ends_with("are open\n") {
                return Err(io::Error::other("idle connections were refused"));
            }
        }
        Ok(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Its input ends, and so does it.
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

pub fn run(session: &mut Session) -> io::Result<()> {
    let plan = session.plan;
    let count = plan.idle.min(file_limit().saturating_sub(FILES_BESIDE)).max(FIRST);
    session.progress.doing(format!("idle: {count} connections"));
    let server = Contestant::shoal(&plan.shoal_binary, &[], plan)?;
    server.load()?;
    // Once, so that what is made at the first use is there.
    server.sysbench(SCRIPT, THREADS, plan.time)?;
    let first = Held::open(&server, FIRST)?;
    let before = server.resident()?;
    let held = Held::open(&server, count)?;
    let each = server.resident()?.saturating_sub(before) as f64 / count as f64;
    drop(held);
    drop(first);
    let mut row = Row::new(format!("{SCRIPT}, {THREADS} threads, beside {count} idle connections"), "queries/s");
    let settings = [
        Setting::new("alone", 0, |server| server.sysbench(SCRIPT, THREADS, plan.time)),
        Setting::new("beside idle ones", 0, |server| {
            let _held = Held::open(server, count)?;
            server.sysbench(SCRIPT, THREADS, plan.time)
        }),
    ];
    alternate(&mut [server], &mut row, &settings, plan.runs, session.progress)?;
    row.goal("bytes of an idle connection", Some(each), Bound::AtMost(BYTES_EACH_MAX));
    let share = row.ratio("beside idle ones", "alone");
    row.goal("beside idle ones / alone", share, Bound::AtLeast(SHARE_MIN));
    let mebibytes = number(Some(each * count as f64 / f64::from(1 << 20)));
    row.note(format!("{count} idle connections take {mebibytes} MiB of the server's resident memory."));
    if count < plan.idle {
        row.note(format!("The limit of open files allows {count} connections, not {}.", plan.idle));
    }
    session.push(row);
    Ok(())
}
