//! What the network and the eyes of operators cost, beside MariaDB in one run: TLS, compression over narrow lines, many clients, connections,
//! statistics; and the allocators that Shoal can be built with.
//!
//! Method: one Shoal and one MariaDB with the same certificate and the same table serve most parts; configurations take turns, those that are not
//! measured are paused, medians count. Load comes from sysbench where its library can do what is measured, otherwise from [`crate::wire`], which
//! speaks zstd too; what is set against each other in a row has the same client. A part that cannot be measured here says why, and the
//! rest goes on.

mod contestant;
mod lines;
mod link;
mod options;
mod relay;
mod report;
mod rounds;
mod row;

pub use options::Options;

use std::io;
use std::time::Instant;

use crate::measure::interrupt;
use crate::measure::progress::Progress;

use contestant::Contestant;
use options::{Part, Plan};
use row::{Picture, Row};

/// What every part is given.
pub struct Session<'a> {
    plan: &'a Plan,
    progress: &'a Progress,
    rows: Vec<Row>,
    pictures: Vec<Picture>,
    /// Shoal and MariaDB, with a table each; started for the first part that wants them.
    pair: Vec<Contestant>,
}

/// Where in the pair they are.
const SHOAL: usize = 0;
const MARIADB: usize = 1;

impl Session<'_> {
    /// A row is complete.
    fn push(&mut self, row: Row) {
        self.progress.say(&row.summary());
        self.rows.push(row);
    }

    fn start_pair(&mut self) -> io::Result<()> {
        if self.pair.is_empty() {
            self.progress.doing("start and load Shoal and MariaDB");
            let shoal = Contestant::shoal(&self.plan.shoal_binary, &[], self.plan)?;
            shoal.load()?;
            let mariadb = Contestant::mariadb(&shoal, self.plan)?;
            mariadb.load()?;
            self.pair = vec![shoal, mariadb];
        }
        Ok(())
    }
}

/// Runs the parts and writes their results.
pub fn run(options: &Options) -> io::Result<()> {
    interrupt::install()?;
    let Some(plan) = options.plan()? else { return Ok(()) };
    lines::raise_file_limit();
    let facts = crate::machine::machine(&plan.work_dir, Some(&plan.shoal_binary))?;
    let started = Instant::now();
    let progress = Progress::new(plan.parts.len() as u64);
    let (rows, pictures, pair) = (Vec::new(), Vec::new(), Vec::new());
    let mut session = Session { plan: &plan, progress: &progress, rows, pictures, pair };
    for &part in &plan.parts {
        if interrupt::requested() {
            break;
        }
        if !shares_the_pair(part) {
            session.pair.clear();
        }
        if let Err(error) = measure(part, &mut session) {
            let mut row = Row::new(format!("{part:?}"), "");
            row.cell("Shoal").failure = Some(error.to_string());
            session.push(row);
        }
        progress.step();
    }
    session.pair.clear();
    progress.end();
    let (rows, pictures) = (&session.rows, &session.pictures);
    let report = report::Report { plan: &plan, facts: &facts, rows, pictures, took: started.elapsed() };
    report.write()?;
    println!("{}", report.markdown());
    match interrupt::requested() {
        true => Err(io::Error::other("interrupted; the results are incomplete")),
        false => Ok(()),
    }
}

fn shares_the_pair(part: Part) -> bool {
    matches!(part, Part::Tls | Part::Threads | Part::Connects | Part::Compression | Part::Pictures)
}

fn measure(part: Part, session: &mut Session) -> io::Result<()> {
    match part {
        Part::Tls => lines::tls::run(session),
        Part::Threads => lines::threads::run(session),
        Part::Connects => lines::connects::run(session),
        Part::Compression => lines::compression::run(session),
        Part::Pictures => lines::pictures::run(session),
        Part::Idle => lines::idle::run(session),
        Part::Observed => lines::observed::run(session),
        Part::Allocators => lines::allocators::run(session),
    }
}
