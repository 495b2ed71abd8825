//! Connections that ask one question and go.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use crate::net::contestant::{Contestant, Who, WireJob};
use crate::net::rounds::{Setting, alternate};
use crate::net::row::{Bound, Row};
use crate::net::{MARIADB, SHOAL, Session};
use crate::wire::{Compression, Kind};

const CLIENTS: u32 = 8;
const RATIO_MIN: f64 = 2.0;
const RESUMED: &str = "Ssl_session_cache_hits";

/// How they connect: a name, whether in TLS, whether with sessions of earlier connections.
const WAYS: [(&str, bool, bool); 3] =
    [("plain", false, false), ("TLS, full handshakes", true, false), ("TLS, resumed sessions", true, true)];

fn job(tls: bool, resume: bool, time: Duration) -> WireJob<'static> {
    let compression = Compression::None;
    WireJob { kind: Kind::Connect, threads: CLIENTS, time, compression, tls, resume, link: None }
}

pub fn run(session: &mut Session) -> io::Result<()> {
    session.start_pair()?;
    let time = session.plan.time;
    for (way, tls, resume) in WAYS {
        let mut row = Row::new(format!("connect + query + quit, {CLIENTS} clients, {way}"), "connections/s");
        session.pair[SHOAL].resume()?;
        let hits_before = session.pair[SHOAL].status(RESUMED)?;
        let resumed = [Cell::new(0), Cell::new(0)];
        let settings = [(Who::Shoal, SHOAL), (Who::Mariadb, MARIADB)].map(|(who, place)| {
            let resumed = &resumed[place];
            Setting::new(who.name(), place, move |server: &Contestant| {
                let figures = server.wire(job(tls, resume, time))?;
                resumed.set(resumed.get() + figures.resumed);
                Ok(figures.per_second)
            })
        });
        alternate(&mut session.pair, &mut row, &settings, session.plan.runs, session.progress)?;
        let ratio = row.ratio("Shoal", "MariaDB");
        row.goal("Shoal / MariaDB", ratio, Bound::AtLeast(RATIO_MIN));
        if resume {
            session.pair[SHOAL].resume()?;
            let hits = session.pair[SHOAL].status(RESUMED)? - hits_before;
            row.goal(format!("sessions that Shoal resumed ({RESUMED})"), Some(hits), Bound::Above(0.0));
            let [own, other] = resumed.each_ref().map(Cell::get);
            row.note(format!("Resumed, as the client saw it: {own} at Shoal, {other} at MariaDB."));
        }
        session.push(row);
    }
    Ok(())
}
