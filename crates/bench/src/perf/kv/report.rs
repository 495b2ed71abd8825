//! The results as Markdown, JSON and an HTML page.

use std::fmt::Write as _;

use crate::measure::facts::{Facts, facts_json};
use crate::measure::latency::QUANTILES;
use crate::measure::page::{Bar, Curve, Page};
use crate::measure::results;
use serde_json::{Value, json};

use super::row::{Cell, Goal, Row};

pub struct Report<'a> {
    pub facts: &'a Facts,
    pub rows: &'a [Row],
    pub failures: &'a [String],
    pub runs: u32,
    pub seconds: f64,
}

fn rate(per_second: Option<f64>) -> String {
    per_second.map_or("-".into(), |rate| format!("{rate:.0}"))
}

fn goal_text(goal: Goal) -> String {
    match goal {
        Goal::Times(times, lane) => format!(">= {times}x {}", lane.name()),
        Goal::PerSecond(rate) => format!(">= {rate:.0}/s"),
    }
}

fn goal_result(row: &Row, goal: Goal) -> String {
    match row.judge(goal) {
        None => "not measured".into(),
        Some((figure, is_met)) => {
            let verdict = results::verdict(is_met);
            match goal {
                Goal::Times(..) => format!("{figure:.2}x: {verdict}"),
                Goal::PerSecond(_) => format!("{figure:.0}/s: {verdict}"),
            }
        }
    }
}

/// A row on one line, for the terminal.
pub fn line(row: &Row) -> String {
    let mut text = format!("{:<12} {:<6}", row.operation, row.load());
    for cell in &row.cells {
        match &cell.failure {
            Some(failure) => text.push_str(&format!("  {}: {failure}", cell.lane.name())),
            None => text.push_str(&format!("  {} {}/s", cell.lane.name(), rate(cell.per_second()))),
        }
    }
    text
}

impl Report<'_> {
    fn how(&self) -> String {
        format!(
            "Rows by key; C x D: C connections that each send D requests, wait for all replies and send the next. {} alternating runs of \
             {} s, medians. The client runs on the same machine and is the same for all. Writes: Shoal with \
             CommitDurability=replicated, one node; MariaDB with innodb_flush_log_at_trx_commit=0. Latencies are those of \
             a whole batch. The native client is measured in a cluster of one data node, over shared memory, which the echo server does not \
             limit; its batches are single operations.",
            self.runs, self.seconds
        )
    }

    pub fn markdown(&self) -> String {
        let mut page = format!("# Rows by key\n\n{}\n\n", self.how());
        for (name, value) in self.facts {
            let _ = writeln!(page, "- {name}: {value}");
        }
        for failure in self.failures {
            let _ = writeln!(page, "- not measured: {failure}");
        }
        page.push_str("\n| operation | load | server | /s | p50 us | p90 | p99 | p99.9 | p99.99 |\n");
        page.push_str("|---|---|---|--:|--:|--:|--:|--:|--:|\n");
        for (row, cell) in self.cells() {
            let _ = write!(page, "| {} | {} | {} | ", row.operation, row.load(), cell.lane.name());
            page.push_str(&rate(cell.per_second()));
            for (_, quantile) in QUANTILES {
                let micros = cell.micros(quantile).map_or("-".into(), |micros| format!("{micros:.0}"));
                let _ = write!(page, " | {micros}");
            }
            page.push_str(" |\n");
        }
        page.push_str("\n| operation | load | goal | reached |\n|---|---|---|---|\n");
        for row in self.rows {
            for &goal in &row.goals {
                let (goal, result) = (goal_text(goal), goal_result(row, goal));
                let _ = writeln!(page, "| {} | {} | {goal} | {result} |", row.operation, row.load());
            }
        }
        for (row, cell) in self.cells() {
            if let Some(failure) = &cell.failure {
                let _ = writeln!(page, "\n{}, {}: {failure}", cell.lane.name(), row.operation);
            }
        }
        page
    }

    fn cells(&self) -> impl Iterator<Item = (&Row, &Cell)> {
        self.rows.iter().flat_map(|row| row.cells.iter().map(move |cell| (row, cell)))
    }

    pub fn json(&self) -> Value {
        let cells = self.cells().map(|(row, cell)| {
            let quantiles: serde_json::Map<String, Value> = QUANTILES
                .iter()
                .map(|(name, quantile)| (name.to_string(), json!(cell.micros(*quantile))))
                .collect();
            json!({
                "operation": row.operation,
                "connections": row.connections,
                "depth": row.depth,
                "server": cell.lane.name(),
                "per_second": cell.per_second(),
                "batch_us": quantiles,
                "failure": cell.failure,
            })
        });
        let goals = self.rows.iter().flat_map(|row| {
            row.goals.iter().map(move |&goal| {
                json!({
                    "operation": row.operation,
                    "connections": row.connections,
                    "depth": row.depth,
                    "goal": goal_text(goal),
                    "figure": row.judge(goal).map(|(figure, _)| figure),
                    "met": row.judge(goal).map(|(_, is_met)| is_met),
                })
            })
        });
        json!({
            "machine": facts_json(self.facts),
            "not_measured": self.failures,
            "runs": self.runs,
            "seconds": self.seconds,
            "figures": cells.collect::<Vec<_>>(),
            "goals": goals.collect::<Vec<_>>(),
        })
    }

    pub fn html(&self) -> String {
        let mut page = Page::new("Rows by key", &self.how());
        let places = QUANTILES.map(|(name, _)| name);
        for row in self.rows {
            page.heading(&format!("{} {}", row.operation, row.load()));
            let bar = |cell: &Cell| Bar {
                name: cell.lane.name().into(),
                length: cell.per_second().unwrap_or(0.0),
                text: format!("{}/s", rate(cell.per_second())),
                is_own: cell.lane.who.is_own(),
            };
            page.bars(&row.cells.iter().map(bar).collect::<Vec<_>>());
            for &goal in &row.goals {
                page.verdict(
                    &goal_text(goal),
                    &goal_result(row, goal),
                    row.judge(goal).is_some_and(|(_, is_met)| is_met),
                );
            }
            let curve = |cell: &Cell| {
                let figures: Option<Vec<f64>> =
                    QUANTILES.iter().map(|&(_, quantile)| cell.micros(quantile)).collect();
                Some(Curve { name: cell.lane.name().into(), figures: figures? })
            };
            page.curves(&places, "us", &row.cells.iter().filter_map(curve).collect::<Vec<_>>());
        }
        for failure in self.failures {
            page.note(&format!("Not measured: {failure}"));
        }
        page.facts(self.facts);
        page.into_html()
    }
}
