//! The results as a Markdown page and as JSON.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use super::Outcome;
use super::contestant::{Run, Who};
use super::faults::{Series, Trial};
use super::options::Plan;
use super::rejoin::{Rejoin, SHARE_MIN};
use super::throughput::{Cell, Peer, Row};
use crate::measure::facts::{Facts, facts_json};
use crate::measure::results;

pub struct Report<'a> {
    pub plan: &'a Plan,
    pub facts: &'a Facts,
    pub outcome: &'a Outcome,
}

impl Report<'_> {
    pub fn write(&self) -> io::Result<()> {
        results::write(&self.plan.out, &self.markdown(), &self.json())
    }

    pub fn markdown(&self) -> String {
        let mut page = String::from("# A cluster of Shoal\n\n");
        let _ = writeln!(
            page,
            "Everything on one machine: `shoal dev --data-nodes 2`, that is two data nodes with the sql role and a \
             management node, two copies of every row. Took {:.0} min.\n",
            self.outcome.took.as_secs_f64() / 60.0
        );
        for (name, value) in self.facts {
            let _ = writeln!(page, "- {name}: {value}");
        }
        for failure in &self.outcome.failures {
            let _ = writeln!(page, "- not measured: {failure}");
        }
        if !self.outcome.rows.is_empty() {
            self.throughput(&mut page);
        }
        if !self.outcome.faults.is_empty() {
            self.faults(&mut page);
        }
        if !self.outcome.rejoins.is_empty() {
            self.rejoins(&mut page);
        }
        page
    }

    fn throughput(&self, page: &mut String) {
        let _ = writeln!(
            page,
            "\n## Throughput\n\nsysbench scripts as shipped, 1 table x {} rows, {} alternating runs of {} s, each after 2 s that \
             do not count, medians; \
             all clients connect to one node. Shoal replicated: a commit is in the memory of both data nodes. Shoal disk: \
             it is on both disks. Shoal SQL node: replicated, SQL in a process of its own. Galera: two nodes, \
             innodb_flush_log_at_trx_commit=0 (flush 1: =1). hot_row: all threads add 1 to one row (oltp_update_index on it). MariaDB: one unreplicated server, innodb_flush_log_at_trx_commit=1. CPU is \
             that of all server processes per query. Rows without a goal are for information.\n",
            self.plan.rows,
            self.plan.runs,
            self.plan.time.as_secs()
        );
        page.push_str(
            "| workload | threads | peer | peer /s | p95 ms | CPU us | Shoal | /s | p95 ms | CPU us | ratio | goal | verdict |\n\
             |---|--:|---|--:|--:|--:|---|--:|--:|--:|--:|---|---|\n",
        );
        for row in &self.outcome.rows {
            for cell in row.cells.iter().filter(|cell| cell.who.is_shoal()) {
                page.push_str(&throughput_line(row, cell));
            }
        }
        if self.outcome.rows.iter().any(|row| row.machine().is_some()) {
            self.machines(page);
        }
        for row in &self.outcome.rows {
            for cell in &row.cells {
                if let Some(failure) = &cell.failure {
                    let (name, threads) = (row.workload, row.threads);
                    let _ = writeln!(page, "\n{}, {name} x{threads}: {failure}", cell.who.name());
                }
            }
        }
    }

    /// Figures from elsewhere, brought to the speed of this machine.
    fn machines(&self, page: &mut String) {
        page.push_str(
            "\nFigures from elsewhere say little about this machine. MariaDB was measured there as well, and here in the same minutes: \
             what it does here beside there is taken for the machine's speed.\n\n\
             | workload | threads | MariaDB here /s | machine | NDB at that speed /s | Shoal SQL node /s | ratio |\n\
             |---|--:|--:|--:|--:|--:|--:|\n",
        );
        for row in &self.outcome.rows {
            let Some(machine) = row.machine() else { continue };
            let here = row.cell(Who::Mariadb).and_then(|cell| cell.median(Run::per_second));
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} | {} |",
                row.workload,
                row.threads,
                number(here, 0),
                number(Some(machine), 2),
                number(row.peer_per_second().map(|rate| rate * machine), 0),
                number(row.cell(row.judged).and_then(|cell| cell.median(Run::per_second)), 0),
                number(row.ratio(row.judged).map(|ratio| ratio / machine), 2),
            );
        }
    }

    fn faults(&self, page: &mut String) {
        page.push_str(
            "\n## Nodes that die\n\nOne node after the other goes while clients increment counters, retrying after 1 ms. \
             Outage: the longest time between two commits of a client at a node without rows that writes rows of all \
             partitions. Return: the same while the node comes back. Moved: the client whose connection was to the node. \
             Back: until the node was ready again (a killed one is started after two seconds). Lost: acknowledged \
             increments that are not there; invented: more than were tried; halves: transactions on two rows of which one \
             half is there.\n\n\
             | node | durability | trials | outage ms, median | worst | within goal | return ms, worst \
             | moved ms, median | worst | back s, median | acknowledged | failed | lost | invented | halves | goal | verdict |\n\
             |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|---|\n",
        );
        for series in &self.outcome.faults {
            page.push_str(&faults_line(series));
        }
        for series in &self.outcome.faults {
            let name = format!("{}, {}", series.fault.name(), series.durability.name());
            if let Some(failure) = &series.failure {
                let _ = writeln!(page, "\nNode {name}: {failure}");
            }
            if !series.errors.is_empty() {
                let _ = writeln!(page, "\nWhat clients were told, node {name}:\n");
            }
            for (text, count) in &series.errors {
                let _ = writeln!(page, "- {count} x {text}");
            }
        }
    }

    fn rejoins(&self, page: &mut String) {
        let _ = writeln!(
            page,
            "\n## A node that comes back\n\n{} MB of rows (sysbench tables), 8 threads of update_non_index at a node without rows \
             all the time, durability disk. Time and throughput from the start of the process until it had everything.\n\n\
             | node | seconds | MB/s | q/s before | q/s meanwhile | share | goal | verdict |\n\
             |---|--:|--:|--:|--:|--:|---|---|",
            self.plan.rejoin_bytes / 1_000_000
        );
        for rejoin in &self.outcome.rejoins {
            let _ = writeln!(
                page,
                "| {} | {:.1} | {} | {:.0} | {:.0} | {} | >= {SHARE_MIN} | {} |",
                rejoin.way.name(),
                rejoin.took.as_secs_f64(),
                number(rejoin.megabytes_per_second(), 1),
                rejoin.before_per_second,
                rejoin.meanwhile_per_second,
                number(rejoin.share(), 2),
                rejoin.verdict()
            );
        }
        for rejoin in &self.outcome.rejoins {
            if let Some(failure) = &rejoin.failure {
                let _ = writeln!(page, "\nRejoin {}: {failure}", rejoin.way.name());
            }
        }
    }

    fn json(&self) -> Value {
        let facts = facts_json(self.facts);
        json!({
            "rows": self.plan.rows,
            "runs": self.plan.runs,
            "seconds": self.plan.time.as_secs(),
            "trials": self.plan.trials,
            "machine": facts,
            "not_measured": self.outcome.failures,
            "throughput": self.outcome.rows.iter().map(row_json).collect::<Vec<_>>(),
            "faults": self.outcome.faults.iter().map(series_json).collect::<Vec<_>>(),
            "rejoins": self.outcome.rejoins.iter().map(rejoin_json).collect::<Vec<_>>(),
        })
    }
}

fn throughput_line(row: &Row, cell: &Cell) -> String {
    let peer = match row.peer {
        Peer::Measured(who) => row.cell(who),
        Peer::Fixed { .. } => None,
    };
    let judged = cell.who == row.judged;
    let figures = |cell: Option<&Cell>| {
        let p95 = cell.and_then(|cell| cell.median(|run| run.figures.p95_ms));
        [number(p95, 2), number(cell.and_then(|cell| cell.median(Run::cpu_micros)), 1)].join(" | ")
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        row.workload,
        row.threads,
        row.peer.name(),
        number(row.peer_per_second(), 0),
        figures(peer),
        short_name(cell.who),
        number(cell.median(Run::per_second), 0),
        figures(Some(cell)),
        number(row.ratio(cell.who), 2),
        if judged { format!(">= {}x", row.ratio_min) } else { "-".into() },
        if judged { row.verdict() } else { "-" },
    )
}

fn short_name(who: Who) -> &'static str {
    who.name().trim_start_matches("Shoal ")
}

fn faults_line(series: &Series) -> String {
    let trials = &series.trials;
    let of = |figure: fn(&Trial) -> Duration| Spread::of(trials.iter().map(figure));
    let (outage, moved) = (of(|trial| trial.outage), of(|trial| trial.outage_of_moved));
    let (returned, back) = (of(|trial| trial.outage_of_return), of(|trial| trial.back_after));
    let audit = match &series.audit {
        Some(audit) => [audit.acknowledged, audit.failed, audit.lost, audit.invented, audit.halves]
            .map(|count| count.to_string())
            .join(" | "),
        None => "- | - | - | - | -".into(),
    };
    format!(
        "| {} | {} | {} | {} | {} | {} of {} | {} | {} | {} | {} | {audit} | <= {} ms, 0 lost | {} |\n",
        series.fault.name(),
        series.durability.name(),
        trials.len(),
        milliseconds(outage.median),
        milliseconds(outage.worst),
        series.within(),
        series.asked,
        milliseconds(returned.worst),
        milliseconds(moved.median),
        milliseconds(moved.worst),
        number(back.median.map(|time| time.as_secs_f64()), 1),
        series.fault.outage_max().as_millis(),
        series.verdict()
    )
}

/// Of a figure over the trials.
struct Spread {
    median: Option<Duration>,
    worst: Option<Duration>,
}

impl Spread {
    fn of(values: impl Iterator<Item = Duration>) -> Spread {
        let mut values: Vec<Duration> = values.collect();
        values.sort();
        // Of an even number the worse of the two in the middle.
        Spread { median: values.get(values.len() / 2).copied(), worst: values.last().copied() }
    }
}

fn milliseconds(time: Option<Duration>) -> String {
    number(time.map(|time| time.as_secs_f64() * 1e3), 0)
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.decimals$}"))
}

fn row_json(row: &Row) -> Value {
    let cells = row.cells.iter().map(|cell| {
        let runs = cell.runs.iter().map(|run| {
            json!({
                "per_second": run.per_second(),
                "p95_ms": run.figures.p95_ms,
                "cpu_micros": run.cpu_micros(),
                "queries": run.figures.queries,
                "ignored_errors": run.figures.ignored_errors,
                "seconds": run.figures.seconds,
            })
        });
        json!({"server": cell.who.name(), "failure": cell.failure, "runs": runs.collect::<Vec<_>>()})
    });
    json!({
        "workload": row.workload,
        "threads": row.threads,
        "peer": row.peer.name(),
        "peer_per_second": row.peer_per_second(),
        "judged": row.judged.name(),
        "ratio": row.ratio(row.judged),
        "ratio_min": row.ratio_min,
        "machine": row.machine(),
        "verdict": row.verdict(),
        "servers": cells.collect::<Vec<_>>(),
    })
}

fn series_json(series: &Series) -> Value {
    let trials = series.trials.iter().map(|trial| {
        json!({
            "node": trial.victim,
            "outage_ms": trial.outage.as_secs_f64() * 1e3,
            "outage_of_return_ms": trial.outage_of_return.as_secs_f64() * 1e3,
            "outage_of_moved_ms": trial.outage_of_moved.as_secs_f64() * 1e3,
            "back_after_seconds": trial.back_after.as_secs_f64(),
        })
    });
    let audit = series.audit.map(|audit| {
        json!({
            "acknowledged": audit.acknowledged,
            "failed": audit.failed,
            "lost": audit.lost,
            "invented": audit.invented,
            "halves": audit.halves,
        })
    });
    json!({
        "fault": series.fault.name(),
        "durability": series.durability.name(),
        "asked": series.asked,
        "outage_ms_max": series.fault.outage_max().as_millis() as u64,
        "within": series.within(),
        "verdict": series.verdict(),
        "failure": series.failure,
        "audit": audit,
        "errors": series.errors,
        "trials": trials.collect::<Vec<_>>(),
    })
}

fn rejoin_json(rejoin: &Rejoin) -> Value {
    json!({
        "way": rejoin.way.name(),
        "bytes": rejoin.bytes,
        "seconds": rejoin.took.as_secs_f64(),
        "megabytes_per_second": rejoin.megabytes_per_second(),
        "before_per_second": rejoin.before_per_second,
        "meanwhile_per_second": rejoin.meanwhile_per_second,
        "share": rejoin.share(),
        "share_min": SHARE_MIN,
        "verdict": rejoin.verdict(),
        "failure": rejoin.failure,
    })
}

#[cfg(test)]
mod tests;
