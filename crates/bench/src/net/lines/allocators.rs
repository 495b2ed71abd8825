//! Builds of Shoal with different allocators: throughput of a read and of a mixed load, and memory.

use std::cell::Cell;
use std::io;

use crate::net::Session;
use crate::net::contestant::Contestant;
use crate::net::options::ALLOCATORS;
use crate::net::rounds::{Setting, alternate};
use crate::net::row::{Bound, Row};

/// What a build has without features of its own.
const DEFAULT: &str = "mimalloc";
const SCRIPTS: [&str; 2] = ["oltp_point_select", "oltp_read_write"];
const THREADS: u32 = 8;
/// Less than this apart, two allocators are as good as each other.
const SHARE_MIN: f64 = 0.98;

pub fn run(session: &mut Session) -> io::Result<()> {
    let plan = session.plan;
    let (mut names, mut servers, mut absent) = (Vec::new(), Vec::new(), Vec::new());
    let builds = ALLOCATORS.map(|name| (name, plan.build_with(name)));
    for (name, binary) in [(DEFAULT, Some(plan.shoal_binary.clone()))].into_iter().chain(builds) {
        let Some(binary) = binary else {
            absent.push(name);
            continue;
        };
        session.progress.doing(format!("allocators: start and load with {name}"));
        let server = Contestant::shoal(&binary, &[], plan)?;
        server.load()?;
        names.push(name);
        servers.push(server);
    }
    let mut memory = Row::new("resident memory with the table, before and after the loads", "MiB");
    let note = |memory: &mut Row, when: &str, servers: &[Contestant]| -> io::Result<()> {
        for (name, server) in names.iter().zip(servers) {
            memory.cell(&format!("{name}, {when}")).runs.push(server.resident()? as f64 / f64::from(1 << 20));
        }
        Ok(())
    };
    note(&mut memory, "loaded", &servers)?;
    let mut shares = Vec::new();
    for script in SCRIPTS {
        let mut row = Row::new(format!("{script}, {THREADS} threads, allocators"), "queries/s");
        let peaks: Vec<Cell<u64>> = names.iter().map(|_| Cell::new(0)).collect();
        let settings = names.iter().enumerate().map(|(place, &name)| {
            let peak = &peaks[place];
            Setting::new(name, place, move |server: &Contestant| {
                let figure = server.sysbench(script, THREADS, plan.time)?;
                peak.set(peak.get().max(server.resident()?));
                Ok(figure)
            })
        });
        let settings: Vec<Setting> = settings.collect();
        alternate(&mut servers, &mut row, &settings, plan.runs, session.progress)?;
        for (name, peak) in names.iter().zip(&peaks) {
            row.note(format!("{name}: {} MiB resident after the load.", peak.get() >> 20));
        }
        shares.push(share_of_best(&row));
        session.push(row);
    }
    note(&mut memory, "after both", &servers)?;
    // Both loads count alike.
    let share =
        shares.iter().copied().product::<Option<f64>>().map(|product| product.powf(1.0 / SCRIPTS.len() as f64));
    let share = share.filter(|_| absent.is_empty());
    memory.goal(format!("{DEFAULT} / the best, mean of both loads"), share, Bound::AtLeast(SHARE_MIN));
    for name in absent {
        memory.note(format!("There is no build with {name} here; `make bench-net` makes it."));
    }
    session.push(memory);
    Ok(())
}

/// What the default reaches of the best.
fn share_of_best(row: &Row) -> Option<f64> {
    let best = row.cells.iter().filter_map(|cell| cell.median()).fold(0.0, f64::max);
    Some(row.figure(DEFAULT)? / best).filter(|share| share.is_finite())
}
