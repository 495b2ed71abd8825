//! What a line of the table says: figures of several configurations, goals, and whether they are met; and what is drawn.

use crate::measure::results;

/// One measurement of several configurations of one or both servers.
#[derive(Debug, Default)]
pub struct Row {
    pub what: String,
    /// Of the figures.
    pub unit: &'static str,
    pub cells: Vec<Cell>,
    pub goals: Vec<Goal>,
    /// Sentences that go with the figures.
    pub notes: Vec<String>,
}

/// What one configuration reached, over all runs.
#[derive(Debug, Default)]
pub struct Cell {
    pub name: String,
    pub runs: Vec<f64>,
    pub failure: Option<String>,
}

/// `figure` is `None` where something could not be measured.
#[derive(Debug)]
pub struct Goal {
    pub text: String,
    pub figure: Option<f64>,
    pub bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
    Above(f64),
}

/// Curves over places on an axis.
#[derive(Debug, Default)]
pub struct Picture {
    pub title: String,
    pub unit: &'static str,
    pub places: Vec<String>,
    /// A name, and a figure for every place; 0 where there is none.
    pub curves: Vec<(String, Vec<f64>)>,
}

impl Row {
    pub fn new(what: impl Into<String>, unit: &'static str) -> Row {
        Row { what: what.into(), unit, ..Row::default() }
    }

    /// The cell of this name, made if it is not there.
    pub fn cell(&mut self, name: &str) -> &mut Cell {
        let place = self.cells.iter().position(|cell| cell.name == name);
        let place = place.unwrap_or_else(|| {
            self.cells.push(Cell { name: name.into(), ..Cell::default() });
            self.cells.len() - 1
        });
        &mut self.cells[place]
    }

    /// The median of a cell.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.cells.iter().find(|cell| cell.name == name)?.median()
    }

    /// What one cell has of another's figure.
    pub fn ratio(&self, name: &str, of: &str) -> Option<f64> {
        Some(self.figure(name)? / self.figure(of)?).filter(|ratio| ratio.is_finite())
    }

    pub fn goal(&mut self, text: impl Into<String>, figure: Option<f64>, bound: Bound) {
        self.goals.push(Goal { text: text.into(), figure, bound });
    }

    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// One line for the terminal.
    pub fn summary(&self) -> String {
        let cells = self.cells.iter().map(|cell| match (&cell.failure, cell.median()) {
            (Some(failure), _) => format!("{}: {failure}", cell.name),
            (None, figure) => format!("{} {}", cell.name, number(figure)),
        });
        let goals = self.goals.iter().map(|goal| format!("{}: {}", goal.shown(), goal.verdict()));
        format!("{} ({}): {}", self.what, self.unit, cells.chain(goals).collect::<Vec<_>>().join(", "))
    }
}

impl Cell {
    pub fn median(&self) -> Option<f64> {
        results::median(self.runs.iter().copied())
    }
}

impl Goal {
    pub fn is_met(&self) -> Option<bool> {
        let figure = self.figure?;
        Some(match self.bound {
            Bound::AtLeast(least) => figure >= least,
            Bound::AtMost(most) => figure <= most,
            Bound::Above(bound) => figure > bound,
        })
    }

    pub fn verdict(&self) -> &'static str {
        self.is_met().map_or("not measured", results::verdict)
    }

    /// The goal in words, with its bound.
    pub fn shown(&self) -> String {
        let (sign, bound) = match self.bound {
            Bound::AtLeast(least) => (">=", least),
            Bound::AtMost(most) => ("<=", most),
            Bound::Above(bound) => (">", bound),
        };
        format!("{} {sign} {bound}", self.text)
    }
}

/// Large figures without decimals, small ones with three digits.
pub fn number(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(value) if value.abs() >= 100.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_judged_by_medians_and_what_was_not_measured_is_not_met() {
        let mut row = Row::new("TLS", "/s");
        row.cell("plain").runs = vec![100.0, 300.0, 200.0];
        row.cell("TLS").runs = vec![180.0];
        row.goal("TLS", row.ratio("TLS", "plain"), Bound::AtLeast(0.9));
        row.goal("TLS", row.ratio("TLS", "plain"), Bound::Above(0.9));
        row.goal("zlib", row.ratio("zlib", "plain"), Bound::AtLeast(0.0));
        let verdicts: Vec<_> = row.goals.iter().map(Goal::verdict).collect();
        assert_eq!(verdicts, ["met", "missed", "not measured"]);
        assert!(row.summary().starts_with("TLS (/s): plain 200, TLS 180, TLS >= 0.9: met"), "{}", row.summary());
    }
}
