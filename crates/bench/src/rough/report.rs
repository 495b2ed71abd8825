//! The results as a Markdown page and as JSON.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use crate::measure::facts::{Facts, facts_json};
use crate::measure::results;
use serde_json::{Value, json};

use super::options::Plan;
use super::row::{Cell, Row};

pub struct Report<'a> {
    pub plan: &'a Plan,
    pub facts: &'a Facts,
    pub rows: &'a [Row],
    pub took: Duration,
}

impl Report<'_> {
    pub fn write(&self) -> io::Result<()> {
        results::write(&self.plan.out, &self.markdown(), &self.json())
    }

    pub fn markdown(&self) -> String {
        let mut page = String::from("# Rough loads\n\n");
        let _ = writeln!(
            page,
            "Loads that no benchmark of friendly work has, beside MariaDB (innodb_flush_log_at_trx_commit=1) in one run; the servers \
             take turns, {} rounds, medians. Latencies are those of the sessions of the load or, where the load is one statement, of \
             sessions beside it. Stall: the longest time in which no session ended anything. Took {:.0} min{}.\n",
            self.plan.rounds,
            self.took.as_secs_f64() / 60.0,
            if self.plan.quick { ", sizes of --quick" } else { "" }
        );
        for (name, value) in self.facts {
            let _ = writeln!(page, "- {name}: {value}");
        }
        page.push_str(
            "\n| load | server | figure | errors | p50 ms | p99 ms | p99.9 ms | stall ms | peak MiB | goal | verdict |\n\
             |---|---|--:|---|--:|--:|--:|--:|--:|---|---|\n",
        );
        for row in self.rows {
            for (number, cell) in row.cells.iter().enumerate() {
                page.push_str(&line(row, cell, number == row.cells.len() - 1));
            }
        }
        details(&mut page, self.rows);
        page
    }

    pub fn json(&self) -> Value {
        json!({
            "quick": self.plan.quick,
            "rounds": self.plan.rounds,
            "facts": facts_json(self.facts),
            "rows": self.rows.iter().map(row_json).collect::<Vec<_>>(),
        })
    }
}

/// Complaints, messages of errors and notes: one line each.
fn details(page: &mut String, rows: &[Row]) {
    page.push('\n');
    for (row, cell) in rows.iter().flat_map(|row| row.cells.iter().map(move |cell| (row, cell))) {
        let name = format!("{}, {}", row.load, cell.who.name());
        for complaint in cell.failure.iter().chain(&cell.wrong) {
            let _ = writeln!(page, "- {name}: {complaint}");
        }
        for (errno, message) in &cell.messages {
            let _ = writeln!(page, "- {name}, error {errno}: {message}");
        }
        for note in cell.note_names() {
            let value = row.note(cell.who, note).unwrap_or_default();
            let _ = writeln!(page, "- {name}, {note}: {}", number(Some(value)));
        }
    }
}

fn line(row: &Row, cell: &Cell, is_last: bool) -> String {
    let errors = match cell.errors.is_empty() {
        true => "0".to_string(),
        false => {
            cell.errors.iter().map(|(errno, count)| format!("{count} x {errno}")).collect::<Vec<_>>().join(", ")
        }
    };
    let has_latencies = cell.latencies.count() > 0;
    let millis = |quantile: f64| match has_latencies {
        true => format!("{:.2}", cell.latencies.micros(quantile) / 1000.0),
        false => "-".into(),
    };
    let goals = row.goals.iter().map(|goal| goal.text.as_str()).collect::<Vec<_>>().join(", ");
    format!(
        "| {} | {} | {} {} | {errors} | {} | {} | {} | {} | {} | {} | {} |\n",
        row.load,
        cell.who.name(),
        number(cell.figure()),
        row.unit,
        millis(0.5),
        millis(0.99),
        millis(0.999),
        cell.stall.map_or("-".into(), |stall| format!("{:.0}", stall.as_secs_f64() * 1e3)),
        cell.peak_resident >> 20,
        if is_last { goals.as_str() } else { "" },
        if is_last { row.verdict() } else { String::new() },
    )
}

/// Large figures without decimals, small ones with three digits.
fn number(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(value) if value.abs() >= 100.0 || value == value.trunc() => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
    }
}

fn row_json(row: &Row) -> Value {
    let goals: Vec<Value> =
        row.goals.iter().map(|goal| json!({"goal": goal.text, "is_met": goal.is_met})).collect();
    let cells: Vec<Value> = row.cells.iter().map(|cell| cell_json(row, cell)).collect();
    json!({"load": row.load, "unit": row.unit, "goals": goals, "verdict": row.verdict(), "servers": cells})
}

fn cell_json(row: &Row, cell: &Cell) -> Value {
    let errors: Vec<Value> = cell
        .errors
        .iter()
        .map(|(errno, count)| json!({"errno": errno, "count": count, "message": cell.messages.get(errno)}))
        .collect();
    let notes: Vec<Value> = cell
        .note_names()
        .into_iter()
        .map(|name| json!({"name": name, "value": row.note(cell.who, name), "values": cell.note_values(name).collect::<Vec<_>>()}))
        .collect();
    json!({
        "server": cell.who.name(),
        "figure": cell.figure(),
        "figures": cell.figures,
        "events": cell.events,
        "errors": errors,
        "latency_us": cell.latencies.json(),
        "stall_ms": cell.stall.map(|stall| stall.as_secs_f64() * 1e3),
        "windows_of_100_ms_without_an_event": cell.empty_windows,
        "peak_resident_bytes": cell.peak_resident,
        "wrong": cell.wrong,
        "failure": cell.failure,
        "notes": notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rough::target::Who;

    #[test]
    fn a_note_of_several_rounds_is_printed_once_with_its_median() {
        let mut row = Row::new("pareto", "/s");
        for round in [3.0, 1.0, 2.0] {
            let cell = row.cell_mut(Who::Shoal);
            cell.note("errors a transaction", round);
            cell.note("p95 ms", round + 10.0);
        }
        let mut page = String::new();
        details(&mut page, std::slice::from_ref(&row));
        assert_eq!(page, "\n- pareto, Shoal, errors a transaction: 2\n- pareto, Shoal, p95 ms: 12\n");
        let notes = &row_json(&row)["servers"][0]["notes"];
        assert_eq!(
            *notes,
            json!([
                {"name": "errors a transaction", "value": 2.0, "values": [3.0, 1.0, 2.0]},
                {"name": "p95 ms", "value": 12.0, "values": [13.0, 11.0, 12.0]},
            ])
        );
    }
}
