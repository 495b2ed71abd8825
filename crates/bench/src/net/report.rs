//! The results as a Markdown page, as JSON, and as an HTML page with the pictures.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use crate::measure::facts::{Facts, facts_json};
use crate::measure::page::{Bar, Curve, Page};
use crate::measure::results;

use super::options::Plan;
use super::row::{Picture, Row, number};

const TITLE: &str = "The network, and what operators look at";

pub struct Report<'a> {
    pub plan: &'a Plan,
    pub facts: &'a Facts,
    pub rows: &'a [Row],
    pub pictures: &'a [Picture],
    pub took: Duration,
}

impl Report<'_> {
    pub fn write(&self) -> io::Result<()> {
        results::write(&self.plan.out, &self.markdown(), &self.json())?;
        fs::write(self.plan.out.with_extension("html"), self.html())
    }

    fn how(&self) -> String {
        format!(
            "Beside MariaDB (innodb_flush_log_at_trx_commit=1) in one run; configurations take turns, {} runs of {:.0} s, medians; who is not measured is \
             paused. Compression, the pictures and connections are measured with the client of shoal-bench itself (text protocol), everything else with \
             sysbench. Client and server share the cores. Took {:.0} min{}.",
            self.plan.runs,
            self.plan.time.as_secs_f64(),
            self.took.as_secs_f64() / 60.0,
            if self.plan.quick { ", sizes of --quick" } else { "" }
        )
    }

    pub fn markdown(&self) -> String {
        let mut page = format!("# {TITLE}\n\n{}\n\n", self.how());
        for (name, value) in self.facts {
            let _ = writeln!(page, "- {name}: {value}");
        }
        page.push_str("\n| what | goal | reached | verdict |\n|---|---|--:|---|\n");
        for (row, goal) in self.rows.iter().flat_map(|row| row.goals.iter().map(move |goal| (row, goal))) {
            let (goal, figure, verdict) = (goal.shown(), number(goal.figure), goal.verdict());
            let _ = writeln!(page, "| {} | {goal} | {figure} | {verdict} |", row.what);
        }
        page.push_str("\n| what | configuration | median | unit | runs |\n|---|---|--:|---|---|\n");
        for (row, cell) in self.rows.iter().flat_map(|row| row.cells.iter().map(move |cell| (row, cell))) {
            let runs = cell.runs.iter().map(|&run| number(Some(run))).collect::<Vec<_>>().join(", ");
            let runs = cell.failure.as_ref().map_or(runs, |failure| format!("FAILED: {}", one_line(failure)));
            let (what, name, median) = (&row.what, &cell.name, number(cell.median()));
            let _ = writeln!(page, "| {what} | {name} | {median} | {} | {runs} |", row.unit);
        }
        page.push('\n');
        for (row, note) in self.rows.iter().flat_map(|row| row.notes.iter().map(move |note| (row, note))) {
            let _ = writeln!(page, "- {}: {note}", row.what);
        }
        for picture in self.pictures {
            let _ = writeln!(page, "\n{} ({}):\n", picture.title, picture.unit);
            let _ = writeln!(page, "| threads | {} |", picture.places.join(" | "));
            let _ = writeln!(page, "|---|{}", "--:|".repeat(picture.places.len()));
            for (name, figures) in &picture.curves {
                let figures = figures.iter().map(|&figure| number(Some(figure))).collect::<Vec<_>>().join(" | ");
                let _ = writeln!(page, "| {name} | {figures} |");
            }
        }
        page
    }

    pub fn html(&self) -> String {
        let mut page = Page::new(TITLE, &self.how());
        page.heading("Goals");
        for (row, goal) in self.rows.iter().flat_map(|row| row.goals.iter().map(move |goal| (row, goal))) {
            let result = format!("{} ({})", number(goal.figure), goal.verdict());
            page.verdict(&format!("{}, {}", row.what, goal.shown()), &result, goal.is_met() == Some(true));
        }
        for picture in self.pictures {
            page.heading(&picture.title);
            let places: Vec<&str> = picture.places.iter().map(String::as_str).collect();
            let curves = picture.curves.iter();
            let curves = curves.map(|(name, figures)| Curve { name: name.clone(), figures: figures.clone() });
            page.curves(&places, "/s", &curves.collect::<Vec<_>>());
            page.note("Across: threads.");
        }
        for row in self.rows {
            page.heading(&format!("{} ({})", row.what, row.unit));
            let bars = row.cells.iter().map(|cell| Bar {
                name: cell.name.clone(),
                length: cell.median().unwrap_or(0.0),
                text: cell.failure.clone().unwrap_or_else(|| number(cell.median())),
                is_own: !cell.name.starts_with("MariaDB"),
            });
            page.bars(&bars.collect::<Vec<_>>());
            row.notes.iter().for_each(|note| page.note(note));
        }
        page.facts(self.facts);
        page.into_html()
    }

    pub fn json(&self) -> Value {
        json!({
            "quick": self.plan.quick,
            "runs": self.plan.runs,
            "facts": facts_json(self.facts),
            "rows": self.rows.iter().map(row_json).collect::<Vec<_>>(),
            "pictures": self.pictures.iter().map(picture_json).collect::<Vec<_>>(),
        })
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn row_json(row: &Row) -> Value {
    let goals =
        row.goals.iter().map(|goal| json!({"goal": goal.shown(), "figure": goal.figure, "is_met": goal.is_met()}));
    let cells = row.cells.iter().map(
        |cell| json!({"name": cell.name, "median": cell.median(), "runs": cell.runs, "failure": cell.failure}),
    );
    json!({
        "what": row.what,
        "unit": row.unit,
        "goals": goals.collect::<Vec<_>>(),
        "configurations": cells.collect::<Vec<_>>(),
        "notes": row.notes,
    })
}

fn picture_json(picture: &Picture) -> Value {
    let curves = picture.curves.iter().map(|(name, figures)| json!({"name": name, "figures": figures}));
    json!({
        "title": picture.title,
        "unit": picture.unit,
        "threads": picture.places,
        "curves": curves.collect::<Vec<_>>(),
    })
}
