//! The servers of a case, and the case run on them.

use std::time::Duration;

use super::answer::{Answer, Outcome, run};
use super::beside::{Closeness, compare};
use super::check::Finding;
use super::step::Step;
use super::tree::Dialect;
use crate::{Client, Error, Login};

const DATABASE: &str = "random_sql";
const PATIENCE: Duration = Duration::from_secs(60);
/// MySQL 8.4's modes, and its rounding.
const MARIADB_MODE: &str = "SET sql_mode='TIME_ROUND_FRACTIONAL,ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,\
NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'";

struct Place {
    port: u16,
    dialect: Dialect,
    client: Option<Client>,
}

impl Place {
    fn new(port: u16, dialect: Dialect) -> Place {
        Place { port, dialect, client: None }
    }

    fn connect(&self, database: &str) -> Result<Client, Error> {
        let login = Login { database: database.into(), patience: PATIENCE, ..Login::default() };
        let mut client = Client::log_in(self.port, &login)?;
        client.execute("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")?;
        client.execute("SET time_zone='+00:00'")?;
        if self.dialect == Dialect::MariaDb {
            client.execute(MARIADB_MODE)?;
            // It keeps one result for all outer values that are equal by their collation.
            client.execute("SET optimizer_switch='subquery_cache=off'")?;
        }
        Ok(client)
    }

    /// An empty database and a session in it.
    fn reset(&mut self) -> Result<(), Error> {
        self.client = None;
        let mut client = self.connect("")?;
        client.execute(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        let collation = "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci";
        client.execute(&format!("CREATE DATABASE {DATABASE} {collation}"))?;
        self.client = Some(self.connect(DATABASE)?);
        Ok(())
    }

    fn client(&mut self) -> Result<&mut Client, Error> {
        if self.client.is_none() {
            self.client = Some(self.connect(DATABASE)?);
        }
        self.client.as_mut().ok_or_else(|| Error::Protocol("no session".into()))
    }

    fn answer(&mut self, step: &Step) -> Answer {
        let Step::Run { tree, is_prepared } = step else { return lost("a check is no statement".into()) };
        let dialect = self.dialect;
        let client = match self.client() {
            Ok(client) => client,
            Err(error) => return lost(error.to_string()),
        };
        let answer = match is_prepared {
            true => {
                let (sql, values) = tree.with_parameters(dialect);
                run(client, &sql, Some(&values))
            }
            false => run(client, &tree.sql(dialect), None),
        };
        if matches!(answer.outcome, Outcome::Lost(_)) {
            self.client = None;
        }
        answer
    }
}

fn lost(message: String) -> Answer {
    Answer { outcome: Outcome::Lost(message), warnings: Default::default(), message: String::new() }
}

/// One server, or one with another beside it.
pub struct World {
    first: Place,
    beside: Option<(Place, Closeness)>,
    /// Whether the first server refused the last statement.
    pub has_refused: bool,
}

impl World {
    pub fn alone(port: u16) -> World {
        World { first: Place::new(port, Dialect::MySql), beside: None, has_refused: false }
    }

    /// MariaDB beside it.
    pub fn beside_mariadb(port: u16, mariadb: u16) -> World {
        let beside = Place::new(mariadb, Dialect::MariaDb);
        World { beside: Some((beside, Closeness::MariaDb)), ..World::alone(port) }
    }

    /// Another server of the same kind, a cluster for example.
    pub fn beside_its_like(port: u16, other: u16) -> World {
        let beside = Place::new(other, Dialect::MySql);
        World { beside: Some((beside, Closeness::Same)), ..World::alone(port) }
    }

    pub fn reset(&mut self) -> Result<(), Error> {
        self.first.reset()?;
        if let Some((place, _)) = &mut self.beside {
            place.reset()?;
        }
        Ok(())
    }

    pub fn run(&mut self, step: &Step) -> Finding {
        match step {
            Step::Check(check) => match self.first.client() {
                Ok(client) => {
                    let finding = check.run(client);
                    if matches!(&finding, Finding::Difference { label, .. } if label == "lost") {
                        self.first.client = None;
                    }
                    finding
                }
                Err(error) => Finding::Difference { label: "lost".into(), text: error.to_string() },
            },
            Step::Run { tree, .. } => {
                let one = self.first.answer(step);
                self.has_refused = one.errno().is_some();
                let Some((place, closeness)) = &mut self.beside else {
                    return match one.outcome {
                        Outcome::Lost(message) => Finding::Difference { label: "lost".into(), text: message },
                        _ => Finding::None,
                    };
                };
                let other = place.answer(step);
                compare(&tree.sql(Dialect::MySql), &one, &other, *closeness)
            }
        }
    }
}
