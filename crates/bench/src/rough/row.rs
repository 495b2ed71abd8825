//! What a load says: figures, errors and latencies of every server, goals and whether they are met.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::measure::latency::Latencies;
use crate::measure::results;

use super::driver::Tally;
use super::target::Who;

/// One line of goals, with a cell for every server that took part.
#[derive(Debug, Default)]
pub struct Row {
    pub load: String,
    /// Of the figure.
    pub unit: &'static str,
    pub cells: Vec<Cell>,
    pub goals: Vec<Goal>,
}

/// What one server reached, over all rounds.
#[derive(Clone, Debug)]
pub struct Cell {
    pub who: Who,
    pub figures: Vec<f64>,
    pub events: u64,
    pub errors: BTreeMap<u16, u64>,
    pub messages: BTreeMap<u16, String>,
    /// Of events beside or in the load.
    pub latencies: Latencies,
    pub stall: Option<Duration>,
    pub empty_windows: u64,
    pub peak_resident: u64,
    /// Results that are not what they have to be.
    pub wrong: Vec<String>,
    /// Why the load did not come to its end.
    pub failure: Option<String>,
    /// Further figures, with their names.
    pub notes: Vec<(String, f64)>,
}

/// `is_met` is `None` where a figure is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    pub text: String,
    pub is_met: Option<bool>,
}

impl Row {
    pub fn new(load: impl Into<String>, unit: &'static str) -> Row {
        Row { load: load.into(), unit, ..Row::default() }
    }

    pub fn cell(&self, who: Who) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.who == who)
    }

    /// The cell of this server, made if it is not there.
    pub fn cell_mut(&mut self, who: Who) -> &mut Cell {
        let place = self.cells.iter().position(|cell| cell.who == who);
        let place = place.unwrap_or_else(|| {
            self.cells.push(Cell::new(who));
            self.cells.len() - 1
        });
        &mut self.cells[place]
    }

    pub fn figure(&self, who: Who) -> Option<f64> {
        self.cell(who)?.figure()
    }

    pub fn note(&self, who: Who, name: &str) -> Option<f64> {
        results::median(self.cell(who)?.note_values(name))
    }

    /// What `who` reaches of `peer`.
    pub fn ratio(&self, who: Who, peer: Who) -> Option<f64> {
        Some(self.figure(who)? / self.figure(peer)?).filter(|ratio| ratio.is_finite())
    }

    pub fn goal(&mut self, text: impl Into<String>, is_met: Option<bool>) {
        self.goals.push(Goal { text: text.into(), is_met });
    }

    /// `who` is to reach `factor` of the peer's figure.
    pub fn goal_ratio(&mut self, who: Who, peer: Who, factor: f64) {
        let is_met = self.ratio(who, peer).map(|ratio| ratio >= factor);
        self.goal(format!(">= {factor}x {}", peer.name()), is_met);
    }

    pub fn goal_no_errors(&mut self, who: Who) {
        let is_met = self.cell(who).map(|cell| cell.errors.is_empty() && cell.failure.is_none());
        self.goal("no error", is_met);
    }

    pub fn verdict(&self) -> String {
        let shoal = || self.cells.iter().filter(|cell| cell.who.is_shoal());
        if shoal().any(|cell| cell.failure.is_some()) {
            return "FAILED".into();
        }
        if shoal().any(|cell| !cell.wrong.is_empty()) {
            return "WRONG".into();
        }
        let named = |state: Option<bool>| {
            let chosen = self.goals.iter().filter(move |goal| goal.is_met == state);
            chosen.map(|goal| goal.text.as_str()).collect::<Vec<_>>().join("; ")
        };
        let (missed, open) = (named(Some(false)), named(None));
        match (missed.is_empty(), open.is_empty()) {
            (false, _) => format!("missed: {missed}"),
            (true, false) => format!("incomplete: {open}"),
            (true, true) => "met".into(),
        }
    }

    /// One line for the terminal.
    pub fn summary(&self) -> String {
        let mut text = format!("{:<32}", self.load);
        for cell in &self.cells {
            let figure = cell.figure().map_or("-".into(), |figure| format!("{figure:.1}"));
            let errors = match cell.errors.values().sum::<u64>() {
                0 => String::new(),
                errors => format!(", {errors} errors"),
            };
            text.push_str(&format!("  {} {figure} {}{errors}", cell.who.name(), self.unit));
            let complaints = cell.failure.iter().chain(&cell.wrong);
            complaints.for_each(|complaint| text.push_str(&format!(" [{complaint}]")));
        }
        text + "  " + &self.verdict()
    }
}

impl Cell {
    pub fn new(who: Who) -> Cell {
        Cell {
            who,
            figures: Vec::new(),
            events: 0,
            errors: BTreeMap::new(),
            messages: BTreeMap::new(),
            latencies: Latencies::default(),
            stall: None,
            empty_windows: 0,
            peak_resident: 0,
            wrong: Vec::new(),
            failure: None,
            notes: Vec::new(),
        }
    }

    /// The median over the rounds.
    pub fn figure(&self) -> Option<f64> {
        results::median(self.figures.iter().copied())
    }

    /// Latencies, errors and stalls of sessions; the figure is the caller's.
    pub fn add(&mut self, tally: &Tally) {
        self.events += tally.events_of_all_time;
        for (errno, count) in &tally.errors {
            *self.errors.entry(*errno).or_default() += count;
        }
        self.messages.extend(tally.messages.clone());
        self.latencies.add(&tally.latencies);
        self.stall = self.stall.max(Some(tally.stall));
        self.empty_windows += tally.empty_windows;
    }

    pub fn error(&mut self, error: &shoal_testkit::Error) {
        *self.errors.entry(error.errno()).or_default() += 1;
        self.messages.entry(error.errno()).or_insert_with(|| error.to_string());
    }

    /// Notes what is not as it has to be.
    pub fn check(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if !is_right && self.wrong.len() < 5 {
            self.wrong.push(what());
        }
    }

    pub fn note(&mut self, name: &str, value: f64) {
        self.notes.push((name.to_string(), value));
    }

    /// Every name once, in the order of the first round.
    pub fn note_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in &self.notes {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Of all rounds.
    pub fn note_values(&self, name: &str) -> impl Iterator<Item = f64> {
        self.notes.iter().filter(move |(own, _)| own == name).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let mut row = Row::new("hot row", "/s");
        row.cell_mut(Who::Mariadb).figures = vec![100.0, 300.0, 200.0];
        row.cell_mut(Who::Shoal).figures = vec![500.0, 1.0, 400.0];
        row
    }

    #[test]
    fn a_row_is_judged_by_medians_and_names_what_it_missed() {
        let mut row = row();
        row.goal_no_errors(Who::Shoal);
        row.goal_ratio(Who::Shoal, Who::Mariadb, 2.0);
        assert_eq!(row.verdict(), "met");
        row.goal_ratio(Who::Shoal, Who::Mariadb, 3.0);
        row.goal_ratio(Who::Shoal, Who::GaleraDisk, 3.0);
        assert_eq!(row.verdict(), "missed: >= 3x MariaDB");
    }

    #[test]
    fn a_wrong_result_is_worse_than_any_figure() {
        let mut row = row();
        row.goal_ratio(Who::Shoal, Who::Mariadb, 2.0);
        row.cell_mut(Who::Shoal).check(1 + 1 == 3, || "2 instead of 3".into());
        assert_eq!(row.verdict(), "WRONG");
        row.cell_mut(Who::Shoal).failure = Some("gone".into());
        assert_eq!(row.verdict(), "FAILED");
    }

    #[test]
    fn what_was_not_measured_is_not_met() {
        let mut row = row();
        row.goal_ratio(Who::Shoal, Who::GaleraDisk, 3.0);
        assert_eq!(row.verdict(), "incomplete: >= 3x Galera, flush 1");
    }
}
