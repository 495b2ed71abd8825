//! What being looked at costs: statement digests, the slow query log and metrics that are scraped every second, against none of it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::net::Session;
use crate::net::contestant::Contestant;
use crate::net::rounds::{Setting, alternate};
use crate::net::row::{Bound, Row};

const SCRIPTS: [&str; 2] = ["oltp_point_select", "oltp_read_write"];
const THREADS: u32 = 8;
const SHARE_MIN: f64 = 0.97;
const SCRAPE_EVERY: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(10);
/// A difference of a few percent takes more runs than others.
const RUNS_FOR_ONE: u32 = 2;

const OFF: [&str; 2] = ["--set=performance_schema_digests_size=0", "--set=slow_query_log=OFF"];
const ON: [&str; 2] = ["--set=slow_query_log=ON", "--set=long_query_time=1"];

pub fn run(session: &mut Session) -> io::Result<()> {
    let plan = session.plan;
    let mut servers = Vec::new();
    for arguments in [OFF, ON] {
        session.progress.doing("observed: start and load");
        let server = Contestant::shoal(&plan.shoal_binary, &arguments, plan)?;
        server.load()?;
        servers.push(server);
    }
    for script in SCRIPTS {
        let mut row = Row::new(format!("{script}, {THREADS} threads, digests, slow log and metrics"), "queries/s");
        let scrapes = AtomicU64::new(0);
        let settings = [
            Setting::new("off", 0, |server| server.sysbench(script, THREADS, plan.time)),
            Setting::new("on", 1, |server| {
                let (is_over, address) = (AtomicBool::new(false), server.http());
                thread::scope(|scope| {
                    let scraper = scope.spawn(|| scrape_until(&is_over, address, &scrapes));
                    let figure = server.sysbench(script, THREADS, plan.time);
                    is_over.store(true, Ordering::Relaxed);
                    scraper.join().map_err(|_| io::Error::other("the scraper panicked"))??;
                    figure
                })
            }),
        ];
        alternate(&mut servers, &mut row, &settings, plan.runs * RUNS_FOR_ONE, session.progress)?;
        let share = row.ratio("on", "off");
        row.goal("on / off", share, Bound::AtLeast(SHARE_MIN));
        row.note(format!("Metrics were scraped {} times meanwhile.", scrapes.load(Ordering::Relaxed)));
        session.push(row);
    }
    Ok(())
}

/// Scrapes once at least.
fn scrape_until(is_over: &AtomicBool, address: Option<SocketAddr>, scrapes: &AtomicU64) -> io::Result<()> {
    let address = address.ok_or_else(|| io::Error::other("the server has not told its HTTP address"))?;
    loop {
        let began = Instant::now();
        scrape(address)?;
        scrapes.fetch_add(1, Ordering::Relaxed);
        while began.elapsed() < SCRAPE_EVERY {
            if is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

fn scrape(address: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.starts_with("HTTP/1.1 200 ") && answer.contains("# TYPE ") {
        true => Ok(()),
        false => Err(io::Error::other(format!("no metrics: {}", answer.lines().next().unwrap_or_default()))),
    }
}
