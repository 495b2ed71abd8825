//! zlib and zstd against none, over lines of different bandwidth.

use std::cell::Cell;
use std::io;

use crate::net::contestant::{Contestant, Who, WireJob};
use crate::net::link::Link;
use crate::net::rounds::{Setting, alternate};
use crate::net::row::{Bound, Row};
use crate::net::{MARIADB, SHOAL, Session};
use crate::wire::{Compression, Kind};

const THREADS: u32 = 64;
const SHARE_MIN: f64 = 0.8;
/// Up to here compression has to pay; on wider lines, and on loopback, it must not cost much.
const NARROW_MEGABITS: u32 = 1000;
const LINES: [Option<u32>; 4] = [Some(100), Some(NARROW_MEGABITS), Some(10_000), None];

/// MariaDB speaks no zstd.
const SETTINGS: [(Who, usize, Compression); 5] = [
    (Who::Shoal, SHOAL, Compression::None),
    (Who::Shoal, SHOAL, Compression::Zlib),
    (Who::Shoal, SHOAL, Compression::Zstd),
    (Who::Mariadb, MARIADB, Compression::None),
    (Who::Mariadb, MARIADB, Compression::Zlib),
];

pub fn run(session: &mut Session) -> io::Result<()> {
    session.start_pair()?;
    let link = Link::new();
    for megabits in LINES {
        let place = megabits
            .map_or("on loopback".into(), |megabits| format!("over {} Gb/s", f64::from(megabits) / 1000.0));
        let mut row = Row::new(format!("oltp_read_only, {THREADS} threads, {place}"), "transactions/s");
        match megabits {
            Some(megabits) => {
                link.shape(megabits)?;
                measure(session, &mut row, Some(&link))?;
                link.note().into_iter().for_each(|note| row.note(note));
            }
            None => measure(session, &mut row, None)?,
        }
        let is_narrow = megabits.is_some_and(|megabits| megabits <= NARROW_MEGABITS);
        let bound = if is_narrow { Bound::Above(1.0) } else { Bound::AtLeast(SHARE_MIN) };
        for compression in ["zlib", "zstd"] {
            let share = row.ratio(&format!("Shoal {compression}"), "Shoal none");
            row.goal(format!("{compression} / none"), share, bound);
        }
        if let Some(share) = row.ratio("MariaDB zlib", "MariaDB none") {
            row.note(format!("For scale: MariaDB has {share:.2}x with zlib of what it has without."));
        }
        session.push(row);
    }
    Ok(())
}

fn measure(session: &mut Session, row: &mut Row, link: Option<&Link>) -> io::Result<()> {
    let time = session.plan.time;
    let bytes = SETTINGS.map(|_| Cell::new(0.0));
    let settings = SETTINGS.iter().zip(&bytes).map(|(&(who, place, compression), bytes)| {
        let name = format!("{} {}", who.name(), compression.name());
        let kind = Kind::ReadOnly;
        let job = WireJob { kind, threads: THREADS, time, compression, tls: false, resume: false, link };
        Setting::new(name, place, move |server: &Contestant| {
            let figures = server.wire(job)?;
            bytes.set(figures.bytes_per_event);
            Ok(figures.per_second)
        })
    });
    let settings: Vec<Setting> = settings.collect();
    alternate(&mut session.pair, row, &settings, session.plan.runs, session.progress)?;
    for (setting, bytes) in settings.iter().zip(&bytes).filter(|(_, bytes)| bytes.get() > 0.0) {
        row.note(format!("{}: {:.1} KiB a transaction.", setting.name, bytes.get() / 1024.0));
    }
    Ok(())
}
