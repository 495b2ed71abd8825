//! oltp_point_select on 1 to 2,048 threads.

use std::io;

use crate::net::contestant::Who;
use crate::net::rounds::{Setting, alternate};
use crate::net::row::{Bound, Picture, Row};
use crate::net::{MARIADB, SHOAL, Session};

const SCRIPT: &str = "oltp_point_select";
const THREADS: [u32; 6] = [1, 8, 64, 256, 1024, 2048];
/// From here on throughput is to be flat.
const FLAT_FROM: u32 = 8;
const SHARE_OF_PEAK_MIN: f64 = 0.9;
const RATIO_MIN: f64 = 1.5;

pub fn run(session: &mut Session) -> io::Result<()> {
    session.start_pair()?;
    let time = session.plan.time;
    let mut rows = Vec::new();
    for threads in THREADS {
        let mut row = Row::new(format!("{SCRIPT}, {threads} threads"), "queries/s");
        let settings = [(Who::Shoal, SHOAL), (Who::Mariadb, MARIADB)].map(|(who, place)| {
            Setting::new(who.name(), place, move |server| server.sysbench(SCRIPT, threads, time))
        });
        alternate(&mut session.pair, &mut row, &settings, session.plan.runs, session.progress)?;
        rows.push(row);
    }
    let figures = |name: &str| rows.iter().map(|row| row.figure(name).unwrap_or(0.0)).collect::<Vec<f64>>();
    let (own, other) = (figures("Shoal"), figures("MariaDB"));
    session.pictures.push(Picture {
        title: format!("{SCRIPT} against threads"),
        unit: "queries/s",
        places: THREADS.iter().map(ToString::to_string).collect(),
        curves: vec![("Shoal".into(), own.clone()), ("MariaDB".into(), other)],
    });
    let peak = own.iter().copied().fold(0.0, f64::max);
    for (mut row, threads) in rows.into_iter().zip(THREADS) {
        if threads >= FLAT_FROM {
            let share = row.figure("Shoal").map(|figure| figure / peak);
            row.goal("share of the peak", share, Bound::AtLeast(SHARE_OF_PEAK_MIN));
        }
        let ratio = row.ratio("Shoal", "MariaDB");
        row.goal("Shoal / MariaDB", ratio, Bound::AtLeast(RATIO_MIN));
        session.push(row);
    }
    Ok(())
}
