//! The results as Markdown, JSON and an HTML page with bars.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::row::{Cell, Goal, Row};
use crate::facts::{Facts, facts_json};
use crate::results;

const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];
/// The width of the longest bar of a picture.
const BAR_PIXELS: f64 = 480.0;

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
            let verdict = if is_met { "met" } else { "missed" };
            match goal {
                Goal::Times(..) => format!("{figure:.2}x: {verdict}"),
                Goal::PerSecond(_) => format!("{figure:.0}/s: {verdict}"),
            }
        }
    }
}

/// A row on one line, for the terminal.
pub fn line(row: &Row) -> String {
    let mut text = format!("{:<12} {}x{:<4}", row.operation, row.connections, row.depth);
    for cell in &row.cells {
        match &cell.failure {
            Some(failure) => text.push_str(&format!("  {}: {failure}", cell.lane.name())),
            None => text.push_str(&format!("  {} {}/s", cell.lane.name(), rate(cell.per_second()))),
        }
    }
    text
}

impl Report<'_> {
    pub fn write(&self, out: &Path, json: Option<&Path>) -> io::Result<()> {
        results::write(out, &self.markdown(), &self.json())?;
        fs::write(out.with_extension("html"), self.html())?;
        match json {
            Some(path) => fs::write(path, serde_json::to_string_pretty(&self.json())? + "\n"),
            None => Ok(()),
        }
    }

    fn how(&self) -> String {
        format!(
            "Rows by key; C x D: C connections that each send D requests, wait for all replies and send the next. {} alternating runs of \
             {} s, medians. The client runs on the same machine and is the same for all. Writes: Shoal with \
             CommitDurability=replicated, one node; MariaDB with innodb_flush_log_at_trx_commit=0. Latencies are those of \
             a whole batch.",
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
            let _ =
                write!(page, "| {} | {}x{} | {} | ", row.operation, row.connections, row.depth, cell.lane.name());
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
                let _ = writeln!(
                    page,
                    "| {} | {}x{} | {goal} | {result} |",
                    row.operation, row.connections, row.depth
                );
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

    fn json(&self) -> Value {
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

    fn html(&self) -> String {
        let mut page = format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Rows by key</title>\n<style>body{{font:15px/1.5 system-ui,sans-serif;\
             max-width:60em;margin:2em auto;padding:0 1em}}text{{font:13px system-ui,sans-serif}}.own{{fill:#0a7d6b}}\
             .other{{fill:#b9c4c9}}.met{{color:#0a7d6b}}.missed{{color:#b3261e}}</style>\n<h1>Rows by key</h1>\n<p>{}</p>\n",
            escaped(&self.how())
        );
        for row in self.rows {
            let _ = writeln!(page, "<h2>{} {} x {}</h2>", escaped(row.operation), row.connections, row.depth);
            page.push_str(&bars(row));
            for &goal in &row.goals {
                let result = goal_result(row, goal);
                let class = if result.ends_with("met") { "met" } else { "missed" };
                let goal = escaped(&goal_text(goal));
                let _ = writeln!(page, "<p>{goal}: <b class=\"{class}\">{}</b></p>", escaped(&result));
            }
        }
        page.push_str("<h2>Machine</h2>\n<ul>\n");
        for (name, value) in self.facts {
            let _ = writeln!(page, "<li>{}: {}</li>", escaped(name), escaped(value));
        }
        page.push_str("</ul>\n");
        page
    }
}

fn bars(row: &Row) -> String {
    let most = row.cells.iter().filter_map(Cell::per_second).fold(1.0, f64::max);
    let height = row.cells.len() * 24;
    let mut picture = format!("<svg width=\"100%\" viewBox=\"0 0 860 {height}\" role=\"img\">\n");
    for (number, cell) in row.cells.iter().enumerate() {
        let (top, per_second) = (number * 24, cell.per_second().unwrap_or(0.0));
        let (width, class) =
            (per_second / most * BAR_PIXELS, if number + 1 == row.cells.len() { "own" } else { "other" });
        let _ = writeln!(
            picture,
            "<text x=\"200\" y=\"{}\" text-anchor=\"end\">{}</text><rect class=\"{class}\" x=\"208\" y=\"{}\" \
             width=\"{width:.1}\" height=\"18\"/><text x=\"{:.1}\" y=\"{}\">{}/s</text>",
            top + 16,
            escaped(cell.lane.name()),
            top + 3,
            214.0 + width,
            top + 16,
            rate(cell.per_second()),
        );
    }
    picture.push_str("</svg>\n");
    picture
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
