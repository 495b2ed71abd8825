//! The throughput rows: what is asked for, who runs when, medians.

use std::thread;
use std::time::Duration;

use super::Outcome;
use super::contestant::{Contestant, Run, Who};
use super::options::{Part, Plan};
use crate::measure::progress::Progress;
use crate::measure::{interrupt, results};

/// After loading, background work gets this long before anything is measured, at most.
const SETTLE: Duration = Duration::from_secs(5);
/// Queries a second with 8 threads on another machine of this kind: NDB 7.2.1 with mysqld 5.6, diskless, and MariaDB 10.11 with every
/// commit flushed. What MariaDB does here beside what it did there tells how quick this machine is.
const ELSEWHERE: [(&str, f64, f64); 4] = [
    ("point_select", 38_600.0, 70_700.0),
    ("read_only", 16_100.0, 44_000.0),
    ("update_non_index", 13_400.0, 25_300.0),
    ("read_write", 13_800.0, 36_900.0),
];
/// All threads add 1 to one row: oltp_update_index, which does that to column k, on the first row alone.
pub const HOT_ROW: &str = "hot_row";
const HOT_ROW_THREADS: u32 = 64;
const NDB_NAME: &str = "NDB 7.2 (measured elsewhere)";

/// What Shoal is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Peer {
    /// In the same run.
    Measured(Who),
    /// A figure of another run on a machine of this kind, and MariaDB's figure there.
    Fixed { name: &'static str, per_second: f64, mariadb_per_second: f64 },
}

impl Peer {
    pub fn name(&self) -> &'static str {
        match self {
            Peer::Measured(who) => who.name(),
            Peer::Fixed { name, .. } => name,
        }
    }
}

/// One workload with one number of threads.
pub struct Row {
    pub part: Part,
    /// Without sysbench's `oltp_`; or [`HOT_ROW`].
    pub workload: &'static str,
    pub threads: u32,
    pub peer: Peer,
    /// Who is held to the goal; the others are for information.
    pub judged: Who,
    pub ratio_min: f64,
    pub cells: Vec<Cell>,
}

/// The runs of one contestant in one row.
pub struct Cell {
    pub who: Who,
    pub runs: Vec<Run>,
    pub failure: Option<String>,
}

impl Row {
    fn new(part: Part, workload: &'static str, threads: u32, peer: Peer, judged: Who, ratio_min: f64) -> Row {
        Row { part, workload, threads, peer, judged, ratio_min, cells: Vec::new() }
    }

    fn with(mut self, others: &[Who]) -> Row {
        let measured = match self.peer {
            Peer::Measured(who) => Some(who),
            Peer::Fixed { .. } => Some(Who::Mariadb),
        };
        let all = measured.into_iter().chain([self.judged]).chain(others.iter().copied());
        self.cells = all.map(|who| Cell { who, runs: Vec::new(), failure: None }).collect();
        self
    }

    pub fn cell(&self, who: Who) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.who == who)
    }

    /// Queries a second of what Shoal is compared with.
    pub fn peer_per_second(&self) -> Option<f64> {
        match self.peer {
            Peer::Fixed { per_second, .. } => Some(per_second),
            Peer::Measured(who) => self.cell(who)?.median(Run::per_second),
        }
    }

    /// What `who` reaches of the peer.
    pub fn ratio(&self, who: Who) -> Option<f64> {
        let own = self.cell(who)?.median(Run::per_second)?;
        Some(own / self.peer_per_second()?).filter(|ratio| ratio.is_finite())
    }

    /// How quick this machine is beside the one that the peer's figure is from.
    pub fn machine(&self) -> Option<f64> {
        let Peer::Fixed { mariadb_per_second, .. } = self.peer else { return None };
        Some(self.cell(Who::Mariadb)?.median(Run::per_second)? / mariadb_per_second)
    }

    pub fn verdict(&self) -> &'static str {
        match (self.cell(self.judged), self.ratio(self.judged)) {
            (Some(Cell { failure: Some(_), .. }), _) => "FAILED",
            (_, Some(ratio)) => results::verdict(ratio >= self.ratio_min),
            (Some(cell), None) if cell.runs.is_empty() => "not run",
            (_, None) => "incomplete: no peer",
        }
    }
}

impl Cell {
    /// The median of a figure over the runs.
    pub fn median(&self, figure: impl Fn(&Run) -> f64) -> Option<f64> {
        results::median(self.runs.iter().map(figure))
    }
}

/// All rows that the plan asks for.
pub fn rows(plan: &Plan) -> Vec<Row> {
    let mut rows = Vec::new();
    if plan.takes_part(Part::Galera) {
        let galera = Peer::Measured(Who::Galera);
        for workload in ["update_non_index", "insert"] {
            for &threads in &plan.threads {
                let row = Row::new(Part::Galera, workload, threads, galera, Who::Replicated, 3.0);
                rows.push(row.with(&[Who::Disk]));
            }
        }
    }
    if plan.takes_part(Part::HotRow) {
        let pairs = [(Who::GaleraDisk, Who::Disk), (Who::Galera, Who::Replicated)];
        rows.extend(pairs.map(|(peer, judged)| {
            Row::new(Part::HotRow, HOT_ROW, HOT_ROW_THREADS, Peer::Measured(peer), judged, 3.0).with(&[])
        }));
    }
    if plan.takes_part(Part::Mariadb) {
        // Both flush every commit.
        for workload in ["point_select", "read_write"] {
            let row = Row::new(Part::Mariadb, workload, 8, Peer::Measured(Who::Mariadb), Who::Disk, 1.0);
            rows.push(row.with(&[Who::Replicated]));
        }
    }
    if plan.takes_part(Part::SqlNode) {
        for (workload, per_second, mariadb_per_second) in ELSEWHERE {
            let peer = Peer::Fixed { name: NDB_NAME, per_second, mariadb_per_second };
            rows.push(Row::new(Part::SqlNode, workload, 8, peer, Who::SqlNode, 2.0).with(&[]));
        }
    }
    rows
}

/// Steps of the progress bar.
pub fn steps(plan: &Plan) -> u64 {
    rows(plan).iter().map(|row| row.cells.len() as u64 * u64::from(plan.runs)).sum()
}

/// Measures the rows with an SQL node apart from the others: its cluster shares the machine with nobody.
pub fn measure(plan: &Plan, progress: &Progress, outcome: &mut Outcome) {
    let (apart, together): (Vec<Row>, Vec<Row>) =
        rows(plan).into_iter().partition(|row| row.part == Part::SqlNode);
    for rows in [together, apart] {
        if !rows.is_empty() && !interrupt::requested() {
            measure_rows(rows, plan, progress, outcome);
        }
    }
}

fn measure_rows(mut rows: Vec<Row>, plan: &Plan, progress: &Progress, outcome: &mut Outcome) {
    let mut contestants = start_all(&rows, plan, progress, outcome);
    if !interrupt::requested() {
        thread::sleep(SETTLE.min(plan.time));
    }
    for row in &mut rows {
        for round in 0..plan.runs {
            measure_round(row, round, plan, &mut contestants, progress);
        }
        progress.say(&summary(row));
    }
    outcome.rows.extend(rows);
}

/// Every contestant that starts, in the order of its first appearance.
fn start_all(rows: &[Row], plan: &Plan, progress: &Progress, outcome: &mut Outcome) -> Vec<Contestant> {
    let mut wanted: Vec<Who> = rows.iter().flat_map(|row| row.cells.iter().map(|cell| cell.who)).collect();
    wanted.sort();
    wanted.dedup();
    let mut contestants = Vec::new();
    for who in wanted {
        if interrupt::requested() {
            break;
        }
        progress.doing(format!("{}: start and load", who.name()));
        match Contestant::start(who, plan) {
            Ok(contestant) => contestants.push(contestant),
            Err(error) => {
                progress.say(&format!("{} is not available: {error}", who.name()));
                outcome.failures.push(format!("{} is not available: {error}", who.name()));
            }
        }
    }
    contestants
}

fn measure_round(row: &mut Row, round: u32, plan: &Plan, contestants: &mut [Contestant], progress: &Progress) {
    let (script, extra): (String, &[&str]) = match row.workload {
        HOT_ROW => ("oltp_update_index".into(), &["--table-size=1"]),
        workload => (format!("oltp_{workload}"), &[]),
    };
    for cell in &mut row.cells {
        progress.step();
        if cell.failure.is_some() || interrupt::requested() {
            continue;
        }
        let Some(active) = contestants.iter().position(|contestant| contestant.who == cell.who) else {
            continue;
        };
        for (number, contestant) in contestants.iter_mut().enumerate() {
            match number == active {
                true => contestant.resume(),
                false => contestant.pause(),
            }
        }
        let name = cell.who.name();
        progress.doing(format!("{} x{} {name} {}/{}", row.workload, row.threads, round + 1, plan.runs));
        match contestants[active].run(&script, extra, row.threads, plan) {
            Ok(run) => cell.runs.push(run),
            Err(error) => cell.failure = Some(error.to_string()),
        }
    }
}

fn summary(row: &Row) -> String {
    let mut text = format!("{:<18} x{:<3}", row.workload, row.threads);
    for cell in &row.cells {
        match (&cell.failure, cell.median(Run::per_second)) {
            (Some(failure), _) => text.push_str(&format!("  {}: {failure}", cell.who.name())),
            (None, Some(rate)) => text.push_str(&format!("  {} {rate:.0}/s", cell.who.name())),
            (None, None) => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysbench::Figures;

    fn row(peer: Peer, own: &[u64]) -> Row {
        let mut row = Row::new(Part::Galera, "insert", 8, peer, Who::Replicated, 3.0).with(&[]);
        for (cell, queries) in row.cells.iter_mut().rev().zip(own) {
            let figures = Figures { queries: *queries, seconds: 2.0, ..Figures::default() };
            cell.runs.push(Run { figures, server_cpu: Duration::ZERO });
        }
        row
    }

    #[test]
    fn a_row_is_judged_by_the_ratio_to_the_server_of_the_same_run() {
        let galera = Peer::Measured(Who::Galera);
        assert_eq!(row(galera, &[600, 200]).verdict(), "met");
        assert_eq!(row(galera, &[598, 200]).verdict(), "missed");
        assert_eq!(row(galera, &[600]).verdict(), "incomplete: no peer");
        assert_eq!(row(galera, &[]).verdict(), "not run");
    }

    #[test]
    fn a_row_beside_a_figure_needs_no_other_server() {
        let peer = Peer::Fixed { name: NDB_NAME, per_second: 100.0, mariadb_per_second: 400.0 };
        assert_eq!(row(peer, &[600]).verdict(), "met");
        assert_eq!(row(peer, &[598]).verdict(), "missed");
        assert_eq!(row(peer, &[598]).machine(), None);
        assert_eq!(row(peer, &[598, 400]).machine(), Some(0.5), "200 a second here, 400 there");
    }

    #[test]
    fn a_failed_run_is_not_outvoted_by_good_ones() {
        let mut row = row(Peer::Measured(Who::Galera), &[900, 200]);
        row.cells[1].failure = Some("gone".into());
        assert_eq!(row.verdict(), "FAILED");
    }
}
