//! The results as a Markdown page and as JSON.

use std::fmt::Write as _;
use std::io;

use serde_json::{Value, json};

use super::contestant::{Footprint, Run};
use super::options::{Plan, Who};
use super::session::{Cell, Outcome, Row};
use super::workload::ErrorsAllowed;
use crate::measure::facts::{Facts, facts_json};
use crate::measure::results;

/// sbtest: two INTs, and digits that fill 119 of CHAR(120) and 59 of CHAR(60).
const RAW_BYTES_PER_ROW: f64 = 4.0 + 4.0 + 119.0 + 59.0;
const BYTES_PER_ROW_MAX: f64 = 1.5 * RAW_BYTES_PER_ROW + 64.0;
const START_EMPTY_SECONDS_MAX: f64 = 0.3;
const START_LOADED_SECONDS_MAX: f64 = 2.0;

pub struct Report<'a> {
    pub plan: &'a Plan,
    pub facts: &'a Facts,
    pub outcome: &'a Outcome,
}

/// The medians of one server in one row.
struct Medians {
    rate: f64,
    p95_ms: f64,
    cpu_micros: f64,
    /// That sysbench passed over, a transaction.
    errors: f64,
}

impl Report<'_> {
    pub fn write(&self) -> io::Result<()> {
        results::write(&self.plan.out, &self.markdown(), &self.json())
    }

    pub fn markdown(&self) -> String {
        let mut page = String::from("# Shoal side by side with MariaDB\n\n");
        let plan = self.plan;
        let _ = writeln!(
            page,
            "sysbench scripts as shipped, 1 table x {} rows, {} alternating runs of {} s, medians. \
             MariaDB: 4 GiB buffer pool, innodb_flush_log_at_trx_commit=1. Shoal: `shoal dev {}`. \
             Ratios are Shoal / MariaDB. CPU is server CPU time per query (per row for bulk_insert). The ceiling \
             is a responder with canned answers and no database. Errors: deadlocks and lock waits a transaction, which sysbench \
             passes over. Took {:.0} min.\n",
            plan.rows,
            plan.runs,
            plan.time.as_secs(),
            plan.shoal_arguments.join(" "),
            self.outcome.took.as_secs_f64() / 60.0
        );
        for (who, reason) in &plan.absent {
            let _ = writeln!(page, "{} was not run: {reason}.\n", who.name());
        }
        for (name, value) in self.facts {
            let _ = writeln!(page, "- {name}: {value}");
        }
        self.throughput_table(&mut page);
        self.footprint_table(&mut page);
        self.failures(&mut page);
        page
    }

    fn throughput_table(&self, page: &mut String) {
        page.push_str(
            "\n| workload | threads | MariaDB /s | Shoal /s | ratio | p95 ms M | p95 ms S | ratio \
             | CPU us M | CPU us S | ratio | errors M | errors S | canned /s | of ceiling | CPU us canned | goal | verdict |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|---|\n",
        );
        for row in &self.outcome.rows {
            let (mariadb, shoal) = (row.medians(Who::Mariadb), row.medians(Who::Shoal));
            let ceiling = row.medians(Who::Canned);
            let both = |figure: fn(&Medians) -> f64| [&mariadb, &shoal].map(|side| side.as_ref().map(figure));
            let [rate, p95, cpu, errors] = [
                both(|medians| medians.rate),
                both(|medians| medians.p95_ms),
                both(|medians| medians.cpu_micros),
                both(|medians| medians.errors),
            ];
            let share = quotient(rate[1], ceiling.as_ref().map(|medians| medians.rate));
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                row.workload.name,
                row.threads,
                number(rate[0], 0),
                number(rate[1], 0),
                number(quotient(rate[1], rate[0]), 2),
                number(p95[0], 2),
                number(p95[1], 2),
                number(quotient(p95[1], p95[0]), 2),
                number(cpu[0], 1),
                number(cpu[1], 1),
                number(quotient(cpu[1], cpu[0]), 2),
                number(errors[0], 3),
                number(errors[1], 3),
                number(ceiling.as_ref().map(|medians| medians.rate), 0),
                number(share, 2),
                number(ceiling.map(|medians| medians.cpu_micros), 1),
                goal_text(row),
                verdict(row),
            );
        }
    }

    fn footprint_table(&self, page: &mut String) {
        page.push_str(
            "\n| server | start, empty | start, loaded | load of the table | memory empty | loaded \
             | after restart | bytes a row | verdict |\n|---|--:|--:|--:|--:|--:|--:|--:|---|\n",
        );
        for (who, footprint) in &self.outcome.footprints {
            let Ok(footprint) = footprint else {
                let _ = writeln!(page, "| {} | failed | | | | | | | |", who.name());
                continue;
            };
            let mib = |bytes: u64| match bytes {
                0 => "-".to_string(),
                _ => format!("{} MiB", bytes >> 20),
            };
            let seconds = |time: f64| format!("{time:.2} s");
            let bytes = self.bytes_per_row(footprint);
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                who.name(),
                seconds(footprint.start_empty.as_secs_f64()),
                footprint.start_loaded.map_or("-".into(), |time| seconds(time.as_secs_f64())),
                seconds(footprint.prepare.as_secs_f64()),
                mib(footprint.resident_empty),
                mib(footprint.resident_loaded),
                mib(footprint.resident_restarted),
                number(bytes, 0),
                match who {
                    Who::Shoal => footprint_verdict(footprint, bytes),
                    _ => "-".into(),
                },
            );
        }
        let _ = writeln!(
            page,
            "\nGoals: {BYTES_PER_ROW_MAX:.0} bytes a row (1.5 x the {RAW_BYTES_PER_ROW:.0} raw bytes, plus 64), \
             start within {START_EMPTY_SECONDS_MAX} s empty and {START_LOADED_SECONDS_MAX} s loaded."
        );
        for (who, footprint) in &self.outcome.footprints {
            for (name, value) in footprint.iter().flat_map(|print| &print.memory_status) {
                let _ = writeln!(page, "- {} {name}: {value}", who.name());
            }
        }
    }

    fn failures(&self, page: &mut String) {
        for (who, footprint) in &self.outcome.footprints {
            if let Err(failure) = footprint {
                let _ = writeln!(page, "\n{} failed to start or load: {failure}", who.name());
            }
        }
        for row in &self.outcome.rows {
            for (who, cell) in &row.cells {
                if let Some(failure) = &cell.failure {
                    let (name, threads) = (row.workload.name, row.threads);
                    let _ = writeln!(page, "\n{who}, {name} x{threads}: {failure}");
                }
            }
        }
    }

    fn bytes_per_row(&self, footprint: &Footprint) -> Option<f64> {
        let grown = footprint.resident_loaded.checked_sub(footprint.resident_empty)?;
        Some(grown as f64 / self.plan.rows.max(1) as f64)
    }

    fn json(&self) -> Value {
        let facts = facts_json(self.facts);
        let absent: Vec<Value> =
            self.plan.absent.iter().map(|(who, reason)| json!({"server": who.name(), "reason": reason})).collect();
        json!({
            "rows": self.plan.rows,
            "runs": self.plan.runs,
            "seconds": self.plan.time.as_secs(),
            "shoal_arguments": self.plan.shoal_arguments,
            "machine": facts,
            "absent": absent,
            "footprints": self.outcome.footprints.iter().map(footprint_json).collect::<Vec<_>>(),
            "results": self.outcome.rows.iter().map(row_json).collect::<Vec<_>>(),
        })
    }
}

impl Row {
    fn cell(&self, who: Who) -> Option<&Cell> {
        self.cells.get(who.name())
    }

    fn medians(&self, who: Who) -> Option<Medians> {
        let cell = self.cell(who)?;
        Some(Medians {
            rate: cell.median(|run| run.rate(self.workload))?,
            p95_ms: cell.median(|run| run.figures.p95_ms)?,
            cpu_micros: cell.median(|run| run.cpu_micros(self.workload))?,
            errors: cell.median(|run| run.figures.ignored_errors as f64 / run.figures.events.max(1) as f64)?,
        })
    }
}

fn goal_text(row: &Row) -> String {
    let goal = row.workload.goal(row.threads);
    let mut parts = Vec::new();
    if let Some(ratio) = goal.cpu_ratio_max {
        parts.push(format!("CPU <= {ratio}x"));
    }
    if let Some(micros) = goal.cpu_micros_max {
        parts.push(format!("<= {micros} us"));
    }
    if let Some(ratio) = goal.throughput_ratio_min {
        parts.push(format!(">= {ratio}x"));
    }
    if let Some(share) = goal.ceiling_share_min {
        parts.push(format!("ceiling >= {share}"));
    }
    if let Some(share) = goal.share_of_first_min {
        parts.push(format!(">= {share}x of the fewest threads"));
    }
    match goal.errors {
        ErrorsAllowed::Any => {}
        ErrorsAllowed::None => parts.push("no error".into()),
        ErrorsAllowed::AsMany => parts.push("errors <= MariaDB's".into()),
    }
    parts.join(", ")
}

fn verdict(row: &Row) -> String {
    match row.cell(Who::Shoal) {
        None => return "not run".into(),
        Some(cell) if cell.failure.is_some() => return "FAILED".into(),
        Some(_) => {}
    }
    let Some(shoal) = row.medians(Who::Shoal) else {
        return "not run".into();
    };
    let mariadb = row.medians(Who::Mariadb);
    let ceiling = row.medians(Who::Canned);
    let goal = row.workload.goal(row.threads);
    let mut missed = Vec::new();
    let mut open = false;
    let mut check = |name: &str, limit: Option<f64>, figure: Option<f64>, at_most: bool| match (limit, figure) {
        (None, _) => {}
        (Some(_), None) => open = true,
        (Some(limit), Some(figure)) if (figure <= limit) == at_most || figure == limit => {}
        (Some(_), Some(_)) => missed.push(name.to_string()),
    };
    let cpu_ratio = mariadb.as_ref().map(|other| shoal.cpu_micros / other.cpu_micros);
    let rate_ratio = mariadb.as_ref().map(|other| shoal.rate / other.rate);
    let share = ceiling.map(|other| shoal.rate / other.rate);
    check("CPU ratio", goal.cpu_ratio_max, cpu_ratio, true);
    check("CPU", goal.cpu_micros_max, Some(shoal.cpu_micros), true);
    check("throughput", goal.throughput_ratio_min, rate_ratio, false);
    check("ceiling", goal.ceiling_share_min, share, false);
    let of_first = row.first_rate.map(|first| shoal.rate / first);
    check("share of the fewest threads", goal.share_of_first_min, of_first, false);
    let errors_max = match goal.errors {
        ErrorsAllowed::Any => None,
        ErrorsAllowed::None => Some(0.0),
        ErrorsAllowed::AsMany => Some(mariadb.as_ref().map_or(0.0, |other| other.errors)),
    };
    check("errors", errors_max, Some(shoal.errors), true);
    match (missed.is_empty(), open) {
        (false, _) => format!("missed: {}", missed.join(", ")),
        (true, true) => "incomplete".into(),
        (true, false) => "met".into(),
    }
}

fn footprint_verdict(footprint: &Footprint, bytes_per_row: Option<f64>) -> String {
    let mut missed = Vec::new();
    if footprint.start_empty.as_secs_f64() > START_EMPTY_SECONDS_MAX {
        missed.push("start, empty");
    }
    let loaded = footprint.start_loaded.map(|time| time.as_secs_f64());
    if loaded.is_none_or(|seconds| seconds > START_LOADED_SECONDS_MAX) {
        missed.push("start, loaded");
    }
    if bytes_per_row.is_none_or(|bytes| bytes > BYTES_PER_ROW_MAX) {
        missed.push("memory");
    }
    match missed.is_empty() {
        true => "met".into(),
        false => format!("missed: {}", missed.join("; ")),
    }
}

fn quotient(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    Some(above? / below?).filter(|value| value.is_finite())
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.decimals$}"))
}

fn footprint_json((who, footprint): &(Who, Result<Footprint, String>)) -> Value {
    match footprint {
        Err(failure) => json!({"server": who.name(), "failure": failure}),
        Ok(print) => json!({
            "server": who.name(),
            "start_empty_seconds": print.start_empty.as_secs_f64(),
            "start_loaded_seconds": print.start_loaded.map(|time| time.as_secs_f64()),
            "prepare_seconds": print.prepare.as_secs_f64(),
            "resident_empty_bytes": print.resident_empty,
            "resident_loaded_bytes": print.resident_loaded,
            "resident_restarted_bytes": print.resident_restarted,
            "memory_status": print.memory_status,
        }),
    }
}

fn row_json(row: &Row) -> Value {
    let cells: Vec<Value> = row
        .cells
        .iter()
        .map(|(who, cell)| {
            let runs: Vec<Value> = cell.runs.iter().map(|run| run_json(run, row)).collect();
            json!({"server": who, "failure": cell.failure, "runs": runs})
        })
        .collect();
    json!({
        "workload": row.workload.name,
        "threads": row.threads,
        "goal": goal_text(row),
        "verdict": verdict(row),
        "servers": cells,
    })
}

fn run_json(run: &Run, row: &Row) -> Value {
    json!({
        "per_second": run.rate(row.workload),
        "p95_ms": run.figures.p95_ms,
        "cpu_micros": run.cpu_micros(row.workload),
        "queries": run.figures.queries,
        "events": run.figures.events,
        "ignored_errors": run.figures.ignored_errors,
        "seconds": run.figures.seconds,
    })
}

#[cfg(test)]
mod tests;
