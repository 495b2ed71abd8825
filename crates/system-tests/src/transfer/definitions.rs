//! Definitions while everything else goes on: tables that come, change and go, and indexes of a table that others write to.
//!
//! One client, which knows what must be there as long as it is told of every outcome. A table whose outcome is unknown is left alone
//! from then on, as it may still change; the next one has another name.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::record::is_excused;
use super::{Random, Told, told, told_by};
use crate::cluster::Nodes;
use crate::{Client, Error, second_of_hour};

const RECONNECT_AFTER: Duration = Duration::from_millis(20);
const TABLES: usize = 3;
const COLUMNS_MAX: u64 = 6;
/// Statements that are told when something is wrong.
const HISTORY_TOLD: usize = 60;

/// A table as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shape {
    number: u64,
    /// Beside its key.
    columns: u64,
    rows: u64,
}

impl Shape {
    fn name(&self) -> String {
        format!("shape_{}", self.number)
    }
}

#[derive(Default)]
struct Outcome {
    done: u64,
    failed: u64,
    unknown: u64,
    shapes: Vec<Shape>,
    /// An index of the journal that is surely there.
    index: Option<u64>,
    /// What was tried, when, and what came of it.
    history: Vec<String>,
    violations: Vec<String>,
}

/// The client that defines, at work until it is finished.
pub struct Definitions {
    nodes: Nodes,
    stop: Arc<AtomicBool>,
    outcome: Arc<Mutex<Outcome>>,
    thread: Option<JoinHandle<()>>,
}

struct Definer {
    nodes: Nodes,
    sql_nodes: Vec<u32>,
    random: Random,
    outcome: Outcome,
    /// Of tables and indexes: no name is used twice.
    next: u64,
}

impl Definitions {
    pub fn start(nodes: &Nodes, seed: u64) -> Definitions {
        let (stop, outcome) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::default()));
        let mut definer = Definer {
            nodes: nodes.clone(),
            sql_nodes: nodes.sql_nodes(),
            random: Random::new(seed, 1 << 32),
            outcome: Outcome::default(),
            next: 0,
        };
        let (stopped, result) = (Arc::clone(&stop), Arc::clone(&outcome));
        let thread = thread::spawn(move || {
            let mut client = None;
            while !stopped.load(Ordering::Relaxed) && definer.outcome.violations.is_empty() {
                definer.turn(&mut client);
            }
            *result.lock().unwrap_or_else(PoisonError::into_inner) = definer.outcome;
        });
        Definitions { nodes: nodes.clone(), stop, outcome, thread: Some(thread) }
    }

    /// Stops the client and looks, at every node of a healed cluster, whether everything is as it was defined. How many
    /// definitions were made.
    pub fn finish(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        let outcome = std::mem::take(&mut *self.outcome.lock().unwrap_or_else(PoisonError::into_inner));
        let mut violations = outcome.violations;
        for node in self.nodes.sql_nodes() {
            let mut client = self.nodes.client(node);
            for shape in &outcome.shapes {
                match look(&mut client, shape.number) {
                    Ok(found) if found == *shape => {}
                    Ok(found) => violations.push(format!("node {node} has {found:?}, it was made {shape:?}")),
                    Err(error) => violations.push(format!("node {node}: {shape:?}: {error}")),
                }
            }
            if let Some(number) = outcome.index {
                let sql = format!(
                    "SELECT (SELECT COUNT(*) FROM journal FORCE INDEX (by_target_{number}) WHERE target >= 0) - \
                     (SELECT COUNT(*) FROM journal FORCE INDEX (PRIMARY))"
                );
                match client.text(&sql) {
                    Ok(difference) if difference == ["0"] => {}
                    other => violations.push(format!("node {node}: {sql}: {other:?}")),
                }
            }
        }
        if !violations.is_empty() {
            let newest = outcome.history[outcome.history.len().saturating_sub(HISTORY_TOLD)..].join("\n");
            panic!("definitions: {}\nthe newest:\n{newest}\n{}", told(&violations), self.nodes.logs());
        }
        eprintln!("definitions: {} made, {} not, {} unknown", outcome.done, outcome.failed, outcome.unknown);
        outcome.done
    }
}

impl Drop for Definitions {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn look(client: &mut Client, number: u64) -> Result<Shape, Error> {
    let columns = client.text(&format!("SHOW COLUMNS FROM shape_{number}"))?.len() as u64 - 1;
    let rows = client.text(&format!("SELECT COUNT(*) FROM shape_{number}"))?;
    Ok(Shape { number, columns, rows: rows[0].parse().unwrap_or(u64::MAX) })
}

impl Definer {
    fn turn(&mut self, client: &mut Option<Client>) {
        let Some(connected) = client else {
            let node = self.sql_nodes[self.random.below(self.sql_nodes.len() as u64) as usize];
            match self.nodes.try_client(node) {
                Ok(connected) => *client = Some(connected),
                Err(error) => {
                    self.judge("connect", &error);
                    thread::sleep(RECONNECT_AFTER);
                }
            }
            return;
        };
        let goes_on = match self.random.below(4) {
            0 => self.change_index(connected),
            _ if self.outcome.shapes.len() < TABLES => self.create(connected),
            _ => self.change_table(connected),
        };
        if !goes_on {
            *client = None;
        }
    }

    fn judge(&mut self, sql: &str, error: &Error) {
        if !is_excused(error) {
            self.outcome.violations.push(format!("{sql}: an error that no fault explains: {error}"));
        }
    }

    /// What became of a statement.
    fn run(&mut self, client: &mut Client, sql: &str) -> Told {
        let begun = second_of_hour();
        let outcome = client.run(sql);
        let at = format!("{begun:.3} to {:.3}: {sql}", second_of_hour());
        let Err(error) = outcome else {
            self.outcome.history.push(at);
            self.outcome.done += 1;
            return Told::Committed;
        };
        self.judge(sql, &error);
        let outcome = told_by(&error);
        self.outcome.history.push(format!("{at}: {outcome:?}: {error}"));
        match outcome {
            Told::Unknown => self.outcome.unknown += 1,
            _ => self.outcome.failed += 1,
        }
        outcome
    }

    fn create(&mut self, client: &mut Client) -> bool {
        self.next += 1;
        let shape = Shape { number: self.next, columns: 1, rows: 0 };
        let sql = format!("CREATE TABLE {} (id BIGINT AUTO_INCREMENT PRIMARY KEY, c0 INT)", shape.name());
        let outcome = self.run(client, &sql);
        if outcome == Told::Committed {
            self.outcome.shapes.push(shape);
        }
        outcome != Told::Unknown
    }

    fn change_table(&mut self, client: &mut Client) -> bool {
        let place = self.random.below(self.outcome.shapes.len() as u64) as usize;
        let old = self.outcome.shapes[place].clone();
        let name = old.name();
        let (sql, new) = match self.random.below(8) {
            0 | 1 if old.columns < COLUMNS_MAX => (
                format!("ALTER TABLE {name} ADD COLUMN c{} INT DEFAULT 7", old.columns),
                Some(Shape { columns: old.columns + 1, ..old }),
            ),
            2 if old.columns > 1 => (
                format!("ALTER TABLE {name} DROP COLUMN c{}", old.columns - 1),
                Some(Shape { columns: old.columns - 1, ..old }),
            ),
            3 => (format!("TRUNCATE TABLE {name}"), Some(Shape { rows: 0, ..old })),
            4 => (format!("DROP TABLE {name}"), None),
            _ => (
                format!("INSERT INTO {name} (c0) VALUES (1),(2),(3),(4),(5)"),
                Some(Shape { rows: old.rows + 5, ..old }),
            ),
        };
        let outcome = self.run(client, &sql);
        match (outcome, new) {
            (Told::Committed, Some(new)) => self.outcome.shapes[place] = new,
            (Told::Committed, None) | (Told::Unknown, _) => drop(self.outcome.shapes.remove(place)),
            (Told::NotCommitted, _) => {}
        }
        outcome != Told::Unknown
    }

    /// An index that is built while others write, and one that goes while they do.
    fn change_index(&mut self, client: &mut Client) -> bool {
        let outcome = match self.outcome.index.take() {
            None => {
                self.next += 1;
                let made =
                    self.run(client, &format!("ALTER TABLE journal ADD INDEX by_target_{} (target)", self.next));
                self.outcome.index = (made == Told::Committed).then_some(self.next);
                made
            }
            Some(number) => {
                let dropped = self.run(client, &format!("ALTER TABLE journal DROP INDEX by_target_{number}"));
                self.outcome.index = (dropped == Told::NotCommitted).then_some(number);
                dropped
            }
        };
        outcome != Told::Unknown
    }
}
