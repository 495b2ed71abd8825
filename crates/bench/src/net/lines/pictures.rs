//! Throughput against threads, for every bandwidth, compression and TLS: reads, ranges and writes. Single runs: curves, no goals.

use std::io;

use crate::measure::interrupt;
use crate::net::contestant::{Who, WireJob};
use crate::net::link::Link;
use crate::net::rounds::give_the_floor_to;
use crate::net::row::{Picture, Row, number};
use crate::net::{MARIADB, SHOAL, Session};
use crate::wire::{Compression, Kind};

const KINDS: [Kind; 3] = [Kind::ReadOnly, Kind::Range, Kind::Write];
const MEGABITS: [u32; 3] = [100, 1000, 10_000];
const MEGABITS_QUICK: [u32; 1] = [1000];
const THREADS: [u32; 3] = [8, 64, 256];
const THREADS_QUICK: [u32; 2] = [8, 64];

/// One picture has the curves of one server, of one load over one line.
struct Frame<'a> {
    who: Who,
    place: usize,
    kind: Kind,
    megabits: u32,
    threads: &'a [u32],
    link: &'a Link,
}

pub fn run(session: &mut Session) -> io::Result<()> {
    session.start_pair()?;
    let quick = session.plan.quick;
    let (lines, threads): (&[u32], &[u32]) =
        if quick { (&MEGABITS_QUICK, &THREADS_QUICK) } else { (&MEGABITS, &THREADS) };
    let mut row = Row::new("bandwidth x compression x TLS against threads", "");
    let link = Link::new();
    link.note().into_iter().for_each(|note| row.note(note));
    for (who, place) in [(Who::Shoal, SHOAL), (Who::Mariadb, MARIADB)] {
        give_the_floor_to(place, &mut session.pair)?;
        for kind in KINDS {
            for &megabits in lines {
                link.shape(megabits)?;
                let picture = draw(session, &Frame { who, place, kind, megabits, threads, link: &link })?;
                session.progress.say(&said(&picture));
                session.pictures.push(picture);
            }
        }
    }
    row.note(format!("{} pictures are in the HTML page.", session.pictures.len()));
    session.push(row);
    Ok(())
}

fn draw(session: &Session, frame: &Frame) -> io::Result<Picture> {
    let compressions: &[Compression] = match frame.who {
        Who::Shoal => &[Compression::None, Compression::Zlib, Compression::Zstd],
        Who::Mariadb => &[Compression::None, Compression::Zlib],
    };
    let mut curves = Vec::new();
    for &compression in compressions {
        for tls in [false, true] {
            let name = format!("{}{}", compression.name(), if tls { ", TLS" } else { "" });
            let figures = frame.threads.iter().map(|&threads| {
                session.progress.doing(format!(
                    "pictures: {} {} {name} x{threads}",
                    frame.who.name(),
                    frame.kind.name()
                ));
                if interrupt::requested() {
                    return Ok(0.0);
                }
                let (kind, link, time) = (frame.kind, Some(frame.link), session.plan.picture_time);
                let job = WireJob { kind, threads, time, compression, tls, resume: false, link };
                Ok(session.pair[frame.place].wire(job)?.per_second)
            });
            let figures = figures.collect::<io::Result<Vec<f64>>>()?;
            curves.push((name, figures));
        }
    }
    let bandwidth = if frame.megabits < 1000 {
        format!("{} Mb/s", frame.megabits)
    } else {
        format!("{} Gb/s", frame.megabits / 1000)
    };
    Ok(Picture {
        title: format!("{}: {} over {bandwidth}", frame.who.name(), frame.kind.name()),
        unit: "events/s",
        places: frame.threads.iter().map(ToString::to_string).collect(),
        curves,
    })
}

/// The picture in words.
fn said(picture: &Picture) -> String {
    let curves = picture.curves.iter().map(|(name, figures)| {
        let figures = figures.iter().map(|&figure| number(Some(figure))).collect::<Vec<_>>();
        format!("{name} {}", figures.join("/"))
    });
    format!("{}: {}", picture.title, curves.collect::<Vec<_>>().join("; "))
}
