//! oltp_read_only in TLS against the same in clear, with sysbench.

use std::io;

use crate::net::contestant::{Contestant, Who};
use crate::net::rounds::{Setting, alternate};
use crate::net::row::{Bound, Row};
use crate::net::{MARIADB, SHOAL, Session};

const SCRIPT: &str = "oltp_read_only";
const THREADS: u32 = 8;
const SHARE_MIN: f64 = 0.9;

pub fn run(session: &mut Session) -> io::Result<()> {
    session.start_pair()?;
    let time = session.plan.time;
    let mut row = Row::new(format!("{SCRIPT}, {THREADS} threads, TLS against plain"), "queries/s");
    let settings: Vec<Setting> = [(Who::Shoal, SHOAL), (Who::Mariadb, MARIADB)]
        .into_iter()
        .flat_map(|(who, place)| {
            let name = who.name();
            [
                Setting::new(format!("{name} plain"), place, move |server| server.sysbench(SCRIPT, THREADS, time)),
                Setting::new(format!("{name} TLS"), place, move |server: &Contestant| {
                    let before = encrypted(server)?;
                    let figure = server.sysbench_in_tls(SCRIPT, THREADS, time)?;
                    match encrypted(server)? - before >= f64::from(THREADS) {
                        true => Ok(figure),
                        false => Err(io::Error::other("sysbench has connected without TLS")),
                    }
                }),
            ]
        })
        .collect();
    alternate(&mut session.pair, &mut row, &settings, session.plan.runs, session.progress)?;
    let share = row.ratio("Shoal TLS", "Shoal plain");
    row.goal("TLS / plain", share, Bound::AtLeast(SHARE_MIN));
    if let Some(ratio) = row.ratio("MariaDB TLS", "MariaDB plain") {
        row.note(format!("For scale: MariaDB keeps {ratio:.3} of its throughput in TLS."));
    }
    if let Some(ratio) = row.ratio("Shoal TLS", "MariaDB TLS") {
        row.note(format!("In TLS Shoal has {ratio:.2}x MariaDB's throughput."));
    }
    session.push(row);
    Ok(())
}

/// Sessions in TLS that there have been.
fn encrypted(server: &Contestant) -> io::Result<f64> {
    server.status("Ssl_accepts")
}
